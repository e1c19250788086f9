//! The events of a run: the append-only truth from which everything else is derived.
//!
//! One event is one line of `events.jsonl`: an [`Entry`] with a sequence number, the time and the
//! event itself. Each line is written with one `write` and flushed, so after a kill -9 at most the
//! last line is torn, and a reader drops exactly that line.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use study::{Clock, Measured, Plan, Slot};

use crate::crash::Crash;
use crate::estimate::Estimate;
use crate::noise::Noise;

/// Layout version of the log that this crate writes, and the highest it reads.
pub const FORMAT: u32 = 1;

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// 0, 1, 2 ... without gaps.
    pub seq: u64,
    /// Wall clock, RFC 3339, UTC.
    #[schemars(schema_with = "crate::schema::timestamp")]
    pub at: jiff::Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// One metric, value, unit of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Phase in snake case.
    pub phase: String,
    /// `throughput`, `seconds`, `children`, `parent`, `min`, `max`, `avg`, `min_xfer`, ...
    pub metric: String,
    /// What is inside the clock.
    pub clock: Clock,
    /// The value, in `unit`.
    pub value: f64,
    /// `bytes_per_s`, `s`, `files_per_s`, `bytes`, `count`, `ratio`.
    pub unit: String,
}

/// What shows that a trial's samples are valid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Phase it speaks of; none: the whole trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// `cold_cache`, `direct_io_honoured`, `bytes_on_device`, `lazy_init_finished`, ...
    pub name: String,
    /// Whether it holds; none: could not be checked.
    pub holds: Option<bool>,
    /// What was seen, with numbers.
    pub detail: String,
}

/// A filesystem as it was really made and mounted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mounted {
    /// Device node, or directory.
    pub device: String,
    /// Mount point.
    pub mount_point: String,
    /// The mkfs command as run; empty for a directory that was there.
    pub mkfs: Vec<String>,
    /// The output of `mkfs -V`.
    pub mkfs_version: String,
    /// Filesystem type asked of mount(2) and the type /proc/self/mountinfo shows.
    pub asked_type: String,
    /// See `asked_type`.
    pub mounted_type: String,
    /// The kernel driver that serves it (`ext4` for an ext2 without its own driver).
    pub driver: String,
    /// Effective per-mount and per-superblock options, from mountinfo.
    pub options: Vec<String>,
    /// Superblock facts: feature lists, block size, inode size, journal size, UUID ...
    pub superblock: BTreeMap<String, String>,
    /// Properties of the device: backing file, direct I/O, write cache, scheduler, readahead.
    #[serde(default)]
    pub device_facts: BTreeMap<String, String>,
}

/// Seconds a trial spent, by who spent them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// Making the device: image, loop, discard.
    pub device: f64,
    /// mkfs.
    pub mkfs: f64,
    /// mount(2).
    pub mount: f64,
    /// Waiting for lazy initialisation, settling, idle device.
    pub wait: f64,
    /// The workload, its syncs and cache drops included.
    pub workload: f64,
    /// sync and umount.
    pub umount: f64,
    /// Everything, begin to end.
    pub total: f64,
}

impl Ledger {
    /// Seconds of the lab itself: the total without mkfs, mount, the workload (its syncs and cache
    /// drops with it), sync and umount, and without waiting for the filesystem's own lazy
    /// initialisation. Making the device counts as the lab's own.
    pub fn own(&self) -> f64 {
        self.total - self.mkfs - self.mount - self.wait - self.workload - self.umount
    }
}

/// What the processes of a phase used, as wait4(2) and GNU time tell it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Whose: `fslab` for a workload that runs inside the lab, else the program (`e2fsck`).
    pub of: String,
    /// Wall seconds.
    pub elapsed: f64,
    /// CPU seconds in user mode.
    pub user: f64,
    /// CPU seconds in the kernel.
    pub system: f64,
    /// Largest resident memory, KiB (of the whole life of the process).
    pub max_rss: u64,
    /// Blocks of 512 bytes read from and written to devices (ru_inblock, ru_oublock).
    pub inputs: u64,
    /// See `inputs`.
    pub outputs: u64,
    /// Page faults that read from a device.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
    /// Context switches: waits, and preemptions.
    pub voluntary_switches: u64,
    /// See `voluntary_switches`.
    pub involuntary_switches: u64,
}

/// What memory management did during a phase: the answer to "was it memory?". Pages of 4 KiB.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryPressure {
    /// pswpin, pswpout of /proc/vmstat.
    pub swapped_in: u64,
    /// See `swapped_in`.
    pub swapped_out: u64,
    /// pgscan_kswapd and pgscan_direct.
    pub scanned_kswapd: u64,
    /// See `scanned_kswapd`.
    pub scanned_direct: u64,
    /// pgsteal_kswapd + pgsteal_direct.
    pub reclaimed: u64,
    /// Sum of allocstall_*.
    pub allocation_stalls: u64,
    /// MemTotal, bytes.
    pub memory_total: u64,
    /// The limit that the trial ran under, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Largest charge of the limited group, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<u64>,
    /// How often the group met its limit in the phase (v1 memory.failcnt, v2 memory.events max).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_met: Option<u64>,
}

/// iostat's and top's rows over the middle of a phase, as those programs print them, then and now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Middle {
    /// Seconds between the two readings.
    pub seconds: f64,
    /// `iostat -x` of sysstat 8/9, every level of the device's stack, lowest first.
    pub iostat_classic: Vec<String>,
    /// `iostat -x` of sysstat 12.
    pub iostat_modern: Vec<String>,
    /// top of procps 3.2, tasks with %CPU > 0.
    pub top_classic: Vec<String>,
    /// top of procps 4.
    pub top_modern: Vec<String>,
}

/// What the disk itself can do: hdparm -t's sequential reads and 4 KiB random reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reference {
    /// The device read (`/dev/vda`, or a loop image made for this).
    pub device: String,
    /// What it measures (`the disk under the images`, `a loop image like the trials'`).
    pub about: String,
    /// The limit in force, as written in the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Bytes a second of each sequential pass, 2 MiB at a time through the page cache, after
    /// BLKFLSBUF (hdparm -t); seconds asked of each pass beside.
    pub sequential: Vec<f64>,
    /// The same with O_DIRECT (hdparm -t --direct).
    pub sequential_direct: Vec<f64>,
    /// Seconds asked of each pass.
    pub pass_seconds: f64,
    /// 4 KiB random reads a second, O_DIRECT, one at a time.
    pub random_reads_per_s: f64,
    /// Their latency: median, 99th percentile and largest, microseconds.
    pub random_read_us: [f64; 3],
    /// hdparm's own line for the median pass (` Timing buffered disk reads: 210 MB in  3.01 ...`).
    pub line: String,
    /// What could not be measured, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Wall seconds that all of it took, making the image included: measurement, not the lab's own.
    #[serde(default)]
    pub seconds: f64,
}

/// Layout of a trial's files, as a phase left them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Layout {
    /// The phase that had just ended.
    pub phase: String,
    /// The largest files, largest first.
    pub files: Vec<FileLayout>,
    /// Regular files in all; the others are in `figures` alone.
    pub files_total: u64,
    /// Of all files together, by the names of `layout::LayoutSummary::figures` (`layout_extents`,
    /// `layout_discontiguities`, `layout_avoidable`, `layout_weighted_run` ...); bytes, counts and
    /// shares. `layout_delalloc` is what the phase left without blocks, before an fsync; all else
    /// was looked at after it.
    pub figures: BTreeMap<String, f64>,
    /// Listings kept in the run's folder: command as typed (`filefrag -v bigfile`) and file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub listings: BTreeMap<String, String>,
    /// What could not be looked at, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What each member of a device of several layers did in a phase, by its own counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Members {
    /// The phase.
    pub phase: String,
    /// In the order of the array.
    pub members: Vec<Member>,
}

/// A member's share of a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    /// Its name in sysfs.
    pub name: String,
    /// Requests that it completed, reading.
    pub reads: u64,
    /// Bytes read.
    pub read: u64,
    /// Requests that it completed, writing.
    pub writes: u64,
    /// Bytes written.
    pub written: u64,
    /// Milliseconds in which it had something to do.
    pub busy_ms: u64,
}

/// Layout of one file. Bytes unless stated otherwise; places are bytes of the filesystem's device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileLayout {
    /// Path within the filesystem.
    pub path: String,
    /// Its size.
    pub size: u64,
    /// Rows of filefrag -v.
    pub rows: u64,
    /// Extents, as filefrag counts them.
    pub extents: u64,
    /// Rows merged where file and disk go on and the flags agree.
    pub runs: u64,
    /// Places where the file does not go on where it was.
    pub discontiguities: u64,
    /// Of these, by cause (`backup superblock`, `flex_bg metadata`, `unknown` ...).
    pub causes: BTreeMap<String, u64>,
    /// With blocks of their own.
    pub mapped: u64,
    /// Of these, reserved and never written.
    pub unwritten: u64,
    /// Without blocks inside the file.
    pub holes: u64,
    /// Lowest and highest byte; none: nothing is mapped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<[u64; 2]>,
}

/// A block trace of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    /// Base of its files, within the run's folder (`traces/trial-0001/loop0`): blkparse, btt and
    /// `fslab trace report` read them.
    pub base: String,
    /// The device (`loop0`, `vda`) and what it is to the filesystem.
    pub device: String,
    /// Events, notes not counted.
    pub events: u64,
    /// Events that the tracer dropped: above 0 the figures are marked as degraded.
    pub lost: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// Figures by phase, and of the whole under the name `trial`; see docs/metrics.md.
    pub figures: BTreeMap<String, BTreeMap<String, f64>>,
    /// What a reader must know of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How a trial failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The cell cannot run here (mkfs missing, option refused): later blocks skip it.
    Cell,
    /// The measurement is not valid, or the disk filled up: this trial only.
    Trial,
    /// The user stopped the run: the trial will run again.
    Interrupted,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// First line of every log.
    RunStarted {
        /// Layout version of this log.
        format: u32,
        /// Name of the run: its folder's name.
        run: String,
        /// fslab's version and commit.
        tool: String,
        /// The command line.
        command: Vec<String>,
        /// The target: `loop images`, `directory /x`, `device /dev/sdx serial`.
        target: String,
        /// The user's tags, name to value.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        tags: BTreeMap<String, String>,
        /// Block and attempt (`3.1`), where it is a part of a run on many nodes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<String>,
        /// Everything that will run.
        #[schemars(schema_with = "crate::schema::plan")]
        plan: Box<Plan>,
    },
    /// The context record (probe::context), as its JSON document; `when` is `start` or `end`.
    Context {
        /// `start` or `end`, `trial N`, or `node NAME` in a run on many nodes.
        when: String,
        /// Items by name: value, source, and a reason when it could not be read.
        context: serde_json::Value,
    },
    /// A resumed run goes on here.
    Resumed {
        /// fslab's version and commit.
        tool: String,
    },
    /// Every variant was made, mounted and measured once before the first trial.
    Probed {
        /// What that took; a resumed run does not measure it again.
        #[schemars(schema_with = "crate::schema::measured")]
        measured: Measured,
    },
    /// A doubtful or failed trial will be repeated: the plan gets one more slot at its end.
    TrialRepeated {
        /// The new slot: the block, cell and seed of the trial that it repeats.
        #[schemars(schema_with = "crate::schema::slot")]
        slot: Slot,
        /// Number of the trial that it repeats.
        repeats: u32,
        /// Why, in one line.
        why: String,
    },
    /// A trial begins.
    TrialStarted {
        /// Its slot in the plan.
        #[schemars(schema_with = "crate::schema::slot")]
        slot: Slot,
        /// Its telemetry file, relative to the run's folder.
        telemetry: Option<String>,
        /// The node it runs on, where a run has several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<String>,
    },
    /// Its filesystem is made and mounted.
    FilesystemReady {
        /// Number of the trial.
        trial: u32,
        /// As it really is.
        mounted: Mounted,
    },
    /// A phase ended.
    PhaseFinished {
        /// Number of the trial.
        trial: u32,
        /// Phase, in snake case.
        phase: String,
        /// CLOCK_MONOTONIC at its beginning and end, nanoseconds, the telemetry's clock.
        begin_ns: u64,
        /// See `begin_ns`.
        end_ns: u64,
        /// The workload's full report of the phase, as JSON.
        detail: serde_json::Value,
        /// What it used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// What memory management did meanwhile.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory: Option<MemoryPressure>,
        /// iostat and top in its middle.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        middle: Option<Middle>,
    },
    /// What others did on the machine while a trial, or one of its phases, ran.
    Noise {
        /// Number of the trial.
        trial: u32,
        /// See [`Noise`].
        noise: Noise,
    },
    /// Layout of the files that a phase has left.
    Layout {
        /// Number of the trial.
        trial: u32,
        /// See [`Layout`].
        layout: Layout,
    },
    /// How a phase was shared among the members of the device.
    Members {
        /// Number of the trial.
        trial: u32,
        /// See [`Members`].
        members: Members,
    },
    /// What was traced while the trial ran.
    Traced {
        /// Number of the trial.
        trial: u32,
        /// See [`Trace`].
        trace: Trace,
    },
    /// How long a check of the trial would take on modelled devices.
    Estimated {
        /// Number of the trial.
        trial: u32,
        /// See [`Estimate`].
        estimate: Estimate,
    },
    /// What a power cut at chosen moments of the trial would have left.
    CrashChecked {
        /// Number of the trial.
        trial: u32,
        /// See [`Crash`].
        crash: Crash,
    },
    /// What the disk itself can do, measured before the first trial.
    Reference {
        /// See [`Reference`].
        reference: Reference,
    },
    /// The trial is whole. Only now do its samples count.
    TrialFinished {
        /// Number of the trial.
        trial: u32,
        /// Its samples.
        samples: Vec<Sample>,
        /// Its evidence.
        evidence: Vec<Evidence>,
        /// Warnings for readers.
        warnings: Vec<String>,
        /// Where the time went.
        ledger: Ledger,
    },
    /// The trial did not end well; its phases so far stay in the log but give no samples.
    TrialFailed {
        /// Number of the trial.
        trial: u32,
        /// What kind of failure.
        kind: FailureKind,
        /// One line: what, why, what next.
        message: String,
        /// Where the time went.
        ledger: Ledger,
    },
    /// Something a reader must know that belongs to no trial.
    Note {
        /// One line.
        message: String,
    },
    /// The last line of a whole run.
    RunFinished {
        /// Trials whole, failed, and skipped because their cell cannot run.
        finished: u32,
        /// See `finished`.
        failed: u32,
        /// See `finished`.
        skipped: u32,
        /// Wall seconds of the lab since this process began the run.
        seconds: f64,
        /// Peak resident memory of the lab's process, bytes.
        peak_rss: u64,
    },
}
