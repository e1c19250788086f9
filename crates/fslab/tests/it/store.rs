//! `fslab import` and `fslab export`: killed at any moment, many at once, and exact.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{assert_code, error_line, fslab, run_in, stdout};
use fixtures::example;

/// The log of a run of many trials, so that its import takes a while.
fn long_log(dir: &Path) -> Vec<String> {
    fs::create_dir_all(dir).unwrap();
    let mut entries = example::entries();
    // Its trials again and again: the plan has as many slots.
    let mut again = Vec::new();
    let copies = 40;
    if let record::Event::RunStarted { plan, .. } = &mut entries[0].event {
        let slots = plan.slots.clone();
        plan.blocks *= copies;
        for copy in 1..copies {
            for slot in &slots {
                let mut slot = *slot;
                slot.trial += copy * slots.len() as u32;
                slot.block += copy * plan.blocks / copies;
                plan.slots.push(slot);
            }
        }
        let of_trials: Vec<_> = entries[3..entries.len() - 2].to_vec();
        for copy in 0..copies {
            let shift = copy * slots.len() as u32;
            again.extend(of_trials.iter().map(|entry| shifted(entry, shift)));
        }
    }
    let mut all = entries[..3].to_vec();
    all.extend(again);
    all.extend_from_slice(&entries[entries.len() - 2..]);
    let lines = all.iter().zip(0..).map(|(entry, seq)| {
        let entry = record::Entry {
            seq,
            ..entry.clone()
        };
        serde_json::to_string(&entry).unwrap() + "\n"
    });
    lines.collect()
}

/// An event of another trial.
fn shifted(entry: &record::Entry, shift: u32) -> record::Entry {
    let mut entry = entry.clone();
    match &mut entry.event {
        record::Event::TrialStarted { slot, .. } => {
            slot.block += shift / 4;
            slot.trial += shift;
        }
        record::Event::FilesystemReady { trial, .. }
        | record::Event::PhaseFinished { trial, .. }
        | record::Event::TrialFinished { trial, .. }
        | record::Event::TrialFailed { trial, .. } => *trial += shift,
        _ => {}
    }
    entry
}

fn put(dir: &Path, lines: &[String]) {
    fs::write(dir.join("events.jsonl"), lines.concat()).unwrap();
}

fn import(dir: &Path, store: &Path) -> Child {
    fslab()
        .arg("import")
        .arg(dir)
        .arg("--store")
        .arg(store)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn export(store: &Path) -> String {
    let output = fslab()
        .args(["export", "--format", "jsonl", "--store"])
        .arg(store)
        .output()
        .unwrap();
    assert_code(&output, 0);
    stdout(&output)
}

/// A store, with the journal that a killed import left.
fn fresh(dir: &Path, run: &Path) -> PathBuf {
    let store = dir.join("fresh.sqlite");
    assert!(import(run, &store).wait().unwrap().success());
    store
}

/// Kills an import after a part of the time that one takes, which is renewed by each that ends before. Whether it was killed.
fn killed(mut child: Child, takes: &mut Duration, part: f64) -> bool {
    let begin = Instant::now();
    loop {
        if child.try_wait().unwrap().is_some() {
            *takes = begin.elapsed();
            return false;
        }
        if begin.elapsed() >= takes.mul_f64(part) {
            child.kill().unwrap();
            return !child.wait().unwrap().success();
        }
        sleep(Duration::from_micros(300));
    }
}

#[test]
fn an_import_that_is_killed_50_times_leaves_what_one_import_leaves() {
    let temp = tempfile::tempdir().unwrap();
    let (run, store) = (temp.path().join("run"), temp.path().join("store.sqlite"));
    let lines = long_log(&run);
    put(&run, &lines);
    let begin = Instant::now();
    let whole = fresh(temp.path(), &run);
    let mut takes = begin.elapsed();
    let mut count = 0;
    for n in 0..50_usize {
        // The log grows meanwhile, and the moments are from the first to past the last of an import.
        put(&run, &lines[..3 + (lines.len() - 3) * (n + 1) / 50]);
        let part = (n * 37 % 50) as f64 / 40.0;
        count += u32::from(killed(import(&run, &store), &mut takes, part));
    }
    assert!(
        count >= 20,
        "only {count} of 50 imports were killed before their end"
    );
    assert!(import(&run, &store).wait().unwrap().success());
    assert_eq!(export(&store), export(&whole));
    let again = run_in(temp.path(), &["import", "run", "--store", "store.sqlite"]);
    assert_code(&again, 0);
    assert_eq!(stdout(&again), "run: nothing new\n");
}

#[test]
fn four_imports_at_once_leave_one_copy() {
    let temp = tempfile::tempdir().unwrap();
    let (run, store) = (temp.path().join("run"), temp.path().join("store.sqlite"));
    let lines = long_log(&run);
    put(&run, &lines);
    let children: Vec<Child> = (0..4).map(|_| import(&run, &store)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let samples = record::Run::load(&run).unwrap();
    let samples: usize = samples.trials.iter().map(|trial| trial.samples.len()).sum();
    assert_eq!(export(&store).lines().count(), samples);
}

#[test]
fn a_store_is_found_where_the_documents_say() {
    let temp = tempfile::tempdir().unwrap();
    let run = temp.path().join("fslab-runs/journal-1");
    let lines = long_log(&run);
    put(&run, &lines[..30]);
    // By its name, into the default store.
    let output = run_in(temp.path(), &["import", "journal-1"]);
    assert_code(&output, 0);
    assert!(temp.path().join("fslab-runs/store.sqlite").is_file());
    let output = run_in(temp.path(), &["export", "study=journal", "-o", "all.csv"]);
    assert_code(&output, 0);
    let csv = fs::read_to_string(temp.path().join("all.csv")).unwrap();
    assert!(csv.starts_with("run_id,run,"), "{csv}");
    assert!(csv.lines().count() > 1);
    let named = fslab()
        .current_dir(temp.path())
        .env("FSLAB_STORE", "other.sqlite")
        .args(["import", "journal-1"])
        .output()
        .unwrap();
    assert_code(&named, 0);
    assert!(temp.path().join("other.sqlite").is_file());
    // Runs in the folder are still listed.
    let output = run_in(temp.path(), &["list"]);
    assert!(stdout(&output).contains("journal-1"));
}

#[test]
fn what_cannot_be_done_is_one_line() {
    let temp = tempfile::tempdir().unwrap();
    let run = temp.path().join("run");
    let lines = long_log(&run);
    put(&run, &lines[..30]);
    fs::write(
        temp.path().join("notes"),
        "not a database, but a text that is long enough for one\n".repeat(50),
    )
    .unwrap();
    for (args, code, part) in [
        (
            &["import", "none", "--store", "s"][..],
            2,
            "not a run folder",
        ),
        (
            &["import", "run", "--store", "mysql://x/y"],
            2,
            "mysql is no store",
        ),
        (&["import", "run", "--store", "notes"], 2, "is not a store"),
        (
            &["export", "--store", "missing.sqlite"],
            2,
            "missing.sqlite does not exist",
        ),
        (&["export", "colour=red"], 2, "selects nothing"),
    ] {
        let output = run_in(temp.path(), args);
        let line = error_line(&output);
        assert_eq!(output.status.code(), Some(code), "{line}");
        assert!(line.contains(part), "{line}");
    }
    assert!(
        !temp.path().join("s").exists(),
        "a wrong name makes no store"
    );
    // One run that cannot be imported does not keep the others out.
    let output = run_in(
        temp.path(),
        &["import", "none", "run", "--store", "s.sqlite"],
    );
    assert_code(&output, 2);
    assert!(stdout(&output).starts_with("run: imported, "));
    if !cfg!(feature = "parquet") {
        let output = run_in(
            temp.path(),
            &["export", "--format", "parquet", "--store", "s.sqlite"],
        );
        assert_code(&output, 2);
        assert!(error_line(&output).contains("--features parquet"));
    }
    if !cfg!(feature = "postgres") {
        let output = run_in(
            temp.path(),
            &["import", "run", "--store", "postgresql:///x"],
        );
        assert_code(&output, 2);
        assert!(error_line(&output).contains("--features postgres"));
    }
}

#[test]
fn results_of_fio_are_a_run_that_is_reported_and_stored() {
    let temp = tempfile::tempdir().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/src/tests/data");
    let files: Vec<String> = (1..=3)
        .map(|n| {
            data.join(format!("fio-3.33-{n}.json"))
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let rest = [
        "--from",
        "fio",
        "--out",
        "disk",
        "--store",
        "s.sqlite",
        "--tag",
        "branch=main",
    ];
    let output = run_in(temp.path(), &[&["import"], &files[..], &rest[..]].concat());
    assert_code(&output, 0);
    assert!(
        stdout(&output).starts_with("disk: 6 trials of fio"),
        "{}",
        stdout(&output)
    );
    let report = run_in(temp.path(), &["report", "disk", "--full"]);
    assert_code(&report, 0);
    let text = stdout(&report);
    for part in ["fio, by job", "mixed", "stream", "write rate"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let csv = run_in(
        temp.path(),
        &["export", "tag.branch=main", "--store", "s.sqlite"],
    );
    assert_code(&csv, 0);
    let csv = stdout(&csv);
    assert_eq!(csv.matches(",write_p99,").count(), 6, "{csv}");
    for (args, part) in [
        (
            &["import", files[0], "--from", "ior", "--out", "x"][..],
            "no line begins with IOR-",
        ),
        (
            &["import", "no-such-file", "--from", "fio", "--out", "x"],
            "no-such-file",
        ),
        (
            &["import", files[0], "--from", "fio", "--out", "disk"],
            "already holds a run",
        ),
        (&["import", files[0], "--from", "fio"], "--out"),
        (&["import", files[0], "--from", "dd", "--out", "x"], "dd"),
    ] {
        let output = run_in(temp.path(), args);
        let line = error_line(&output);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{line}");
        assert!(line.contains(part), "{line}");
        assert!(!temp.path().join("x").exists());
    }
}
