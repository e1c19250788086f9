//! How each thing that was made is undone: used by the orderly end of a trial and by `clean`.
//! Every function may be called again when its thing is gone already.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use probe::mountinfo;
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount as sys_unmount};

use crate::host::{Host, Loop};
use crate::syscall::block;
use crate::{Error, Result};

/// How long a busy mount or loop device is asked again: programs like udev or a virus scanner look
/// at new filesystems for a moment.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Unmounts `point`; not mounted is success.
pub(crate) fn unmount(point: &Path, run: &Path, patience: Duration) -> Result<()> {
    let begun = Instant::now();
    loop {
        match sys_unmount(point, UnmountFlags::NOFOLLOW) {
            // EINVAL: not a mount point (any more).
            Ok(()) | Err(Errno::INVAL | Errno::NOENT) => return Ok(()),
            Err(Errno::BUSY) if begun.elapsed() < patience => {
                thread::sleep(Duration::from_millis(50));
            }
            Err(Errno::BUSY) => {
                return Err(Error::Busy {
                    point: point.into(),
                    holders: holders_of(point),
                    run: run.into(),
                });
            }
            Err(error) => return Err(Error::io(point, "cannot umount it", error)),
        }
    }
}

/// Detaches a loop device if its backing file is still `lo.backing`.
pub(crate) fn detach(host: &Host, lo: &Loop) -> Result<()> {
    let node = lo.node();
    let bound = || {
        let loops = host.loops();
        loops
            .iter()
            .any(|other| other.name == lo.name && other.backing == lo.backing)
    };
    if !bound() {
        return Ok(());
    }
    let file = fs::File::open(&node)
        .map_err(|error| Error::io(&node, "cannot open it to detach it", error))?;
    match block::loop_clear(std::os::fd::AsFd::as_fd(&file)) {
        Ok(()) | Err(Errno::NXIO) => {}
        Err(error) => return Err(Error::io(&node, "cannot detach it", error)),
    }
    // The kernel detaches at the last close, ours included.
    drop(file);
    let begun = Instant::now();
    while bound() {
        if begun.elapsed() > PATIENCE {
            return Err(Error::NotUndone {
                thing: node.display().to_string(),
                why: format!("still in use by {}", users_of_loop(host, lo)),
                next: "end that use; the kernel then detaches it by itself".into(),
            });
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Removes an image; gone already is success.
pub(crate) fn remove_image(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io(path, "cannot look at the image", error)),
        Ok(meta) if !meta.is_file() => {
            return Err(Error::NotUndone {
                thing: path.display().to_string(),
                why: "the journal says image, but it is no regular file".into(),
                next: "look at it and remove it by hand".into(),
            });
        }
        Ok(_) => {}
    }
    gone_is_fine(fs::remove_file(path))
        .map_err(|error| Error::io(path, "cannot remove the image", error))
}

/// Removes an empty folder (a mount point); gone already is success.
pub(crate) fn remove_mount_point(path: &Path) -> Result<()> {
    gone_is_fine(fs::remove_dir(path))
        .map_err(|error| Error::io(path, "cannot remove the mount point", error))
}

/// Removes a working folder and what is in it, but never through a mount inside it.
pub(crate) fn remove_work_folder(path: &Path) -> Result<()> {
    let ours = path
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("fslab-"));
    let inside = mountinfo::own()
        .unwrap_or_default()
        .into_iter()
        .find(|mount| mount.point.starts_with(path));
    let refuse = |why: String| {
        Err(Error::NotUndone {
            thing: path.display().to_string(),
            why,
            next: "look at it and remove it by hand".into(),
        })
    };
    if let Some(mount) = inside {
        return refuse(format!("{} is mounted inside it", mount.point.display()));
    }
    if !ours {
        return refuse("its name does not begin with fslab-".into());
    }
    gone_is_fine(fs::remove_dir_all(path))
        .map_err(|error| Error::io(path, "cannot remove the working folder", error))
}

fn gone_is_fine(answer: io::Result<()>) -> io::Result<()> {
    match answer {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Processes with an open file, a working directory, a root or a mapping below `point`.
pub(crate) fn holders_of(point: &Path) -> String {
    let mut found = Vec::new();
    for pid in pids() {
        if uses(pid, point) {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            found.push(format!("{} (pid {pid})", name.trim()));
        }
    }
    let loops = Host::default().loops();
    let stacked = loops.iter().filter(|lo| lo.backing.starts_with(point));
    found.extend(stacked.map(|lo| format!("loop device {}", lo.name)));
    let mounts = mountinfo::own().unwrap_or_default();
    let below = mounts
        .iter()
        .filter(|m| m.point != point && m.point.starts_with(point));
    found.extend(below.map(|mount| format!("the mount on {}", mount.point.display())));
    if found.is_empty() {
        "something that /proc does not show (another mount namespace?)".into()
    } else {
        found.join(", ")
    }
}

fn pids() -> Vec<u32> {
    let names = Host::default().names("proc");
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

fn uses(pid: u32, point: &Path) -> bool {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let below = |link: PathBuf| fs::read_link(link).is_ok_and(|target| target.starts_with(point));
    if ["cwd", "root", "exe"]
        .iter()
        .any(|link| below(folder.join(link)))
    {
        return true;
    }
    let open = fs::read_dir(folder.join("fd"))
        .into_iter()
        .flatten()
        .flatten();
    if open.map(|entry| entry.path()).any(below) {
        return true;
    }
    let maps = fs::read_to_string(folder.join("maps")).unwrap_or_default();
    maps.lines()
        .filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])))
        .any(|file| file.starts_with(point))
}

fn users_of_loop(host: &Host, lo: &Loop) -> String {
    let elsewhere = crate::gate::mounts_of(host, &lo.name);
    if let Some(place) = elsewhere.first() {
        return place.clone();
    }
    holders_of(&lo.node())
}
