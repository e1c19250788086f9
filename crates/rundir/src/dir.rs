//! The opened folder, and files beneath it.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, ftruncate, mkdirat, open, openat,
    renameat, stat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::beneath;
use crate::entry::{kind_words, mount_id, trust};
use crate::error::{Error, Result};

/// What tells a folder from any other at the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Device (`st_dev`).
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
}

/// Where an opened folder is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// Its path still leads to it.
    Here,
    /// It was renamed to this path, or another folder took its place.
    Moved(PathBuf),
    /// It was deleted.
    Deleted,
}

/// A run's folder, opened by descriptor. What happens to its path later does not matter to
/// what is opened beneath it.
#[derive(Debug)]
pub struct RunDir {
    fd: OwnedFd,
    path: PathBuf,
    identity: Identity,
}

impl RunDir {
    /// Opens a folder. Links on the way to it are the caller's own choice and are followed.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be opened or is not a folder.
    pub fn open(path: &Path) -> Result<RunDir> {
        let failed = |errno: Errno| Error::io("open", path, errno);
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = match open(path, flags | OFlags::RDONLY, Mode::empty()) {
            // Files of a folder that may be searched but not listed can be read all the same.
            Err(Errno::ACCESS) => open(path, flags | OFlags::PATH, Mode::empty()),
            opened => opened,
        }
        .map_err(failed)?;
        let stat = fstat(&fd).map_err(failed)?;
        let shown = shown_path(&fd).filter(|shown| leads_to(shown, &stat));
        let path = match shown {
            Some(shown) => shown,
            // No /proc.
            None => path
                .canonicalize()
                .map_err(|error| Error::io("open", path, error))?,
        };
        let identity = identity(&stat);
        Ok(RunDir { fd, path, identity })
    }

    /// The same folder by its own descriptor.
    ///
    /// # Errors
    /// [`Error::Io`] when there are too many open files.
    pub fn try_clone(&self) -> Result<RunDir> {
        let fd = self.fd.try_clone();
        Ok(RunDir {
            fd: fd.map_err(|error| Error::io("open", &self.path, error))?,
            path: self.path.clone(),
            identity: self.identity,
        })
    }

    /// Its absolute path without links, as it was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Device and inode number.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Where it is now.
    pub fn whereabouts(&self) -> Whereabouts {
        if stat(&self.path).is_ok_and(|stat| identity(&stat) == self.identity) {
            return Whereabouts::Here;
        }
        match shown_path(&self.fd) {
            Some(now) if stat(&now).is_ok_and(|stat| identity(&stat) == self.identity) => {
                Whereabouts::Moved(now)
            }
            _ => Whereabouts::Deleted,
        }
    }

    /// Refuses, as root, a folder that belongs to another user or that others may write.
    ///
    /// # Errors
    /// [`Error::Refused`].
    pub fn require_trusted(&self) -> Result<()> {
        let stat = fstat(&self.fd).map_err(|error| Error::io("look at", &self.path, error))?;
        trust(&self.path, &stat)
    }

    /// Refuses a folder with anything in it that is a link, neither a file nor a folder, or (as root)
    /// another user's. Mounts in it are not entered.
    ///
    /// Once this has passed, a path below the folder leads nowhere else: only root and the caller
    /// may put a link there.
    ///
    /// # Errors
    /// [`Error::Refused`] with the first such entry; [`Error::Io`].
    pub fn require_trusted_tree(&self) -> Result<()> {
        self.require_trusted()?;
        crate::tree::check(self.fd.as_fd(), &self.path)
    }

    /// Opens a regular file to read it; `None` when it does not exist.
    ///
    /// # Errors
    /// [`Error::Refused`] for a link and for anything but a regular file.
    pub fn read(&self, name: impl AsRef<Path>) -> Result<Option<File>> {
        self.existing(name.as_ref(), OFlags::RDONLY)
    }

    /// Opens a regular file to read it and to append to it, and makes it when it does not exist. As root, a file
    /// that others own or may write is refused.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Io`].
    pub fn append(&self, name: impl AsRef<Path>) -> Result<File> {
        let name = name.as_ref();
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
        let file = self.regular(name, flags, Mode::from_raw_mode(0o644))?;
        self.trusted_file(name, file)
    }

    /// Opens a regular file to read and write it, and makes it when it does not exist. As root, a file
    /// that others own or may write is refused.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Io`].
    pub fn write(&self, name: impl AsRef<Path>) -> Result<File> {
        let name = name.as_ref();
        let flags = OFlags::RDWR | OFlags::CREATE;
        let file = self.regular(name, flags, Mode::from_raw_mode(0o644))?;
        self.trusted_file(name, file)
    }

    /// Opens a regular file to read it and obey it; `None` when it does not exist. As root, a file that others own
    /// or may write is refused.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Io`].
    pub fn read_trusted(&self, name: impl AsRef<Path>) -> Result<Option<File>> {
        let name = name.as_ref();
        match self.existing(name, OFlags::RDONLY)? {
            Some(file) => self.trusted_file(name, file).map(Some),
            None => Ok(None),
        }
    }

    /// Makes a file, which must not exist.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create_new(&self, name: impl AsRef<Path>) -> Result<File> {
        let name = name.as_ref();
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
        self.regular(name, flags, Mode::from_raw_mode(0o644))
            .map_err(|error| match error {
                Error::Io { path, source, .. } => Error::io("create", &path, source),
                refused @ Error::Refused { .. } => refused,
            })
    }

    /// Puts a whole file in place of the one that is there: written beside it, then renamed, so that no one reads half of it.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Io`]; the old file stays.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let beside = format!("{name}.part");
        let failed = |doing, errno: io::Error| Error::io(doing, &self.path.join(name), errno);
        match unlinkat(&self.fd, beside.as_str(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(Error::io("replace", &self.path.join(beside), error)),
        }
        let mut file = self.create_new(&beside)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| Ok(renameat(&self.fd, beside.as_str(), &self.fd, name)?));
        written.map_err(|error| {
            let _ = unlinkat(&self.fd, beside.as_str(), AtFlags::empty());
            failed("write", error)
        })
    }

    /// Makes a folder that only its owner may write; one that exists is kept.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn make_folder(&self, name: &str) -> Result<()> {
        match mkdirat(&self.fd, name, Mode::from_raw_mode(0o755)) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => self.folder(name, false).map(drop),
            Err(error) => Err(Error::io("make", &self.path.join(name), error)),
        }
    }

    /// Opens a folder beneath; with `one_mount` only one of the same mount.
    ///
    /// # Errors
    /// [`Error::Refused`] for a link; [`Error::Io`].
    pub fn folder(&self, name: impl AsRef<Path>, one_mount: bool) -> Result<OwnedFd> {
        let name = name.as_ref();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let opened = self.open_beneath(name, flags, Mode::empty(), one_mount)?;
        if one_mount && mount_id(opened.as_fd()) != mount_id(self.fd.as_fd()) {
            return Err(Error::io("open", &self.path.join(name), Errno::XDEV));
        }
        Ok(opened)
    }

    /// The same, and for an empty name this folder itself.
    ///
    /// # Errors
    /// As [`RunDir::folder`].
    pub fn folder_or_self(&self, name: &Path, one_mount: bool) -> Result<OwnedFd> {
        if name != Path::new("") {
            return self.folder(name, one_mount);
        }
        self.fd
            .try_clone()
            .map_err(|error| Error::io("open", &self.path, error))
    }

    /// The folder that holds the entry `name`, and the entry's own name.
    ///
    /// # Errors
    /// As [`RunDir::folder`].
    pub fn parent_of<'a>(&self, name: &'a Path, one_mount: bool) -> Result<(OwnedFd, &'a OsStr)> {
        let last = name
            .file_name()
            .filter(|_| beneath::is_plain(name))
            .ok_or_else(|| Error::io("open", &self.path.join(name), Errno::XDEV))?;
        let above = name.parent().unwrap_or(Path::new(""));
        Ok((self.folder_or_self(above, one_mount)?, last))
    }

    /// The status of an entry, a link's own; `None` when it does not exist.
    ///
    /// # Errors
    /// [`Error::Refused`] when the way to it has a link.
    pub fn status(&self, name: &Path) -> Result<Option<Stat>> {
        let (parent, last) = match self.parent_of(name, false) {
            Err(Error::Io { source, .. }) if is_missing(&source) => return Ok(None),
            other => other?,
        };
        match statat(&parent, last, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(Error::io("look at", &self.path.join(name), error)),
        }
    }

    /// Names in a folder beneath, sorted; empty when it does not exist.
    ///
    /// # Errors
    /// [`Error::Refused`] for a link; [`Error::Io`].
    pub fn names(&self, folder: &str) -> Result<Vec<CString>> {
        let opened = match self.folder_or_self(Path::new(folder), false) {
            Err(Error::Io { source, .. }) if is_missing(&source) => return Ok(Vec::new()),
            other => other?,
        };
        let failed = |error: Errno| Error::io("list", &self.path.join(folder), error);
        let mut found = Vec::new();
        for entry in Dir::read_from(&opened).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                found.push(name.to_owned());
            }
        }
        found.sort();
        Ok(found)
    }

    /// Writes the folder's entries to the disk.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn sync(&self) -> Result<()> {
        rustix::fs::fsync(&self.fd).map_err(|error| Error::io("sync", &self.path, error))
    }

    fn open_beneath(
        &self,
        name: &Path,
        flags: OFlags,
        mode: Mode,
        one_mount: bool,
    ) -> Result<OwnedFd> {
        let path = || self.path.join(name);
        beneath::open(self.fd.as_fd(), name, flags, mode, one_mount).map_err(|error| match error {
            Errno::LOOP => Error::refused(
                &first_link(&self.path, name),
                "it is a symbolic link, and a run's folder has none",
                "see where it leads and remove it",
            ),
            // A socket, or a FIFO opened for writing without a reader.
            Errno::NXIO => not_regular(&path(), "it is no regular file"),
            error => Error::io("open", &path(), error),
        })
    }

    fn regular(&self, name: &Path, flags: OFlags, mode: Mode) -> Result<File> {
        // Opening some devices does something (a tape rewinds, a watchdog starts): look before. What counts is
        // the look at the opened file.
        if let Some(stat) = self.status(name)? {
            check_kind(&self.path.join(name), &stat)?;
        }
        let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = self.open_beneath(name, flags, mode, false);
        let path = self.path.join(name);
        let fd = match opened {
            Err(Error::Io { source, .. })
                if Errno::from_io_error(&source) == Some(Errno::ISDIR) =>
            {
                return Err(not_regular(&path, "it is a folder, not a file"));
            }
            other => other?,
        };
        check_regular(&path, &fd)?;
        Ok(File::from(fd))
    }

    fn existing(&self, name: &Path, flags: OFlags) -> Result<Option<File>> {
        match self.regular(name, flags, Mode::empty()) {
            Err(Error::Io { source, .. }) if is_missing(&source) => Ok(None),
            other => other.map(Some),
        }
    }

    fn trusted_file(&self, name: &Path, file: File) -> Result<File> {
        let path = self.path.join(name);
        let stat = fstat(&file).map_err(|error| Error::io("look at", &path, error))?;
        trust(&path, &stat)?;
        Ok(file)
    }
}

impl AsFd for RunDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Opens a regular file at a path that the caller named: links are followed, a FIFO or a device is refused.
///
/// # Errors
/// [`Error::Refused`], [`Error::Io`].
pub fn open_regular(path: &Path) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = open(path, flags, Mode::empty()).map_err(|error| match error {
        Errno::NXIO => not_regular(path, "it is no regular file"),
        error => Error::io("open", path, error),
    })?;
    check_regular(path, &fd)?;
    Ok(File::from(fd))
}

/// Makes a file or empties the one that is there; a link in its place is refused.
///
/// # Errors
/// [`Error::Refused`], [`Error::Io`].
pub fn create_file(path: &Path) -> Result<File> {
    let failed = |error: Errno| Error::io("create", path, error);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = openat(CWD, path, flags, Mode::from_raw_mode(0o644)).map_err(|error| match error {
        Errno::LOOP => Error::refused(
            path,
            "it is a symbolic link",
            "see where it leads and remove it",
        ),
        Errno::NXIO => not_regular(path, "it is no regular file"),
        error => failed(error),
    })?;
    check_regular(path, &fd)?;
    ftruncate(&fd, 0).map_err(failed)?;
    Ok(File::from(fd))
}

fn check_regular(path: &Path, fd: &OwnedFd) -> Result<()> {
    let stat = fstat(fd).map_err(|error| Error::io("look at", path, error))?;
    check_kind(path, &stat)
}

fn check_kind(path: &Path, stat: &Stat) -> Result<()> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        other => Err(not_regular(path, kind_words(other))),
    }
}

/// What an entry is instead of a regular file.
fn not_regular(path: &Path, why: &str) -> Error {
    Error::refused(path, why, "remove it; fslab makes only regular files there")
}

/// The component of `name` that is a link.
fn first_link(dir: &Path, name: &Path) -> PathBuf {
    let mut at = dir.to_owned();
    for part in name.components() {
        at.push(part);
        if at.is_symlink() {
            break;
        }
    }
    at
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

fn identity(stat: &Stat) -> Identity {
    Identity {
        dev: stat.st_dev,
        ino: stat.st_ino,
    }
}

fn leads_to(path: &Path, wanted: &Stat) -> bool {
    stat(path).is_ok_and(|found| identity(&found) == identity(wanted))
}

/// The kernel's own path of a descriptor; none without /proc.
fn shown_path(fd: &OwnedFd) -> Option<PathBuf> {
    let link = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).ok()?;
    link.as_os_str()
        .as_bytes()
        .starts_with(b"/")
        .then_some(link)
}
