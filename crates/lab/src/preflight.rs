//! What can be known before anything is touched: programs, rights, room.

use std::collections::BTreeSet;
use std::path::Path;

use rustix::fs::Access;
use rustix::io::Errno;
use study::{FilesystemKind, Plan};

use crate::error::Error;
use crate::scan::NO_DEVICE;
use crate::target::Target;

/// Refuses a plan that cannot run here, with what to do about it.
///
/// # Errors
/// The first thing missing.
pub fn check(plan: &Plan, target: &Target, out: &Path) -> Result<(), Error> {
    crate::crash::requirements::check(plan, target)?;
    forged(plan, target)?;
    if !matches!(target, Target::Ranks { .. }) {
        crate::ranks::refuse_copies(plan)?;
    }
    match target {
        Target::Directory(path) => {
            directory(path)?;
            device_of_its_own(plan, path)
        }
        Target::Ranks { dir, launcher } => {
            directory(dir)?;
            crate::ranks::preflight(plan, launcher)
        }
        Target::LoopImages | Target::Device { .. } | Target::Disks(_) => {
            if !rustix::process::geteuid().is_root() {
                return Err(Error::Preflight(
                    "making and mounting filesystems needs root; run it as root, or with --dir DIR \
                     to load the filesystem of that directory as it is"
                        .into(),
                ));
            }
            programs(plan)?;
            drivers(plan)?;
            devices(plan, rig::device::stack::available)?;
            room(plan, target, out)?;
            gate(target)
        }
        Target::Guest(guest) => {
            crate::guest::preflight(guest, plan)?;
            programs(plan)?;
            devices(plan, rig::device::stack::programs_present)?;
            room(plan, target, out)
        }
    }
}

/// Refuses a directory that is not there: a mistyped mount point must not be made and loaded.
///
/// # Errors
/// When `path` is not a directory.
pub fn present(path: &Path) -> Result<(), Error> {
    if path.is_dir() {
        return Ok(());
    }
    Err(Error::Preflight(format!(
        "{}: not a directory; mount the filesystem or make the folder first",
        path.display()
    )))
}

/// Refuses a directory that is not there, and one that cannot be written: a read-only mount.
///
/// # Errors
/// When `path` is not a directory, or one that this process may not write.
pub fn directory(path: &Path) -> Result<(), Error> {
    present(path)?;
    rustix::fs::access(path, Access::WRITE_OK).map_err(|error| {
        let next = match error {
            Errno::ROFS => "mount it read-write (mount -o remount,rw), or name another directory",
            _ => "run as root, or name a directory of your own",
        };
        Error::Preflight(format!(
            "{}: cannot be written: {error}; {next}",
            path.display()
        ))
    })
}

/// Refuses a file that a run is made of: a report written over the log would be the end of it.
///
/// # Errors
/// When `path` is in a run's folder and is not a report there.
pub fn output(path: &Path) -> Result<(), Error> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_run = |folder: &Path| folder.join(record::folder::EVENTS).is_file();
    let inside = is_run(folder) && !name.starts_with("report");
    // Telemetry and images are one folder deeper; links are followed by the kernel, so by us.
    let resolved = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let deeper = resolved.ancestors().skip(1).take(2).any(is_run)
        && !resolved
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .starts_with("report");
    if inside || deeper {
        return Err(Error::Preflight(format!(
            "{}: it belongs to a run; choose another -o (report.* is allowed there)",
            path.display()
        )));
    }
    Ok(())
}

/// Puts a disk through the safety gate before even the run's folder is made. The rig does it
/// again, holding the disk, before it writes.
///
/// # Errors
/// Every reason of the gate.
pub fn gate(target: &Target) -> Result<(), Error> {
    match target {
        Target::Device { path, serial } => rig::gate::examine(path, Some(serial))
            .map(|_| ())
            .map_err(|refusals| Error::Rig(rig::Error::Refused(refusals))),
        // A guest's own disks were made for it.
        Target::LoopImages
        | Target::Directory(_)
        | Target::Ranks { .. }
        | Target::Disks(_)
        | Target::Guest(_) => Ok(()),
    }
}

/// Refuses to read the metadata of a filesystem that is not ours to unmount.
fn device_of_its_own(plan: &Plan, path: &Path) -> Result<(), Error> {
    let is_scan = |cell: &study::Cell| matches!(cell.workload, study::WorkloadSpec::Scan(_));
    if !plan.cells.iter().any(is_scan) {
        return Ok(());
    }
    Err(Error::Preflight(format!("{}: {NO_DEVICE}", path.display())))
}

/// Refuses volumes that cannot be forged there, or at all.
fn forged(plan: &Plan, target: &Target) -> Result<(), Error> {
    if !plan.cells.iter().any(|cell| cell.volume.is_forged()) {
        return Ok(());
    }
    if !matches!(target, Target::LoopImages) {
        return Err(Error::Preflight(format!(
            "{target}: volume = \"forged\" is an image in the run's folder; leave out --device, --dir and --executor"
        )));
    }
    crate::forged::check(plan).map_err(Error::Preflight)
}

fn programs(plan: &Plan) -> Result<(), Error> {
    let kinds: BTreeSet<_> = plan.cells.iter().map(|cell| cell.filesystem.kind).collect();
    let checked = |kind| {
        let mut cells = plan.cells.iter();
        cells.any(|cell| {
            let own = cell
                .check
                .as_ref()
                .is_some_and(|check| check.checker.is_own());
            let needed = own || crate::scan_program::reads(cell);
            cell.filesystem.kind == kind && needed
        })
    };
    for kind in kinds {
        let name = kind.name();
        let present = rig::filesystem::program_present(name);
        let present = present.and_then(|()| {
            if checked(kind) {
                return rig::fsck::program_present(name);
            }
            Ok(())
        });
        present.map_err(|missing| {
            let with: Vec<&str> = plan
                .filesystems
                .iter()
                .filter(|(_, variant)| variant.kind != kind)
                .map(|(name, _)| name.as_str())
                .collect();
            let hint = if with.is_empty() {
                String::new()
            } else {
                format!(
                    "; or leave it out with --filter filesystem={}",
                    with.join(",")
                )
            };
            Error::Preflight(format!("{missing}{hint}"))
        })?;
    }
    Ok(())
}

/// Refuses devices of several layers that cannot be made.
fn devices(
    plan: &Plan,
    possible: impl Fn(&rig::device::stack::Stack) -> rig::Result<()>,
) -> Result<(), Error> {
    let mut seen: Vec<&study::Stack> = Vec::new();
    for stack in plan.cells.iter().filter_map(|c| c.device.stack.as_ref()) {
        if seen.contains(&stack) {
            continue;
        }
        seen.push(stack);
        possible(&crate::stack::layers(&stack.layers, None))
            .map_err(|why| Error::Preflight(format!("device {} ({stack}): {why}", stack.name)))?;
    }
    Ok(())
}

/// Refuses filesystems that this machine's kernel has no driver for, and names the kernels that have one.
fn drivers(plan: &Plan) -> Result<(), Error> {
    let mounted = plan.cells.iter().filter(|cell| cell.volume.is_filled());
    let kinds: BTreeSet<_> = mounted.map(|cell| cell.filesystem.kind).collect();
    kinds.into_iter().map(FilesystemKind::name).try_for_each(|kind| {
        rig::filesystem::driver_present(kind).map_err(|_| {
            Error::Preflight(format!(
                "{kind}: this machine's kernel has no driver for it; run it in a guest's \
                 (--executor uml, or --executor qemu --kernel 6.1 after `fslab kernel fetch 6.1`), or \
                 load the driver (modprobe {kind})"
            ))
        })
    })
}

/// A loop image may be larger than the host's free space only on paper: what the workload writes
/// has to fit, or trials fail half-way.
fn room(plan: &Plan, target: &Target, out: &Path) -> Result<(), Error> {
    if !matches!(target, Target::LoopImages | Target::Guest(_)) {
        return Ok(());
    }
    let host = out
        .ancestors()
        .find(|path| path.is_dir() && !path.as_os_str().is_empty());
    let host = host.unwrap_or(Path::new("."));
    if plan.cells.iter().all(|cell| cell.volume.is_forged()) {
        // One that does not fit is left out when its turn comes.
        let mut cells = plan.cells.iter();
        let fits = |cell: &study::Cell| crate::forged::room(cell, host).is_ok();
        let none = plan.cells.first().filter(|_| !cells.any(fits));
        let why = none.map(|cell| crate::forged::room(cell, host).err());
        return why.flatten().map_or(Ok(()), |why| {
            Err(Error::Preflight(format!(
                "no cell of this plan fits: {why}"
            )))
        });
    }
    let estimate = study::estimate::estimate(plan, study::estimate::Rates::default());
    let free = crate::forged::free(host);
    match free {
        Some(free) if free < estimate.disk_bytes_peak => Err(Error::Preflight(format!(
            "{}: {} MiB free, and a trial of this plan needs up to {} MiB; \
             choose a smaller profile or another --out",
            host.display(),
            free >> 20,
            estimate.disk_bytes_peak >> 20
        ))),
        _ => Ok(()),
    }
}
