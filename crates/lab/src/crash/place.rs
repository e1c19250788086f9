//! Where a crash check can follow a trial: refused beforehand anywhere else.
//!
//! What is judged is a log of all that reached one disk, and so far one thing alone writes such a log that the
//! host can read afterwards: QEMU, of a guest's disk. Whatever else ran the trial would give the same figures and
//! silently no check, and a reader would take "no damage" for an answer.

use study::{DeviceSpec, Layers, Plan};

use crate::error::Error;
use crate::target::{GuestMachine, Target};

/// What a runner without it lacks, as the plan's line of what was passed over has it.
pub(crate) const LACKING: &str = "a log of a disk's writes (crash check)";

/// Refuses a plan whose crash check nobody would make there.
///
/// # Errors
/// A target that keeps no log of writes, or a device whose log would not be the filesystem's.
pub(crate) fn check(plan: &Plan, target: &Target) -> Result<(), Error> {
    let keeps = matches!(target, Target::Guest(guest) if guest.machine == GuestMachine::Qemu);
    let wanted = plan.cells.iter().any(|cell| cell.crash.is_some());
    if wanted && !keeps {
        let place = match target {
            Target::Guest(guest) => format!("executor {}", guest.machine.name()),
            Target::LoopImages => "executor host".to_owned(),
            Target::Directory(path) | Target::Device { path, .. } => path.display().to_string(),
            Target::Disks(_) => target.to_string(),
        };
        return Err(Error::Preflight(format!(
            "{place}: the crash check needs a log of a disk's writes, which QEMU alone keeps; run the study with \
             --executor qemu, or without the check (--set crash.enabled=false)"
        )));
    }
    devices(plan)
}

/// Refuses devices of several disks, and those on whose disk the filesystem does not begin at byte 0.
///
/// # Errors
/// The first such device of a cell with a crash check.
pub(crate) fn devices(plan: &Plan) -> Result<(), Error> {
    let mut wanted = plan.cells.iter().filter(|cell| cell.crash.is_some());
    let Some(cell) = wanted.find(|cell| !is_plain(&cell.device)) else {
        return Ok(());
    };
    let device = cell.device.stack.as_ref();
    let device = device.map_or_else(String::new, |stack| {
        format!("device {} ({stack})", stack.name)
    });
    Err(Error::Preflight(format!(
        "{device}: the crash check judges the log of one disk that holds the filesystem and nothing else; run it on \
         device=plain and without --virtual-time, or without the check (--set crash.enabled=false)"
    )))
}

/// Whether what is written to the device is written to one disk, at the same place.
fn is_plain(device: &DeviceSpec) -> bool {
    let straight = |layers: &Layers| matches!(layers, Layers::Delay(_) | Layers::Flakey(_));
    let mut stack = device.stack.iter();
    stack.all(|stack| straight(&stack.layers))
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

    fn places() -> [(Target, &'static str); 5] {
        [
            (Target::LoopImages, "executor host"),
            (
                Target::Guest(GuestTarget::new(GuestMachine::Uml)),
                "executor uml",
            ),
            (Target::Directory("/mnt/a".into()), "/mnt/a"),
            (
                Target::Device {
                    path: "/dev/sdx".into(),
                    serial: "S".into(),
                },
                "/dev/sdx",
            ),
            (Target::Disks(Vec::new()), "0 disks"),
        ]
    }

    #[test]
    fn only_qemu_keeps_a_log() {
        let qemu = Target::Guest(GuestTarget::new(GuestMachine::Qemu));
        check(&plan(true), &qemu).unwrap();
        for (target, name) in places() {
            check(&plan(false), &target).unwrap();
            let message = check(&plan(true), &target).unwrap_err().to_string();
            assert!(message.contains(name), "{message}");
            assert!(message.contains("--executor qemu"), "{message}");
            assert_eq!(message.lines().count(), 1);
        }
    }

    #[test]
    fn the_disk_has_to_be_the_filesystem() {
        let qemu = Target::Guest(GuestTarget::new(GuestMachine::Qemu));
        let on = |layers: Layers| {
            let mut plan = plan(true);
            for cell in &mut plan.cells {
                cell.device.stack = Some(study::Stack {
                    name: "it".into(),
                    about: String::new(),
                    layers: layers.clone(),
                });
            }
            check(&plan, &qemu)
        };
        let striped = study::Striped {
            members: 1,
            chunk: study::Bytes(1 << 20),
        };
        // One disk, but a volume's first MiB is LVM's own.
        let message = on(Layers::Lvm(striped)).unwrap_err().to_string();
        assert!(
            message.contains("device it (LVM") && message.contains("device=plain"),
            "{message}"
        );
        let log = Layers::LogWrites(study::LogWrites { log_size: None });
        on(log).unwrap_err();
        on(Layers::Delay(study::Delay {
            read_ms: 1,
            write_ms: 1,
        }))
        .unwrap();
        let mut virtual_time = plan(true);
        crate::virtual_time::prepare(&mut virtual_time).unwrap();
        let message = devices(&virtual_time).unwrap_err().to_string();
        assert!(message.contains("--virtual-time"), "{message}");
        assert_eq!(message.lines().count(), 1);
    }
}
