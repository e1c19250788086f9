//! Data blocks of directories, with the hash entries at the end of a directory of one block.

use ondisk::bytes::be32;
use ondisk::xfs::directory::{
    self as layout, BLOCK, BLOCK3, DATA, DATA3, Entry, Item, TYPES, block_leaf, block_tail,
    data_header, file_type, item,
};

use super::local::misled;
use super::{Alike, Block, block_header, hash_of, is_name, pair};
use crate::xfs::rules::Rules;
use crate::xfs::sink::{Name, Sink};
use crate::xfs::xfs_repair::problems::{
    DIR_BESTFREE, DIR_BLOCK_BAD, DIR_BLOCK_EMPTY, DIR_BLOCK_MAGIC, DIR_BLOCK_WALK, DIR_DATA_CRC,
    DIR_DOT_INO, DIR_DOT_MANY, DIR_DOT_PLACE, DIR_DOTDOT_INO, DIR_DOTDOT_MANY, DIR_DOTDOT_PLACE,
    DIR_DOTDOT_ROOT, DIR_DOTDOT_SELF, DIR_ENT_DUP, DIR_ENT_INO, DIR_ENT_LEN0, DIR_ENT_NAME,
    DIR_ENT_SELF, DIR_FREE_ADJACENT, DIR_FTYPE, DIR_HASH_TABLE,
};

/// What a data block gives to the directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Data {
    /// Sum of the pairs of hash and address.
    pub(crate) names: u64,
    /// The largest free area, bytes.
    pub(crate) best: u16,
    /// It has `.`.
    pub(crate) dot: bool,
    /// What `..` leads to.
    pub(crate) dotdot: Option<u64>,
}

/// Judges a data block; `whole` if it is a directory of one block. None where its entries cannot be relied on.
pub(crate) fn judge(
    rules: &Rules,
    block: &Block<'_>,
    whole: bool,
    sink: &mut impl Sink,
) -> Option<Data> {
    let (v5, bytes) = (rules.geometry.v5, block.bytes);
    let magic = be32(bytes, 0);
    let mut sound = true;
    if v5 {
        sound = block_header(rules, block, &DIR_DATA_CRC, sink);
    }
    let wanted = match (whole, v5) {
        (true, true) => BLOCK3,
        (true, false) => BLOCK,
        (false, true) => DATA3,
        (false, false) => DATA,
    };
    if magic != wanted {
        let finding = block
            .about(&DIR_BLOCK_MAGIC)
            .found(format!("0x{magic:08x}"));
        sink.find(finding.expected(format!("0x{wanted:08x}")));
    }
    let end = if whole {
        let (count, _) = block_tail(bytes);
        let most = (bytes.len() - 8) / 8;
        if let Some(end) = block_leaf(bytes, count).filter(|_| (count as usize) < most) {
            end
        } else {
            let finding = block.about(&DIR_BLOCK_BAD).found(count);
            sink.find(finding.note("hash entries"));
            bytes.len() - 8
        }
    } else {
        bytes.len()
    };
    // Names in a block that is not this directory's, or that cannot be walked, lead nowhere: what they led to is disconnected.
    if !walk(rules, block, end, sink) || !sound {
        return None;
    }
    let data = entries(rules, block, end, sink);
    if whole {
        hashes(rules, block, end, data.names, sink);
    }
    Some(data)
}

/// Walks the items: each has its tag, together they fill the block, and the free ones are in the table of the largest.
fn walk(rules: &Rules, block: &Block<'_>, end: usize, sink: &mut impl Sink) -> bool {
    let (geometry, bytes) = (&rules.geometry, block.bytes);
    let best = layout::best_free(geometry.v5, bytes);
    let mut seen = [false; 3];
    let mut bad = best[0].1 < best[1].1 || best[1].1 < best[2].1;
    for (nth, (offset, length)) in best.iter().enumerate() {
        if *length == 0 {
            bad |= *offset != 0;
            seen[nth] = true;
        }
    }
    let start = data_header(geometry.v5);
    let (mut at, mut free_before) = (start, false);
    while at < end {
        let (length, tag) = match item(geometry.ftype, bytes, at, end) {
            None => break,
            Some(Item::Free { length, tag, .. }) => {
                if usize::from(tag) != at {
                    break;
                }
                if at == start && at + length >= end {
                    sink.find(block.about(&DIR_BLOCK_EMPTY));
                }
                if free_before {
                    sink.find(block.about(&DIR_FREE_ADJACENT).offset(at));
                }
                bad |= free_before;
                let place = best
                    .iter()
                    .position(|(offset, _)| usize::from(*offset) == at);
                match place {
                    Some(nth) => {
                        bad |= seen[nth] || usize::from(best[nth].1) != length;
                        seen[nth] = true;
                    }
                    None => bad |= length > usize::from(best[2].1),
                }
                free_before = true;
                (length, tag)
            }
            Some(Item::Entry(entry)) => {
                free_before = false;
                if entry.name.is_empty() && usize::from(entry.tag) != at {
                    sink.find(block.about(&DIR_ENT_LEN0).offset(at));
                }
                (entry.length, entry.tag)
            }
        };
        if usize::from(tag) != at {
            break;
        }
        at += length;
    }
    if at != end {
        sink.find(block.about(&DIR_BLOCK_BAD).offset(at));
        sink.find(block.about(&DIR_BLOCK_WALK).offset(at));
        return false;
    }
    if bad || seen != [true; 3] {
        sink.find(block.about(&DIR_BESTFREE));
    }
    true
}

/// Judges the entries and gives their names to the sink.
fn entries(rules: &Rules, block: &Block<'_>, end: usize, sink: &mut impl Sink) -> Data {
    let geometry = &rules.geometry;
    let base = block.offset << geometry.block_log;
    let mut data = Data {
        best: layout::best_free(geometry.v5, block.bytes)[0].1,
        ..Data::default()
    };
    let mut at = data_header(geometry.v5);
    while at < end {
        match item(geometry.ftype, block.bytes, at, end) {
            None => break,
            Some(Item::Free { length, .. }) => at += length,
            Some(Item::Entry(entry)) => {
                let address = ((base + at as u64) >> 3) as u32;
                let hash = hash_of(rules, entry.name);
                data.names = data.names.wrapping_add(pair(hash, address));
                one(rules, block, &entry, &mut data, sink);
                at += entry.length;
            }
        }
    }
    data
}

fn one(rules: &Rules, block: &Block<'_>, entry: &Entry<'_>, data: &mut Data, sink: &mut impl Sink) {
    let name = Name {
        directory: block.ino,
        ino: entry.inumber,
        kind: entry.ftype,
        name: entry.name,
        place: Some((block.offset, entry.offset)),
    };
    if rules.geometry.ftype && entry.ftype >= TYPES {
        let finding = name.about(&DIR_BLOCK_BAD).found(u64::from(entry.ftype));
        sink.find(finding.note("file type"));
    }
    match entry.name {
        b"." => return dot(rules, block, &name, data, sink),
        b".." => return dotdot(rules, block, &name, data, sink),
        [] => {
            sink.find(name.about(&DIR_ENT_LEN0));
            return;
        }
        _ => {}
    }
    if !is_name(entry.name) {
        sink.find(name.about(&DIR_ENT_NAME));
        return;
    }
    if entry.inumber == block.ino {
        sink.find(name.about(&DIR_ENT_SELF));
    } else if let Some(why) = misled(rules, block.ino, entry.inumber) {
        sink.find(name.about(&DIR_ENT_INO).note(why));
    } else {
        sink.name(&name);
    }
}

/// Whether the entry of a directory's own or its parent's name has the file type of directories, where there are any.
fn is_directory(name: &Name<'_>, sink: &mut impl Sink) {
    sink.find(
        name.about(&DIR_FTYPE)
            .found(u64::from(name.kind))
            .expected(u64::from(file_type::DIRECTORY)),
    );
}

fn dot(rules: &Rules, block: &Block<'_>, name: &Name<'_>, data: &mut Data, sink: &mut impl Sink) {
    if data.dot {
        sink.find(name.about(&DIR_DOT_MANY));
        return;
    }
    data.dot = true;
    if name.ino != block.ino {
        sink.find(name.about(&DIR_DOT_INO).expected(block.ino));
    }
    if name.place != Some((0, data_header(rules.geometry.v5))) {
        sink.find(name.about(&DIR_DOT_PLACE));
    }
    if name.kind != file_type::DIRECTORY && rules.geometry.ftype {
        is_directory(name, sink);
    }
}

fn dotdot(
    rules: &Rules,
    block: &Block<'_>,
    name: &Name<'_>,
    data: &mut Data,
    sink: &mut impl Sink,
) {
    if data.dotdot.is_some() {
        sink.find(name.about(&DIR_DOTDOT_MANY));
        return;
    }
    data.dotdot = Some(name.ino);
    if !rules.geometry.is_inode(name.ino) || rules.is_internal(name.ino) {
        sink.find(name.about(&DIR_DOTDOT_INO));
    } else if name.ino == block.ino && block.ino != rules.root {
        sink.find(name.about(&DIR_DOTDOT_SELF));
    } else if name.ino != block.ino && block.ino == rules.root {
        sink.find(name.about(&DIR_DOTDOT_ROOT).expected(block.ino));
    }
    if block.offset != 0 {
        sink.find(name.about(&DIR_DOTDOT_PLACE));
    }
    if name.kind != file_type::DIRECTORY && rules.geometry.ftype {
        is_directory(name, sink);
    }
}

/// The hash entries at the end of a directory of one block: order, stale ones, the same set as the names, and no name twice.
fn hashes(rules: &Rules, block: &Block<'_>, end: usize, names: u64, sink: &mut impl Sink) {
    let bytes = block.bytes;
    let (count, stale) = block_tail(bytes);
    if block_leaf(bytes, count) != Some(end) {
        return;
    }
    let (mut found, mut sum, mut last) = (0, 0_u64, 0_u32);
    let mut ordered = true;
    let mut alike = Alike::default();
    for nth in 0..count as usize {
        let at = end + 8 * nth;
        let (hash, address) = (be32(bytes, at), be32(bytes, at + 4));
        ordered &= hash >= last;
        if address == layout::NULL_ADDRESS {
            found += 1;
        } else {
            sum = sum.wrapping_add(pair(hash, address));
            alike.add(hash, address, false);
        }
        last = hash;
    }
    if !ordered {
        sink.find(block.about(&DIR_BLOCK_BAD).note("hashes are not ascending"));
    }
    if found != stale {
        let finding = block.about(&DIR_BLOCK_BAD).found(stale).expected(found);
        sink.find(finding.note("stale hash entries"));
    }
    if sum != names {
        sink.find(block.about(&DIR_HASH_TABLE));
    }
    duplicates(rules, block, end, alike.finish(false), sink);
}

/// Entries that have a name of another with the same hash.
fn duplicates(
    rules: &Rules,
    block: &Block<'_>,
    end: usize,
    mut alike: Vec<(u32, u32)>,
    sink: &mut impl Sink,
) {
    // An address that is there twice is a hash table that does not agree with the names.
    alike.sort_unstable();
    alike.dedup();
    let entry = |address: u32| {
        let at = (u64::from(address) << 3).checked_sub(block.offset << rules.geometry.block_log)?;
        let at = usize::try_from(at).ok()?;
        match item(rules.geometry.ftype, block.bytes, at, end)? {
            Item::Entry(entry) => Some(entry),
            Item::Free { .. } => None,
        }
    };
    let mut entries: Vec<Entry<'_>> = alike.iter().filter_map(|one| entry(one.1)).collect();
    entries.sort_by_key(|entry| (entry.name, entry.offset));
    for same in entries.chunk_by(|one, next| one.name == next.name) {
        for entry in &same[1..] {
            let name = Name {
                directory: block.ino,
                ino: entry.inumber,
                kind: entry.ftype,
                name: entry.name,
                place: Some((block.offset, entry.offset)),
            };
            sink.find(name.about(&DIR_ENT_DUP));
        }
    }
}

#[cfg(test)]
mod tests;
