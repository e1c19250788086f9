//! How much longer a run will take, corrected by every trial that ends.
//!
//! A cell whose trials have ended takes their mean. The others take their estimate, multiplied by the
//! ratio of real to estimated time of all trials so far.

use crate::estimate::{self, Rates};
use crate::model::Plan;

/// The expected seconds of a run's trials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    cells: Vec<Expected>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Expected {
    estimate: f64,
    /// Trials that ended, and their seconds.
    ended: u32,
    seconds: f64,
}

impl Forecast {
    /// Before any trial of a plan has ended.
    pub fn of(plan: &Plan) -> Forecast {
        let estimates = estimate::of_cells(plan, Rates::default());
        let cells = estimates.into_iter().map(|estimate| Expected {
            estimate,
            ..Expected::default()
        });
        Forecast {
            cells: cells.collect(),
        }
    }

    /// A trial of a cell ended after so much wall time, in seconds.
    pub fn ended(&mut self, cell: u32, seconds: f64) {
        if let Some(expected) = self.cells.get_mut(cell as usize) {
            expected.ended += 1;
            expected.seconds += seconds.max(0.0);
        }
    }

    /// Expected seconds of a trial of a cell.
    pub fn trial(&self, cell: u32) -> f64 {
        let Some(expected) = self.cells.get(cell as usize) else {
            return 0.0;
        };
        if expected.ended > 0 {
            return expected.seconds / f64::from(expected.ended);
        }
        expected.estimate * self.correction()
    }

    /// Expected seconds of trials of these cells.
    pub fn of_trials(&self, cells: impl IntoIterator<Item = u32>) -> f64 {
        cells.into_iter().map(|cell| self.trial(cell)).sum()
    }

    /// Real by estimated time of all trials that ended; 1 before the first.
    fn correction(&self) -> f64 {
        let ended = self.cells.iter().filter(|cell| cell.ended > 0);
        let (real, estimated) = ended.fold((0.0, 0.0), |(real, estimated), cell| {
            (
                real + cell.seconds,
                estimated + f64::from(cell.ended) * cell.estimate,
            )
        });
        if estimated > 0.0 {
            real / estimated
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(estimates: &[f64]) -> Forecast {
        let cells = estimates.iter().map(|&estimate| Expected {
            estimate,
            ..Expected::default()
        });
        Forecast {
            cells: cells.collect(),
        }
    }

    #[test]
    fn trials_that_end_correct_the_estimate() {
        let mut forecast = of(&[10.0, 20.0, 40.0]);
        assert_eq!(forecast.of_trials([0, 1, 2]), 70.0);
        // Half as long as estimated: so will the others be.
        forecast.ended(0, 5.0);
        assert_eq!(
            [0, 1, 2].map(|cell| forecast.trial(cell)),
            [5.0, 10.0, 20.0]
        );
        // A cell that has run is known better than by any ratio.
        forecast.ended(1, 40.0);
        assert_eq!(forecast.trial(1), 40.0);
        assert_eq!(forecast.trial(2), 40.0 * 45.0 / 30.0);
        forecast.ended(0, 7.0);
        assert_eq!(forecast.trial(0), 6.0);
        forecast.ended(9, 1.0);
        assert_eq!(forecast.trial(9), 0.0, "not a cell of the plan");
    }

    #[test]
    fn a_plan_starts_with_its_estimate() {
        let study = crate::Study::load("journal").unwrap();
        let plan = crate::plan(&study, &crate::Overrides::default()).unwrap();
        let cells = plan.slots.iter().map(|slot| slot.cell);
        let without_reference = Plan {
            reference_seconds: 0.0,
            ..plan.clone()
        };
        let estimate = estimate::estimate(&without_reference, Rates::default()).seconds;
        let forecast = Forecast::of(&plan).of_trials(cells);
        assert!((forecast / estimate - 1.0).abs() < 1e-9);
    }
}
