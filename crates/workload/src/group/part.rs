//! A rank's part of a phase: what it did and when, by its own clock.

use serde::{Deserialize, Serialize};

use crate::calls::Calls;

/// Moments and amounts of one rank. Moments are its node's CLOCK_MONOTONIC, nanoseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Part {
    /// It could begin: IOR's open begins.
    pub begin: u64,
    /// Its file is open.
    pub opened: u64,
    /// Its transfers begin.
    pub first: u64,
    /// They have ended, with an fsync of its own where that was asked for.
    pub last: u64,
    /// Its close ends: its work is done.
    pub end: u64,
    /// It has left the barrier after its work.
    pub met: u64,
    /// An fsync of what it wrote has ended; 0: there was none.
    pub synced: u64,
    /// A syncfs of its node has ended; 0: it is not its node's.
    pub settled: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Transfers, or items.
    pub operations: u64,
    /// Short transfers that were continued.
    pub short: u64,
    /// CPU seconds of the rank between begin and end, in user mode and in the kernel.
    pub cpu: (f64, f64),
    /// How long its calls took.
    #[serde(with = "crate::calls::packed")]
    pub(crate) calls: Calls,
}
