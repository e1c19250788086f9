//! The opened folder, and files beneath it.

mod writing;

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, ftruncate, open, openat, stat, statat,
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

/// What a command may do with a folder that it is given. docs/security.md has the table of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// Reads it, also another user's, and acts on nothing that it says.
    Reads,
    /// Writes it, or obeys its undo journal: as root the folder, and each file when it is opened, must belong to root
    /// or the caller ([`RunDir::require_trusted`]).
    Obeys,
    /// Does what its files say, or goes on with it: as root that holds of everything in it
    /// ([`RunDir::require_trusted_tree`]).
    ObeysAll,
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
    /// Opens a folder to read it. Links on the way to it are the caller's own choice and are followed.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be opened or is not a folder; [`Error::Refused`] when it is replaced meanwhile.
    pub fn open(path: &Path) -> Result<RunDir> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = match open(path, flags | OFlags::RDONLY, Mode::empty()) {
            // Files of a folder that may be searched but not listed can be read all the same.
            Err(Errno::ACCESS) => open(path, flags | OFlags::PATH, Mode::empty()),
            opened => opened,
        };
        RunDir::of(fd.map_err(|errno| Error::io("open", path, errno))?, path)
    }

    /// Opens a folder as far as a command has authority over it: what writes or obeys a folder opens it here.
    /// Except to read it, the path must not be a link itself.
    ///
    /// # Errors
    /// As [`RunDir::open`], and [`Error::Refused`] for a folder that the command must not act on.
    pub fn open_as(path: &Path, authority: Authority) -> Result<RunDir> {
        if authority == Authority::Reads {
            return RunDir::open(path);
        }
        let dir = RunDir::open_itself(path)?;
        dir.require(authority)?;
        Ok(dir)
    }

    /// Opens a folder whose path must not be a link itself.
    ///
    /// # Errors
    /// As [`RunDir::open`], and [`Error::Refused`] for a link.
    pub fn open_itself(path: &Path) -> Result<RunDir> {
        // A slash at the end would follow the link before it.
        let named: PathBuf = path.components().collect();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = open(&named, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::LOOP | Errno::NOTDIR if named.is_symlink() => Error::refused(
                &named,
                "it is a symbolic link, and only a folder itself is acted on",
                "see where it leads (readlink -f), and name that folder",
            ),
            errno => Error::io("open", path, errno),
        })?;
        RunDir::of(fd, &named)
    }

    /// An opened folder, which `path` led to.
    fn of(fd: OwnedFd, path: &Path) -> Result<RunDir> {
        let stat = fstat(&fd).map_err(|errno| Error::io("open", path, errno))?;
        let shown = shown_path(&fd).filter(|shown| leads_to(shown, &stat));
        let path = if let Some(shown) = shown {
            shown
        } else {
            // No /proc; or it was renamed or deleted since.
            let now = path.canonicalize();
            let now = now.map_err(|error| Error::io("open", path, error))?;
            if !leads_to(&now, &stat) {
                return Err(Error::refused(
                    path,
                    "it was replaced while it was opened",
                    "see who may write the folder above it, and try again",
                ));
            }
            now
        };
        let identity = identity(&stat);
        Ok(RunDir { fd, path, identity })
    }

    /// Opens a folder beneath as one of its own.
    ///
    /// # Errors
    /// [`Error::Refused`] for a link; [`Error::Io`].
    pub fn below(&self, name: impl AsRef<Path>) -> Result<RunDir> {
        let name = name.as_ref();
        let fd = self.folder(name, false)?;
        let path = self.path.join(name);
        let stat = fstat(&fd).map_err(|errno| Error::io("open", &path, errno))?;
        let identity = identity(&stat);
        Ok(RunDir { fd, path, identity })
    }

    /// Refuses what a command with this authority must not act on.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Io`].
    pub fn require(&self, authority: Authority) -> Result<()> {
        match authority {
            Authority::Reads => Ok(()),
            Authority::Obeys => self.require_trusted(),
            Authority::ObeysAll => self.require_trusted_tree(),
        }
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

    /// A path to this very folder, wherever it is now: for what opens files by path. It leads there in this process alone, and
    /// while this value lives. Without /proc it is the folder's path.
    pub fn reach(&self) -> PathBuf {
        let reach = Path::new("/proc/self/fd").join(self.fd.as_raw_fd().to_string());
        if reach.exists() {
            reach
        } else {
            self.path.clone()
        }
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

    /// Opens a folder beneath; with `one_mount` only one of the same mount.
    ///
    /// # Errors
    /// [`Error::Refused`] for a link; [`Error::Io`].
    pub fn folder(&self, name: impl AsRef<Path>, one_mount: bool) -> Result<OwnedFd> {
        let name = name.as_ref();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let opened = self.open_beneath(name, flags, Mode::empty(), one_mount)?;
        if one_mount && mount_id(&opened).ok() != mount_id(&self.fd).ok() {
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

#[cfg(test)]
mod tests;
