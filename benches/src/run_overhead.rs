//! What the lab itself costs in a quick `journal` run: its own share of the wall time, its peak
//! memory, and the whole run's time.
//!
//! The lab's own time is the wall time of the process less what the log's ledgers give to mkfs,
//! mount, the workloads (their syncs and cache drops with them), and sync and umount, and less the
//! raw-device reference, which is measurement. Making loop
//! devices, sampling, taking the context, recording and writing the reports are all in it. Memory
//! is the process's peak (VmHWM), less the buffers that the workloads of the plan keep: iozone's
//! one record for each child, compilebench's two.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::arguments::{Binary, Place};
use crate::run::{Stop, cannot_start, verdict};
use crate::table::{Row, Table};
use crate::{memory, needs};
use anyhow::{Result, ensure};
use clap::Parser;
use record::Run;
use rustix::process::{Pid, Signal, kill_process};
use study::{Plan, WorkloadSpec};

/// Most of the wall time that may be the lab's own, percent.
const SHARE: f64 = 5.0;
/// Most memory beyond the buffers, MiB.
const MEMORY: f64 = 64.0;
/// Longest that the demo's run may take, seconds.
const SECONDS: f64 = 300.0;

/// Runs `fslab run journal --profile quick` and prints what the lab itself cost.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    binary: Binary,
    #[command(flatten)]
    place: Place,
    /// Blocks [default: those of the profile]
    #[arg(long)]
    blocks: Option<u32>,
}

pub(crate) fn main(arguments: &Arguments) -> std::process::ExitCode {
    verdict("run_overhead", measure(arguments))
}

/// Whether all targets were met.
fn measure(arguments: &Arguments) -> Result<bool> {
    needs::root("loop devices and mounts")?;
    needs::measured(&arguments.binary.fslab)?;
    let stop = Stop::on_signals()?;
    let folder = tempfile::tempdir_in(&arguments.place.dir)?;
    let out = folder.path().join("run");
    let mut command = Command::new(&arguments.binary.fslab);
    command
        .args(["run", "journal", "--profile", "quick", "--out"])
        .arg(&out);
    if let Some(blocks) = arguments.blocks {
        command.args(["--blocks", &blocks.to_string()]);
    }
    let begun = Instant::now();
    let mut child = command
        // A process group of its own: Ctrl-C then reaches only the bench, which forwards it once. A second
        // signal would end the run before it has cleaned up.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| cannot_start(&arguments.binary.fslab.display().to_string(), error))?;
    let (status, peak) = wait(&mut child, &stop)?;
    let wall = begun.elapsed().as_secs_f64();
    stop.check()?;
    ensure!(
        matches!(status.code(), Some(0 | 7)),
        "the run failed: {status}"
    );
    let run = Run::load(&out)?;
    let table = table(&run, wall, peak);
    println!("{}", table.text());
    println!(
        "{} trials; own time is all but mkfs, mount, workload, sync, umount and reference",
        run.trials.len()
    );
    Ok(table.all_met())
}

/// Waits for the run and returns its peak memory in MiB; forwards a request to stop.
fn wait(child: &mut Child, stop: &Stop) -> Result<(ExitStatus, f64)> {
    let (mut peak, mut asked_to_stop) = (0.0_f64, false);
    loop {
        // The reports are written last, so the peak is sampled until the exit.
        peak = peak.max(memory::peak(&child.id().to_string()).unwrap_or(0.0));
        if let Some(status) = child.try_wait()? {
            return Ok((status, peak));
        }
        if stop.is_set() && !asked_to_stop {
            asked_to_stop = true;
            kill_process(Pid::from_child(child), Signal::TERM)?;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn table(run: &Run, wall: f64, peak: f64) -> Table {
    let sum =
        |of: fn(&record::Ledger) -> f64| run.trials.iter().map(|t| of(&t.ledger)).sum::<f64>();
    let others = sum(|l| l.mkfs) + sum(|l| l.mount) + sum(|l| l.workload) + sum(|l| l.umount);
    let reference: f64 = run.references.iter().map(|r| r.seconds).sum();
    let own = wall - others - reference;
    let buffers = buffers(&run.plan) as f64 / f64::from(1 << 20);
    let mut table = Table::new(
        "journal, quick: what the lab itself costs",
        &["value", "of"],
    );
    let mut row = |name: &str, value: String, of: String, target: String, met: bool| {
        table.rows.push(Row::new(name, [value, of], target, met));
    };
    let share = 100.0 * own / wall;
    row(
        "own time",
        format!("{share:.2} %"),
        format!("{own:.2} of {wall:.1} s"),
        format!("< {SHARE} %"),
        share < SHARE,
    );
    row(
        "peak memory beyond buffers",
        format!("{:.1} MiB", peak - buffers),
        format!("{peak:.1} MiB"),
        format!("< {MEMORY} MiB"),
        peak - buffers < MEMORY,
    );
    row(
        "whole run",
        format!("{wall:.0} s"),
        String::new(),
        format!("< {SECONDS} s"),
        wall < SECONDS,
    );
    table
}

/// Bytes that the largest workload keeps as buffers: a child's record on its huge page, or one
/// buffer for reading and one for writing.
fn buffers(plan: &Plan) -> u64 {
    plan.cells
        .iter()
        .map(|cell| match &cell.workload {
            WorkloadSpec::Throughput(spec) => {
                u64::from(spec.threads) * spec.record.get().next_multiple_of(2 << 20)
            }
            WorkloadSpec::Tree(spec) => 2 * spec.buffer.get(),
            // Their buffers are a few requests; the journal study has none of them.
            WorkloadSpec::Stream(_)
            | WorkloadSpec::Fill(_)
            | WorkloadSpec::Age(_)
            | WorkloadSpec::Mix(_)
            | WorkloadSpec::Scan(_)
            | WorkloadSpec::Shared(_)
            | WorkloadSpec::Metadata(_)
            | WorkloadSpec::Foreign(_) => 0,
        })
        .max()
        .unwrap_or(0)
}
