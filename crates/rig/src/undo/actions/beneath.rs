//! Undoing what is below the run's folder, by the folder's descriptor: through no link, and also when the folder was
//! moved meanwhile.

use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rundir::RunDir;
use rustix::fs::{AtFlags, FileType, statat, unlinkat};
use rustix::io::Errno;

use super::{PATIENCE, gone_is_fine, unmount_at};
use crate::undo::{self, Beneath};
use crate::{Error, Result};

/// Removes an image; gone already is success.
pub(crate) fn remove_image(dir: &RunDir, image: &Beneath) -> Result<()> {
    let shown = dir.path().join(image.path());
    let (parent, name) = dir.parent_of(image.path(), true).map_err(undo::unusable)?;
    let failed = |error: io::Error| not_removed(dir, &shown, "cannot remove the image", error);
    let stat = match statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        answer => answer.map_err(|error| failed(error.into()))?,
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Error::Untrusted {
            thing: shown.display().to_string(),
            why: "not undone: the journal says image, and it is no regular file".into(),
            next: "look at it and remove it by hand".into(),
        });
    }
    let removed = unlinkat(&parent, name, AtFlags::empty());
    gone_is_fine(removed.map_err(io::Error::from)).map_err(failed)
}

/// Removes an empty folder (a mount point); gone already is success. One that is still mounted on is asked again for a while:
/// the server of a modelled disk, whose run was killed, takes its own mount away.
pub(crate) fn remove_mount_point(dir: &RunDir, point: &Beneath) -> Result<()> {
    let shown = dir.path().join(point.path());
    let (parent, name) = dir.parent_of(point.path(), true).map_err(undo::unusable)?;
    let begun = Instant::now();
    let removed = loop {
        match unlinkat(&parent, name, AtFlags::REMOVEDIR) {
            Err(Errno::BUSY) if begun.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(20));
            }
            answer => break answer,
        }
    };
    gone_is_fine(removed.map_err(io::Error::from))
        .map_err(|error| not_removed(dir, &shown, "cannot remove the mount point", error))
}

/// What to do where the run's folder became read-only differs from where a new run may not write.
fn not_removed(dir: &RunDir, shown: &Path, what: &str, source: io::Error) -> Error {
    if source.kind() != io::ErrorKind::ReadOnlyFilesystem {
        return Error::io(shown, what, source);
    }
    Error::Io {
        thing: shown.display().to_string(),
        what: what.into(),
        source,
        next: format!(
            "make its filesystem writable (repair it, or mount -o remount,rw), then: fslab clean {}",
            dir.path().display()
        ),
    }
}

/// Unmounts the mount `id` from a mount point, by a descriptor of the folder that holds the mount point. `shown` is the mount point's path.
pub(crate) fn unmount(
    dir: &RunDir,
    point: &Beneath,
    shown: &Path,
    id: u64,
    patience: Duration,
) -> Result<()> {
    let (parent, name) = match dir.parent_of(point.path(), false) {
        Ok(found) => found,
        Err(rundir::Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Err(Error::NotUndone {
                thing: shown.display().to_string(),
                why: "its path does not lead to it".into(),
                next: format!(
                    "umount what is mounted over it (findmnt {}), then: fslab clean {}",
                    shown.display(),
                    dir.path().display()
                ),
            });
        }
        Err(error) => return Err(undo::unusable(error)),
    };
    let reached = Path::new("/proc/self/fd")
        .join(parent.as_raw_fd().to_string())
        .join(name);
    unmount_at(&reached, shown, id, dir.path(), patience)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::make_folder;
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

    #[test]
    fn a_mount_that_is_about_to_go_is_waited_for_needs_root() {
        if !testkit::root!() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::open(folder.path()).unwrap();
        let point = folder.path().join("it");
        make_folder(&point).unwrap();
        mount("none", &point, "tmpfs", MountFlags::empty(), None).unwrap();
        let server = point.clone();
        let server = thread::spawn(move || {
            thread::sleep(Duration::from_millis(200));
            unmount(&server, UnmountFlags::DETACH)
        });
        remove_mount_point(&dir, &Beneath::of(&point, folder.path()).unwrap()).unwrap();
        server.join().unwrap().unwrap();
        assert!(!point.exists());
    }
}
