//! Attributes as they are written.

use super::sums::{Sign, block_hash, checksum, entry_hash, entry_hash_of_inode};
use super::{END, ENTRY, HEADER, Header, MAGIC};
use crate::ext4::checksum::Seed;
use crate::ext4::{Error, view_mut};

/// An attribute to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// Namespace, see [`PREFIXES`].
    pub index: u8,
    /// The name after the prefix, 1 to 255 bytes.
    pub name: Vec<u8>,
    /// The value.
    pub value: NewValue,
}

/// Where a value to be written goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewValue {
    /// Beside the entry.
    Here(Vec<u8>),
    /// Into its own inode, already written.
    Inode {
        /// Its number.
        ino: u32,
        /// Bytes of the value.
        size: u32,
        /// [`value_hash`] of it.
        hash: u32,
    },
}

/// Writes a block of attributes that fills `bytes`, sorted as the kernel does (namespace, length of the name, name),
/// and sealed with `seed` for its place on the device.
///
/// # Errors
///
/// [`Error::Full`], or [`Error::Range`] for an impossible name.
pub fn write_block(
    bytes: &mut [u8],
    entries: &[NewEntry],
    refcount: u32,
    block: u64,
    seed: Option<Seed>,
) -> Result<(), Error> {
    let mut sorted: Vec<&NewEntry> = entries.iter().collect();
    sorted.sort_by_key(|entry| (entry.index, entry.name.len(), &entry.name));
    bytes.fill(0);
    let hashes = put_list(bytes, HEADER, &sorted, true)?;
    let header: &mut Header = view_mut("xattr block", bytes)?;
    header.h_magic = MAGIC.into();
    header.h_refcount = refcount.into();
    header.h_blocks = 1.into();
    header.h_hash = block_hash(hashes).into();
    if let Some(seed) = seed {
        let computed = checksum(bytes, block, seed)?.computed;
        let header: &mut Header = view_mut("xattr block", bytes)?;
        header.h_checksum = computed.into();
    }
    Ok(())
}

/// Writes attributes into the bytes after an inode's fields, in the order given. Hashes are left 0 there, but
/// for values in inodes, as the kernel does.
///
/// # Errors
///
/// As [`write_block`].
pub fn write_inode(body: &mut [u8], entries: &[NewEntry]) -> Result<(), Error> {
    let have = body.len();
    let Some((magic, base)) = body.split_at_mut_checked(END) else {
        return Err(Error::Short {
            what: "xattr magic",
            have,
            need: END,
        });
    };
    base.fill(0);
    put_list(base, 0, &entries.iter().collect::<Vec<_>>(), false)?;
    magic.copy_from_slice(&MAGIC.to_le_bytes());
    Ok(())
}

/// Writes entries from `first` on and values from the end backwards; gives the hashes.
fn put_list(
    base: &mut [u8],
    first: usize,
    entries: &[&NewEntry],
    hash_all: bool,
) -> Result<Vec<u32>, Error> {
    let mut at = first;
    let mut values_at = base.len() / 4 * 4;
    // Four zero bytes end the list, also one without entries.
    if first + END > values_at {
        return Err(Error::Full {
            what: "xattr list",
            need: END,
            room: values_at.saturating_sub(first),
        });
    }
    let mut hashes = Vec::with_capacity(entries.len());
    for entry in entries {
        let len = entry.name.len();
        if len > 255 {
            return Err(Error::Range {
                what: "e_name_len",
                found: len as u64,
                low: 0,
                high: 255,
            });
        }
        let (here, ino, size, hash) = parts(entry, hash_all);
        let value_room = here.len().next_multiple_of(4);
        let next = at + (ENTRY + len).next_multiple_of(4);
        let need = next + END + value_room;
        if need > values_at {
            return Err(Error::Full {
                what: "xattr entry",
                need: need - at,
                room: values_at - at,
            });
        }
        values_at -= value_room;
        base[values_at..values_at + here.len()].copy_from_slice(here);
        let offset = if here.is_empty() { 0 } else { values_at as u16 };
        base[at] = len as u8;
        base[at + 1] = entry.index;
        base[at + 2..at + 4].copy_from_slice(&offset.to_le_bytes());
        base[at + 4..at + 8].copy_from_slice(&ino.to_le_bytes());
        base[at + 8..at + 12].copy_from_slice(&size.to_le_bytes());
        base[at + 12..at + 16].copy_from_slice(&hash.to_le_bytes());
        base[at + ENTRY..at + ENTRY + len].copy_from_slice(&entry.name);
        hashes.push(hash);
        at = next;
    }
    Ok(hashes)
}

/// The bytes beside the entry, the value's inode, its size and the entry's hash.
fn parts(entry: &NewEntry, hash_all: bool) -> (&[u8], u32, u32, u32) {
    match &entry.value {
        NewValue::Here(value) => {
            let hash = if hash_all {
                entry_hash(&entry.name, value, Sign::Unsigned)
            } else {
                0
            };
            (value, 0, value.len() as u32, hash)
        }
        NewValue::Inode { ino, size, hash } => (
            &[],
            *ino,
            *size,
            entry_hash_of_inode(&entry.name, *hash, Sign::Unsigned),
        ),
    }
}
