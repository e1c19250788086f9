//! Ranks that work together: one trait for threads of this process and for processes of MPI.
//!
//! A workload of ranks ([`crate::shared`], [`crate::metadata`]) is one function that each rank runs. What it needs of the others is
//! here: a barrier, a few bytes to and from rank 0, and a message to one other rank, by which clocks are compared. It has few
//! methods, because each of them has to exist in every MPI library. All are collective unless they name a rank: every rank
//! calls them in the same order.
//!
//! Nothing is reduced in a library. Each rank sends its own times, and rank 0 computes every figure from all of them, so the
//! formulas are here once, in [`merge`], and threads and processes cannot differ.

pub mod clocks;
pub mod each;
pub mod merge;
pub mod part;
pub mod points;
pub(crate) mod run;
pub mod threads;

use std::sync::atomic::{AtomicU64, Ordering};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Error;

pub use clocks::{Comparison, Offsets};
pub use part::Part;
pub use run::{Gathered, Setting};
pub use threads::run as run_as_threads;

/// Where a rank runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Host name of its node.
    pub node: String,
    /// Identity of the kernel's boot: ranks with the same one share a page cache, whatever their nodes are called.
    pub boot: String,
    /// Identity of its time namespace, which can shift the kernel's clocks; empty: the kernel has none.
    #[serde(default)]
    pub time: String,
    /// Processors that it may use, by number.
    pub cpus: Vec<u32>,
    /// Its process.
    pub pid: u32,
}

impl Place {
    /// Identity of the clock that it reads.
    pub fn clock(&self) -> String {
        if self.time.is_empty() {
            return self.boot.clone();
        }
        format!("{} {}", self.boot, self.time)
    }
}

/// What a rank is about to do: for those that watch over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It works.
    Works,
    /// It is done and waits for the others.
    Waits,
}

/// All ranks, as one of them sees them.
pub trait Group: Sync {
    /// Its number, from 0.
    fn rank(&self) -> u32;

    /// Where each rank runs, by number.
    fn places(&self) -> &[Place];

    /// Whether the ranks are processes, each with the processors that its launcher gave it.
    fn is_of_processes(&self) -> bool;

    /// Its clock: CLOCK_MONOTONIC as it sees it, nanoseconds.
    fn now_ns(&self) -> u64 {
        crate::clock::now_ns()
    }

    /// Waits until all ranks are here.
    ///
    /// # Errors
    /// Another rank has failed.
    fn barrier(&self) -> Result<(), Error>;

    /// What rank 0 has, at every rank.
    ///
    /// # Errors
    /// Another rank has failed.
    fn broadcast(&self, mine: Vec<u8>) -> Result<Vec<u8>, Error>;

    /// At rank 0 what every rank has, by number; elsewhere nothing.
    ///
    /// # Errors
    /// Another rank has failed.
    fn gather(&self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>, Error>;

    /// A number of each rank, at every rank.
    ///
    /// # Errors
    /// Another rank has failed.
    fn all(&self, mine: u64) -> Result<Vec<u64>, Error>;

    /// A number for one other rank, which calls [`Group::receive`].
    ///
    /// # Errors
    /// Another rank has failed.
    fn send(&self, to: u32, value: u64) -> Result<(), Error>;

    /// The number that a rank has sent.
    ///
    /// # Errors
    /// Another rank has failed.
    fn receive(&self, from: u32) -> Result<u64, Error>;

    /// Amount of work that this rank has done: others read it while it works.
    fn done(&self) -> &AtomicU64;

    /// A phase reaches a stage. Not called inside a clock.
    fn at(&self, _phase: &str, _stage: Stage) {}
}

/// Number of different nodes.
pub(crate) fn nodes(places: &[Place]) -> usize {
    let mut nodes: Vec<&str> = places.iter().map(|place| place.node.as_str()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.len()
}

/// Number of ranks.
pub fn size(group: &dyn Group) -> u32 {
    group.places().len() as u32
}

/// Adds to what a rank has done. It is its own counter, so no other thread writes to it.
#[inline]
pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    let before = counter.load(Ordering::Relaxed);
    counter.store(before + amount, Ordering::Relaxed);
}

/// The first rank of each boot of a kernel: it does what is done once for each page cache.
pub fn is_first_of_kernel(group: &dyn Group) -> bool {
    let places = group.places();
    let mine = places.get(group.rank() as usize);
    let first = places
        .iter()
        .position(|place| Some(&place.boot) == mine.map(|mine| &mine.boot));
    first == Some(group.rank() as usize)
}

/// What rank 0 has, at every rank, as a value.
pub(crate) fn broadcast_value<T>(group: &dyn Group, mine: Option<&T>) -> Result<T, Error>
where
    T: Serialize + DeserializeOwned,
{
    let bytes = match mine {
        Some(value) => serde_json::to_vec(value).map_err(|error| unreadable(&error))?,
        None => Vec::new(),
    };
    let bytes = group.broadcast(bytes)?;
    serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))
}

/// At rank 0 the values of all ranks; elsewhere none.
pub(crate) fn gather_values<T>(group: &dyn Group, mine: &T) -> Result<Vec<T>, Error>
where
    T: Serialize + DeserializeOwned,
{
    let bytes = serde_json::to_vec(mine).map_err(|error| unreadable(&error))?;
    let all = group.gather(bytes)?;
    all.iter()
        .map(|bytes| serde_json::from_slice(bytes).map_err(|error| unreadable(&error)))
        .collect()
}

fn unreadable(error: &serde_json::Error) -> Error {
    Error::Defect {
        phase: "gather".into(),
        what: "a message between ranks".into(),
        reason: error.to_string(),
    }
}
