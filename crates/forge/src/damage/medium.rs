//! The medium to damage: an image, a device, or bytes in memory.
//!
//! Tests and differential runs damage thousands of copies of one small image; those live in memory. The command
//! damages a file. Both are the same two calls.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes that can be read and written anywhere.
pub trait Medium {
    /// Bytes there are.
    fn size(&self) -> u64;

    /// Fills `bytes` from offset `at`.
    ///
    /// # Errors
    /// The medium cannot be read there, or ends before.
    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// Writes `bytes` at offset `at`.
    ///
    /// # Errors
    /// The medium cannot be written there, or ends before.
    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;
}

/// An image file or a block device, opened for reading and writing.
#[derive(Debug)]
pub struct ImageFile {
    file: File,
    size: u64,
}

impl ImageFile {
    /// Takes an opened file; its size is read once.
    ///
    /// # Errors
    /// The size cannot be found out.
    pub fn new(mut file: File) -> io::Result<ImageFile> {
        use std::io::{Seek, SeekFrom};
        // A block device has no length in its metadata, but it has an end.
        let size = file.seek(SeekFrom::End(0))?;
        Ok(ImageFile { file, size })
    }
}

impl Medium for ImageFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, at)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        // A file would grow, which is not the requested damage.
        if at.saturating_add(bytes.len() as u64) > self.size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.file.write_all_at(bytes, at)
    }
}

impl Medium for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(at).ok().and_then(|at| self.get(at..));
        match from.and_then(|rest| rest.get(..bytes.len())) {
            Some(found) => {
                bytes.copy_from_slice(found);
                Ok(())
            }
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let from = usize::try_from(at).ok().and_then(|at| self.get_mut(at..));
        match from.and_then(|rest| rest.get_mut(..bytes.len())) {
            Some(place) => {
                place.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_grows_and_nothing_is_read_beyond_the_end() {
        let mut ram = vec![0_u8; 10];
        let mut file = ImageFile::new(tempfile::tempfile().unwrap()).unwrap();
        file.file.set_len(10).unwrap();
        file.size = 10;
        for medium in [&mut ram as &mut dyn Medium, &mut file] {
            medium.write(7, b"abc").unwrap();
            assert!(medium.write(8, b"abc").is_err());
            assert!(medium.write(u64::MAX, b"abc").is_err());
            let mut four = [9; 4];
            medium.read(6, &mut four).unwrap();
            assert_eq!(&four, b"\0abc");
            assert!(medium.read(7, &mut four).is_err());
            assert_eq!(medium.size(), 10);
        }
    }
}
