//! Hostile run folders from the command line: what is refused, with which exit code; and folders that disappear during a run.

use crate::common;

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use common::{
    Scratch, assert_code, error_line, fslab, is_root, run_in, stderr, stdout, wait_until,
};
use fixtures::example;
use record::{FailureKind, Run, Status};

fn stopped(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    let mut text = String::new();
    for entry in &example::entries()[..20] {
        text.push_str(&(serde_json::to_string(entry).unwrap() + "\n"));
    }
    fs::write(dir.join("events.jsonl"), text).unwrap();
}

/// An undo journal of an exited process, with an image to remove.
fn journal(run: &Path) {
    let image = run.join("image");
    fs::write(&image, "").unwrap();
    let image = serde_json::to_string(&image).unwrap();
    let lines = format!(
        "{{\"number\":0,\"made\":\"opened\",\"pid\":4194304}}\n{{\"number\":1,\"made\":\"image\",\"path\":{image}}}\n"
    );
    fs::write(run.join("undo.jsonl"), lines).unwrap();
}

#[test]
fn clean_of_a_folder_of_runs_goes_on_past_a_foreign_one_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    for run in ["a-foreign", "b-own", "c-fifo", "d-own"] {
        stopped(&scratch.join(run));
        journal(&scratch.join(run));
    }
    chown(scratch.join("a-foreign"), Some(12345), None).unwrap();
    fs::remove_file(scratch.join("c-fifo/undo.jsonl")).unwrap();
    let fifo = Command::new("mkfifo")
        .arg(scratch.join("c-fifo/undo.jsonl"))
        .status();
    assert!(fifo.unwrap().success());
    // A symbolic link is not followed.
    symlink(scratch.join("a-foreign"), scratch.join("e-link")).unwrap();
    let begun = Instant::now();
    let output = run_in(scratch.path(), &["clean", "."]);
    assert!(begun.elapsed() < testkit::HANGS);
    assert_code(&output, 5);
    let refused = stderr(&output);
    assert_eq!(refused.lines().count(), 2, "{refused}");
    assert!(
        refused.contains("a-foreign: refused: it belongs to user 12345"),
        "{refused}"
    );
    assert!(
        refused.contains("undo.jsonl: refused: it is a FIFO"),
        "{refused}"
    );
    assert_eq!(stdout(&output).lines().count(), 2, "{}", stdout(&output));
    assert!(scratch.join("a-foreign/image").exists());
    assert!(!scratch.join("b-own/image").exists() && !scratch.join("d-own/image").exists());
    // The folder itself.
    let output = run_in(scratch.path(), &["clean", "a-foreign"]);
    assert_code(&output, 5);
    assert!(error_line(&output).contains("belongs to user 12345"));
}

#[test]
fn resume_of_a_foreign_or_linked_folder_is_refused_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    stopped(&scratch.join("foreign"));
    chown(scratch.join("foreign"), Some(12345), None).unwrap();
    stopped(&scratch.join("linked"));
    fs::write(scratch.join("victim"), "data").unwrap();
    symlink(scratch.join("victim"), scratch.join("linked/lock")).unwrap();
    stopped(&scratch.join("mounted"));
    symlink("/mnt", scratch.join("mounted/mnt")).unwrap();
    for (run, why) in [
        ("foreign", "belongs to user 12345"),
        ("linked", "lock: refused: it is a symbolic link"),
        ("mounted", "mnt: refused: it is a symbolic link"),
    ] {
        let output = run_in(scratch.path(), &["resume", run]);
        assert_code(&output, 5);
        let line = error_line(&output);
        assert!(line.contains(why), "{line}");
    }
    assert_eq!(fs::read_to_string(scratch.join("victim")).unwrap(), "data");
}

#[test]
fn what_is_no_file_ends_soon_and_in_bounded_memory_needs_root() {
    if !is_root() {
        return;
    }
    for node in [&["p"][..], &["c", "1", "5"], &["c", "1", "9"]] {
        let scratch = Scratch::new();
        stopped(&scratch.join("good"));
        for name in ["events.jsonl", "lock", "undo.jsonl"] {
            let run = scratch.join(&name.replace('.', "-"));
            stopped(&run);
            let _ = fs::remove_file(run.join(name));
            let made = Command::new("mknod")
                .arg(run.join(name))
                .args(node)
                .status();
            assert!(made.unwrap().success());
        }
        for (command, code) in [
            ("list .", 0),
            ("show events-jsonl", 5),
            ("report events-jsonl", 5),
            ("explain events-jsonl", 5),
            ("resume lock", 5),
            ("clean undo-jsonl", 5),
            ("clean .", 5),
        ] {
            let begun = Instant::now();
            let script = format!(
                "ulimit -v 2000000; exec {} {command}",
                env!("CARGO_BIN_EXE_fslab")
            );
            let output = Command::new("bash")
                .args(["-c", &script])
                .current_dir(scratch.path())
                .output()
                .unwrap();
            assert_eq!(
                output.status.code(),
                Some(code),
                "{command}: {}",
                stderr(&output)
            );
            assert!(begun.elapsed() < testkit::HANGS, "{command}");
        }
    }
}

const STUDY: &str = r#"
name = "away"
title = "A study for tests"
question = "What becomes of a run whose folder goes away?"
include = ["defaults.toml"]

[run]
blocks = 1
seed = 7
reference_seconds = 0

[device]
size = "8g"

[filesystem.ext4]
mkfs = ["-E", "lazy_itable_init=0,lazy_journal_init=0"]

[factors]
filesystem = ["ext4"]

[[workload]]
name = "aged"
kind = "age"
rounds = 100
files = 1000
processes = 2
directories = 200
per_directory = 5
step = 1
size = 1000
"#;

/// Starts a run of a long trial and waits until its workload is under way.
fn started(scratch: &Scratch) -> std::process::Child {
    fs::write(scratch.join("study.toml"), STUDY).unwrap();
    let child = fslab()
        .current_dir(scratch.path())
        .args(["run", "study.toml", "--executor", "host", "--out", "run"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mounts = scratch.join("run/mnt");
    wait_until("the workload", || {
        // Before the first trial each variant is mounted once.
        let log = fs::read_to_string(scratch.join("run/events.jsonl")).unwrap_or_default();
        let in_use = |mount: fs::DirEntry| {
            fs::read_dir(mount.path()).is_ok_and(|entries| entries.count() > 1)
        };
        log.contains("\"trial_started\"")
            && fs::read_dir(&mounts).is_ok_and(|all| all.flatten().any(in_use))
    });
    child
}

#[test]
fn a_run_whose_folder_is_moved_ends_at_once_and_can_be_resumed_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let child = started(&scratch);
    fs::rename(scratch.join("run"), scratch.join("moved")).unwrap();
    let begun = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(begun.elapsed() < testkit::HANGS, "{:?}", begun.elapsed());
    assert_code(&output, 6);
    let line = error_line(&output);
    assert!(
        line.contains("was moved to") && line.contains("fslab resume"),
        "{line}"
    );
    assert!(line.contains("all it had mounted is undone"), "{line}");
    assert_eq!(scratch.leftovers(), Vec::<String>::new());
    let run = Run::load(&scratch.join("moved")).unwrap();
    assert!(
        matches!(
            &run.trials[0].status,
            Status::Failed(FailureKind::Interrupted, _)
        ),
        "{:?}",
        run.trials[0].status
    );
    assert_eq!(run.remaining().len(), 1, "resume repeats it");
}

#[test]
fn a_run_whose_folder_is_deleted_ends_at_once_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let child = started(&scratch);
    // What `rm -rf` can remove; the mount stays.
    for name in ["events.jsonl", "undo.jsonl", "lock"] {
        fs::remove_file(scratch.join("run").join(name)).unwrap();
    }
    let begun = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(begun.elapsed() < testkit::HANGS, "{:?}", begun.elapsed());
    assert_code(&output, 1);
    let line = error_line(&output);
    assert!(line.contains("events.jsonl was deleted"), "{line}");
    assert_eq!(scratch.leftovers(), Vec::<String>::new());
}

#[test]
fn a_log_at_the_limit_of_file_sizes_is_like_a_full_disk_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let target = scratch.join("target");
    fs::create_dir(&target).unwrap();
    fs::write(
        scratch.join("study.toml"),
        STUDY.replace("rounds = 100", "rounds = 2"),
    )
    .unwrap();
    // The plan fits 16 KiB, the context does not.
    let script = format!(
        "ulimit -f 16; exec {} run study.toml --dir target --out run",
        env!("CARGO_BIN_EXE_fslab")
    );
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(scratch.path())
        .output()
        .unwrap();
    assert_code(&output, 6);
    assert!(
        error_line(&output).contains("File too large"),
        "{}",
        stderr(&output)
    );
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
}
