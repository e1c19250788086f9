//! All inode groups in one ascending sweep, several requests in flight and several threads.
//!
//! What is sound, and depends on no other inode, is judged where the sweep meets it, inline directories with their names. What
//! is not is judged after the sweep in fsck.ocfs2's order. Where even that would not give what fsck.ocfs2 says, the sweep is undone.

use std::sync::{Mutex, PoisonError};

use blockio::{Content, Piece, Span};

use super::inode;
use super::scan::{self, Run};
use super::sink::Gathered;
use crate::frame::failure::Failure;
use crate::frame::sweep::Crew;
use crate::ocfs2::coverage::Coverage;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::pass2::inline;
use crate::ocfs2::state::State;
use crate::ocfs2::volume::Volume;

/// Blocks that are judged again and read together.
const BATCH: usize = 1024;

/// What became of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All inodes were judged.
    Done,
    /// The scan of fsck.ocfs2 would end early; nothing was done.
    Refused,
    /// The order matters; what was done must be undone.
    Undo,
}

/// What the threads share.
struct Shared<'s> {
    state: &'s mut State,
    /// Inodes to be judged again: run, number within it.
    again: Vec<(u32, u32)>,
    /// Directory blocks that these claim.
    claimed: Vec<u64>,
    conflict: bool,
}

/// Sweeps over all inodes.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(super) fn run(
    volume: &Volume<'_>,
    state: &mut State,
    log: &mut Log,
) -> Result<Outcome, Failure> {
    let Some(runs) = runs(volume, state) else {
        return Ok(Outcome::Refused);
    };
    let coverage = state.coverage.clone();
    let size = volume.block_size() as u64;
    let mut order: Vec<u32> = (0..runs.len() as u32).collect();
    order.sort_unstable_by_key(|&run| runs[run as usize].first);
    let spans = order.iter().map(|&run| {
        let Run { first, visited, .. } = runs[run as usize];
        Span {
            tag: run.into(),
            range: first * size..(first + visited) * size,
        }
    });
    let sweeper = volume.sweeper();
    let shared = Mutex::new(Shared {
        state,
        again: Vec::new(),
        claimed: Vec::new(),
        conflict: false,
    });
    sweeper.run(
        Crew::All,
        spans.collect(),
        || Worker::new(volume, coverage.clone()),
        |worker, piece| {
            let first = runs[piece.tag as usize].first;
            worker.piece(piece, piece.offset / size - first);
            worker.hand_over(&mut shared.lock().unwrap_or_else(PoisonError::into_inner));
        },
    )?;
    let Shared {
        state,
        mut again,
        claimed,
        conflict,
    } = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    if conflict || claims_twice(state, claimed) {
        return Ok(Outcome::Undo);
    }
    again.sort_unstable();
    for batch in again.chunks(BATCH) {
        volume.go_on()?;
        let numbers = batch
            .iter()
            .map(|&(run, at)| runs[run as usize].first + u64::from(at));
        let numbers: Vec<u64> = numbers.collect();
        volume.prefetch(numbers.clone());
        for number in numbers {
            if let Ok(bytes) = volume.read(number) {
                inode::check(volume, state, log, &coverage, number, &bytes);
            }
        }
    }
    Ok(Outcome::Done)
}

/// The runs of blocks that fsck.ocfs2 scans, in its order; none where its scan ends early or meets a block twice.
fn runs(volume: &Volume<'_>, state: &State) -> Option<Vec<Run>> {
    if volume.blocks.is_packed() {
        return None;
    }
    let mut runs = Vec::new();
    for allocator in &state.inodes {
        let plan = scan::plan(volume, allocator);
        if plan.broken.is_some() {
            return None;
        }
        runs.extend(plan.runs);
    }
    let mut sorted: Vec<&Run> = runs.iter().collect();
    sorted.sort_unstable_by_key(|run| run.first);
    let blocks = volume.source.len() / volume.block_size() as u64;
    let apart = sorted.windows(2).all(|pair| pair[0].end() <= pair[1].first);
    let within = sorted.last().is_none_or(|run| run.end() <= blocks);
    (apart && within).then_some(runs)
}

/// Whether a directory block has two owners.
fn claims_twice(state: &State, mut claimed: Vec<u64>) -> bool {
    claimed.sort_unstable();
    let twice = claimed.windows(2).any(|pair| pair[0] == pair[1]);
    twice
        || claimed
            .iter()
            .any(|block| state.directory_blocks.contains_key(block))
}

/// One thread.
struct Worker<'a, 'v> {
    volume: &'a Volume<'v>,
    coverage: Coverage,
    log: Log,
    gathered: Gathered,
    /// Inodes to be judged again: run, number within it.
    again: Vec<(u32, u32)>,
    zeros: Vec<u8>,
    names: inline::Names,
}

impl<'a, 'v> Worker<'a, 'v> {
    fn new(volume: &'a Volume<'v>, coverage: Coverage) -> Self {
        Worker {
            volume,
            coverage,
            log: Log::new(1),
            gathered: Gathered::default(),
            again: Vec::new(),
            zeros: vec![0; volume.block_size()],
            names: inline::Names::default(),
        }
    }

    /// Judges the blocks of a piece, the first of which has this number within its run.
    fn piece(&mut self, piece: &Piece<'_>, at: u64) {
        let size = self.volume.block_size();
        let first = piece.offset / size as u64;
        match &piece.content {
            Content::Data(bytes) => {
                for (nth, block) in (0..).zip(bytes.chunks_exact(size)) {
                    // What an inode lists may be as long as the volume. The sweep asks again, and ends.
                    if self.volume.guard.is_full() {
                        return;
                    }
                    self.block((piece.tag as u32, (at + nth) as u32), first + nth, block);
                }
            }
            Content::Hole(bytes) => {
                let zeros = std::mem::take(&mut self.zeros);
                for nth in 0..bytes / size as u64 {
                    self.block((piece.tag as u32, (at + nth) as u32), first + nth, &zeros);
                }
                self.zeros = zeros;
            }
            Content::Failed(_) => self.gathered.conflict = true,
        }
    }

    fn block(&mut self, place: (u32, u32), number: u64, bytes: &[u8]) {
        let before = self.gathered.before();
        let gathered = &mut self.gathered;
        inode::check(
            self.volume,
            gathered,
            &mut self.log,
            &self.coverage,
            number,
            bytes,
        );
        if self.log.is_empty() && !gathered.depends {
            inline::judge(
                self.volume,
                &self.coverage,
                gathered,
                &mut self.names,
                number,
                bytes,
            );
            return;
        }
        self.log = Log::new(1);
        self.gathered.forget(before);
        self.gathered.conflict |= inode::claims_another_number(self.volume, number, bytes);
        self.again.push(place);
    }

    fn hand_over(&mut self, shared: &mut Shared<'_>) {
        let gathered = &mut self.gathered;
        let state = &mut *shared.state;
        shared.conflict |= gathered.conflict;
        shared.claimed.append(&mut gathered.again);
        shared.again.append(&mut self.again);
        for (first, count) in gathered.clusters.drain(..) {
            state.use_clusters(first, count);
        }
        for (inode, kind) in gathered.kinds.drain(..) {
            state.set_kind(inode, kind);
        }
        for (inode, links) in gathered.links.drain(..) {
            state.set_links(inode, links);
        }
        state.directories.extend(gathered.directories.drain(..));
        for (block, directory, logical) in gathered.blocks.drain(..) {
            let before = state.directory_blocks.insert(block, (directory, logical));
            shared.conflict |= before.is_some();
        }
        for (inode, kind) in gathered.names.drain(..) {
            state.refer(inode, 1);
            state.claim(inode, kind);
        }
        state.parents.append(&mut gathered.parents);
        for block in gathered.tree_blocks.drain(..) {
            state.tree_blocks.take(block);
        }
        state.orphans.append(&mut gathered.orphans);
        for (owners, clusters) in gathered.owned.drain(..) {
            state.usage.add(owners, clusters);
        }
        state.counts.add(&std::mem::take(&mut gathered.counts));
    }
}
