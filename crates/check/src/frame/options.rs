//! What the caller of any checker decides. Options of one format are in its folder.

use std::time::{SystemTime, UNIX_EPOCH};

use blockio::Sweep;

use super::log::DEFAULT_KEPT;

/// Options that every checker has.
#[derive(Clone, Debug)]
pub struct Options {
    /// Threads of the passes that run in parallel; at least 1.
    pub threads: usize,
    /// Whether there are fewer threads where there is less to read than a request for each of them.
    pub spare_threads: bool,
    /// How to read. The checker sets `block` and `threads`.
    pub sweep: Sweep,
    /// Whether requests shrink where there is little to read.
    pub scale: bool,
    /// How many times as large the filesystem is of which this one is a sample: buffers are chosen for that one.
    pub times_as_large: f64,
    /// Memory limit for maps, lists and buffers, bytes; none: no limit. Counted is what the process allocates from the start of the
    /// check, so two checks in one process, or a caller that allocates meanwhile, count against each other.
    pub memory: Option<u64>,
    /// Findings kept per problem; all are counted.
    pub keep: usize,
    /// The current time, seconds since 1970: timestamps in the future are judged by it.
    pub now: i64,
    /// Whether findings about inodes carry a path. Costs one more sweep over the directories if there are such findings.
    pub paths: bool,
}

impl Default for Options {
    /// One thread per processor, requests of 1 MiB, no memory limit, now.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut options = Options {
            threads,
            spare_threads: false,
            sweep: Sweep::default(),
            scale: true,
            times_as_large: 1.0,
            memory: None,
            keep: DEFAULT_KEPT,
            now: now.map_or(0, |since| {
                i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
            }),
            paths: true,
        };
        options.set_threads(threads);
        options
    }
}

impl Options {
    /// Sets the number of threads, and the queue depth that goes with it.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
        self.sweep.depth = 4 * threads.max(2);
    }

    /// An amount of the whole, by that of the sample.
    pub(crate) fn of_the_whole(&self, of_sample: u64) -> u64 {
        (of_sample as f64 * self.times_as_large) as u64
    }
}
