//! Reverse mappings: windows in which found and stored mappings differ, compared exactly.
//!
//! Inodes are read a second time for that, and only mappings in those windows are kept. `xfs_repair` looks for what it found in the btree; it
//! never looks for what the btree has in what it found. So a surplus record is no fault for it, unless nothing uses its blocks.

mod reach;

use std::sync::atomic::Ordering::Relaxed;

use ondisk::xfs::btree::Tree;
use ondisk::xfs::record::owner;

use self::reach::Reach;
use super::owners::Owners;
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::xfs::claims::Found;
use crate::xfs::fingerprint::{Mapped, WINDOW};
use crate::xfs::phase2::{Mapping, Use, mapping_words, records};
use crate::xfs::phase3;
use crate::xfs::state::State;
use crate::xfs::volume::Volume;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    BLOCK_UNKNOWN, RMAP_EXTRA, RMAP_MISSING, RMAP_MISSING_AGMETA, RMAP_WRONG, RMAP_X_AGMETA,
    RMAP_X_INODES, RMAP_X_REFC, RMAP_X_STATIC, RMAP_X_UNKNOWN,
};

/// Compares the windows that differ.
pub(super) fn run(
    volume: &Volume<'_>,
    state: &mut State,
    owners: &mut Owners,
    log: &mut Log,
) -> Result<(), Failure> {
    let wanted: Vec<Vec<u32>> = (0..volume.geo.ag_count)
        .map(|ag| state.claims.unequal(ag))
        .collect();
    if wanted.iter().all(Vec::is_empty) {
        return Ok(());
    }
    state.claims.recall(wanted.clone());
    phase3::run(volume, state, &mut log.fork())?;
    fixed(volume, state);
    for (ag, windows) in wanted.iter().enumerate() {
        volume.go_on()?;
        if !windows.is_empty() {
            group(volume, state, ag as u32, windows, owners, log)?;
        }
    }
    // Phases 6 and 7 count names again.
    state.claims.forget();
    Ok(())
}

/// Mappings of what phase 2 has taken.
fn fixed(volume: &Volume<'_>, state: &State) {
    let special = |owner| Mapped {
        owner,
        flags: 0,
        offset: 0,
        advances: false,
    };
    for ag in 0..volume.geo.ag_count {
        for (start, length, what) in state.uses.of(ag, 0, u32::MAX) {
            let owner = match what {
                Use::Headers => owner::FS,
                Use::Log => owner::LOG,
                Use::FreeList | Use::Space => owner::AG,
                Use::Inodes => owner::INOBT,
                Use::Counts => owner::REFC,
                Use::Staging => owner::COW,
            };
            state.claims.map(ag, start, length, &special(owner));
        }
        let geo = &volume.geo;
        let in_block = 1_u32 << geo.inopb_log;
        for (_, chunk) in state.chunks.of_group(ag) {
            let exist = !chunk.hole_bits();
            for block in 0..geo.chunk_blocks() {
                let mask = if in_block >= 64 {
                    u64::MAX
                } else {
                    ((1 << in_block) - 1) << (block * in_block)
                };
                if exist & mask != 0 {
                    let start = geo.agino_block(chunk.start) + block;
                    state.claims.map(ag, start, 1, &special(owner::INODES));
                }
            }
        }
    }
}

/// Compares the windows of a group.
fn group(
    volume: &Volume<'_>,
    state: &State,
    ag: u32,
    windows: &[u32],
    owners: &mut Owners,
    log: &mut Log,
) -> Result<(), Failure> {
    let in_windows = |start: u32, length: u32| {
        let (first, last) = (
            start / WINDOW,
            start.saturating_add(length.max(1) - 1) / WINDOW,
        );
        let at = windows.partition_point(|window| *window < first);
        windows.get(at).is_some_and(|window| *window <= last)
    };
    let found = joined(state.claims.take_found(ag));
    let mut stored = Vec::new();
    if let Some(headers) = state.groups.get(ag as usize) {
        records::each(volume, headers, ag, Tree::Rmap, |record| {
            let mapping = Mapping::read(record, 0);
            if in_windows(mapping.start, mapping.length) {
                stored.push(mapping);
            }
        });
    }
    volume.go_on()?;
    stored.sort_by_key(|mapping| (mapping.start, mapping.mapped));
    let stored: Vec<Found> = stored
        .iter()
        .map(|mapping| Found {
            start: mapping.start,
            length: mapping.length,
            mapped: mapping.mapped,
        })
        .collect();
    let mut compare = Compare {
        volume,
        state,
        ag,
        owners,
        log,
    };
    compare.missing(&found, &stored)?;
    compare.extra(&found, stored, windows)
}

/// The part of a run in each of these windows, which ascend.
fn clipped(windows: &[u32], start: u32, length: u32) -> Vec<(u32, u32)> {
    let end = u64::from(start) + u64::from(length);
    let from = windows.partition_point(|window| *window < start / WINDOW);
    windows[from..]
        .iter()
        .map(|window| u64::from(*window) * u64::from(WINDOW))
        .take_while(|base| *base < end)
        .map(|base| {
            let first = base.max(start.into());
            (
                first as u32,
                (end.min(base + u64::from(WINDOW)) - first) as u32,
            )
        })
        .collect()
}

/// Joins neighbours that continue each other. The mappings ascend.
fn joined(mappings: Vec<Found>) -> Vec<Found> {
    use std::collections::BTreeMap;
    // Open mappings by what continues them; overlapping ones of other owners come between.
    let mut open: BTreeMap<(u32, Mapped), usize> = BTreeMap::new();
    let mut all: Vec<Found> = Vec::with_capacity(mappings.len());
    for mapping in mappings {
        let end = mapping.start.saturating_add(mapping.length);
        let at = if let Some(at) = open.remove(&(mapping.start, mapping.mapped)) {
            all[at].length = all[at].length.saturating_add(mapping.length);
            at
        } else {
            all.push(mapping);
            all.len() - 1
        };
        open.insert((end, mapping.mapped.advanced(mapping.length)), at);
    }
    all
}

struct Compare<'a> {
    volume: &'a Volume<'a>,
    state: &'a State,
    ag: u32,
    owners: &'a mut Owners,
    log: &'a mut Log,
}

impl Compare<'_> {
    /// Mappings without a record.
    fn missing(&mut self, found: &[Found], stored: &[Found]) -> Result<(), Failure> {
        if self.state.suspect.mappings.load(Relaxed) {
            return Ok(());
        }
        let said = Reach::new(stored.iter().map(|one| (key(one), one.start, one.length)));
        let owned = Reach::new(
            stored
                .iter()
                .map(|one| (one.mapped.owner, one.start, one.length)),
        );
        for mapping in found {
            let (start, end) = (u64::from(mapping.start), end(mapping));
            if said.before(&key(mapping), start + 1) >= end {
                continue;
            }
            self.volume.go_on()?;
            let meta = matches!(mapping.mapped.owner, owner::AG | owner::INOBT | owner::REFC);
            let touched = owned.before(&mapping.mapped.owner, end) > start;
            let problem = match (meta, touched) {
                (true, _) => &RMAP_MISSING_AGMETA,
                (false, true) => &RMAP_WRONG,
                (false, false) => &RMAP_MISSING,
            };
            self.raise(problem, mapping);
        }
        Ok(())
    }

    /// Records without a mapping.
    fn extra(
        &mut self,
        found: &[Found],
        stored: Vec<Found>,
        windows: &[u32],
    ) -> Result<(), Failure> {
        let said = Reach::new(found.iter().map(|one| (key(one), one.start, one.length)));
        let any = Reach::new(found.iter().map(|one| ((), one.start, one.length)));
        for record in apart(stored) {
            let parts = said
                .gaps(&key(&record), record.start, end(&record))
                .into_iter();
            // Outside these windows mappings were not collected.
            for (start, length) in parts.flat_map(|part| clipped(windows, part.0, part.1)) {
                self.volume.go_on()?;
                let part = Found {
                    start,
                    length,
                    mapped: record.mapped.advanced(start - record.start),
                };
                let other = any
                    .first(&(), start, end(&part))
                    .and_then(|at| found.get(at));
                let problem = self.surplus(&part, other);
                self.raise(problem, &part);
            }
        }
        Ok(())
    }

    /// The problem of a record of blocks of which `other` is the first mapping that was found, if one was.
    fn surplus(&mut self, part: &Found, other: Option<&Found>) -> &'static Problem {
        let Some(other) = other else {
            let (state, volume) = (self.state, self.volume);
            let free = self
                .owners
                .is_free(volume, state, self.ag, part.start, part.length);
            return if free { &RMAP_EXTRA } else { &BLOCK_UNKNOWN };
        };
        let btree = |owner: u64| matches!(owner, owner::AG | owner::INOBT);
        match other.mapped.owner {
            // xfs_repair does not tell the two apart.
            one if btree(one) && btree(part.mapped.owner) => &RMAP_EXTRA,
            owner::FS | owner::LOG => &RMAP_X_STATIC,
            owner::AG | owner::INOBT => &RMAP_X_AGMETA,
            owner::INODES => &RMAP_X_INODES,
            owner::REFC => &RMAP_X_REFC,
            _ if owner::is_special(part.mapped.owner) => &RMAP_X_UNKNOWN,
            _ => &RMAP_EXTRA,
        }
    }

    fn raise(&mut self, problem: &'static Problem, mapping: &Found) {
        let words = mapping_words(&Mapping {
            start: mapping.start,
            length: mapping.length,
            mapped: mapping.mapped,
        });
        let block = self.volume.geo.fsblock(self.ag, mapping.start);
        let mut finding = Finding::new(problem).group(self.ag).block(block);
        if !owner::is_special(mapping.mapped.owner) {
            finding = finding.inode(mapping.mapped.owner);
        }
        self.log.add(finding.note(words));
    }
}

/// The block after a mapping.
fn end(mapping: &Found) -> u64 {
    u64::from(mapping.start) + u64::from(mapping.length)
}

/// What a mapping says of its blocks, wherever it begins: two that have the same say the same of blocks that both have.
fn key(mapping: &Found) -> Mapped {
    let mapped = mapping.mapped;
    let offset = if mapped.advances {
        mapped.offset.wrapping_sub(mapping.start.into())
    } else {
        0
    };
    Mapped { offset, ..mapped }
}

/// Records, which ascend, without the blocks that one before has said the same of.
fn apart(records: Vec<Found>) -> impl Iterator<Item = Found> {
    let mut ends: std::collections::BTreeMap<Mapped, u64> = std::collections::BTreeMap::new();
    records.into_iter().filter_map(move |record| {
        let last = ends.entry(key(&record)).or_default();
        let (from, to) = (u64::from(record.start).max(*last), end(&record));
        *last = to.max(*last);
        (from < to).then(|| Found {
            start: from as u32,
            length: (to - from) as u32,
            mapped: record
                .mapped
                .advanced((from - u64::from(record.start)) as u32),
        })
    })
}
