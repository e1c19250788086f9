//! Extent trees, as pass 1 judges them.

use ondisk::ocfs2::dinode::dynamic;
use ondisk::ocfs2::extent::{BLOCK_LIST, ExtentHead, REFCOUNTED, UNWRITTEN, block_room};
use ondisk::ocfs2::{Dinode, ExtentBlock, ExtentList, ExtentRecord, feature};

use super::refcount_tree;
use super::sink::{self, Sink};
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::ocfs2::fsck_ocfs2::Exit;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{
    EB_BLKNO, EB_GEN, EB_GEN_FIX, EB_NEXT_LEAF, EXTENT_BLKNO_RANGE, EXTENT_BLKNO_UNALIGNED,
    EXTENT_CLUSTERS_OVERRUN, EXTENT_EB_INVALID, EXTENT_LIST_COUNT, EXTENT_LIST_DEPTH,
    EXTENT_LIST_FREE, EXTENT_MARKED_REFCOUNTED, EXTENT_MARKED_UNWRITTEN, EXTENT_ORDER,
    EXTENT_OVERLAP, NO_HOLES,
};
use crate::ocfs2::refused::Refused;
use crate::ocfs2::volume::{Volume, from, value};

/// Blocks of one tree that are visited at most: more than any sound tree has.
const MOST_BLOCKS: u64 = 1 << 22;

/// What the leaves of a tree map.
pub(super) enum Leaves {
    /// Clusters of an inode: file contents, an index, or attributes.
    Clusters,
    /// Blocks of reference counts of the tree with this root; the end of the last record so far.
    Counts {
        /// The root.
        root: u64,
        /// Where the last record ended, cluster.
        end: u64,
    },
}

/// A tree during its check.
pub(super) struct Tree<'a, 'v> {
    pub(super) volume: &'a Volume<'v>,
    pub(super) state: &'a mut dyn Sink,
    pub(super) log: &'a mut Log,
    /// The inode that the clusters belong to.
    pub(super) inode: Dinode,
    /// What findings name: the inode, or the block that holds the list.
    pub(super) owner: u64,
    /// Whether the extents may leave no holes.
    pub(super) no_holes: bool,
    pub(super) leaves: Leaves,
    /// Clusters of all leaf records.
    pub(super) clusters: u64,
    path: Vec<u64>,
    visited: u64,
    /// The leaf visited last and the one that it says comes next; none at the first one, and after one that was not visited.
    leaf: Option<(u64, u64)>,
}

impl<'a, 'v> Tree<'a, 'v> {
    pub(super) fn new(
        volume: &'a Volume<'v>,
        state: &'a mut dyn Sink,
        log: &'a mut Log,
        inode: &Dinode,
        leaves: Leaves,
    ) -> Self {
        Tree {
            volume,
            state,
            log,
            inode: *inode,
            owner: inode.i_blkno.get(),
            no_holes: false,
            leaves,
            clusters: 0,
            path: Vec::new(),
            visited: 0,
            leaf: None,
        }
    }

    fn at(&self, problem: &'static Problem) -> Finding {
        Finding::new(problem).inode(self.owner)
    }

    /// Enters a block of another kind, whose own list is judged next, from where `above` is.
    pub(super) fn follow(&mut self, block: u64, path: &[u64]) {
        self.path = path.to_vec();
        self.path.push(block);
    }

    /// The blocks that lead here.
    pub(super) fn path(&self) -> &[u64] {
        &self.path
    }

    /// Judges a list that has room for `room` records. `offset` is the sum of the lengths before it, `depth` what its parent expects.
    pub(super) fn list(&mut self, bytes: &[u8], room: usize, mut offset: u32, depth: Option<u16>) {
        let Ok(list) = ExtentList::read(bytes) else {
            return;
        };
        let listed: ExtentHead = *list.head();
        let own = listed.l_tree_depth.get();
        if let Some(depth) = depth.filter(|&depth| depth != own) {
            self.log
                .add(self.at(&EXTENT_LIST_DEPTH).found(own).expected(depth));
        }
        let (count, used) = (listed.l_count.get(), listed.l_next_free_rec.get());
        if usize::from(count) > room {
            self.log.add(
                self.at(&EXTENT_LIST_COUNT)
                    .found(count)
                    .expected(room as u64),
            );
        }
        let mut limit = room.min(count.into());
        if usize::from(used) > limit {
            self.log.add(
                self.at(&EXTENT_LIST_FREE)
                    .found(used)
                    .expected(limit as u64),
            );
        } else {
            limit = used.into();
        }
        let sparse = self.volume.sb.has_incompat(feature::SPARSE);
        let mut end = 0;
        for (at, record) in list.first(limit).enumerate() {
            let clusters = record.clusters_at(own);
            if sparse && own > 0 && at == 0 && clusters == 0 {
                self.leaf = None;
                continue;
            }
            let cpos = record.e_cpos.get();
            if cpos < end && cpos >= offset {
                // Holes before it hide this from fsck.ocfs2.
                self.log
                    .own(self.at(&EXTENT_ORDER).found(cpos).expected(end));
            }
            end = cpos.saturating_add(clusters);
            self.record(record, own, offset);
            offset = offset.wrapping_add(clusters);
            if self.volume.out_of_range(record.e_blkno.get()) {
                let finding = self
                    .at(&EXTENT_BLKNO_RANGE)
                    .logical(record.e_cpos.get().into());
                self.log.add(finding.found(record.e_blkno.get()));
            }
            if own == 0 {
                self.mark(record);
                self.clusters += u64::from(clusters);
            }
        }
        if depth.is_none()
            && let Some((last, next)) = self.leaf.take()
        {
            self.next_leaf(last, next, 0);
        }
    }

    /// Compares what a leaf says of the one after it.
    fn next_leaf(&mut self, leaf: u64, next: u64, expected: u64) {
        if next != expected {
            let finding = self.at(&EB_NEXT_LEAF).block(leaf);
            self.log.own(finding.found(next).expected(expected));
        }
    }

    fn record(&mut self, record: &ExtentRecord, depth: u16, offset: u32) {
        let block = record.e_blkno.get();
        if self.volume.out_of_range(block) {
            return;
        }
        let cpos = record.e_cpos.get();
        if self.no_holes && cpos != offset {
            self.log
                .add(self.at(&NO_HOLES).found(cpos).expected(offset));
        }
        if cpos < offset {
            self.log
                .add(self.at(&EXTENT_OVERLAP).found(cpos).expected(offset));
        }
        if depth > 0 {
            if !self.block(block, offset, depth - 1) {
                self.log.add(
                    self.at(&EXTENT_EB_INVALID)
                        .block(block)
                        .logical(cpos.into()),
                );
            }
            return;
        }
        match self.leaves {
            Leaves::Clusters => self.leaf(record),
            Leaves::Counts { root, mut end } => {
                refcount_tree::leaf(self, root, &mut end, block, offset);
                self.leaves = Leaves::Counts { root, end };
            }
        }
    }

    /// Judges an extent block; `false` where it has no signature.
    fn block(&mut self, number: u64, offset: u32, depth: u16) -> bool {
        if self.path.contains(&number) {
            // fsck.ocfs2 descends until its stack is full.
            let finding = self.at(&EXTENT_LIST_DEPTH).block(number);
            self.log
                .end(Exit::SEGMENT, finding.note("the block leads to itself"));
            return true;
        }
        self.visited += 1;
        if self.visited > MOST_BLOCKS {
            return true;
        }
        self.state.tree_block(number);
        let bytes = match self.volume.extent_block(number) {
            Ok(bytes) => bytes,
            Err(refused) => {
                self.leaf = None;
                return refused != Refused::Magic;
            }
        };
        let eb: ExtentBlock = value(ExtentBlock::read(&bytes));
        if eb.h_blkno.get() != number {
            self.log
                .add(self.at(&EB_BLKNO).block(number).found(eb.h_blkno.get()));
        }
        if eb.h_fs_generation.get() != self.volume.generation() {
            let finding = self
                .at(&EB_GEN)
                .block(number)
                .found(eb.h_fs_generation.get());
            self.log.add(finding.expected(self.volume.generation()));
            self.log.add(self.at(&EB_GEN_FIX).block(number));
        }
        let below: ExtentHead = value(ExtentHead::read(from(&bytes, BLOCK_LIST)));
        if below.l_tree_depth.get() == 0 {
            let before = self.leaf.replace((number, eb.h_next_leaf_blk.get()));
            if let Some((before, next)) = before {
                self.next_leaf(before, next, number);
            }
        }
        self.path.push(number);
        let room = block_room(self.volume.block_size());
        self.list(from(&bytes, BLOCK_LIST), room, offset, Some(depth));
        self.path.pop();
        true
    }

    /// A record that maps clusters.
    fn leaf(&mut self, record: &ExtentRecord) {
        let volume = self.volume;
        let at = |problem| Finding::new(problem).logical(record.e_cpos.get().into());
        let block = record.e_blkno.get();
        let aligned = volume.layout.block_of(volume.cluster_of(block).into());
        if aligned != block {
            let finding = at(&EXTENT_BLKNO_UNALIGNED).inode(self.owner);
            self.log.add(finding.found(block).expected(aligned));
        }
        let length = u32::from(record.leaf_clusters());
        let end = volume.cluster_of(block).wrapping_add(length);
        if end > volume.clusters() {
            let finding = at(&EXTENT_CLUSTERS_OVERRUN).inode(self.owner);
            self.log.add(finding.found(end).expected(volume.clusters()));
        }
        if record.flags() & UNWRITTEN != 0 && !volume.sb.has_ro_compat(feature::UNWRITTEN) {
            self.log.add(at(&EXTENT_MARKED_UNWRITTEN).inode(self.owner));
        }
        let shares = volume.sb.has_incompat(feature::REFCOUNT)
            && self.inode.has_dynamic(dynamic::HAS_REFCOUNT);
        if record.flags() & REFCOUNTED != 0 && !shares {
            self.log
                .add(at(&EXTENT_MARKED_REFCOUNTED).inode(self.owner));
        }
    }

    /// Marks the clusters of a record.
    fn mark(&mut self, record: &ExtentRecord) {
        if !matches!(self.leaves, Leaves::Clusters) {
            return;
        }
        let cluster = self.volume.cluster_of(record.e_blkno.get());
        let count = u32::from(record.leaf_clusters());
        if record.flags() & REFCOUNTED == 0 {
            sink::mark(self.state, self.volume, self.log, cluster, count);
        } else if !refcount_tree::share(self.state, &self.inode, cluster, count) {
            let finding = self.at(&EXTENT_MARKED_REFCOUNTED);
            self.log.end(
                Exit::ABORT,
                finding
                    .beyond_reference()
                    .note("there is no tree to count it in"),
            );
        }
    }
}
