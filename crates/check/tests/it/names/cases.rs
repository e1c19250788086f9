//! What is compared: exit code and codes of both, for one change of one image.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use check::Report;

use crate::common::{Image, counts, names, raised};

/// Cases that differ, printed together, and every code that was raised.
#[derive(Default)]
pub(crate) struct Cases {
    differ: String,
    raised: BTreeSet<&'static str>,
}

pub(crate) fn set(codes: &[u32]) -> BTreeSet<u32> {
    codes.iter().copied().collect()
}

pub(crate) fn list(codes: &BTreeSet<u32>) -> Vec<&'static str> {
    names(&codes.iter().copied().collect::<Vec<_>>())
}

/// What is raised up to where e2fsck gives up; what it gives up at is in its log, if it is an error.
pub(crate) fn with_stop(report: &Report) -> Vec<u32> {
    let mut codes = raised(report);
    let mut list = report.findings.list.iter();
    let stop = list.find(|finding| finding.reference_stops);
    codes.extend(
        stop.map(|stop| stop.problem.code)
            .filter(|code| counts(*code)),
    );
    codes
}

impl Cases {
    /// Damages a copy of an image and compares; the report.
    pub(crate) fn case(
        &mut self,
        name: &str,
        base: &Image,
        damage: impl FnOnce(&mut Image),
    ) -> Report {
        let mut image = base.clone();
        damage(&mut image);
        let (code, theirs) = image.oracle();
        let report = image.judge();
        let (ours, theirs) = (set(&with_stop(&report)), set(&theirs));
        let exit = i32::from(report.verdict(check::report::Judge::Reference).exit_code);
        let all = report.findings.list.iter();
        self.raised.extend(all.map(|finding| finding.problem.name));
        if exit != code || ours != theirs {
            let (ours, theirs) = (list(&ours), list(&theirs));
            writeln!(
                self.differ,
                "{name}: exit {exit} for {code}; ours {ours:?}, e2fsck {theirs:?}"
            )
            .unwrap();
        }
        report
    }

    /// Nothing differed, and all of these were met.
    pub(crate) fn finish(self, met: &[&str]) {
        assert!(self.differ.is_empty(), "\n{}", self.differ);
        let missing: Vec<_> = met
            .iter()
            .filter(|code| !self.raised.contains(*code))
            .collect();
        assert!(missing.is_empty(), "never raised: {missing:?}");
    }
}
