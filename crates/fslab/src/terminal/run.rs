//! The events of a run on the terminal: failed trials as lines that stay, all of them as JSON Lines where that is asked for.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use progress::Progress;
use record::{Entry, Event, FailureKind};
use study::forecast::Forecast;
use study::{Plan, Slot, Trial};

use super::Terminal;
use crate::cli::LiveFormat;
use crate::out;

/// Progress and events of a run.
pub(crate) struct RunTerminal {
    terminal: Terminal,
    jsonl: bool,
    /// The first error when printing events.
    lost: Mutex<Option<anyhow::Error>>,
    plan: Mutex<Option<Plan>>,
}

impl RunTerminal {
    /// Progress of this many trials (1: a single workload or check).
    pub(crate) fn new(trials: usize, format: LiveFormat) -> Self {
        let terminal = Terminal::new();
        terminal.screen.meter.count_trials(trials, Instant::now());
        RunTerminal {
            terminal,
            jsonl: format == LiveFormat::Jsonl,
            lost: Mutex::new(None),
            plan: Mutex::new(None),
        }
    }

    /// These slots of a plan are still to run: how long they will take.
    pub(crate) fn foresee(&self, plan: &Plan, slots: &[Slot]) {
        let cells = slots.iter().map(|slot| slot.cell).collect();
        let meter = &self.terminal.screen.meter;
        meter.forecast(Forecast::of(plan), cells, Instant::now());
        *self.plan() = Some(plan.clone());
    }

    fn plan(&self) -> MutexGuard<'_, Option<Plan>> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints an event. A closed stdout must not stop the run, whose log has everything; the exit
    /// code reports it at the end.
    fn stream(&self, entry: &Entry) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if lost.is_some() {
            return;
        }
        let line = serde_json::to_string(entry).map_err(anyhow::Error::from);
        *lost = line.and_then(|line| out::print(&line)).err();
    }

    /// Ends the progress. Returns the error of the stream of events, if its reader closed it.
    pub(crate) fn finish(self) -> Option<anyhow::Error> {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.take()
    }
}

impl Progress for RunTerminal {
    fn inner(&self) -> &dyn Progress {
        &self.terminal
    }
}

impl lab::Watcher for RunTerminal {
    fn entry(&self, entry: &Entry) {
        if self.jsonl {
            self.stream(entry);
        }
        let meter = &self.terminal.screen.meter;
        match &entry.event {
            Event::RunStarted { plan, .. } => self.foresee(plan, &plan.slots),
            Event::Probed { measured } => {
                let plan = self.plan().clone();
                if let Some(mut plan) = plan {
                    plan.measured = Some(measured.clone());
                    let slots = plan.slots.clone();
                    self.foresee(&plan, &slots);
                }
            }
            Event::TrialRepeated { slot, .. } => meter.trial_added(slot.cell),
            Event::TrialStarted { slot, .. } => meter.trial_began(slot.cell, Instant::now()),
            Event::TrialFinished { .. } => meter.trial_over(Instant::now()),
            // Not an error: the end of the run reports it.
            Event::TrialFailed {
                kind: FailureKind::Interrupted,
                ..
            } => {}
            Event::TrialFailed { trial, message, .. } => {
                meter.trial_over(Instant::now());
                self.terminal
                    .message(&format!("trial {} failed: {message}", trial + 1));
            }
            _ => {}
        }
    }

    fn activity(&self, trial: &Trial, activity: &str) {
        let name = format!("{}: {activity}", trial.cell.label());
        self.terminal.screen.meter.activity(name);
    }
}
