//! What a workload reports of each of its phases: one shape for all of them.
//!
//! There are three rates because the originals disagree about what is inside the clock:
//! (a) as the original tool computes it, (b) to the end of an fsync of every file, (c) to the end
//! of `syncfs`. Preparation never shares the clock.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::calls::Times;
use crate::mix::JobStats;

/// One figure under the three clocks. `None`: the clock does not exist for this figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clocks {
    /// (a) as the original computes it.
    pub original: Option<f64>,
    /// (b) to the end of an fsync of every file.
    pub fsync: Option<f64>,
    /// (c) to the end of syncfs.
    pub syncfs: Option<f64>,
}

/// What one thread (iozone: child) did in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadReport {
    /// 0-based number of the thread.
    pub thread: u32,
    /// Bytes inside its clock (a).
    pub bytes: u64,
    /// Bytes it transferred in the whole phase, counted or not.
    pub bytes_transferred: u64,
    /// Operations inside its clock (a).
    pub operations: u64,
    /// Its clock (a), seconds.
    pub seconds: f64,
    /// `bytes / seconds`.
    pub bytes_per_s: f64,
}

/// How long the operations of one kind took in a phase. Times are seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyReport {
    /// The system call: `read`, `write`, `fsync`, `open`, `close`, `stat`, `unlink`, `mkdir`, `rmdir`.
    pub operation: String,
    /// Number of calls of all threads.
    pub count: u64,
    /// The shortest.
    pub min: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median, nearest rank, within 0.2 %.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// The longest.
    pub max: f64,
    /// Counts of ranges of a quarter of a power of two, ascending; empty ranges are left out.
    pub histogram: Vec<Bucket>,
    /// The times themselves, for adding those of several ranks. Not kept in files.
    #[serde(skip)]
    pub times: Recorded,
}

/// The times that a [`LatencyReport`] was made of; none where it was read from a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded(pub(crate) Option<Box<Times>>);

/// A range of times, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    /// Its least time.
    pub from: f64,
    /// The time at which the next range begins.
    pub to: f64,
    /// Number of calls in it.
    pub count: u64,
}

/// One timed part of a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseReport {
    /// The spec's name in snake case: `initial_write`, `read_compiled_tree`.
    pub name: String,
    /// Bytes the phase asked for.
    pub bytes_asked: u64,
    /// Bytes inside clock (a).
    pub bytes: u64,
    /// Bytes transferred, inside the clock or not; 0 with an engine that moves nothing (`null`),
    /// whose other bytes are those it was asked for.
    pub bytes_transferred: u64,
    /// Operations inside clock (a): records, files or runs, as the workload documents.
    pub operations: u64,
    /// Short transfers that were continued.
    pub short_operations: u64,
    /// Wall seconds of clock (a).
    pub seconds: f64,
    /// Wall seconds under each clock.
    pub clock_seconds: Clocks,
    /// CPU seconds in user mode, all threads, from the phase's begin to its end.
    pub user_seconds: f64,
    /// CPU seconds in the kernel, all threads, from the phase's begin to its end.
    pub system_seconds: f64,
    /// Bytes a second under each clock.
    pub bytes_per_s: Clocks,
    /// Files a second under each clock, where files are what is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_per_s: Option<Clocks>,
    /// The original's own figures by name, with their units in the names' documentation
    /// (`children`, `parent`, `min`, `max`, `avg` bytes/s, `min_xfer` bytes; `runs`, ...).
    pub figures: BTreeMap<String, f64>,
    /// Per-thread detail.
    pub threads: Vec<ThreadReport>,
    /// Per-operation detail where the original averages over operations (compilebench's runs).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunReport>,
    /// How long the operations took, by kind; empty where that was not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency: Vec<LatencyReport>,
    /// Evidence gathered inside the workload: what was requested and what was observed.
    pub evidence: Vec<Evidence>,
    /// Of a job of `mix`: its threads' own figures, from which [`crate::mix::fio_json`] prints fio's
    /// JSON. Not kept in files.
    #[serde(skip)]
    pub job: Option<Box<JobStats>>,
}

/// One operation on one tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// 1-based number in the sequence; 0 for operations before it.
    pub number: u32,
    /// Tree name (`kernel-5`).
    pub target: String,
    /// State before and after (`unpatched -> patched`), and notes (`unlink first`).
    pub note: String,
    /// Bytes counted as the original counts them.
    pub bytes: u64,
    /// Files touched.
    pub files: u64,
    /// Wall seconds.
    pub seconds: f64,
    /// CPU seconds of the working thread in user mode.
    pub user_seconds: f64,
    /// CPU seconds of the working thread in the kernel.
    pub system_seconds: f64,
    /// Figures of its own, named as those of a phase (fill: `files_per_s`, `app_overhead`, ...).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
}

/// What shows that a number is valid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Short name: `direct_io_honoured`, `cold_cache`, `file_state`.
    pub name: String,
    /// Whether it holds; `None` when it could not be checked.
    pub holds: Option<bool>,
    /// What was observed, or why it could not be checked.
    pub detail: String,
}

/// The whole result of a workload: `fslab bench --format json` prints it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The workload's name: `throughput`, `tree`.
    pub workload: String,
    /// Its parameters as used, after defaults and rounding.
    pub parameters: serde_json::Value,
    /// In running order.
    pub phases: Vec<PhaseReport>,
    /// What limits the result (a size rounded down, caches not dropped, buffered and RAM-bound).
    pub warnings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left out when it is empty is empty when it is read back.
    #[test]
    fn a_report_is_read_back_as_it_was_written() {
        let report = PhaseReport {
            name: "check_pass_1".into(),
            operations: 1,
            ..PhaseReport::default()
        };
        let text = serde_json::to_string(&report).unwrap();
        assert!(
            !text.contains("runs") && !text.contains("latency"),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<PhaseReport>(&text).unwrap(), report);
    }
}
