//! Extent trees.
//!
//! A tree is walked depth first, in the order of its entries, because what is right for an extent depends on the one before it.
//! Where an entry is wrong the reference asks whether to clear it; the answer is no, and it goes on with the next, so
//! what hangs below is neither claimed nor looked at.

use ondisk::ext4::extent::{Extent, Index};
use ondisk::ext4::inode::{flag, number};

use super::walk::{Head, Item, LEVELS, Stuck, Walk, entry, node_checksum_matches};
use super::worker::Worker;
use crate::ext4::e2fsck::problems::{
    P1_COLLAPSE_DBLOCK, P1_CRITICAL_METADATA_COLLISION, P1_EXTENT_BAD_MAX_DEPTH,
    P1_EXTENT_BAD_START_BLK, P1_EXTENT_COLLISION, P1_EXTENT_END_OUT_OF_BOUNDS,
    P1_EXTENT_ENDS_BEYOND, P1_EXTENT_HEADER_INVALID, P1_EXTENT_INDEX_START_INVALID,
    P1_EXTENT_ITERATE_FAILURE, P1_EXTENT_LENGTH_ZERO, P1_EXTENT_ONLY_CSUM_INVALID, P1_INODE_TOOBIG,
    P1_MISALIGNED_CLUSTER, P1_MISSING_EXTENT_HEADER, P1_OUT_OF_ORDER_EXTENTS, P1_TOOBIG_DIR,
    P1_UNINIT_DBLOCK, P1E_CAN_COLLAPSE_EXTENT_TREE, P1E_CAN_NARROW_EXTENT_TREE,
};
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;

/// Levels that are followed, whatever a root contains: the stack is bounded, too.
const DEEPEST: u16 = 64;

/// One entry, of a leaf or above, with what e2fsck's library derives for it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    logical: u64,
    len: u64,
    block: u64,
    unwritten: bool,
    leaf: bool,
}

impl Entry {
    /// The last logical block it covers.
    fn last(&self) -> u64 {
        (self.logical + self.len).wrapping_sub(1)
    }
}

/// A node, and what is expected of it.
struct Node<'n> {
    bytes: &'n [u8],
    head: Head,
    level: u16,
    /// Where its entries may begin.
    start: u64,
    /// The last block they may cover; 0: no bound.
    last: u64,
    /// The block after those that its entries cover (`end_blk`).
    end: u64,
    /// Its block, 0 for the root.
    block: u64,
    /// The node that names it.
    above: Option<&'n Node<'n>>,
    /// It is not on top of metadata, where nothing would be repaired.
    repairs: bool,
    bad_checksum: bool,
}

/// What all nodes of a tree share.
struct Tree {
    depth: u16,
    eof: u64,
}

impl Node<'_> {
    fn entry(&self, nth: usize, depth: u16) -> Option<Entry> {
        let bytes = entry(self.bytes, nth)?;
        if self.level >= depth {
            let extent = Extent::of_entry(bytes);
            return Some(Entry {
                logical: extent.block.into(),
                len: extent.len.into(),
                block: extent.start,
                unwritten: extent.unwritten,
                leaf: true,
            });
        }
        let index = Index::of_entry(bytes);
        let end = self.end_of(nth);
        Some(Entry {
            logical: index.block.into(),
            len: u64::from(end.wrapping_sub(index.block.into()) as u32),
            block: index.leaf,
            unwritten: false,
            leaf: false,
        })
    }

    /// Whether that block is this node, or one above it.
    fn is_below(&self, block: u64) -> bool {
        let nodes = std::iter::successors(Some(self), |node| node.above);
        nodes.map(|node| node.block).any(|above| above == block)
    }

    /// Where the subtree of an entry ends: where the next one begins.
    fn end_of(&self, nth: usize) -> u64 {
        let next = (nth + 1 < usize::from(self.head.entries)).then(|| entry(self.bytes, nth + 1));
        next.flatten()
            .map_or(self.end, |next| Index::of_entry(next).block.into())
    }
}

impl Worker<'_> {
    /// Walks the tree of an inode.
    pub(super) fn walk_extents(&mut self, item: &Item<'_>, walk: &mut Walk) {
        let root = &item.inode.raw().i_block;
        let Some(head) = Head::of(root) else {
            self.add(item, Finding::new(&P1_MISSING_EXTENT_HEADER));
            return;
        };
        let depth = usize::from(head.depth).min(5);
        self.statistics.extent_depth[depth] += 1;
        let deepest = deepest_needed(self.maps.volume.block_size());
        if head.depth > deepest {
            let finding = Finding::new(&P1_EXTENT_BAD_MAX_DEPTH);
            self.add(item, finding.found(head.depth).expected(deepest));
        }
        let size = item.inode.size();
        let end = size.div_ceil(self.maps.volume.block_size() as u64);
        let tree = Tree {
            depth: head.depth,
            eof: end.wrapping_sub(1),
        };
        let node = Node {
            bytes: root,
            head,
            level: 0,
            start: 0,
            last: 0,
            end,
            block: 0,
            above: None,
            repairs: true,
            bad_checksum: false,
        };
        if let Err(stuck) = self.walk_node(item, walk, &tree, &node) {
            if !stuck.is_ours() {
                let finding = Finding::new(&P1_EXTENT_ITERATE_FAILURE);
                self.add(item, finding.note(stuck.to_string()));
            }
            walk.stuck = Some(stuck);
        }
        self.judge_shape(item, walk, head.depth);
    }

    fn walk_node(
        &mut self,
        item: &Item<'_>,
        walk: &mut Walk,
        tree: &Tree,
        node: &Node<'_>,
    ) -> Result<(), Stuck> {
        if let Some((used, room)) = walk.levels.get_mut(usize::from(node.level)) {
            *used += u64::from(node.head.entries);
            *room += u64::from(node.head.max);
            // A node that was split when it was appended to keeps one entry free.
            if node.level > 0 && node.head.entries < node.head.max {
                *room -= 1;
            }
        }
        let mut start = node.start;
        for nth in 0..usize::from(node.head.entries) {
            let Some(entry) = node.entry(nth, tree.depth) else {
                break;
            };
            if entry.leaf && entry.logical == 0 && entry.len > 0 && walk.first.is_none() {
                walk.first = Some(entry.block);
            }
            let problem = self.judge_entry(item, walk, tree, node, start, &entry);
            if let Some(problem) = problem
                && node.repairs
            {
                self.report_entry(item, walk, problem, node, nth, &entry);
                continue;
            }
            if entry.leaf {
                if problem.is_none() && entry.unwritten && item.is_dir && node.repairs {
                    let finding = Finding::new(&P1_UNINIT_DBLOCK);
                    self.add(item, finding.block(entry.block).logical(entry.logical));
                }
                self.take_extent(item, walk, node, &entry);
                if walk.unlisted {
                    return Err(Stuck::Unlisted);
                }
                start = entry.last();
            } else {
                self.descend(item, walk, tree, node, nth, &entry)?;
            }
        }
        if node.bad_checksum {
            let finding = Finding::new(&P1_EXTENT_ONLY_CSUM_INVALID).block(node.block);
            self.add(item, finding);
        }
        Ok(())
    }

    /// The first thing that is wrong with an entry.
    fn judge_entry(
        &self,
        item: &Item<'_>,
        walk: &mut Walk,
        tree: &Tree,
        node: &Node<'_>,
        start: u64,
        entry: &Entry,
    ) -> Option<&'static Problem> {
        let volume = self.maps.volume;
        let last = entry.last();
        let past_end = entry.unwritten || item.inode.has_flags(flag::VERITY);
        let allowed = last > tree.eof && past_end;
        if entry.block == 0 || !self.maps.is_legal(entry.block) {
            return Some(&P1_EXTENT_BAD_START_BLK);
        }
        if entry.logical < start {
            return Some(&P1_OUT_OF_ORDER_EXTENTS);
        }
        if node.last != 0 && last > node.last && !allowed {
            return Some(&P1_EXTENT_END_OUT_OF_BOUNDS);
        }
        if !entry.leaf {
            return None;
        }
        if entry.len == 0 {
            return Some(&P1_EXTENT_LENGTH_ZERO);
        }
        if entry.block + entry.len > volume.geometry.blocks_count {
            return Some(&P1_EXTENT_ENDS_BEYOND);
        }
        let limit = (1_u64 << 31) / u64::from(volume.geometry.block_size);
        let short = item.inode.raw().i_size_high.get() == 0 && !self.maps.features.large_dir;
        if item.is_dir && short && entry.logical + entry.len > limit {
            return Some(&P1_TOOBIG_DIR);
        }
        if entry.logical < walk.next {
            return Some(&P1_EXTENT_COLLISION);
        }
        walk.next = entry.logical + entry.len;
        None
    }

    fn report_entry(
        &mut self,
        item: &Item<'_>,
        walk: &mut Walk,
        problem: &'static Problem,
        node: &Node<'_>,
        nth: usize,
        entry: &Entry,
    ) {
        if problem.code == P1_TOOBIG_DIR.code && !walk.asked_too_big {
            walk.asked_too_big = true;
            self.add(item, Finding::new(&P1_INODE_TOOBIG));
        }
        let place = match node.block {
            0 => format!("entry {nth} of the root"),
            block => format!("entry {nth} of the node in block {block}"),
        };
        let finding = Finding::new(problem)
            .block(entry.block)
            .logical(entry.logical)
            .found(entry.len)
            .note(place);
        self.add(item, finding);
    }

    /// Goes into the node below an index.
    fn descend(
        &mut self,
        item: &Item<'_>,
        walk: &mut Walk,
        tree: &Tree,
        node: &Node<'_>,
        nth: usize,
        entry: &Entry,
    ) -> Result<(), Stuck> {
        if !self.maps.spend() || node.level >= DEEPEST || self.maps.volume.guard.is_full() {
            return Err(Stuck::Endless);
        }
        let collides = item.ino != number::RESIZE && self.maps.metadata.contains(entry.block);
        if collides {
            let finding = Finding::new(&P1_CRITICAL_METADATA_COLLISION);
            self.add(item, finding.block(entry.block));
        }
        if node.is_below(entry.block) {
            return Err(Stuck::Round(entry.block));
        }
        let siblings = (nth..usize::from(node.head.entries))
            .filter_map(|next| super::walk::entry(node.bytes, next))
            .map(|bytes| Index::of_entry(bytes).leaf);
        let level = usize::from(node.level);
        let bytes = self.nodes.read(level, entry.block, siblings);
        let bytes = bytes.map_err(Stuck::Unread)?;
        let done = self.enter(item, walk, tree, node, nth, entry, &bytes, !collides);
        self.nodes.give_back(bytes);
        done
    }

    #[allow(clippy::too_many_arguments)] // The walk's state, and one node of it.
    fn enter(
        &mut self,
        item: &Item<'_>,
        walk: &mut Walk,
        tree: &Tree,
        node: &Node<'_>,
        nth: usize,
        entry: &Entry,
        bytes: &[u8],
        repairs: bool,
    ) -> Result<(), Stuck> {
        let Some(head) = Head::of(bytes) else {
            if !repairs {
                return Err(Stuck::NoNode(entry.block));
            }
            self.report_entry(item, walk, &P1_EXTENT_HEADER_INVALID, node, nth, entry);
            return Ok(());
        };
        // The reference's library steps down to a first entry, and a node without one is a way that ends.
        if head.entries == 0 {
            return Err(Stuck::NoNode(entry.block));
        }
        let first =
            super::walk::entry(bytes, 0).map_or(0, |first| u64::from(Index::of_entry(first).block));
        if first != entry.logical {
            let finding = Finding::new(&P1_EXTENT_INDEX_START_INVALID);
            let finding = finding.block(entry.block).logical(entry.logical);
            self.add(item, finding.found(entry.logical).expected(first));
        }
        let seed = self.maps.volume.seed;
        let seed = seed.map(|seed| item.inode.seed(seed, item.ino));
        // The reference's library asks the inode for its generation, and gets none where the inode's own checksum is wrong;
        // inodes of the old size it has at hand. The result for the node is dropped where the start was asked about.
        let unread = item.wrong && self.maps.volume.geometry.inode_size > 128;
        let bad_checksum =
            first == entry.logical && (unread || !node_checksum_matches(seed, bytes, head));
        let below = Node {
            bytes,
            head,
            level: node.level + 1,
            start: first,
            last: entry.last(),
            end: node.end_of(nth),
            block: entry.block,
            above: Some(node),
            repairs,
            bad_checksum,
        };
        let done = self.walk_node(item, walk, tree, &below);
        if done.as_ref().err().is_none_or(Stuck::is_ours) {
            self.maps.claim(entry.block);
            walk.blocks += 1;
            walk.cut += self.maps.cut(entry.block, entry.block + 1);
        }
        done
    }

    /// Claims the blocks of an extent.
    fn take_extent(&mut self, item: &Item<'_>, walk: &mut Walk, node: &Node<'_>, entry: &Entry) {
        if walk.previous != 0 && walk.previous + 1 != entry.block {
            walk.fragmented = true;
        }
        let end = entry.block.saturating_add(entry.len);
        if item.is_dir {
            if node.repairs && walk.last.wrapping_add(1) < entry.logical {
                let finding = Finding::new(&P1_COLLAPSE_DBLOCK).block(entry.block);
                let expected = walk.last.wrapping_add(1);
                let finding = finding.logical(entry.logical).expected(expected);
                self.add(item, finding.found(entry.logical));
            }
            let inside =
                self.maps.is_legal(entry.block) && end <= self.maps.volume.geometry.blocks_count;
            if inside && self.maps.may_list(entry.len) {
                let (block, logical) = (entry.block, entry.logical);
                walk.list(&mut self.runs, item.ino, block, logical, entry.len);
            } else {
                walk.unlisted |= inside;
            }
        }
        if !entry.unwritten {
            walk.cut += self.maps.cut(entry.block, end);
        }
        let ratio = self.maps.ratio;
        if walk.is_misaligned(ratio, entry.block, entry.logical) {
            let finding = Finding::new(&P1_MISALIGNED_CLUSTER).block(entry.block);
            self.add(item, finding.logical(entry.logical).found(entry.len));
            for _ in 0..2 {
                self.maps.claim_run(entry.block / ratio * ratio, end);
            }
        }
        let cluster = entry.block / ratio;
        let begun = ratio > 1 && walk.previous != 0 && cluster == walk.previous / ratio;
        let from = (cluster + u64::from(begun)) * ratio;
        if from < end {
            self.maps.claim_run(from, end);
            walk.blocks += (end - from).div_ceil(ratio);
        }
        walk.previous = end.wrapping_sub(1);
        walk.last = entry.last();
        if !item.is_dir && !entry.unwritten {
            walk.last_written = entry.last() as i64;
        }
    }

    /// Whether the tree could be smaller, which needs no action.
    fn judge_shape(&mut self, item: &Item<'_>, walk: &Walk, depth: u16) {
        let room = (self.maps.volume.block_size() as u64 - 12) / 12;
        let levels = &walk.levels[..LEVELS.min(usize::from(depth) + 1)];
        for (nth, (used, max)) in levels.iter().enumerate() {
            let problem = if max.saturating_sub(*used) > room {
                &P1E_CAN_NARROW_EXTENT_TREE
            } else if levels[..nth].iter().any(|(_, above)| used < above) {
                &P1E_CAN_COLLAPSE_EXTENT_TREE
            } else {
                continue;
            };
            let finding = Finding::new(problem).found(*used).expected(*max);
            self.add(item, finding.note(format!("level {nth}")));
            return;
        }
    }
}

/// Levels of indexes that 2^32 blocks need at most.
fn deepest_needed(block_size: usize) -> u16 {
    let log = |number: usize| number.max(2).ilog2();
    (1 + (31 - log(4)) / log((block_size - 12) / 12)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_need_no_more_levels() {
        let found: Vec<u16> = [1024, 2048, 4096, 65536].map(deepest_needed).to_vec();
        assert_eq!(found, [5, 5, 4, 3]);
    }

    #[test]
    fn the_last_block_of_nothing_is_the_one_before() {
        let entry = Entry {
            logical: 7,
            len: 0,
            block: 1,
            unwritten: false,
            leaf: true,
        };
        assert_eq!(entry.last(), 6);
    }
}
