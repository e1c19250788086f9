//! What a check reports besides its progress.

use progress::{Progress, Recorder, Silent};

use super::cost::Cost;
use super::pass::Pass;

/// The surroundings of a check: progress of its steps, and the boundaries of its passes.
pub trait Observer: Progress {
    /// A pass begins. Called before its clocks and counters are first read.
    fn pass_started(&self, _pass: &'static Pass) {}

    /// A pass has ended with this cost. It may take its time: no clock of a pass is running.
    fn pass_finished(&self, _cost: &Cost) {}
}

impl Observer for Silent {}

impl Observer for Recorder {}
