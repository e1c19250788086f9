//! What tables and grids may name: phases, metrics and units.
//!
//! The lists are here, below both wings, because a study that asks for a phase that is not run should
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
    "mix",
    "scan",
    "scan_pass_0a",
    "scan_pass_0b",
    "scan_pass_1",
    "scan_pass_2",
    "scan_pass_0c",
    "scan_pass_3",
    "scan_pass_4a",
    "scan_pass_4b",
    "scan_pass_5",
    "scan_pass_0",
    "scan_pass_4",
    "scan_pass_after",
    "check",
    "check_pass_1",
    "check_pass_2",
    "check_pass_3",
    "check_pass_4",
    "check_pass_5",
    "check_pass_6",
    "check_pass_7",
    "check_pass_0a",
    "check_pass_0b",
    "check_pass_0c",
    "check_pass_4a",
    "check_pass_4b",
    "scan_pass_start",
    "scan_pass_1b",
    "scan_pass_own",
    "forge",
    "check_pass_0",
    "check_pass_after",
    "check_pass_start",
    "check_pass_1b",
    "check_pass_end",
    "check_pass_own",
    "tree_creation",
    "directory_creation",
    "directory_stat",
    "directory_removal",
    "file_creation",
    "file_stat",
    "file_read",
    "file_removal",
    "tree_removal",
];

/// Phases of a check, which may follow any workload: the whole, then e2fsck's passes 1 to 5 or the
/// phases 1 to 7 of `xfs_repair` and `btrfs check`, or fsck.ocfs2's 0a, 0b, 0c, 1, 2, 3, 4a, 4b and 5; and what `fslab check` has before
/// and after them.
pub const CHECK_PHASES: &[&str] = &[
    "check",
    "check_pass_1",
    "check_pass_2",
    "check_pass_3",
    "check_pass_4",
    "check_pass_5",
    "check_pass_6",
    "check_pass_7",
    "check_pass_0a",
    "check_pass_0b",
    "check_pass_0c",
    "check_pass_4a",
    "check_pass_4b",
    "check_pass_0",
    "check_pass_after",
    "check_pass_start",
    "check_pass_1b",
    "check_pass_end",
    "check_pass_own",
];

/// Phases that workloads of a kind run; none for a kind that is not known.
pub fn phases(kind: &str) -> &'static [&'static str] {
    let (throughput, rest) = PHASES.split_at(6);
    match kind {
        "throughput" => throughput,
        "tree" => &rest[..11],
        "stream" | "shared" => &["write", "read"],
        "fill" => &["fill", "forge"],
        "age" => &["age_fill", "age_remove", "age_add", "forge"],
        "mix" => &["mix"],
        "metadata" => &[
            "tree_creation",
            "directory_creation",
            "directory_stat",
            "directory_removal",
            "file_creation",
            "file_stat",
            "file_read",
            "file_removal",
            "tree_removal",
        ],
        "scan" => &[
            "fill",
            "scan",
            "scan_pass_0a",
            "scan_pass_0b",
            "scan_pass_1",
            "scan_pass_2",
            "scan_pass_0c",
            "scan_pass_3",
            "scan_pass_4a",
            "scan_pass_4b",
            "scan_pass_5",
            "scan_pass_0",
            "scan_pass_4",
            "scan_pass_after",
            "scan_pass_start",
            "scan_pass_1b",
            "scan_pass_own",
            "forge",
        ],
        _ => &[],
    }
}

/// Metrics that workloads and checks give, as tables and grids name them: the names of
/// [`crate::metrics::CATALOGUE`].
pub const METRICS: &[&str] = &crate::metrics::NAMES;

/// System calls whose latency is measured: the first part of the names of those metrics.
pub const CALLS: [&str; 11] = [
    "creat", "open", "read", "write", "fsync", "sync", "close", "stat", "unlink", "mkdir", "rmdir",
];

/// The last part of the names of those metrics (`fsync_p99`; `p999` is the 99.9th percentile).
pub const CALL_FIGURES: [&str; 7] = ["min", "avg", "p50", "p90", "p99", "p999", "max"];

/// Units that tables print. `MB/s` and `MB_s` are both 2^20 bytes a second, `MB` and `MiB` both 2^20
/// bytes, as the originals wrote them; `10^6 B/s` is dd's MB/s, and `KiB` and `MiB` are what they say;
/// `count` prints a bare number.
pub const UNITS: &[&str] = &[
    "MB/s", "MB_s", "10^6 B/s", "secs", "files/s", "IOPS", "MB", "KiB", "MiB", "GiB", "ms", "us",
    "count", "%", "ratio",
];
