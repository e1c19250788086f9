//! Reports of a run: mail tables, one HTML page, JSON, CSV, Markdown.
//!
//! The five studies that fslab repeats were read as mail, and the doubts of their readers fill the
//! threads below them: how much RAM, were barriers on, what is inside the clock, how many runs. A
//! report here answers those in its head, prints the table in the layout of the original, and
//! then adds what the original lacked. Three rules shape the code:
//!
//! - A report is a value first ([`Report`], [`model`]): rows times columns of figures that carry
//!   their samples, their doubts and their published neighbours. Formats only print it, so that no
//!   format can show a number clean that another shows in doubt.
//! - Every place of a table is one cell of the plan. Values of different cells are never pooled;
//!   what a table leaves open is printed as one table for each level ([`layout`]).
//! - All comparisons of a table are one family, corrected together; the table says how many there
//!   were.
//!
//! Rejected: one generic table printer for all formats (the mail layout is exact to the column, and
//! HTML wants other shapes), and a charting crate for the plots (static bars with whiskers are a
//! hundred lines of SVG; only the time series need a library, uPlot, which is vendored).
//!
//! Pure: reads a folded [`record::Run`] and, for the page's time series, its telemetry files.

#![allow(
    clippy::format_push_string,
    reason = "a string per printed line costs nothing here, and write! returns a Result to discard"
)]

mod compare;
pub mod crash;
mod csv;
mod error;
pub mod facts;
mod fill;
pub mod general;
pub mod grid;
pub mod growth;
mod html;
mod json;
mod labels;
pub mod layout;
mod mark;
mod md;
mod members;
pub mod model;
mod numbers;
mod options;
pub mod originals;
mod pivot;
pub mod placement;
pub mod pressure;
pub mod published;
mod reference;
pub mod requests;
mod samples;
pub mod scan;
mod text;
pub mod trace;
pub mod transcript;
pub mod trust;
mod units;
pub mod usage;
pub mod variants;
pub mod why;

use std::collections::BTreeSet;
use std::path::Path;

use record::{Run, Status, TrialRecord};
use study::Slot;

pub use csv::Csv;
pub use error::{Error, Result};
pub use html::Html;
pub use json::Json;
pub use md::Md;
pub use options::{FormatName, Options};
pub use text::{Text, mail_tables};

use facts::Fact;
use grid::Grid;
use growth::Growth;
use model::{Figure, Table};
use placement::Placement;
use pressure::Memory;
use published::Published;
use requests::{Cost, Requests};
use scan::Scan;
use transcript::Transcript;
use trust::Trust;
use variants::Variant;
use why::Why;

/// A way to print a report.
pub trait Format {
    /// The whole report as one text.
    fn render(&self, report: &Report<'_>) -> Result<String>;
}

/// Everything that a format may print, computed once.
#[derive(Debug)]
pub struct Report<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its folder, for telemetry.
    pub dir: Option<&'a Path>,
    /// What was asked.
    pub options: &'a Options,
    /// What readers ask of the machine.
    pub machine: Vec<Fact>,
    /// How the filesystems were really made.
    pub variants: Vec<Variant>,
    /// The tables.
    pub tables: Vec<Table>,
    /// The grids.
    pub grids: Vec<Grid>,
    /// How figures grow.
    pub growths: Vec<Growth>,
    /// Whether it was memory.
    pub memory: Option<Memory>,
    /// How a checker read.
    pub scan: Option<Scan>,
    /// Where the files lie.
    pub placement: Option<Placement<'a>>,
    /// What the block traces tell.
    pub requests: Option<Requests<'a>>,
    /// What tracing cost.
    pub cost: Option<Cost>,
    /// The runs as the message of 2010 lists them.
    pub transcript: Option<Transcript<'a>>,
    /// Why the differences that count are there.
    pub why: Option<Why>,
    /// What speaks against the numbers.
    pub trust: Trust,
    /// What went wrong while the report was made.
    pub notes: Vec<String>,
    /// The document that the study repeats.
    pub published: Option<&'static Published>,
    /// Cells that the report speaks of.
    cells: BTreeSet<u32>,
}

impl<'a> Report<'a> {
    /// Computes the report.
    ///
    /// # Errors
    /// A name in the options that the run does not have, or options that leave nothing.
    pub fn new(run: &'a Run, dir: Option<&'a Path>, options: &'a Options) -> Result<Report<'a>> {
        let layouts = pivot::layouts(run, options)?;
        let published = run.plan.repeats.as_deref().and_then(published::document);
        let cells = cells(run, options, &layouts)?;
        let trust = Trust::of(run, &cells);
        let sources = fill::Sources {
            run,
            trust: &trust,
            level: options.level,
            published,
        };
        let mut notes = Vec::new();
        let mut tables = Vec::new();
        for layout in &layouts {
            let base = base(layout, options);
            tables.push(sources.table(layout, base.unwrap_or(0), &mut notes));
        }
        check_base(options, &tables)?;
        let grids = grid::grids(&sources, options, &mut notes)?;
        let growths = growth::growths(&sources, options, &mut notes)?;
        let shown: Vec<&study::Cell> = run
            .plan
            .cells
            .iter()
            .filter(|cell| cells.contains(&cell.id))
            .collect();
        let memory = pressure::of(&sources, options, &shown, &mut notes);
        let scan = scan::of(&sources, options, &shown, &mut notes);
        let narrowed = options.is_pivot() || options.table.is_some();
        let cost = if narrowed {
            None
        } else {
            requests::cost_of(&sources, options, &shown, &mut notes)
        };
        compare::tables(&run.plan, options, &mut tables, &mut notes);
        notes.dedup();
        let mut report = Report {
            run,
            dir,
            options,
            machine: facts::machine(run),
            variants: variants::of(run),
            tables,
            grids,
            growths,
            memory,
            scan,
            placement: None,
            requests: None,
            cost,
            transcript: None,
            why: None,
            trust,
            notes,
            published,
            cells,
        };
        // A pivot, or one table, asks for something else.
        if !narrowed {
            report.placement = placement::of(&report);
            report.requests = requests::of(&report);
            report.transcript = transcript::of(&report);
            // CSV has numbers only, and reading telemetry takes its time.
            if options.format != FormatName::Csv {
                let mut notes = Vec::new();
                report.why = why::of(&report, &mut notes);
                report.notes.append(&mut notes);
            }
        }
        Ok(report)
    }

    /// The trials of the report's cells, in running order.
    pub fn slots(&self) -> impl Iterator<Item = (&'a Slot, &'a TrialRecord)> {
        let run = self.run;
        let cells = self.cells.clone();
        run.plan
            .slots
            .iter()
            .filter(move |slot| cells.contains(&slot.cell))
            .filter_map(|slot| Some((slot, run.trials.get(slot.trial as usize)?)))
    }

    /// Every figure of its tables, grids and laws.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        let of_grids = self.grids.iter().flat_map(Grid::figures);
        let of_growths = self.growths.iter().flat_map(Growth::figures);
        let of_tables = self.tables.iter().flat_map(Table::figures);
        of_tables.chain(of_grids).chain(of_growths)
    }

    /// Names of all factors, in the study's order.
    pub fn factors(&self) -> Vec<String> {
        let plan = &self.run.plan;
        let mut names: Vec<String> = plan.factors.iter().map(|(name, _)| name.clone()).collect();
        for name in plan.cells.iter().flat_map(|c| c.levels.keys()) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }
}

/// The column to compare with, where the table has it.
fn base(layout: &layout::Layout, options: &Options) -> Option<usize> {
    let name = options.base.as_ref()?;
    layout.columns.iter().position(|c| c.name == *name)
}

/// A base that no table has is a mistake; one that some lack is not.
fn check_base(options: &Options, tables: &[Table]) -> Result<()> {
    let names: BTreeSet<&str> = tables
        .iter()
        .flat_map(|t| &t.columns)
        .map(|c| c.name.as_str())
        .collect();
    match &options.base {
        Some(base) if !names.contains(base.as_str()) => Err(Error::Unknown {
            option: "--base",
            name: base.clone(),
            what: "column",
            allowed: names.into_iter().collect::<Vec<_>>().join(", "),
        }),
        _ => Ok(()),
    }
}

/// The cells that the tables speak of; all that pass the filter when no table was chosen.
fn cells(run: &Run, options: &Options, layouts: &[layout::Layout]) -> Result<BTreeSet<u32>> {
    let filtered = pivot::filtered(&run.plan, &options.filter)?;
    let in_tables = |cell: &&&study::Cell| {
        let in_table = layouts.iter().any(|l| layout::has(cell, &l.common));
        let in_grid = |name: &String| {
            let mut named = run.plan.grids.iter().filter(|g| grid::is_named(g, name));
            named.any(|g| layout::has(cell, &g.filter))
        };
        options
            .table
            .as_ref()
            .is_none_or(|name| in_table || in_grid(name))
    };
    Ok(filtered.iter().filter(in_tables).map(|c| c.id).collect())
}

/// A status in one word, with its message.
pub(crate) fn status(status: &Status) -> (&'static str, Option<&str>) {
    match status {
        Status::Pending => ("not run", None),
        Status::Finished => ("finished", None),
        Status::Failed(record::FailureKind::Interrupted, message) => ("interrupted", Some(message)),
        Status::Failed(_, message) => ("failed", Some(message)),
    }
}

/// The mark of emulated times, where a format's headings can be told from its text.
fn marked(report: &Report<'_>, text: String) -> Result<String> {
    let Some(mark) = mark::of(report.run) else {
        return Ok(text);
    };
    Ok(match report.options.format {
        FormatName::Md => mark::markdown(&text, &mark),
        FormatName::Html => mark::html(&text, &mark),
        FormatName::Json => {
            let mut value = serde_json::from_str(&text)?;
            mark::json(&mut value, &mark);
            serde_json::to_string_pretty(&value)? + "\n"
        }
        FormatName::Text | FormatName::Csv => text,
    })
}

/// The report of a run in the format that the options name.
///
/// `dir` is the run's folder, from which the page reads telemetry; without it the page has none.
///
/// # Errors
/// See [`Report::new`].
pub fn render(run: &Run, dir: Option<&Path>, options: &Options) -> Result<String> {
    let report = Report::new(run, dir, options)?;
    let format: &dyn Format = match options.format {
        FormatName::Text => &Text,
        FormatName::Html => &Html,
        FormatName::Json => &Json,
        FormatName::Csv => &Csv,
        FormatName::Md => &Md,
    };
    let text = marked(&report, format.render(&report)?)?;
    // A log may come from anyone; what reaches a terminal or a mail has no control characters.
    Ok(match options.format {
        FormatName::Text | FormatName::Md => words::printable_lines(&text).into_owned(),
        FormatName::Html | FormatName::Json | FormatName::Csv => text,
    })
}
