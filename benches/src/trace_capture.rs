//! What recording a block trace costs, and how many events a second it takes without a loss.
//!
//! fio runs on a loop device, with and without a recording of that device, in pairs of alternating
//! order. The ratio is fio's own throughput, traced over untraced. The image is in memory by default
//! (`--image-dir`): a disk's rate differs by a half from one run of 4 s to the next, which hides any cost of
//! tracing, while here the processors are the limit, and tracing takes processor time: the worst case.
//!
//! Three sizes of request, direct: 4 KiB at depth makes the most events this machine can make (five or
//! six for each request) and has to lose none; 128 KiB makes some 100,000 a second, at which tracing
//! may cost 3 %; 1 MiB is what a streaming study does. Default settings of `fslab trace record`; the trace is written to
//! another filesystem than the one that is measured.
//!
//! The reader of the trace runs on the same processors as the load: its time is in the ratio, as it
//! is for any user. blktrace itself is no peer here where lockdown forbids its relay files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::arguments::{Place, Times};
use crate::image::Image;
use crate::pairs::{alternating, median};
use crate::run::{Stop, verdict};
use crate::table::{Row, Table};
use crate::{fio, needs};
use anyhow::{Result, ensure};
use clap::Parser;
use probe::capture::{BUFFER, Mask, Options, Plan, Summary};

const MIB: f64 = 1024.0 * 1024.0;

/// Least throughput of the traced side.
const RATIO: f64 = 0.97;

/// Measures what `fslab trace record` costs and prints a table with targets.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    times: Times<7>,
    /// Seconds of a run.
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// MiB of the image.
    #[arg(long, default_value_t = 1024)]
    size: u64,
    /// Folder of the image; the default is memory.
    #[arg(long, default_value = "/dev/shm")]
    image_dir: PathBuf,
    #[command(flatten)]
    place: Place,
}

/// A load: its name and fio's options for it.
struct Load {
    name: &'static str,
    options: &'static [&'static str],
    /// Whether its throughput has a target; otherwise it only must not lose events.
    judged: bool,
}

const fn load(name: &'static str, options: &'static [&'static str], judged: bool) -> Load {
    Load {
        name,
        options,
        judged,
    }
}

const LOADS: [Load; 6] = [
    load(
        "4 KiB random reads, depth 32",
        &["--rw=randread", "--bs=4k", "--iodepth=32"],
        false,
    ),
    load(
        "4 KiB random writes, depth 32",
        &["--rw=randwrite", "--bs=4k", "--iodepth=32"],
        false,
    ),
    load(
        "128 KiB random reads, depth 4",
        &["--rw=randread", "--bs=128k", "--iodepth=4"],
        true,
    ),
    load(
        "128 KiB random writes, depth 4",
        &["--rw=randwrite", "--bs=128k", "--iodepth=4"],
        true,
    ),
    load(
        "1 MiB reads, depth 4",
        &["--rw=read", "--bs=1m", "--iodepth=4"],
        true,
    ),
    load(
        "1 MiB writes, depth 4",
        &["--rw=write", "--bs=1m", "--iodepth=4"],
        true,
    ),
];

/// Results of the recordings of a load.
#[derive(Default)]
struct Taken {
    /// Of each recording.
    events_per_second: Vec<f64>,
    lost: u64,
}

pub(crate) fn main(arguments: Arguments) -> ExitCode {
    verdict("trace_capture", measure(arguments))
}

fn measure(mut arguments: Arguments) -> Result<bool> {
    arguments.seconds = arguments.times.amount(arguments.seconds, 1);
    needs::root("loop devices and tracing")?;
    needs::peers(&[fio::FIO])?;
    let stop = Stop::on_signals()?;
    let image = Image::new(&arguments.image_dir, arguments.size << 20)?;
    let folder = tempfile::tempdir_in(&arguments.place.dir)?;
    let mut table = Table::new(
        format!(
            "fslab trace record, {} pairs of {} s; MiB/s",
            arguments.times.pairs(),
            arguments.seconds
        ),
        &[
            "traced", "untraced", "ratio", "low", "high", "events/s", "lost",
        ],
    );
    for load in &LOADS {
        table
            .rows
            .push(row(load, &arguments, &image, folder.path(), &stop)?);
    }
    println!("{}", table.text());
    Ok(table.all_met())
}

fn row(load: &Load, arguments: &Arguments, image: &Image, dir: &Path, stop: &Stop) -> Result<Row> {
    let mut taken = Taken::default();
    let untraced = || run_fio(load, arguments.seconds, image.device());
    // The first run of a load pays for what was never touched before.
    untraced()?;
    let traced = || traced(load, arguments.seconds, image.device(), dir, &mut taken);
    let pairs = alternating(arguments.times.pairs(), stop, traced, untraced)?;
    let ratio = pairs.ratio();
    let (low, high) = pairs.extremes();
    let [ours, theirs, of_medians, _] = pairs.cells(MIB, 0, 3);
    let cells = [
        ours,
        theirs,
        of_medians,
        format!("{low:.3}"),
        format!("{high:.3}"),
        format!("{:.0}", median(&taken.events_per_second)),
        taken.lost.to_string(),
    ];
    let kept = !load.judged || ratio >= RATIO;
    let target = if load.judged {
        format!(">= {RATIO}, 0 lost")
    } else {
        "0 lost".into()
    };
    Ok(Row::new(load.name, cells, target, kept && taken.lost == 0))
}

fn traced(load: &Load, seconds: u64, device: &str, dir: &Path, taken: &mut Taken) -> Result<f64> {
    let folder = tempfile::tempdir_in(dir)?;
    let plan = Plan::new(&Options {
        devices: vec![device.into()],
        out: folder.path().into(),
        mask: Mask::default(),
        buffer: BUFFER,
    })?;
    let recording = plan.start()?;
    let rate = run_fio(load, seconds, device)?;
    let summaries = recording.finish()?;
    for summary in &summaries {
        ensure!(summary.events > 0, "the trace is empty");
        taken.lost += summary.lost;
        taken.events_per_second.push(rate_of(summary));
    }
    Ok(rate)
}

fn rate_of(summary: &Summary) -> f64 {
    summary.events as f64 / summary.seconds
}

/// Bytes a second of one run, over reads and writes.
fn run_fio(load: &Load, seconds: u64, device: &str) -> Result<f64> {
    let (file, runtime) = (
        format!("--filename={device}"),
        format!("--runtime={seconds}"),
    );
    let mut words = vec![
        "--name=load",
        "--ioengine=libaio",
        "--direct=1",
        "--time_based=1",
        "--randrepeat=1",
        "--norandommap=1",
        &file,
        &runtime,
    ];
    words.extend(load.options);
    fio::rate(&fio::jobs(&words)?)
}
