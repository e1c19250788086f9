//! What tables and grids may name: phases, metrics and units.
//!
//! The lists are here, below both wings, because a study that asks for a phase nobody runs should
//! fail before anything is touched and not print an empty row an hour later.

/// Phases of the workloads and of checks, by the names that tables and grids use.
pub const PHASES: &[&str] = &[
    "initial_write",
    "rewrite",
    "read",
    "reread",
    "random_read",
    "random_write",
    "initial_create",
    "create",
    "patch",
    "compile",
    "clean",
    "read_tree",
    "read_compiled_tree",
    "delete_tree",
    "delete_compiled_tree",
    "stat_tree",
    "stat_compiled_tree",
    "write",
    "fill",
    "age_fill",
    "age_remove",
    "age_add",
    "check",
    "check_pass_1",
    "check_pass_2",
    "check_pass_3",
    "check_pass_4",
    "check_pass_5",
    "check_pass_6",
    "check_pass_7",
];

/// Phases of a check, which may follow any workload: the whole, then e2fsck's passes 1 to 5 or the
/// phases 1 to 7 of `xfs_repair` and `btrfs check`.
pub const CHECK_PHASES: &[&str] = &[
    "check",
    "check_pass_1",
    "check_pass_2",
    "check_pass_3",
    "check_pass_4",
    "check_pass_5",
    "check_pass_6",
    "check_pass_7",
];

/// Phases that workloads of a kind run; none for a kind that is not known.
pub fn phases(kind: &str) -> &'static [&'static str] {
    let (throughput, rest) = PHASES.split_at(6);
    match kind {
        "throughput" => throughput,
        "tree" => &rest[..11],
        "stream" => &["write", "read"],
        "fill" => &["fill"],
        "age" => &["age_fill", "age_remove", "age_add"],
        _ => &[],
    }
}

/// Metrics that workloads and checks give (docs/metrics.md). After the originals' own come those of
/// `fill` and `age`, five figures for each system call, those of a check, and what memory
/// management did in any phase.
pub const METRICS: &[&str] = &[
    "throughput",
    "seconds",
    "files",
    "children",
    "parent",
    "min",
    "max",
    "avg",
    "min_xfer",
    "runs",
    "file_count",
    "mean_mib_per_s",
    "median_mib_per_s",
    "total_over_total",
    "mean_seconds",
    "median_seconds",
    "mean_user_seconds",
    "mean_system_seconds",
    "total_over_elapsed",
    "count",
    "directories",
    "app_overhead",
    "fs_use",
    "creat_min",
    "creat_avg",
    "creat_max",
    "creat_p50",
    "creat_p99",
    "write_min",
    "write_avg",
    "write_max",
    "write_p50",
    "write_p99",
    "fsync_min",
    "fsync_avg",
    "fsync_max",
    "fsync_p50",
    "fsync_p99",
    "sync_min",
    "sync_avg",
    "sync_max",
    "sync_p50",
    "sync_p99",
    "close_min",
    "close_avg",
    "close_max",
    "close_p50",
    "close_p99",
    "unlink_min",
    "unlink_avg",
    "unlink_max",
    "unlink_p50",
    "unlink_p99",
    "user_seconds",
    "system_seconds",
    "peak_rss",
    "device_read",
    "device_written",
    "read_requests",
    "write_requests",
    "reported_seconds",
    "inodes_used",
    "swap_ins",
    "swap_outs",
    "pages_scanned",
    "pages_reclaimed",
    "allocation_stalls",
    "limit_met",
];

/// Units that tables print. `MB/s` and `MB_s` are both 2^20 bytes a second, `MB` and `MiB` both 2^20
/// bytes, as the originals wrote them; `count` prints a bare number.
pub const UNITS: &[&str] = &[
    "MB/s", "MB_s", "secs", "files/s", "MB", "MiB", "GiB", "ms", "us", "count", "%",
];
