//! Finding one attribute of an inode, as the library of e2fsprogs does: all of them are read first, and one that
//! cannot be read hides the others.
//!
//! Two questions are asked this way, and both of few inodes: where an inline inode keeps the rest of its content, and what an
//! encrypted inode is encrypted with. The library's result decides the reference's, so its peculiarities are kept: names are
//! compared with their prefix, and a number without a prefix adds none.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use ondisk::ext4::Inode;
use ondisk::ext4::feature::{Compat, Incompat};
use ondisk::ext4::inode::{OLD_SIZE, flag};
use ondisk::ext4::xattr::{self, Entry, List};

use super::super::special::Mapper;
use super::list::{END, ENTRY, hash_fits, padded};
use super::value::{Marks, Owner, is_tied, read_inode};
use crate::ext4::volume::Volume;

/// The rest of inline content.
pub(super) const DATA: &[u8] = b"system.data";
/// The encryption context: its namespace has no prefix in e2fsprogs.
pub(super) const CONTEXT: &[u8] = b"c";

/// Why attributes cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// One of them is broken.
    Attribute,
    /// The inode itself, its device, or an inode named: the reference gives up instead of judging.
    Beyond,
}

/// The prefixes that e2fsprogs knows; `lustre.` and `encryption.` are not among them.
fn prefix(index: u8) -> &'static str {
    match index {
        5 | 9 => "",
        _ => xattr::prefix(index).unwrap_or_default(),
    }
}

/// What the search goes through.
pub(super) struct Search<'a> {
    pub(super) volume: &'a Volume<'a>,
    pub(super) values: &'a Values,
    pub(super) slot: &'a mut Vec<u8>,
    pub(super) block: &'a mut Vec<u8>,
}

impl Search<'_> {
    /// The value of the attribute of this full name, if there is one; without bytes where it lies in an inode of its own.
    pub(super) fn find(
        &mut self,
        ino: u32,
        inode: &Inode<'_>,
        name: &[u8],
    ) -> Result<Option<Vec<u8>>, Trouble> {
        let sb = &self.volume.sb;
        if !sb.has_compat(Compat::EXT_ATTR) && !sb.has_incompat(Incompat::INLINE_DATA) {
            return Err(Trouble::Attribute);
        }
        let owner = Owner {
            ino,
            generation: Some(inode.raw().i_generation.get()),
        };
        let mut value = None;
        let extra = usize::from(inode.extra_isize());
        let slot = inode.bytes();
        if extra >= 2 && slot.len() > OLD_SIZE + extra + END {
            if extra % 4 != 0 {
                return Err(Trouble::Beyond);
            }
            let body = &slot[OLD_SIZE + extra..];
            if let Some(list) = List::of_inode(body) {
                value = self.read_list(owner, list, &body[END..], 0, name)?;
            }
        }
        let in_block = self.in_block(owner, inode, name)?;
        Ok(value.or(in_block))
    }

    fn in_block(
        &mut self,
        owner: Owner,
        inode: &Inode<'_>,
        name: &[u8],
    ) -> Result<Option<Vec<u8>>, Trouble> {
        let at = self.volume.attribute_block(inode);
        if at == 0 {
            return Ok(None);
        }
        if !self.volume.is_block(at) {
            return Err(Trouble::Attribute);
        }
        let mut block = std::mem::take(self.block);
        let found = self.in_block_at(owner, at, &mut block, name);
        *self.block = block;
        found
    }

    fn in_block_at(
        &mut self,
        owner: Owner,
        at: u64,
        block: &mut Vec<u8>,
        name: &[u8],
    ) -> Result<Option<Vec<u8>>, Trouble> {
        self.volume
            .read_into(at, block)
            .map_err(|_| Trouble::Beyond)?;
        let header = xattr::Header::read(block).map_err(|_| Trouble::Attribute)?;
        if header.h_blocks.get() != 1 {
            return Err(Trouble::Attribute);
        }
        let sum = self
            .volume
            .seed
            .map(|seed| xattr::checksum(block, at, seed));
        if matches!(sum, Some(Ok(sum)) if !sum.matches()) {
            return Err(Trouble::Attribute);
        }
        let list = List::of_block(block).map_err(|_| Trouble::Attribute)?;
        self.read_list(owner, list, block, xattr::HEADER, name)
    }

    fn read_list(
        &mut self,
        owner: Owner,
        list: List<'_>,
        base: &[u8],
        first: usize,
        name: &[u8],
    ) -> Result<Option<Vec<u8>>, Trouble> {
        let end = names_end(list, base.len() - first).ok_or(Trouble::Attribute)?;
        let end = first + end;
        let mut remain = base.len() - first;
        let mut found = None;
        for entry in list.entries().map_while(Result::ok) {
            if remain < ENTRY {
                break;
            }
            let len = ENTRY + padded(entry.name.len());
            remain = remain.checked_sub(len).ok_or(Trouble::Attribute)?;
            if entry.e_value_inum == 0 {
                remain = here(base, end, &entry, remain)?;
            } else {
                self.elsewhere(owner, &entry)?;
            }
            if found.is_none() && is_called(&entry, name) {
                found = Some(list.value(&entry).unwrap_or_default().to_vec());
            }
        }
        Ok(found)
    }

    /// An entry whose value lies in an inode.
    fn elsewhere(&mut self, owner: Owner, entry: &Entry<'_>) -> Result<(), Trouble> {
        if !self.volume.sb.has_incompat(Incompat::EA_INODE)
            || entry.e_value_offs != 0
            || entry.e_value_size > MOST_BYTES
        {
            return Err(Trouble::Attribute);
        }
        let ino = entry.e_value_inum;
        let known = self.values.get(ino);
        let held = known.unwrap_or_else(|| {
            let held = self.held(ino);
            self.values.keep(ino, held);
            held
        });
        let Held::Value { size, whole, marks } = held else {
            return Err(match held {
                Held::Beyond => Trouble::Beyond,
                _ => Trouble::Attribute,
            });
        };
        if size != u64::from(entry.e_value_size) {
            return Err(Trouble::Attribute);
        }
        if !whole {
            return Err(Trouble::Beyond);
        }
        if entry.e_hash != 0 && !is_tied(self.volume, owner, entry, marks) {
            return Err(Trouble::Attribute);
        }
        Ok(())
    }

    /// What an inode holds; the library reads all of it.
    fn held(&mut self, ino: u32) -> Held {
        let mut slot = std::mem::take(self.slot);
        let held = match read_inode(self.volume, ino, &mut slot) {
            Err(_) => Held::Beyond,
            Ok(inode)
                if inode.has_flags(flag::INLINE_DATA)
                    || !inode.has_flags(flag::EA_INODE)
                    || inode.raw().i_links_count.get() == 0 =>
            {
                Held::No
            }
            Ok(inode) => Held::Value {
                size: inode.size(),
                whole: self.is_whole(ino, &inode),
                marks: Marks::of(&inode),
            },
        };
        *self.slot = slot;
        held
    }

    /// Whether all bytes of a value can be read; a value that is too large is not asked about.
    fn is_whole(&self, ino: u32, inode: &Inode<'_>) -> bool {
        let mut buffer = Vec::new();
        let blocks = inode.size().min(MOST_BYTES.into()) as u32;
        (0..blocks.div_ceil(self.volume.geometry.block_size)).all(|logical| {
            let mut mapper = Mapper {
                volume: self.volume,
                block: &mut buffer,
                written: true,
            };
            match mapper.block_at(ino, inode, logical) {
                Ok(Some(block)) => self.volume.read_into(block, &mut buffer).is_ok(),
                Ok(None) => true,
                Err(_) => false,
            }
        })
    }
}

/// The most bytes of a value.
const MOST_BYTES: u32 = 64 << 10;

/// An inode that an entry names for its value.
#[derive(Clone, Copy, Debug)]
enum Held {
    /// It cannot be read.
    Beyond,
    /// It holds no value.
    No,
    /// A value of `size` bytes, and whether all of it can be read.
    Value {
        size: u64,
        whole: bool,
        marks: Marks,
    },
}

/// Value inodes that were read, by any thread: a block of attributes that a million inodes share may name thousands of
/// them, and would otherwise have them read a million times.
#[derive(Debug, Default)]
pub(crate) struct Values(Mutex<HashMap<u32, Held>>);

impl Values {
    /// Values kept at most, some 10 MiB.
    const MOST: usize = 1 << 18;

    fn get(&self, ino: u32) -> Option<Held> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&ino).copied()
    }

    fn keep(&self, ino: u32, held: Held) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < Values::MOST {
            known.insert(ino, held);
        }
    }
}

/// A value beside its entry: what remains of the room.
fn here(base: &[u8], names_end: usize, entry: &Entry<'_>, remain: usize) -> Result<usize, Trouble> {
    let size = entry.e_value_size as usize;
    let start = usize::from(entry.e_value_offs);
    if size > remain || start + size > base.len() || (size > 0 && start < names_end + END) {
        return Err(Trouble::Attribute);
    }
    // A wrong hash makes the library look for Lustre's back pointer in inode 0, which it cannot read.
    if entry.e_hash != 0 && !hash_fits(base, entry) {
        return Err(Trouble::Beyond);
    }
    Ok(remain - size)
}

/// Where the names end, by the names alone; nothing where one of them is too long.
fn names_end(list: List<'_>, room: usize) -> Option<usize> {
    let mut end = 0;
    let mut entries = list.entries();
    while room - end >= ENTRY {
        match entries.next() {
            None => break,
            Some(Ok(entry)) => {
                let len = ENTRY + padded(entry.name.len());
                if len > room - end {
                    return None;
                }
                end += len;
            }
            Some(Err(_)) => return None,
        }
    }
    Some(end)
}

/// Whether prefix and name make this full name. The library compares strings that end at their first zero.
fn is_called(entry: &Entry<'_>, full: &[u8]) -> bool {
    let name = entry
        .name
        .split(|byte| *byte == 0)
        .next()
        .unwrap_or_default();
    full.strip_prefix(prefix(entry.e_name_index).as_bytes()) == Some(name)
}
