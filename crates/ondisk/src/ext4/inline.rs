//! Content within the inode: the first 60 bytes in `i_block`, the rest as the value of the
//! attribute `system.data`, which exists even when it is empty.
//!
//! A directory's inline entries are in two areas, each filled to its end by its own chain. The first four
//! bytes are the parent's inode; there are no entries `.` and `..`. Source:
//! Documentation/filesystems/ext4/inlinedata.rst.

use super::directory::{Entries, entries};
use super::xattr::List;
use super::{Error, Inode, u32_at};

/// The namespace of the attribute (`system.`).
pub const XATTR_INDEX: u8 = 7;
/// The attribute's name.
pub const XATTR_NAME: &[u8] = b"data";
/// Bytes in `i_block`.
pub const IN_BLOCK: usize = 60;

/// The content of an inode with the flag `INLINE_DATA`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InlineData<'a> {
    /// The 60 bytes of `i_block`.
    pub head: &'a [u8; IN_BLOCK],
    /// The attribute's value.
    pub tail: &'a [u8],
}

impl<'a> InlineData<'a> {
    /// The content, `None` when the inode lacks the attribute.
    ///
    /// # Errors
    ///
    /// [`Error::Record`] when the attribute's value is outside of the inode.
    pub fn read(inode: &Inode<'a>) -> Result<Option<Self>, Error> {
        let head = &inode.raw().i_block;
        let Some(list) = List::of_inode(inode.body()) else {
            return Ok(None);
        };
        let Some(entry) = list.find(XATTR_INDEX, XATTR_NAME) else {
            return Ok(None);
        };
        Ok(Some(Self {
            head,
            tail: list.value(&entry)?,
        }))
    }

    /// The most bytes it can hold as it is.
    pub fn room(&self) -> usize {
        IN_BLOCK + self.tail.len()
    }

    /// The first `size` bytes of the content, in two pieces; what there is, if that is fewer.
    pub fn pieces(&self, size: u64) -> (&'a [u8], &'a [u8]) {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let first = size.min(IN_BLOCK);
        let second = (size - first).min(self.tail.len());
        (&self.head[..first], &self.tail[..second])
    }

    /// A directory's parent.
    pub fn parent(&self) -> u32 {
        u32_at(self.head, 0).unwrap_or(0)
    }

    /// A directory's entries, area by area.
    pub fn areas(&self, block_size: u32) -> [Entries<'a>; 2] {
        [
            entries(&self.head[4..], block_size),
            entries(self.tail, block_size),
        ]
    }
}
