//! The files of all ranks, and which of them a rank has to remove.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use params::SharedSpec;
use params::shared::Layout;
use rustix::fs::OFlags;

use crate::Error;
use crate::remove::remove;

/// Whether another node made or removed the file in the middle of an open.
fn is_lost_race(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound)
}

/// A rank's view of the files.
pub(super) struct Files<'a> {
    spec: &'a SharedSpec,
    rank: u32,
    /// Whether this run has begun to write.
    written: bool,
}

impl<'a> Files<'a> {
    pub(super) fn new(spec: &'a SharedSpec, rank: u32) -> Files<'a> {
        Files {
            spec,
            rank,
            written: false,
        }
    }

    /// The file that a rank writes, with IOR's name.
    pub(super) fn path(&self, rank: u32) -> PathBuf {
        self.spec.dir.join(match self.spec.layout {
            Layout::Own => format!("testFile.{rank:08}"),
            Layout::Shared => "testFile".into(),
        })
    }

    /// Whether this rank makes and removes its file: of one for all ranks, rank 0.
    fn is_ours(&self) -> bool {
        self.spec.layout == Layout::Own || self.rank == 0
    }

    /// Removes what is there from before, as IOR does.
    pub(super) fn prepare(&mut self) -> Result<(), Error> {
        self.written = true;
        if self.is_ours() {
            remove(&self.path(self.rank))?;
        }
        Ok(())
    }

    /// Opens a file for writing, which makes it, or for reading.
    pub(super) fn open(&self, path: &Path, write: bool) -> Result<File, Error> {
        let mut flags = OFlags::NOFOLLOW;
        if self.spec.direct {
            flags |= OFlags::DIRECT;
        }
        let open = || {
            OpenOptions::new()
                .read(true)
                .write(write)
                .create(write)
                .mode(0o640)
                .custom_flags(flags.bits() as i32)
                .open(path)
        };
        // Ranks of two nodes make one file at the same time, which one of them has just removed. OCFS2 then fails an open that may make it
        // with EEXIST or ENOENT (seen with Linux 6.1), which open(2) does not have for it.
        let opened = match open() {
            Err(error) if write && is_lost_race(&error) => open(),
            opened => opened,
        };
        opened.map_err(|error| match error.kind() {
            ErrorKind::NotFound if !write => Error::Unsupported {
                what: "a read",
                path: path.to_owned(),
                reason: "it is not there; write it first, with the same ranks and keep".into(),
            },
            _ => Error::io("open", path)(error),
        })
    }

    /// Makes what this rank wrote safe: clock (b).
    pub(super) fn sync(&self) -> Result<(), Error> {
        let path = self.path(self.rank);
        let file = File::open(&path).map_err(Error::io("open", &path))?;
        file.sync_all().map_err(Error::io("fsync", &path))
    }

    /// Removes the files that were written, unless they are to be kept.
    pub(super) fn remove(&mut self) -> Result<(), Error> {
        if self.written && !self.spec.keep && self.is_ours() {
            self.written = false;
            return remove(&self.path(self.rank));
        }
        Ok(())
    }
}

impl Drop for Files<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::warn!("{error}");
        }
    }
}
