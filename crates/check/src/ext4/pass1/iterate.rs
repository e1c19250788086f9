//! All blocks of an inode in order, without judging them.
//!
//! Used where the question is only which blocks an inode has: for the list of bad blocks, and when blocks that two inodes claim are
//! traced to their owners. The reference's library reads no node whose checksum is wrong when it walks like that, so
//! what is below it is not seen here either.

use ondisk::ext4::Seed;
use ondisk::ext4::block_map;
use ondisk::ext4::extent::{Extent, Index};
use ondisk::ext4::inode::{Inode, flag};

use super::map::Role;
use super::maps::Maps;
use super::walk::{Head, Stuck, entry, node_checksum_matches};
use crate::frame::prefetch::Prefetch;

/// Shows every run of blocks to `each`: its role, its first block, its length. What the walk ended at, if it did not come to its end.
pub(super) fn iterate(
    maps: &Maps<'_>,
    nodes: &mut Prefetch<'_>,
    ino: u32,
    inode: &Inode<'_>,
    each: &mut dyn FnMut(Role, u64, u64),
) -> Option<Stuck> {
    let mut walker = Walker {
        maps,
        nodes,
        seed: maps.volume.seed.map(|seed| inode.seed(seed, ino)),
        each,
        stuck: None,
        above: Vec::new(),
    };
    let root = &inode.raw().i_block;
    if inode.has_flags(flag::EXTENTS) {
        let head = Head::of(root)?;
        return walker.node(root, head, head.depth).err();
    }
    let words = inode.block_words();
    let mut logical = 0;
    for word in &words[..12] {
        walker.pointer(*word, logical);
        logical += 1;
    }
    for (levels, word) in (1..).zip(&words[12..]) {
        // What is below the next pointer is seen all the same.
        let _ = walker.tree(*word, levels, &mut logical, &[]);
    }
    walker.stuck
}

struct Walker<'w, 'a, 'n> {
    maps: &'w Maps<'a>,
    nodes: &'w mut Prefetch<'n>,
    /// Of the inode's checksums.
    seed: Option<Seed>,
    each: &'w mut dyn FnMut(Role, u64, u64),
    stuck: Option<Stuck>,
    /// Extent nodes above the one that is walked.
    above: Vec<u64>,
}

impl Walker<'_, '_, '_> {
    fn pointer(&mut self, pointer: u32, logical: u64) {
        if pointer != 0 {
            (self.each)(Role::Data(logical), pointer.into(), 1);
        }
    }

    fn tree(
        &mut self,
        pointer: u32,
        levels: u32,
        logical: &mut u64,
        siblings: &[u32],
    ) -> Result<(), ()> {
        let map = block_map::BlockMap::new(self.maps.volume.geometry.block_size);
        if pointer == 0 {
            *logical += map.span(levels);
            return Ok(());
        }
        let block = u64::from(pointer);
        (self.each)(Role::Node(levels), block, 1);
        let fault = if !self.maps.is_legal(block) {
            Stuck::Outside(block)
        } else if !self.maps.spend() {
            Stuck::Endless
        } else {
            let next = siblings.iter().map(|next| u64::from(*next));
            match self.nodes.read((4 - levels) as usize, block, next) {
                Ok(bytes) => {
                    self.stuck = None;
                    let done = self.pointers(&bytes, levels, logical);
                    self.nodes.give_back(bytes);
                    return done;
                }
                Err(error) => Stuck::Unread(error),
            }
        };
        self.stuck = Some(fault);
        Err(())
    }

    fn pointers(&mut self, bytes: &[u8], levels: u32, logical: &mut u64) -> Result<(), ()> {
        if levels == 1 {
            for pointer in block_map::pointers(bytes) {
                self.pointer(pointer, *logical);
                *logical += 1;
            }
            return Ok(());
        }
        let pointers: Vec<u32> = block_map::pointers(bytes).collect();
        for (nth, pointer) in pointers.iter().enumerate() {
            self.tree(*pointer, levels - 1, logical, &pointers[nth..])?;
        }
        Ok(())
    }

    fn node(&mut self, bytes: &[u8], head: Head, depth: u16) -> Result<(), Stuck> {
        for nth in 0..usize::from(head.entries) {
            let Some(raw) = entry(bytes, nth) else {
                break;
            };
            if depth == 0 {
                let extent = Extent::of_entry(raw);
                (self.each)(
                    Role::Data(extent.block.into()),
                    extent.start,
                    extent.len.into(),
                );
                continue;
            }
            let block = Index::of_entry(raw).leaf;
            (self.each)(Role::Node(0), block, 1);
            if self.above.contains(&block) {
                return Err(Stuck::Round(block));
            }
            if !self.maps.spend() || depth > 64 {
                return Err(Stuck::Endless);
            }
            let siblings = (nth..usize::from(head.entries))
                .filter_map(|next| entry(bytes, next))
                .map(|raw| Index::of_entry(raw).leaf);
            let level = usize::from(64 - depth.min(64)) % 8;
            let below = self.nodes.read(level, block, siblings);
            let below = below.map_err(Stuck::Unread)?;
            self.above.push(block);
            let done = match Head::of(&below) {
                Some(head) if !node_checksum_matches(self.seed, &below, head) => {
                    Err(Stuck::BadChecksum(block))
                }
                Some(head) => self.node(&below, head, depth - 1),
                None => Err(Stuck::NoNode(block)),
            };
            self.above.pop();
            self.nodes.give_back(below);
            done?;
        }
        Ok(())
    }
}
