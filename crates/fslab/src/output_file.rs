//! A file that a command writes when its work is done.
//!
//! The path is looked at before the work, which may take hours, and nothing is made then: a command that is interrupted leaves no empty
//! file. The file is written beside its place and renamed, so what was there stays until there is another. What the
//! command reads, and any block device, is refused: it would be overwritten.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

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
    Stream,
}

impl OutputFile {
    /// A file to write at `path` by a command that reads `input`.
    ///
    /// # Errors
    /// It cannot be written there, or must not.
    pub(crate) fn at(path: &Path, input: &Path) -> io::Result<OutputFile> {
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
                if is_read(&there, input) {
                    return Err(io::Error::other(
                        "is what is read, and would be overwritten",
                    ));
                }
                if kind.is_dir() {
                    return Err(io::ErrorKind::IsADirectory.into());
                }
                if !kind.is_file() {
                    let path = path.to_owned();
                    let place = Place::Stream;
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
        let Place::Folder(folder, permissions) = &self.place else {
            return content(&mut File::options().write(true).open(&self.path)?);
        };
        let mut file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(*permissions))
            .tempfile_in(folder)?;
        content(file.as_file_mut())?;
        file.persist(&self.path)?;
        Ok(())
    }
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
        // Of a loop device, and of a partition of one.
        let is_below = |folder: &str| {
            let below = format!("/sys/dev/block/{major}:{minor}/{folder}/backing_file");
            let image = fs::read_to_string(below).unwrap_or_default();
            fs::metadata(image.trim_end()).is_ok_and(is_it)
        };
        return is_below("loop") || is_below("../loop");
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
            let error = OutputFile::at(&at(name), &at("image")).unwrap_err();
            assert_eq!(
                error.to_string(),
                "is what is read, and would be overwritten"
            );
        }
        assert!(OutputFile::at(folder.path(), &at("image")).is_err());
        std::os::unix::fs::symlink(at("none"), at("dangling")).unwrap();
        assert!(OutputFile::at(&at("dangling"), &at("image")).is_err());
        let disk = fs::read_dir("/sys/block").ok().into_iter().flatten();
        let disk = disk
            .flatten()
            .map(|entry| Path::new("/dev").join(entry.file_name()));
        let Some(disk) = disk.into_iter().find(|node| node.exists()) else {
            testkit::skip!("this machine shows no block device");
            return;
        };
        let error = OutputFile::at(&disk, &at("image")).unwrap_err();
        assert!(error.to_string().starts_with("a block device"), "{error}");
    }

    #[test]
    fn nothing_is_made_before_the_end_and_what_was_there_stays_until_then() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("image"), "image").unwrap();
        fs::write(at("old"), "old").unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let new = OutputFile::at(&at("new"), &at("image")).unwrap();
        let old = OutputFile::at(&at("old"), &at("image")).unwrap();
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
        assert!(OutputFile::at(&at("no/folder"), &at("image")).is_err());
    }
}
