//! `layout` of a tree of small files against `find | xargs filefrag`.
//!
//! What is compared. The time until the extents of all files are known: ours as a process of its
//! own that prints the summary of the tree; theirs as usually typed, `find DIR -type f -print0 |
//! xargs -0 filefrag`, its lines going to /dev/null. Ours reports more about each file (sizes, holes,
//! groups, distances, orders) and prints one page, theirs one line for each file. Rows without a
//! target: theirs with two filefrags at a time (`xargs -P 2`), which is not usual; and both cold, where
//! the kernel's reading of an inode is most of either's time (docs/decisions/0010-layout-cold.md).
//!
//! What is made equal. The same mounted filesystem, in alternating order; warm:
//! one uncounted run of each side first, and no cache is dropped; cold: caches are dropped before each
//! run of either side. First of all, the extents in filefrag's lines are summed and compared with
//! ours.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use crate::arguments::Times;
use crate::image::Image;
use crate::needs;
use crate::pairs::{Pairs, alternating, median};
use crate::run::{Stop, drop_caches, output, verdict};
use crate::table::{Row, Table};
use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use params::Bytes;
use workload::fill::{self, FillSpec};

const MIB: u64 = 1 << 20;

/// Measures the layout of a tree against filefrag and prints a table with targets.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    times: Times<7>,
    /// Files; 1000000 for the number that is promised (2.5 GB in --dir, and 3 GB of memory to be warm).
    #[arg(long, default_value_t = 200_000)]
    files: u64,
    /// Bytes of a file.
    #[arg(long, default_value_t = 1024)]
    size: u64,
    /// Folder for the image.
    #[arg(long, default_value = "/var/tmp")]
    dir: PathBuf,
    /// Print the summary of this tree; the bench runs itself with it.
    #[arg(long, hide = true)]
    scan: Option<PathBuf>,
}

pub(crate) fn main(arguments: Arguments) -> ExitCode {
    verdict("layout_vs_filefrag", bench(arguments))
}

/// Whether all targets were met.
fn bench(mut arguments: Arguments) -> Result<bool> {
    if let Some(tree) = &arguments.scan {
        let scan = layout::tree::scan(tree, layout::tree::Options::default())?;
        ensure!(scan.problem_count == 0, "{:?}", scan.problems);
        println!("{}", serde_json::to_string(&scan.tally.summary())?);
        return Ok(true);
    }
    arguments.files = arguments.times.amount(arguments.files, 40_000);
    needs::root("loop devices, mounts and dropping caches")?;
    needs::peers(&[
        ("find", "findutils"),
        ("xargs", "findutils"),
        ("filefrag", "e2fsprogs"),
    ])?;
    let stop = Stop::on_signals()?;
    // Blocks of 1 KiB and an inode for every 2 KiB, so that a million files fit into little room.
    let bytes = arguments.files * (arguments.size.max(1024) + 1024) * 5 / 4 + 128 * MIB;
    let image = Image::new(&arguments.dir, bytes.next_multiple_of(MIB))?;
    let mounted = image.fresh_with("ext4", &["-b", "1024", "-i", "2048"])?;
    let tree = mounted.path().join("tree");
    fill_tree(&arguments, &tree, &stop)?;
    same_count(&tree, arguments.files)?;
    measure(&arguments, &tree, &stop)
}

fn fill_tree(arguments: &Arguments, tree: &Path, stop: &Stop) -> Result<()> {
    std::fs::create_dir(tree)?;
    let processes = 2;
    let options = FillSpec {
        files: arguments.files / processes,
        processes: processes as u32,
        size: Bytes(arguments.size),
        directories: 100,
        per_directory: 500,
        sync_method: 0,
        keep: true,
        ..FillSpec::new(tree)
    };
    fill::run(&options, stop)?;
    Ok(workload::syncfs::syncfs(tree)?)
}

/// Both sides count the same extents in the same number of files.
fn same_count(tree: &Path, files: u64) -> Result<()> {
    let summary = ours(tree)?;
    let lines = theirs(tree, 1, Stdio::piped())?;
    let mut extents = 0_u64;
    for line in lines.lines() {
        let words: Vec<&str> = line.split_whitespace().rev().collect();
        let number = words.get(2).and_then(|word| word.parse::<u64>().ok());
        extents += number.with_context(|| format!("filefrag printed {line:?}"))?;
    }
    ensure!(
        (summary.files, lines.lines().count() as u64) == (files, files),
        "{} files by us, {} by filefrag, {files} made",
        summary.files,
        lines.lines().count()
    );
    ensure!(
        summary.extents == extents,
        "{} extents by us, {extents} by filefrag",
        summary.extents
    );
    println!(
        "{files} files, {extents} extents by both counts, {} discontiguities",
        summary.discontiguities
    );
    Ok(())
}

fn ours(tree: &Path) -> Result<layout::LayoutSummary> {
    let program = std::env::current_exe()?.display().to_string();
    let message = output(
        &program,
        &["layout_vs_filefrag", "--scan", &tree.display().to_string()],
    )?;
    let line = message.lines().next().context("no summary was printed")?;
    Ok(serde_json::from_str(line)?)
}

/// `find | xargs filefrag`; its lines, when they go to a pipe.
fn theirs(tree: &Path, at_once: u32, stdout: Stdio) -> Result<String> {
    let mut find = Command::new("find")
        .arg(tree)
        .args(["-type", "f", "-print0"])
        .stdout(Stdio::piped())
        .spawn()?;
    let names = find.stdout.take().context("find has no stdout")?;
    let mut xargs = Command::new("xargs");
    xargs.arg("-0");
    if at_once > 1 {
        xargs.args(["-P", &at_once.to_string(), "-n", "1000"]);
    }
    let output = xargs
        .arg("filefrag")
        .stdin(names)
        .stdout(stdout)
        .spawn()?
        .wait_with_output()?;
    if !find.wait()?.success() || !output.status.success() {
        bail!("find | xargs filefrag: {}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn measure(arguments: &Arguments, tree: &Path, stop: &Stop) -> Result<bool> {
    let mut table = Table::new(
        format!(
            "{} files of {} bytes on ext4, {} pairs; seconds, medians",
            arguments.files,
            arguments.size,
            arguments.times.pairs()
        ),
        &["layout", "find|xargs", "times as fast", "of pairs"],
    );
    for (name, is_cold, at_once) in [
        ("warm", false, 1),
        ("cold", true, 1),
        ("warm, xargs -P 2", false, 2),
    ] {
        let us = || one(is_cold, || ours(tree).map(drop));
        let them = || one(is_cold, || theirs(tree, at_once, Stdio::null()).map(drop));
        if !is_cold {
            us()?;
            them()?;
        }
        let pairs = alternating(arguments.times.pairs(), stop, us, them)?;
        table.rows.push(row(name, &pairs, at_once == 1 && !is_cold));
    }
    println!("{}", table.text());
    Ok(table.all_met())
}

/// Seconds of one run.
fn one(is_cold: bool, look: impl FnOnce() -> Result<()>) -> Result<f64> {
    if is_cold {
        drop_caches()?;
    }
    let begin = Instant::now();
    look()?;
    Ok(begin.elapsed().as_secs_f64())
}

fn row(name: &str, pairs: &Pairs, has_target: bool) -> Row {
    let (low, high) = pairs.extremes();
    let faster = pairs.ratio().recip();
    let cells = [
        format!("{:.3}", median(&pairs.ours)),
        format!("{:.3}", median(&pairs.theirs)),
        format!("{faster:.2}"),
        format!("{:.2}..{:.2}", high.recip(), low.recip()),
    ];
    let target = if has_target { ">= 3.00" } else { "" };
    Row::new(name, cells, target, !has_target || faster >= 3.0)
}
