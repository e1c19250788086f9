//! `stream` against fio and dd, on the same fresh filesystem, interleaved, and what verification
//! costs.
//!
//! What is compared. Clock (a) of ours is dd's: open and truncation before it, close inside, no
//! flush. fio's run time begins when the job starts, includes the open of the file, ends after
//! the last transfer and is rounded up to whole milliseconds; the table's note says how much that
//! can be. dd's seconds have six digits and are taken as printed.
//!
//! What is made equal. One loop image, written through beforehand; mkfs before every write; one
//! file, of ours, for all reads of a pair, so that all read the same blocks; the order ours,
//! theirs, theirs, ours; a real unmount and mount before every buffered read; `syncfs` after each
//! write; zeros on all sides (fio: zero_buffers); fio neither preallocates nor advises the kernel
//! (fallocate=none, fadvise_hint=0), for dd and stream do not. What stays: dd reads /dev/zero for
//! each block, which is part of what dd is.
//!
//! A buffered write of 1 GiB differs by a factor of three from one run to the next on a virtual machine that hands
//! its free pages back to the host (`memory.free_page_reporting` of the context): the next
//! process that touches them waits for the host. Both sides make the same calls, so these rows have three times as many pairs, and their
//! target counts as met unless the median ratio is below it with 95 % confidence.
//!
//! The cost of verification is our own ratio verified read to our own plain one, of the same
//! verified file: cold, where the device dominates, and from the page cache, where nothing hides the
//! cost: that row has no target (docs/decisions/0009-verify-cost.md).

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::arguments::{Place, Times, wants};
use crate::image::{Image, Mounted};
use crate::pairs::{Pairs, two_and_two};
use crate::run::{Stop, cannot_start, output, verdict};
use crate::table::{Printer, Row, Table};
use crate::{fio, needs};
use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use params::Bytes;
use workload::engine::{Direction, Kind};
use workload::stream::{self, Between, StreamSpec, Test};
use workload::syncfs::syncfs;
use workload::{Evidence, Observer, Progress};

const MIB: u64 = 1 << 20;
const FILE: &str = "bigfile";

/// How many times as many pairs a buffered write takes.
const MORE: usize = 3;

/// The one verified read without a target.
const CACHED: &str = "from the page cache";

/// Measures `stream` against fio and dd and prints tables with targets.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    times: Times<7>,
    /// MiB of the file.
    #[arg(long, default_value_t = 1024)]
    size: u64,
    /// KiB of a request.
    #[arg(long, default_value_t = 1024)]
    block: u64,
    /// Filesystem to make: ext4 or xfs.
    #[arg(long, default_value = "ext4")]
    fs: String,
    /// Which parts to run: write, read, verify.
    #[arg(long, value_delimiter = ',', value_parser = ["write", "read", "verify"], default_value = "write,read,verify")]
    parts: Vec<String>,
    /// Only the comparisons whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    #[command(flatten)]
    place: Place,
}

/// The peer to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    /// With this I/O engine.
    Fio(&'static str),
    Dd,
}

/// One comparison.
#[derive(Clone, Copy, Debug)]
struct Case {
    name: &'static str,
    direct: bool,
    engine: Kind,
    depth: u32,
    peer: Peer,
}

const CASES: [Case; 6] = [
    case(
        "buffered, fio psync",
        false,
        Kind::Sync,
        1,
        Peer::Fio("psync"),
    ),
    case("buffered, dd", false, Kind::Sync, 1, Peer::Dd),
    case(
        "O_DIRECT depth 1, fio psync",
        true,
        Kind::Sync,
        1,
        Peer::Fio("psync"),
    ),
    case("O_DIRECT depth 1, dd", true, Kind::Sync, 1, Peer::Dd),
    case(
        "O_DIRECT depth 32, fio libaio",
        true,
        Kind::Aio,
        32,
        Peer::Fio("libaio"),
    ),
    case(
        "O_DIRECT depth 32, fio io_uring",
        true,
        Kind::IoUring,
        32,
        Peer::Fio("io_uring"),
    ),
];

const fn case(name: &'static str, direct: bool, engine: Kind, depth: u32, peer: Peer) -> Case {
    Case {
        name,
        direct,
        engine,
        depth,
        peer,
    }
}

struct Bench {
    arguments: Arguments,
    stop: Stop,
}

/// Lets `stream` remount what it reads from.
struct Remounts<'a> {
    mounted: &'a Mounted,
    stop: &'a Stop,
}

impl Observer for Remounts<'_> {
    fn remount(&self) -> io::Result<Evidence> {
        self.mounted.remount().map_err(io::Error::other)?;
        Ok(Evidence {
            name: "cold_cache".into(),
            holds: Some(true),
            detail: "unmounted and mounted".into(),
        })
    }
}

impl Progress for Remounts<'_> {
    fn cancelled(&self) -> bool {
        self.stop.is_set()
    }
}

pub(crate) fn main(arguments: Arguments) -> ExitCode {
    verdict("stream_vs_peers", bench(arguments))
}

/// Whether all targets were met.
fn bench(mut arguments: Arguments) -> Result<bool> {
    arguments.size = arguments.times.amount(arguments.size, 128);
    needs::root("loop devices and mounts")?;
    needs::peers(&[fio::FIO, ("dd", "coreutils")])?;
    ensure!(
        (arguments.size * MIB).is_multiple_of(arguments.block << 10),
        "--size must hold whole blocks"
    );
    let bench = Bench {
        arguments,
        stop: Stop::on_signals()?,
    };
    bench.run()
}

impl Bench {
    fn cases(&self) -> Vec<Case> {
        let only = &self.arguments.only;
        CASES
            .into_iter()
            .filter(|case| case.name.contains(only.as_str()))
            .collect()
    }

    fn bytes(&self) -> u64 {
        self.arguments.size * MIB
    }

    fn run(&self) -> Result<bool> {
        let wants = |part: &str| wants(&self.arguments.parts, part);
        let dd = output("dd", &["--version"])?;
        println!("{}, {}", fio::version()?, dd.lines().next().unwrap_or("dd"));
        let image = Image::new(&self.arguments.place.dir, self.bytes() * 9 / 8 + 512 * MIB)?;
        let mut tables = Printer::default();
        if wants("write") {
            tables.show(&self.writes(&image)?);
        }
        if wants("read") {
            tables.show(&self.reads(&image)?);
        }
        if wants("verify") {
            tables.show(&self.verification(&image)?);
        }
        Ok(tables.all_met())
    }

    /// Each write on its own filesystem.
    fn writes(&self, image: &Image) -> Result<Table> {
        let cases = self.cases();
        let mut results = vec![Pairs::default(); cases.len()];
        let pairs = self.arguments.times.pairs() as usize;
        for pair in 0..MORE * pairs {
            let due = |case: &&Case| !case.direct || pair < pairs;
            for (i, case) in cases.iter().enumerate().filter(|(_, case)| due(case)) {
                let side = |ours: bool| {
                    self.stop.check()?;
                    let mounted = image.fresh(&self.arguments.fs)?;
                    self.measure(&mounted, case, Direction::Write, ours)
                };
                results[i].push_both(two_and_two((pair + i) % 2 == 0, side)?);
            }
        }
        Ok(self.table("write", &cases, &results))
    }

    /// All reads of a pair, from one file.
    fn reads(&self, image: &Image) -> Result<Table> {
        let cases = self.cases();
        let mut results = vec![Pairs::default(); cases.len()];
        for pair in 0..self.arguments.times.pairs() as usize {
            let mounted = image.fresh(&self.arguments.fs)?;
            self.make_file(&mounted, false)?;
            for (i, case) in cases.iter().enumerate() {
                let side = |ours: bool| {
                    self.stop.check()?;
                    self.measure(&mounted, case, Direction::Read, ours)
                };
                let ours_first = (pair + i) % 2 == 0;
                if pair == 0 {
                    // Not counted: the first run may fill a cache of the host.
                    side(ours_first)?;
                }
                results[i].push_both(two_and_two(ours_first, side)?);
            }
        }
        Ok(self.table("read", &cases, &results))
    }

    /// Our verified read against our plain one.
    fn verification(&self, image: &Image) -> Result<Table> {
        let ways = [
            ("cold, buffered", false, Kind::Sync, 1, Between::Remount),
            (CACHED, false, Kind::Sync, 1, Between::Warm),
            (
                "O_DIRECT depth 32, io_uring",
                true,
                Kind::IoUring,
                32,
                Between::Warm,
            ),
        ];
        let mut results = vec![Pairs::default(); ways.len()];
        for pair in 0..self.arguments.times.pairs() as usize {
            let mounted = image.fresh(&self.arguments.fs)?;
            self.make_file(&mounted, true)?;
            for (i, (_, direct, engine, queue_depth, between)) in ways.into_iter().enumerate() {
                let read = |verify: bool| {
                    self.stop.check()?;
                    let options = StreamSpec {
                        direct,
                        engine,
                        queue_depth,
                        between,
                        verify,
                        test: Test::Read,
                        ..self.options(mounted.path())
                    };
                    self.stream(&mounted, &options)
                };
                // Fills the page cache for the warm reads.
                read(false)?;
                results[i].push_both(two_and_two((pair + i) % 2 == 0, read)?);
            }
        }
        let mut table = Table::new(
            format!(
                "cost of verification: {} MiB in {} KiB blocks, {} pairs of 2 + 2 reads, MiB/s",
                self.arguments.size,
                self.arguments.block,
                self.arguments.times.pairs()
            ),
            &["verified", "plain", "ratio", "of pairs"],
        );
        for ((name, ..), pairs) in ways.into_iter().zip(&results) {
            table.rows.push(if name == CACHED {
                Row::new(name, cells(pairs), "none", true)
            } else {
                row(name, pairs, 0.85)
            });
        }
        Ok(table)
    }

    fn table(&self, what: &str, cases: &[Case], results: &[Pairs]) -> Table {
        let fastest = results.iter().flat_map(|r| &r.theirs).copied();
        let fastest = fastest.fold(1.0, f64::max);
        let mut table = Table::new(
            format!(
                "{}, {what}: {} MiB in {} KiB blocks, {} pairs of 2 + 2 runs, MiB/s\n\
                 (fio rounds run times up to 1 ms; the shortest here was {:.0} ms){}",
                self.arguments.fs,
                self.arguments.size,
                self.arguments.block,
                self.arguments.times.pairs(),
                self.bytes() as f64 / fastest * 1e3,
                match what {
                    "write" => "\n* of three times as many: 95 % of the median, not met when below",
                    _ => "",
                }
            ),
            &["ours", "theirs", "ratio", "of pairs"],
        );
        for (case, pairs) in cases.iter().zip(results) {
            table.rows.push(if what == "write" && !case.direct {
                not_below(case.name, pairs, 0.97)
            } else {
                row(case.name, pairs, 0.97)
            });
        }
        table
    }

    fn options(&self, dir: &Path) -> StreamSpec {
        let block = self.arguments.block << 10;
        StreamSpec {
            file: FILE.into(),
            block: Bytes(block),
            count: self.bytes() / block,
            keep: true,
            ..StreamSpec::new(dir)
        }
    }

    /// The file that is read.
    fn make_file(&self, mounted: &Mounted, verify: bool) -> Result<()> {
        let options = StreamSpec {
            verify,
            test: Test::Write,
            ..self.options(mounted.path())
        };
        self.stream(mounted, &options).map(drop)
    }

    /// Bytes a second under clock (a).
    fn stream(&self, mounted: &Mounted, options: &StreamSpec) -> Result<f64> {
        let observer = Remounts {
            mounted,
            stop: &self.stop,
        };
        let outcome = stream::run(options, &observer)?;
        let phase = outcome.phases.first().context("no phase")?;
        let wrong = phase.evidence.iter().find(|e| e.holds == Some(false));
        if let Some(evidence) = wrong {
            bail!("{}: {}", evidence.name, evidence.detail);
        }
        phase.bytes_per_s.original.context("no rate")
    }

    fn measure(
        &self,
        mounted: &Mounted,
        case: &Case,
        direction: Direction,
        ours: bool,
    ) -> Result<f64> {
        let cold = direction == Direction::Read && !case.direct;
        if ours {
            let options = StreamSpec {
                direct: case.direct,
                engine: case.engine,
                queue_depth: case.depth,
                between: if cold {
                    Between::Remount
                } else {
                    Between::Warm
                },
                test: match direction {
                    Direction::Read => Test::Read,
                    Direction::Write => Test::Write,
                },
                ..self.options(mounted.path())
            };
            return self.stream(mounted, &options);
        }
        if cold {
            mounted.remount()?;
        }
        let file = mounted.path().join(FILE);
        let rate = match case.peer {
            Peer::Fio(engine) => self.fio(&file, case, direction, engine)?,
            Peer::Dd => self.dd(&file, case, direction)?,
        };
        if direction == Direction::Write {
            syncfs(mounted.path())?;
        }
        Ok(rate)
    }

    fn fio(&self, file: &Path, case: &Case, direction: Direction, engine: &str) -> Result<f64> {
        let key = match direction {
            Direction::Read => "read",
            Direction::Write => "write",
        };
        let Arguments { size, block, .. } = self.arguments;
        let more = [
            format!("--filename={}", file.display()),
            format!("--ioengine={engine}"),
            format!("--iodepth={}", case.depth),
            format!("--direct={}", u8::from(case.direct)),
            format!("--rw={key}"),
            format!("--bs={block}k"),
            format!("--size={size}m"),
        ];
        let mut arguments = vec![
            "--name=job",
            "--thread",
            "--fallocate=none",
            "--end_fsync=0",
            "--overwrite=0",
            "--invalidate=0",
            "--fadvise_hint=0",
            "--zero_buffers",
        ];
        arguments.extend(more.iter().map(String::as_str));
        let jobs = fio::jobs(&arguments)?;
        let moved = &jobs[0][key]["io_bytes"];
        ensure!(
            *moved == self.bytes(),
            "fio {}: {moved} bytes",
            more.join(" ")
        );
        fio::rate(&jobs)
    }

    fn dd(&self, file: &Path, case: &Case, direction: Direction) -> Result<f64> {
        let file = file.display();
        let (from, to, flag) = match direction {
            Direction::Read => (format!("if={file}"), "of=/dev/null".into(), "iflag=direct"),
            Direction::Write => ("if=/dev/zero".into(), format!("of={file}"), "oflag=direct"),
        };
        let block = self.arguments.block << 10;
        let mut command = Command::new("dd");
        command
            .args([from, to, format!("bs={block}")])
            .arg(format!("count={}", self.bytes() / block))
            .args(case.direct.then_some(flag))
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        let output = command
            .output()
            .map_err(|error| cannot_start("dd", error))?;
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "dd: {message}");
        let line = message.lines().last().unwrap_or_default();
        let bytes: u64 = line.split(' ').next().unwrap_or_default().parse()?;
        ensure!(bytes == self.bytes(), "dd: {message}");
        let seconds = line
            .split(" copied, ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        let seconds: f64 = seconds.context("dd printed no seconds")?.parse()?;
        Ok(bytes as f64 / seconds)
    }
}

/// A line of ours against theirs.
fn row(name: &str, pairs: &Pairs, target: f64) -> Row {
    Row::at_least(name, pairs, cells(pairs), target)
}

/// Met unless the median ratio is below the target with 95 % confidence; of too few pairs by the median
/// alone.
fn not_below(name: &str, pairs: &Pairs, target: f64) -> Row {
    let ratio = pairs.median_ratio();
    let interval = pairs.interval();
    let mut cells = cells(pairs);
    cells[2] = format!("{ratio:.3}");
    if let Some(interval) = &interval {
        cells[3] = format!("{:.3}..{:.3} *", interval.low, interval.high);
    }
    let met = interval.map_or(ratio, |interval| interval.high) >= target;
    Row::new(name, cells, format!(">= {target:.2} *"), met)
}

fn cells(pairs: &Pairs) -> [String; 4] {
    pairs.cells(MIB as f64, 0, 3)
}
