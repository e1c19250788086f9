//! Inodes on their way into the table of a group.

use crate::Error;
use crate::image_file::ImageFile;

/// Bytes of inodes that are gathered before they are written.
const GATHER: usize = 1 << 20;

/// Inodes of one group, not written yet.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// The offset in the image of the group's table.
    pub(super) offset: u64,
    /// The index of the first inode gathered.
    pub(super) first: u32,
    bytes: Vec<u8>,
}

impl Table {
    /// The zeroed slot of an inode.
    pub(super) fn slot(
        &mut self,
        index: u32,
        size: usize,
        image: &ImageFile,
    ) -> Result<&mut [u8], Error> {
        let bytes = self.room(index, size, image)?;
        let from = bytes.len();
        bytes.resize(from + size, 0);
        Ok(&mut bytes[from..])
    }

    /// The table up to an inode, which is to be appended; what did not fit has been written.
    pub(super) fn room(
        &mut self,
        index: u32,
        size: usize,
        image: &ImageFile,
    ) -> Result<&mut Vec<u8>, Error> {
        let after = (index - self.first) as usize * size;
        if after + size > GATHER {
            self.flush(size, image)?;
            self.first = index;
        }
        let from = (index - self.first) as usize * size;
        if self.bytes.len() < from {
            self.bytes.resize(from, 0);
        }
        Ok(&mut self.bytes)
    }

    pub(super) fn flush(&mut self, size: usize, image: &ImageFile) -> Result<(), Error> {
        if !self.bytes.is_empty() {
            let offset = self.offset + u64::from(self.first) * size as u64;
            image.write(offset, &self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }
}
