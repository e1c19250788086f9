//! How much memory a check takes, known before it begins.
//!
//! The maps have an entry for each inode and a bit for each cluster, but pages that nobody touches take no memory: what counts is
//! what the descriptors call used. A descriptor that lies makes the check larger, never without bound: by what the maps
//! have at most. Lists grow with what the inodes and blocks say, which no descriptor tells: where the caller gives a bound, a check
//! looks at its own size while it reads ([`Guard`]), and ends before it is larger than that.
//!
//! Buffers follow what is to be read. Ten requests of 1 MiB are nothing beside the maps of a hundred million inodes, and more than
//! all else together for one million.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use blockio::Sweep;
use ondisk::ext4::GroupDescriptor;
use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, DescriptorChecksum, INODE_UNINIT};
use serde::Serialize;

use super::pass1::plan;
use super::{Directory, Failure, Options, Run, Volume};

/// Bytes of the maps for each inode in use: six bits for kind and links, five for names and whether it is used; a byte each where
/// links and names are more than three; and what attributes and quotas need for some. With few links it is no more than two.
const PER_INODE: u64 = 4;
/// Bits for each cluster in use: owned, and those behind it that passes keep for a while.
const BITS_PER_CLUSTER: u64 = 2;
/// Findings of a filesystem in bad order: so many problems come with a full list.
const PROBLEMS: u64 = 8;
/// The program itself, its stacks and small buffers.
const BASE: u64 = 24 << 20;

/// What a check takes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Maps with an entry for each inode in use.
    pub inodes: u64,
    /// Maps with a bit for each cluster in use.
    pub blocks: u64,
    /// Directories and where their blocks lie.
    pub directories: u64,
    /// Group descriptors, and what is planned by them.
    pub descriptors: u64,
    /// Buffers of the sweeps, and nodes that are read beforehand.
    pub buffers: u64,
    /// The program, and findings.
    pub rest: u64,
}

impl Estimate {
    /// All together.
    pub fn total(&self) -> u64 {
        self.inodes + self.blocks + self.directories + self.descriptors + self.buffers + self.rest
    }

    /// By what the descriptors say.
    pub(crate) fn of(volume: &Volume<'_>) -> Estimate {
        let geometry = &volume.geometry;
        let uninit = DescriptorChecksum::of(&volume.sb).allows_uninit();
        let per_group = u64::from(geometry.inodes_per_group);
        let (mut inodes, mut clusters, mut directories) = (0, 0, 0_u64);
        for descriptor in &volume.descriptors {
            let unused = if !uninit {
                0
            } else if descriptor.has_flags(INODE_UNINIT) {
                per_group
            } else {
                u64::from(descriptor.itable_unused()).min(per_group)
            };
            inodes += per_group - unused;
            directories += u64::from(descriptor.used_dirs()).min(per_group);
            if !(uninit && descriptor.has_flags(BLOCK_UNINIT)) {
                clusters += u64::from(geometry.clusters_per_group);
            }
        }
        let each = size_of::<Directory>() + size_of::<Run>();
        // The descriptor, its flags, ranges of metadata, and what passes 1 and 5 plan to read.
        let descriptor = size_of::<GroupDescriptor>() + 2 + 2 * size_of::<Range<u64>>();
        let group = descriptor + 3 * size_of::<blockio::Span>();
        let (first, below) = shelves(&volume.options, volume.block_size());
        // Inodes that wait for their nodes take no more than the first shelf. Walks before and behind the sweep of pass 1 have
        // shelves as well, when those of the sweep are gone.
        let source = volume.source.geometry();
        let reading = nodes_sweep(volume).memory(source);
        let nodes = volume.options.threads.max(1) * (2 * first + SHELVES_BELOW * below + reading);
        let sweep = volume.sweep().memory(source);
        Estimate {
            inodes: inodes * PER_INODE,
            blocks: clusters * BITS_PER_CLUSTER / 8,
            directories: directories * each as u64,
            descriptors: volume.descriptors.len() as u64 * group as u64,
            buffers: (sweep + nodes) as u64,
            rest: BASE + volume.options.keep as u64 * PROBLEMS * 256,
        }
    }
}

/// Bytes that may be asked for before anything shows that they are needed: the caller's bound, or all that the machine has. A
/// superblock may speak of half a billion groups, and their table lie in the hole of a sparse image.
pub(crate) fn allowed(options: &Options) -> u64 {
    options.memory.unwrap_or_else(|| {
        let machine = rustix::system::sysinfo();
        let units = (machine.totalram as u64).saturating_add(machine.totalswap as u64);
        units.saturating_mul(machine.mem_unit.into())
    })
}

/// Bytes of nodes of mappings that a thread reads beforehand, for the inodes that wait, and for each level below: less where requests
/// are small, because there is little to be read or memory is bounded, and never less than eight blocks.
pub(crate) fn shelves(options: &Options, block: usize) -> (usize, usize) {
    const MOST: usize = 4 << 20;
    let least = 8 * block;
    let first = options.sweep.request.saturating_mul(2).min(MOST).max(least);
    (first, (first / 4).max(least))
}

/// How they are read.
pub(crate) fn nodes_sweep(volume: &Volume<'_>) -> Sweep {
    let sweep = volume.sweep();
    Sweep {
        request: sweep.request.min(256 << 10),
        depth: (sweep.depth / sweep.threads.max(1)).clamp(2, 8),
        threads: 1,
        ..sweep
    }
}

/// Levels below that have a shelf of their own. No sound tree has more; the nodes of a deeper one take the places of those far
/// above.
pub(crate) const SHELVES_BELOW: usize = 5;

/// What is kept of a bound for what comes between two looks: the lists of some pieces. A list that doubles is larger than this once
/// it has some hundred thousand entries; whoever makes one looks behind it ([`Guard::hold`]).
const MARGIN: u64 = 8 << 20;
/// How often the kernel is asked, which takes as long as a small piece.
const EVERY: Duration = Duration::from_micros(200);

// What a program takes of its own and the margin are in every forecast: a check that keeps to its own is never ended.
const _: () = assert!(BASE >= 2 * MARGIN);

/// Holds a running check to its bound.
///
/// The kernel counts the pages of a process that are its own, whatever they are for: maps of which a part was touched, lists that have
/// room to grow, buffers. A ledger of each list was rejected: it would know all but the one that was forgotten.
#[derive(Debug)]
pub(crate) struct Guard {
    /// The bound, and what the process had before the check.
    bound: Option<(u64, u64)>,
    /// `/proc/self/statm`.
    statm: Option<File>,
    full: AtomicBool,
    began: Instant,
    /// When the kernel is asked again, microseconds after the beginning.
    next: AtomicU64,
}

impl Default for Guard {
    fn default() -> Self {
        Guard {
            bound: None,
            statm: None,
            full: AtomicBool::new(false),
            began: Instant::now(),
            next: AtomicU64::new(0),
        }
    }
}

impl Guard {
    /// Begins a check with that bound; without one nothing is looked at.
    pub(crate) fn new(limit: Option<u64>) -> Guard {
        let Some(limit) = limit else {
            return Guard::default();
        };
        let mut guard = Guard {
            statm: File::open("/proc/self/statm").ok(),
            ..Guard::default()
        };
        guard.bound = Some((limit, guard.own_pages()));
        guard
    }

    /// Bytes of pages that only this process has; 0 where the kernel does not say.
    fn own_pages(&self) -> u64 {
        let mut text = [0; 128];
        let read = self.statm.as_ref().map(|file| file.read_at(&mut text, 0));
        let Some(Ok(len)) = read else { return 0 };
        let text = String::from_utf8_lossy(&text[..len]);
        let mut pages = text.split(' ').skip(1).map_while(|word| word.parse().ok());
        let (resident, shared): (u64, u64) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
        resident.saturating_sub(shared) * rustix::param::page_size() as u64
    }

    /// Bytes taken since the beginning, if they are too many.
    fn excess(&self) -> Option<(u64, u64)> {
        let (limit, before) = self.bound?;
        let taken = self.own_pages().saturating_sub(before);
        (taken > limit - MARGIN.min(limit / 4)).then_some((taken, limit))
    }

    /// Whether the bound is reached, as far as the last look shows; once it was, it stays so.
    pub(crate) fn is_full(&self) -> bool {
        self.bound.is_some() && (self.full.load(Relaxed) || self.is_due() && self.look())
    }

    /// Whether it is time to look again; yes for one thread only.
    fn is_due(&self) -> bool {
        let now = self.began.elapsed().as_micros() as u64;
        let next = self.next.load(Relaxed);
        let behind = now + EVERY.as_micros() as u64;
        now >= next
            && self
                .next
                .compare_exchange(next, behind, Relaxed, Relaxed)
                .is_ok()
    }

    fn look(&self) -> bool {
        let full = self.excess().is_some();
        self.full.fetch_or(full, Relaxed) || full
    }

    /// Ends a check that has reached its bound; this looks, whenever the last look was.
    ///
    /// # Errors
    /// It has.
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

/// Bytes that all passes will go through, before pass 1: the inode tables as it plans them, a block for each directory that the
/// descriptors count, and bitmaps.
pub(crate) fn bytes_to_read(volume: &Volume<'_>) -> u64 {
    let per_group = u64::from(volume.geometry.inodes_per_group);
    let counts = volume.descriptors.iter();
    let directories: u64 = counts
        .map(|descriptor| u64::from(descriptor.used_dirs()).min(per_group))
        .sum();
    plan::bytes_to_read(volume)
        + directories * u64::from(volume.geometry.block_size)
        + bytes_behind(volume, 0)
}

/// Bytes that the passes behind pass 1 will go through, when it has found so many blocks of directories: these, and the bitmaps that
/// were ever written.
pub(crate) fn bytes_behind(volume: &Volume<'_>, directory_blocks: u64) -> u64 {
    let written = |descriptor: &GroupDescriptor| {
        let is = |flag| u64::from(!descriptor.has_flags(flag));
        is(INODE_UNINIT) + is(BLOCK_UNINIT)
    };
    let bitmaps: u64 = volume.descriptors.iter().map(written).sum();
    let blocks = directory_blocks.saturating_add(bitmaps);
    blocks.saturating_mul(volume.geometry.block_size.into())
}

/// Of what is to be read, this part may lie in buffers at once.
const IN_BUFFERS: u64 = 128;
/// Bytes of a request that is not made smaller because there is little to be read: where requests are what a device counts, more of
/// them would cost more than memory saves.
const LEAST_REQUEST: usize = 512 << 10;

/// Makes the buffers as small as the caller's bound asks for, and as what is to be read.
///
/// # Errors
/// The maps alone are larger than the bound.
pub(crate) fn fit(volume: &mut Volume<'_>) -> Result<Estimate, Failure> {
    if volume.options.scale {
        let most = bytes_to_read(volume) / IN_BUFFERS;
        while volume.sweep().memory(volume.source.geometry()) as u64 > most
            && shrink(volume, LEAST_REQUEST)
        {}
    }
    loop {
        let estimate = Estimate::of(volume);
        let Some(limit) = volume
            .options
            .memory
            .filter(|limit| *limit < estimate.total())
        else {
            return Ok(estimate);
        };
        if shrink(volume, 64 << 10) {
            continue;
        }
        if volume.options.threads <= 1 {
            return Err(Failure::Memory {
                needs: estimate.total(),
                limit,
            });
        }
        volume.options.threads /= 2;
    }
}

/// Makes what is in flight less: requests shorter as long as their number costs nothing, then fewer, then shorter still, down to
/// `least`. No where nothing of that can be. Fewer before shorter was rejected: with two in flight a virtual disk gave half of
/// what it gave with eight.
fn shrink(volume: &mut Volume<'_>, least: usize) -> bool {
    let threads = volume.options.threads.max(1);
    let block = volume.block_size();
    let sweep = &mut volume.options.sweep;
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
