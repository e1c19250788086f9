//! What speaks against the numbers: evidence that does not hold, warnings, trials that are missing.
//!
//! A number whose evidence fails must never look clean, so doubts are attached to the figures they
//! touch: evidence and warnings of a phase to that phase, those of a whole trial to all its phases,
//! and evidence of one metric to that metric.
//! What is true of all trials of a kind alike is no doubt about one of them: see [`RunWide`].

use std::collections::{BTreeMap, BTreeSet};

use record::{Evidence, FailureKind, Run, Status, TrialRecord};
use study::Slot;

use crate::model::Mark;
use crate::run_wide::{RunWide, RunWideIssues};

/// One doubt about one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Doubt {
    /// Its mark: how grave the doubt is.
    pub mark: Mark,
    /// The trial's number, from 0.
    pub trial: u32,
    /// Its block, from 0.
    pub block: u32,
    /// Its cell: [`study::Cell::id`].
    pub cell: u32,
    /// The phase; none: the whole trial.
    pub phase: Option<String>,
    /// `cold_cache`, `warning`, `failed`, `skipped`, `not run`.
    pub name: String,
    /// What was observed.
    pub detail: String,
}

/// One kind of evidence, counted over all trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Times it holds.
    pub holds: usize,
    /// Times it does not.
    pub fails: usize,
    /// Times it could not be checked.
    pub unchecked: usize,
}

/// Every doubt of a run, and the tally of its evidence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validity {
    /// In order of gravity, then of running.
    pub doubts: Vec<Doubt>,
    /// What is true of all trials of a kind and marks no number.
    pub run_wide: Vec<RunWide>,
    /// By name of the evidence.
    pub tally: BTreeMap<String, Tally>,
}

/// Doubts that say the same of several trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Group<'a> {
    /// Its mark: how grave the doubt is.
    pub mark: Mark,
    /// Kind of doubt: [`Doubt::name`].
    pub name: &'a str,
    /// Phase in snake case; none: the whole trial.
    pub phase: Option<&'a str>,
    /// The doubts, in running order.
    pub doubts: Vec<&'a Doubt>,
}

impl Group<'_> {
    /// What all its doubts say: a warning's own text, else what the mark means.
    pub fn text(&self) -> &str {
        match (self.mark, self.doubts.first()) {
            (Mark::Warning, Some(doubt)) => &doubt.detail,
            _ => self.mark.meaning(),
        }
    }
}

impl Validity {
    /// Gathers the doubts about the cells for which `keep` is true.
    pub fn of(run: &Run, keep: &BTreeSet<u32>) -> Validity {
        let mut validity = Validity::default();
        let general = RunWideIssues::of(run);
        for slot in run.plan.slots.iter().filter(|s| keep.contains(&s.cell)) {
            let cell = run.plan.cells.get(slot.cell as usize);
            if let (Some(cell), Some(trial)) = (cell, run.trials.get(slot.trial as usize)) {
                if matches!(trial.status, Status::Replaced { .. }) {
                    continue;
                }
                validity.doubt_status(run, slot, &trial.status);
                for warning in &trial.warnings {
                    if !general.has_warning(cell, warning) {
                        let phase = phase_of(run, trial, warning);
                        validity.add(slot, Mark::Warning, phase, "warning", warning);
                    }
                }
                for evidence in &trial.evidence {
                    validity.weigh(slot, evidence, general.has_evidence(cell, evidence));
                }
            }
        }
        validity.doubts.sort_by_key(|d| (d.mark, d.trial));
        let cells: Vec<&study::Cell> = run
            .plan
            .cells
            .iter()
            .filter(|c| keep.contains(&c.id))
            .collect();
        validity.run_wide = general.about(&cells);
        validity
    }

    fn add(&mut self, slot: &Slot, mark: Mark, phase: Option<&str>, name: &str, detail: &str) {
        self.doubts.push(Doubt {
            mark,
            trial: slot.trial,
            block: slot.block,
            cell: slot.cell,
            phase: phase.map(str::to_owned),
            name: name.to_owned(),
            detail: detail.to_owned(),
        });
    }

    fn doubt_status(&mut self, run: &Run, slot: &Slot, status: &Status) {
        match status {
            Status::Finished | Status::Replaced { .. } => {}
            Status::Failed(FailureKind::Interrupted, message) => {
                self.add(slot, Mark::Missing, None, "interrupted", message);
            }
            Status::Failed(_, message) => self.add(slot, Mark::Missing, None, "failed", message),
            Status::Pending => {
                let (name, why) = pending(run, slot.cell);
                self.add(slot, Mark::Missing, None, name, &why);
            }
        }
    }

    /// Counts one evidence and doubts it, unless it is beyond all trials of its kind.
    fn weigh(&mut self, slot: &Slot, evidence: &Evidence, general: bool) {
        let tally = self.tally.entry(evidence.name.clone()).or_default();
        let mark = match evidence.holds {
            Some(true) => {
                tally.holds += 1;
                return;
            }
            Some(false) => {
                tally.fails += 1;
                if evidence.name == record::QUIET_MACHINE {
                    Mark::Busy
                } else {
                    Mark::Fails
                }
            }
            None => {
                tally.unchecked += 1;
                if general {
                    return;
                }
                Mark::Unchecked
            }
        };
        let phase = evidence.phase.as_deref();
        self.add(slot, mark, phase, &evidence.name, &evidence.detail);
    }

    /// Marks of the figure of one cell, phase (all phases: `None`) and metric.
    pub fn marks(&self, cell: u32, phase: Option<&str>, metric: &str) -> BTreeSet<Mark> {
        self.doubts
            .iter()
            .filter(|d| d.cell == cell && speaks_of(&d.name, metric))
            .filter(|d| match (&d.phase, phase) {
                (Some(of), Some(phase)) => of == phase,
                _ => true,
            })
            .map(|d| d.mark)
            .collect()
    }

    /// The doubts grouped by what they say.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for doubt in &self.doubts {
            let same = |g: &&mut Group<'_>| {
                g.mark == doubt.mark
                    && g.name == doubt.name
                    && g.phase == doubt.phase.as_deref()
                    // Warnings are distinguished by their text: they have nothing else.
                    && (doubt.mark != Mark::Warning || g.doubts[0].detail == doubt.detail)
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.doubts.push(doubt),
                None => groups.push(Group {
                    mark: doubt.mark,
                    name: &doubt.name,
                    phase: doubt.phase.as_deref(),
                    doubts: vec![doubt],
                }),
            }
        }
        groups
    }
}

/// Whether a doubt of this name touches a metric. Most touch every figure of their phase; these
/// check one figure alone, and the seconds beside a memory peak that is only a lower bound are as
/// good as any.
fn speaks_of(name: &str, metric: &str) -> bool {
    match name {
        "peak_memory" => metric == "peak_rss",
        "io_agrees" => matches!(
            metric,
            "device_read" | "device_written" | "read_requests" | "write_requests" | "throughput"
        ),
        _ => true,
    }
}

/// The phase that a warning speaks of, when it begins with its name: `patch: no runs ...`.
fn phase_of<'a>(run: &'a Run, trial: &'a TrialRecord, warning: &str) -> Option<&'a str> {
    let (name, _) = warning.split_once(':')?;
    let run_here = trial.phases.iter().map(|p| p.name.as_str());
    let in_tables = run.plan.tables.iter().flat_map(|t| &t.rows);
    run_here
        .chain(in_tables.map(|row| row.phase.as_str()))
        .find(|phase| *phase == name)
}

/// Why a trial has not run.
fn pending(run: &Run, cell: u32) -> (&'static str, String) {
    let hopeless =
        run.plan
            .slots
            .iter()
            .find_map(|slot| match &run.trials.get(slot.trial as usize)?.status {
                Status::Failed(FailureKind::Cell, message) if slot.cell == cell => Some(message),
                _ => None,
            });
    match hopeless {
        Some(message) => ("skipped", format!("the cell cannot run here: {message}")),
        None => ("not run", "the run is incomplete: resume it".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_of_one_metric_marks_no_other() {
        let doubt = |name: &str, mark| Doubt {
            mark,
            trial: 0,
            block: 0,
            cell: 1,
            phase: Some("check".to_owned()),
            name: name.to_owned(),
            detail: String::new(),
        };
        let marks = |name: &str, metric: &str| {
            let validity = Validity {
                doubts: vec![doubt(name, Mark::Unchecked)],
                ..Validity::default()
            };
            validity.marks(1, Some("check"), metric).len()
        };
        assert_eq!(marks("peak_memory", "peak_rss"), 1);
        assert_eq!(marks("peak_memory", "seconds"), 0);
        assert_eq!(marks("io_agrees", "device_read"), 1);
        assert_eq!(marks("io_agrees", "seconds"), 0);
        for metric in ["seconds", "peak_rss", "device_read"] {
            assert_eq!(marks("clock_agrees", metric), 1);
            assert_eq!(marks("cold_cache", metric), 1);
        }
    }
}
