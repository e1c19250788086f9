//! The forecast of a check of ext2, ext3 and ext4.
//!
//! The descriptors count inodes in use and directories, and say which inode tables were ever written. The sample reads
//! tables of neighbouring groups in several places, as pass 1 will, with as much in flight; it counts what the inodes in
//! them are, and looks at some of the directories. Then single requests in sequence and at random, as e2fsck waits for
//! them. What a program computes for each inode and each name is a constant of each program, measured on an AMD EPYC
//! of 2.6 GHz; the interval allows for CPUs from half to twice as fast, and for a machine as busy as it is now.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use blockio::{BlockSource, Content, Piece, Span};
use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, INODE_UNINIT};
use ondisk::ext4::{FileType, Inode};

use super::e2fsck::log::Log;
use super::options::Options as Own;
use super::pass0;
use super::pass1::plan;
use super::volume::Volume;
use crate::frame::failure::Failure;
use crate::frame::forecast::{Forecast, Interval, Needs, Sample, cpu_share, measured, reading};
use crate::frame::memory::fit;
use crate::frame::options::Options;

/// Places in which neighbouring tables are read.
const PLACES: usize = 8;
/// Groups of a place: their tables are neighbours with flex_bg.
const NEIGHBOURS: usize = 8;
/// Bytes of one table that are read at most.
const TABLE: u64 = 4 << 20;
/// Time that the parallel part takes at most, roughly; the other parts take a quarter each.
const LONG: Duration = Duration::from_secs(2);
/// Directories that are looked at.
const DIRECTORIES: usize = 200;
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
    let mut seen = Seen::default();
    let rates = parallel(volume, &mut seen);
    let mut sample = Sample {
        groups: seen.groups,
        parallel_rate: rates,
        serial_rate: serial(volume, &mut seen),
        cpu_share: cpu_share(volume.options.threads),
        holes: seen.holes as f64 / (seen.holes + seen.bytes).max(1) as f64,
        ..Sample::default()
    };
    sample.random_read = random(volume, &mut seen);
    sample.bytes = seen.bytes;
    sample.seconds = begin.elapsed().as_secs_f64();
    let block = u64::from(volume.geometry.block_size);
    let mean = if seen.directories == 0 {
        block as f64
    } else {
        seen.directory_bytes as f64 / seen.directories as f64
    };
    let directory_bytes = (basis.directories as f64 * mean.max(block as f64)) as u64;
    let stated_total = stated.total();
    let spare: u64 = stated
        .parts
        .iter()
        .filter(|(part, _)| matches!(*part, "rest" | "buffers"))
        .map(|(_, bytes)| *bytes)
        .sum();
    let programs = vec![
        Needs {
            program: "fslab check",
            seconds: own(volume, &basis, directory_bytes, &sample),
            memory: Interval {
                low: (stated_total - spare) as f64 * 0.5 + f64::from(4 << 20),
                likely: (stated_total - spare / 2) as f64,
                high: stated_total as f64,
            },
        },
        Needs {
            program: "e2fsck -fn",
            seconds: e2fsck(&basis, directory_bytes, &sample),
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

/// What the sample saw.
#[derive(Default)]
struct Seen {
    groups: u64,
    bytes: u64,
    holes: u64,
    directories: u64,
    directory_bytes: u64,
    /// First blocks of directories.
    blocks: Vec<u64>,
    /// Where the sampled tables end: what follows was not read.
    ends: Vec<u64>,
}

/// Reads tables of neighbouring groups in several places, as pass 1 reads them. The rates of the places.
fn parallel(volume: &Volume<'_>, seen: &mut Seen) -> Interval {
    let tables: Vec<(u32, plan::Table)> = (0..volume.geometry.groups)
        .filter_map(|group| Some((group, plan::table(volume, group)?)))
        .collect();
    let begin = Instant::now();
    let mut rates = Vec::new();
    for place in places(tables.len()) {
        let block = u64::from(volume.geometry.block_size);
        let spans: Vec<Span> = tables[place]
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
        rates.extend(one_place(volume, spans, seen));
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

fn one_place(volume: &Volume<'_>, mut spans: Vec<Span>, seen: &mut Seen) -> Option<f64> {
    seen.groups += spans.len() as u64;
    spans.sort_unstable_by_key(|span| span.range.start);
    seen.ends.extend(spans.last().map(|span| span.range.end));
    let begin = Instant::now();
    let swept = volume.sweep().run(
        volume.source,
        spans,
        |_| Seen::default(),
        |part: &mut Seen, piece: Piece<'_>| {
            look(volume, part, &piece);
            ControlFlow::Continue(())
        },
    );
    let seconds = begin.elapsed().as_secs_f64();
    let mut bytes = 0;
    for part in swept.ok()?.states {
        bytes += part.bytes;
        seen.bytes += part.bytes;
        seen.holes += part.holes;
        seen.directories += part.directories;
        seen.directory_bytes += part.directory_bytes;
        seen.blocks.extend(part.blocks);
    }
    (bytes > 0 && seconds > 0.0).then(|| bytes as f64 / seconds)
}

/// Counts the directories of a piece of an inode table.
fn look(volume: &Volume<'_>, seen: &mut Seen, piece: &Piece<'_>) {
    let data = match piece.content {
        Content::Data(data) => data,
        Content::Hole(len) => {
            seen.holes += len;
            return;
        }
        Content::Failed(_) => return,
    };
    seen.bytes += data.len() as u64;
    let size = volume.geometry.inode_size;
    for bytes in data.chunks_exact(usize::from(size)) {
        let Ok(inode) = Inode::read(bytes, size) else {
            continue;
        };
        if inode.file_type() != Some(FileType::Directory) || inode.raw().i_links_count.get() == 0 {
            continue;
        }
        seen.directories += 1;
        seen.directory_bytes += inode.size().min(1 << 30);
        seen.blocks
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

/// Bytes per second of one request after the other, past the tables that were read.
fn serial(volume: &Volume<'_>, seen: &mut Seen) -> f64 {
    let mut buffer = vec![0; REQUEST as usize];
    let (begin, mut bytes) = (Instant::now(), 0);
    let len = volume.source.len();
    let each = SERIAL / seen.ends.len().max(1) as u64;
    for end in seen.ends.clone() {
        let mut at = end;
        while at < end + each && begin.elapsed() < LONG / 4 {
            let Some(data) = volume
                .source
                .next_data(at)
                .filter(|data| data.start < end + TABLE)
            else {
                break;
            };
            at = data.start.max(at);
            if at + REQUEST > data.end.min(len) || volume.source.read_at(&mut buffer, at).is_err() {
                break;
            }
            at += REQUEST;
            bytes += REQUEST;
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    seen.bytes += bytes;
    if bytes < 4 * REQUEST || seconds <= 0.0 {
        return 0.0;
    }
    bytes as f64 / seconds
}

/// Seconds of one read of one block at random places: first blocks of directories.
fn random(volume: &Volume<'_>, seen: &mut Seen) -> f64 {
    let block = volume.block_size();
    let mut buffer = vec![0; block];
    let stride = (seen.blocks.len() / DIRECTORIES).max(1);
    let mut blocks: Vec<u64> = seen.blocks.iter().copied().step_by(stride).collect();
    // Never in the order of the device, in which it would read ahead.
    blocks.sort_by_key(|block| block.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (begin, mut reads) = (Instant::now(), 0_u32);
    for number in blocks {
        if begin.elapsed() > LONG / 4 {
            break;
        }
        if volume
            .source
            .read_at(&mut buffer, number * block as u64)
            .is_ok()
        {
            reads += 1;
        }
    }
    seen.bytes += u64::from(reads) * block as u64;
    if reads == 0 {
        return 0.0;
    }
    begin.elapsed().as_secs_f64() / f64::from(reads)
}

/// Time of this checker: it reads while it computes, in all threads.
fn own(volume: &Volume<'_>, basis: &Basis, directory_bytes: u64, sample: &Sample) -> Interval {
    let data = 1.0 - sample.holes;
    let bytes = basis.table_bytes as f64 * data + (directory_bytes + basis.bitmap_bytes) as f64;
    let threads = volume.options.threads.max(1) as f64;
    let work = OWN.seconds(basis) / threads;
    let rate = sample.parallel_rate;
    let (fast, likely, slow) = (
        reading(bytes, rate.high),
        reading(bytes, rate.likely),
        reading(bytes, rate.low),
    );
    let busy = work / sample.cpu_share;
    // Directories that are not neighbours are read one at a time by each request in flight.
    let depth = volume.options.sweep.depth.max(1) as f64;
    let scattered = basis.directories as f64 * sample.random_read / depth;
    Interval {
        low: 0.5 * (OWN.start + fast.max(work / 2.0)),
        likely: OWN.start + likely.max(busy) + 0.25 * scattered,
        high: 1.4 * (2.0 * OWN.start / sample.cpu_share + slow + 2.0 * busy + scattered),
    }
}

/// Time of e2fsck: one thread; its readahead hides a part of the waiting.
fn e2fsck(basis: &Basis, directory_bytes: u64, sample: &Sample) -> Interval {
    let bytes = basis.table_bytes as f64 * (1.0 - sample.holes)
        + (directory_bytes + basis.bitmap_bytes) as f64;
    let serial = if sample.serial_rate > 0.0 {
        sample.serial_rate
    } else {
        sample.parallel_rate.low
    };
    let work = E2FSCK.seconds(basis);
    let busy = work / sample.cpu_share;
    let (fast, slow) = (
        reading(bytes, sample.parallel_rate.high.max(serial)),
        reading(bytes, serial.min(sample.parallel_rate.low)),
    );
    let scattered = basis.directories as f64 * sample.random_read;
    Interval {
        low: 0.5 * (E2FSCK.start + fast.max(work)),
        likely: E2FSCK.start + reading(bytes, serial).max(fast) * 0.7 + busy + 0.3 * scattered,
        high: 1.4 * (2.0 * E2FSCK.start / sample.cpu_share + slow + 1.6 * busy + scattered),
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
