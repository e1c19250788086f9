//! What O_DIRECT demands of a directory's filesystem, asked before anything runs.
//!
//! `statx(STATX_DIOALIGN)` (Linux 6.1) reports it exactly. Filesystems that do not answer (btrfs
//! before 6.14, network filesystems) get the device's logical block size, and where there is no
//! one device, the filesystem's block size, which is never too small.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use params::Bytes;
use rustix::fs::{AtFlags, OFlags, Statx, StatxFlags, statx};
use serde::Serialize;

use crate::Error;
use crate::error::bad;

/// Alignments of direct I/O.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Alignment {
    /// Of buffers in memory, bytes.
    pub memory: u32,
    /// Of offsets and lengths in the file, bytes.
    pub offset: u32,
    /// The source: `statx`, `logical_block_size` or `statfs`.
    pub source: &'static str,
}

/// Refuses a target that is not a directory, or whose direct I/O does not allow a size; `size` has its option and bytes. The
/// result is the alignment; none where direct I/O is not asked for.
///
/// # Errors
/// [`Error::BadOption`], [`Error::Unsupported`] where there is no direct I/O, [`Error::Io`].
pub(crate) fn target(
    dir: &Path,
    is_direct: bool,
    (option, size): (&'static str, Bytes),
) -> Result<Option<Alignment>, Error> {
    let meta = std::fs::metadata(dir).map_err(Error::io("examine", dir))?;
    if !meta.is_dir() {
        return Err(bad("dir", dir.display(), "it is not a directory; name one"));
    }
    if !is_direct {
        return Ok(None);
    }
    let alignment = alignment(dir)?;
    if size.get().is_multiple_of(u64::from(alignment.offset)) {
        return Ok(Some(alignment));
    }
    let reason = format!(
        "O_DIRECT on {} needs a multiple of {} bytes (according to {})",
        dir.display(),
        alignment.offset,
        alignment.source
    );
    Err(bad(option, size, reason))
}

/// Asks what direct I/O needs of files in `dir`, and whether it is possible at all.
pub fn alignment(dir: &Path) -> Result<Alignment, Error> {
    let unsupported = |reason: &str| Error::Unsupported {
        what: "O_DIRECT",
        path: dir.to_owned(),
        reason: format!("{reason}; run without direct, or name a target on another filesystem"),
    };
    let probe = probe_file(dir).map_err(|e| match e.raw_os_error() {
        Some(libc::EINVAL) => unsupported("the filesystem refuses it at open"),
        _ => Error::io("create a file in", dir)(e),
    })?;
    let stat = examine(&probe).map_err(|e| Error::io("examine", dir)(e))?;
    match reported_by_statx(&stat) {
        Some((_, 0)) => return Err(unsupported("the filesystem reports that it has none")),
        Some((memory, offset)) => {
            return Ok(Alignment {
                memory: memory.max(1),
                offset,
                source: "statx",
            });
        }
        None => {}
    }
    if let Some(size) = logical_block_size(stat.stx_dev_major, stat.stx_dev_minor) {
        return Ok(Alignment {
            memory: size,
            offset: size,
            source: "logical_block_size",
        });
    }
    let size = rustix::fs::fstatfs(&probe)
        .map_err(|e| Error::io("examine", dir)(e.into()))?
        .f_bsize as u32;
    Ok(Alignment {
        memory: size,
        offset: size,
        source: "statfs",
    })
}

/// Alignment of offsets in direct I/O on an open file, by statx alone: 0 where none is possible,
/// `None` where the kernel or the filesystem does not say.
///
/// # Errors
/// What statx(2) failed with.
pub fn offset_alignment(file: impl AsFd) -> io::Result<Option<u32>> {
    let stat = examine(file)?;
    Ok(reported_by_statx(&stat).map(|(_, offset)| offset))
}

fn examine(file: impl AsFd) -> io::Result<Statx> {
    Ok(statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)?)
}

/// Alignments of memory and of offsets, where statx reports them.
fn reported_by_statx(stat: &Statx) -> Option<(u32, u32)> {
    (stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0)
        .then_some((stat.stx_dio_mem_align, stat.stx_dio_offset_align))
}

/// A file in `dir` opened with O_DIRECT that leaves no name.
fn probe_file(dir: &Path) -> io::Result<File> {
    let direct = OFlags::DIRECT.bits() as i32;
    let unnamed = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(direct | OFlags::TMPFILE.bits() as i32)
        .open(dir);
    match unnamed {
        Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
        other => return other,
    }
    let path: PathBuf = dir.join(format!("iozone.DUMMY.probe.{}", std::process::id()));
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .custom_flags(direct)
        .open(&path);
    let removed = std::fs::remove_file(&path);
    let file = file?;
    removed?;
    Ok(file)
}

/// From sysfs, for a whole disk or a partition.
fn logical_block_size(dev_major: u32, dev_minor: u32) -> Option<u32> {
    let device = PathBuf::from(format!("/sys/dev/block/{dev_major}:{dev_minor}"));
    ["queue", "../queue"].iter().find_map(|queue| {
        let text = std::fs::read_to_string(device.join(queue).join("logical_block_size")).ok()?;
        text.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_accepts_what_the_alignment_says_and_the_probe_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let found = alignment(dir.path()).unwrap();
        assert!(
            found.offset.is_power_of_two() && found.offset <= 65_536,
            "{found:?}"
        );
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_filesystem_without_direct_io_is_named() {
        let error = alignment(Path::new("/proc")).unwrap_err().to_string();
        assert!(error.contains("/proc"), "{error}");
    }
}
