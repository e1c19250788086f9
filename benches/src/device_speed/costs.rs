//! What recording costs a check, and what a replay costs beside a report of the same trace.
//!
//! Recording: `fslab check IMAGE` with and without `--record`, interleaved pairs of whole processes on one forged image: from the page
//! cache, where a read costs least and the record therefore most, and past it. The record goes to /dev/null: writing it to a disk is the
//! disk's time. Ratios are seconds with it by seconds without.
//!
//! Replay: `fslab replay` by `fslab trace report` of the same forged trace, both from the page cache, with the sixteen drawn replays of an
//! interval and with two, the fewest; on a disk, and on arrays.
//!
//! Memory: peaks of replays of that trace, of one twice as long, and of a check's own record of as many reads as that trace has requests.
//!
//! A record goes to a file beyond 64 MiB, two million reads. A check with as many takes too long for pairs, so what each read costs is measured
//! by itself, in memory and beyond it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result};
use blockio::layer::{Entry, Recording};
use blockio::{BlockSource as _, Ram};
use fixtures::block_trace::Forge;
use serde_json::Value;

use super::Arguments;
use crate::needs;
use crate::pairs::{Pairs, alternating};
use crate::run::{Stop, output};
use crate::table::{Row, Table};
use crate::watched;

/// Bytes of the image for each file, most of them never written.
const SIZE_OF_FILE: u64 = 20 << 10;
/// Events of the trace.
const EVENTS: u64 = 10_000_000;
/// Devices on which it is replayed, and how many drawn replays there are: a disk; 2 disks with a link; 230 in groups with parity.
const REPLAYED_ON: [(&str, &str); 4] = [
    ("7k500", "16"),
    ("7k500", "2"),
    ("lun-2011", "16"),
    ("layton-72t", "16"),
];
/// MiB of memory of a replay, besides what each request takes that is in flight or held.
const MEMORY: f64 = 64.0;
/// Bytes of such a request.
const HELD: f64 = 256.0;

/// The program, where its files are, and how often it runs.
pub(super) struct Costs {
    fslab: String,
    folder: tempfile::TempDir,
    pairs: u32,
    files: u64,
    quick: bool,
    stop: Stop,
}

impl Costs {
    pub(super) fn of(arguments: &Arguments) -> Result<Costs> {
        needs::measured(&arguments.binary.fslab)?;
        Ok(Costs {
            fslab: arguments.binary.fslab.display().to_string(),
            folder: tempfile::Builder::new()
                .prefix("fslab-bench-")
                .tempdir_in(&arguments.place.dir)?,
            pairs: arguments.times.pairs(),
            files: arguments.files / if arguments.times.quick { 10 } else { 1 },
            quick: arguments.times.quick,
            stop: Stop::on_signals()?,
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Seconds of a run.
    fn seconds(&self, words: &[&str]) -> Result<f64> {
        let took = watched::run(&self.fslab, words, &self.stop)?;
        anyhow::ensure!(
            took.code == 0,
            "{} {} ended with {}",
            self.fslab,
            words.join(" "),
            took.code
        );
        Ok(took.seconds)
    }

    /// A row: seconds of both, and the ratio, which is to be at most `target`.
    fn row(name: &str, pairs: &Pairs, target: f64) -> Row {
        let ratio = pairs.median_ratio();
        let interval = pairs.interval().map_or_else(
            || "-".to_owned(),
            |interval| format!("{:.3}..{:.3}", interval.low, interval.high),
        );
        let [ours, theirs, ..] = pairs.cells(1.0, 3, 3);
        Row::new(
            name,
            [ours, theirs, format!("{ratio:.3}"), interval],
            format!("<= {target:.2}"),
            ratio <= target,
        )
    }

    /// Checks with and without a record.
    pub(super) fn recording(&self) -> Result<Table> {
        let image = self.path("image");
        let path = image.display().to_string();
        let files = self.files;
        let (count, size) = (files.to_string(), (files * SIZE_OF_FILE).to_string());
        let words = ["forge", "ext4", &path, "--files", &count, "--size", &size];
        output(&self.fslab, &words)?;
        let mut table = Table::new(
            format!(
                "fslab check of {files} files with and without a record of its reads, {} pairs",
                self.pairs
            ),
            &["with, s", "without, s", "ratio", "95 % of the median"],
        );
        for (name, io) in [("from the page cache", "buffered"), ("past it", "direct")] {
            let plain = ["check", "--io", io, &path];
            let record = [&plain[..], &["--record", "/dev/null"]].concat();
            // Once before, so that the page cache has what it can hold.
            self.seconds(&plain)?;
            let pairs = alternating(
                self.pairs,
                &self.stop,
                || self.seconds(&record),
                || self.seconds(&plain),
            )?;
            table.rows.push(Costs::row(name, &pairs, 1.02));
        }
        std::fs::remove_file(&image)?;
        Ok(table)
    }

    /// What recording adds to a read, in memory and beyond the 64 MiB that it keeps there.
    pub(super) fn recorded_read() -> Result<Table> {
        const READS: u64 = 2 << 20;
        /// 2 % of a read of 50 us.
        const MOST_NS: f64 = 1000.0;
        let source = Recording::new(Ram::sparse(READS << 9));
        let mut buffer = [0; 512];
        let mut table = Table::new("What a read costs that is recorded", &["ns"]);
        for name in ["in memory", "beyond it, in a file"] {
            let begin = Instant::now();
            for number in 0..READS {
                source.read_at(&mut buffer, number << 9)?;
            }
            let ns = begin.elapsed().as_nanos() as f64 / READS as f64;
            let cells = [format!("{ns:.0}")];
            let target = format!("<= {MOST_NS:.0}");
            table
                .rows
                .push(Row::new(name, cells, target, ns <= MOST_NS));
        }
        anyhow::ensure!(source.take()?.len() == 2 * READS, "reads are missing");
        Ok(table)
    }

    /// Replays of a trace and reports of it.
    pub(super) fn replay(&self) -> Result<Table> {
        let (base, written) = self.trace("sda", 1)?;
        let mut table = Table::new(
            format!(
                "A trace of {written} events: replay, and trace report, {} pairs",
                self.pairs
            ),
            &["replay, s", "report, s", "ratio", "95 % of the median"],
        );
        let report = ["trace", "report", &base];
        self.seconds(&report)?;
        for (device, runs) in REPLAYED_ON {
            let replay = replay(&base, device, runs);
            let pairs = alternating(
                self.pairs,
                &self.stop,
                || self.seconds(&replay),
                || self.seconds(&report),
            )?;
            let name = format!("on {device}, {runs} drawn replays");
            table.rows.push(Costs::row(&name, &pairs, 1.2));
        }
        remove(self.folder.path())?;
        Ok(table)
    }

    /// A trace of the events of a replay, times `times`; its base and how many events it has.
    fn trace(&self, name: &str, times: u64) -> Result<(String, u64)> {
        let events = times * if self.quick { EVENTS / 20 } else { EVENTS };
        // A plain request has 8.3 events on average.
        let written = Forge::plain(1, events * 10 / 83).write(self.folder.path(), name)?;
        Ok((self.path(name).display().to_string(), written))
    }

    /// Peak memory of replays.
    pub(super) fn memory(&self) -> Result<Table> {
        let mut table = Table::new(
            "Peak memory of replays, MiB",
            &["requests", "held", "memory", "bound"],
        );
        for times in [1, 2] {
            let (base, events) = self.trace("sda", times)?;
            for (device, runs) in REPLAYED_ON {
                if runs == "16" {
                    let name = format!("{events} events on {device}");
                    table
                        .rows
                        .push(self.peak(&name, &replay(&base, device, runs))?);
                }
            }
            if times == 1 {
                // Each request at its recorded time: none of these keeps up, and most requests are held at the end.
                for device in ["7k500", "lun-2011", "layton-72t", "piszcz-raid5"] {
                    let name = format!("the same in the mode open on {device}");
                    let words = [&replay(&base, device, "2")[..], &["--mode", "open"]].concat();
                    table.rows.push(self.peak(&name, &words)?);
                }
            }
            remove(self.folder.path())?;
        }
        let reads = self.path("check.reads");
        let count = (EVENTS / 4) as u32 / if self.quick { 20 } else { 1 };
        std::fs::write(&reads, record_of_reads(count))?;
        let reads = reads.display().to_string();
        for device in ["7k500", "layton-72t"] {
            let words = ["replay", &reads, "--device", device, "--runs", "2"];
            let name = format!("a check's record on {device}");
            table.rows.push(self.peak(&name, &words)?);
        }
        remove(self.folder.path())?;
        Ok(table)
    }

    /// A row of a replay's memory.
    fn peak(&self, name: &str, words: &[&str]) -> Result<Row> {
        let took = watched::run(&self.fslab, words, &self.stop)?;
        let words = [words, &["--format", "json"]].concat();
        let report: Value = serde_json::from_str(&output(&self.fslab, &words)?)?;
        let number = |pointer: &str| {
            let found = report.pointer(pointer).and_then(Value::as_f64);
            found.with_context(|| format!("the report of a replay has no {pointer}"))
        };
        let requests = number("/devices/0/rows/0/requests")?;
        let held = number("/devices/0/modelled_held")?;
        let bound = MEMORY + HELD * held / f64::from(1 << 20);
        Ok(Row::new(
            name,
            [
                format!("{requests:.0}"),
                format!("{held:.0}"),
                format!("{:.1}", took.peak),
                format!("{bound:.1}"),
            ],
            "<= bound",
            took.peak <= bound,
        ))
    }
}

/// A replay of a trace on a device.
fn replay<'a>(base: &'a str, device: &'a str, runs: &'a str) -> [&'a str; 8] {
    let words = ["replay", base, "--device", device];
    let more = ["--place", "wrap", "--runs", runs];
    let mut all = [""; 8];
    all[..4].copy_from_slice(&words);
    all[4..].copy_from_slice(&more);
    all
}

/// The record of a check by 4 threads (docs/formats.md), each of which has 8 reads in flight.
fn record_of_reads(count: u32) -> Vec<u8> {
    let entry = |number: u32| {
        let submitted = u64::from(number / 32) * 50_000 + u64::from(number % 32) * 100;
        let called = submitted + 10_000;
        Entry {
            offset: u64::from(number.wrapping_mul(2_654_435_761) >> 6) * 4096,
            len: 4096,
            thread: (number % 4) as u16,
            submitted,
            called,
            delivered: called + 20_000,
            is_taken: true,
        }
    };
    let end = u64::from(count) * 50_000;
    let mut bytes = b"fslabreq".to_vec();
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend(u64::from(count).to_le_bytes());
    bytes.extend(end.to_le_bytes());
    for number in 0..count {
        bytes.extend(entry(number).to_bytes());
    }
    bytes
}

fn remove(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        std::fs::remove_file(entry?.path())?;
    }
    Ok(())
}
