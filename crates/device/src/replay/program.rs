//! Replay of a program whose threads are known exactly: which of them sent each request, which completion each of them
//! waited for, and its processor time between.
//!
//! A block trace shows submissions and completions, and what depends on what is a guess. A program that records its own reads
//! knows more. A thread computes, submits, and waits in an order that no device changes; a thread that is late because it
//! computes is late for all its requests. So the steps of a thread are replayed in their order, each after the processor time that
//! it took, and a wait ends when its request is done. Kept as recorded: which thread takes which piece of work.
//!
//! A record may be larger than memory. A [`Builder`] sees its steps once, in the order in which they began, and puts each where its
//! caller keeps it ([`KeepSteps`]), thread after thread. A replay has a few steps of each thread in hand ([`Steps`]), and the requests
//! in flight.

mod build;
mod run;

use std::sync::Arc;

use rustc_hash::FxHashMap;

pub use build::Builder;

use super::engine::{Each, Error};
use super::estimate::Structural;
use super::response::Responses;
use crate::model::{Model, Nanoseconds, Usage};

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sent a read.
    Submit {
        /// Its number, which no other has.
        request: u32,
        /// First byte.
        offset: u64,
        /// Length in bytes.
        len: u32,
        /// Whether the thread waits for it later.
        is_awaited: bool,
    },
    /// Waited until the read of this number was done.
    Wait(u32),
}

/// A step of a thread, as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Who.
    pub thread: u32,
    /// When it began: the submission, or the call that waited.
    pub began: Nanoseconds,
    /// When it had ended: equal to `began` for a submission.
    pub ended: Nanoseconds,
    /// What.
    pub action: Action,
}

/// A step as it is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Its number in the order in which steps began.
    pub order: u32,
    /// The phase in which it began.
    pub phase: u16,
    /// The processor time since the last of the steps that it follows.
    pub gap: Nanoseconds,
    /// What.
    pub action: Action,
}

/// Keeps planned steps by their places, which are those of their threads one after the other.
pub trait KeepSteps {
    /// Keeps the step of a place. Those of a thread come in order.
    ///
    /// # Errors
    /// There is no room for it.
    fn put(&mut self, place: u32, step: Planned) -> Result<(), Error>;
}

/// Gives planned steps by their places; several replays may ask at once.
pub trait Steps: Send + Sync + std::fmt::Debug {
    /// Appends the steps of some places, from one of them on: at least one.
    ///
    /// # Errors
    /// They cannot be read, or there is none at the first place.
    fn read(&self, from: u32, most: u32, steps: &mut Vec<Planned>) -> Result<(), Error>;
}

/// In memory.
impl Steps for Vec<Planned> {
    fn read(&self, from: u32, most: u32, steps: &mut Vec<Planned>) -> Result<(), Error> {
        let rest = self.get(from as usize..).unwrap_or_default();
        let part = &rest[..rest.len().min(most as usize)];
        if part.is_empty() {
            return Err(Error::NoSuch(from));
        }
        steps.extend_from_slice(part);
        Ok(())
    }
}

/// A place for each step of a record that fits into memory.
#[derive(Debug, Default)]
pub struct InMemory(Vec<Option<Planned>>);

impl InMemory {
    /// All of them.
    pub fn steps(self) -> Vec<Planned> {
        self.0.into_iter().flatten().collect()
    }
}

impl KeepSteps for InMemory {
    fn put(&mut self, place: u32, step: Planned) -> Result<(), Error> {
        let place = place as usize;
        if place >= self.0.len() {
            self.0.resize(place + 1, None);
        }
        self.0[place] = Some(step);
        Ok(())
    }
}

/// What threads did, in phases one after the other, of which each begins when all of the one before it is done.
#[derive(Clone, Debug)]
pub struct Program {
    steps: Arc<dyn Steps>,
    outline: Arc<Outline>,
}

/// What is known of a program besides its steps.
#[derive(Debug)]
pub struct Outline {
    /// When each phase began; ascending. The first begins at 0.
    phases: Vec<Nanoseconds>,
    /// When the program ended.
    end: Nanoseconds,
    /// When the last step of each phase had ended.
    ended: Vec<Nanoseconds>,
    /// The places of each thread's steps.
    threads: Vec<std::ops::Range<u32>>,
    /// By the place of a step: those of other threads that follow it.
    followers: FxHashMap<u32, Vec<u32>>,
    /// By the place of a step: how many steps of other threads it follows.
    follows: FxHashMap<u32, u32>,
    /// First steps of phases: its place, and how many steps began before it, all of which must have ended.
    barriers: Vec<(u32, u32)>,
    /// The request that ends last: its number in the order of submission, and the byte after its last.
    furthest: (usize, u64),
    structural: Structural,
}

/// A request of a program that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The phase in which it was sent.
    pub phase: usize,
    /// Its bytes.
    pub len: u64,
}

/// A replayed program. All times are modelled.
#[derive(Clone, Debug)]
pub struct Ran {
    /// When each phase ended, ns since the start.
    pub ends: Vec<Nanoseconds>,
    /// Response times of all requests.
    pub responses: Responses,
    /// Time in which no request was in flight, ns.
    pub idle: Nanoseconds,
    /// What each part of the device did.
    pub usage: Vec<Usage>,
    /// Most requests that were held at once: in flight, or done and not yet waited for.
    pub most_held: usize,
    /// The sums at the end of each phase.
    pub marks: Vec<Mark>,
}

/// Sums since the start, when a phase had ended.
#[derive(Clone, Debug, Default)]
pub struct Mark {
    /// Time in which no request was in flight, ns.
    pub idle: Nanoseconds,
    /// What each part of the device had done; the same parts in the same order at each mark.
    pub usage: Vec<Usage>,
}

impl Program {
    /// From what a [`Builder`] found, and the steps that it put.
    pub fn new(outline: Outline, steps: Arc<dyn Steps>) -> Program {
        Program {
            steps,
            outline: Arc::new(outline),
        }
    }

    /// How the errors of its results are correlated.
    pub fn structural(&self) -> Structural {
        self.outline.structural
    }

    /// Runs it on a model, with processor times multiplied by `cpu`.
    ///
    /// # Errors
    /// A request is beyond the end of the device, or steps cannot be read.
    pub fn run(
        &self,
        model: &mut dyn Model,
        cpu: f64,
        each: &mut Each<'_, Sent>,
    ) -> Result<Ran, Error> {
        let (capacity, (index, end)) = (model.capacity(), self.outline.furthest);
        if end > capacity {
            return Err(Error::DoesNotFit {
                index,
                end,
                capacity,
            });
        }
        run::run(self, model, cpu, each)
    }
}

fn scaled(gap: Nanoseconds, cpu: f64) -> Nanoseconds {
    (gap as f64 * cpu) as Nanoseconds
}

#[cfg(test)]
mod tests;
