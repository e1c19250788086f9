//! Block traces of the trials: what the device was asked for while a phase ran.
//!
//! The reviewers of 2010 wanted `blktrace` besides filefrag, to see how the writes are scheduled. A
//! trace has millions of events; what answers them are a few figures for each phase: how many bios
//! became how many requests of what size, how far apart they are, how long they took and how many
//! were in flight, and which of them carried data, metadata and the journal. They are printed as
//! medians over the traced trials of a cell, in four small tables by what a reader asks.
//!
//! A trace that lost events counts too little of everything. Its figures are still shown, since most
//! ratios survive a loss, but the row says `degraded` and how much was lost, in every format.
//!
//! What tracing itself cost is a difference like any other: see [`Cost`].

mod cost;

use record::{Status, Trace};
use study::{Cell, Slot};

use crate::fill::Sources;
use crate::labels::Labels;

pub(crate) use cost::of as cost_of;
pub use cost::{Cost, Pair};

/// A whole trial among the names of phases in [`Trace::figures`].
pub const WHOLE: &str = "trial";

/// Figures of the traces of a run.
#[derive(Debug, Default)]
pub struct BlockIo<'a> {
    /// By cell, then device, then phase in running order, the whole trial last.
    pub rows: Vec<Row<'a>>,
    /// Files of the traces, bytes in all.
    pub bytes: u64,
    /// What a reader must know of a trace, each text once.
    pub notes: Vec<String>,
    /// Whether there is more than one device among the rows.
    pub devices: bool,
}

/// One phase of one cell on one device.
#[derive(Debug)]
pub struct Row<'a> {
    /// The cell.
    pub cell: u32,
    /// Levels that distinguish it from the others.
    pub label: String,
    /// The phase, or [`WHOLE`].
    pub phase: &'a str,
    /// The device: what it is to the filesystem, where the trace says so, for a loop device has another
    /// name in each trial.
    pub device: &'a str,
    /// The traces, one a trial, in block order.
    pub traces: Vec<(Slot, &'a Trace)>,
}

/// A figure of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its head.
    pub head: &'static str,
    /// Its name in the record.
    pub name: &'static str,
    /// How its value is written.
    pub unit: Unit,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// A size in the largest unit that suits it.
    Bytes,
    /// A time in the unit that suits it.
    Seconds,
    /// Per cent of a whole.
    Share,
    /// A number.
    Ratio,
}

/// A table of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panel {
    /// What it answers.
    pub title: &'static str,
    /// Its columns; those that no row has are left out.
    pub columns: &'static [Column],
}

const fn column(head: &'static str, name: &'static str, unit: Unit) -> Column {
    Column { head, name, unit }
}

/// The tables, in the order in which a reader asks.
pub const PANELS: [Panel; 4] = [
    Panel {
        title: "What was asked for, and what went to the device",
        columns: &[
            column("events", "trace_events", Unit::Count),
            column("lost", "trace_lost", Unit::Count),
            column("bios", "trace_bios", Unit::Count),
            column("mean bio", "trace_bio_mean", Unit::Bytes),
            column("requests", "trace_requests", Unit::Count),
            column("mean req.", "trace_request_mean", Unit::Bytes),
            column("merges", "trace_merges", Unit::Count),
            column("Q/D", "trace_merge_ratio", Unit::Ratio),
        ],
    },
    Panel {
        title: "Where the requests are",
        columns: &[
            column("mean seek", "trace_seek_mean", Unit::Bytes),
            column("sequential", "trace_sequential", Unit::Share),
            column("kind switches", "trace_kind_switches", Unit::Count),
            column("flushes", "trace_flushes", Unit::Count),
        ],
    },
    Panel {
        title: "How long they took: in all (Q2C) and in the device (D2C)",
        columns: &[
            column("Q2C mean", "trace_q2c_mean", Unit::Seconds),
            column("p50", "trace_q2c_p50", Unit::Seconds),
            column("p99", "trace_q2c_p99", Unit::Seconds),
            column("D2C mean", "trace_d2c_mean", Unit::Seconds),
            column("p50", "trace_d2c_p50", Unit::Seconds),
            column("p99", "trace_d2c_p99", Unit::Seconds),
            column("in flight", "trace_depth", Unit::Ratio),
            column("busy", "trace_busy", Unit::Share),
        ],
    },
    Panel {
        title: "What the bytes were for",
        columns: &[
            column("data", "trace_data_bytes", Unit::Bytes),
            column("metadata", "trace_metadata_bytes", Unit::Bytes),
            column("share", "trace_metadata_share", Unit::Share),
            column("journal", "trace_journal_bytes", Unit::Bytes),
            column("share", "trace_journal_share", Unit::Share),
        ],
    },
];

impl Row<'_> {
    /// One figure of each trace that has it.
    pub fn values(&self, name: &str) -> Vec<f64> {
        let figures = self.traces.iter().filter_map(|(_, trace)| {
            let of_phase = trace.figures.get(self.phase)?;
            of_phase.get(name).copied()
        });
        figures.collect()
    }

    /// Median of a figure over the traces.
    pub fn median(&self, name: &str) -> Option<f64> {
        Some(stats::summarize(&self.values(name)).ok()?.median)
    }

    /// Traces that lost events.
    pub fn degraded(&self) -> usize {
        self.traces.iter().filter(|(_, t)| t.lost > 0).count()
    }

    /// `degraded: 1 of 5 traces lost 312 of 812345 events (0.04 %)`; nothing for whole traces.
    pub fn doubt(&self) -> Option<String> {
        let n = self.degraded();
        let sum = |of: fn(&Trace) -> u64| -> u64 {
            let lossy = self.traces.iter().filter(|(_, t)| t.lost > 0);
            lossy.map(|(_, t)| of(t)).sum()
        };
        let (lost, kept) = (sum(|t| t.lost), sum(|t| t.events));
        let all = lost.saturating_add(kept);
        (n > 0).then(|| {
            format!(
                "degraded: {n} of {} lost {lost} of {all} events ({:.2} %)",
                match self.traces.len() {
                    1 => "1 trace".to_owned(),
                    n => format!("{n} traces"),
                },
                100.0 * lost as f64 / all as f64
            )
        })
    }
}

impl Panel {
    /// The columns that any of these rows has.
    pub fn shown<'p>(&'p self, rows: &'p [Row<'_>]) -> impl Iterator<Item = &'p Column> {
        let has = move |column: &&Column| rows.iter().any(|r| !r.values(column.name).is_empty());
        self.columns.iter().filter(has)
    }
}

/// Figures of the report's finished trials; none when none was traced.
pub(crate) fn of<'a>(sources: &Sources<'a>) -> Option<BlockIo<'a>> {
    let trials: Vec<_> = sources
        .slots()
        .filter(|(_, trial)| trial.status == Status::Finished && !trial.traces.is_empty())
        .collect();
    let traces = || trials.iter().flat_map(|(_, trial)| &trial.traces);
    let has_any = |cell: &&Cell| trials.iter().any(|(slot, _)| slot.cell == cell.id);
    let cells: Vec<&Cell> = sources.run.plan.cells.iter().filter(has_any).collect();
    let labels = Labels::of(&sources.run.plan, &cells);
    let mut found = BlockIo {
        bytes: traces().map(|trace| trace.bytes).sum(),
        ..BlockIo::default()
    };
    for note in traces().flat_map(|trace| &trace.notes) {
        if !found.notes.contains(note) {
            found.notes.push(note.clone());
        }
    }
    for cell in &cells {
        let mut here: Vec<_> = trials.iter().filter(|(s, _)| s.cell == cell.id).collect();
        here.sort_by_key(|(slot, _)| slot.block);
        let all = here
            .iter()
            .flat_map(|(slot, trial)| trial.traces.iter().map(|trace| (**slot, trace)));
        // In the order of the trace: the filesystem's own device before those below it.
        let mut devices: Vec<(&str, Vec<(Slot, &Trace)>)> = Vec::new();
        for (slot, trace) in all {
            let device = role(&trace.device);
            match devices.iter_mut().find(|(known, _)| *known == device) {
                Some((_, traces)) => traces.push((slot, trace)),
                None => devices.push((device, vec![(slot, trace)])),
            }
        }
        for (device, traces) in devices {
            for phase in phases(&here, &traces) {
                found.rows.push(Row {
                    cell: cell.id,
                    label: labels.of_cell(cell),
                    phase,
                    device,
                    traces: traces.clone(),
                });
            }
        }
    }
    let first = found.rows.first().map(|row| row.device);
    found.devices = found.rows.iter().any(|row| Some(row.device) != first);
    (!found.rows.is_empty()).then_some(found)
}

/// `the filesystem's device` of `loop1 (the filesystem's device)`; a bare name is its own.
fn role(device: &str) -> &str {
    let inside = device.split_once(" (").map(|(_, role)| role);
    inside
        .and_then(|role| role.strip_suffix(')'))
        .unwrap_or(device)
}

/// The phases with figures in running order; the whole trial only where it says more than its one
/// phase.
fn phases<'a>(
    trials: &[&(&'a Slot, &'a record::TrialRecord)],
    traces: &[(Slot, &'a Trace)],
) -> Vec<&'a str> {
    let has = |name: &str| traces.iter().any(|(_, t)| t.figures.contains_key(name));
    let mut names: Vec<&str> = Vec::new();
    for phase in trials.iter().flat_map(|(_, trial)| &trial.phases) {
        if has(&phase.name) && !names.contains(&phase.name.as_str()) {
            names.push(&phase.name);
        }
    }
    // Figures of a phase that the log does not name are not lost.
    for name in traces.iter().flat_map(|(_, t)| t.figures.keys()) {
        if name != WHOLE && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    if names.len() != 1 && has(WHOLE) {
        names.push(WHOLE);
    }
    names
}
