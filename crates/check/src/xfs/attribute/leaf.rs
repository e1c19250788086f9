//! Leaves of attribute forks.

use ondisk::bytes::be32;
use ondisk::xfs::attribute::{self, LeafEntry, Name, flag};
use ondisk::xfs::da::{self, BlockInfo};
use ondisk::xfs::{checksum, hash};

use super::{is_name, is_one_space, value};
use crate::Problem;
use crate::frame::finding::Finding;
use crate::xfs::rules::Rules;
use crate::xfs::sink::Sink;
use crate::xfs::xfs_repair::problems::{
    ATTR_BLKNO, ATTR_DUP, ATTR_FLAGS, ATTR_FREEMAP, ATTR_HASH, ATTR_LEAF_COUNT, ATTR_LEAF_CRC,
    ATTR_LEAF_EMPTY0, ATTR_LEAF_ENTRY_SPACE, ATTR_LEAF_FIRST, ATTR_LEAF_INCOMPLETE,
    ATTR_LEAF_INDEX, ATTR_LEAF_NAME_SPACE, ATTR_LEAF_OWNER, ATTR_LEAF_USED, ATTR_NAME, ATTR_OWNER,
    ATTR_RMT_ENTRY, ATTR_ROOT_BAD, ATTR_ROOT_LINKS, ATTR_UUID,
};

/// A value in blocks of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Remote {
    /// First block in the fork.
    pub(crate) block: u32,
    /// Bytes.
    pub(crate) length: u32,
}

/// What a leaf gives to what is around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// First and last hash.
    pub(crate) hashes: (u32, u32),
    /// Entries.
    pub(crate) count: u16,
    /// Values in blocks of their own.
    pub(crate) remote: Vec<Remote>,
}

/// A block of an attribute fork.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    /// The inode.
    pub(crate) ino: u64,
    /// The block in the fork.
    pub(crate) offset: u64,
    /// The block of the filesystem.
    pub(crate) fsblock: u64,
    /// Its bytes.
    pub(crate) bytes: &'a [u8],
}

impl Block<'_> {
    pub(crate) fn about(&self, problem: &'static Problem) -> Finding {
        let finding = Finding::new(problem).inode(self.ino);
        finding.block(self.fsblock).logical(self.offset)
    }
}

/// Judges a leaf. None where `xfs_repair` would clear the attributes.
pub(crate) fn judge(rules: &Rules, block: &Block<'_>, sink: &mut impl Sink) -> Option<Leaf> {
    let (v5, bytes) = (rules.geometry.v5, block.bytes);
    // A verifier that finds a wrong checksum looks no further.
    let summed = !v5 || checksum::is_right(bytes, checksum::DA);
    if v5 {
        header(rules, block, summed, sink)?;
    }
    if block.offset == 0 {
        if summed && let Some(why) = refused(v5, bytes) {
            sink.find(block.about(&ATTR_ROOT_BAD).note(why));
            return None;
        }
        if da::forw(bytes) != 0 || da::back(bytes) != 0 {
            let found = format!("{}, {}", da::back(bytes), da::forw(bytes));
            sink.find(block.about(&ATTR_ROOT_LINKS).found(found));
        }
    }
    let head = attribute::head(v5, bytes).ok()?;
    let count = usize::from(head.count.get());
    if count == 0 {
        let problem = if block.offset == 0 {
            &ATTR_LEAF_EMPTY0
        } else {
            &ATTR_LEAF_COUNT
        };
        sink.find(block.about(problem).found(0_u64));
        return (block.offset == 0).then(Leaf::default);
    }
    if count > attribute::room(v5, bytes.len()) {
        sink.find(block.about(&ATTR_LEAF_COUNT).found(count as u64));
        return None;
    }
    let mut walk = Walk {
        rules,
        block,
        used: Used::new(bytes.len()),
        bytes_used: 0,
        first: bytes.len(),
        last: None,
        before: None,
        leaf: Leaf::default(),
    };
    walk.used.take(0, attribute::header(v5));
    for nth in 0..count {
        walk.entry(nth, sink)?;
    }
    walk.end(head, sink);
    walk.leaf.count = count as u16;
    Some(walk.leaf)
}

/// Checksum, block number, UUID and owner. Of block 0 `xfs_repair` looks at the last three.
fn header(rules: &Rules, block: &Block<'_>, summed: bool, sink: &mut impl Sink) -> Option<()> {
    let bytes = block.bytes;
    if !summed {
        sink.own(block.about(&ATTR_LEAF_CRC));
    }
    let head = BlockInfo::read(bytes).ok()?;
    sink.lsn(head.lsn.get());
    let (daddr, uuid) = (rules.geometry.daddr(block.fsblock), rules.geometry.uuid);
    let wrong = [
        (head.blkno.get() != daddr, "block number", &ATTR_BLKNO),
        (head.uuid != uuid, "UUID", &ATTR_UUID),
    ];
    for (is_wrong, what, problem) in wrong {
        if !is_wrong {
            continue;
        }
        if block.offset == 0 {
            let problem = if summed { &ATTR_ROOT_BAD } else { problem };
            sink.find(block.about(problem).note(what));
            return None;
        }
        sink.own(block.about(&ATTR_LEAF_OWNER).note(what));
    }
    if head.owner.get() != block.ino {
        if block.offset == 0 {
            let finding = block.about(&ATTR_OWNER).found(head.owner.get());
            sink.find(finding.expected(block.ino));
            return None;
        }
        sink.own(block.about(&ATTR_LEAF_OWNER).note("owner"));
    }
    Some(())
}

/// Why the verifier refuses a leaf (`xfs_attr3_leaf_verify`).
fn refused(v5: bool, bytes: &[u8]) -> Option<&'static str> {
    let head = attribute::head(v5, bytes).ok()?;
    let (size, start) = (bytes.len(), attribute::header(v5));
    let count = usize::from(head.count.get());
    let first = first_used(head.firstused.get(), size);
    if first > size || first < start {
        return Some("first used byte");
    }
    if start + count * LeafEntry::SIZE > first {
        return Some("entries reach into the names");
    }
    let mut last = 0;
    for nth in 0..count {
        let entry = attribute::entry(v5, bytes, nth)?;
        let (hash, at) = (entry.hashval.get(), usize::from(entry.nameidx.get()));
        if hash < last {
            return Some("hashes are not ascending");
        }
        last = hash;
        if at < first || at >= size {
            return Some("place of a name");
        }
        let local = entry.flags & flag::LOCAL != 0;
        match attribute::name(bytes, at, local) {
            None => return Some("a name ends after the block"),
            Some(name) if name.name().is_empty() => return Some("a name is empty"),
            Some(name) if at + name.size() > size => return Some("a name ends after the block"),
            Some(Name::Remote { block: 0, .. }) if entry.flags & flag::INCOMPLETE == 0 => {
                return Some("a value has no block");
            }
            Some(_) => {}
        }
    }
    let odd = |value: usize| value > size || value & 3 != 0;
    let bad = head.freemap.iter().any(|[base, length]| {
        let (base, length) = (usize::from(base.get()), usize::from(length.get()));
        odd(base) || odd(length) || base + length > size
    });
    bad.then_some("free map")
}

fn first_used(stored: u16, size: usize) -> usize {
    if stored == 0 { size } else { stored.into() }
}

/// The hash of an attribute's name. That of a parent pointer, whose value begins with the inode of the parent, has both halves of it.
fn hash_of(rules: &Rules, flags: u8, name: &Name<'_>) -> u32 {
    match name {
        Name::Local { name, value } if rules.parents && flags & flag::PARENT != 0 => {
            hash::name(name) ^ be32(value, 0) ^ be32(value, 4)
        }
        _ => hash::name(name.name()),
    }
}

/// Bytes of a block that are used.
struct Used(Vec<bool>);

impl Used {
    fn new(size: usize) -> Used {
        Used(vec![false; size])
    }

    /// Takes bytes; whether they are in the block and none was taken before.
    fn take(&mut self, from: usize, to: usize) -> bool {
        let Some(bytes) = self.0.get_mut(from..to) else {
            return false;
        };
        let free = bytes.iter().all(|used| !used);
        bytes.fill(true);
        free
    }
}

struct Walk<'a> {
    rules: &'a Rules,
    block: &'a Block<'a>,
    used: Used,
    bytes_used: usize,
    first: usize,
    last: Option<u32>,
    before: Option<(u32, u8, &'a [u8])>,
    leaf: Leaf,
}

impl<'a> Walk<'a> {
    /// Judges an entry and its name. None where `xfs_repair` would clear the attributes.
    fn entry(&mut self, nth: usize, sink: &mut impl Sink) -> Option<()> {
        let (v5, block) = (self.rules.geometry.v5, self.block);
        let about = |problem| block.about(problem).offset(nth);
        let entry = attribute::entry(v5, block.bytes, nth)?;
        let (at, hash) = (usize::from(entry.nameidx.get()), entry.hashval.get());
        if at > block.bytes.len() {
            sink.find(about(&ATTR_LEAF_INDEX).found(at as u64));
            return None;
        }
        if entry.flags & flag::INCOMPLETE != 0 {
            sink.find(about(&ATTR_LEAF_INCOMPLETE));
            return None;
        }
        let place = attribute::header(v5) + nth * LeafEntry::SIZE;
        if !self.used.take(place, place + LeafEntry::SIZE) {
            sink.find(about(&ATTR_LEAF_ENTRY_SPACE));
            return None;
        }
        let local = entry.flags & flag::LOCAL != 0;
        let Some(name) = attribute::name(block.bytes, at, local) else {
            sink.find(about(&ATTR_LEAF_NAME_SPACE));
            return None;
        };
        self.name(nth, *entry, &name, sink)?;
        if !self.used.take(at, at + name.size()) {
            sink.find(about(&ATTR_LEAF_NAME_SPACE));
            return None;
        }
        if self.last.is_none() {
            self.leaf.hashes.0 = hash;
        }
        self.leaf.hashes.1 = hash;
        self.last = Some(hash);
        self.bytes_used += name.size();
        self.first = self.first.min(at);
        Some(())
    }

    fn name(
        &mut self,
        nth: usize,
        entry: LeafEntry,
        name: &Name<'a>,
        sink: &mut impl Sink,
    ) -> Option<()> {
        let bytes: &'a [u8] = match name {
            Name::Local { name, .. } | Name::Remote { name, .. } => name,
        };
        let about = |problem| self.block.about(problem).offset(nth).name(bytes);
        let hash = entry.hashval.get();
        let named = is_name(bytes);
        let right = hash_of(self.rules, entry.flags, name);
        let hashed = right == hash && self.last.is_none_or(|last| last <= hash);
        match name {
            Name::Local { value, .. } => {
                if !named {
                    sink.find(about(&ATTR_NAME));
                    return None;
                }
                if !hashed {
                    let expected = format!("0x{right:08x}");
                    let finding = about(&ATTR_HASH).found(format!("0x{hash:08x}"));
                    sink.find(finding.expected(expected));
                    return None;
                }
                if entry.flags & flag::ROOT != 0
                    && let Some(problem) = value::fault(self.rules, bytes, value)
                {
                    sink.find(about(problem));
                    return None;
                }
            }
            Name::Remote { block, length, .. } => {
                if !named || !hashed || *block == 0 {
                    sink.find(about(&ATTR_RMT_ENTRY));
                    return None;
                }
                self.leaf.remote.push(Remote {
                    block: *block,
                    length: *length,
                });
            }
        }
        let space = entry.flags & !(flag::LOCAL | flag::INCOMPLETE);
        if !is_one_space(self.rules, entry.flags) {
            sink.own(about(&ATTR_FLAGS).found(u64::from(entry.flags)));
        }
        if self.before == Some((hash, space, bytes)) {
            sink.own(about(&ATTR_DUP));
        }
        self.before = Some((hash, space, bytes));
        Some(())
    }

    /// What the head says against what was found.
    fn end(&mut self, head: &attribute::LeafHead, sink: &mut impl Sink) {
        let first = first_used(head.firstused.get(), self.block.bytes.len());
        if head.holes == 0 && first != self.first || first > self.first {
            let finding = self.block.about(&ATTR_LEAF_FIRST).found(first as u64);
            sink.find(finding.expected(self.first as u64));
        }
        if usize::from(head.usedbytes.get()) != self.bytes_used {
            let finding = self.block.about(&ATTR_LEAF_USED);
            let finding = finding.found(head.usedbytes.get());
            sink.find(finding.expected(self.bytes_used as u64));
        }
        let overlaps = head.freemap.iter().any(|[base, length]| {
            let (base, length) = (usize::from(base.get()), usize::from(length.get()));
            let bytes = self.used.0.get(base..base + length);
            bytes.is_none_or(|bytes| bytes.contains(&true))
        });
        if overlaps {
            sink.own(self.block.about(&ATTR_FREEMAP));
        }
    }
}

#[cfg(test)]
mod tests;
