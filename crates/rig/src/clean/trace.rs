//! Block tracing that a killed run left switched on.
//!
//! There is one tracer for the whole machine. Whoever wants to trace finds it taken while a killed
//! run's is on, so what is on when the journal's owner is dead is that run's.

use super::Undone;
use crate::Error;
use crate::undo::Step;

const TRACE: &str = "block trace";

/// Traces that are still on, by the devices' folders in sysfs.
pub(super) fn traces(known: &[(u64, Step)]) -> Vec<Undone> {
    let on = known.iter().filter_map(|(_, step)| match step {
        Step::Trace { changes } if changes.in_force() => Some(changes.devices()),
        _ => None,
    });
    on.flatten()
        .map(|device| Undone {
            what: TRACE,
            thing: device.clone(),
        })
        .collect()
}

pub(super) fn undo(known: &[(u64, Step)], undone: &mut Vec<Undone>) -> Option<Error> {
    let mut failure = None;
    for (_, step) in known {
        let Step::Trace { changes } = step else {
            continue;
        };
        match changes.take_back() {
            Ok(false) => {}
            Ok(true) => undone.extend(changes.devices().iter().map(|device| Undone {
                what: TRACE,
                thing: device.clone(),
            })),
            Err(error) => {
                failure = failure.or(Some(Error::NotUndone {
                    thing: TRACE.into(),
                    why: error.to_string(),
                    next: "run `fslab clean` as root".into(),
                }));
            }
        }
    }
    failure
}
