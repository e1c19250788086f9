//! `--virtual-time`: two runs of one trial take the same nanoseconds.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use common::guests::{can, with};
use common::{assert_code, assert_ran, fslab, run_in, stderr};
use record::{Run, Status};

/// What a replay of a trial's trace may be apart from the trial.
const REPLAYED_WITHIN: f64 = 0.05;

/// A run of one trial in virtual time.
fn virtual_run<'a>(study: &[&'a str], out: &'a str) -> Vec<&'a str> {
    let more = [
        "--executor",
        "qemu",
        "--virtual-time",
        "--seed",
        "7",
        "--set",
        "compilebench.scale=0.004",
        "--out",
        out,
    ];
    [study, &more].concat()
}

/// Nanoseconds of each phase of a run's trials, by the trial's levels.
fn phases(folder: &Path, study: &[&str], out: &str) -> BTreeMap<String, u64> {
    let output = run_in(folder, &virtual_run(study, out));
    assert_ran(&output);
    let run = Run::load(&folder.join(out)).unwrap();
    assert_eq!(
        run.contexts["start"]["items"]["run.timing"]["value"],
        "virtual"
    );
    assert!(run.target.contains("virtual-time"), "{}", run.target);
    let report = std::fs::read_to_string(folder.join(out).join("report.txt")).unwrap();
    assert!(report.contains("VIRTUAL"), "{report}");
    let mut times = BTreeMap::new();
    for slot in &run.plan.slots {
        let trial = &run.trials[slot.trial as usize];
        assert_eq!(trial.status, Status::Finished, "{}", stderr(&output));
        // A modelled disk's server is in the same time: that it answers when its model says does not depend on this machine.
        let mut evidence = trial.evidence.iter();
        if let Some(served) = evidence.find(|e| e.name == "modelled_disk_in_time") {
            assert_eq!(served.holds, Some(true), "{served:?}");
        }
        let levels = &run.plan.cells[slot.cell as usize].levels;
        for phase in &trial.phases {
            let name = format!("{levels:?} {}", phase.name);
            times.insert(name, phase.end_ns - phase.begin_ns);
        }
    }
    times
}

/// Nanoseconds by which a phase may differ where QEMU's main thread may not go first (docs/guest.md).
const UNPRIVILEGED: u64 = 1000;

/// Whether this process may use the real-time class, as QEMU's main thread does.
fn may_go_first() -> bool {
    let chrt = Command::new("chrt").args(["--fifo", "1", "true"]).status();
    chrt.is_ok_and(|status| status.success())
}

/// Runs a study twice and compares the phases of its trials. What else the host does must not matter: the two run at the same time.
fn take_the_same_time(study: &[&str], trials: usize) {
    // The guest sees neither the path nor the name of the run.
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let there = there.path().join("a-folder-whose-name-is-longer");
    std::fs::create_dir(&there).unwrap();
    let (one, other) = std::thread::scope(|scope| {
        let one = scope.spawn(|| phases(here.path(), study, "one"));
        let other = phases(&there, study, "the-other");
        (one.join().unwrap(), other)
    });
    println!("{one:?}");
    let of_a_trial = |name: &String| name.rsplit_once(' ').map(|(levels, _)| levels.to_owned());
    let compared: BTreeSet<_> = one.keys().filter_map(of_a_trial).collect();
    assert_eq!(compared.len(), trials, "{one:?}");
    if may_go_first() {
        assert_eq!(one, other);
        return;
    }
    assert!(one.keys().eq(other.keys()));
    for (name, time) in &one {
        let apart = time.abs_diff(other[name]);
        assert!(apart < UNPRIVILEGED, "{name}: {one:?} {other:?}");
    }
}

#[test]
fn two_runs_of_one_trial_take_the_same_time_needs_qemu() {
    if can("qemu") {
        take_the_same_time(&with(&["--set", "device.size=96m"]), 1);
    }
}

/// A study on a modelled disk: the server is in the guest, and its answers are timers of the guest's clock.
const ON_A_MODEL: [&str; 12] = [
    "run",
    "journal",
    "--profile",
    "quick",
    "--filter",
    "workload=compilebench",
    "--blocks",
    "1",
    "--set",
    "device=model:7k500",
    "--set",
    "device.size=320m",
];

/// Names of the cache's kernels that run here in QEMU.
fn kernels() -> Vec<String> {
    let probe = fslab()
        .args(["kernel", "probe", "qemu", "--format", "json"])
        .output()
        .unwrap();
    let answers: serde_json::Value = serde_json::from_slice(&probe.stdout).unwrap();
    let answers = answers["probes"].as_array().unwrap().iter();
    let work = answers.filter(|answer| answer["outcome"] == "works");
    let names = work.map(|answer| answer["kernel"].as_str().unwrap().to_owned());
    let names: BTreeSet<String> = names.collect();
    names.into_iter().collect()
}

#[test]
fn on_a_modelled_disk_too_with_ext4_and_xfs_in_each_kernel_needs_qemu() {
    if !can("qemu") {
        return;
    }
    // One that is fetched, 6.1, and what else there is: Debian's 6.12, as a rule.
    let kernels = kernels();
    assert!(!kernels.is_empty());
    let all = kernels.join(",");
    let more = ["--filter", "filesystem=ext4,xfs", "--kernel", &all];
    let study = [&ON_A_MODEL[..], &more].concat();
    take_the_same_time(&study, 2 * kernels.len());
}

/// A disk of 2 GiB does not fit a guest's 2 GiB of memory: its bytes are in persistent memory, a sparse file of the host. A fill and
/// a check of it take about as long as their trace does on the model.
#[test]
fn a_larger_modelled_disk_is_in_persistent_memory_and_its_trace_takes_as_long_needs_qemu() {
    if !can("qemu") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let study = [
        &ON_A_MODEL[..],
        &[
            "--filter",
            "filesystem=ext4",
            "--set",
            "device.size=2g",
            "--set",
            "check=true",
            "--set",
            "trace=true",
        ],
    ]
    .concat();
    let phases = phases(temp.path(), &study, "large");
    assert!(phases.values().sum::<u64>() > 1_000_000_000, "{phases:?}");
    let run = Run::load(&temp.path().join("large")).unwrap();
    let facts = &run.trials[0].mounted.as_ref().unwrap().device_facts;
    assert_eq!(facts["store"], "persistent memory");
    // The file has no name, so it went with the machine.
    let images = temp.path().join("large/images");
    let left = std::fs::read_dir(images).map_or(0, Iterator::count);
    assert_eq!(left, 0);
    let words = ["--device", "7k500", "--format", "json"];
    let replayed = run_in(
        temp.path(),
        &[&["replay", "large/traces/trial-0001"], &words[..]].concat(),
    );
    assert_ran(&replayed);
    let replayed: serde_json::Value = serde_json::from_slice(&replayed.stdout).unwrap();
    let row = &replayed["devices"][0]["rows"][0];
    let modelled = row["modelled"]["nominal_s"].as_f64().unwrap();
    let recorded = row["recorded_s"].as_f64().unwrap();
    println!("{modelled} s modelled, {recorded} s recorded");
    assert!((modelled / recorded - 1.0).abs() < REPLAYED_WITHIN, "{row}");
}

#[test]
fn virtual_time_is_qemus_alone() {
    let temp = tempfile::tempdir().unwrap();
    let output = run_in(temp.path(), &with(&["--executor", "uml", "--virtual-time"]));
    assert_code(&output, 2);
    assert!(
        stderr(&output).contains("virtual time is QEMU's alone"),
        "{}",
        stderr(&output)
    );
}
