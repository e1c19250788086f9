//! Files in pieces, and the free space between them.

use super::Generated;
use super::random::chance;
use crate::ext4::plan::{ObjectId, Piece};

impl Generated {
    /// One value for each object and each of its pieces.
    fn mixed(id: ObjectId, nth: u32) -> (u64, u64) {
        (
            u64::from(id.directory) << 32 | u64::from(id.slot),
            nth.into(),
        )
    }

    /// Blocks of free space behind the piece `nth` of an object.
    pub(super) fn free_run(&self, id: ObjectId, nth: u32) -> u32 {
        let (a, b) = Self::mixed(id, nth);
        self.profile.ageing.free.draw(self.draws.free.of(a, b)) as u32
    }

    /// Cuts a file of `size` bytes; holes and pieces cover it to its end, and the last is a piece.
    pub(super) fn cut(&self, id: ObjectId, size: u64, pieces: &mut Vec<Piece>) {
        let ageing = &self.profile.ageing;
        let mut left = size.div_ceil(self.block_size.into());
        let mut nth = 0;
        while left > 0 {
            let (a, b) = Self::mixed(id, nth);
            let draw = |key: super::random::Key| key.of(a, b);
            let holed = left > 1 && chance(draw(self.draws.hole.0), self.draws.hole.1);
            // Whole clusters, but for the end of the file, and never all that is left.
            let cluster = u64::from(self.cluster);
            let hole = if holed {
                let drawn = ageing.pieces.draw(draw(self.draws.hole.0).rotate_left(32));
                drawn
                    .next_multiple_of(cluster)
                    .min((left - 1) / cluster * cluster)
            } else {
                0
            };
            left -= hole;
            let drawn = ageing.pieces.draw(draw(self.draws.piece)).max(1);
            let blocks = drawn.next_multiple_of(cluster).min(left);
            left -= blocks;
            pieces.push(Piece {
                hole: hole as u32,
                blocks: blocks as u32,
                unwritten: chance(draw(self.draws.unwritten.0), self.draws.unwritten.1),
                gap: self.free_run(id, nth),
            });
            nth += 1;
        }
    }
}
