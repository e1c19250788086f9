//! Parameters of aiod and dd.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{self, Direction, Kind};
use crate::ranks::MOST_RANKS;
use crate::{Bytes, Footprint, Invalid, Load, Parameters};

/// What the written blocks hold.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Zero bytes, as dd reads them from `/dev/zero`.
    #[default]
    Zero,
    /// One repeated byte.
    Pattern,
    /// Bytes that neither compress nor repeat within 1 MiB.
    Random,
}

/// Which phases `stream` runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "StreamTest")]
pub enum Test {
    /// Write, make cold, read (aiod -W, remount, aiod -R).
    #[default]
    WriteRead,
    /// Write only (aiod -W, dd of=).
    Write,
    /// Make cold and read an existing file (aiod -R, dd if=).
    Read,
}

impl Test {
    /// Its phases, in running order.
    pub const fn phases(self) -> &'static [Direction] {
        match self {
            Test::WriteRead => &[Direction::Write, Direction::Read],
            Test::Write => &[Direction::Write],
            Test::Read => &[Direction::Read],
        }
    }

    /// Whether it writes.
    pub const fn writes(self) -> bool {
        !matches!(self, Test::Read)
    }

    /// Whether it reads.
    pub const fn reads(self) -> bool {
        !matches!(self, Test::Write)
    }
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
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// A real unmount and mount; in a directory, where that is not possible, `drop`, and the report
    /// says so.
    #[default]
    #[value(skip)]
    Remount,
    /// sync, drop the caches, prove them cold.
    Drop,
    /// Nothing: the read finds what the write left in the cache.
    Warm,
}

/// Parameters of `stream` (aiod and dd). Letters in brackets are aiod's, words dd's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the originals' switches, one each"
)]
pub struct StreamSpec {
    /// The directory of the file.
    #[serde(skip)]
    #[arg(
        long,
        value_name = "DIR",
        help = "Directory on the filesystem under test"
    )]
    pub dir: PathBuf,
    /// Bytes of a request (aiod -b, dd bs=).
    #[schemars(title = "request size", extend("minimum" = 512, "maximum" = 1 << 30))]
    #[arg(short = 'b', long, default_value = "4m")]
    pub block: Bytes,
    /// Requests (aiod -w, dd count=).
    #[schemars(title = "number of requests", range(min = 1))]
    #[arg(short = 'w', long, default_value_t = 256, value_name = "N")]
    pub count: u64,
    /// O_DIRECT (aiod without -B, dd oflag=direct).
    #[arg(short = 'I', long)]
    pub direct: bool,
    /// I/O engine (`sync` is aiod -S).
    #[schemars(title = "I/O engine")]
    #[arg(long, value_enum, default_value = "sync", help = "I/O engine")]
    pub engine: Kind,
    /// Requests in flight, 1..=4096; more than 1 needs `aio` or `io_uring`.
    #[schemars(title = "queue depth", range(min = 1, max = 4096))]
    #[arg(
        long,
        default_value_t = 1,
        value_name = "N",
        help = "Requests in flight (aio and io-uring only)"
    )]
    pub queue_depth: u32,
    /// What the written blocks hold.
    #[schemars(title = "content")]
    #[arg(long, value_enum, default_value = "zero")]
    pub content: Content,
    /// Write a block number and a checksum into each block, and check them when reading.
    #[arg(long)]
    pub verify: bool,
    /// Which phases run.
    #[schemars(title = "test")]
    #[arg(skip)]
    pub test: Test,
    /// What is flushed inside the writer's clock (dd conv=).
    #[schemars(title = "flush")]
    #[arg(skip)]
    pub flush: Flush,
    /// Whether each write waits for the device (dd oflag=).
    #[schemars(title = "write-through")]
    #[arg(skip)]
    pub write_through: WriteThrough,
    /// Write into the existing file without truncating it (dd conv=notrunc).
    #[arg(skip)]
    pub reuse: bool,
    /// How the cache is emptied between write and read.
    #[schemars(title = "way to a cold cache")]
    #[arg(long, value_enum, default_value = "drop")]
    pub between: Between,
    /// Record how long each open, read, write, fsync and close takes.
    #[arg(
        long = "no-latency",
        action = ArgAction::SetFalse,
        help = "Do not record how long each operation takes"
    )]
    pub latency: bool,
    /// Name of the file in the directory, without a path.
    #[serde(skip)]
    #[arg(
        long,
        value_name = "NAME",
        default_value = FILE,
        help = "Name of the file, in the directory"
    )]
    pub file: String,
    /// Blocks skipped at the start of the file when writing (dd seek=). Without `reuse` the file is
    /// truncated to this length, as dd does: earlier data before it stay, else there is a hole.
    #[serde(skip)]
    #[arg(
        long,
        default_value_t = 0,
        value_name = "N",
        help = "Blocks skipped at the start of the file when writing (dd seek=)"
    )]
    pub seek: u64,
    /// Blocks skipped at the start of the file when reading (dd skip=).
    #[serde(skip)]
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub skip: u64,
    /// Keep the file that was written; -W implies it.
    #[serde(skip)]
    #[arg(long, help = "Keep the file; -W implies it")]
    pub keep: bool,
    /// Processes of MPI that run it at the same time (`--executor mpi`), each in a folder of its own.
    #[serde(skip_serializing_if = "crate::ranks::is_one")]
    #[schemars(title = "number of ranks", range(min = 1, max = MOST_RANKS))]
    #[arg(skip = 1_u32)]
    pub ranks: u32,
}

/// The file's name in the messages of 2008 and 2010, and in the listings that answered them.
const FILE: &str = "bigfile";

/// aiod -S -B: 256 requests of 4 MiB of zeros, buffered, written, made cold and read.
impl Default for StreamSpec {
    fn default() -> Self {
        StreamSpec {
            dir: PathBuf::new(),
            block: Bytes(4 * Bytes::MIB),
            count: 256,
            direct: false,
            engine: Kind::Sync,
            queue_depth: 1,
            content: Content::Zero,
            verify: false,
            test: Test::WriteRead,
            flush: Flush::None,
            write_through: WriteThrough::None,
            reuse: false,
            between: Between::Remount,
            latency: true,
            file: FILE.into(),
            seek: 0,
            skip: 0,
            keep: false,
            ranks: 1,
        }
    }
}

/// The unit of verification in bytes: each has a checksum of its own.
pub const UNIT: u64 = 4096;

impl StreamSpec {
    /// The defaults, in this directory.
    pub fn new(dir: impl Into<PathBuf>) -> StreamSpec {
        StreamSpec {
            dir: dir.into(),
            ..StreamSpec::default()
        }
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.dir.join(&self.file)
    }

    /// Bytes that each phase moves.
    pub const fn bytes(&self) -> u64 {
        self.block.get().saturating_mul(self.count)
    }

    /// The first block of a phase.
    pub const fn first(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Read => self.skip,
            Direction::Write => self.seek,
        }
    }

    /// Bytes that the file has at least after the write, or must have for the read.
    pub const fn end(&self, direction: Direction) -> u64 {
        let blocks = self.first(direction).saturating_add(self.count);
        self.block.get().saturating_mul(blocks)
    }

    fn validate_file(&self) -> Result<(), Invalid> {
        let plain = Path::new(&self.file).file_name() == Some(self.file.as_ref());
        if plain && !self.file.contains('\0') {
            return Ok(());
        }
        let reason = "must be the name of a file in dir, without a path";
        Err(Invalid::new("file", format!("{:?}", self.file), reason))
    }

    fn validate_end(&self) -> Result<(), Invalid> {
        for (option, blocks, direction) in [
            ("seek", self.seek, Direction::Write),
            ("skip", self.skip, Direction::Read),
        ] {
            if self.end(direction) > i64::MAX as u64 {
                let reason = "the file would exceed 2^63 bytes; skip fewer blocks";
                return Err(Invalid::new(option, blocks, reason));
            }
        }
        Ok(())
    }

    fn validate_verification(&self) -> Result<(), Invalid> {
        if !self.verify {
            return Ok(());
        }
        let refuse = |reason: String| Err(Invalid::new("verify", true, reason));
        if !self.block.get().is_multiple_of(UNIT) {
            return refuse(format!(
                "block {} is not a multiple of {UNIT} bytes; use one that is",
                self.block
            ));
        }
        if !self.engine.capabilities().transfers {
            return refuse("engine null transfers no data to verify; use another".into());
        }
        if self.test == Test::WriteRead && self.seek != self.skip {
            return refuse(format!(
                "it would read from block {} on what was written from block {} on; make skip and \
                 seek equal, or read in a run of its own",
                self.skip, self.seek
            ));
        }
        Ok(())
    }
}

impl Parameters for StreamSpec {
    fn validate(&self) -> Result<(), Invalid> {
        Invalid::unless_within("ranks", self.ranks, 1, MOST_RANKS)?;
        let (least, most) = (Bytes(512), Bytes(Bytes::GIB));
        self.validate_file()?;
        Invalid::unless_within("block", self.block, least, most)?;
        let requests = i64::MAX as u64 / self.block.get();
        Invalid::unless_within("count", self.count, 1, requests)?;
        self.validate_end()?;
        engine::validate_direct("block", self.block, self.direct, self.engine)?;
        self.engine.validate_queue_depth(self.queue_depth)?;
        self.validate_verification()
    }

    /// Its file stays: it goes with the filesystem, and the check after the workload should find it.
    fn place(&mut self, dir: &Path, _seed: u64) {
        dir.clone_into(&mut self.dir);
        self.keep = true;
    }

    fn footprint(&self) -> Footprint {
        let all = self.block.get() as f64 * self.count as f64;
        let part = |wanted: bool| if wanted { all } else { 0.0 };
        Footprint {
            peak: all,
            written: part(self.test.writes()),
            read: part(self.test.reads()),
            files: 1.0,
            kept: 1.0,
            syncs: 2.0,
            ..Footprint::default()
        }
        .of_ranks(self.ranks)
    }

    fn load(&self) -> Load {
        Load {
            parameter: "count",
            amount: format!("{} requests of {}", self.count, self.block),
            smaller: "a smaller count",
        }
    }

    fn largest_file(&self) -> Option<(&'static str, u64)> {
        Some(("count", self.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(change: impl FnOnce(&mut StreamSpec)) -> String {
        let mut spec = StreamSpec::new("/nowhere");
        change(&mut spec);
        spec.validate().unwrap_err().to_string()
    }

    #[test]
    fn the_defaults_are_aiods() {
        let spec = StreamSpec::new("/nowhere");
        spec.validate().unwrap();
        assert_eq!((spec.block.get(), spec.bytes()), (4_194_304, 1 << 30));
        assert_eq!(spec.path(), Path::new("/nowhere/bigfile"));
    }

    #[test]
    fn bad_values_are_refused_with_the_option_and_what_is_allowed() {
        assert_eq!(
            message(|o| o.block = Bytes(100)),
            "block = 100: must be 512..=1g"
        );
        assert!(message(|o| o.count = 0).starts_with("count = 0: must be 1..="));
        assert!(message(|o| o.count = 1 << 50).starts_with("count = "));
        assert!(message(|o| o.skip = 1 << 50).contains("2^63"));
        assert!(message(|o| o.seek = u64::MAX).contains("2^63"));
        assert_eq!(
            message(|o| o.queue_depth = 2),
            "queue_depth = 2: engine sync has one request in flight; use 1, or engine aio or io_uring"
        );
        for kind in [Kind::Aio, Kind::IoUring] {
            assert!(message(|o| (o.engine, o.queue_depth) = (kind, 0)).contains("1..=4096"));
            assert!(message(|o| (o.engine, o.queue_depth) = (kind, 4097)).contains("1..=4096"));
        }
        assert_eq!(
            message(|o| (o.direct, o.block) = (true, Bytes(4097))),
            "block = 4097: O_DIRECT needs a multiple of 512 bytes at least (as in 4k)"
        );
        for name in ["", ".", "..", "a/b", "/a", "a/", "a\0b"] {
            assert!(
                message(|o| o.file = name.into()).contains("without a path"),
                "{name}"
            );
        }
    }

    #[test]
    fn verification_needs_whole_units_data_and_the_same_place() {
        assert!(
            message(|o| (o.verify, o.block) = (true, Bytes(5120))).contains("multiple of 4096")
        );
        assert!(message(|o| (o.verify, o.engine) = (true, Kind::Null)).contains("no data"));
        assert!(message(|o| (o.verify, o.seek) = (true, 3)).contains("from block 3 on"));
        let mut spec = StreamSpec::new("/nowhere");
        (spec.verify, spec.seek, spec.skip) = (true, 3, 3);
        spec.validate().unwrap();
        (spec.test, spec.skip) = (Test::Read, 0);
        spec.validate().unwrap();
    }
}
