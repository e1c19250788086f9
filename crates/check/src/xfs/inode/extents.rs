//! Extents of a fork: order, ranges and whose blocks they are.

use ondisk::xfs::Extent;
use ondisk::xfs::dinode::{flag2, mode};
use ondisk::xfs::extent::MOST_BLOCKS;

use super::core::Subject;
use crate::frame::finding::Finding;
use crate::xfs::rules::{Fork, Rules};
use crate::xfs::sink::{Claim, Sink};
use crate::xfs::xfs_repair::problems::{
    EXT_CROSS, EXT_END, EXT_HIGH_BITS, EXT_MERGE, EXT_OFFSET, EXT_ORDER, EXT_START,
    EXT_UNWRITTEN_ATTR, EXT_UNWRITTEN_TYPE, EXT_ZERO, RTEXT_END, RTEXT_START,
};

/// What a fork maps.
#[derive(Debug, Default)]
pub(crate) struct Mapping {
    /// Its extents, where they are needed: not of regular files.
    pub(crate) extents: Vec<Extent>,
    /// Whether extents are kept.
    keep: bool,
    /// Number of extents.
    pub(crate) count: u64,
    /// Blocks, those of the btree included.
    pub(crate) blocks: u64,
    /// Blocks of the extents that lie past the end of the source.
    pub(crate) cut: u64,
    /// The last extent.
    last: Option<Extent>,
    /// End of the last extent that is not past the end of the file by preallocation.
    pub(crate) end: u64,
}

impl Mapping {
    /// Forgets what it has. `keep`: whether extents are kept.
    pub(crate) fn clear(&mut self, keep: bool) {
        self.extents.clear();
        self.keep = keep;
        (self.count, self.blocks, self.end, self.cut) = (0, 0, 0, 0);
        self.last = None;
    }

    /// The block of the filesystem at a block of the file.
    pub(crate) fn block(&self, offset: u64) -> Option<u64> {
        let after = self
            .extents
            .partition_point(|extent| extent.offset <= offset);
        let extent = self.extents[..after].last()?;
        (offset < extent.end()).then(|| extent.block + (offset - extent.offset))
    }

    fn push(&mut self, extent: Extent) {
        self.count += 1;
        self.blocks += extent.count;
        self.last = Some(extent);
        self.end = extent.end();
        if self.keep {
            self.extents.push(extent);
        }
    }
}

/// Judges extents that follow those of the mapping. False where one is bad: xfs_repair gives up the fork there.
pub(crate) fn list(
    rules: &Rules,
    it: &Subject<'_>,
    fork: Fork,
    extents: impl Iterator<Item = Extent>,
    mapping: &mut Mapping,
    sink: &mut impl Sink,
) -> bool {
    let kind = it.inode.file_type();
    let regular = kind == mode::REGULAR;
    let realtime = regular && it.inode.is_realtime() && fork == Fork::Data;
    let claim = Claim {
        ino: it.ino,
        fork,
        block: 0,
        count: 0,
        offset: 0,
        unwritten: false,
        tree: false,
        regular,
        flagged: it.inode.flags2() & flag2::REFLINK != 0,
    };
    for mut extent in extents {
        if !realtime && is_block(rules, &extent) {
            let reached = rules.geometry.reached(extent.block);
            if reached != extent.block {
                sink.own(about(it, &EXT_HIGH_BITS, fork, &extent));
            }
            extent.block = reached;
        }
        if let Some(finding) = shape(rules, it, fork, &extent, mapping.last, regular, realtime) {
            sink.find(finding);
            return false;
        }
        let claim = Claim {
            block: extent.block,
            count: extent.count,
            offset: extent.offset,
            unwritten: extent.unwritten,
            ..claim
        };
        if !realtime {
            mapping.cut += rules.cut(&extent);
            sink.claim(&claim);
        } else if let Some(problem) = sink.claim_realtime(&claim) {
            sink.find(about(it, problem, fork, &extent));
            return false;
        }
        if let Some(last) = mapping.last.filter(|last| continues(last, &extent)) {
            sink.own(
                about(it, &EXT_MERGE, fork, &extent)
                    .note(format!("it continues that at {}", last.offset)),
            );
        }
        mapping.push(extent);
    }
    true
}

/// Whether the extent begins at a block that can be, by the number of its group as `xfs_repair` takes it.
fn is_block(rules: &Rules, extent: &Extent) -> bool {
    rules
        .geometry
        .is_block(rules.geometry.reached(extent.block))
}

/// Whether two extents could be one.
fn continues(last: &Extent, extent: &Extent) -> bool {
    last.end() == extent.offset
        && last.block + last.count == extent.block
        && last.unwritten == extent.unwritten
        && last.count + extent.count <= MOST_BLOCKS
}

fn about(
    it: &Subject<'_>,
    problem: &'static crate::Problem,
    fork: Fork,
    extent: &Extent,
) -> Finding {
    let found = format!(
        "offset {}, block {}, {} blocks",
        extent.offset, extent.block, extent.count
    );
    let finding = it.about(problem).found(found).logical(extent.offset);
    match fork {
        Fork::Data => finding,
        Fork::Attr => finding.note(fork.name()),
    }
}

/// What is wrong with an extent by itself and after the last one.
fn shape(
    rules: &Rules,
    it: &Subject<'_>,
    fork: Fork,
    extent: &Extent,
    last: Option<Extent>,
    regular: bool,
    realtime: bool,
) -> Option<Finding> {
    let found = |problem| Some(about(it, problem, fork, extent));
    if last.is_some_and(|last| last.end() > extent.offset) {
        return found(&EXT_ORDER);
    }
    if extent.unwritten && fork == Fork::Attr {
        return found(&EXT_UNWRITTEN_ATTR);
    }
    if extent.unwritten && !regular {
        return found(&EXT_UNWRITTEN_TYPE);
    }
    if extent.count == 0 {
        return found(&EXT_ZERO);
    }
    if realtime {
        return (extent.block >= rules.rt_blocks)
            .then_some(&RTEXT_START)
            .or_else(|| (extent.block + extent.count > rules.rt_blocks).then_some(&RTEXT_END))
            .and_then(found);
    }
    let (geometry, end) = (&rules.geometry, extent.block + extent.count - 1);
    if !geometry.is_block(extent.block) {
        return found(&EXT_START);
    }
    if geometry.ag_of(extent.block) != geometry.ag_of(end) {
        return found(&EXT_CROSS);
    }
    if !geometry.is_block(end) {
        return found(&EXT_END);
    }
    (extent.offset > rules.most_offset || extent.end() - 1 > rules.most_offset)
        .then_some(&EXT_OFFSET)
        .and_then(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(offset: u64, block: u64, count: u64) -> Extent {
        Extent {
            offset,
            block,
            count,
            unwritten: false,
        }
    }

    #[test]
    fn a_mapping_finds_the_blocks_of_its_extents() {
        let mut mapping = Mapping::default();
        mapping.clear(true);
        mapping.push(extent(2, 100, 3));
        mapping.push(extent(8, 50, 1));
        let blocks = [0, 2, 4, 5, 8, 9].map(|offset| mapping.block(offset));
        assert_eq!(blocks, [None, Some(100), Some(102), None, Some(50), None]);
        assert_eq!((mapping.count, mapping.blocks, mapping.end), (2, 4, 9));
    }

    #[test]
    fn neighbours_in_file_and_on_disk_are_one() {
        assert!(continues(&extent(0, 10, 5), &extent(5, 15, 1)));
        assert!(!continues(&extent(0, 10, 5), &extent(6, 15, 1)));
        assert!(!continues(&extent(0, 10, 5), &extent(5, 16, 1)));
        assert!(!continues(
            &extent(0, 10, MOST_BLOCKS),
            &extent(MOST_BLOCKS, 10 + MOST_BLOCKS, 1)
        ));
    }

    /// The codes of the extents of a regular file, and what they claim.
    fn judged(extents: &[Extent], mode: u16) -> (Vec<&'static str>, Vec<(u64, u64)>) {
        let rules = crate::xfs::fixture::rules();
        let mut bytes = vec![0; 512];
        bytes[2..4].copy_from_slice(&mode.to_be_bytes());
        let subject = Subject {
            ino: 200,
            inode: ondisk::xfs::dinode::Inode::new(&rules.geometry, &bytes),
            free: false,
        };
        let mut mapping = Mapping::default();
        let mut lists = crate::xfs::sink::tests::Lists::default();
        let extents = extents.iter().copied();
        list(
            &rules,
            &subject,
            Fork::Data,
            extents,
            &mut mapping,
            &mut lists,
        );
        let claims = lists.claims.iter().map(|claim| (claim.block, claim.count));
        (lists.codes, claims.collect())
    }

    #[test]
    fn sound_extents_are_claimed_and_a_bad_one_ends_the_list() {
        let (codes, claims) = judged(&[extent(0, 100, 2), extent(5, 200, 1)], 0o100_644);
        assert_eq!((codes, claims), (vec![], vec![(100, 2), (200, 1)]));
        let bad = |extent| {
            let (codes, claims) = judged(&[extent, self::extent(90, 300, 1)], 0o100_644);
            assert!(claims.is_empty());
            codes
        };
        assert_eq!(bad(extent(0, 100, 0)), ["XFS-EXT-ZERO"]);
        assert_eq!(bad(extent(0, 0, 1)), ["XFS-EXT-START"]);
        assert_eq!(bad(extent(0, 5 << 16, 1)), ["XFS-EXT-START"]);
        assert_eq!(bad(extent(0, 65_535, 2)), ["XFS-EXT-CROSS"]);
        assert_eq!(bad(extent(1 << 53, 100, 1)), ["XFS-EXT-OFFSET"]);
        let (codes, claims) = judged(&[extent(4, 100, 2), extent(5, 200, 1)], 0o100_644);
        assert_eq!((codes, claims.len()), (vec!["XFS-EXT-ORDER"], 1));
        let unwritten = Extent {
            unwritten: true,
            ..extent(0, 100, 1)
        };
        assert_eq!(
            judged(&[unwritten], 0o040_755).0,
            ["XFS-EXT-UNWRITTEN-TYPE"]
        );
        assert!(judged(&[unwritten], 0o100_644).0.is_empty());
    }
}
