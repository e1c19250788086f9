//! How each thing that was made is undone: used by the orderly end of a trial and by `clean`.
//! Every function may be called again when its thing is gone already.

pub(crate) mod beneath;

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use probe::mountinfo::{self, Mount};
use rundir::{RunDir, mount_id};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount as sys_unmount};

use crate::gate::is_claimed;
use crate::host::Host;
use crate::syscall::block;
use crate::undo::Beneath;
use crate::{Error, Result};

/// How long a busy mount or loop device is asked again: programs like udev or a virus scanner look
/// at new filesystems for a moment.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Every mount of our namespace. Unreadable is an error: it must not count as nothing mounted.
pub(crate) fn mounts() -> Result<Vec<Mount>> {
    mountinfo::own()
        .map_err(|error| Error::io(Path::new("/proc/self/mountinfo"), "cannot read it", error))
}

fn id_at(point: &Path) -> io::Result<u64> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    mount_id(openat(CWD, point, flags, Mode::empty())?)
}

/// Unmounts the mount `id` from `point`; not mounted (any more) is success. What others
/// mounted over it stays: umount(2) goes by path and would take that.
pub(crate) fn unmount(point: &Path, id: u64, run: &Path, patience: Duration) -> Result<()> {
    unmount_at(point, point, id, run, patience)
}

/// The same by a path that leads there through an opened folder: `reached`. `point` is as mountinfo shows it.
pub(crate) fn unmount_at(
    reached: &Path,
    point: &Path,
    id: u64,
    run: &Path,
    patience: Duration,
) -> Result<()> {
    let begun = Instant::now();
    // The kernel gives the ID of a mount that is gone to the next one, anywhere.
    let ours = point.canonicalize().ok();
    let listed = || -> Result<bool> {
        let is_ours = |at: &Path| ours.as_deref().is_none_or(|ours| at == ours);
        let mounts = mounts()?;
        Ok(mounts.iter().any(|m| m.id == id && is_ours(&m.point)))
    };
    let stays = |why: String| Error::NotUndone {
        thing: point.display().to_string(),
        why,
        next: format!(
            "umount what is mounted over it (findmnt {}), then: fslab clean {}",
            point.display(),
            run.display()
        ),
    };
    loop {
        if !listed()? {
            return Ok(());
        }
        match id_at(reached) {
            Ok(top) if top == id => {}
            Ok(top) => {
                return Err(stays(format!(
                    "the path leads to mount {top}, ours is mount {id} below it"
                )));
            }
            Err(error) => return Err(Error::io(point, "cannot see what is mounted there", error)),
        }
        match sys_unmount(reached, UnmountFlags::NOFOLLOW) {
            // EINVAL: not a mount point (any more). The kernel's list has the last word.
            Ok(()) | Err(Errno::INVAL | Errno::NOENT) => {
                return if listed()? {
                    Err(stays(format!("mount {id} is still listed after umount")))
                } else {
                    Ok(())
                };
            }
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

/// Waits until nothing holds what was mounted on `node`. An umount takes one mount away; a mount namespace that
/// was born meanwhile (a container, a service with a private /tmp) has a copy, and while that lives the filesystem
/// is neither clean on its device nor out of the cache.
///
/// # Errors
/// [`Error::Busy`] with the processes that have the copy.
pub(crate) fn wait_for_release(
    node: &Path,
    point: &Path,
    run: &Path,
    patience: Duration,
) -> Result<()> {
    let begun = Instant::now();
    while is_claimed(node) {
        if begun.elapsed() >= patience {
            return Err(Error::Busy {
                point: point.into(),
                holders: copies_of(point),
                run: run.into(),
            });
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Holders of a copy of the mount at `point`: the first process of each namespace.
fn copies_of(point: &Path) -> String {
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for pid in pids() {
        let Ok(namespace) = fs::read_link(format!("/proc/{pid}/ns/mnt")) else {
            continue;
        };
        if seen.contains(&namespace) {
            continue;
        }
        let text = fs::read(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
        if mountinfo::parse(&text).iter().any(|m| m.point == point) {
            found.push(named(pid));
        }
        seen.push(namespace);
    }
    if found.is_empty() {
        "something that /proc does not show".into()
    } else {
        format!(
            "a copy of the mount in the mount namespace of {}",
            found.join(", ")
        )
    }
}

/// Detaches a loop device if it is still bound to a file that `is_ours` accepts: its device and inode number. Bound to
/// another or to none is success: its number was given away.
pub(crate) fn detach(host: &Host, node: &Path, is_ours: &dyn Fn((u64, u64)) -> bool) -> Result<()> {
    let bound = || -> Result<Option<fs::File>> {
        let file = match fs::File::open(node) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => {
                opened.map_err(|error| Error::io(node, "cannot open it to detach it", error))?
            }
        };
        match block::loop_file(file.as_fd()) {
            Ok(found) if is_ours(found) => Ok(Some(file)),
            Ok(_) | Err(Errno::NXIO) => Ok(None),
            Err(error) => Err(Error::io(node, "cannot see what it is bound to", error)),
        }
    };
    let Some(file) = bound()? else {
        return Ok(());
    };
    match block::loop_clear(file.as_fd()) {
        Ok(()) | Err(Errno::NXIO) => {}
        Err(error) => return Err(Error::io(node, "cannot detach it", error)),
    }
    // The kernel detaches at the last close, ours included.
    drop(file);
    let begun = Instant::now();
    while bound()?.is_some() {
        if begun.elapsed() > PATIENCE {
            return Err(Error::NotUndone {
                thing: node.display().to_string(),
                why: format!("still in use by {}", users_of_loop(host, node)),
                next: "end that use; the kernel then detaches it by itself".into(),
            });
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Has the kernel detach a loop device when nothing uses it any more, if it is bound to this file (device and inode number).
pub(crate) fn detach_at_last_close(node: &Path, bound: (u64, u64)) -> Result<()> {
    let failed = |error: io::Error| Error::io(node, "cannot have it detached later", error);
    let file = fs::File::open(node).map_err(failed)?;
    if block::loop_file(file.as_fd()) != Ok(bound) {
        return Ok(());
    }
    // It has another user, so that the kernel only marks it.
    match block::loop_clear(file.as_fd()) {
        Ok(()) | Err(Errno::NXIO) => Ok(()),
        Err(error) => Err(failed(error.into())),
    }
}

/// Unmounts the mount `id` of the run in `dir` from `point`.
pub(crate) fn unmount_of(dir: &RunDir, point: &Path, id: u64, patience: Duration) -> Result<()> {
    match Beneath::of(point, dir.path()) {
        Ok(beneath) => beneath::unmount(dir, &beneath, point, id, patience),
        Err(_) => unmount(point, id, dir.path(), patience),
    }
}

/// Removes an image of the run in `dir`; gone already is success.
pub(crate) fn remove_image_of(dir: &RunDir, path: &Path) -> Result<()> {
    match Beneath::of(path, dir.path()) {
        Ok(image) if dir.status(image.path()).is_ok_and(|found| found.is_none()) => Ok(()),
        Ok(image) => beneath::remove_image(dir, &image),
        Err(_) => remove_image(path),
    }
}

/// Removes a mount point of the run in `dir`, an empty folder; gone already is success.
pub(crate) fn remove_mount_point_of(dir: &RunDir, path: &Path) -> Result<()> {
    match Beneath::of(path, dir.path()) {
        Ok(point) if dir.status(point.path()).is_ok_and(|found| found.is_none()) => Ok(()),
        Ok(point) => beneath::remove_mount_point(dir, &point),
        Err(_) => remove_mount_point(path),
    }
}

/// Removes an image; gone already is success.
fn remove_image(path: &Path) -> Result<()> {
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
fn remove_mount_point(path: &Path) -> Result<()> {
    gone_is_fine(fs::remove_dir(path))
        .map_err(|error| Error::io(path, "cannot remove the mount point", error))
}

/// Removes a working folder and what is in it, but never through a mount inside it.
pub(crate) fn remove_work_folder(path: &Path) -> Result<()> {
    let ours = path
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("fslab-"));
    let inside = mounts()?
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
    gone_is_fine(remove_tree(path))
        .map_err(|error| Error::io(path, "cannot remove the working folder", error))
}

/// Removes a folder with all that is in it, without ever crossing into another filesystem or mount,
/// and by descriptors, so that a path swapped meanwhile leads nowhere else.
fn remove_tree(path: &Path) -> io::Result<()> {
    let above = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rundir::remove_tree(openat(CWD, above, flags, Mode::empty())?, name)
}

pub(crate) fn gone_is_fine(answer: io::Result<()>) -> io::Result<()> {
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
            found.push(named(pid));
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

/// `bash (pid 12)`.
fn named(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    format!("{} (pid {pid})", name.trim())
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

fn users_of_loop(host: &Host, node: &Path) -> String {
    let name = node.file_name().unwrap_or_default().to_string_lossy();
    let elsewhere = crate::gate::mounts_of(host, &name);
    if let Some(place) = elsewhere.first() {
        return place.clone();
    }
    holders_of(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn tmpfs_on(point: &Path) {
        fs::create_dir(point).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "tmpfs"]).arg(point);
        assert!(mount.status().unwrap().success());
    }

    #[test]
    fn descriptors_and_mountinfo_agree_on_the_root_mount() {
        let mounts = mounts().unwrap();
        let root = mountinfo::serving(&mounts, Path::new("/")).unwrap();
        assert_eq!(id_at(Path::new("/")).unwrap(), root.id);
    }

    #[test]
    fn a_mount_that_is_gone_takes_no_other_with_it_needs_root() {
        if !testkit::root!() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let point = folder.path().join("point");
        tmpfs_on(&point);
        let id = id_at(&point).unwrap();
        let none = Duration::ZERO;
        unmount(&point, u64::MAX, folder.path(), none).unwrap();
        assert_eq!(id_at(&point).unwrap(), id, "still mounted");
        unmount(&point, id, folder.path(), none).unwrap();
        assert_ne!(id_at(&point).unwrap(), id);
        unmount(&point, id, folder.path(), none).unwrap();
    }

    #[test]
    fn the_number_of_a_mount_that_is_gone_may_be_anothers_needs_root() {
        if !testkit::root!() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (gone, other) = (folder.path().join("gone"), folder.path().join("other"));
        fs::create_dir(&gone).unwrap();
        tmpfs_on(&other);
        let id = id_at(&other).unwrap();
        unmount(&gone, id, folder.path(), Duration::ZERO).unwrap();
        assert_eq!(id_at(&other).unwrap(), id, "still mounted");
        // A mount over ours is not taken for ours.
        let over = Command::new("mount")
            .args(["-t", "tmpfs", "tmpfs"])
            .arg(&other)
            .status();
        assert!(over.unwrap().success());
        let stays = unmount(&other, id, folder.path(), Duration::ZERO).unwrap_err();
        assert!(stays.to_string().contains("below it"), "{stays}");
        sys_unmount(&other, UnmountFlags::NOFOLLOW).unwrap();
        unmount(&other, id, folder.path(), Duration::ZERO).unwrap();
    }

    #[test]
    fn removing_a_tree_stops_at_another_filesystem_needs_root() {
        if !testkit::root!() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("fslab-1-1");
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::write(tree.join("a/b/file"), "").unwrap();
        std::os::unix::fs::symlink("/", tree.join("a/link")).unwrap();
        let point = tree.join("mounted");
        tmpfs_on(&point);
        fs::write(point.join("theirs"), "data").unwrap();
        let crossing = remove_tree(&tree).unwrap_err();
        assert_eq!(crossing.kind(), io::ErrorKind::CrossesDevices);
        assert!(remove_work_folder(&tree).is_err());
        assert_eq!(fs::read_to_string(point.join("theirs")).unwrap(), "data");
        // A child that another test forked just now has our file open until it is its program.
        while sys_unmount(&point, UnmountFlags::NOFOLLOW) == Err(Errno::BUSY) {
            thread::sleep(Duration::from_millis(10));
        }
        remove_work_folder(&tree).unwrap();
        assert!(!tree.exists());
        remove_work_folder(&tree).unwrap();
    }
}
