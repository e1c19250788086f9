//! An image or a device, opened for reading and nothing else.

use std::fs::{File, OpenOptions};
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{
    Advice, AtFlags, FileType, OFlags, SeekFrom, StatxFlags, fadvise, fstatfs, ioctl_blkpbszget,
    ioctl_blksszget, seek, statx,
};
use rustix::io::Errno;
use rustix::param::page_size;

use crate::error::{Fault, OpenError, ReadError};
use crate::source::Geometry;

/// What the file sources share: the descriptor, its size, its block sizes, its holes.
pub(crate) struct Handle {
    file: File,
    name: Arc<str>,
    len: u64,
    geometry: Geometry,
    /// Whether `SEEK_DATA` is answered. Cleared when it is not: a block device has no holes.
    sparse: AtomicBool,
}

impl Handle {
    /// Opens it: `direct` with O_DIRECT.
    ///
    /// O_NONBLOCK keeps a pipe from hanging before it is refused, and is then taken off. O_NOATIME, where we may, keeps
    /// even the time of the last access; that it is never written goes without saying.
    pub(crate) fn open(path: &Path, direct: bool) -> Result<Handle, OpenError> {
        let file = open_read_only(path, direct)?;
        let failed = |source: Errno| OpenError::Open {
            path: path.to_owned(),
            source: source.into(),
        };
        let stat = rustix::fs::fstat(&file).map_err(failed)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        let device = kind == FileType::BlockDevice;
        if !device && kind != FileType::RegularFile {
            return Err(OpenError::NotASource {
                path: path.to_owned(),
                kind: kind_name(kind),
            });
        }
        let flags = rustix::fs::fcntl_getfl(&file).map_err(failed)?;
        // With it io_uring answers EAGAIN, and does not try again, where a driver cannot say whether it would block: md's
        // RAID-5, some targets of device-mapper, all of them in old kernels. Reads were then done one at a time.
        rustix::fs::fcntl_setfl(&file, flags & !OFlags::NONBLOCK).map_err(failed)?;
        // A device has no size of its own in stat(2), but an end that can be sought.
        let len = if device {
            seek(&file, SeekFrom::End(0)).map_err(failed)?
        } else {
            u64::try_from(stat.st_size).unwrap_or(0)
        };
        let mut geometry = blocks(&file, device, stat.st_blksize as u64);
        if direct {
            let (memory, offset) = alignment(&file, path, device, geometry)?;
            geometry.memory_align = memory;
            geometry.offset_align = offset;
        }
        Ok(Handle {
            file,
            name: path.display().to_string().into(),
            len,
            geometry,
            sparse: AtomicBool::new(!device),
        })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// An error of a read that wanted all up to `end`.
    pub(crate) fn failed(&self, offset: u64, end: u64, fault: Fault) -> ReadError {
        ReadError {
            name: Arc::clone(&self.name),
            offset,
            len: end.saturating_sub(offset),
            fault,
        }
    }

    /// Fills as much of `buf` as the file has from `offset` on. For direct I/O all three (address,
    /// length, offset) are aligned; the kernel ends the last read at the end of the file.
    pub(crate) fn read(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        let here = self.len.saturating_sub(offset).min(buf.len() as u64) as usize;
        let end = offset + here as u64;
        let grain = self.geometry.offset_align.max(self.geometry.memory_align) as usize;
        let mut done = 0;
        while done < here {
            let at = offset + done as u64;
            match self.file.read_at(&mut buf[done..], at) {
                Ok(0) => return Err(self.failed(at, end, Fault::Truncated)),
                Ok(n) if done + n >= here => break,
                Ok(n) => {
                    // Short: go on where the next read is aligned again. No aligned step forward
                    // means that the end has come nearer.
                    let next = (done + n) / grain * grain;
                    if next <= done {
                        return Err(self.failed(at, end, Fault::Truncated));
                    }
                    done = next;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    let errno = e.raw_os_error().unwrap_or(libc::EIO);
                    return Err(self.failed(at, end, Fault::Os(errno)));
                }
            }
        }
        Ok(())
    }

    /// Drops what the page cache has of a range that failed. It may hold good and bad sectors in one
    /// large folio, which fails as a whole as long as it lives (seen on a device, Linux 6.18: 4 KiB
    /// before the first bad sector were lost with it); smaller reads get smaller folios.
    pub(crate) fn forget(&self, offset: u64, len: u64) {
        let page = page_size() as u64;
        let first = offset / page * page;
        let end = offset.saturating_add(len).checked_next_multiple_of(page);
        let len = end.and_then(|end| NonZeroU64::new(end - first));
        let _ = fadvise(&self.file, first, len, Advice::DontNeed);
    }

    /// The first range of data at or after `offset`, as the filesystem reports it.
    ///
    /// A source that does not know (a device, a filesystem without `SEEK_DATA`) has data everywhere, and
    /// so has one that fails: the reads will report why.
    pub(crate) fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        if offset >= self.len {
            return None;
        }
        if !self.sparse.load(Ordering::Relaxed) {
            return Some(offset..self.len);
        }
        let start = match seek(&self.file, SeekFrom::Data(offset)) {
            Ok(start) => start.max(offset),
            // Nothing but a hole follows.
            Err(Errno::NXIO) => return None,
            Err(_) => {
                self.sparse.store(false, Ordering::Relaxed);
                return Some(offset..self.len);
            }
        };
        if start >= self.len {
            return None;
        }
        let end = seek(&self.file, SeekFrom::Hole(start)).map_or(self.len, |end| end.min(self.len));
        // The file may have changed between the two answers.
        Some(start..end.max(start + 1))
    }
}

fn open_read_only(path: &Path, direct: bool) -> Result<File, OpenError> {
    let open = |flags: OFlags| {
        OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits() as i32)
            .open(path)
    };
    let mut flags = OFlags::NONBLOCK | OFlags::CLOEXEC;
    flags.set(OFlags::DIRECT, direct);
    open(flags | OFlags::NOATIME)
        // Only its owner and root may leave the time of access alone.
        .or_else(|e| match e.raw_os_error() {
            Some(libc::EPERM) => open(flags),
            _ => Err(e),
        })
        .map_err(|source| match source.raw_os_error() {
            Some(libc::EINVAL) if direct => OpenError::NoDirect {
                path: path.to_owned(),
                reason: "the filesystem refuses O_DIRECT at open".to_owned(),
            },
            _ => OpenError::Open {
                path: path.to_owned(),
                source,
            },
        })
}

fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "directory",
        FileType::CharacterDevice => "character device",
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        _ => "special file",
    }
}

/// Block sizes; anything that is not a power of two (no kernel says so) becomes 512.
fn blocks(file: &File, device: bool, blksize: u64) -> Geometry {
    let sane = |size: u64| match size {
        1..=0x0100_0000 if size.is_power_of_two() => size as u32,
        _ => 512,
    };
    let (logical, physical) = if device {
        let logical = sane(ioctl_blksszget(file).map_or(0, u64::from));
        let physical = sane(ioctl_blkpbszget(file).map_or(0, u64::from));
        (logical, physical.max(logical))
    } else {
        (sane(blksize), sane(blksize))
    };
    Geometry {
        logical_block: logical,
        physical_block: physical,
        ..Geometry::BYTES
    }
}

/// What direct I/O demands of addresses and of offsets: statx(2) `STATX_DIOALIGN` (Linux 6.1), else
/// the device's logical block, else the filesystem's block, which is never too small.
fn alignment(
    file: &File,
    path: &Path,
    device: bool,
    geometry: Geometry,
) -> Result<(u32, u32), OpenError> {
    let refused = |reason: &str| OpenError::NoDirect {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    let reported = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
        .ok()
        .filter(|stat| stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0);
    let (memory, offset) = match reported {
        Some(stat) if stat.stx_dio_offset_align == 0 => {
            return Err(refused("the filesystem says that it has no direct I/O"));
        }
        Some(stat) => (stat.stx_dio_mem_align, stat.stx_dio_offset_align),
        None if device => (geometry.logical_block, geometry.logical_block),
        None => {
            let size = fstatfs(file).map_or(4096, |stat| stat.f_bsize as u32);
            (size, size)
        }
    };
    let (memory, offset) = (memory.max(1), offset.max(1));
    if !memory.is_power_of_two() || !offset.is_power_of_two() || memory.max(offset) > 1 << 21 {
        return Err(refused(&format!(
            "it demands an alignment of {memory} bytes in memory and {offset} in the file"
        )));
    }
    Ok((memory, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_uring_may_wait_for_a_driver() {
        let dir = tempfile::tempdir().unwrap();
        let image = dir.path().join("image");
        std::fs::write(&image, [0; 4096]).unwrap();
        let handle = Handle::open(&image, false).unwrap();
        let flags = rustix::fs::fcntl_getfl(handle.file()).unwrap();
        assert!(!flags.contains(OFlags::NONBLOCK), "{flags:?}");
    }

    #[test]
    fn what_is_not_an_image_or_a_device_is_refused_by_its_kind() {
        let dir = tempfile::tempdir().unwrap();
        let refusal = |path: &Path| Handle::open(path, false).err().unwrap().to_string();
        assert!(
            refusal(dir.path())
                .ends_with("is a directory; name an image (a regular file) or a block device")
        );
        assert!(refusal(Path::new("/dev/null")).contains("is a character device"));
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        // Without O_NONBLOCK this would wait for a writer for ever.
        assert!(refusal(&pipe).contains("is a pipe"));
        assert!(refusal(&dir.path().join("none")).ends_with("; check the path"));
    }

    #[test]
    fn it_is_opened_for_reading_only() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let handle = Handle::open(file.path(), false).unwrap();
        let refused = handle.file().write_at(b"x", 0).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EBADF));
    }

    #[test]
    fn a_file_that_shrinks_is_an_error_and_not_zeros() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(10_000).unwrap();
        let handle = Handle::open(file.path(), false).unwrap();
        file.as_file().set_len(5000).unwrap();
        let error = handle.read(&mut [0; 4096], 4000).unwrap_err();
        assert_eq!((error.offset, error.len), (5000, 3096));
        assert_eq!(error.fault, Fault::Truncated);
    }
}
