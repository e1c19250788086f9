//! `blockio` against dd, fio, and its own promises.
//!
//! What is compared. Buffered: a file that is wholly in the page cache, read once from beginning to
//! end in requests of 1 MiB, by dd (`bs=1M of=/dev/null`, its own clock), by our single reads and by
//! our sweep. Direct: its first 256 MiB by fio (`io_uring`, `iodepth=8`, `bs=1M`) and by a sweep with
//! the same depth and size; our clock begins before the queue and the buffers are made, fio's after.
//! A row without a target shows a reader through mmap.
//!
//! What is promised without a peer: a hole costs less than 1 us for each GiB swept, also with data
//! between the holes, every 16 GiB; and layers cost little beside any read. These are medians.

use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::arguments::{Place, Times};
use crate::pairs::{Pairs, alternating, median};
use crate::run::{Stop, verdict};
use crate::table::{Printer, Row, Table};
use crate::{fio, needs};
use anyhow::{Context, Result, ensure};
use blockio::layer::{Cache, Counting};
use blockio::{BlockSource, Buffer, Buffered, Direct, Mapped, Ram, Span, Sweep};
use clap::Parser;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

/// Bytes that the direct readers read.
const DIRECT: u64 = 256 * MIB;

/// Measures block sources against dd and fio and prints tables with targets.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    times: Times<7>,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn main(arguments: Arguments) -> ExitCode {
    verdict("blockio_vs_peers", bench(arguments))
}

/// Whether all targets were met.
fn bench(arguments: Arguments) -> Result<bool> {
    let Arguments { times, place } = arguments;
    needs::peers(&[fio::FIO])?;
    let stop = Stop::on_signals()?;
    let folder = tempfile::Builder::new()
        .prefix("fslab-bench-")
        .tempdir_in(&place.dir)?;
    let path = folder.path().join("file");
    write_file(&path, times.amount(GIB, DIRECT))?;
    let mut tables = Printer::default();
    tables.show(&buffered(&path, times.pairs(), &stop)?);
    tables.show(&direct(&path, times.pairs(), &stop)?);
    tables.show(&costs(folder.path(), times.pairs(), &stop)?);
    Ok(tables.all_met())
}

/// A file of incompressible bytes, written and synced.
fn write_file(path: &Path, bytes: u64) -> Result<()> {
    let mut file = File::create(path)?;
    let mut block = vec![0_u8; MIB as usize];
    let mut state = 1_u64;
    for _ in 0..bytes / MIB {
        for word in block.chunks_exact_mut(8) {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            word.copy_from_slice(&state.to_le_bytes());
        }
        file.write_all(&block)?;
    }
    Ok(file.sync_all()?)
}

fn row(name: &str, pairs: &Pairs, target: Option<f64>) -> Row {
    let cells = pairs.cells(1e6, 0, 2);
    match target {
        Some(target) => Row::at_least(name, pairs, cells, target),
        None => Row::new(name, cells, "", true),
    }
}

fn buffered(path: &Path, pairs: u32, stop: &Stop) -> Result<Table> {
    let heads = ["ours MB/s", "dd MB/s", "ratio", "of pairs"];
    let mut table = Table::new("From the page cache, 1 MiB requests, against dd", &heads);
    let source = Buffered::open(path)?;
    let mapped = Mapped::open(path)?;
    // Read once, so that all of it is cached.
    single_reads(&source)?;
    let theirs = || dd(path);
    let single = alternating(pairs, stop, || single_reads(&source), theirs)?;
    table.rows.push(row("single reads", &single, Some(0.95)));
    let all = source.len();
    let swept = alternating(pairs, stop, || sweep(&source, all), theirs)?;
    table.rows.push(row("a sweep", &swept, Some(0.95)));
    let through = alternating(pairs, stop, || single_reads(&mapped), theirs)?;
    table.rows.push(row("mapped, single reads", &through, None));
    Ok(table)
}

fn direct(path: &Path, pairs: u32, stop: &Stop) -> Result<Table> {
    let heads = ["ours MB/s", "fio MB/s", "ratio", "of pairs"];
    let title = format!(
        "O_DIRECT, 8 requests of 1 MiB in flight, {}",
        fio::version()?
    );
    let mut table = Table::new(title, &heads);
    let source = Direct::open(path)?;
    let file = format!("--filename={}", path.display());
    let size = format!("--size={DIRECT}");
    let options = [
        "--name=read",
        &file,
        &size,
        "--rw=read",
        "--bs=1M",
        "--iodepth=8",
        "--ioengine=io_uring",
        "--direct=1",
        "--readonly",
        "--invalidate=0",
    ];
    let ours = || sweep(&source, DIRECT);
    let theirs = || fio::rate(&fio::jobs(&options)?);
    // One of each first: the host may keep what the disk has read.
    ours()?;
    theirs()?;
    let results = alternating(pairs, stop, ours, theirs)?;
    table.rows.push(row("a sweep", &results, Some(1.0)));
    Ok(table)
}

/// Bytes a second of reading all with 1 MiB reads into one buffer, page-aligned as dd's is.
fn single_reads(source: &impl BlockSource) -> Result<f64> {
    let mut buffer = Buffer::new(MIB as usize, 4096)?;
    let begin = Instant::now();
    for at in (0..source.len()).step_by(MIB as usize) {
        source.read_at(buffer.whole(), at)?;
    }
    Ok(source.len() as f64 / begin.elapsed().as_secs_f64())
}

/// Bytes a second of a sweep over the first `bytes` with 8 requests of 1 MiB in flight.
fn sweep(source: &impl BlockSource, bytes: u64) -> Result<f64> {
    let span = Span {
        tag: 0,
        range: 0..bytes,
    };
    let begin = Instant::now();
    let counts = Sweep::default().each(source, [span], |_| ControlFlow::Continue(()))?;
    let seconds = begin.elapsed().as_secs_f64();
    ensure!(counts.data == bytes, "the sweep read {counts:?} of {bytes}");
    Ok(bytes as f64 / seconds)
}

/// Bytes per second, as dd prints it.
fn dd(path: &Path) -> Result<f64> {
    let output = Command::new("dd")
        .arg(format!("if={}", path.display()))
        .args(["of=/dev/null", "bs=1M"])
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| crate::run::cannot_start("dd", error))?;
    let message = String::from_utf8_lossy(&output.stderr);
    let line = message.lines().find(|line| line.contains(" copied, "));
    let line = line.with_context(|| format!("dd printed {message:?}"))?;
    let bytes = line
        .split(' ')
        .next()
        .and_then(|word| word.parse::<f64>().ok());
    let seconds = line.split_once(" copied, ").and_then(|(_, rest)| {
        let word = rest.split(' ').next()?;
        word.parse::<f64>().ok()
    });
    match (bytes, seconds) {
        (Some(bytes), Some(seconds)) if seconds > 0.0 => Ok(bytes / seconds),
        _ => anyhow::bail!("dd printed {line:?}"),
    }
}

fn costs(folder: &Path, times: u32, stop: &Stop) -> Result<Table> {
    let mut table = Table::new("What it costs beside the reads", &["measured", "unit"]);
    let mut add = |name: &str, unit: &str, target: f64, each: &dyn Fn() -> Result<f64>| {
        stop.check()?;
        each()?;
        let values = (0..times).map(|_| each()).collect::<Result<Vec<f64>>>()?;
        let value = median(&values);
        let cells = [format!("{value:.1}"), unit.to_owned()];
        let row = Row::new(name, cells, format!("< {target:.0}"), value < target);
        table.rows.push(row);
        anyhow::Ok(())
    };
    // As large as a file of ext4 can be, or nearly.
    for (name, every) in [
        ("a hole of 15 TiB", 15 * TIB),
        ("4 KiB every 16 GiB", 16 * GIB),
    ] {
        let path = folder.join(name);
        sparse_file(&path, 15 * TIB, every)?;
        let source = Buffered::open(&path)?;
        add(name, "ns/GiB", 1000.0, &|| holes(&source))?;
        std::fs::remove_file(&path)?;
    }
    let ram = Ram::new(&vec![1; 64 << 20]);
    add("4 KiB from memory", "ns", 1000.0, &|| small_reads(&ram))?;
    let counting = Counting::new(&ram);
    add("the same, counted", "ns", 1000.0, &|| {
        small_reads(&counting)
    })?;
    let cache = Cache::new(Ram::sparse(64 * MIB), 64 * MIB, 4096);
    add("4 KiB from a cache", "ns", 2000.0, &|| small_reads(&cache))?;
    let pool = || Ok(nanoseconds(1, || Buffer::pool(9, MIB as usize, 4096))?.0 / 1000.0);
    add("buffers of a sweep", "us", 1000.0, &pool)?;
    Ok(table)
}

/// A file that is a hole except for 4 KiB in `every` bytes; the first of them not at its start.
fn sparse_file(path: &Path, bytes: u64, every: u64) -> Result<()> {
    let file = File::create(path)?;
    file.set_len(bytes).context(
        "cannot make a sparse file of 15 TiB; name a folder on ext4, XFS, btrfs or tmpfs with --dir",
    )?;
    for at in (every..bytes).step_by(every as usize) {
        file.write_all_at(&[1; 4096], at)?;
    }
    Ok(file.sync_all()?)
}

/// Nanoseconds for each GiB swept.
fn holes(source: &Buffered) -> Result<f64> {
    let span = Span {
        tag: 0,
        range: 0..source.len(),
    };
    let begin = Instant::now();
    let counts = Sweep::default().each(source, [span], |_| ControlFlow::Continue(()))?;
    let nanoseconds = begin.elapsed().as_nanos() as f64;
    ensure!(counts.holes + counts.data == source.len(), "{counts:?}");
    ensure!(counts.holes > source.len() / 100 * 99, "{counts:?}");
    Ok(nanoseconds / (source.len() / GIB) as f64)
}

/// Nanoseconds of a read of 4 KiB, over all blocks of 64 MiB.
fn small_reads(source: &impl BlockSource) -> Result<f64> {
    let mut buffer = vec![0; 4096];
    let blocks = source.len() / 4096;
    let (spent, ()) = nanoseconds(blocks, || {
        for block in 0..blocks {
            source.read_at(&mut buffer, block * 4096)?;
        }
        anyhow::Ok(())
    })?;
    Ok(spent)
}

/// Nanoseconds of each of `times`, and the result.
fn nanoseconds<T, E>(times: u64, work: impl FnOnce() -> Result<T, E>) -> Result<(f64, T)>
where
    anyhow::Error: From<E>,
{
    let begin = Instant::now();
    let result = work()?;
    Ok((begin.elapsed().as_nanos() as f64 / times as f64, result))
}
