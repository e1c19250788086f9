//! Options of a report.

use std::str::FromStr;

use study::Clock;

use crate::error::Error;

/// The formats a report has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// The mail tables, 78 columns.
    #[default]
    Text,
    /// One self-contained page.
    Html,
    /// One document with every sample.
    Json,
    /// One row per sample.
    Csv,
    /// One row for each cell and metric: median, interval, ratio, verdict.
    SummaryCsv,
    /// GitHub tables.
    Md,
}

impl Format {
    /// All of them, as typed.
    pub const NAMES: [(&'static str, Format); 6] = [
        ("text", Format::Text),
        ("html", Format::Html),
        ("json", Format::Json),
        ("csv", Format::Csv),
        ("summary-csv", Format::SummaryCsv),
        ("md", Format::Md),
    ];

    /// Whether it has numbers only: no cause is looked for.
    pub(crate) fn is_csv(self) -> bool {
        matches!(self, Format::Csv | Format::SummaryCsv)
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::NAMES
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, format)| *format)
            .ok_or_else(|| {
                Error::Unknown(explain::Error::Unknown {
                    option: "--format",
                    name: text.to_owned(),
                    what: "format",
                    allowed: Self::NAMES.map(|(name, _)| name.to_owned()).to_vec(),
                })
            })
    }
}

/// Which part of a report is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    #[default]
    Full,
    /// What fits a screen or two: the summary, the ratios, and the tables as long as there is room.
    First,
    /// The summary and the ratios.
    Summary,
    /// The tables and what else was measured, with the ratios of each.
    Tables,
    /// The causes of the differences.
    Why,
    /// What shows that the numbers are valid, and what speaks against them.
    Evidence,
    /// GNU time's lines of each phase.
    GnuTime,
}

impl Part {
    /// Whether it has this part: all of a report has each.
    pub(crate) fn has(self, part: Part) -> bool {
        matches!(self, Part::Full | Part::First) || self == part
    }

    /// Those that can be asked for, as typed.
    pub const NAMES: [(&'static str, Part); 5] = [
        ("summary", Part::Summary),
        ("tables", Part::Tables),
        ("why", Part::Why),
        ("evidence", Part::Evidence),
        ("gnu-time", Part::GnuTime),
    ];
}

/// What is printed, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The format.
    pub format: Format,
    /// The part. Text and JSON have all, Markdown and the page all but GNU time's lines, CSV the tables alone.
    pub part: Part,
    /// Factors, `phase`, `metric` or `clock` that span the rows of a pivot; empty: as the study says.
    pub rows: Vec<String>,
    /// The same for the columns.
    pub columns: Vec<String>,
    /// Part of the title of the study's table to print; none: all.
    pub table: Option<String>,
    /// `(factor, level)` that cells must have; several of one factor are alternatives.
    pub filter: Vec<(String, String)>,
    /// Metric of a pivot; none: those of the study's tables.
    pub metric: Option<String>,
    /// Clock of a pivot; none: those of the study's tables.
    pub clock: Option<Clock>,
    /// Widest line of the text format; 0: no limit.
    pub width: usize,
    /// Column that the others are compared with; none: each table's first.
    pub base: Option<String>,
    /// Confidence level of every interval.
    pub level: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            format: Format::Text,
            part: Part::Full,
            rows: Vec::new(),
            columns: Vec::new(),
            table: None,
            filter: Vec::new(),
            metric: None,
            clock: None,
            width: 78,
            base: None,
            level: 0.95,
        }
    }
}

impl Options {
    /// Reads one `--filter factor=level[,level]`, as a study's filter is written.
    pub fn parse_filter(text: &str) -> Result<Vec<(String, String)>, Error> {
        match text.split_once('=') {
            Some((factor, levels))
                if !factor.is_empty() && !levels.split(',').any(str::is_empty) =>
            {
                Ok(levels
                    .split(',')
                    .map(|level| (factor.to_owned(), level.to_owned()))
                    .collect())
            }
            _ => Err(Error::Malformed {
                option: "--filter",
                text: text.to_owned(),
                why: "write factor=level[,level], as in filesystem=ext4,xfs",
            }),
        }
    }

    /// Whether the options select a pivot instead of the study's own tables.
    pub fn is_pivot(&self) -> bool {
        !self.rows.is_empty()
            || !self.columns.is_empty()
            || self.metric.is_some()
            || self.clock.is_some()
    }
}
