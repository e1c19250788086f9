//! Leaves of attribute forks.

use zerocopy::big_endian::{U16, U32};

use crate::bytes::{be16, be32};

/// Bits of an attribute's flags.
pub mod flag {
    /// The value is in the leaf.
    pub const LOCAL: u8 = 0x01;
    /// Namespace `trusted`.
    pub const ROOT: u8 = 0x02;
    /// Namespace `security`.
    pub const SECURE: u8 = 0x04;
    /// A parent pointer.
    pub const PARENT: u8 = 0x08;
    /// The value is not yet written.
    pub const INCOMPLETE: u8 = 0x80;
}

structure! {
    /// The part of a leaf's head after the block info (`struct xfs_attr_leaf_hdr`).
    "XFS attribute leaf" LeafHead 20 {
        /// Entries.
        count: U16,
        /// Bytes of names and values.
        usedbytes: U16,
        /// First byte in use of names and values; 0: the block's size, where that does not fit 16 bits.
        firstused: U16,
        /// Whether there are holes between names.
        holes: u8,
        /// Zero.
        pad1: u8,
        /// Free regions as base and size.
        freemap: [[U16; 2]; 3],
    }
}

structure! {
    /// An entry of a leaf (`struct xfs_attr_leaf_entry`).
    "XFS attribute entry" LeafEntry 8 {
        /// Hash of the name.
        hashval: U32,
        /// Offset of name and value in the block.
        nameidx: U16,
        /// See [`flag`].
        flags: u8,
        /// Zero.
        pad2: u8,
    }
}

/// Offset of [`LeafHead`] in a leaf.
pub fn head_at(v5: bool) -> usize {
    if v5 { 56 } else { 12 }
}

/// Offset of the entries in a leaf.
pub fn header(v5: bool) -> usize {
    if v5 { 80 } else { 32 }
}

/// The head of a leaf.
///
/// # Errors
///
/// [`crate::Error::Short`] for a block that ends before.
pub fn head(v5: bool, block: &[u8]) -> Result<&LeafHead, crate::Error> {
    LeafHead::read(block.get(head_at(v5)..).unwrap_or_default())
}

/// An entry of a leaf; none outside the block.
pub fn entry(v5: bool, block: &[u8], index: usize) -> Option<&LeafEntry> {
    LeafEntry::read(block.get(header(v5) + index.checked_mul(LeafEntry::SIZE)?..)?).ok()
}

/// Entries that a leaf of this many bytes has room for.
pub fn room(v5: bool, bytes: usize) -> usize {
    bytes.saturating_sub(header(v5)) / LeafEntry::SIZE
}

/// A name in a leaf, with its value or where that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name<'a> {
    /// The value follows the name.
    Local {
        /// Name.
        name: &'a [u8],
        /// Value.
        value: &'a [u8],
    },
    /// The value is in blocks of its own.
    Remote {
        /// Name.
        name: &'a [u8],
        /// First block of the value in the fork.
        block: u32,
        /// Bytes of the value.
        length: u32,
    },
}

impl Name<'_> {
    /// The name.
    pub fn name(&self) -> &[u8] {
        match self {
            Name::Local { name, .. } | Name::Remote { name, .. } => name,
        }
    }

    /// Bytes in the leaf.
    pub fn size(&self) -> usize {
        match self {
            Name::Local { name, value } => local_size(name.len(), value.len()),
            Name::Remote { name, .. } => remote_size(name.len()),
        }
    }
}

/// Bytes of a name with its value.
pub fn local_size(name: usize, value: usize) -> usize {
    (3 + name + value).next_multiple_of(4)
}

/// Bytes of a name whose value is in blocks of its own.
pub fn remote_size(name: usize) -> usize {
    (9 + name).next_multiple_of(4)
}

/// The name at `at`; none where it does not fit.
pub fn name(block: &[u8], at: usize, local: bool) -> Option<Name<'_>> {
    let rest = block.get(at..)?;
    if local {
        let value_length = usize::from(be16(rest, 0));
        let end = 3 + usize::from(*rest.get(2)?);
        return Some(Name::Local {
            name: rest.get(3..end)?,
            value: rest.get(end..end + value_length)?,
        });
    }
    let end = 9 + usize::from(*rest.get(8)?);
    Some(Name::Remote {
        name: rest.get(9..end)?,
        block: be32(rest, 0),
        length: be32(rest, 4),
    })
}

/// Writes a name at `at`; false where it does not fit.
#[must_use]
pub fn put_name(block: &mut [u8], at: usize, name: &Name<'_>) -> bool {
    let Some(room) = block.get_mut(at..at + name.size()) else {
        return false;
    };
    let Ok(length) = u8::try_from(name.name().len()) else {
        return false;
    };
    room.fill(0);
    match name {
        Name::Local { name, value } => {
            room[..2].copy_from_slice(&(value.len() as u16).to_be_bytes());
            room[2] = length;
            room[3..3 + name.len()].copy_from_slice(name);
            room[3 + name.len()..][..value.len()].copy_from_slice(value);
        }
        Name::Remote {
            name,
            block,
            length: bytes,
        } => {
            room[..4].copy_from_slice(&block.to_be_bytes());
            room[4..8].copy_from_slice(&bytes.to_be_bytes());
            room[8] = length;
            room[9..9 + name.len()].copy_from_slice(name);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_written() {
        let mut block = vec![0; 256];
        let local = Name::Local {
            name: b"user",
            value: b"value",
        };
        let remote = Name::Remote {
            name: b"large",
            block: 3,
            length: 5000,
        };
        assert!(put_name(&mut block, 200, &local));
        assert!(put_name(&mut block, 100, &remote));
        assert!(!put_name(&mut block, 250, &remote));
        assert_eq!(name(&block, 200, true), Some(local));
        assert_eq!(name(&block, 100, false), Some(remote));
        assert_eq!(name(&block, 255, true), None);
        assert_eq!((local.size(), remote.size()), (12, 16));
    }
}
