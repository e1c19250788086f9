use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::fill::count::count;
use crate::fill::tests::scratch;
use crate::mounted::Mounted;
use crate::{Error, Observer, Outcome, PhaseReport, Progress, Silent};
use params::Bytes;
use progress::{Event, Recorder};

fn options(dir: &Path) -> AgeSpec {
    AgeSpec {
        rounds: 3,
        files: 40,
        processes: 2,
        directories: 10,
        per_directory: 4,
        step: 1,
        size: Bytes(10),
        ..AgeSpec::reduced(dir.join("aged"))
    }
}

fn phase<'a>(outcome: &'a Outcome, name: &str) -> &'a PhaseReport {
    outcome.phases.iter().find(|p| p.name == name).unwrap()
}

fn agreed(outcome: &Outcome) -> bool {
    let add = phase(outcome, "age_add");
    let proof = add.evidence.iter().find(|e| e.name == "counts_agree");
    proof.unwrap().holds == Some(true)
}

/// All directories beneath, with the number of files right in each.
fn tree(dir: &Path) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(at) = open.pop() {
        let mut files = 0;
        for entry in std::fs::read_dir(&at).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                assert_eq!(entry.metadata().unwrap().len(), 10);
                files += 1;
            }
        }
        let path = at.strip_prefix(dir).unwrap().display().to_string();
        found.push((path, files));
    }
    found.sort();
    found
}

#[test]
fn the_accounting_is_exact_in_both_readings_and_repeats_with_the_seed() {
    for shared in [true, false] {
        let mut trees = Vec::new();
        let mut notes = Vec::new();
        for _ in 0..2 {
            let dir = scratch();
            let options = AgeSpec {
                shared,
                keep: true,
                seed: 9,
                ..options(dir.path())
            };
            let outcome = run(&options, &Silent).unwrap();
            assert!(
                agreed(&outcome),
                "{:?}",
                phase(&outcome, "age_add").evidence
            );
            let (fill, removed, added) = (
                phase(&outcome, "age_fill"),
                phase(&outcome, "age_remove"),
                phase(&outcome, "age_add"),
            );
            assert_eq!((fill.operations, added.operations), (240, 4 * 6));
            let there = fill.operations + added.operations - removed.operations;
            assert_eq!(added.figures["count"], there as f64);
            let walked = count(std::slice::from_ref(&options.dir)).unwrap();
            assert_eq!(walked.files, there);
            let bases = if shared { 0.0 } else { 2.0 };
            assert_eq!(
                walked.directories as f64 - bases,
                added.figures["directories"]
            );
            for report in [fill, removed, added] {
                let numbers: Vec<u32> = report.runs.iter().map(|r| r.number).collect();
                assert_eq!(numbers, [1, 2, 3], "{}", report.name);
            }
            assert_eq!(
                removed.runs[2].files + removed.runs[1].files + removed.runs[0].files,
                removed.operations
            );
            trees.push(tree(&options.dir));
            notes.push(
                removed
                    .runs
                    .iter()
                    .map(|r| r.note.clone())
                    .collect::<Vec<_>>(),
            );
        }
        assert_eq!(trees[0], trees[1]);
        assert_eq!(notes[0], notes[1]);
        assert!(
            trees[0]
                .iter()
                .any(|(path, files)| path.contains("/a") && *files == 4)
        );
    }
}

#[test]
fn nothing_is_left_unless_it_is_kept() {
    let dir = scratch();
    let options = options(dir.path());
    let outcome = run(&options, &Silent).unwrap();
    assert!(agreed(&outcome));
    assert!(!options.dir.exists());
}

#[test]
fn a_directory_that_is_not_empty_is_refused_and_left_alone() {
    let dir = scratch();
    let options = options(dir.path());
    std::fs::create_dir_all(options.dir.join("lost+found")).unwrap();
    std::fs::write(options.dir.join("mine"), "x").unwrap();
    let error = run(&options, &Silent).unwrap_err().to_string();
    assert!(
        error.contains("not empty") && error.contains("mine"),
        "{error}"
    );
    assert!(options.dir.join("mine").exists());
    std::fs::remove_file(options.dir.join("mine")).unwrap();
    run(&options, &Silent).unwrap();
    assert!(options.dir.join("lost+found").exists());
}

/// Cancels when a phase begins, and records what was reported.
#[derive(Default)]
struct Until {
    phase: &'static str,
    over: AtomicBool,
    events: Mutex<Vec<String>>,
    progress: Recorder,
}

impl Observer for Until {
    fn phase_started(&self, name: &str) {
        self.events.lock().unwrap().push(format!("+{name}"));
        self.over.fetch_or(name == self.phase, Ordering::Relaxed);
    }
    fn phase_finished(&self, phase: &PhaseReport) {
        self.events.lock().unwrap().push(format!("-{}", phase.name));
    }
}

impl Progress for Until {
    fn inner(&self) -> &dyn Progress {
        &self.progress
    }
    fn cancelled(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

#[test]
fn phases_begin_once_and_end_once() {
    let dir = scratch();
    let watcher = Until::default();
    run(&options(dir.path()), &watcher).unwrap();
    let events = watcher.events.into_inner().unwrap();
    let expected = [
        "+age_fill",
        "+age_remove",
        "+age_add",
        "-age_fill",
        "-age_remove",
        "-age_add",
    ];
    assert_eq!(events, expected);
    let recorded = &watcher.progress;
    let steps = ["age_fill", "age_remove", "age_add"];
    assert_eq!(recorded.steps(), steps.repeat(3));
    let all = options(dir.path()).files_made();
    assert_eq!(recorded.events()[0], Event::Foresee(all));
    assert_eq!(recorded.advanced(), all);
}

#[test]
fn an_interrupt_in_any_phase_leaves_nothing() {
    for phase in ["age_fill", "age_remove", "age_add"] {
        let dir = scratch();
        let mut options = options(dir.path());
        options.files = 4000;
        options.per_directory = 400;
        let watcher = Until {
            phase,
            ..Until::default()
        };
        let error = run(&options, &watcher).unwrap_err();
        assert!(
            matches!(&error, Error::Interrupted { phase: during } if during == phase),
            "{error}"
        );
        assert!(!options.dir.exists());
    }
}

#[test]
fn the_filesystem_counts_like_the_accounting_and_a_full_one_is_reported_needs_root() {
    let Some(small) = Mounted::ext4(&["-i", "2048"]) else {
        return;
    };
    let used = || {
        crate::syncfs::syncfs(&small.path()).unwrap();
        let fs = rustix::fs::statvfs(small.path()).unwrap();
        fs.f_files - fs.f_ffree
    };
    let before = used();
    let mut options = AgeSpec {
        dir: small.path(),
        keep: true,
        shared: false,
        ..options(&small.path())
    };
    let outcome = run(&options, &Silent).unwrap();
    let figures = &phase(&outcome, "age_add").figures;
    let bases = 2.0;
    assert_eq!(
        (used() - before) as f64,
        figures["count"] + figures["directories"] + bases
    );
    for base in ["p0", "p1"] {
        std::fs::remove_dir_all(small.path().join(base)).unwrap();
    }
    // Each round fits according to statfs, all of them do not.
    (options.files, options.per_directory) = (2000, 200);
    let error = run(&options, &Silent).unwrap_err();
    assert!(error.is_no_space(), "{error}");
    let Error::Full { files, partial, .. } = error else {
        panic!("{error}");
    };
    let walked = count(std::slice::from_ref(&options.dir)).unwrap();
    assert_eq!(walked.files, files);
    let fill = phase(&partial, "age_fill");
    assert!(fill.operations >= 4000 && fill.figures["count"] == files as f64);
}
