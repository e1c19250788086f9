//! Block maps, and extents where the filesystem does not know of them.
//!
//! Pointers are taken in the order in which a file has its blocks, each indirect block before what it points to. An illegal
//! pointer is left where it is; one to an indirect block ends the walk of its part of the file, and the reference's whole
//! check.

use ondisk::ext4::block_map;
use ondisk::ext4::extent::{Extent, Index};
use ondisk::ext4::inode::number;

use super::walk::{Head, Item, Stuck, Walk, entry};
use super::worker::Worker;
use crate::ext4::e2fsck::problems::{
    P1_BLOCK_ITERATE, P1_CRITICAL_METADATA_COLLISION, P1_ILLEGAL_BLOCK_NUM, P1_INODE_BLOCK_LATCH,
    P1_INODE_TOOBIG, P1_MISALIGNED_CLUSTER, P1_SUPPRESS_MESSAGES, P1_TOO_MANY_BAD_BLOCKS,
    P1_TOOBIG_DIR, P1_TOOBIG_REG, P1_TOOBIG_SYMLINK,
};
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;

/// Illegal pointers after which the reference asks whether to go on.
const MANY: u32 = 12;

/// What a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Logical block so much of the file.
    Data(u64),
    /// Pointers, and the number of levels above the data; 0 in an extent tree, 4 for a translator of the Hurd.
    Node(u32),
}

impl Worker<'_> {
    /// Walks the pointers of an inode.
    pub(super) fn walk_map(&mut self, item: &Item<'_>, walk: &mut Walk) {
        let words = item.inode.block_words();
        let translator = item.inode.raw().i_osd1.get();
        if self.maps.features.hurd && translator != 0 {
            self.take_block(item, walk, translator.into(), Role::Node(4), 0);
        }
        if item.is_dir && words[0] == 0 {
            walk.list(&mut self.runs, item.ino, 0, 0, 1);
        }
        for (logical, word) in words.iter().enumerate().take(12) {
            if *word != 0 {
                self.take_block(item, walk, (*word).into(), Role::Data(logical as u64), 0);
            }
        }
        let mut logical = 12;
        for (levels, word) in (1..).zip(&words[12..]) {
            if *word == 0 {
                logical += self.span(levels);
            } else {
                // The next tree is walked all the same; only the last fault is reported.
                let _ = self.walk_tree(item, walk, *word, levels, &mut logical, 0, &[]);
            }
        }
        if walk.unlisted && walk.stuck.is_none() {
            walk.stuck = Some(Stuck::Unlisted);
        }
        walk.last_written = walk.last as i64;
    }

    /// Logical blocks below a pointer.
    fn span(&self, levels: u32) -> u64 {
        block_map::BlockMap::new(self.maps.volume.geometry.block_size).span(levels)
    }

    /// Walks what is below a pointer to an indirect block. `Err`: something could not be followed, and the blocks above
    /// are not gone on with.
    #[allow(clippy::too_many_arguments)] // The walk's state, and one node of it.
    fn walk_tree(
        &mut self,
        item: &Item<'_>,
        walk: &mut Walk,
        pointer: u32,
        levels: u32,
        logical: &mut u64,
        above: u64,
        siblings: &[u32],
    ) -> Result<(), ()> {
        let block = u64::from(pointer);
        if !self.take_block(item, walk, block, Role::Node(levels), above) {
            *logical += self.span(levels);
            return Ok(());
        }
        if !self.maps.is_legal(block) {
            walk.stuck = Some(Stuck::Outside(block));
            return Err(());
        }
        if !self.maps.spend() {
            walk.stuck = Some(Stuck::Endless);
            return Err(());
        }
        let next = siblings.iter().map(|next| u64::from(*next));
        let bytes = match self.nodes.read((4 - levels) as usize, block, next) {
            Ok(bytes) => bytes,
            Err(error) => {
                walk.stuck = Some(Stuck::Unread(error));
                return Err(());
            }
        };
        // The reference forgets a fault with the next good read; the owner should still know what could not be read.
        if let Some(Stuck::Unread(error)) = walk.stuck.take() {
            let finding = Finding::new(&P1_BLOCK_ITERATE).note(error.to_string());
            self.add(item, finding.beyond_reference());
        }
        let done = self.walk_pointers(item, walk, block, &bytes, levels, logical);
        self.nodes.give_back(bytes);
        done
    }

    fn walk_pointers(
        &mut self,
        item: &Item<'_>,
        walk: &mut Walk,
        block: u64,
        bytes: &[u8],
        levels: u32,
        logical: &mut u64,
    ) -> Result<(), ()> {
        if levels == 1 {
            for pointer in block_map::pointers(bytes) {
                if pointer != 0 {
                    self.take_block(item, walk, pointer.into(), Role::Data(*logical), block);
                }
                *logical += 1;
            }
            if walk.unlisted || self.maps.volume.guard.is_full() {
                walk.stuck = Some(Stuck::Unlisted);
                return Err(());
            }
            return Ok(());
        }
        let pointers: Vec<u32> = block_map::pointers(bytes).collect();
        for (nth, pointer) in pointers.iter().enumerate() {
            if *pointer == 0 {
                *logical += self.span(levels - 1);
            } else {
                let rest = &pointers[nth..];
                self.walk_tree(item, walk, *pointer, levels - 1, logical, block, rest)?;
            }
        }
        Ok(())
    }

    /// Judges and maps one block; `above` is the indirect block that names it, 0 for the inode. Whether the pointer still counts as
    /// one: not where it lies in a block that belongs to the filesystem itself.
    fn take_block(
        &mut self,
        item: &Item<'_>,
        walk: &mut Walk,
        block: u64,
        role: Role,
        above: u64,
    ) -> bool {
        if role == Role::Data(0) && walk.first.is_none() {
            walk.first = Some(block);
        }
        let resize = item.ino == number::RESIZE;
        if walk.previous != 0 && !resize && walk.previous + 1 != block {
            walk.fragmented = true;
        }
        let problem = self.judge_block(item, walk, block, role);
        let metadata = &self.maps.metadata;
        if matches!(role, Role::Node(_)) && !resize && metadata.contains(block) {
            let finding = Finding::new(&P1_CRITICAL_METADATA_COLLISION).block(block);
            self.add(item, finding);
        }
        if let Some(problem) = problem {
            walk.illegal += 1;
            if !resize && above != 0 && self.maps.metadata.contains(above) {
                return false;
            }
            self.report_block(item, walk, problem, block, role);
            return true;
        }
        self.claim_block(item, walk, block, role);
        if let Role::Data(logical) = role {
            walk.last = logical;
        }
        walk.previous = block;
        if let Role::Data(logical) = role
            && item.is_dir
        {
            if self.maps.may_list(1) {
                walk.list(&mut self.runs, item.ino, block, logical, 1);
            } else {
                walk.unlisted = true;
            }
        }
        true
    }

    fn judge_block(
        &self,
        item: &Item<'_>,
        walk: &Walk,
        block: u64,
        role: Role,
    ) -> Option<&'static Problem> {
        if !self.maps.is_legal(block) {
            return Some(&P1_ILLEGAL_BLOCK_NUM);
        }
        let size = u64::from(self.maps.volume.geometry.block_size);
        let full = walk.blocks + 1 >= (1 << 41) / size;
        let logical = match role {
            Role::Data(logical) => logical,
            Role::Node(_) => 0,
        };
        let short = item.inode.raw().i_size_high.get() == 0 && !self.maps.features.large_dir;
        match (item.is_dir, item.is_reg) {
            (true, _) if full || short && logical > (1 << 31) / size => Some(&P1_TOOBIG_DIR),
            (_, true) if full => Some(&P1_TOOBIG_REG),
            (false, false) if logical > 0 => Some(&P1_TOOBIG_SYMLINK),
            _ => None,
        }
    }

    fn report_block(
        &mut self,
        item: &Item<'_>,
        walk: &mut Walk,
        problem: &'static Problem,
        block: u64,
        role: Role,
    ) {
        if walk.illegal.is_multiple_of(MANY) {
            self.add(
                item,
                Finding::new(&P1_TOO_MANY_BAD_BLOCKS).found(walk.illegal),
            );
            self.add(item, Finding::new(&P1_SUPPRESS_MESSAGES));
        }
        let illegal = problem.code == P1_ILLEGAL_BLOCK_NUM.code;
        let (asked, question) = if illegal {
            (&mut walk.asked_illegal, &P1_INODE_BLOCK_LATCH)
        } else {
            (&mut walk.asked_too_big, &P1_INODE_TOOBIG)
        };
        if !std::mem::replace(asked, true) {
            self.add(item, Finding::new(question));
        }
        let finding = Finding::new(problem).block(block);
        let finding = match role {
            Role::Data(logical) => finding.logical(logical),
            Role::Node(0) => finding.note("extent node"),
            Role::Node(4) => finding.note("translator"),
            Role::Node(levels) => finding.note(format!("indirect block of level {levels}")),
        };
        self.add(item, finding);
    }

    fn claim_block(&mut self, item: &Item<'_>, walk: &mut Walk, block: u64, role: Role) {
        if item.ino == number::RESIZE {
            // The others were marked with the descriptors they are kept for.
            if role == Role::Node(2) {
                self.maps.claim(block);
            }
            walk.blocks += 1;
            return;
        }
        walk.cut += self.maps.cut(block, block.saturating_add(1));
        let ratio = self.maps.ratio;
        let offset = match role {
            Role::Data(logical) => logical,
            // Counted down from the first block, as e2fsck does.
            Role::Node(levels) => 0_u64.wrapping_sub(u64::from(levels.max(1))),
        };
        let begun = ratio > 1
            && walk.previous != 0
            && block / ratio == walk.previous / ratio
            && block % ratio == offset % ratio;
        if !begun {
            self.maps.claim(block);
            walk.blocks += 1;
        } else if walk.is_misaligned(ratio, block, offset) {
            let finding = Finding::new(&P1_MISALIGNED_CLUSTER).block(block);
            self.add(item, finding.logical(offset));
            self.maps.claim(block);
            self.maps.claim(block);
        }
    }

    /// Walks an extent tree on a filesystem that should have none: its blocks are taken like pointers.
    pub(super) fn walk_foreign_extents(&mut self, item: &Item<'_>, walk: &mut Walk) {
        let root = item.inode.raw().i_block;
        if let Some(head) = Head::of(&root) {
            let mut logical = 0;
            let done = self.walk_foreign(item, walk, &root, head, head.depth, &mut logical);
            walk.stuck = done.err();
        }
        if walk.unlisted && walk.stuck.is_none() {
            walk.stuck = Some(Stuck::Unlisted);
        }
        walk.last_written = walk.last as i64;
    }

    fn walk_foreign(
        &mut self,
        item: &Item<'_>,
        walk: &mut Walk,
        bytes: &[u8],
        head: Head,
        depth: u16,
        logical: &mut u64,
    ) -> Result<(), Stuck> {
        for nth in 0..usize::from(head.entries) {
            let Some(bytes) = entry(bytes, nth) else {
                break;
            };
            if depth > 0 {
                let block = Index::of_entry(bytes).leaf;
                self.take_block(item, walk, block, Role::Node(0), 0);
                self.walk_foreign_below(item, walk, block, depth, logical)?;
                continue;
            }
            let extent = Extent::of_entry(bytes);
            if extent.end() <= *logical {
                continue;
            }
            let skipped = logical.saturating_sub(extent.block.into());
            for offset in 0..u64::from(extent.len) {
                // Block by block, and so none more often than there are blocks.
                if !self.maps.spend() {
                    return Err(Stuck::Endless);
                }
                let role = Role::Data(u64::from(extent.block) + offset);
                self.take_block(item, walk, extent.start + skipped + offset, role, 0);
            }
            *logical = extent.end();
        }
        Ok(())
    }

    fn walk_foreign_below(
        &mut self,
        item: &Item<'_>,
        walk: &mut Walk,
        block: u64,
        depth: u16,
        logical: &mut u64,
    ) -> Result<(), Stuck> {
        if !self.maps.spend() || depth > 64 {
            return Err(Stuck::Endless);
        }
        let bytes = self.nodes.read(0, block, std::iter::empty());
        let bytes = bytes.map_err(Stuck::Unread)?;
        let done = match Head::of(&bytes) {
            Some(head) => self.walk_foreign(item, walk, &bytes, head, depth - 1, logical),
            None => Err(Stuck::NoNode(block)),
        };
        self.nodes.give_back(bytes);
        done
    }
}
