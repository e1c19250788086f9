//! The forecast of a check of OCFS2.
//!
//! The inodes of the allocators count inodes. The sample reads some of their groups, each in one request as pass 1 will, and counts the
//! directories among the inodes. What a program computes for each inode is a constant of each program, measured on an AMD EPYC of 2.6 GHz
//! with files of one name each; the interval allows for CPUs from half to twice as fast, and for a machine as busy as it is now.

use std::time::Instant;

use blockio::{BlockSource, Span};
use ondisk::ocfs2::chain::{ChainList, GroupDescriptor};
use ondisk::ocfs2::dinode::{self, BODY, flag};
use ondisk::ocfs2::{Dinode, ExtentList, directory, system};

use super::fsck_ocfs2::log::Log;
use super::lookup;
use super::open;
use super::volume::{Volume, from, head};
use crate::Silent;
use crate::frame::forecast::{
    Forecast, Interval, LONG, Load, Needs, OneByOne, Sample, Seen, Tally, cpu_share, measured,
    random,
};
use crate::frame::memory::program_and_findings;
use crate::frame::options::Options;

/// Groups of inodes that are looked at.
const PLACES: usize = 8;
/// Bytes of a group that are read at most.
const GROUP: u64 = 8 << 20;
/// Bytes of a request that reads what follows a group, and bytes in each place: fsck.ocfs2 reads whole groups in such requests.
const REQUEST: u64 = 1 << 20;
const SERIAL: u64 = 4 * REQUEST;

/// CPU seconds of this checker for a block of an inode group, and its start.
const OWN: Work = Work {
    block: 0.9e-6,
    start: 0.02,
};
/// CPU seconds of fsck.ocfs2 1.8.7 -fn.
const FSCK_OCFS2: Work = Work {
    block: 9e-6,
    start: 0.05,
};
/// Seconds that fsck.ocfs2 takes to lock a GiB of its cache into memory.
const LOCKING: f64 = 1.35;
/// Bytes of this checker for a block of an inode group and for a directory.
const OWN_BLOCK: f64 = 8.0;
const OWN_DIRECTORY: f64 = 150.0;

/// What a program computes.
#[derive(Clone, Copy)]
struct Work {
    block: f64,
    start: f64,
}

/// What the allocators say.
#[derive(Default)]
struct Basis {
    inodes: u64,
    /// Blocks of the inode groups, each of which may be an inode.
    blocks: u64,
    groups: u64,
    /// First groups of chains.
    chains: Vec<u64>,
}

/// What the inodes of the sample are.
#[derive(Default)]
struct Counts {
    inodes: u64,
    directories: u64,
    directory_blocks: u64,
    /// First blocks of directories.
    blocks: Vec<u64>,
}

impl Tally for Counts {
    fn add(&mut self, other: Counts) {
        self.inodes += other.inodes;
        self.directories += other.directories;
        self.directory_blocks += other.directory_blocks;
        self.blocks.extend(other.blocks);
    }
}

/// Forecasts a check: opens the volume and reads a sample.
///
/// # Errors
/// The superblock or the allocators of inodes cannot be used.
pub(super) fn forecast(source: &dyn BlockSource, options: &Options) -> Result<Forecast, String> {
    let mut log = Log::new(options.keep);
    let unusable = "no estimate: the superblock cannot be used; fslab check gives the reasons";
    let volume = open::open(source, options, &Silent, &mut log).ok_or(unusable)?;
    if volume.blocks.is_packed() {
        return Err("no estimate: a file of o2image is checked as fast as it is read".into());
    }
    let volume = &volume;
    let basis = basis(volume);
    if basis.blocks == 0 {
        return Err(
            "no estimate: no allocator of inodes can be used; fslab check gives the reasons".into(),
        );
    }
    let begin = Instant::now();
    let (mut seen, mut ends) = (Seen::default(), Vec::new());
    let parallel_rate = parallel(volume, &basis, &mut seen, &mut ends);
    let counts = &seen.tally;
    let serial = OneByOne {
        request: REQUEST,
        each: SERIAL,
        holes: SERIAL,
    };
    let (serial_rate, serial_bytes) = serial.measure(source, &ends);
    let (random_read, reads) = random(&counts.blocks, |block| volume.read_run(block, 1).is_ok());
    let size = volume.block_size() as u64;
    let sample = Sample {
        bytes: seen.bytes + serial_bytes + reads * size,
        seconds: begin.elapsed().as_secs_f64(),
        groups: ends.len() as u64,
        parallel_rate,
        serial_rate,
        random_read,
        cpu_share: cpu_share(options.threads),
        holes: seen.holes(),
    };
    let of_all =
        |part: u64| (basis.inodes as f64 * part as f64 / counts.inodes.max(1) as f64) as u64;
    let directories = of_all(counts.directories).max(1);
    let table_bytes = basis.blocks * size;
    let directory_bytes = of_all(counts.directory_blocks) * size;
    let bitmap_bytes = basis.groups * size;
    let load = |work: Work| Load {
        bytes: table_bytes as f64 * (1.0 - sample.holes) + (directory_bytes + bitmap_bytes) as f64,
        start: work.start,
        work: basis.blocks as f64 * work.block * (1.0 - sample.holes),
        directories: of_all(counts.blocks.len() as u64),
    };
    let (threads, depth) = (options.threads, options.sweep.depth);
    let cache = fsck_ocfs2_cache(volume);
    let programs = vec![
        Needs {
            program: "fslab check",
            seconds: load(OWN).in_parallel(threads, depth, &sample),
            memory: own_memory(volume, &basis, directories),
        },
        Needs {
            program: "fsck.ocfs2 -fn",
            seconds: load(Work {
                start: FSCK_OCFS2.start + LOCKING * cache / f64::from(1 << 30),
                ..FSCK_OCFS2
            })
            .one_by_one(1.0, &sample),
            memory: fsck_ocfs2_memory(cache),
        },
    ];
    Ok(Forecast {
        name: source.name().to_string(),
        inodes: basis.inodes,
        directories,
        groups: basis.groups,
        unwritten_groups: 0,
        table_bytes,
        directory_bytes,
        bitmap_bytes,
        maps_are_trees: false,
        sample,
        programs,
    })
}

/// Counts what the allocators have.
fn basis(volume: &Volume<'_>) -> Basis {
    let slots = (0..volume.slots()).map(|slot| system::slot_file("inode_alloc", slot));
    let names = std::iter::once("global_inode_alloc".to_owned()).chain(slots);
    let per_group = volume.layout.group_clusters();
    let mut basis = Basis {
        groups: u64::from(volume.layout.groups(per_group).unwrap_or(0)),
        ..Basis::default()
    };
    for name in names {
        let inode = lookup::system(volume, &name).and_then(|number| volume.inode(number));
        let Ok(inode) = inode else { continue };
        let Ok(list) = ChainList::read(from(&inode, BODY)) else {
            continue;
        };
        let inode = head(&inode);
        let chains = list.first(list.head().cl_next_free_rec.get().into());
        let of_group = u64::from(list.head().cl_cpg.get()) * u64::from(list.head().cl_bpc.get());
        let total = u64::from(inode.total()).min(volume.layout.blocks());
        let groups = total / of_group.max(1);
        // The descriptor of a group is one of its bits.
        basis.inodes += u64::from(inode.used()).min(total).saturating_sub(groups);
        basis.blocks += total;
        basis.groups += groups;
        basis.chains.extend(chains.map(|chain| chain.c_blkno.get()));
    }
    basis
}

/// Reads groups of inodes in several places. The rates of the places.
fn parallel(
    volume: &Volume<'_>,
    basis: &Basis,
    seen: &mut Seen<Counts>,
    ends: &mut Vec<u64>,
) -> Interval {
    let size = volume.block_size() as u64;
    let begin = Instant::now();
    let mut rates = Vec::new();
    let stride = (basis.chains.len() / PLACES).max(1);
    for &group in basis.chains.iter().step_by(stride).take(PLACES) {
        let Ok(bytes) = volume.read_run(group, 1) else {
            continue;
        };
        let Ok(descriptor) = GroupDescriptor::read(&bytes) else {
            continue;
        };
        // A discontiguous group begins with its first extent.
        let list = descriptor.extents(&bytes);
        let first = list.and_then(|list| Some(u64::from(list.get(0)?.leaf_clusters())));
        let blocks = first.map_or(u64::from(descriptor.bg_bits.get()), |clusters| {
            clusters << (volume.layout.cluster_bits - volume.layout.block_bits)
        });
        let start = group.saturating_mul(size);
        let end = start
            .saturating_add((blocks * size).min(GROUP))
            .min(volume.source.len());
        if start >= end {
            continue;
        }
        ends.push(end);
        let spans = vec![Span {
            tag: 0,
            range: start..end,
        }];
        let look = |counts: &mut Counts, data: &[u8]| look(volume, counts, data);
        rates.extend(seen.read(&volume.sweeper(), spans, look));
        if begin.elapsed() > LONG {
            break;
        }
    }
    measured(rates)
}

/// Counts the inodes of a part of a group, and what directories have.
fn look(volume: &Volume<'_>, counts: &mut Counts, data: &[u8]) {
    for bytes in data.chunks_exact(volume.block_size()) {
        let Ok(inode) = Dinode::read(bytes) else {
            continue;
        };
        if inode.i_signature != dinode::SIGNATURE || !inode.has_flag(flag::VALID) {
            continue;
        }
        counts.inodes += 1;
        if directory::type_of_mode(inode.i_mode.get()) != directory::type_of_mode(0x4000) {
            continue;
        }
        counts.directories += 1;
        if inode.has_dynamic(dinode::dynamic::INLINE_DATA) {
            continue;
        }
        let clusters = u64::from(inode.i_clusters.get()).min(1 << 20);
        counts.directory_blocks +=
            clusters << (volume.layout.cluster_bits - volume.layout.block_bits);
        let list = ExtentList::read(from(bytes, BODY)).ok();
        let first = list.and_then(|list| Some(list.get(0)?.e_blkno.get()));
        counts
            .blocks
            .extend(first.filter(|block| !volume.out_of_range(*block)));
    }
}

/// Memory of this checker: two bits for each cluster, the map of inodes, the table of directories, buffers and blocks that are kept.
fn own_memory(volume: &Volume<'_>, basis: &Basis, directories: u64) -> Interval {
    let clusters = f64::from(volume.clusters());
    let lists = basis.blocks as f64 * OWN_BLOCK + directories as f64 * OWN_DIRECTORY;
    let fixed = program_and_findings(&volume.options) as f64;
    let buffers = volume.sweep().memory(volume.source.geometry()) as f64;
    Interval {
        low: fixed / 2.0 + lists / 4.0,
        likely: fixed + lists / 2.0 + buffers / 2.0,
        high: fixed + lists + buffers + clusters / 4.0 + volume.blocks.most() as f64,
    }
}

/// Bytes of fsck.ocfs2's cache: twice those of the volume, or a fifth of the machine's memory.
fn fsck_ocfs2_cache(volume: &Volume<'_>) -> f64 {
    let machine = rustix::system::sysinfo();
    let memory = (machine.totalram as f64) * f64::from(machine.mem_unit);
    let bytes = volume.layout.blocks() as f64 * volume.block_size() as f64;
    (2.0 * bytes).min(memory / 5.0)
}

/// Memory of fsck.ocfs2: itself and its cache, which is smaller where less memory is free.
fn fsck_ocfs2_memory(cache: f64) -> Interval {
    let mib = f64::from(1 << 20);
    Interval {
        low: 8.0 * mib + 0.5 * cache,
        likely: 8.0 * mib + cache,
        high: 64.0 * mib + 1.2 * cache,
    }
}

#[cfg(test)]
mod tests {
    use blockio::Ram;

    use super::*;

    #[test]
    fn what_is_no_volume_has_no_estimate() {
        let why = forecast(&Ram::sparse(1 << 20), &Options::default()).unwrap_err();
        assert!(why.starts_with("no estimate"), "{why}");
    }
}
