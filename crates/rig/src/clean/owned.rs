//! Which devices are the run's own, by the journal and the kernel together.

use std::path::Path;

use rundir::RunDir;

use super::{Cleaning, Undone};
use crate::Error;
use crate::device::{readahead, stack};
use crate::gate;
use crate::host::{Host, Loop};
use crate::undo::{Beneath, Task, actions};

/// Loop devices whose backing file is, by the kernel's own path, in the run's folder.
pub(super) fn loops(host: &Host, dir: &RunDir) -> Vec<Loop> {
    let mut loops = host.loops();
    loops.retain(|lo| lo.backing.starts_with(dir.path()) && lo.backing != dir.path());
    loops
}

/// Whether the file that a loop device is bound to (device, inode) is the one at its path in the run's folder. A file that
/// has lost its name, or is on a filesystem that has shut down, is the run's by the path that the kernel remembers.
pub(super) fn is_file_of(dir: &RunDir, lo: &Loop, bound: (u64, u64)) -> bool {
    let beneath = lo.backing.strip_prefix(dir.path()).ok();
    let Some(beneath) = beneath.and_then(Beneath::relative) else {
        return false;
    };
    match dir.status(beneath.path()) {
        Ok(Some(stat)) => lo.deleted || (stat.st_dev, stat.st_ino) == bound,
        Ok(None) => true,
        Err(error) => error.is_unanswered(),
    }
}

/// Whether the device with this sysfs name is one that the journal shows the run made or formatted.
pub(super) fn is_own(host: &Host, loops: &[Loop], known: &[(u64, Task)], name: &str) -> bool {
    if loops.iter().any(|lo| lo.name == name) {
        return true;
    }
    known.iter().any(|(_, task)| match task {
        Task::Mapped(mapped) => stack::dm::find(host, mapped.as_str()).as_deref() == Some(name),
        Task::Array { device, uuid } => {
            device.as_str() == name && stack::md::is_ours(host, &device.node(), uuid.as_str())
        }
        Task::NullBlk(null) => null.as_str() == name,
        Task::Served { device, file } => {
            device.as_str() == name && stack::model::is_own(host, name, file.as_str())
        }
        Task::Formatted { serial } => has_serial(host, name, serial),
        _ => false,
    })
}

/// Whether a node that is gone was the disk of a server of the run that has died.
pub(super) fn was_served(host: &Host, known: &[(u64, Task)], node: &Path) -> bool {
    known.iter().any(|(_, task)| {
        matches!(task, Task::Served { device, file }
            if device.node() == node && stack::model::is_own(host, device.as_str(), file.as_str()))
    })
}

/// Whether a disk, or the disk of a partition, has this serial.
fn has_serial(host: &Host, name: &str, serial: &str) -> bool {
    gate::serial_of(host, &host.disk_of(name)).as_deref() == Some(serial)
}

/// Gives real disks their readahead back. A device that the run made took its readahead with it.
pub(super) fn undo_readahead(known: &[(u64, Task)], cleaning: &mut Cleaning) {
    let host = Host::default();
    for (_, task) in known {
        let Task::Readahead {
            device,
            sectors,
            serial,
        } = task
        else {
            continue;
        };
        match disk_of(&host, known, device, serial.as_deref()) {
            Ok(None) => {}
            Ok(Some(name)) => {
                let node = Path::new("/dev").join(name.replace('!', "/"));
                match readahead::set(&node, *sectors) {
                    Ok(_) => cleaning.undone.push(Undone {
                        what: "readahead",
                        thing: device.clone(),
                    }),
                    Err(error) => cleaning.failed.push(error),
                }
            }
            Err(why) => cleaning.refused.push(Error::Untrusted {
                thing: format!("readahead of {}", device.display()),
                why: format!("not undone: {why}"),
                next: format!(
                    "if it is this run's disk: blockdev --setra {sectors} {}",
                    device.display()
                ),
            }),
        }
    }
}

/// The sysfs name of the run's disk at a node; `None` for a device that the run made itself and that is gone or goes.
fn disk_of(
    host: &Host,
    known: &[(u64, Task)],
    node: &Path,
    serial: Option<&str>,
) -> Result<Option<String>, String> {
    let made_it = known.iter().any(|(_, task)| match task {
        Task::Loop { device, .. }
        | Task::Array { device, .. }
        | Task::Served { device, .. }
        | Task::NullBlk(device) => device.node() == node,
        Task::Mapped(_) => node.starts_with("/dev/mapper") || is_dm(node),
        _ => false,
    });
    if made_it {
        return Ok(None);
    }
    let name = host
        .number_of_node(node)
        .ok_or_else(|| "it is not there now".to_owned())?;
    let disk = host.disk_of(&name);
    let of_a_run = host.loops().into_iter().any(|lo| {
        let file = lo.backing.file_name().unwrap_or_default();
        lo.name == disk && file.to_string_lossy().starts_with("fslab-")
    });
    if of_a_run {
        return Err("it is another run's loop device".into());
    }
    let noted = |serial: &str| has_serial(host, &disk, serial);
    let formatted = || {
        known
            .iter()
            .any(|(_, task)| matches!(task, Task::Formatted { serial } if noted(serial)))
    };
    if serial.map_or_else(formatted, noted) {
        Ok(Some(name))
    } else {
        Err("the journal does not show that this run had that disk".into())
    }
}

/// A device-mapper device's node, `/dev/dm-3`.
fn is_dm(node: &Path) -> bool {
    let name = node.file_name().unwrap_or_default().to_string_lossy();
    node.parent() == Some(Path::new("/dev")) && name.starts_with("dm-")
}

/// Detaches a loop device of the run, if it is still bound to the run's file.
pub(super) fn detach(host: &Host, dir: &RunDir, lo: &Loop) -> crate::Result<()> {
    actions::detach(host, &lo.node(), &|bound| is_file_of(dir, lo, bound))
}
