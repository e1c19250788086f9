//! A whole check of whatever it is given, held to bounds: memory, bytes read, time.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::pedantic,
    reason = "the fuzz target, the test and the example each use a part"
)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use blockio::layer::Counting;
use blockio::{BlockSource, Sweep};
use check::ext4::{self, Reference};
use check::report::{self, Judge};
use check::{Failure, Observer, Options, Progress, Report};
use progress::Step;

use super::allocator;
use super::damage::Subject;

/// Bytes of memory that a check is allowed.
pub const MEMORY: u64 = 40 << 20;
/// Bytes read for each byte of the image that is no hole, and those that come on top.
pub const READS: u64 = 100;
/// See [`READS`].
pub const READS_LEAST: u64 = 32 << 20;
/// A check that takes longer hangs.
pub const LONGEST: Duration = Duration::from_secs(20);

/// What a check took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Took {
    /// Most bytes of memory.
    pub memory: u64,
    /// Bytes read.
    pub read: u64,
    /// Those of the image that are no hole.
    pub data: u64,
    /// Time.
    pub time: Duration,
    /// It ended for want of memory.
    pub refused: bool,
    /// Problems found.
    pub kinds: usize,
}

/// Ends a check that takes too long, and sees that progress is one that people can watch.
struct Deadline {
    end: Instant,
    missed: AtomicBool,
    expected: AtomicU64,
    done: AtomicU64,
}

impl Progress for Deadline {
    fn begin(&self, _: Step) {
        self.expected.store(0, Relaxed);
        self.done.store(0, Relaxed);
    }

    fn expect(&self, bytes: u64) {
        self.expected.fetch_add(bytes, Relaxed);
    }

    fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Relaxed);
    }

    fn cancelled(&self) -> bool {
        let late = Instant::now() > self.end;
        self.missed.fetch_or(late, Relaxed);
        late
    }
}

impl Observer for Deadline {}

/// Checks it and prints the report in every way.
///
/// # Panics
/// A bound does not hold, or the checker panics.
pub fn hold(subject: &Subject) -> Took {
    let ram = subject.image.source();
    if subject.failing.is_empty() {
        held(&ram, subject)
    } else {
        held(&ram.failing(subject.failing.clone(), 5), subject)
    }
}

fn held(source: &dyn BlockSource, subject: &Subject) -> Took {
    let counting = Counting::new(source);
    let options = Options {
        threads: subject.threads,
        sweep: Sweep {
            request: 64 << 10,
            depth: 4,
            gap: 4096,
            ..Sweep::default()
        },
        memory: Some(MEMORY),
        now: 1_800_000_000,
        ..Options::default()
    };
    let own = ext4::Options {
        reference: if subject.old {
            Reference::E2fsck1470
        } else {
            Reference::E2fsck1474
        },
        superblock: subject.superblock,
        ..ext4::Options::default()
    };
    let begin = Instant::now();
    let watch = Deadline {
        end: begin + LONGEST,
        missed: AtomicBool::new(false),
        expected: AtomicU64::new(0),
        done: AtomicU64::new(0),
    };
    let before = allocator::begin();
    let result = check::ext4::check(&counting, &options, &own, &watch);
    let memory = (allocator::peak() - before) as u64;
    let read = counting.counts().bytes;
    let data = subject.image.data();
    assert!(
        !watch.missed.load(Relaxed),
        "no end after {LONGEST:?}, {read} bytes read of {data}"
    );
    assert!(
        memory <= MEMORY,
        "{memory} bytes of memory, and {MEMORY} are allowed"
    );
    assert!(
        read <= READS * data + READS_LEAST,
        "{read} bytes read of an image with {data}"
    );
    let mut took = Took {
        memory,
        read,
        data,
        time: begin.elapsed(),
        ..Took::default()
    };
    match result {
        Ok(report) => {
            took.kinds = report.findings.tallies.len();
            print(&report);
        }
        Err(Failure::Memory { .. } | Failure::Grown { .. } | Failure::OutOfMemory(_)) => {
            took.refused = true
        }
        Err(error) => panic!("{error}"),
    }
    took
}

fn print(report: &Report) {
    for judge in [Judge::Reference, Judge::Strict] {
        assert!(!report::text(report, judge, report::Shown::default()).is_empty());
        assert!(report::json(report, judge).is_ok());
        assert!(!report::e2fsck(report, judge, 3).is_empty());
        assert!(!report::ocfs2(report, judge, 3).is_empty());
    }
}
