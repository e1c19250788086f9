//! What bounds a trial: the rate of its device and the memory of its programs.
//!
//! Both are control groups. In version 1 they are two trees: the process enters a group of the memory
//! tree only, and the device's limit is set where submitters already are. In version 2 there is one
//! tree and a process is in one group, so the same group carries both.

use std::path::Path;
use std::sync::Arc;

use crate::Result;
use crate::cgroup::{Controller, Group, Hierarchy, Version};
use crate::host::Host;
use crate::limits::{self, Held, Limits};
use crate::memory::{self, GroupReading};
use crate::undo::Journal;

/// Bounds of one trial, undone in order by [`Bounds::lift`] and when dropped.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    held: Option<Held>,
    group: Option<Group>,
    /// The version of the group, when it limits memory.
    memory: Option<Version>,
}

/// What is asked, found possible on this host.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LimitRequest {
    limits: Option<Limits>,
    memory: Option<u64>,
}

impl LimitRequest {
    /// Checks what can be known before anything is made.
    pub(crate) fn check(limits: Option<Limits>, memory: Option<u64>) -> Result<LimitRequest> {
        let host = Host::default();
        let limits = limits.filter(|limits| !limits.is_empty());
        if let Some(limits) = &limits {
            limits::hierarchy(&host, limits)?;
        }
        if let Some(limit) = memory {
            memory::hierarchy(&host, limit)?;
        }
        Ok(LimitRequest { limits, memory })
    }

    /// The tree, its version and the controllers of the group to enter, when one is needed.
    fn group(&self) -> Result<Option<(Hierarchy, Vec<Controller>)>> {
        let host = Host::default();
        if let Some(limit) = self.memory {
            let tree = memory::hierarchy(&host, limit)?;
            let mut controllers = vec![Controller::Memory];
            if self.limits.is_some() && tree.version == Version::V2 {
                controllers.push(Controller::Io);
            }
            return Ok(Some((tree, controllers)));
        }
        if let Some(limits) = &self.limits {
            let tree = limits::hierarchy(&host, limits)?;
            if tree.version == Version::V2 {
                // Without memory beside it the kernel cannot tell whose dirty pages it writes back.
                return Ok(Some((tree, vec![Controller::Io, Controller::Memory])));
            }
        }
        Ok(None)
    }

    /// Makes the group, if one is needed, and moves this process into it.
    pub(crate) fn begin(&self, journal: &Arc<Journal>) -> Result<Bounds> {
        let Some((tree, controllers)) = self.group()? else {
            return Ok(Bounds::default());
        };
        let parent = tree
            .parent_for(&controllers)
            .map_err(|why| crate::Error::Cannot {
                thing: "control group of the trial".into(),
                what: "cannot be made".into(),
                why,
                next: "hand the controllers down, or run without a limit".into(),
            })?;
        let mut group = Group::make(journal, &parent, &tree.own)?;
        if let Some(limit) = self.memory {
            memory::set(&group, tree.version, limit)?;
        }
        group.enter()?;
        Ok(Bounds {
            held: None,
            group: Some(group),
            memory: self.memory.map(|_| tree.version),
        })
    }

    /// Holds the device to the limits asked, if any. `stale`: see [`Held::set`].
    pub(crate) fn hold(
        &self,
        bounds: &mut Bounds,
        journal: &Arc<Journal>,
        node: &Path,
        stale: bool,
    ) -> Result<()> {
        if let Some(limits) = &self.limits {
            let held = Held::set(journal, node, limits, bounds.group.as_ref(), stale)?;
            bounds.held = Some(held);
        }
        Ok(())
    }
}

impl Bounds {
    /// The device's limit as asked and as read back.
    pub(crate) fn limit_facts(&self) -> Option<&str> {
        self.held.as_ref().map(|held| held.facts.as_str())
    }

    /// The memory group; none when memory is not limited.
    pub(crate) fn reading(&self) -> Option<GroupReading> {
        memory::read(self.group.as_ref()?, self.memory?)
    }

    /// The memory group in words.
    pub(crate) fn memory_facts(&self) -> Option<String> {
        let (group, reading) = (self.group.as_ref()?, self.reading()?);
        Some(format!(
            "{} bytes in {}",
            reading.limit,
            group.folder().display()
        ))
    }

    /// Takes the limit back and leaves the group. Called again it does nothing.
    pub(crate) fn lift(&mut self) -> Result<()> {
        let held = self.held.as_mut().map_or(Ok(()), Held::lift);
        // Also when the limit stays: the process must not.
        let left = self.group.as_mut().map_or(Ok(()), Group::leave);
        held.and(left)
    }
}
