//! The btree of a fork: from the root in the inode down, blocks of each level in their order.
//!
//! The walk goes down to the leaves in the order of the file, as xfs_repair's does, because siblings and keys are compared with what was
//! met before. Blocks come from a [`Blocks`], which may read the children of a node together.

use ondisk::bytes::{be16, be32, be64};
use ondisk::xfs::btree::{self, ForkRoot, LongBlock};
use ondisk::xfs::dinode::{flag2, mode};
use ondisk::xfs::geometry::NULL_FSBLOCK;
use ondisk::xfs::{checksum, extent};

use super::core::Subject;
use super::extents::{self, Mapping};
use crate::frame::finding::Finding;
use crate::xfs::rules::{Fork, Rules};
use crate::xfs::sink::{Claim, Sink};
use crate::xfs::xfs_repair::problems::{
    BMBT_BLKNO, BMBT_CRC, BMBT_FEW, BMBT_KEY, BMBT_LAST_SIBLING, BMBT_LEFT, BMBT_LEVEL, BMBT_MAGIC,
    BMBT_NODE_SIBLING, BMBT_NRECS, BMBT_ORDER, BMBT_OWNER, BMBT_POINTER, BMBT_RIGHT, BMBT_ROOT_KEY,
    BMBT_ROOT_LEVEL, BMBT_ROOT_NRECS, BMBT_ROOT_ORDER, BMBT_ROOT_POINTER, BMBT_ROOT_SIZE,
    BMBT_UUID, EXT_HIGH_BITS,
};

/// Reads blocks of the filesystem.
pub(crate) trait Blocks {
    /// The bytes of a block of that level; `next` are its right neighbours, which will be needed after it. None: it cannot be read.
    fn read(&mut self, level: u16, block: u64, next: &[u64]) -> Option<Vec<u8>>;

    /// Takes a buffer back.
    fn give_back(&mut self, buffer: Vec<u8>);
}

/// What was met on a level.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// The last block; none: nothing yet.
    block: u64,
    /// Its right neighbour.
    right: u64,
    /// First key of it.
    first: u64,
    /// Last key of it; none: nothing yet.
    last: Option<u64>,
}

struct Walk<'a, S, B> {
    rules: &'a Rules,
    it: &'a Subject<'a>,
    fork: Fork,
    sink: &'a mut S,
    blocks: &'a mut B,
    mapping: &'a mut Mapping,
    levels: Vec<Level>,
}

/// Walks the btree of a fork and judges its extents. False where xfs_repair gives up the fork.
pub(crate) fn walk(
    rules: &Rules,
    it: &Subject<'_>,
    fork: Fork,
    bytes: &[u8],
    mapping: &mut Mapping,
    blocks: &mut impl Blocks,
    sink: &mut impl Sink,
) -> bool {
    let root = ForkRoot::new(bytes);
    let (level, count) = (root.level(), usize::from(root.count()));
    let about = |problem: &'static crate::Problem| it.about(problem).note(fork.name());
    if level == 0 || level > rules.most_levels(fork) {
        sink.find(about(&BMBT_ROOT_LEVEL).found(level));
        return false;
    }
    if count == 0 {
        sink.find(about(&BMBT_ROOT_NRECS).found(0_u64));
        return false;
    }
    if count > root.room() {
        sink.find(
            about(&BMBT_ROOT_SIZE)
                .found(count as u64)
                .expected(format!("at most {}", root.room())),
        );
        return false;
    }
    let empty = Level {
        block: NULL_FSBLOCK,
        right: NULL_FSBLOCK,
        first: 0,
        last: None,
    };
    let mut walk = Walk {
        rules,
        it,
        fork,
        sink,
        blocks,
        mapping,
        levels: vec![empty; usize::from(level)],
    };
    walk.root(&root, level, count) && walk.end(bytes.len())
}

impl<S: Sink, B: Blocks> Walk<'_, S, B> {
    fn about(&self, problem: &'static crate::Problem, block: u64) -> Finding {
        self.it.about(problem).block(block).note(self.fork.name())
    }

    fn root(&mut self, root: &ForkRoot<'_>, level: u16, count: usize) -> bool {
        let pointers: Vec<u64> = (0..count).map(|nth| root.pointer(nth)).collect();
        let children = self.reached(&pointers);
        let mut before = None;
        for (nth, child) in children.iter().enumerate() {
            if !self.rules.geometry.is_block(*child) {
                let finding = self.it.about(&BMBT_ROOT_POINTER).note(self.fork.name());
                self.sink.find(finding.found(*child));
                return false;
            }
            let next = &children[nth + 1..];
            if !self.block((*child, pointers[nth]), next, level - 1, true) {
                return false;
            }
            let (key, first) = (root.key(nth), self.levels[usize::from(level) - 1].first);
            if key != first {
                let finding = self.it.about(&BMBT_ROOT_KEY).note(self.fork.name());
                self.sink.find(finding.found(key).expected(first));
            }
            if before.is_some_and(|before| before >= first) {
                let finding = self.it.about(&BMBT_ROOT_ORDER).note(self.fork.name());
                self.sink.find(finding.found(first));
                return false;
            }
            before = Some(first);
        }
        true
    }

    /// Pointers without the bits that `xfs_repair` drops.
    fn reached(&mut self, pointers: &[u64]) -> Vec<u64> {
        let geometry = &self.rules.geometry;
        let mut children = pointers.to_vec();
        for child in &mut children {
            let reached = geometry.reached(*child);
            if reached != *child && geometry.is_block(reached) {
                let finding = self.it.about(&EXT_HIGH_BITS).note(self.fork.name());
                self.sink.own(finding.found(*child));
                *child = reached;
            }
        }
        children
    }

    /// What holds of the whole tree.
    fn end(&mut self, fork_bytes: usize) -> bool {
        if self.mapping.count <= (fork_bytes / extent::SIZE) as u64 {
            let finding = self.it.about(&BMBT_FEW).note(self.fork.name());
            self.sink.find(finding.found(self.mapping.count));
            return false;
        }
        // xfs_repair looks at the last leaf, and at the last block of a level whose parent has no right neighbour: so not at the
        // last block below the root, unless that is a leaf.
        for nth in 0..self.levels.len() {
            let level = self.levels[nth];
            if level.right == NULL_FSBLOCK {
                continue;
            }
            let above = self.levels.get(nth + 1);
            if nth == 0 || above.is_some_and(|above| above.right == NULL_FSBLOCK) {
                let finding = self.about(&BMBT_LAST_SIBLING, level.block);
                self.sink.find(finding.found(level.right));
                return false;
            }
            let finding = self.about(&BMBT_NODE_SIBLING, level.block);
            self.sink.own(finding.found(level.right));
        }
        true
    }

    /// Walks a block, given with the pointer that leads to it.
    fn block(
        &mut self,
        (block, pointer): (u64, u64),
        next: &[u64],
        level: u16,
        below_root: bool,
    ) -> bool {
        let Some(buffer) = self.blocks.read(level, block, next) else {
            let finding = self.about(&BMBT_CRC, block);
            self.sink.find(finding.note("it cannot be read"));
            return false;
        };
        let sound = self.header(block, &buffer, level)
            && self.siblings((block, pointer), &buffer, level)
            && self.contents(block, &buffer, level, below_root);
        self.blocks.give_back(buffer);
        sound
    }

    fn contents(&mut self, block: u64, bytes: &[u8], level: u16, below_root: bool) -> bool {
        self.take(block);
        self.mapping.blocks += 1;
        let count = usize::from(be16(bytes, 6));
        let room = btree::fork_room(&self.rules.geometry);
        if count > room || !below_root && count < room / 2 {
            let expected = format!("{} to {room}", room / 2);
            let finding = self.about(&BMBT_NRECS, block).found(count as u64);
            self.sink.find(finding.expected(expected));
            return false;
        }
        if level == 0 {
            self.leaf(block, bytes, count)
        } else {
            self.node(block, bytes, level, count)
        }
    }

    fn header(&mut self, block: u64, bytes: &[u8], level: u16) -> bool {
        let geometry = &self.rules.geometry;
        if geometry.v5 && !checksum::is_right(bytes, checksum::LONG_BTREE) {
            self.sink.find(self.about(&BMBT_CRC, block));
        }
        if be32(bytes, 0) != btree::fork_magic(geometry.v5) {
            let found = format!("0x{:08x}", be32(bytes, 0));
            self.sink.find(self.about(&BMBT_MAGIC, block).found(found));
            return false;
        }
        if be16(bytes, 4) != level {
            let finding = self.about(&BMBT_LEVEL, block).found(be16(bytes, 4));
            self.sink.find(finding.expected(level));
            return false;
        }
        if !geometry.v5 {
            return true;
        }
        let Ok(head) = LongBlock::read(bytes) else {
            return false;
        };
        if head.bb_owner.get() != self.it.ino {
            let finding = self.about(&BMBT_OWNER, block).found(head.bb_owner.get());
            self.sink.find(finding.expected(self.it.ino));
            return false;
        }
        if head.bb_blkno.get() != geometry.daddr(block) {
            let finding = self.about(&BMBT_BLKNO, block).found(head.bb_blkno.get());
            self.sink.find(finding.expected(geometry.daddr(block)));
            return false;
        }
        if head.bb_uuid != geometry.uuid {
            self.sink.find(self.about(&BMBT_UUID, block));
            return false;
        }
        self.sink.lsn(head.bb_lsn.get());
        true
    }

    /// Blocks name their neighbours as the pointers from above name them, with all bits.
    fn siblings(&mut self, (block, pointer): (u64, u64), bytes: &[u8], level: u16) -> bool {
        let (left, right) = (be64(bytes, 8), be64(bytes, 16));
        let before = self.levels[usize::from(level)];
        if before.block != NULL_FSBLOCK && before.right != pointer {
            let finding = self.about(&BMBT_RIGHT, before.block).found(before.right);
            self.sink.find(finding.expected(pointer));
            return false;
        }
        if left != before.block {
            let finding = self.about(&BMBT_LEFT, block).found(left);
            self.sink.find(finding.expected(before.block));
            return false;
        }
        let level = &mut self.levels[usize::from(level)];
        (level.block, level.right) = (pointer, right);
        true
    }

    /// Takes the block for the btree.
    fn take(&mut self, block: u64) {
        self.sink.claim(&Claim {
            ino: self.it.ino,
            fork: self.fork,
            block,
            count: 1,
            offset: 0,
            unwritten: false,
            tree: true,
            regular: self.it.inode.file_type() == mode::REGULAR,
            flagged: self.it.inode.flags2() & flag2::REFLINK != 0,
        });
    }

    fn leaf(&mut self, block: u64, bytes: &[u8], count: usize) -> bool {
        let from = btree::long_header(self.rules.geometry.v5);
        let records = bytes.get(from..).unwrap_or_default();
        let (Some(first), Some(last)) = (
            extent::list(records, count).next(),
            extent::list(records, count).last(),
        ) else {
            self.levels[0].first = 0;
            return true;
        };
        let before = self.levels[0].last;
        if before.is_some_and(|before| first.offset <= before) {
            self.sink
                .find(self.about(&BMBT_ORDER, block).found(first.offset));
            return false;
        }
        let extents = extent::list(records, count);
        if !extents::list(
            self.rules,
            self.it,
            self.fork,
            extents,
            self.mapping,
            self.sink,
        ) {
            return false;
        }
        self.levels[0].first = first.offset;
        self.levels[0].last = Some(last.offset);
        true
    }

    fn node(&mut self, block: u64, bytes: &[u8], level: u16, count: usize) -> bool {
        let geometry = &self.rules.geometry;
        let pointers: Vec<u64> = (0..count)
            .map(|nth| btree::fork_pointer(geometry, bytes, nth))
            .collect();
        let children = self.reached(&pointers);
        let below = usize::from(level) - 1;
        for (nth, child) in children.iter().enumerate() {
            if !self.rules.geometry.is_block(*child) {
                self.sink
                    .find(self.about(&BMBT_POINTER, block).found(*child));
                return false;
            }
            let next = &children[nth + 1..];
            if !self.block((*child, pointers[nth]), next, level - 1, false) {
                return false;
            }
            let (key, first) = (
                btree::fork_key(&self.rules.geometry, bytes, nth),
                self.levels[below].first,
            );
            if key != first {
                let finding = self.about(&BMBT_KEY, block).found(key);
                self.sink.find(finding.expected(first));
            }
        }
        let geometry = &self.rules.geometry;
        let level = usize::from(level);
        self.levels[level].first = btree::fork_key(geometry, bytes, 0);
        self.levels[level].last = Some(btree::fork_key(geometry, bytes, count.saturating_sub(1)));
        true
    }
}
