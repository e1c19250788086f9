//! What the load generator of `tree` costs: user time of the working thread against the wall time
//! of the timed operations. Whatever the thread does not spend in user mode it spends inside system
//! calls, running or waiting, so under 5 % here is over 95 % there.
//!
//! The split of user and system time comes from `getrusage(RUSAGE_THREAD)`. With
//! CONFIG_TICK_CPU_ACCOUNTING (most distributions) the kernel measures the sum exactly and splits
//! it by the state that its timer tick meets, HZ times a second, so a phase of few ticks has a
//! coarse split: the table gives the standard error of a count of ticks, of which it assumes 250 a
//! second (no system call returns HZ; sysconf's 100 is another number). A check of it is
//! `perf record -e cpu-clock -F 4999` on this program: its samples come from their own timer.
//!
//! Caches are dropped before every random operation, as the benchmark does; `--warm` leaves them,
//! which is the harder test: the less the filesystem waits, the larger the generator's share.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::arguments::Place;
use crate::image::Image;
use crate::run::{Stop, output, verdict};
use crate::table::{Row, Table};
use crate::{memory, needs};
use anyhow::Result;
use clap::Parser;
use workload::{Evidence, Observer, Outcome, PhaseReport, Progress, tree};

/// Highest share of user time, percent of the wall.
const TARGET: f64 = 5.0;

/// Seconds of a timer tick: HZ=250, which most distributions take.
const TICK: f64 = 0.004;

/// Bytes that -i 10 -r 30 needs at its peak at scale 1, with room for metadata.
const PEAK: f64 = 6.5e9;

/// Measures the load generator's share of `tree` and prints a table with the target.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    /// Share of the data sets' files.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Trees created first.
    #[arg(long, default_value_t = 10)]
    initial: u32,
    /// Random operations.
    #[arg(long, default_value_t = 30)]
    runs: u32,
    /// Filesystem to make: ext4 or xfs.
    #[arg(long, default_value = "ext4")]
    fs: String,
    /// Do not drop caches.
    #[arg(long)]
    warm: bool,
    #[command(flatten)]
    place: Place,
}

/// Drops caches when asked to, and passes the signal on.
struct Surroundings {
    warm: bool,
    stop: Stop,
}

impl Observer for Surroundings {
    fn drop_caches(&self, _files: &[&Path]) -> io::Result<Evidence> {
        if !self.warm {
            std::fs::write("/proc/sys/vm/drop_caches", "3")?;
        }
        let (holds, detail) = if self.warm {
            (Some(false), "left warm, as asked")
        } else {
            (None, "dropped, not looked at")
        };
        Ok(Evidence {
            name: "cold_cache".into(),
            holds,
            detail: detail.into(),
        })
    }
}

impl Progress for Surroundings {
    fn cancelled(&self) -> bool {
        self.stop.cancelled()
    }
}

pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    verdict("tree_overhead", measure(arguments))
}

/// Whether all targets were met.
fn measure(arguments: &Arguments) -> Result<bool> {
    needs::root("loop devices and mounts")?;
    let surroundings = Surroundings {
        warm: arguments.warm,
        stop: Stop::on_signals()?,
    };
    let image = Image::new(
        &arguments.place.dir,
        (PEAK * arguments.scale) as u64 / 4096 * 4096 + (512 << 20),
    )?;
    let mounted = image.fresh(&arguments.fs)?;
    let options = tree::TreeSpec {
        initial: arguments.initial,
        runs: arguments.runs,
        scale: arguments.scale,
        ..tree::TreeSpec::new(mounted.path().join("tree"))
    };
    let outcome = tree::run(&options, &surroundings)?;
    print!("{}", tree::compilebench_text(&outcome));
    println!();
    let table = table(&outcome, arguments);
    println!("{}", table.text());
    // The buffers of the workload (two of 256 KiB) are in it.
    println!("peak memory {:.0} kB", memory::peak("self")? * 1024.0);
    println!("kernel {}", output("uname", &["-r"])?.trim());
    Ok(table.all_met())
}

fn table(outcome: &Outcome, arguments: &Arguments) -> Table {
    let cache = if arguments.warm { "warm" } else { "cold" };
    let title = format!(
        "tree: user time of the load generator, -i {} -r {}, scale {}, {}, {cache}\n\
         (+- is the standard error of the ticks' split, assuming HZ=250)",
        arguments.initial, arguments.runs, arguments.scale, arguments.fs
    );
    let mut table = Table::new(title, &["wall s", "user s", "sys s", "of CPU", "of wall"]);
    let mut whole = PhaseReport {
        name: "whole".into(),
        ..PhaseReport::default()
    };
    for phase in outcome.phases.iter().filter(|p| p.operations > 0) {
        whole.seconds += phase.seconds;
        whole.user_seconds += phase.user_seconds;
        whole.system_seconds += phase.system_seconds;
        table.rows.push(row(phase));
    }
    table.rows.push(row(&whole));
    table
}

fn row(phase: &PhaseReport) -> Row {
    let (user, system) = (phase.user_seconds, phase.system_seconds);
    let share = user / phase.seconds * 100.0;
    let error = (user.max(TICK) * TICK).sqrt() / phase.seconds * 100.0;
    let cells = [
        format!("{:.2}", phase.seconds),
        format!("{user:.3}"),
        format!("{system:.2}"),
        format!("{:.1}%", user / (user + system).max(1e-9) * 100.0),
        format!("{share:.1} +-{error:.1}%"),
    ];
    let target = format!("< {TARGET}%");
    Row::new(phase.name.clone(), cells, target, share < TARGET)
}
