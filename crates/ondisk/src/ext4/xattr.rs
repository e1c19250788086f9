//! Extended attributes: in the inode after its fields, in a block that inodes may share, and their
//! values in inodes of their own.
//!
//! Entries grow from the front, values from the back; an entry points to its value by an
//! offset that counts from the start of the block, or, in an inode, from the first entry. A list ends at four
//! zero bytes. Reading is in two steps, because damage has two kinds: [`List::entries`] follows the list and breaks
//! off where that is broken; [`List::value`] fails for a single entry whose value is outside.
//! Source: Documentation/filesystems/ext4/attributes.rst.

mod sums;
mod write;

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Error, u16_at, u32_at, view};
pub use sums::{Sign, block_hash, checksum, entry_hash, entry_hash_of_inode, value_hash};
pub use write::{NewEntry, NewValue, write_block, write_inode};

/// `h_magic` of a block and of the part in an inode.
pub const MAGIC: u32 = 0xea02_0000;
/// Bytes of a block's header.
pub const HEADER: usize = 32;
const ENTRY: usize = 16;
const END: usize = 4;

/// The namespaces with a number, and the prefix each stands for.
pub const PREFIXES: [(u8, &str); 10] = [
    (1, "user."),
    (2, "system.posix_acl_access"),
    (3, "system.posix_acl_default"),
    (4, "trusted."),
    (5, "lustre."),
    (6, "security."),
    (7, "system."),
    (8, "system.richacl"),
    (9, "encryption."),
    (10, "gnu."),
];

/// The prefix of a namespace, `None` for a number without one.
pub fn prefix(index: u8) -> Option<&'static str> {
    PREFIXES
        .iter()
        .find(|(number, _)| *number == index)
        .map(|(_, prefix)| *prefix)
}

/// `struct ext4_xattr_header`, at the start of a block.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub h_magic: U32,
    /// Inodes that use the block.
    pub h_refcount: U32,
    /// Blocks: 1.
    pub h_blocks: U32,
    /// Hash of all entries, 0 when one of them has none.
    pub h_hash: U32,
    /// CRC-32C, with `metadata_csum`.
    pub h_checksum: U32,
    /// Zero.
    pub h_reserved: [U32; 3],
}

impl Header {
    /// The header of a block.
    ///
    /// # Errors
    ///
    /// [`Error::Short`], [`Error::Magic`].
    pub fn read(block: &[u8]) -> Result<&Self, Error> {
        let this: &Self = view("xattr block", block)?;
        let found = this.h_magic.get();
        if found == MAGIC {
            return Ok(this);
        }
        Err(Error::Magic {
            what: "xattr block h_magic",
            found,
            expected: MAGIC,
        })
    }
}

/// An attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Offset of the entry in the slice that was read.
    pub offset: usize,
    /// Namespace, see [`PREFIXES`].
    pub e_name_index: u8,
    /// Where the value begins; see [`List::value`].
    pub e_value_offs: u16,
    /// The inode that holds the value, 0 when it is here.
    pub e_value_inum: u32,
    /// Bytes of the value.
    pub e_value_size: u32,
    /// Hash of name and value.
    pub e_hash: u32,
    /// The name after the prefix.
    pub name: &'a [u8],
}

/// A list of attributes.
#[derive(Debug, Clone, Copy)]
pub struct List<'a> {
    /// The bytes offsets count from, to the end of the block or inode.
    base: &'a [u8],
    /// Where the first entry is.
    first: usize,
}

impl<'a> List<'a> {
    /// The attributes of a block.
    ///
    /// # Errors
    ///
    /// As [`Header::read`].
    pub fn of_block(block: &'a [u8]) -> Result<Self, Error> {
        Header::read(block)?;
        Ok(Self {
            base: block,
            first: HEADER,
        })
    }

    /// The attributes of an inode, from [`Inode::body`](super::Inode::body); `None` when there are none.
    pub fn of_inode(body: &'a [u8]) -> Option<Self> {
        let base = body.get(END..)?;
        (u32_at(body, 0) == Some(MAGIC)).then_some(Self { base, first: 0 })
    }

    /// The entries; ends after the first error, at which the list is broken.
    pub fn entries(&self) -> Entries<'a> {
        Entries {
            list: *self,
            at: Some(self.first),
        }
    }

    /// The entry of a name, when the list holds it before any break.
    pub fn find(&self, index: u8, name: &[u8]) -> Option<Entry<'a>> {
        self.entries()
            .map_while(Result::ok)
            .find(|entry| entry.e_name_index == index && entry.name == name)
    }

    /// The value of an entry of this list.
    ///
    /// # Errors
    ///
    /// [`Error::Record`] when it is outside of the block or inode. A value in its own inode has no bytes
    /// here and gives an empty slice.
    pub fn value(&self, entry: &Entry<'_>) -> Result<&'a [u8], Error> {
        if entry.e_value_inum != 0 || entry.e_value_size == 0 {
            return Ok(&[]);
        }
        let start = usize::from(entry.e_value_offs);
        let end = start.checked_add(entry.e_value_size as usize);
        end.and_then(|end| self.base.get(start..end))
            .ok_or(Error::Record {
                what: "xattr value",
                offset: entry.offset,
                problem: "it is outside of the block or inode",
            })
    }

    /// Bytes from the first entry to the end of the terminator, `None` for a broken list.
    pub fn entries_len(&self) -> Option<usize> {
        let mut end = self.first;
        for entry in self.entries() {
            let entry = entry.ok()?;
            end = entry.offset + (ENTRY + entry.name.len()).next_multiple_of(4);
        }
        Some(end + END - self.first)
    }
}

/// See [`List::entries`].
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    list: List<'a>,
    at: Option<usize>,
}

impl<'a> Entries<'a> {
    fn read(&self, offset: usize) -> Option<Result<Entry<'a>, Error>> {
        let base = self.list.base;
        let broken = |problem| {
            Some(Err(Error::Record {
                what: "xattr entry",
                offset,
                problem,
            }))
        };
        let Some(start) = u32_at(base, offset) else {
            return broken("the list runs out of the block or inode");
        };
        if start == 0 {
            return None;
        }
        let fixed = (
            u16_at(base, offset + 2),
            u32_at(base, offset + 4),
            u32_at(base, offset + 8),
        );
        let (Some(e_value_offs), Some(e_value_inum), Some(e_value_size)) = fixed else {
            return broken("the entry runs out of the block or inode");
        };
        let [name_len, e_name_index, ..] = start.to_le_bytes();
        let name = offset + ENTRY..offset + ENTRY + usize::from(name_len);
        let (Some(e_hash), Some(name)) = (u32_at(base, offset + 12), base.get(name)) else {
            return broken("the name runs out of the block or inode");
        };
        Some(Ok(Entry {
            offset,
            e_name_index,
            e_value_offs,
            e_value_inum,
            e_value_size,
            e_hash,
            name,
        }))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at.take()?;
        let entry = self.read(at)?;
        if let Ok(entry) = &entry {
            self.at = Some(at + (ENTRY + entry.name.len()).next_multiple_of(4));
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests;
