//! Blocks of an object on their way to the image.

use ondisk::ext4::extent::Extent;

use crate::Error;
use crate::ext4::plan::Blocks;
use crate::image_file::ImageFile;

/// Bytes that are gathered before they are written.
const GATHER: usize = 1 << 20;

/// Writes an object's blocks where its runs say, neighbours together.
#[derive(Debug)]
pub(super) struct Sink<'a> {
    image: &'a ImageFile,
    block_size: u64,
    runs: &'a [Extent],
    buffer: &'a mut Vec<u8>,
    /// Where the gathered bytes belong.
    offset: u64,
    /// Blocks that were given.
    pub(super) blocks: u64,
}

impl<'a> Sink<'a> {
    /// `buffer` is used again and again.
    pub(super) fn new(
        image: &'a ImageFile,
        block_size: u32,
        runs: &'a [Extent],
        buffer: &'a mut Vec<u8>,
    ) -> Self {
        buffer.clear();
        Self {
            image,
            block_size: block_size.into(),
            runs,
            buffer,
            offset: 0,
            blocks: 0,
        }
    }

    /// Writes the rest and returns the number of blocks.
    pub(super) fn finish(mut self) -> Result<u64, Error> {
        self.flush()?;
        Ok(self.blocks)
    }

    fn flush(&mut self) -> Result<(), Error> {
        if !self.buffer.is_empty() {
            self.image.write(self.offset, self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    fn put(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let follows = self.offset + self.buffer.len() as u64 == offset;
        if !follows || self.buffer.len() + bytes.len() > GATHER {
            self.flush()?;
        }
        if bytes.len() >= GATHER {
            return self.image.write(offset, bytes);
        }
        if self.buffer.is_empty() {
            self.offset = offset;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }
}

impl Blocks for Sink<'_> {
    fn write(&mut self, first: u32, bytes: &[u8]) -> Result<(), Error> {
        let mut logical = first;
        let mut rest = bytes;
        if !(bytes.len() as u64).is_multiple_of(self.block_size) {
            return Err(Error::Population(format!(
                "{} bytes from block {first} on are not whole blocks",
                bytes.len()
            )));
        }
        while !rest.is_empty() {
            let nth = self
                .runs
                .partition_point(|run| run.end() <= u64::from(logical));
            let Some(run) = self.runs.get(nth).filter(|run| run.block <= logical) else {
                return Err(Error::Population(format!(
                    "block {logical} is written, but there is none"
                )));
            };
            let within = logical - run.block;
            let here =
                (u64::from(run.len) - u64::from(within)).min(rest.len() as u64 / self.block_size);
            let (now, later) = rest.split_at((here * self.block_size) as usize);
            self.put((run.start + u64::from(within)) * self.block_size, now)?;
            self.blocks += here;
            logical += here as u32;
            rest = later;
        }
        Ok(())
    }
}
