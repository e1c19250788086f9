//! This build of fslab against another one, command by command: whether a change of the code made it slower.
//!
//! `--base` names the other binary. Both run the same command lines in turn, and the wall time of the whole
//! process counts, its start included. The workloads write to a tmpfs or transfer nothing (`--engine null`), so
//! that the time is that of fslab and of the system call, not that of a disk. The checkers read one forged
//! image of each format, once from the page cache and once cold.
//!
//! Both do the same work: where only one of them records the latency of every operation, it gets `--no-latency`. What the
//! recording costs is measured by `latency_cost`.
//!
//! A row passes when the ratio of the medians is at most [`MOST`], or when the interval of the ratio holds 1:
//! then the difference cannot be distinguished from noise.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::arguments::{Place, Times};
use crate::needs;
use crate::pairs::{Pairs, alternating};
use crate::run::{Stop, drop_caches, verdict};
use crate::table::{Printer, Row, Table};
use crate::watched;
use anyhow::{Context, Result, ensure};
use clap::Parser;

/// Largest ratio of times that counts as the same speed.
const MOST: f64 = 1.03;

/// Runs commands of two builds of fslab in turn and compares their times.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    /// The other build: the binary to compare with.
    #[arg(long)]
    base: PathBuf,
    /// This build [default: fslab beside this program].
    #[arg(long)]
    fslab: Option<PathBuf>,
    #[command(flatten)]
    times: Times<9>,
    /// Folder of the images that are checked.
    #[command(flatten)]
    place: Place,
    /// Folder on a tmpfs, for what the workloads write.
    #[arg(long, default_value = "/dev/shm")]
    memory: PathBuf,
    /// Files of the checked images, in millions; a size above 1 is read cold, too.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    millions: Vec<u64>,
    /// Only rows whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
}

pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    verdict("build_vs_build", run(arguments))
}

fn run(arguments: &Arguments) -> Result<bool> {
    needs::root("dropping caches")?;
    let ours = match &arguments.fslab {
        Some(path) => path.clone(),
        None => std::env::current_exe()?.with_file_name("fslab"),
    };
    needs::measured(&ours)?;
    needs::measured(&arguments.base)?;
    let bench = Bench {
        ours: ours.display().to_string(),
        base: arguments.base.display().to_string(),
        pairs: arguments.times.pairs(),
        only: arguments.only.clone(),
        stop: Stop::on_signals()?,
    };
    let mut printer = Printer::default();
    printer.show(&bench.workloads(arguments)?);
    for millions in &arguments.millions {
        printer.show(&bench.images(arguments, *millions)?);
    }
    Ok(printer.all_met())
}

struct Bench {
    ours: String,
    base: String,
    pairs: u32,
    only: String,
    stop: Stop,
}

/// A command line: its name in the table, and the words after `fslab`.
type Case<'a> = (&'a str, Vec<&'a str>);

impl Bench {
    /// Load generators that wait for no disk.
    fn workloads(&self, arguments: &Arguments) -> Result<Table> {
        let folder = tempfile::Builder::new()
            .prefix("fslab-bench-")
            .tempdir_in(&arguments.memory)
            .with_context(|| {
                format!("{}: name a tmpfs with --memory", arguments.memory.display())
            })?;
        let dir = folder
            .path()
            .to_str()
            .context("a folder that is not UTF-8")?;
        let size = format!("{}m", arguments.times.amount(1024, 64));
        let large = format!("{}m", arguments.times.amount(32768, 1024));
        let (count, files) = (
            arguments.times.amount(1024, 64),
            arguments.times.amount(200_000, 5000),
        );
        let (count, files) = (count.to_string(), files.to_string());
        let cases: Vec<Case<'_>> = vec![
            (
                "throughput, null engine",
                vec![
                    "throughput",
                    "--engine",
                    "null",
                    "--settle",
                    "0",
                    "-s",
                    &large,
                    "-r",
                    "4k",
                ],
            ),
            (
                "throughput, sync",
                vec!["throughput", "--settle", "0", "-s", &size, "-r", "4k"],
            ),
            (
                "throughput, 2 threads",
                vec![
                    "throughput",
                    "--settle",
                    "0",
                    "-t",
                    "2",
                    "-s",
                    &size,
                    "-r",
                    "4k",
                ],
            ),
            ("stream, sync", vec!["stream", "-b", "1m", "-w", &count]),
            (
                "tree",
                vec!["tree", "-n", "-i", "4", "-r", "8", "--scale", "0.25"],
            ),
            (
                "fill",
                vec!["fill", "-n", &files, "-s", "0", "-S", "0", "-D", "16"],
            ),
        ];
        let mut table = table("Workloads on a tmpfs, s".to_owned());
        for (name, words) in cases {
            if name.contains(&self.only) {
                let words = [&["bench"], &words[..], &["--dir", dir]].concat();
                let without = self.one_has(&words[..2], "--no-latency")?;
                let more = without.then_some("--no-latency");
                table.rows.push(self.row(name, &words, more, &|| Ok(()))?);
            }
        }
        Ok(table)
    }

    /// Forging an image of each format, and checking it from the page cache and cold.
    fn images(&self, arguments: &Arguments, millions: u64) -> Result<Table> {
        let files = (millions * 1_000_000).to_string();
        let size = format!("{}g", millions * 20);
        let mut table = table(format!("{millions} million files, s"));
        for format in ["ext4", "xfs", "ocfs2"] {
            let folder = tempfile::Builder::new()
                .prefix("fslab-bench-")
                .tempdir_in(&arguments.place.dir)?;
            let image = folder.path().join("image").display().to_string();
            let again = folder.path().join("again").display().to_string();
            let forge = |path| vec!["forge", format, path, "--size", &size, "--files", &files];
            let mut row = |what: &str, words: &[&str], before: &dyn Fn() -> Result<()>| {
                let name = format!("{format}: {what}");
                if name.contains(&self.only) {
                    let row = self.row(&name, words, None, before)?;
                    table.rows.push(row);
                }
                anyhow::Ok(())
            };
            // One image for both: their layouts may differ.
            watched::run(&self.base, &forge(&image), &self.stop)?;
            let fresh = || match std::fs::remove_file(&again) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
                _ => Ok(()),
            };
            row("forge", &forge(&again), &fresh)?;
            fresh()?;
            let check = ["check", &image, "--io", "buffered"];
            watched::run(&self.ours, &check, &self.stop)?;
            row("check, page cache", &check, &|| Ok(()))?;
            row("check, cold", &["check", &image], &drop_caches)?;
        }
        Ok(table)
    }

    /// Whether this build's command has an option that the other's has not.
    fn one_has(&self, command: &[&str], option: &str) -> Result<bool> {
        let has = |program: &str| -> Result<bool> {
            let output = Command::new(program).args(command).arg("--help").output();
            let output = output.with_context(|| format!("{program}: cannot be started"))?;
            Ok(String::from_utf8_lossy(&output.stdout).contains(option))
        };
        Ok(has(&self.ours)? && !has(&self.base)?)
    }

    /// Times one command of both builds; this build's has `more` at its end.
    fn row(
        &self,
        name: &str,
        words: &[&str],
        more: Option<&str>,
        before: &dyn Fn() -> Result<()>,
    ) -> Result<Row> {
        let time = |program: &str, more: Option<&str>| {
            before()?;
            let words: Vec<&str> = words.iter().copied().chain(more).collect();
            let took = watched::run(program, &words, &self.stop)?;
            ensure!(
                // 7: measured, with doubts; a tmpfs cannot be read cold.
                matches!(took.code, 0 | 7),
                "{program} {}: exit code {}",
                words.join(" "),
                took.code
            );
            Ok(took.seconds)
        };
        let pairs = alternating(
            self.pairs,
            &self.stop,
            || time(&self.ours, more),
            || time(&self.base, None),
        )?;
        Ok(row(name, &pairs))
    }
}

fn table(title: String) -> Table {
    Table::new(title, &["this", "base", "ratio", "of pairs"])
}

fn row(name: &str, pairs: &Pairs) -> Row {
    let noise = pairs
        .interval()
        .is_some_and(|interval| interval.low <= 1.0 && interval.high >= 1.0);
    let met = pairs.ratio() <= MOST || noise;
    Row::new(name, pairs.cells(1.0, 3, 2), format!("<= {MOST}"), met)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(ratios: &[f64]) -> Pairs {
        let mut pairs = Pairs::default();
        for ratio in ratios {
            pairs.push(*ratio, 1.0);
        }
        pairs
    }

    #[test]
    fn a_slower_build_misses_and_a_noisy_one_does_not() {
        assert!(row("same", &pairs(&[1.0, 1.01, 0.99])).met);
        assert!(row("faster", &pairs(&[0.5, 0.6, 0.4])).met);
        assert!(!row("slower", &pairs(&[1.1; 9])).met);
        assert!(
            row(
                "noise",
                &pairs(&[1.1, 0.8, 1.1, 0.9, 1.3, 1.1, 0.7, 1.2, 1.1])
            )
            .met
        );
        // Three pairs have no interval: the medians decide.
        assert!(!row("few", &pairs(&[1.1, 0.8, 1.1])).met);
    }
}
