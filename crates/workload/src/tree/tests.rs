//! Whole runs in a temporary directory, small.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::dataset::Dataset;
use super::sequence::{Action, Plan, Row, State};
use super::{TreeSpec, compilebench_text, run};
use crate::mounted::Mounted;
use progress::{Event, Recorder};

use crate::{Error, Evidence, Observer, Outcome, PhaseReport, Progress, Silent};

fn small(dir: &Path) -> TreeSpec {
    TreeSpec {
        initial: 10,
        runs: 30,
        scale: 0.005,
        keep: true,
        ..TreeSpec::new(dir)
    }
}

fn phase(outcome: &Outcome, row: Row) -> &PhaseReport {
    outcome
        .phases
        .iter()
        .find(|p| p.name == row.phase())
        .unwrap()
}

/// Every file below `dir` with its size.
fn files(dir: &Path) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let meta = entry.metadata().unwrap();
            if meta.is_dir() {
                open.push(entry.path());
            } else {
                let path = entry.path();
                let path = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
                found.insert(path, meta.len());
            }
        }
    }
    found
}

/// What the trees hold after the sequence, worked out from the sets alone.
fn expected(data: &Dataset, plan: &Plan) -> BTreeMap<String, BTreeMap<String, u64>> {
    let mut trees: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for step in plan.steps() {
        let tree = trees.entry(step.tree.clone()).or_default();
        let set = match (step.action, step.from) {
            (Action::InitialCreate | Action::Create, _) => &data.unpatched,
            (Action::Patch { .. }, Some(State::Unpatched)) => &data.patch,
            (Action::Compile, Some(State::Unpatched))
            | (Action::Clean, Some(State::UnpatchedCompiled)) => &data.compile,
            _ => &data.compile_patched,
        };
        for (path, size) in set.iter() {
            let path = String::from_utf8(path.to_vec()).unwrap();
            match step.action {
                Action::Clean => assert!(tree.remove(&path).is_some(), "{path} is there"),
                Action::Delete => tree.clear(),
                Action::Read | Action::Stat => {}
                _ => {
                    tree.insert(path, size);
                }
            }
        }
    }
    trees
}

#[test]
fn thirty_operations_leave_exactly_the_trees_that_the_sets_say() {
    let dir = tempfile::tempdir().unwrap();
    let options = small(dir.path());
    let outcome = run(&options, &Silent).unwrap();
    let data = Dataset::generated(0.005, 2009);
    let counts: Vec<u64> = outcome.phases.iter().map(|p| p.operations).collect();
    assert_eq!(counts, [10, 5, 4, 7, 4, 2, 1, 2, 0, 4, 1]);

    let trees = expected(&data, &Plan::standard(10, 30));
    assert_eq!(trees.len(), 15);
    for (tree, expected) in &trees {
        assert_eq!(&files(&dir.path().join(tree)), expected, "{tree}");
    }
    // Deleted trees leave their top directory; the scratch tree is gone.
    assert!(trees["kernel-6"].is_empty() && dir.path().join("kernel-6").is_dir());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 15);
    let content = files(&dir.path().join("kernel-1"));
    let (path, size) = content.iter().next().unwrap();
    let bytes = fs::read(dir.path().join("kernel-1").join(path)).unwrap();
    assert!(bytes.len() as u64 == *size && bytes.iter().all(|b| *b == b'a'));
}

#[test]
fn every_operation_moves_the_bytes_of_its_set() {
    let dir = tempfile::tempdir().unwrap();
    let outcome = run(&small(dir.path()), &Silent).unwrap();
    let data = Dataset::generated(0.005, 2009);
    let (u, p) = (data.unpatched.bytes(), data.patch.bytes());
    let (uc, c) = (data.compile.bytes(), data.compile_patched.bytes());
    let bytes = |row| {
        phase(&outcome, row)
            .runs
            .iter()
            .map(|r| r.bytes)
            .collect::<Vec<_>>()
    };
    assert_eq!(bytes(Row::InitialCreate), [u; 10]);
    assert_eq!(bytes(Row::Create), [u; 5]);
    assert_eq!(bytes(Row::Patch), [p, c, p, p]);
    assert_eq!(bytes(Row::Compile), [c, uc, uc, c, c, c, uc]);
    assert_eq!(bytes(Row::Clean), [c, c, uc, c]);
    assert_eq!(bytes(Row::ReadTree), [u, u]);
    assert_eq!(bytes(Row::DeleteTree), [0, 0]);
    // Operation 5 reads kernel-5, patched and compiled: U with P over it, and C.
    let mut whole: BTreeMap<&[u8], u64> = data.unpatched.iter().collect();
    whole.extend(data.patch.iter().chain(data.compile_patched.iter()));
    assert_eq!(bytes(Row::ReadCompiledTree), [whole.values().sum::<u64>()]);

    let patch = phase(&outcome, Row::Patch);
    assert_eq!(patch.bytes, 3 * p + c);
    assert!(
        patch.bytes_transferred > patch.bytes,
        "a patch reads what it overwrites"
    );
    let files: Vec<u64> = phase(&outcome, Row::DeleteTree)
        .runs
        .iter()
        .map(|r| r.files)
        .collect();
    assert_eq!(files, [data.unpatched.len() as u64; 2]);
    let looked = phase(&outcome, Row::StatTree).runs[3].files; // kernel-8, never touched
    assert_eq!(
        looked,
        (data.unpatched.len() + data.unpatched.directories()) as u64
    );
}

#[test]
fn phases_carry_the_originals_figures_and_all_clocks() {
    let dir = tempfile::tempdir().unwrap();
    let outcome = run(&small(dir.path()), &Silent).unwrap();
    for report in outcome.phases.iter().filter(|p| p.operations > 0) {
        let clocks = report.clock_seconds;
        assert!(report.seconds > 0.0 && clocks.original == Some(report.seconds));
        let (original, syncfs) = (clocks.original.unwrap(), clocks.syncfs.unwrap());
        if report.name == "initial_create" {
            assert!(syncfs > original && clocks.fsync == clocks.syncfs);
            assert!(report.figures["native_unpatched_seconds"] > 0.0);
        } else {
            assert_eq!(syncfs, original, "{}", report.name);
        }
        assert_eq!(report.figures["runs"], report.operations as f64);
        assert!(report.figures["mean_seconds"] > 0.0 && report.files_per_s.is_some());
        let files: u64 = report.runs.iter().map(|r| r.files).sum();
        assert_eq!(report.figures["file_count"], files as f64);
        let rates: Vec<f64> = report
            .runs
            .iter()
            .map(|r| r.bytes as f64 / r.seconds / 1_048_576.0)
            .collect();
        match report.bytes_per_s.original {
            Some(rate) => {
                let mean = rates.iter().sum::<f64>() / rates.len() as f64;
                assert!((rate / 1_048_576.0 / mean - 1.0).abs() < 1e-9);
                assert!((report.figures["mean_mib_per_s"] / mean - 1.0).abs() < 1e-9);
            }
            None => assert!(report.name.starts_with("delete") || report.name.starts_with("stat")),
        }
    }
    let notes = outcome.warnings.join("\n");
    assert!(
        notes.contains("no runs in this sequence: delete_compiled_tree"),
        "{notes}"
    );
    assert!(
        notes.contains("generated from the published shapes"),
        "{notes}"
    );
    assert_eq!(outcome.parameters["sets"]["unpatched"]["files"], 106);
    let text = compilebench_text(&outcome);
    assert!(
        text.contains("\nintial create total runs 10 avg "),
        "{text}"
    );
    assert!(
        text.contains("\nno runs for delete compiled tree\n"),
        "{text}"
    );
}

#[test]
fn a_run_removes_what_it_made() {
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join("made/for/it");
    let options = TreeSpec {
        keep: false,
        runs: 5,
        ..small(&own)
    };
    run(&options, &Silent).unwrap();
    assert!(!own.exists() && own.parent().unwrap().exists());
    fs::write(dir.path().join("other"), "mine").unwrap();
    let options = TreeSpec {
        dir: dir.path().to_owned(),
        ..options
    };
    run(&options, &Silent).unwrap();
    assert!(dir.path().join("other").exists());
    assert_eq!(files(dir.path()).len(), 1);
}

#[test]
fn trees_of_another_run_are_refused_and_left() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("kernel-3")).unwrap();
    let options = TreeSpec {
        keep: false,
        ..small(dir.path())
    };
    let error = run(&options, &Silent).unwrap_err().to_string();
    assert!(
        error.contains("kernel-3") && error.contains("remove it first"),
        "{error}"
    );
    assert!(dir.path().join("kernel-3").exists());
}

/// Records what a run reports, and stops it on request.
#[derive(Default)]
struct Watcher {
    events: Mutex<Vec<String>>,
    drops: AtomicU32,
    checks: AtomicU32,
    stop_after: Option<u32>,
    refuse_drops: Option<std::io::ErrorKind>,
    panic_in: Option<&'static str>,
    progress: Recorder,
}

impl Observer for Watcher {
    fn phase_started(&self, name: &str) {
        assert_ne!(self.panic_in, Some(name));
        self.events.lock().unwrap().push(format!("+{name}"));
    }
    fn phase_finished(&self, phase: &PhaseReport) {
        self.events
            .lock()
            .unwrap()
            .push(format!("-{} {}", phase.name, phase.operations));
    }
    fn drop_caches(&self, files: &[&Path]) -> std::io::Result<Evidence> {
        self.drops.fetch_add(1, Relaxed);
        if let Some(kind) = self.refuse_drops {
            return Err(std::io::Error::from(kind));
        }
        assert!(files.iter().all(|f| f.is_file()), "{files:?}");
        Ok(Evidence {
            name: "cold_cache".into(),
            holds: Some(true),
            detail: format!("{} files looked at", files.len()),
        })
    }
}

impl Progress for Watcher {
    fn inner(&self) -> &dyn Progress {
        &self.progress
    }
    fn cancelled(&self) -> bool {
        let checks = self.checks.fetch_add(1, Relaxed);
        self.stop_after.is_some_and(|after| checks >= after)
    }
}

#[test]
fn each_phase_begins_once_and_ends_once_and_every_operation_meets_cold_caches() {
    let dir = tempfile::tempdir().unwrap();
    let watcher = Watcher::default();
    let outcome = run(&small(dir.path()), &watcher).unwrap();
    let events = watcher.events.lock().unwrap();
    for report in outcome.phases.iter().filter(|p| p.operations > 0) {
        let began = events
            .iter()
            .position(|e| *e == format!("+{}", report.name))
            .unwrap();
        let finished = format!("-{} {}", report.name, report.operations);
        let ended = events.iter().position(|e| *e == finished).unwrap();
        assert!(began < ended);
    }
    assert_eq!(events.len(), 20);
    let steps = watcher.progress.steps();
    assert!(steps.iter().all(|step| !step.is_empty()), "{steps:?}");
    let reported = watcher.progress.events();
    assert!(matches!(reported[0], Event::Foresee(all) if watcher.progress.advanced() <= all));
    assert_eq!(watcher.drops.load(Relaxed), 30);
    let proofs = &phase(&outcome, Row::Compile).evidence;
    assert_eq!(proofs.len(), 7);
    assert_eq!(
        proofs[0].detail,
        "operation 2, kernel-5: 22 files looked at"
    );
}

#[test]
fn caches_that_cannot_be_dropped_are_tried_once_and_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    let watcher = Watcher {
        refuse_drops: Some(std::io::ErrorKind::PermissionDenied),
        ..Watcher::default()
    };
    let outcome = run(&small(dir.path()), &watcher).unwrap();
    assert_eq!(watcher.drops.load(Relaxed), 1);
    assert!(
        outcome
            .warnings
            .iter()
            .any(|w| w.contains("caches could not be dropped"))
    );
}

#[test]
fn a_drop_that_fails_is_evidence_against_its_operation_and_one_warning() {
    let dir = tempfile::tempdir().unwrap();
    let watcher = Watcher {
        refuse_drops: Some(std::io::ErrorKind::ResourceBusy),
        ..Watcher::default()
    };
    let outcome = run(&small(dir.path()), &watcher).unwrap();
    assert_eq!(watcher.drops.load(Relaxed), 30);
    let proofs = &phase(&outcome, Row::Compile).evidence;
    assert_eq!(proofs.len(), 7);
    assert!(proofs.iter().all(|p| p.holds == Some(false)), "{proofs:?}");
    assert_eq!(
        proofs[0].detail,
        "operation 2, kernel-5: the caches could not be dropped: resource busy"
    );
    let warned = |w: &&String| w.contains("could not be dropped");
    assert_eq!(outcome.warnings.iter().filter(warned).count(), 1);
    assert!(!outcome.warnings.iter().any(|w| w.contains("root")));
}

#[test]
fn a_panic_of_the_working_thread_comes_through() {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let dir = tempfile::tempdir().unwrap();
        let watcher = Watcher {
            panic_in: Some("create"),
            ..Watcher::default()
        };
        let result = std::panic::catch_unwind(|| run(&small(dir.path()), &watcher).is_ok());
        sender.send(result.is_err()).unwrap();
    });
    let panicked = receiver.recv_timeout(std::time::Duration::from_secs(60));
    assert_eq!(panicked, Ok(true), "neither a result nor a panic");
}

#[test]
fn an_interrupt_ends_the_run_between_two_files_and_cleans_up() {
    let dir = tempfile::tempdir().unwrap();
    let watcher = Watcher {
        stop_after: Some(700),
        ..Watcher::default()
    };
    let options = TreeSpec {
        keep: false,
        ..small(dir.path())
    };
    let error = run(&options, &watcher).unwrap_err();
    assert!(
        matches!(&error, Error::Interrupted { phase } if phase == "initial_create"),
        "{error}"
    );
    assert_eq!(watcher.checks.load(Relaxed), 701);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn make_j_compiles_reads_and_deletes_everything() {
    let dir = tempfile::tempdir().unwrap();
    let options = TreeSpec {
        initial: 4,
        makej: true,
        ..small(dir.path())
    };
    let outcome = run(&options, &Silent).unwrap();
    let counts: Vec<u64> = outcome.phases.iter().map(|p| p.operations).collect();
    assert_eq!(counts, [4, 0, 0, 4, 0, 0, 3, 0, 4, 0, 0]);
    assert!(files(dir.path()).is_empty());
    let compile = phase(&outcome, Row::Compile).clock_seconds;
    assert!(
        compile.syncfs > compile.original,
        "the sync comes after all compiles"
    );
}

#[test]
fn without_sync_only_clock_a_exists_and_no_caches_are_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let watcher = Watcher::default();
    let options = TreeSpec {
        sync: false,
        ..small(dir.path())
    };
    let outcome = run(&options, &watcher).unwrap();
    assert_eq!(watcher.drops.load(Relaxed), 0);
    for report in outcome.phases.iter().filter(|p| p.operations > 0) {
        assert!(report.clock_seconds.original.is_some() && report.clock_seconds.syncfs.is_none());
    }
    assert!(outcome.warnings.iter().any(|w| w.starts_with("no sync")));
}

/// Operations 3, 4, 12: kernel-9 is compiled, patched as compiled, cleaned.
#[test]
fn only_compat_leaves_objects_in_a_cleaned_tree() {
    let left = |compat: bool| {
        let dir = tempfile::tempdir().unwrap();
        let options = TreeSpec {
            runs: 12,
            compat,
            ..small(dir.path())
        };
        run(&options, &Silent).unwrap();
        files(&dir.path().join("kernel-9")).len()
    };
    let data = Dataset::generated(0.005, 2009);
    let named: Vec<&[u8]> = data.compile_patched.iter().map(|f| f.0).collect();
    let stale = data
        .compile
        .iter()
        .filter(|f| !named.contains(&f.0))
        .count();
    assert!(stale > 0);
    assert_eq!(left(true), data.unpatched.len() + stale);
    assert_eq!(left(false), data.unpatched.len());
}

/// A tiny set with a name in U that C has again: a compile meets a file that is there already.
#[test]
fn original_sets_run_and_only_compat_appends() {
    let sets = tempfile::tempdir().unwrap();
    let texts = [
        ("dataset-unpatched", "a.c 10\nsub/gone.c 20\n"),
        ("dataset-patched", "a.c 11\n"),
        (
            "dataset-unpatched-compiled",
            "a.c 10\nsub/gone.c 20\na.o 300000\nx/y/b.o 5\n",
        ),
        (
            "dataset-patched-compiled",
            "a.c 11\nsub/gone.c 25\na.o 300001\nx/y/b.o 6\n",
        ),
    ];
    for (name, text) in texts {
        fs::write(sets.path().join(name), text).unwrap();
    }
    // A shuffle of two names takes one draw, so the sequence is not the standard one. It ends here
    // with the first compile of a patched tree.
    let plan = |runs| Plan {
        shuffle: 1,
        ..Plan::standard(10, runs)
    };
    let steps = plan(100).steps();
    let compile = |s: &&super::sequence::Step| {
        s.action == Action::Compile && s.from == Some(State::Patched) && !s.sources_unpatched
    };
    let last = steps.iter().find(compile).unwrap();
    let after = |compat: bool| {
        let dir = tempfile::tempdir().unwrap();
        let options = TreeSpec {
            runs: last.number,
            scale: 1.0,
            sources: Some(sets.path().to_owned()),
            compat,
            ..small(dir.path())
        };
        let outcome = run(&options, &Silent).unwrap();
        assert_eq!(outcome.parameters["sets"]["compile_patched"]["files"], 3);
        let runs = &phase(&outcome, Row::Compile).runs;
        assert_eq!(runs.last().map(|r| r.number), Some(last.number));
        files(&dir.path().join(&last.tree))["sub/gone.c"]
    };
    assert_eq!(after(true), 45, "20 and 25 after it");
    assert_eq!(after(false), 25);
}

/// A filesystem of 4 MiB in memory: a few trees fit, ten do not.
#[test]
fn a_full_disk_is_named_needs_root() {
    let Some(mounted) = Mounted::tmpfs("size=4m") else {
        return;
    };
    let options = TreeSpec {
        keep: false,
        ..small(&mounted.path().join("work"))
    };
    let error = run(&options, &Silent).unwrap_err();
    let left = fs::read_dir(mounted.path()).unwrap().count();
    assert!(error.is_no_space());
    let text = error.to_string();
    assert!(
        text.starts_with("initial_create: no space left for ") && text.contains("/work/kernel-"),
        "{text}"
    );
    assert!(
        text.contains("free some space") && !text.contains('\n'),
        "{text}"
    );
    assert_eq!(left, 0, "everything is removed again");
}
