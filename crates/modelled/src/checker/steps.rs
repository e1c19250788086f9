//! What the threads of a checker did, from its reads in the order in which they were handed out.
//!
//! Each read is a step when it was asked for, and another when its thread waited for it. These are sorted by when they began, and the steps of
//! each thread are kept together for replays. Both need little memory, however long the record is: a part of the steps is sorted in
//! memory and put into a temporary file, and the parts are merged (Knuth 1998, The Art of Computer Programming 3, 5.4).

mod kept;
mod sorted;

use std::collections::BTreeMap;
use std::sync::Arc;

use blockio::layer::{Entries, Entry};
use device::replay::{Action, Builder, Error, ProgramOutline, Step, Steps};

use kept::Keeping;
use sorted::{Sorter, Timed};

/// The steps of a checker by their threads, and what is known of the whole. `phases` are when its passes began, `end` when it ended.
pub(super) fn planned(
    entries: &Entries,
    phases: Vec<u64>,
    end: u64,
) -> Result<(ProgramOutline, Arc<dyn Steps>), Error> {
    planned_in(sorted::IN_MEMORY, entries, phases, end)
}

/// With this number of steps in memory.
fn planned_in(
    most: usize,
    entries: &Entries,
    phases: Vec<u64>,
    end: u64,
) -> Result<(ProgramOutline, Arc<dyn Steps>), Error> {
    let mut sorter = Sorter::holding(most);
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for (number, entry) in entries.iter().enumerate() {
        let entry = entry.map_err(|error| failed(&error))?;
        let number = u32::try_from(number).map_err(|_| Error::TooMany)?;
        for step in steps(number, &entry) {
            *counts.entry(step.step.thread).or_default() += 1;
            sorter.push(step).map_err(|error| failed(&error))?;
        }
    }
    let mut keeping = Keeping::holding(most, counts.values().sum());
    let mut builder = Builder::new(&counts, phases, end)?;
    for step in sorter.finish().map_err(|error| failed(&error))? {
        let step = step.map_err(|error| failed(&error))?;
        builder.add(&step, &mut keeping)?;
    }
    Ok((builder.finish()?, keeping.finish()?))
}

fn failed(error: &std::io::Error) -> Error {
    Error::Kept(format!("a temporary file of steps: {error}"))
}

/// The one or two steps of a read.
fn steps(number: u32, entry: &Entry) -> impl Iterator<Item = Timed> {
    let thread = u32::from(entry.thread);
    let submit = Action::Submit {
        request: number,
        offset: entry.offset,
        len: entry.len,
        is_awaited: entry.is_taken,
    };
    let of = |began, ended, action| Timed {
        step: Step {
            thread,
            began,
            ended,
            action,
        },
        submitted: entry.submitted,
        number,
    };
    let submit = of(entry.submitted, entry.submitted, submit);
    let wait = of(entry.called, entry.delivered, Action::Wait(number));
    [Some(submit), entry.is_taken.then_some(wait)]
        .into_iter()
        .flatten()
}

/// An action as it is in a file.
#[derive(Clone, Copy)]
struct InFile {
    request: u32,
    offset: u64,
    len: u32,
    /// 0 and 1: a read, and whether it is awaited; 2: a wait.
    kind: u32,
}

impl From<Action> for InFile {
    fn from(action: Action) -> InFile {
        match action {
            Action::Submit {
                request,
                offset,
                len,
                is_awaited,
            } => InFile {
                request,
                offset,
                len,
                kind: is_awaited.into(),
            },
            Action::Wait(request) => InFile {
                request,
                offset: 0,
                len: 0,
                kind: 2,
            },
        }
    }
}

impl From<InFile> for Action {
    fn from(file: InFile) -> Action {
        match file.kind {
            2 => Action::Wait(file.request),
            awaited => Action::Submit {
                request: file.request,
                offset: file.offset,
                len: file.len,
                is_awaited: awaited == 1,
            },
        }
    }
}

#[cfg(test)]
mod tests;
