//! What a file or a device is, by its bytes.
//!
//! Two callers ask. The safety gate of a disk wants every trace of data, because any of them is a
//! reason to stop: [`all`]. A checker that was given the wrong thing wants one answer that helps the
//! user: [`identify`].
//!
//! Own probes rather than blkid(8): a program or library may be missing or old, blkid stops at the
//! first of two answers and hides ambivalent ones.

mod identify;
mod magic;
mod mark;
mod partition;
mod proof;

use std::io;
use std::ops::Range;

pub use identify::{Content, identify};
pub use mark::all;
pub use partition::{LARGEST_TABLE, Partition, Table, TableKind, partition_table};

/// Bytes that can be read at an offset: a file, a device, a slice.
pub trait ReadAt {
    /// Bytes in all.
    fn size(&self) -> u64;

    /// Fills `buffer` from byte `offset` on. Callers stay below [`ReadAt::size`].
    ///
    /// # Errors
    /// The medium cannot be read there.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// The first range at or after `offset` that may hold data. Holes read as zeros; who does not
    /// know of any has data everywhere.
    fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        (offset < self.size()).then(|| offset..self.size())
    }
}

impl ReadAt for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = start
            .checked_add(buffer.len())
            .and_then(|end| self.get(start..end))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }
}

/// A format, as far as callers tell formats apart by more than their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// ext2, ext3 or ext4.
    Ext,
    /// XFS.
    Xfs,
    /// OCFS2.
    Ocfs2,
    /// Swap space, or a hibernation image in it.
    Swap,
    /// A partition table of a kind that [`partition_table`] reads.
    PartitionTable,
    /// A metadata image made by e2image, in its own format.
    E2image,
    /// A metadata image made by o2image.
    O2image,
    /// A metadata image made by `xfs_metadump`.
    XfsMetadump,
    /// Any other format, named by [`Signature::kind`] alone.
    Other,
}

/// A magic number that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The format.
    pub format: Format,
    /// The same in words, with an article: `an XFS filesystem`.
    pub kind: &'static str,
    /// The name that blkid(8) has for it; empty where it has none. `ext4` stands for ext2 and ext3, too.
    pub blkid: &'static str,
    /// What its owner does next. `{}` stands for the file or the device.
    pub next: &'static str,
    /// Byte offset of the magic number.
    pub offset: u64,
    /// Its length in bytes.
    pub length: usize,
}

/// A source, read with ranges checked against its size.
struct Reader<'a, R: ?Sized> {
    source: &'a R,
}

impl<R: ReadAt + ?Sized> Reader<'_, R> {
    /// The bytes of a range; `None` when it is not wholly inside the source.
    fn bytes(&self, offset: u64, length: usize) -> io::Result<Option<Vec<u8>>> {
        match offset.checked_add(length as u64) {
            Some(end) if end <= self.source.size() => {
                let mut buffer = vec![0; length];
                self.source.read_at(offset, &mut buffer)?;
                Ok(Some(buffer))
            }
            _ => Ok(None),
        }
    }

    /// The bytes of a range; those past the end of the source are zeros.
    fn padded(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let there = self.source.size().saturating_sub(offset).min(length as u64);
        let mut bytes = self.bytes(offset, there as usize)?.unwrap_or_default();
        bytes.resize(length, 0);
        Ok(bytes)
    }

    /// Whether these bytes are at this offset.
    fn has(&self, offset: u64, magic: &[u8]) -> io::Result<bool> {
        Ok(self.bytes(offset, magic.len())?.as_deref() == Some(magic))
    }
}

/// So that probes take any source as a trait object.
impl<R: ReadAt + ?Sized> ReadAt for Reader<'_, R> {
    fn size(&self) -> u64 {
        self.source.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.source.read_at(offset, buffer)
    }
}

fn le16(bytes: &[u8], at: usize) -> u16 {
    le32(&[bytes[at], bytes[at + 1], 0, 0], 0) as u16
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    if let Some(found) = bytes.get(at..at + 4) {
        word.copy_from_slice(found);
    }
    u32::from_le_bytes(word)
}

fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from(le32(bytes, at)) | u64::from(le32(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests;
