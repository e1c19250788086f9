//! Findings as they come, from several threads, with a bound on memory.
//!
//! A filesystem whose bitmaps are gone has as many faults as it has blocks. Every one is counted; of each problem only the
//! first so many are kept, "first" in the order in which one walker would meet them, which does not
//! depend on the threads.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::problem::{Class, Problem};

/// Findings kept of each problem by default.
pub const DEFAULT_KEPT: usize = 1000;

/// How often a problem was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Which.
    pub problem: &'static Problem,
    /// How often.
    pub count: u64,
}

#[derive(Debug, Default)]
struct Kind {
    count: u64,
    kept: Vec<Finding>,
}

/// What one worker has found in one pass. Workers' logs are joined by [`Log::merge`].
#[derive(Debug)]
pub struct Log {
    keep: usize,
    kinds: BTreeMap<u32, Kind>,
    /// Where the findings to come belong within what their order names.
    stage: u8,
    /// See [`Log::aside`].
    aside: Option<(u64, u64)>,
    /// Findings so far, which breaks ties of order and stage within one worker.
    sequence: u64,
    /// See [`Log::unseen`].
    unseen: bool,
}

impl Log {
    /// An empty one, which keeps so many of each problem.
    pub fn new(keep: usize) -> Log {
        Log {
            keep: keep.max(1),
            kinds: BTreeMap::new(),
            stage: 0,
            aside: None,
            sequence: 0,
            unseen: false,
        }
    }

    /// An empty one with the same bound: for a worker.
    #[must_use]
    pub fn fork(&self) -> Log {
        Log::new(self.keep)
    }

    /// From here on findings belong to this part of what their order names, whoever judges the other parts and when.
    pub(crate) fn stage(&mut self, stage: u8) {
        self.stage = stage;
    }

    /// From here on findings are of what is put aside, with their order and their place among others that are; or no longer.
    pub(crate) fn aside(&mut self, place: Option<(u64, u64)>) {
        self.aside = place;
    }

    /// From here on findings are, or are no longer, of what the reference does not come to see.
    pub(crate) fn unseen(&mut self, unseen: bool) {
        self.unseen = unseen;
    }

    /// Takes a finding.
    pub fn add(&mut self, mut finding: Finding) {
        self.sequence += 1;
        finding.sequence = self.sequence;
        finding.stage = self.stage;
        if let Some((order, aside)) = self.aside {
            (finding.order, finding.aside) = (order, aside);
        }
        if self.unseen {
            finding.hide();
        }
        self.keep(finding);
    }

    /// Takes a finding that comes before all others of its order, whenever it is made: a question about all that follow.
    pub(crate) fn add_ahead(&mut self, mut finding: Finding) {
        finding.sequence = 0;
        self.keep(finding);
    }

    fn keep(&mut self, finding: Finding) {
        let keep = self.keep;
        let kind = self.kinds.entry(finding.problem.code).or_default();
        kind.count += 1;
        kind.kept.push(finding);
        // Sorting once for as many again keeps adding cheap.
        if kind.kept.len() >= keep.saturating_mul(2).max(16) {
            kind.shrink(keep);
        }
    }

    /// Takes a finding that stands for so many alike, of which no more need be said.
    pub fn add_times(&mut self, finding: Finding, times: u64) {
        let code = finding.problem.code;
        if times > 0 {
            self.add(finding);
            if let Some(kind) = self.kinds.get_mut(&code) {
                kind.count += times - 1;
            }
        }
    }

    /// Takes all that another has found.
    pub fn merge(&mut self, other: Log) {
        self.sequence += other.sequence;
        for (code, theirs) in other.kinds {
            let kind = self.kinds.entry(code).or_default();
            kind.count += theirs.count;
            kind.kept.extend(theirs.kept);
            kind.shrink(self.keep);
        }
    }

    /// What was found of an inode by this name the reference does not come to see.
    pub(crate) fn hide(&mut self, problem: &Problem, inode: u32) {
        let kept = self.kinds.get_mut(&problem.code);
        for finding in kept.into_iter().flat_map(|kind| &mut kind.kept) {
            if finding.place.inode == Some(inode) {
                finding.hide();
            }
        }
    }

    /// What is kept of this pass or part of one, in no order.
    pub(crate) fn of_pass(&self, subpass: u16) -> impl Iterator<Item = &Finding> {
        let kept = self.kinds.values().flat_map(|kind| &kind.kept);
        kept.filter(move |finding| finding.subpass == subpass)
    }

    /// Gives findings of this pass or part of one another place in it.
    pub(crate) fn reorder(&mut self, subpass: u16, mut place: impl FnMut(&mut Finding)) {
        let kept = self.kinds.values_mut().flat_map(|kind| &mut kind.kept);
        kept.filter(|finding| finding.subpass == subpass)
            .for_each(&mut place);
    }

    /// Whether nothing was found that counts as damage.
    pub fn is_sound(&self) -> bool {
        let ends = |code: &u32| {
            Problem::of(*code).is_some_and(|p| matches!(p.class, Class::Error | Class::Stop))
        };
        !self.kinds.keys().any(ends)
    }

    /// How often this problem was found.
    pub fn count(&self, problem: &Problem) -> u64 {
        self.kinds.get(&problem.code).map_or(0, |kind| kind.count)
    }

    /// All of them, in order.
    pub fn finish(mut self) -> Findings {
        let mut findings = Findings::default();
        for (code, kind) in &mut self.kinds {
            kind.shrink(self.keep);
            if let Some(problem) = Problem::of(*code) {
                findings.tallies.push(Tally {
                    problem,
                    count: kind.count,
                });
            }
            findings.list.append(&mut kind.kept);
        }
        findings.list.sort_by_key(Finding::place_in_check);
        findings
    }
}

impl Kind {
    fn shrink(&mut self, keep: usize) {
        self.kept.sort_by_key(Finding::place_in_check);
        self.kept.truncate(keep);
    }
}

/// All that was found.
#[derive(Debug, Default)]
pub struct Findings {
    /// Those that were kept, in the order of the passes and, within one, of a single walker.
    pub list: Vec<Finding>,
    /// How many there were of each, by code.
    pub tallies: Vec<Tally>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{P1_BAD_I_BLOCKS, P1_ZERO_DTIME, P5_BLOCK_BITMAP_END};

    #[test]
    fn the_first_are_kept_whoever_found_them_and_all_are_counted() {
        let mut log = Log::new(3);
        for worker in 0..4 {
            let mut own = log.fork();
            for inode in (worker..400).step_by(4).rev() {
                own.add(Finding::new(&P1_ZERO_DTIME).inode(inode));
            }
            log.merge(own);
        }
        let findings = log.finish();
        let inodes: Vec<_> = findings
            .list
            .iter()
            .map(|f| f.place.inode.unwrap())
            .collect();
        assert_eq!(inodes, [0, 1, 2]);
        assert_eq!(findings.tallies[0].count, 400);
    }

    #[test]
    fn what_is_put_aside_is_kept_and_told_by_its_place() {
        let mut log = Log::new(3);
        for (ino, place, times) in [(12, Some((100, 9)), 40), (13, Some((100, 3)), 2)] {
            log.aside(place);
            for _ in 0..times {
                log.add(Finding::new(&P1_BAD_I_BLOCKS).inode(ino));
            }
        }
        log.aside(None);
        log.add(Finding::new(&P1_BAD_I_BLOCKS).inode(20));
        let findings = log.finish();
        let told = findings.list.iter().filter_map(|f| f.place.inode);
        assert_eq!(told.collect::<Vec<_>>(), [20, 13, 13]);
        assert_eq!(findings.tallies[0].count, 43);
    }

    #[test]
    fn one_may_stand_for_many() {
        let mut log = Log::new(3);
        log.add_times(Finding::new(&P1_ZERO_DTIME).inode(12), 5000);
        log.add_times(Finding::new(&P1_ZERO_DTIME).inode(13), 0);
        let findings = log.finish();
        assert_eq!((findings.list.len(), findings.tallies[0].count), (1, 5000));
    }

    #[test]
    fn they_come_in_the_order_of_passes_and_inodes() {
        let mut log = Log::new(10);
        log.add(Finding::new(&P5_BLOCK_BITMAP_END));
        log.add(Finding::new(&P1_BAD_I_BLOCKS).inode(12));
        log.add(Finding::new(&P1_ZERO_DTIME).inode(13));
        log.add(Finding::new(&P1_ZERO_DTIME).inode(11));
        let order: Vec<_> = log.finish().list.iter().map(|f| f.order).collect();
        assert_eq!(order, [11, 12, 13, 0]);
    }
}
