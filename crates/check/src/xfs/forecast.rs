//! The forecast of a check of XFS.
//!
//! The superblock counts inodes. How many of them are directories it does not say: the sample goes down the inode btree of several
//! allocation groups to one leaf each, and reads the inodes of its chunks as phase 3 will; it counts the directories among them, and looks at
//! some of these. What a program computes for each inode is a constant of each program, measured on an AMD EPYC of 2.6 GHz with files of
//! one name each; the interval allows for CPUs from half to twice as fast, and for a machine as busy as it is now.

mod named;

use std::time::Instant;

use blockio::{BlockSource, Span};
use ondisk::bytes::be16;
use ondisk::xfs::btree::Tree;
use ondisk::xfs::dinode::{Format, Inode, MAGIC, mode};
use ondisk::xfs::geometry::CHUNK;
use ondisk::xfs::{Agi, Extent};

use super::chunks::Chunk;
use super::metadump;
use super::phase1::{self, Opened};
use super::phase2::most_levels;
use super::recovery::Journal;
use super::volume::Volume;
use super::xfs_repair::log::Log;
use crate::Silent;
use crate::frame::forecast::{
    Forecast, Interval, LONG, Load, Needs, OneByOne, Sample, Seen, Tally, cpu_share, measured,
    random,
};
use crate::frame::memory::fit;
use crate::frame::options::Options;

/// Allocation groups that are looked at.
const PLACES: u32 = 8;
/// Bytes of inodes that are read in each.
const INODES: u64 = 4 << 20;
/// Bytes of a request of the part that reads one after the other: xfs_repair reads clusters of inodes about so large.
const REQUEST: u64 = 16 << 10;
/// Bytes of that part in each place.
const SERIAL: u64 = 128 * REQUEST;
/// Bytes of names of an inode in the directory that names it, hash entry included.
const NAME: u64 = 40;

/// CPU seconds of this checker for an inode with a name and for a group, and its start.
const OWN: Work = Work {
    inode: 0.25e-6,
    group: 0.02e-3,
    start: 0.01,
};
/// CPU seconds of xfs_repair 6.1 -n.
const XFS_REPAIR: Work = Work {
    inode: 1.9e-6,
    group: 0.1e-3,
    start: 0.04,
};

/// What a program computes.
struct Work {
    inode: f64,
    group: f64,
    start: f64,
}

impl Work {
    fn seconds(&self, inodes: u64, groups: u64) -> f64 {
        inodes as f64 * self.inode + groups as f64 * self.group
    }
}

/// What the inodes of the sample are.
#[derive(Default)]
struct Counts {
    inodes: u64,
    directories: u64,
    directory_blocks: u64,
    /// Blocks of attributes and of targets of links.
    other_blocks: u64,
    /// Where the blocks are that phase 6 reads: first byte and bytes.
    named: Vec<(u64, u64)>,
    /// First blocks of directories.
    blocks: Vec<u64>,
}

impl Tally for Counts {
    fn add(&mut self, other: Counts) {
        self.inodes += other.inodes;
        self.directories += other.directories;
        self.directory_blocks += other.directory_blocks;
        self.other_blocks += other.other_blocks;
        self.blocks.extend(other.blocks);
        self.named.extend(other.named);
    }
}

/// The places of the sample.
#[derive(Default)]
struct Places {
    /// Bytes between chunks that are read with them.
    between: u64,
    /// Where the sampled inodes end, one for each group.
    ends: Vec<u64>,
}

/// Forecasts a check: opens the filesystem and reads a sample.
///
/// # Errors
/// The superblock cannot be used, or the maps do not fit into memory.
pub(super) fn forecast(source: &dyn BlockSource, options: &Options) -> Result<Forecast, String> {
    if metadump::version(source).is_some() {
        return Err("no estimate: a file of xfs_metadump is checked as fast as it is read".into());
    }
    let mut log = Log::new(options.keep);
    let opened = phase1::open(source, Journal::default(), options, &Silent, &mut log);
    let Opened::Volume(mut volume) = opened else {
        let why = "no estimate: the superblock cannot be used; fslab check gives the reasons";
        return Err(why.into());
    };
    let stated = fit(&mut *volume)
        .map_err(|failure| failure.to_string())?
        .total();
    let volume = &*volume;
    let begin = Instant::now();
    let (mut seen, mut places) = (Seen::default(), Places::default());
    let parallel_rate = parallel(volume, &mut seen, &mut places);
    let serial = OneByOne {
        request: REQUEST,
        each: SERIAL,
        holes: 1,
    };
    let (serial_rate, serial_bytes) = serial.measure(volume.source, &places.ends);
    let mut sample = Sample {
        parallel_rate,
        serial_rate,
        cpu_share: cpu_share(volume.options.threads),
        holes: seen.holes(),
        groups: places.ends.len() as u64,
        ..Sample::default()
    };
    let (random_read, reads) = random(&seen.tally.blocks, |block| volume.read(block, 1).is_ok());
    sample.random_read = random_read;
    sample.bytes = seen.bytes + serial_bytes + reads * u64::from(volume.geo.block_size);
    sample.seconds = begin.elapsed().as_secs_f64();
    let between = named::between(volume, &mut seen.tally.named);
    let basis = Basis::new(volume, &seen, &places, between);
    let load = |work: Work, between: f64| Load {
        bytes: basis.bytes(sample.holes) + between,
        start: work.start,
        work: work.seconds(basis.inodes, basis.groups),
        directories: basis.directories,
    };
    let between = (basis.between + basis.between_named) as f64;
    let (threads, depth) = (volume.options.threads, volume.options.sweep.depth);
    let programs = vec![
        Needs {
            program: "fslab check",
            seconds: load(OWN, between).in_parallel(threads, depth, &sample),
            memory: Interval {
                low: stated as f64 * 0.25,
                likely: stated as f64 * 0.6,
                high: stated as f64,
            },
        },
        Needs {
            program: "xfs_repair -n",
            // Inodes and directories twice, what was read before mostly from its cache.
            seconds: load(XFS_REPAIR, 0.0).one_by_one(2.0, &sample),
            memory: xfs_repair_memory(&basis),
        },
    ];
    Ok(Forecast {
        name: source.name().to_string(),
        inodes: basis.inodes,
        directories: basis.directories,
        groups: basis.groups,
        unwritten_groups: 0,
        table_bytes: basis.table_bytes + basis.between,
        directory_bytes: basis.directory_bytes + basis.other_bytes + basis.between_named,
        bitmap_bytes: basis.tree_bytes,
        maps_are_trees: true,
        sample,
        programs,
    })
}

/// What there is to read, by the superblock and the sample.
struct Basis {
    inodes: u64,
    directories: u64,
    groups: u64,
    table_bytes: u64,
    /// What this checker reads between inode chunks, because another request costs more.
    between: u64,
    directory_bytes: u64,
    /// Of attributes and of targets of links.
    other_bytes: u64,
    /// Between blocks of these.
    between_named: u64,
    tree_bytes: u64,
}

impl Basis {
    fn new(volume: &Volume<'_>, seen: &Seen<Counts>, places: &Places, between_named: f64) -> Basis {
        let counts = &seen.tally;
        let (sb, geo) = (&volume.sb, &volume.geo);
        let room = geo.blocks.saturating_mul(1 << geo.inopb_log);
        let all = sb.sb_icount.get().min(room);
        let inodes = all.saturating_sub(sb.sb_ifree.get());
        let share = |part: u64| part as f64 / counts.inodes.max(1) as f64;
        let directories = (inodes as f64 * share(counts.directories)) as u64;
        let of_blocks = |blocks: u64| inodes as f64 * share(blocks) * f64::from(geo.block_size);
        let sampled = of_blocks(counts.directory_blocks);
        // Directories of the sample may lie elsewhere than the files that they name.
        let names = inodes.saturating_mul(NAME);
        let trees = (all / u64::from(CHUNK)) * 40 + u64::from(geo.ag_count) * 8 * 4096;
        let table_bytes = all << geo.inode_log;
        let looked_at = (seen.bytes + seen.holes).max(1) as f64;
        let directory_bytes = (sampled as u64).max(names / 2).min(names.saturating_mul(4));
        let other_bytes = of_blocks(counts.other_blocks) as u64;
        Basis {
            inodes,
            directories: directories.max(1),
            groups: geo.ag_count.into(),
            table_bytes,
            between: (table_bytes as f64 * places.between as f64 / looked_at) as u64,
            between_named: ((directory_bytes + other_bytes) as f64 * between_named) as u64,
            other_bytes,
            directory_bytes,
            tree_bytes: trees,
        }
    }

    /// Bytes that each program must read.
    fn bytes(&self, holes: f64) -> f64 {
        let others = self.directory_bytes + self.other_bytes + self.tree_bytes;
        self.table_bytes as f64 * (1.0 - holes) + others as f64
    }
}

/// The chunks of one leaf of a group's inode btree, from its middle.
fn chunks(volume: &Volume<'_>, ag: u32) -> Vec<Chunk> {
    let geo = &volume.geo;
    let mut sector = [0; 512];
    let at = geo.header_offset(ag, 2);
    if volume.source.read_at(&mut sector, at).is_err() {
        return Vec::new();
    }
    let Ok(agi) = Agi::read(&sector) else {
        return Vec::new();
    };
    let (mut agbno, levels) = (agi.agi_root.get(), agi.agi_level.get());
    if levels > most_levels(volume, Tree::Ino) {
        return Vec::new();
    }
    let mut chunks = Vec::new();
    for level in (0..levels).rev() {
        if !geo.is_agblock(ag, agbno) {
            break;
        }
        let Ok(bytes) = volume.read(geo.fsblock(ag, agbno), 1) else {
            break;
        };
        let used = usize::from(be16(&bytes, 6)).min(Tree::Ino.room(geo, level == 0));
        if level > 0 {
            agbno = Tree::Ino.pointer(geo, &bytes, used / 2);
            continue;
        }
        chunks.extend((0..used).filter_map(|nth| {
            let at = Tree::Ino.record_at(geo, nth);
            let start = ondisk::bytes::be32(&bytes, at);
            let sparse = geo.sparse_inodes;
            geo.is_inode(geo.ino(ag, start)).then(|| Chunk {
                start,
                holes: if sparse { be16(&bytes, at + 4) } else { 0 },
                free: ondisk::bytes::be64(&bytes, at + 8),
            })
        }));
    }
    chunks
}

/// Reads inodes of several groups as phase 3 reads them. The rates of the places.
fn parallel(volume: &Volume<'_>, seen: &mut Seen<Counts>, places: &mut Places) -> Interval {
    let geo = &volume.geo;
    let count = geo.ag_count.min(PLACES);
    let begin = Instant::now();
    let mut rates = Vec::new();
    for place in 0..count {
        let ag = (u64::from(place) * u64::from(geo.ag_count) / u64::from(count)) as u32;
        let chunk_bytes = u64::from(CHUNK) << geo.inode_log;
        let mut spans: Vec<Span> = chunks(volume, ag)
            .iter()
            .filter(|chunk| chunk.holes == 0)
            .take((INODES / chunk_bytes).max(1) as usize)
            .map(|chunk| {
                let start = geo.ino_offset(geo.ino(ag, chunk.start));
                Span {
                    tag: 0,
                    range: start..start + chunk_bytes,
                }
            })
            .collect();
        spans.sort_unstable_by_key(|span| span.range.start);
        let gap = volume.options.sweep.gap;
        let gaps = spans
            .windows(2)
            .map(|pair| pair[1].range.start.saturating_sub(pair[0].range.end));
        places.between += gaps.filter(|bytes| *bytes <= gap).sum::<u64>();
        let Some(end) = spans.last().map(|span| span.range.end) else {
            continue;
        };
        places.ends.push(end);
        let sweeper = volume.sweeper_of(geo.inode_size);
        let look = |counts: &mut Counts, data: &[u8]| look(volume, counts, data);
        rates.extend(seen.read(&sweeper, spans, look));
        if begin.elapsed() > LONG {
            break;
        }
    }
    measured(rates)
}

/// Counts the directories of a part of the inodes, and blocks that are read in phase 6.
fn look(volume: &Volume<'_>, counts: &mut Counts, data: &[u8]) {
    for bytes in data.chunks_exact(volume.geo.inode_size as usize) {
        let inode = Inode::new(&volume.geo, bytes);
        if inode.magic() != MAGIC || inode.mode() == 0 {
            continue;
        }
        counts.inodes += 1;
        let other_blocks = named::list(volume, &inode, &mut counts.named);
        counts.other_blocks += other_blocks.min(1 << 20);
        if inode.file_type() != mode::DIRECTORY {
            continue;
        }
        counts.directories += 1;
        counts.directory_blocks += inode.nblocks().min(1 << 20);
        let first = Extent::read(inode.data_fork()).block;
        if inode.format() == Format::Extents as u8 && volume.geo.is_block(first) {
            counts.blocks.push(first);
        }
    }
}

/// Memory of xfs_repair: itself, about ten bytes for an inode, and its cache, which holds what it has read up to three quarters of the
/// machine's memory.
fn xfs_repair_memory(basis: &Basis) -> Interval {
    let mib = f64::from(1 << 20);
    let (inodes, cached) = (
        basis.inodes as f64,
        (basis.table_bytes + basis.directory_bytes) as f64,
    );
    Interval {
        low: 8.0 * mib + 6.0 * inodes,
        likely: 13.0 * mib + 10.0 * inodes + cached,
        high: 32.0 * mib + 40.0 * inodes + 1.5 * cached,
    }
}

#[cfg(test)]
mod tests {
    use blockio::Ram;

    use super::*;

    #[test]
    fn what_is_no_filesystem_has_no_estimate() {
        let why = forecast(&Ram::sparse(1 << 20), &Options::default()).unwrap_err();
        assert!(why.starts_with("no estimate"), "{why}");
    }
}
