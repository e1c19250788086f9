//! `shared` against IOR and `metadata` against mdtest, started by one launcher in one directory, interleaved.
//!
//! What is compared: IOR's `bw`, and the rates of mdtest's table, with as many ranks as the launcher is asked for. IOR and mdtest
//! are in no package of most distributions, so their paths are arguments or `FSLAB_IOR` and `FSLAB_MDTEST`, and the launcher has to be
//! that of the MPI they were built with; without them this bench ends with 2, and `scripts/bench` counts it as left out.
//!
//! Both sides write into the page cache and read from it: what differs between them is then not hidden by a disk. Before each side
//! everything is written back, so that neither pays for the other. Our reads drop no caches, as IOR's do not. Ours writes back after
//! each phase that changes something, outside the compared clock; mdtest therefore runs `sync` before each phase, outside its clock
//! too. Otherwise it would remove files whose blocks were never allocated, which costs less.
//!
//! The target is that of docs/fleet.md: in ten pairs, `stats::compare` with a band of 5 % says neither better nor worse. Where a
//! call takes a microsecond, mdtest's own work for an item (its name, mostly) is a tenth of its clock. How much it is, mdtest itself
//! says with its backend DUMMY, which calls nothing. A row that is better by no more than this meets the target.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use stats::Verdict;

use crate::arguments::{Binary, Place, Times};
use crate::image::Image;
use crate::needs::{self, Missing};
use crate::pairs::{Pairs, in_turn, median};
use crate::run::{Stop, cannot_start, verdict};
use crate::table::{Printer, Row, Table};

/// Ratios within this of 1 do not matter.
const BAND: f64 = 0.05;
const MIB: f64 = (1_u64 << 20) as f64;

/// Measures `shared` and `metadata` against IOR and mdtest and prints two tables with targets.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    times: Times<10>,
    /// IOR, built from its source [default: the variable FSLAB_IOR].
    #[arg(long, value_name = "PATH")]
    ior: Option<PathBuf>,
    /// mdtest, built from its source [default: the variable FSLAB_MDTEST].
    #[arg(long, value_name = "PATH")]
    mdtest: Option<PathBuf>,
    /// The launcher of the MPI that both were built with.
    #[arg(long, default_value = "mpirun -np {ranks}")]
    launcher: String,
    /// Ranks: no more than processors.
    #[arg(long, default_value_t = 2)]
    ranks: u32,
    /// Blocks of 16 MiB of each rank.
    #[arg(long, default_value_t = 32)]
    segments: u64,
    /// Files, and then directories, of each rank.
    #[arg(long, default_value_t = 20_000)]
    items: u64,
    /// Filesystem to make: ext4 or xfs.
    #[arg(long, default_value = "ext4")]
    fs: String,
    #[command(flatten)]
    binary: Binary,
    #[command(flatten)]
    place: Place,
}

/// What a row of either table has.
const COLUMNS: [&str; 5] = ["ours", "theirs", "ratio", "interval", "verdict"];

/// Rates by the names of what was done.
type Rates = BTreeMap<String, f64>;

struct Bench {
    arguments: Arguments,
    ior: PathBuf,
    mdtest: PathBuf,
    stop: Stop,
}

pub(crate) fn main(arguments: Arguments) -> ExitCode {
    verdict("ranks_vs_peers", bench(arguments))
}

/// Whether all targets were met.
fn bench(mut arguments: Arguments) -> Result<bool> {
    let ior = program("IOR", "ior", arguments.ior.take())?;
    let mdtest = program("mdtest", "mdtest", arguments.mdtest.take())?;
    needs::root("loop devices and mounts")?;
    needs::measured(&arguments.binary.fslab)?;
    arguments.binary.fslab = arguments.binary.fslab.canonicalize()?;
    let bench = Bench {
        arguments,
        ior,
        mdtest,
        stop: Stop::on_signals()?,
    };
    let bytes = u64::from(bench.arguments.ranks) * bench.segments() * (16 << 20);
    let image = Image::new(&bench.arguments.place.dir, bytes + (1 << 30))?;
    let mounted = image.fresh(&bench.arguments.fs)?;
    let mut tables = Printer::default();
    for (layout, words) in [("own", "-F"), ("shared", "")] {
        tables.show(&bench.transfers(mounted.path(), layout, words)?);
    }
    tables.show(&bench.items(mounted.path())?);
    Ok(tables.all_met())
}

/// A program by its argument or its variable.
fn program(name: &str, option: &str, argument: Option<PathBuf>) -> Result<PathBuf> {
    let variable = format!("FSLAB_{}", option.to_uppercase());
    let named = std::env::var_os(&variable).filter(|path| !path.is_empty());
    let path = argument.or(named.map(PathBuf::from)).ok_or_else(|| {
        Missing(format!(
            "no {name}, and it is what ours is measured against; build it from its source (github.com/hpc/ior) and \
             name it with --{option} or {variable}"
        ))
    })?;
    ensure!(
        path.is_file(),
        Missing(format!(
            "{}: no such program; name {name}'s binary with --{option} or {variable}",
            path.display()
        ))
    );
    path.canonicalize()
        .with_context(|| format!("cannot find {}", path.display()))
}

impl Bench {
    fn segments(&self) -> u64 {
        self.arguments.times.amount(self.arguments.segments, 4)
    }

    fn transfers(&self, dir: &Path, layout: &str, words: &str) -> Result<Table> {
        let (ranks, segments) = (self.arguments.ranks, self.segments());
        let ours = format!(
            "bench shared --dir {} --ranks {ranks} --layout {layout} -b 16m -t 256k -s {segments} --no-cold --format json",
            dir.display()
        );
        let theirs = format!(
            "-a POSIX -w -r {words} -b 16m -t 256k -s {segments} -o {}",
            dir.join("testFile").display()
        );
        let pairs = self.pairs(
            &|| phases(&self.ours(dir, &ours)?, "/bytes_per_s/original"),
            &|| rates_of_ior(&self.theirs(dir, &self.ior, &theirs)?),
        )?;
        let title = format!(
            "IOR, {layout}: {ranks} ranks x {} MiB by 256 KiB, {}, {} pairs, MiB/s",
            segments * 16,
            self.arguments.fs,
            self.arguments.times.pairs()
        );
        table(title, &pairs, MIB)
    }

    fn items(&self, dir: &Path) -> Result<Table> {
        let ranks = self.arguments.ranks;
        let items = self.arguments.times.amount(self.arguments.items, 500);
        let ours = format!(
            "bench metadata --dir {} --ranks {ranks} -n {items} -w 3901 -e 3901 --format json",
            dir.display()
        );
        let theirs = format!(
            "-n {items} -w 3901 -e 3901 --run-cmd-before-phase=sync -d {}",
            dir.display()
        );
        let alone = format!("-a DUMMY -n {items} -w 3901 -e 3901 -d {}", dir.display());
        let alone = rates_of_mdtest(&self.theirs(dir, &self.mdtest, &alone)?)?;
        let pairs = self.pairs(
            &|| {
                let mut rates = phases(&self.ours(dir, &ours)?, "/figures/files_sum")?;
                // Made once by one rank: one call is no measurement of it.
                rates.retain(|name, _| !name.starts_with("tree"));
                Ok(rates)
            },
            &|| rates_of_mdtest(&self.theirs(dir, &self.mdtest, &theirs)?),
        )?;
        let title = format!(
            "mdtest: {ranks} ranks x {items} items in one directory, {}, {} pairs, a second",
            self.arguments.fs,
            self.arguments.times.pairs()
        );
        items_table(title, &pairs, &alone)
    }

    /// As many pairs as were asked for, by name.
    fn pairs(
        &self,
        ours: &dyn Fn() -> Result<Rates>,
        theirs: &dyn Fn() -> Result<Rates>,
    ) -> Result<BTreeMap<String, Pairs>> {
        let mut all: BTreeMap<String, Pairs> = BTreeMap::new();
        for pair in 0..self.arguments.times.pairs() {
            self.stop.check()?;
            let settled = |side: &dyn Fn() -> Result<Rates>| {
                rustix::fs::sync();
                side()
            };
            let (ours, theirs) = in_turn(pair % 2 == 0, || settled(ours), || settled(theirs))?;
            for (name, ours) in ours {
                let theirs = theirs
                    .get(&name)
                    .with_context(|| format!("the peer has no {name}"))?;
                all.entry(name).or_default().push(ours, *theirs);
            }
        }
        Ok(all)
    }

    fn ours(&self, dir: &Path, words: &str) -> Result<String> {
        let mut command = Command::new(&self.arguments.binary.fslab);
        command.args(words.split_whitespace());
        command.args(["--launcher", &self.arguments.launcher]);
        run(command, dir)
    }

    fn theirs(&self, dir: &Path, program: &Path, words: &str) -> Result<String> {
        let line = self
            .arguments
            .launcher
            .replace("{ranks}", &self.arguments.ranks.to_string());
        let mut launcher = line.split_whitespace();
        let mut command = Command::new(launcher.next().context("the launcher is empty")?);
        command.args(launcher).arg(program);
        command.args(words.split_whitespace());
        run(command, dir)
    }
}

fn run(mut command: Command, dir: &Path) -> Result<String> {
    let name = command.get_program().display().to_string();
    let output = command
        .current_dir(dir)
        .env("LC_ALL", "C")
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| cannot_start(&name, error))?;
    // fslab's 7: evidence in doubt, as with more ranks than processors. The figures are there.
    if !output.status.success() && output.status.code() != Some(7) {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?}: {}: {}", output.status, message.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A figure of each phase in fslab's JSON.
fn phases(text: &str, pointer: &str) -> Result<Rates> {
    let outcome: serde_json::Value = serde_json::from_str(text).context("fslab's JSON")?;
    let phases = outcome["phases"].as_array().map_or(&[][..], Vec::as_slice);
    let found = phases.iter().map(|phase| {
        let name = phase["name"].as_str().context("a phase without a name")?;
        let rate = phase.pointer(pointer).and_then(serde_json::Value::as_f64);
        let rate = rate.with_context(|| format!("{name} has no {pointer}"))?;
        Ok((name.to_owned(), rate))
    });
    found.collect()
}

/// Bytes a second of IOR's rows.
fn rates_of_ior(text: &str) -> Result<Rates> {
    let rows = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let name = words
            .next()
            .filter(|name| ["write", "read"].contains(name))?;
        let rate: f64 = words.next()?.parse().ok()?;
        Some((name.to_owned(), rate * MIB))
    });
    // The summary that follows has rows of the same names: the first are the repetition's.
    let mut rates = Rates::new();
    for (name, rate) in rows {
        rates.entry(name).or_insert(rate);
    }
    ensure!(
        rates.len() == 2,
        "IOR printed no rows of write and read: {text}"
    );
    Ok(rates)
}

/// Items a second of the rows of mdtest's table.
fn rates_of_mdtest(text: &str) -> Result<Rates> {
    let rows = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [kind @ ("Directory" | "File"), what, rate, ..] = words[..] else {
            return None;
        };
        let name = format!("{}_{what}", kind.to_lowercase());
        Some((name, rate.parse::<f64>().ok()?))
    });
    let rates: Rates = rows.collect();
    ensure!(
        rates.len() >= 7,
        "mdtest printed {} rows of seven: {text}",
        rates.len()
    );
    Ok(rates)
}

/// The cells of a comparison, and its verdict.
fn compared(pairs: &Pairs, unit: f64) -> Result<([String; 5], Verdict)> {
    let options = stats::compare::Options {
        band: BAND,
        ..stats::compare::Options::default()
    };
    let seen = stats::compare::compare(&pairs.theirs, &pairs.ours, options)?;
    let cells = [
        format!("{:.0}", median(&pairs.ours) / unit),
        format!("{:.0}", median(&pairs.theirs) / unit),
        format!("{:.3}", seen.ratio),
        format!("{:.2}..{:.2}", seen.interval.low, seen.interval.high),
        seen.verdict.to_string(),
    ];
    Ok((cells, seen.verdict))
}

/// Transfers beside IOR's.
fn table(title: String, all: &BTreeMap<String, Pairs>, unit: f64) -> Result<Table> {
    let mut table = Table::new(title, &COLUMNS);
    for (name, pairs) in all {
        let (cells, verdict) = compared(pairs, unit)?;
        let met = !matches!(verdict, Verdict::Better | Verdict::Worse);
        table.rows.push(Row::new(name, cells, "same or ~", met));
    }
    Ok(table)
}

/// Items beside mdtest's, with the share of mdtest's own work in its clock; `alone` are its rates with the backend that calls nothing.
fn items_table(title: String, all: &BTreeMap<String, Pairs>, alone: &Rates) -> Result<Table> {
    let mut columns = COLUMNS.to_vec();
    columns.push("mdtest's own");
    let mut table = Table::new(title, &columns);
    for (name, pairs) in all {
        let (cells, verdict) = compared(pairs, 1.0)?;
        let rate = alone
            .get(name)
            .copied()
            .with_context(|| format!("mdtest alone has no {name}"))?;
        let share = own_share(median(&pairs.theirs), rate);
        let met = match verdict {
            Verdict::Worse => false,
            Verdict::Better => median(&pairs.ours) * (1.0 - share) <= median(&pairs.theirs),
            _ => true,
        };
        let cells = cells.into_iter().chain([format!("{:.0} %", 100.0 * share)]);
        let cells: Vec<String> = cells.collect();
        table
            .rows
            .push(Row::new(name, cells, "same, ~, its own", met));
    }
    Ok(table)
}

/// Which part of the time of an item at `rate` a second is the program's own, which does `alone` a second without any call.
fn own_share(rate: f64, alone: f64) -> f64 {
    (rate / alone).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_both_programs_tables_and_from_our_json() {
        let ior = "access    bw(MiB/s)  IOPS\nwrite     2.50       10.0\nread      4.00       9\n\nMax Write: 2.5\nwrite 9 9 9\n";
        let rates = rates_of_ior(ior).unwrap();
        assert_eq!((rates["write"], rates["read"]), (2.5 * MIB, 4.0 * MIB));
        assert!(rates_of_ior("write 1\n").is_err());
        let names = ["creation", "stat", "rename", "removal"];
        let rows = |kind: &str| -> String {
            let rows = names
                .iter()
                .map(|name| format!("   {kind} {name}   7.5   7.5   7.5   0.0\n"));
            rows.collect()
        };
        let text = rows("Directory") + &rows("File") + "   Tree creation 1.0 1.0 1.0 0\n";
        let rates = rates_of_mdtest(&text).unwrap();
        assert_eq!((rates.len(), rates["file_removal"]), (8, 7.5));
        assert!(rates_of_mdtest("   File stat 1 1 1 0\n").is_err());
        let json = r#"{"phases": [{"name": "write", "bytes_per_s": {"original": 5.5}}]}"#;
        assert_eq!(phases(json, "/bytes_per_s/original").unwrap()["write"], 5.5);
        assert!(phases(json, "/figures/files_sum").is_err());
    }

    #[test]
    fn a_peer_that_is_named_and_not_there_is_missing() {
        let error = program("IOR", "ior", Some("/no/such/ior".into())).unwrap_err();
        assert!(
            error.is::<Missing>() && error.to_string().contains("FSLAB_IOR"),
            "{error}"
        );
    }

    #[test]
    fn a_target_is_missed_where_the_comparison_says_better_or_worse() {
        let row = |ours: f64| {
            let mut pairs = Pairs::default();
            for pair in 0..10 {
                pairs.push(ours + f64::from(pair % 3) * 0.01, 1.0);
            }
            let all = [("x".to_owned(), pairs)].into();
            table(String::new(), &all, 1.0).unwrap().rows.remove(0).met
        };
        assert_eq!([row(1.0), row(1.2), row(0.8)], [true, false, false]);
    }

    #[test]
    fn the_programs_own_share_is_what_it_takes_without_a_call() {
        assert_eq!(own_share(1_000.0, 10_000.0), 0.1);
        assert_eq!(own_share(2.0, 1.0), 1.0);
    }

    #[test]
    fn better_meets_the_target_only_by_the_programs_own_work() {
        let pairs = |ratio: f64| {
            let theirs: Vec<f64> = (0..10).map(|at| 100.0 + f64::from(at) / 10.0).collect();
            Pairs {
                ours: theirs.iter().map(|rate| rate * ratio).collect(),
                theirs,
            }
        };
        let met = |ratio: f64, alone: f64| {
            let all = BTreeMap::from([("file_stat".to_owned(), pairs(ratio))]);
            let alone = Rates::from([("file_stat".to_owned(), alone)]);
            items_table(String::new(), &all, &alone).unwrap().rows[0].met
        };
        assert!(met(1.0, 1e9));
        assert!(met(1.12, 800.0));
        assert!(!met(1.2, 800.0));
        assert!(!met(1.2, 1e9));
        assert!(!met(0.8, 800.0));
    }
}
