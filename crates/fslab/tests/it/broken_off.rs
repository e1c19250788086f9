//! Runs that are interrupted at bad moments: in mkfs, in ageing, in a check, in the read of the raw
//! device, and by a full filesystem. Nothing may be left, and what was measured is kept.

use crate::common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Instant;

use common::{Scratch, assert_code, can_limit, fslab, is_root, run_in, stderr, stdout, wait_until};
use record::{Run, Status};
use rustix::process::{Pid, Signal, kill_process};

const STUDY: &str = r#"
name = "broken"
title = "A study for tests"
question = "What is left of a run that is broken off?"
include = ["defaults.toml"]

[run]
blocks = 1
seed = 7
reference_seconds = 0

[device]
size = "160m"

[filesystem.ext4]
mkfs = ["-E", "lazy_itable_init=0,lazy_journal_init=0"]

[factors]
filesystem = ["ext4"]
"#;

const FILL: &str = r#"
[[workload]]
name = "fill"
kind = "fill"
files = 100
size = "4k"
sync_method = 0
keep = true
"#;

/// Long enough to be interrupted in the middle: 12 rounds of 2 x 1000 files, and as many directories.
const AGE: &str = r#"
[[workload]]
name = "aged"
kind = "age"
rounds = 12
files = 1000
processes = 2
directories = 200
per_directory = 5
step = 2
size = 1000
"#;

fn study(scratch: &Scratch, more: &str) -> PathBuf {
    let path = scratch.join("broken.toml");
    fs::write(&path, STUDY.to_owned() + more).unwrap();
    path
}

/// A folder with a program of that name, for PATH.
fn fake(scratch: &Scratch, name: &str, script: &str) -> String {
    let folder = scratch.join("bin");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    let text = format!("#!/bin/sh\n[ \"$1\" = -V ] && {{ echo {name} 0.0; exit 0; }}\n{script}\n");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let rest = std::env::var("PATH").unwrap_or_default();
    format!("{}:{rest}", folder.display())
}

fn spawn(scratch: &Scratch, study: &Path, path: Option<&str>, more: &[&str]) -> Child {
    let mut command = fslab();
    command.current_dir(scratch.path()).arg("run").arg(study);
    command.args(["--out", "out"]).args(more);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Processes that sleep for just this long.
fn asleep(seconds: &str) -> usize {
    let line = format!("sleep\0{seconds}\0");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|entry| fs::read(entry.path().join("cmdline")).is_ok_and(|l| l == line.as_bytes()))
        .count()
}

fn interrupt(child: Child) {
    let begun = Instant::now();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_code(&output, 130);
    let took = begun.elapsed();
    assert!(took < testkit::HANGS, "{took:?} to stop");
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Control groups left by processes of ours that have exited.
fn orphaned_groups() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let pid = name
                .strip_prefix("fslab-")
                .and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
            if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
                found.push(entry.path());
            }
            todo.push(entry.path());
        }
    }
    found
}

/// `fslab clean` leaves nothing of the run.
fn clean(scratch: &Scratch, pid: u32) {
    let output = run_in(scratch.path(), &["clean", "out"]);
    assert_code(&output, 0);
    scratch.assert_nothing_left();
    let images = fs::read_dir(scratch.join("out/images")).map_or(0, Iterator::count);
    assert_eq!(images, 0, "{}", stdout(&output));
    let ours = format!("fslab-{pid}-");
    let groups: Vec<PathBuf> = orphaned_groups()
        .into_iter()
        .filter(|group| group.to_string_lossy().contains(&ours))
        .collect();
    assert_eq!(groups, Vec::<PathBuf>::new());
}

/// The run resumes and completes. The clock of a checker may differ on a busy machine, which makes
/// the run doubtful; that is not tested here.
fn resume(scratch: &Scratch) -> Run {
    let output = run_in(scratch.path(), &["resume", "out"]);
    let run = Run::load(&scratch.join("out")).unwrap();
    let all = run.trials.iter().flat_map(|trial| &trial.evidence);
    let doubts: Vec<&str> = all
        // Other tests run at the same time.
        .filter(|found| found.holds == Some(false) && found.name != record::QUIET_MACHINE)
        .map(|evidence| evidence.name.as_str())
        .collect();
    assert!(
        doubts.iter().all(|name| *name == "clock_agrees"),
        "{doubts:?}"
    );
    assert_code(&output, if doubts.is_empty() { 0 } else { 7 });
    for trial in &run.trials {
        assert_eq!(trial.status, Status::Finished);
    }
    scratch.assert_nothing_left();
    run
}

#[test]
fn in_mkfs_needs_root() {
    if !is_root() {
        return;
    }
    for (seconds, by_kill) in [("86501.5", false), ("86502.5", true)] {
        let scratch = Scratch::new();
        let study = study(&scratch, FILL);
        let path = fake(&scratch, "mkfs.ext4", &format!("exec sleep {seconds}"));
        let child = spawn(&scratch, &study, Some(&path), &[]);
        wait_until("mkfs", || asleep(seconds) > 0);
        let pid = child.id();
        if by_kill {
            kill(child);
            wait_until("the end of mkfs", || asleep(seconds) == 0);
            clean(&scratch, pid);
        } else {
            interrupt(child);
            assert_eq!(asleep(seconds), 0);
            scratch.assert_nothing_left();
        }
        resume(&scratch);
    }
}

#[test]
fn in_ageing_needs_root() {
    if !is_root() {
        return;
    }
    for by_kill in [false, true] {
        let scratch = Scratch::new();
        let study = study(&scratch, AGE);
        let child = spawn(&scratch, &study, None, &["--set", "memory=160m"]);
        let mount = common::wait_for_mount(&scratch);
        let files = |mount: &Path| fs::read_dir(mount).map_or(0, Iterator::count);
        wait_until("the first directories", || files(&mount.join("aged")) > 20);
        let pid = child.id();
        if by_kill {
            kill(child);
            clean(&scratch, pid);
        } else {
            interrupt(child);
            scratch.assert_nothing_left();
        }
        let run = resume(&scratch);
        let agree = |name: &str| {
            let mut all = run.trials[0].evidence.iter();
            all.find(|evidence| evidence.name == name).unwrap().holds
        };
        assert_eq!(agree("counts_agree"), Some(true));
    }
}

#[test]
fn killed_in_a_check_that_hangs_nothing_runs_on_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = study(&scratch, &format!("[check]\nenabled = true\n{FILL}"));
    // One child in the checker's session, one in its own whose parent has exited.
    let script = "echo 'Pass 1: Checking inodes, blocks, and sizes'; sleep 86503.5 & \
                  setsid sh -c 'setsid sleep 86503.5 & exit'; exec sleep 86503.5";
    let path = fake(&scratch, "e2fsck", script);
    let child = spawn(&scratch, &study, Some(&path), &["--set", "memory=160m"]);
    wait_until("the checker and its children", || asleep("86503.5") == 3);
    let pid = child.id();
    kill(child);
    wait_until("their end", || asleep("86503.5") == 0);
    clean(&scratch, pid);
    let run = resume(&scratch);
    assert!(
        run.trials[0]
            .phases
            .iter()
            .any(|phase| phase.name == "check")
    );
}

#[test]
fn in_the_reading_of_the_raw_device_needs_root() {
    if !can_limit() {
        return;
    }
    for by_kill in [false, true] {
        let scratch = Scratch::new();
        let study = study(&scratch, FILL);
        let seconds = ["--set", "run.reference_seconds=20", "--set", "limit=60m"];
        let child = spawn(&scratch, &study, None, &seconds);
        let images = scratch.join("out/images");
        wait_until("its image", || {
            let names = fs::read_dir(&images).into_iter().flatten().flatten();
            let reference = |name: &str| name.starts_with("reference-");
            names
                .filter(|entry| reference(&entry.file_name().to_string_lossy()))
                .any(|entry| entry.metadata().is_ok_and(|meta| meta.len() > 0))
                && !scratch.leftovers().is_empty()
        });
        let pid = child.id();
        if by_kill {
            kill(child);
            clean(&scratch, pid);
        } else {
            interrupt(child);
            scratch.assert_nothing_left();
        }
        // The image is created again, shorter; the plan in the log is unchanged.
        let log = scratch.join("out/events.jsonl");
        let text = fs::read_to_string(&log).unwrap();
        let shorter = text.replace("\"reference_seconds\":20.0", "\"reference_seconds\":0.02");
        assert_ne!(text, shorter);
        fs::write(&log, shorter).unwrap();
        let run = resume(&scratch);
        let image = run.references.iter().find(|r| r.device == "loop image");
        assert_eq!(image.unwrap().limit.as_deref(), Some("60m"));
    }
}

#[test]
fn a_fill_that_meets_the_end_of_the_disk_keeps_what_it_measured_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    // An fsync for each file: slow enough that another process can fill the disk during the run.
    let more = FILL
        .replace("files = 100", "files = 8000")
        .replace("sync_method = 0", "sync_method = 1");
    let study = study(&scratch, &more);
    let child = spawn(&scratch, &study, None, &[]);
    let mount = common::wait_for_mount(&scratch);
    wait_until("the first files", || {
        fs::read_dir(mount.join("base-0")).map_or(0, Iterator::count) > 50
    });
    common::fill_up(&mount.join("filler"));
    let output = child.wait_with_output().unwrap();
    assert_code(&output, 7);
    let run = Run::load(&scratch.join("out")).unwrap();
    let trial = &run.trials[0];
    let Status::Failed(_, message) = &trial.status else {
        panic!("{:?}", trial.status);
    };
    assert!(
        message.contains("no space left") && message.contains("until_full"),
        "{message}"
    );
    let phase = trial
        .phases
        .iter()
        .find(|phase| phase.name == "fill")
        .unwrap();
    let made = phase.detail["operations"].as_u64().unwrap();
    assert!((20..8000).contains(&made), "{made}");
    assert!(phase.detail["files_per_s"]["original"].as_f64().unwrap() > 0.0);
    assert!(phase.usage.is_some() && phase.end_ns > phase.begin_ns);
    assert!(trial.samples.is_empty(), "no result");
    scratch.assert_nothing_left();
}

#[test]
fn a_stream_that_meets_the_end_of_the_disk_keeps_what_it_measured_needs_root() {
    if !can_limit() {
        return;
    }
    let scratch = Scratch::new();
    let stream = "[[workload]]\nname = \"aiod\"\nkind = \"stream\"\nblock = \"64k\"\ncount = 600\n\
                  direct = true\n";
    let study = study(&scratch, stream);
    let child = spawn(&scratch, &study, None, &["--set", "limit=write=6m"]);
    let mount = common::wait_for_mount(&scratch);
    let begun = |path: &Path| fs::metadata(path).is_ok_and(|meta| meta.len() > 1 << 20);
    wait_until("the file", || begun(&mount.join("bigfile")));
    common::fill_up(&mount.join("filler"));
    let output = child.wait_with_output().unwrap();
    assert_code(&output, 7);
    let run = Run::load(&scratch.join("out")).unwrap();
    let trial = &run.trials[0];
    let Status::Failed(_, message) = &trial.status else {
        panic!("{:?}", trial.status);
    };
    assert!(message.contains("no space left"), "{message}");
    let phase = trial
        .phases
        .iter()
        .find(|phase| phase.name == "write")
        .unwrap();
    let (asked, written) = (&phase.detail["bytes_asked"], &phase.detail["bytes"]);
    assert_eq!(asked.as_u64(), Some(600 << 16));
    let written = written.as_u64().unwrap();
    assert!((1 << 20..600 << 16).contains(&written), "{written}");
    assert!(phase.detail["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(phase.detail["evidence"][0]["name"], "phase_whole");
    scratch.assert_nothing_left();
}
