//! Holding a device to a rate, so that a fast disk plays a slow one.
//!
//! The block layer does it, below the filesystem and above the driver (blk-throttle, a part of the
//! control groups): what is submitted faster than allowed waits there. Rejected: a delay in the
//! workload, which would slow the application and not the disk; dm-delay and null_blk, which are not
//! on every kernel and would be another device.
//!
//! A limit belongs to a group, so it has to be set where the submitter is ([`throttle`] for version 1
//! of the control groups, [`io_max`] for version 2). Reads are submitted by the process that reads. Buffered
//! writes are submitted by kernel workers: in version 1 these belong to the root group.
//!
//! A limit outlives the process that set it. On a loop device it would hit the next user of that number
//! next, so it is in the undo journal before it is set and taken back before the device is detached.

pub(crate) mod io_max;
pub(crate) mod throttle;

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{major, minor};
use serde::{Deserialize, Serialize};

use crate::cgroup::{Controller, Group, Hierarchy, Version};
use crate::host::Host;
use crate::undo::Journal;
use crate::{Error, Result};

/// What a device is held to, a second; `None` is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes read.
    pub read_bytes: Option<u64>,
    /// Bytes written.
    pub write_bytes: Option<u64>,
    /// Reads.
    pub read_ops: Option<u64>,
    /// Writes.
    pub write_ops: Option<u64>,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Limits::default()
    }

    /// The four with their names in version 1 and in version 2 of the control groups.
    fn items(&self) -> [(&'static str, &'static str, Option<u64>); 4] {
        [
            ("read_bps", "rbps", self.read_bytes),
            ("write_bps", "wbps", self.write_bytes),
            ("read_iops", "riops", self.read_ops),
            ("write_iops", "wiops", self.write_ops),
        ]
    }
}

impl fmt::Display for Limits {
    /// `read 73400320 B/s, write 200 operations/s`; `none`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = [
            ("read", "B/s", self.read_bytes),
            ("write", "B/s", self.write_bytes),
            ("read", "operations/s", self.read_ops),
            ("write", "operations/s", self.write_ops),
        ]
        .iter()
        .filter_map(|(way, unit, rate)| Some(format!("{way} {} {unit}", (*rate)?)))
        .collect();
        if words.is_empty() {
            return f.write_str("none");
        }
        f.write_str(&words.join(", "))
    }
}

/// A limit in force, taken back when this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) facts: String,
    mechanism: Mechanism,
}

#[derive(Debug)]
enum Mechanism {
    Throttle(throttle::Throttle),
    /// It goes with its group.
    IoMax,
}

impl Held {
    /// Sets `limits` on the device `node` and reads them back. `stale`: what limits the device has
    /// belong to no run (a loop device that was free a moment ago). `group` is needed in version 2.
    pub(crate) fn set(
        journal: &Arc<Journal>,
        node: &Path,
        limits: &Limits,
        group: Option<&Group>,
        stale: bool,
    ) -> Result<Held> {
        let tree = hierarchy(&Host::default(), limits)?;
        let device = device_number(node)?;
        match (tree.version, group) {
            (Version::V1, _) => {
                let (throttle, seen) =
                    throttle::Throttle::set(journal, &tree, node, &device, limits, stale)?;
                Ok(Held {
                    facts: format!("asked {limits}; {seen}"),
                    mechanism: Mechanism::Throttle(throttle),
                })
            }
            (Version::V2, Some(group)) => {
                let seen = io_max::set(group, node, &device, limits)?;
                Ok(Held {
                    facts: format!("asked {limits}; {seen}"),
                    mechanism: Mechanism::IoMax,
                })
            }
            (Version::V2, None) => Err(cannot(
                node,
                "in version 2 of the control groups a limit needs a group, and none was made"
                    .into(),
                "this is a defect: please report it",
            )),
        }
    }

    /// Takes the limit back.
    pub(crate) fn lift(&mut self) -> Result<()> {
        match &mut self.mechanism {
            Mechanism::Throttle(throttle) => throttle.lift(),
            Mechanism::IoMax => Ok(()),
        }
    }
}

/// The tree that can limit, if it can, and `limits` make sense: asked before anything is made.
pub(crate) fn hierarchy(host: &Host, limits: &Limits) -> Result<Hierarchy> {
    let thing = Path::new("device limit");
    if limits.items().iter().any(|(.., rate)| *rate == Some(0)) {
        return Err(cannot(
            thing,
            "nothing would ever move at 0 a second".into(),
            "ask for 1 at least, or for none",
        ));
    }
    let next = "run on a kernel with CONFIG_BLK_DEV_THROTTLING and the controller mounted, or without a limit";
    let tree = Hierarchy::find(host, Controller::Io).map_err(|why| cannot(thing, why, next))?;
    if tree.version == Version::V1 {
        if !tree.top.join(throttle::file("read_bps")).exists() {
            let why = format!("{} has no throttle files", tree.top.display());
            return Err(cannot(thing, why, next));
        }
        if !tree.shows_root() {
            let why = format!(
                "{} is not the root group, and in version 1 writeback is submitted from there",
                tree.top.display()
            );
            return Err(cannot(
                thing,
                why,
                "run outside of the container, or without a limit",
            ));
        }
    }
    Ok(tree)
}

/// What another program limits a device to in the groups that matter, in words; none when nothing.
pub(crate) fn in_force(host: &Host, node: &Path) -> Option<String> {
    let tree = Hierarchy::find(host, Controller::Io).ok()?;
    let device = device_number(node).ok()?;
    match tree.version {
        Version::V1 => throttle::in_force(&tree, &device),
        Version::V2 => io_max::in_force(&tree, &device),
    }
}

/// `MAJOR:MINOR` of a device node.
fn device_number(node: &Path) -> Result<String> {
    let meta = std::fs::metadata(node)
        .map_err(|error| Error::io(node, "cannot look at it to limit it", error))?;
    Ok(format!("{}:{}", major(meta.rdev()), minor(meta.rdev())))
}

fn cannot(thing: &Path, why: String, next: &str) -> Error {
    Error::Cannot {
        thing: thing.display().to_string(),
        what: "cannot limit it".into(),
        why,
        next: next.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::tests::machine;

    #[test]
    fn limits_are_described_in_words() {
        let limits = Limits {
            read_bytes: Some(73_400_320),
            write_ops: Some(200),
            ..Limits::default()
        };
        assert_eq!(
            limits.to_string(),
            "read 73400320 B/s, write 200 operations/s"
        );
        assert_eq!(Limits::default().to_string(), "none");
        assert!(Limits::default().is_empty() && !limits.is_empty());
    }

    fn read(rate: u64) -> Limits {
        Limits {
            read_bytes: Some(rate),
            ..Limits::default()
        }
    }

    #[test]
    fn what_cannot_be_limited_is_refused_before_anything_is_made() {
        let (_root, bare) = machine(&[("proc/self/mountinfo", ""), ("proc/self/cgroup", "")]);
        let container = [
            (
                "proc/self/mountinfo",
                "38 31 0:35 / /cg/blkio rw - cgroup cgroup rw,blkio\n",
            ),
            ("proc/self/cgroup", "7:blkio:/\n"),
            ("cg/blkio/tasks", ""),
        ];
        let (_keep, no_throttle) = machine(&container);
        let mut with_files = container.to_vec();
        with_files.push(("cg/blkio/blkio.throttle.read_bps_device", ""));
        let (_keep2, contained) = machine(&with_files);
        for (host, rate, why) in [
            (&bare, 0, "at 0 a second"),
            (&bare, 1, "no control group tree with the io controller"),
            (&no_throttle, 1, "has no throttle files"),
            (&contained, 1, "is not the root group"),
        ] {
            let error = hierarchy(host, &read(rate)).unwrap_err();
            assert_eq!(error.class(), crate::Class::Cell);
            let text = error.to_string();
            assert!(text.contains(why) && !text.contains('\n'), "{text}");
        }
        with_files.push(("cg/blkio/cgroup.sane_behavior", "0"));
        let (_keep3, whole) = machine(&with_files);
        hierarchy(&whole, &read(1)).unwrap();
    }
}
