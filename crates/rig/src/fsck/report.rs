//! The result of a check: types only, all of them plain values that serialise.

use serde::{Deserialize, Serialize};
use workload::PhaseReport;

/// One check, from start to end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The command line as it ran, the program with its whole path.
    pub argv: Vec<String>,
    /// The first line that the program prints of itself; empty when it does not.
    pub version: String,
    /// `check` (the whole) first, then `check_pass_1` and so on, in the order they began.
    pub phases: Vec<PhaseReport>,
    /// When each of them ran. A pass that ran twice (e2fsck may begin again) has two spans and one
    /// phase, which is their sum.
    pub spans: Vec<Span>,
    /// How the program ended.
    pub exit: Exit,
    /// What that means for the filesystem.
    pub verdict: Verdict,
    /// The same in words: `exit code 4: errors left uncorrected`.
    pub explanation: String,
    /// What it printed on stdout and stderr, in the order of arrival. Above 1 MiB the middle is
    /// cut, and a line says how much.
    pub output: String,
    /// What the kernel says it used.
    pub usage: Usage,
    /// What it counted.
    pub inventory: Inventory,
}

/// When something ran, on CLOCK_MONOTONIC ([`workload::clock`]), nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// `check` or `check_pass_3`.
    pub name: String,
    /// Its begin.
    pub begin_ns: u64,
    /// Its end.
    pub end_ns: u64,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It went through all and found nothing.
    Clean,
    /// It found errors: they are in the output.
    Errors,
    /// It could not do its work: wrong arguments, an unreadable device, no memory.
    Operational,
    /// It died of this signal, caught by itself or not.
    Crashed(i32),
    /// It was ended because its time was up.
    TimedOut,
}

/// What a check used, by wait4(2): the leader and the children it waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Wall seconds from just before the start to the end.
    pub elapsed: f64,
    /// CPU seconds in user mode.
    pub user: f64,
    /// CPU seconds in the kernel.
    pub system: f64,
    /// Largest resident memory, KiB. ru_maxrss, unless that is the memory of the process that
    /// forked, which the kernel counts as the child's: then VmHWM as sampled.
    pub max_rss: u64,
    /// Blocks of 512 bytes read from devices (ru_inblock).
    pub inputs: u64,
    /// Blocks of 512 bytes written to devices (ru_oublock).
    pub outputs: u64,
    /// Page faults that read from a device (ru_majflt).
    pub major_faults: u64,
    /// Page faults that did not (ru_minflt).
    pub minor_faults: u64,
    /// Context switches because it waited (ru_nvcsw).
    pub voluntary_switches: u64,
    /// Context switches because its turn was over (ru_nivcsw).
    pub involuntary_switches: u64,
}

/// What a checker says there is: e2fsck in its last line but two, fsck.ocfs2 its blocks and inodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// Inodes in use, the reserved ones included.
    pub files_used: Option<u64>,
    /// Inodes there are.
    pub files_total: Option<u64>,
    /// Blocks in use.
    pub blocks_used: Option<u64>,
    /// Blocks there are.
    pub blocks_total: Option<u64>,
    /// Percent of files whose blocks are not in one run.
    pub non_contiguous: Option<f64>,
}
