//! Blocks of the free index.

use ondisk::bytes::be32;
use ondisk::xfs::directory::{FREE, FREE3, FreeHead, NULL_BEST, free_entry, free_room};

use super::{Block, block_header, pair};
use crate::xfs::rules::Rules;
use crate::xfs::sink::Sink;
use crate::xfs::xfs_repair::problems::{DIR_FREE_CRC, DIR_FREE_HEADER, DIR_FREE_USED};

/// Judges a block of the free index. The sum of the pairs of data block and largest free area; none where it cannot be relied on.
pub(crate) fn judge(rules: &Rules, block: &Block<'_>, sink: &mut impl Sink) -> Option<u64> {
    let (v5, bytes) = (rules.geometry.v5, block.bytes);
    let sound = !v5 || block_header(rules, block, &DIR_FREE_CRC, sink);
    let magic = be32(bytes, 0);
    let wanted = if v5 { FREE3 } else { FREE };
    let head = FreeHead::read(v5, bytes);
    let room = free_room(&rules.geometry) as u32;
    // Kernels and xfs_repair keep 32 bits of this.
    let first = (rules.db(block.offset - rules.free) as u32).wrapping_mul(room);
    let wrong = if magic != wanted {
        Some("magic number")
    } else if head.firstdb != first {
        Some("first data block")
    } else if head.nvalid > room {
        Some("number of entries")
    } else {
        None
    };
    if let Some(why) = wrong {
        sink.find(block.about(&DIR_FREE_HEADER).note(why));
        return None;
    }
    let (mut sum, mut used) = (0_u64, 0);
    for nth in 0..head.nvalid {
        let best = free_entry(v5, bytes, nth as usize);
        if best != NULL_BEST {
            used += 1;
            sum = sum.wrapping_add(pair(head.firstdb.wrapping_add(nth), best.into()));
        }
    }
    if head.nused > head.nvalid {
        sink.find(block.about(&DIR_FREE_HEADER).note("number of entries"));
    }
    if used != head.nused {
        let finding = block.about(&DIR_FREE_USED).found(head.nused);
        sink.find(finding.expected(used));
    }
    sound.then_some(sum)
}
