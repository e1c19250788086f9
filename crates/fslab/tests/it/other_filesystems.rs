//! OCFS2 and f2fs, end to end by the binary: made, filled, checked in User-mode Linux, compared in a report, and
//! refused where the machine's own kernel has no driver.

use crate::common;

use std::fs;
use std::path::Path;

use common::guests;
use common::{assert_code, assert_ran, error_line, run_in, stdout};
use record::{Run, Status, TrialRecord};

/// Both, filled with a few files and checked.
const STUDY: &str = r#"
include = ["defaults.toml"]
name = "others"
title = "OCFS2 and f2fs"
question = "Are they filled and checked?"

[factors]
filesystem = ["ocfs2", "f2fs"]

[device]
size = "256m"

[run]
blocks = 1

[check]
enabled = true

[[workload]]
name = "fill"
kind = "fill"
files = 300
processes = 1
size = "1k"
directories = 10
per_directory = 30
keep = true
"#;

/// The first of the programs that is not here.
fn missing_program() -> Option<&'static str> {
    let programs = ["mkfs.ocfs2", "fsck.ocfs2", "mkfs.f2fs", "fsck.f2fs"];
    let folders = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin"];
    let there = |program: &&str| folders.iter().any(|f| Path::new(f).join(program).exists());
    programs.into_iter().find(|program| !there(program))
}

/// Whether the running kernel has OCFS2, or would load it.
fn kernel_has_ocfs2() -> bool {
    let release = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    let lists = [
        "/proc/filesystems".into(),
        format!("/lib/modules/{release}/modules.dep"),
    ];
    let text = |path: &String| fs::read_to_string(path).unwrap_or_default();
    lists.iter().any(|path| text(path).contains("ocfs2"))
}

/// Whether User-mode Linux and the programs are here; else the line that says what to install.
fn can() -> bool {
    if !guests::can("uml") {
        return false;
    }
    let missing = missing_program();
    if let Some(program) = missing {
        assert!(std::env::var_os("FSLAB_NEED_GUESTS").is_none(), "{program}");
        testkit::skip!("needs {program}");
    }
    missing.is_none()
}

fn sample(trial: &TrialRecord, phase: &str, metric: &str) -> Option<f64> {
    let mut samples = trial.samples.iter();
    let found = samples.find(|sample| sample.phase == phase && sample.metric == metric);
    found.map(|sample| sample.value)
}

/// What a checker printed: one file for each trial.
fn kept(run: &Path, number: usize) -> String {
    let mut files: Vec<_> = fs::read_dir(run.join("checks"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    fs::read_to_string(&files[number]).unwrap()
}

#[test]
fn both_are_made_filled_and_checked_in_user_mode_linux_needs_uml() {
    if !can() {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("others.toml"), STUDY).unwrap();
    let words = ["run", "others.toml", "--executor", "uml", "--out", "run"];
    let output = run_in(temp.path(), &words);
    assert_ran(&output);
    let dir = temp.path().join("run");
    let run = Run::load(&dir).unwrap();
    assert_eq!(run.trials.len(), 2);
    for (number, trial) in run.trials.iter().enumerate() {
        assert_eq!(trial.status, Status::Finished);
        let mounted = trial.mounted.as_ref().unwrap();
        assert!(sample(trial, "check", "seconds").unwrap() > 0.0);
        let failed: Vec<_> = trial
            .evidence
            .iter()
            .filter(|e| e.name == "passes_seen")
            .collect();
        assert!(failed.iter().all(|e| e.holds == Some(true)), "{failed:?}");
        // It wrote on a terminal, so its lines came as it wrote them.
        let mut doubts = trial.evidence.iter();
        let piped = doubts.find(|e| e.name == "boundaries_exact");
        assert_eq!(piped, None);
        match mounted.mounted_type.as_str() {
            "ocfs2" => {
                assert_eq!(mounted.mkfs[1..4], ["-F", "-M", "local"]);
                assert!(mounted.options.iter().any(|word| word == "heartbeat=none"));
                assert!(mounted.superblock["features_incompat"].starts_with("local sparse"));
                for pass in ["0a", "0b", "0c", "1", "2", "3", "4a", "4b"] {
                    let seconds = sample(trial, &format!("check_pass_{pass}"), "reported_seconds");
                    assert!(seconds.is_some(), "{pass}");
                }
                let cache = sample(trial, "check", "cache_size").unwrap();
                assert!(cache >= f64::from(1 << 20), "{cache}");
                // 300 files, their 10 directories and OCFS2's own.
                assert!(sample(trial, "check", "inodes_used").unwrap() >= 311.0);
                let printed = kept(&dir, number);
                assert!(printed.contains("All passes succeeded."), "{printed}");
            }
            "f2fs" => {
                assert_eq!(mounted.driver, "f2fs");
                assert_eq!(mounted.superblock["segment_bytes"], "2097152");
                assert!(sample(trial, "check_pass_1", "seconds").is_some());
                assert!(sample(trial, "check_pass_2", "seconds").is_some());
                let printed = kept(&dir, number);
                assert!(
                    printed
                        .contains("[FSCK] other corrupted bugs                           [Ok..]")
                );
            }
            other => panic!("{other}"),
        }
    }
    let report = stdout(&run_in(temp.path(), &["report", "run", "--full"]));
    for word in ["ocfs2", "f2fs", "heartbeat=none", "emulated"] {
        assert!(report.contains(word), "{word} is not in\n{report}");
    }
}

#[test]
fn fsck_ocfs2_reads_beside_the_model_needs_uml() {
    if !can() {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let words = [
        "run",
        "fsck-io",
        "--profile",
        "quick",
        "--blocks",
        "1",
        "--executor",
        "uml",
        "--out",
        "run",
        "--set",
        "filesystem=ext4-scattered,ocfs2",
        "--set",
        "limit=none",
        "--set",
        "device.size=2g",
        "--filter",
        "workload=set-4,fsck-ocfs2",
        "--set",
        "files=500",
        "--set",
        "chains=4",
    ];
    let output = run_in(temp.path(), &words);
    assert_ran(&output);
    let dir = temp.path().join("run");
    let run = Run::load(&dir).unwrap();
    // ext4 by the model, OCFS2 by the model and by its program.
    assert_eq!(run.trials.len(), 3);
    let is_ocfs2 = |trial: &&TrialRecord| {
        let mounted = trial.mounted.as_ref().unwrap();
        mounted.mounted_type == "ocfs2" && sample(trial, "scan_pass_4b", "seconds").is_some()
    };
    let ocfs2 = run.trials.iter().find(is_ocfs2).unwrap();
    // An inode is a block of 4 KiB or 2 KiB: 500 of them are more than 0.9 MiB.
    assert!(sample(ocfs2, "scan_pass_1", "disk_bytes").unwrap() >= f64::from(1 << 20));
    assert!(sample(ocfs2, "scan_pass_1", "requests").unwrap() > 0.0);
    for pass in ["0a", "0b", "0c", "1", "2", "3", "4a", "4b"] {
        let phase = format!("scan_pass_{pass}");
        assert!(sample(ocfs2, &phase, "seconds").is_some(), "{pass}");
        assert!(sample(ocfs2, &phase, "cache_bytes").is_some(), "{pass}");
    }
    let report = stdout(&run_in(temp.path(), &["report", "run", "--full"]));
    for words in [
        "fsck.ocfs2:",
        "ocfs2 on the disk as it is",
        "Read by fsck.ocfs2 itself",
        "Pass 4b: Checking inodes link counts",
        "ext4-scattered on the disk as it is",
        "Read by fslab's model of fsck.ocfs2",
    ] {
        assert!(report.contains(words), "{words} is not in\n{report}");
    }
    let json = stdout(&run_in(temp.path(), &["report", "run", "--format", "json"]));
    for reader in ["model", "fsck.ocfs2"] {
        assert!(
            json.contains(&format!("\"reader\": \"{reader}\"")),
            "{reader}"
        );
    }
}

#[test]
fn a_kernel_without_the_driver_names_the_guests_needs_root() {
    if !rustix::process::geteuid().is_root() || kernel_has_ocfs2() || missing_program().is_some() {
        testkit::skip!("needs root, a kernel without OCFS2, and the programs");
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("others.toml"), STUDY).unwrap();
    let words = ["run", "others.toml", "--executor", "host", "--out", "run"];
    let output = run_in(temp.path(), &words);
    assert_code(&output, 2);
    let line = error_line(&output);
    assert!(line.contains("ocfs2"), "{line}");
    assert!(!temp.path().join("run").exists(), "nothing is made");
}
