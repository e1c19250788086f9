//! Extents of files with the shared flag, against the btree of reference counts.

use std::sync::atomic::Ordering::Relaxed;

use super::owners::{Before, Owners};
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::maps::{Bits, OutOfMemory};
use crate::frame::problem::Problem;
use crate::xfs::claims::SharedExtent;
use crate::xfs::phase2::{Count, Use};
use crate::xfs::state::State;
use crate::xfs::volume::Volume;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    EXT_COW, EXT_FREE, EXT_META, REFC_EXTRA, REFC_MISSING, REFC_WRONG, REFLINK_SET,
    REFLINK_USELESS, SHARED_ATTR,
};

/// Compares all groups, and takes the blocks of these files.
///
/// # Errors
/// The check was cancelled, or there is no memory.
pub(super) fn run(
    volume: &Volume<'_>,
    state: &State,
    owners: &mut Owners,
    log: &mut Log,
) -> Result<(), Failure> {
    let mut users = Users::new(state.chunks.ranks())?;
    for ag in 0..volume.geo.ag_count {
        volume.go_on()?;
        let mut extents = state.claims.take_shared(ag);
        extents.sort_unstable();
        let mut found = Vec::new();
        depths(&extents, |start, length, depth| {
            if depth > 1 {
                join(&mut found, (start, length, depth));
            }
        });
        users.add(state, &extents, &found);
        for extent in state.claims.take_shared_attributes(ag) {
            if is_met(&found, extent.start, extent.length) {
                let block = volume.geo.fsblock(ag, extent.start);
                let finding = Finding::new(&SHARED_ATTR).inode(extent.ino).block(block);
                log.add(finding.note(format!("{} blocks", extent.length)));
            }
        }
        claim(volume, state, ag, &extents, owners, log)?;
        if volume.geo.reflink && !state.suspect.counts.load(Relaxed) {
            let stored = state.shared.get(ag as usize).map_or(&[][..], Vec::as_slice);
            compare(volume, ag, &found, stored, log);
        }
    }
    users.idle(|rank| log.add(Finding::new(&REFLINK_USELESS).inode(state.chunks.ino(rank))));
    Ok(())
}

/// Files with the shared flag, and those of them that share something: a bit for each rank. Pages without either take no memory.
struct Users {
    flagged: Bits,
    sharing: Bits,
}

impl Users {
    fn new(ranks: u64) -> Result<Users, OutOfMemory> {
        Ok(Users {
            flagged: Bits::new(ranks)?,
            sharing: Bits::new(ranks)?,
        })
    }

    /// Adds the extents of a group; `shared` are the runs that more than one extent has, ascending.
    fn add(&mut self, state: &State, extents: &[SharedExtent], shared: &[Count]) {
        for extent in extents {
            let Some(rank) = state.chunks.rank(extent.ino) else {
                continue;
            };
            self.flagged.set(rank);
            if is_met(shared, extent.start, extent.length) {
                self.sharing.set(rank);
            }
        }
    }

    /// Hands on files that share nothing.
    fn idle(&self, each: impl FnMut(u64)) {
        self.flagged
            .ones()
            .filter(|rank| !self.sharing.get(*rank))
            .for_each(each);
    }
}

/// Whether one of these runs, which ascend, has any of these blocks.
fn is_met(runs: &[Count], start: u32, length: u32) -> bool {
    let at = runs.partition_point(|run| run.0 < start.saturating_add(length));
    at.checked_sub(1)
        .is_some_and(|at| runs[at].0.saturating_add(runs[at].1) > start)
}

/// Adds a run, which follows the last one if both are alike.
fn join(runs: &mut Vec<Count>, run: Count) {
    match runs.last_mut() {
        Some(last) if last.0.checked_add(last.1) == Some(run.0) && last.2 == run.2 => {
            last.1 = last.1.saturating_add(run.1);
        }
        _ => runs.push(run),
    }
}

/// Hands on runs of blocks, ascending, with the number of extents that have them. The extents ascend by start.
fn depths(extents: &[SharedExtent], mut run: impl FnMut(u32, u32, u32)) {
    let mut ends = std::collections::BinaryHeap::new();
    let mut at = 0;
    let mut next = extents.iter().peekable();
    loop {
        let begins = next.peek().map(|extent| extent.start);
        let ends_at = ends.peek().map(|std::cmp::Reverse(end)| *end);
        let (to, is_begin) = match (begins, ends_at) {
            (Some(begin), Some(end)) if begin < end => (begin, true),
            (_, Some(end)) => (end, false),
            (Some(begin), None) => (begin, true),
            (None, None) => return,
        };
        if !ends.is_empty() && to > at {
            run(at, to - at, ends.len() as u32);
        }
        at = to;
        if is_begin {
            if let Some(extent) = next.next() {
                ends.push(std::cmp::Reverse(
                    extent.start.saturating_add(extent.length),
                ));
            }
        } else {
            ends.pop();
        }
    }
}

/// Takes the blocks of all extents, once each.
fn claim(
    volume: &Volume<'_>,
    state: &State,
    ag: u32,
    extents: &[SharedExtent],
    owners: &mut Owners,
    log: &mut Log,
) -> Result<(), Failure> {
    let mut run: Option<(u32, u32)> = None;
    let mut take = |start: u32, end: u32, log: &mut Log| -> Result<(), Failure> {
        if state.claims.take(ag, start, end - start, None) {
            return Ok(());
        }
        volume.go_on()?;
        let before = owners.before(volume, state, ag, start, end - start);
        let problem: &'static Problem = match before {
            Before::Free => &EXT_FREE,
            Before::Meta(Use::Staging) => &EXT_COW,
            Before::Meta(_) | Before::Chunk => &EXT_META,
            Before::File => &REFLINK_SET,
        };
        let finding = Finding::new(problem)
            .group(ag)
            .block(volume.geo.fsblock(ag, start));
        log.add(finding.note(format!(
            "{} blocks of files with the shared flag; taken before by {}",
            end - start,
            before.words()
        )));
        Ok(())
    };
    for extent in extents {
        let end = extent.start.saturating_add(extent.length);
        match &mut run {
            Some((_, last)) if *last >= extent.start => *last = end.max(*last),
            _ => {
                if let Some((start, end)) = run.replace((extent.start, end)) {
                    take(start, end, log)?;
                }
            }
        }
    }
    if let Some((start, end)) = run {
        take(start, end, log)?;
    }
    Ok(())
}

/// Compares what files share with the records; both ascend.
fn compare(volume: &Volume<'_>, ag: u32, found: &[Count], stored: &[Count], log: &mut Log) {
    let mut finding = |problem: &'static Problem, (start, length, count): Count, note: String| {
        log.add(
            Finding::new(problem)
                .group(ag)
                .block(volume.geo.fsblock(ag, start))
                .note(format!(
                    "agbno {start}, {length} blocks, {count} owners{note}"
                )),
        );
    };
    for shared in found {
        let at = stored.partition_point(|record| record.0 <= shared.0);
        match at.checked_sub(1).map(|at| stored[at]) {
            Some(record) if record == *shared => {}
            Some(record) if u64::from(record.0) + u64::from(record.1) > shared.0.into() => {
                let note = format!(
                    "; the record has agbno {}, {} blocks, {} owners",
                    record.0, record.1, record.2
                );
                finding(&REFC_WRONG, *shared, note);
            }
            _ => finding(&REFC_MISSING, *shared, String::new()),
        }
    }
    for record in stored {
        if !is_met(found, record.0, record.1) {
            finding(&REFC_EXTRA, *record, String::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn depths_are_those_of_each_block(
            list in proptest::collection::vec((0..200_u32, 1..30_u32), 0..40),
        ) {
            let mut extents: Vec<SharedExtent> =
                list.into_iter().map(|(start, length)| SharedExtent { start, length, ino: 0 }).collect();
            extents.sort_unstable();
            let mut plain = vec![0_u32; 300];
            for extent in &extents {
                for block in extent.start..extent.start + extent.length {
                    plain[block as usize] += 1;
                }
            }
            let mut swept = vec![0_u32; 300];
            depths(&extents, |start, length, depth| {
                for block in start..start + length {
                    swept[block as usize] += depth;
                }
            });
            prop_assert_eq!(plain, swept);
        }
    }
}
