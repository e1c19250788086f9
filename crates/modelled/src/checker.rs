//! A checker's own record as a program: its threads, their reads, and its passes.
//!
//! The record is made where the check runs, and replayed when it is over: by `fslab check --device`, by a run that estimates its checks
//! (`estimate`), or from a file that `fslab check --record` wrote (`file`).

mod file;

use blockio::layer::Entry;
use device::Request;
use device::replay::{Action, Program, Step};

use crate::job::Job;

/// A pass of a check, by the clock of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Its name.
    pub name: String,
    /// When it began, ns.
    pub began: u64,
}

/// What a checker read, and when. Times are nanoseconds since the record began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// As they were handed out.
    pub entries: Vec<Entry>,
    /// In order.
    pub passes: Vec<Pass>,
    /// When the check ended.
    pub end: u64,
}

impl Record {
    /// Takes out the times in which the checker stood still for its caller, which read counters between two passes: from and to,
    /// in order, without overlaps. What happened in one happened when it began.
    #[must_use]
    pub fn without(mut self, pauses: &[(u64, u64)]) -> Record {
        let moved = |time: u64| {
            let before = pauses.iter().take_while(|(from, _)| *from < time);
            let lost: u64 = before
                .map(|(from, to)| time.min(*to).saturating_sub(*from))
                .sum();
            time - lost
        };
        for entry in &mut self.entries {
            entry.submitted = moved(entry.submitted);
            entry.called = moved(entry.called);
            entry.delivered = moved(entry.delivered);
        }
        for pass in &mut self.passes {
            pass.began = moved(pass.began);
        }
        self.end = moved(self.end);
        self
    }

    /// The job of the check. What came before the first pass (the superblock) belongs to it. `cpu` is the factor of processor times.
    pub fn job(mut self, cpu: f64) -> Job {
        self.entries.sort_by_key(|entry| entry.submitted);
        match self.passes.first_mut() {
            Some(first) => first.began = 0,
            None => self.passes.push(Pass {
                name: "check".into(),
                began: 0,
            }),
        }
        let entries = self.entries.iter().enumerate();
        let requests: Vec<Request> = entries
            .map(|(index, entry)| Request::read(index as u64, entry.offset, entry.len.into()))
            .collect();
        let steps = steps(&self.entries);
        let begins: Vec<u64> = self.passes.iter().map(|pass| pass.began).collect();
        let ends = begins.iter().skip(1).copied().chain([self.end]);
        let phases = self
            .passes
            .iter()
            .zip(ends)
            .map(|(pass, to)| (pass.name.clone(), to.saturating_sub(pass.began)))
            .collect();
        Job::Program {
            program: Program::new(requests, steps, begins, self.end),
            phases,
            cpu,
        }
    }
}

/// What the threads did, in the order in which it began. `entries` are in the order of submission.
fn steps(entries: &[Entry]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::with_capacity(2 * entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let thread = u32::from(entry.thread);
        steps.push(Step {
            thread,
            began: entry.submitted,
            ended: entry.submitted,
            action: Action::Submit(index as u32),
        });
        if entry.is_taken {
            steps.push(Step {
                thread,
                began: entry.called,
                ended: entry.delivered,
                action: Action::Wait(index as u32),
            });
        }
    }
    // A thread that asks for all and then waits has one time for several steps: waits end in the order of delivery.
    steps.sort_by_key(|step| (step.began, step.ended));
    steps
}

#[cfg(test)]
mod tests;
