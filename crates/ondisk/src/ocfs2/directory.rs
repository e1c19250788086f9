//! Directory blocks: entries that fill the block, and a trailer.
//!
//! The entries of a directory with inline data are its contents. Blocks have a trailer in their last 64 bytes if the directory has an index or
//! the volume checksums of metadata; it looks like an unused entry.

use zerocopy::IntoBytes as _;
use zerocopy::little_endian::{U16, U64};

use super::check::BlockCheck;
use crate::Error;
use crate::ext4::mode::FileType;

/// `db_signature`.
pub const SIGNATURE: [u8; 8] = *b"DIRTRL1\0";
/// The longest name, bytes.
pub const MAX_NAME: usize = 255;

structure! {
    /// The head of an entry (`struct ocfs2_dir_entry`); the name follows.
    "OCFS2 directory entry" Entry 12 {
        /// The inode's block; 0: unused.
        inode: U64,
        /// Bytes to the next entry.
        rec_len: U16,
        /// Bytes of the name.
        name_len: u8,
        /// Type of the inode: see [`type_of_mode`].
        file_type: u8,
    }
}

/// Bytes that an entry with a name of this length takes at least.
pub const fn record_length(name: usize) -> usize {
    (Entry::SIZE + name + 3) & !3
}

/// `file_type` of an inode with that `i_mode`; 0 where its type is not known.
pub fn type_of_mode(mode: u16) -> u8 {
    FileType::of_mode(mode).map_or(0, FileType::entry)
}

impl Entry {
    /// Writes an entry with its name at `offset` of `block`; it extends over `rec_len` bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] where the name does not fit the entry, or the entry the block.
    pub fn put(
        block: &mut [u8],
        offset: usize,
        inode: u64,
        rec_len: usize,
        file_type: u8,
        name: &[u8],
    ) -> Result<(), Error> {
        let (what, end) = ("OCFS2 directory entry", offset.saturating_add(rec_len));
        let need = record_length(name.len());
        let room = rec_len.min(block.len().saturating_sub(offset));
        let too_long = Error::Full { what, need, room };
        if name.len() > MAX_NAME || need > room || end > block.len() {
            return Err(too_long);
        }
        let head = Entry {
            inode: inode.into(),
            rec_len: u16::try_from(rec_len).map_err(|_| too_long)?.into(),
            name_len: name.len() as u8,
            file_type,
        };
        let start = offset + Entry::SIZE;
        block[offset..start].copy_from_slice(head.as_bytes());
        block[start..start + name.len()].copy_from_slice(name);
        Ok(())
    }
}

/// The entry at `offset`, with as much of its name as the block has; none where its head leaves the block.
pub fn entry_at(block: &[u8], offset: usize) -> Option<(&Entry, &[u8])> {
    let rest = block.get(offset..)?;
    let entry = Entry::read(rest).ok()?;
    let name = &rest[Entry::SIZE..];
    Some((entry, &name[..name.len().min(entry.name_len.into())]))
}

/// The entries of sound bytes: offset, head and name. It ends at the first entry whose length makes no sense.
pub fn entries(block: &[u8]) -> impl Iterator<Item = (usize, &Entry, &[u8])> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let (entry, name) = entry_at(block, offset)?;
        let length = usize::from(entry.rec_len.get());
        if length < Entry::SIZE + name.len() || length > block.len() - offset {
            return None;
        }
        let at = offset;
        offset += length;
        Some((at, entry, name))
    })
}

structure! {
    /// The trailer of a directory block (`struct ocfs2_dir_block_trailer`).
    "OCFS2 directory trailer" Trailer 64 {
        /// Zero: an unused entry.
        db_compat_inode: U64,
        /// 64.
        db_compat_rec_len: U16,
        /// Zero.
        db_compat_name_len: u8,
        /// Zero.
        db_reserved0: u8,
        /// Zero.
        db_reserved1: U16,
        /// Bytes of the largest hole in the block, where it is on the list of blocks with room.
        db_free_rec_len: U16,
        /// [`SIGNATURE`].
        db_signature: [u8; 8],
        /// Zero.
        db_reserved2: U64,
        /// The next block with room; 0: the last.
        db_free_next: U64,
        /// Block of this directory block.
        db_blkno: U64,
        /// Inode of the directory.
        db_parent_dinode: U64,
        /// Checksum of the block.
        db_check: BlockCheck,
    }
}

impl Trailer {
    /// A trailer of a block without room.
    pub fn new(block: u64, directory: u64) -> Self {
        Self {
            db_compat_inode: 0.into(),
            db_compat_rec_len: 64.into(),
            db_compat_name_len: 0,
            db_reserved0: 0,
            db_reserved1: 0.into(),
            db_free_rec_len: 0.into(),
            db_signature: SIGNATURE,
            db_reserved2: 0.into(),
            db_free_next: 0.into(),
            db_blkno: block.into(),
            db_parent_dinode: directory.into(),
            db_check: BlockCheck::default(),
        }
    }

    /// Offset of the trailer in a block.
    pub fn offset(block_size: usize) -> usize {
        block_size.saturating_sub(Self::SIZE)
    }

    /// Offset of its checksum in a block.
    pub fn check_offset(block_size: usize) -> usize {
        Self::offset(block_size) + 0x38
    }

    /// The trailer in the last bytes of a block.
    ///
    /// # Errors
    ///
    /// [`Error::Short`] for a block without room.
    pub fn of_block(block: &[u8]) -> Result<&Self, Error> {
        Self::read(&block[Self::offset(block.len())..])
    }

    /// The same for writing.
    ///
    /// # Errors
    ///
    /// As [`Self::of_block`].
    pub fn of_block_mut(block: &mut [u8]) -> Result<&mut Self, Error> {
        let at = Self::offset(block.len());
        Self::read_mut(&mut block[at..])
    }
}
