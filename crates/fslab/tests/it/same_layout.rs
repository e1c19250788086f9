//! The same trial on this machine's kernel and in User-mode Linux: its file gets the same blocks.
//!
//! The two kernels are of different versions and see different disks (a loop device, a ubd device). What
//! they share is the disk's size and the study's seed, and with it UUIDs. The disk has 1 GiB, so that ext4 has
//! blocks of 4 KiB: with 1 KiB (320 MiB) the two kernels, 6.18 and 6.1, gave ext4's file a different layout.

use crate::common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::guests::can;
use common::{assert_ran, run_in};
use record::{Run, Status};

const STUDY: &str = r#"
include = ["defaults.toml"]
name = "same-layout"
title = "One layout on the host and in a guest"
question = "Does a file lie in the same blocks?"

[factors]
filesystem = ["ext4", "xfs"]

[device]
size = "1g"

[run]
blocks = 1
reference_seconds = 0

[layout]
enabled = true

[[workload]]
name = "dd"
kind = "stream"
test = "write"
block = "1m"
count = 64
"#;

/// Output of `filefrag -v bigfile`, by filesystem.
fn listings(temp: &Path, executor: &str) -> BTreeMap<String, String> {
    let study = temp.join("same-layout.toml");
    fs::write(&study, STUDY).unwrap();
    let study = study.to_str().unwrap();
    let line = ["run", study, "--executor", executor, "--out", "run"];
    let output = run_in(temp, &line);
    assert_ran(&output);
    let dir = temp.join("run");
    let run = Run::load(&dir).unwrap();
    let mut found = BTreeMap::new();
    for trial in &run.trials {
        assert_eq!(trial.status, Status::Finished, "{trial:?}");
        let listing = &trial.layouts[0].listings["filefrag -v bigfile"];
        let text = fs::read_to_string(dir.join(listing)).unwrap();
        found.insert(trial.mounted.as_ref().unwrap().mounted_type.clone(), text);
    }
    found
}

#[test]
fn a_file_gets_the_same_blocks_on_the_host_and_in_uml_needs_root_needs_uml() {
    if !testkit::root!() {
        return;
    }
    if !can("uml") {
        return;
    }
    let [here, there] = ["host", "uml"].map(|executor| {
        let temp = tempfile::tempdir().unwrap();
        listings(temp.path(), executor)
    });
    let filesystems: Vec<&String> = here.keys().collect();
    assert_eq!(filesystems, ["ext4", "xfs"]);
    for (filesystem, listing) in &here {
        let extents = listing.lines().filter(|line| line.contains(": ")).count();
        assert!(extents > 0, "{listing}");
        assert_eq!(listing, &there[filesystem], "{filesystem}");
    }
}
