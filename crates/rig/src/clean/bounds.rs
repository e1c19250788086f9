//! Limits and control groups that a killed run left.
//!
//! A limit belongs to a device number, and a loop device's number is given away again. So a limit is
//! taken back only where it still is as the run had set it, and only from a device that is the run's: a loop device
//! on a file of the run or on none, a stacked device of the journal, a disk that the journal shows formatted.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rundir::RunDir;
use rustix::fs::{AtFlags, Mode, OFlags, fstatfs, openat, unlinkat};
use rustix::io::Errno;

use super::{Cleaning, Undone, owned};
use crate::host::Host;
use crate::limits::throttle;
use crate::undo::{ControlFile, DeviceNumber, OwnFolder, Task, actions};
use crate::{Error, cgroup};

const LIMIT: &str = "device limit";
const GROUP: &str = "control group";
/// How long a group may stay busy.
const PATIENCE: Duration = Duration::from_secs(2);
/// `CGROUP_SUPER_MAGIC` and `CGROUP2_SUPER_MAGIC` (linux/magic.h).
const CONTROL_GROUPS: [i128; 2] = [0x0027_e0eb, 0x6367_7270];

/// A limit of the run that is still in force.
struct Limit<'a> {
    device: &'a Path,
    number: DeviceNumber,
    /// The files that show it, opened.
    files: Vec<(&'a ControlFile, File)>,
}

/// Limits in force, and those that are not the run's to take back.
fn left<'a>(dir: &RunDir, known: &'a [(u64, Task)]) -> (Vec<Limit<'a>>, Vec<Error>) {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for (_, task) in known {
        let Task::Limit {
            device,
            number,
            files,
        } = task
        else {
            continue;
        };
        let (opened, unusable): (Vec<_>, Vec<_>) = files
            .iter()
            .filter_map(|file| match open(file) {
                Ok(opened) => opened.map(|opened| Ok((file, opened))),
                Err(why) => Some(Err(why)),
            })
            .partition(Result::is_ok);
        let mut opened: Vec<_> = opened.into_iter().flatten().collect();
        opened.retain_mut(|(file, opened)| {
            shown(opened, *number).is_ok_and(|rate| rate == file.asked.get())
        });
        let refuse = |why: &str| Error::Untrusted {
            thing: format!("limit of {}", device.display()),
            why: format!("not undone: {why}"),
            next: "see who limits that device".into(),
        };
        refused.extend(
            unusable
                .into_iter()
                .filter_map(Result::err)
                .map(|why| refuse(&why)),
        );
        if opened.is_empty() {
            continue;
        }
        match whose(dir, known, *number) {
            Whose::Ours => found.push(Limit {
                device,
                number: *number,
                files: opened,
            }),
            // What it is held to now is its new owner's wish.
            Whose::GivenAway => {}
            Whose::Others => refused.push(refuse("the device is not this run's")),
        }
    }
    (found, refused)
}

/// Whose a device is.
enum Whose {
    Ours,
    /// A loop device of this run's journal that is bound to another's file by now.
    GivenAway,
    Others,
}

fn whose(dir: &RunDir, known: &[(u64, Task)], number: DeviceNumber) -> Whose {
    let host = Host::default();
    let Some(name) = host.name_of(number.major, number.minor) else {
        // A device that is gone has no owner.
        return Whose::Ours;
    };
    if owned::is_own(&host, &owned::loops(&host, dir), known, &name) {
        return Whose::Ours;
    }
    let named = |task: &Task| matches!(task, Task::Loop { device, .. } if device.as_str() == name);
    if !known.iter().any(|(_, task)| named(task)) {
        return Whose::Others;
    }
    if host.loops().iter().any(|lo| lo.name == name) {
        Whose::GivenAway
    } else {
        Whose::Ours
    }
}

/// Opens a throttle file; `None` when it or its group is gone.
///
/// # Errors
/// Why it is none.
fn open(file: &ControlFile) -> Result<Option<File>, String> {
    let Some(group) = open_group(file.group())? else {
        return Ok(None);
    };
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(&group, file.name(), flags, Mode::empty()) {
        Ok(opened) => Ok(Some(File::from(opened))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(format!(
            "{}/{}: {error}",
            file.group().display(),
            file.name()
        )),
    }
}

/// Opens a control group's folder below the mount of its hierarchy, following no link; `None` when it is gone.
fn open_group(folder: &Path) -> Result<Option<OwnedFd>, String> {
    let mounts = actions::mounts().map_err(|error| error.to_string())?;
    let not_one = || format!("{} is not in a control group filesystem", folder.display());
    let mount = mounts
        .iter()
        .filter(|mount| matches!(mount.kind.as_str(), "cgroup" | "cgroup2"))
        .filter(|mount| folder.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.as_os_str().len())
        .ok_or_else(not_one)?;
    let top = RunDir::open(&mount.point).map_err(|error| error.to_string())?;
    let below = folder.strip_prefix(&mount.point).map_err(|_| not_one())?;
    let opened = match top.folder_or_self(below, true) {
        Err(rundir::Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        other => other.map_err(|error| error.to_string())?,
    };
    let kind = fstatfs(&opened).map_err(|error| error.to_string())?.f_type;
    if CONTROL_GROUPS.contains(&i128::from(kind)) {
        Ok(Some(opened))
    } else {
        Err(not_one())
    }
}

/// The rate that an opened throttle file shows for a device; 0 when none.
fn shown(file: &mut File, number: DeviceNumber) -> io::Result<u64> {
    let mut text = String::new();
    file.take(1 << 20).read_to_string(&mut text)?;
    Ok(throttle::parse(&text, &number.to_string()))
}

/// Limits that would be taken back.
pub(super) fn limits(dir: &RunDir, known: &[(u64, Task)]) -> Vec<Undone> {
    let (found, _) = left(dir, known);
    found
        .into_iter()
        .map(|limit| Undone {
            what: LIMIT,
            thing: limit.device.into(),
        })
        .collect()
}

pub(super) fn undo_limits(dir: &RunDir, known: &[(u64, Task)], cleaning: &mut Cleaning) {
    let (found, refused) = left(dir, known);
    cleaning.refused.extend(refused);
    for Limit {
        device,
        number,
        files,
    } in found
    {
        let mut failure = None;
        for (file, mut opened) in files {
            let line = format!("{number} {}", file.was);
            if let Err(error) = opened.write_all(line.as_bytes()) {
                let path = file.group().join(file.name());
                failure = failure.or(Some(Error::NotUndone {
                    thing: format!("limit of device {number}"),
                    why: format!("{}: {error}", path.display()),
                    next: format!("as root: echo \"{line}\" > {}", path.display()),
                }));
            }
        }
        match failure {
            Some(error) => cleaning.failed.push(error),
            None => cleaning.undone.push(Undone {
                what: LIMIT,
                thing: device.into(),
            }),
        }
    }
}

/// Groups of the journal.
fn own_groups(known: &[(u64, Task)]) -> impl Iterator<Item = &OwnFolder> {
    known.iter().filter_map(|(_, task)| match task {
        Task::Group(folder) => Some(folder),
        _ => None,
    })
}

/// Groups that are still there.
pub(super) fn groups(known: &[(u64, Task)]) -> Vec<Undone> {
    own_groups(known)
        .filter(|group| group.path().is_dir())
        .map(|group| Undone {
            what: GROUP,
            thing: group.path(),
        })
        .collect()
}

pub(super) fn undo_groups(known: &[(u64, Task)], cleaning: &mut Cleaning) {
    for group in own_groups(known) {
        match remove_group(group) {
            Ok(false) => {}
            Ok(true) => cleaning.undone.push(Undone {
                what: GROUP,
                thing: group.path(),
            }),
            Err(error) => cleaning.problem(error),
        }
    }
}

/// Removes a group of the run and lets go of the page cache that is charged to it. False: it was gone.
fn remove_group(group: &OwnFolder) -> crate::Result<bool> {
    let path = group.path();
    let refuse = |why: String| Error::Untrusted {
        thing: path.display().to_string(),
        why: format!("not undone: {why}"),
        next: "look at it and remove it by hand".into(),
    };
    let (Some(parent), Some(own)) = (
        open_group(group.parent()).map_err(refuse)?,
        open_group(&path).map_err(refuse)?,
    ) else {
        return Ok(false);
    };
    let begun = Instant::now();
    loop {
        let inside = inhabitants(&own);
        if inside.is_empty() {
            // Fails while something is still mapped, and version 2 has no such file; rmdir does not depend on it.
            let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            if let Ok(file) = openat(&own, "memory.force_empty", flags, Mode::empty()) {
                let _ = File::from(file).write_all(b"0");
            }
        }
        match unlinkat(&parent, group.name(), AtFlags::REMOVEDIR) {
            Ok(()) => return Ok(true),
            Err(Errno::NOENT) => return Ok(false),
            // A child that has just ended is still in it for a moment.
            Err(Errno::BUSY) if begun.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(Errno::BUSY) => {
                return Err(Error::NotUndone {
                    thing: path.display().to_string(),
                    why: format!("still holds {}", cgroup::named(&inside)),
                    next: "end them, then clean again".into(),
                });
            }
            Err(error) => {
                return Err(Error::io(&path, "cannot remove the control group", error));
            }
        }
    }
}

/// Processes in a group, by their IDs.
fn inhabitants(group: &OwnedFd) -> String {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut text = String::new();
    if let Ok(file) = openat(group, "cgroup.procs", flags, Mode::empty()) {
        // Unreadable: rmdir decides.
        let _ = File::from(file).take(1 << 16).read_to_string(&mut text);
    }
    text
}
