//! A whole check held to bounds: memory, bytes read, time.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::pedantic,
    reason = "the fuzz targets and the tests each use a part"
)]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use blockio::layer::Counting;
use blockio::{BlockSource, Sweep};
use check::report::{self, Judge, Report};
use check::{Checker, Failure, Observer, Options, Progress};

use crate::allocator;

/// Bytes that a check may read of a filesystem of up to 300 MiB.
const READS: u64 = 4 << 30;
/// A check that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(30);

/// What a check may take.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes read.
    pub reads: u64,
}

/// What a check took.
#[derive(Debug)]
pub struct Took {
    /// Most bytes of memory.
    pub memory: u64,
    /// Bytes read.
    pub read: u64,
    /// Time.
    pub time: Duration,
    /// Its report; none where it ended for want of memory.
    pub report: Option<Report>,
}

/// Ends a check that takes too long.
struct Deadline {
    end: Instant,
    missed: AtomicBool,
}

impl Observer for Deadline {}

impl Progress for Deadline {
    fn cancelled(&self) -> bool {
        let late = Instant::now() > self.end;
        self.missed.fetch_or(late, Relaxed);
        late
    }
}

/// Requests of a check in a test: small ones, so that there are several.
pub fn sweep() -> Sweep {
    Sweep {
        request: 64 << 10,
        depth: 4,
        ..Sweep::default()
    }
}

/// Checks a source, with the bound of memory among the options, and holds the check to its bounds.
///
/// # Panics
/// A bound does not hold, or the checker panics.
pub fn check(
    source: &dyn BlockSource,
    what: &str,
    checker: &dyn Checker,
    options: Options,
    bounds: Bounds,
) -> Took {
    let options = Options {
        memory: Some(bounds.memory),
        ..options
    };
    let begin = Instant::now();
    let watch = Deadline {
        end: begin + LONGEST,
        missed: AtomicBool::new(false),
    };
    let counting = Counting::new(source);
    let before = allocator::begin();
    let result = checker.check(&counting, &options, &watch);
    let memory = (allocator::peak() - before) as u64;
    let read = counting.counts().bytes;
    assert!(
        !watch.missed.load(Relaxed),
        "{what}: no end after {LONGEST:?}, {read} bytes read"
    );
    let most = bounds.memory;
    assert!(
        memory <= most,
        "{what}: {memory} bytes of memory, and {most} are allowed"
    );
    let most = bounds.reads;
    assert!(
        read <= most,
        "{what}: {read} bytes read, and {most} are allowed"
    );
    let report = match result {
        Ok(report) => Some(report),
        Err(Failure::Memory { .. } | Failure::Grown { .. } | Failure::OutOfMemory(_)) => None,
        Err(error) => panic!("{what}: {error}"),
    };
    Took {
        memory,
        read,
        time: begin.elapsed(),
        report,
    }
}

/// The report as the reference program prints it, at most this many of a problem.
pub type Classic = fn(&Report, Judge, usize) -> String;

/// Prints a report in every way. The number of problems.
pub fn print(report: &Report, classics: &[Classic]) -> usize {
    for judge in [Judge::Reference, Judge::Strict] {
        assert!(!report::text(report, judge, report::Shown::default()).is_empty());
        assert!(report::json(report, judge).is_ok());
        for classic in classics {
            assert!(!classic(report, judge, 3).is_empty());
        }
    }
    report.findings.tallies.len()
}

/// Checks a source by a checker and its reference's report, and holds the check to its bounds, of which `memory` is the bytes of memory.
/// The number of problems.
pub fn hold(
    source: &dyn BlockSource,
    threads: usize,
    what: &str,
    (checker, classic, memory): (&dyn Checker, Classic, u64),
) -> usize {
    let options = Options {
        sweep: sweep(),
        keep: 64,
        threads,
        ..Options::default()
    };
    let bounds = Bounds {
        memory,
        reads: READS,
    };
    let took = check(source, what, checker, options, bounds);
    took.report.map_or(0, |report| print(&report, &[classic]))
}
