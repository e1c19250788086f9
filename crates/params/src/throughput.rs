//! Parameters of iozone's throughput mode.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{self, Direction, Kind};
use crate::ranks::MOST_RANKS;
use crate::{Bytes, Footprint, Invalid, Load, Parameters};

/// Parameters of `throughput` (iozone -t). Letters in brackets are iozone's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "iozone's switches, one each")]
pub struct ThroughputSpec {
    /// Directory on the filesystem under test: the files are `iozone.DUMMY.N`.
    #[serde(skip)]
    #[arg(
        long,
        value_name = "DIR",
        help = "Directory on the filesystem under test"
    )]
    pub dir: PathBuf,
    /// Threads, each with a file of its own (iozone -t), 1..=1024.
    #[schemars(title = "thread count", range(min = 1, max = 1024))]
    #[arg(
        short = 't',
        long,
        default_value_t = 1,
        help = "Threads, each with a file of its own (iozone -t)"
    )]
    pub threads: u32,
    /// File size of each thread (iozone -s).
    #[schemars(title = "file size", extend("minimum" = 1024, "maximum" = 1_u64 << 50))]
    #[arg(short = 's', long, default_value = "512k")]
    pub size: Bytes,
    /// Record size: bytes of one read or write (iozone -r), 1 KiB..=16 MiB.
    #[schemars(title = "record size", extend("minimum" = 1024, "maximum" = 16 << 20))]
    #[arg(
        short = 'r',
        long,
        default_value = "4k",
        help = "Record size: bytes of one read or write (iozone -r)"
    )]
    pub record: Bytes,
    /// O_DIRECT on every open (iozone -I).
    #[arg(short = 'I', long)]
    pub direct: bool,
    /// Include fsync in clock (a) (iozone -e).
    #[arg(short = 'e', long)]
    pub include_fsync: bool,
    /// Include close in clock (a) (iozone -c).
    #[arg(short = 'c', long)]
    pub include_close: bool,
    /// Stop counting when the first thread finishes (off is iozone -x).
    #[arg(
        short = 'x',
        long = "no-stonewall",
        action = ArgAction::SetFalse,
        help = "No stonewall: count until each thread has finished (iozone -x)"
    )]
    pub stonewall: bool,
    /// I/O engine.
    #[schemars(title = "I/O engine")]
    #[arg(long, value_enum, default_value = "sync")]
    pub engine: Kind,
    /// Requests in flight per thread, 1..=4096; more than 1 needs `aio` or `io_uring`.
    #[schemars(title = "queue depth", range(min = 1, max = 4096))]
    #[arg(
        long,
        default_value_t = 1,
        value_name = "N",
        help = "Requests in flight per thread (aio and io-uring only)"
    )]
    pub queue_depth: u32,
    /// Seconds of rest after each test's sync (iozone: 2).
    #[schemars(title = "number of seconds", range(min = 0.0, max = 3600.0))]
    #[arg(
        long = "settle",
        default_value_t = 2.0,
        value_name = "S",
        allow_negative_numbers = true,
        help = "Seconds of rest after each test's sync"
    )]
    pub settle_seconds: f64,
    /// Drop the caches before each read test and prove them cold (iozone: no).
    #[arg(
        long = "cold",
        help = "Drop the caches before each read test and prove them cold"
    )]
    pub cold_reads: bool,
    /// Also do what iozone does with each record inside its clock: buffers on pages as they come,
    /// one word of each page written before a write and checked after a read, and `lseek` before a
    /// random record. Needs the engine `sync`.
    #[arg(
        long,
        help = "Touch each page of a record, seek and place buffers as iozone does"
    )]
    pub as_original: bool,
    /// Record how long each read, write, open, fsync and close takes.
    #[arg(
        long = "no-latency",
        action = ArgAction::SetFalse,
        help = "Do not record how long each operation takes"
    )]
    pub latency: bool,
    /// Keep the files (iozone -w).
    #[serde(skip)]
    #[arg(short = 'w', long)]
    pub keep: bool,
    /// What happens to files that exist before the initial write.
    #[serde(skip)]
    #[arg(skip)]
    pub file_state: FileState,
    /// The tests to run (iozone -i), in iozone's order, each at most once.
    #[serde(skip)]
    #[arg(skip = Test::ALL.to_vec())]
    pub tests: Vec<Test>,
    /// Processes of MPI that run it at the same time (`--executor mpi`), each in a folder of its own.
    #[serde(skip_serializing_if = "crate::ranks::is_one")]
    #[schemars(title = "number of ranks", range(min = 1, max = MOST_RANKS))]
    #[arg(skip = 1_u32)]
    pub ranks: u32,
}

/// iozone's own defaults, as far as it has any.
impl Default for ThroughputSpec {
    fn default() -> Self {
        ThroughputSpec {
            dir: PathBuf::new(),
            threads: 1,
            size: Bytes(2 * Bytes::GIB),
            record: Bytes(256 * Bytes::KIB),
            direct: false,
            include_fsync: false,
            include_close: false,
            stonewall: true,
            engine: Kind::Sync,
            queue_depth: 1,
            settle_seconds: 2.0,
            cold_reads: false,
            as_original: false,
            latency: true,
            keep: false,
            file_state: FileState::Fresh,
            tests: Test::ALL.to_vec(),
            ranks: 1,
        }
    }
}

impl ThroughputSpec {
    /// The defaults, in this directory.
    pub fn new(dir: impl Into<PathBuf>) -> ThroughputSpec {
        ThroughputSpec {
            dir: dir.into(),
            ..ThroughputSpec::default()
        }
    }

    /// Whole records of a file; the rest of `size` is not transferred, as in iozone.
    pub const fn records(&self) -> u64 {
        match self.record.get() {
            0 => 0,
            record => self.size.get() / record,
        }
    }

    /// Bytes of a file that are transferred.
    pub const fn file_bytes(&self) -> u64 {
        self.records() * self.record.get()
    }

    /// The tests in running order.
    pub fn tests_in_order(&self) -> Vec<Test> {
        let mut tests = self.tests.clone();
        tests.sort_unstable();
        tests.dedup();
        tests
    }

    fn validate_tests(&self) -> Result<(), Invalid> {
        if self.tests.is_empty() {
            return Err(Invalid::new("tests", "[]", "name at least one test"));
        }
        let random = self.tests.iter().any(|t| t.is_random());
        if random && u32::try_from(self.records()).is_err() {
            let reason = format!(
                "{} records of one file exceed the 2^32 of a random order; use larger records",
                self.records()
            );
            return Err(Invalid::new("record", self.record, reason));
        }
        Ok(())
    }
}

impl Parameters for ThroughputSpec {
    fn validate(&self) -> Result<(), Invalid> {
        Invalid::unless_within("ranks", self.ranks, 1, MOST_RANKS)?;
        let (least, most) = (Bytes(Bytes::KIB), Bytes(16 * Bytes::MIB));
        Invalid::unless_within("threads", self.threads, 1, 1024)?;
        Invalid::unless_within("record", self.record, least, most)?;
        if self.size < self.record {
            let reason = format!("a file must hold at least one record of {}", self.record);
            return Err(Invalid::new("size", self.size, reason));
        }
        let all = self.file_bytes().checked_mul(u64::from(self.threads));
        if all.is_none() {
            let reason = "all files together exceed 2^64 bytes";
            return Err(Invalid::new("size", self.size, reason));
        }
        engine::validate_direct("record", self.record, self.direct, self.engine)?;
        self.engine.validate_queue_depth(self.queue_depth)?;
        if self.as_original && self.engine != Kind::Sync {
            let reason = "iozone's own calls are those of the engine sync; take `engine = \"sync\"` \
                          or leave as_original out";
            return Err(Invalid::new("as_original", true, reason));
        }
        Invalid::unless_within("settle_seconds", self.settle_seconds, 0.0, 3600.0)?;
        self.validate_tests()
    }

    fn place(&mut self, dir: &Path, _seed: u64) {
        dir.clone_into(&mut self.dir);
    }

    fn footprint(&self) -> Footprint {
        // Six tests, a sync and a rest after each, and another before each of the random two.
        const SYNCS: f64 = 8.0;
        let all = self.size.get() as f64 * f64::from(self.threads);
        Footprint {
            peak: all,
            written: 2.0 * all,
            written_randomly: all,
            read: 2.0 * all,
            read_randomly: all,
            files: f64::from(self.threads),
            kept: f64::from(self.threads),
            requests: 0.0,
            syncs: SYNCS,
            rest: SYNCS * self.settle_seconds,
        }
        .of_ranks(self.ranks)
    }

    fn load(&self) -> Load {
        let plural = if self.threads == 1 { "" } else { "s" };
        Load {
            parameter: "size",
            amount: format!("{} file{plural} x {}", self.threads, self.size),
            smaller: "smaller files",
        }
    }

    fn largest_file(&self) -> Option<(&'static str, u64)> {
        Some(("size", self.size.get()))
    }
}

/// The six tests, in iozone's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Sequential writes of new files (`-i 0`).
    InitialWrite,
    /// Sequential writes over the same files (`-i 0`).
    Rewrite,
    /// Sequential reads (`-i 1`).
    Read,
    /// The same again (`-i 1`).
    Reread,
    /// Reads of each record once, in random order (`-i 2`).
    RandomRead,
    /// Writes of each record once, in the same random order (`-i 2`).
    RandomWrite,
}

impl Test {
    /// All tests, in running order.
    pub const ALL: [Test; 6] = [
        Test::InitialWrite,
        Test::Rewrite,
        Test::Read,
        Test::Reread,
        Test::RandomRead,
        Test::RandomWrite,
    ];

    /// The phase's name in snake case.
    pub const fn name(self) -> &'static str {
        match self {
            Test::InitialWrite => "initial_write",
            Test::Rewrite => "rewrite",
            Test::Read => "read",
            Test::Reread => "reread",
            Test::RandomRead => "random_read",
            Test::RandomWrite => "random_write",
        }
    }

    /// Read or write.
    pub const fn direction(self) -> Direction {
        match self {
            Test::Read | Test::Reread | Test::RandomRead => Direction::Read,
            Test::InitialWrite | Test::Rewrite | Test::RandomWrite => Direction::Write,
        }
    }

    /// Whether records are visited in random order.
    pub const fn is_random(self) -> bool {
        matches!(self, Test::RandomRead | Test::RandomWrite)
    }

    /// Whether a child stopped by the stonewall goes on, uncounted, until its file is whole.
    pub const fn completes_after_stonewall(self) -> bool {
        matches!(self, Test::InitialWrite | Test::RandomWrite)
    }

    /// iozone's `-i` number.
    pub const fn group(self) -> u8 {
        match self {
            Test::InitialWrite | Test::Rewrite => 0,
            Test::Read | Test::Reread => 1,
            Test::RandomRead | Test::RandomWrite => 2,
        }
    }
}

/// What happens to files that exist before the initial write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// Unlinked first: the initial write allocates.
    #[default]
    Fresh,
    /// Opened as they are, as iozone does: the initial write of a leftover file overwrites.
    Reuse,
    /// Opened with O_TRUNC.
    Truncate,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(change: impl FnOnce(&mut ThroughputSpec)) -> String {
        let mut spec = ThroughputSpec::default();
        change(&mut spec);
        spec.validate().unwrap_err().to_string()
    }

    #[test]
    fn bad_values_are_refused_with_the_option_and_what_is_allowed() {
        assert_eq!(message(|o| o.threads = 0), "threads = 0: must be 1..=1024");
        assert_eq!(
            message(|o| o.threads = 1025),
            "threads = 1025: must be 1..=1024"
        );
        assert_eq!(
            message(|o| o.record = Bytes(512)),
            "record = 512: must be 1k..=16m"
        );
        assert!(message(|o| o.record = Bytes(17 << 20)).contains("1k..=16m"));
        assert!(message(|o| o.size = Bytes(1)).contains("at least one record of 256k"));
        assert!(message(|o| (o.threads, o.size) = (1024, Bytes(1 << 60))).contains("2^64"));
        assert!(message(|o| o.queue_depth = 2).contains("engine sync has one request"));
        assert!(message(|o| (o.queue_depth, o.engine) = (0, Kind::IoUring)).contains("1..=4096"));
        assert!(message(|o| (o.direct, o.record) = (true, Bytes(1025))).contains("O_DIRECT"));
        assert!(message(|o| o.tests.clear()).contains("at least one test"));
        assert!(
            message(|o| (o.as_original, o.engine) = (true, Kind::IoUring)).contains("engine sync")
        );
        for seconds in [4000.0, -1.0, f64::NAN] {
            assert!(message(|o| o.settle_seconds = seconds).contains("0..=3600"));
        }
        assert!(message(|o| (o.size, o.record) = (Bytes(1 << 52), Bytes(1024))).contains("2^32"));
    }

    #[test]
    fn tests_run_in_iozones_order_once() {
        let spec = ThroughputSpec {
            tests: vec![Test::RandomRead, Test::InitialWrite, Test::RandomRead],
            ..ThroughputSpec::default()
        };
        assert_eq!(
            spec.tests_in_order(),
            [Test::InitialWrite, Test::RandomRead]
        );
    }
}
