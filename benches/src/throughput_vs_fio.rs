//! `throughput` against fio, on the same fresh filesystem, interleaved.
//!
//! What is compared. fio's job bandwidth is a job's bytes over its run time, which begins when all
//! jobs are let go and ends after the last transfer, with neither fsync nor close: iozone's
//! children's figure without -e and -c. The group figure here is the sum over the jobs, as iozone
//! sums its children. Ours runs with the stonewall off (-x), because fio's jobs all run to their
//! own end. fio's run time includes the open of the file and is rounded up to whole milliseconds;
//! the sizes make this less than 1 % (the table's note says how much), in our favour.
//!
//! What is made equal. One loop image, written through beforehand; mkfs before every initial write;
//! the other five tests follow one another on the files of the last one, so that both sides read
//! and write the same blocks, in the order ours, fio, fio, ours; `syncfs` after each; same
//! constant buffer contents (a device may compress); no cache advice (`fadvise_hint=0`,
//! `invalidate=0`), so buffered reads find the same warm cache (looked at before and after; a
//! measurement during which someone dropped the caches is done again); no per-record scrambling of fio's
//! buffers; neither side preallocates.
//!
//! What is not made equal: our buffers ask for huge pages, fio's are where its allocator puts them, as
//! Debian ships it (docs/decisions/0006-transfer-buffers.md).
//!
//! Rejected: an image for each side. Where the machine's disk is itself an image on a shared host,
//! reads of one image can come from the host's memory and those of the other from its disk.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::arguments::{Place, Times, wants};
use crate::image::{Image, Mounted};
use crate::pairs::{Pairs, alternating, median, two_and_two};
use crate::run::{Stop, verdict};
use crate::table::{Printer, Row, Table};
use crate::{fio, needs};
use anyhow::{Context, Result, bail};
use clap::Parser;
use params::Bytes;
use workload::engine::{Direction, Kind};
use workload::syncfs::syncfs;
use workload::throughput::{self, Test, ThroughputSpec};

const MIB: u64 = 1 << 20;

/// Measures `throughput` against fio and prints tables with targets.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    times: Times<7>,
    /// Children and fio jobs.
    #[arg(long, default_value_t = 2)]
    threads: u32,
    /// MiB of each child's file.
    #[arg(long, default_value_t = 1024)]
    size: u64,
    /// Filesystem to make: ext4 or xfs.
    #[arg(long, default_value = "ext4")]
    fs: String,
    /// Which parts to run: direct, buffered, cached, null.
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = ["direct", "buffered", "cached", "null"],
        default_value = "direct,buffered,cached,null"
    )]
    parts: Vec<String>,
    #[command(flatten)]
    place: Place,
}

struct Bench {
    arguments: Arguments,
    stop: Stop,
}

pub(crate) fn main(arguments: Arguments) -> ExitCode {
    verdict("throughput_vs_fio", bench(arguments))
}

/// Whether all targets were met.
fn bench(mut arguments: Arguments) -> Result<bool> {
    arguments.size = arguments.times.amount(arguments.size, 128);
    needs::root("loop devices and mounts")?;
    needs::peers(&[fio::FIO])?;
    let bench = Bench {
        arguments,
        stop: Stop::on_signals()?,
    };
    bench.run()
}

impl Bench {
    fn run(&self) -> Result<bool> {
        let wants = |part: &str| wants(&self.arguments.parts, part);
        let mut tables = Printer::default();
        println!("{}", fio::version()?);
        if wants("null") {
            tables.show(&self.null()?);
        }
        let needs_image = ["direct", "buffered", "cached"]
            .iter()
            .any(|part| wants(part));
        if needs_image {
            let files = self.arguments.size * u64::from(self.arguments.threads);
            let bytes = (files.max(self.cached_mib()) * 9 / 8 + 512) * MIB;
            let image = Image::new(&self.arguments.place.dir, bytes)?;
            for (part, direct) in [("direct", true), ("buffered", false)] {
                if wants(part) {
                    tables.show(&self.six_tests(&image, direct)?);
                }
            }
            if wants("cached") {
                tables.show(&self.cached(&image)?);
            }
        }
        Ok(tables.all_met())
    }

    /// The six tests on one image. In a pair each test is done four times, ours, fio's, fio's, ours
    /// (or the other way round in every second pair), and a side's figure is the bytes of its two
    /// over their time: a drift of the machine affects both alike. The initial write gets a fresh
    /// filesystem each time; the other tests all use the files of its last one, so that both sides
    /// read the same blocks. One run that is not counted goes first: where the disk itself is an
    /// image on a host, the first run fills the host's cache for the second.
    fn six_tests(&self, image: &Image, direct: bool) -> Result<Table> {
        let Arguments {
            threads, size, fs, ..
        } = &self.arguments;
        let pairs = self.arguments.times.pairs();
        let mut results = vec![Pairs::default(); Test::ALL.len()];
        for pair in 0..pairs as usize {
            let mut mounted = None;
            for (i, test) in Test::ALL.into_iter().enumerate() {
                let mut side = |ours: bool| {
                    self.stop.check()?;
                    if test == Test::InitialWrite {
                        // Unmounts the one before.
                        drop(mounted.take());
                        mounted = Some(image.fresh(fs)?);
                    }
                    let mounted: Option<&Mounted> = mounted.as_ref();
                    let dir = mounted.context("nothing is mounted")?.path();
                    if ours {
                        self.ours(dir, test, direct)
                    } else {
                        self.fio_test(dir, test, direct)
                    }
                };
                let ours_first = (pair + i) % 2 == 0;
                if pair == 0 || test == Test::Read {
                    side(!ours_first)?;
                }
                results[i].push_both(two_and_two(ours_first, side)?);
            }
        }
        let fastest = results.iter().flat_map(|r| &r.theirs).copied();
        let fastest = fastest.fold(0.0, f64::max);
        let shortest = (size * MIB) as f64 * f64::from(*threads) / fastest;
        let how = if direct {
            "O_DIRECT"
        } else {
            "buffered, reads warm in both"
        };
        let mut table = Table::new(
            format!(
                "{fs}, {how}: {threads} x {size} MiB in 256 KiB records, {pairs} pairs of 2 + 2 runs, MiB/s\n\
                 (fio rounds run times up to 1 ms; its shortest here was {:.0} ms; our buffers lie on\n\
                 huge pages, fio's as they come)",
                shortest * 1e3
            ),
            &["ours", "fio", "ratio", "of pairs"],
        );
        for (test, pairs) in Test::ALL.iter().zip(&results) {
            table.rows.push(row(test.name(), pairs, MIB as f64, 0.95));
        }
        Ok(table)
    }

    fn options(&self, dir: &Path) -> ThroughputSpec {
        ThroughputSpec {
            threads: self.arguments.threads,
            size: Bytes(self.arguments.size * MIB),
            stonewall: false,
            settle_seconds: 0.0,
            // fio without its options for latencies is the peer; `latency_cost` measures ours.
            latency: false,
            ..ThroughputSpec::new(dir)
        }
    }

    /// Bytes a second of one test, on the files that the tests before it have left.
    fn ours(&self, dir: &Path, test: Test, direct: bool) -> Result<f64> {
        let options = ThroughputSpec {
            direct,
            keep: true,
            tests: vec![test],
            ..self.options(dir)
        };
        self.steadily(dir, is_warm_read(test, direct), || {
            let outcome = throughput::run(&options, &self.stop)?;
            Ok(outcome.phases[0].figures["children"])
        })
    }

    /// The same by fio.
    fn fio_test(&self, dir: &Path, test: Test, direct: bool) -> Result<f64> {
        let (rw, overwrite) = match test {
            Test::InitialWrite => ("write", 0),
            Test::Rewrite => ("write", 1),
            Test::Read | Test::Reread => ("read", 0),
            Test::RandomRead => ("randread", 0),
            Test::RandomWrite => ("randwrite", 1),
        };
        let more = [
            format!("--rw={rw}"),
            format!("--overwrite={overwrite}"),
            format!("--direct={}", u8::from(direct)),
            format!("--size={}m", self.arguments.size),
            format!("--numjobs={}", self.arguments.threads),
            "--bs=256k".into(),
        ];
        let rate = self.steadily(dir, is_warm_read(test, direct), || run_fio(dir, &more))?;
        syncfs(dir)?;
        Ok(rate)
    }

    /// Runs a measurement; one that needs a warm cache again if someone else on the machine has
    /// dropped the caches before or while it ran.
    fn steadily(
        &self,
        dir: &Path,
        warm: bool,
        mut measure: impl FnMut() -> Result<f64>,
    ) -> Result<f64> {
        for _ in 0..20 {
            self.stop.check()?;
            if warm {
                warm_up(dir)?;
            }
            let rate = measure()?;
            if !warm || is_warm(dir)? {
                return Ok(rate);
            }
        }
        bail!("the page cache is dropped again and again; run this on a quiet machine")
    }

    /// MiB of the file for 4 KiB records from the page cache.
    fn cached_mib(&self) -> u64 {
        self.arguments.times.amount(2048, 256)
    }

    /// 4 KiB random reads from the page cache, each side pinned to the same processor.
    fn cached(&self, image: &Image) -> Result<Table> {
        let mib = self.cached_mib();
        let mounted = image.fresh(&self.arguments.fs)?;
        let dir = mounted.path();
        let mut options = ThroughputSpec {
            threads: 1,
            size: Bytes(mib * MIB),
            record: Bytes(1 << 20),
            keep: true,
            tests: vec![Test::InitialWrite],
            ..self.options(dir)
        };
        throughput::run(&options, &self.stop)?;
        (options.record, options.tests) = (Bytes(4096), vec![Test::RandomRead]);
        let jobs = [
            "--rw=randread".into(),
            "--bs=4k".into(),
            "--direct=0".into(),
            "--numjobs=1".into(),
            format!("--size={mib}m"),
            format!("--cpus_allowed={}", processor()?),
        ];
        let mut table = Table::new(
            format!("4 KiB random reads of {mib} MiB in the page cache, one core, 1000/s"),
            &["ours", "fio", "ratio", "of pairs"],
        );
        for (name, extra) in [
            ("fio as it is", None),
            ("fio --gtod_reduce=1", Some("--gtod_reduce=1")),
        ] {
            let mut line = jobs.to_vec();
            line.extend(extra.map(String::from));
            let ours = || {
                let _pinned = Pinned::to(processor()?)?;
                self.steadily(dir, true, || {
                    let outcome = throughput::run(&options, &self.stop)?;
                    Ok(outcome.phases[0].figures["children"])
                })
            };
            let theirs = || self.steadily(dir, true, || run_fio(dir, &line));
            let pairs = alternating(self.arguments.times.pairs(), &self.stop, ours, theirs)?;
            table.rows.push(row(name, &pairs, 4096.0 * 1e3, 1.0));
        }
        Ok(table)
    }

    /// What the generator itself can do on one core.
    fn null(&self) -> Result<Table> {
        let mut table = Table::new(
            "null engine on one core, million operations a second",
            &["median", "least", "largest"],
        );
        let _pinned = Pinned::to(processor()?)?;
        for (test, records) in [
            (Test::InitialWrite, 1_u64 << 28),
            (Test::RandomRead, 1 << 24),
        ] {
            let options = ThroughputSpec {
                threads: 1,
                size: Bytes(records * 4096),
                record: Bytes(4096),
                engine: Kind::Null,
                tests: vec![test],
                ..self.options(&self.arguments.place.dir)
            };
            let mut rates = Vec::new();
            for _ in 0..self.arguments.times.pairs() {
                let outcome = throughput::run(&options, &self.stop)?;
                rates.push(outcome.phases[0].figures["children"] / 4096.0 / 1e6);
            }
            let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
            let largest = rates.iter().copied().fold(0.0, f64::max);
            let cells = [median(&rates), least, largest].map(|v| format!("{v:.1}"));
            let met = median(&rates) >= 50.0;
            table.rows.push(Row::new(test.name(), cells, ">= 50", met));
        }
        Ok(table)
    }
}

/// Whether a test finds, and must keep, its files in the page cache.
fn is_warm_read(test: Test, direct: bool) -> bool {
    !direct && test.direction() == Direction::Read
}

fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(dir)?;
    let paths = entries.map(|e| Ok(e?.path())).collect::<Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|p| p.is_file()).collect())
}

fn is_warm(dir: &Path) -> Result<bool> {
    for path in files(dir)? {
        let seen = workload::residency::of_path(&path)?;
        if seen.resident < seen.pages {
            return Ok(false);
        }
    }
    Ok(true)
}

fn warm_up(dir: &Path) -> Result<()> {
    if is_warm(dir)? {
        return Ok(());
    }
    for path in files(dir)? {
        std::io::copy(&mut std::fs::File::open(path)?, &mut std::io::sink())?;
    }
    Ok(())
}

/// A line of ours against fio's.
fn row(name: &str, pairs: &Pairs, unit: f64, target: f64) -> Row {
    Row::at_least(name, pairs, pairs.cells(unit, 1, 3), target)
}

/// One fio run with the settings both sides share: the sum of its jobs' bytes a second.
fn run_fio(dir: &Path, more: &[String]) -> Result<f64> {
    let directory = format!("--directory={}", dir.display());
    let mut arguments = vec![
        "--name=job",
        "--ioengine=psync",
        "--thread",
        "--fallocate=none",
        "--norandommap=0",
        "--invalidate=0",
        "--fadvise_hint=0",
        "--scramble_buffers=0",
        "--buffer_pattern=0xa5a5a5a5",
        "--filename_format=iozone.DUMMY.$jobnum",
        directory.as_str(),
    ];
    arguments.extend(more.iter().map(String::as_str));
    fio::rate(&fio::jobs(&arguments)?)
}

/// The last processor that this program may use: the first takes most interrupts.
fn processor() -> Result<usize> {
    let allowed = rustix::thread::sched_getaffinity(None)?;
    (0..rustix::thread::CpuSet::MAX_CPU)
        .rfind(|&cpu| allowed.is_set(cpu))
        .context("this program may use no processor")
}

/// This thread and those it starts run on one processor until this is dropped.
struct Pinned {
    before: rustix::thread::CpuSet,
}

impl Pinned {
    fn to(cpu: usize) -> Result<Pinned> {
        let before = rustix::thread::sched_getaffinity(None)?;
        let mut set = rustix::thread::CpuSet::new();
        set.set(cpu);
        rustix::thread::sched_setaffinity(None, &set)
            .with_context(|| format!("cannot run on processor {cpu} alone"))?;
        Ok(Pinned { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Err(error) = rustix::thread::sched_setaffinity(None, &self.before) {
            eprintln!("cannot undo the pinning: {error}");
        }
    }
}
