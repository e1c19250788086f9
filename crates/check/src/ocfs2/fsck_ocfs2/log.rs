//! Findings in the order in which fsck.ocfs2 meets them.

use super::has_code;
use super::{Exit, Run};
use crate::frame::finding::Finding;
use crate::frame::log::{Findings, Log as Frame};
use crate::frame::pass::Pass;

/// The findings of a check, and the run of fsck.ocfs2 that they come to.
#[derive(Debug)]
pub(crate) struct Log {
    frame: Frame,
    run: Run,
    pass: u8,
}

impl Log {
    /// An empty log that keeps this many findings per problem.
    pub(crate) fn new(keep: usize) -> Log {
        Log {
            frame: Frame::new(keep),
            run: Run::default(),
            pass: 0,
        }
    }

    /// Findings from now on belong to this pass.
    pub(crate) fn enter(&mut self, pass: &'static Pass) {
        self.pass = pass.number;
    }

    /// Takes a finding.
    pub(crate) fn add(&mut self, finding: Finding) {
        self.add_times(finding, 1);
    }

    /// Takes a finding that represents this many alike.
    pub(crate) fn add_times(&mut self, mut finding: Finding, times: u64) {
        finding.key.0 = [self.pass.into(), 0, 0, 0, 0];
        if self.has_ended() {
            finding.hide();
        }
        if !finding.beyond_reference && has_code(finding.problem.class) && times > 0 {
            *self.run.codes.entry(finding.problem.name).or_default() += times;
        }
        self.frame.add_times(finding, times);
    }

    /// Takes a finding that fsck.ocfs2 does not look for.
    pub(crate) fn own(&mut self, finding: Finding) {
        self.add(finding.beyond_reference());
    }

    /// Takes a finding at which fsck.ocfs2 ends. Where it has ended before, this is a finding like any other.
    pub(crate) fn end(&mut self, exit: Exit, finding: Finding) {
        if self.has_ended() {
            self.add(finding);
            return;
        }
        let name = finding.problem.name;
        self.add(finding.stops_reference());
        self.run.exit = exit;
        self.run.ends_at = Some(name);
    }

    /// Whether it has no finding.
    pub(crate) fn is_empty(&self) -> bool {
        self.frame.is_empty()
    }

    /// Whether fsck.ocfs2 has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.run.ends_at.is_some()
    }

    /// All findings, and the run.
    pub(crate) fn finish(self) -> (Findings, Run) {
        (self.frame.finish(), self.run)
    }
}
