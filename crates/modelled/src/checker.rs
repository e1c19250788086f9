//! A checker's own record as a program: its threads, their reads, and its passes.
//!
//! The record is made where the check runs, and replayed when it is over: by `fslab check --device`, by a run that estimates its checks
//! (`estimate`), or from a file that `fslab check --record` wrote (`file`).

mod file;
mod steps;

use std::io;

use blockio::layer::Entries;
use device::replay::Program;

use crate::error::Error;
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
#[derive(Debug)]
pub struct Record {
    /// As they were handed out.
    pub entries: Entries,
    /// In order.
    pub passes: Vec<Pass>,
    /// When the check ended.
    pub end: u64,
}

impl Record {
    /// Takes out the times in which the checker stood still for its caller, which read counters between two passes: from and to,
    /// in order, without overlaps. What happened in one happened when it began.
    ///
    /// # Errors
    /// The temporary file of a long record cannot be read or written.
    pub fn without(mut self, pauses: &[(u64, u64)]) -> io::Result<Record> {
        let moved = |time: u64| {
            let before = pauses.iter().take_while(|(from, _)| *from < time);
            let lost: u64 = before
                .map(|(from, to)| time.min(*to).saturating_sub(*from))
                .sum();
            time - lost
        };
        self.entries = self.entries.map(|mut entry| {
            entry.submitted = moved(entry.submitted);
            entry.called = moved(entry.called);
            entry.delivered = moved(entry.delivered);
            entry
        })?;
        for pass in &mut self.passes {
            pass.began = moved(pass.began);
        }
        self.end = moved(self.end);
        Ok(self)
    }

    /// The job of the check. What came before the first pass (the superblock) belongs to it. `cpu` is the factor of processor times.
    ///
    /// # Errors
    /// It has more reads than numbers, or there is no room for temporary files.
    pub fn job(mut self, cpu: f64) -> Result<Job, Error> {
        match self.passes.first_mut() {
            Some(first) => first.began = 0,
            None => self.passes.push(Pass {
                name: "check".into(),
                began: 0,
            }),
        }
        let begins: Vec<u64> = self.passes.iter().map(|pass| pass.began).collect();
        let ends = begins.iter().skip(1).copied().chain([self.end]);
        let phases = self
            .passes
            .iter()
            .zip(ends)
            .map(|(pass, to)| (pass.name.clone(), to.saturating_sub(pass.began)))
            .collect();
        let (outline, steps) = steps::planned(&self.entries, begins, self.end)
            .map_err(|error| Error::Record(error.to_string()))?;
        Ok(Job::Program {
            program: Program::new(outline, steps),
            phases,
            cpu,
        })
    }
}

#[cfg(test)]
mod tests;
