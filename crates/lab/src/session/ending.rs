//! How a run ended: its trials by their status.

use record::{FailureKind, Run, Status, TrialRecord};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every trial is whole and its evidence holds.
    Whole,
    /// Every trial was run, but some failed or have evidence that does not hold.
    Invalid {
        /// Trials that failed.
        failed: u32,
        /// Trials that did not run, or were interrupted, because their cell cannot run here.
        not_run: u32,
        /// Whole trials with evidence that does not hold.
        doubtful: u32,
    },
    /// Stopped by a signal.
    Interrupted {
        /// Trials still to run.
        remaining: u32,
    },
}

/// Whole and failed trials. An interrupted one is neither: it is run again, or skipped with its cell.
pub(super) fn tally(run: &Run) -> (u32, u32) {
    let count = |wanted: fn(&Status) -> bool| {
        counting(run).filter(|trial| wanted(&trial.status)).count() as u32
    };
    (
        count(|status| matches!(status, Status::Finished)),
        count(|status| {
            matches!(
                status,
                Status::Failed(FailureKind::Trial | FailureKind::Cell, _)
            )
        }),
    )
}

/// Trials that count: a repeat in the place of the trial that it repeats.
pub(super) fn counting(run: &Run) -> impl Iterator<Item = &TrialRecord> {
    let trials = run.trials.iter();
    trials.filter(|trial| !matches!(trial.status, Status::Replaced { .. }))
}

/// A busy machine makes numbers doubtful, not invalid: it changes no exit code.
pub(super) fn ending(run: &Run) -> Ending {
    let (finished, failed) = tally(run);
    let not_run = counting(run).count() as u32 - finished - failed;
    let doubtful = counting(run).filter(|trial| trial.is_invalid()).count() as u32;
    if failed == 0 && not_run == 0 && doubtful == 0 {
        Ending::Whole
    } else {
        Ending::Invalid {
            failed,
            not_run,
            doubtful,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_trial_is_not_a_failed_one() {
        let mut run = fixtures::example::run();
        let (finished, failed) = tally(&run);
        assert_eq!(
            (finished, failed),
            (11, 1),
            "the fixture has one failed trial"
        );
        let whole = |status: &&mut Status| matches!(status, Status::Finished);
        let mut statuses = run.trials.iter_mut().map(|trial| &mut trial.status);
        *statuses.find(whole).unwrap() =
            Status::Failed(FailureKind::Interrupted, "stopped by a signal".into());
        assert_eq!(tally(&run), (10, 1));
        let Ending::Invalid {
            failed, not_run, ..
        } = ending(&run)
        else {
            panic!("the fixture has a failed trial");
        };
        assert_eq!((failed, not_run), (1, 1));
    }
}
