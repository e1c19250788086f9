//! Reverse mappings.

use std::fmt::Write as _;

use ondisk::bytes::{be32, be64};
use ondisk::xfs::Geometry;
use ondisk::xfs::btree::Tree;
use ondisk::xfs::record::{RMAP_ATTR, RMAP_BMBT, RMAP_OFFSET, RMAP_UNWRITTEN, owner};

use super::super::block::{Node, plain};
use super::super::overlaps::Extent;
use super::super::walk::{Trees, Visit};
use super::extend;
use crate::frame::problem::Problem;
use crate::xfs::fingerprint::Mapped;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    RMAP_FLAGS, RMAP_HIGH_REC, RMAP_LENGTH, RMAP_MERGE, RMAP_META_FLAGS, RMAP_META_OFFSET,
    RMAP_ORDER, RMAP_OWNER, RMAP_START,
};

const FLAGS: u64 = RMAP_ATTR | RMAP_BMBT | RMAP_UNWRITTEN;

/// A record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping {
    pub(crate) start: u32,
    pub(crate) length: u32,
    pub(crate) mapped: Mapped,
}

impl Mapping {
    /// The record at an offset.
    pub(crate) fn read(bytes: &[u8], at: usize) -> Mapping {
        let (who, offset) = (be64(bytes, at + 8), be64(bytes, at + 16));
        Mapping {
            start: be32(bytes, at),
            length: be32(bytes, at + 4),
            mapped: Mapped {
                owner: who,
                flags: offset & FLAGS,
                offset: offset & RMAP_OFFSET,
                advances: !owner::is_special(who) && offset & RMAP_BMBT == 0,
            },
        }
    }

    /// Whether both could be one record.
    fn joins(&self, next: &Mapping) -> bool {
        let (one, two) = (&self.mapped, &next.mapped);
        one.owner == two.owner
            && self.start.checked_add(self.length) == Some(next.start)
            && self.length.checked_add(next.length).is_some()
            && (owner::is_special(one.owner)
                || one.flags == two.flags
                    && (!one.advances || one.offset.wrapping_add(self.length.into()) == two.offset))
    }
}

/// Judges a leaf, and subtracts its mappings from those that are found.
pub(super) fn judge(
    trees: &Trees<'_>,
    visit: &Visit,
    bytes: &[u8],
    used: usize,
    log: &mut Log,
) -> Node {
    let geo = &trees.volume.geo;
    let mut node = Node::default();
    let mut last: Option<Mapping> = None;
    for index in 0..used {
        let at = Tree::Rmap.record_at(geo, index);
        let record = Mapping::read(bytes, at);
        let raw = be64(bytes, at + 16);
        let key = [record.start.into(), record.mapped.owner, raw];
        let mut raise = |problem: &'static Problem| {
            let finding = trees.finding(problem, visit);
            log.add(finding.note(words(&record)));
            trees.distrust(Tree::Rmap);
        };
        if let Some(problem) = fault(trees, visit.ag, &record, raw) {
            raise(problem);
            continue;
        }
        if let Some(last) = &last {
            let is_ordered = if geo.reflink {
                plain(node.last) < plain(key)
            } else {
                u64::from(record.start) >= u64::from(last.start) + u64::from(last.length)
            };
            if !is_ordered {
                raise(&RMAP_ORDER);
            }
            if last.joins(&record) {
                raise(&RMAP_MERGE);
            }
        }
        if plain(highest(&record)) > plain(visit.high) {
            raise(&RMAP_HIGH_REC);
        }
        if owner::is_special(record.mapped.owner) {
            if record.mapped.flags != 0 {
                raise(&RMAP_META_FLAGS);
            }
            if record.mapped.offset != 0 {
                raise(&RMAP_META_OFFSET);
            }
        }
        if let Some(blocks) = node.mapped.take(&Extent::of(&record), geo.reflink) {
            trees.results.of(visit.ag).overlap(blocks);
        }
        extend(
            &mut node,
            key,
            u64::from(record.start) + u64::from(record.length),
        );
        trees
            .claims
            .unmap(visit.ag, record.start, record.length, &record.mapped);
        last = Some(record);
    }
    node
}

/// Why a record is impossible.
fn fault(trees: &Trees<'_>, ag: u32, record: &Mapping, raw: u64) -> Option<&'static Problem> {
    let geo = &trees.volume.geo;
    let length = u64::from(geo.ag_length(ag));
    let end = u64::from(record.start) + u64::from(record.length);
    let who = record.mapped.owner;
    let headers = who == owner::FS && record.start == 0;
    if raw & !(FLAGS | RMAP_OFFSET) != 0 {
        Some(&RMAP_FLAGS)
    } else if !geo.is_agblock(ag, record.start) && !headers {
        Some(&RMAP_START)
    } else if record.length == 0 || end > length {
        Some(&RMAP_LENGTH)
    } else if !(owner::COW..=owner::FS).contains(&who) && !is_owner(geo, who) {
        Some(&RMAP_OWNER)
    } else {
        None
    }
}

/// Whether `xfs_repair` takes it for an inode: its block is in a group, be it one of the headers.
fn is_owner(geo: &Geometry, ino: u64) -> bool {
    let agbno = geo.agino_block(geo.agino_of(ino));
    (geo.ino_ag(ino) as u32) < geo.ag_count && agbno < geo.ag_blocks
}

/// The highest key of a record.
fn highest(record: &Mapping) -> [u64; 3] {
    let more = u64::from(record.length.max(1) - 1);
    let offset = if record.mapped.advances {
        record.mapped.offset.saturating_add(more)
    } else {
        record.mapped.offset
    };
    [u64::from(record.start) + more, record.mapped.owner, offset]
}

/// A record in words.
pub(crate) fn words(record: &Mapping) -> String {
    let Mapped {
        owner: who,
        flags,
        offset,
        ..
    } = record.mapped;
    let whose = match who {
        owner::FS => "headers".to_string(),
        owner::LOG => "log".to_string(),
        owner::AG => "AG btrees".to_string(),
        owner::INOBT => "inode btrees".to_string(),
        owner::INODES => "inodes".to_string(),
        owner::REFC => "refcount btree".to_string(),
        owner::COW => "staging".to_string(),
        ino if owner::is_special(ino) => format!("owner {ino:#x}"),
        ino => format!("inode {ino}"),
    };
    let mut text = format!("agbno {}, {} blocks, {whose}", record.start, record.length);
    for (bit, name) in [
        (RMAP_ATTR, "attribute fork"),
        (RMAP_BMBT, "btree block"),
        (RMAP_UNWRITTEN, "unwritten"),
    ] {
        if flags & bit != 0 {
            text.push_str(", ");
            text.push_str(name);
        }
    }
    if record.mapped.advances {
        let _ = write!(text, ", offset {offset}");
    }
    text
}
