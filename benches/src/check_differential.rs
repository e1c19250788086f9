//! Damaged filesystems, checked by `check` and by the installed `e2fsck -fn` or `fsck.ocfs2 -fn`: does one find what the other does not?
//!
//! What is done. A pool of small sound filesystems is made by e2fsprogs (`fixtures::bases`). Image number N takes one
//! of them and damages it: one in five by a named case, the others by one to four random changes whose seed is N, with
//! checksums that fit in three of four changes. Both judge the same file; ours within this process, theirs as Debian
//! ships it, two at a time. The exit codes are compared: they are e2fsck's whole verdict.
//!
//! `--format ocfs2` does the same with volumes that our forge makes, and compares more: the way fsck.ocfs2 ends, each code and how
//! often it is printed. Its exit code is 0 whatever it finds. Where it runs for ever or crashes, ours must say that it does.
//!
//! With `--fswreck` some of them are damaged by the program with which ocfs2-tools tests itself.
//!
//! What does not count against ours: runs that e2fsck itself does not survive (a signal, no end
//! within the time allowed, or an attempt to write although `-n` forbids it). They are counted and
//! listed all the same, with whether ours finished. Of OCFS2 these are the images that make fsck.ocfs2 read outside its memory.
//!
//! Every result is appended to a file as it comes; an interrupted run resumes where it stopped. A
//! difference is kept with its number, which is all that is needed to make it again (`--only N
//! --keep FOLDER`).

mod fswreck;
pub(crate) mod judges;
mod ocfs2;
mod outcome;
mod pool;
mod workbench;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::needs;
use crate::run::{Stop, verdict};
use crate::table::Printer;
use anyhow::Result;
use clap::{Parser, ValueEnum};

use crate::check_differential::outcome::{Outcome, differences, read_results, summary};
use crate::check_differential::pool::{Pool, Task};

/// Damages images, has them judged by both and prints where the verdicts differ.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    /// Filesystem.
    #[arg(long, value_enum, default_value = "ext4")]
    format: Format,
    /// Images.
    #[arg(long, default_value_t = 2000)]
    count: u64,
    /// Number of the first image.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Only these images, by number.
    #[arg(long, value_delimiter = ',')]
    only: Vec<u64>,
    /// Only the images whose verdicts differ in the results, with the damage recorded there.
    #[arg(long, conflicts_with = "only")]
    again: bool,
    /// Only these bases.
    #[arg(long, value_delimiter = ',')]
    bases: Vec<String>,
    /// Folder for the pool and the images being judged; best in memory.
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// Results file, appended to; a second run skips the images in it.
    #[arg(long, default_value = "check-differential.jsonl")]
    results: PathBuf,
    /// fswreck of ocfs2-tools, which is in no package: one image in ten is damaged by one of its cases.
    #[arg(long)]
    fswreck: Option<PathBuf>,
    /// Keep the image of each difference here.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Images checked in parallel.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Time limit of a checker, seconds.
    #[arg(long, default_value_t = 20)]
    patience: u64,
    /// Start no image while this file exists (another measurement is running).
    #[arg(long)]
    pause: Option<PathBuf>,
    /// Differences printed in full.
    #[arg(long, default_value_t = 40)]
    list: usize,
}

/// What is damaged, and by what it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Ext4,
    Ocfs2,
}

impl Format {
    /// The reference.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Format::Ext4 => "e2fsck",
            Format::Ocfs2 => "fsck.ocfs2",
        }
    }

    /// The share of images whose verdict may differ.
    pub(crate) fn tolerated(self) -> f64 {
        match self {
            Format::Ext4 => 0.002,
            Format::Ocfs2 => 0.005,
        }
    }
}

pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    verdict("check_differential", bench(arguments))
}

/// Whether all targets were met.
fn bench(arguments: &Arguments) -> Result<bool> {
    match arguments.format {
        Format::Ext4 => {
            let programs = ["e2fsck", "mke2fs", "debugfs"];
            needs::peers(&programs.map(|program| (program, "e2fsprogs")))?;
        }
        Format::Ocfs2 => {
            let programs = ["fsck.ocfs2", "mkfs.ocfs2"];
            needs::peers(&programs.map(|program| (program, "ocfs2-tools")))?;
        }
    }
    let stop = Stop::on_signals()?;
    let mut outcomes = read_results(&arguments.results)?;
    let wanted = wanted(arguments, &outcomes);
    if !wanted.is_empty() {
        let folder = tempfile::Builder::new()
            .prefix("fslab-differential-")
            .tempdir_in(&arguments.dir)?;
        let pool = Pool::make(arguments, folder.path())?;
        let fresh = workbench::judge_all(arguments, &pool, &wanted, &stop)?;
        if arguments.only.is_empty() {
            let judged: BTreeSet<u64> = fresh.iter().map(|outcome| outcome.number).collect();
            outcomes.retain(|outcome| !judged.contains(&outcome.number));
            outcomes.extend(fresh);
        } else {
            outcomes = fresh;
        }
    }
    let mut printer = Printer::default();
    printer.show(&summary(&outcomes, arguments.format));
    print!("{}", differences(&outcomes, arguments));
    stop.check()?;
    Ok(printer.all_met())
}

/// The images of this run.
fn wanted(arguments: &Arguments, outcomes: &[Outcome]) -> Vec<Task> {
    if arguments.again {
        let differ = outcomes.iter().filter(|outcome| outcome.differs());
        return differ.cloned().map(Box::new).map(Task::Again).collect();
    }
    if !arguments.only.is_empty() {
        return arguments.only.iter().copied().map(Task::Number).collect();
    }
    let done: BTreeSet<u64> = outcomes.iter().map(|outcome| outcome.number).collect();
    (arguments.first..arguments.first + arguments.count)
        .filter(|number| !done.contains(number))
        .map(Task::Number)
        .collect()
}
