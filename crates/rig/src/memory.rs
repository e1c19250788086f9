//! A memory limit for a trial: the machine plays one with less memory.
//!
//! The whole process enters a control group with a limit before the filesystem is mounted and leaves
//! it after it is unmounted. What counts against the limit is what is allocated meanwhile: page
//! cache of the files read and written, inodes and dentries, buffers of the workload and of every
//! program started. What the process had before stays charged where it was.
//!
//! Rejected: `mem=` at boot (a reboot for each level), a balloon that takes memory away (its pages
//! would have to be locked, and the kernel's watermarks would still be those of the large machine).
//! What a group cannot play: dirty thresholds are those of the whole machine in version 1 of the
//! control groups, so writeback begins later than on a machine of that size.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cgroup::{self, Controller, Group, Hierarchy, Version};
use crate::host::Host;
use crate::{Error, Result};

/// What the lab needs above what it has already: buffers, the sampler, a program it starts.
const HEADROOM: u64 = 32 << 20;

/// A trial's memory group, read at one moment. Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupReading {
    /// The limit.
    pub limit: u64,
    /// Charged now.
    pub usage: u64,
    /// The most that was charged; the present usage on kernels that do not keep it (version 2
    /// before Linux 5.19).
    pub peak: u64,
    /// How often an allocation met the limit and the kernel had to reclaim (`memory.failcnt` in
    /// version 1, `max` of `memory.events` in version 2).
    pub limit_met: u64,
}

/// Files of a group in one version of the control groups.
struct Names {
    limit: &'static str,
    usage: &'static str,
    peak: &'static str,
}

fn names(version: Version) -> Names {
    match version {
        Version::V1 => Names {
            limit: "memory.limit_in_bytes",
            usage: "memory.usage_in_bytes",
            peak: "memory.max_usage_in_bytes",
        },
        Version::V2 => Names {
            limit: "memory.max",
            usage: "memory.current",
            peak: "memory.peak",
        },
    }
}

/// The tree that limits memory, if `limit` can be asked at all: asked before anything is made.
pub(crate) fn hierarchy(host: &Host, limit: u64) -> Result<Hierarchy> {
    let needed = resident(host).map_err(|error| {
        Error::io(
            Path::new("/proc/self/status"),
            "cannot see how much memory the lab has",
            error,
        )
    })? + HEADROOM;
    if limit < needed {
        return Err(Error::Cannot {
            thing: format!("memory limit of {limit} bytes"),
            what: "cannot run under it".into(),
            why: "it is too small for the lab itself".into(),
            next: format!(
                "the smallest that works here is {}m",
                needed.div_ceil(1 << 20)
            ),
        });
    }
    Hierarchy::find(host, Controller::Memory).map_err(|why| Error::Cannot {
        thing: format!("memory limit of {limit} bytes"),
        what: "cannot be set".into(),
        why,
        next: "mount the memory controller of the control groups, or run without a memory limit"
            .into(),
    })
}

/// Resident bytes of this process (`VmRSS`).
fn resident(host: &Host) -> io::Result<u64> {
    let text = fs::read_to_string(host.path("proc/self/status"))?;
    let kib = text
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.trim().strip_suffix("kB"))
        .and_then(|number| number.trim().parse::<u64>().ok());
    kib.map(|kib| kib << 10)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no VmRSS"))
}

/// Limits a group that is still empty, and reads back what is in force.
pub(crate) fn set(group: &Group, version: Version, limit: u64) -> Result<()> {
    group.set(names(version).limit, &limit.to_string())?;
    let page = rustix::param::page_size() as u64;
    let asked = limit / page * page;
    let seen = in_force(group, version)
        .map_err(|error| Error::io(group.folder(), "cannot read its memory limit back", error))?;
    if seen != asked {
        return Err(Error::Cannot {
            thing: group.folder().display().to_string(),
            what: format!("memory limit of {limit} bytes"),
            why: format!("{seen} bytes are in force, by it or a group above it"),
            next: "ask for less than the groups above allow".into(),
        });
    }
    Ok(())
}

/// The smallest limit of the group and those above it.
fn in_force(group: &Group, version: Version) -> io::Result<u64> {
    if version == Version::V1 {
        let file = group.file("memory.stat");
        return cgroup::keyed(&file, "hierarchical_memory_limit")?
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no limit in memory.stat"));
    }
    // The root group has no such file.
    let limits = group.folder().ancestors();
    let limits = limits.map_while(|folder| cgroup::number(&folder.join("memory.max")).ok());
    Ok(limits.min().unwrap_or(u64::MAX))
}

/// Reads the group; none when a file cannot be read.
pub(crate) fn read(group: &Group, version: Version) -> Option<GroupReading> {
    let names = names(version);
    let number = |name| cgroup::number(&group.file(name)).ok();
    let usage = number(names.usage)?;
    let limit_met = match version {
        Version::V1 => number("memory.failcnt"),
        Version::V2 => cgroup::keyed(&group.file("memory.events"), "max")
            .ok()
            .flatten(),
    };
    Some(GroupReading {
        limit: number(names.limit)?,
        usage,
        peak: number(names.peak).unwrap_or(usage),
        limit_met: limit_met?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::tests::machine;

    #[test]
    fn a_limit_too_small_for_the_lab_names_the_smallest_that_works() {
        let (_root, host) = machine(&[("proc/self/status", "Name:\tfslab\nVmRSS:\t   20480 kB\n")]);
        let error = hierarchy(&host, 51 << 20).unwrap_err();
        assert_eq!(error.class(), crate::Class::Cell);
        assert_eq!(
            error.to_string(),
            "memory limit of 53477376 bytes: cannot run under it: it is too small for the lab itself; \
             the smallest that works here is 52m"
        );
        let error = hierarchy(&host, 52 << 20).unwrap_err().to_string();
        assert!(
            error.contains("cannot be set") && error.contains("mountinfo"),
            "{error}"
        );
    }
}
