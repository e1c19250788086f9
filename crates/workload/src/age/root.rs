//! Where an ageing happens: empty before, and after unless it is kept.

use std::{fs, io};

use crate::Error;
use params::AgeSpec;

/// The directory that is aged.
pub(super) struct Root<'a> {
    options: &'a AgeSpec,
    made: bool,
    done: bool,
}

impl<'a> Root<'a> {
    /// Makes it if it is missing, and the bases of processes that have their own.
    pub(super) fn make(options: &'a AgeSpec) -> Result<Root<'a>, Error> {
        let dir = &options.dir;
        let made = match fs::create_dir(dir) {
            Ok(()) => true,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => false,
            Err(e) => return Err(Error::io("make the directory", dir)(e)),
        };
        let mut root = Root {
            options,
            made,
            // Until it is known to be empty nothing in it may be removed.
            done: true,
        };
        for entry in fs::read_dir(dir).map_err(Error::io("list", dir))? {
            let entry = entry.map_err(Error::io("list", dir))?;
            if entry.file_name() != "lost+found" {
                let there = io::Error::from(io::ErrorKind::AlreadyExists);
                return Err(Error::io(
                    "age a directory that is not empty, there is",
                    entry.path(),
                )(there));
            }
        }
        root.done = false;
        for base in options.bases().iter().filter(|base| *base != dir) {
            fs::create_dir(base).map_err(Error::io("make the base directory", base))?;
        }
        Ok(root)
    }

    /// Removes what the run has made, unless it is to be kept.
    pub(super) fn remove(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.done, true) || self.options.keep {
            return Ok(());
        }
        let dir = &self.options.dir;
        for entry in fs::read_dir(dir).map_err(Error::io("list", dir))? {
            let entry = entry.map_err(Error::io("list", dir))?;
            if entry.file_name() != "lost+found" {
                let path = entry.path();
                fs::remove_dir_all(&path).map_err(Error::io("remove", &path))?;
            }
        }
        if self.made {
            fs::remove_dir(dir).map_err(Error::io("remove", dir))?;
        }
        Ok(())
    }
}

impl Drop for Root<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::warn!("{error}");
        }
    }
}
