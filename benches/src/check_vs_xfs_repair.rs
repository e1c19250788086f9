//! `fslab check` against `xfs_repair -n` on the same forged filesystem, interleaved.
//!
//! Whole processes are compared, from start to exit, and both must find nothing. A pair is one run of each; the order alternates.
//!
//! - *hot*: everything that `check` reads is in the page cache; a pair in which it read more than a fiftieth of the image from a device is
//!   repeated. xfs_repair opens an image with O_DIRECT where it can, so that a page cache is of no use to it.
//! - *lean*: the same with `xfs_repair -n -o bhash=64`, the least memory that it takes.
//! - *memory*: the image is on a tmpfs, where O_DIRECT reads memory: what remains is the programs' own time.
//! - *cold*: caches are dropped before each run, and the bench fails if a page of the image stays cached.
//! - *fastest*: cold, against the fastest of xfs_repair's settings: its defaults, no prefetch (`-P`), a thread for each allocation group
//!   (`-o ag_stride=1`), both, and a larger hash of blocks.
//!
//! The cold row also shows a plain reader: its time for as many bytes as `check` reads is a lower bound for any checker on this disk.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};

use crate::arguments::{Place, Times};
use crate::check_vs_e2fsck::Peaks;
use crate::checker_pairs::{Checkers, From};
use crate::checker_rows;
use crate::needs;
use crate::pairs::Pairs;
use crate::run::verdict;
use crate::table::{Row, Table};

/// Measures the checker against xfs_repair.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    times: Times<7>,
    /// Files of the filesystem.
    #[arg(long, default_value_t = 1_000_000)]
    files: u64,
    /// Size of the filesystem, as in 1T.
    #[arg(long, default_value = "1T")]
    size: String,
    /// Features as `fslab forge xfs --features` takes them, as in rmapbt.
    #[arg(long, default_value = "")]
    features: String,
    /// What to measure.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "hot,lean,cold,fastest"
    )]
    parts: Vec<Part>,
    /// Folder on a tmpfs for the part memory.
    #[arg(long, default_value = "/dev/shm")]
    memory: PathBuf,
    /// Folder to keep the image in for later runs [default: it is made and removed]
    #[arg(long)]
    images: Option<PathBuf>,
    /// The program to measure [default: fslab beside this one].
    #[arg(long)]
    fslab: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Hot,
    Lean,
    Memory,
    Cold,
    Fastest,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Hot => "in the page cache",
            Part::Lean => "against -o bhash=64",
            Part::Memory => "in memory",
            Part::Cold => "cold",
            Part::Fastest => "cold, against the fastest",
        }
    }

    /// How many times faster it is to be.
    fn target(self) -> Option<f64> {
        match self {
            Part::Hot | Part::Cold => Some(5.0),
            Part::Lean | Part::Memory | Part::Fastest => None,
        }
    }

    /// The part of its memory that it may take.
    fn memory(self) -> Option<f64> {
        match self {
            Part::Hot | Part::Cold | Part::Memory => Some(0.25),
            Part::Lean | Part::Fastest => None,
        }
    }
}

/// Arguments of xfs_repair by default.
const DEFAULT: &[&str] = &["-n", "-f"];
/// The least memory that it takes.
const LEAN: &[&str] = &["-n", "-f", "-o", "bhash=64"];
/// Settings that may be faster than its defaults: no prefetch, a thread for each allocation group, both, and a larger hash of blocks.
const FAST: [&[&str]; 5] = [
    DEFAULT,
    &["-n", "-f", "-P"],
    &["-n", "-f", "-o", "ag_stride=1"],
    &["-n", "-f", "-P", "-o", "ag_stride=1"],
    &["-n", "-f", "-o", "bhash=262144"],
];

pub(crate) fn main(arguments: Arguments) -> ExitCode {
    verdict("check_vs_xfs_repair", bench(arguments))
}

/// Whether all targets were met.
fn bench(mut arguments: Arguments) -> Result<bool> {
    if arguments.times.quick {
        arguments.files = arguments.files.min(100_000);
    }
    needs::root("dropping caches")?;
    needs::peers(&["xfs_repair", "mkfs.xfs"].map(|program| (program, "xfsprogs")))?;
    let checkers = Checkers::of(arguments.fslab.as_deref(), arguments.times.pairs())?;
    let folder = tempfile::Builder::new()
        .prefix("fslab-check-xfs-")
        .tempdir_in(&arguments.place.dir)?;
    let kept = arguments.images.as_deref();
    let folder = kept.unwrap_or(folder.path());
    let features = arguments.features.replace(',', "-");
    let image = folder.join(format!("xfs-{}-files{features}.img", arguments.files));
    let files = arguments.files.to_string();
    let mut words = vec!["--size", &arguments.size, "--files", &files];
    if !arguments.features.is_empty() {
        words.extend(["--features", &arguments.features]);
    }
    checkers.forge(&image, "xfs", &words)?;
    compare(&checkers, &arguments, &image)
}

fn compare(checkers: &Checkers, arguments: &Arguments, image: &Path) -> Result<bool> {
    let reads = checkers.reads(image)?;
    let bytes = reads.0;
    let mut table = checker_rows::table(arguments.files, reads, "xfs_repair");
    let mut memory = checker_rows::memory_table("xfs_repair");
    let mut beside = None;
    for &part in &arguments.parts {
        let measure = |image: &Path, from, words| {
            checkers.measure(part.name(), image, from, ("xfs_repair", words))
        };
        let (pairs, peaks) = match part {
            Part::Hot => measure(image, From::Cache, DEFAULT)?,
            Part::Lean => measure(image, From::Cache, LEAN)?,
            Part::Memory => {
                let (_folder, copy) = checkers.copy(image, &arguments.memory)?;
                measure(&copy, From::Memory, DEFAULT)?
            }
            Part::Cold => measure(image, From::Disk, DEFAULT)?,
            Part::Fastest => measure(image, From::Disk, fastest(checkers, image)?)?,
        };
        memory.rows.push(memory_row(part, peaks));
        table.rows.push(row(part, &pairs));
        if part == Part::Cold {
            beside = Some(checker_rows::beside_a_plain_reader(
                image,
                "xfs_repair",
                bytes,
                &pairs,
                (checkers.pairs, &checkers.stop),
            )?);
        }
    }
    let tables: Vec<&Table> = [&table, &memory].into_iter().chain(&beside).collect();
    Ok(checker_rows::show(&tables))
}

/// The fastest of xfs_repair's settings on this image, by the shorter of two cold runs each.
fn fastest(checkers: &Checkers, image: &Path) -> Result<&'static [&'static str]> {
    let (mut best, mut least) = (DEFAULT, f64::INFINITY);
    for _ in 0..2 {
        for words in FAST {
            let seconds = checkers
                .once(image, From::Disk, "xfs_repair", words)?
                .seconds;
            eprintln!("xfs_repair {}: {seconds:.3} s", words.join(" "));
            if seconds < least {
                (best, least) = (words, seconds);
            }
        }
    }
    eprintln!("the fastest is xfs_repair {}", best.join(" "));
    Ok(best)
}

fn row(part: Part, pairs: &Pairs) -> Row {
    checker_rows::faster(part.name(), part.target(), pairs)
}

/// At most a quarter of what xfs_repair takes by default.
fn memory_row(part: Part, peaks: Peaks) -> Row {
    checker_rows::memory(part.name(), part.memory(), peaks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_met_by_the_ratio_of_medians() {
        let mut pairs = Pairs::default();
        for (ours, theirs) in [(1.0, 4.0), (2.0, 9.0), (3.0, 15.0)] {
            pairs.push(ours, theirs);
        }
        assert!(!row(Part::Hot, &pairs).met);
        assert!(row(Part::Lean, &pairs).met);
        pairs.push(1.0, 9.0);
        assert!(row(Part::Cold, &pairs).met);
    }

    #[test]
    fn a_quarter_of_the_memory_is_the_bound() {
        let peaks = |ours| Peaks {
            ours,
            theirs: 100.0,
        };
        assert!(memory_row(Part::Hot, peaks(25.0)).met);
        assert!(!memory_row(Part::Hot, peaks(25.1)).met);
        assert!(memory_row(Part::Lean, peaks(90.0)).met);
    }
}
