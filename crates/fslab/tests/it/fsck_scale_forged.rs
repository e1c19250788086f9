//! The study `fsck-scale` on forged volumes: each is checked by its own program and by `fslab check`, and one that does not fit is left out.

use crate::common;

use std::path::Path;

use common::checked::sound;
use common::{Scratch, assert_code, is_root, run_in, stderr, stdout, whole_report};
use record::{FailureKind, Run, Status, TrialRecord};

fn fslab(scratch: &Scratch, words: &str) -> std::process::Output {
    let words: Vec<&str> = words.split_whitespace().collect();
    run_in(scratch.path(), &words)
}

/// Whether root runs this and XFS's programs are here; else the line that says what is missing.
fn can() -> bool {
    let folders = ["/usr/local/sbin", "/usr/sbin", "/sbin"];
    let there = |program: &str| folders.iter().any(|f| Path::new(f).join(program).exists());
    if !is_root() {
        return false;
    }
    if !there("mkfs.xfs") || !there("xfs_repair") {
        testkit::skip!("needs mkfs.xfs and xfs_repair");
        return false;
    }
    true
}

fn sample(trial: &TrialRecord, phase: &str, metric: &str) -> Option<f64> {
    let mut samples = trial.samples.iter();
    let found = samples.find(|s| s.phase == phase && s.metric == metric);
    found.map(|sample| sample.value)
}

#[test]
fn every_cell_is_checked_by_both_programs_needs_root() {
    if !can() {
        return;
    }
    let scratch = Scratch::new();
    let words = "run fsck-scale --profile forged --filter device_size=30199m --set run.reference_seconds=0 --out out";
    let output = fslab(&scratch, words);
    let run = sound(&scratch, &output);
    // Four fills of two filesystems, and the aged XFS.
    assert_eq!(run.trials.len(), (4 * 2 + 1) * 2, "{}", stderr(&output));
    for record in &run.trials {
        assert_eq!(record.status, Status::Finished, "{}", stderr(&output));
        let inodes = sample(record, "forge", "count").unwrap();
        assert!(inodes > 800.0 && sample(record, "check", "seconds").is_some());
        assert!(sample(record, "check", "peak_rss").unwrap() > 1e6);
        assert!(sample(record, "check_pass_3", "seconds").is_some());
    }
    // One image for both programs, and the second reads what the first has read.
    for pair in run.trials.chunks(2) {
        let written = |trial| sample(trial, "forge", "seconds").is_some();
        assert_eq!((written(&pair[0]), written(&pair[1])), (true, false));
        let seeks = |trial| sample(trial, "check", "seeks");
        assert!(seeks(&pair[0]).is_none() && seeks(&pair[1]).is_some());
    }
    says_so(&scratch, &whole_report(&scratch.join("out")));
    scratch.assert_nothing_left();
}

fn says_so(scratch: &Scratch, mail: &str) {
    let words = mail.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [
        "checker=fslab device_size=30199m",
        "Fragmented case",
        "Passes of the check",
        "Forging",
    ] {
        assert!(words.contains(text), "{text}: {mail}");
    }
    // No kernel has filled anything.
    for text in ["The fill", "Counted", "Files counted"] {
        assert!(!words.contains(text), "{text}: {mail}");
    }
    let json = stdout(&fslab(scratch, "report out --format json"));
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let laws = report["growth"][0]["curves"].as_array().unwrap();
    assert_eq!(
        laws.len(),
        4,
        "a law for each filesystem and checker: {laws:?}"
    );
}

/// 420 million files on XFS take 140 GB: where the disk is smaller, that cell is not run and says so, and the others are.
#[test]
fn what_does_not_fit_the_disk_is_left_out_needs_root() {
    if !can() {
        return;
    }
    let scratch = Scratch::new();
    let free = rustix::fs::statvfs(scratch.path()).unwrap();
    if free.f_bavail * free.f_frsize > 130_000_000_000 {
        testkit::skip!("needs a disk with less than 130 GB free");
        return;
    }
    let words = "run fsck-scale --profile paper-forged --filter filesystem=xfs --filter memory=none --filter checker=fslab \
         --filter workload=fill --filter device_size=72t --filter total_files=420000000,6000 \
         --set fill.total_files=[420000000,6000] --set fill.size=70000 --set run.reference_seconds=0 --out out";
    let output = fslab(&scratch, words);
    assert_code(&output, 7);
    let run = Run::load(&scratch.join("out")).unwrap();
    assert_eq!(run.trials.len(), 2, "{}", stderr(&output));
    let Status::Failed(FailureKind::Cell, why) = &run.trials[0].status else {
        panic!("{:?}", run.trials[0].status);
    };
    assert!(
        why.contains("its image would take 1") && why.contains("GB free"),
        "{why}"
    );
    assert_eq!(run.trials[1].status, Status::Finished);
    assert!(whole_report(&scratch.join("out")).contains("its image would take"));
    scratch.assert_nothing_left();
}
