//! Damaged XFS filesystems, checked by `check` and by the installed `xfs_repair -n`: does one end with 1 where the other ends with 0?
//!
//! What is done. Small sound filesystems of several feature sets are forged, others are filled by the kernel: shared and
//! fragmented files, removed ones, small and large blocks, large directory blocks, large sectors, one allocation group, a log and a
//! realtime part on devices of their own. `xfs_db -x` changes one field of one object in a copy (`fuzz -d`
//! with each of its verbs; checksums are corrected, or left wrong in one of eight cases), or writes over blocks of a kind (`blocktrash`). The
//! objects are the headers of an allocation group, the roots and first leaves of its btrees, inodes of each type and form, and blocks of
//! directories, attributes, fork btrees and symbolic links. Fields are those that `print` names, with the first and last element of
//! each array. Which case number N is follows from N alone; what the kernel fills is not the same in each run.
//!
//! Both judge the same file; ours within this process. The exit codes are compared, which are all of xfs_repair's verdict. Where xfs_repair
//! crashes or does not end, nothing is compared; such cases are counted and listed.
//!
//! Every result is appended to a file as it comes; an interrupted run resumes where it stopped.

mod filled;
mod judges;
mod targets;

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde::{Deserialize, Serialize};

use crate::needs;
use crate::run::{Stop, verdict};
use crate::table::{Printer, Row, Table};
use judges::Judgement;
use targets::Target;

/// The share of cases whose exit codes may differ.
const TOLERATED: f64 = 0.002;
/// The verbs of `fuzz`.
const VERBS: [&str; 8] = [
    "zeroes",
    "ones",
    "firstbit",
    "middlebit",
    "lastbit",
    "add",
    "sub",
    "random",
];
/// Types of blocks that `blocktrash` knows.
const TYPES: [&str; 12] = [
    "bnobt", "cntbt", "inobt", "finobt", "rmapbt", "inode", "dir3", "attr3", "bmapbtd", "symlink",
    "inodata", "sb",
];
/// One case in this many is of `blocktrash`.
const TRASH: u64 = 10;

/// Damages images by xfs_db, has them judged by both and prints where the verdicts differ.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    /// Cases.
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// Number of the first case.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Only these cases, by number.
    #[arg(long, value_delimiter = ',')]
    only: Vec<u64>,
    /// Only these bases.
    #[arg(long, value_delimiter = ',')]
    bases: Vec<String>,
    /// Folder for the images; best in memory.
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// Results file, appended to; a second run skips the cases in it.
    #[arg(long, default_value = "check-differential-xfs.jsonl")]
    results: PathBuf,
    /// Keep the image of each difference here.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Cases judged in parallel.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Time limit of a checker, seconds.
    #[arg(long, default_value_t = 60)]
    patience: u64,
    /// Differences printed.
    #[arg(long, default_value_t = 60)]
    list: usize,
}

/// A case and its two judgements.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Outcome {
    number: u64,
    base: String,
    damage: String,
    ours: Judgement,
    theirs: Judgement,
}

impl Outcome {
    fn compares(&self) -> bool {
        self.theirs.code.is_some()
    }

    fn differs(&self) -> bool {
        self.compares() && self.ours.code != self.theirs.code
    }
}

/// Devices that a filesystem has beside its own. Nothing in them is damaged.
#[derive(Debug, Default)]
struct Devices {
    log: Option<PathBuf>,
    realtime: Option<PathBuf>,
}

/// A sound filesystem, and what of it is damaged.
struct Base {
    name: &'static str,
    image: PathBuf,
    devices: Devices,
    targets: Vec<Target>,
}

pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    verdict("check_differential_xfs", bench(arguments))
}

/// Whether all targets were met.
fn bench(arguments: &Arguments) -> Result<bool> {
    needs::peers(&["xfs_repair", "xfs_db", "mkfs.xfs"].map(|program| (program, "xfsprogs")))?;
    let stop = Stop::on_signals()?;
    let mut outcomes = read(&arguments.results)?;
    let done: BTreeSet<u64> = outcomes.iter().map(|one| one.number).collect();
    let range = arguments.first..arguments.first + arguments.count;
    let wanted: Vec<u64> = if arguments.only.is_empty() {
        range.filter(|number| !done.contains(number)).collect()
    } else {
        arguments.only.clone()
    };
    if !wanted.is_empty() {
        let folder = tempfile::Builder::new()
            .prefix("fslab-differential-xfs-")
            .tempdir_in(&arguments.dir)?;
        let bases = targets::bases(folder.path(), &arguments.bases)?;
        let fresh = judge_all(arguments, folder.path(), &bases, &wanted, &stop)?;
        if arguments.only.is_empty() {
            outcomes.extend(fresh);
        } else {
            outcomes = fresh;
        }
    }
    let mut printer = Printer::default();
    printer.show(&summary(&outcomes));
    for outcome in outcomes
        .iter()
        .filter(|one| one.differs())
        .take(arguments.list)
    {
        println!(
            "{} {} {}: ours {:?} {:?}; xfs_repair {:?} {:?}",
            outcome.number,
            outcome.base,
            outcome.damage,
            outcome.ours.code,
            outcome.ours.lines,
            outcome.theirs.code,
            outcome.theirs.lines
        );
    }
    stop.check()?;
    Ok(printer.all_met())
}

fn read(path: &Path) -> Result<Vec<Outcome>> {
    let Ok(text) = fs::read_to_string(path) else {
        return Ok(Vec::new());
    };
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().context("the results file")
}

/// Judges the wanted cases, several at a time.
fn judge_all(
    arguments: &Arguments,
    folder: &Path,
    bases: &[Base],
    wanted: &[u64],
    stop: &Stop,
) -> Result<Vec<Outcome>> {
    let next = AtomicU64::new(0);
    let outcomes = Mutex::new(Vec::new());
    let mut jobs: Vec<Result<()>> = (0..arguments.jobs.max(1)).map(|_| Ok(())).collect();
    std::thread::scope(|scope| {
        for (number, job) in jobs.iter_mut().enumerate() {
            let (next, outcomes) = (&next, &outcomes);
            scope.spawn(move || {
                let image = folder.join(format!("case.{number}"));
                *job = (|| {
                    while !stop.is_set() {
                        let at = next.fetch_add(1, Relaxed) as usize;
                        let Some(case) = wanted.get(at) else { break };
                        let outcome = judge(arguments, bases, *case, &image)?;
                        append(&arguments.results, &outcome)?;
                        if let Ok(mut all) = outcomes.lock() {
                            all.push(outcome);
                        }
                    }
                    Ok(())
                })();
            });
        }
    });
    jobs.into_iter().collect::<Result<Vec<()>>>()?;
    let mut outcomes = outcomes.into_inner().unwrap_or_default();
    outcomes.sort_by_key(|one| one.number);
    Ok(outcomes)
}

fn append(path: &Path, outcome: &Outcome) -> Result<()> {
    let mut line = serde_json::to_string(outcome)?;
    line.push('\n');
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    Ok(file.write_all(line.as_bytes())?)
}

/// SplitMix64: the choices of a case follow from its number.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ word >> 31) % bound.max(1) as u64) as usize
    }
}

/// Damages a copy of a base and has it judged.
fn judge(arguments: &Arguments, bases: &[Base], number: u64, image: &Path) -> Result<Outcome> {
    let mut random = Random(number);
    let base = &bases[random.below(bases.len())];
    let copied = Command::new("cp")
        .arg("--sparse=always")
        .arg(&base.image)
        .arg(image)
        .status()?;
    ensure!(copied.success(), "cp: {copied}");
    let commands = if number.is_multiple_of(TRASH) {
        let kind = TYPES[random.below(TYPES.len())];
        vec![
            "blockget".to_owned(),
            format!("blocktrash -s {number} -n 1 -x 1 -y 64 -t {kind}"),
        ]
    } else {
        let target = &base.targets[random.below(base.targets.len())];
        let field = &target.fields[random.below(target.fields.len())];
        let verb = VERBS[random.below(VERBS.len())];
        let wrong = if random.below(8) == 0 { "-c" } else { "-d" };
        let mut commands = target.commands.clone();
        commands.push(format!("fuzz {wrong} {field} {verb}"));
        commands
    };
    xfs_db(image, &["-x", "-f"], &commands)?;
    let patience = Duration::from_secs(arguments.patience);
    let theirs = judges::xfs_repair(image, &base.devices, patience)?;
    let ours = judges::ours(image, &base.devices, patience);
    let outcome = Outcome {
        number,
        base: base.name.into(),
        damage: commands.join("; "),
        ours,
        theirs,
    };
    if let Some(keep) = arguments.keep.as_ref().filter(|_| outcome.differs()) {
        fs::create_dir_all(keep)?;
        let kept = keep.join(format!("{number}.img"));
        Command::new("cp")
            .arg("--sparse=always")
            .arg(image)
            .arg(kept)
            .status()?;
    }
    Ok(outcome)
}

/// What xfs_db prints for these commands.
fn xfs_db(image: &Path, options: &[&str], commands: &[String]) -> Result<String> {
    let mut command = Command::new("xfs_db");
    command.args(options);
    for one in commands {
        command.args(["-c", one]);
    }
    let output = command
        .arg(image)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn summary(outcomes: &[Outcome]) -> Table {
    let count = |which: &dyn Fn(&Outcome) -> bool| outcomes.iter().filter(|one| which(one)).count();
    let compared = count(&Outcome::compares);
    let differ = count(&Outcome::differs);
    let missed = count(&|one| one.differs() && one.theirs.code == Some(1));
    let damaged = count(&|one| one.theirs.code == Some(1));
    let silent = count(&|one| one.theirs.code == Some(0) && one.ours.strict == Some(4));
    let share = differ as f64 / compared.max(1) as f64;
    let mut table = Table::new(
        format!("{} damaged filesystems of xfs_db", outcomes.len()),
        &[
            "compared",
            "xfs_repair says 1",
            "differ",
            "of these missed",
            "not seen by xfs_repair",
            "not compared",
        ],
    );
    let cells = [
        compared.to_string(),
        damaged.to_string(),
        format!("{differ} ({:.2} %)", share * 100.0),
        missed.to_string(),
        silent.to_string(),
        (outcomes.len() - compared).to_string(),
    ];
    let goal = format!("<= {:.1} %", TOLERATED * 100.0);
    table
        .rows
        .push(Row::new("cases", cells, goal, share <= TOLERATED));
    table
}
