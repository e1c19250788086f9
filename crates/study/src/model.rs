//! What a study expands to: variants, workload parameters, cells, trials and the plan.
//!
//! These are plain values that serialise. The plan is written into the run's event log before
//! anything is touched, so a killed run resumes from the log alone, without its study file.
//! A [`Trial`] is what an executor runs, here or later in a guest kernel.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limit::Limit;
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
    /// Linux AIO (`io_submit`) at a queue depth.
    Aio,
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

/// What the written blocks hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Zero bytes, as `/dev/zero` gives dd.
    #[default]
    Zero,
    /// One repeated pattern.
    Pattern,
    /// Bytes that neither compress nor repeat.
    Random,
}

/// Which phases `stream` runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamTest {
    /// Write, make cold, read (aiod -W, remount, aiod -R).
    #[default]
    WriteRead,
    /// Write alone (aiod -W, dd of=).
    Write,
    /// Read a file that is there (aiod -R, dd if=).
    Read,
}

/// What a writer flushes inside its clock, before it closes (dd's conv=).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Flush {
    /// Nothing.
    #[default]
    None,
    /// fsync (conv=fsync).
    Fsync,
    /// fdatasync (conv=fdatasync).
    Fdatasync,
}

/// Whether each write waits for the device (dd's oflag=).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteThrough {
    /// No.
    #[default]
    None,
    /// O_DSYNC (oflag=dsync): the data.
    Dsync,
    /// O_SYNC (oflag=sync): data and metadata.
    Sync,
}

/// How the cache is emptied between write and read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// A real unmount and mount; in a directory, where that cannot be done, `drop`, and it is said.
    #[default]
    Remount,
    /// sync, drop the caches, prove it.
    Drop,
    /// Nothing: the read finds what the write left.
    Warm,
}

/// Parameters of `stream` (aiod and dd). Letters in brackets are aiod's, words dd's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StreamSpec {
    /// Bytes of a request (-b, bs=).
    #[schemars(title = "request size", extend("minimum" = 512, "maximum" = 1 << 30))]
    pub block: Bytes,
    /// Requests (-w, count=).
    #[schemars(title = "number of requests", range(min = 1))]
    pub count: u64,
    /// O_DIRECT (aiod's default; off is -B).
    pub direct: bool,
    /// The I/O engine (`sync` is -S).
    #[schemars(title = "I/O engine")]
    pub engine: EngineName,
    /// Requests in flight, 1..=4096; more than 1 needs `aio` or `io_uring`.
    #[schemars(title = "queue depth", range(min = 1, max = 4096))]
    pub queue_depth: u32,
    /// What is written.
    #[schemars(title = "content")]
    pub content: Content,
    /// Write a block number and a checksum into each block and check them when reading.
    pub verify: bool,
    /// Which phases run.
    #[schemars(title = "test")]
    pub test: StreamTest,
    /// What is flushed inside the writer's clock (conv=).
    #[schemars(title = "flush")]
    pub flush: Flush,
    /// Whether each write waits for the device (oflag=).
    #[schemars(title = "write-through")]
    pub write_through: WriteThrough,
    /// Write into the file as it is, without truncating it (conv=notrunc).
    pub reuse: bool,
    /// How the cache is emptied between write and read.
    #[schemars(title = "way to a cold cache")]
    pub between: Between,
}

impl Default for StreamSpec {
    fn default() -> Self {
        StreamSpec {
            block: Bytes(4 * Bytes::MIB),
            count: 256,
            direct: false,
            engine: EngineName::Sync,
            queue_depth: 1,
            content: Content::Zero,
            verify: false,
            test: StreamTest::WriteRead,
            flush: Flush::None,
            write_through: WriteThrough::None,
            reuse: false,
            between: Between::Remount,
        }
    }
}

/// Parameters of `fill` (fs_mark). Letters in brackets are fs_mark's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FillSpec {
    /// Files of each process and iteration (-n).
    #[schemars(title = "number of files", range(min = 1))]
    pub files: u64,
    /// Instead of `files`: the files of all processes and iterations together; `files` is then
    /// settled as this divided by both, which must come out even.
    #[schemars(title = "number of files", range(min = 1))]
    pub total_files: Option<u64>,
    /// Processes (-t), 1..=1024.
    #[schemars(title = "process count", range(min = 1, max = 1024))]
    pub processes: u32,
    /// Bytes of a file (-s).
    #[schemars(title = "file size", extend("minimum" = 0, "maximum" = 1_u64 << 50))]
    pub size: Bytes,
    /// Instead of `size`: the share of the device that all files' bytes fill together, so that
    /// files times size stays constant on a device of one size, 0 < share < 1; `size` is then
    /// settled from the device.
    #[schemars(title = "share", extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub fill_share: Option<f64>,
    /// Bytes of one write (-w).
    #[schemars(title = "write size", extend("minimum" = 1, "maximum" = 64 << 20))]
    pub write_size: Bytes,
    /// Base directories (-d, repeated), 1..=64; process j uses j modulo this.
    #[schemars(title = "number of base directories", range(min = 1, max = 64))]
    pub bases: u32,
    /// Subdirectories of each base (-D): 0 for none, else at least 2. 0 with `per_directory` is
    /// settled as many as hold a process's files (`files` / `per_directory`, at least 2).
    #[schemars(title = "number of subdirectories")]
    pub directories: u32,
    /// Files of a process in a subdirectory before it moves on (-N); 0: 180 s in each.
    #[schemars(title = "files per subdirectory")]
    pub per_directory: u64,
    /// Sync method (-S), 0..=6.
    #[schemars(title = "sync method", range(min = 0, max = 6))]
    pub sync_method: u8,
    /// Iterations (-L).
    #[schemars(title = "number of iterations", range(min = 1))]
    pub iterations: u32,
    /// Go on until the filesystem is full, which then is the end and no error (-F).
    pub until_full: bool,
    /// Keep the files (-k); else each iteration unlinks its own, outside the rate.
    pub keep: bool,
    /// Characters of a file's name (-p), 1..=128.
    #[schemars(title = "name length", range(min = 1, max = 128))]
    pub name_length: u32,
    /// Random characters at the end of a name (-r), at most `name_length`.
    #[schemars(title = "random characters", range(min = 1, max = 128))]
    pub random_length: u32,
}

impl Default for FillSpec {
    fn default() -> Self {
        FillSpec {
            files: 1000,
            total_files: None,
            processes: 1,
            size: Bytes(51_200),
            fill_share: None,
            write_size: Bytes(16 * Bytes::KIB),
            bases: 1,
            directories: 0,
            per_directory: 0,
            sync_method: 1,
            iterations: 1,
            until_full: false,
            keep: false,
            name_length: 40,
            random_length: 24,
        }
    }
}

/// Parameters of `age`: the five-round procedure of Layton and Newman (2012). In round k of
/// `rounds`: add `files` files by each process; remove `step` x k directories chosen at random,
/// with their files; add as many directories of `per_directory` files, each inside a directory
/// chosen at random. Paper: 5 rounds, 3 x 7,000,000 files, 7,000 directories, step 700.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgeSpec {
    /// Rounds, 1..=100.
    #[schemars(title = "number of rounds", range(min = 1, max = 100))]
    pub rounds: u32,
    /// Files that each process adds in a round.
    #[schemars(title = "number of files", range(min = 1))]
    pub files: u64,
    /// Processes, 1..=1024.
    #[schemars(title = "process count", range(min = 1, max = 1024))]
    pub processes: u32,
    /// Directories that the files of a round are dealt to (of each process, or shared).
    #[schemars(title = "number of directories", range(min = 2))]
    pub directories: u32,
    /// Files of a process in a directory.
    #[schemars(title = "files per directory", range(min = 1))]
    pub per_directory: u64,
    /// Directories removed, and added again inside others, in round k: `step` x k.
    #[schemars(title = "number of directories")]
    pub step: u32,
    /// Processes share the directories (one -d); else each has its own base (one -d each).
    pub shared: bool,
    /// Bytes of a file.
    #[schemars(title = "file size", extend("minimum" = 0, "maximum" = 1_u64 << 50))]
    pub size: Bytes,
    /// Bytes of one write.
    #[schemars(title = "write size", extend("minimum" = 1, "maximum" = 64 << 20))]
    pub write_size: Bytes,
}

impl Default for AgeSpec {
    fn default() -> Self {
        AgeSpec {
            rounds: 5,
            files: 7_000_000,
            processes: 3,
            directories: 7000,
            per_directory: 1000,
            step: 700,
            shared: true,
            size: Bytes(400_000),
            write_size: Bytes(16 * Bytes::KIB),
        }
    }
}

/// The check that follows a workload: the filesystem is unmounted and its own checker timed,
/// read-only (`e2fsck -fn -tt`, `xfs_repair -n -v`, `btrfs check --readonly`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CheckSpec {
    /// Seconds after which the checker and everything it started is killed, and the trial failed.
    #[schemars(title = "number of seconds", range(min = 0.001, max = 10_000_000.0))]
    pub timeout_seconds: f64,
    /// Drop caches before it, and prove it.
    pub cold: bool,
    /// More arguments for e2fsck, before the device.
    #[schemars(title = "list of words")]
    pub e2fsck: Vec<String>,
    /// More arguments for xfs_repair.
    #[schemars(title = "list of words")]
    pub xfs_repair: Vec<String>,
    /// More arguments for btrfs check.
    #[schemars(title = "list of words")]
    pub btrfs: Vec<String>,
}

impl Default for CheckSpec {
    fn default() -> Self {
        CheckSpec {
            timeout_seconds: 86_400.0,
            cold: true,
            e2fsck: Vec::new(),
            xfs_repair: Vec::new(),
            btrfs: Vec::new(),
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
    /// aiod and dd: one file, streamed.
    Stream(StreamSpec),
    /// fs_mark: many files.
    Fill(FillSpec),
    /// Files added and removed in rounds until the filesystem is aged.
    Age(AgeSpec),
}

impl WorkloadSpec {
    /// The workload's name in files and on the command line.
    pub const fn kind(&self) -> &'static str {
        match self {
            WorkloadSpec::Throughput(_) => "throughput",
            WorkloadSpec::Tree(_) => "tree",
            WorkloadSpec::Stream(_) => "stream",
            WorkloadSpec::Fill(_) => "fill",
            WorkloadSpec::Age(_) => "age",
        }
    }
}

/// What the rig prepares under the filesystem of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeviceSpec {
    /// Size of a loop image; a real device is used whole unless `limit_size`.
    #[schemars(title = "device size", extend("minimum" = 16 << 20, "maximum" = 1_u64 << 50))]
    pub size: Bytes,
    /// Readahead in 512-byte sectors (`blockdev --setra`); none: what the kernel gives.
    #[schemars(
        title = "readahead in 512-byte sectors",
        range(min = 0, max = 2_097_152)
    )]
    pub readahead: Option<u32>,
    /// Discard the whole device before mkfs, so that each trial sees a fresh disk.
    pub discard: bool,
    /// Bytes and operations a second that the device is held to, so that a fast machine can stand
    /// in for a slow disk; none: as fast as it is.
    #[schemars(title = "limit")]
    pub limit: Option<Limit>,
}

impl Default for DeviceSpec {
    fn default() -> Self {
        DeviceSpec {
            size: Bytes(2 * Bytes::GIB),
            readahead: None,
            discard: true,
            limit: None,
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
    /// Memory that the trial, its page cache and its checker may use; none: all there is.
    #[serde(default)]
    pub memory: Option<Bytes>,
    /// The check after the workload; none: no check.
    #[serde(default)]
    pub check: Option<CheckSpec>,
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

/// A table whose rows are factor levels and whose columns are figures: Dokos's streaming table, the
/// fill-and-check matrix of 2012.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GridSpec {
    /// First line.
    pub title: String,
    /// Levels that a cell must have to be in this grid.
    #[serde(default, rename = "where")]
    pub filter: BTreeMap<String, String>,
    /// The factor each of whose levels heads a grid of its own (`filesystem`); none: one grid.
    #[serde(default)]
    pub heading: Option<String>,
    /// Factors whose levels, in their order, are the rows, one label column each.
    pub rows: Vec<GridLabel>,
    /// The figures.
    pub columns: Vec<GridColumn>,
    /// Print, as footnotes, iostat's and top's rows in the middle of the phase of each figure.
    #[serde(default)]
    pub footnotes: bool,
    /// The document whose published grid is printed beside (`dokos2008`), with its `table` name.
    #[serde(default)]
    pub published: Option<String>,
}

/// A label column of a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GridLabel {
    /// The factor (`files`), or `kernel` for the release of the running kernel.
    pub factor: String,
    /// Head of the column (`Number of Files`).
    pub label: String,
}

/// A figure column of a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GridColumn {
    /// Head of the column (`Read (RA=4K)`).
    pub label: String,
    /// Phase.
    #[schemars(title = "phase", extend("enum" = crate::file::PHASES))]
    pub phase: String,
    /// Metric of that phase.
    #[schemars(title = "metric", extend("enum" = crate::file::METRICS))]
    pub metric: String,
    /// What is inside the clock.
    #[serde(default)]
    #[schemars(title = "clock")]
    pub clock: Clock,
    /// Unit as printed.
    #[schemars(title = "unit", extend("enum" = crate::file::UNITS))]
    pub unit: String,
    /// Levels that a cell must have besides the grid's (`readahead = "4096"`).
    #[serde(default, rename = "where")]
    pub filter: BTreeMap<String, String>,
    /// Name of this column in the published records, when they have it.
    #[serde(default)]
    pub published: Option<String>,
}

/// How a figure grows with a factor whose levels are numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrowthSpec {
    /// First line.
    pub title: String,
    /// What grows: `count` of the phase `fill` or `age`, files really counted; or a factor.
    pub x: String,
    /// Unit of x, in the plural (`files`).
    pub x_unit: String,
    /// Phase of the figure (`check`).
    #[schemars(title = "phase", extend("enum" = crate::file::PHASES))]
    pub phase: String,
    /// Its metric (`seconds`).
    #[schemars(title = "metric", extend("enum" = crate::file::METRICS))]
    pub metric: String,
    /// What is inside the clock.
    #[serde(default)]
    #[schemars(title = "clock")]
    pub clock: Clock,
    /// Factors each combination of whose levels gets a law of its own (`filesystem`, `memory`).
    pub by: Vec<String>,
    /// Levels that a cell must have.
    #[serde(default, rename = "where")]
    pub filter: BTreeMap<String, String>,
    /// Values of x to project to.
    #[serde(default)]
    pub projections: Vec<f64>,
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
    /// Grids of the report.
    #[serde(default)]
    pub grids: Vec<GridSpec>,
    /// Growth laws of the report.
    #[serde(default)]
    pub growth: Vec<GrowthSpec>,
    /// Seconds of each sequential read of the raw-device reference before the run (hdparm -t: 3);
    /// 0: no reference.
    #[serde(default)]
    pub reference_seconds: f64,
    /// What a reader of the plan must know, a sentence each: cells that were excluded, and why;
    /// what the target cannot vary.
    #[serde(default)]
    pub notes: Vec<String>,
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
