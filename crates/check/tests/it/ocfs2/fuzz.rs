//! Any damage: a check ends, within its memory, reads a bounded number of bytes, and does not panic.
//!
//! `FSLAB_RAW_IMAGES` asks for another number of images of each base, `FSLAB_RAW_SEED` for other ones.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use blockio::layer::Counting;
use blockio::{BlockSource, Ram, Sweep};
use check::report::{self, Judge, Report};
use check::{Checker as _, Failure, Observer, Options, Progress};
use forge::damage::ocfs2::{Survey, random};
use forge::damage::{Medium, Random};

use super::population::populated;
use super::volume::Made;
use crate::common::alone;
use crate::raw::allocator;

const BASES: [Made; 3] = [
    Made {
        block: 4096,
        cluster: 4096,
        options: &["--fs-features=metaecc"],
    },
    Made {
        block: 1024,
        cluster: 4096,
        options: &[],
    },
    Made {
        block: 2048,
        cluster: 16384,
        options: &["--fs-features=noindexed-dirs"],
    },
];

const PAGE: usize = 4096;
/// Bytes of memory that a check is allowed: its cache of 32 MiB, the blocks of a run, and the rest.
const MEMORY: u64 = 72 << 20;
/// Bytes that a check may read of a volume of 64 MiB.
const READS: u64 = 4 << 30;
/// A check that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(30);

/// A volume and the pages of it that were written.
struct Written {
    bytes: Vec<u8>,
    pages: BTreeSet<usize>,
}

impl Medium for Written {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.bytes.read(at, bytes)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.bytes.write(at, bytes)?;
        let end = at as usize + bytes.len();
        self.pages.extend(at as usize / PAGE..end.div_ceil(PAGE));
        Ok(())
    }
}

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
        assert!(!report::ocfs2(report, judge, 3).is_empty());
    }
}

/// Checks it, and holds the check to its bounds. The number of problems.
fn hold(source: &dyn BlockSource, threads: usize, what: &str) -> usize {
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
    let watch = Deadline {
        end: Instant::now() + LONGEST,
        missed: AtomicBool::new(false),
    };
    let counting = Counting::new(source);
    let before = allocator::begin();
    let result = check::ocfs2::Checker.check(&counting, &options, &watch);
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

#[test]
fn any_damage_is_checked_to_the_end_within_bounds() {
    let _alone = alone();
    let number = |name: &str, usual: u64| {
        std::env::var(name).map_or(usual, |number| number.parse().unwrap())
    };
    let (images, seed) = (number("FSLAB_RAW_IMAGES", 120), number("FSLAB_RAW_SEED", 1));
    let mut kinds = 0;
    for made in BASES {
        let Some(mut image) = populated(made) else {
            return;
        };
        let survey = Survey::of(&mut image.bytes).unwrap();
        let mut ram = Ram::new(&image.bytes);
        let sound = image.bytes.clone();
        let mut medium = Written {
            bytes: image.bytes,
            pages: BTreeSet::new(),
        };
        for number in 0..images {
            let what = Random {
                count: 1 + (number % 6) as u32,
                seed: seed << 32 | number,
                seal: None,
            };
            let changes = random(&mut medium, &survey, &what);
            for &page in &medium.pages {
                let from = page * PAGE;
                ram.put(from as u64, &medium.bytes[from..from + PAGE]);
            }
            let name = format!("{made:?} {what:?} {changes:?}");
            let threads = 1 + (number % 2) as usize;
            kinds += match number % 16 {
                // Some blocks cannot be read.
                15 => {
                    let at = (number * 7919 % (sound.len() as u64 / 512)) * 512;
                    let failing = Ram::new(&medium.bytes).failing([at..at + 8192], 5);
                    hold(&failing, threads, &name)
                }
                _ => hold(&ram, threads, &name),
            };
            for page in std::mem::take(&mut medium.pages) {
                let from = page * PAGE;
                let bytes = &sound[from..from + PAGE];
                medium.bytes[from..from + PAGE].copy_from_slice(bytes);
                ram.put(from as u64, bytes);
            }
        }
    }
    assert!(kinds > 100, "{kinds}");
}
