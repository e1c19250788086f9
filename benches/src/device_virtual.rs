//! Whether trials on a modelled disk in virtual time repeat, and agree with the replay of their own trace: acceptance of the
//! specification of modelled devices.
//!
//! Compilebench runs on a modelled disk in guests of QEMU whose clock counts instructions: each filesystem in each kernel, twice. The
//! two trials take the same nanoseconds in every phase. Then one trial of each with a check is traced, and its trace, replayed on
//! the model, takes as long as the trial did.
//!
//! Kernels that the cache lacks are fetched. A trial that did not run is a row that missed its target, with the reason below the table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use record::{Run, Status};
use serde_json::Value;

use crate::arguments::{Binary, Place};
use crate::needs;
use crate::run::{Stop, output, verdict};
use crate::table::{Printer, Row, Table};

/// The disk. A slow one: its server answers in time, which the trial's evidence shows.
const DISK: &str = "7k500";
const FILESYSTEMS: [&str; 2] = ["ext4", "xfs"];
/// What a replay of a trial's trace may be apart from the trial.
const REPLAYED_WITHIN: f64 = 0.05;
/// A disk of this size does not fit the guest's memory, so its bytes are in persistent memory.
const LARGE: &str = "device.size=2g";

/// Runs trials on a modelled disk in virtual time twice, replays their traces, and prints tables with targets.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    /// A fifth of the work: a quick look, not a result.
    #[arg(long)]
    quick: bool,
    /// Kernels, as `fslab kernel fetch` takes them.
    #[arg(long, value_delimiter = ',', default_value = "6.1,6.12-cloud")]
    kernels: Vec<String>,
    /// The cache of kernels [default: as fslab has it].
    #[arg(long)]
    cache: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    binary: Binary,
}

pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    verdict("device_virtual", measure(arguments))
}

/// Whether all pairs are the same, and all replays near.
fn measure(arguments: &Arguments) -> Result<bool> {
    needs::root("a modelled disk and the order of QEMU's threads")?;
    needs::peers(&[
        ("qemu-system-x86_64", "qemu-system-x86 seabios"),
        ("mkfs.xfs", "xfsprogs"),
    ])?;
    needs::measured(&arguments.binary.fslab)?;
    let bench = Bench::new(arguments)?;
    let kernels: Vec<Kernel> = arguments
        .kernels
        .iter()
        .map(|asked| bench.kernel(asked))
        .collect();
    for kernel in &kernels {
        println!("{kernel}");
    }
    let mut printer = Printer::default();
    printer.show(&bench.table(
        &format!("compilebench on {DISK} in virtual time, twice, ns of all phases"),
        &["first", "second", "apart"],
        "the same ns",
        &kernels,
        Bench::twice,
    )?);
    printer.show(&bench.table(
        &format!("a fill and a check on {DISK}, the trace replayed on the model, s"),
        &["modelled", "recorded", "apart"],
        "<= 5 %",
        &kernels,
        Bench::replayed,
    )?);
    Ok(printer.all_met())
}

/// A kernel that was asked for, and its name in the cache, or why it cannot be used.
struct Kernel {
    asked: String,
    found: Result<String>,
}

impl std::fmt::Display for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.found {
            Ok(name) => write!(f, "{}: {name}", self.asked),
            Err(why) => write!(f, "{}: not run: {why:#}", self.asked),
        }
    }
}

/// The cells of a row and whether the target was met.
type Judged = ([String; 3], bool);

/// What all rows need.
struct Bench {
    fslab: String,
    cache: Vec<String>,
    quick: bool,
    folder: tempfile::TempDir,
    stop: Stop,
}

impl Bench {
    fn new(arguments: &Arguments) -> Result<Bench> {
        let cache = arguments.cache.iter();
        let cache = cache.flat_map(|dir| ["--cache".to_owned(), dir.display().to_string()]);
        Ok(Bench {
            fslab: arguments.binary.fslab.display().to_string(),
            cache: cache.collect(),
            quick: arguments.quick,
            folder: tempfile::tempdir_in(&arguments.place.dir)?,
            stop: Stop::on_signals()?,
        })
    }

    /// Runs fslab with the bench's cache.
    fn fslab(&self, arguments: &[&str]) -> Result<String> {
        let cache = self.cache.iter().map(String::as_str);
        let all: Vec<&str> = arguments.iter().copied().chain(cache).collect();
        output(&self.fslab, &all)
    }

    /// A kernel of the cache that runs here; fetched where the cache lacks it.
    fn kernel(&self, asked: &str) -> Kernel {
        let probe = || self.fslab(&["kernel", "probe", asked, "--format", "json"]);
        let found = probe().or_else(|_| {
            // Lacking or not running: a fetch changes nothing of the second, and the probe says it again.
            self.fslab(&["kernel", "fetch", asked])?;
            probe()
        });
        let name = found.and_then(|text| {
            let answers: Value = serde_json::from_str(&text)?;
            let name = answers.pointer("/probes/0/kernel").and_then(Value::as_str);
            Ok(name.context("the probe names no kernel")?.to_owned())
        });
        Kernel {
            asked: asked.to_owned(),
            found: name,
        }
    }

    /// A row for each filesystem in each kernel. What could not be run is a row, too, and its reason is printed.
    fn table(
        &self,
        title: &str,
        heads: &[&str],
        target: &str,
        kernels: &[Kernel],
        judge: fn(&Bench, &str, &str) -> Result<Judged>,
    ) -> Result<Table> {
        let mut table = Table::new(title, heads);
        for kernel in kernels {
            for filesystem in FILESYSTEMS {
                self.stop.check()?;
                let judged = match &kernel.found {
                    Ok(name) => judge(self, filesystem, name),
                    Err(_) => Err(anyhow::anyhow!("there is no such kernel here")),
                };
                // A signal ends the trial as well, which is no result.
                self.stop.check()?;
                let name = format!("{filesystem}, {}", kernel.asked);
                let (cells, met) = judged.unwrap_or_else(|why| {
                    eprintln!("{name}: not run: {why:#}");
                    (["not run", "", ""].map(str::to_owned), false)
                });
                table.rows.push(Row::new(name, cells, target, met));
            }
        }
        Ok(table)
    }

    /// Runs one trial in virtual time. That the disk answered in time is evidence of the trial: without it the run ends with an error.
    fn trial(&self, filesystem: &str, kernel: &str, more: &[&str], out: &Path) -> Result<Run> {
        let filter = format!("filesystem={filesystem}");
        let device = format!("device=model:{DISK}");
        let out_name = out.display().to_string();
        let mut words = vec!["run", "journal", "--profile", "quick", "--blocks", "1"];
        words.extend(["--filter", "workload=compilebench", "--filter", &filter]);
        words.extend(["--executor", "qemu", "--virtual-time", "--kernel", kernel]);
        words.extend(["--seed", "7", "--set", &device, "--out", &out_name]);
        if self.quick {
            words.extend(["--set", "compilebench.scale=0.004"]);
        }
        words.extend(more);
        self.fslab(&words)?;
        let run = Run::load(out)?;
        let status = run.trials.first().map(|trial| &trial.status);
        ensure!(
            status == Some(&Status::Finished),
            "the trial did not finish: {status:?}"
        );
        Ok(run)
    }

    /// The same trial twice, in folders of other names, which the guest does not see.
    fn twice(&self, filesystem: &str, kernel: &str) -> Result<Judged> {
        let trials = tempfile::tempdir_in(self.folder.path())?;
        let trial = |name: &str| {
            let run = self.trial(filesystem, kernel, &[], &trials.path().join(name))?;
            Ok::<_, anyhow::Error>(phases(&run))
        };
        let (one, other) = (trial("one")?, trial("a-longer-name")?);
        compared(&one, &other)
    }

    /// A trial with a check, and its trace replayed on the model of its disk.
    fn replayed(&self, filesystem: &str, kernel: &str) -> Result<Judged> {
        let trials = tempfile::tempdir_in(self.folder.path())?;
        let out = trials.path().join("large");
        let more = ["--set", LARGE, "--set", "check=true", "--set", "trace=true"];
        self.trial(filesystem, kernel, &more, &out)?;
        let trace = out.join("traces/trial-0001").display().to_string();
        let report = output(
            &self.fslab,
            &["replay", &trace, "--device", DISK, "--format", "json"],
        )?;
        let report: Value = serde_json::from_str(&report)?;
        let number = |name: &str| {
            let found = report.pointer(&format!("/devices/0/rows/0/{name}"));
            let found = found.and_then(Value::as_f64);
            found.with_context(|| format!("the replay has no {name}"))
        };
        let (modelled, recorded) = (number("modelled/nominal_s")?, number("recorded_s")?);
        let apart = modelled / recorded - 1.0;
        let cells = [
            format!("{modelled:.3}"),
            format!("{recorded:.3}"),
            format!("{:+.1} %", 100.0 * apart),
        ];
        Ok((cells, apart.abs() <= REPLAYED_WITHIN))
    }
}

/// Nanoseconds of each phase of a run's only trial.
fn phases(run: &Run) -> BTreeMap<String, u64> {
    let phases = run.trials.iter().flat_map(|trial| &trial.phases);
    phases
        .map(|phase| (phase.name.clone(), phase.end_ns - phase.begin_ns))
        .collect()
}

/// The sums of two trials, and the phase that is furthest apart.
fn compared(one: &BTreeMap<String, u64>, other: &BTreeMap<String, u64>) -> Result<Judged> {
    ensure!(!one.is_empty(), "the trial has no phases");
    ensure!(
        one.keys().eq(other.keys()),
        "other phases: {one:?} {other:?}"
    );
    let apart = one
        .iter()
        .map(|(name, ns)| (ns.abs_diff(other[name]), name));
    let apart = apart.max().filter(|(ns, _)| *ns > 0);
    let words = match apart {
        Some((ns, name)) => format!("{name} {ns} ns"),
        None => "0".to_owned(),
    };
    let sum = |phases: &BTreeMap<String, u64>| phases.values().sum::<u64>().to_string();
    Ok(([sum(one), sum(other), words], apart.is_none()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(times: [u64; 2]) -> BTreeMap<String, u64> {
        let names = ["fill", "read"].map(str::to_owned);
        names.into_iter().zip(times).collect()
    }

    #[test]
    fn one_nanosecond_in_one_phase_is_not_the_same() {
        let one = phases([7, 1_000_000_001]);
        let same = compared(&one, &one).unwrap();
        assert_eq!(same.0, ["1000000008", "1000000008", "0"]);
        assert!(same.1);
        // The sums are equal, the phases are not.
        let other = compared(&one, &phases([8, 1_000_000_000])).unwrap();
        assert_eq!(other.0[2], "read 1 ns");
        assert!(!other.1);
        assert!(compared(&one, &BTreeMap::new()).is_err());
    }

    #[test]
    fn what_is_not_run_is_a_miss() {
        let arguments = Arguments::parse_from(["bench", "--fslab", "/no/such/program"]);
        let bench = Bench::new(&arguments).unwrap();
        let kernels = [bench.kernel("6.1")];
        assert!(kernels[0].to_string().starts_with("6.1: not run: "));
        let table = bench
            .table("", &["", "", ""], "", &kernels, Bench::twice)
            .unwrap();
        assert_eq!(table.rows.len(), 2);
        assert!(!table.all_met());
        assert_eq!(table.rows[0].cells[0], "not run");
    }
}
