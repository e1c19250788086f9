//! Where a crash check can follow a trial: refused beforehand anywhere else.
//!
//! What is judged is the disk itself, after a power cut that dm-flakey made; it is under every filesystem that fslab makes
//! the device. Or it is a log of all that reached one disk. Two write one: QEMU logs a guest's disk on the host, and
//! dm-log-writes logs in the kernel of the trial, which is what the host and User-mode Linux have. Where QEMU does not
//! run the trial, a plain device of a cell with a crash check therefore becomes `log_writes`. Anything else that ran the
//! trial would give the same figures and silently no check, and a reader would take "no damage" for an answer.

use study::{
    Cell, CrashMethod, DeviceSpec, Failing, Flakey, Layers, LogWrites, Plan, Stack, WorkloadSpec,
};

use crate::error::Error;
use crate::target::{GuestMachine, Target};

/// What a kernel without it lacks, as the plan's line of what was passed over has it.
pub(crate) const LACKING: &str = "dm-log-writes (crash check)";
/// What a runner lacks that cannot log the disk below a device.
pub(crate) const LACKING_BELOW: &str = "a log of the disk below a device (crash check)";
/// The capability of a kernel, as `fslab kernel list` names it.
pub(crate) const CAPABILITY: &str = "dm-log-writes";

/// What a power cut needs, by the same names.
pub(crate) const CUTS: &str = "dm-flakey";
/// Seconds that a device is up which is never down by itself: any number.
const UP: u32 = 3600;

/// Whether the power of a cell's device is cut.
pub(crate) fn is_cut(cell: &Cell) -> bool {
    cell.crash
        .as_ref()
        .is_some_and(|crash| crash.method == CrashMethod::Cut)
}

/// Whether a log is kept of what a cell writes.
pub(crate) fn is_logged(cell: &Cell) -> bool {
    cell.crash.is_some() && !is_cut(cell)
}

/// The writer of a log.
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

    /// What logs writes where the trials run there; nothing on a disk or in a directory that is given.
    fn at(target: &Target) -> Option<Writer> {
        match target {
            Target::Guest(guest) if guest.machine == GuestMachine::Qemu => Some(Writer::Qemu),
            Target::Guest(_) | Target::LoopImages => Some(Writer::Kernel),
            Target::Directory(_)
            | Target::Ranks { .. }
            | Target::Device { .. }
            | Target::Disks(_) => None,
        }
    }
}

/// Puts the plain devices of cells with a crash check on dm-log-writes, where nothing else logs, and on dm-flakey
/// where the power is cut.
pub fn prepare(plan: &mut Plan, target: &Target) {
    let Some(writer) = Writer::at(target) else {
        return;
    };
    for cell in plan.cells.iter_mut().filter(|cell| is_cut(cell)) {
        cell.device.stack.get_or_insert_with(|| Stack {
            name: "flakey".into(),
            about: "dm-flakey, for the power cut".into(),
            layers: Layers::Flakey(Flakey {
                up_seconds: UP,
                down_seconds: 0,
                failure: Failing::DropWrites,
            }),
        });
    }
    if writer != Writer::Kernel {
        return;
    }
    for cell in plan.cells.iter_mut().filter(|cell| is_logged(cell)) {
        cell.device.stack.get_or_insert_with(|| Stack {
            name: "log_writes".into(),
            about: "dm-log-writes, for the crash check".into(),
            layers: Layers::LogWrites(LogWrites { log_size: None }),
        });
    }
}

/// Refuses a plan whose crash check cannot be made there.
///
/// # Errors
/// A target that keeps no log of writes, or a device whose log would not be the filesystem's.
pub(crate) fn check(plan: &Plan, target: &Target) -> Result<(), Error> {
    devices(plan)?;
    let at = Writer::at(target);
    if at.is_none() && plan.cells.iter().any(is_cut) {
        return Err(Error::Preflight(format!(
            "{}: the power of a device can be cut where fslab makes the device; run the study without it, or \
             without the cut (--set crash.enabled=false)",
            place(target)
        )));
    }
    let mut wanted = plan.cells.iter().filter(|cell| is_logged(cell));
    let why = match at {
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
        None => format!(
            "{}: the crash check needs a log of a device's writes, which is kept of disks that fslab makes",
            place(target)
        ),
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
    let mut uncut = plan.cells.iter().filter(|cell| is_cut(cell));
    if let Some(why) = uncut.find_map(no_cut) {
        return Err(Error::Preflight(why));
    }
    let mut wanted = plan.cells.iter().filter(|cell| is_logged(cell));
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

/// Why the power of a cell's device cannot be cut, or nothing be learnt of it.
fn no_cut(cell: &Cell) -> Option<String> {
    let layers = cell.device.stack.as_ref().map(|stack| &stack.layers);
    match layers {
        None
        | Some(Layers::Flakey(Flakey {
            down_seconds: 0, ..
        })) => {}
        Some(_) => {
            return Some(format!(
                "device {}: the power is cut of device=plain, or of one of kind flakey that is never down by itself \
                 (down_seconds = 0); choose one, or replay a log of the writes (--set crash.method=replay)",
                words(&cell.device)
            ));
        }
    }
    if cell.check.is_some() {
        return Some(
            "check and a power cut: the crash check runs the checker itself, after recovery; leave the other out \
             (--set check.enabled=false)"
                .into(),
        );
    }
    matches!(cell.workload, WorkloadSpec::Scan(_)).then(|| {
        "a power cut and workload scan: what it reads would be a filesystem without power; replay a log of the \
         writes (--set crash.method=replay)"
            .into()
    })
}

fn place(target: &Target) -> String {
    match target {
        Target::Directory(path) | Target::Ranks { dir: path, .. } | Target::Device { path, .. } => {
            path.display().to_string()
        }
        other => other.to_string(),
    }
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
    fn cut(set: &[&str]) -> Plan {
        let study = Study::load("journal").unwrap();
        let mut set: Vec<String> = set.iter().map(|one| (*one).to_owned()).collect();
        set.extend(["crash.enabled=true".into(), "crash.method=cut".into()]);
        let overrides = Overrides {
            set,
            filter: vec!["filesystem=ext4".into()],
            ..Overrides::default()
        };
        study::plan(&study, &overrides).unwrap()
    }

    #[test]
    fn a_device_whose_power_is_cut_is_on_flakey_in_every_executor() {
        for target in [
            guest(GuestMachine::Uml),
            guest(GuestMachine::Qemu),
            Target::LoopImages,
        ] {
            let mut plan = cut(&[]);
            prepare(&mut plan, &target);
            check(&plan, &target).unwrap();
            for cell in &plan.cells {
                let needs = cell.device.needs();
                assert!(needs.contains(&CUTS), "{needs:?}");
            }
        }
        let message = refused(&cut(&[]), &Target::Directory("/mnt/a".into()));
        assert!(
            message.contains("/mnt/a: the power of a device"),
            "{message}"
        );
    }

    #[test]
    fn a_cut_of_which_nothing_could_be_learnt_is_refused() {
        let qemu = guest(GuestMachine::Qemu);
        for (set, why) in [
            (&["device=delay"][..], "device delay (dm-delay"),
            (&["device=raid1"], "down_seconds = 0"),
            (
                &["device=flakey", "stack.flakey.down_seconds=3"],
                "down_seconds = 0",
            ),
            (&["check.enabled=true"], "check.enabled=false"),
        ] {
            let message = refused(&cut(set), &qemu);
            assert!(message.contains(why), "{set:?}: {message}");
        }
        check(
            &cut(&["device=flakey", "stack.flakey.failure=error"]),
            &qemu,
        )
        .unwrap();
    }
}
