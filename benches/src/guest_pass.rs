//! Every device and filesystem of guests in one pass: made, mounted, filled, checked.
//!
//! No layer is crossed with everything: each device carries ext4, each filesystem is on a plain disk,
//! and XFS also on RAID-0, so that both geometries (stride, sunit) are seen. User-mode Linux runs all
//! that it can, and QEMU on the newest kernel what it cannot: null_blk. `--full` crosses every device with
//! every filesystem and every kernel asked for (see [`full`]), an hour where the processor is emulated.
//!
//! The power of a plain device is cut as well (dm-flakey), under ext4, XFS and btrfs: such a row is checked when what is left
//! is sound after recovery and all that was synced is there.
//!
//! A row passes when mkfs ran, the kernel mounted what was asked, all files were counted back, and the
//! filesystem's own checker ended with 0. Times of guests say nothing of disks; what is held to a target
//! is the short pass as a whole, by the clock of the machine that runs it.

mod full;
mod kernels;
mod outcome;
mod rows;
mod running;

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::arguments::Place;
use crate::needs;
use crate::run::{Stop, verdict};
use crate::table::{Row as Line, Table};
use anyhow::Result;
use clap::Parser;
use record::Run;

use crate::guest_pass::full::Full;
use crate::guest_pass::kernels::Kernel;
use crate::guest_pass::outcome::Outcome;
use crate::guest_pass::rows::Row;
use crate::guest_pass::running::{Errand, Ran};

/// The most seconds of a pass that is not `--full`.
const TARGET: f64 = 240.0;
/// Devices that User-mode Linux has.
const WITHOUT_NULL_BLK: &str =
    "device=plain,raid0x11,raid1,raid5,raid6,raid10,stripe8,lvm8,delay,flakey,log_writes";

/// Makes, mounts, fills and checks every device and filesystem in guests.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    /// The binary.
    #[arg(long, default_value = "target/release/fslab")]
    fslab: PathBuf,
    #[command(flatten)]
    place: Place,
    /// Every device with every filesystem in each kernel, each row a run that is kept.
    #[arg(long)]
    full: bool,
    /// Kernels for QEMU, by names of `fslab kernel list` [default: the newest that is cached; with --full
    /// `uml`, the newest 6.1 and the newest].
    #[arg(long, value_delimiter = ',')]
    kernels: Vec<String>,
    /// Of the full pass only the rows that show each layer once: each device with ext4, each filesystem on a
    /// plain disk, both geometries, zones.
    #[arg(long, requires = "full")]
    layers: bool,
    /// Rows of the full pass, as in `device=raid5,raid6` or `filesystem=xfs` (repeatable).
    #[arg(long, value_name = "FACTOR=NAME[,NAME]", requires = "full")]
    filter: Vec<String>,
    /// Where the full pass keeps its runs; what is whole there is not run again.
    #[arg(long, default_value = "target/guest-pass", requires = "full")]
    keep: PathBuf,
}

pub(crate) fn main(arguments: &Arguments) -> std::process::ExitCode {
    verdict("guest_pass", measure(arguments))
}

/// Whether all was made and checked, in time.
fn measure(arguments: &Arguments) -> Result<bool> {
    let mut rows = rows::filtered(&arguments.filter)?;
    if arguments.layers {
        rows.retain(Row::shows_a_layer);
        anyhow::ensure!(
            !rows.is_empty(),
            "the filters leave no row that shows a layer; leave out --layers"
        );
    }
    needs::root("guests' pid and mount namespaces")?;
    needs::peers(&[
        ("unshare", "util-linux"),
        ("qemu-system-x86_64", "qemu-system-x86 seabios"),
        ("mdadm", "mdadm"),
        ("lvm", "lvm2"),
        ("mkfs.ocfs2", "ocfs2-tools"),
        ("mkfs.f2fs", "f2fs-tools"),
    ])?;
    let fslab = std::path::absolute(&arguments.fslab)?;
    needs::measured(&fslab)?;
    let kernels = match &arguments.kernels[..] {
        [] => kernels::usual(arguments.full, &fslab)?,
        named => named.iter().map(|name| Kernel::named(name)).collect(),
    };
    let stop = Stop::on_signals()?;
    if !arguments.full {
        return short(&arguments.place.dir, &fslab, kernels, &stop);
    }
    let keep = std::path::absolute(&arguments.keep)?;
    let full = Full::run(kernels, rows, &keep, &fslab, &stop)?;
    let table = full.table();
    println!("{}", table.text());
    for note in full.notes() {
        println!("{note}");
    }
    Ok(table.all_met())
}

/// Everything once.
fn short(dir: &Path, fslab: &Path, kernels: Vec<Kernel>, stop: &Stop) -> Result<bool> {
    let folder = tempfile::tempdir_in(dir)?;
    let study = folder.path().join("guest-pass.toml");
    std::fs::write(&study, rows::short())?;
    let cut = folder.path().join("power-cut.toml");
    std::fs::write(&cut, rows::cut())?;
    let mut table = Table::new(
        "each device and filesystem in a guest: made, mounted, loaded, checked",
        &["kernel", "done", "geometry", "seconds"],
    );
    let mut failures = Vec::new();
    let begun = Instant::now();
    let mut passes = vec![
        (Kernel::uml(), &study, WITHOUT_NULL_BLK),
        (Kernel::uml(), &cut, "filesystem=ext4,xfs,btrfs"),
    ];
    for kernel in kernels {
        passes.push((kernel.clone(), &study, "device=null_blk"));
        passes.push((kernel, &cut, "filesystem=ext4"));
    }
    for (number, (kernel, study, filter)) in passes.iter().enumerate() {
        stop.check()?;
        let errand = Errand {
            fslab,
            study,
            kernel,
            more: &["--filter", filter],
            out: &folder.path().join(format!("run-{number}")),
        };
        match running::run(&errand, stop)? {
            Ran::Recorded(run) => add_rows(&run, kernel.executor, &mut table, &mut failures),
            Ran::Lacks(message) => anyhow::bail!("{message}"),
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let cells = ["", "", "", &format!("{seconds:.0}")].map(str::to_owned);
    let target = format!("< {TARGET} s");
    table
        .rows
        .push(Line::new("all", cells, target, seconds < TARGET));
    println!("{}", table.text());
    for failure in failures {
        println!("{failure}");
    }
    Ok(table.all_met())
}

/// A row for each trial.
fn add_rows(run: &Run, executor: &str, table: &mut Table, failures: &mut Vec<String>) {
    let start = run.contexts.get("start");
    let release =
        start.and_then(|context| context["items"]["system.kernel.release"]["value"].as_str());
    let kernel = format!("{executor} {}", release.unwrap_or("?"));
    let mut rows: Vec<Line> = Vec::new();
    for (slot, trial) in run.plan.slots.iter().zip(&run.trials) {
        let cell = run.plan.cells.get(slot.cell as usize);
        let level = |factor| {
            let found = cell.and_then(|cell| cell.levels.get(factor));
            found.map_or("?", |level| level.as_str())
        };
        let device = match trial.crash {
            Some(_) => "power cut",
            None => level("device"),
        };
        let name = format!("{device} {}", level("filesystem"));
        let outcome = Outcome::of(trial);
        if let Some(why) = &outcome.why {
            failures.push(format!("{name}, {kernel}: {why}"));
        }
        let met = outcome.met();
        let cells = [
            kernel.clone(),
            outcome.done(),
            outcome.geometry,
            format!("{:.1}", outcome.seconds),
        ];
        rows.push(Line::new(name, cells, "all", met));
    }
    rows.sort_by(|one, other| one.name.cmp(&other.name));
    table.rows.append(&mut rows);
}
