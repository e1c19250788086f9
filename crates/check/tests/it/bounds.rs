//! A whole check held to bounds: memory, bytes read, time.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use blockio::layer::Counting;
use blockio::{BlockSource, Sweep};
use check::report::{self, Judge, Report};
use check::{Checker, Failure, Observer, Options, Progress};

use crate::raw::allocator;

/// Bytes that a check may read of a filesystem of up to 300 MiB.
const READS: u64 = 4 << 30;
/// A check that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(30);

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

/// The report as the reference program prints it, at most this many of a problem.
pub(crate) type Classic = fn(&Report, Judge, usize) -> String;

fn print(report: &Report, classic: Classic) {
    for judge in [Judge::Reference, Judge::Strict] {
        assert!(!report::text(report, judge, report::Shown::default()).is_empty());
        assert!(report::json(report, judge).is_ok());
        assert!(!classic(report, judge, 3).is_empty());
    }
}

/// Checks a source by a checker and its reference's report, and holds the check to its bounds, of which `most` is the bytes of memory.
/// The number of problems.
pub(crate) fn hold(
    source: &dyn BlockSource,
    threads: usize,
    what: &str,
    (checker, classic, most): (&dyn Checker, Classic, u64),
) -> usize {
    let options = Options {
        sweep: Sweep {
            request: 64 << 10,
            depth: 4,
            ..Sweep::default()
        },
        keep: 64,
        memory: Some(most),
        threads,
        ..Options::default()
    };
    let watch = Deadline {
        end: Instant::now() + LONGEST,
        missed: AtomicBool::new(false),
    };
    let counting = Counting::new(source);
    let before = allocator::begin();
    let result = checker.check(&counting, &options, &watch);
    let memory = (allocator::peak() - before) as u64;
    let read = counting.counts().bytes;
    assert!(
        !watch.missed.load(Relaxed),
        "{what}: no end, {read} bytes read"
    );
    assert!(memory <= most, "{what}: {memory} bytes of memory");
    assert!(read <= READS, "{what}: {read} bytes read");
    match result {
        Ok(report) => {
            print(&report, classic);
            report.findings.tallies.len()
        }
        Err(Failure::Memory { .. } | Failure::Grown { .. } | Failure::OutOfMemory(_)) => 0,
        Err(error) => panic!("{what}: {error}"),
    }
}
