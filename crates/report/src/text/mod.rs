//! The mail format: what fits into a message to a kernel list, 78 columns wide.
//!
//! A reader of the list wants the answer first and the doubts before believing it. So the study's
//! tables come right after the head, as Ts'o laid out the 2009 study, nothing added but a mark on a
//! number in doubt, each followed by the published one; then which differences count; then the
//! other clocks; then what speaks against it all. Rejected: everything about one table below that
//! table. It was complete, and the answer was spread over six hundred lines.
//!
//! Grids come before the tables: a study that has them repeats them. Their footnotes, iostat's and top's
//! rows, follow behind all results. What no reader of the answer
//! needs but one who doubts it does (GNU time's lines, today's layout of iostat) stands behind the
//! legend. Only such lines, in the formats of other programs, may be wider than the report.

mod appendix;
mod closing;
mod columns;
mod differences;
mod doubts;
mod grid;
mod growth;
mod header;
mod legend;
mod matrix;
mod members;
mod names;
pub(crate) mod placement;
mod pressure;
mod reference;
pub(crate) mod requests;
pub(crate) mod scan;
mod sheet;
mod table;
pub(crate) mod transcript;
mod why;
mod wrap;

use std::collections::BTreeSet;

use study::Clock;

use crate::error::Result;
use crate::mark::{self, section};
use crate::model::Table;
use crate::{Format, Report};

pub(crate) use closing::lines as time_lines;
pub(crate) use differences::{family, few_blocks, table_warnings};
pub(crate) use doubts::meaning;
pub(crate) use grid::{census, published_notes, published_value};
pub(crate) use header::{begun, order, trials, trials_of};
pub(crate) use legend::{few, method};
pub(crate) use table::decimals;
pub(crate) use words::wrap;
pub(crate) use wrap::cap;

/// The narrowest report, whatever was asked for.
const NARROWEST: usize = 40;

/// The text format.
#[derive(Clone, Copy, Debug)]
pub struct Text;

impl Format for Text {
    fn render(&self, report: &Report<'_>) -> Result<String> {
        let width = width(report);
        let sections = Sections::of(report);
        let mut out = header::print(report, width);
        out.push_str(&reference::print(report, width));
        let mark = mark::of(report.run);
        let mark = mark.as_deref();
        if let Some(scan) = &report.scan {
            section(&mut out, mark, &scan::print(scan, width));
        }
        for grid in &report.grids {
            section(&mut out, mark, &grid::print(grid, width));
        }
        for growth in &report.growths {
            section(&mut out, mark, &growth::print(growth, width));
        }
        if let Some(memory) = &report.memory {
            section(&mut out, mark, &pressure::print(memory, width));
        }
        section(&mut out, mark, &crate::crash::section(report, width));
        if let Some(transcript) = &report.transcript {
            section(&mut out, mark, &transcript::print(transcript, width));
        }
        if sections
            .main
            .iter()
            .any(|table| table.clocks().contains(&Clock::Original))
        {
            // Never (a) without its label; inside the tables the original's layout has no room.
            let mut text = "as the original tools compute them".to_owned();
            if !sections.other_clocks.is_empty() {
                text.push_str("; the other clocks follow further down");
            }
            out.push_str(&wrap("\nClock (a): ", 2, &text, width));
        }
        for table in &sections.main {
            out.push_str("\n\n");
            out.push_str(&table::print(table, width));
            if let Some(document) = report.published.filter(|_| table.has_published()) {
                out.push('\n');
                out.push_str(&table::published(&document.document, table, width));
            }
        }
        if let Some(published) = report
            .published
            .filter(|_| sections.main.iter().any(|table| table.has_published()))
        {
            let document = &published.document;
            let text = format!("barriers: {}", document.barriers);
            out.push_str(&wrap(&format!("\n{}, ", document.short()), 2, &text, width));
        }
        if !sections.main.is_empty() {
            let text = differences::print(report, &sections.main, width);
            section(&mut out, mark, &text);
        }
        out.push_str(&other_clocks(&sections, width));
        if let Some(why) = &report.why {
            section(&mut out, mark, &why::print(why, width));
        }
        if let Some(shares) = crate::members::of(report) {
            section(&mut out, mark, &members::print(&shares, width));
        }
        if let Some(placement) = &report.placement {
            section(&mut out, mark, &placement::print(placement, width));
        }
        if let Some(requests) = &report.requests {
            section(&mut out, mark, &requests::print(requests, width));
            let (cost, level) = (report.cost.as_ref(), report.options.level);
            section(&mut out, mark, &requests::print_cost(cost, level, width));
        }
        out.push_str("\n\n");
        for table in &sections.unmeasured {
            out.push_str(&unmeasured(table, width));
        }
        if !sections.unmeasured.is_empty() {
            out.push('\n');
        }
        out.push_str(&grid::footnotes(&report.grids, width));
        out.push_str(&doubts::print(report, width));
        out.push_str(&closing::print(report, width));
        out.push('\n');
        out.push_str(&legend::print(report, width));
        out.push_str(&appendix::print(report, width));
        Ok(out)
    }
}

/// Characters of a line: below [`NARROWEST`] a label and one number side by side do not fit.
fn width(report: &Report<'_>) -> usize {
    match report.options.width {
        0 => usize::MAX,
        width => width.max(NARROWEST),
    }
}

/// The mail tables alone, as the original message has them.
pub fn mail_tables(report: &Report<'_>) -> String {
    let width = width(report);
    let tables: Vec<String> = report
        .tables
        .iter()
        .map(|t| table::print(t, width))
        .collect();
    tables.join("\n\n")
}

/// The tables by what a reader does with them.
struct Sections<'a> {
    /// The study's answer: the original's clock.
    main: Vec<&'a Table>,
    /// The same with what the original left out of its clock.
    other_clocks: Vec<&'a Table>,
    /// Tables without any number.
    unmeasured: Vec<&'a Table>,
}

impl<'a> Sections<'a> {
    fn of(report: &'a Report<'a>) -> Sections<'a> {
        let (measured, mut unmeasured): (Vec<&Table>, Vec<&Table>) = report
            .tables
            .iter()
            .partition(|table| table.figures().any(|f| f.summary.is_some()));
        unmeasured.retain(|table| could_measure(report, table));
        let original = |table: &&Table| {
            let clocks = table.clocks();
            clocks.is_empty() || clocks.contains(&Clock::Original)
        };
        let (mut main, mut other_clocks): (Vec<&Table>, Vec<&Table>) =
            measured.into_iter().partition(original);
        if main.is_empty() {
            // A pivot over another clock: then that is what was asked for.
            std::mem::swap(&mut main, &mut other_clocks);
        }
        Sections {
            main,
            other_clocks,
            unmeasured,
        }
    }
}

/// Whether a table's cells could have given its numbers: false when their finished trials ran phases,
/// and none of the table's. Such a table is of another workload, and that it is empty tells nothing.
fn could_measure(report: &Report<'_>, table: &Table) -> bool {
    let cells: BTreeSet<u32> = table.figures().filter_map(|f| f.cell).collect();
    let ran: BTreeSet<&str> = report
        .slots()
        .filter(|(slot, trial)| {
            cells.contains(&slot.cell) && trial.status == record::Status::Finished
        })
        .flat_map(|(_, trial)| &trial.phases)
        .map(|phase| phase.name.as_str())
        .collect();
    let mut asked = table.rows.iter().filter_map(|row| row.phase.as_deref());
    ran.is_empty() || asked.any(|phase| ran.contains(phase))
}

/// The (b) and (c) tables with their ratios. What is behind most of them is said once.
fn other_clocks(sections: &Sections<'_>, width: usize) -> String {
    let tables = &sections.other_clocks;
    if tables.is_empty() {
        return String::new();
    }
    let said = differences::common(&sections.main);
    let common = differences::common(tables);
    let mut text = "mean (stddev), then ratios".to_owned();
    for part in common.iter().filter(|part| !said.contains(part)) {
        text.push_str(&format!("; {part}"));
    }
    let mut out = wrap("\n\nOther clocks: ", 2, &text, width);
    for (at, table) in tables.iter().enumerate() {
        out.push('\n');
        if let Some(same) = tables[..at].iter().find(|known| known.equals(table)) {
            let text = format!("{}: the same numbers as {}", table.title, same.title);
            out.push_str(&wrap("", 2, &text, width));
            continue;
        }
        let mut heading = table.title.clone();
        // What is inside the clock is written on every number: most subtitles do it.
        for clock in table.clocks() {
            if !table.subtitle.contains(clock.mark()) {
                heading.push_str(&format!(" {}", clock.mark()));
            }
        }
        if !table.subtitle.is_empty() {
            heading.push_str(&format!(": {}", table.subtitle));
        }
        heading.push_str(&differences::own(table, &common));
        out.push_str(&wrap("", 2, &heading, width));
        out.push_str(&table::body(table, width));
        out.push_str(&differences::ratios(table).print(width));
    }
    out
}

/// One line for a table without any number.
fn unmeasured(table: &Table, width: usize) -> String {
    let rows: Vec<&str> = table.rows.iter().map(|r| r.label.as_str()).collect();
    let rows = match rows.as_slice() {
        [] => "its rows".to_owned(),
        [first, .., last] if rows.len() > 3 => format!("{first} .. {last}"),
        few => few.join(", "),
    };
    let text = format!(
        "{}: no finished trial measured {rows}",
        differences::name(table)
    );
    wrap("", 2, &text, width)
}
