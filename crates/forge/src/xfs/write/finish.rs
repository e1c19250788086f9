//! The trees and headers of a group.

use ondisk::xfs::btree::Tree;
use ondisk::xfs::geometry::NULL_AGINO;
use ondisk::xfs::record::owner;
use ondisk::xfs::{Agf, Agi, checksum};

use super::Totals;
use super::group::{Stretch, Writer};
use super::trees::{self, Built, Records};
use crate::Error;
use crate::xfs::ledger::Ledger;

/// The trees of a group.
struct Trees {
    bno: Built,
    cnt: Built,
    rmap: Option<Built>,
    ino: Built,
    fino: Option<Built>,
}

impl Trees {
    /// Blocks besides the roots of the trees of free space and of reverse mappings.
    fn space(&self) -> u32 {
        let rmap = self.rmap.map_or(0, |tree| tree.blocks - 1);
        self.bno.blocks - 1 + (self.cnt.blocks - 1) + rmap
    }

    /// Blocks besides the roots of the trees of inodes.
    fn inodes(&self) -> u32 {
        self.ino.blocks - 1 + self.fino.map_or(0, |tree| tree.blocks - 1)
    }

    /// Blocks that the free list must have for a change of every level.
    fn free_list(&self) -> u32 {
        let rmap = self.rmap.map_or(0, |tree| tree.levels + 1);
        self.bno.levels + 1 + self.cnt.levels + 1 + rmap
    }
}

impl Writer<'_> {
    /// Builds the trees and writes the headers.
    pub(super) fn finish(&mut self, ag: u32, whole: Stretch) -> Result<Totals, Error> {
        self.ag = ag;
        let Stretch { mut ledger, masks } = whole;
        ledger.finish();
        let empty = self.shared.empty;
        let geometry = &empty.geometry;
        let chunks = self.chunks(&masks);
        let with_free: Vec<(u32, u64)> = chunks.iter().copied().filter(|one| one.1 != 0).collect();
        let free = ledger.free.len();
        // What the trees take adds up to two records.
        let mappings = ledger.used.as_ref().map(|used| used.len() + 2);
        let need = Trees {
            bno: trees::size(geometry, Tree::Bno, free),
            cnt: trees::size(geometry, Tree::Cnt, free),
            rmap: mappings.map(|count| trees::size(geometry, Tree::Rmap, count)),
            ino: trees::size(geometry, Tree::Ino, chunks.len()),
            fino: geometry
                .finobt
                .then(|| trees::size(geometry, Tree::Fino, with_free.len())),
        };
        let mut list = empty.groups[self.ag as usize].free_list.clone();
        let more = need.free_list().saturating_sub(list.len() as u32);
        let (for_inodes, for_space) = (need.inodes(), need.space() + more);
        let longest = ledger
            .longest()
            .filter(|&nth| ledger.free[nth].1 > for_inodes + for_space);
        let nth = longest.ok_or_else(|| Error::Room {
            what: "blocks in a row for btrees",
            need: u64::from(for_inodes + for_space) + 1,
            have: ledger.longest().map_or(0, |nth| ledger.free[nth].1.into()),
            advice: "ask for a larger image, fewer files or smaller ones",
        })?;
        let first = ledger.take(nth, for_inodes, owner::INOBT);
        let mut inode_blocks = first..first + for_inodes;
        let first = ledger.take(nth, for_space, owner::AG);
        let mut space_blocks = first..first + for_space;
        ledger.settle();

        let roots = empty.roots(self.ag)?;
        let mut by_size = ledger.free.clone();
        by_size.sort_unstable_by_key(|extent| (extent.1, extent.0));
        let put = |records: Records<'_>, root, places: &mut std::ops::Range<u32>| {
            records.build(empty, self.ag, root, places)
        };
        let ino = put(
            Records::Inodes(Tree::Ino, &chunks),
            roots.ino,
            &mut inode_blocks,
        )?;
        let fino = if geometry.finobt {
            let records = Records::Inodes(Tree::Fino, &with_free);
            Some(put(records, roots.fino, &mut inode_blocks)?)
        } else {
            None
        };
        let bno = put(
            Records::Free(Tree::Bno, &ledger.free),
            roots.bno,
            &mut space_blocks,
        )?;
        let cnt = put(
            Records::Free(Tree::Cnt, &by_size),
            roots.cnt,
            &mut space_blocks,
        )?;
        let rmap = match &ledger.used {
            Some(used) => Some(put(Records::Mappings(used), roots.rmap, &mut space_blocks)?),
            None => None,
        };
        // What was set aside and not needed is on the free list, too.
        list.extend(space_blocks);
        let built = Trees {
            bno,
            cnt,
            rmap,
            ino,
            fino,
        };
        self.headers(&built, &chunks, &ledger, &by_size, &list)
    }

    /// First inode and free inodes of each chunk.
    fn chunks(&self, masks: &[u64]) -> Vec<(u32, u64)> {
        let plan = self.shared.plan;
        let masks = masks.iter().enumerate();
        masks
            .map(|(nth, &free)| (plan.agino(self.ag, nth as u32 * 64), free))
            .collect()
    }

    fn headers(
        &self,
        trees: &Trees,
        chunks: &[(u32, u64)],
        ledger: &Ledger,
        by_size: &[(u32, u32)],
        list: &[u32],
    ) -> Result<Totals, Error> {
        let empty = self.shared.empty;
        let ag = self.ag;
        let freeblks: u32 = ledger.free.iter().map(|extent| extent.1).sum();
        let mut sector = empty.header(ag, 1)?;
        let agf = Agf::read_mut(&mut sector)?;
        agf.agf_bno_level = trees.bno.levels.into();
        agf.agf_cnt_level = trees.cnt.levels.into();
        if let Some(rmap) = trees.rmap {
            agf.agf_rmap_level = rmap.levels.into();
            agf.agf_rmap_blocks = rmap.blocks.into();
        }
        agf.agf_freeblks = freeblks.into();
        agf.agf_longest = by_size.last().map_or(0, |extent| extent.1).into();
        agf.agf_btreeblks = trees.space().into();
        empty.put_free_list(ag, agf, list)?;
        empty.put_header(ag, 1, &mut sector, checksum::AGF)?;

        let count = chunks.len() as u32 * 64;
        let free: u32 = chunks.iter().map(|chunk| chunk.1.count_ones()).sum();
        let mut sector = empty.header(ag, 2)?;
        let agi = Agi::read_mut(&mut sector)?;
        agi.agi_count = count.into();
        agi.agi_freecount = free.into();
        agi.agi_level = trees.ino.levels.into();
        agi.agi_newino = chunks.last().map_or(NULL_AGINO, |chunk| chunk.0).into();
        if let Some(fino) = trees.fino {
            agi.agi_free_level = fino.levels.into();
        }
        if empty.geometry.inobtcount {
            agi.agi_iblocks = trees.ino.blocks.into();
            agi.agi_fblocks = trees.fino.map_or(0, |tree| tree.blocks).into();
        }
        empty.put_header(ag, 2, &mut sector, checksum::AGI)?;
        Ok(Totals {
            inodes: count.into(),
            free_inodes: free.into(),
            free: u64::from(freeblks) + list.len() as u64 + u64::from(trees.space()),
        })
    }
}
