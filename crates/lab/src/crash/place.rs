//! Where a crash check can follow a trial: refused beforehand anywhere else.
//!
//! What is judged is a log of all that reached one disk. Two write one: QEMU logs a guest's disk on the host, and
//! dm-log-writes logs in the kernel of the trial, which is what the host and User-mode Linux have. Where QEMU does not
//! run the trial, a plain device of a cell with a crash check therefore becomes `log_writes`. Whatever else ran the
//! trial would give the same figures and silently no check, and a reader would take "no damage" for an answer.

use study::{DeviceSpec, Layers, LogWrites, Plan, Stack};

use crate::error::Error;
use crate::target::{GuestMachine, Target};

/// What a kernel without it lacks, as the plan's line of what was passed over has it.
pub(crate) const LACKING: &str = "dm-log-writes (crash check)";
/// What a runner lacks that cannot log the disk below a device.
pub(crate) const LACKING_BELOW: &str = "a log of the disk below a device (crash check)";
/// The capability of a kernel, as `fslab kernel list` names it.
pub(crate) const CAPABILITY: &str = "dm-log-writes";

/// Who writes a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// QEMU, of a guest's disk.
    Qemu,
    /// The trial's own kernel.
    Kernel,
}

impl Writer {
    /// In words.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Writer::Qemu => "QEMU (blklogwrites)",
            Writer::Kernel => "dm-log-writes",
        }
    }

    /// Who does where the trials run there; nobody on a disk or in a directory that is given.
    fn at(target: &Target) -> Option<Writer> {
        match target {
            Target::Guest(guest) if guest.machine == GuestMachine::Qemu => Some(Writer::Qemu),
            Target::Guest(_) | Target::LoopImages => Some(Writer::Kernel),
            Target::Directory(_) | Target::Device { .. } | Target::Disks(_) => None,
        }
    }
}

/// Puts the plain devices of cells with a crash check upon dm-log-writes, where nobody else logs.
pub fn prepare(plan: &mut Plan, target: &Target) {
    if Writer::at(target) != Some(Writer::Kernel) {
        return;
    }
    for cell in plan.cells.iter_mut().filter(|cell| cell.crash.is_some()) {
        cell.device.stack.get_or_insert_with(|| Stack {
            name: "log_writes".into(),
            about: "dm-log-writes, for the crash check".into(),
            layers: Layers::LogWrites(LogWrites { log_size: None }),
        });
    }
}

/// Refuses a plan whose crash check nobody would make there.
///
/// # Errors
/// A target that keeps no log of writes, or a device whose log would not be the filesystem's.
pub(crate) fn check(plan: &Plan, target: &Target) -> Result<(), Error> {
    devices(plan)?;
    let mut wanted = plan.cells.iter().filter(|cell| cell.crash.is_some());
    let why = match Writer::at(target) {
        Some(Writer::Qemu) => return Ok(()),
        Some(Writer::Kernel) => {
            let Some(cell) = wanted.find(|cell| !logged_by_itself(&cell.device)) else {
                return Ok(());
            };
            format!(
                "device {}: the crash check needs a log of the disk below it, which QEMU alone keeps",
                words(&cell.device)
            )
        }
        None if wanted.next().is_none() => return Ok(()),
        None => {
            let place = match target {
                Target::Directory(path) | Target::Device { path, .. } => path.display().to_string(),
                other => other.to_string(),
            };
            format!(
                "{place}: the crash check needs a log of a device's writes, which is kept of disks that fslab makes"
            )
        }
    };
    Err(Error::Preflight(format!(
        "{why}; run the study with --executor qemu, or without the check (--set crash.enabled=false)"
    )))
}

/// Refuses devices of several disks, and those on whose disk the filesystem does not begin at byte 0.
///
/// # Errors
/// The first such device of a cell with a crash check.
pub(crate) fn devices(plan: &Plan) -> Result<(), Error> {
    let mut wanted = plan.cells.iter().filter(|cell| cell.crash.is_some());
    let possible = |device: &DeviceSpec| {
        device.stack.is_none() || stands_straight(device) || logged_by_itself(device)
    };
    let Some(cell) = wanted.find(|cell| !possible(&cell.device)) else {
        return Ok(());
    };
    Err(Error::Preflight(format!(
        "device {}: the crash check judges the log of one disk that holds the filesystem and nothing else; run it on \
         device=plain and without --virtual-time, or without the check (--set crash.enabled=false)",
        words(&cell.device)
    )))
}

fn words(device: &DeviceSpec) -> String {
    match &device.stack {
        Some(stack) => format!("{} ({stack})", stack.name),
        None => study::PLAIN.to_owned(),
    }
}

/// Whether what is written to the device is written to one disk below it, at the same place.
pub(crate) fn stands_straight(device: &DeviceSpec) -> bool {
    let layers = device.stack.as_ref().map(|stack| &stack.layers);
    matches!(layers, Some(Layers::Delay(_) | Layers::Flakey(_)))
}

/// Whether the device is one that logs what is written to it.
pub(crate) fn logged_by_itself(device: &DeviceSpec) -> bool {
    let layers = device.stack.as_ref().map(|stack| &stack.layers);
    matches!(layers, Some(Layers::LogWrites(_)))
}

#[cfg(test)]
mod tests {
    use study::{Overrides, Study};

    use super::*;
    use crate::target::GuestTarget;

    fn plan(enabled: bool) -> Plan {
        let study = Study::load("journal").unwrap();
        let overrides = Overrides {
            set: vec![format!("crash.enabled={enabled}")],
            filter: vec!["filesystem=ext4".into()],
            ..Overrides::default()
        };
        study::plan(&study, &overrides).unwrap()
    }

    fn on(layers: &Layers) -> Plan {
        let mut plan = plan(true);
        for cell in &mut plan.cells {
            cell.device.stack = Some(Stack {
                name: "it".into(),
                about: String::new(),
                layers: layers.clone(),
            });
        }
        plan
    }

    fn guest(machine: GuestMachine) -> Target {
        Target::Guest(GuestTarget::new(machine))
    }

    fn refused(plan: &Plan, target: &Target) -> String {
        let message = check(plan, target).unwrap_err().to_string();
        assert_eq!(message.lines().count(), 1);
        message
    }

    #[test]
    fn where_qemu_does_not_log_a_plain_device_becomes_one_that_does() {
        let qemu = guest(GuestMachine::Qemu);
        for target in [guest(GuestMachine::Uml), Target::LoopImages, qemu.clone()] {
            let mut plan = plan(true);
            prepare(&mut plan, &target);
            check(&plan, &target).unwrap();
            let all = plan.cells.iter().all(|cell| logged_by_itself(&cell.device));
            assert_eq!(all, target != qemu);
            let mut without = super::tests::plan(false);
            let before = without.clone();
            prepare(&mut without, &target);
            assert_eq!(without, before);
        }
    }

    #[test]
    fn a_log_that_is_given_its_size_keeps_it() {
        let log = Layers::LogWrites(LogWrites {
            log_size: Some(study::Bytes(7 << 20)),
        });
        for target in [guest(GuestMachine::Uml), guest(GuestMachine::Qemu)] {
            let mut plan = on(&log);
            prepare(&mut plan, &target);
            assert_eq!(plan, on(&log));
            check(&plan, &target).unwrap();
        }
    }

    #[test]
    fn what_is_not_fslabs_to_log_is_refused() {
        let disk = Target::Device {
            path: "/dev/sdx".into(),
            serial: "S".into(),
        };
        for (target, name) in [
            (Target::Directory("/mnt/a".into()), "/mnt/a"),
            (disk, "/dev/sdx"),
            (Target::Disks(Vec::new()), "0 disks"),
        ] {
            check(&plan(false), &target).unwrap();
            let message = refused(&plan(true), &target);
            assert!(message.contains(name), "{message}");
            assert!(message.contains("--executor qemu"), "{message}");
        }
    }

    #[test]
    fn below_another_device_qemu_alone_logs() {
        let delay = Layers::Delay(study::Delay {
            read_ms: 1,
            write_ms: 1,
        });
        check(&on(&delay), &guest(GuestMachine::Qemu)).unwrap();
        for target in [guest(GuestMachine::Uml), Target::LoopImages] {
            let message = refused(&on(&delay), &target);
            assert!(message.contains("device it (dm-delay"), "{message}");
            assert!(message.contains("--executor qemu"), "{message}");
        }
    }

    #[test]
    fn the_disk_has_to_be_the_filesystem() {
        let qemu = guest(GuestMachine::Qemu);
        // One disk, but a volume's first MiB is LVM's own.
        let lvm = Layers::Lvm(study::Striped {
            members: 1,
            chunk: study::Bytes(1 << 20),
        });
        let message = refused(&on(&lvm), &qemu);
        assert!(
            message.contains("device it (LVM") && message.contains("device=plain"),
            "{message}"
        );
        let mut virtual_time = plan(true);
        crate::virtual_time::prepare(&mut virtual_time).unwrap();
        let message = refused(&virtual_time, &qemu);
        assert!(message.contains("--virtual-time"), "{message}");
    }
}
