use std::path::PathBuf;

use params::Bytes;

use super::*;
use crate::Silent;

/// Files, folders and bytes below a directory.
fn counts(dir: &Path) -> (u64, u64, u64) {
    let (mut files, mut folders, mut bytes) = (0, 0, 0);
    let mut left: Vec<PathBuf> = vec![dir.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let meta = entry.metadata().unwrap();
            if meta.is_dir() {
                folders += 1;
                left.push(entry.path());
            } else {
                files += 1;
                bytes += meta.len();
            }
        }
    }
    (files, folders, bytes)
}

fn spec(dir: &Path) -> MetadataSpec {
    MetadataSpec {
        ranks: 4,
        files: 10,
        ..MetadataSpec::new(dir)
    }
}

/// What mdtest 4.1 made with 4 tasks.
#[test]
fn what_is_made_is_what_mdtest_made() {
    let made = |change: fn(&mut MetadataSpec)| {
        let dir = tempfile::tempdir().unwrap();
        let mut spec = spec(dir.path());
        spec.steps = vec![Step::Create];
        change(&mut spec);
        spec.run(&Silent).unwrap();
        counts(dir.path())
    };
    assert_eq!(made(|_| ()), (40, 42, 0));
    assert_eq!(made(|s| s.items = Items::Files), (40, 2, 0));
    assert_eq!(made(|s| s.items = Items::Directories), (0, 42, 0));
    assert_eq!(made(|s| s.own_directory = true), (40, 45, 0));
    let deep = |own: bool, leaf: bool| {
        let dir = tempfile::tempdir().unwrap();
        let spec = MetadataSpec {
            depth: 2,
            branch: 3,
            per_directory: Some(5),
            own_directory: own,
            leaf_only: leaf,
            steps: vec![Step::Create],
            ..spec(dir.path())
        };
        spec.run(&Silent).unwrap();
        counts(dir.path())
    };
    assert_eq!(deep(false, false), (260, 274, 0));
    assert_eq!(deep(true, false), (260, 313, 0));
    assert_eq!(deep(false, true), (180, 194, 0));
    assert_eq!(
        made(|s| (s.depth, s.branch, s.files) = (2, 2, 20)),
        (56, 64, 0)
    );
    let small = made(|s| {
        (s.items, s.write, s.read) = (Items::Files, Bytes(4096), Bytes(4096));
    });
    assert_eq!(small, (40, 2, 163_840));
}

#[test]
fn all_phases_run_in_mdtests_order_and_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let spec = MetadataSpec {
        write: Bytes(100),
        read: Bytes(50),
        fsync: true,
        shift: 1,
        depth: 1,
        branch: 2,
        own_directory: true,
        ..spec(dir.path())
    };
    let outcome = spec.run(&Silent).unwrap();
    let names: Vec<&str> = outcome
        .phases
        .iter()
        .map(|phase| phase.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "tree_creation",
            "directory_creation",
            "directory_stat",
            "directory_removal",
            "file_creation",
            "file_stat",
            "file_read",
            "file_removal",
            "tree_removal"
        ]
    );
    for phase in &outcome.phases[1..8] {
        // floor(10 / 3) in each of three directories, of four ranks.
        assert_eq!(phase.operations, 36, "{}", phase.name);
        let rate = phase.files_per_s.unwrap();
        // N times the slowest is at most the whole over the longest time; they are equal when all have as many items.
        let table = phase.figures["files_sum"];
        assert!((rate.original.unwrap() / table - 1.0).abs() < 1e-9);
        let changes = !phase.name.ends_with("stat") && !phase.name.ends_with("read");
        assert_eq!(rate.syncfs.is_some(), changes, "{}", phase.name);
    }
    assert_eq!(outcome.phases[0].operations, 12);
    let (creation, read) = (&outcome.phases[4], &outcome.phases[6]);
    assert_eq!((creation.bytes, read.bytes), (3600, 1800));
    let calls: Vec<(&str, u64)> = creation
        .latency
        .iter()
        .map(|latency| (latency.operation.as_str(), latency.count))
        .collect();
    assert_eq!(
        calls,
        [("creat", 36), ("write", 36), ("fsync", 36), ("close", 36)]
    );
    assert_eq!(counts(dir.path()), (0, 0, 0));
}

#[test]
fn a_tree_that_is_there_is_refused_and_a_failure_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("test-dir.0-0")).unwrap();
    let error = spec(dir.path()).run(&Silent).unwrap_err().to_string();
    assert!(
        error.contains("test-dir.0-0") && error.contains("there already"),
        "{error}"
    );
    std::fs::remove_dir(dir.path().join("test-dir.0-0")).unwrap();
    let removed = MetadataSpec {
        steps: vec![Step::Stat],
        ..spec(dir.path())
    };
    let error = removed.run(&Silent).unwrap_err().to_string();
    assert!(
        error.contains("cannot stat") && error.contains("create it first"),
        "{error}"
    );
    assert_eq!(counts(dir.path()), (0, 0, 0));
}
