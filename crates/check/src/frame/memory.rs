//! How much memory a check takes, known before it begins, and a limit that is enforced while it runs.
//!
//! A checker forecasts its maps from what the filesystem's descriptors say ([`Footprint::estimate`]), and once more when the inodes are read,
//! where descriptors do not say all. Pages that are never touched take no memory, so what counts is what the descriptors call used. A descriptor that lies makes the check larger, up to the maps' full size.
//! Lists grow with the contents of inodes and blocks, which no descriptor announces: with a limit, a check
//! measures itself while it reads ([`Guard`]), and ends before it exceeds it.
//!
//! Buffers follow what is to be read. Ten requests of 1 MiB are nothing beside the maps of a hundred million inodes, and more than
//! all else together for one million.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use blockio::{Geometry, Sweep};
use serde::{Serialize, Serializer};

use super::failure::Failure;
use super::options::Options;
use super::usage::Usage;

/// Stacks and small buffers of the program, bytes.
const SMALL: u64 = 2 << 20;
/// Pages of the program itself and of its libraries, which are as many as its build makes them; at least the reserve, so that a check that keeps
/// to its forecast is never stopped.
const LEAST_PROGRAM: u64 = MARGIN;
/// At most: in a process that does more than a check they are not all the check's.
const MOST_PROGRAM: u64 = 22 << 20;
/// Problems that come with a full list of findings on a badly damaged filesystem.
const PROBLEMS: u64 = 8;

/// The forecast of a check's memory, by use. Serialises as a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Names of the uses, and bytes.
    pub parts: Vec<(&'static str, u64)>,
    /// What the program took to start, bytes: more than a check of a small filesystem takes afterwards.
    pub(super) start: u64,
    /// Pages of the program above the reserve for them, bytes: a part of the parts. How many are mapped varies from one process to the next.
    pub(super) program: u64,
}

impl Estimate {
    /// An estimate of these parts in this process.
    pub(crate) fn new(parts: Vec<(&'static str, u64)>) -> Estimate {
        Estimate {
            parts,
            start: Usage::now().peak_memory.min(MOST_PROGRAM),
            program: program() - LEAST_PROGRAM,
        }
    }

    /// What a limit must allow, bytes: all parts, but of the program's pages the reserve alone. They are shared with its file, and do not
    /// count while the check runs.
    pub(crate) fn own(&self) -> u64 {
        let parts = self.parts.iter().map(|(_, bytes)| bytes);
        parts.sum::<u64>().saturating_sub(self.program)
    }

    /// Sum of all parts, bytes; at least what the program took to start.
    pub fn total(&self) -> u64 {
        let parts = self.parts.iter().map(|(_, bytes)| bytes);
        parts.sum::<u64>().max(self.start)
    }

    /// The message where more is known later.
    pub(crate) fn about(&self) -> String {
        format!("memory: about {} MiB", self.total().div_ceil(1 << 20))
    }

    /// The message.
    pub(crate) fn at_most(&self) -> String {
        format!("memory: at most {} MiB", self.total().div_ceil(1 << 20))
    }
}

impl Serialize for Estimate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.parts.iter().copied())
    }
}

/// Memory of the program and of the findings it keeps, bytes: a part of every estimate.
pub(crate) fn program_and_findings(options: &Options) -> u64 {
    let findings = (options.keep as u64).saturating_mul(PROBLEMS * 256);
    findings.saturating_add(program() + SMALL)
}

/// Pages of the program that are mapped, bytes.
fn program() -> u64 {
    let shared = Pages::open().map_or(0, |pages| pages.now().shared);
    shared.clamp(LEAST_PROGRAM, MOST_PROGRAM)
}

/// What the kernel counts of this process: `/proc/self/statm`.
#[derive(Debug)]
struct Pages(File);

/// Bytes of a process.
#[derive(Clone, Copy, Debug, Default)]
struct Resident {
    /// Its own.
    own: u64,
    /// Shared with files: the program and its libraries.
    shared: u64,
}

impl Pages {
    /// None where the kernel does not provide it.
    fn open() -> Option<Pages> {
        File::open("/proc/self/statm").ok().map(Pages)
    }

    fn now(&self) -> Resident {
        let mut text = [0; 128];
        let Ok(len) = self.0.read_at(&mut text, 0) else {
            return Resident::default();
        };
        let text = String::from_utf8_lossy(&text[..len]);
        let mut pages = text.split(' ').skip(1).map_while(|word| word.parse().ok());
        let (resident, shared): (u64, u64) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
        let page = rustix::param::page_size() as u64;
        Resident {
            own: resident.saturating_sub(shared) * page,
            shared: shared * page,
        }
    }
}

/// An opened filesystem whose check is to fit into memory.
pub(crate) trait Footprint {
    /// The options; [`fit`] makes their buffers smaller.
    fn options(&mut self) -> &mut Options;
    /// Size of a block, bytes.
    fn block_size(&self) -> usize;
    /// The sweep of a pass with these options.
    fn sweep(&self) -> Sweep;
    /// Alignment of the source.
    fn source_geometry(&self) -> Geometry;
    /// Bytes that all passes will cover.
    fn bytes_to_read(&self) -> u64;
    /// Share of these that may be in buffers at once: one part in this many.
    fn in_buffers(&self) -> u64 {
        IN_BUFFERS
    }
    /// The forecast with these options.
    fn estimate(&self) -> Estimate;
}

/// Memory that may be requested before anything shows that it is needed, bytes: the caller's limit, or all that the machine has. A
/// damaged superblock may claim half a billion groups, with their table in the hole of a sparse image.
pub(crate) fn allowed(options: &Options) -> u64 {
    options.memory.unwrap_or_else(|| {
        let machine = rustix::system::sysinfo();
        let units = (machine.totalram as u64).saturating_add(machine.totalswap as u64);
        units.saturating_mul(machine.mem_unit.into())
    })
}

/// Reserve below the limit for what is allocated between two looks: the lists of some pieces. A list that doubles is larger than this
/// once it has some hundred thousand entries; code that makes one looks after it ([`Guard::hold`]). Inside a piece, code that takes
/// memory for what a few bytes say asks for each inode ([`Guard::is_full`]).
const MARGIN: u64 = 8 << 20;
/// Time between two looks at the kernel's counters; one look takes as long as a small piece.
const EVERY: Duration = Duration::from_micros(200);

/// Enforces the memory limit of a running check.
///
/// The kernel counts the private pages of a process, whatever they are for: maps of which a part was touched, lists that have
/// room to grow, buffers. Accounting for each list was rejected: it would miss the one that was forgotten.
#[derive(Debug)]
pub(crate) struct Guard {
    /// The limit, and the private memory of the process before the check, bytes.
    bound: Option<(u64, u64)>,
    pages: Option<Pages>,
    full: AtomicBool,
    began: Instant,
    /// Time of the next look, microseconds after `began`.
    next: AtomicU64,
}

impl Default for Guard {
    fn default() -> Self {
        Guard {
            bound: None,
            pages: None,
            full: AtomicBool::new(false),
            began: Instant::now(),
            next: AtomicU64::new(0),
        }
    }
}

impl Guard {
    /// For a check with this limit; without one nothing is measured.
    pub(crate) fn new(limit: Option<u64>) -> Guard {
        let Some(limit) = limit else {
            return Guard::default();
        };
        let mut guard = Guard {
            pages: Pages::open(),
            ..Guard::default()
        };
        guard.bound = Some((limit, guard.own_pages()));
        guard
    }

    /// Private memory of this process, bytes; 0 where the kernel does not provide it.
    fn own_pages(&self) -> u64 {
        self.pages.as_ref().map_or(0, |pages| pages.now().own)
    }

    /// Memory taken since the start and the limit, bytes, if the limit is reached.
    fn excess(&self) -> Option<(u64, u64)> {
        let (limit, before) = self.bound?;
        let taken = self.own_pages().saturating_sub(before);
        (taken > limit - MARGIN.min(limit / 4)).then_some((taken, limit))
    }

    /// Whether the limit is reached, by the latest look; once reached it stays so.
    pub(crate) fn is_full(&self) -> bool {
        self.bound.is_some() && (self.full.load(Relaxed) || self.is_due() && self.look())
    }

    /// Whether it is time to look again; true for one thread only.
    fn is_due(&self) -> bool {
        let now = self.began.elapsed().as_micros() as u64;
        let next = self.next.load(Relaxed);
        let after = now + EVERY.as_micros() as u64;
        now >= next
            && self
                .next
                .compare_exchange(next, after, Relaxed, Relaxed)
                .is_ok()
    }

    fn look(&self) -> bool {
        let full = self.excess().is_some();
        self.full.fetch_or(full, Relaxed) || full
    }

    /// Ends a check that has reached its limit. Looks now, whenever the last look was.
    ///
    /// # Errors
    /// The limit is reached.
    pub(crate) fn hold(&self) -> Result<(), Failure> {
        let Some((limit, _)) = self.bound else {
            return Ok(());
        };
        if !self.full.load(Relaxed) && !self.look() {
            return Ok(());
        }
        let taken = self.excess().map_or(limit, |(taken, _)| taken);
        Err(Failure::Grown { taken, limit })
    }
}

/// Share of what is to be read that may be in buffers at once, where the reference program takes little memory.
const IN_BUFFERS: u64 = 128;
/// Size below which requests do not shrink because there is little to read, bytes: where a device is limited by its number of requests,
/// more of them would cost more than the memory saves.
const LEAST_REQUEST: usize = 512 << 10;

/// Makes the buffers as small as the caller's limit requires, and as what is to be read allows.
///
/// # Errors
/// The maps alone are larger than the limit.
pub(crate) fn fit(volume: &mut impl Footprint) -> Result<Estimate, Failure> {
    let bytes = volume.bytes_to_read();
    let bytes = volume.options().of_the_whole(bytes);
    if volume.options().spare_threads {
        let requests = bytes / LEAST_REQUEST as u64;
        let options = volume.options();
        let busy = usize::try_from(requests).unwrap_or(usize::MAX);
        let depth = options.sweep.depth;
        options.set_threads(options.threads.min(busy));
        options.sweep.depth = options.sweep.depth.min(depth);
    }
    if volume.options().scale {
        let most = bytes / volume.in_buffers();
        while volume.sweep().memory(volume.source_geometry()) as u64 > most
            && shrink(volume, LEAST_REQUEST)
        {}
    }
    loop {
        let estimate = volume.estimate();
        let total = estimate.total();
        let Some(limit) = volume.options().memory.filter(|limit| *limit < total) else {
            return Ok(estimate);
        };
        if shrink(volume, 64 << 10) {
            continue;
        }
        if volume.options().threads <= 1 {
            let needs = estimate.own();
            if needs <= limit {
                return Ok(estimate);
            }
            return Err(Failure::Memory { needs, limit });
        }
        volume.options().threads /= 2;
    }
}

/// Reduces what is in flight: shorter requests as long as their number costs nothing, then fewer, then shorter still, down to
/// `least` bytes. False where nothing can be reduced. Fewer before shorter was rejected: with two in flight a virtual disk gave half of
/// what it gave with eight.
fn shrink(volume: &mut impl Footprint, least: usize) -> bool {
    let block = volume.block_size();
    let options = volume.options();
    let threads = options.threads.max(1);
    let sweep = &mut options.sweep;
    if sweep.request > block.max(least).max(LEAST_REQUEST) {
        sweep.request = (sweep.request / 2).max(block);
    } else if sweep.depth > threads {
        sweep.depth = (sweep.depth - threads).max(threads);
    } else if sweep.request > block.max(least) {
        sweep.request = (sweep.request / 2).max(block);
    } else {
        return false;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A volume whose buffers are all of its memory.
    struct Buffers {
        options: Options,
        bytes_to_read: u64,
    }

    impl Footprint for Buffers {
        fn options(&mut self) -> &mut Options {
            &mut self.options
        }

        fn block_size(&self) -> usize {
            4096
        }

        fn sweep(&self) -> Sweep {
            self.options.sweep.clone()
        }

        fn source_geometry(&self) -> Geometry {
            Geometry {
                logical_block: 512,
                physical_block: 4096,
                offset_align: 512,
                memory_align: 512,
            }
        }

        fn bytes_to_read(&self) -> u64 {
            self.bytes_to_read
        }

        fn estimate(&self) -> Estimate {
            let sweep = self.options.sweep.request * self.options.sweep.depth;
            let threads = self.options.threads * self.options.sweep.request;
            Estimate {
                parts: vec![("buffers", (sweep + threads) as u64)],
                ..Estimate::default()
            }
        }
    }

    /// Threads and bytes that a check on this many processors takes for this much to read.
    fn fitted(processors: usize, bytes_to_read: u64, spare_threads: bool) -> (usize, u64) {
        let mut options = Options {
            spare_threads,
            ..Options::default()
        };
        options.set_threads(processors);
        let mut volume = Buffers {
            options,
            bytes_to_read,
        };
        let total = fit(&mut volume).unwrap().total();
        (volume.options.threads, total)
    }

    #[test]
    fn sixty_four_processors_get_the_threads_that_the_reading_keeps_busy() {
        let (few, little) = fitted(64, 2 << 20, true);
        assert_eq!(few, 4);
        assert!(little <= 16 << 20, "{little}");
        assert_eq!(fitted(64, 1000, true).0, 1);
        assert_eq!(fitted(64, 32 << 20, true).0, 64);
        assert_eq!(fitted(2, 1 << 40, true).0, 2);
        // A number that was asked for is kept.
        assert_eq!(fitted(64, 1000, false).0, 64);
    }

    #[test]
    fn a_limit_is_for_what_is_the_checks_own() {
        let estimate = Estimate {
            parts: vec![("program", 20 << 20), ("maps", 5 << 20)],
            start: 30 << 20,
            program: 12 << 20,
        };
        assert_eq!((estimate.total(), estimate.own()), (30 << 20, 13 << 20));
    }
}
