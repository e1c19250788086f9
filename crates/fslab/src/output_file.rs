//! A file that a command writes when its work is done.
//!
//! The path is looked at before the work, which may take hours, and nothing is made then: a command that is interrupted leaves no empty
//! file. The file is written beside its place and renamed, so what was there stays until there is another. What the
//! command reads, and any block device, is refused: it would be overwritten. A pipe is opened when it is looked at, because without a
//! reader that would wait for ever.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{
    FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
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
    /// A file of this folder, with these permissions.
    Folder(PathBuf, u32),
    /// A pipe or a terminal.
    Stream(File),
}

impl OutputFile {
    /// A file to write at `path` by a command that reads `inputs`.
    ///
    /// # Errors
    /// It cannot be written there, or must not.
    pub(crate) fn at(path: &Path, inputs: &[&Path]) -> io::Result<OutputFile> {
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let (path, permissions) = match fs::metadata(path) {
            Ok(there) => {
                let kind = there.file_type();
                if kind.is_block_device() {
                    return Err(io::Error::other(
                        "a block device, which would be overwritten",
                    ));
                }
                // Opened anew it would begin at its beginning, over the report.
                let is_printed = rustix::fs::fstat(rustix::stdio::stdout())
                    .is_ok_and(|out| (out.st_dev, out.st_ino) == (there.dev(), there.ino()));
                if kind.is_file() && is_printed {
                    return Err(io::Error::other("is where the report is printed"));
                }
                if inputs.iter().any(|input| is_read(&there, input)) {
                    return Err(io::Error::other(
                        "is what is read, and would be overwritten",
                    ));
                }
                if kind.is_dir() {
                    return Err(io::ErrorKind::IsADirectory.into());
                }
                if !kind.is_file() {
                    let place = Place::Stream(stream(path, kind.is_fifo())?);
                    let path = path.to_owned();
                    return Ok(OutputFile { path, place });
                }
                access(path, Access::WRITE_OK)?;
                // A link stays one.
                (fs::canonicalize(path)?, there.permissions().mode() & 0o777)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if fs::symlink_metadata(path).is_ok() {
                    return Err(io::Error::other("a link to a file that is not there"));
                }
                (path.to_owned(), 0o666)
            }
            Err(error) => return Err(error),
        };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        access(&folder, Access::WRITE_OK | Access::EXEC_OK)?;
        Ok(OutputFile {
            path,
            place: Place::Folder(folder, permissions),
        })
    }

    /// Writes it.
    ///
    /// # Errors
    /// It cannot be written; what was there stays.
    pub(crate) fn write(
        &self,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let (folder, permissions) = match &self.place {
            Place::Folder(folder, permissions) => (folder, permissions),
            Place::Stream(stream) => {
                let mut stream = stream;
                return content(&mut stream);
            }
        };
        let mut file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(*permissions))
            .tempfile_in(folder)?;
        content(file.as_file_mut())?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// A pipe that a program reads, or a terminal.
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
        file.write(|out| out.write_all(long.as_bytes())).unwrap();
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
        let full = |out: &mut dyn Write| {
            out.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        };
        assert!(old.write(full).is_err() && new.write(full).is_err());
        assert_eq!(
            (names(), fs::read(at("old")).unwrap()),
            (2, b"old".to_vec())
        );
        for file in [&old, &new] {
            file.write(|out| out.write_all(b"whole")).unwrap();
        }
        assert_eq!(names(), 3);
        for name in ["old", "new"] {
            assert_eq!(fs::read(at(name)).unwrap(), b"whole");
        }
        assert!(OutputFile::at(&at("no/folder"), &[&at("image")]).is_err());
    }
}
