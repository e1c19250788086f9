//! The runs as the message of 2010 lists them: options, dd's last line, GNU time's two.
//!
//! Piszcz mailed no table. He listed runs, one set of mount options after the other, each with the line
//! dd ends with and the two of `/usr/bin/time`; below a traced run the sum of blktrace, below others
//! filefrag's last line. His readers argue with these lines, so a run of dd can be read as such a list
//! here too. Where he had one run, the middle one of each cell represents the others.
//!
//! Two things differ and are explained above the list: dd's MB are 10^6 bytes, and elapsed goes on to the end
//! of syncfs, while dd stops when its last write returns.

use record::{FileLayout, Phase, Status, Trace, TrialRecord, Usage};
use study::{Cell, Slot, WorkloadSpec};

use crate::file_layout::extents_found;
use crate::fill::Sources;
use crate::labels::{Labels, filesystem};
use crate::tool_output::{Era, dd_last};
use crate::usage::gnu_time;

/// The study that repeats the message.
const DOCUMENT: &str = "piszcz2010";

/// Name of a workload that is dd, whatever the study.
const DD: &str = "dd";

/// All runs of the list.
#[derive(Debug)]
pub struct Transcript<'a> {
    /// By filesystem, in the plan's order.
    pub groups: Vec<Group<'a>>,
}

/// The runs on one filesystem, made in one way.
#[derive(Debug)]
pub struct Group<'a> {
    /// `ext4`, or `ext4, mkfs -E stride=16,stripe_width=176`.
    pub of: String,
    /// In the plan's order.
    pub entries: Vec<Entry<'a>>,
}

/// One phase of the middle trial of a cell.
#[derive(Debug)]
pub struct Entry<'a> {
    /// [`study::Cell::id`].
    pub cell: u32,
    /// The trial and its block.
    pub slot: Slot,
    /// How many trials there were.
    pub n: usize,
    /// Mount options asked for, with commas; empty: none.
    pub options: String,
    /// In what else the cell differs (`traced`); may be empty.
    pub besides: String,
    /// Name of the phase, in snake case.
    pub phase: &'a str,
    /// Bytes that it moved.
    pub bytes: u64,
    /// Seconds of clock (a).
    pub seconds: f64,
    /// Resources that it used; none: not recorded.
    pub usage: Option<&'a Usage>,
    /// The file it left.
    pub file: Option<&'a FileLayout>,
    /// Its block traces.
    pub traces: &'a [Trace],
}

impl Entry<'_> {
    /// `-o data=writeback,nobarrier:`, with what else the cell differs in.
    pub fn heading(&self) -> String {
        let options = match self.options.as_str() {
            "" => "defaults",
            options => options,
        };
        let besides = [
            self.besides.as_str(),
            if self.phase == "write" {
                ""
            } else {
                self.phase
            },
        ];
        let besides: Vec<&str> = besides
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect();
        match besides.as_slice() {
            [] => format!("-o {options}:"),
            besides => format!("-o {options} ({}):", besides.join(", ")),
        }
    }

    /// The lines of the programs, as they print them.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![dd_last(self.bytes, self.seconds, Era::Of2010)];
        lines.extend(self.usage.iter().flat_map(|usage| gnu_time(usage)));
        lines.extend(self.file.map(extents_found));
        lines.extend(self.traces.iter().flat_map(blktrace_sum));
        lines
    }
}

/// The last lines of blktrace: `=== md0 ===` and its total.
fn blktrace_sum(trace: &Trace) -> [String; 2] {
    let device = trace.device.split_whitespace().next().unwrap_or_default();
    let kib = trace.bytes.saturating_add(1024) >> 10;
    [
        format!("=== {device} ==="),
        format!(
            "  Total:  {:>20} events (dropped {}), {kib:>8} KiB data",
            trace.events, trace.lost
        ),
    ]
}

/// The list of a run's streams, where they are dd's; none otherwise.
pub(crate) fn of<'a>(sources: &Sources<'a>) -> Option<Transcript<'a>> {
    let plan = &sources.run.plan;
    let repeats = plan.repeats.as_deref() == Some(DOCUMENT);
    let is_dd = |cell: &&Cell| {
        let named = repeats || cell.workload_name == DD;
        named && matches!(cell.workload, WorkloadSpec::Stream(_))
    };
    let cells: Vec<&Cell> = plan.cells.iter().filter(is_dd).collect();
    let labels = Labels::of(plan, &cells).without(&["filesystem", "mount", "mkfs"]);
    let mut groups: Vec<Group<'a>> = Vec::new();
    for cell in cells {
        let entries = entries(sources, cell, &labels);
        if entries.is_empty() {
            continue;
        }
        let of = made(cell);
        match groups.iter_mut().find(|group| group.of == of) {
            Some(group) => group.entries.extend(entries),
            None => groups.push(Group { of, entries }),
        }
    }
    (!groups.is_empty()).then_some(Transcript { groups })
}

/// The filesystem and how it was asked to be made.
fn made(cell: &Cell) -> String {
    let name = filesystem(cell);
    match cell.filesystem.mkfs.as_slice() {
        [] => name,
        words => format!("{name}, mkfs {}", words.join(" ")),
    }
}

/// The phases of a cell in its middle trial.
fn entries<'a>(sources: &Sources<'a>, cell: &'a Cell, labels: &Labels) -> Vec<Entry<'a>> {
    let mut trials: Vec<(f64, Slot, &'a TrialRecord)> = sources
        .slots()
        .filter(|(slot, trial)| slot.cell == cell.id && trial.status == Status::Finished)
        .filter_map(|(slot, trial)| {
            let seconds = trial.phases.iter().filter_map(seconds);
            Some((seconds.reduce(|a, b| a + b)?, *slot, trial))
        })
        .collect();
    trials.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n = trials.len();
    let Some((_, slot, trial)) = n
        .checked_sub(1)
        .and_then(|last| trials.get(last / 2))
        .copied()
    else {
        return Vec::new();
    };
    let besides = labels.of_cell(cell);
    let besides = if besides == filesystem(cell) {
        String::new()
    } else {
        besides
    };
    let entry = |phase: &'a Phase| {
        let layout = trial.layouts.iter().find(|l| l.phase == phase.name);
        Some(Entry {
            cell: cell.id,
            slot,
            n,
            options: cell.filesystem.mount.join(","),
            besides: besides.clone(),
            phase: &phase.name,
            bytes: phase.detail.get("bytes")?.as_u64()?,
            seconds: seconds(phase)?,
            usage: phase.usage.as_ref(),
            file: layout.and_then(|layout| layout.files.first()),
            traces: if phase.name == "write" {
                &trial.traces
            } else {
                &[]
            },
        })
    };
    trial.phases.iter().filter_map(entry).collect()
}

/// Seconds of clock (a), of a phase of the workload itself: a check has no bytes.
fn seconds(phase: &Phase) -> Option<f64> {
    phase
        .detail
        .get("bytes")?
        .as_u64()
        .filter(|bytes| *bytes > 0)?;
    phase.detail.get("seconds")?.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_piszczs() {
        let usage = Usage {
            elapsed: 34.78,
            user: 0.02,
            system: 19.38,
            max_rss: 7280,
            major_faults: 3,
            minor_faults: 491,
            ..Usage::default()
        };
        let trace = Trace {
            device: "md0 (the filesystem's)".into(),
            events: 2_557_902,
            bytes: 119_902 * 1024 - 1,
            ..Trace::default()
        };
        let traces = [trace];
        let entry = Entry {
            cell: 0,
            slot: Slot {
                trial: 0,
                block: 0,
                cell: 0,
                seed: 0,
            },
            n: 1,
            options: "data=writeback,nobarrier".into(),
            besides: "traced".into(),
            phase: "write",
            bytes: 10_737_418_240,
            seconds: 34.755,
            usage: Some(&usage),
            file: None,
            traces: &traces,
        };
        assert_eq!(entry.heading(), "-o data=writeback,nobarrier (traced):");
        assert_eq!(
            entry.lines(),
            [
                "10737418240 bytes (11 GB) copied, 34.755 s, 309 MB/s",
                "0.02user 19.38system 0:34.78elapsed 55%CPU (0avgtext+0avgdata 7280maxresident)k",
                "0inputs+0outputs (3major+491minor)pagefaults 0swaps",
                "=== md0 ===",
                "  Total:               2557902 events (dropped 0),   119902 KiB data",
            ]
        );
    }
}
