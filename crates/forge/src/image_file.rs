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
        this.file.set_len(size).map_err(|source| match source.raw_os_error() {
            Some(code) if code == rustix::io::Errno::FBIG.raw_os_error() => failed(
                "make a file as large as that (its filesystem's limit; an image on XFS or btrfs may be larger)",
            )(source),
            _ => failed("set the image's size")(source),
        })?;
        Ok(this)
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

    /// Waits until all is on the disk.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        self.file
            .sync_all()
            .map_err(|source| self.failed("write the image back", source))
    }

    fn failed(&self, action: &'static str, source: io::Error) -> Error {
        Error::Io {
            path: self.path.clone(),
            action,
            source,
        }
    }

    /// Bytes written so far.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// It is complete.
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
