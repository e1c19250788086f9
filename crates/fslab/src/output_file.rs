//! A file that a command writes when its work is done.
//!
//! The path is looked at before the work, which may take hours, and nothing is made then: a command that is interrupted leaves no empty
//! file. The file is written beside its place and renamed, so what was there stays until there is another, also on a full disk. What
//! the command reads is refused, and so is a device: it would be overwritten. A pipe, a terminal and /dev/null take the result as a
//! stream. A pipe is opened when it is looked at, because without a reader that would wait for ever.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, IsTerminal as _, Write};
use std::os::unix::fs::{
    FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown,
};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, OFlags, access, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use crate::loop_image;

/// Where a result goes.
#[derive(Debug)]
pub(crate) struct OutputFile {
    path: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// A file of this folder, and what is there.
    Folder(PathBuf, Option<Old>),
    /// A pipe, a terminal, /dev/null, or what stdout is.
    Stream(File),
}

/// What a new file takes over from the one in its place.
#[derive(Debug)]
struct Old {
    mode: u32,
    /// User and group.
    owner: (u32, u32),
}

/// What stdout has besides the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stdout {
    /// A report: a file that it goes to is refused.
    Report,
    /// Nothing: the result may go there.
    Nothing,
}

impl OutputFile {
    /// A file to write at `path` by a command that reads `inputs` and prints a report besides.
    ///
    /// # Errors
    /// It cannot be written there, or must not.
    pub(crate) fn at(path: &Path, inputs: &[&Path]) -> io::Result<OutputFile> {
        OutputFile::beside(path, inputs, Stdout::Report)
    }

    /// A file for all that a command would otherwise print. `/dev/stdout` is stdout, wherever it goes.
    ///
    /// # Errors
    /// As [`OutputFile::at`].
    pub(crate) fn instead_of_stdout(path: &Path, inputs: &[&Path]) -> io::Result<OutputFile> {
        OutputFile::beside(path, inputs, Stdout::Nothing)
    }

    fn beside(path: &Path, inputs: &[&Path], stdout: Stdout) -> io::Result<OutputFile> {
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let there = match fs::metadata(path) {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if fs::symlink_metadata(path).is_ok() {
                    return Err(io::Error::other("a link to a file that is not there"));
                }
                return OutputFile::in_folder(path.to_owned(), None);
            }
            Err(error) => return Err(error),
        };
        if inputs.iter().any(|input| is_read(&there, input)) {
            return Err(io::Error::other(
                "is what is read, and would be overwritten",
            ));
        }
        let printed = rustix::stdio::stdout();
        let is_printed = rustix::fs::fstat(printed)
            .is_ok_and(|out| (out.st_dev, out.st_ino) == (there.dev(), there.ino()));
        if is_printed && stdout == Stdout::Nothing {
            let place = Place::Stream(printed.try_clone_to_owned()?.into());
            let path = path.to_owned();
            return Ok(OutputFile { path, place });
        }
        let kind = there.file_type();
        if kind.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if kind.is_file() {
            // Opened anew it would begin at its beginning, over the report.
            if is_printed {
                return Err(io::Error::other("is where the report is printed"));
            }
            access(path, Access::WRITE_OK)?;
            // A link stays one.
            return OutputFile::in_folder(fs::canonicalize(path)?, Some(&there));
        }
        if kind.is_block_device() {
            return Err(io::Error::other(
                "a block device, which would be overwritten",
            ));
        }
        if kind.is_socket() {
            return Err(io::Error::other("a socket"));
        }
        let device = || io::Error::other("a device, which would be written to");
        // Opening a device may already do something.
        if kind.is_char_device() && !may_be_stream(&there) {
            return Err(device());
        }
        let stream = stream(path, kind.is_fifo())?;
        if kind.is_char_device() && !keeps_nothing(&there) && !stream.is_terminal() {
            return Err(device());
        }
        Ok(OutputFile {
            path: path.to_owned(),
            place: Place::Stream(stream),
        })
    }

    /// A file that does not exist, or a regular one.
    fn in_folder(path: PathBuf, old: Option<&Metadata>) -> io::Result<OutputFile> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        access(&folder, Access::WRITE_OK | Access::EXEC_OK)?;
        let old = old.map(|old| Old {
            mode: old.permissions().mode() & 0o777,
            owner: (old.uid(), old.gid()),
        });
        Ok(OutputFile {
            path,
            place: Place::Folder(folder, old),
        })
    }

    /// Whether the file is written whole or not at all: not a pipe or a terminal.
    pub(crate) const fn is_whole_or_nothing(&self) -> bool {
        matches!(self.place, Place::Folder(..))
    }

    /// Writes it; returns what `content` returns. `failed` makes an error of the file one of `content`'s.
    ///
    /// # Errors
    /// It cannot be written, or `content` failed; what was there stays.
    pub(crate) fn write<T, E>(
        &self,
        content: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, E>,
        failed: impl Fn(io::Error) -> E,
    ) -> Result<T, E> {
        let (folder, old) = match &self.place {
            Place::Folder(folder, old) => (folder, old),
            Place::Stream(stream) => {
                let mut stream = stream;
                return content(&mut stream);
            }
        };
        let mode = old.as_ref().map_or(0o666, |old| old.mode);
        let mut file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(folder)
            .map_err(&failed)?;
        let done = content(file.as_file_mut())?;
        if let Some(Old {
            owner: (user, group),
            ..
        }) = old
        {
            // Root writes a file of another user: it stays theirs. Who may not give it away keeps it.
            let _ = fchown(file.as_file(), Some(*user), Some(*group));
            // Whatever the umask is.
            let _ = file.as_file().set_permissions(Permissions::from_mode(mode));
        }
        // Some filesystems report a full disk or a quota only now.
        file.as_file().sync_all().map_err(&failed)?;
        file.persist(&self.path)
            .map_err(|error| failed(error.error))?;
        Ok(done)
    }
}

/// Whether it is /dev/null or /dev/full.
fn keeps_nothing(there: &Metadata) -> bool {
    let (major, minor) = number(there);
    major == 1 && matches!(minor, 3 | 7)
}

/// Whether it keeps nothing or is a terminal by its number (Documentation/admin-guide/devices.txt): a console or serial line, the
/// terminal of the process, or one of a window.
fn may_be_stream(there: &Metadata) -> bool {
    keeps_nothing(there) || matches!(number(there).0, 4 | 5 | 136..=143)
}

fn number(there: &Metadata) -> (u32, u32) {
    let device = there.rdev();
    (rustix::fs::major(device), rustix::fs::minor(device))
}

/// A pipe that a program reads, or a device.
fn stream(path: &Path, is_pipe: bool) -> io::Result<File> {
    let file = File::options()
        .write(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::NXIO) if is_pipe => io::Error::other("a pipe that no program reads"),
            _ => error,
        })?;
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Whether a file is the one that is read, or the image below the loop device that is.
fn is_read(there: &Metadata, input: &Path) -> bool {
    let is_it = |other: Metadata| (other.dev(), other.ino()) == (there.dev(), there.ino());
    let Ok(read) = fs::metadata(input) else {
        return false;
    };
    if read.file_type().is_block_device() {
        let (major, minor) = (
            rustix::fs::major(read.rdev()),
            rustix::fs::minor(read.rdev()),
        );
        let device = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
        // Of a loop device, and of a partition of one.
        return ["loop", "../loop"]
            .into_iter()
            .filter_map(|folder| loop_image::of(&device.join(folder)))
            .any(|image| fs::metadata(image).is_ok_and(is_it));
    }
    is_it(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(
        file: &OutputFile,
        content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> io::Result<()> {
        file.write(content, std::convert::identity)
    }

    #[test]
    fn what_is_read_and_block_devices_are_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("image"), "image").unwrap();
        fs::hard_link(at("image"), at("hard")).unwrap();
        std::os::unix::fs::symlink(at("image"), at("soft")).unwrap();
        for name in ["image", "hard", "soft"] {
            let error = OutputFile::at(&at(name), &[&at("image")]).unwrap_err();
            assert_eq!(
                error.to_string(),
                "is what is read, and would be overwritten"
            );
        }
        // Each of several inputs; and no folder, also one that is not there.
        fs::write(at("journal"), "journal").unwrap();
        let inputs: [&Path; 2] = [&at("image"), &at("journal")];
        assert!(OutputFile::at(&at("journal"), &inputs).is_err());
        assert!(OutputFile::at(folder.path(), &inputs).is_err());
        assert!(OutputFile::at(&at("new/"), &inputs).is_err());
        std::os::unix::fs::symlink(at("none"), at("dangling")).unwrap();
        assert!(OutputFile::at(&at("dangling"), &[&at("image")]).is_err());
        let disk = fs::read_dir("/sys/block").ok().into_iter().flatten();
        let disk = disk
            .flatten()
            .map(|entry| Path::new("/dev").join(entry.file_name()));
        let Some(disk) = disk.into_iter().find(|node| node.exists()) else {
            testkit::skip!("this machine shows no block device");
            return;
        };
        let error = OutputFile::at(&disk, &[&at("image")]).unwrap_err();
        assert!(error.to_string().starts_with("a block device"), "{error}");
    }

    #[test]
    fn a_device_is_refused_unless_it_keeps_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        for (path, says) in [(Path::new("/dev/zero"), "a device"), (&path, "a socket")] {
            let error = OutputFile::at(path, &[]).unwrap_err();
            assert!(error.to_string().starts_with(says), "{error}");
        }
        let null = OutputFile::at(Path::new("/dev/null"), &[]).unwrap();
        write(&null, |out| out.write_all(b"text")).unwrap();
        assert!(!null.is_whole_or_nothing());
        let full = OutputFile::at(Path::new("/dev/full"), &[]).unwrap();
        let error = write(&full, |out| out.write_all(b"text")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_file_keeps_its_mode_and_root_leaves_it_to_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            std::os::unix::fs::chown(&path, Some(12345), Some(12346)).unwrap();
        }
        let file = OutputFile::at(&path, &[]).unwrap();
        write(&file, |out| out.write_all(b"new")).unwrap();
        let found = fs::metadata(&path).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o640);
        if is_root {
            assert_eq!((found.uid(), found.gid()), (12345, 12346));
        }
    }

    #[test]
    fn a_pipe_needs_a_reader_from_the_start() {
        use std::io::Read as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let error = OutputFile::at(&path, &[]).unwrap_err();
        assert_eq!(error.to_string(), "a pipe that no program reads");
        let theirs = path.clone();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            File::open(theirs)?.read_to_string(&mut text).map(|_| text)
        });
        let file = std::iter::repeat_with(|| OutputFile::at(&path, &[]))
            .find_map(Result::ok)
            .unwrap();
        // More than a pipe holds.
        let long = "text".repeat(100_000);
        write(&file, |out| out.write_all(long.as_bytes())).unwrap();
        drop(file);
        assert_eq!(reader.join().unwrap().unwrap(), long);
    }

    #[test]
    fn nothing_is_made_before_the_end_and_what_was_there_stays_until_then() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("image"), "image").unwrap();
        fs::write(at("old"), "old").unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let new = OutputFile::at(&at("new"), &[&at("image")]).unwrap();
        let old = OutputFile::at(&at("old"), &[&at("image")]).unwrap();
        assert_eq!(names(), 2);
        let full = |out: &mut (dyn Write + Send)| {
            out.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        };
        assert!(write(&old, full).is_err() && write(&new, full).is_err());
        assert_eq!(
            (names(), fs::read(at("old")).unwrap()),
            (2, b"old".to_vec())
        );
        for file in [&old, &new] {
            write(file, |out| out.write_all(b"whole")).unwrap();
        }
        assert_eq!(names(), 3);
        for name in ["old", "new"] {
            assert_eq!(fs::read(at(name)).unwrap(), b"whole");
        }
        assert!(OutputFile::at(&at("no/folder"), &[&at("image")]).is_err());
    }
}
