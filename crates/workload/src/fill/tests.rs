use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::child::{How, Made, Task};
use super::place::{Walk, subdirectory};
use super::workers::{FillResult, Workers};
use super::*;
use crate::calls::Call;
use crate::mounted::Mounted;
use crate::{Error, Observer, Outcome, PhaseReport, Progress, Silent};
use params::Bytes;

fn options(base: &Path) -> FillSpec {
    FillSpec {
        files: 20,
        size: Bytes(10),
        sync_method: 0,
        ..FillSpec::new(base)
    }
}

/// In memory where there is such a place: syncfs of a disk waits for the writes of all processes.
pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Names by directory, beneath a base.
fn tree(base: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::new();
    let mut open = vec![base.to_owned()];
    while let Some(dir) = open.pop() {
        let mut names = BTreeSet::new();
        for entry in std::fs::read_dir(&dir).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                assert!(names.insert(entry.file_name().into_string().unwrap()));
            }
        }
        let inside = dir.strip_prefix(base).unwrap().display().to_string();
        found.insert(inside, names);
    }
    found
}

fn evidence<'a>(phase: &'a PhaseReport, name: &str) -> &'a crate::Evidence {
    phase.evidence.iter().find(|e| e.name == name).unwrap()
}

#[test]
fn files_are_where_fs_mark_puts_them_with_their_bytes_and_the_seeds_names() {
    let dir = scratch();
    let options = FillSpec {
        processes: 2,
        directories: 4,
        per_directory: 3,
        iterations: 2,
        keep: true,
        size: Bytes(100),
        write_size: Bytes(30),
        ..options(dir.path())
    };
    let outcome = run(&options, &Silent).unwrap();
    let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    expected.insert(String::new(), BTreeSet::new());
    for (process, iteration) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let names = Names::new(&options, process, iteration);
        let walk = Walk::new(&options, super::names::seconds(options.seed, iteration));
        for file in 0..20 {
            let name = String::from_utf8(names.name(file)).unwrap();
            let directory = subdirectory(walk.made_in(file));
            assert!(expected.entry(directory).or_default().insert(name));
        }
    }
    assert_eq!(tree(dir.path()), expected);
    for (directory, names) in &expected {
        for name in names {
            let bytes = std::fs::read(dir.path().join(directory).join(name)).unwrap();
            assert_eq!(bytes, [0; 100]);
        }
    }
    let phase = &outcome.phases[0];
    assert_eq!((phase.operations, phase.bytes), (80, 8000));
    assert_eq!(
        (phase.figures["count"], phase.figures["directories"]),
        (80.0, 4.0)
    );
    assert_eq!(evidence(phase, "counts_agree").holds, Some(true));
    assert!(evidence(phase, "no_swap_in").holds.is_some());
    assert_eq!(phase.runs.len(), 2);
    assert_eq!(phase.runs[1].figures["written"], 80.0);
    let rate = |run: usize| phase.runs[run].figures["files_per_s"];
    let mean = f64::midpoint(rate(0), rate(1));
    let rates = phase.files_per_s.unwrap();
    assert!((rates.original.unwrap() / mean - 1.0).abs() < 1e-9);
    assert!(rates.fsync.is_none() && rates.syncfs.unwrap() < mean);
}

#[test]
fn a_file_of_another_process_shows_in_the_evidence() {
    struct Meddler(PathBuf);
    impl Progress for Meddler {}
    impl Observer for Meddler {
        fn phase_started(&self, _: &str) {
            std::fs::write(self.0.join("stray"), "").unwrap();
        }
    }
    let dir = scratch();
    let options = FillSpec {
        keep: true,
        ..options(dir.path())
    };
    let outcome = run(&options, &Meddler(dir.path().to_owned())).unwrap();
    let agree = evidence(&outcome.phases[0], "counts_agree");
    assert_eq!(agree.holds, Some(false), "{}", agree.detail);
    assert!(agree.detail.contains("20 files") && agree.detail.contains("21 files"));
}

#[test]
fn the_same_seed_twice_in_one_base_is_noticed_and_another_seed_adds() {
    let dir = scratch();
    let mut options = FillSpec {
        keep: true,
        ..options(dir.path())
    };
    run(&options, &Silent).unwrap();
    let outcome = run(&options, &Silent).unwrap();
    let agree = evidence(&outcome.phases[0], "counts_agree");
    assert_eq!(agree.holds, Some(false));
    let message = outcome.warnings.join("; ");
    assert!(
        message.contains("20 files fewer") && message.contains("another seed"),
        "{message}"
    );
    options.seed = 2;
    let outcome = run(&options, &Silent).unwrap();
    assert_eq!(outcome.phases[0].figures["count"], 40.0);
    assert_eq!(
        evidence(&outcome.phases[0], "counts_agree").holds,
        Some(true)
    );
}

/// One iteration, so that its processes can be looked at.
fn create(options: &FillSpec, flags: impl FnOnce(&mut How)) -> FillResult {
    let mut how = How {
        phase: "fill",
        size: options.size.get(),
        write_size: options.write_size.get(),
        method: SyncMethod::from_number(options.sync_method).unwrap(),
        mkdir: options.mkdir,
        sync_target_only: true,
    };
    flags(&mut how);
    let made = Made::new(options.directories);
    let task = |process| Task {
        base: &options.dirs[0],
        walk: Walk::new(options, 0),
        names: Names::new(options, process, 0),
        files: options.files,
        made: &made,
    };
    let tasks: Vec<Task<'_>> = (0..options.processes).map(task).collect();
    Workers {
        how: &how,
        tasks: &tasks,
        observer: &Silent,
    }
    .create()
}

#[test]
fn every_sync_method_makes_its_calls_and_no_others() {
    // Of one process with 20 files of 3 writes: creat, write, fsync, sync, close.
    let expected = [
        (0, [20, 60, 0, 0, 20]),
        (1, [20, 60, 20, 0, 20]),
        (2, [20, 60, 1, 1, 20]),
        (3, [20, 60, 20, 0, 20]),
        (4, [20, 60, 20, 1, 20]),
        (5, [20, 60, 20, 0, 20]),
        (6, [20, 60, 20, 1, 20]),
    ];
    for (method, calls) in expected {
        let dir = scratch();
        let options = FillSpec {
            sync_method: method,
            processes: 2,
            directories: 3,
            per_directory: 4,
            size: Bytes(70),
            write_size: Bytes(30),
            ..options(dir.path())
        };
        let seen = create(&options, |_| ());
        assert!(seen.stopped.is_none());
        for child in &seen.children {
            let child = child.as_ref().unwrap();
            let made = Call::FS_MARK.map(|call| child.calls.count(call));
            assert_eq!(made[..5], calls, "method {method}");
            assert_eq!((made[5], child.files, child.short), (0, 20, 0));
            let inside = child.calls.inside_loop_ns();
            assert!(inside > 0 && inside <= child.end_ns - child.begin_ns);
        }
    }
}

#[test]
fn clock_b_ends_with_the_loop_where_every_file_is_fsynced() {
    for (method, all) in [(0, false), (1, true), (2, false), (3, true), (6, true)] {
        let dir = scratch();
        let options = FillSpec {
            sync_method: method,
            sync_target_only: true,
            keep: true,
            ..options(dir.path())
        };
        let outcome = run(&options, &Silent).unwrap();
        let clocks = outcome.phases[0].clock_seconds;
        assert_eq!(clocks.fsync.is_some(), all, "method {method}");
        assert!(clocks.syncfs.unwrap() >= clocks.original.unwrap());
        let asked_for_sync = outcome.phases[0].figures.contains_key("sync_avg");
        assert_eq!(asked_for_sync, [2, 4, 6].contains(&method));
    }
}

#[test]
fn an_empty_file_gets_one_write_as_in_fs_mark() {
    let dir = scratch();
    let options = FillSpec {
        size: Bytes(0),
        ..options(dir.path())
    };
    let seen = create(&options, |_| ());
    let calls = &seen.children[0].as_ref().unwrap().calls;
    assert_eq!(calls.count(Call::Write), 20);
}

#[test]
fn nothing_is_left_unless_it_is_kept_and_what_was_there_stays() {
    for iterations in [1, 3] {
        let dir = scratch();
        let base = dir.path().join("new");
        let other = dir.path().join("old");
        std::fs::create_dir_all(other.join("01")).unwrap();
        std::fs::write(other.join("01/mine"), "x").unwrap();
        let options = FillSpec {
            dirs: vec![base.clone(), other.clone()],
            directories: 3,
            per_directory: 5,
            iterations,
            ..options(&base)
        };
        let outcome = run(&options, &Silent).unwrap();
        let phase = &outcome.phases[0];
        assert_eq!(phase.operations, 40 * u64::from(iterations));
        assert_eq!(phase.figures["count"], 1.0);
        assert!(phase.figures["unlink_avg"] > 0.0);
        assert_eq!(evidence(phase, "counts_agree").holds, Some(true));
        assert!(!base.exists());
        assert_eq!(tree(&other).keys().collect::<Vec<_>>(), ["", "01"]);
        assert!(other.join("01/mine").exists());
        assert!(
            outcome
                .warnings
                .iter()
                .any(|w| w.contains("1 files were there before"))
        );
    }
}

#[test]
fn mkdir_at_first_use_makes_the_same_tree() {
    let mut trees = Vec::new();
    for mkdir in [Mkdir::EveryFile, Mkdir::FirstUse] {
        let dir = scratch();
        let options = FillSpec {
            mkdir,
            directories: 4,
            per_directory: 2,
            processes: 3,
            keep: true,
            ..options(dir.path())
        };
        run(&options, &Silent).unwrap();
        trees.push(tree(dir.path()));
    }
    assert_eq!(trees[0], trees[1]);
}

#[test]
fn a_directory_that_vanishes_is_made_again() {
    /// Moves a directory away as soon as it is there, while files are made in it.
    struct Mover(PathBuf, PathBuf);
    impl Progress for Mover {
        fn advance(&self, _: u64) {
            if !self.1.exists() {
                std::fs::rename(&self.0, &self.1).unwrap();
            }
        }
    }
    impl Observer for Mover {}
    let dir = scratch();
    let base = dir.path().join("base");
    let options = FillSpec {
        files: 150_000,
        size: Bytes(0),
        directories: 2,
        per_directory: 1 << 20,
        keep: true,
        ..options(&base)
    };
    let first = super::names::seconds(options.seed, 0) % 2;
    let (there, moved) = (
        base.join(subdirectory(first as u32)),
        dir.path().join("moved"),
    );
    let outcome = run(&options, &Mover(there.clone(), moved.clone())).unwrap();
    assert_eq!(outcome.phases[0].operations, 150_000);
    let files = |dir: &Path| tree(dir)[""].len();
    assert!(files(&there) > 0 && files(&moved) > 0);
    assert_eq!(files(&there) + files(&moved), 150_000);
    let agree = evidence(&outcome.phases[0], "counts_agree");
    assert_eq!(agree.holds, Some(false), "{}", agree.detail);
}

/// Cancels after the first progress, which it keeps.
#[derive(Default)]
struct Impatient {
    over: AtomicBool,
    steps: AtomicU64,
}

impl Observer for Impatient {}

impl Progress for Impatient {
    fn begin(&self, step: progress::Step) {
        assert_eq!(step.name, "fill");
    }
    fn advance(&self, files: u64) {
        self.steps.fetch_add(files, Ordering::Relaxed);
        self.over.store(true, Ordering::Relaxed);
    }
    fn cancelled(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

#[test]
fn an_interrupt_ends_it_soon_and_leaves_nothing() {
    for sync_method in [0, 3] {
        let dir = scratch();
        let base = dir.path().join("base");
        let options = FillSpec {
            files: 1_000_000,
            processes: 2,
            size: Bytes(0),
            directories: 5,
            per_directory: 10,
            sync_method,
            ..options(&base)
        };
        let watcher = Impatient::default();
        let error = run(&options, &watcher).unwrap_err();
        assert!(
            matches!(&error, Error::Interrupted { phase } if phase == "fill"),
            "{error}"
        );
        assert!(watcher.steps.load(Ordering::Relaxed) > 0);
        assert!(!base.exists());
    }
}

#[test]
fn a_base_that_cannot_be_made_and_files_that_cannot_fit_are_refused() {
    let dir = scratch();
    let missing = dir.path().join("a/b");
    let error = run(&options(&missing), &Silent).unwrap_err().to_string();
    assert!(
        error.contains("make the base directory") && error.contains("a/b"),
        "{error}"
    );
    let huge = FillSpec {
        size: Bytes(1 << 50),
        ..options(&dir.path().join("huge"))
    };
    let error = run(&huge, &Silent).unwrap_err().to_string();
    assert!(error.contains("insufficient free space"), "{error}");
    assert!(!dir.path().join("huge").exists());
}

fn full_of(error: Error) -> (PathBuf, u64, Outcome) {
    match error {
        Error::Full {
            path,
            files,
            partial,
            ..
        } => (path, files, *partial),
        other => panic!("{other}"),
    }
}

#[test]
fn a_full_filesystem_is_the_end_or_an_error_that_keeps_what_was_measured_needs_root() {
    let Some(small) = Mounted::ext4(&["-i", "1024"]) else {
        return;
    };
    // A hundred bytes each by statfs, a block of a kibibyte or four in truth.
    let mut options = FillSpec {
        processes: 2,
        files: 7000,
        size: Bytes(100),
        directories: 7,
        per_directory: 100,
        keep: true,
        ..options(&small.path())
    };
    let error = run(&options, &Silent).unwrap_err();
    assert!(error.is_no_space(), "{error}");
    let message = error.to_string();
    assert!(
        message.contains("no space left for") && message.contains("until_full"),
        "{message}"
    );
    let (path, files, partial) = full_of(error);
    let phase = &partial.phases[0];
    assert!(!path.exists() && path.starts_with(small.path()));
    assert!(files > 1000 && files < 14_000 && phase.operations == files);
    assert_eq!(phase.figures["count"], files as f64);
    assert_eq!(evidence(phase, "counts_agree").holds, Some(true));
    assert_eq!(phase.bytes_asked, 14_000 * 100);
    assert!(phase.files_per_s.unwrap().original.unwrap() > 0.0);
    // Not kept: it is empty again, and as many fit a second time.
    for names in tree(&small.path()).into_keys().filter(|d| !d.is_empty()) {
        std::fs::remove_dir_all(small.path().join(names)).unwrap();
    }
    options.keep = false;
    full_of(run(&options, &Silent).unwrap_err());
    assert_eq!(tree(&small.path()).len(), 1);
    // -F: iterations until it is full, and no error.
    (options.files, options.until_full, options.seed) = (500, true, 2);
    let outcome = run(&options, &Silent).unwrap();
    let phase = &outcome.phases[0];
    assert!(phase.runs.len() > 2 && phase.operations > 1000);
    assert_eq!(evidence(phase, "counts_agree").holds, Some(true));
    assert!(
        outcome
            .warnings
            .iter()
            .any(|w| w.contains("the filesystem is full"))
    );
    assert!(
        phase.figures["fs_use"] >= 90.0,
        "{:?}",
        phase.figures["fs_use"]
    );
}

#[test]
fn a_read_only_filesystem_is_reported_needs_root() {
    let Some(small) = Mounted::ext4(&[]) else {
        return;
    };
    small.becomes_read_only();
    let error = run(&options(&small.path()), &Silent)
        .unwrap_err()
        .to_string();
    assert!(error.contains("mount it read-write"), "{error}");
}
