//! A log whose findings carry what e2fsck's order needs.

use super::stops;
use crate::frame::finding::Finding;
use crate::frame::log::{self, Findings};
use crate::frame::problem::Problem;

/// The findings of one worker in one pass, as [`log::Log`], with marks for those to come: the part of the inode, the position of a
/// deferred inode, and whether e2fsck reaches them at all.
#[derive(Debug)]
pub(crate) struct Log {
    findings: log::Log,
    stage: u8,
    deferred: Option<(u64, u64)>,
    unreached: bool,
}

impl Log {
    /// An empty log that keeps this many findings per problem.
    pub(crate) fn new(keep: usize) -> Log {
        Log::around(log::Log::new(keep))
    }

    fn around(findings: log::Log) -> Log {
        Log {
            findings,
            stage: 0,
            deferred: None,
            unreached: false,
        }
    }

    /// An empty log with the same bound, for a worker.
    #[must_use]
    pub(crate) fn fork(&self) -> Log {
        Log::around(self.findings.fork())
    }

    /// Findings from here on belong to this part of an inode ([`super::order::stage`]), whenever the other parts are judged.
    pub(crate) fn stage(&mut self, stage: u8) {
        self.stage = stage;
    }

    /// Findings from here on belong to a deferred inode at this position within the pass and among deferred inodes; none: no longer.
    pub(crate) fn defer(&mut self, position: Option<(u64, u64)>) {
        self.deferred = position;
    }

    /// Whether e2fsck does not reach the findings from here on.
    pub(crate) fn unreached(&mut self, unreached: bool) {
        self.unreached = unreached;
    }

    fn mark(&self, mut finding: Finding) -> Finding {
        finding.set_stage(self.stage);
        if let Some((position, deferred)) = self.deferred {
            finding.set_position_in_pass(position, deferred);
        }
        if self.unreached {
            finding.hide();
        }
        finding
    }

    /// Takes a finding.
    pub(crate) fn add(&mut self, finding: Finding) {
        self.findings.add(self.mark(finding));
    }

    /// Takes a finding that represents this many alike.
    pub(crate) fn add_times(&mut self, finding: Finding, times: u64) {
        self.findings.add_times(self.mark(finding), times);
    }

    /// Takes a finding that comes before all others of its position, unmarked.
    pub(crate) fn add_ahead(&mut self, finding: Finding) {
        self.findings.add_ahead(finding);
    }

    /// Takes all findings of another log.
    pub(crate) fn merge(&mut self, other: Log) {
        self.findings.merge(other.findings);
    }

    /// Marks the findings of a problem in an inode as not reached by e2fsck.
    pub(crate) fn hide(&mut self, problem: &Problem, inode: u32) {
        let inode = Some(u64::from(inode));
        self.findings
            .kept_mut()
            .filter(|finding| finding.problem == problem && finding.place.inode == inode)
            .for_each(Finding::hide);
    }

    /// The findings kept of a pass or part of a pass, in no order.
    pub(crate) fn of_pass(&self, rank: u16) -> impl Iterator<Item = &Finding> {
        let kept = self.findings.kept();
        kept.filter(move |finding| finding.rank() == u64::from(rank))
    }

    /// Changes the findings kept of a pass or part of a pass.
    pub(crate) fn reorder(&mut self, rank: u16, change: impl FnMut(&mut Finding)) {
        self.findings
            .kept_mut()
            .filter(|finding| finding.rank() == u64::from(rank))
            .for_each(change);
    }

    /// How often this problem was found.
    #[cfg(test)]
    pub(crate) fn count(&self, problem: &Problem) -> u64 {
        self.findings.count(problem)
    }

    /// All findings, in order, with the ends of e2fsck marked.
    pub(crate) fn finish(self) -> Findings {
        let mut findings = self.findings.finish();
        stops::mark(&mut findings.list);
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext4::e2fsck::problems::P1_BAD_I_BLOCKS;

    #[test]
    fn findings_of_deferred_inodes_are_kept_by_their_position() {
        let mut log = Log::new(3);
        for (ino, position, times) in [(12_u32, Some((100, 9)), 40), (13, Some((100, 3)), 2)] {
            log.defer(position);
            for _ in 0..times {
                log.add(Finding::new(&P1_BAD_I_BLOCKS).inode(ino));
            }
        }
        log.defer(None);
        log.add(Finding::new(&P1_BAD_I_BLOCKS).inode(20_u32));
        let findings = log.finish();
        let inodes = findings.list.iter().filter_map(|f| f.place.inode);
        assert_eq!(inodes.collect::<Vec<_>>(), [20, 13, 13]);
        assert_eq!(findings.tallies[0].count, 43);
    }
}
