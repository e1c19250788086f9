//! Devices of several layers: arrays of md, targets of device-mapper, logical volumes, `null_blk`, modelled disks.
//!
//! A stack is built on members: loop images, whole disks, or slices of one disk cut by dm-linear (one
//! real disk can so play eleven; and User-mode Linux cannot drive eight disks at once). Everything made is
//! one [`Part`], written down in the undo journal before it is made and undone from the top, by
//! the same function that `clean` uses after a kill -9.
//!
//! Programs that users have make them (mdadm, dmsetup, lvm), because what those choose is part of what
//! users run; udev is asked nowhere: nodes are those of devtmpfs (`/dev/dm-3`, `/dev/md0`), found by
//! sysfs. What came out is read back from sysfs and goes into the facts. Rejected: names in
//! /dev/mapper, which without udev are there or not by the version of the library.

pub mod dm;
pub mod hints;
mod kernel;
pub(crate) mod lvm;
pub mod md;
mod members;
pub mod model;
pub mod null_blk;
mod stacked;

use std::time::{Duration, Instant};

use crate::command;
use crate::host::Host;
use crate::undo::{Step, Task};
use crate::{Error, Result};
use progress::Silent;

pub use hints::{Geometry, Hints};
pub use kernel::available;
pub use md::Md;
pub(crate) use members::Bases;
pub use members::shares;
pub use model::{Model, Served};
pub use null_blk::NullBlk;
pub use stacked::Stacked;

/// The layers between disks and filesystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stack {
    /// An md array.
    Md(Md),
    /// device-mapper's striped target.
    Stripe {
        /// Bytes on one member before the next.
        chunk: u64,
    },
    /// A striped logical volume.
    Lvm {
        /// Bytes on one member before the next.
        chunk: u64,
    },
    /// `dm-delay`.
    Delay {
        /// Milliseconds that each read waits.
        read_ms: u32,
        /// Milliseconds that each write waits.
        write_ms: u32,
    },
    /// `dm-flakey`.
    Flakey {
        /// Seconds that it works.
        up_seconds: u32,
        /// Seconds that it then does not.
        down_seconds: u32,
        /// The target's feature for that time; none: every request fails.
        feature: Option<&'static str>,
    },
    /// `dm-log-writes`: the second member is its log.
    LogWrites,
    /// `null_blk`.
    NullBlk(NullBlk),
    /// A modelled disk in real time.
    Model(Model),
}

/// A stack as a trial asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stacking {
    /// What it is.
    pub stack: Stack,
    /// Bytes of each member; of a disk that is cut, their shares of it.
    pub sizes: Vec<u64>,
    /// Bytes of the device; for `null_blk` and modelled disks alone, others follow from their members.
    pub size: u64,
    /// What a reader calls it: `md raid0 of 11 disks, chunk 64k`.
    pub words: String,
    /// Its stripe unit and stripe width.
    pub geometry: Option<Geometry>,
    /// The stripe options of mkfs.
    pub hints: Hints,
}

impl Stack {
    /// Programs that make it and undo it, with Debian's packages.
    pub fn programs(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Stack::Md(_) => &[("mdadm", "mdadm")],
            Stack::Lvm { .. } => &[("lvm", "lvm2"), ("dmsetup", "dmsetup")],
            Stack::Stripe { .. }
            | Stack::Delay { .. }
            | Stack::Flakey { .. }
            | Stack::LogWrites => &[("dmsetup", "dmsetup")],
            Stack::NullBlk(_) | Stack::Model(_) => &[],
        }
    }
}

/// Programs that cut a disk into slices.
pub const SLICING: &[(&str, &str)] = &[("dmsetup", "dmsetup")];

/// Whether the programs that a stack needs are here, without running them: for plans.
///
/// # Errors
/// [`Error::MissingProgram`] with the package to install.
pub fn programs_present(stack: &Stack) -> Result<()> {
    stack
        .programs()
        .iter()
        .try_for_each(|(program, package)| locate(program, package).map(|_| ()))
}

fn locate(program: &str, package: &str) -> Result<String> {
    command::locate(program)
        .map(|path| path.display().to_string())
        .ok_or_else(|| Error::MissingProgram {
            program: program.into(),
            package: package.into(),
        })
}

/// Runs a program of a package.
fn run(program: &str, package: &str, arguments: &[String]) -> Result<command::Output> {
    let mut argv = vec![locate(program, package)?];
    argv.extend_from_slice(arguments);
    // A half-made array is undone, not waited for: these take milliseconds and are never cancelled.
    command::run(&argv, "", &Silent).map_err(not_the_studys_options)
}

/// A program here was given no word of the study.
fn not_the_studys_options(error: Error) -> Error {
    match error {
        Error::ProgramFailed {
            program,
            status,
            line,
            command,
        } => Error::Cannot {
            thing: program,
            what: status,
            why: line,
            next: format!("see the kernel log (dmesg); it ran: {command}"),
        },
        other => other,
    }
}

/// Words as arguments.
fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).into()
}

/// One thing that a stack made.
#[derive(Debug)]
pub(super) struct Part {
    /// The journal's line.
    number: u64,
    step: Step,
}

/// Undoes a part, by what the journal says of it. Gone already is success.
pub(crate) fn undo(host: &Host, step: &Step) -> Result<()> {
    match step {
        Step::Mapped { name } => dm::remove(host, name),
        Step::Array { device, uuid } => md::stop(host, device, uuid),
        Step::NullBlk { name } => null_blk::remove(host, name),
        Step::Served { device, file } => {
            let name = device.file_name().unwrap_or_default();
            model::gone(host, &name.to_string_lossy(), file)
        }
        _ => Ok(()),
    }
}

/// Undoes a part that a journal names. Gone already is success.
pub(crate) fn undo_task(host: &Host, task: &Task) -> Result<()> {
    match task {
        Task::Mapped(name) => dm::remove(host, name.as_str()),
        Task::Array { device, uuid } => md::stop(host, &device.node(), uuid.as_str()),
        Task::NullBlk(name) => null_blk::remove_unused(host, name.as_str()),
        Task::Served { device, file } => model::gone(host, device.as_str(), file.as_str()),
        _ => Ok(()),
    }
}

/// Whether a part that a journal names is still there.
pub(crate) fn is_left(host: &Host, task: &Task) -> bool {
    match task {
        Task::Mapped(name) => dm::find(host, name.as_str()).is_some(),
        Task::Array { device, uuid } => md::is_ours(host, &device.node(), uuid.as_str()),
        Task::NullBlk(name) => null_blk::is_left(host, name.as_str()),
        Task::Served { device, file } => model::is_own(host, device.as_str(), file.as_str()),
        _ => false,
    }
}

/// Whether a part of that name is there.
fn is_there(host: &Host, step: &Step) -> bool {
    match step {
        Step::Mapped { name } => dm::find(host, name).is_some(),
        Step::Array { device, uuid } => md::is_ours(host, device, uuid),
        Step::NullBlk { name } => null_blk::is_left(host, name),
        _ => false,
    }
}

/// Asks for something until it is there.
fn await_some<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        let found = look();
        if found.is_some() || begun.elapsed() >= patience {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::undo::{FILE, Journal, peek};
    use rundir::RunDir;

    /// What a kill -9 leaves of an array upon slices, as `clean` of another process reads it: each part follows
    /// what it is built on, so undoing from the end never pulls away what is in use.
    #[test]
    fn a_stacks_parts_stand_in_the_journal_from_the_ground_up() {
        let run = tempfile::tempdir().unwrap();
        let journal: Arc<Journal> = Journal::open(run.path()).unwrap();
        let mapped = |name: &str| Step::Mapped { name: name.into() };
        let steps = [
            mapped("fslab-7-0-slice0"),
            mapped("fslab-7-0-slice1"),
            Step::Array {
                device: "/dev/md0".into(),
                uuid: "1:2:3:4".into(),
            },
            Step::NullBlk {
                name: "nullb2".into(),
            },
            Step::Served {
                device: "/dev/loop3".into(),
                file: "fslab-7-0-model".into(),
            },
            Step::Mount {
                device: "/dev/md0".into(),
                point: "/run/mnt/1".into(),
            },
        ];
        for step in &steps {
            journal.will_make(step.clone()).unwrap();
        }
        let text = std::fs::read_to_string(run.path().join(FILE)).unwrap();
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                r#"{"number":1,"made":"mapped","name":"fslab-7-0-slice0"}"#,
                r#"{"number":2,"made":"mapped","name":"fslab-7-0-slice1"}"#,
                r#"{"number":3,"made":"array","device":"/dev/md0","uuid":"1:2:3:4"}"#,
                r#"{"number":4,"made":"null_blk","name":"nullb2"}"#,
                r#"{"number":5,"made":"served","device":"/dev/loop3","file":"fslab-7-0-model"}"#,
                r#"{"number":6,"made":"mount","device":"/dev/md0","point":"/run/mnt/1"}"#,
            ]
        );
        drop(journal);
        let read: Vec<Step> = peek(&RunDir::open(run.path()).unwrap())
            .unwrap()
            .steps
            .into_iter()
            .map(|(_, s)| s)
            .collect();
        assert_eq!(read, steps);
        // Gone already is success, for each kind: clean may come twice.
        let host = Host::below(run.path());
        for step in &steps[..5] {
            assert!(!is_there(&host, step), "{step:?}");
            undo(&host, step).unwrap();
        }
    }
}
