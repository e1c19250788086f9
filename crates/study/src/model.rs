//! What a study expands to: variants, workload parameters, cells, trials and the plan.
//!
//! These are plain values that serialise. The plan is written into the run's event log before
//! anything is touched, so a killed run resumes from the log alone, without its study file.
//! A [`Trial`] is what an executor runs, here or later in a guest kernel.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// The on-disk filesystem family to make.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum FilesystemKind {
    /// `mkfs.ext2`: no journal, block-mapped files.
    Ext2,
    /// `mkfs.ext3`: a journal, block-mapped files.
    Ext3,
    /// `mkfs.ext4`: extents, flex_bg and what mke2fs.conf says.
    Ext4,
    /// `mkfs.xfs`.
    Xfs,
    /// `mkfs.btrfs`.
    Btrfs,
}

/// A named way to make and mount a filesystem. `ext4-nojournal` is data, not code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilesystemVariant {
    /// The family: which mkfs and which mount type.
    #[schemars(title = "filesystem family")]
    pub kind: FilesystemKind,
    /// Extra arguments of mkfs, one word each, before the device.
    #[serde(default)]
    pub mkfs: Vec<String>,
    /// Mount options, as after `mount -o`, one each.
    #[serde(default)]
    pub mount: Vec<String>,
    /// One line for reports.
    #[serde(default)]
    pub about: String,
}

/// Which system calls carry the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineName {
    /// `read`/`write`, `pread`/`pwrite`.
    #[default]
    Sync,
    /// `io_uring` at a queue depth.
    IoUring,
    /// Nothing is transferred: the cost of the generator itself.
    Null,
}

/// Parameters of `throughput` (iozone -t). Letters in brackets are iozone's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(clippy::struct_excessive_bools, reason = "iozone's switches, one each")]
pub struct ThroughputSpec {
    /// Children (-t), 1..=1024.
    #[schemars(title = "thread count", range(min = 1, max = 1024))]
    pub threads: u32,
    /// Bytes of each child's file (-s).
    #[schemars(title = "file size", extend("minimum" = 1024, "maximum" = 1_u64 << 50))]
    pub size: Bytes,
    /// Bytes of a record (-r), 1 KiB..=16 MiB.
    #[schemars(title = "record size", extend("minimum" = 1024, "maximum" = 16 << 20))]
    pub record: Bytes,
    /// O_DIRECT on every open (-I).
    pub direct: bool,
    /// fsync inside the clock of (a) (-e).
    pub include_fsync: bool,
    /// close inside the clock of (a) (-c).
    pub include_close: bool,
    /// Stop counting when the first child finishes (off is -x).
    pub stonewall: bool,
    /// The I/O engine.
    #[schemars(title = "I/O engine")]
    pub engine: EngineName,
    /// Requests in flight for each child, 1..=4096; more than 1 needs `io_uring`.
    #[schemars(title = "queue depth", range(min = 1, max = 4096))]
    pub queue_depth: u32,
    /// Seconds of rest after the sync that follows every test (iozone: 2).
    #[schemars(title = "number of seconds", range(min = 0.0, max = 3600.0))]
    pub settle_seconds: f64,
    /// Drop and prove cold before each read test (iozone: no).
    pub cold_reads: bool,
}

impl Default for ThroughputSpec {
    fn default() -> Self {
        ThroughputSpec {
            threads: 1,
            size: Bytes(2 * Bytes::GIB),
            record: Bytes(256 * Bytes::KIB),
            direct: false,
            include_fsync: false,
            include_close: false,
            stonewall: true,
            engine: EngineName::Sync,
            queue_depth: 1,
            settle_seconds: 2.0,
            cold_reads: false,
        }
    }
}

/// Parameters of `tree` (compilebench). Letters in brackets are compilebench's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TreeSpec {
    /// Trees created first (-i), 1..=1000.
    #[schemars(title = "number of trees", range(min = 1, max = 1000))]
    pub initial: u32,
    /// Random operations after them (-r), 0..=100000.
    #[schemars(title = "number of operations", range(min = 0, max = 100_000))]
    pub runs: u32,
    /// Bytes of one read or write (-b).
    #[schemars(title = "buffer size", extend("minimum" = 512, "maximum" = 64 << 20))]
    pub buffer: Bytes,
    /// Share of the data sets' files to keep, 0 < scale <= 1; shapes stay, counts shrink.
    #[schemars(title = "share", range(max = 1.0), extend("exclusiveMinimum" = 0))]
    pub scale: f64,
    /// Folder with compilebench's four original `dataset-*` files (-s); none: the generator.
    #[schemars(title = "folder")]
    pub sources: Option<String>,
    /// Sync inside each random operation's clock and drop caches before it (off is -n).
    pub sync: bool,
    /// Reproduce compilebench's append mode and dictionary quirks.
    pub compat: bool,
    /// Seed of the generated data sets (the operation sequence has compilebench's own, 555).
    #[schemars(title = "seed")]
    pub dataset_seed: u64,
}

impl Default for TreeSpec {
    fn default() -> Self {
        TreeSpec {
            initial: 30,
            runs: 100,
            buffer: Bytes(256 * Bytes::KIB),
            scale: 1.0,
            sources: None,
            sync: true,
            compat: true,
            dataset_seed: 2009,
        }
    }
}

/// A workload with all its parameters settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkloadSpec {
    /// iozone's throughput mode.
    Throughput(ThroughputSpec),
    /// compilebench.
    Tree(TreeSpec),
}

impl WorkloadSpec {
    /// The workload's name in files and on the command line.
    pub const fn kind(&self) -> &'static str {
        match self {
            WorkloadSpec::Throughput(_) => "throughput",
            WorkloadSpec::Tree(_) => "tree",
        }
    }
}

/// What the rig prepares under the filesystem of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeviceSpec {
    /// Size of a loop image; a real device is used whole unless `limit_size`.
    #[schemars(title = "device size", extend("minimum" = 16 << 20, "maximum" = 1_u64 << 46))]
    pub size: Bytes,
    /// Readahead in 512-byte sectors (`blockdev --setra`); none: what the kernel gives.
    #[schemars(
        title = "readahead in 512-byte sectors",
        range(min = 0, max = 2_097_152)
    )]
    pub readahead: Option<u32>,
    /// Discard the whole device before mkfs, so that each trial sees a fresh disk.
    pub discard: bool,
}

impl Default for DeviceSpec {
    fn default() -> Self {
        DeviceSpec {
            size: Bytes(2 * Bytes::GIB),
            readahead: None,
            discard: true,
        }
    }
}

/// In which order the trials run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Randomised complete blocks: each block holds every cell once, in a seeded random order.
    #[default]
    Blocked,
    /// As the originals ran: all repetitions of a cell together, cells in file order.
    Sequential,
}

/// One combination of factor levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Position in [`Plan::cells`].
    pub id: u32,
    /// Factor name to level, as printed: `filesystem=ext4`, `workload=iozone`, `threads=8`.
    pub levels: BTreeMap<String, String>,
    /// How the filesystem is made and mounted, factors applied.
    pub filesystem: FilesystemVariant,
    /// What the rig prepares.
    pub device: DeviceSpec,
    /// Name of the workload entry in the study (`iozone`, `compilebench`).
    pub workload_name: String,
    /// The workload, factors applied.
    pub workload: WorkloadSpec,
}

impl Cell {
    /// `filesystem=ext4 threads=8 workload=iozone`: the name used in logs and errors.
    pub fn label(&self) -> String {
        let pairs: Vec<String> = self
            .levels
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        pairs.join(" ")
    }
}

/// A place in the order: which cell runs when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// 0-based position in the order of the whole run.
    pub trial: u32,
    /// 0-based block.
    pub block: u32,
    /// [`Cell::id`].
    pub cell: u32,
    /// Seed of this trial, derived from the plan's.
    pub seed: u64,
}

/// One cell in one block: what an executor runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Where it stands in the order.
    pub slot: Slot,
    /// What it does.
    pub cell: Cell,
}

/// One row of a report table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowSpec {
    /// Phase, in the spec's snake case (`initial_write`, `read_compiled_tree`).
    #[schemars(
        title = "phase",
        extend("enum" = crate::file::PHASES)
    )]
    pub phase: String,
    /// Metric of that phase: see docs/metrics.md (`children`, `throughput`, `seconds`).
    #[schemars(title = "metric", extend("enum" = crate::file::METRICS))]
    pub metric: String,
    /// What is inside the clock: `original` (a), `fsync` (b) or `syncfs` (c).
    #[serde(default)]
    #[schemars(title = "clock")]
    pub clock: Clock,
    /// Label at the row's left (`initl_writers`).
    pub label: String,
    /// Unit as printed: `MB/s`, `MB_s` (both 2^20 bytes a second), `secs`, `files/s`.
    #[schemars(title = "unit", extend("enum" = crate::file::UNITS))]
    pub unit: String,
    /// Name of this row in the published records, when they have it.
    #[serde(default)]
    pub published: Option<String>,
}

/// A table of the study's text report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// First line (`Iozone, 1 Thread`).
    pub title: String,
    /// Second line (`Average throughput`).
    #[serde(default)]
    pub subtitle: String,
    /// Levels that a cell must have to be in this table (`workload = "iozone"`, `threads = "1"`).
    #[serde(default, rename = "where")]
    pub filter: BTreeMap<String, String>,
    /// The factor whose levels are the column groups.
    pub columns: String,
    /// The rows, in order.
    pub rows: Vec<RowSpec>,
    /// Level to the published column's name, where it differs (`ext4` -> `ext4-stock`).
    #[serde(default)]
    pub published_columns: BTreeMap<String, String>,
    /// `table` of the published records, with `{column}` for the column (`Iozone {column} : 1 thread`).
    #[serde(default)]
    pub published_table: Option<String>,
}

/// What is inside the clock of a rate.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// (a) as the original tool computes it.
    #[default]
    Original,
    /// (b) to the end of an fsync of every file.
    Fsync,
    /// (c) to the end of syncfs on the filesystem.
    Syncfs,
}

impl Clock {
    /// `(a)`, `(b)` or `(c)`.
    pub const fn mark(self) -> &'static str {
        match self {
            Clock::Original => "(a)",
            Clock::Fsync => "(b)",
            Clock::Syncfs => "(c)",
        }
    }
}

/// The expansion of a study: everything that will be run, in order. Touches nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Name of the study (`journal`).
    pub study: String,
    /// One line.
    pub title: String,
    /// The question it answers.
    pub question: String,
    /// Document of published/ that it repeats (`wohlgemuth2009`).
    pub repeats: Option<String>,
    /// The profile in force (`quick`).
    pub profile: String,
    /// Seed of the order.
    pub seed: u64,
    /// Order of the trials.
    pub order: Order,
    /// Number of blocks.
    pub blocks: u32,
    /// Practical band: differences within this share of 1 are not called differences (0.02).
    pub band: f64,
    /// Variants that any cell uses, by name.
    pub filesystems: BTreeMap<String, FilesystemVariant>,
    /// Factors in the file's order, with their levels in the file's order.
    pub factors: Vec<(String, Vec<String>)>,
    /// Every combination.
    pub cells: Vec<Cell>,
    /// Every trial, in running order.
    pub slots: Vec<Slot>,
    /// Tables of the report.
    pub tables: Vec<TableSpec>,
}

impl Plan {
    /// The trial at a slot.
    ///
    /// # Panics
    /// Never for a slot of this plan: `cell` indexes `cells` by construction.
    pub fn trial(&self, slot: Slot) -> Trial {
        Trial {
            slot,
            cell: self.cells[slot.cell as usize].clone(),
        }
    }
}
