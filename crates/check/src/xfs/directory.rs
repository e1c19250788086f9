//! Directories: in the inode, in blocks, their hash entries and the free index.
//!
//! A directory is sound if its names and its hash entries are the same set. Sorting them would take memory for all names of a directory.
//! Instead each pair of hash and address is hashed with a key, and the sum over the data blocks less the sum over the leaves is zero.
//! The largest free areas of data blocks against the tables of them are compared the same way.

pub(crate) mod data;
pub(crate) mod free;
pub(crate) mod leaf;
pub(crate) mod local;

use ondisk::xfs::checksum;
use ondisk::xfs::da::BlockInfo;
use ondisk::xfs::directory::BlockHeader;
use ondisk::xfs::hash;

use super::rules::Rules;
use super::sink::Sink;
use super::xfs_repair::problems::{DIR_BLKNO, DIR_OWNER, DIR_UUID};
use crate::Problem;
use crate::frame::finding::Finding;

/// A block of a directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    /// The directory.
    pub(crate) ino: u64,
    /// The block in the file, in blocks of the filesystem.
    pub(crate) offset: u64,
    /// The block of the filesystem.
    pub(crate) fsblock: u64,
    /// Its bytes.
    pub(crate) bytes: &'a [u8],
}

impl Block<'_> {
    /// A finding about it.
    pub(crate) fn about(&self, problem: &'static Problem) -> Finding {
        let finding = Finding::new(problem).inode(self.ino);
        finding.block(self.fsblock).logical(self.offset)
    }
}

/// The hash of a name in this filesystem.
pub(crate) fn hash_of(rules: &Rules, name: &[u8]) -> u32 {
    if rules.geometry.ascii_ci {
        hash::folded(name)
    } else {
        hash::name(name)
    }
}

/// Whether a name can be (`libxfs_dir2_namecheck`): no slash, no NUL.
pub(crate) fn is_name(name: &[u8]) -> bool {
    !name.iter().any(|byte| matches!(byte, 0 | b'/'))
}

/// The keyed hash of a pair: SplitMix64's finaliser (Steele, Lea, Flood, 2014).
pub(crate) fn pair(one: u32, other: u32) -> u64 {
    const KEY: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut mixed = (u64::from(one) << 32 | u64::from(other)).wrapping_add(KEY);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Hash entries, in their order, that lead to names which may be equal: those of one hash, stale ones between them or not.
#[derive(Debug, Default)]
pub(crate) struct Alike {
    /// Hash and address.
    list: Vec<(u32, u32)>,
    /// The last entry, and whether it is in the list.
    last: Option<((u32, u32), bool)>,
}

impl Alike {
    /// Takes the next entry that is not stale. `listed`: it goes to the list whether another has its hash or not.
    pub(crate) fn add(&mut self, hash: u32, address: u32, listed: bool) {
        let before = self.last.filter(|(before, _)| before.0 == hash);
        if let Some((before, false)) = before {
            self.list.push(before);
        }
        let listed = listed || before.is_some();
        if listed {
            self.list.push((hash, address));
        }
        self.last = Some(((hash, address), listed));
    }

    /// The list. `last`: the last entry goes to it whether another has its hash or not.
    pub(crate) fn finish(mut self, last: bool) -> Vec<(u32, u32)> {
        if let Some((entry, false)) = self.last.filter(|_| last) {
            self.list.push(entry);
        }
        self.list
    }
}

/// Judges the head of a data or free block of version 5. False where a part of it is wrong.
fn block_header(
    rules: &Rules,
    block: &Block<'_>,
    crc: &'static Problem,
    sink: &mut impl Sink,
) -> bool {
    if !checksum::is_right(block.bytes, checksum::DIRECTORY) {
        sink.find(block.about(crc));
    }
    let Ok(head) = BlockHeader::read(block.bytes) else {
        return false;
    };
    let head = (
        head.owner.get(),
        head.blkno.get(),
        head.uuid,
        head.lsn.get(),
    );
    header(rules, block, head, sink)
}

/// The same of a leaf or node.
fn leaf_header(
    rules: &Rules,
    block: &Block<'_>,
    crc: &'static Problem,
    sink: &mut impl Sink,
) -> bool {
    if !checksum::is_right(block.bytes, checksum::DA) {
        sink.find(block.about(crc).note("checksum"));
    }
    let Ok(head) = BlockInfo::read(block.bytes) else {
        return false;
    };
    let head = (
        head.owner.get(),
        head.blkno.get(),
        head.uuid,
        head.lsn.get(),
    );
    header(rules, block, head, sink)
}

/// Owner, block number, UUID and log sequence number of a head.
fn header(
    rules: &Rules,
    block: &Block<'_>,
    (owner, blkno, uuid, lsn): (u64, u64, [u8; 16], u64),
    sink: &mut impl Sink,
) -> bool {
    sink.lsn(lsn);
    let daddr = rules.geometry.daddr(block.fsblock);
    if owner != block.ino {
        sink.find(block.about(&DIR_OWNER).found(owner).expected(block.ino));
    } else if blkno != daddr {
        sink.find(block.about(&DIR_BLKNO).found(blkno).expected(daddr));
    } else if uuid != rules.geometry.uuid {
        sink.find(block.about(&DIR_UUID));
    } else {
        return true;
    }
    false
}
