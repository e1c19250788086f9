//! How much memory a check takes, known before it begins.
//!
//! The maps have an entry for each inode and a bit for each cluster, but pages that nobody touches take no memory: what counts is
//! what the descriptors call used. A descriptor that lies makes the check larger, never without bound: by what the maps
//! have at most. Lists grow with what the inodes and blocks say, which no descriptor tells: where the caller gives a bound, a check
//! looks at its own size after each piece that it has read ([`Guard`]), and ends before it is larger than that.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ondisk::ext4::GroupDescriptor;
use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, DescriptorChecksum, INODE_UNINIT};
use serde::Serialize;

use super::pass1::plan;
use super::{Directory, Failure, Options, Run, Volume};

/// Bytes of the maps for each inode in use: a byte each for kind, links and names, three bits, and what
/// attributes and quotas need for some.
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
        let (first, below) = shelves(&volume.options);
        // Inodes that wait for their nodes take no more than the first shelf.
        let nodes = volume.options.threads.max(1) * (2 * first + SHELVES_BELOW * below);
        let sweep = volume.sweep().memory(volume.source.geometry());
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

/// Bytes of nodes of mappings that a thread reads beforehand, for the inodes that wait, and for each level below: less where memory is bounded,
/// and the requests were made smaller for it.
pub(crate) fn shelves(options: &Options) -> (usize, usize) {
    const MOST: usize = 4 << 20;
    let first = match options.memory {
        Some(_) => options.sweep.request.saturating_mul(4).min(MOST),
        None => MOST,
    };
    (first, first / 4)
}

/// Levels below that have a shelf of their own. No sound tree has more; the nodes of a deeper one take the places of those far
/// above.
pub(crate) const SHELVES_BELOW: usize = 5;

/// What is kept of a bound for what comes between two looks.
const MARGIN: u64 = 8 << 20;

/// Holds a running check to its bound.
///
/// The kernel counts the pages of a process that are its own, whatever they are for: maps of which a part was touched, lists that have
/// room to grow, buffers. A ledger of each list was rejected: it would know all but the one that was forgotten.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    /// The bound, and what the process had before the check.
    bound: Option<(u64, u64)>,
    /// `/proc/self/statm`.
    statm: Option<File>,
    full: AtomicBool,
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

    /// Whether the bound is reached; once it was, it stays so.
    pub(crate) fn is_full(&self) -> bool {
        self.bound.is_some()
            && (self.full.load(Relaxed) || {
                let full = self.excess().is_some();
                self.full.fetch_or(full, Relaxed);
                full
            })
    }

    /// Ends a check that has reached its bound.
    ///
    /// # Errors
    /// It has.
    pub(crate) fn hold(&self) -> Result<(), Failure> {
        if !self.is_full() {
            return Ok(());
        }
        let limit = self.bound.map_or(0, |(limit, _)| limit);
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

/// Makes the buffers as small as the caller's bound asks for.
///
/// # Errors
/// The maps alone are larger than it.
pub(crate) fn fit(volume: &mut Volume<'_>) -> Result<Estimate, Failure> {
    loop {
        let estimate = Estimate::of(volume);
        let Some(limit) = volume
            .options
            .memory
            .filter(|limit| *limit < estimate.total())
        else {
            return Ok(estimate);
        };
        let sweep = &mut volume.options.sweep;
        let block = volume.geometry.block_size as usize;
        if sweep.depth > volume.options.threads.max(1) {
            sweep.depth = (sweep.depth / 2).max(volume.options.threads.max(1));
        } else if sweep.request > block.max(64 << 10) {
            sweep.request = (sweep.request / 2).max(block);
        } else if volume.options.threads > 1 {
            volume.options.threads /= 2;
        } else {
            return Err(Failure::Memory {
                needs: estimate.total(),
                limit,
            });
        }
    }
}
