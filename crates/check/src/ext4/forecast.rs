//! The forecast of a check of ext2, ext3 and ext4.
//!
//! The descriptors count inodes in use and directories, and say which inode tables were ever written. The sample reads
//! tables of neighbouring groups in several places, as pass 1 will, with as much in flight; it counts what the inodes in
//! them are, and looks at some of the directories. Then single requests in sequence and at random, as e2fsck waits for
//! them. What a program computes for each inode and each name is a constant of each program, measured on an AMD EPYC
//! of 2.6 GHz; the interval allows for CPUs from half to twice as fast, and for a machine as busy as it is now.

use std::time::Instant;

use blockio::{BlockSource, Span};
use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, INODE_UNINIT};
use ondisk::ext4::{FileType, Inode};

use super::e2fsck::log::Log;
use super::options::Options as Own;
use super::pass0;
use super::pass1::plan;
use super::volume::Volume;
use crate::frame::failure::Failure;
use crate::frame::forecast::{
    Forecast, Interval, LONG, Load, Needs, OneByOne, Sample, Seen, Tally, cpu_share, measured,
    random,
};
use crate::frame::memory::fit;
use crate::frame::options::Options;

/// Places in which neighbouring tables are read.
const PLACES: usize = 8;
/// Groups of a place: their tables are neighbours with flex_bg.
const NEIGHBOURS: usize = 8;
/// Bytes of one table that are read at most.
const TABLE: u64 = 4 << 20;
/// Bytes that are read one request after the other.
const SERIAL: u64 = 16 << 20;
/// Bytes of such a request: the kernel's usual readahead.
const REQUEST: u64 = 128 << 10;

/// CPU seconds of this checker for an inode in use, a name and a group, and its start.
const OWN: Work = Work {
    inode: 0.16e-6,
    name: 0.08e-6,
    group: 0.1e-3,
    start: 0.03,
};
/// CPU seconds of e2fsck 1.47.
const E2FSCK: Work = Work {
    inode: 0.62e-6,
    name: 0.45e-6,
    group: 0.15e-3,
    start: 0.05,
};

/// What a program computes.
struct Work {
    inode: f64,
    name: f64,
    group: f64,
    start: f64,
}

impl Work {
    fn seconds(&self, basis: &Basis) -> f64 {
        // A group that was never written is passed over.
        let groups = (basis.groups - basis.unwritten) as f64;
        basis.inodes as f64 * (self.inode + self.name) + groups * self.group
    }
}

/// What the descriptors announce.
struct Basis {
    inodes: u64,
    directories: u64,
    groups: u64,
    unwritten: u64,
    table_bytes: u64,
    bitmap_bytes: u64,
}

/// Forecasts a check: opens the filesystem and reads a sample.
///
/// # Errors
/// The superblock or the descriptors cannot be used, or the maps do not fit into memory.
pub(crate) fn forecast(source: &dyn BlockSource, options: &Options) -> Result<Forecast, String> {
    let mut log = Log::new(options.keep);
    let opened = pass0::open(source, options, &Own::default(), &mut log);
    let mut volume = opened.map_err(|unusable| match unusable.memory {
        Some((needs, limit)) => Failure::Memory { needs, limit }.to_string(),
        None => format!(
            "no estimate: {}; fslab check gives the reasons",
            unusable.reason
        ),
    })?;
    let stated = fit(&mut volume).map_err(|failure| failure.to_string())?;
    let volume = &volume;
    let basis = basis(volume);
    let begin = Instant::now();
    let (mut seen, mut sampled) = (Seen::default(), Places::default());
    let rates = parallel(volume, &mut seen, &mut sampled);
    let counts = &seen.tally;
    let serial = OneByOne {
        request: REQUEST,
        each: SERIAL / sampled.ends.len().max(1) as u64,
        holes: TABLE,
    };
    let (serial_rate, serial_bytes) = serial.measure(volume.source, &sampled.ends);
    let mut sample = Sample {
        groups: sampled.groups,
        parallel_rate: rates,
        serial_rate,
        cpu_share: cpu_share(volume.options.threads),
        holes: seen.holes(),
        ..Sample::default()
    };
    let block = u64::from(volume.geometry.block_size);
    let (random_read, reads) = random(&counts.blocks, |number| {
        let mut buffer = vec![0; block as usize];
        volume.source.read_at(&mut buffer, number * block).is_ok()
    });
    sample.random_read = random_read;
    sample.bytes = seen.bytes + serial_bytes + reads * block;
    sample.seconds = begin.elapsed().as_secs_f64();
    let mean = if counts.directories == 0 {
        block as f64
    } else {
        counts.directory_bytes as f64 / counts.directories as f64
    };
    let directory_bytes = (basis.directories as f64 * mean.max(block as f64)) as u64;
    let stated_total = stated.total();
    let spare: u64 = stated
        .parts
        .iter()
        .filter(|(part, _)| matches!(*part, "rest" | "buffers"))
        .map(|(_, bytes)| *bytes)
        .sum();
    let load = |work: Work| Load {
        bytes: basis.table_bytes as f64 * (1.0 - sample.holes)
            + (directory_bytes + basis.bitmap_bytes) as f64,
        start: work.start,
        work: work.seconds(&basis),
        directories: basis.directories,
    };
    let (threads, depth) = (volume.options.threads, volume.options.sweep.depth);
    let programs = vec![
        Needs {
            program: "fslab check",
            seconds: load(OWN).in_parallel(threads, depth, &sample),
            memory: Interval {
                low: (stated_total - spare) as f64 * 0.5 + f64::from(4 << 20),
                likely: (stated_total - spare / 2) as f64,
                high: stated_total as f64,
            },
        },
        Needs {
            program: "e2fsck -fn",
            seconds: load(E2FSCK).one_by_one(1.0, &sample),
            memory: e2fsck_memory(&basis),
        },
    ];
    Ok(Forecast {
        name: source.name().to_string(),
        inodes: basis.inodes,
        directories: basis.directories,
        groups: basis.groups,
        unwritten_groups: basis.unwritten,
        table_bytes: basis.table_bytes,
        directory_bytes,
        bitmap_bytes: basis.bitmap_bytes,
        maps_are_trees: false,
        sample,
        programs,
    })
}

fn basis(volume: &Volume<'_>) -> Basis {
    let per_group = volume.geometry.inodes_per_group;
    let block = u64::from(volume.geometry.block_size);
    let mut basis = Basis {
        inodes: 0,
        directories: 0,
        groups: volume.geometry.groups.into(),
        unwritten: 0,
        table_bytes: plan::bytes_to_read(volume),
        bitmap_bytes: 0,
    };
    for descriptor in &volume.descriptors {
        let free = descriptor.free_inodes().min(per_group);
        basis.inodes += u64::from(per_group - free);
        basis.directories += u64::from(descriptor.used_dirs().min(per_group));
        basis.unwritten += u64::from(descriptor.has_flags(INODE_UNINIT));
        for flag in [INODE_UNINIT, BLOCK_UNINIT] {
            basis.bitmap_bytes += block * u64::from(!descriptor.has_flags(flag));
        }
    }
    basis
}

/// What the inodes of the sample are.
#[derive(Default)]
struct Counts {
    directories: u64,
    directory_bytes: u64,
    /// First blocks of directories.
    blocks: Vec<u64>,
}

impl Tally for Counts {
    fn add(&mut self, other: Counts) {
        self.directories += other.directories;
        self.directory_bytes += other.directory_bytes;
        self.blocks.extend(other.blocks);
    }
}

/// The places of the sample.
#[derive(Default)]
struct Places {
    groups: u64,
    /// Where the sampled tables end: what follows was not read.
    ends: Vec<u64>,
}

/// Reads tables of neighbouring groups in several places, as pass 1 reads them. The rates of the places.
fn parallel(volume: &Volume<'_>, seen: &mut Seen<Counts>, sampled: &mut Places) -> Interval {
    let tables: Vec<(u32, plan::Table)> = (0..volume.geometry.groups)
        .filter_map(|group| Some((group, plan::table(volume, group)?)))
        .collect();
    let begin = Instant::now();
    let mut rates = Vec::new();
    for place in places(tables.len()) {
        let block = u64::from(volume.geometry.block_size);
        let mut spans: Vec<Span> = tables[place]
            .iter()
            .map(|(group, table)| {
                let bytes = u64::from(table.inodes) * u64::from(volume.geometry.inode_size);
                let start = table.first_block * block;
                Span {
                    tag: (*group).into(),
                    range: start..start + bytes.next_multiple_of(block).min(TABLE),
                }
            })
            .collect();
        sampled.groups += spans.len() as u64;
        spans.sort_unstable_by_key(|span| span.range.start);
        sampled.ends.extend(spans.last().map(|span| span.range.end));
        let look = |counts: &mut Counts, data: &[u8]| look(volume, counts, data);
        rates.extend(seen.read(&volume.sweeper(), spans, look));
        if begin.elapsed() > LONG {
            break;
        }
    }
    measured(rates)
}

/// Ranges of this many tables, spread over all.
fn places(tables: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let count = tables.div_ceil(NEIGHBOURS).min(PLACES);
    let stride = tables / count.max(1);
    // The middle before the ends, so that a sample that is cut short is not of one end alone.
    let order = (0..count).map(move |i| (i * 5 + count / 2) % count.max(1));
    let coprime = !count.is_multiple_of(5);
    (0..count)
        .zip(order)
        .map(move |(plain, mixed)| if coprime { mixed } else { plain })
        .map(move |i| i * stride..(i * stride + NEIGHBOURS).min(tables))
}

/// Counts the directories of a part of an inode table.
fn look(volume: &Volume<'_>, counts: &mut Counts, data: &[u8]) {
    let size = volume.geometry.inode_size;
    for bytes in data.chunks_exact(usize::from(size)) {
        let Ok(inode) = Inode::read(bytes, size) else {
            continue;
        };
        if inode.file_type() != Some(FileType::Directory) || inode.raw().i_links_count.get() == 0 {
            continue;
        }
        counts.directories += 1;
        counts.directory_bytes += inode.size().min(1 << 30);
        counts
            .blocks
            .extend(first_block(&inode).filter(|block| volume.is_block(*block)));
    }
}

/// The first block of a directory that has its first extent or its first pointer in the inode.
fn first_block(inode: &Inode<'_>) -> Option<u64> {
    let words = inode.block_words();
    match inode.content() {
        ondisk::ext4::inode::Content::Extents => {
            let (magic, entries) = (words[0] & 0xffff, words[0] >> 16);
            let depth = words[1] >> 16;
            let leaf = magic == 0xf30a && entries > 0 && depth == 0;
            leaf.then(|| (u64::from(words[4] >> 16) << 32) | u64::from(words[5]))
        }
        ondisk::ext4::inode::Content::BlockMap => Some(words[0].into()),
        _ => None,
    }
}

/// Memory of e2fsck: itself, and what it holds for inodes and directories. Its maps are trees, which are small where what is
/// in use is contiguous.
fn e2fsck_memory(basis: &Basis) -> Interval {
    let (inodes, directories) = (basis.inodes as f64, basis.directories as f64);
    let mib = f64::from(1 << 20);
    Interval {
        low: 2.0 * mib + inodes,
        likely: 3.0 * mib + 2.2 * inodes + 20.0 * directories,
        high: 8.0 * mib + 12.0 * inodes + 80.0 * directories,
    }
}

#[cfg(test)]
mod tests {
    use blockio::Ram;
    use blockio::layer::{Throttle, ThrottleLimits};

    use super::*;
    use crate::ext4::oracle;
    use crate::{Checker as _, Silent};

    #[test]
    fn places_are_spread_and_inside() {
        for tables in [0, 1, 7, 8, 9, 40, 64, 1000] {
            let all: Vec<_> = places(tables).collect();
            assert_eq!(all.is_empty(), tables == 0);
            let mut starts: Vec<usize> = all.iter().map(|range| range.start).collect();
            starts.sort_unstable();
            starts.dedup();
            assert_eq!(starts.len(), all.len(), "{tables}: {all:?}");
            assert!(
                all.iter()
                    .all(|range| range.end <= tables && !range.is_empty())
            );
        }
    }

    #[test]
    fn an_estimate_holds_the_time_on_a_slow_device() {
        // 16 MiB of inode tables, all to be read, at 10 MB/s: more than a second and a half.
        let image = oracle::made(
            &[
                "-t",
                "ext3",
                "-b",
                "1024",
                "-N",
                "65536",
                "-O",
                "^has_journal",
            ],
            65_536,
        );
        let slow = ThrottleLimits {
            bytes_per_second: Some(10e6),
            requests_per_second: None,
        };
        let source = Throttle::new(Ram::new(&image), slow);
        let holds = || {
            let forecast = forecast(&source, &Options::default()).unwrap();
            let begin = Instant::now();
            crate::ext4::Checker::default()
                .check(&source, &Options::default(), &Silent)
                .unwrap();
            let real = begin.elapsed().as_secs_f64();
            assert!(real > 0.5, "{real} s");
            let needs = forecast.programs[0].seconds;
            assert!(
                needs.low < needs.likely && needs.likely < needs.high,
                "{forecast:#?}"
            );
            assert!(forecast.sample.parallel_rate.likely < 20e6, "{forecast:#?}");
            assert!(crate::frame::forecast::text(&forecast).contains("e2fsck -fn"));
            println!("{real} s, {needs:?} expected");
            needs.holds(real)
        };
        // Other tests may begin or end between the forecast and the check.
        assert!((0..3).any(|_| holds()));
    }

    #[test]
    fn what_is_no_filesystem_has_no_estimate() {
        let why = forecast(&Ram::sparse(1 << 20), &Options::default()).unwrap_err();
        assert!(why.starts_with("no estimate"), "{why}");
    }
}
