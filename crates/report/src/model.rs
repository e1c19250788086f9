//! A report as a value: what every format prints, computed once.
//!
//! A [`Table`] is rows times columns of [`Figure`]s. A figure keeps every sample it was computed from, so that
//! no format can print a mean whose spread, n or doubts it does not also have.

use std::collections::{BTreeMap, BTreeSet};

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use stats::Summary;
use study::Clock;

/// Fewer values than this are marked beside the number.
pub(crate) const ADVISED: usize = 5;

/// A doubt about a number, worst first: formats that have room for one character print the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// Evidence that does not hold.
    Fails,
    /// A trial of this cell failed, was interrupted or skipped, or has not run.
    Missing,
    /// Others used the machine while the trial ran.
    Busy,
    /// A warning of the workload or the lab.
    Warning,
    /// Evidence that could not be checked.
    Unchecked,
}

impl Mark {
    /// Every mark, worst first.
    pub const ALL: [Mark; 5] = [
        Mark::Fails,
        Mark::Missing,
        Mark::Busy,
        Mark::Warning,
        Mark::Unchecked,
    ];

    /// The character beside the number.
    pub const fn sign(self) -> char {
        match self {
            Mark::Fails => '!',
            Mark::Missing => 'x',
            Mark::Busy => '^',
            Mark::Warning => '*',
            Mark::Unchecked => '?',
        }
    }

    /// What the character means.
    pub const fn meaning(self) -> &'static str {
        match self {
            Mark::Fails => "evidence does not hold",
            Mark::Missing => "a trial failed, was interrupted or did not run",
            Mark::Busy => "the machine was busy with other work",
            Mark::Warning => "warning",
            Mark::Unchecked => "evidence could not be checked",
        }
    }

    /// Name in JSON and CSS.
    pub const fn name(self) -> &'static str {
        match self {
            Mark::Fails => "fails",
            Mark::Missing => "missing",
            Mark::Busy => "busy",
            Mark::Warning => "warning",
            Mark::Unchecked => "unchecked",
        }
    }
}

/// One sample in the unit its row prints.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Number of the trial it comes from, from 0.
    pub trial: u32,
    /// Its block, from 0.
    pub block: u32,
    /// The value, in the row's unit.
    pub value: f64,
}

/// Whether and how a figure differs from the base column's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Difference {
    /// The runs do not distinguish the two.
    Unclear,
    /// Known to be within the practical band.
    Same,
    /// Better than the base by more than the band.
    Better,
    /// Worse than the base by more than the band.
    Worse,
    /// Higher by more than the band, where neither direction is better.
    Higher,
    /// Lower by more than the band.
    Lower,
}

impl Difference {
    /// `~`, `+` or `-`.
    pub const fn sign(self) -> char {
        match self {
            Difference::Unclear | Difference::Same => '~',
            Difference::Better | Difference::Higher => '+',
            Difference::Worse | Difference::Lower => '-',
        }
    }

    /// Name in JSON and for screen readers.
    pub const fn name(self) -> &'static str {
        match self {
            Difference::Unclear => "unclear",
            Difference::Same => "same",
            Difference::Better => "better",
            Difference::Worse => "worse",
            Difference::Higher => "higher",
            Difference::Lower => "lower",
        }
    }
}

/// A figure against the base column's.
#[derive(Clone, Debug, PartialEq)]
pub struct Versus {
    /// This figure / the base's.
    pub ratio: f64,
    /// Interval of the ratio, when there are enough values for one.
    pub interval: Option<(f64, f64)>,
    /// p of the test before correction.
    pub p: Option<f64>,
    /// p after Benjamini-Hochberg over the report's family.
    pub p_adjusted: Option<f64>,
    /// What the table prints.
    pub difference: Difference,
    /// Whether it would be a difference from 1 but for the correction for several comparisons.
    pub by_correction: bool,
    /// The test that gave `p`.
    pub method: String,
    /// What the statistics warn of.
    pub warnings: Vec<String>,
}

impl Versus {
    /// `+`, `-` or `~`; `~c` where the correction for several comparisons took the difference.
    pub fn sign(&self) -> &'static str {
        match self.difference.sign() {
            '+' => "+",
            '-' => "-",
            _ if self.by_correction => "~c",
            _ => "~",
        }
    }
}

impl Serialize for Versus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Versus", 9)?;
        fields.serialize_field("ratio", &self.ratio)?;
        fields.serialize_field("interval", &self.interval)?;
        fields.serialize_field("p", &self.p)?;
        fields.serialize_field("p_adjusted", &self.p_adjusted)?;
        fields.serialize_field("difference", &self.difference)?;
        fields.serialize_field("by_correction", &self.by_correction)?;
        fields.serialize_field("sign", &self.difference.sign())?;
        fields.serialize_field("method", &self.method)?;
        fields.serialize_field("warnings", &self.warnings)?;
        fields.end()
    }
}

/// The published number of the same place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PublishedFigure {
    /// The value as printed, in the row's unit.
    pub value: f64,
    /// Its standard deviation as printed, in the same unit; none: not published.
    pub stddev: Option<f64>,
    /// Runs that it was computed from.
    pub n: Option<u32>,
    /// Published value / published base value.
    pub ratio: Option<f64>,
    /// (our mean / our base mean) / `ratio`: 1 when the shapes agree.
    pub ratio_of_ratios: Option<f64>,
}

/// One number of a table, with all that is known of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figure {
    /// [`study::Cell::id`], when the plan has such a cell.
    pub cell: Option<u32>,
    /// Its samples in block order.
    #[serde(rename = "values")]
    pub points: Vec<Point>,
    /// Their summary; none without samples.
    pub summary: Option<Summary>,
    /// Against the base column; none for the base itself and without samples.
    #[serde(rename = "comparison")]
    pub versus: Option<Versus>,
    /// What was published in this place.
    pub published: Option<PublishedFigure>,
    /// Marks of the doubts about it, worst first.
    pub marks: BTreeSet<Mark>,
}

impl Figure {
    /// The samples without their places.
    pub fn values(&self) -> Vec<f64> {
        self.points.iter().map(|p| p.value).collect()
    }

    /// Mean of the samples.
    pub fn mean(&self) -> Option<f64> {
        self.summary.as_ref().map(|s| s.mean)
    }

    /// The worst doubt.
    pub fn worst(&self) -> Option<Mark> {
        self.marks.first().copied()
    }

    /// All doubts as characters.
    pub fn signs(&self) -> String {
        self.marks.iter().map(|m| m.sign()).collect()
    }
}

/// A column group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    /// Heading of the group.
    pub name: String,
    /// Heading of each factor, the outermost first; empty where one factor spans the columns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// What it fixes: factor (or `phase`, `metric`, `clock`) to level.
    pub fixed: BTreeMap<String, String>,
    /// Name of the published column beside it.
    pub published: Option<String>,
}

impl Column {
    /// The headings above the last one, and the last.
    pub fn headings(&self) -> (&[String], &str) {
        match self.path.split_last() {
            Some((last, above)) => (above, last),
            None => (&[], &self.name),
        }
    }
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Label without the colon.
    pub label: String,
    /// Phase, when all of the row is of one.
    pub phase: Option<String>,
    /// Metric, likewise.
    pub metric: Option<String>,
    /// Clock, likewise.
    pub clock: Option<Clock>,
    /// Unit as printed.
    pub unit: String,
    /// What it fixes: factor (or `phase`, `metric`, `clock`) to level.
    pub fixed: BTreeMap<String, String>,
    /// One figure for each column.
    #[serde(skip)]
    pub figures: Vec<Figure>,
}

/// A table of the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// First line.
    pub title: String,
    /// Second line; may be empty.
    pub subtitle: String,
    /// Column groups in order.
    pub columns: Vec<Column>,
    /// Rows in order.
    pub rows: Vec<Row>,
    /// Index of the column that the others are compared with.
    pub base: usize,
    /// Comparisons that were corrected together.
    pub family: usize,
}

impl Table {
    /// The clocks of its rows, each once.
    pub fn clocks(&self) -> BTreeSet<Clock> {
        self.rows.iter().filter_map(|r| r.clock).collect()
    }

    /// Whether any figure has a published number beside it.
    pub fn has_published(&self) -> bool {
        self.figures().any(|f| f.published.is_some())
    }

    /// What the medians' intervals really cover: see [`coverage`].
    pub fn coverage(&self) -> Option<String> {
        coverage(&self.figures())
    }

    /// Whether another table has the same rows and columns with the same samples in all places: two
    /// clocks that stop at the same moment.
    pub fn equals(&self, other: &Table) -> bool {
        let labels = |table: &Table| -> Vec<String> {
            let rows = table.rows.iter().map(|r| r.label.clone());
            rows.chain(table.columns.iter().map(|c| c.name.clone()))
                .collect()
        };
        labels(self) == labels(other)
            && self
                .figures()
                .zip(other.figures())
                .all(|(a, b)| a.points == b.points)
    }

    /// Every figure.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> + Clone {
        self.rows.iter().flat_map(|r| &r.figures)
    }

    /// Heading of the base column.
    pub fn base_name(&self) -> &str {
        self.columns.get(self.base).map_or("", |c| c.name.as_str())
    }
}

/// What the medians' order-statistic intervals really cover: `94 %`, or `75 % to 94 %`.
pub(crate) fn coverage<'a>(figures: &(impl Iterator<Item = &'a Figure> + Clone)) -> Option<String> {
    let reached = || {
        let figures = figures.clone();
        figures.filter_map(|f| f.summary.as_ref()?.median_interval.as_ref()?.achieved)
    };
    let (low, high) = (reached().reduce(f64::min)?, reached().reduce(f64::max)?);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    Some(if percent(low) == percent(high) {
        percent(low)
    } else {
        format!("{} to {}", percent(low), percent(high))
    })
}

/// What a clock covers: the legend of every report (DESIGN: what is inside the clock is written on
/// every number).
pub const fn clock_meaning(clock: Clock) -> &'static str {
    match clock {
        Clock::Original => "as the original tool computes it",
        Clock::Fsync => "to the end of an fsync of every file",
        Clock::Syncfs => "to the end of syncfs on the filesystem",
    }
}

/// Name of a clock in files and on the command line.
pub const fn clock_name(clock: Clock) -> &'static str {
    match clock {
        Clock::Original => "original",
        Clock::Fsync => "fsync",
        Clock::Syncfs => "syncfs",
    }
}
