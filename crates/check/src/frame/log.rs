//! Findings from several threads, with a bound on memory.
//!
//! A filesystem whose bitmaps are lost has as many faults as it has blocks. All are counted; of each problem only the first
//! `keep` are kept, "first" in the order in which one walker would meet them, which does not depend on the threads.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::problem::Problem;

/// Findings kept per problem by default.
pub const DEFAULT_KEPT: usize = 1000;

/// How often a problem was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The problem.
    pub problem: &'static Problem,
    /// Number of findings, kept or not.
    pub count: u64,
}

#[derive(Debug)]
struct Kind {
    problem: &'static Problem,
    count: u64,
    kept: Vec<Finding>,
}

/// The findings of one worker in one pass. Workers' logs are joined by [`Log::merge`].
#[derive(Debug)]
pub struct Log {
    keep: usize,
    kinds: BTreeMap<u32, Kind>,
    /// Findings so far, which breaks ties of position within one worker.
    sequence: u64,
}

impl Log {
    /// An empty log that keeps this many findings per problem.
    pub fn new(keep: usize) -> Log {
        Log {
            keep: keep.max(1),
            kinds: BTreeMap::new(),
            sequence: 0,
        }
    }

    /// An empty log with the same bound, for a worker.
    #[must_use]
    pub fn fork(&self) -> Log {
        Log::new(self.keep)
    }

    /// Takes a finding.
    pub fn add(&mut self, finding: Finding) {
        self.add_times(finding, 1);
    }

    /// Takes a finding that represents this many alike.
    pub fn add_times(&mut self, mut finding: Finding, times: u64) {
        if times > 0 {
            self.sequence += 1;
            finding.sequence = self.sequence;
            self.keep(finding, times);
        }
    }

    /// Whether it has no finding.
    pub(crate) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Takes a finding that comes before all others of its position, whenever it is made: a question about all that follow.
    pub fn add_ahead(&mut self, mut finding: Finding) {
        finding.sequence = 0;
        self.keep(finding, 1);
    }

    fn keep(&mut self, finding: Finding, times: u64) {
        let keep = self.keep;
        let kind = self.kind(finding.problem);
        kind.count += times;
        kind.kept.push(finding);
        // Sorting once per doubling keeps adding cheap.
        if kind.kept.len() >= keep.saturating_mul(2).max(16) {
            kind.shrink(keep);
        }
    }

    fn kind(&mut self, problem: &'static Problem) -> &mut Kind {
        self.kinds.entry(problem.code).or_insert_with(|| Kind {
            problem,
            count: 0,
            kept: Vec::new(),
        })
    }

    /// Takes all findings of another log.
    pub fn merge(&mut self, other: Log) {
        self.sequence += other.sequence;
        let keep = self.keep;
        for theirs in other.kinds.into_values() {
            let kind = self.kind(theirs.problem);
            kind.count += theirs.count;
            kind.kept.extend(theirs.kept);
            kind.shrink(keep);
        }
    }

    /// The findings kept so far, in no order.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &Finding> {
        self.kinds.values().flat_map(|kind| &kind.kept)
    }

    /// The same, to be changed.
    pub(crate) fn kept_mut(&mut self) -> impl Iterator<Item = &mut Finding> {
        self.kinds.values_mut().flat_map(|kind| &mut kind.kept)
    }

    /// How often this problem was found.
    pub fn count(&self, problem: &Problem) -> u64 {
        self.kinds.get(&problem.code).map_or(0, |kind| kind.count)
    }

    /// All findings, in order.
    pub fn finish(self) -> Findings {
        let mut findings = Findings::default();
        for mut kind in self.kinds.into_values() {
            kind.shrink(self.keep);
            findings.tallies.push(Tally {
                problem: kind.problem,
                count: kind.count,
            });
            findings.list.append(&mut kind.kept);
        }
        findings.list.sort_by_key(Finding::position);
        findings
    }
}

impl Kind {
    fn shrink(&mut self, keep: usize) {
        self.kept.sort_by_key(Finding::position);
        self.kept.truncate(keep);
    }
}

/// Everything that was found.
#[derive(Debug, Default)]
pub struct Findings {
    /// Findings that were kept, in the order of the passes and, within one, of a single walker.
    pub list: Vec<Finding>,
    /// Number of findings per problem, by code.
    pub tallies: Vec<Tally>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::problem::tests::{EARLY, LATE, OTHER};

    #[test]
    fn the_first_are_kept_in_whatever_thread_and_all_are_counted() {
        let mut log = Log::new(3);
        for worker in 0..4 {
            let mut own = log.fork();
            for inode in (worker..400_u32).step_by(4).rev() {
                own.add(Finding::new(&EARLY).inode(inode));
            }
            log.merge(own);
        }
        let findings = log.finish();
        let inodes = findings.list.iter().map(|f| f.place.inode.unwrap());
        assert_eq!(inodes.collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(findings.tallies[0].count, 400);
    }

    #[test]
    fn one_may_stand_for_many() {
        let mut log = Log::new(3);
        log.add_times(Finding::new(&EARLY).inode(12_u64), 5000);
        log.add_times(Finding::new(&EARLY).inode(13_u64), 0);
        let findings = log.finish();
        assert_eq!((findings.list.len(), findings.tallies[0].count), (1, 5000));
    }

    #[test]
    fn they_come_in_the_order_of_passes_and_inodes() {
        let mut log = Log::new(10);
        log.add(Finding::new(&LATE));
        log.add(Finding::new(&OTHER).inode(12_u64));
        log.add(Finding::new(&EARLY).inode(13_u64));
        log.add(Finding::new(&EARLY).inode(11_u64));
        let inodes = log.finish().list.into_iter().map(|f| f.place.inode);
        assert_eq!(
            inodes.collect::<Vec<_>>(),
            [Some(11), Some(12), Some(13), None]
        );
    }
}
