//! Checkers that fail in every way, and one that is interrupted.

use crate::common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use common::checked::{FILL, load, sound, study};
use common::{Scratch, assert_code, error_line, fslab, is_root, run_in, stderr, stdout};
use record::Status;

/// Puts a fake program of this name first in PATH; it prints its version and runs `script`.
fn fake(scratch: &Scratch, name: &str, script: &str) -> String {
    let folder = scratch.join("bin");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = -V ] && {{ echo {name} 0.0; exit 0; }}\n\
         echo 'Pass 1: Checking inodes, blocks, and sizes'\n{script}\n"
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let rest = std::env::var("PATH").unwrap_or_default();
    format!("{}:{rest}", folder.display())
}

/// Runs the study with a fake e2fsck; asserts that every trial failed and returns the first message.
fn failing(scratch: &Scratch, script: &str, more: &[&str]) -> String {
    let study = study(scratch, "\"ext4\"", "", &[FILL]);
    let path = fake(scratch, "e2fsck", script);
    let output = fslab()
        .current_dir(scratch.path())
        .env("PATH", path)
        .arg("run")
        .arg(&study)
        .args(["--out", "out", "--blocks", "2"])
        .args(more)
        .output()
        .unwrap();
    assert_code(&output, 7);
    let run = load(scratch);
    assert_eq!(run.trials.len(), 2);
    let messages: Vec<String> = run
        .trials
        .iter()
        .map(|trial| match &trial.status {
            Status::Failed(record::FailureKind::Trial, message) => message.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(messages.iter().all(|m| !m.contains('\n')), "{messages:?}");
    let report = stdout(&output);
    assert!(report.contains("e2fsck"), "the report says why:\n{report}");
    let phases: Vec<&str> = run.trials[0]
        .phases
        .iter()
        .map(|phase| phase.name.as_str())
        .collect();
    assert!(
        phases.contains(&"fill") && phases.contains(&"check"),
        "{phases:?}"
    );
    scratch.assert_nothing_left();
    messages[0].clone()
}

#[test]
fn a_checker_that_finds_errors_fails_the_trial_and_its_output_is_kept_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let script = "echo 'Inode 12, i_blocks is 8, should be 16.  Fix? no'; exit 4";
    let message = failing(&scratch, script, &[]);
    assert!(message.contains("exit code 4"), "{message}");
    let kept = scratch.join("out/checks/trial-0001.txt");
    assert!(message.contains("checks/trial-0001.txt"), "{message}");
    let kept = fs::read_to_string(kept).unwrap();
    assert!(kept.contains("i_blocks is 8, should be 16"), "{kept}");
}

#[test]
fn a_checker_that_crashes_fails_the_trial_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let message = failing(&scratch, "kill -SEGV $$", &[]);
    assert!(message.contains("signal 11"), "{message}");
}

#[test]
fn a_checker_that_hangs_is_ended_with_all_that_it_started_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let script = "trap '' TERM; sleep 86412.5 & sleep 86412.5";
    let message = failing(&scratch, script, &["--set", "check.timeout_seconds=0.3"]);
    assert!(message.contains("0.3 s"), "{message}");
    let left = fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.starts_with(b"sleep\x0086412.5")
    });
    assert_eq!(left.count(), 0, "its children are gone");
}

#[test]
fn a_missing_checker_is_found_before_anything_is_made_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = study(&scratch, "\"ext4\", \"xfs\"", "", &[FILL]);
    let script =
        "for p in /usr/sbin/e2fsck /sbin/e2fsck; do mount --bind /dev/null $p; done; exec \"$@\"";
    let output = std::process::Command::new("unshare")
        .args(["-m", "sh", "-c", script, "sh"])
        .args([env!("CARGO_BIN_EXE_fslab"), "run"])
        .arg(&study)
        .args(["--out", "out"])
        .current_dir(scratch.path())
        .output()
        .unwrap();
    assert_code(&output, 2);
    let line = error_line(&output);
    assert!(
        line.contains("e2fsck") && line.contains("e2fsprogs"),
        "{line}"
    );
    assert!(line.contains("--filter filesystem=xfs"), "{line}");
    assert!(!scratch.join("out").exists());
}

#[test]
fn interrupted_in_a_check_it_ends_the_checker_and_resumes_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = study(&scratch, "\"ext4\"", "", &[FILL]);
    let path = fake(&scratch, "e2fsck", "exec sleep 86413.5");
    let child = fslab()
        .current_dir(scratch.path())
        .env("PATH", path)
        .arg("run")
        .arg(&study)
        .args(["--out", "out"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let asleep = || {
        fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            line.starts_with(b"sleep\x0086413.5")
        })
    };
    common::wait_until("the checker", asleep);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_code(&output, 130);
    assert!(!asleep(), "the checker is gone");
    scratch.assert_nothing_left();

    let output = run_in(scratch.path(), &["resume", "out"]);
    let run = sound(&scratch, &output);
    assert_eq!(run.trials[0].status, Status::Finished);
    assert!(!stderr(&output).contains("panicked"));
    scratch.assert_nothing_left();
}
