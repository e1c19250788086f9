//! Trials that are repeated at the end of a run, and which of them counts.
//!
//! A repeat that finished without a doubt counts in the place of the trial that it repeats. A doubtful
//! repeat counts only where the first trial failed. The statistic of a block and cell is always
//! that of one trial.

use study::Slot;

use super::{Run, Status, TrialRecord};
use crate::event::FailureKind;

impl Run {
    /// Adds a slot at the end of the plan. One that is not the next, or repeats nothing, is passed over:
    /// a log may come from anyone.
    pub(super) fn add_slot(&mut self, slot: Slot, repeats: u32) {
        let next = self.plan.slots.len() as u32;
        let first = self.plan.slots.get(repeats as usize);
        let same = first.is_some_and(|first| first.cell == slot.cell && first.block == slot.block);
        if slot.trial == next && same && !self.repeats.contains_key(&repeats) {
            self.plan.slots.push(slot);
            self.trials.push(TrialRecord::default());
            self.repeats.insert(slot.trial, repeats);
        }
    }

    /// Decides which trial counts after a repeat has ended.
    pub(super) fn settle_repeat(&mut self, trial: u32) {
        let Some(&first) = self.repeats.get(&trial) else {
            return;
        };
        let Some(record) = self.trials.get(trial as usize) else {
            return;
        };
        let counts = match &record.status {
            Status::Finished => !record.is_doubtful() || !self.has_result(first),
            Status::Failed(FailureKind::Interrupted, _) => return,
            _ => false,
        };
        if counts {
            let earlier = self.repeats.iter().filter(|(_, of)| **of == first);
            let mut replaced: Vec<u32> = earlier.map(|(repeat, _)| *repeat).collect();
            replaced.push(first);
            for other in replaced.into_iter().filter(|other| *other != trial) {
                self.replace(other, trial);
            }
        } else {
            let by = self.counting(first);
            self.replace(trial, by);
        }
    }

    /// The trial that counts for a slot of the plan: itself, or the repeat in its place.
    pub fn counting(&self, trial: u32) -> u32 {
        match self.trials.get(trial as usize).map(|record| &record.status) {
            // A repeat that counts is never replaced by an earlier trial.
            Some(Status::Replaced { by }) => *by,
            _ => trial,
        }
    }

    fn has_result(&self, first: u32) -> bool {
        let counting = self.counting(first);
        let record = self.trials.get(counting as usize);
        record.is_some_and(|record| record.status == Status::Finished)
    }

    fn replace(&mut self, trial: u32, by: u32) {
        if let Some(record) = self.trials.get_mut(trial as usize)
            && record.status != Status::Pending
        {
            record.status = Status::Replaced { by };
            record.samples.clear();
        }
    }

    /// The trials to repeat next, each with the reason: doubtful and failed ones that were repeated less
    /// often than the plan allows.
    pub fn to_repeat(&self) -> Vec<(Slot, String)> {
        let planned = self.plan.slots.iter();
        let first = planned.filter(|slot| !self.repeats.contains_key(&slot.trial));
        let due = first.filter(|slot| {
            let times = self.repeats.values().filter(|of| **of == slot.trial);
            (times.count() as u32) < self.plan.rerun_doubtful
        });
        due.filter_map(|slot| Some((*slot, self.doubt(slot.trial)?)))
            .collect()
    }

    /// Why the trial that counts for a slot is to be repeated.
    fn doubt(&self, trial: u32) -> Option<String> {
        let record = self.trials.get(self.counting(trial) as usize)?;
        match &record.status {
            Status::Failed(FailureKind::Trial, message) => Some(format!("it failed: {message}")),
            Status::Finished => {
                let mut fails = record.evidence.iter();
                let found = fails.find(|found| found.holds == Some(false))?;
                let phase = found.phase.as_ref();
                let phase = phase.map_or(String::new(), |phase| format!(" in {phase}"));
                Some(format!("{}{phase}: {}", found.name, found.detail))
            }
            _ => None,
        }
    }

    /// One line for each repeat: `trial 31 repeats trial 4 and counts in its place: ...`.
    pub fn repeat_notes(&self) -> Vec<String> {
        let notes = self.repeats.iter().map(|(repeat, first)| {
            let status = self
                .trials
                .get(*repeat as usize)
                .map(|record| &record.status);
            let then = match status {
                Some(Status::Finished) => "and counts in its place".to_owned(),
                Some(Status::Replaced { by }) => {
                    format!(
                        "; it was doubtful or failed too, and trial {} counts",
                        by + 1
                    )
                }
                _ => "; it has not ended".to_owned(),
            };
            let space = if then.starts_with(';') { "" } else { " " };
            format!(
                "trial {} repeats trial {}{space}{then}",
                repeat + 1,
                first + 1
            )
        });
        notes.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Entry, Event, Evidence, Ledger};
    use crate::example;

    fn evidence(holds: bool) -> Evidence {
        Evidence {
            phase: None,
            name: crate::QUIET_MACHINE.into(),
            holds: Some(holds),
            detail: "other processes used 1.60 of 2 CPUs".into(),
        }
    }

    fn finished(run: &mut Run, trial: u32, holds: bool) {
        let slot = run.plan.slots[trial as usize];
        for event in [
            Event::TrialStarted {
                node: None,
                slot,
                telemetry: None,
            },
            Event::TrialFinished {
                trial,
                samples: Vec::new(),
                evidence: vec![evidence(holds)],
                warnings: Vec::new(),
                ledger: Ledger::default(),
            },
        ] {
            apply(run, event);
        }
    }

    fn apply(run: &mut Run, event: Event) {
        let entry = Entry {
            event,
            ..example::entries()[0].clone()
        };
        run.apply(&entry);
    }

    fn repeat(run: &mut Run, first: u32) -> u32 {
        let trial = run.plan.slots.len() as u32;
        let slot = Slot {
            trial,
            ..run.plan.slots[first as usize]
        };
        apply(
            run,
            Event::TrialRepeated {
                slot,
                repeats: first,
                why: "busy".into(),
            },
        );
        trial
    }

    /// All trials finished and quiet, except the second.
    fn run(times: u32) -> Run {
        let mut run = example::run();
        run.plan.rerun_doubtful = times;
        for trial in 0..run.plan.slots.len() as u32 {
            finished(&mut run, trial, trial != 1);
        }
        run
    }

    #[test]
    fn a_quiet_repeat_counts_in_place_of_the_doubtful_trial() {
        let mut run = run(1);
        let due = run.to_repeat();
        assert_eq!(due.len(), 1);
        assert_eq!(due[0].0.trial, 1);
        assert!(due[0].1.starts_with("quiet_machine: other"), "{}", due[0].1);
        let new = repeat(&mut run, 1);
        assert_eq!(run.remaining().len(), 1);
        assert!(run.to_repeat().is_empty(), "once is enough");
        finished(&mut run, new, true);
        assert_eq!(run.trials[1].status, Status::Replaced { by: new });
        assert_eq!((run.counting(1), run.remaining().len()), (new, 0));
        let cell = run.plan.slots[1].cell;
        let counted = run.finished(cell);
        assert_eq!(counted.len(), run.plan.blocks as usize, "one a block");
        assert!(counted.iter().any(|(slot, _)| slot.trial == new));
        assert_eq!(
            run.repeat_notes(),
            [format!(
                "trial {} repeats trial 2 and counts in its place",
                new + 1
            )]
        );
    }

    #[test]
    fn a_doubtful_repeat_is_repeated_and_never_counts_twice() {
        let mut run = run(2);
        let second = repeat(&mut run, 1);
        finished(&mut run, second, false);
        assert_eq!(run.trials[1].status, Status::Finished);
        assert_eq!(
            run.trials[second as usize].status,
            Status::Replaced { by: 1 }
        );
        assert_eq!(run.to_repeat().len(), 1);
        let third = repeat(&mut run, 1);
        finished(&mut run, third, true);
        assert_eq!(run.counting(1), third);
        assert_eq!(run.counting(second), third);
        assert!(run.to_repeat().is_empty());
        let cell = run.plan.slots[1].cell;
        assert_eq!(run.finished(cell).len(), run.plan.blocks as usize);
    }

    #[test]
    fn a_failed_trial_takes_any_repeat_that_finishes() {
        let mut run = run(1);
        let fail = |kind, trial| Event::TrialFailed {
            trial,
            kind,
            message: "no space".into(),
            ledger: Ledger::default(),
        };
        apply(&mut run, fail(FailureKind::Trial, 1));
        let why = &run.to_repeat()[0].1;
        assert_eq!(why, "it failed: no space");
        let new = repeat(&mut run, 1);
        apply(&mut run, fail(FailureKind::Interrupted, new));
        assert_eq!(run.remaining().len(), 1, "an interrupted repeat runs again");
        finished(&mut run, new, false);
        assert_eq!(run.counting(1), new);
        // A cell that cannot run here is not repeated.
        apply(&mut run, fail(FailureKind::Cell, 0));
        assert!(run.to_repeat().is_empty());
    }

    #[test]
    fn a_slot_that_does_not_fit_is_passed_over() {
        let mut run = run(1);
        let slots = run.plan.slots.len();
        let bad = |trial, block, cell, repeats| Event::TrialRepeated {
            slot: Slot {
                trial,
                block,
                cell,
                seed: 1,
            },
            repeats,
            why: String::new(),
        };
        let first = run.plan.slots[1];
        apply(&mut run, bad(slots as u32, first.block, first.cell + 1, 1));
        apply(&mut run, bad(slots as u32 + 5, first.block, first.cell, 1));
        apply(&mut run, bad(slots as u32, first.block, first.cell, 9999));
        assert_eq!((run.plan.slots.len(), run.trials.len()), (slots, slots));
        assert!(run.repeats.is_empty());
    }
}
