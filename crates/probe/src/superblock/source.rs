//! Reading a device without a trace in the page cache.
//!
//! A superblock is looked at before, between and after measurements, on devices that are in use. A
//! read through the page cache would leave warm what is to be cold, and the readahead around it;
//! dropping the device's cache afterwards, as was done once, makes cold what the filesystem keeps
//! warm (ext4 has its metadata there) and drops what another process is just reading. Worse, XFS
//! does not write through that cache, so what is read from it may be old. So reads are direct: the
//! kernel writes back what is dirty in just the range asked, and nothing else changes.
//!
//! Where direct reads are refused (an image on a filesystem that has none), single pages are read
//! without readahead, and just these are dropped again.

use std::fs::{File, OpenOptions};
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{Advice, OFlags, fadvise};
use rustix::io::Errno;

/// Alignment and unit of reads: a page, and no less than a logical block of any disk.
const UNIT: u64 = 4096;
/// The most that is read at once; what is longer is read in several parts.
const MOST: u64 = 1 << 20;

/// A device or image that is read without a trace.
#[derive(Debug)]
pub struct Source {
    file: File,
    direct: bool,
}

impl Source {
    /// Opens it for reading.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Source> {
        let mut options = OpenOptions::new();
        options.read(true);
        let direct = options
            .clone()
            .custom_flags(OFlags::DIRECT.bits() as i32)
            .open(path);
        match direct {
            Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                Source::through_the_cache(options.open(path)?)
            }
            other => other.map(|file| Source { file, direct: true }),
        }
    }

    /// For a file that refuses direct reads.
    fn through_the_cache(file: File) -> io::Result<Source> {
        // A character device has no pages, and takes no advice either.
        match fadvise(&file, 0, None, Advice::Random) {
            Ok(()) | Err(Errno::INVAL | Errno::SPIPE) => Ok(Source {
                file,
                direct: false,
            }),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads whole units from `start`, which is at one. How many bytes there were.
    fn units(&self, buffer: &mut [u8], start: u64) -> io::Result<usize> {
        let length = self.file.read_at(buffer, start)?;
        if !self.direct {
            let range = NonZeroU64::new(buffer.len() as u64);
            // Only advice: a filesystem that does not take it has cached a page more.
            let _ = fadvise(&self.file, start, range, Advice::DontNeed);
        }
        Ok(length)
    }
}

impl FileExt for Source {
    fn read_at(&self, wanted: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = offset / UNIT * UNIT;
        let skip = (offset - start) as usize;
        let end = offset.saturating_add(wanted.len() as u64);
        let length = end.saturating_sub(start).next_multiple_of(UNIT).min(MOST) as usize;
        let mut room = vec![0_u8; length + UNIT as usize];
        let aligned = room.as_ptr().align_offset(UNIT as usize);
        let Some(units) = room.get_mut(aligned..aligned + length) else {
            return Err(io::Error::other("no aligned memory"));
        };
        let read = self.units(units, start)?;
        let there = units.get(skip..read).unwrap_or_default();
        let count = there.len().min(wanted.len());
        wanted[..count].copy_from_slice(&there[..count]);
        Ok(count)
    }

    /// Never.
    fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of a file in memory, by mincore(2) as the tool of that name counts them.
    fn resident(path: &Path) -> u64 {
        let output = std::process::Command::new("fincore")
            .args(["--bytes", "--noheadings", "--raw", "--output", "PAGES"])
            .arg(path)
            .output()
            .expect("fincore of util-linux");
        let text = String::from_utf8(output.stdout).unwrap();
        text.trim().parse().unwrap_or_else(|_| panic!("{text:?}"))
    }

    fn image() -> tempfile::NamedTempFile {
        let image = tempfile::Builder::new().tempfile_in("/var/tmp").unwrap();
        let bytes: Vec<u8> = (0..3 << 20).map(|at: u32| (at / 7) as u8).collect();
        std::fs::write(image.path(), bytes).unwrap();
        image.as_file().sync_all().unwrap();
        image
    }

    fn source(path: &Path, direct: bool) -> Source {
        if direct {
            Source::open(path).unwrap()
        } else {
            Source::through_the_cache(File::open(path).unwrap()).unwrap()
        }
    }

    #[test]
    fn any_range_is_read_as_it_is_and_the_end_is_the_end() {
        let image = image();
        let whole = std::fs::read(image.path()).unwrap();
        for direct in [true, false] {
            let source = source(image.path(), direct);
            for (offset, length) in [
                (0, 1),
                (1024, 1024),
                (4095, 2),
                (65_536, 5000),
                (1000, 2 << 20),
            ] {
                let mut bytes = vec![0; length];
                source.read_exact_at(&mut bytes, offset as u64).unwrap();
                assert_eq!(bytes, whole[offset..offset + length], "{offset} {length}");
            }
            let mut bytes = [0; 100];
            assert_eq!(source.read_at(&mut bytes, (3 << 20) - 7).unwrap(), 7);
            assert_eq!(source.read_at(&mut bytes, 3 << 20).unwrap(), 0);
            assert_eq!(source.read_at(&mut bytes, 1 << 40).unwrap(), 0);
            assert!(source.write_at(&bytes, 0).is_err());
        }
    }

    #[test]
    fn nothing_becomes_warm_and_nothing_cold() {
        let image = image();
        let all = (3_u64 << 20) / 4096;
        for direct in [true, false] {
            let file = File::open(image.path()).unwrap();
            fadvise(&file, 0, None, Advice::DontNeed).unwrap();
            assert_eq!(resident(image.path()), 0);
            let source = source(image.path(), direct);
            source.read_exact_at(&mut [0; 1024], 1 << 20).unwrap();
            assert_eq!(resident(image.path()), 0, "direct: {direct}");
            // Without direct reads the page itself is dropped, and no other.
            let expected = if direct { all } else { all - 1 };
            let stays = || {
                std::fs::read(image.path()).unwrap();
                source.read_exact_at(&mut [0; 1024], 1 << 20).unwrap();
                resident(image.path()) == expected
            };
            // Another test may drop the whole machine's page cache.
            assert!((0..10).any(|_| stays()), "direct: {direct}");
        }
    }
}
