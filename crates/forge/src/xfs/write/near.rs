//! The inodes and blocks of directories on their way to the image.
//!
//! Units of inodes and blocks of the directory take turns, and files' data comes after them, so what a directory and its files have of inodes
//! and directory blocks is one run of blocks. It is put together in memory and written at once; where no data is between two directories, several
//! of them are. A directory with a longer run than [`MOST`] is written piece by piece.

use crate::Error;
use crate::xfs::volume::Empty;

/// Bytes that are kept at most.
const MOST: usize = 8 << 20;

/// A run of blocks of one allocation group.
#[derive(Debug, Default)]
pub(super) struct Near {
    ag: u32,
    /// The first block.
    start: u32,
    bytes: Vec<u8>,
}

impl Near {
    /// Makes room for the blocks from `from` to `to`, which belong to one directory and its inodes.
    pub(super) fn open(&mut self, empty: &Empty, ag: u32, from: u32, to: u32) -> Result<(), Error> {
        let log = empty.geometry.block_log;
        let more = (to.saturating_sub(from) as usize) << log;
        if more == 0 {
            return Ok(());
        }
        let end = self.start + (self.bytes.len() >> log) as u32;
        let goes_on = self.ag == ag && end == from && self.bytes.len() + more <= MOST;
        if !goes_on {
            self.flush(empty)?;
            (self.ag, self.start) = (ag, from);
        }
        if more <= MOST {
            self.bytes.resize(self.bytes.len() + more, 0);
        }
        Ok(())
    }

    /// Takes bytes from a block of the group on; those that have no room go to the image at once.
    pub(super) fn put(
        &mut self,
        empty: &Empty,
        ag: u32,
        at: u32,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let log = empty.geometry.block_log;
        let from = at
            .checked_sub(self.start)
            .map(|blocks| (blocks as usize) << log);
        let place = from.and_then(|from| self.bytes.get_mut(from..from + bytes.len()));
        match place.filter(|_| self.ag == ag) {
            Some(place) => place.copy_from_slice(bytes),
            None => empty.put(ag, at, bytes)?,
        }
        Ok(())
    }

    /// Writes what is kept.
    pub(super) fn flush(&mut self, empty: &Empty) -> Result<(), Error> {
        if !self.bytes.is_empty() {
            empty.put(self.ag, self.start, &self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }
}
