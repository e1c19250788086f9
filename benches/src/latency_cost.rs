//! What recording latencies costs: the same run with and without it, interleaved.
//!
//! Each record of `throughput` then costs one reading of the clock and one count, and each call of
//! `tree` one or two readings. The null engine shows this alone, in nanoseconds; 4 KiB records on a
//! tmpfs are the hardest real case (a copy of one page, no device); O_DIRECT on a loop device is a
//! usual one. The clock is pinned to nothing: both sides of a pair run in the same process, one after
//! the other, and which goes first alternates.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use params::Bytes;
use workload::engine::Kind;
use workload::throughput::{self, Test, ThroughputSpec};
use workload::tree::{self, TreeSpec};

use crate::arguments::{Place, Times, wants};
use crate::image::Image;
use crate::needs;
use crate::pairs::{Pairs, alternating, median};
use crate::run::{Stop, verdict};
use crate::table::{Printer, Row, Table};

const MIB: u64 = 1 << 20;

/// Least rate with recording over the rate without.
const TARGET: f64 = 0.98;

/// Measures what recording latencies costs and prints tables with targets.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    times: Times<15>,
    /// Which parts to run: null, tmpfs, loop, tree.
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = ["null", "tmpfs", "loop", "tree"],
        default_value = "null,tmpfs,loop,tree"
    )]
    parts: Vec<String>,
    /// A directory on a tmpfs.
    #[arg(long, default_value = "/dev/shm", value_name = "DIR")]
    tmpfs: PathBuf,
    #[command(flatten)]
    place: Place,
}

struct Bench {
    arguments: Arguments,
    stop: Stop,
}

pub(crate) fn main(arguments: Arguments) -> ExitCode {
    verdict("latency_cost", bench(arguments))
}

/// Whether all targets were met.
fn bench(arguments: Arguments) -> Result<bool> {
    let wants = |part: &str| wants(&arguments.parts, part);
    let (null, tmpfs, on_loop, tree) =
        (wants("null"), wants("tmpfs"), wants("loop"), wants("tree"));
    if on_loop {
        needs::root("loop devices and mounts")?;
    }
    let bench = Bench {
        arguments,
        stop: Stop::on_signals()?,
    };
    let mut tables = Printer::default();
    if null {
        tables.show(&bench.null()?);
    }
    if tmpfs {
        let folder = tempfile::tempdir_in(&bench.arguments.tmpfs).with_context(|| {
            format!(
                "cannot make a folder in {}",
                bench.arguments.tmpfs.display()
            )
        })?;
        let about = "4 KiB records on a tmpfs, 1000 records a second";
        tables.show(&bench.records(folder.path(), about, false)?);
    }
    if tree {
        tables.show(&bench.tree()?);
    }
    if on_loop {
        let mib = bench.file_mib(true) * 2 + 256;
        let image = Image::new(&bench.arguments.place.dir, mib * MIB)?;
        let mounted = image.fresh("ext4")?;
        let about = "4 KiB records, O_DIRECT, ext4 on a loop device, 1000 records a second";
        tables.show(&bench.records(mounted.path(), about, true)?);
    }
    Ok(tables.all_met())
}

const HEADS: [&str; 5] = ["with", "without", "ratio", "interval", "ns a record"];

impl Bench {
    /// MiB of the file.
    fn file_mib(&self, direct: bool) -> u64 {
        let whole = if direct { 32 } else { 256 };
        self.arguments.times.amount(whole, 16)
    }

    /// Pairs of rates with and without, for each test.
    fn pairs(&self, spec: &ThroughputSpec) -> Result<Vec<Pairs>> {
        let mut all = vec![Pairs::default(); spec.tests.len()];
        // The first run pays for the memory of a tmpfs, and is not counted.
        for pair in 0..=self.arguments.times.pairs() {
            self.stop.check()?;
            let mut rates = [Vec::new(), Vec::new()];
            for turn in 0..2 {
                let with = (pair + turn) % 2 == 0;
                let options = ThroughputSpec {
                    latency: with,
                    ..spec.clone()
                };
                let outcome = throughput::run(&options, &self.stop)?;
                rates[usize::from(!with)] = outcome
                    .phases
                    .iter()
                    .map(|p| p.figures["children"])
                    .collect();
            }
            if pair > 0 {
                for (test, pairs) in all.iter_mut().enumerate() {
                    pairs.push(rates[0][test], rates[1][test]);
                }
            }
        }
        Ok(all)
    }

    /// The recorder alone.
    fn null(&self) -> Result<Table> {
        let null = ThroughputSpec {
            size: Bytes(self.arguments.times.amount(1 << 24, 1 << 22) * 4096),
            engine: Kind::Null,
            tests: vec![Test::Read, Test::RandomRead],
            ..spec(&self.arguments.place.dir)
        };
        let mut table = Table::new("null engine, million records a second", &HEADS);
        for (test, pairs) in null.tests.iter().zip(self.pairs(&null)?) {
            let row = row(test.name(), &pairs, 4096.0 * 1e6);
            // A record of nothing but the recorder: there is no ratio to hold it to.
            table.rows.push(Row::new(row.0, row.1, "-", true));
        }
        Ok(table)
    }

    fn records(&self, dir: &Path, about: &str, direct: bool) -> Result<Table> {
        let spec = ThroughputSpec {
            size: Bytes(self.file_mib(direct) * MIB),
            direct,
            tests: vec![
                Test::InitialWrite,
                Test::Rewrite,
                Test::Read,
                Test::RandomRead,
            ],
            ..spec(dir)
        };
        let mut table = Table::new(about, &HEADS);
        for (test, pairs) in spec.tests.iter().zip(self.pairs(&spec)?) {
            table
                .rows
                .push(judged(row(test.name(), &pairs, 4096.0 * 1e3), &pairs));
        }
        Ok(table)
    }

    /// compilebench on a tmpfs: files a second over all phases.
    fn tree(&self) -> Result<Table> {
        let folder = tempfile::tempdir_in(&self.arguments.tmpfs)?;
        let run = |latency: bool| -> Result<f64> {
            let spec = TreeSpec {
                initial: 3,
                runs: 20,
                scale: if self.arguments.times.quick {
                    0.05
                } else {
                    0.2
                },
                sync: false,
                latency,
                ..TreeSpec::new(folder.path().join("tree"))
            };
            let outcome = tree::run(&spec, &self.stop)?;
            let files: f64 = outcome
                .phases
                .iter()
                .filter_map(|p| p.figures.get("file_count"))
                .sum();
            let seconds: f64 = outcome.phases.iter().map(|p| p.seconds).sum();
            Ok(files / seconds)
        };
        let pairs = alternating(
            self.arguments.times.pairs(),
            &self.stop,
            || run(true),
            || run(false),
        )?;
        let mut table = Table::new("tree on a tmpfs, 1000 files a second", &HEADS);
        table
            .rows
            .push(judged(row("all phases", &pairs, 1e3), &pairs));
        Ok(table)
    }
}

/// 4 KiB records, and no rest between the tests.
fn spec(dir: &Path) -> ThroughputSpec {
    ThroughputSpec {
        record: Bytes(4096),
        settle_seconds: 0.0,
        ..ThroughputSpec::new(dir)
    }
}

/// Name and cells: both medians, their ratio and its interval, and the difference of the times.
fn row(name: &str, pairs: &Pairs, unit: f64) -> (String, Vec<String>) {
    let rate = |values: &[f64]| format!("{:.1}", median(values) / unit);
    // Bytes a second over bytes of a record, or files a second.
    let record = if unit >= 4096.0 { 4096.0 } else { 1.0 };
    let time = |values: &[f64]| record / median(values) * 1e9;
    let interval = pairs.interval();
    let cells = vec![
        rate(&pairs.ours),
        rate(&pairs.theirs),
        format!("{:.3}", pairs.median_ratio()),
        interval.map_or_else(|| "-".into(), |i| format!("{:.3}..{:.3}", i.low, i.high)),
        format!("{:+.1}", time(&pairs.ours) - time(&pairs.theirs)),
    ];
    (name.to_owned(), cells)
}

/// A row that is to reach the target, or whose interval does not exclude it.
fn judged((name, cells): (String, Vec<String>), pairs: &Pairs) -> Row {
    let met = pairs.median_ratio() >= TARGET
        || pairs
            .interval()
            .is_some_and(|interval| interval.high >= TARGET);
    Row::new(name, cells, format!(">= {TARGET:.2}"), met)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_ratio_and_the_nanoseconds_of_a_record() {
        let mut pairs = Pairs::default();
        // 1,000,000 and 1,250,000 records of 4 KiB a second: 1000 ns and 800 ns.
        (0..7).for_each(|_| pairs.push(4096e6, 4096e6 * 1.25));
        let (name, cells) = row("read", &pairs, 4096.0 * 1e3);
        assert_eq!(name, "read");
        assert_eq!(
            cells,
            ["1000.0", "1250.0", "0.800", "0.800..0.800", "+200.0"]
        );
        assert!(!judged((name, cells), &pairs).met);
    }
}
