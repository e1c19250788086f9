//! The extents of a fork: in the inode, or in a btree under a root in the inode.

use ondisk::xfs::Geometry;
use ondisk::xfs::btree::{self, ForkRoot, LongBlock};
use ondisk::xfs::checksum;
use ondisk::xfs::dinode::Format;
use ondisk::xfs::extent::{Extent, MOST_BLOCKS, SIZE};

use crate::Error;

/// Adds an extent after the others; one that continues the last is joined with it.
pub(super) fn push(extents: &mut Vec<Extent>, mut next: Extent) {
    while next.count > 0 {
        if let Some(last) = extents.last_mut()
            && last.end() == next.offset
            && last.block + last.count == next.block
            && last.unwritten == next.unwritten
            && last.count < MOST_BLOCKS
        {
            let more = next.count.min(MOST_BLOCKS - last.count);
            last.count += more;
            next.offset += more;
            next.block += more;
            next.count -= more;
            continue;
        }
        let part = Extent {
            count: next.count.min(MOST_BLOCKS),
            ..next
        };
        extents.push(part);
        next.offset += part.count;
        next.block += part.count;
        next.count -= part.count;
    }
}

/// How many records each block of a level has: full ones, and two at the end that share the rest, so that none is less than half full.
pub(super) fn fill(records: usize, room: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let blocks = records.div_ceil(room).max(1);
    (0..blocks).map(move |nth| {
        let start = |nth: usize| match blocks - nth {
            0 => records,
            1 if blocks > 1 => {
                let before = (blocks - 2) * room;
                before + (records - before).div_ceil(2)
            }
            _ => nth * room,
        };
        start(nth)..start(nth + 1)
    })
}

/// Blocks of the levels of a tree below its root in a fork of `fork` bytes; the leaves first. None where the extents fit the fork.
fn levels(geometry: &Geometry, fork: usize, extents: u64) -> Vec<u64> {
    let mut levels = Vec::new();
    if extents <= (fork / SIZE) as u64 {
        return levels;
    }
    let room = btree::fork_room(geometry) as u64;
    let root = (fork.saturating_sub(4) / 16).max(1) as u64;
    let mut blocks = extents.div_ceil(room);
    levels.push(blocks);
    while blocks > root {
        blocks = blocks.div_ceil(room);
        levels.push(blocks);
    }
    levels
}

/// Blocks of the tree of this many extents; 0 where they fit the fork.
pub(super) fn blocks(geometry: &Geometry, fork: usize, extents: u64) -> u64 {
    levels(geometry, fork, extents).iter().sum()
}

/// Writes a block of a tree.
type Put<'a> = &'a mut dyn FnMut(u64, &[u8]) -> Result<(), Error>;

/// Writes extents into a fork. `places` are the blocks of the tree and `put` writes one; the format of the fork.
///
/// # Errors
///
/// [`Error::Population`] for fewer places than the tree has blocks.
pub(super) fn write(
    geometry: &Geometry,
    fork: &mut [u8],
    extents: &[Extent],
    owner: u64,
    places: &[u64],
    put: Put<'_>,
) -> Result<Format, Error> {
    let levels = levels(geometry, fork.len(), extents.len() as u64);
    if levels.is_empty() {
        for (place, extent) in fork.chunks_exact_mut(SIZE).zip(extents) {
            place.copy_from_slice(&extent.to_bytes());
        }
        return Ok(Format::Extents);
    }
    if levels.iter().sum::<u64>() > places.len() as u64 {
        return Err(Error::Population(format!(
            "the extents of inode {owner} need more blocks than were set aside for them"
        )));
    }
    let room = btree::fork_room(geometry);
    let header = btree::long_header(geometry.v5);
    let mut below: Vec<(u64, u64)> = Vec::new();
    let mut used = 0;
    for (level, &count) in (0..).zip(&levels) {
        let own = &places[used..used + count as usize];
        used += count as usize;
        let records = if level == 0 {
            extents.len()
        } else {
            below.len()
        };
        let mut above = Vec::with_capacity(own.len());
        for (nth, range) in fill(records, room).enumerate() {
            let mut block = vec![0; geometry.block_size as usize];
            if level == 0 {
                for (at, extent) in extents[range.clone()].iter().enumerate() {
                    block[header + at * SIZE..][..SIZE].copy_from_slice(&extent.to_bytes());
                }
                above.push((extents[range.start].offset, own[nth]));
            } else {
                for (at, (key, pointer)) in below[range.clone()].iter().enumerate() {
                    block[header + at * 8..][..8].copy_from_slice(&key.to_be_bytes());
                    let at = header + (room + at) * 8;
                    block[at..at + 8].copy_from_slice(&pointer.to_be_bytes());
                }
                above.push((below[range.start].0, own[nth]));
            }
            let neighbour = |at: Option<usize>| at.and_then(|at| own.get(at)).copied();
            let head = LongBlock {
                bb_magic: btree::fork_magic(geometry.v5).into(),
                bb_level: level.into(),
                bb_numrecs: (range.len() as u16).into(),
                bb_leftsib: neighbour(nth.checked_sub(1)).unwrap_or(u64::MAX).into(),
                bb_rightsib: neighbour(Some(nth + 1)).unwrap_or(u64::MAX).into(),
                bb_blkno: geometry.daddr(own[nth]).into(),
                bb_lsn: 0.into(),
                bb_uuid: geometry.uuid,
                bb_owner: owner.into(),
                bb_crc: [0; 4],
                bb_pad: 0.into(),
            };
            block[..header].copy_from_slice(&zerocopy::IntoBytes::as_bytes(&head)[..header]);
            if geometry.v5 {
                checksum::seal(&mut block, checksum::LONG_BTREE);
            }
            put(own[nth], &block)?;
        }
        below = above;
    }
    ForkRoot::write(fork, levels.len() as u16, &below);
    Ok(Format::Btree)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_of_a_level_are_at_least_half_full(records in 1_usize..2000, room in 2_usize..300) {
            let ranges: Vec<_> = fill(records, room).collect();
            prop_assert_eq!(ranges.len(), records.div_ceil(room));
            prop_assert_eq!(ranges[0].start, 0);
            prop_assert_eq!(ranges[ranges.len() - 1].end, records);
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            prop_assert!(ranges.iter().all(|range| range.len() <= room));
            prop_assert!(ranges.len() == 1 || ranges.iter().all(|range| range.len() >= room / 2));
        }

        #[test]
        fn extents_that_touch_are_one(cuts in proptest::collection::vec(1_u64..3_000_000, 1..9)) {
            let mut extents = Vec::new();
            let mut at = 0;
            for count in cuts {
                push(&mut extents, Extent { offset: at, block: 77 + at, count, unwritten: false });
                at += count;
            }
            prop_assert_eq!(extents.iter().map(|one| one.count).sum::<u64>(), at);
            prop_assert_eq!(extents.len() as u64, at.div_ceil(MOST_BLOCKS));
        }
    }
}
