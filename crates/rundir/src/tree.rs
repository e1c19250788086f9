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
    below(folder, path, mount_id(folder).ok(), DEEPEST)
}

fn below(folder: BorrowedFd<'_>, path: &Path, mount: Option<u64>, depth: u32) -> Result<()> {
    let failed = |error: Errno| Error::io("list", path, error);
    let home = fstat(folder).map_err(failed)?.st_dev;
    for entry in Dir::read_from(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let at = path.join(OsStr::from_bytes(name.to_bytes()));
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let inner = match openat(folder, name, flags, Mode::empty()) {
            // Removed meanwhile.
            Err(Errno::NOENT) => continue,
            answer => answer.map_err(|error| Error::io("look at", &at, error))?,
        };
        // Another filesystem is mounted there: what is in it is no part of the folder. It is not asked for a status, which it may
        // be unable to give.
        if mount_id(&inner).ok() != mount {
            continue;
        }
        let stat = fstat(&inner).map_err(|error| Error::io("look at", &at, error))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => trust(&at, &stat)?,
            // As well where the kernel does not name mounts.
            FileType::Directory if stat.st_dev != home => {}
            FileType::Directory if depth == 0 => {
                return Err(Error::refused(
                    &at,
                    "folders in it are nested too deeply for a run",
                    "look at it and remove it",
                ));
            }
            FileType::Directory => {
                trust(&at, &stat)?;
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let opened = openat(&inner, ".", flags, Mode::empty())
                    .map_err(|error| Error::io("open", &at, error))?;
                below(opened.as_fd(), &at, mount, depth - 1)?;
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
    let home = mount_id(&root)?;
    if home != mount_id(above.as_fd())? {
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

fn empty(folder: &OwnedFd, home: u64) -> io::Result<()> {
    let mut entries = Dir::read_from(folder)?;
    while let Some(entry) = entries.read() {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        // A folder is not asked what it is before it is known to be of this mount: one that a filesystem is mounted on may have no
        // answer.
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(stat.st_mode)
            }
            known => known,
        };
        if kind != FileType::Directory {
            unlinkat(folder, name, AtFlags::empty())?;
            continue;
        }
        let below = open_folder(folder.as_fd(), name)?;
        if mount_id(&below)? != home {
            let why = format!("{} in it is another filesystem", name.to_string_lossy());
            return Err(io::Error::new(io::ErrorKind::CrossesDevices, why));
        }
        empty(&below, home)?;
        unlinkat(folder, name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}
