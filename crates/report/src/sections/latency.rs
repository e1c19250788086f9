//! How long operations took, as a section: a table of the main operation of each phase with its
//! histograms, then all of them.

use words::short_time;

use crate::doc::{self, Block, Cell, Column, Details, Drawing, Plot, Section, Sheet};
use crate::latency::{Latencies, Row};

/// What the columns mean.
const MEANING: &str = "Of each phase the operation in which most of the time went: medians over the \
     n trials of each trial's quantiles, and the longest of all trials. A time begins where the \
     operation before it ended";

/// The most cells of one plot: more lines cannot be distinguished.
const LINES: usize = 6;

/// The section.
pub(crate) fn section(found: &Latencies) -> Section<'_> {
    let mut section = Section::new("latency", "Latency of operations").nav("Latency");
    let main = found.main();
    section.blocks.push(Block::Para(format!("{MEANING}.")));
    section
        .blocks
        .push(Block::Table(sheet("Latency by phase", &main)));
    section.blocks.push(Block::Plots(plots(&main)));
    if found.rows.len() > main.len() {
        let all: Vec<&Row> = found.rows.iter().collect();
        let details = Details {
            summary: format!("All {} operations", all.len()),
            blocks: vec![Block::Table(sheet("Latency of every operation", &all))],
            ..Details::default()
        };
        section.blocks.push(Block::Either {
            full: vec![Block::Details(details)],
            mail: Vec::new(),
        });
    }
    section
}

fn sheet(about: &str, rows: &[&Row]) -> Sheet {
    let columns = [
        Column::words("operation"),
        Column::figures("n").rank(2),
        Column::figures("calls").rank(1),
        Column::figures("p50"),
        Column::figures("p90").rank(1),
        Column::figures("p99"),
        Column::figures("p99.9"),
        Column::figures("max"),
    ];
    let rows = rows.iter().map(|row| {
        let times = [row.p50, row.p90, row.p99, row.p999, row.max].map(short_time);
        let cells = [
            row.name(),
            row.operation.clone(),
            row.n.to_string(),
            words::grouped(row.operations),
        ];
        doc::Row::new(cells.into_iter().chain(times).map(Cell::from))
    });
    Sheet::new(about, "cell, phase", columns).rows(rows)
}

/// Plots for each phase and operation, with a line for each cell; where several cells need several plots, these are
/// numbered and share their axes.
fn plots<'a>(main: &[&'a Row]) -> Vec<Plot<'a>> {
    let mut plots: Vec<Vec<&Row>> = Vec::new();
    for &row in main {
        let same = |rows: &&mut Vec<&Row>| {
            rows.len() < LINES
                && rows
                    .first()
                    .is_some_and(|r| (&r.phase, &r.operation) == (&row.phase, &row.operation))
        };
        match plots.iter_mut().rev().find(same) {
            Some(rows) => rows.push(row),
            None => plots.push(vec![row]),
        }
    }
    let of = |rows: &[&Row]| rows.first().map(|r| (r.phase.clone(), r.operation.clone()));
    let parts = plots.iter().enumerate().map(|(at, rows)| {
        let same = |other: &&Vec<&'a Row>| of(other) == of(rows);
        let number = plots[..=at].iter().filter(same).count();
        let all: Vec<&Vec<&Row>> = plots.iter().filter(same).collect();
        let part = match all.len() {
            1 => String::new(),
            n => format!(" ({number} of {n})"),
        };
        let name = of(rows).map(|(phase, operation)| format!("{phase}, {operation}{part}"));
        Plot {
            label: name.unwrap_or_default(),
            unit: "share of operations by latency".to_owned(),
            clock: "",
            few: String::new(),
            reach: 0.0,
            drawing: Drawing::Histogram {
                rows: rows.clone(),
                all: all.into_iter().flatten().copied().collect(),
            },
        }
    });
    parts.collect()
}
