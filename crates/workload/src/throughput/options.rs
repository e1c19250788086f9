//! The parameters of a run, and what is refused before anything is touched.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::buffer::Buffer;
use crate::engine::{Direction, Kind};
use crate::error::{bad, within};
use crate::memory::total_ram;

/// The six tests, in iozone's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Sequential, into new files (`-i 0`).
    InitialWrite,
    /// Sequential, over the same files (`-i 0`).
    Rewrite,
    /// Sequential (`-i 1`).
    Read,
    /// The same again (`-i 1`).
    Reread,
    /// Each record once, in the order of the permutation (`-i 2`).
    RandomRead,
    /// The same order again, writing (`-i 2`).
    RandomWrite,
}

impl Test {
    /// All, in running order.
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

    /// Whether records are visited in the order of the permutation.
    pub const fn is_random(self) -> bool {
        matches!(self, Test::RandomRead | Test::RandomWrite)
    }

    /// Whether a stonewalled child goes on, uncounted, until its file is whole.
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

/// What becomes of files that are there before the initial write.
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

/// Parameters of a throughput run. Sizes are bytes; letters in brackets are iozone's.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // iozone's flags are what they are
pub struct Options {
    /// Where the files `iozone.DUMMY.<i>` are made.
    pub dir: PathBuf,
    /// Children (-t), 1..=1024.
    pub threads: u32,
    /// Bytes of each child's file (-s).
    pub size: u64,
    /// Bytes of a record (-r), 1 KiB..=16 MiB.
    pub record: u64,
    /// O_DIRECT on every open (-I).
    pub direct: bool,
    /// fsync inside clock (a) (-e).
    pub include_fsync: bool,
    /// close inside clock (a) (-c).
    pub include_close: bool,
    /// Stop counting when the first child finishes (off is -x).
    pub stonewall: bool,
    /// The engine.
    pub engine: Kind,
    /// Requests in flight for each child.
    pub queue_depth: u32,
    /// Rest after the sync that follows every test (iozone: 2 s).
    pub settle: Duration,
    /// Ask the observer to drop the caches before each read test (iozone: no).
    pub cold_reads: bool,
    /// Keep the files at the end (-w).
    pub keep: bool,
    /// What becomes of files that are already there.
    pub file_state: FileState,
    /// Record the latency of each record.
    pub latency: bool,
    /// Which tests (-i); they run in iozone's order, each at most once.
    pub tests: Vec<Test>,
}

impl Options {
    /// iozone's defaults as far as it has any: one child, 256 KiB records, buffered, stonewall.
    pub fn new(dir: impl Into<PathBuf>) -> Options {
        Options {
            dir: dir.into(),
            threads: 1,
            size: 2 << 30,
            record: 256 << 10,
            direct: false,
            include_fsync: false,
            include_close: false,
            stonewall: true,
            engine: Kind::Sync,
            queue_depth: 1,
            settle: Duration::from_secs(2),
            cold_reads: false,
            keep: false,
            file_state: FileState::Fresh,
            latency: false,
            tests: Test::ALL.to_vec(),
        }
    }

    /// Whole records of a file; the rest of `size` is not transferred, as in iozone.
    pub const fn records(&self) -> u64 {
        match self.record {
            0 => 0,
            record => self.size / record,
        }
    }

    /// Bytes of a file that are transferred.
    pub const fn file_bytes(&self) -> u64 {
        self.records() * self.record
    }

    /// Refuses values that no filesystem could serve. Touches nothing.
    pub fn validate(&self) -> Result<(), Error> {
        within("threads", u64::from(self.threads), 1, 1024)?;
        within("record", self.record, 1 << 10, 16 << 20)?;
        if self.size < self.record {
            return Err(bad(
                "size",
                self.size,
                format!(
                    "a file must hold at least one record of {} bytes",
                    self.record
                ),
            ));
        }
        if self
            .file_bytes()
            .checked_mul(u64::from(self.threads))
            .is_none()
        {
            return Err(bad(
                "size",
                self.size,
                "all files together exceed 2^64 bytes",
            ));
        }
        let depth = u64::from(self.engine.capabilities().max_queue_depth);
        if self.queue_depth > 1 && depth == 1 {
            return Err(bad(
                "queue_depth",
                self.queue_depth,
                format!(
                    "engine {} has one request in flight; take 1, or engine aio or io_uring",
                    self.engine.name()
                ),
            ));
        }
        within("queue_depth", u64::from(self.queue_depth), 1, depth)?;
        if self.settle > Duration::from_secs(3600) {
            return Err(bad(
                "settle",
                format!("{:?}", self.settle),
                "at most an hour",
            ));
        }
        self.validate_tests()?;
        self.validate_memory(total_ram() / 2)
    }

    /// Bytes of all children's buffers, and of the order they share in random tests.
    fn memory(&self) -> (u64, u64) {
        let record = self.record as usize;
        let len = record * self.queue_depth as usize;
        let buffers = if self.engine.capabilities().transfers {
            (0..self.threads)
                .map(|child| Buffer::footprint(child, record, len) as u64)
                .sum()
        } else {
            0
        };
        let random = self.tests.iter().any(|t| t.is_random());
        let order = if random { 4 * self.records() } else { 0 };
        (buffers, order)
    }

    /// `half` of the memory, bytes.
    fn validate_memory(&self, half: u64) -> Result<(), Error> {
        let (buffers, order) = self.memory();
        if buffers + order <= half {
            return Ok(());
        }
        if order > buffers {
            return Err(bad(
                "record",
                self.record,
                format!(
                    "the random order of {} records needs {order} bytes, with buffers of \
                     {buffers} more than half of the memory; take larger records",
                    self.records()
                ),
            ));
        }
        Err(bad(
            "queue_depth",
            self.queue_depth,
            format!(
                "threads * queue_depth * record, in huge pages of 2 MiB, needs buffers of \
                 {buffers} bytes, with a random order of {order} more than half of the memory; \
                 take less of one of them"
            ),
        ))
    }

    fn validate_tests(&self) -> Result<(), Error> {
        let random = self.tests.iter().any(|t| t.is_random());
        if self.tests.is_empty() {
            return Err(bad("tests", "[]", "name at least one test"));
        }
        if random && u32::try_from(self.records()).is_err() {
            return Err(bad(
                "record",
                self.record,
                format!(
                    "{} records of one file exceed the 2^32 of a random order; take larger records",
                    self.records()
                ),
            ));
        }
        Ok(())
    }

    /// The tests in running order.
    pub fn tests_in_order(&self) -> Vec<Test> {
        let mut tests = self.tests.clone();
        tests.sort_unstable();
        tests.dedup();
        tests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(change: impl FnOnce(&mut Options)) -> String {
        let mut options = Options::new("/nowhere");
        change(&mut options);
        options.validate().unwrap_err().to_string()
    }

    #[test]
    fn defaults_are_valid() {
        Options::new("/nowhere").validate().unwrap();
    }

    #[test]
    fn bad_values_are_refused_with_the_option_and_what_is_allowed() {
        assert_eq!(message(|o| o.threads = 0), "threads = 0: must be 1..=1024");
        assert_eq!(
            message(|o| o.threads = 1025),
            "threads = 1025: must be 1..=1024"
        );
        assert_eq!(
            message(|o| o.record = 512),
            "record = 512: must be 1024..=16777216"
        );
        assert!(message(|o| o.record = 17 << 20).contains("1024..=16777216"));
        assert!(message(|o| o.size = 1).contains("at least one record of 262144"));
        assert!(message(|o| (o.threads, o.size) = (1024, 1 << 60)).contains("2^64"));
        assert!(message(|o| o.queue_depth = 2).contains("engine sync has one request"));
        assert!(message(|o| (o.queue_depth, o.engine) = (0, Kind::IoUring)).contains("1..=4096"));
        assert!(message(|o| o.tests.clear()).contains("at least one test"));
        assert!(message(|o| o.settle = Duration::from_secs(4000)).contains("an hour"));
        let huge = message(|o| {
            (o.engine, o.queue_depth, o.threads, o.record) = (Kind::IoUring, 4096, 1024, 16 << 20);
        });
        assert!(huge.contains("half of the memory"), "{huge}");
        assert!(message(|o| (o.size, o.record) = (1 << 52, 1024)).contains("2^32"));
    }

    #[test]
    fn memory_is_the_buffers_with_their_alignment_and_the_random_order() {
        const MIB: u64 = 1 << 20;
        let mut options = Options::new("/nowhere");
        (options.threads, options.size, options.record) = (3, 1 << 30, MIB);
        assert_eq!(options.memory(), (6 * MIB, 4 * 1024));
        (options.threads, options.record) = (2, MIB / 4);
        // Each a huge page; the second one record further in.
        assert_eq!(options.memory(), (4 * MIB, 4 * 4096));
        options.validate_memory(5 * MIB).unwrap();
        (options.threads, options.record) = (1, 1024);
        let error = options.validate_memory(5 * MIB).unwrap_err().to_string();
        assert!(
            error.starts_with("record = 1024: the random order of 1048576 records needs 4194304"),
            "{error}"
        );
        options.tests = vec![Test::Read];
        options.validate_memory(2 * MIB).unwrap();
        let error = options.validate_memory(MIB).unwrap_err().to_string();
        assert!(error.starts_with("queue_depth = 1: "), "{error}");
        options.engine = Kind::Null;
        assert_eq!(options.memory(), (0, 0));
    }

    #[test]
    fn tests_run_in_iozones_order_once() {
        let mut options = Options::new("/nowhere");
        options.tests = vec![Test::RandomRead, Test::InitialWrite, Test::RandomRead];
        assert_eq!(
            options.tests_in_order(),
            [Test::InitialWrite, Test::RandomRead]
        );
    }
}
