//! `fill` against Debian's fs_mark, on the same fresh filesystem, interleaved.
//!
//! What is compared. fs_mark's own two numbers, `Files/sec` (the sum of its processes' rates) and
//! `App Overhead` (the loop's time outside the calls it times), against the same two of ours, with
//! the same options: a name, open, write and close of each file (-S 1: fsync before the close).
//! fs_mark also calls mkdir for every file, which finds the directory there; ours does so once for
//! each directory it moves to. To show what that alone gains, ours is measured
//! a second time with an mkdir for every file: call for call what fs_mark does.
//!
//! What is made equal. One loop image, written through beforehand; mkfs and mount before every run
//! of either side; a pair is ours, fs_mark, fs_mark, ours, the next the other way round, and a
//! side's figure is that of its two runs together, so that drift affects both; the filesystem is unmounted after every
//! run, so that neither side's writeback affects the other. Directories are walked at least once round by
//! every process, so that fs_mark's start by the clock does not change which of them are made.
//! fs_mark's log is outside the filesystem. One uncounted run of each side goes
//! first. After each run the inodes in use are counted and compared.
//!
//! What is not: fs_mark forks, ours starts threads with descriptor tables of their own; fs_mark
//! walks an absolute path for every file, ours one relative to the open base. Both are design
//! choices, and part of what is measured.

use std::path::Path;
use std::process::ExitCode;

use crate::arguments::{Place, Times};
use crate::image::Image;
use crate::pairs::{Pairs, in_turn};
use crate::run::{Stop, output, verdict};
use crate::table::{Printer, Row, Table};
use crate::{memory, needs};
use anyhow::{Context, Result, ensure};
use clap::Parser;
use params::{Bytes, Parameters};
use workload::fill::{self, FillSpec, Mkdir, Names};

const MIB: u64 = 1 << 20;

/// Measures `fill` against fs_mark and prints tables with targets.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    times: Times<21>,
    /// Processes of both sides.
    #[arg(long, default_value_t = 2)]
    processes: u32,
    /// Files of each process without sync (-S 0).
    #[arg(long, default_value_t = 20_000)]
    files: u64,
    /// Files of each process with an fsync of each (-S 1).
    #[arg(long, default_value_t = 2000)]
    synced_files: u64,
    /// Sync methods: 0 none, 1 an fsync of each file.
    #[arg(long = "method", value_delimiter = ',', default_value = "0,1",
          value_parser = clap::value_parser!(u8).range(0..=1))]
    methods: Vec<u8>,
    /// Bytes of a file.
    #[arg(long, default_value_t = 4096)]
    size: u64,
    /// Filesystems to make.
    #[arg(long, value_delimiter = ',', default_value = "ext4,xfs")]
    fs: Vec<String>,
    #[command(flatten)]
    place: Place,
    /// Plan this many names and print the memory used; the bench runs itself with it.
    #[arg(long, hide = true)]
    plan: Option<u64>,
}

/// Subdirectories, and files of a process in each before it moves on.
const DIRECTORIES: u32 = 20;
const PER_DIRECTORY: u64 = 100;

/// Result of one run of one side.
#[derive(Clone, Copy, Debug)]
struct Sight {
    /// Files/sec.
    rate: f64,
    /// App Overhead, microseconds.
    overhead: f64,
    /// Inodes that the run used.
    inodes: u64,
    directories: u64,
}

impl Sight {
    /// Two runs over the same number of files, as one.
    fn with(self, other: Sight) -> Sight {
        Sight {
            rate: 2.0 / (1.0 / self.rate + 1.0 / other.rate),
            overhead: f64::midpoint(self.overhead, other.overhead),
            ..self
        }
    }
}

/// All pairs of one filesystem and method.
struct Measured {
    /// Files of each process.
    files: u64,
    /// Files/sec: as it is, and with an mkdir for every file where that was run.
    rates: [Pairs; 2],
    /// App Overhead, microseconds for each file, of the same two.
    overheads: [Pairs; 2],
    /// Inodes that the runs of each side left, least and most.
    inodes: [(u64, u64); 2],
    /// Directories that the runs of each side left, least and most.
    directories: [(u64, u64); 2],
}

impl Measured {
    /// Inodes and directories that a run of a side left.
    fn saw(&mut self, side: usize, one: Sight) {
        for (range, value) in [
            (&mut self.inodes[side], one.inodes),
            (&mut self.directories[side], one.directories),
        ] {
            *range = (range.0.min(value), range.1.max(value));
        }
    }
}

struct Bench {
    arguments: Arguments,
    stop: Stop,
}

pub(crate) fn main(arguments: Arguments) -> ExitCode {
    verdict("fill_vs_fs_mark", bench(arguments))
}

/// Whether all targets were met.
fn bench(mut arguments: Arguments) -> Result<bool> {
    if let Some(names) = arguments.plan {
        println!("{}", plan(names)?);
        return Ok(true);
    }
    arguments.files = arguments.times.amount(arguments.files, 10_000);
    arguments.synced_files = arguments.times.amount(arguments.synced_files, 2000);
    ensure!(
        arguments.files.min(arguments.synced_files) >= u64::from(DIRECTORIES) * PER_DIRECTORY,
        "at least {} files, so that every directory is used",
        u64::from(DIRECTORIES) * PER_DIRECTORY
    );
    needs::root("loop devices and mounts")?;
    needs::peers(&[("fs_mark", "fsmark")])?;
    Bench {
        arguments,
        stop: Stop::on_signals()?,
    }
    .run()
}

impl Bench {
    fn run(&self) -> Result<bool> {
        let version = output("dpkg-query", &["-W", "-f", "${Version}", "fsmark"]);
        println!(
            "fs_mark {}",
            version.as_deref().unwrap_or("(not a package)")
        );
        let mut tables = Printer::default();
        tables.show(&planned()?);
        let files = self.arguments.files * u64::from(self.arguments.processes);
        // mke2fs gives an inode for each 16 KiB.
        let bytes = (files * 5 / 4 * self.arguments.size.max(16 << 10) + 512 * MIB).max(1024 * MIB);
        let image = Image::new(&self.arguments.place.dir, bytes)?;
        for fs in &self.arguments.fs {
            for method in &self.arguments.methods {
                tables.show(&self.compare(&image, fs, *method)?);
            }
        }
        Ok(tables.all_met())
    }

    /// All runs with one sync method. A pair of runs differs from the next by a sixth, because of the log and
    /// the device, so the verdict uses the interval.
    fn compare(&self, image: &Image, fs: &str, method: u8) -> Result<Table> {
        let files = match method {
            0 => self.arguments.files,
            _ => self.arguments.synced_files,
        };
        let measured = self.measure(image, fs, method, files)?;
        let mut table = self.table(fs, method, &measured);
        let [rates, every_rate] = &measured.rates;
        let [overheads, every_overhead] = &measured.overheads;
        let not_less = rates.interval().map_or(rates.median_ratio(), |i| i.high) >= 1.0;
        let mut rows = vec![
            compared("Files/sec", rates, 1, ">= 1.00 *", |_| not_less),
            compared("App Overhead, us/file", overheads, 2, "<= 0.33", |r| {
                r <= 1.0 / 3.0
            }),
        ];
        if method == 0 {
            // No targets: most of the overhead is the mkdir itself, on both sides.
            let any = |_| true;
            rows.push(compared(
                "Files/sec, mkdir every file",
                every_rate,
                1,
                "none",
                any,
            ));
            rows.push(compared(
                "App Overhead, the same",
                every_overhead,
                2,
                "none",
                any,
            ));
        }
        table.rows.splice(0..0, rows);
        Ok(table)
    }

    /// Title, and what must be the same on both sides.
    fn table(&self, fs: &str, method: u8, measured: &Measured) -> Table {
        let title = format!(
            "{fs}, -S {method}: {} processes x {} files of {} bytes, -D {DIRECTORIES} \
             -N {PER_DIRECTORY},\n{} pairs of 2 + 2 runs on fresh filesystems; medians\n\
             * met unless the median ratio is below 1.00 with 95 % confidence",
            self.arguments.processes,
            measured.files,
            self.arguments.size,
            measured.rates[0].ours.len()
        );
        let mut table = Table::new(title, &["ours", "fs_mark", "ratio", "95 %"]);
        table.rows = vec![
            same("inodes", measured.inodes),
            same("directories", measured.directories),
        ];
        table
    }

    fn measure(&self, image: &Image, fs: &str, method: u8, files: u64) -> Result<Measured> {
        let ours = |mkdir| self.side(image, fs, |base| self.ours(base, method, files, mkdir));
        let theirs = || self.side(image, fs, |base| self.theirs(base, method, files));
        in_turn(false, || ours(Mkdir::FirstUse), theirs)?;
        let mut measured = Measured {
            files,
            rates: [Pairs::default(), Pairs::default()],
            overheads: [Pairs::default(), Pairs::default()],
            inodes: [(u64::MAX, 0); 2],
            directories: [(u64::MAX, 0); 2],
        };
        let all = (files * u64::from(self.arguments.processes)) as f64;
        for pair in 0..self.arguments.times.pairs() {
            let first = pair % 2 == 0;
            let outer = in_turn(first, || ours(Mkdir::FirstUse), theirs)?;
            let every = (method == 0).then(|| ours(Mkdir::EveryFile)).transpose()?;
            let inner = in_turn(!first, || ours(Mkdir::FirstUse), theirs)?;
            let ours = outer.0.with(inner.0);
            let theirs = outer.1.with(inner.1);
            for (at, one) in [Some(ours), every].into_iter().enumerate() {
                let Some(one) = one else { continue };
                measured.rates[at].push(one.rate, theirs.rate);
                measured.overheads[at].push(one.overhead / all, theirs.overhead / all);
            }
            for one in [outer.0, inner.0].into_iter().chain(every) {
                measured.saw(0, one);
            }
            measured.saw(1, outer.1);
            measured.saw(1, inner.1);
        }
        Ok(measured)
    }

    /// One run on a fresh filesystem.
    fn side(
        &self,
        image: &Image,
        fs: &str,
        run: impl FnOnce(&Path) -> Result<(f64, f64)>,
    ) -> Result<Sight> {
        self.stop.check()?;
        let mounted = image.fresh(fs)?;
        let used = || -> Result<u64> {
            workload::syncfs::syncfs(mounted.path())?;
            let fs = rustix::fs::statvfs(mounted.path())?;
            Ok(fs.f_files - fs.f_ffree)
        };
        let before = used()?;
        let base = mounted.path().join("base");
        std::fs::create_dir(&base)?;
        let (rate, overhead) = run(&base)?;
        let mut directories = 0;
        for entry in std::fs::read_dir(&base)? {
            directories += u64::from(entry?.file_type()?.is_dir());
        }
        Ok(Sight {
            rate,
            overhead,
            inodes: used()? - before,
            directories,
        })
    }

    fn ours(&self, base: &Path, method: u8, files: u64, mkdir: Mkdir) -> Result<(f64, f64)> {
        let options = FillSpec {
            files,
            processes: self.arguments.processes,
            size: Bytes(self.arguments.size),
            directories: DIRECTORIES,
            per_directory: PER_DIRECTORY,
            sync_method: method,
            mkdir,
            keep: true,
            ..FillSpec::new(base)
        };
        let outcome = fill::run(&options, &self.stop)?;
        let phase = &outcome.phases[0];
        for found in &phase.evidence {
            ensure!(
                found.holds == Some(true),
                "{}: {}",
                found.name,
                found.detail
            );
        }
        let rate = phase.files_per_s.and_then(|clocks| clocks.original);
        Ok((
            rate.context("fill gave no rate")?,
            phase.figures["app_overhead"] * 1e6,
        ))
    }

    fn theirs(&self, base: &Path, method: u8, files: u64) -> Result<(f64, f64)> {
        let log = tempfile::NamedTempFile::new()?;
        let arguments = [
            ("-d", base.display().to_string()),
            ("-n", files.to_string()),
            ("-t", self.arguments.processes.to_string()),
            ("-s", self.arguments.size.to_string()),
            ("-D", DIRECTORIES.to_string()),
            ("-N", PER_DIRECTORY.to_string()),
            ("-S", method.to_string()),
            ("-L", "1".into()),
            ("-l", log.path().display().to_string()),
        ];
        let mut line = vec!["-k"];
        for (option, value) in &arguments {
            line.extend([*option, value]);
        }
        let message = output("fs_mark", &line)?;
        let last = message.lines().last().unwrap_or_default();
        let words: Vec<&str> = last.split_whitespace().collect();
        let number = |at: usize| {
            let word = words.get(at).and_then(|word| word.parse::<f64>().ok());
            word.with_context(|| format!("fs_mark printed {last:?}"))
        };
        let count = files * u64::from(self.arguments.processes);
        ensure!(number(1)? as u64 == count, "fs_mark wrote {}", number(1)?);
        Ok((number(3)?, number(4)?))
    }
}

/// A row with both medians, the median ratio of the pairs, which is to meet a target, and its interval.
fn compared(
    name: &str,
    pairs: &Pairs,
    digits: usize,
    target: &str,
    is_met: impl Fn(f64) -> bool,
) -> Row {
    let ratio = pairs.median_ratio();
    let mut cells = pairs.cells(1.0, digits, 2);
    cells[2] = format!("{ratio:.2}");
    cells[3] = pairs
        .interval()
        .map_or("too few".into(), |i| format!("{:.2}..{:.2}", i.low, i.high));
    Row::new(name, cells, target, is_met(ratio))
}

/// What all runs of both sides must leave equal.
fn same(name: &str, seen: [(u64, u64); 2]) -> Row {
    let cell = |(least, most): (u64, u64)| {
        if least == most {
            most.to_string()
        } else {
            format!("{least}..{most}")
        }
    };
    let cells = [cell(seen[0]), cell(seen[1]), String::new(), String::new()];
    let (least, most) = seen[0];
    Row::new(name, cells, "equal", seen[0] == seen[1] && least == most)
}

/// Names to plan: a fifth of the largest fill of 2012.
const NAMES: u64 = 20_000_000;

/// What planning names costs, in its own process.
fn planned() -> Result<Table> {
    let program = std::env::current_exe()?.display().to_string();
    let message = output(&program, &["fill_vs_fs_mark", "--plan", &NAMES.to_string()])?;
    let mut words = message.split_whitespace();
    let mut next = || -> Result<f64> { Ok(words.next().context("no plan was made")?.parse()?) };
    let (mib, seconds) = (next()?, next()?);
    let mut table = Table::new(
        format!(
            "{} million names planned, and again backwards as -S 3 does ({:.0} ns a name)",
            NAMES / 1_000_000,
            seconds * 1e9 / (2 * NAMES) as f64
        ),
        &["ours", "fs_mark 3.3-3"],
    );
    // 208 bytes of each name's entry, as its binary allocates them.
    let cells = [
        format!("{mib:.1}"),
        format!("{:.0}", (NAMES * 208) as f64 / MIB as f64),
    ];
    let row = Row::new("memory, MiB", cells, "< 50", mib < 50.0);
    table.rows.push(row);
    Ok(table)
}

/// All names of three processes, forwards and backwards: the most memory this process has had,
/// MiB, and the seconds it took.
fn plan(names: u64) -> Result<String> {
    let processes = 3;
    let options = FillSpec {
        files: names.div_ceil(processes),
        processes: processes as u32,
        directories: 7000,
        per_directory: 1000,
        sync_method: 3,
        ..FillSpec::new("/nowhere")
    };
    options.validate()?;
    let begin = std::time::Instant::now();
    let mut folded = [0_u64; 2];
    for process in 0..options.processes {
        let names = Names::new(&options, process, 0);
        let fold = |sum: u64, index| {
            let name = names.name(index);
            let number = name
                .iter()
                .rev()
                .take(8)
                .fold(0, |n, c| n << 8 | u64::from(*c));
            sum.wrapping_add(number)
        };
        folded[0] = (0..options.files).fold(folded[0], fold);
        folded[1] = (0..options.files).rev().fold(folded[1], fold);
    }
    ensure!(folded[0] == folded[1], "names differ the second time");
    let seconds = begin.elapsed().as_secs_f64();
    Ok(format!("{:.1} {seconds:.3}", memory::peak("self")?))
}
