//! The headers of an allocation group: what they say, and whether that is possible.

use ondisk::xfs::ag::{AGF_MAGIC, AGFL_MAGIC, AGI_MAGIC, VERSION, free_list_entry};
use ondisk::xfs::btree::Tree;
use ondisk::xfs::checksum::{self, is_right};
use ondisk::xfs::geometry::NULL_AGBLOCK;
use ondisk::xfs::{Agf, Agfl, Agi};

use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::xfs::volume::Volume;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    AGF_CRC, AGF_FLFIRST, AGF_FLLAST, AGF_LENGTH, AGF_MAGIC as BAD_AGF_MAGIC, AGF_RANGE, AGF_SEQNO,
    AGF_UUID, AGF_VERSION, AGFL_BLOCK, AGFL_COUNT, AGFL_CRC, AGFL_HEADER, AGFL_INDEX, AGFL_TAIL,
    AGI_CRC, AGI_LENGTH, AGI_MAGIC as BAD_AGI_MAGIC, AGI_SEQNO, AGI_UNLINKED, AGI_UUID,
    AGI_VERSION, REFC_AGF, RMAP_AGF,
};

use super::tree_name::{LEVELS, ROOT};

/// What the headers of an allocation group say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headers {
    /// The AGF.
    pub(crate) agf: Option<Agf>,
    /// The AGI.
    pub(crate) agi: Option<Agi>,
    /// Blocks of the free list.
    pub(crate) free_list: Vec<u32>,
}

impl Headers {
    /// Root and levels of a tree; none where the group's headers cannot be read or the tree cannot exist.
    pub(crate) fn root(&self, tree: Tree) -> Option<(u32, u32)> {
        let (agf, agi) = (self.agf.as_ref(), self.agi.as_ref());
        Some(match tree {
            Tree::Bno => (agf?.agf_bno_root.get(), agf?.agf_bno_level.get()),
            Tree::Cnt => (agf?.agf_cnt_root.get(), agf?.agf_cnt_level.get()),
            Tree::Rmap => (agf?.agf_rmap_root.get(), agf?.agf_rmap_level.get()),
            Tree::Refcount => (agf?.agf_refcount_root.get(), agf?.agf_refcount_level.get()),
            Tree::Ino => (agi?.agi_root.get(), agi?.agi_level.get()),
            Tree::Fino => (agi?.agi_free_root.get(), agi?.agi_free_level.get()),
        })
    }
}

/// Reads a header from its sector and judges it.
pub(super) struct Judge<'a> {
    pub(super) volume: &'a Volume<'a>,
    pub(super) ag: u32,
    pub(super) log: &'a mut Log,
}

impl Judge<'_> {
    fn found(
        &mut self,
        problem: &'static Problem,
        found: impl Into<u64>,
        expected: impl Into<u64>,
    ) {
        let (found, expected) = (found.into(), expected.into());
        if found != expected {
            let finding = Finding::new(problem).group(self.ag);
            self.log.add(finding.found(found).expected(expected));
        }
    }

    fn raise(&mut self, problem: &'static Problem, note: impl Into<String>) {
        self.log
            .add(Finding::new(problem).group(self.ag).note(note));
    }

    /// Judges an AGF. None where nothing in it can be used.
    pub(super) fn agf(&mut self, sector: &[u8]) -> Option<Agf> {
        let geo = self.volume.geo;
        let agf = *Agf::read(sector).ok()?;
        if geo.v5 && !is_right(sector, checksum::AGF) {
            self.raise(&AGF_CRC, "bad CRC");
        }
        self.found(&BAD_AGF_MAGIC, agf.agf_magicnum.get(), AGF_MAGIC);
        self.found(&AGF_VERSION, agf.agf_versionnum.get(), VERSION);
        self.found(&AGF_SEQNO, agf.agf_seqno.get(), self.ag);
        let length = geo.ag_length(self.ag);
        self.found(&AGF_LENGTH, agf.agf_length.get(), length);
        let room = geo.free_list_room();
        for (problem, index) in [
            (&AGF_FLFIRST, agf.agf_flfirst.get()),
            (&AGF_FLLAST, agf.agf_fllast.get()),
        ] {
            if index >= room {
                self.raise(problem, format!("{index} of {room}"));
            }
        }
        if geo.v5 && agf.agf_uuid != geo.uuid {
            self.raise(&AGF_UUID, "the UUID is of another filesystem");
        }
        self.ranges(&agf, length);
        for tree in [Tree::Bno, Tree::Cnt, Tree::Rmap, Tree::Refcount] {
            let headers = Headers {
                agf: Some(agf),
                ..Headers::default()
            };
            self.root(tree, headers.root(tree));
        }
        (agf.agf_magicnum.get() == AGF_MAGIC).then_some(agf)
    }

    /// What the kernel's verifier refuses and `xfs_repair` does not mention.
    fn ranges(&mut self, agf: &Agf, length: u32) {
        let geo = self.volume.geo;
        // Where mappings or counts are compared, the verifier is asked after all.
        let problem: &'static Problem = match (geo.rmapbt, geo.reflink) {
            (true, _) => &RMAP_AGF,
            (false, true) => &REFC_AGF,
            (false, false) => &AGF_RANGE,
        };
        let mut over = |what: &str, value: u32, most: u32| {
            if value > most {
                let note = format!("{what} is {value}, and at most {most} is possible");
                self.log
                    .add(Finding::new(problem).group(self.ag).note(note));
            }
        };
        over("agf_flcount", agf.agf_flcount.get(), geo.free_list_room());
        over("agf_freeblks", agf.agf_freeblks.get(), length);
        over("agf_longest", agf.agf_longest.get(), agf.agf_freeblks.get());
        if geo.lazy_count {
            over("agf_btreeblks", agf.agf_btreeblks.get(), length);
        }
        if geo.rmapbt {
            over("agf_rmap_blocks", agf.agf_rmap_blocks.get(), length);
        }
        if geo.reflink {
            over("agf_refcount_blocks", agf.agf_refcount_blocks.get(), length);
        }
    }

    /// Judges root and levels of a tree that the filesystem has.
    fn root(&mut self, tree: Tree, root: Option<(u32, u32)>) {
        let geo = self.volume.geo;
        let Some((root, levels)) = root.filter(|_| has_tree(self.volume, tree)) else {
            return;
        };
        let most = most_levels(self.volume, tree);
        if levels == 0 || levels > most {
            self.raise(
                LEVELS[tree as usize],
                format!("{levels} levels; 1 to {most} are possible"),
            );
        }
        if !geo.is_agblock(self.ag, root) {
            self.raise(ROOT[tree as usize], format!("agbno {root}"));
        }
    }

    /// Judges an AGI. None where nothing in it can be used.
    pub(super) fn agi(&mut self, sector: &[u8]) -> Option<Agi> {
        let geo = self.volume.geo;
        let agi = *Agi::read(sector).ok()?;
        if geo.v5 && !is_right(sector, checksum::AGI) {
            self.raise(&AGI_CRC, "bad CRC");
        }
        self.found(&BAD_AGI_MAGIC, agi.agi_magicnum.get(), AGI_MAGIC);
        self.found(&AGI_VERSION, agi.agi_versionnum.get(), VERSION);
        self.found(&AGI_SEQNO, agi.agi_seqno.get(), self.ag);
        self.found(&AGI_LENGTH, agi.agi_length.get(), geo.ag_length(self.ag));
        if geo.v5 && agi.agi_uuid != geo.uuid {
            self.raise(&AGI_UUID, "the UUID is of another filesystem");
        }
        for (bucket, head) in agi.agi_unlinked.iter().enumerate() {
            if head.get() != u32::MAX {
                let note = format!("agi unlinked bucket {bucket} is {}", head.get());
                self.raise(&AGI_UNLINKED, note);
            }
        }
        for tree in [Tree::Ino, Tree::Fino] {
            let headers = Headers {
                agi: Some(agi),
                ..Headers::default()
            };
            self.root(tree, headers.root(tree));
        }
        (agi.agi_magicnum.get() == AGI_MAGIC).then_some(agi)
    }

    /// Judges the free list and gives its blocks.
    pub(super) fn free_list(&mut self, sector: &[u8], agf: &Agf) -> Vec<u32> {
        let geo = self.volume.geo;
        if geo.v5 {
            self.free_list_header(sector);
        }
        let (first, last, count) = (
            agf.agf_flfirst.get(),
            agf.agf_fllast.get(),
            agf.agf_flcount.get(),
        );
        let room = geo.free_list_room();
        if count == 0 {
            self.tail(sector, |_| false);
            return Vec::new();
        }
        if first >= room || last >= room {
            self.raise(&AGFL_INDEX, format!("{first} to {last} of {room}"));
            return Vec::new();
        }
        let used = (last + room - first) % room + 1;
        self.found(&AGFL_COUNT, used, count);
        let mut blocks = Vec::new();
        for nth in 0..used {
            let block = free_list_entry(&geo, sector, (first + nth) % room);
            if geo.is_agblock(self.ag, block) {
                blocks.push(block);
            } else {
                self.raise(&AGFL_BLOCK, format!("agbno {block}"));
            }
        }
        self.tail(sector, |index| (index + room - first) % room < used);
        blocks
    }

    fn free_list_header(&mut self, sector: &[u8]) {
        if !is_right(sector, checksum::AGFL) {
            self.raise(&AGFL_CRC, "bad CRC");
        }
        let Ok(head) = Agfl::read(sector) else { return };
        if head.agfl_magicnum.get() != AGFL_MAGIC {
            self.raise(
                &AGFL_HEADER,
                format!("magic {:#x}", head.agfl_magicnum.get()),
            );
        }
        if head.agfl_seqno.get() != self.ag {
            self.raise(&AGFL_HEADER, format!("number {}", head.agfl_seqno.get()));
        }
        if head.agfl_uuid != self.volume.geo.uuid {
            self.raise(&AGFL_HEADER, "the UUID is of another filesystem");
        }
    }

    /// Entries that are not in use and not null. Kernels leave them there.
    fn tail(&mut self, sector: &[u8], is_used: impl Fn(u32) -> bool) {
        let geo = self.volume.geo;
        let stale = (0..geo.free_list_room())
            .filter(|index| !is_used(*index))
            .filter(|index| {
                let block = free_list_entry(&geo, sector, *index);
                block != NULL_AGBLOCK && block != 0
            });
        let count = stale.count();
        if count > 0 {
            self.raise(&AGFL_TAIL, format!("{count} entries"));
        }
    }
}

/// Whether the filesystem has a tree of this kind.
pub(crate) fn has_tree(volume: &Volume<'_>, tree: Tree) -> bool {
    match tree {
        Tree::Bno | Tree::Cnt | Tree::Ino => true,
        Tree::Rmap => volume.geo.rmapbt,
        Tree::Refcount => volume.geo.reflink,
        Tree::Fino => volume.geo.finobt,
    }
}

/// Levels that a btree of the kernel has at most, whatever the geometry.
const ANY_LEVELS: u32 = 9;

/// Levels that a tree of this filesystem can have at most.
pub(crate) fn most_levels(volume: &Volume<'_>, tree: Tree) -> u32 {
    let geo = &volume.geo;
    let blocks = u64::from(geo.ag_blocks);
    let levels = match tree {
        Tree::Bno | Tree::Cnt => tree.most_levels(geo, blocks.div_ceil(2)),
        // Shared blocks have a mapping for each owner, so their number has no bound but the space for the tree.
        Tree::Rmap if geo.reflink => {
            let half = (tree.room(geo, false) as u64 / 2).max(2);
            let (mut nodes, mut left, mut height) = (2, blocks - 1, 1);
            while nodes < left {
                left -= nodes;
                nodes *= half;
                height += 1;
            }
            height
        }
        Tree::Rmap | Tree::Refcount => tree.most_levels(geo, blocks),
        Tree::Ino | Tree::Fino => tree.most_levels(geo, (1_u64 << geo.agino_bits()) / 64),
    };
    levels.min(ANY_LEVELS)
}
