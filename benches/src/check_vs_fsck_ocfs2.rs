//! `fslab check` against `fsck.ocfs2 -fn` on the same forged volume, interleaved.
//!
//! The volume is that of the measurements of 2011 (`fslab forge ocfs2 --preset paper-2011`): 2 TB, 1.56 million files, one
//! slot. Whole processes are compared, from start to exit, and both must find nothing. A pair is one run of each; the order alternates.
//!
//! - *hot*: everything that `check` reads is in the page cache; a pair in which it read more than a fiftieth of the image from a device is
//!   repeated. fsck.ocfs2 opens every volume with O_DIRECT, so a page cache is of no use to it: it reads from the disk again.
//! - *memory*: the image is on a tmpfs, where O_DIRECT reads memory: what remains is the programs' own time. It has no target.
//! - *cold*: caches are dropped before each run, and the bench fails if a page of the image stays cached.
//!
//! The cold row also shows a plain reader, as `check_vs_e2fsck` does: its time for as many bytes as `check` reads is a lower bound for
//! any checker on this disk, and no factor between the two programs can be larger than that of fsck.ocfs2 to the bound.

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

/// Files of the measurements of 2011.
const FILES: u64 = 1_556_247;

/// Measures the checker against fsck.ocfs2.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    times: Times<7>,
    /// Files of the volume.
    #[arg(long, default_value_t = FILES)]
    files: u64,
    /// Size of the volume, as in 2T.
    #[arg(long, default_value = "2T")]
    size: String,
    /// What to measure.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "hot,cold")]
    parts: Vec<Part>,
    /// Folder to keep the image in for later runs [default: it is made and removed]
    #[arg(long)]
    images: Option<PathBuf>,
    /// Folder on a tmpfs for the part memory.
    #[arg(long, default_value = "/dev/shm")]
    memory: PathBuf,
    /// The program to measure [default: fslab beside this one].
    #[arg(long)]
    fslab: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Hot,
    Memory,
    Cold,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Hot => "in the page cache",
            Part::Memory => "in memory",
            Part::Cold => "cold",
        }
    }

    /// How many times faster it is to be.
    fn target(self) -> Option<f64> {
        match self {
            Part::Hot => Some(10.0),
            Part::Memory => None,
            Part::Cold => Some(4.0),
        }
    }
}

pub(crate) fn main(arguments: Arguments) -> ExitCode {
    verdict("check_vs_fsck_ocfs2", bench(arguments))
}

/// Whether all targets were met.
fn bench(mut arguments: Arguments) -> Result<bool> {
    if arguments.times.quick {
        arguments.files = arguments.files.min(100_000);
    }
    needs::root("dropping caches")?;
    needs::peers(&["fsck.ocfs2", "mkfs.ocfs2"].map(|program| (program, "ocfs2-tools")))?;
    let checkers = Checkers::of(arguments.fslab.as_deref(), arguments.times.pairs())?;
    let folder = tempfile::Builder::new()
        .prefix("fslab-check-ocfs2-")
        .tempdir_in(&arguments.place.dir)?;
    let kept = arguments.images.as_deref();
    let folder = kept.unwrap_or(folder.path());
    let image = folder.join(format!("ocfs2-{}-files.img", arguments.files));
    let files = arguments.files.to_string();
    let words = ["--size", &arguments.size, "--files", &files];
    let words = [&words[..], &["--preset", "paper-2011", "--slots", "1"]].concat();
    checkers.forge(&image, "ocfs2", &words)?;
    compare(&checkers, &arguments, &image)
}

fn compare(checkers: &Checkers, arguments: &Arguments, image: &Path) -> Result<bool> {
    let reads = checkers.reads(image)?;
    let bytes = reads.0;
    let mut table = checker_rows::table(arguments.files, reads, "fsck.ocfs2");
    let (mut peaks, mut beside) = (Peaks::default(), None);
    let reference = ("fsck.ocfs2", &["-fn"][..]);
    for &part in &arguments.parts {
        let measure = |image: &Path, from| checkers.measure(part.name(), image, from, reference);
        let (pairs, of_part) = match part {
            Part::Hot => measure(image, From::Cache)?,
            Part::Memory => {
                let (_folder, copy) = checkers.copy(image, &arguments.memory)?;
                measure(&copy, From::Memory)?
            }
            Part::Cold => measure(image, From::Disk)?,
        };
        peaks.take(of_part);
        table.rows.push(row(part, &pairs));
        if part == Part::Cold {
            beside = Some(checker_rows::beside_a_plain_reader(
                image,
                "fsck.ocfs2",
                bytes,
                &pairs,
                (checkers.pairs, &checkers.stop),
            )?);
        }
    }
    let mut memory = checker_rows::memory_table("fsck.ocfs2");
    memory.rows.push(memory_row(peaks));
    let tables: Vec<&Table> = [&table, &memory].into_iter().chain(&beside).collect();
    Ok(checker_rows::show(&tables))
}

fn row(part: Part, pairs: &Pairs) -> Row {
    checker_rows::faster(part.name(), part.target(), pairs)
}

/// At most half of fsck.ocfs2's.
fn memory_row(peaks: Peaks) -> Row {
    checker_rows::memory("MiB", Some(0.5), peaks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_met_by_the_ratio_of_medians() {
        let mut pairs = Pairs::default();
        for (ours, theirs) in [(1.0, 8.0), (2.0, 18.0), (3.0, 30.0)] {
            pairs.push(ours, theirs);
        }
        assert!(!row(Part::Hot, &pairs).met);
        assert!(row(Part::Memory, &pairs).met);
        let cold = row(Part::Cold, &pairs);
        assert!(cold.met);
        assert_eq!(cold.cells, ["2.000", "18.000", "9.0", "8.0..10.0"]);
    }

    #[test]
    fn half_of_the_memory_is_the_bound() {
        let peaks = |ours| Peaks {
            ours,
            theirs: 100.0,
        };
        assert!(memory_row(peaks(50.0)).met && !memory_row(peaks(50.1)).met);
    }
}
