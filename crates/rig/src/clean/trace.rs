//! Block tracing that a killed run left switched on.
//!
//! There is one tracer for the whole machine. Another program that wants to trace finds it taken while a killed
//! run's is on, so what is on when the journal's owner is dead is that run's.

use super::{Cleaning, Undone};
use crate::Error;
use crate::undo::Task;

const TRACE: &str = "block trace";

/// Traces that are still on, by the devices' folders in sysfs.
pub(super) fn traces(known: &[(u64, Task)]) -> Vec<Undone> {
    let on = known.iter().filter_map(|(_, task)| match task {
        Task::Trace(changes) if changes.in_force() => Some(changes.devices()),
        _ => None,
    });
    on.flatten()
        .map(|device| Undone {
            what: TRACE,
            thing: device.clone(),
        })
        .collect()
}

pub(super) fn undo(known: &[(u64, Task)], cleaning: &mut Cleaning) {
    for (_, task) in known {
        let Task::Trace(changes) = task else {
            continue;
        };
        match changes.take_back() {
            Ok(false) => {}
            Ok(true) => cleaning
                .undone
                .extend(changes.devices().iter().map(|device| Undone {
                    what: TRACE,
                    thing: device.clone(),
                })),
            Err(error) => {
                cleaning.failed.push(Error::NotUndone {
                    thing: TRACE.into(),
                    why: error.to_string(),
                    next: "run `fslab clean` as root".into(),
                });
            }
        }
    }
}
