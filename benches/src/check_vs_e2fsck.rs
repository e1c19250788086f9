//! `fslab check` against `e2fsck -fn` on the same forged filesystem, interleaved, and `fslab forge` against fs_mark.
//!
//! Whole processes are compared, from start to exit, and both checkers must find the filesystem clean. A pair is one
//! run of each; the order alternates.
//!
//! - *hot*: everything both read is in the page cache. That is proven, not assumed: a pair in which
//!   either side read more than a fiftieth of the image from a device (`read_bytes` of
//!   /proc/PID/io) is not counted; it is repeated and reported. Each side has run twice before the
//!   first pair: a page used twice is not the next to be evicted.
//! - *cold*: caches are dropped before each run, and the bench fails if a page of the image stays cached.
//! - *limited*: the image is attached as a loop device that is limited to a number of bytes and of requests a second, cold.
//!
//! The cold rows also show a plain reader: one thread, O_DIRECT, requests of 4 MiB, over the
//! image's data and none of its holes. Its time for as many bytes as `check` reads is a lower bound
//! for any checker on this disk. The limited rows also show what the limits allow: all bytes at the
//! one rate, or all requests at the other, whichever takes longer. It bounds e2fsck as well, so no
//! factor between the two can be larger than that of e2fsck to the bound
//! (docs/decisions/0011-limited-devices.md).
//!
//! Time for an inode must not grow with the filesystem: its largest value over all sizes is compared with its smallest.
//!
//! Large images take minutes to read on a slow device. `--images` keeps them, so that each part can be run by itself on the same
//! ones: `--images /tmp/images --files 10000000 --parts hot`, then `--parts cold`. Seven pairs of all three sizes, hot and cold,
//! take about half an hour on a disk of 700 MB/s, of which e2fsck has 25 minutes.

mod bounds;
mod forging;
mod sides;
mod sizes;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::arguments::{Place, Times};
use crate::needs;
use crate::pairs::{Pairs, median};
use crate::run::{Stop, verdict};
use crate::table::{Printer, Row, Table};
use anyhow::Result;
use clap::{Parser, ValueEnum};

pub(crate) use bounds::plain_reader;
use sides::Measured;
pub(crate) use sides::{Peaks, cold};
use sizes::Sized;

const MIB: f64 = (1 << 20) as f64;

/// Measures the checker against e2fsck and the forge against fs_mark.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    times: Times<7>,
    /// Files of each filesystem, one block each: 1000000,10000000,50000000.
    #[arg(long, value_delimiter = ',', default_value = "1000000")]
    files: Vec<u64>,
    /// What to measure.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "forge,hot,cold,limited"
    )]
    parts: Vec<Part>,
    /// Folder to keep images in for later runs [default: images are made and removed]
    #[arg(long)]
    images: Option<PathBuf>,
    /// Pairs of runs on the limited device, where one takes minutes.
    #[arg(long, default_value_t = 3)]
    limited_pairs: u32,
    /// Bytes a second of the limited device.
    #[arg(long, default_value_t = 100_000_000)]
    bytes: u64,
    /// Requests a second of the limited device.
    #[arg(long, default_value_t = 200)]
    requests: u64,
    /// The program to measure [default: fslab beside this one].
    #[arg(long)]
    fslab: Option<PathBuf>,
    /// Files that fs_mark writes.
    #[arg(long, default_value_t = 60_000)]
    fs_mark_files: u64,
    #[command(flatten)]
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Forge,
    Hot,
    Cold,
    Limited,
}

impl Part {
    /// The parts that compare the two checkers: title in tables, and target factor.
    const COMPARED: [(Part, &str, f64); 3] = [
        (Part::Hot, "in the page cache", 8.0),
        (Part::Cold, "cold", 5.0),
        (Part::Limited, "limited device", 3.0),
    ];
}

struct Bench {
    arguments: Arguments,
    fslab: String,
    stop: Stop,
    printer: Printer,
}

pub(crate) fn main(arguments: Arguments) -> ExitCode {
    verdict("check_vs_e2fsck", bench(arguments))
}

/// Whether all targets were met.
fn bench(mut arguments: Arguments) -> Result<bool> {
    if arguments.times.quick {
        arguments.files = arguments
            .files
            .iter()
            .map(|files| *files.min(&200_000))
            .collect();
        arguments.files.dedup();
    }
    needs::root("caches, loop devices and limits")?;
    needs::peers(&[("e2fsck", "e2fsprogs"), ("fs_mark", "fs_mark")])?;
    let own = std::env::current_exe()?;
    let fslab = arguments
        .fslab
        .clone()
        .unwrap_or_else(|| own.with_file_name("fslab"));
    needs::measured(&fslab)?;
    let mut bench = Bench {
        fslab: fslab.display().to_string(),
        arguments,
        stop: Stop::on_signals()?,
        printer: Printer::default(),
    };
    let mut sizes = Vec::new();
    for files in bench.arguments.files.clone() {
        sizes.push(bench.size(files)?);
    }
    if let Some(table) = sizes::flatness(&sizes) {
        bench.printer.show(&table);
    }
    if bench.arguments.parts.contains(&Part::Forge) {
        let table = bench.against_fs_mark(&sizes)?;
        bench.printer.show(&table);
    }
    Ok(bench.printer.all_met())
}

impl Bench {
    fn wants(&self, part: Part) -> bool {
        self.arguments.parts.contains(&part)
    }

    /// Everything about one size, on one image.
    fn size(&mut self, files: u64) -> Result<Sized> {
        let folder = tempfile::Builder::new()
            .prefix("fslab-check-")
            .tempdir_in(&self.arguments.place.dir)?;
        let kept = self.arguments.images.as_deref();
        let image = kept
            .unwrap_or(folder.path())
            .join(format!("{files}-files.img"));
        let mut sized = Sized::new(files);
        if !image.exists() || self.wants(Part::Forge) {
            sized.forge = Some(self.forge(&image, files)?);
        }
        self.compare(&image, &mut sized)?;
        Ok(sized)
    }

    /// Both checkers, in all parts that are wanted, and what bounds them.
    fn compare(&mut self, image: &Path, sized: &mut Sized) -> Result<()> {
        let path = image.display().to_string();
        let reads = self.reads(&path)?;
        let mut table = Table::new(
            format!(
                "{} files of one block; check reads {:.1} MiB; seconds",
                sized.files,
                reads.bytes / MIB
            ),
            &["check", "e2fsck", "faster", "pairs", "ns/inode"],
        );
        let mut peaks = Peaks::default();
        let mut beside = Vec::new();
        for (part, name, target) in Part::COMPARED {
            if !self.wants(part) {
                continue;
            }
            let measured = self.part(part, image)?;
            peaks.take(measured.peaks);
            table
                .rows
                .push(compared(name, target, sized.files, &measured));
            let Some(ours) = measured.seconds() else {
                continue;
            };
            sized.seconds.push((part, ours));
            match part {
                Part::Cold => beside.push(self.against_a_plain_reader(image, reads.bytes, ours)?),
                Part::Limited => beside.push(bounds::limits(
                    reads,
                    (self.arguments.bytes, self.arguments.requests),
                    &measured.pairs,
                )),
                _ => {}
            }
        }
        if !table.rows.is_empty() {
            self.printer.show(&table);
            self.printer
                .show(&bounds::memory(sized.files, peaks, bounds::in_use(&path)?));
        }
        for table in &beside {
            self.printer.show(table);
        }
        Ok(())
    }
}

/// The line of a part; without a pair that counts it is missed.
fn compared(name: &str, target: f64, files: u64, measured: &Measured) -> Row {
    let goal = format!(">= {target:.0}");
    let Some(ours) = measured.seconds() else {
        return Row::new(name, ["-"; 5].map(str::to_owned), goal, false);
    };
    // Theirs over ours: how many times faster.
    let faster = Pairs {
        ours: measured.pairs.theirs.clone(),
        theirs: measured.pairs.ours.clone(),
    };
    let (low, high) = faster.extremes();
    let cells = [
        format!("{ours:.3}"),
        format!("{:.3}", median(&measured.pairs.theirs)),
        format!("{:.1}", faster.ratio()),
        format!("{low:.1}..{high:.1}"),
        format!("{:.0}", ours * 1e9 / files as f64),
    ];
    Row::new(name, cells, goal, faster.ratio() >= target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_met_by_the_ratio_of_medians_and_missed_without_pairs() {
        let mut measured = Measured::default();
        let row = compared("hot", 8.0, 1000, &measured);
        assert!(!row.met && row.cells.iter().all(|cell| cell == "-"));
        for (ours, theirs) in [(1.0, 8.0), (2.0, 16.0), (3.0, 30.0)] {
            measured.pairs.push(ours, theirs);
        }
        let row = compared("hot", 8.0, 1_000_000, &measured);
        assert!(row.met);
        assert_eq!(row.cells, ["2.000", "16.000", "8.0", "8.0..10.0", "2000"]);
        assert!(!compared("hot", 8.1, 1, &measured).met);
    }
}
