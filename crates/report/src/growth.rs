//! How a figure grows with the number of files, and what that projects.
//!
//! The study of 2012 asked how long a check of a hundred million files takes, and filled 72 TB to
//! find out. A laboratory has smaller disks, so it measures sizes that it can make, fits a law and
//! says what the law projects. Three rules keep that honest: x is what was counted and not what was
//! requested; each combination of levels has a law of its own, and no two are pooled; and a
//! projection is never printed without that word, its interval and how far beyond the data it is.
//!
//! The statistics, and why these two laws, are [`stats::growth`].

mod fill;
mod published;
mod words;

use serde::Serialize;
use stats::growth::{Estimate, Law};
use study::Clock;

use crate::layout::Levels;
use crate::model::{Figure, coverage};

pub(crate) use self::words::{
    LAWS, amount, brief, engineering, interval, reach, sentences, tested,
};
pub(crate) use fill::{counted, growths};

/// One of the study's questions of growth, answered.
#[derive(Clone, Debug)]
pub struct Growth {
    /// First line.
    pub title: String,
    /// What x is: `count`, or a factor.
    pub x: String,
    /// Its unit, in the plural.
    pub x_unit: String,
    /// Phase of y.
    pub phase: String,
    /// Metric of y.
    pub metric: String,
    /// What is inside the clock.
    pub clock: Clock,
    /// Unit of y as printed.
    pub unit: String,
    /// Level of every interval.
    pub level: f64,
    /// One for each combination of levels.
    pub curves: Vec<Curve>,
}

/// One combination of levels.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The levels.
    pub levels: Levels,
    /// What was measured, by rising x.
    pub sizes: Vec<Size>,
    /// Both laws, or why there is none.
    pub laws: Result<stats::growth::Growth, stats::Error>,
    /// What the reported laws project.
    pub projections: Vec<Projection>,
    /// Published numbers of such a cell without a projection beside them.
    pub published: Vec<PublishedPoint>,
}

/// One measured size: one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    /// Median of x over its trials.
    pub x: f64,
    /// Its values of x, in the order of the figure's points.
    pub counted: Vec<f64>,
    /// y.
    pub figure: Figure,
}

/// What the reported laws say of one x.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    /// The x it is made for, in the unit of the growth's x.
    pub x: f64,
    /// x over the largest measured.
    pub reach: f64,
    /// The chosen law first; the other only where they are not distinguishable.
    pub laws: Vec<(Law, Estimate)>,
    /// Published numbers at this x.
    pub published: Vec<PublishedPoint>,
}

/// A published time of a check of a number of files.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublishedPoint {
    /// Files, where the source gives them.
    pub x: Option<f64>,
    /// Seconds.
    pub y: f64,
    /// Its row in the document (`72TB 105M`).
    pub row: String,
    /// The document, short (`Layton 2012`).
    pub document: String,
}

impl PublishedPoint {
    /// `1629 s, published (Layton 2012, 72TB 105M; another machine)`.
    pub fn sentence(&self) -> String {
        format!(
            "{:.0} s published ({}: {}; another machine, so no verdict)",
            self.y, self.document, self.row
        )
    }
}

impl Curve {
    /// `filesystem=ext4 memory=none`.
    pub fn name(&self) -> String {
        if self.levels.is_empty() {
            "all cells".to_owned()
        } else {
            crate::layout::describe(&self.levels)
        }
    }

    /// The laws that must be shown.
    pub fn reported(&self) -> &[stats::growth::Fit] {
        self.laws.as_ref().map_or(&[], |laws| laws.reported())
    }
}

impl Growth {
    /// Every figure.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> + Clone {
        let sizes = self.curves.iter().flat_map(|c| &c.sizes);
        sizes.map(|size| &size.figure)
    }

    /// `check, secs (a)`: what y is, with what is inside its clock.
    pub fn y(&self) -> String {
        let metric = match self.metric.as_str() {
            "seconds" => String::new(),
            metric => format!(" {metric}"),
        };
        format!(
            "{}{metric}, {} {}",
            self.phase,
            self.unit,
            self.clock.mark()
        )
    }

    /// What x and y are, and what the medians' intervals cover.
    pub fn about(&self) -> String {
        let x = if self.x == fill::COUNT {
            "as counted in each trial".to_owned()
        } else {
            format!("the level of {}", self.x)
        };
        let mut text = format!("y: {}; x: {}, {x}", self.y(), self.x_unit);
        if let Some(covered) = coverage(&self.figures()) {
            text.push_str(&format!("; intervals of medians cover {covered}"));
        }
        text
    }
}
