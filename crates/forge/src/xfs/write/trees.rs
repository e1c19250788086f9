//! The btrees of a group, built at once from their records.

use ondisk::xfs::btree::{ShortBlock, Tree, short_header};
use ondisk::xfs::geometry::NULL_AGBLOCK;
use ondisk::xfs::record::{
    AllocRecord, InobtRecord, RMAP_BMBT, RMAP_UNWRITTEN, RmapKey, RmapRecord, owner,
};
use ondisk::xfs::{Geometry, checksum};
use zerocopy::IntoBytes as _;

use crate::Error;
use crate::xfs::fork::fill;
use crate::xfs::ledger::Used;
use crate::xfs::volume::Empty;

/// The records of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) enum Records<'a> {
    /// Free extents, first block and length: of the tree by block, or of the one by size.
    Free(Tree, &'a [(u32, u32)]),
    /// Chunks of inodes: first inode, and a bit for each free one.
    Inodes(Tree, &'a [(u32, u64)]),
    Mappings(&'a [Used]),
}

/// A tree on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Built {
    pub(super) levels: u32,
    /// Blocks, the root included.
    pub(super) blocks: u32,
}

/// Blocks of each level of a tree, the leaves first; the last is the root.
fn levels(geometry: &Geometry, tree: Tree, records: usize) -> Vec<usize> {
    let mut levels = vec![records.div_ceil(tree.room(geometry, true)).max(1)];
    while let Some(&last) = levels.last()
        && last > 1
    {
        levels.push(last.div_ceil(tree.room(geometry, false)));
    }
    levels
}

/// The size of a tree of this many records.
pub(super) fn size(geometry: &Geometry, tree: Tree, records: usize) -> Built {
    let levels = levels(geometry, tree, records);
    Built {
        levels: levels.len() as u32,
        blocks: levels.iter().sum::<usize>() as u32,
    }
}

impl Records<'_> {
    fn tree(&self) -> Tree {
        match self {
            Records::Free(tree, _) | Records::Inodes(tree, _) => *tree,
            Records::Mappings(_) => Tree::Rmap,
        }
    }

    fn len(&self) -> usize {
        match self {
            Records::Free(_, all) => all.len(),
            Records::Inodes(_, all) => all.len(),
            Records::Mappings(all) => all.len(),
        }
    }

    /// Writes a record to the start of `out`.
    fn record(&self, geometry: &Geometry, nth: usize, out: &mut [u8]) -> Result<(), Error> {
        match self {
            Records::Free(_, all) => {
                let (start, len) = all[nth];
                *AllocRecord::read_mut(out)? = AllocRecord {
                    ar_startblock: start.into(),
                    ar_blockcount: len.into(),
                };
            }
            Records::Inodes(_, all) => {
                let (start, free) = all[nth];
                *InobtRecord::read_mut(out)? =
                    InobtRecord::whole(start, free, geometry.sparse_inodes);
            }
            Records::Mappings(all) => {
                let one = &all[nth];
                *RmapRecord::read_mut(out)? = RmapRecord {
                    rm_startblock: one.start.into(),
                    rm_blockcount: one.len.into(),
                    rm_owner: one.owner.into(),
                    rm_offset: one.offset.into(),
                };
            }
        }
        Ok(())
    }

    /// Writes the key of a block whose subtree has records `first` to `last`.
    fn key(&self, first: usize, last: usize, out: &mut [u8]) -> Result<(), Error> {
        match self {
            Records::Free(_, all) => {
                let (start, len) = all[first];
                *AllocRecord::read_mut(out)? = AllocRecord {
                    ar_startblock: start.into(),
                    ar_blockcount: len.into(),
                };
            }
            Records::Inodes(_, all) => out[..4].copy_from_slice(&all[first].0.to_be_bytes()),
            Records::Mappings(all) => {
                let (low, high) = (&all[first], &all[last]);
                let key = |start: u32, of: &Used, offset: u64| RmapKey {
                    rm_startblock: start.into(),
                    rm_owner: of.owner.into(),
                    rm_offset: (offset & !RMAP_UNWRITTEN).into(),
                };
                out[..RmapKey::SIZE].copy_from_slice(key(low.start, low, low.offset).as_bytes());
                let more = high.len - 1;
                let counts = !owner::is_special(high.owner) && high.offset & RMAP_BMBT == 0;
                let offset = high.offset + if counts { more.into() } else { 0 };
                // No record overlaps another, so the last one is the highest.
                out[RmapKey::SIZE..2 * RmapKey::SIZE]
                    .copy_from_slice(key(high.start + more, high, offset).as_bytes());
            }
        }
        Ok(())
    }

    /// Writes the tree with its root in block `root`, the other blocks at `places`.
    pub(super) fn build(
        &self,
        empty: &Empty,
        ag: u32,
        root: u32,
        places: &mut dyn Iterator<Item = u32>,
    ) -> Result<Built, Error> {
        let geometry = &empty.geometry;
        let tree = self.tree();
        let sizes = levels(geometry, tree, self.len());
        // First and last record, and block, of each block of the level below.
        let mut below: Vec<(usize, usize, u32)> = Vec::new();
        let mut bytes = Vec::new();
        for (level, &count) in sizes.iter().enumerate() {
            let own: Vec<u32> = if level + 1 == sizes.len() {
                vec![root]
            } else {
                places.take(count).collect()
            };
            if own.len() < count {
                return Err(empty.unexpected("a btree has too few blocks"));
            }
            let leaf = level == 0;
            let records = if leaf { self.len() } else { below.len() };
            let mut above = Vec::with_capacity(count);
            let room = tree.room(geometry, leaf);
            for (nth, range) in fill(records, room).enumerate() {
                bytes.clear();
                bytes.resize(geometry.block_size as usize, 0);
                for (at, one) in range.clone().enumerate() {
                    if leaf {
                        let place = tree.record_at(geometry, at);
                        self.record(geometry, one, &mut bytes[place..])?;
                    } else {
                        let (first, last, block) = below[one];
                        let place = tree.key_at(geometry, at);
                        self.key(first, last, &mut bytes[place..])?;
                        let place = tree.pointer_at(geometry, at);
                        bytes[place..place + 4].copy_from_slice(&block.to_be_bytes());
                    }
                }
                above.push(if leaf {
                    (range.start, range.end.saturating_sub(1), own[nth])
                } else {
                    (below[range.start].0, below[range.end - 1].1, own[nth])
                });
                let side = |at: Option<usize>| at.and_then(|at| own.get(at)).copied();
                let head = ShortBlock {
                    bb_magic: tree.magic(geometry.v5).into(),
                    bb_level: (level as u16).into(),
                    bb_numrecs: (range.len() as u16).into(),
                    bb_leftsib: side(nth.checked_sub(1)).unwrap_or(NULL_AGBLOCK).into(),
                    bb_rightsib: side(Some(nth + 1)).unwrap_or(NULL_AGBLOCK).into(),
                    bb_blkno: geometry.daddr(geometry.fsblock(ag, own[nth])).into(),
                    bb_lsn: 0.into(),
                    bb_uuid: geometry.uuid,
                    bb_owner: ag.into(),
                    bb_crc: [0; 4],
                };
                let header = short_header(geometry.v5);
                bytes[..header].copy_from_slice(&head.as_bytes()[..header]);
                if geometry.v5 {
                    checksum::seal(&mut bytes, checksum::SHORT_BTREE);
                }
                empty.put(ag, own[nth], &bytes)?;
            }
            below = above;
        }
        Ok(Built {
            levels: sizes.len() as u32,
            blocks: sizes.iter().sum::<usize>() as u32,
        })
    }
}
