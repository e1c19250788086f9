//! The mail format: what fits into a message to a kernel list, 78 columns wide.
//!
//! A reader of the list wants the answer first and the doubts before believing it. So the study's
//! tables come right after the head, as Ts'o laid out the 2009 study, nothing added but a mark on a
//! number in doubt, each followed by the published one; then which differences count; then the
//! other clocks; then what speaks against it all. Rejected: everything about one table below that
//! table. It was complete, and the answer was spread over six hundred lines.
//!
//! All else comes as sections of blocks ([`blocks`]): what was measured before the tables, why it is so
//! after them. Footnotes, iostat's and top's rows, follow after all results. What a reader of the
//! answer does not need but one who doubts it does (GNU time's lines, today's layout of iostat)
//! follows the legend. Only such lines, in the formats of other programs, may be wider than the report.

mod appendix;
mod blocks;
mod cap;
mod closing;
mod differences;
mod grid;
mod header;
mod histogram;
mod legend;
mod matrix;
mod nested;
mod table;
mod validity;
mod wide_table;

use std::collections::BTreeSet;

use record::Crash;
use study::Clock;
use words::wrap;

use crate::Report;
use crate::doc::{Scope, Section};
use crate::model::{Figure, Mark, Table, clock_meaning};
use crate::options::Part;
use crate::sections::{self, causes, crash, measured};

use cap::cap;

/// Characters of the narrowest report, for any smaller `--width`.
const NARROWEST: usize = 40;

/// Lines of the first screen: what most readers will scroll through.
const FIRST: usize = 120;

/// The report, or a part of it, as a mail.
pub(crate) fn print(report: &Report<'_>) -> String {
    let width = width(report);
    let options = report.options;
    let title = header::title(report, width);
    match options.part {
        Part::First if options.is_pivot() || options.table.is_some() => alone(report, width),
        Part::First => first(report, width),
        Part::Full => full(report, width),
        Part::Summary => title + &summary(report, width),
        Part::Tables => {
            let mut out = title;
            print_all(&mut out, &measured(report), width);
            out + &answer(report, &Tables::of(report), width)
        }
        Part::Why => {
            let mut out = title;
            print_all(&mut out, &causes(report), width);
            out
        }
        Part::Evidence => {
            let evidence = validity::print(report, width) + &closing::print(report, width);
            format!("{title}\n{evidence}")
        }
        Part::GnuTime => title + &appendix::print(report, width),
    }
}

/// The summary and the ratios.
fn summary(report: &Report<'_>, width: usize) -> String {
    let mut out = String::new();
    for section in sections::answer(report) {
        out.push('\n');
        out.push_str(&blocks::print(&section, width));
    }
    out
}

/// The chosen tables, ready to paste: no head, no notes.
fn alone(report: &Report<'_>, width: usize) -> String {
    let mut parts: Vec<String> = Vec::new();
    for table in &report.tables {
        parts.push(table::print(table, width));
    }
    // Grids and laws that the option chose; everything else that was measured belongs to the whole report.
    for section in measured(report) {
        if section.id.starts_with("grid-") || section.id.starts_with("growth-") {
            parts.push(blocks::print(&section, width));
        }
    }
    parts.join("\n\n")
}

/// The summary, the ratios, and as many tables as there is room for; then what the numbers rest on.
fn first(report: &Report<'_>, width: usize) -> String {
    let lines = |text: &str| text.lines().count();
    let mut out = header::title(report, width) + &summary(report, width);
    let tables = Tables::of(report);
    let tail = format!("\n{}", header::brief(report, width));
    let mut left = FIRST.saturating_sub(lines(&out) + lines(&tail) + 4);
    let mut shown = String::new();
    let mut titles: Vec<String> = Vec::new();
    let mut put = |text: &str, title: &str| {
        // In their order: the first that does not fit ends them.
        let fits = lines(text) < left && titles.is_empty();
        if fits {
            left -= lines(text) + 1;
            shown.push('\n');
            shown.push_str(text);
        } else {
            titles.push(title.trim_end_matches(':').to_owned());
        }
        fits
    };
    let mut noted = false;
    for table in &tables.main {
        let mut text = table::print(table, width);
        // A table names its places where the first one is.
        if !noted {
            text = format!("{}\n{text}", places(&tables.main, width));
        }
        noted |= put(&text, &table.title);
    }
    let sections = measured(report);
    let is_grid = |s: &&Section<'_>| s.id.starts_with("grid-") && s.scope == Scope::All;
    for section in sections.iter().filter(is_grid) {
        put(&blocks::print(section, width), &section.title);
    }
    out.push_str(&shown);
    titles.dedup();
    out.push_str(&tail);
    let hint = match titles.as_slice() {
        [] => "The whole report: --full.".to_owned(),
        [one] => format!("One more table, {one:?} (--table), and the whole report: --full."),
        [one, ..] => format!(
            "{} more tables (--table {one:?}), and the whole report: --full.",
            titles.len()
        ),
    };
    out.push('\n');
    out.push_str(&wrap("", 0, &hint, width));
    out
}

/// What the places of the tables are: `Tables: mean (stddev), clock (a): ...; x a trial failed, ...`.
fn places(tables: &[&Table], width: usize) -> String {
    let mut text = "mean (stddev)".to_owned();
    let clocks: BTreeSet<Clock> = tables.iter().flat_map(|table| table.clocks()).collect();
    for clock in clocks {
        text.push_str(&format!("; {} {}", clock.mark(), clock_meaning(clock)));
    }
    let figures = tables.iter().flat_map(|table| table.figures());
    let marks: BTreeSet<Mark> = figures.filter_map(Figure::worst).collect();
    for mark in marks {
        text.push_str(&format!("; {} {}", mark.sign(), mark.meaning()));
    }
    wrap("Tables: ", 2, &text, width)
}

/// All of it.
fn full(report: &Report<'_>, width: usize) -> String {
    let tables = Tables::of(report);
    let mut out = header::title(report, width);
    let summary = summary(report, width);
    if !summary.is_empty() {
        out.push_str(&summary);
        out.push('\n');
    }
    out.push_str(&header::print(report, width));
    print_all(&mut out, &measured(report), width);
    out.push_str(&answer(report, &tables, width));
    print_all(&mut out, &causes(report), width);
    out.push_str("\n\n");
    for table in &tables.unmeasured {
        out.push_str(&unmeasured(table, width));
    }
    if !tables.unmeasured.is_empty() {
        out.push('\n');
    }
    out.push_str(&grid::footnotes(&report.grids, width));
    out.push_str(&validity::print(report, width));
    out.push_str(&closing::print(report, width));
    out.push('\n');
    out.push_str(&legend::print(report, width));
    out.push_str(&appendix::print(report, width));
    out
}

/// Sections, two lines apart, but for those that are set by hand.
fn print_all(out: &mut String, sections: &[Section<'_>], width: usize) {
    for section in sections.iter().filter(|s| s.scope == Scope::All) {
        out.push_str("\n\n");
        out.push_str(&blocks::print(section, width));
    }
}

/// The study's tables, as the original message has them, which differences count, and the other clocks.
fn answer(report: &Report<'_>, tables: &Tables<'_>, width: usize) -> String {
    let mut out = String::new();
    let original = |table: &&Table| table.clocks().contains(&Clock::Original);
    if tables.main.iter().any(original) {
        // Never (a) without its label; inside the tables the original's layout has no room.
        let mut text = "as the original tools compute them".to_owned();
        if !tables.other_clocks.is_empty() {
            text.push_str("; the other clocks follow further down");
        }
        out.push_str(&wrap("\n\nClock (a): ", 2, &text, width));
    }
    let has_published = tables.main.iter().any(|table| table.has_published());
    let published = report.published.filter(|_| has_published);
    for table in &tables.main {
        out.push_str("\n\n");
        out.push_str(&table::print(table, width));
        if let Some(document) = published.filter(|_| table.has_published()) {
            out.push('\n');
            out.push_str(&table::published(&document.document, table, width));
        }
    }
    if let Some(published) = published {
        let document = &published.document;
        let text = format!("barriers: {}", document.barriers);
        out.push_str(&wrap(&format!("\n{}, ", document.short()), 2, &text, width));
    }
    if !tables.main.is_empty() {
        out.push_str("\n\n");
        if let Some(timing) = &report.timing {
            out.push_str(&format!("[{timing}]\n"));
        }
        out.push_str(&differences::print(
            report,
            &tables.main,
            &tables.crossed,
            width,
        ));
    }
    out + &other_clocks(tables, width)
}

/// Characters of a line: below [`NARROWEST`] a label and one number side by side do not fit.
fn width(report: &Report<'_>) -> usize {
    match report.options.width {
        0 => usize::MAX,
        width => width.max(NARROWEST),
    }
}

/// A section as text of `width` columns.
pub(crate) fn section(section: &Section<'_>, width: usize) -> String {
    words::printable_lines(&blocks::print(section, width)).into_owned()
}

/// A crash check as text of `width` columns.
pub fn crash_text(crash: &Crash, width: usize) -> String {
    blocks::print(&crash::alone(crash), width)
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
struct Tables<'a> {
    /// The study's answer: the original's clock.
    main: Vec<&'a Table>,
    /// The same with what the original left out of its clock.
    other_clocks: Vec<&'a Table>,
    /// The same figures by the factors that no table compares.
    crossed: Vec<&'a Table>,
    /// Tables without any number.
    unmeasured: Vec<&'a Table>,
}

impl<'a> Tables<'a> {
    fn of(report: &'a Report<'a>) -> Tables<'a> {
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
            // A pivot over another clock: then that is what the reader wants.
            std::mem::swap(&mut main, &mut other_clocks);
        }
        let is_tested = |table: &&Table| legend::tested([*table]);
        Tables {
            main,
            other_clocks,
            crossed: report.crossed.iter().filter(is_tested).collect(),
            unmeasured,
        }
    }
}

/// Whether a table's cells could have given its numbers: false when their finished trials ran phases,
/// and none of the table's. Such a table is of another workload, and that it is empty means nothing.
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

/// The (b) and (c) tables with their ratios. What most of them share is printed once.
fn other_clocks(tables: &Tables<'_>, width: usize) -> String {
    let main = &tables.main;
    let tables = &tables.other_clocks;
    if tables.is_empty() {
        return String::new();
    }
    let known = differences::common(main);
    let common = differences::common(tables);
    let mut text = "mean (stddev), then ratios".to_owned();
    for part in common.iter().filter(|part| !known.contains(part)) {
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
