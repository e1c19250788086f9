//! How long a guest may run, and how long it may be silent.

use std::time::Duration;

use guest::machine::Limits;
use study::{Plan, Slot};

/// How long KVM has to show that it works.
pub(super) const KVM_PROOF: Duration = Duration::from_secs(10);
/// A guest's limit: a base, plus a multiple of its trial's estimate on a host's disk.
pub(super) const LEAST_LIMIT: Duration = Duration::from_secs(600);
const SLOWER: f64 = 60.0;
/// Seconds without a heartbeat after which a guest counts as hung, for machines that are slower than any
/// that were thought of. What the guest waits for a processor is not counted.
const SILENCE: &str = "FSLAB_GUEST_SILENCE";

/// The limits, with the user's own word for what silence is.
pub(super) fn patient(limits: Limits) -> Limits {
    let asked = std::env::var(SILENCE).ok();
    let seconds = asked.and_then(|text| text.parse().ok()).filter(|n| *n > 0);
    match seconds.map(Duration::from_secs) {
        Some(silence) => Limits {
            first_line: silence.max(KVM_PROOF),
            silence,
            ..limits
        },
        None => limits,
    }
}

/// How long a guest may live, by the cell of its trial.
pub(super) fn limits(plan: &Plan) -> Vec<Duration> {
    let of_cell = |(index, cell): (usize, &study::Cell)| {
        let slot = plan.slots.iter().find(|slot| slot.cell as usize == index);
        let one = Plan {
            cells: vec![cell.clone()],
            slots: slot
                .map(|slot| Slot { cell: 0, ..*slot })
                .into_iter()
                .collect(),
            reference_seconds: 0.0,
            ..plan.clone()
        };
        let seconds = study::estimate::estimate(&one, study::estimate::Rates::default()).seconds;
        let more = Duration::try_from_secs_f64(seconds * SLOWER).unwrap_or(Duration::MAX);
        LEAST_LIMIT.saturating_add(more)
    };
    plan.cells.iter().enumerate().map(of_cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_has_a_limit_of_its_own() {
        let study = study::Study::load("journal").unwrap();
        let plan = study::plan(&study, &study::Overrides::default()).unwrap();
        let all = limits(&plan);
        assert_eq!(all.len(), plan.cells.len());
        let whole = study::estimate::estimate(&plan, study::estimate::Rates::default()).seconds;
        let trials = plan.slots.len() as f64;
        assert!(all.iter().all(|limit| *limit > LEAST_LIMIT));
        // Sixty times the mean trial is what all of them together come to.
        let per_trial: f64 = plan
            .slots
            .iter()
            .map(|slot| {
                all[slot.cell as usize]
                    .saturating_sub(LEAST_LIMIT)
                    .as_secs_f64()
                    / SLOWER
            })
            .sum();
        assert!(
            per_trial <= whole && per_trial > whole / 2.0,
            "{per_trial} of {whole} in {trials}"
        );
    }
}
