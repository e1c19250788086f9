//! A whole check of an XFS filesystem, held to bounds: memory, bytes read, time.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use blockio::layer::Counting;
use blockio::{BlockSource, Sweep};
use check::report::{self, Judge, Report};
use check::{Checker as _, Failure, Observer, Options, Progress};

use super::allocator;

/// Bytes of memory that a check is allowed.
const MEMORY: u64 = 64 << 20;
/// Bytes that a check may read of a filesystem of 300 MiB.
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

fn print(report: &Report) {
    for judge in [Judge::Reference, Judge::Strict] {
        assert!(!report::text(report, judge, report::Shown::default()).is_empty());
        assert!(report::json(report, judge).is_ok());
        assert!(!report::xfs_repair(report, judge, 3).is_empty());
    }
}

/// Checks it, and holds the check to its bounds. The number of problems.
pub(crate) fn hold(source: &dyn BlockSource, threads: usize, what: &str) -> usize {
    let mut options = Options {
        sweep: Sweep {
            request: 64 << 10,
            depth: 4,
            ..Sweep::default()
        },
        keep: 64,
        memory: Some(MEMORY),
        ..Options::default()
    };
    options.threads = threads;
    let log = check::xfs::Options {
        replay: threads > 1,
        device: None,
    };
    let watch = Deadline {
        end: Instant::now() + LONGEST,
        missed: AtomicBool::new(false),
    };
    let counting = Counting::new(source);
    let before = allocator::begin();
    let result = check::xfs::WithLog(log).check(&counting, &options, &watch);
    let memory = (allocator::peak() - before) as u64;
    let read = counting.counts().bytes;
    assert!(
        !watch.missed.load(Relaxed),
        "{what}: no end, {read} bytes read"
    );
    assert!(memory <= MEMORY, "{what}: {memory} bytes of memory");
    assert!(read <= READS, "{what}: {read} bytes read");
    match result {
        Ok(report) => {
            print(&report);
            report.findings.tallies.len()
        }
        Err(Failure::Memory { .. } | Failure::Grown { .. } | Failure::OutOfMemory(_)) => 0,
        Err(error) => panic!("{what}: {error}"),
    }
}
