//! Every device and filesystem of guests in one pass: made, mounted, filled, checked.
//!
//! No layer is crossed with everything: each device carries ext4, each filesystem lies on a plain disk,
//! and XFS on RAID-0 beside it, so that both geometries (stride, sunit) are seen. User-mode Linux runs all
//! that it can, and QEMU on the newest kernel what it cannot: null_blk. `--full` has every kernel asked for
//! run everything in QEMU, which takes minutes where the processor is emulated.
//!
//! A row passes when mkfs ran, the kernel mounted what was asked, all files were counted back, and the
//! filesystem's own checker ended with 0. Times of guests say nothing of disks; what is held to a target
//! is the pass as a whole, by the clock of the machine that runs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use benches::arguments::Place;
use benches::needs::{self, Missing};
use benches::run::{Stop, cannot_start, output, verdict};
use benches::table::{Row, Table};
use clap::Parser;
use record::{Run, Status, TrialRecord};
use serde_json::Value;

/// The most seconds of a pass that is not `--full`.
const TARGET: f64 = 240.0;
/// Files of a trial, as [`STUDY`] has them.
const FILES: f64 = 300.0;
/// Exit code of a run whose trials are whole, with evidence in doubt: a busy machine's.
const IN_DOUBT: i32 = 7;
/// The series that every full pass has, beside the newest.
const OLDEST: &str = "6.1";

/// XFS takes the geometry of an array from 1 GiB on.
const STUDY: &str = r#"
include = ["defaults.toml"]
name = "guest-pass"
title = "Every device and filesystem in a guest"
question = "Is each made, mounted, filled and checked?"
exclude = [
    { filesystem = ["ocfs2", "f2fs"], device = [
        "raid0x11", "raid1", "raid5", "raid6", "raid10", "stripe8", "lvm8", "delay", "flakey", "log_writes", "null_blk",
    ], why = "they are shown on a plain disk" },
    { filesystem = "xfs", device = [
        "raid1", "raid5", "raid6", "raid10", "stripe8", "lvm8", "delay", "flakey", "log_writes", "null_blk",
    ], why = "it is shown on a plain disk and on RAID-0" },
]

[factors]
filesystem = ["ext4", "xfs", "ocfs2", "f2fs"]
device = [
    "plain", "raid0x11", "raid1", "raid5", "raid6", "raid10", "stripe8", "lvm8", "delay", "flakey", "log_writes", "null_blk",
]

[device]
size = "1g"

[run]
blocks = 1
reference_seconds = 0

[check]
enabled = true

[[workload]]
name = "fill"
kind = "fill"
files = 300
processes = 1
size = "1k"
directories = 10
per_directory = 30
keep = true
"#;
/// Devices that User-mode Linux has.
const WITHOUT_NULL_BLK: &str =
    "device=plain,raid0x11,raid1,raid5,raid6,raid10,stripe8,lvm8,delay,flakey,log_writes";

/// Makes, mounts, fills and checks every device and filesystem in guests.
#[derive(Parser, Debug)]
struct Arguments {
    /// The binary.
    #[arg(long, default_value = "target/release/fslab")]
    fslab: PathBuf,
    #[command(flatten)]
    place: Place,
    /// Everything in QEMU on each kernel, not only what User-mode Linux lacks.
    #[arg(long)]
    full: bool,
    /// Kernels for QEMU, by names of `fslab kernel list` [default: the newest that is cached; with --full
    /// the newest 6.1 too].
    #[arg(long, value_delimiter = ',')]
    kernels: Vec<String>,
}

/// One run of the binary.
struct Pass {
    executor: &'static str,
    kernel: Option<String>,
    more: Vec<&'static str>,
}

fn main() -> std::process::ExitCode {
    verdict("guest_pass", measure())
}

/// Whether all was made and checked, in time.
fn measure() -> Result<bool> {
    let arguments = Arguments::parse();
    needs::root("guests' pid and mount namespaces")?;
    needs::peers(&[
        ("linux.uml", "user-mode-linux"),
        ("qemu-system-x86_64", "qemu-system-x86 seabios"),
        ("mdadm", "mdadm"),
        ("lvm", "lvm2"),
        ("mkfs.ocfs2", "ocfs2-tools"),
        ("mkfs.f2fs", "f2fs-tools"),
    ])?;
    let fslab = std::path::absolute(&arguments.fslab)?;
    if !fslab.is_file() {
        let next = "build it (cargo build --release -p fslab) or name it with --fslab";
        return Err(Missing(format!("{}: no such program; {next}", fslab.display())).into());
    }
    let kernels = kernels(&arguments, &fslab)?;
    let stop = Stop::on_signals()?;
    let folder = tempfile::tempdir_in(&arguments.place.dir)?;
    let study = folder.path().join("guest-pass.toml");
    std::fs::write(&study, STUDY)?;
    let mut table = Table::new(
        "each device and filesystem in a guest: made, mounted, loaded, checked",
        &["kernel", "done", "geometry", "seconds"],
    );
    let mut failures = Vec::new();
    let begun = Instant::now();
    for (number, pass) in passes(arguments.full, &kernels).iter().enumerate() {
        stop.check()?;
        let out = folder.path().join(format!("run-{number}"));
        let run = one(&fslab, &study, pass, &out)?;
        add_rows(&run, pass.executor, &mut table, &mut failures);
    }
    let seconds = begun.elapsed().as_secs_f64();
    let (target, met) = if arguments.full {
        ("none".to_owned(), true)
    } else {
        (format!("< {TARGET} s"), seconds < TARGET)
    };
    let cells = ["", "", "", &format!("{seconds:.0}")].map(str::to_owned);
    table.rows.push(Row::new("all", cells, target, met));
    println!("{}", table.text());
    for failure in failures {
        println!("{failure}");
    }
    Ok(table.all_met())
}

/// What is run: everything on each kernel, or everything once.
fn passes(full: bool, kernels: &[String]) -> Vec<Pass> {
    let qemu = |kernel: &String, more: &[&'static str]| Pass {
        executor: "qemu",
        kernel: Some(kernel.clone()),
        more: more.to_vec(),
    };
    let mut all = vec![Pass {
        executor: "uml",
        kernel: None,
        more: vec!["--filter", WITHOUT_NULL_BLK],
    }];
    all.extend(kernels.iter().map(|kernel| {
        if full {
            qemu(kernel, &[])
        } else {
            qemu(kernel, &["--filter", "device=null_blk"])
        }
    }));
    all
}

/// The kernels for QEMU.
fn kernels(arguments: &Arguments, fslab: &Path) -> Result<Vec<String>> {
    if !arguments.kernels.is_empty() {
        return Ok(arguments.kernels.clone());
    }
    let program = fslab.to_string_lossy();
    let listed = output(&program, &["kernel", "list", "--format", "json"])?;
    let listed: Value = serde_json::from_str(&listed).context("fslab kernel list")?;
    let cached = cached(&listed);
    let newest = cached.last().map(|(_, name)| name.clone());
    let newest = newest.ok_or_else(|| {
        Missing("no kernel for QEMU is cached; fetch one (fslab kernel fetch 6.12)".into())
    })?;
    if !arguments.full {
        return Ok(vec![newest]);
    }
    let is_oldest = |version: &[u64]| version.starts_with(&[6, 1]);
    let old = cached.iter().rev().find(|(version, _)| is_oldest(version));
    let (_, old) = old.ok_or_else(|| {
        Missing(format!(
            "no kernel {OLDEST} for QEMU is cached; fetch one (fslab kernel fetch {OLDEST})"
        ))
    })?;
    let mut both = vec![old.clone(), newest];
    both.dedup();
    Ok(both)
}

/// Kernels that have every filesystem (Debian's cloud kernels do not), oldest first.
fn cached(listed: &Value) -> Vec<(Vec<u64>, String)> {
    let all = listed["kernels"].as_array().map_or(&[][..], Vec::as_slice);
    let whole = all.iter().filter(|kernel| {
        let has = |what: &str| {
            matches!(
                kernel["capabilities"][what].as_str(),
                Some("builtin" | "module")
            )
        };
        kernel["form"] == "vmlinux" && has("null_blk") && has("ocfs2") && has("f2fs")
    });
    let mut found: Vec<(Vec<u64>, String)> = whole
        .filter_map(|kernel| {
            let version = kernel["version"].as_str()?.split('.');
            let version = version.map_while(|part| part.parse().ok()).collect();
            Some((version, kernel["name"].as_str()?.to_owned()))
        })
        .collect();
    found.sort();
    found
}

/// Runs the study, and reads what was recorded.
fn one(fslab: &Path, study: &Path, pass: &Pass, out: &Path) -> Result<Run> {
    let mut command = Command::new(fslab);
    command
        .arg("run")
        .arg(study)
        .args(["--executor", pass.executor]);
    if let Some(kernel) = &pass.kernel {
        command.args(["--kernel", kernel]);
    }
    let ended = command
        .args(&pass.more)
        .arg("--out")
        .arg(out)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| cannot_start(&fslab.display().to_string(), error))?;
    Run::load(out)
        .map_err(|error| {
            let said = String::from_utf8_lossy(&ended.stderr);
            let said = said.lines().last().unwrap_or_default().trim();
            anyhow::anyhow!(
                "{} gave no run ({}): {said}: {error}",
                pass.executor,
                ended.status
            )
        })
        .and_then(|run| match ended.status.code() {
            // A trial that failed is a row that says so.
            Some(0 | IN_DOUBT) => Ok(run),
            Some(_)
                if run
                    .trials
                    .iter()
                    .any(|trial| trial.status != Status::Finished) =>
            {
                Ok(run)
            }
            _ => bail!("the run in {} ended with {}", pass.executor, ended.status),
        })
}

/// A row for each trial.
fn add_rows(run: &Run, executor: &str, table: &mut Table, failures: &mut Vec<String>) {
    let start = run.contexts.get("start");
    let release =
        start.and_then(|context| context["items"]["system.kernel.release"]["value"].as_str());
    let kernel = format!("{executor} {}", release.unwrap_or("?"));
    let mut rows: Vec<Row> = Vec::new();
    for (slot, trial) in run.plan.slots.iter().zip(&run.trials) {
        let levels = run
            .plan
            .cells
            .get(slot.cell as usize)
            .map(|cell| &cell.levels);
        let level = |factor| {
            levels
                .and_then(|levels| levels.get(factor))
                .map_or("?", |level| level.as_str())
        };
        let name = format!("{} {}", level("device"), level("filesystem"));
        let done = done(trial);
        let steps: Vec<&str> = done
            .iter()
            .filter(|(_, holds)| *holds)
            .map(|(step, _)| *step)
            .collect();
        let met = steps.len() == done.len() && trial.status == Status::Finished;
        if !met {
            failures.push(format!("{name}, {kernel}: {}", why(trial)));
        }
        let cells = [
            kernel.clone(),
            if met {
                "all".to_owned()
            } else {
                steps.join(" ")
            },
            geometry(trial),
            format!("{:.1}", trial.ledger.total),
        ];
        rows.push(Row::new(name, cells, "all", met));
    }
    rows.sort_by(|one, other| one.name.cmp(&other.name));
    table.rows.append(&mut rows);
}

/// The four steps, and whether each was done.
fn done(trial: &TrialRecord) -> [(&'static str, bool); 4] {
    let mounted = trial.mounted.as_ref();
    let detail = |phase: &str| {
        let found = trial.phases.iter().find(|p| p.name == phase);
        found.map(|found| &found.detail)
    };
    let counted = detail("fill").and_then(|fill| fill["figures"]["count"].as_f64());
    let said = detail("check").and_then(|check| check["explanation"].as_str());
    [
        ("made", mounted.is_some_and(|m| !m.mkfs.is_empty())),
        (
            "mounted",
            mounted.is_some_and(|m| m.mounted_type == m.asked_type),
        ),
        ("loaded", counted.is_some_and(|files| files >= FILES)),
        (
            "checked",
            said.is_some_and(|said| said.starts_with("exit code 0:")),
        ),
    ]
}

/// Why a row misses.
fn why(trial: &TrialRecord) -> String {
    if let Status::Failed(_, message) = &trial.status {
        return message.clone();
    }
    let check = trial.phases.iter().find(|phase| phase.name == "check");
    let said = check.and_then(|check| check.detail["explanation"].as_str());
    format!("the checker said {}", said.unwrap_or("nothing"))
}

/// Chunk and stripe that the filesystem has in its superblock, in its blocks.
fn geometry(trial: &TrialRecord) -> String {
    let superblock = trial.mounted.as_ref().map(|mounted| &mounted.superblock);
    let word = |name: &str| {
        superblock
            .and_then(|words| words.get(name))
            .map(String::as_str)
    };
    let stride = word("stride_blocks").zip(word("stripe_width_blocks"));
    match stride.or(word("sunit_blocks").zip(word("swidth_blocks"))) {
        None | Some(("0", _)) => "-".to_owned(),
        Some((chunk, stripe)) => format!("{chunk}/{stripe}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_whole_kernel_is_the_last() {
        let kernel = |name: &str, version: &str, ocfs2: &str| {
            serde_json::json!({
                "name": name, "version": version, "form": "vmlinux",
                "capabilities": { "null_blk": "module", "ocfs2": ocfs2, "f2fs": "module" },
            })
        };
        let listed = serde_json::json!({ "kernels": [
            kernel("b", "6.12.117", "module"),
            kernel("a", "6.1.192", "module"),
            kernel("cloud", "7.3.4", "no"),
        ] });
        let names: Vec<String> = cached(&listed).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn a_trial_of_nothing_has_done_nothing() {
        let trial = TrialRecord::default();
        assert!(done(&trial).iter().all(|(_, holds)| !holds));
        assert_eq!(geometry(&trial), "-");
        assert_eq!(why(&trial), "the checker said nothing");
    }
}
