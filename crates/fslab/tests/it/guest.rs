//! Trials in guest kernels, end to end by the binary: User-mode Linux where it is installed, QEMU where
//! it and a kernel in the cache are.

use crate::common;

use std::fs;
use std::path::Path;

use common::guests::{begun, can, holders, nothing_is_held, nothing_is_left, with};
use common::{assert_code, assert_ran, error_line, fslab, run_in, stdout};
use record::{Event, Run, Status};

/// One finished trial, and what its record must contain.
fn a_whole_trial(executor: &str, timing: &str) {
    let temp = tempfile::tempdir().unwrap();
    let output = run_in(
        temp.path(),
        &with(&["--executor", executor, "--out", "run"]),
    );
    assert_ran(&output);
    let dir = temp.path().join("run");
    let run = Run::load(&dir).unwrap();
    let target = format!("guest {executor} kernel=");
    assert!(run.target.starts_with(&target), "{}", run.target);
    let trial = &run.trials[0];
    assert_eq!(trial.status, Status::Finished);
    assert!(!trial.samples.is_empty() && !trial.phases.is_empty());
    let mounted = trial.mounted.as_ref().unwrap();
    assert_eq!(mounted.mounted_type, "ext4");
    assert_eq!(mounted.device_facts["serial"], "disk0");

    let items = &run.contexts["start"]["items"];
    assert_eq!(items["run.executor"]["value"], executor);
    assert_eq!(items["run.timing"]["value"], "emulated");
    let kernel = items["run.kernel"]["value"].as_str().unwrap();
    assert!(items["run.accelerator"]["value"].is_string());
    assert!(items["run.choice"]["value"].is_string());
    let guest = items["system.kernel.release"]["value"].as_str().unwrap();
    assert!(kernel.starts_with(guest), "{kernel} is not {guest}");
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
            "noise",
            "trial_finished",
            "run_finished"
        ]
    );

    // The files of the guest's folder were copied, and none of the machine's is left.
    assert!(
        dir.join("telemetry/trial-0001.tele")
            .metadata()
            .unwrap()
            .len()
            > 0
    );
    assert!(dir.join("guests/trial-0001.console").is_file());
    nothing_is_left(temp.path());
    let text = stdout(&output);
    assert!(
        text.contains(&format!("EMULATED ({timing}")) && text.contains("times emulated ("),
        "{text}"
    );
}

/// The names of a log's events, repeated ones once.
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
fn a_trial_runs_end_to_end_needs_uml() {
    if can("uml") {
        a_whole_trial("uml", "User-mode Linux");
    }
}

#[test]
fn a_trial_runs_end_to_end_needs_qemu() {
    if can("qemu") {
        a_whole_trial("qemu", "qemu, ");
    }
}

/// In a guest there is no systemd to delegate controllers; its init does that.
#[test]
fn a_guest_holds_its_trial_to_a_rate_and_to_memory_needs_uml() {
    if !can("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let limits = ["--set", "memory=256m", "--set", "limit=800m"];
    let place = ["--executor", "uml", "--out", "run"];
    let output = run_in(temp.path(), &with(&[limits, place].concat()));
    assert_ran(&output);
    let run = Run::load(&temp.path().join("run")).unwrap();
    let trial = &run.trials[0];
    assert_eq!(trial.status, Status::Finished);
    let memory = trial.phases[0].memory.as_ref().unwrap();
    assert_eq!(memory.limit, Some(256 << 20));
    let peak = memory.peak.unwrap();
    assert!(peak > 0 && peak <= 256 << 20, "{peak}");
    nothing_is_left(temp.path());
}

#[test]
fn guests_die_with_a_killed_lab_and_the_run_goes_on_later_needs_uml() {
    if !can("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let mut child = begun(temp.path());
    assert!(holders(temp.path()).len() > 1, "the lab alone");
    child.kill().unwrap();
    child.wait().unwrap();
    // What had arrived goes when its trial is run again.
    nothing_is_held(temp.path());
    let dir = temp.path().join("run");
    let run = Run::load(&dir).unwrap();
    assert_eq!(run.remaining().len(), 1);
    let output = run_in(temp.path(), &["resume", "run"]);
    assert_ran(&output);
    assert_eq!(Run::load(&dir).unwrap().trials[0].status, Status::Finished);
    nothing_is_left(temp.path());
}

#[test]
fn two_runs_at_once_do_not_meet_needs_uml() {
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
        nothing_is_left(temp.path());
    }
}

#[test]
fn what_a_guest_cannot_do_is_refused_before_anything_is_made() {
    let temp = tempfile::tempdir().unwrap();
    let empty = temp.path().join("cache");
    let refused = |args: &[&str]| {
        let output = fslab()
            .current_dir(temp.path())
            .env("FSLAB_CACHE", &empty)
            .args(args)
            .output()
            .unwrap();
        assert_code(&output, 2);
        assert!(!temp.path().join("run").exists());
        error_line(&output)
    };
    let args = with(&["--executor", "uml", "--kernel", "6.99", "--out", "run"]);
    let message = refused(&args);
    assert!(
        message.contains("6.99") && message.contains("fslab kernel fetch 6.99"),
        "{message}"
    );
    let message = refused(&with(&["--executor", "qemu", "--dir", "/tmp"]));
    assert!(message.contains("leave out --executor"), "{message}");
    let message = refused(&with(&["--kernel", "6.1", "--out", "run"]));
    assert!(message.contains("fslab kernel fetch 6.1"), "{message}");
    let message = refused(&with(&["--executor", "qemu", "--out", "run"]));
    assert!(
        message.contains("fslab kernel fetch") || message.contains("apt-get install qemu"),
        "{message}"
    );
}
