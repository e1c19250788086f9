//! Devices of several layers, end to end by the binary, in guest kernels: md and device-mapper in User-mode
//! Linux, null_blk in QEMU; and the messages where they are not available.

use crate::common;

use std::collections::BTreeMap;
use std::path::Path;

use common::guests::{can, nothing_is_left};
use common::{assert_ran, error_line, run_in, stderr, whole_report};
use record::{Run, Status, TrialRecord};

/// A stream of 16 MiB, with its layout.
const SMALL: [&str; 16] = [
    "run",
    "streaming",
    "--profile",
    "quick",
    "--blocks",
    "1",
    "--filter",
    "mount=default",
    "--set",
    "readahead=256",
    "--set",
    "aiod.count=4",
    "--set",
    "check.enabled=false",
    "--set",
    "run.reference_seconds=0",
];

/// Runs the study in such a guest, with devices of this size, these filesystems and further settings.
fn run(temp: &Path, executor: &str, size: &str, filesystems: &str, sets: &[&str]) -> (Run, String) {
    let size = format!("device_size={size}");
    let filesystems = format!("filesystem={filesystems}");
    let mut line: Vec<&str> = SMALL.to_vec();
    line.extend(["--executor", executor, "--filter", &filesystems]);
    for set in [size.as_str()].iter().chain(sets) {
        line.extend(["--set", set]);
    }
    line.extend(["--out", "run"]);
    let output = run_in(temp, &line);
    assert_ran(&output);
    nothing_is_left(temp);
    (
        Run::load(&temp.join("run")).unwrap(),
        whole_report(&temp.join("run")),
    )
}

/// Finished trials by filesystem, device and hints.
fn by_level(run: &Run) -> BTreeMap<String, &TrialRecord> {
    let mut all = BTreeMap::new();
    for (slot, trial) in run.plan.slots.iter().zip(&run.trials) {
        let levels = &run.plan.cells[slot.cell as usize].levels;
        let words = ["filesystem", "device", "hints"].map(|factor| levels.get(factor));
        let words: Vec<&str> = words.iter().flatten().map(|level| level.as_str()).collect();
        assert_eq!(trial.status, Status::Finished, "{words:?}: {trial:?}");
        all.insert(words.join(" "), trial);
    }
    all
}

fn superblock(trial: &TrialRecord, names: [&str; 2]) -> [String; 2] {
    let mounted = trial.mounted.as_ref().unwrap();
    names.map(|name| mounted.superblock.get(name).cloned().unwrap_or_default())
}

fn fact<'a>(trial: &'a TrialRecord, name: &str) -> &'a str {
    let facts = &trial.mounted.as_ref().unwrap().device_facts;
    facts.get(name).map_or("", String::as_str)
}

const EXT4: [&str; 2] = ["stride_blocks", "stripe_width_blocks"];
const XFS: [&str; 2] = ["sunit_blocks", "swidth_blocks"];

#[test]
fn eleven_disks_of_raid0_are_detected_passed_or_withheld_needs_uml() {
    if !can("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let (run, text) = run(
        temp.path(),
        "uml",
        "1g",
        "ext4,xfs",
        &["device=['raid0x11']", "hints=['auto', 'withheld']"],
    );
    let trials = by_level(&run);
    assert_eq!(trials.len(), 4);
    // 64 KiB in blocks of 4 KiB, and eleven times as much: sunit=128 and swidth=1408 sectors.
    let seen = ["16".to_owned(), "176".to_owned()];
    let none = ["0".to_owned(), "0".to_owned()];
    assert_eq!(superblock(trials["ext4 raid0x11 auto"], EXT4), seen);
    assert_eq!(superblock(trials["xfs raid0x11 auto"], XFS), seen);
    // A stripe of one block means no stripe in ext4.
    assert_eq!(
        superblock(trials["ext4 raid0x11 withheld"], EXT4),
        ["1", "1"]
    );
    assert_eq!(superblock(trials["xfs raid0x11 withheld"], XFS), none);

    let trial = trials["ext4 raid0x11 auto"];
    assert_eq!(fact(trial, "stack"), "md raid0 of 11 disks, chunk 64k");
    assert_eq!(fact(trial, "md_raid_disks"), "11");
    assert_eq!(fact(trial, "optimal_io_size"), "720896");
    let write = trial.members.iter().find(|m| m.phase == "write").unwrap();
    assert_eq!(write.members.len(), 11);
    let written: u64 = write.members.iter().map(|member| member.written).sum();
    assert!(written >= 16 << 20, "{write:?}");
    assert!(
        text.contains("Members: how each phase was shared"),
        "{text}"
    );
}

#[test]
fn every_layer_of_md_and_device_mapper_carries_a_filesystem_needs_uml() {
    if !can("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let (run, _) = run(
        temp.path(),
        "uml",
        "256m",
        "ext4",
        &["device=['stripe8', 'lvm8', 'raid5', 'raid10', 'delay', 'log_writes']"],
    );
    let trials = by_level(&run);
    assert_eq!(trials.len(), 6);
    for (device, members, times) in [
        ("stripe8", 8, 1.0),
        ("lvm8", 8, 1.0),
        ("raid5", 11, 1.1),
        ("raid10", 4, 2.0),
        ("delay", 1, 1.0),
        ("log_writes", 1, 1.0),
    ] {
        let trial = trials[&*format!("ext4 {device}")];
        let write = trial.members.iter().find(|m| m.phase == "write").unwrap();
        assert_eq!(write.members.len(), members, "{device}");
        let written: u64 = write.members.iter().map(|member| member.written).sum();
        let least = times * f64::from(16 << 20);
        assert!(written as f64 >= least, "{device}: {written} {least}");
        assert_eq!(
            fact(trial, "members_are").starts_with("slices of "),
            device != "delay",
            "{device}"
        );
    }
    let table = fact(trials["ext4 stripe8"], "dm_table").to_owned();
    assert!(table.contains(" striped 8 256 "), "{table}");
    let log = fact(trials["ext4 log_writes"], "dm_table");
    assert!(log.contains(" log-writes "), "{log}");
}

/// The first resync of an array is in its facts and in the report, and mkfs waits for a requested one.
#[test]
fn an_array_is_in_sync_or_reports_that_it_was_never_synced_needs_uml() {
    if !can("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let (run, text) = run(
        temp.path(),
        "uml",
        "256m",
        "ext4",
        &[
            "device=['raid1', 'raid5']",
            "stack.raid5.members=3",
            "stack.raid5.assume_clean=false",
        ],
    );
    let trials = by_level(&run);
    let raid5 = trials["ext4 raid5"];
    assert_eq!(fact(raid5, "md_first_resync"), "waited for");
    assert!(fact(raid5, "stack").ends_with(", in sync"), "{raid5:?}");
    let raid1 = trials["ext4 raid1"];
    assert_eq!(fact(raid1, "md_first_resync"), "left out (--assume-clean)");
    let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "its first resync was waited for",
        "its first resync was left out",
    ] {
        assert!(flat.contains(words), "{text}");
    }
}

/// A device that fails from the first request on: each failure mode ends its trial, with a message that
/// names what failed, and nothing is left.
#[test]
fn a_device_that_fails_ends_its_trial_needs_uml() {
    if !can("uml") {
        return;
    }
    for (failure, says) in [
        ("error", "mkfs.ext4"),
        ("error_writes", "mkfs.ext4"),
        // A dropped write is noticed only when it is read back.
        ("drop_writes", "cannot read the new superblock"),
    ] {
        let temp = tempfile::tempdir().unwrap();
        let failure = format!("stack.flakey.failure={failure}");
        let (run, _) = run(
            temp.path(),
            "uml",
            "256m",
            "ext4",
            &[
                "device=flakey",
                "stack.flakey.up_seconds=0",
                "stack.flakey.down_seconds=3600",
                &failure,
            ],
        );
        let Status::Failed(_, message) = &run.trials[0].status else {
            panic!("{failure}: {:?}", run.trials[0].status);
        };
        assert!(message.contains(says), "{failure}: {message}");
    }
}

#[test]
fn memory_and_whole_disks_carry_filesystems_needs_qemu() {
    if !can("qemu") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let (run, text) = run(
        temp.path(),
        "qemu",
        "256m",
        "ext4",
        &["device=['null_blk-1ms', 'raid0x11']"],
    );
    let trials = by_level(&run);
    let null = trials["ext4 null_blk-1ms"];
    assert!(
        null.mounted
            .as_ref()
            .unwrap()
            .device
            .starts_with("/dev/nullb")
    );
    assert_eq!(
        fact(null, "stack"),
        "null_blk in memory, 1000 us a request, 100 MiB/s"
    );
    assert!(null.members.is_empty());
    let array = trials["ext4 raid0x11"];
    assert_eq!(fact(array, "members_are"), "block devices");
    assert_eq!(fact(array, "members").split(' ').count(), 11);
    assert!(text.contains("null_blk in memory"), "{text}");
}

#[test]
fn a_kernel_without_the_device_is_refused_before_anything_is_made_needs_root() {
    if !testkit::root!() {
        return;
    }
    if Path::new("/proc/mdstat").exists() {
        testkit::skip!("this kernel has md");
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let mut line: Vec<&str> = SMALL.to_vec();
    line.extend([
        "--set",
        "device=raid0x11",
        "--executor",
        "host",
        "--out",
        "run",
    ]);
    let output = run_in(temp.path(), &line);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let line = error_line(&output);
    assert!(line.contains("md") && line.contains("--executor"), "{line}");
    assert!(!temp.path().join("run").exists());
}
