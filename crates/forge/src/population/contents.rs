//! The bytes of files and the targets of symbolic links.

use super::random::scramble;
use super::{ObjectId, Piece, Population};

impl Population {
    /// Fills `bytes` with the content of a file from byte `from`, a multiple of 8, on, wherever it has blocks.
    pub(crate) fn fill(&self, id: ObjectId, from: u64, bytes: &mut [u8]) {
        let start = self.keys.content.of(id.directory.into(), id.slot.into());
        for (nth, place) in (from / 8..).zip(bytes.chunks_mut(8)) {
            let word = scramble(start.wrapping_add(nth)).to_le_bytes();
            place.copy_from_slice(&word[..place.len()]);
        }
    }

    /// The target of a symbolic link, `length` bytes.
    pub(crate) fn target(&self, id: ObjectId, length: u64) -> Vec<u8> {
        let mut random = self.target_seed(id);
        let mut target = Vec::with_capacity(length as usize);
        for nth in 0..length {
            random = scramble(random.wrapping_add(nth));
            // A separator now and then, never two in a row and never at the end.
            let separator = nth % 12 == 2 && nth + 1 < length;
            target.push(if separator {
                b'/'
            } else {
                b'a' + (random % 26) as u8
            });
        }
        target
    }

    /// Where the random bytes of a target begin.
    pub(crate) fn target_seed(&self, id: ObjectId) -> u64 {
        self.keys.target.of(id.directory.into(), id.slot.into())
    }
}

/// Makes zeros of what no written piece covers in `bytes`, the content of a file from byte `start` on.
pub(crate) fn clear_holes(pieces: &[Piece], block_size: u32, start: u64, bytes: &mut [u8]) {
    let end = start + bytes.len() as u64;
    let block_size = u64::from(block_size);
    let mut clear = |from: u64, to: u64| {
        let (from, to) = (from.clamp(start, end), to.clamp(start, end));
        bytes[(from - start) as usize..(to - start) as usize].fill(0);
    };
    let mut at = 0;
    for piece in pieces {
        let data = at + u64::from(piece.hole) * block_size;
        clear(at, data);
        at = data + u64::from(piece.blocks) * block_size;
        if piece.unwritten {
            clear(data, at);
        }
    }
}
