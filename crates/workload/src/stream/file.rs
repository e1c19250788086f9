//! The one file: its state before the run, how it is opened, and its end.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::fs::OFlags;

use params::StreamSpec;
use params::stream::WriteThrough;

use crate::engine::Direction;
use crate::error::bad;
use crate::remove::remove;
use crate::{Error, Evidence};

/// The file of a run. Once the run has begun to write it, it is removed when this is dropped: also
/// with `keep` when the run failed, since half a file is of no use, unless it existed before and
/// is written in place. A run that only reads leaves what it found.
pub(super) struct Target<'a> {
    options: &'a StreamSpec,
    path: PathBuf,
    existed: AtomicBool,
    written: AtomicBool,
    spared: AtomicBool,
}

impl<'a> Target<'a> {
    /// Names it; touches nothing.
    pub(super) fn new(options: &'a StreamSpec) -> Target<'a> {
        Target {
            options,
            path: options.path(),
            existed: AtomicBool::new(false),
            written: AtomicBool::new(false),
            spared: AtomicBool::new(false),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Examines what exists before a write and refuses what cannot be, so that a size typed
    /// wrongly costs nothing. What only turns out in the middle (metadata, other writers) is
    /// `NoSpace` there.
    pub(super) fn prepare(&self) -> Result<Evidence, Error> {
        let there = match std::fs::symlink_metadata(&self.path) {
            Ok(meta) => {
                self.refuse_irregular(&meta, "write")?;
                self.existed.store(true, Relaxed);
                Some(meta)
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(Error::io("examine", &self.path)(e)),
        };
        self.refuse_if_too_large(there.as_ref().map_or(0, |meta| meta.blocks() * 512))?;
        let reuse = self.options.reuse;
        let detail = match there.map(|meta| meta.len()) {
            None => "fresh: it was not there".to_owned(),
            Some(len) if reuse => format!("reuse: {len} bytes were there and are written over"),
            Some(len) => format!("truncate: {len} bytes were there and were freed at open"),
        };
        Ok(Evidence {
            name: "file_state".into(),
            holds: Some(true),
            detail,
        })
    }

    fn refuse_irregular(&self, meta: &std::fs::Metadata, what: &'static str) -> Result<(), Error> {
        let kind = meta.file_type();
        let is = match () {
            () if kind.is_file() => return Ok(()),
            () if kind.is_dir() => "a directory",
            () if kind.is_symlink() => "a symbolic link",
            () if kind.is_block_device() || kind.is_char_device() => "a device",
            () => "a pipe or a socket",
        };
        Err(Error::Unsupported {
            what,
            path: self.path.clone(),
            reason: format!("it is {is}, not a regular file; remove it or name another file"),
        })
    }

    fn refuse_if_too_large(&self, there: u64) -> Result<(), Error> {
        let dir = &self.options.dir;
        let fs = rustix::fs::statvfs(dir)
            .map_err(|e| Error::io("examine the filesystem of", dir)(e.into()))?;
        let blocks = if rustix::process::geteuid().is_root() {
            fs.f_bfree
        } else {
            fs.f_bavail
        };
        let free = blocks.saturating_mul(fs.f_frsize).saturating_add(there);
        let needed = self.options.bytes();
        // Some filesystems (a tmpfs without a limit, some network ones) say 0 blocks.
        if fs.f_blocks == 0 || needed <= free {
            return Ok(());
        }
        Err(bad(
            "count",
            self.options.count,
            format!(
                "{} blocks of {} are {needed} bytes, more than the {free} free in {}; take \
                 fewer or a larger target",
                self.options.count,
                self.options.block,
                dir.display()
            ),
        ))
    }

    /// Opens it for a phase, at the phase's first block. Truncating it is part of this, outside
    /// the clock, as it is in dd.
    pub(super) fn open(&self, direction: Direction) -> Result<File, Error> {
        let file = match direction {
            Direction::Write => self.open_to_write()?,
            Direction::Read => self.open_to_read()?,
        };
        let begin = self.options.first(direction) * self.options.block.get();
        rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(begin))
            .map_err(|e| Error::io("seek in", &self.path)(e.into()))?;
        Ok(file)
    }

    fn open_to_write(&self) -> Result<File, Error> {
        let StreamSpec { reuse, seek, .. } = *self.options;
        let through = match self.options.write_through {
            WriteThrough::None => OFlags::empty(),
            WriteThrough::Dsync => OFlags::DSYNC,
            WriteThrough::Sync => OFlags::SYNC,
        };
        self.written.store(true, Relaxed);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(!reuse && seek == 0)
            .mode(0o666)
            .custom_flags(self.flags(through))
            .open(&self.path)
            .map_err(Error::io("open", &self.path))?;
        if !reuse && seek > 0 {
            file.set_len(seek * self.options.block.get())
                .map_err(Error::io("truncate", &self.path))?;
        }
        Ok(file)
    }

    fn open_to_read(&self) -> Result<File, Error> {
        self.refuse_unreadable()?;
        OpenOptions::new()
            .read(true)
            .custom_flags(self.flags(OFlags::empty()))
            .open(&self.path)
            .map_err(Error::io("open", &self.path))
    }

    /// Refuses what cannot be read as asked: not there, no regular file, too short.
    pub(super) fn refuse_unreadable(&self) -> Result<(), Error> {
        let meta = std::fs::symlink_metadata(&self.path).map_err(Error::io("read", &self.path))?;
        self.refuse_irregular(&meta, "read")?;
        self.refuse_wrong_size(meta.len())
    }

    fn flags(&self, more: OFlags) -> i32 {
        let mut flags = OFlags::NOFOLLOW | more;
        if self.options.direct {
            flags |= OFlags::DIRECT;
        }
        flags.bits() as i32
    }

    /// A file shorter than the read, and one that is not as long as this run has made it.
    fn refuse_wrong_size(&self, len: u64) -> Result<(), Error> {
        let refuse = |reason: String| {
            Err(Error::Unsupported {
                what: phase_name(Direction::Read),
                path: self.path.clone(),
                reason,
            })
        };
        let made = self.written.load(Relaxed) && !self.options.reuse;
        let written = self.options.end(Direction::Write);
        if made && len != written {
            return refuse(format!(
                "it has {len} bytes where {written} were written; the filesystem has changed its \
                 size, look at the kernel log (dmesg)"
            ));
        }
        let asked = self.options.end(Direction::Read);
        if len < asked {
            return refuse(format!(
                "it has {len} of {asked} bytes; write it first with the same block and count, or \
                 read fewer blocks"
            ));
        }
        Ok(())
    }

    /// Flushes it, by its own descriptor: the phase's is closed.
    pub(super) fn fsync(&self) -> io::Result<()> {
        OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::NOFOLLOW.bits() as i32)
            .open(&self.path)?
            .sync_all()
    }

    /// Leaves the file as it is, so that the cause of the damage can be found.
    pub(super) fn spare(&self) {
        self.spared.store(true, Relaxed);
    }

    /// The end of a run that went well.
    pub(super) fn finish(self) -> Result<(), Error> {
        if self.options.keep {
            self.spare();
        }
        self.remove()
    }

    fn remove(&self) -> Result<(), Error> {
        let in_place = self.options.keep && self.options.reuse && self.existed.load(Relaxed);
        if !self.written.swap(false, Relaxed) || self.spared.load(Relaxed) || in_place {
            return Ok(());
        }
        remove(&self.path)
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::warn!("{error}");
        }
    }
}

/// Name of the phase that moves data in this direction.
pub(super) const fn phase_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "read",
        Direction::Write => "write",
    }
}
