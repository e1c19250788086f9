//! `throughput` against iozone itself, on the same fresh filesystem, interleaved.
//!
//! What is compared: the figure "Children see throughput" of `iozone -t N -s SIZE -r 256k -I -T -i 0
//! -i 1 -i 2`, in three runs of a pair: iozone, ours with `as_original`, and ours as it is by default.
//! Each has a fresh ext4 on one loop image, written through beforehand, and all six tests in one
//! run with iozone's own rests of two seconds; which of the three goes first changes from pair to pair.
//! Each is a program of its own that starts anew: which pages of memory a program's buffers get is an
//! accident that moves all six of its rates by up to a fifth, so a rate of one run says little, and the
//! median needs some twenty pairs.
//!
//! The target is for `as_original`: its median ratio to iozone is within 5 %, or the interval of the
//! ratio does not exclude that. The default has no target. What it leaves out, and why, is in
//! docs/metrics.md; its ratio shows how much that is on this machine.
//!
//! iozone is in no package of most distributions, so its path is an argument or `FSLAB_IOZONE`; without
//! it this bench ends with 2, and `scripts/bench` counts it as left out.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use workload::throughput::Test;

use crate::arguments::{Binary, Place, Times};
use crate::image::Image;
use crate::needs::{self, Missing};
use crate::pairs::{Pairs, median};
use crate::run::{Stop, cannot_start, output, verdict};
use crate::table::{Printer, Row, Table};

const MIB: u64 = 1 << 20;

/// Largest deviation of `as_original`.
const WITHIN: f64 = 0.05;

/// The environment variable with iozone's path.
const VARIABLE: &str = "FSLAB_IOZONE";

/// Measures `throughput` against iozone and prints a table with targets.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    times: Times<21>,
    /// iozone, built from its source [default: the variable FSLAB_IOZONE].
    #[arg(long, value_name = "PATH")]
    iozone: Option<PathBuf>,
    /// Numbers of children.
    #[arg(long, value_delimiter = ',', default_value = "1,8")]
    threads: Vec<u32>,
    /// MiB of each child's file.
    #[arg(long, default_value_t = 128)]
    size: u64,
    /// Filesystem to make: ext4 or xfs.
    #[arg(long, default_value = "ext4")]
    fs: String,
    /// Leave out the default mode, which has no target.
    #[arg(long)]
    only_original: bool,
    #[command(flatten)]
    binary: Binary,
    #[command(flatten)]
    place: Place,
}

/// One of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Iozone,
    AsOriginal,
    Default,
}

const SIDES: [Side; 3] = [Side::Iozone, Side::AsOriginal, Side::Default];

/// Bytes a second of the six tests.
type Rates = [f64; Test::ALL.len()];

struct Bench {
    arguments: Arguments,
    iozone: PathBuf,
    stop: Stop,
}

pub(crate) fn main(arguments: Arguments) -> ExitCode {
    verdict("throughput_vs_iozone", bench(arguments))
}

/// Whether all targets were met.
fn bench(mut arguments: Arguments) -> Result<bool> {
    let iozone = program(
        arguments.iozone.take(),
        std::env::var_os(VARIABLE).as_deref(),
    )?;
    needs::root("loop devices and mounts")?;
    needs::measured(&arguments.binary.fslab)?;
    let bench = Bench {
        arguments,
        iozone,
        stop: Stop::on_signals()?,
    };
    let mut tables = Printer::default();
    println!("{}", bench.version()?);
    let most = bench
        .arguments
        .threads
        .iter()
        .max()
        .context("no number of threads")?;
    let bytes = bench.arguments.size * u64::from(*most) * 9 / 8 + 256;
    let image = Image::new(&bench.arguments.place.dir, bytes * MIB)?;
    for threads in &bench.arguments.threads {
        tables.show(&bench.measure(&image, *threads)?);
    }
    Ok(tables.all_met())
}

/// The path of iozone.
fn program(argument: Option<PathBuf>, variable: Option<&OsStr>) -> Result<PathBuf> {
    let named = variable.filter(|path| !path.is_empty()).map(PathBuf::from);
    let path = argument.or(named).ok_or_else(|| {
        Missing(format!(
            "no iozone, and it is what ours is measured against; build it from its source \
             (iozone.org, make linux-AMD64) and name it with --iozone or {VARIABLE}"
        ))
    })?;
    if !path.is_file() {
        return Err(Missing(format!(
            "{}: no such program; name iozone's binary with --iozone or {VARIABLE}",
            path.display()
        ))
        .into());
    }
    // It runs in the directory under test.
    path.canonicalize()
        .with_context(|| format!("cannot find {}", path.display()))
}

impl Bench {
    fn version(&self) -> Result<String> {
        let printed = self.run_iozone(Path::new("/"), &["-v"])?;
        let line = printed.lines().find(|line| line.contains("Version"));
        Ok(line.unwrap_or("iozone").trim().replace('\'', ""))
    }

    fn measure(&self, image: &Image, threads: u32) -> Result<Table> {
        let pairs = self.arguments.times.pairs() as usize;
        let mut original = vec![Pairs::default(); Test::ALL.len()];
        let mut default = original.clone();
        for pair in 0..pairs {
            let mut rates: [Rates; 3] = Default::default();
            for turn in 0..SIDES.len() {
                self.stop.check()?;
                let at = (pair + turn) % SIDES.len();
                if self.arguments.only_original && SIDES[at] == Side::Default {
                    continue;
                }
                let mounted = image.fresh(&self.arguments.fs)?;
                rates[at] = self.side(SIDES[at], mounted.path(), threads)?;
            }
            let [iozone, ours, plain] = rates;
            for test in 0..Test::ALL.len() {
                original[test].push(ours[test], iozone[test]);
                if !self.arguments.only_original {
                    default[test].push(plain[test], iozone[test]);
                }
            }
        }
        Ok(self.table(threads, &original, &default))
    }

    fn table(&self, threads: u32, original: &[Pairs], default: &[Pairs]) -> Table {
        let mut table = Table::new(
            format!(
                "{}, O_DIRECT: {threads} x {} MiB in 256 KiB records, {} pairs, MiB/s",
                self.arguments.fs,
                self.arguments.size,
                self.arguments.times.pairs()
            ),
            &[
                "iozone", "default", "ratio", "original", "ratio", "interval",
            ],
        );
        for (test, (original, default)) in Test::ALL.iter().zip(original.iter().zip(default)) {
            let mib = |values: &[f64]| match values {
                [] => "-".into(),
                values => format!("{:.0}", median(values) / MIB as f64),
            };
            let interval = original.interval();
            let interval =
                interval.map_or_else(|| "-".into(), |i| format!("{:.2}..{:.2}", i.low, i.high));
            let cells = [
                mib(&original.theirs),
                mib(&default.ours),
                match default.ours.as_slice() {
                    [] => "-".into(),
                    _ => format!("{:.2}", default.median_ratio()),
                },
                mib(&original.ours),
                format!("{:.2}", original.median_ratio()),
                interval,
            ];
            table.rows.push(Row::new(
                test.name(),
                cells,
                "0.95..1.05",
                is_within(original),
            ));
        }
        table
    }

    fn side(&self, side: Side, dir: &Path, threads: u32) -> Result<Rates> {
        if side == Side::Iozone {
            return self.iozone(dir, threads);
        }
        let (threads, size) = (threads.to_string(), format!("{}m", self.arguments.size));
        let dir = dir.display().to_string();
        let mut words = vec![
            "bench",
            "throughput",
            "--dir",
            &dir,
            "--threads",
            &threads,
            "--size",
            &size,
            "--record",
            "256k",
            "--direct",
            "--format",
            "json",
        ];
        if side == Side::AsOriginal {
            // iozone does not time its records unless it is asked to.
            words.extend(["--as-original", "--no-latency"]);
        }
        let fslab = self.arguments.binary.fslab.display().to_string();
        children(&output(&fslab, &words)?)
    }

    fn iozone(&self, dir: &Path, threads: u32) -> Result<Rates> {
        let (threads, size) = (threads.to_string(), format!("{}m", self.arguments.size));
        let words = [
            "-t", &threads, "-s", &size, "-r", "256k", "-I", "-T", "-i", "0", "-i", "1", "-i", "2",
        ];
        rates(&self.run_iozone(dir, &words)?)
    }

    fn run_iozone(&self, dir: &Path, words: &[&str]) -> Result<String> {
        let output = Command::new(&self.iozone)
            .args(words)
            .current_dir(dir)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| cannot_start(&self.iozone.display().to_string(), error))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(
            output.status.success(),
            "iozone {}: {}: {}",
            words.join(" "),
            output.status,
            OsStr::from_bytes(&output.stderr).display()
        );
        Ok(text)
    }
}

/// Whether a ratio is within 5 % of 1, or its interval does not exclude that.
fn is_within(pairs: &Pairs) -> bool {
    let (low, high) = (1.0 - WITHIN, 1.0 + WITHIN);
    let ratio = pairs.median_ratio();
    (low..=high).contains(&ratio)
        || pairs
            .interval()
            .is_some_and(|i| i.low <= high && i.high >= low)
}

/// The children's figures of the six phases in fslab's JSON, bytes a second.
fn children(text: &str) -> Result<Rates> {
    let outcome: serde_json::Value = serde_json::from_str(text).context("fslab's JSON")?;
    let phases = outcome["phases"].as_array().map_or(&[][..], Vec::as_slice);
    let found: Vec<f64> = phases
        .iter()
        .filter_map(|phase| phase["figures"]["children"].as_f64())
        .collect();
    found
        .try_into()
        .map_err(|found: Vec<f64>| anyhow::anyhow!("{} figures of six phases", found.len()))
}

/// The six figures in iozone's output, bytes a second.
fn rates(text: &str) -> Result<Rates> {
    let lines = text
        .lines()
        .filter(|line| line.contains("Children see throughput"));
    let kib = lines.filter_map(|line| {
        let value = line.split('=').nth(1)?;
        value
            .trim()
            .strip_suffix("kB/sec")?
            .trim()
            .parse::<f64>()
            .ok()
    });
    let found: Vec<f64> = kib.map(|kib| kib * 1024.0).collect();
    found.try_into().map_err(|found: Vec<f64>| {
        anyhow::anyhow!("iozone printed {} figures of six: {text}", found.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_iozones_lines() {
        let names = [
            "initial writers",
            "rewriters",
            "readers",
            "re-readers",
            "random readers",
            "random writers",
        ];
        let lines = names.iter().enumerate().map(|(at, name)| {
            let rate = at as f64 + 1.5;
            format!(
                "\n\tChildren see throughput for 8 {name} \t= {rate:10.2} kB/sec\n\
                 \tParent sees throughput for 8 {name} \t=       9.00 kB/sec\n"
            )
        });
        let text = lines.collect::<Vec<String>>().concat();
        assert_eq!(rates(&text).unwrap()[5], 6.5 * 1024.0);
        let error = rates("\n").unwrap_err().to_string();
        assert!(error.contains("0 figures of six"), "{error}");
    }

    #[test]
    fn figures_are_read_from_fslabs_json() {
        let phases: Vec<String> = (1..=6)
            .map(|at| format!(r#"{{"figures": {{"children": {at}.5}}}}"#))
            .collect();
        let text = |phases: &[String]| format!(r#"{{"phases": [{}]}}"#, phases.join(","));
        assert_eq!(children(&text(&phases)).unwrap()[5], 6.5);
        let error = children(&text(&phases[1..])).unwrap_err().to_string();
        assert!(error.contains("5 figures of six"), "{error}");
        assert!(children("fslab: no").is_err());
    }

    #[test]
    fn without_a_path_it_is_missing_and_the_argument_goes_before_the_variable() {
        for error in [
            program(None, None),
            program(None, Some(OsStr::new(""))),
            program(Some("/no/such/iozone".into()), Some(OsStr::new("/bin/sh"))),
        ] {
            let error = error.unwrap_err();
            assert!(
                error.is::<Missing>() && error.to_string().contains(VARIABLE),
                "{error}"
            );
        }
        assert!(
            program(None, Some(OsStr::new("/bin/sh")))
                .unwrap()
                .is_absolute()
        );
    }

    #[test]
    fn a_target_is_missed_where_the_interval_excludes_it() {
        let pairs = |ratios: &[f64]| {
            let mut pairs = Pairs::default();
            for ratio in ratios {
                pairs.push(*ratio, 1.0);
            }
            pairs
        };
        assert!(is_within(&pairs(&[1.04])));
        assert!(!is_within(&pairs(&[1.06])));
        assert!(!is_within(&pairs(&[1.2; 9])));
        assert!(is_within(&pairs(&[0.9, 0.9, 1.0, 1.1, 1.2, 1.2, 1.3])));
    }
}
