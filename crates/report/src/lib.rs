//! Reports of a run: mail tables, one HTML page, JSON, CSV, Markdown.
//!
//! The five studies that fslab repeats were read as mail, and the doubts of their readers fill the
//! threads below them: how much RAM, were barriers on, what is inside the clock, how many runs. A
//! report here answers those in its head, prints the table in the layout of the original, and
//! then adds what the original lacked. Three rules shape the code:
//!
//! - A report is a value first ([`Report`], [`model`]): rows times columns of figures that carry
//!   their samples, their doubts and their published neighbours. Each subject makes of its values
//!   the sections of one document (`doc`), and the formats print blocks. So no format can show a
//!   number clean that another shows in doubt, and a new subject is printed by all of them.
//! - Every place of a table is one cell of the plan. Values of different cells are never pooled;
//!   what a table leaves open is printed as one row for each level ([`layout`]).
//! - All comparisons of a table are one family, corrected together; the table says how many there
//!   were.
//!
//! Rejected: the same for the tables of the five messages (their layout in a mail is exact to the
//! column, so it is set by hand), and a charting crate for the plots (static bars with whiskers are a
//! hundred lines of SVG; only the time series need a library, uPlot, which is vendored).
//!
//! Pure: reads a folded [`record::Run`] and, for the page's time series, its telemetry files.

#![allow(
    clippy::format_push_string,
    reason = "a string per printed line costs nothing here, and write! returns a Result to discard"
)]

pub mod block_io;
mod compare;
mod csv;
mod doc;
mod error;
mod estimate;
pub mod facts;
pub mod file_layout;
mod fill;
pub mod grid;
pub mod growth;
mod html;
mod json;
mod labels;
mod latency;
pub mod layout;
mod md;
mod members;
pub mod model;
mod modelled;
mod numbers;
mod options;
mod original;
mod pivot;
pub mod pressure;
pub mod published;
mod reference;
mod report;
pub mod run_wide;
mod samples;
pub mod scan;
mod sections;
mod select;
mod sentences;
pub mod summary;
mod summary_csv;
mod text;
mod timing_tag;
pub mod tool_output;
pub mod trace;
pub mod transcript;
mod units;
pub mod usage;
pub mod validity;
pub mod variants;
pub mod why;

use std::path::Path;

use record::{Run, Status};
use words::printable_lines;

pub use error::{Error, Result};
pub use html::{Linked, assets, inert_json, linked, show_controls};
pub use options::{Format, Options, Part};
pub use report::Report;
pub use text::{crash_text, mail_tables};

/// A status in one word, with its message.
pub(crate) fn status(status: &Status) -> (&'static str, Option<&str>) {
    match status {
        Status::Pending => ("not run", None),
        Status::Finished => ("finished", None),
        Status::Failed(record::FailureKind::Interrupted, message) => ("interrupted", Some(message)),
        Status::Failed(_, message) => ("failed", Some(message)),
        Status::Replaced { .. } => ("replaced", None),
    }
}

impl Format {
    /// The whole report as one text.
    ///
    /// # Errors
    /// A defect in a template or a value that JSON does not have.
    pub fn render(self, report: &Report<'_>) -> Result<String> {
        self.check_part(report.options.part)?;
        self.check_selection(report.options)?;
        match self {
            // A log may come from anyone; what reaches a terminal or a mail cannot steer it.
            Format::Text => Ok(printable_lines(&text::print(report)).into_owned()),
            Format::Md => Ok(printable_lines(&md::print(report)).into_owned()),
            Format::Html => html::print(report),
            Format::Json => json::print(report),
            Format::Csv => Ok(csv::print(report)),
            Format::SummaryCsv => Ok(summary_csv::print(report)),
        }
    }
}

impl Format {
    /// Refuses a part that the format does not have.
    fn check_part(self, part: Part) -> Result<()> {
        let has = match self {
            Format::Text | Format::Json => true,
            Format::Md | Format::Html => part != Part::GnuTime,
            Format::Csv | Format::SummaryCsv => part == Part::Tables,
        };
        if has || matches!(part, Part::Full | Part::First) {
            return Ok(());
        }
        let why = match (self, part) {
            (Format::Md, _) => "Markdown does not have it; add --format text or json",
            (Format::Html, _) => "the page does not have it; add --format text or json",
            (Format::Csv, Part::Summary) => {
                "samples are not summed up; use --format summary-csv, or --format json"
            }
            (_, Part::GnuTime) => "GNU time's lines are no table; use --format text or json",
            _ => "it has sentences, which are no table; use --format text or json",
        };
        let name = Part::NAMES.iter().find(|(_, known)| *known == part);
        Err(Error::Malformed {
            option: "--only",
            text: name.map_or("", |(name, _)| name).to_owned(),
            why,
        })
    }

    /// Refuses an option that could not change what the format prints.
    fn check_selection(self, options: &Options) -> Result<()> {
        if self != Format::Csv {
            return Ok(());
        }
        let factors = "samples have a column for each factor; drop it, or use --format summary-csv";
        let asked = [
            ("--row", options.rows.first(), factors),
            ("--col", options.columns.first(), factors),
            (
                "--base",
                options.base.as_ref(),
                "samples are not compared; drop it, or use --format summary-csv",
            ),
        ];
        for (option, text, why) in asked {
            if let Some(text) = text {
                return Err(Error::Malformed {
                    option,
                    text: text.clone(),
                    why,
                });
            }
        }
        Ok(())
    }
}

/// The report of a run in the format that the options name.
///
/// `dir` is the run's folder, from which telemetry is read; without it the page has no time series.
///
/// # Errors
/// See [`Report::new`].
pub fn render(run: &Run, dir: Option<&Path>, options: &Options) -> Result<String> {
    options.format.render(&Report::new(run, dir, options)?)
}
