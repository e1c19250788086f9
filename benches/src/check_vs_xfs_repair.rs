//! `fslab check` against `xfs_repair -n` on the same forged filesystem, interleaved.
//!
//! Whole processes are compared, from start to exit, and both must find nothing. A pair is one run of each; the order alternates.
//!
//! - *hot*: everything that `check` reads is in the page cache; a pair in which it read more than a fiftieth of the image from a device is
//!   repeated. xfs_repair opens an image with O_DIRECT where it can, so both run through a loop device or buffered as they choose.
//! - *lean*: the same with `xfs_repair -n -o bhash=64`, the least memory that it takes.
//! - *cold*: caches are dropped before each run, and the bench fails if a page of the image stays cached.
//!
//! The cold row also shows a plain reader: its time for as many bytes as `check` reads is a lower bound for any checker on this disk.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};

use crate::arguments::{Place, Times};
use crate::check_vs_e2fsck::{Peaks, cold};
use crate::checker_rows;
use crate::needs;
use crate::pairs::{Pairs, in_turn};
use crate::run::{Stop, output, verdict};
use crate::table::{Printer, Row, Table};
use crate::watched::{self, Took};

const MIB: f64 = (1 << 20) as f64;
/// Of a hot image at most one byte in this many comes from its disk.
const COLD_SHARE: u64 = 50;

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
        default_value = "hot,lean,cold"
    )]
    parts: Vec<Part>,
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
    Cold,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Hot => "in the page cache",
            Part::Lean => "against -o bhash=64",
            Part::Cold => "cold",
        }
    }

    /// How many times faster it is to be.
    fn target(self) -> Option<f64> {
        match self {
            Part::Hot | Part::Cold => Some(5.0),
            Part::Lean => None,
        }
    }

    /// The part of its memory that it may take.
    fn memory(self) -> Option<f64> {
        match self {
            Part::Hot | Part::Cold => Some(0.25),
            Part::Lean => None,
        }
    }
}

struct Bench {
    arguments: Arguments,
    fslab: String,
    stop: Stop,
}

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
    let own = std::env::current_exe()?;
    let fslab = arguments.fslab.clone();
    let fslab = fslab.unwrap_or_else(|| own.with_file_name("fslab"));
    needs::measured(&fslab)?;
    let bench = Bench {
        fslab: fslab.display().to_string(),
        arguments,
        stop: Stop::on_signals()?,
    };
    let folder = tempfile::Builder::new()
        .prefix("fslab-check-xfs-")
        .tempdir_in(&bench.arguments.place.dir)?;
    let kept = bench.arguments.images.as_deref();
    let folder = kept.unwrap_or(folder.path());
    let features = bench.arguments.features.replace(',', "-");
    let image = folder.join(format!("xfs-{}-files{features}.img", bench.arguments.files));
    if !image.exists() {
        bench.forge(&image)?;
    }
    bench.compare(&image)
}

impl Bench {
    fn forge(&self, image: &Path) -> Result<()> {
        // What was killed half way is not found as an image.
        let unfinished = image.with_extension("part");
        let (path, files) = (
            unfinished.display().to_string(),
            self.arguments.files.to_string(),
        );
        let mut words = vec![
            "forge",
            "xfs",
            &path,
            "--size",
            &self.arguments.size,
            "--files",
            &files,
            "--sync",
        ];
        if !self.arguments.features.is_empty() {
            words.extend(["--features", &self.arguments.features]);
        }
        let took = watched::run(&self.fslab, &words, &self.stop)?;
        ensure!(
            took.code == 0,
            "fslab {}: exit code {}",
            words.join(" "),
            took.code
        );
        eprintln!("forged {files} files in {:.2} s", took.seconds);
        Ok(std::fs::rename(&unfinished, image)?)
    }

    fn compare(&self, image: &Path) -> Result<bool> {
        let path = image.display().to_string();
        let (bytes, requests) = self.reads(&path)?;
        let mut table = Table::new(
            format!(
                "{} files; check reads {:.1} MiB in {requests:.0} requests; seconds",
                self.arguments.files,
                bytes / MIB
            ),
            &["check", "xfs_repair", "faster", "pairs"],
        );
        let mut memory = Table::new("Peak memory, MiB", &["check", "xfs_repair", "ratio"]);
        let mut beside = None;
        for &part in &self.arguments.parts {
            let (pairs, peaks) = self.part(part, image)?;
            memory.rows.push(memory_row(part, peaks));
            table.rows.push(row(part, &pairs));
            if part == Part::Cold {
                let times = (self.arguments.times.pairs(), &self.stop);
                beside = Some(checker_rows::beside_a_plain_reader(
                    image,
                    "xfs_repair",
                    bytes,
                    &pairs,
                    times,
                )?);
            }
        }
        let mut printer = Printer::default();
        printer.show(&table);
        printer.show(&memory);
        if let Some(table) = beside {
            printer.show(&table);
        }
        Ok(printer.all_met())
    }

    /// Bytes and requests of `fslab check`, by its own report.
    fn reads(&self, image: &str) -> Result<(f64, f64)> {
        let words = ["check", "--io", "direct", "--format", "json", image];
        let report: serde_json::Value = serde_json::from_str(&output(&self.fslab, &words)?)?;
        let total = &report["total"];
        let field = |name: &str| {
            let value = total[name].as_f64();
            value.with_context(|| format!("the report has no {name}: {total}"))
        };
        Ok((field("bytes")?, field("requests")?))
    }

    /// All pairs of a part, and the most memory of each side.
    fn part(&self, part: Part, image: &Path) -> Result<(Pairs, Peaks)> {
        use std::os::unix::fs::MetadataExt as _;
        let path = image.display().to_string();
        let allowed = image.metadata()?.blocks() * 512 / COLD_SHARE;
        if part != Part::Cold {
            let words = ["check", "--io", "buffered", &path];
            for _ in 0..2 {
                watched::run(&self.fslab, &words, &self.stop)?;
            }
        }
        let wanted = self.arguments.times.pairs() as usize;
        let (mut pairs, mut peaks, mut tried) = (Pairs::default(), Peaks::default(), 0_usize);
        while pairs.ours.len() < wanted && tried < 2 * wanted {
            self.stop.check()?;
            let run = |ours: bool| -> Result<Took> {
                if part == Part::Cold {
                    cold(image, None)?;
                }
                self.side(part, ours, &path)
            };
            let (ours, theirs) = in_turn(tried.is_multiple_of(2), || run(true), || run(false))?;
            tried += 1;
            let counts = part == Part::Cold || ours.fetched <= allowed;
            eprintln!(
                "{part:?}: {:.3} and {:.3} s, {:.1} MiB and {:.1} MiB from devices{}",
                ours.seconds,
                theirs.seconds,
                ours.fetched as f64 / MIB,
                theirs.fetched as f64 / MIB,
                if counts { "" } else { ": not hot, once more" }
            );
            if counts {
                peaks.take(Peaks {
                    ours: ours.peak,
                    theirs: theirs.peak,
                });
                pairs.push(ours.seconds, theirs.seconds);
            }
        }
        ensure!(
            !pairs.ours.is_empty(),
            "the page cache never held the image"
        );
        Ok((pairs, peaks))
    }

    /// One run of a side, which must find nothing.
    fn side(&self, part: Part, ours: bool, target: &str) -> Result<Took> {
        let (program, words) = match (ours, part) {
            (true, _) => (self.fslab.as_str(), vec!["check", target]),
            (false, Part::Lean) => ("xfs_repair", vec!["-n", "-f", "-o", "bhash=64", target]),
            (false, _) => ("xfs_repair", vec!["-n", "-f", target]),
        };
        let took = watched::run(program, &words, &self.stop)?;
        ensure!(
            took.code == 0,
            "{program} {}: exit code {}",
            words.join(" "),
            took.code
        );
        Ok(took)
    }
}

fn row(part: Part, pairs: &Pairs) -> Row {
    checker_rows::faster(part.name(), part.target(), pairs)
}

/// At most a quarter of what xfs_repair takes by default.
fn memory_row(part: Part, peaks: Peaks) -> Row {
    let ratio = peaks.ours / peaks.theirs;
    let cells = [
        format!("{:.1}", peaks.ours),
        format!("{:.1}", peaks.theirs),
        format!("{ratio:.2}"),
    ];
    let goal = part
        .memory()
        .map_or(String::new(), |most| format!("<= {most:.2}"));
    let met = part.memory().is_none_or(|most| ratio <= most);
    Row::new(part.name(), cells, goal, met)
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
