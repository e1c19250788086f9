//! Files in pieces, and the free space between them.

use super::random::{Key, chance};
use super::{ObjectId, Population};

/// A run of blocks of a file. Where space is allocated in clusters, holes, lengths and gaps are rounded up to whole ones, and what then
/// reaches past the end of the file is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Piece {
    /// Blocks of the hole before it.
    pub hole: u32,
    /// Its blocks, at least 1.
    pub blocks: u32,
    /// Allocated but not written (extents only).
    pub unwritten: bool,
    /// Blocks left free on the device after it. Without any, the next piece follows at once and both are one extent.
    pub gap: u32,
}

/// The blocks that files are cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blocks {
    /// Bytes of a block.
    pub(crate) size: u32,
    /// Blocks of a cluster; 1 where blocks are allocated one by one.
    pub(crate) cluster: u32,
}

impl Population {
    /// One value for each object and each of its pieces.
    fn mixed(id: ObjectId, nth: u32) -> (u64, u64) {
        (
            u64::from(id.directory) << 32 | u64::from(id.slot),
            nth.into(),
        )
    }

    /// Blocks of free space after piece `nth` of an object.
    pub(crate) fn free_run(&self, id: ObjectId, nth: u32) -> u32 {
        let (a, b) = Self::mixed(id, nth);
        self.profile.ageing.free.draw(self.keys.free.of(a, b)) as u32
    }

    /// Cuts a file of `size` bytes; holes and pieces cover it to its end, and the last is a piece.
    pub(crate) fn cut(&self, id: ObjectId, size: u64, of: Blocks, pieces: &mut Vec<Piece>) {
        let ageing = &self.profile.ageing;
        let keys = &self.keys;
        let mut left = size.div_ceil(of.size.into());
        let mut nth = 0;
        while left > 0 {
            let (a, b) = Self::mixed(id, nth);
            let draw = |key: Key| key.of(a, b);
            let holed = left > 1 && chance(draw(keys.hole.0), keys.hole.1);
            // Whole clusters, but for the end of the file, and never all that is left.
            let cluster = u64::from(of.cluster);
            let hole = if holed {
                let drawn = ageing.pieces.draw(draw(keys.hole.0).rotate_left(32));
                drawn
                    .next_multiple_of(cluster)
                    .min((left - 1) / cluster * cluster)
            } else {
                0
            };
            left -= hole;
            let drawn = ageing.pieces.draw(draw(keys.piece)).max(1);
            let blocks = drawn.next_multiple_of(cluster).min(left);
            left -= blocks;
            pieces.push(Piece {
                hole: hole as u32,
                blocks: blocks as u32,
                unwritten: chance(draw(keys.unwritten.0), keys.unwritten.1),
                gap: self.free_run(id, nth),
            });
            nth += 1;
        }
    }
}
