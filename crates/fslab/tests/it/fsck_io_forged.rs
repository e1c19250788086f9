//! The study `fsck-io` on forged volumes: OCFS2's own structures read by every reader on the host, without a mount, and what is refused.

use crate::common;

use std::fmt::Write as _;
use std::path::Path;

use common::checked::sound;
use common::{Scratch, assert_code, error_line, is_root, run_in, stderr, stdout, whole_report};
use record::{Run, Status, TrialRecord};

/// 4,000 files of the population of 2011, and 521 cluster groups in 243 chains.
const FORGED: &str = "run fsck-io --profile demo --set files=4000 \
     --set run.reference_seconds=0 --out out";

fn fslab(scratch: &Scratch, words: &str) -> std::process::Output {
    let words: Vec<&str> = words.split_whitespace().collect();
    run_in(scratch.path(), &words)
}

/// Whether root runs this and OCFS2's programs are here; else the line that says what is missing.
fn can() -> bool {
    let programs = ["mkfs.ocfs2", "fsck.ocfs2"];
    let folders = ["/usr/local/sbin", "/usr/sbin", "/sbin"];
    let there = |program: &&str| folders.iter().any(|f| Path::new(f).join(program).exists());
    match programs.into_iter().find(|program| !there(program)) {
        _ if !is_root() => false,
        Some(program) => {
            testkit::skip!("needs {program}");
            false
        }
        None => true,
    }
}

fn sample(trial: &TrialRecord, phase: &str, metric: &str) -> Option<f64> {
    let mut samples = trial.samples.iter();
    let found = samples.find(|s| s.phase == phase && s.metric == metric);
    found.map(|sample| sample.value)
}

/// The only trial of a workload.
fn trial<'a>(run: &'a Run, workload: &str) -> &'a TrialRecord {
    let of = |slot: &&study::Slot| run.plan.cells[slot.cell as usize].workload_name == workload;
    let slot = run.plan.slots.iter().find(of).unwrap();
    &run.trials[slot.trial as usize]
}

/// Bytes and requests of each pass of the sets, which the same seed makes the same everywhere.
fn moved(run: &Run) -> String {
    let mut table = format!(
        "{:<6} {:<5} {:>10} {:>10} {:>9} {:>8}\n",
        "set", "pass", "disk", "cache", "requests", "objects"
    );
    for set in ["set-1", "set-2", "set-3", "set-4"] {
        for pass in ["0a", "0b", "0c", "1", "2"] {
            let of =
                |metric| sample(trial(run, set), &format!("scan_pass_{pass}"), metric).unwrap();
            let _ = writeln!(
                table,
                "{set:<6} {pass:<5} {:>10} {:>10} {:>9} {:>8}",
                of("disk_bytes"),
                of("cache_bytes"),
                of("requests"),
                of("objects")
            );
        }
    }
    table
}

#[test]
fn every_reader_reads_a_forged_volume_of_2011_needs_root() {
    if !can() {
        return;
    }
    let scratch = Scratch::new();
    let output = fslab(&scratch, &format!("{FORGED} --filter limit=none"));
    let run = sound(&scratch, &output);
    // Six readers, and two switches with a small and a large cache.
    assert_eq!(run.plan.cells.len(), 6 + 8);
    for record in &run.trials {
        assert_eq!(record.status, Status::Finished, "{}", stderr(&output));
        let mounted = record.mounted.as_ref().unwrap();
        assert_eq!(
            (mounted.mounted_type.as_str(), mounted.mkfs[2].as_str()),
            ("", "ocfs2")
        );
    }
    // One image for all.
    let forged = run
        .trials
        .iter()
        .filter(|t| sample(t, "forge", "seconds").is_some());
    assert_eq!(forged.count(), 1);
    insta::assert_snapshot!(moved(&run));
    same_volume(&run);
    says_so(&scratch, &whole_report(&scratch.join("out")));
    assert!(
        std::fs::read_dir(scratch.join("out/images")).map_or(true, |mut all| all.next().is_none())
    );
    scratch.assert_nothing_left();
}

/// The program, whose figures are its own, reads what the model of its last set reads.
fn same_volume(run: &Run) {
    let mib = f64::from(1 << 20);
    let fsck = trial(run, "fsck-ocfs2");
    for pass in ["0a", "0b", "0c", "1", "2"] {
        let phase = format!("scan_pass_{pass}");
        let model = sample(trial(run, "set-4"), &phase, "disk_bytes").unwrap();
        let program = sample(fsck, &phase, "disk_bytes").unwrap();
        // It prints MB rounded up, and pass 1 looks a few blocks up besides.
        assert!(
            (program - model).abs() <= 2.0 * mib,
            "{pass}: {program} and {model}"
        );
    }
    for pass in ["3", "4a", "4b"] {
        assert!(sample(fsck, &format!("scan_pass_{pass}"), "seconds").is_some());
    }
    // The share of the metadata is a bound; half of the least that it can lock is 1 MiB.
    let metadata = sample(trial(run, "set-1"), "scan", "metadata_bytes").unwrap();
    let cache = sample(fsck, "scan", "cache_size").unwrap();
    assert!(
        cache <= (0.15 * metadata).max(2.0 * mib) + mib,
        "{cache} of {metadata}"
    );
    // Every inode once.
    let check = trial(run, "fslab-check");
    let inodes = |trial| sample(trial, "scan_pass_1", "disk_bytes").unwrap();
    assert!(inodes(check) < 1.1 * inodes(trial(run, "set-3")));
    assert_eq!(sample(check, "scan", "faults"), Some(0.0));
}

fn says_so(scratch: &Scratch, mail: &str) {
    let words = mail.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [
        "ocfs2 on the disk as it is",
        "Pass 0c: Checking extent block allocation chains",
        "written by `fslab forge`",
        "Read by fsck.ocfs2 itself",
        "Beside Mushran 2011",
        "precache doubles the bytes from disk of passes 0b and 1",
    ] {
        assert!(words.contains(text), "{text}: {mail}");
    }
    assert!(!mail.contains("FAILS"), "{mail}");
    assert_code(&fslab(scratch, "report out --format html -o page.html"), 0);
    let page = std::fs::read_to_string(scratch.join("page.html")).unwrap();
    assert!(page.contains("extent block groups") && page.contains("fsck.ocfs2"));
    let json = stdout(&fslab(scratch, "report out --format json"));
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let sets = report["scan"]["groups"][0]["sets"].as_array().unwrap();
    let readers: Vec<&str> = sets
        .iter()
        .map(|set| set["reader"].as_str().unwrap())
        .collect();
    assert_eq!(
        readers,
        [
            "model",
            "model",
            "model",
            "model",
            "fslab check",
            "fsck.ocfs2"
        ]
    );
    assert!(sets.iter().all(|set| set["forged"] == true));
    let of_first = |pass: usize| &sets[0]["passes"][pass];
    assert_eq!(of_first(2)["pass"], "0c");
    assert_eq!(of_first(3)["published"]["2011-09-16"]["disk_mb"], 6532.0);
    for law in report["scan"]["laws"].as_array().unwrap() {
        let cases = law["cases"].as_array().unwrap();
        assert!(!cases.is_empty(), "{law}");
        // One trial of each gives no verdict on time.
        let holds = match law["id"].as_str() {
            Some("precache-large-cache") => serde_json::Value::Null,
            _ => true.into(),
        };
        assert!(cases.iter().all(|case| case["holds"] == holds), "{law}");
    }
}

/// ext4 is forged by the same switch, and a fill is then only checked.
#[test]
fn a_fill_is_forged_and_checked_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    std::fs::write(scratch.join("own.toml"), OWN).unwrap();
    let output = fslab(&scratch, "run own.toml --out out");
    let run = sound(&scratch, &output);
    assert_eq!(run.trials.len(), 2);
    for record in &run.trials {
        assert_eq!(record.status, Status::Finished, "{}", stderr(&output));
        // 600 files, their 20 directories, the root, lost+found and the reserved inodes.
        assert!(sample(record, "check", "inodes_used").unwrap() >= 622.0);
        assert_eq!(sample(record, "fill", "seconds"), None);
    }
    scratch.assert_nothing_left();
}

const OWN: &str = r#"
include = ["defaults.toml"]
name = "own"
title = "A check of a forged filesystem"
volume = "forged"

[factors]
filesystem = ["ext4"]

[device]
size = "64m"

[run]
blocks = 2
reference_seconds = 0

[check]
enabled = true

[[workload]]
name = "fill"
kind = "fill"
files = 300
processes = 2
size = "1k"
directories = 20
per_directory = 30
keep = true
"#;

#[test]
fn what_cannot_be_forged_is_refused_before_anything_is_made_needs_root() {
    if !can() {
        return;
    }
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join("target")).unwrap();
    let forged = "run fsck-io --profile quick --set volume=forged --out out";
    for (words, needed) in [
        ("--set filesystem=xfs", "know no XFS"),
        (
            "--set filesystem=btrfs",
            "fslab forge writes ext2, ext3, ext4, xfs, ocfs2",
        ),
        (
            "--set filesystem=ocfs2 --dir target",
            "leave out --device, --dir",
        ),
        ("--set filesystem=ocfs2 --executor uml", "read on the host"),
        (
            "--set filesystem=ocfs2 --set filesystem.ocfs2.mkfs=--cluster-stack=pcmk",
            "no counterpart",
        ),
        ("--set set-1.population=paper-2011", "one of OCFS2"),
    ] {
        let output = fslab(&scratch, &format!("{forged} {words}"));
        assert_code(&output, 2);
        let message = error_line(&output);
        assert!(message.contains(needed), "{words}: {message}");
        assert!(!scratch.join("out").exists(), "{words}");
    }
    scratch.assert_nothing_left();
}

/// The volume of 2011 takes 65 GB of disk.
#[test]
fn a_disk_without_room_is_reported_before_the_run_needs_root() {
    if !can() {
        return;
    }
    let scratch = Scratch::new();
    let folder = scratch.join("small");
    std::fs::create_dir(&folder).unwrap();
    let status = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64m", "tmpfs"])
        .arg(&folder)
        .status();
    if !status.is_ok_and(|status| status.success()) {
        testkit::skip!("cannot mount a tmpfs");
        return;
    }
    let output = fslab(&scratch, "run fsck-io --profile paper-2011 --out small/out");
    let unmounted = std::process::Command::new("umount").arg(&folder).status();
    assert!(unmounted.is_ok_and(|status| status.success()));
    assert_code(&output, 2);
    let line = error_line(&output);
    assert!(
        line.contains("its image would take 70.2 GB and small has 0.1 GB free"),
        "{line}"
    );
}
