//! Our text and analysis of a block trace against blkparse and btt.
//!
//! What is compared. The same forged trace (plain: two CPUs, one disk) is in the page cache for both
//! sides. Text: `blkparse -i sda` against ours, both to /dev/null, which is the best case for
//! blkparse: it writes each line separately. Analysis: `blkparse -d` to a file and `btt --all-data` on
//! it, one after the other, against one pass of ours that prints the same tables and keeps the
//! quantiles, kinds and plot data besides. The last row omits blkparse's text (-O), which is the
//! fastest way to run it.
//!
//! What is made equal. Each run of ours is its own process, as each of theirs is: starting,
//! reading and ending count for both. Pairs alternate in which side goes first. Peak memory is the
//! kernel's high-water mark of the process.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use crate::arguments::{Place, Times};
use crate::pairs::{Pairs, alternating, median};
use crate::run::{Stop, cannot_start, output, verdict};
use crate::table::{Row, Table};
use crate::{memory, needs};
use anyhow::{Context, Result, bail, ensure};
use blktrace::{Trace, btt, text};
use clap::{Parser, ValueEnum};
use fixtures::block_trace::Forge;

/// Measures text and analysis of a trace against blkparse and btt and prints a table with targets.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    times: Times<5>,
    /// Events, about.
    #[arg(long, default_value_t = 5_400_000)]
    events: u64,
    #[command(flatten)]
    place: Place,
    /// Do our side of a run; the bench runs itself with it.
    #[arg(long, hide = true)]
    side: Option<Side>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Side {
    Text,
    Analysis,
}

/// Seconds and peak memory of a run.
#[derive(Clone, Copy, Debug)]
struct Cost {
    seconds: f64,
    peak_mib: f64,
}

pub(crate) fn main(arguments: Arguments) -> ExitCode {
    match arguments.side {
        Some(side) => match ours(&arguments.place.dir, side) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("trace_vs_blkparse: {error:#}");
                ExitCode::FAILURE
            }
        },
        None => verdict("trace_vs_blkparse", bench(arguments)),
    }
}

/// Our side of a run; its peak memory goes to standard error.
fn ours(base: &Path, side: Side) -> Result<()> {
    let mut trace = Trace::open(base)?;
    match side {
        Side::Text => {
            let mut out = io::stdout().lock();
            text::write(&mut trace, &text::Options::default(), &mut out)?;
        }
        Side::Analysis => {
            let outcome = btt::run(&mut trace, &btt::Options::default(), None)?;
            let mut out = BufWriter::new(io::stdout().lock());
            write!(out, "{}{}", outcome.tables(true), outcome.ranges())?;
            serde_json::to_writer(&mut out, &outcome.analysis())?;
            out.flush()?;
        }
    }
    eprintln!("{}", memory::peak("self")?);
    Ok(())
}

fn bench(mut arguments: Arguments) -> Result<bool> {
    arguments.events = arguments
        .times
        .amount(arguments.events, arguments.events / 10);
    needs::peers(&[("blkparse", "blktrace"), ("btt", "blktrace")])?;
    let stop = Stop::on_signals()?;
    println!("{}", output("blkparse", &["-V"])?.trim());
    println!("{}", output("btt", &["-V"])?.trim());
    let folder = tempfile::Builder::new()
        .prefix("fslab-bench-")
        .tempdir_in(&arguments.place.dir)?;
    // A plain request has 8.3 events on average.
    let forge = Forge::plain(1, arguments.events * 10 / 83);
    let events = forge.write(folder.path(), "sda")?;
    let mut table = Table::new(
        format!(
            "{events} events in the page cache, {} pairs, seconds and peak MiB",
            arguments.times.pairs()
        ),
        &["ours", "theirs", "ratio", "of pairs", "peak"],
    );
    for (name, side, target, theirs) in [
        (
            "text: blkparse",
            Side::Text,
            10.0,
            blkparse as fn(&Path) -> Result<f64>,
        ),
        (
            "analysis: blkparse -d, btt -A",
            Side::Analysis,
            8.0,
            blkparse_and_btt,
        ),
        (
            "analysis: blkparse -O -d, btt -A",
            Side::Analysis,
            2.0,
            blkparse_without_text_and_btt,
        ),
    ] {
        let mut largest = 0.0_f64;
        // Rates, so that a ratio above 1 is in our favour.
        let ours = || {
            let cost = run_ours(folder.path(), side)?;
            largest = largest.max(cost.peak_mib);
            Ok(1.0 / cost.seconds)
        };
        let theirs = || Ok(1.0 / theirs(folder.path())?);
        let pairs = alternating(arguments.times.pairs(), &stop, ours, theirs)?;
        table.rows.push(row(name, &pairs, largest, target));
    }
    println!("{}", table.text());
    Ok(table.all_met())
}

fn row(name: &str, pairs: &Pairs, peak_mib: f64, target: f64) -> Row {
    let [_, _, ratio, of_pairs] = pairs.cells(1.0, 0, 2);
    let cells = [
        format!("{:.3}", 1.0 / median(&pairs.ours)),
        format!("{:.3}", 1.0 / median(&pairs.theirs)),
        ratio,
        of_pairs,
        format!("{peak_mib:.1}"),
    ];
    let met = pairs.ratio() >= target && peak_mib < 100.0;
    Row::new(name, cells, format!(">= {target:.1}, < 100 MiB"), met)
}

fn run_ours(folder: &Path, side: Side) -> Result<Cost> {
    let side = match side {
        Side::Text => "text",
        Side::Analysis => "analysis",
    };
    let begin = Instant::now();
    let output = Command::new(std::env::current_exe()?)
        .args(["trace_vs_blkparse", "--side", side, "--dir"])
        .arg(folder.join("sda"))
        .stdin(Stdio::null())
        .stdout(File::create("/dev/null")?)
        .stderr(Stdio::piped())
        .output()?;
    let seconds = begin.elapsed().as_secs_f64();
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ours: {}", message.trim());
    let peak_mib = message.trim().parse().context("ours printed no peak")?;
    Ok(Cost { seconds, peak_mib })
}

fn blkparse(folder: &Path) -> Result<f64> {
    timed(folder, &[&["blkparse", "-i", "sda"]])
}

fn blkparse_and_btt(folder: &Path) -> Result<f64> {
    let parse = ["blkparse", "-i", "sda", "-d", "merged"];
    timed(folder, &[&parse, &["btt", "-i", "merged", "--all-data"]])
}

fn blkparse_without_text_and_btt(folder: &Path) -> Result<f64> {
    let parse = ["blkparse", "-i", "sda", "-O", "-d", "merged"];
    timed(folder, &[&parse, &["btt", "-i", "merged", "--all-data"]])
}

/// Seconds of programs one after the other, all to /dev/null.
fn timed(folder: &Path, lines: &[&[&str]]) -> Result<f64> {
    let begin = Instant::now();
    for line in lines {
        let [program, arguments @ ..] = line else {
            bail!("no program");
        };
        let status = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(File::create("/dev/null")?)
            .stderr(Stdio::null())
            .status()
            .map_err(|error| cannot_start(program, error))?;
        ensure!(status.success(), "{}: {status}", line.join(" "));
    }
    Ok(begin.elapsed().as_secs_f64())
}
