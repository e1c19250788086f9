//! Trials in guest kernels, end to end by the binary: User-mode Linux where it is installed, QEMU where
//! it and a kernel in the cache are.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{assert_code, error_line, fslab, run_in, stderr, stdout};
use record::{Event, Run, Status};

/// A trial of ext4 that takes a second or two in a guest.
const SMALL: [&str; 12] = [
    "run",
    "journal",
    "--profile",
    "quick",
    "--blocks",
    "1",
    "--filter",
    "filesystem=ext4",
    "--filter",
    "workload=compilebench",
    "--set",
    "device.size=256m",
];

/// Whether guests of this kind can run here; else the line that says what to install.
fn can(executor: &str) -> bool {
    let target = lab::GuestTarget {
        machine: match executor {
            "uml" => lab::GuestMachine::Uml,
            _ => lab::GuestMachine::Qemu,
        },
        kernel: None,
    };
    let study = study::Study::load("journal").unwrap();
    let overrides = study::Overrides {
        filter: vec!["filesystem=ext4".into()],
        ..study::Overrides::default()
    };
    let plan = lab::plan(&study, &overrides, &lab::Target::Guest(target.clone())).unwrap();
    match lab::guest::preflight(&target, &plan) {
        Ok(()) => true,
        Err(missing) => {
            println!("skipped: {missing}");
            false
        }
    }
}

/// The run is whole. On a busy machine a phase of milliseconds may have evidence in doubt (code 7),
/// which says nothing of the guest.
fn assert_ran(output: &std::process::Output) {
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 7)), "{code:?}: {}", stderr(output));
}

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SMALL.iter().chain(more).copied().collect()
}

/// Processes that hold a file below `folder` open.
fn holders(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let pid = process.file_name().to_string_lossy().into_owned();
        let Ok(files) = fs::read_dir(process.path().join("fd")) else {
            continue;
        };
        let mut held = files
            .flatten()
            .filter_map(|file| fs::read_link(file.path()).ok());
        if held.any(|target| target.starts_with(folder)) {
            found.push(pid);
        }
    }
    found
}

/// One whole trial, and what its record must say.
fn a_whole_trial(executor: &str, timing: &str) {
    let temp = tempfile::tempdir().unwrap();
    let output = run_in(
        temp.path(),
        &with(&["--executor", executor, "--out", "run"]),
    );
    assert_ran(&output);
    let dir = temp.path().join("run");
    let run = Run::load(&dir).unwrap();
    assert_eq!(run.target, format!("guest {executor}"));
    let trial = &run.trials[0];
    assert_eq!(trial.status, Status::Finished);
    assert!(!trial.samples.is_empty() && !trial.phases.is_empty());
    let mounted = trial.mounted.as_ref().unwrap();
    assert_eq!(mounted.mounted_type, "ext4");
    assert_eq!(mounted.device_facts["serial"], "disk0");

    let items = &run.contexts["start"]["items"];
    assert_eq!(items["run.executor"]["value"], executor);
    assert_eq!(items["run.timing"]["value"], "emulated");
    let guest = items["system.kernel.release"]["value"].as_str().unwrap();
    let host = items["run.host_kernel"]["value"].as_str().unwrap();
    assert_ne!(guest, host);

    let order: Vec<String> = events(&dir);
    assert_eq!(
        order,
        [
            "run_started",
            "note",
            "context start",
            "trial_started",
            "filesystem_ready",
            "context trial 1",
            "phase_finished",
            "trial_finished",
            "run_finished"
        ]
    );

    // Files of the guest's folder came over, and none of the machine's is left.
    assert!(
        dir.join("telemetry/trial-0001.tele")
            .metadata()
            .unwrap()
            .len()
            > 0
    );
    assert!(dir.join("guests/trial-0001.console").is_file());
    assert_eq!(fs::read_dir(dir.join("images")).unwrap().count(), 0);
    assert_eq!(holders(temp.path()), Vec::<String>::new());
    let text = stdout(&output);
    assert!(
        text.contains(&format!("EMULATED ({timing}")) && text.contains("times emulated ("),
        "{text}"
    );
}

/// The names of a log's events, each row of equal ones once.
fn events(dir: &Path) -> Vec<String> {
    let log = fs::read_to_string(dir.join("events.jsonl")).unwrap();
    let mut names: Vec<String> = log
        .lines()
        .map(|line| {
            let entry: record::Entry = serde_json::from_str(line).unwrap();
            let event = serde_json::to_value(&entry.event).unwrap();
            let name = event["event"].as_str().unwrap();
            match &entry.event {
                Event::Context { when, .. } => format!("{name} {when}"),
                _ => name.to_owned(),
            }
        })
        .collect();
    names.dedup();
    names
}

#[test]
fn user_mode_linux_runs_a_trial_end_to_end() {
    if can("uml") {
        a_whole_trial("uml", "User-mode Linux");
    }
}

#[test]
fn qemu_runs_a_trial_end_to_end() {
    if can("qemu") {
        a_whole_trial("qemu", "qemu, ");
    }
}

/// Starts a run and waits until its guest is up.
fn begun(dir: &Path) -> Child {
    let mut child = fslab()
        .current_dir(dir)
        .args(with(&["--executor", "uml", "--out", "run"]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let console = dir.join("run/guests/trial-0001.console");
    let begun = Instant::now();
    while !console.is_file() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        assert!(begun.elapsed() < Duration::from_secs(60), "no guest");
        sleep(Duration::from_millis(20));
    }
    // UML has made its processes.
    sleep(Duration::from_millis(700));
    child
}

#[test]
fn guests_die_with_a_killed_lab_and_the_run_goes_on_later() {
    if !can("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let mut child = begun(temp.path());
    assert!(holders(temp.path()).len() > 1, "the lab alone");
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = Instant::now();
    while !holders(temp.path()).is_empty() {
        let alive = holders(temp.path());
        assert!(killed.elapsed() < Duration::from_secs(10), "{alive:?} live");
        sleep(Duration::from_millis(20));
    }
    let dir = temp.path().join("run");
    assert_eq!(fs::read_dir(dir.join("images")).unwrap().count(), 0);
    let run = Run::load(&dir).unwrap();
    assert_eq!(run.remaining().len(), 1);
    let output = run_in(temp.path(), &["resume", "run"]);
    assert_ran(&output);
    assert_eq!(Run::load(&dir).unwrap().trials[0].status, Status::Finished);
}

#[test]
fn two_runs_at_once_do_not_meet() {
    if !can("uml") {
        return;
    }
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut children = [begun(one.path()), begun(two.path())];
    for child in &mut children {
        let code = child.wait().unwrap().code();
        assert!(matches!(code, Some(0 | 7)), "{code:?}");
    }
    for temp in [&one, &two] {
        let run = Run::load(&temp.path().join("run")).unwrap();
        assert_eq!(run.trials[0].status, Status::Finished);
    }
}

#[test]
fn what_a_guest_cannot_do_is_said_before_anything_is_made() {
    let temp = tempfile::tempdir().unwrap();
    let empty = temp.path().join("cache");
    let refused = |args: &[&str]| {
        let output = fslab()
            .current_dir(temp.path())
            .env("XDG_CACHE_HOME", &empty)
            .args(args)
            .output()
            .unwrap();
        assert_code(&output, 2);
        assert!(!temp.path().join("run").exists());
        error_line(&output)
    };
    let args = with(&["--executor", "uml", "--kernel", "6.99", "--out", "run"]);
    let said = refused(&args);
    assert!(
        said.contains("6.99") && said.contains("fslab kernel fetch 6.99"),
        "{said}"
    );
    let said = refused(&with(&["--executor", "qemu", "--dir", "/tmp"]));
    assert!(said.contains("cannot be used with"), "{said}");
    let said = refused(&with(&["--kernel", "6.1"]));
    assert!(said.contains("--executor"), "{said}");
    let said = refused(&with(&["--executor", "qemu", "--out", "run"]));
    assert!(
        said.contains("fslab kernel fetch") || said.contains("apt-get install qemu"),
        "{said}"
    );
}
