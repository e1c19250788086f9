//! Inode 1, the list of bad blocks.
//!
//! It is looked at before all others, because what it lists is taken from all other owners: a listed block that is still free is marked, one that
//! belongs to the filesystem itself is a finding, and inodes on a listed block of their table are not looked at.

use std::ops::Range;

use ondisk::ext4::Inode;
use ondisk::ext4::inode::{flag, number};

use super::iterate::iterate;
use super::map::Role;
use super::maps::Maps;
use super::walk::Item;
use super::worker::{self, Worker};
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P1_BAD_GROUP_DESCRIPTORS, P1_BAD_PRIMARY_BLOCK, P1_BAD_PRIMARY_BLOCK_PROMPT,
    P1_BAD_PRIMARY_GROUP_DESCRIPTOR, P1_BAD_PRIMARY_SUPERBLOCK, P1_BAD_SUPERBLOCK,
    P1_BADBLOCKS_IN_BADBLOCKS, P1_BB_BAD_BLOCK, P1_BB_FS_BLOCK, P1_BB_ILLEGAL_BLOCK_NUM,
    P1_BBINODE_BAD_METABLOCK, P1_BBINODE_BAD_METABLOCK_PROMPT, P1_BLOCK_ITERATE, P1_IB_BAD_BLOCK,
    P1_INODE_BBLOCK_LATCH, P1_INVALID_BAD_INODE, P1_PROGERR_CLAIMED_BLOCK,
};
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;

/// Listed blocks that are looked at, each as often as it is listed.
const MOST: u64 = 1 << 22;
/// Different ones, about, that are kept to be held against the inode tables. A disk with as many is no disk any more.
const KEPT: usize = 1 << 18;
/// Groups that are searched for the owners of listed blocks, over all blocks.
const SEARCHED: u64 = 1 << 30;

/// Reads the block of inode 1; none where the table is not in use or cannot be read.
pub(super) fn first_block(maps: &Maps<'_>) -> Option<(u64, Vec<u8>)> {
    let volume = maps.volume;
    let table = super::plan::table(volume, 0)?;
    let mut bytes = vec![0; volume.block_size()];
    let at = table.first_block * volume.block_size() as u64;
    volume.source.read_at(&mut bytes, at).ok()?;
    Some((table.first_block, bytes))
}

/// The blocks that inode 1 lists.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Ascending, each once; illegal ones are left out.
    pub(super) blocks: Vec<u64>,
    /// How many were looked at.
    looked: u64,
    /// There is no room for more.
    full: bool,
    /// Some were left out for that reason.
    cut: bool,
}

impl Listed {
    fn take(&mut self, blocks: Range<u64>) {
        let wanted = blocks.end.saturating_sub(blocks.start);
        let before = self.looked;
        for block in blocks {
            if self.full || self.looked == MOST {
                break;
            }
            self.looked += 1;
            self.blocks.push(block);
            // As many again have come since the last time, so that repeats cost no more than others.
            if self.blocks.len() >= 2 * KEPT {
                self.settle();
                self.full = self.blocks.len() >= KEPT;
            }
        }
        self.cut |= self.looked - before < wanted;
    }

    fn settle(&mut self) {
        self.blocks.sort_unstable();
        self.blocks.dedup();
    }

    /// The note where not all were checked.
    pub(super) fn judge(&self, log: &mut Log) {
        if self.cut {
            let note = format!(
                "more blocks are listed than are looked at: {} of {} different ones are held against the inode tables",
                self.looked,
                self.blocks.len()
            );
            let finding = Finding::new(&P1_BLOCK_ITERATE).inode(number::BAD);
            log.add(finding.note(note).beyond_reference());
        }
    }
}

/// What inode 1 lists.
pub(super) fn listed(maps: &Maps<'_>, bytes: &[u8]) -> Listed {
    let volume = maps.volume;
    let mut listed = Listed::default();
    let Ok(inode) = Inode::read(bytes, volume.geometry.inode_size) else {
        return listed;
    };
    let (first, end_of_blocks) = (
        u64::from(volume.geometry.first_data_block),
        volume.geometry.blocks_count,
    );
    let wrong = !super::inode::is_zero(inode.bytes())
        && volume
            .seed
            .is_some_and(|seed| !inode.checksum(seed, number::BAD).matches());
    if !wrong && !inode.has_flags(flag::INLINE_DATA) {
        iterate(
            maps,
            &mut worker::nodes(volume),
            number::BAD,
            &inode,
            &mut |role, block, len| {
                let end = block.saturating_add(len).min(end_of_blocks);
                if matches!(role, Role::Data(_)) {
                    listed.take(block.max(first)..end);
                }
            },
        );
    }
    listed.settle();
    listed
}

/// What is asked of the list while its blocks are looked at.
struct Listing<'i> {
    item: Item<'i>,
    /// The question about all of it has been asked.
    asked: bool,
    /// A block of pointers is itself in trouble.
    ruined: bool,
    searched: u64,
}

impl Worker<'_> {
    /// Checks inode 1 in the block of its table.
    pub(super) fn check_bad_blocks(&mut self, block: u64, bytes: &[u8]) {
        let size = self.maps.volume.geometry.inode_size;
        let Ok(inode) = Inode::read(bytes, size) else {
            return;
        };
        let item = Item::new(number::BAD, inode, false);
        if self.listed.binary_search(&block).is_ok() {
            self.add(&item, Finding::new(&P1_BADBLOCKS_IN_BADBLOCKS).block(block));
            self.on_bad_blocks.push(item.ino);
            self.mark_used(item.ino);
            return;
        }
        let seed = self.maps.volume.seed;
        let wrong = !super::inode::is_zero(inode.bytes())
            && seed.is_some_and(|seed| !inode.checksum(seed, item.ino).matches());
        self.check_inode(item.ino, inode, wrong, self.is_garbage(bytes));
    }

    /// Whether more than half of a block's inodes look odd.
    fn is_garbage(&self, bytes: &[u8]) -> bool {
        let size = self.maps.volume.geometry.inode_size;
        let slots = bytes.chunks_exact(size.into());
        let of_block = slots.len();
        let odd = (1..)
            .zip(slots)
            .filter_map(|(ino, slot)| Some((ino, Inode::read(slot, size).ok()?)))
            .filter(|(ino, inode)| {
                let seed = self.maps.volume.seed;
                !super::inode::is_zero(inode.bytes())
                    && (seed.is_some_and(|seed| !inode.checksum(seed, *ino).matches())
                        || self.looks_odd(inode))
            });
        of_block >= 2 && odd.count() > of_block / 2
    }

    /// What is particular to it, and its blocks.
    pub(super) fn check_list(&mut self, item: &Item<'_>, wrong: bool) {
        let raw = item.inode.raw();
        let inline = item.inode.has_flags(flag::INLINE_DATA);
        let odd = wrong
            || raw.i_mode.get() != 0
            || raw.i_uid.get() != 0
            || raw.i_gid.get() != 0
            || raw.i_links_count.get() != 0
            || inline
            || raw.i_file_acl_lo.get() != 0;
        if odd {
            self.add(item, Finding::new(&P1_INVALID_BAD_INODE));
        }
        let mut listing = Listing {
            item: *item,
            asked: false,
            ruined: false,
            searched: 0,
        };
        let unread = match (inline, wrong) {
            (true, _) => Some("the list of bad blocks is inline data"),
            (_, true) => Some("the checksum of the list of bad blocks is wrong"),
            _ => None,
        };
        let stuck = if let Some(why) = unread {
            Some(why.to_owned())
        } else {
            // The list is judged while it is walked: an extent of twelve bytes lists 32,768 blocks.
            let (maps, ino) = (self.maps, item.ino);
            let mut nodes = worker::nodes(maps.volume);
            let mut left = MOST;
            let mut each = |role, block: u64, len: u64| {
                let len = len.min(left);
                for nth in 0..len {
                    self.check_listed(&mut listing, role, block.saturating_add(nth));
                }
                left -= len;
            };
            let stuck = iterate(maps, &mut nodes, ino, &item.inode, &mut each);
            stuck.map(|stuck| stuck.to_string())
        };
        if let Some(stuck) = stuck {
            let finding = Finding::new(&P1_BLOCK_ITERATE).note(stuck);
            self.add(item, finding);
        }
        if listing.ruined {
            let finding = Finding::new(&P1_BBINODE_BAD_METABLOCK_PROMPT);
            self.add(item, finding);
        }
        self.mark_used(item.ino);
        self.judge_checksum(item, wrong);
    }

    fn check_listed(&mut self, listing: &mut Listing<'_>, role: Role, block: u64) {
        if block == 0 {
            return;
        }
        let Some(cluster) = self.maps.cluster(block) else {
            self.ask(listing, &P1_BB_ILLEGAL_BLOCK_NUM, block);
            return;
        };
        let found = self.maps.blocks.get(cluster);
        if matches!(role, Role::Node(_)) {
            if self.maps.metadata.contains(block) {
                listing.ruined = true;
                self.ask(listing, &P1_BB_FS_BLOCK, block);
            } else if found {
                listing.ruined = true;
                self.ask(listing, &P1_BBINODE_BAD_METABLOCK, block);
            } else {
                self.maps.claim(block);
            }
            return;
        }
        self.statistics.bad_blocks += 1;
        if !found {
            self.maps.claim(block);
            return;
        }
        self.find_owner(listing, block);
    }

    /// Asks the question about the whole list, once, and reports what is wrong.
    fn ask(&mut self, listing: &mut Listing<'_>, problem: &'static Problem, block: u64) {
        if !std::mem::replace(&mut listing.asked, true) {
            self.add(&listing.item, Finding::new(&P1_INODE_BBLOCK_LATCH));
        }
        self.add(&listing.item, Finding::new(problem).block(block));
    }

    /// Says what a listed block is of the filesystem itself.
    fn find_owner(&mut self, listing: &mut Listing<'_>, block: u64) {
        let volume = self.maps.volume;
        let geometry = &volume.geometry;
        listing.searched += u64::from(geometry.groups);
        let groups = match listing.searched {
            ..SEARCHED => geometry.groups,
            _ => 0,
        };
        let descriptors = u64::from(geometry.desc_blocks());
        let table = u64::from(geometry.inode_table_blocks());
        for group in 0..groups {
            let first = geometry.group_first_block(group);
            let add = |worker: &mut Self, problem| {
                let finding = Finding::new(problem).block(block).group(group);
                worker.add(&listing.item, finding);
            };
            if geometry.has_super(group) && (first..=first + descriptors).contains(&block) {
                match (block == first, group) {
                    (true, 0) => add(self, &P1_BAD_PRIMARY_SUPERBLOCK),
                    (false, 0) => add(self, &P1_BAD_PRIMARY_GROUP_DESCRIPTOR),
                    (true, _) => return add(self, &P1_BAD_SUPERBLOCK),
                    (false, _) => return add(self, &P1_BAD_GROUP_DESCRIPTORS),
                }
                add(self, &P1_BAD_PRIMARY_BLOCK);
                return add(self, &P1_BAD_PRIMARY_BLOCK_PROMPT);
            }
            let Some(descriptor) = volume.descriptors.get(group as usize) else {
                break;
            };
            if block == descriptor.block_bitmap() {
                return add(self, &P1_BB_BAD_BLOCK);
            }
            if block == descriptor.inode_bitmap() {
                return add(self, &P1_IB_BAD_BLOCK);
            }
            let start = descriptor.inode_table();
            if (start..start.saturating_add(table)).contains(&block) {
                return;
            }
        }
        let pointers = &listing.item.inode.block_words()[12..];
        if pointers.iter().any(|pointer| u64::from(*pointer) == block) {
            listing.ruined = true;
            self.ask(listing, &P1_BBINODE_BAD_METABLOCK, block);
            return;
        }
        let finding = Finding::new(&P1_PROGERR_CLAIMED_BLOCK).block(block);
        self.add(&listing.item, finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sort for each repeat took a day where a map names its indirect blocks again and again.
    #[test]
    fn repeats_are_cheap() {
        let begun = std::time::Instant::now();
        let mut listed = Listed::default();
        let different = KEPT as u64 - 1;
        listed.take(100..100 + different);
        for nth in 0..3_000_000 {
            listed.take(200 + nth % 7..201 + nth % 7);
        }
        assert!(!listed.cut, "they were all looked at");
        listed.settle();
        assert!(listed.blocks.iter().copied().eq(100..100 + different));
        assert!(begun.elapsed() < testkit::HANGS, "{:?}", begun.elapsed());
        let mut log = Log::new(1);
        listed.judge(&mut log);
        assert_eq!(log.count(&P1_BLOCK_ITERATE), 0);
    }

    #[test]
    fn what_is_left_out_is_reported() {
        for (name, ranges) in [
            ("different ones", vec![(0, 1 << 40)]),
            ("repeats", vec![(7, 8); MOST as usize + 1]),
            ("many and one", vec![(0, 3 * KEPT as u64), (5, 6)]),
        ] {
            let mut listed = Listed::default();
            for (start, end) in ranges {
                listed.take(start..end);
            }
            listed.settle();
            assert!(listed.blocks.len() <= MOST as usize);
            let mut log = Log::new(1);
            listed.judge(&mut log);
            let findings = log.finish();
            assert_eq!(findings.list.len(), 1, "{name}");
            assert!(findings.list[0].beyond_reference, "{name}");
        }
    }
}
