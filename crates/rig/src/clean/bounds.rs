//! Limits and control groups that a killed run left.
//!
//! A limit belongs to a device number, and a loop device's number is given away again. So a limit is
//! taken back only where it still is as the run had set it, and not where another run that lives has
//! written down that it limits the same device.

use std::path::Path;
use std::time::Duration;

use super::Undone;
use crate::Error;
use crate::cgroup;
use crate::host::Host;
use crate::limits::throttle;
use crate::undo::{Setting, Step};

const LIMIT: &str = "device limit";
const GROUP: &str = "control group";

/// A limit of the run that is still in force.
struct Left<'a> {
    device: &'a Path,
    number: &'a str,
    settings: &'a [Setting],
}

fn left<'a>(run: &Path, known: &'a [(u64, Step)]) -> Vec<Left<'a>> {
    let loops = Host::default().loops();
    let taken = |node: &Path| {
        loops
            .iter()
            .filter(|lo| lo.node() == node && !lo.backing.starts_with(run))
            .any(|lo| throttle::belongs_to_another_run(node, &lo.backing, run))
    };
    known
        .iter()
        .filter_map(|(_, step)| match step {
            Step::Limit {
                device,
                device_number,
                settings,
            } => Some(Left {
                device,
                number: device_number,
                settings,
            }),
            _ => None,
        })
        .filter(|left| throttle::still_set(left.number, left.settings) && !taken(left.device))
        .collect()
}

/// Limits that would be taken back.
pub(super) fn limits(run: &Path, known: &[(u64, Step)]) -> Vec<Undone> {
    let left = left(run, known).into_iter();
    left.map(|limit| Undone {
        what: LIMIT,
        thing: limit.device.into(),
    })
    .collect()
}

pub(super) fn undo_limits(
    run: &Path,
    known: &[(u64, Step)],
    undone: &mut Vec<Undone>,
) -> Option<Error> {
    let mut failure = None;
    for limit in left(run, known) {
        match throttle::take_back(limit.number, limit.settings) {
            Ok(0) => {}
            Ok(_) => undone.push(Undone {
                what: LIMIT,
                thing: limit.device.into(),
            }),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure
}

/// Groups that are still there.
pub(super) fn groups(known: &[(u64, Step)]) -> Vec<Undone> {
    let folders = known.iter().filter_map(|(_, step)| match step {
        Step::Group { folder } if folder.is_dir() => Some(folder.clone()),
        _ => None,
    });
    folders.map(|thing| Undone { what: GROUP, thing }).collect()
}

pub(super) fn undo_groups(known: &[(u64, Step)], undone: &mut Vec<Undone>) -> Option<Error> {
    let mut failure = None;
    for group in groups(known) {
        match cgroup::remove(&group.thing, Duration::from_secs(1)) {
            Ok(()) => undone.push(group),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure
}
