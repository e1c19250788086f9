//! Every metric: its unit, its clocks, which direction is better, and what it is.
//!
//! This is the one definition of a metric. Study files may name these and no others
//! ([`crate::names::METRICS`]), samples get their units here, and `fslab metrics` prints them. docs/metrics.md
//! has the formulas.
//!
//! A name can have an entry for each source that gives it: the seconds of `throughput` are those of its
//! slowest child, the seconds of `tree` a mean over its runs. Its unit and its direction are the same everywhere.

use serde::Serialize;

use crate::model::Clock;

/// What a metric comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// iozone's phases.
    Throughput,
    /// compilebench's phases.
    Tree,
    /// aiod's and dd's phases.
    Stream,
    /// fs_mark's phase.
    Fill,
    /// Ageing in rounds.
    Age,
    /// fio's jobs.
    Mix,
    /// IOR's phases, by ranks.
    Shared,
    /// mdtest's phases, by ranks.
    Metadata,
    /// A reader of metadata.
    Scan,
    /// The filesystem's own checker, after any workload.
    Check,
    /// The latency of each system call, of any workload.
    Calls,
    /// Counters of the device, of any phase.
    Device,
    /// Memory management, of any phase.
    Memory,
    /// Placement of the files that a phase wrote.
    Layout,
    /// The block trace of a phase.
    Trace,
    /// Imported results of IOR.
    Ior,
    /// Imported results of mdtest.
    Mdtest,
}

impl Source {
    /// Every source, workloads first.
    pub const ALL: [Source; 17] = [
        Source::Throughput,
        Source::Tree,
        Source::Stream,
        Source::Fill,
        Source::Age,
        Source::Mix,
        Source::Shared,
        Source::Metadata,
        Source::Scan,
        Source::Check,
        Source::Calls,
        Source::Device,
        Source::Memory,
        Source::Layout,
        Source::Trace,
        Source::Ior,
        Source::Mdtest,
    ];

    /// Its name: a workload's kind, or `check`, `calls`, `device`, `memory`, `layout`, `trace`; a
    /// program whose results are imported.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Throughput => "throughput",
            Source::Tree => "tree",
            Source::Stream => "stream",
            Source::Fill => "fill",
            Source::Age => "age",
            Source::Mix => "mix",
            Source::Shared => "shared",
            Source::Metadata => "metadata",
            Source::Scan => "scan",
            Source::Check => "check",
            Source::Calls => "calls",
            Source::Device => "device",
            Source::Memory => "memory",
            Source::Layout => "layout",
            Source::Trace => "trace",
            Source::Ior => "ior",
            Source::Mdtest => "mdtest",
        }
    }

    /// When a study has these metrics.
    pub const fn when(self) -> &'static str {
        match self {
            Source::Throughput => "each phase of iozone",
            Source::Tree => "each operation of compilebench",
            Source::Stream => "the write and the read of aiod or dd",
            Source::Fill => "fs_mark's phase",
            Source::Age => "each round of ageing; and, where files are written, those of fill",
            Source::Mix => "reads and writes as fio mixes them",
            Source::Shared => "the write and the read of IOR, by ranks",
            Source::Metadata => "each operation of mdtest, by ranks",
            Source::Scan => "each pass of a reader of metadata",
            Source::Check => "the filesystem's own checker and its passes, with check.enabled",
            Source::Calls => "the latency of each system call that the phase makes",
            Source::Device => "every phase, from the device's counters",
            Source::Memory => "every phase, from the kernel's counters",
            Source::Layout => "each phase that writes, with layout.enabled",
            Source::Trace => "each phase, with trace = true",
            Source::Ior => "the write and the read of IOR, from fslab import --from ior",
            Source::Mdtest => "each operation of mdtest, from fslab import --from mdtest",
        }
    }

    /// Whether a workload of this kind can have the metrics of `other` as well.
    pub const fn includes(self, other: Source) -> bool {
        let general = matches!(
            other,
            Source::Check
                | Source::Calls
                | Source::Device
                | Source::Memory
                | Source::Layout
                | Source::Trace
        );
        let own = self as u8 == other as u8;
        let workload = (self as u8) <= Source::Scan as u8;
        let fills = matches!(self, Source::Age | Source::Scan) && matches!(other, Source::Fill);
        own || fills || (workload && general)
    }
}

/// Which direction is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// A larger value.
    Higher,
    /// A smaller value.
    Lower,
    /// Neither: it describes.
    Neither,
}

impl Better {
    /// `higher`, `lower` or `-`.
    pub const fn word(self) -> &'static str {
        match self {
            Better::Higher => "higher",
            Better::Lower => "lower",
            Better::Neither => "-",
        }
    }
}

/// One metric of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// What gives it.
    pub source: Source,
    /// Its name in tables, samples and CSV.
    pub name: &'static str,
    /// Unit of its samples: `bytes_per_s`, `mib_per_s`, `files_per_s`, `ops_per_s`, `s`, `bytes`, `count`, `percent` or `ratio`.
    pub unit: &'static str,
    /// What its clock can include; one that is not timed has (a) alone.
    pub clocks: &'static [Clock],
    /// Which direction is better.
    pub better: Better,
    /// What it is, in one sentence without a full stop.
    pub about: &'static str,
}

const A: &[Clock] = &[Clock::Original];
const ABC: &[Clock] = &[Clock::Original, Clock::Fsync, Clock::Syncfs];

use Better::{Higher, Lower, Neither};
use Source::{
    Age, Calls, Check, Device, Fill, Ior, Layout, Mdtest, Memory, Metadata, Mix, Scan, Shared,
    Stream, Throughput, Trace, Tree,
};

const fn metric(
    source: Source,
    name: &'static str,
    unit: &'static str,
    clocks: &'static [Clock],
    better: Better,
    about: &'static str,
) -> Metric {
    Metric {
        source,
        name,
        unit,
        clocks,
        better,
        about,
    }
}

/// Every metric of every source. The first entry of a name defines its place in the list of names.
// A table: one metric a line.
#[rustfmt::skip]
pub const CATALOGUE: &[Metric] = &[
    metric(Throughput, "throughput", "bytes_per_s", ABC, Higher, "bytes per second: (a) sum over the children, (b) and (c) all bytes over the whole time"),
    metric(Throughput, "seconds", "s", ABC, Lower, "time of the phase: (a) of the slowest child, (b) to its last fsync, (c) to the end of syncfs"),
    metric(Throughput, "files", "files_per_s", ABC, Higher, "files per second, where the workload counts files"),
    metric(Throughput, "children", "bytes_per_s", A, Higher, "iozone's \"Children see throughput\": the sum of the children's own rates"),
    metric(Throughput, "parent", "bytes_per_s", A, Higher, "iozone's \"Parent sees throughput\": all bytes until the last child is gone"),
    metric(Throughput, "min", "bytes_per_s", A, Higher, "rate of the slowest child"),
    metric(Throughput, "max", "bytes_per_s", A, Higher, "rate of the fastest child"),
    metric(Throughput, "avg", "bytes_per_s", A, Higher, "mean rate of a child"),
    metric(Throughput, "min_xfer", "bytes", A, Neither, "bytes of the slowest child when the fastest finished"),
    metric(Tree, "throughput", "bytes_per_s", ABC, Higher, "mean over the runs of one kind of bytes over seconds; (c) to the end of syncfs"),
    metric(Tree, "seconds", "s", ABC, Lower, "mean seconds of one run of that kind"),
    metric(Tree, "files", "files_per_s", ABC, Higher, "files touched per second"),
    metric(Tree, "runs", "count", A, Neither, "operations of that kind in the sequence"),
    metric(Tree, "file_count", "count", A, Neither, "files touched"),
    metric(Tree, "mean_mib_per_s", "mib_per_s", A, Higher, "arithmetic mean of the rates of the runs"),
    metric(Tree, "median_mib_per_s", "mib_per_s", A, Higher, "median of the rates of the runs"),
    metric(Tree, "total_over_total", "mib_per_s", A, Higher, "bytes of all runs over the seconds of all runs"),
    metric(Tree, "mean_seconds", "s", A, Lower, "mean seconds of a run"),
    metric(Tree, "median_seconds", "s", A, Lower, "median seconds of a run"),
    metric(Tree, "mean_user_seconds", "s", A, Lower, "user CPU time of the working thread, mean over the runs"),
    metric(Tree, "mean_system_seconds", "s", A, Lower, "system CPU time of the working thread, mean over the runs"),
    metric(Tree, "native_unpatched_seconds", "s", A, Lower, "first scratch tree, which gives the data set its order; in no clock"),
    metric(Tree, "native_patched_seconds", "s", A, Lower, "second scratch tree, likewise"),
    metric(Tree, "native_patched_compiled_seconds", "s", A, Lower, "third scratch tree, likewise"),
    metric(Stream, "throughput", "bytes_per_s", ABC, Higher, "bytes moved per second: (a) what dd prints, (b) to the end of fsync, (c) of syncfs"),
    metric(Stream, "seconds", "s", ABC, Lower, "time of the transfer from after open to the end of the clock"),
    metric(Stream, "open_seconds", "s", A, Lower, "open(2), with the truncation of an existing file; in no clock, as in dd"),
    metric(Fill, "files", "files_per_s", ABC, Higher, "files made per second: (a) fs_mark's mean over the iterations, (c) to the end of syncfs"),
    metric(Fill, "throughput", "bytes_per_s", ABC, Higher, "bytes of the files over the same seconds"),
    metric(Fill, "seconds", "s", ABC, Lower, "sum over the iterations of the longest process's loop"),
    metric(Fill, "total_over_elapsed", "files_per_s", A, Higher, "all files over the time to the end of the last loop"),
    metric(Fill, "count", "count", A, Neither, "files that exist after the phase, counted by reading the directories"),
    metric(Fill, "directories", "count", A, Neither, "directories that exist after the phase, counted likewise"),
    metric(Fill, "app_overhead", "s", A, Lower, "fs_mark's App Overhead: time of the loops outside of their system calls"),
    metric(Fill, "fs_use", "percent", A, Neither, "fs_mark's FSUse%: share of the filesystem in use after the phase"),
    metric(Calls, "creat_min", "s", A, Lower, "shortest creat"),
    metric(Calls, "creat_avg", "s", A, Lower, "mean creat"),
    metric(Calls, "creat_p50", "s", A, Lower, "median creat"),
    metric(Calls, "creat_p90", "s", A, Lower, "90th percentile of creat"),
    metric(Calls, "creat_p99", "s", A, Lower, "99th percentile of creat"),
    metric(Calls, "creat_p999", "s", A, Lower, "99.9th percentile of creat"),
    metric(Calls, "creat_max", "s", A, Lower, "longest creat"),
    metric(Calls, "open_min", "s", A, Lower, "shortest open"),
    metric(Calls, "open_avg", "s", A, Lower, "mean open"),
    metric(Calls, "open_p50", "s", A, Lower, "median open"),
    metric(Calls, "open_p90", "s", A, Lower, "90th percentile of open"),
    metric(Calls, "open_p99", "s", A, Lower, "99th percentile of open"),
    metric(Calls, "open_p999", "s", A, Lower, "99.9th percentile of open"),
    metric(Calls, "open_max", "s", A, Lower, "longest open"),
    metric(Calls, "read_min", "s", A, Lower, "shortest read"),
    metric(Calls, "read_avg", "s", A, Lower, "mean read"),
    metric(Calls, "read_p50", "s", A, Lower, "median read"),
    metric(Calls, "read_p90", "s", A, Lower, "90th percentile of read"),
    metric(Calls, "read_p99", "s", A, Lower, "99th percentile of read"),
    metric(Calls, "read_p999", "s", A, Lower, "99.9th percentile of read"),
    metric(Calls, "read_max", "s", A, Lower, "longest read"),
    metric(Calls, "write_min", "s", A, Lower, "shortest write"),
    metric(Calls, "write_avg", "s", A, Lower, "mean write"),
    metric(Calls, "write_p50", "s", A, Lower, "median write"),
    metric(Calls, "write_p90", "s", A, Lower, "90th percentile of write"),
    metric(Calls, "write_p99", "s", A, Lower, "99th percentile of write"),
    metric(Calls, "write_p999", "s", A, Lower, "99.9th percentile of write"),
    metric(Calls, "write_max", "s", A, Lower, "longest write"),
    metric(Calls, "fsync_min", "s", A, Lower, "shortest fsync"),
    metric(Calls, "fsync_avg", "s", A, Lower, "mean fsync"),
    metric(Calls, "fsync_p50", "s", A, Lower, "median fsync"),
    metric(Calls, "fsync_p90", "s", A, Lower, "90th percentile of fsync"),
    metric(Calls, "fsync_p99", "s", A, Lower, "99th percentile of fsync"),
    metric(Calls, "fsync_p999", "s", A, Lower, "99.9th percentile of fsync"),
    metric(Calls, "fsync_max", "s", A, Lower, "longest fsync"),
    metric(Calls, "sync_min", "s", A, Lower, "shortest sync"),
    metric(Calls, "sync_avg", "s", A, Lower, "mean sync"),
    metric(Calls, "sync_p50", "s", A, Lower, "median sync"),
    metric(Calls, "sync_p90", "s", A, Lower, "90th percentile of sync"),
    metric(Calls, "sync_p99", "s", A, Lower, "99th percentile of sync"),
    metric(Calls, "sync_p999", "s", A, Lower, "99.9th percentile of sync"),
    metric(Calls, "sync_max", "s", A, Lower, "longest sync"),
    metric(Calls, "close_min", "s", A, Lower, "shortest close"),
    metric(Calls, "close_avg", "s", A, Lower, "mean close"),
    metric(Calls, "close_p50", "s", A, Lower, "median close"),
    metric(Calls, "close_p90", "s", A, Lower, "90th percentile of close"),
    metric(Calls, "close_p99", "s", A, Lower, "99th percentile of close"),
    metric(Calls, "close_p999", "s", A, Lower, "99.9th percentile of close"),
    metric(Calls, "close_max", "s", A, Lower, "longest close"),
    metric(Calls, "stat_min", "s", A, Lower, "shortest stat"),
    metric(Calls, "stat_avg", "s", A, Lower, "mean stat"),
    metric(Calls, "stat_p50", "s", A, Lower, "median stat"),
    metric(Calls, "stat_p90", "s", A, Lower, "90th percentile of stat"),
    metric(Calls, "stat_p99", "s", A, Lower, "99th percentile of stat"),
    metric(Calls, "stat_p999", "s", A, Lower, "99.9th percentile of stat"),
    metric(Calls, "stat_max", "s", A, Lower, "longest stat"),
    metric(Calls, "unlink_min", "s", A, Lower, "shortest unlink"),
    metric(Calls, "unlink_avg", "s", A, Lower, "mean unlink"),
    metric(Calls, "unlink_p50", "s", A, Lower, "median unlink"),
    metric(Calls, "unlink_p90", "s", A, Lower, "90th percentile of unlink"),
    metric(Calls, "unlink_p99", "s", A, Lower, "99th percentile of unlink"),
    metric(Calls, "unlink_p999", "s", A, Lower, "99.9th percentile of unlink"),
    metric(Calls, "unlink_max", "s", A, Lower, "longest unlink"),
    metric(Calls, "mkdir_min", "s", A, Lower, "shortest mkdir"),
    metric(Calls, "mkdir_avg", "s", A, Lower, "mean mkdir"),
    metric(Calls, "mkdir_p50", "s", A, Lower, "median mkdir"),
    metric(Calls, "mkdir_p90", "s", A, Lower, "90th percentile of mkdir"),
    metric(Calls, "mkdir_p99", "s", A, Lower, "99th percentile of mkdir"),
    metric(Calls, "mkdir_p999", "s", A, Lower, "99.9th percentile of mkdir"),
    metric(Calls, "mkdir_max", "s", A, Lower, "longest mkdir"),
    metric(Calls, "rmdir_min", "s", A, Lower, "shortest rmdir"),
    metric(Calls, "rmdir_avg", "s", A, Lower, "mean rmdir"),
    metric(Calls, "rmdir_p50", "s", A, Lower, "median rmdir"),
    metric(Calls, "rmdir_p90", "s", A, Lower, "90th percentile of rmdir"),
    metric(Calls, "rmdir_p99", "s", A, Lower, "99th percentile of rmdir"),
    metric(Calls, "rmdir_p999", "s", A, Lower, "99.9th percentile of rmdir"),
    metric(Calls, "rmdir_max", "s", A, Lower, "longest rmdir"),
    metric(Stream, "user_seconds", "s", A, Lower, "user CPU time of clock (a), as GNU time has it of dd"),
    metric(Stream, "system_seconds", "s", A, Lower, "system CPU time of clock (a)"),
    metric(Stream, "cpu_share", "ratio", A, Lower, "user and system CPU time over the seconds"),
    metric(Age, "files", "files_per_s", ABC, Higher, "files written or removed per second"),
    metric(Age, "throughput", "bytes_per_s", ABC, Higher, "bytes of the files written per second"),
    metric(Age, "seconds", "s", ABC, Lower, "sum of the rounds"),
    metric(Age, "count", "count", A, Neither, "files that exist after the last round of the phase"),
    metric(Age, "directories", "count", A, Neither, "directories that exist after the last round of the phase"),
    metric(Mix, "throughput", "bytes_per_s", ABC, Higher, "bytes read and written per second: (a) after the ramp, (b) and (c) over the whole time"),
    metric(Mix, "seconds", "s", ABC, Lower, "time of the phase: (a) from the ramp's end to the last request's, (b) to fsync, (c) to syncfs"),
    metric(Mix, "read_rate", "bytes_per_s", A, Higher, "bytes read per second"),
    metric(Mix, "write_rate", "bytes_per_s", A, Higher, "bytes written per second"),
    metric(Mix, "iops", "ops_per_s", A, Higher, "reads and writes per second"),
    metric(Mix, "read_iops", "ops_per_s", A, Higher, "reads per second"),
    metric(Mix, "write_iops", "ops_per_s", A, Higher, "writes per second"),
    metric(Mix, "read_share", "ratio", A, Neither, "reads as a share of all reads and writes"),
    metric(Mix, "cpu_per_request", "s", A, Lower, "CPU time of all threads, user and system, for each read or write"),
    metric(Scan, "seconds", "s", A, Lower, "wall time of the pass, or of all passes"),
    metric(Scan, "throughput", "bytes_per_s", A, Higher, "bytes requested from the device per second"),
    metric(Scan, "user_seconds", "s", A, Lower, "user CPU time of the process"),
    metric(Scan, "system_seconds", "s", A, Lower, "system CPU time of the process"),
    metric(Scan, "peak_rss", "bytes", A, Lower, "most resident memory of the process since the pass began"),
    metric(Check, "seconds", "s", A, Lower, "time of the whole checker, or of one pass"),
    metric(Check, "throughput", "bytes_per_s", A, Higher, "bytes read from the device per second"),
    metric(Check, "user_seconds", "s", A, Lower, "user CPU time of the checker"),
    metric(Check, "system_seconds", "s", A, Lower, "system CPU time of the checker"),
    metric(Check, "peak_rss", "bytes", A, Lower, "largest resident memory of the checker so far"),
    metric(Device, "device_read", "bytes", A, Lower, "bytes read from the device by all processes"),
    metric(Device, "device_written", "bytes", A, Lower, "bytes written to the device by all processes"),
    metric(Device, "read_requests", "count", A, Lower, "reads that the device completed"),
    metric(Device, "write_requests", "count", A, Lower, "writes that the device completed"),
    metric(Check, "reported_seconds", "s", A, Lower, "time as the checker itself printed it"),
    metric(Check, "reported_user_seconds", "s", A, Lower, "user CPU time as the checker itself printed it"),
    metric(Check, "reported_system_seconds", "s", A, Lower, "system CPU time as the checker itself printed it"),
    metric(Check, "reported_read", "bytes", A, Lower, "bytes from the device by the checker's own count"),
    metric(Check, "reported_cache", "bytes", A, Neither, "bytes from its cache by the checker's own count"),
    metric(Scan, "disk_bytes", "bytes", A, Lower, "bytes requested from the device"),
    metric(Scan, "cache_bytes", "bytes", A, Neither, "bytes found in the reader's cache"),
    metric(Scan, "requests", "count", A, Lower, "requests to the device"),
    metric(Scan, "request_mean", "bytes", A, Neither, "mean size of a request"),
    metric(Scan, "seeks", "count", A, Lower, "requests that did not begin where the one before ended"),
    metric(Scan, "seek_bytes", "bytes", A, Lower, "sum of the distances of the seeks"),
    metric(Scan, "batched", "count", A, Neither, "most blocks requested together"),
    metric(Scan, "objects", "count", A, Neither, "descriptors, inodes in use or directory blocks that were read"),
    metric(Scan, "verified", "count", A, Neither, "objects whose checksum or structure was verified"),
    metric(Scan, "faults", "count", A, Lower, "objects that are damaged or unreadable"),
    metric(Scan, "rate_with_cache", "bytes_per_s", A, Higher, "bytes from the device and the cache per second: fsck.ocfs2's rate of 2011"),
    metric(Scan, "rate_without_user", "bytes_per_s", A, Higher, "bytes from the device per second outside of user CPU time: fsck.ocfs2's present rate"),
    metric(Scan, "cache_size", "bytes", A, Neither, "the reader's cache"),
    metric(Scan, "metadata_bytes", "bytes", A, Neither, "all metadata of the filesystem"),
    metric(Scan, "chain_links", "count", A, Neither, "links of the longest chain of descriptors"),
    metric(Check, "inodes_used", "count", A, Neither, "inodes in use, as the checker counted them"),
    metric(Memory, "swap_ins", "count", A, Lower, "pages swapped in on the whole machine"),
    metric(Memory, "swap_outs", "count", A, Lower, "pages swapped out on the whole machine"),
    metric(Memory, "pages_scanned", "count", A, Lower, "pages that reclaim looked at"),
    metric(Memory, "pages_reclaimed", "count", A, Lower, "pages that reclaim freed"),
    metric(Memory, "allocation_stalls", "count", A, Lower, "allocations that had to reclaim memory themselves"),
    metric(Memory, "limit_met", "count", A, Lower, "times that the trial's group reached its memory limit"),
    metric(Layout, "layout_files", "count", A, Neither, "regular files"),
    metric(Layout, "layout_rows", "count", A, Lower, "rows that FIEMAP gives"),
    metric(Layout, "layout_extents", "count", A, Lower, "filefrag's \"extents found\", summed over the files"),
    metric(Layout, "layout_runs", "count", A, Lower, "contiguous runs of blocks"),
    metric(Layout, "layout_discontiguities", "count", A, Lower, "places where a file is not contiguous on disk"),
    metric(Layout, "layout_avoidable", "count", A, Lower, "discontiguities that no metadata of the filesystem explains"),
    metric(Layout, "layout_mapped", "bytes", A, Neither, "bytes with blocks"),
    metric(Layout, "layout_unwritten", "bytes", A, Neither, "bytes with blocks that were never written"),
    metric(Layout, "layout_delalloc", "bytes", A, Neither, "bytes that have no blocks yet"),
    metric(Layout, "layout_shared", "bytes", A, Neither, "bytes shared with other files"),
    metric(Layout, "layout_holes", "bytes", A, Neither, "bytes without blocks inside a file"),
    metric(Layout, "layout_groups", "count", A, Neither, "block or allocation groups that hold blocks of these files"),
    metric(Layout, "layout_run_p50", "bytes", A, Higher, "median length of a run"),
    metric(Layout, "layout_weighted_run", "bytes", A, Higher, "mean length of the run that a byte is in"),
    metric(Layout, "layout_begins_on_unit", "ratio", A, Higher, "runs that begin on a stripe unit"),
    metric(Layout, "layout_ends_on_unit", "ratio", A, Higher, "runs that end on a stripe unit"),
    metric(Layout, "layout_begins_on_width", "ratio", A, Higher, "runs that begin on a full stripe"),
    metric(Layout, "layout_ends_on_width", "ratio", A, Higher, "runs that end on a full stripe"),
    metric(Layout, "layout_inode_data_same_group", "ratio", A, Higher, "files whose first block is in the group of their inode"),
    metric(Layout, "layout_listed_blocks_ascending", "ratio", A, Higher, "neighbours in a directory's order whose first blocks ascend; 0.5 is chance"),
    metric(Trace, "trace_events", "count", A, Neither, "events of the trace, notes left out"),
    metric(Trace, "trace_lost", "count", A, Lower, "events lost in the whole trial"),
    metric(Trace, "trace_bios", "count", A, Lower, "bios with data that were queued"),
    metric(Trace, "trace_bio_mean", "bytes", A, Neither, "mean size of a bio"),
    metric(Trace, "trace_requests", "count", A, Lower, "requests with data that were issued"),
    metric(Trace, "trace_request_mean", "bytes", A, Neither, "mean size of a request"),
    metric(Trace, "trace_merges", "count", A, Neither, "bios merged into a request"),
    metric(Trace, "trace_merge_ratio", "ratio", A, Neither, "bios for each request"),
    metric(Trace, "trace_seek_mean", "bytes", A, Lower, "mean distance from the end of a request to the start of the next"),
    metric(Trace, "trace_sequential", "ratio", A, Higher, "requests that begin where the one before ended"),
    metric(Trace, "trace_q2c_mean", "s", A, Lower, "mean time from a bio's queueing to its completion"),
    metric(Trace, "trace_q2c_p99", "s", A, Lower, "99th percentile of that time"),
    metric(Trace, "trace_d2c_mean", "s", A, Lower, "mean time from a request's issue to its completion"),
    metric(Trace, "trace_d2c_p99", "s", A, Lower, "99th percentile of that time"),
    metric(Trace, "trace_depth", "count", A, Neither, "mean number of requests in flight"),
    metric(Trace, "trace_busy", "ratio", A, Neither, "share of the phase with at least one request in flight"),
    metric(Trace, "trace_data_bytes", "bytes", A, Neither, "bytes of file contents queued"),
    metric(Trace, "trace_metadata_bytes", "bytes", A, Lower, "bytes of metadata queued"),
    metric(Trace, "trace_journal_bytes", "bytes", A, Lower, "bytes of the journal queued"),
    metric(Trace, "trace_journal_share", "ratio", A, Lower, "journal bytes as a share of all"),
    metric(Trace, "trace_metadata_share", "ratio", A, Lower, "metadata bytes as a share of all"),
    metric(Trace, "trace_flushes", "count", A, Lower, "bios that flush the device's cache first"),
    metric(Trace, "trace_kind_switches", "count", A, Lower, "requests that jump between contents and metadata or journal"),
    metric(Ior, "throughput", "bytes_per_s", A, Higher, "IOR's bw: bytes of all tasks over the time from the first open to the last close"),
    metric(Ior, "iops", "ops_per_s", A, Higher, "IOR's IOPS: transfers per second, from the first transfer's begin to the last one's end"),
    metric(Ior, "best_mean_latency", "s", A, Lower, "IOR's Latency: the smallest of the tasks' mean times of a transfer"),
    metric(Ior, "open_seconds", "s", A, Lower, "IOR's open: from the first task's begin of open to the last one's end"),
    metric(Ior, "transfer_seconds", "s", A, Lower, "IOR's wr/rd: from the first transfer's begin to the last one's end"),
    metric(Ior, "close_seconds", "s", A, Lower, "IOR's close: from the first task's begin of close to the last one's end"),
    metric(Ior, "seconds", "s", A, Lower, "IOR's total: from the first open to the last close"),
    metric(Mdtest, "files", "files_per_s", A, Higher, "operations per second of the iteration"),
    metric(Shared, "throughput", "bytes_per_s", ABC, Higher, "bytes of all ranks over the time from the first open to the last close, fsync or syncfs"),
    metric(Shared, "seconds", "s", ABC, Lower, "time of the phase, from the first rank's open to the last one's close, fsync or syncfs"),
    metric(Shared, "iops", "ops_per_s", A, Higher, "whole transfers per second, from the first transfer's begin to the last one's end"),
    metric(Shared, "open_seconds", "s", A, Lower, "from the first rank's begin of open to the last one's end"),
    metric(Shared, "transfer_seconds", "s", A, Lower, "from the first transfer's begin to the last one's end, an fsync of its own included"),
    metric(Shared, "close_seconds", "s", A, Lower, "from the first rank's begin of close to the last one's end"),
    metric(Shared, "best_mean_latency", "s", A, Lower, "the smallest of the ranks' mean times of a transfer"),
    metric(Shared, "first_done", "s", A, Lower, "time of the rank that was done first, from its own begin"),
    metric(Shared, "last_done", "s", A, Lower, "time of the rank that took longest, from its own begin"),
    metric(Shared, "throughput_first_done", "bytes_per_s", A, Higher, "bytes of all ranks when the first was done, over its time"),
    metric(Shared, "throughput_last_done", "bytes_per_s", A, Higher, "bytes of all ranks over the time of the last"),
    metric(Shared, "fastest", "bytes_per_s", A, Higher, "rate of the fastest rank"),
    metric(Shared, "slowest", "bytes_per_s", A, Higher, "rate of the slowest rank"),
    metric(Shared, "fastest_node", "bytes_per_s", A, Higher, "rate of the fastest node, from its first rank's begin to its last one's end"),
    metric(Shared, "slowest_node", "bytes_per_s", A, Higher, "rate of the slowest node, likewise"),
    metric(Shared, "tail", "ratio", A, Lower, "share of the ranks' time in which they waited for the last one"),
    metric(Shared, "start_spread", "s", A, Lower, "time between the first rank's begin and the last one's"),
    metric(Shared, "barrier_seconds", "s", A, Lower, "median time of a barrier of all ranks, before the first phase"),
    metric(Metadata, "files", "files_per_s", ABC, Higher, "items per second: (a) ranks times the slowest rank's, (c) all items to the last node's syncfs"),
    metric(Metadata, "files_sum", "files_per_s", A, Higher, "all items over the longest time of a rank to the barrier after it: mdtest's table"),
    metric(Metadata, "throughput", "bytes_per_s", ABC, Higher, "bytes written or read per second, where files have any"),
    metric(Metadata, "seconds", "s", ABC, Lower, "time from the first rank's begin to the last one's end, or to the last node's syncfs"),
    metric(Metadata, "first_done", "s", A, Lower, "time of the rank that was done first, from its own begin"),
    metric(Metadata, "last_done", "s", A, Lower, "time of the rank that took longest, from its own begin"),
    metric(Metadata, "tail", "ratio", A, Lower, "share of the ranks' time in which they waited for the last one"),
    metric(Metadata, "start_spread", "s", A, Lower, "time between the first rank's begin and the last one's"),
    metric(Metadata, "barrier_seconds", "s", A, Lower, "median time of a barrier of all ranks, of 100 before the first phase"),
];

/// How many different names the catalogue has.
const COUNT: usize = distinct();

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Whether an earlier entry has the name of this one.
const fn repeated(at: usize) -> bool {
    let mut i = 0;
    while i < at {
        if same(CATALOGUE[i].name, CATALOGUE[at].name) {
            return true;
        }
        i += 1;
    }
    false
}

const fn distinct() -> usize {
    let (mut count, mut i) = (0, 0);
    while i < CATALOGUE.len() {
        if !repeated(i) {
            count += 1;
        }
        i += 1;
    }
    count
}

/// Every name once, in the order of the catalogue.
pub(crate) const NAMES: [&str; COUNT] = {
    let mut names = [""; COUNT];
    let (mut count, mut i) = (0, 0);
    while i < CATALOGUE.len() {
        if !repeated(i) {
            names[count] = CATALOGUE[i].name;
            count += 1;
        }
        i += 1;
    }
    names
};

/// The first entry of this name; unit and direction are those of all others.
pub fn of_name(name: &str) -> Option<&'static Metric> {
    CATALOGUE.iter().find(|metric| metric.name == name)
}

/// Metrics that a workload of this kind can give, or those of `check`, `calls`, `device`, `memory`, `layout` or `trace`, or of
/// a program whose results are imported. None for a name that is none of these.
pub fn of_workload(name: &str) -> Option<Vec<&'static Metric>> {
    let source = Source::ALL.iter().find(|source| source.name() == name)?;
    let own = CATALOGUE.iter().filter(|metric| metric.source == *source);
    let names: Vec<&str> = own.clone().map(|metric| metric.name).collect();
    // Ageing fills in its own way: what it defines itself is not fill's.
    let others = CATALOGUE.iter().filter(|metric| {
        metric.source != *source
            && source.includes(metric.source)
            && (metric.source != Fill || !names.contains(&metric.name))
    });
    Some(own.chain(others).collect())
}

/// Columns of the text.
const WIDTH: usize = 100;

/// The metrics as a table, those of each source under its name.
pub fn text(metrics: &[&Metric]) -> String {
    let width = metrics.iter().map(|m| m.name.len()).max().unwrap_or(0);
    let mut out = format!(
        "{:<width$}  {:<11}  {:<9}  {:<6}  what it is\n",
        "metric", "unit", "clock", "better"
    );
    let mut source = None;
    for metric in metrics {
        if source != Some(metric.source) {
            source = Some(metric.source);
            let heading = format!("\n{}: ", metric.source.name());
            out.push_str(&words::wrap(&heading, 2, metric.source.when(), WIDTH));
        }
        let clocks: String = metric.clocks.iter().map(|clock| clock.mark()).collect();
        let lead = format!(
            "{:<width$}  {:<11}  {clocks:<9}  {:<6}  ",
            metric.name,
            metric.unit,
            metric.better.word()
        );
        out.push_str(&words::wrap(&lead, lead.len(), metric.about, WIDTH));
    }
    out.push_str(
        "\nClocks: (a) where the original program stops its own, (b) to the end of an fsync of every file, \
         (c) to the\nend of syncfs. Formulas: docs/metrics.md.\n",
    );
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_name_has_one_unit_and_one_direction() {
        let mut known: BTreeMap<&str, (&str, Better)> = BTreeMap::new();
        for metric in CATALOGUE {
            let facts = (metric.unit, metric.better);
            assert_eq!(
                *known.entry(metric.name).or_insert(facts),
                facts,
                "{metric:?}"
            );
            assert!(
                !metric.about.ends_with('.') && metric.about.len() < 100,
                "{metric:?}"
            );
            assert!(!metric.clocks.is_empty());
        }
        assert_eq!(known.len(), NAMES.len());
    }

    #[test]
    fn a_source_names_a_metric_once() {
        for source in Source::ALL {
            let all = of_workload(source.name()).unwrap();
            let mut own: Vec<&str> = all
                .iter()
                .filter(|m| m.source == source)
                .map(|m| m.name)
                .collect();
            assert!(!own.is_empty(), "{source:?}");
            let count = own.len();
            own.sort_unstable();
            own.dedup();
            assert_eq!(own.len(), count, "{source:?}");
        }
        assert!(of_workload("no-such-kind").is_none());
    }

    #[test]
    fn every_workload_kind_has_metrics() {
        for (kind, _) in crate::file::KINDS {
            assert!(
                of_workload(kind).is_some_and(|all| all.len() > 20),
                "{kind}"
            );
        }
    }

    #[test]
    fn rates_are_better_higher_and_times_lower() {
        for metric in CATALOGUE {
            match metric.unit {
                "bytes_per_s" | "files_per_s" | "mib_per_s" | "ops_per_s" => {
                    assert_eq!(metric.better, Higher, "{metric:?}");
                }
                "s" => assert_eq!(metric.better, Lower, "{metric:?}"),
                "bytes" | "count" | "ratio" | "percent" => {}
                other => panic!("{other} is not a unit"),
            }
        }
    }
}
