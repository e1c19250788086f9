//! Reference counts against the files that share the clusters.
//!
//! fsck.ocfs2 takes the extents of all files of a tree in the order of their clusters and looks each run up in the tree. At the first wrong count
//! it tries to change the tree, which fails on a read-only volume, and the pass ends.

use ondisk::ocfs2::extent::ExtentHead;
use ondisk::ocfs2::refcount::{LIST, RefcountHead, TREE};
use ondisk::ocfs2::{RefcountBlock, RefcountList, feature};

use super::End;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::ocfs2::blocks::Block;
use crate::ocfs2::fsck_ocfs2::Exit;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{
    REFCOUNT_COUNT, REFCOUNT_COUNT_INVALID, REFCOUNT_REC_REDUNDANT, REFCOUNT_UNREADABLE,
};
use crate::ocfs2::refused::Refused;
use crate::ocfs2::state::{RefTree, State};
use crate::ocfs2::tree;
use crate::ocfs2::volume::{Volume, from, value};

/// Judges all trees.
///
/// # Errors
/// The reference ends, at the end of the pass.
pub(super) fn check(volume: &Volume<'_>, state: &mut State, log: &mut Log) -> Result<(), End> {
    if !volume.sb.has_incompat(feature::REFCOUNT) {
        return Ok(());
    }
    for (root, tree) in std::mem::take(&mut state.trees) {
        if !tree.valid {
            if tree.files.iter().any(|file| !file.1.is_empty()) {
                let finding = Finding::new(&REFCOUNT_UNREADABLE).block(root);
                log.end(
                    Exit::ABORT,
                    finding.note("files share clusters and the root is invalid"),
                );
            }
            continue;
        }
        // fsck.ocfs2 leaves the other trees after an error: their clusters are then in use and not marked.
        counts(volume, state, log, root, tree)?;
    }
    Ok(())
}

/// Clusters that are shared alike, or a gap between records.
#[derive(Clone, Copy)]
struct Record {
    first: u64,
    clusters: u64,
    count: u32,
}

struct Judge<'a, 'v> {
    volume: &'a Volume<'v>,
    state: &'a mut State,
    log: &'a mut Log,
    root: u64,
    bytes: Block,
    /// Where the records that were compared end, cluster.
    compared: u64,
}

fn counts(
    volume: &Volume<'_>,
    state: &mut State,
    log: &mut Log,
    root: u64,
    mut tree: RefTree,
) -> Result<(), End> {
    let bytes = usable(volume, root).map_err(|refused| End::unreadable(root, refused))?;
    let rb: RefcountBlock = value(RefcountBlock::read(&bytes));
    let files = tree.files.len() as u64;
    if files != u64::from(rb.rf_count.get()) {
        let finding = Finding::new(&REFCOUNT_COUNT)
            .block(root)
            .found(rb.rf_count.get());
        log.add(finding.expected(files));
    }
    let mut judge = Judge {
        volume,
        state,
        log,
        root,
        bytes,
        compared: 0,
    };
    let mut end = 0;
    while let Some(run) = next_run(&tree) {
        judge.run(run)?;
        take_run(&mut tree, run);
        end = run.first + run.clusters;
    }
    if tree.end > end {
        judge.redundant(end, tree.end)?;
    }
    Ok(())
}

/// The lowest clusters that the same number of files share.
fn next_run(tree: &RefTree) -> Option<Record> {
    let firsts = tree
        .files
        .iter()
        .filter_map(|file| file.1.first_key_value());
    let mut run: Option<Record> = None;
    for (&first, shared) in firsts {
        let clusters = u64::from(shared.clusters);
        run = Some(match run {
            None => Record {
                first,
                clusters,
                count: 1,
            },
            Some(run) if first < run.first => Record {
                first,
                clusters: clusters.min(run.first - first),
                count: 1,
            },
            Some(run) if first == run.first => Record {
                first,
                clusters: clusters.min(run.clusters),
                count: run.count + 1,
            },
            Some(run) if first < run.first + run.clusters => Record {
                clusters: first - run.first,
                ..run
            },
            Some(run) => run,
        });
    }
    run
}

/// Removes a run from all files that share it.
fn take_run(tree: &mut RefTree, run: Record) {
    let end = run.first + run.clusters;
    for (_, extents) in &mut tree.files {
        let Some((&first, &shared)) = extents.first_key_value() else {
            continue;
        };
        if first >= end && run.clusters > 0 {
            continue;
        }
        extents.remove(&first);
        let left = (first + u64::from(shared.clusters)).saturating_sub(end);
        if left > 0 && run.clusters > 0 {
            let clusters = left as u32;
            extents.insert(end, crate::ocfs2::state::Shared { clusters });
        }
    }
}

fn usable(volume: &Volume<'_>, block: u64) -> Result<Block, Refused> {
    let bytes = volume.refcount_block(block)?;
    let rb: RefcountBlock = value(RefcountBlock::read(&bytes));
    let list = from(&bytes, LIST);
    let broken = if rb.rf_flags.get() & TREE != 0 {
        let listed: ExtentHead = value(ExtentHead::read(list));
        listed.l_next_free_rec.get() > listed.l_count.get()
    } else {
        let listed: RefcountHead = value(RefcountHead::read(list));
        listed.rl_used.get() > listed.rl_count.get()
    };
    if broken {
        Err(Refused::Corrupt)
    } else {
        Ok(bytes)
    }
}

impl Judge<'_, '_> {
    fn at(&self, problem: &'static Problem) -> Finding {
        Finding::new(problem).block(self.root)
    }

    /// The record of a cluster, or the gap that it is in.
    fn record(&self, cluster: u64, length: u64) -> Result<Record, End> {
        let refused = |refused: Refused| End::unreadable(self.root, refused);
        let rb: RefcountBlock = value(RefcountBlock::read(&self.bytes));
        let leaf;
        let bytes: &[u8] = if rb.rf_flags.get() & TREE == 0 {
            &self.bytes
        } else {
            let found = tree::find(self.volume, from(&self.bytes, LIST), cluster as u32);
            let found = found.map_err(refused)?;
            let block = found.map_or(0, |record| record.e_blkno.get());
            leaf = usable(self.volume, block).map_err(refused)?;
            &leaf
        };
        let mut gap = length;
        if let Ok(list) = RefcountList::read(from(bytes, LIST)) {
            for record in list.first(list.head().rl_used.get().into()) {
                let (first, clusters) = (record.r_cpos.get(), u64::from(record.r_clusters.get()));
                if first.saturating_add(clusters) <= cluster {
                    continue;
                }
                if first <= cluster {
                    return Ok(Record {
                        first,
                        clusters,
                        count: record.r_refcount.get(),
                    });
                }
                gap = gap.min(first - cluster);
                break;
            }
        }
        Ok(Record {
            first: cluster,
            clusters: gap,
            count: 0,
        })
    }

    /// Records that no file needs.
    fn redundant(&mut self, mut from: u64, to: u64) -> Result<(), End> {
        while from < to {
            let length = (to - from).min(u32::MAX.into());
            let record = self.record(from, length)?;
            if record.count == 0 {
                from += record.clusters.max(1);
                continue;
            }
            let finding = self.at(&REFCOUNT_REC_REDUNDANT);
            self.log.add(finding.found(format!("{from}-{}", to - 1)));
            from += length;
        }
        Ok(())
    }

    fn run(&mut self, run: Record) -> Result<(), End> {
        let first = run.first as u32;
        self.state
            .mark(self.volume, self.log, first, run.clusters as u32);
        let end = run.first + run.clusters;
        let last = u32::try_from(end).unwrap_or(u32::MAX);
        let shared = self.state.shared.first_in(first..last);
        let stop = shared.map_or(end, u64::from);
        self.compare(run.first, stop, run.count)?;
        if stop < end {
            let finding = self.at(&REFCOUNT_UNREADABLE);
            let note =
                "a shared cluster has an owner outside the tree, and the volume is read-only";
            return Err(End::failed(finding.found(stop).note(note)));
        }
        Ok(())
    }

    /// Compares the records of a run with the number of files.
    fn compare(&mut self, mut from: u64, to: u64, count: u32) -> Result<(), End> {
        if from >= to {
            return Ok(());
        }
        self.redundant(self.compared, from)?;
        self.compared = to;
        while from < to {
            let record = self.record(from, to - from)?;
            let end = to.min(record.first + record.clusters);
            if record.count != count {
                let finding = self
                    .at(&REFCOUNT_COUNT_INVALID)
                    .note(format!("clusters {from}-{}", end - 1));
                let finding = finding.found(record.count).expected(count);
                self.log.add(finding);
                let length = (end - from) as u32;
                self.state.mark(self.volume, self.log, from as u32, length);
                let finding = self.at(&REFCOUNT_UNREADABLE);
                return Err(End::failed(finding.note(Refused::Write.words())));
            }
            from = end.max(from + 1);
        }
        Ok(())
    }
}
