//! The file that becomes the filesystem.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;

/// A new image; it is removed when it is dropped before [`ImageFile::keep`].
#[derive(Debug)]
pub(crate) struct ImageFile {
    file: File,
    path: PathBuf,
    written: AtomicU64,
    kept: bool,
}

impl ImageFile {
    /// A file of `size` bytes that is one hole.
    pub(crate) fn create(path: &Path, size: u64) -> Result<Self, Error> {
        let failed = |action| {
            let path = path.to_path_buf();
            move |source| Error::Io {
                path,
                action,
                source,
            }
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(failed("create the image"))?;
        let this = Self {
            file,
            path: path.to_path_buf(),
            written: AtomicU64::new(0),
            kept: false,
        };
        this.set_len(size)?;
        Ok(this)
    }

    /// Sets the size; what is added is a hole.
    pub(crate) fn set_len(&self, size: u64) -> Result<(), Error> {
        self.file.set_len(size).map_err(|source| {
            let too_large = source.raw_os_error() == Some(rustix::io::Errno::FBIG.raw_os_error());
            let action = if too_large {
                "make a file as large as that (its filesystem's limit; an image on XFS or btrfs may be larger)"
            } else {
                "set the image's size"
            };
            self.failed(action, source)
        })
    }

    /// The file itself, for another program to write to.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes at an offset.
    pub(crate) fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; len];
        self.file
            .read_exact_at(&mut bytes, offset)
            .map_err(|source| self.failed("read the image", source))?;
        Ok(bytes)
    }

    /// Writes bytes at an offset.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.file
            .write_all_at(bytes, offset)
            .map_err(|source| self.failed("write to the image", source))?;
        self.written
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Waits until all is on stable storage.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        self.file
            .sync_all()
            .map_err(|source| self.failed("write the image back", source))
    }

    pub(crate) fn failed(&self, action: &'static str, source: io::Error) -> Error {
        Error::Io {
            path: self.path.clone(),
            action,
            source,
        }
    }

    /// Adds what another program wrote.
    pub(crate) fn count(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes written so far.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Keeps the image, which is complete.
    pub(crate) fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for ImageFile {
    fn drop(&mut self) {
        if !self.kept {
            // The error that led here is reported; this one would only hide it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
