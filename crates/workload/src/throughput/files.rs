//! The children's files: their names, their state before the run, and their end.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::OFlags;

use crate::error::bad;
use crate::remove::remove_all;
use crate::{Error, Evidence, residency::Residency};
use params::ThroughputSpec;
use params::throughput::{FileState, Test};

/// The files of a run. Once it has begun to write them they are removed when this is dropped,
/// whatever happened, unless they are to be kept. A run that only reads, or that is refused before
/// it writes, leaves what it found (iozone unlinks that too).
pub(super) struct Files {
    paths: Vec<PathBuf>,
    written: AtomicBool,
    keep: bool,
    state: FileState,
    direct: bool,
    size: u64,
}

impl Files {
    /// Names `iozone.DUMMY.<i>` in the target directory; touches nothing.
    pub(super) fn new(options: &ThroughputSpec) -> Files {
        let name = |i| options.dir.join(format!("iozone.DUMMY.{i}"));
        Files {
            // The null engine moves nothing and so has no files.
            paths: if options.engine.capabilities().transfers {
                (0..options.threads).map(name).collect()
            } else {
                Vec::new()
            },
            written: AtomicBool::new(false),
            keep: options.keep,
            state: options.file_state,
            direct: options.direct,
            size: options.file_bytes(),
        }
    }

    /// All paths; empty for the null engine.
    pub(super) fn paths(&self) -> Vec<&Path> {
        self.paths.iter().map(PathBuf::as_path).collect()
    }

    /// One child's path.
    pub(super) fn path(&self, child: u32) -> &Path {
        self.paths
            .get(child as usize)
            .map_or(Path::new("/dev/null"), PathBuf::as_path)
    }

    /// Refuses files that do not fit on the filesystem, so that a size typed wrongly costs
    /// nothing. What only turns out in the middle (metadata, other writers) is `NoSpace` there.
    pub(super) fn refuse_if_too_large(&self, options: &ThroughputSpec) -> Result<(), Error> {
        if self.paths.is_empty() || !options.tests.contains(&Test::InitialWrite) {
            return Ok(());
        }
        let fs = rustix::fs::statvfs(&options.dir)
            .map_err(|e| Error::io("examine the filesystem of", &options.dir)(e.into()))?;
        let there: u64 = self
            .paths
            .iter()
            .filter_map(|p| std::fs::symlink_metadata(p).ok())
            .map(|m| m.blocks() * 512)
            .sum();
        let blocks = if rustix::process::geteuid().is_root() {
            fs.f_bfree
        } else {
            fs.f_bavail
        };
        let free = blocks.saturating_mul(fs.f_frsize).saturating_add(there);
        let needed = self.size * self.paths.len() as u64;
        // Some filesystems (a tmpfs without a limit, some network ones) say 0 blocks.
        if fs.f_blocks > 0 && needed > free {
            return Err(bad(
                "size",
                options.size,
                format!(
                    "{} files of {} bytes are larger than the {free} bytes free in {}; take a \
                     smaller size, fewer threads or a larger target",
                    self.paths.len(),
                    self.size,
                    options.dir.display()
                ),
            ));
        }
        Ok(())
    }

    /// Brings the files into the state the initial write is to find, and describes what it found.
    pub(super) fn prepare(&self) -> Result<Evidence, Error> {
        self.written.store(true, Ordering::Relaxed);
        let mut found = 0;
        for path in &self.paths {
            match std::fs::symlink_metadata(path) {
                Ok(_) => found += 1,
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                Err(e) => return Err(Error::io("examine", path)(e)),
            }
            if self.state == FileState::Fresh {
                std::fs::remove_file(path).map_err(Error::io("remove the leftover", path))?;
            }
        }
        let all = self.paths.len();
        let (holds, detail) = match self.state {
            FileState::Fresh => (
                true,
                format!("fresh: {found} of {all} were there and unlinked"),
            ),
            FileState::Truncate => (true, format!("truncate: {found} of {all} were there")),
            FileState::Reuse => (
                found == 0,
                format!("reuse: {found} of {all} were there and are overwritten"),
            ),
        };
        Ok(Evidence {
            name: "file_state".into(),
            holds: Some(holds),
            detail,
        })
    }

    /// Opens a child's file for a test, with iozone's flags.
    pub(super) fn open(&self, child: u32, test: Test) -> Result<File, Error> {
        let path = self.path(child);
        let mut flags = OFlags::NOFOLLOW;
        if self.direct && !self.paths.is_empty() {
            flags |= OFlags::DIRECT;
        }
        let write = test != Test::Read && test != Test::Reread && test != Test::RandomRead;
        let create = test == Test::InitialWrite && !self.paths.is_empty();
        let file = OpenOptions::new()
            .read(true)
            .write(write)
            .create(create)
            .truncate(create && self.state == FileState::Truncate)
            .mode(0o640)
            .custom_flags(flags.bits() as i32)
            .open(path)
            .map_err(Error::io("open", path))?;
        self.refuse_unusable(path, &file, test)?;
        Ok(file)
    }

    /// Anything but a regular file, and a file too short for the test.
    fn refuse_unusable(&self, path: &Path, file: &File, test: Test) -> Result<(), Error> {
        if self.paths.is_empty() {
            return Ok(());
        }
        let meta = file.metadata().map_err(Error::io("examine", path))?;
        let refuse = |reason: String| {
            Err(Error::Unsupported {
                what: test.name(),
                path: path.to_owned(),
                reason,
            })
        };
        if !meta.is_file() {
            return refuse("it is not a regular file; remove it".into());
        }
        if test != Test::InitialWrite && meta.len() < self.size {
            return refuse(format!(
                "it has {} of {} bytes; run initial_write first, with the same size",
                meta.len(),
                self.size
            ));
        }
        Ok(())
    }

    /// Pages of all files in the page cache; an error when one cannot be asked.
    pub(super) fn residency(&self) -> io::Result<Residency> {
        let mut sum = Residency::default();
        for path in &self.paths {
            sum = match crate::residency::of_path(path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => sum,
                other => sum.plus(other?),
            };
        }
        Ok(sum)
    }

    /// Removes the files that were written, unless they are to be kept.
    pub(super) fn remove(&mut self) -> Result<(), Error> {
        if self.keep || !self.written.load(Ordering::Relaxed) {
            return Ok(());
        }
        remove_all(std::mem::take(&mut self.paths))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::warn!("{error}");
        }
    }
}
