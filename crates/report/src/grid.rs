//! Grids: tables whose rows are factor levels and whose columns are figures.
//!
//! The streaming mail of 2008 and the checks of 2012 did not lay filesystems side by side under one
//! list of metrics. Dokos put kernels below each other and one kind of run beside the other, a table
//! for each filesystem, with iostat and top as footnotes; Layton put sizes and file counts below each
//! other. A grid is that layout: one [`Panel`] for each filesystem, each place one cell of the plan.
//!
//! - An empty place is one that the study does not run, as in the original. A place that was to run
//!   and gave no number prints `-` and its mark.
//! - A place with one value prints it, one with two prints both below each other (as Dokos did),
//!   one with more prints the median and below it its interval.
//! - What is inside the clock is in the head of each column, so it applies to every number below it.
//! - Values of different cells are never pooled: a factor that a column leaves open splits the grid,
//!   like a table, into one for each of its levels.
//! - A footnote belongs to one phase of one cell and shows the trial in the middle of its values.
//!
//! Rejected: making grids a kind of [`crate::model::Table`]. A table has one unit a row, a base
//! column and a family of comparisons; a grid has none of them, and half of every format would have
//! asked which of the two it has in hand.

mod beside;
mod fill;
mod footnote;
mod label;

use serde::Serialize;
use study::Clock;

use crate::layout::Levels;
use crate::model::Figure;
use crate::published::{Published, PublishedGrid};
use crate::units;

pub use beside::{Beside, Extra};
pub(crate) use fill::grids;
pub use footnote::Footnote;

/// A grid with its numbers.
#[derive(Clone, Debug)]
pub struct Grid {
    /// First line.
    pub title: String,
    /// One for each level of the heading's factor, and of those that the columns leave open.
    pub panels: Vec<Panel>,
    /// iostat's and top's rows, in the order of their marks: `[1]` is the first.
    pub footnotes: Vec<Footnote>,
    /// Figures beside the times of checks: memory, bytes read, swap-ins, files.
    pub beside: Option<Beside>,
    /// What was published in this layout.
    pub published: Option<(&'static Published, &'static PublishedGrid)>,
}

/// A part of a grid with its own heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Level of the heading's factor (`ext4`).
    pub heading: Option<String>,
    /// Levels that every place of the panel has besides the grid's.
    pub levels: Levels,
    /// Levels of factors that the columns leave open: what the heading does not say.
    pub open: Levels,
    /// Label columns.
    pub labels: Vec<Label>,
    /// Figure columns.
    pub columns: Vec<Head>,
    /// Rows.
    pub lines: Vec<Line>,
}

/// A label column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// The factor, or `kernel`.
    pub factor: String,
    /// Its head, with the unit of the labels.
    pub head: String,
}

/// A figure column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Head {
    /// As the study says (`Read (RA=4K)`).
    pub label: String,
    /// Phase in snake case.
    pub phase: String,
    /// Metric of the phase.
    pub metric: String,
    /// What is inside the clock.
    pub clock: Clock,
    /// Unit as printed.
    pub unit: String,
    /// Levels that its places have besides the panel's and the row's.
    pub levels: Levels,
}

impl Head {
    /// `MB/s (a)`: what is written under the label. Only rates and times have a clock, and a label
    /// that ends with its mark needs no second one.
    pub fn below(&self) -> String {
        if !self.is_timed() || self.label.ends_with(self.clock.mark()) {
            return self.unit.clone();
        }
        format!("{} {}", self.unit, self.clock.mark())
    }

    /// Whether there is a clock in its numbers.
    pub fn is_timed(&self) -> bool {
        units::higher_is_better(&self.unit).is_some()
    }
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// One label for each label column.
    pub labels: Vec<String>,
    /// The labels with their units, for places without a head above them: `1 GiB, 20 thousand files`.
    pub name: String,
    /// The levels it fixes.
    pub levels: Levels,
    /// One for each column.
    pub places: Vec<Place>,
}

/// A place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// The figure; without a cell the study does not run it.
    pub figure: Figure,
    /// Number of its footnote, from 1.
    pub footnote: Option<usize>,
}

impl Grid {
    /// Every figure.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        let lines = self.panels.iter().flat_map(|p| &p.lines);
        lines.flat_map(|l| &l.places).map(|p| &p.figure)
    }

    /// The clocks of its rates and times.
    pub fn clocks(&self) -> impl Iterator<Item = Clock> {
        let columns = self.panels.iter().flat_map(|p| &p.columns);
        columns.filter(|c| c.is_timed()).map(|c| c.clock)
    }
}

impl Panel {
    /// `ext4`, `ext4, memory=512m` or nothing: what distinguishes it from the others.
    pub fn name(&self) -> String {
        let open = crate::layout::describe(&self.open);
        let parts = [self.heading.clone().unwrap_or_default(), open];
        let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        parts.join(", ")
    }
}
