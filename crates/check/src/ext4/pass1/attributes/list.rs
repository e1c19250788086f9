//! Attribute lists, judged as e2fsck judges them: in an inode up to the first fault, in a block to the end.
//!
//! The two have one format and two judges. In an inode the first fault ends the list, and a hash of 0 means "none"; in a block
//! the reference continues after most faults, and every entry has a hash.

use ondisk::ext4::xattr::{Entry, HEADER, List, Sign, entry_hash};

use super::region::Region;
use crate::ext4::e2fsck::problems::{
    P1_ATTR_HASH, P1_ATTR_NAME_LEN, P1_ATTR_VALUE_SIZE, P1_EA_ALLOC_COLLISION, P1_EA_BAD_NAME,
    P1_EA_BAD_VALUE, P1_INODE_EA_ALLOC_COLLISION,
};
use crate::ext4::pass1::attributes::charge::Charge;
use crate::frame::finding::Finding;

/// Bytes of an entry without its name.
pub(super) const ENTRY: usize = 16;
/// Bytes that end a list.
pub(super) const END: usize = 4;

/// Names and values are padded to this.
pub(super) fn padded(len: usize) -> usize {
    len.next_multiple_of(4)
}

/// Who judges values that lie in inodes of their own, and takes the findings.
pub(super) trait Values {
    /// That there are such values at all, where the superblock knows of none. They are judged all the same.
    fn without_feature(&self, entry: &Entry<'_>) -> Option<Finding>;
    /// The value inode of an entry: clusters its value is charged with; nothing where something is wrong, which is added.
    fn judge(&mut self, entry: &Entry<'_>, found: &mut Vec<Finding>) -> Option<u64>;
}

/// Whether the hash of an entry is that of its name and value, by either meaning of a byte. Values are hashed in words, and
/// what pads the last word is part of it.
pub(super) fn hash_fits(base: &[u8], entry: &Entry<'_>) -> bool {
    let start = usize::from(entry.e_value_offs);
    let end = start.saturating_add(padded(entry.e_value_size as usize));
    let value = if entry.e_value_size == 0 {
        &[]
    } else {
        match base.get(start..end.min(base.len())) {
            Some(value) => value,
            None => return false,
        }
    };
    [Sign::Unsigned, Sign::Signed]
        .iter()
        .any(|sign| entry_hash(entry.name, value, *sign) == entry.e_hash)
}

/// A finding about an entry.
fn about(problem: &'static crate::frame::problem::Problem, ino: u32, entry: &Entry<'_>) -> Finding {
    Finding::new(problem)
        .inode(ino)
        .offset(entry.offset)
        .name(entry.name)
}

/// Judges the list in an inode; `body` are the bytes from its magic number on. Adds at most one fault of the list itself.
pub(super) fn judge_body(
    ino: u32,
    body: &[u8],
    region: &mut Region,
    values: &mut dyn Values,
    found: &mut Vec<Finding>,
) -> Charge {
    let mut charge = Charge::default();
    let (Some(list), Some(base)) = (List::of_inode(body), body.get(END..)) else {
        return charge;
    };
    region.clear(body.len());
    region.take(0, END);
    let mut remain = base.len();
    let mut at = 0;
    let mut entries = list.entries();
    while remain >= ENTRY {
        let entry = match entries.next() {
            None => break,
            Some(Ok(entry)) => entry,
            Some(Err(_)) => {
                found.push(collision(ino, at));
                return charge;
            }
        };
        at = entry.offset;
        if let Some(fault) = body_entry(ino, base, &entry, region, &mut remain) {
            found.push(fault);
            return charge;
        }
        if entry.e_value_inum != 0 {
            found.extend(values.without_feature(&entry));
            let Some(clusters) = values.judge(&entry, found) else {
                return charge;
            };
            charge.clusters += clusters;
            charge.inodes += 1;
        }
        at += padded(ENTRY + entry.name.len());
    }
    if !region.take(END + at, END) {
        found.push(collision(ino, at));
    }
    charge
}

fn collision(ino: u32, at: usize) -> Finding {
    Finding::new(&P1_INODE_EA_ALLOC_COLLISION)
        .inode(ino)
        .offset(at)
}

/// One entry in an inode: its place, its name, and its value if that is there as well.
fn body_entry(
    ino: u32,
    base: &[u8],
    entry: &Entry<'_>,
    region: &mut Region,
    remain: &mut usize,
) -> Option<Finding> {
    let name = entry.name.len();
    if !region.take(END + entry.offset, padded(ENTRY + name)) {
        return Some(collision(ino, entry.offset));
    }
    *remain -= ENTRY;
    // What is taken is never less than what is counted, so a name that could be taken fits; the reference asks all the same.
    if padded(name) > *remain {
        let fault = about(&P1_ATTR_NAME_LEN, ino, entry).found(name as u64);
        return Some(fault.expected(format!("at most {remain}")));
    }
    *remain -= padded(name);
    if entry.e_value_inum != 0 {
        return None;
    }
    let size = entry.e_value_size as usize;
    if size > *remain {
        let fault = about(&P1_ATTR_VALUE_SIZE, ino, entry).found(entry.e_value_size);
        return Some(fault.expected(format!("at most {remain}")));
    }
    if size > 0 && !region.take(END + usize::from(entry.e_value_offs), padded(size)) {
        return Some(collision(ino, entry.offset));
    }
    if entry.e_hash != 0 && !hash_fits(base, entry) {
        return Some(wrong_hash(ino, base, entry));
    }
    *remain -= size;
    None
}

fn wrong_hash(ino: u32, base: &[u8], entry: &Entry<'_>) -> Finding {
    let start = usize::from(entry.e_value_offs);
    let end = start.saturating_add(padded(entry.e_value_size as usize));
    let value = base.get(start..end.min(base.len())).unwrap_or_default();
    let right = entry_hash(entry.name, value, Sign::Unsigned);
    about(&P1_ATTR_HASH, ino, entry)
        .found(format!("{:#010x}", entry.e_hash))
        .expected(format!("{right:#010x}"))
}

/// Judges the list in a block whose magic number is right (or was set right for reading on).
pub(super) fn judge_block(
    ino: u32,
    block: &[u8],
    region: &mut Region,
    values: &mut dyn Values,
    found: &mut Vec<Finding>,
) -> Charge {
    let mut charge = Charge::default();
    let Ok(list) = List::of_block(block) else {
        return charge;
    };
    region.clear(block.len());
    region.take(0, HEADER);
    let mut at = HEADER;
    let mut entries = list.entries();
    // The list also ends where the block does.
    while at < block.len() {
        let entry = match entries.next() {
            None => break,
            Some(Ok(entry)) => entry,
            Some(Err(_)) => {
                found.push(Finding::new(&P1_EA_ALLOC_COLLISION).inode(ino).offset(at));
                break;
            }
        };
        at = entry.offset;
        if !region.take(at, padded(ENTRY + entry.name.len())) {
            found.push(about(&P1_EA_ALLOC_COLLISION, ino, &entry));
            break;
        }
        if entry.e_name_index == 0 {
            found.push(about(&P1_EA_BAD_NAME, ino, &entry));
            break;
        }
        if entry.e_value_inum == 0 {
            if !block_value(ino, block, &entry, region, found) {
                break;
            }
        } else {
            found.extend(values.without_feature(&entry));
            charge.clusters += values.judge(&entry, found).unwrap_or(0);
            charge.inodes += 1;
        }
        at += padded(ENTRY + entry.name.len());
    }
    if !region.take(at, END) {
        found.push(Finding::new(&P1_EA_ALLOC_COLLISION).inode(ino).offset(at));
    }
    charge
}

/// A value in the block itself; `false` ends the list.
fn block_value(
    ino: u32,
    block: &[u8],
    entry: &Entry<'_>,
    region: &mut Region,
    found: &mut Vec<Finding>,
) -> bool {
    let start = usize::from(entry.e_value_offs);
    let size = entry.e_value_size as usize;
    if start.saturating_add(size) > block.len() {
        let fault = about(&P1_EA_BAD_VALUE, ino, entry);
        found.push(fault.found(format!("{size} bytes at byte {start}")));
        return false;
    }
    if size > 0 && !region.take(start, padded(size)) {
        found.push(about(&P1_EA_ALLOC_COLLISION, ino, entry));
    }
    if !hash_fits(block, entry) {
        found.push(wrong_hash(ino, block, entry));
    }
    true
}

/// The value inodes that a list names, as the reference counts them: to the last entry after which another could begin.
pub(super) fn named_inodes(base: &[u8], list: List<'_>) -> impl Iterator<Item = u32> {
    let len = base.len();
    list.entries()
        .map_while(Result::ok)
        .take_while(move |entry| entry.offset + padded(ENTRY + entry.name.len()) < len)
        .map(|entry| entry.e_value_inum)
        .filter(|ino| *ino != 0)
}
