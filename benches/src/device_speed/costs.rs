//! What recording costs a check, and what a replay costs beside a report of the same trace.
//!
//! Recording: `fslab check IMAGE` with and without `--record`, interleaved pairs of whole processes on one forged image: from the page
//! cache, where a read costs least and the record therefore most, and past it. The record goes to /dev/null: writing it to a disk is the
//! disk's time. Ratios are seconds with it by seconds without.
//!
//! Replay: `fslab replay` by `fslab trace report` of the same forged trace, both from the page cache, with the sixteen drawn replays of an
//! interval and with two, the fewest.

use std::path::{Path, PathBuf};

use anyhow::Result;
use fixtures::block_trace::Forge;

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
/// The disk on which it is replayed.
const REPLAYED_ON: &str = "7k500";

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

    /// Replays of a trace and reports of it.
    pub(super) fn replay(&self) -> Result<Table> {
        let events = if self.quick { EVENTS / 20 } else { EVENTS };
        // A plain request has 8.3 events on average.
        let written = Forge::plain(1, events * 10 / 83).write(self.folder.path(), "sda")?;
        let base = self.path("sda").display().to_string();
        let mut table = Table::new(
            format!(
                "A trace of {written} events: replay on {REPLAYED_ON}, and trace report, {} pairs",
                self.pairs
            ),
            &["replay, s", "report, s", "ratio", "95 % of the median"],
        );
        let report = ["trace", "report", &base];
        self.seconds(&report)?;
        for (name, runs) in [("with 16 drawn replays", "16"), ("with 2", "2")] {
            let replay = [
                "replay",
                &base,
                "--device",
                REPLAYED_ON,
                "--place",
                "wrap",
                "--runs",
                runs,
            ];
            let pairs = alternating(
                self.pairs,
                &self.stop,
                || self.seconds(&replay),
                || self.seconds(&report),
            )?;
            table.rows.push(Costs::row(name, &pairs, 1.2));
        }
        remove(self.folder.path())?;
        Ok(table)
    }
}

fn remove(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        std::fs::remove_file(entry?.path())?;
    }
    Ok(())
}
