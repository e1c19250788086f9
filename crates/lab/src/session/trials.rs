//! The loop over trials: what remains, then what is repeated.

use record::{Event, FailureKind, Run, RunFolder};
use study::Slot;

use super::Session;
use crate::error::Error;
use crate::executor::Executor;

impl Session<'_> {
    /// Repeats doubtful and failed trials, as often as the plan allows. `Some`: an event could not be kept.
    pub(super) fn repeats(
        &mut self,
        executor: &mut dyn Executor,
    ) -> Result<Option<record::Error>, Error> {
        loop {
            let run = Run::load(self.folder.dir())?;
            if !run.remaining().is_empty() || self.interrupt.is_raised() {
                return Ok(None);
            }
            let again = run.to_repeat();
            if again.is_empty() {
                return Ok(None);
            }
            let next = run.plan.slots.len() as u32;
            drop(run);
            for (trial, (first, why)) in (next..).zip(again) {
                let slot = Slot { trial, ..first };
                let repeats = first.trial;
                self.emit(Event::TrialRepeated { slot, repeats, why })?;
            }
            let run = Run::load(self.folder.dir())?;
            if let Some(lost) = self.trials(&run, executor)? {
                return Ok(Some(lost));
            }
        }
    }

    /// Runs what remains. `Some`: an event could not be kept.
    pub(super) fn trials(
        &mut self,
        run: &Run,
        executor: &mut dyn Executor,
    ) -> Result<Option<record::Error>, Error> {
        let mut hopeless: Vec<u32> = Vec::new();
        for slot in run.remaining() {
            if let Err(gone) = self.require_folder() {
                return Ok(Some(gone));
            }
            if self.interrupt.is_raised() {
                break;
            }
            if hopeless.contains(&slot.cell) {
                continue;
            }
            let trial = run.plan.trial(slot);
            let telemetry = RunFolder::telemetry_of(slot.trial);
            self.emit(Event::TrialStarted {
                slot,
                telemetry: Some(telemetry),
                node: self.node.clone(),
            })?;
            let mut trouble = None;
            let outcome = {
                let (log, watcher) = (&mut self.log, self.watcher);
                let mut emit = |event: Event| match log.emit(event) {
                    Ok(entry) => {
                        watcher.entry(&entry);
                        true
                    }
                    Err(error) => {
                        trouble.get_or_insert(error);
                        false
                    }
                };
                executor.run(&trial, &mut emit)
            };
            if trouble.is_some() {
                return Ok(trouble);
            }
            if let Err(mut failure) = outcome {
                let gone = self.require_folder().err();
                if gone.is_some() {
                    // No fault of the trial: a resumed run repeats it.
                    failure.kind = FailureKind::Interrupted;
                    failure.fatal = None;
                }
                if failure.kind == FailureKind::Cell {
                    hopeless.push(slot.cell);
                }
                self.emit(Event::TrialFailed {
                    trial: slot.trial,
                    kind: failure.kind,
                    message: failure.message,
                    ledger: failure.ledger,
                })?;
                if gone.is_some() {
                    return Ok(gone);
                }
                if let Some(error) = failure.fatal {
                    let run = self.folder.dir().to_owned();
                    return Err(Error::Stopped { run, source: error });
                }
            }
        }
        Ok(None)
    }
}
