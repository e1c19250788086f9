//! What a command writes beneath an opened folder: each file and folder by the folder's descriptor, and through no link.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, ftruncate, mkdirat, renameat, unlinkat};
use rustix::io::Errno;

use super::{RunDir, is_missing};
use crate::error::{Error, Result};

impl RunDir {
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

    /// Makes a file or empties the one that is there; folders above it are made. As root, a file that others own or may
    /// write is refused.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Io`].
    pub fn create(&self, name: impl AsRef<Path>) -> Result<File> {
        let name = name.as_ref();
        self.make_folders_above(name)?;
        let file = self.write(name)?;
        ftruncate(&file, 0).map_err(|error| Error::io("create", &self.path.join(name), error))?;
        Ok(file)
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
    /// Folders above it are made.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Io`]; the old file stays.
    pub fn replace(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
        let name = name.as_ref();
        let failed = |error| Error::io("write", &self.path.join(name), error);
        self.replace_with(name, |file| file.write_all(bytes).map_err(failed))
    }

    /// Does as [`RunDir::replace`] with what `write` writes.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Io`], and those of `write`; the old file stays.
    pub fn replace_with<E: From<Error>>(
        &self,
        name: impl AsRef<Path>,
        write: impl FnOnce(&mut File) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let name = name.as_ref();
        let mut beside = name.as_os_str().to_owned();
        beside.push(".part");
        let beside = Path::new(&beside);
        self.make_folders_above(name)?;
        self.remove(beside)?;
        let mut file = self.create_new(beside)?;
        let written = write(&mut file).and_then(|()| Ok(self.rename(beside, name)?));
        if written.is_err() {
            let _ = self.remove(beside);
        }
        written
    }

    /// Renames a file or folder beneath; what has the new name is replaced, if it can be.
    ///
    /// # Errors
    /// [`Error::Refused`] when the way to either has a link; [`Error::Io`].
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
        let (from, to) = (from.as_ref(), to.as_ref());
        let (source, old) = self.parent_of(from, false)?;
        let (target, new) = self.parent_of(to, false)?;
        renameat(source, old, target, new)
            .map_err(|error| Error::io("write", &self.path.join(to), error))
    }

    /// Removes a file or a link; one that is not there is fine.
    ///
    /// # Errors
    /// [`Error::Refused`] when the way to it has a link; [`Error::Io`].
    pub fn remove(&self, name: impl AsRef<Path>) -> Result<()> {
        let name = name.as_ref();
        let (parent, last) = match self.parent_of(name, false) {
            Err(Error::Io { source, .. }) if is_missing(&source) => return Ok(()),
            other => other?,
        };
        match unlinkat(parent, last, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(Error::io("remove", &self.path.join(name), error)),
        }
    }

    /// Removes an empty folder beneath.
    ///
    /// # Errors
    /// [`Error::Refused`] when the way to it has a link; [`Error::Io`].
    pub fn remove_empty(&self, name: impl AsRef<Path>) -> Result<()> {
        let name = name.as_ref();
        let (parent, last) = self.parent_of(name, false)?;
        unlinkat(parent, last, AtFlags::REMOVEDIR)
            .map_err(|error| Error::io("remove", &self.path.join(name), error))
    }

    /// Removes a folder with all that is in it, through no link and across no mount; one that is not there is fine.
    ///
    /// # Errors
    /// [`Error::Refused`] when the way to it has a link; [`Error::Io`].
    pub fn remove_tree(&self, name: impl AsRef<Path>) -> Result<()> {
        let name = name.as_ref();
        let (parent, last) = match self.parent_of(name, false) {
            Err(Error::Io { source, .. }) if is_missing(&source) => return Ok(()),
            other => other?,
        };
        match crate::tree::remove(&parent, last) {
            Err(error) if !is_missing(&error) => {
                Err(Error::io("remove", &self.path.join(name), error))
            }
            _ => Ok(()),
        }
    }

    /// Makes a folder that only its owner may write, and those above it; one that exists is kept. Whether it is new.
    ///
    /// # Errors
    /// [`Error::Refused`] for a link in its place or on the way; [`Error::Io`].
    pub fn make_folder(&self, name: impl AsRef<Path>) -> Result<bool> {
        let name = name.as_ref();
        self.make_folders_above(name)?;
        let (parent, last) = self.parent_of(name, false)?;
        match mkdirat(parent, last, Mode::from_raw_mode(0o755)) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => self.folder(name, false).map(|_| false),
            Err(error) => Err(Error::io("make", &self.path.join(name), error)),
        }
    }

    fn make_folders_above(&self, name: &Path) -> Result<()> {
        match name.parent() {
            Some(above) if above != Path::new("") => self.make_folder(above).map(drop),
            _ => Ok(()),
        }
    }
}
