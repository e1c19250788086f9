//! From the command to the first event of a guest, on each machine that is installed.
//!
//! The clock starts where the shell's would, before `fslab run` is started, and ends at the log's time
//! of the first event that a guest gave: the run's context. The parts of the initramfs are in the
//! cache, as they are for every run but the first of a build. A second column is the time until the
//! first trial's filesystem is ready, a second boot and a mkfs later; it has no target.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::arguments::{Binary, Place};
use crate::needs;
use crate::run::{Stop, cannot_start, verdict};
use crate::table::{Row, Table};
use anyhow::{Result, bail};
use clap::Parser;
use record::{Entry, Event};
use rustix::process::{Pid, Signal, kill_process};

/// Machines, what they need (Debian's package), and the most seconds to their first event.
const MACHINES: [(&str, &str, &str, f64); 2] = [
    ("uml", "unshare", "util-linux", 4.0),
    ("qemu", "qemu-system-x86_64", "qemu-system-x86 seabios", 8.0),
];
/// Timeout of a run.
const PATIENCE: Duration = Duration::from_secs(120);

/// Starts guests and prints the seconds from the command to their first event.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    binary: Binary,
    #[command(flatten)]
    place: Place,
    /// Runs of each machine, after one that warms the cache.
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

pub(crate) fn main(arguments: &Arguments) -> std::process::ExitCode {
    verdict("guest_start", measure(arguments))
}

/// Whether all targets were met.
fn measure(arguments: &Arguments) -> Result<bool> {
    needs::root("guests' pid and mount namespaces")?;
    for (_, program, package, _) in MACHINES {
        needs::peers(&[(program, package)])?;
    }
    needs::measured(&arguments.binary.fslab)?;
    let stop = Stop::on_signals()?;
    let mut table = Table::new(
        "from the command to a guest's first event, seconds",
        &["median", "least", "most", "filesystem ready"],
    );
    for (machine, _, _, target) in MACHINES {
        let mut starts = Vec::new();
        for run in 0..=arguments.runs.max(1) {
            let start = one(arguments, machine, &stop)?;
            // The first fills the cache.
            if run > 0 {
                starts.push(start);
            }
        }
        let (first, ready): (Vec<f64>, Vec<f64>) = starts.into_iter().unzip();
        let (first, ready) = (sorted(first), sorted(ready));
        let middle = median(&first);
        table.rows.push(Row::new(
            machine,
            [middle, first[0], first[first.len() - 1], median(&ready)].map(|s| format!("{s:.2}")),
            format!("< {target}"),
            middle < target,
        ));
    }
    println!("{}", table.text());
    Ok(table.all_met())
}

fn sorted(mut seconds: Vec<f64>) -> Vec<f64> {
    seconds.sort_by(f64::total_cmp);
    seconds
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    }
}

/// One run, stopped when its first trial's filesystem is ready: seconds to the context and to that.
fn one(arguments: &Arguments, machine: &str, stop: &Stop) -> Result<(f64, f64)> {
    let folder = tempfile::tempdir_in(&arguments.place.dir)?;
    let out = folder.path().join("run");
    let mut command = Command::new(&arguments.binary.fslab);
    command
        .args(["run", "journal", "--profile", "quick", "--blocks", "1"])
        .args(["--filter", "filesystem=ext4"])
        .args(["--filter", "workload=compilebench"])
        .args(["--set", "device.size=256m", "--executor", machine, "--out"])
        .arg(&out)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let begun = SystemTime::now();
    let mut child = command
        .spawn()
        .map_err(|error| cannot_start(&arguments.binary.fslab.display().to_string(), error))?;
    let measured = watch(&mut child, &out.join("events.jsonl"), begun, stop);
    // It undoes what it made.
    let _ = kill_process(Pid::from_child(&child), Signal::TERM);
    child.wait()?;
    measured
}

/// Waits for the two events.
fn watch(child: &mut Child, log: &Path, begun: SystemTime, stop: &Stop) -> Result<(f64, f64)> {
    let since = |entry: &Entry| {
        let at = SystemTime::from(entry.at);
        at.duration_since(begun).unwrap_or_default().as_secs_f64()
    };
    loop {
        stop.check()?;
        let ended = child.try_wait()?;
        let text = std::fs::read_to_string(log).unwrap_or_default();
        let (mut first, mut ready) = (None, None);
        // An incomplete line is read the next time.
        for entry in text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
        {
            let entry: Entry = entry;
            match &entry.event {
                Event::Context { when, .. } if when == "start" => first = Some(since(&entry)),
                Event::FilesystemReady { .. } => ready = Some(since(&entry)),
                _ => {}
            }
        }
        if let (Some(first), Some(ready)) = (first, ready) {
            return Ok((first, ready));
        }
        if let Some(status) = ended {
            bail!(
                "the run ended before its first trial's filesystem was ready: {status}; run it by hand to see why"
            );
        }
        if begun.elapsed().unwrap_or_default() > PATIENCE {
            bail!("no filesystem was ready after {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
