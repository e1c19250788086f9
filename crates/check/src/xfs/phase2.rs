//! Phase 2: log, headers of the allocation groups, and their btrees.
//!
//! The headers of all groups are one sweep. Then the trees are walked level by level, all groups at once. The order of the trees is
//! that of claims: what is free comes after all blocks of trees, chunks and staging extents after what is free, so that a conflict is met by
//! the kind of record that `xfs_repair` reports.

mod block;
mod copies;
mod group;
mod leaf;
pub(super) mod log;
mod neighbours;
mod overlaps;
mod placed;
pub(super) mod records;
mod reserve;
mod totals;
mod tree_name;
mod uses;
mod walk;

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use blockio::{Content, Span};
use ondisk::xfs::btree::Tree;
use ondisk::xfs::record::owner;

pub(super) use group::{Headers, most_levels};
pub(super) use leaf::{Count, Mapping, mapping_words};
pub(super) use uses::{Use, Uses};
pub(super) use walk::memory as walk_memory;

use super::claims::Claims;
use super::fingerprint::Mapped;
use super::state::{LargestLsn, State, Suspect, Trees as Kept};
use super::volume::Volume;
use super::xfs_repair::log::Log;
use super::xfs_repair::problems::AG_READ;
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::sweep::Crew;
use leaf::Results;
use walk::Trees;

/// The order in which trees are walked.
const ORDER: [Tree; 6] = [
    Tree::Ino,
    Tree::Fino,
    Tree::Rmap,
    Tree::Cnt,
    Tree::Bno,
    Tree::Refcount,
];

/// The phase: the state for all others.
///
/// # Errors
/// The check was cancelled, or there is no memory.
pub(super) fn run(volume: &Volume<'_>, log: &mut Log) -> Result<State, Failure> {
    let geo = &volume.geo;
    let position = log::judge(volume, log);
    let lsn = LargestLsn::default();
    let groups = headers(volume, &lsn, log)?;
    let claims = Claims::new(geo);
    let uses = Uses::new(geo.ag_count);
    let suspect = Suspect::default();
    let results = Results::new(geo.ag_count);
    fixed(volume, &groups, &claims, &uses);
    let trees = Trees {
        volume,
        groups: &groups,
        claims: &claims,
        uses: &uses,
        suspect: &suspect,
        lsn: &lsn,
        results: &results,
    };
    for tree in ORDER {
        trees.walk(tree, log)?;
        volume.guard.hold()?;
    }
    overlaps::judge(&trees, log);
    let chunks = placed::chunks(&trees, log);
    totals::compare(&trees, &chunks, log);
    let largest_tree = ORDER.map(|tree| {
        let blocks = (0..geo.ag_count).map(|ag| results.of(ag).blocks(tree));
        blocks.sum::<u64>()
    });
    let shared = (0..geo.ag_count).map(|ag| results.of(ag).take_shared());
    let kept = Kept {
        tree_blocks: largest_tree.into_iter().max().unwrap_or(0),
        shared: shared.collect(),
        position,
        groups,
        uses,
        lsn,
        suspect,
    };
    Ok(State::new(volume, chunks, claims, kept)?)
}

/// Bytes of each group in what the phase makes and leaves, but for what it lists.
pub(super) fn group_memory() -> u64 {
    // The lists of a group are allocations of their own: free list, uses, windows, chunks in three parts, totals.
    const ALLOCATIONS: usize = 8 * 32;
    let lists = 2 * size_of::<Vec<u64>>() + size_of::<Mutex<Vec<u64>>>();
    (size_of::<Headers>() + leaf::totals_size() + lists + ALLOCATIONS) as u64
}

/// Bytes of headers that are held at once: a superblock may name any number of groups.
const HEADERS_HELD: usize = 4 << 20;

/// Reads and judges the headers of all groups, some thousands at once.
fn headers(volume: &Volume<'_>, lsn: &LargestLsn, log: &mut Log) -> Result<Vec<Headers>, Failure> {
    let geo = &volume.geo;
    let at_once = HEADERS_HELD / (4 * geo.sector_size as usize);
    let mut groups = Vec::with_capacity(geo.ag_count as usize);
    for first in (0..geo.ag_count).step_by(at_once) {
        let end = geo.ag_count.min(first.saturating_add(at_once as u32));
        for (ag, sectors) in (first..end).zip(sectors(volume, first..end)?) {
            if let Some(bytes) = sectors {
                groups.push(group(volume, ag, &bytes, lsn, log));
            } else {
                log.add(Finding::new(&AG_READ).group(ag));
                groups.push(Headers::default());
            }
        }
    }
    Ok(groups)
}

/// The four sectors of each of these groups; none where they cannot be read.
fn sectors(volume: &Volume<'_>, groups: Range<u32>) -> Result<Vec<Option<Vec<u8>>>, Failure> {
    let geo = &volume.geo;
    let size = geo.sector_size as usize;
    let first = groups.start;
    let buffers: Vec<Mutex<(Vec<u8>, bool)>> = groups
        .clone()
        .map(|_| Mutex::new((vec![0; 4 * size], true)))
        .collect();
    let spans = groups.map(|ag| {
        let start = geo.header_offset(ag, 0);
        Span {
            tag: ag.into(),
            range: start..start + 4 * size as u64,
        }
    });
    volume.sweeper_of(geo.sector_size).run(
        Crew::All,
        spans.collect(),
        || (),
        |(), piece| {
            let ag = piece.tag as u32;
            let Some(buffer) = buffers.get((ag - first) as usize) else {
                return;
            };
            let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
            let at = (piece.offset - geo.header_offset(ag, 0)) as usize;
            match &piece.content {
                Content::Data(bytes) => {
                    if let Some(room) = buffer.0.get_mut(at..at + bytes.len()) {
                        room.copy_from_slice(bytes);
                    }
                }
                Content::Hole(_) => {}
                Content::Failed(_) => buffer.1 = false,
            }
        },
    )?;
    let buffers = buffers
        .into_iter()
        .map(|buffer| buffer.into_inner().unwrap_or_else(PoisonError::into_inner));
    let read = buffers.map(|(bytes, is_read)| is_read.then_some(bytes));
    Ok(read.collect())
}

/// Judges the four sectors of a group.
fn group(volume: &Volume<'_>, ag: u32, bytes: &[u8], lsn: &LargestLsn, log: &mut Log) -> Headers {
    let size = volume.geo.sector_size as usize;
    let sector = |nth: usize| &bytes[nth * size..(nth + 1) * size];
    copies::judge(volume, ag, sector(0), lsn, log);
    let mut judge = group::Judge { volume, ag, log };
    let agf = judge.agf(sector(1));
    let agi = judge.agi(sector(2));
    let free_list = agf
        .as_ref()
        .map(|agf| judge.free_list(sector(3), agf))
        .unwrap_or_default();
    if volume.geo.v5 {
        let at = |sector: &[u8], offset| ondisk::bytes::be64(sector, offset);
        lsn.take(at(sector(1), 208));
        lsn.take(at(sector(2), 320));
        lsn.take(at(sector(3), 24));
    }
    Headers {
        agf,
        agi,
        free_list,
    }
}

/// Takes what has its place: headers, log, free lists.
fn fixed(volume: &Volume<'_>, groups: &[Headers], claims: &Claims, uses: &Uses) {
    let (geo, sb) = (&volume.geo, &volume.sb);
    let special = |owner| Mapped {
        owner,
        flags: 0,
        offset: 0,
        advances: false,
    };
    for (ag, headers) in groups.iter().enumerate() {
        let ag = ag as u32;
        claims.take(ag, 0, geo.header_blocks(), Some(&special(owner::FS)));
        uses.add(ag, 0, geo.header_blocks(), Use::Headers);
        if !sb.log_is_external() && geo.ag_of(sb.sb_logstart.get()) == u64::from(ag) {
            let start = geo.agbno_of(sb.sb_logstart.get());
            let blocks = sb.sb_logblocks.get();
            claims.take(ag, start, blocks, Some(&special(owner::LOG)));
            uses.add(ag, start, blocks, Use::Log);
        }
        for block in &headers.free_list {
            claims.take(ag, *block, 1, Some(&special(owner::AG)));
            uses.add(ag, *block, 1, Use::FreeList);
        }
    }
}
