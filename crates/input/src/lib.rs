//! Files that a user names as input.
//!
//! A path on the command line may lead to anything. A FIFO without a writer would hang the program, `/dev/zero` would fill its
//! memory, and opening some devices already does something (a tape rewinds, a watchdog starts). Here only regular files are
//! opened, and what is read into memory has a limit that its caller states. Images and devices that are checked are opened by
//! `blockio`, files of a run's folder by `rundir`.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat, stat};
use rustix::io::Errno;

/// Why a file is not read. Each message is a part of a line: the caller puts the path before it and what to do after it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not a regular file. The text says what it is.
    #[error("{0}")]
    NotRegular(&'static str),
    /// A symbolic link to nothing.
    #[error("it is a symbolic link to a file that does not exist")]
    Dangling,
    /// It has more bytes than such a file can have.
    #[error("it has more than {}, the most that is read of such a file", words::bytes(*.most))]
    TooLarge {
        /// The limit, in bytes.
        most: u64,
    },
    /// It is not UTF-8.
    #[error("it is not UTF-8 text at byte {at}")]
    NotText {
        /// The first byte that is not text, from 0.
        at: usize,
    },
    /// The kernel's error.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Error {
    /// Whether there is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(self, Error::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let kind = match &error {
            Error::Io(_) => None,
            Error::NotRegular(_) => Some(io::ErrorKind::InvalidInput),
            Error::Dangling => Some(io::ErrorKind::NotFound),
            Error::TooLarge { .. } => Some(io::ErrorKind::FileTooLarge),
            Error::NotText { .. } => Some(io::ErrorKind::InvalidData),
        };
        match (kind, error) {
            (_, Error::Io(error)) => error,
            (kind, error) => {
                io::Error::new(kind.unwrap_or(io::ErrorKind::Other), error.to_string())
            }
        }
    }
}

/// What a file is that is not a regular one; `None` for a regular one.
const fn other_kind(kind: FileType) -> Option<&'static str> {
    Some(match kind {
        FileType::RegularFile => return None,
        FileType::Directory => "it is a folder, not a file",
        FileType::Fifo => "it is a FIFO, not a file",
        FileType::Socket => "it is a socket, not a file",
        FileType::CharacterDevice | FileType::BlockDevice => "it is a device, not a file",
        _ => "it is not a regular file",
    })
}

/// Opens a regular file to read it. Links are followed: the path is the user's.
///
/// # Errors
/// [`Error::NotRegular`] at once for a FIFO, a device, a socket or a folder; [`Error::Dangling`]; [`Error::Io`].
pub fn open_regular(path: &Path) -> Result<File, Error> {
    let regular = |mode| match other_kind(FileType::from_raw_mode(mode)) {
        None => Ok(()),
        Some(what) => Err(Error::NotRegular(what)),
    };
    // Opening a device may already do something. What counts is the look at the opened file.
    let found = stat(path).map_err(|errno| match errno {
        Errno::NOENT if path.is_symlink() => Error::Dangling,
        errno => Error::Io(errno.into()),
    })?;
    regular(found.st_mode)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = openat(CWD, path, flags, Mode::empty()).map_err(io::Error::from)?;
    regular(fstat(&fd).map_err(io::Error::from)?.st_mode)?;
    Ok(File::from(fd))
}

/// The bytes of a regular file of at most `most` bytes.
///
/// # Errors
/// Those of [`open_regular`]; [`Error::TooLarge`].
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let file = open_regular(path)?;
    let length = file.metadata()?.len();
    if length > most {
        return Err(Error::TooLarge { most });
    }
    // The length is a hint: files of /proc have none, and others may grow.
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::TooLarge { most });
    }
    Ok(bytes)
}

/// The text of a regular file of at most `most` bytes.
///
/// # Errors
/// Those of [`bytes`]; [`Error::NotText`].
pub fn text(path: &Path, most: u64) -> Result<String, Error> {
    String::from_utf8(bytes(path, most)?).map_err(|error| Error::NotText {
        at: error.utf8_error().valid_up_to(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("none", at("dangling")).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(at("fifo"))
            .status();
        assert!(made.unwrap().success());
        for (name, why) in [
            ("fifo", "it is a FIFO, not a file"),
            ("socket", "it is a socket, not a file"),
            (".", "it is a folder, not a file"),
            ("/dev/zero", "it is a device, not a file"),
            (
                "dangling",
                "it is a symbolic link to a file that does not exist",
            ),
        ] {
            let error = text(&at(name), 100).unwrap_err();
            assert_eq!(error.to_string(), why, "{name}");
        }
        assert!(text(&at("none"), 100).unwrap_err().is_missing());
        assert_eq!(text(&at("link"), 4).unwrap(), "text");
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "a\u{e9}").unwrap();
        assert_eq!(text(&path, 3).unwrap(), "a\u{e9}");
        assert_eq!(
            text(&path, 2).unwrap_err().to_string(),
            "it has more than 2 B, the most that is read of such a file"
        );
        fs::write(&path, b"ab\xff").unwrap();
        assert!(matches!(text(&path, 9), Err(Error::NotText { at: 2 })));
        // Files of /proc say that they are empty.
        assert!(
            !text(Path::new("/proc/self/status"), 1 << 20)
                .unwrap()
                .is_empty()
        );
        let short = text(Path::new("/proc/self/status"), 10);
        assert!(matches!(short, Err(Error::TooLarge { most: 10 })));
        // A hole of a terabyte takes no memory.
        fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(matches!(bytes(&path, 10), Err(Error::TooLarge { .. })));
    }
}
