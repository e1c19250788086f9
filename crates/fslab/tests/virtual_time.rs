//! `--virtual-time`: two runs of one trial take the same time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::guests::{can, with};
use common::{assert_code, run_in, stderr};
use record::{Run, Status};

/// All phases of two runs of one trial agree within this share. What differs is where the guest's kernel puts
/// things and when its disk's timer meets its other work: 0.5 to 0.6 % in the runs that were measured.
const WITHIN: f64 = 0.02;

/// Seconds of each phase of a run's only trial.
fn phases(folder: &Path, out: &str) -> BTreeMap<String, f64> {
    let arguments = with(&[
        "--executor",
        "qemu",
        "--virtual-time",
        "--seed",
        "7",
        "--set",
        "device.size=96m",
        "--set",
        "compilebench.scale=0.004",
        "--out",
        out,
    ]);
    let output = run_in(folder, &arguments);
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 7)), "{code:?}: {}", stderr(&output));
    let run = Run::load(&folder.join(out)).unwrap();
    assert_eq!(
        run.contexts["start"]["items"]["run.timing"]["value"],
        "virtual"
    );
    assert!(run.target.contains("virtual-time"), "{}", run.target);
    let trial = &run.trials[0];
    assert_eq!(trial.status, Status::Finished, "{}", stderr(&output));
    let report = std::fs::read_to_string(folder.join(out).join("report.txt")).unwrap();
    assert!(report.contains("VIRTUAL"), "{report}");
    let seconds = |phase: &record::Phase| (phase.end_ns - phase.begin_ns) as f64 / 1e9;
    trial
        .phases
        .iter()
        .map(|p| (p.name.clone(), seconds(p)))
        .collect()
}

#[test]
fn two_runs_of_one_trial_take_the_same_time() {
    if !can("qemu") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let (one, other) = (phases(temp.path(), "one"), phases(temp.path(), "other"));
    assert!(!one.is_empty());
    println!("{one:?}\n{other:?}");
    let all = |phases: &BTreeMap<String, f64>| phases.values().sum::<f64>();
    let whole = (all(&one), all(&other));
    assert!((whole.1 / whole.0 - 1.0).abs() < WITHIN, "{whole:?}");
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
