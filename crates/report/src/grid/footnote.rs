//! Footnotes: what iostat and top showed in the middle of a phase.
//!
//! Dokos printed one typical block after each number that needed one. Typical is here the trial
//! whose value is the median of its place, the lower of the two middle ones where n is even; where
//! its rows were not recorded, the trial nearest to it.

use record::{Middle, Run};
use serde::Serialize;

use crate::model::{Figure, Point};

/// iostat's and top's rows of one phase of one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Footnote {
    /// The place it belongs to: `ext4 6.18.5, Read (RA=4K)`.
    pub place: String,
    /// [`study::Cell::id`].
    pub cell: u32,
    /// Phase.
    pub phase: String,
    /// The trial shown.
    pub trial: u32,
    /// Its block, from 0.
    pub block: u32,
    /// Values of the place that it belongs to.
    #[serde(skip)]
    pub n: usize,
    /// Whether that trial's value is the middle one; else it is the nearest whose rows there are.
    pub is_median: bool,
    /// The rows.
    pub middle: Middle,
}

impl Footnote {
    /// `ext4 6.18.5, Read: the run of block 2, median of 3; over 2.0 s in the middle of read`.
    pub fn sentence(&self) -> String {
        let of = match (self.n, self.is_median) {
            (1, _) => "the only run".to_owned(),
            (2, true) => format!("the run of block {}, the lower of 2", self.block + 1),
            (n, true) => format!("the run of block {}, the middle one of {n}", self.block + 1),
            (n, false) => format!(
                "the run of block {}, the nearest to the middle of {n} whose rows were recorded",
                self.block + 1
            ),
        };
        let seconds = self.middle.seconds;
        format!(
            "{}: {of}; rows over {seconds:.1} s in the middle of {}.",
            self.place, self.phase
        )
    }
}

/// The footnote of a figure, when any of its trials has rows.
pub(super) fn of(run: &Run, figure: &Figure, phase: &str, place: &str) -> Option<Footnote> {
    let cell = figure.cell?;
    let mut points: Vec<&Point> = figure.points.iter().collect();
    points.sort_by(|a, b| a.value.total_cmp(&b.value));
    let center = points.len().checked_sub(1)? / 2;
    // The places by their distance from the middle.
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by_key(|at| at.abs_diff(center));
    let (at, middle) = order.into_iter().find_map(|at| {
        let trial = run.trials.get(points[at].trial as usize)?;
        let phase = trial.phases.iter().find(|p| p.name == phase)?;
        Some((at, phase.middle.as_ref()?))
    })?;
    Some(Footnote {
        place: place.to_owned(),
        cell,
        phase: phase.to_owned(),
        trial: points[at].trial,
        block: points[at].block,
        n: points.len(),
        is_median: at == center,
        middle: middle.clone(),
    })
}
