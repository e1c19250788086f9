//! "Was it memory?": whether a check was slow because the machine, or its group, was short of it.
//!
//! The readers of 2012 asked whether the checker swapped; the author answered that it did not, and
//! could not show it. Here three things answer. The kernel's counters of swapping and reclaim over
//! each phase are of the whole machine, and do not count reclaim inside a limited group; so the
//! group's own peak, and how often it reached its limit, are beside them. And as a counter alone does
//! not show what it cost (reclaiming clean cache costs little), cells that differ only in `memory`
//! are compared as every other figure is: ratio, interval, one family.

mod answer;
mod gather;

use serde::Serialize;

use crate::model::Versus;

pub(crate) use gather::of;

/// What is known of memory in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// One plain sentence for each filesystem.
    pub answers: Vec<Answer>,
    /// By phase, then in the order of the plan's cells.
    pub rows: Vec<Row>,
    /// Checks of cells that differ only in `memory`.
    pub pairs: Vec<Pair>,
    /// How many comparisons were corrected together.
    pub family: usize,
}

/// One phase of one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// [`study::Cell::id`].
    pub cell: u32,
    /// Its filesystem, as the study names it.
    pub filesystem: String,
    /// The levels in which the cells differ.
    pub label: String,
    /// Name of the phase, in snake case.
    pub phase: String,
    /// Pages swapped in and out, of each trial.
    #[serde(rename = "pages_swapped")]
    pub swapped: Vec<f64>,
    /// Pages reclaimed, of each trial; of the whole machine, limited groups not counted.
    #[serde(rename = "pages_reclaimed")]
    pub reclaimed: Vec<f64>,
    /// Allocations that had to wait for reclaim, of each trial.
    #[serde(rename = "allocation_stalls")]
    pub stalls: Vec<f64>,
    /// The limit, bytes.
    pub limit: Option<f64>,
    /// Largest charge of the group since the trial began, bytes, of each trial.
    pub peak: Vec<f64>,
    /// How often the group met its limit, of each trial.
    #[serde(rename = "limit_met")]
    pub met: Vec<f64>,
    /// Inodes (files counted times the size of an inode) over the limit, or over the memory of the
    /// machine; the largest trial.
    #[serde(rename = "inodes_over_memory")]
    pub inode_share: Option<f64>,
}

/// A cell under a limit against the same cell with more memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The filesystem.
    pub filesystem: String,
    /// The other levels in which the cells differ.
    pub label: String,
    /// Level of `memory` of the base (`none`) and of the other (`96m`).
    pub memory: [String; 2],
    /// Limit of the other, bytes.
    pub limit: f64,
    /// Time of the check: other over base.
    pub seconds: Option<Versus>,
    /// Bytes that the check read.
    pub read: Option<Versus>,
}

/// The answer for one filesystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The filesystem, as the study names it.
    pub filesystem: String,
    /// `No`, `Yes`, `Yes, in part`, `Perhaps`, `Not known`.
    #[serde(rename = "answer")]
    pub word: &'static str,
    /// The counters that the answer follows from, as a sentence.
    pub because: String,
}

impl Answer {
    /// `No: no page was swapped ...`.
    pub fn sentence(&self) -> String {
        format!("{}: {}", self.word, self.because)
    }
}

impl Row {
    /// Number of trials.
    pub fn n(&self) -> usize {
        self.swapped.len()
    }

    /// Pages reclaimed, as [`counted_here`](Self::counted_here) has it.
    pub fn reclaimed_text(&self) -> String {
        self.counted_here(&self.reclaimed)
    }

    /// Stalls, as [`counted_here`](Self::counted_here) has it.
    pub fn stalls_text(&self) -> String {
        self.counted_here(&self.stalls)
    }

    /// Nothing for a zero under a limit: the kernel counts only what the machine as a whole had to
    /// reclaim, so that zero says nothing of the group.
    fn counted_here(&self, values: &[f64]) -> String {
        if self.limit.is_some() && values.iter().all(|v| *v == 0.0) {
            return "-".to_owned();
        }
        spread_text(values, whole)
    }

    /// Whether any counter shows pressure.
    pub fn pressed(&self) -> bool {
        let any = |values: &[f64]| values.iter().any(|v| *v > 0.0);
        any(&self.swapped) || any(&self.reclaimed) || any(&self.stalls) || any(&self.met)
    }
}

impl Memory {
    /// The rows by phase, in the order in which the phases come.
    pub fn by_phase(&self) -> Vec<(&str, Vec<&Row>)> {
        let mut groups: Vec<(&str, Vec<&Row>)> = Vec::new();
        for row in &self.rows {
            match groups.iter_mut().find(|(phase, _)| *phase == row.phase) {
                Some((_, rows)) => rows.push(row),
                None => groups.push((&row.phase, vec![row])),
            }
        }
        groups
    }
}

/// Median and largest of some values; none of none.
pub(crate) fn spread(values: &[f64]) -> Option<(f64, f64)> {
    let summary = stats::summarize(values).ok()?;
    Some((summary.median, summary.max))
}

/// `12 (largest 300)`, or the one number that both are.
pub(crate) fn spread_text(values: &[f64], write: fn(f64) -> String) -> String {
    match spread(values) {
        None => "-".to_owned(),
        Some((median, largest)) if write(median) == write(largest) => write(median),
        Some((median, largest)) => format!("{} ({})", write(median), write(largest)),
    }
}

/// A count; from 10,000 on in thousands.
pub(crate) fn whole(value: f64) -> String {
    if value < 9999.5 {
        format!("{value:.0}")
    } else {
        format!("{:.0}k", value / 1000.0)
    }
}

/// MiB of bytes: whole ones from 10 on.
pub(crate) fn mib(bytes: f64) -> String {
    let mib = bytes / 1_048_576.0;
    if mib >= 10.0 {
        format!("{mib:.0}")
    } else {
        format!("{mib:.1}")
    }
}

/// A share in percent with two digits: `0.3 %`, `14 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        0.0 => "0 %".to_owned(),
        p if p >= 10.0 => format!("{p:.0} %"),
        p if p >= 0.1 => format!("{p:.1} %"),
        p => format!("{p:.3} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short_and_spreads_say_what_differs() {
        let written: Vec<String> = [0.0, 313.0, 9999.0, 124_482.0].map(whole).into();
        assert_eq!(written, ["0", "313", "9999", "124k"]);
        assert_eq!(spread_text(&[2.0, 2.0, 2.0], whole), "2");
        assert_eq!(spread_text(&[0.0, 0.0, 7.0], whole), "0 (7)");
        assert_eq!(spread_text(&[], whole), "-");
        assert_eq!(
            (mib(96.0 * 1_048_576.0), mib(5e6)),
            ("96".to_owned(), "4.8".to_owned())
        );
        assert_eq!(
            [1.5, 0.003, 0.00009, 0.0].map(percent),
            ["150 %", "0.3 %", "0.009 %", "0 %"]
        );
    }
}
