//! The whole of a run's folder, entry by entry, by descriptors.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, statat, unlinkat};
use rustix::io::Errno;

use crate::entry::{kind_words, mount_id, trust};
use crate::error::{Error, Result};

/// Folders within folders; a run has three levels.
const DEEPEST: u32 = 32;

/// Refuses the first entry below `folder` that is neither file nor folder, or that (as root) others may change.
pub(crate) fn check(folder: BorrowedFd<'_>, path: &Path) -> Result<()> {
    below(folder, path, mount_id(folder), DEEPEST)
}

fn below(folder: BorrowedFd<'_>, path: &Path, mount: u64, depth: u32) -> Result<()> {
    let failed = |error: Errno| Error::io("list", path, error);
    let home = fstat(folder).map_err(failed)?.st_dev;
    for entry in Dir::read_from(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let at = path.join(OsStr::from_bytes(name.to_bytes()));
        let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            // Removed meanwhile.
            Err(Errno::NOENT) => continue,
            answer => answer.map_err(|error| Error::io("look at", &at, error))?,
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => trust(&at, &stat)?,
            // Another filesystem is mounted there: what is in it is no part of the folder.
            FileType::Directory if stat.st_dev != home => {}
            FileType::Directory if depth == 0 => {
                return Err(Error::refused(
                    &at,
                    "folders in it are nested too deeply for a run",
                    "look at it and remove it",
                ));
            }
            FileType::Directory => {
                let inner =
                    open_folder(folder, name).map_err(|error| Error::io("open", &at, error))?;
                // It may be another one than the entry that was looked at.
                let stat = fstat(&inner).map_err(|error| Error::io("look at", &at, error))?;
                if mount_id(inner.as_fd()) != mount {
                    continue;
                }
                trust(&at, &stat)?;
                below(inner.as_fd(), &at, mount, depth - 1)?;
            }
            other => {
                return Err(Error::refused(
                    &at,
                    kind_words(other),
                    "look at it and remove it; fslab makes only files and folders there",
                ));
            }
        }
    }
    Ok(())
}

/// Removes the folder `name` in `above` with all that is in it: by descriptors, through no link and across no mount.
///
/// # Errors
/// `CrossesDevices` at a mount, before anything in it is touched; those of the system calls.
pub fn remove(above: impl AsFd, name: &OsStr) -> io::Result<()> {
    let root = open_folder(above.as_fd(), name)?;
    let home = place(&root)?;
    if home.1 != mount_id(above.as_fd()) {
        let why = "a filesystem is mounted on it";
        return Err(io::Error::new(io::ErrorKind::CrossesDevices, why));
    }
    empty(&root, home)?;
    Ok(unlinkat(above, name, AtFlags::REMOVEDIR)?)
}

fn open_folder(above: BorrowedFd<'_>, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(above, name, flags, Mode::empty())
}

/// Device and mount of a folder.
fn place(folder: &OwnedFd) -> io::Result<(u64, u64)> {
    Ok((fstat(folder)?.st_dev, mount_id(folder.as_fd())))
}

fn empty(folder: &OwnedFd, home: (u64, u64)) -> io::Result<()> {
    let mut entries = Dir::read_from(folder)?;
    while let Some(entry) = entries.read() {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            unlinkat(folder, name, AtFlags::empty())?;
            continue;
        }
        let below = open_folder(folder.as_fd(), name)?;
        if place(&below)? != home {
            let why = format!("{} in it is another filesystem", name.to_string_lossy());
            return Err(io::Error::new(io::ErrorKind::CrossesDevices, why));
        }
        empty(&below, home)?;
        unlinkat(folder, name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}
