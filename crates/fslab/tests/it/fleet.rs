//! A run's blocks on many nodes: a loop, a scripted scheduler, Slurm itself where it is, and two hundred simulated nodes.

use crate::common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use common::{Scratch, assert_code, assert_ran, error_line, fslab, run_in, stderr, stdout};
use record::{Run, Status};
use serde_json::Value;

const STUDY: &str = r#"
include = ["defaults.toml"]
name = "fleet-test"
title = "Blocks on nodes"
[factors]
filesystem = ["ext4"]
[[workload]]
name = "mdtest"
kind = "metadata"
items = "files"
files = 20
[workload.factors]
ranks = [1, 2]
[run]
reference_seconds = 0.0
"#;

/// A folder with the study and a directory to load.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    fs::write(scratch.join("study.toml"), STUDY).unwrap();
    fs::create_dir(scratch.join("data")).unwrap();
    scratch
}

fn words(scratch: &Scratch, words: &str) -> Output {
    run_in(
        scratch.path(),
        &words.split_whitespace().collect::<Vec<_>>(),
    )
}

fn submit(scratch: &Scratch, blocks: u32) {
    let line = format!("fleet submit study.toml --dir data --out run --blocks {blocks} --dry-run");
    let output = words(scratch, &line);
    assert_code(&output, 0);
    assert!(stderr(&output).contains("nothing is submitted"));
}

/// Runs a block as a node of this name.
fn block(scratch: &Scratch, block: u32, node: &str) -> Output {
    let output = fslab()
        .current_dir(scratch.path())
        .args(["fleet", "block", "run", &block.to_string()])
        .env("SLURMD_NODENAME", node)
        .output()
        .unwrap();
    assert_ran(&output);
    output
}

#[test]
fn a_plain_loop_gives_what_a_local_run_gives() {
    let scratch = scratch();
    submit(&scratch, 4);
    // Not in the order of blocks.
    for (number, node) in [(2, "n1"), (0, "n2"), (3, "n1"), (1, "n2")] {
        block(&scratch, number, node);
    }
    let output = words(&scratch, "fleet status run");
    assert_code(&output, 0);
    let text = stdout(&output);
    assert!(
        text.contains("4 of 4 blocks are whole") && text.contains("n2"),
        "{text}"
    );
    let output = words(&scratch, "fleet gather run");
    assert_code(&output, 0);
    assert!(
        stdout(&output).starts_with("2 nodes, 4 blocks"),
        "{}",
        stdout(&output)
    );
    let gathered = Run::load(&scratch.join("run")).unwrap();
    assert_ran(&words(
        &scratch,
        "run study.toml --dir data --out local --blocks 4",
    ));
    let local = Run::load(&scratch.join("local")).unwrap();
    assert_eq!(gathered.plan.cells, local.plan.cells);
    assert_eq!(gathered.plan.slots, local.plan.slots);
    assert!(gathered.closing.is_some());
    for (trial, slot) in gathered.trials.iter().zip(&gathered.plan.slots) {
        assert_eq!(trial.status, Status::Finished);
        let node = if [2, 3].contains(&slot.block) {
            "n1"
        } else {
            "n2"
        };
        assert_eq!(trial.node.as_deref(), Some(node), "block {}", slot.block);
        let file = scratch.join("run").join(trial.telemetry.as_ref().unwrap());
        assert!(file.is_file(), "{}", file.display());
    }
    assert!(gathered.contexts.contains_key("node n1") && gathered.contexts.contains_key("node n2"));
    // The same again is the same, byte by byte.
    let log = scratch.join("run").join("events.jsonl");
    let first = fs::read(&log).unwrap();
    assert_code(&words(&scratch, "fleet gather run"), 0);
    assert_eq!(fs::read(&log).unwrap(), first);
    for command in ["report run", "show run"] {
        assert_code(&words(&scratch, command), 0);
    }
    // Nothing is missing.
    let output = words(&scratch, "fleet submit run --missing");
    assert_code(&output, 0);
    assert!(
        stderr(&output).contains("no block is missing"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_block_that_broke_is_run_again_as_a_whole() {
    let scratch = scratch();
    submit(&scratch, 2);
    // A node that died after it took the block; and one that died in the middle of it.
    fs::create_dir(scratch.join("run/parts/block-0000.1")).unwrap();
    block(&scratch, 0, "n1");
    let part = scratch.join("run/parts/block-0000.2");
    let log = fs::read_to_string(part.join("events.jsonl")).unwrap();
    let torn: Vec<&str> = log.lines().take(log.lines().count() - 2).collect();
    fs::write(part.join("events.jsonl"), torn.join("\n") + "\n").unwrap();
    let output = words(&scratch, "fleet gather run");
    assert_code(&output, 2);
    assert!(
        error_line(&output).contains("no block is whole"),
        "{}",
        stderr(&output)
    );
    block(&scratch, 0, "n2");
    let output = words(&scratch, "fleet gather run");
    assert_code(&output, 6);
    assert!(stderr(&output).contains("--missing"), "{}", stderr(&output));
    block(&scratch, 1, "n2");
    assert_code(&words(&scratch, "fleet gather run"), 0);
    let run = Run::load(&scratch.join("run")).unwrap();
    let notes = run.notes.join("\n");
    for attempt in [
        "block 0, attempt 1: broken off",
        "block 0, attempt 2: broken off",
    ] {
        assert!(notes.contains(attempt), "{notes}");
    }
    assert!(
        run.trials
            .iter()
            .all(|trial| trial.node.as_deref() == Some("n2"))
    );
    // A plan that was changed is not run.
    let file = scratch.join("run/fleet.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("\"band\": 0.02", "\"band\": 0.5", 1)).unwrap();
    let output = words(&scratch, "fleet block run 0");
    assert_code(&output, 2);
    assert!(error_line(&output).contains("not the one that was submitted"));
}

/// A block that a process writes at this moment is running, and is not submitted again.
#[test]
fn a_block_at_work_is_running_and_not_missing() {
    let scratch = scratch();
    submit(&scratch, 2);
    block(&scratch, 0, "n1");
    let part = scratch.join("run/parts/block-0000.1");
    let log = fs::read_to_string(part.join("events.jsonl")).unwrap();
    let begun: Vec<&str> = log.lines().take(log.lines().count() - 2).collect();
    fs::write(part.join("events.jsonl"), begun.join("\n") + "\n").unwrap();
    let state = |line: &str| stdout(&words(&scratch, line));
    assert!(state("fleet status run").contains("broken off"));
    let writer = record::RunFolder::open_to_write(&part).unwrap();
    let text = state("fleet status run");
    assert!(
        text.contains("running") && !text.contains("broken off"),
        "{text}"
    );
    assert_code(&words(&scratch, "fleet submit run --missing --dry-run"), 0);
    let script = fs::read_to_string(scratch.join("run/sbatch.sh")).unwrap();
    assert!(script.contains("--array=1%"), "{script}");
    drop(writer);
    assert_code(&words(&scratch, "fleet submit run --missing --dry-run"), 0);
    let script = fs::read_to_string(scratch.join("run/sbatch.sh")).unwrap();
    assert!(script.contains("--array=0-1%"), "{script}");
}

#[test]
fn kernels_that_differ_are_refused() {
    let scratch = scratch();
    submit(&scratch, 2);
    block(&scratch, 0, "n1");
    block(&scratch, 1, "n2");
    let log = scratch.join("run/parts/block-0001.1/events.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let lines = text.lines().map(|line| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        if let Some(item) = event.pointer_mut("/context/items/run.kernel/value") {
            *item = "2.6.32".into();
        }
        event.to_string() + "\n"
    });
    fs::write(&log, lines.collect::<String>()).unwrap();
    let output = words(&scratch, "fleet gather run");
    assert_code(&output, 2);
    assert!(
        error_line(&output).contains("node n2 kernel 2.6.32"),
        "{}",
        stderr(&output)
    );
}

/// A scheduler of three nodes: `sbatch` is a script that runs each element of the array, the second one twice since its node dies.
const SBATCH: &str = r##"#!/bin/bash
set -e
script=$PWD/from-stdin.sh
cat > "$script"
array=$(sed -n 's/^#SBATCH --array=//p' "$script")
for option in --exclusive --requeue --open-mode=append --export=NIL --signal=B:TERM@120; do
  grep -qx "#SBATCH $option" "$script"
done
[[ $array == "0-5%2" ]]
for task in 0 1 2 3 4 5; do
  export SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_JOB_ID=17 SLURM_JOB_ID=$((18 + task)) SLURMD_NODENAME=n$((task % 3 + 1))
  if [ $task = 1 ]; then
    sh "$script" >/dev/null 2>&1 & victim=$!
    for _ in $(seq 3000); do ls run/parts/block-0001.1/events.jsonl >/dev/null 2>&1 && break; sleep 0.01; done
    kill -9 $victim
    wait $victim || true
    export SLURMD_NODENAME=n3 SLURM_RESTART_COUNT=1
  fi
  sh "$script" >> "$task.log" 2>&1
  unset SLURM_RESTART_COUNT
done
echo 17
"##;

#[test]
fn a_scripted_scheduler_runs_six_blocks_on_three_nodes() {
    let scratch = scratch();
    let bin = scratch.join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("sbatch"), SBATCH).unwrap();
    fs::set_permissions(bin.join("sbatch"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let line = "fleet submit study.toml --dir data --out run --blocks 6 --at-once 2";
    let output = fslab()
        .current_dir(scratch.path())
        .args(line.split_whitespace())
        .env("PATH", path)
        .output()
        .unwrap();
    assert_code(&output, 0);
    assert_eq!(stdout(&output).trim(), "17");
    assert_code(&words(&scratch, "fleet gather run"), 0);
    let run = Run::load(&scratch.join("run")).unwrap();
    assert_eq!(run.trials.len(), 12);
    let node = |block: u32| {
        let mut slots = run.plan.slots.iter();
        let slot = slots.find(|slot| slot.block == block).unwrap();
        run.trials[slot.trial as usize].node.clone().unwrap()
    };
    assert_eq!(
        (node(0), node(1), node(2)),
        ("n1".into(), "n3".into(), "n3".into())
    );
    assert!(
        run.notes
            .iter()
            .any(|note| note.contains("block 1, attempt 1: broken off"))
    );
    let context = &run.contexts["node n3"]["items"]["manual.slurm.restarts"];
    assert_eq!(context["value"], "1");
}

/// Two hundred nodes with a block each: one is run, the others are its log with their own slots. Time and memory are printed.
#[test]
fn two_hundred_nodes_are_gathered() {
    let scratch = scratch();
    submit(&scratch, 200);
    block(&scratch, 0, "n0");
    let fleet: Value =
        serde_json::from_str(&fs::read_to_string(scratch.join("run/fleet.json")).unwrap()).unwrap();
    let log = fs::read_to_string(scratch.join("run/parts/block-0000.1/events.jsonl")).unwrap();
    for number in 1..200 {
        let dir = scratch.join(&format!("run/parts/block-{number:04}.1"));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("events.jsonl"), of_block(&fleet, &log, number)).unwrap();
    }
    let begun = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_fslab"))
        .current_dir(scratch.path())
        .args(["fleet", "gather", "run", "--format", "json"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut peak = 0;
    let status = loop {
        let text = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    let seconds = begun.elapsed().as_secs_f64();
    assert!(status.success(), "{status}");
    let run = Run::load(&scratch.join("run")).unwrap();
    let whole = run
        .trials
        .iter()
        .all(|trial| trial.status == Status::Finished);
    assert!(whole && run.trials.len() == 400 && run.contexts.len() >= 201);
    let size = fs::metadata(scratch.join("run/events.jsonl"))
        .unwrap()
        .len()
        >> 10;
    eprintln!(
        "gather: 200 nodes, 400 trials, log of {size} KiB: {seconds:.1} s, {} MiB at the peak",
        peak >> 10
    );
}

/// The log of block 0 as that of another: its slots, seeds and node.
fn of_block(fleet: &Value, log: &str, number: u64) -> String {
    let slots: Vec<Value> = fleet["plan"]["slots"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|slot| slot["block"] == number)
        .cloned()
        .collect();
    let local = |at: usize| {
        let mut slot = slots[at].clone();
        slot["trial"] = at.into();
        slot
    };
    let mut begun = 0;
    let lines = log.lines().map(|line| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        match event["event"].as_str().unwrap() {
            "run_started" => {
                event["plan"]["slots"] = (0..slots.len()).map(local).collect();
                event["part"] = format!("{number}.1").into();
            }
            "trial_started" => {
                event["slot"] = local(begun);
                event["node"] = format!("n{number}").into();
                begun += 1;
            }
            _ => {}
        }
        event.to_string() + "\n"
    });
    lines.collect()
}

/// The three nodes of docs/fleet.md on one machine.
const SLURM: &str = include_str!("../data/slurm.sh");

/// Ends Slurm, whatever happened.
struct Slurm<'a>(&'a Path);

impl Drop for Slurm<'_> {
    fn drop(&mut self) {
        let run = |words: &str| {
            let _ = Command::new("bash")
                .arg("-c")
                .arg(words)
                .arg("bash")
                .arg(self.0)
                .status();
        };
        run(
            r#"for f in "$1"/run/slurmctld.pid "$1"/run/slurmd-*.pid; do kill $(cat "$f") 2>/dev/null; done
               sleep 1; kill $(cat "$1/run/munged.pid") 2>/dev/null; true"#,
        );
    }
}

#[test]
fn slurm_runs_six_blocks_on_three_nodes_needs_root() {
    if !testkit::root!("munged and slurmd") {
        return;
    }
    for program in ["munged", "slurmctld", "slurmd", "sbatch", "sinfo"] {
        let found = Command::new("bash")
            .args(["-c", &format!("command -v {program}")])
            .output();
        if !found.is_ok_and(|output| output.status.success()) {
            testkit::skip!("needs {program}: packages slurm-wlm, munge");
            return;
        }
    }
    let scratch = scratch();
    // A socket's path is short.
    let home = tempfile::Builder::new()
        .prefix("fsl")
        .tempdir_in("/tmp")
        .unwrap();
    let _slurm = Slurm(home.path());
    let begun = Command::new("bash")
        .args(["-c", SLURM, "bash"])
        .arg(home.path())
        .output()
        .unwrap();
    if !begun.status.success() {
        testkit::skip!("Slurm does not start here: {}", stderr(&begun).trim());
        return;
    }
    let conf = home.path().join("slurm.conf");
    let output = fslab()
        .current_dir(scratch.path())
        .args("fleet submit study.toml --dir data --out run --blocks 6".split_whitespace())
        .env("SLURM_CONF", &conf)
        .output()
        .unwrap();
    let logs = || {
        let all = fs::read_dir(scratch.join("run/logs")).unwrap().flatten();
        all.map(|log| fs::read_to_string(log.path()).unwrap_or_default())
            .collect::<String>()
    };
    assert!(output.status.success(), "{}{}", stderr(&output), logs());
    let until = Instant::now() + std::time::Duration::from_secs(600);
    while !stdout(&words(&scratch, "fleet status run")).contains("6 of 6 blocks are whole") {
        assert!(Instant::now() < until, "{}", logs());
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    assert_code(&words(&scratch, "fleet gather run"), 0);
    let run = Run::load(&scratch.join("run")).unwrap();
    let mut nodes: Vec<&str> = run
        .trials
        .iter()
        .filter_map(|trial| trial.node.as_deref())
        .collect();
    nodes.sort_unstable();
    nodes.dedup();
    assert!(
        run.closing.is_some() && nodes.iter().all(|node| node.starts_with('n')),
        "{nodes:?}"
    );
    let alone = |trial: &record::TrialRecord| trial.evidence.iter().any(|e| e.name == "node_alone");
    assert!(run.trials.iter().all(alone));
    eprintln!("Slurm: 6 blocks on {} nodes", nodes.len());
}
