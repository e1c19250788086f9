//! `fslab crash`: images at moments of a log of writes, with logs made here, and one made by a guest's
//! QEMU.

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{assert_code, assert_ran, run_in, stderr, stdout};
use record::{Crash, PowerCut, Run, Status};

const SECTOR: usize = 512;
const BLOCK: usize = 4096;
const FLUSH: u64 = 1;
const MARK: u64 = 8;

/// A log in the format of dm-log-writes and QEMU.
struct Log {
    bytes: Vec<u8>,
    entries: u64,
}

impl Log {
    fn new() -> Log {
        Log {
            bytes: vec![0; SECTOR],
            entries: 0,
        }
    }

    fn entry(&mut self, sector: usize, data: &[u8], flags: u64, text: &str) {
        let mut head = vec![0; SECTOR];
        let words = [
            sector as u64,
            (data.len() / SECTOR) as u64,
            flags,
            text.len() as u64,
        ];
        for (n, word) in words.iter().enumerate() {
            head[n * 8..][..8].copy_from_slice(&word.to_le_bytes());
        }
        head[32..32 + text.len()].copy_from_slice(text.as_bytes());
        self.bytes.extend(head);
        self.bytes.extend(data);
        self.entries += 1;
    }

    fn write(mut self, path: &Path) {
        let words = [0x006a_7366_7773_6872, 1, self.entries, SECTOR as u64];
        for (n, word) in words.iter().enumerate() {
            self.bytes[n * 8..][..8].copy_from_slice(&word.to_le_bytes());
        }
        fs::write(path, self.bytes).unwrap();
    }
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {output:?}"
    );
}

/// An ext2 filesystem, before and after a file is written to it.
fn before_and_after(folder: &Path) -> (PathBuf, PathBuf) {
    let (before, after) = (folder.join("before"), folder.join("after"));
    fs::File::create(&before)
        .unwrap()
        .set_len(16 << 20)
        .unwrap();
    run(
        "mke2fs",
        &["-qF", "-t", "ext2", "-b", "4096", before.to_str().unwrap()],
    );
    fs::copy(&before, &after).unwrap();
    let file = folder.join("file");
    fs::write(&file, vec![b'x'; 300_000]).unwrap();
    let request = format!("write {} file", file.display());
    run("debugfs", &["-w", "-R", &request, after.to_str().unwrap()]);
    (before, after)
}

/// The log of the writes between the two, with a flush after every `every` blocks and at the end.
fn difference(before: &Path, after: &Path, every: usize) -> Log {
    let (before, after) = (fs::read(before).unwrap(), fs::read(after).unwrap());
    let mut log = Log::new();
    log.entry(0, &[], MARK, "mounted");
    let blocks = before.chunks(BLOCK).zip(after.chunks(BLOCK)).enumerate();
    let changed = blocks.filter(|(_, (old, new))| old != new);
    for (n, (number, (_, new))) in changed.enumerate() {
        log.entry(number * BLOCK / SECTOR, new, 0, "");
        if (n + 1) % every == 0 {
            log.entry(0, &[], FLUSH, "");
        }
    }
    log.entry(0, &[], FLUSH, "");
    log
}

fn judged(folder: &Path, more: &[&str]) -> (std::process::Output, Crash) {
    let mut arguments = vec![
        "crash",
        "log",
        "before",
        "--filesystem",
        "ext2",
        "--format",
        "json",
        "--scratch",
        ".",
    ];
    arguments.extend(more);
    let output = run_in(folder, &arguments);
    let crash =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    (output, crash)
}

#[test]
fn a_flush_after_everything_is_clean_and_nothing_is_left() {
    let temp = tempfile::tempdir().unwrap();
    let (before, after) = before_and_after(temp.path());
    let bytes = fs::read(&before).unwrap();
    difference(&before, &after, usize::MAX).write(&temp.path().join("log"));
    let (output, crash) = judged(temp.path(), &["--from-mark", "mounted"]);
    assert_code(&output, 0);
    assert_eq!((crash.judged, crash.clean, crash.from), (1, 1, 1));
    assert_eq!(crash.agreement.unwrap().after, [1, 1]);
    assert_eq!(fs::read(&before).unwrap(), bytes, "the base is only read");
    let mut left: Vec<_> = fs::read_dir(temp.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["after", "before", "file", "log"]);
}

/// A device that flushed while half of a filesystem without journal was written.
#[test]
fn a_flush_in_the_middle_is_damage_and_both_checkers_say_so() {
    let temp = tempfile::tempdir().unwrap();
    let (before, after) = before_and_after(temp.path());
    difference(&before, &after, 3).write(&temp.path().join("log"));
    let (output, crash) = judged(temp.path(), &[]);
    assert_code(&output, 4);
    assert!(crash.damaged > 0 && crash.clean > 0, "{crash:?}");
    assert_eq!(crash.clean + crash.damaged, crash.judged);
    assert_eq!(crash.agreement.unwrap().after, [crash.judged; 2]);
    let first = &crash.damages[0];
    assert_eq!(first.mark.as_deref(), Some("mounted"));
    assert_eq!(first.own_exit, Some(4));
    assert!(
        first.checker.contains('4') && !first.said.is_empty(),
        "{first:?}"
    );
    assert!(!first.own_problems.is_empty());

    // The last moment is complete: evenly spread moments include both ends.
    let (_, two) = judged(temp.path(), &["--most", "2"]);
    assert_eq!((two.boundaries, two.judged), (crash.boundaries, 2));

    // The first image that is not clean can be kept, as the power cut left it.
    let (output, kept) = judged(temp.path(), &["--keep", "bad.img"]);
    assert_code(&output, 4);
    assert_eq!(kept.damaged, 1);
    let check = run_in(temp.path(), &["check", "bad.img"]);
    assert_code(&check, 4);
    let text = run_in(
        temp.path(),
        &["crash", "log", "before", "--filesystem", "ext2"],
    );
    assert!(stdout(&text).contains("Crash check"), "{}", stdout(&text));
}

/// A write that is missing from the log: the images after it are not the filesystem that existed.
#[test]
fn a_write_that_was_dropped_is_found() {
    let temp = tempfile::tempdir().unwrap();
    let (before, after) = before_and_after(temp.path());
    let mut log = difference(&before, &after, usize::MAX);
    // The second write after the mark, of the group descriptor, is redirected to another block.
    let first = SECTOR * 2 + SECTOR + BLOCK;
    let last_sector = ((16_usize << 20) / SECTOR - BLOCK / SECTOR) as u64;
    log.bytes[first..first + 8].copy_from_slice(&last_sector.to_le_bytes());
    log.write(&temp.path().join("log"));
    let (output, crash) = judged(temp.path(), &[]);
    assert_code(&output, 4);
    assert_eq!((crash.damaged, crash.judged), (1, 1));
}

#[test]
fn what_cannot_be_judged_is_refused_in_a_line() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("log"), vec![1; 4096]).unwrap();
    fs::write(temp.path().join("before"), vec![0; 1 << 20]).unwrap();
    let refused = |arguments: &[&str], why: &str| {
        let output = run_in(temp.path(), arguments);
        assert_code(&output, 2);
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    };
    let base = ["crash", "log", "before", "--filesystem", "ext4"];
    refused(&base, "is not a write log");
    refused(
        &["crash", "nothing", "before", "--filesystem", "ext4"],
        "nothing",
    );
    refused(&["crash", "log", "--filesystem", "ext4"], "BASE");
    Log::new().write(&temp.path().join("log"));
    refused(
        &[
            "crash",
            "log",
            "before",
            "--filesystem",
            "ext4",
            "--from-mark",
            "x",
        ],
        "no mark",
    );
    let output = run_in(temp.path(), &base);
    assert_code(&output, 7);
}

/// A study's crash check is refused where no log of writes is available, never skipped silently.
#[test]
fn a_crash_check_without_a_log_is_refused_in_a_line() {
    let temp = tempfile::tempdir().unwrap();
    let wanted = ["plan", "journal", "--set", "crash.enabled=true"];
    let refused = |more: &[&str], why: &str| {
        let output = run_in(temp.path(), &[&wanted, more].concat());
        assert_code(&output, 2);
        let message = stderr(&output);
        assert!(message.contains(why), "{message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    };
    // Only QEMU can log the disk below a device of another layer; and a host may lack device-mapper.
    let below = ["--set", "device=delay"];
    for executor in ["host", "uml"] {
        let more = [&["--executor", executor], &below[..]].concat();
        refused(&more, "run it with --executor qemu");
    }
    refused(&["--executor", "qemu", "--virtual-time"], "device=plain");
    let folder = temp.path().to_str().unwrap();
    let text = run_in(temp.path(), &[&wanted[..], &["--dir", folder]].concat());
    assert!(stdout(&text).contains("crash check"), "{}", stdout(&text));
}

/// QEMU alone logs the disk below a device of another layer, so it is chosen for that, and the plan says why.
#[test]
fn qemu_is_chosen_where_it_alone_keeps_a_log_needs_qemu() {
    if !common::guests::can("qemu") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let output = run_in(
        temp.path(),
        &[
            "plan",
            "journal",
            "--set",
            "crash.enabled=true",
            "--set",
            "device=delay",
        ],
    );
    assert_code(&output, 0);
    let plan = stdout(&output);
    let plan = plan.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        plan.contains("a log of the disk below a device (crash check)"),
        "{plan}"
    );
    assert!(plan.contains("under QEMU"), "{plan}");
}

/// Runs a small study with a crash check of at most twelve moments; returns its only trial.
fn checked(temp: &Path, more: &[&str]) -> Run {
    let crash = ["--out", "run", "--set", "crash.enabled=true", "--set"];
    let all = [&crash[..], &["crash.most=12"], more].concat();
    let output = run_in(temp, &common::guests::with(&all));
    assert_ran(&output);
    common::guests::nothing_is_left(temp);
    Run::load(&temp.join("run")).unwrap()
}

/// Every image of ext4 is clean, both checkers agree, and the log of `writer` matches the disk.
fn survives(temp: &Path, run: &Run, writer: &str) {
    let trial = &run.trials[0];
    assert_eq!(trial.status, Status::Finished, "{:?}", trial.status);
    let whole = trial.evidence.iter().find(|e| e.name == "write_log_whole");
    let whole = whole.unwrap();
    assert_eq!(whole.holds, Some(true), "{whole:?}");
    assert!(whole.detail.contains(writer), "{whole:?}");
    let crash = trial.crash.as_ref().unwrap();
    assert!(crash.judged > 0 && crash.from > 0, "{crash:?}");
    assert_eq!((crash.clean, crash.damaged), (crash.judged, 0), "{crash:?}");
    let agreement = crash.agreement.as_ref().unwrap();
    assert_eq!(agreement.after, [crash.judged; 2], "{agreement:?}");
    assert_eq!(agreement.before, [crash.judged; 2], "{agreement:?}");
    let report = fs::read_to_string(temp.join("run/report.txt")).unwrap();
    assert!(report.contains("Crash check: what a power cut would have left"));
    assert!(report.contains(writer), "{report}");
}

/// A guest's disk is logged by QEMU, and the host judges every flush of the trial.
#[test]
fn a_trial_of_a_guest_survives_a_power_cut_at_any_flush_needs_root_needs_qemu() {
    if !common::is_root() {
        testkit::skip!("needs root");
        return;
    }
    if !common::guests::can("qemu") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let run = checked(temp.path(), &["--executor", "qemu"]);
    survives(temp.path(), &run, "QEMU (blklogwrites)");
}

/// The guest's own kernel logs, by dm-log-writes on a slice of its one disk.
#[test]
fn a_trial_of_user_mode_linux_survives_a_power_cut_at_any_flush_needs_root_needs_uml() {
    if !common::is_root() {
        testkit::skip!("needs root");
        return;
    }
    if !common::guests::can("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let run = checked(temp.path(), &["--executor", "uml"]);
    survives(temp.path(), &run, "dm-log-writes");
    let facts = &run.trials[0].mounted.as_ref().unwrap().device_facts;
    assert_eq!(facts["stack"], "dm-log-writes");
}

/// A log that overflows is reported, and the trial is invalid. A log too small for mkfs's writes fails
/// the trial.
#[test]
fn a_log_that_is_full_is_no_evidence_needs_root_needs_uml() {
    if !common::is_root() {
        testkit::skip!("needs root");
        return;
    }
    if !common::guests::can("uml") {
        return;
    }
    let with = |temp: &Path, size: &str| {
        let size = format!("stack.log_writes.log_size={size}");
        let device = ["--executor", "uml", "--set", "device=log_writes", "--set"];
        checked(temp, &[&device[..], &[&size]].concat())
    };
    let temp = tempfile::tempdir().unwrap();
    let run = with(temp.path(), "64m");
    let trial = &run.trials[0];
    assert_eq!(trial.status, Status::Finished, "{:?}", trial.status);
    let whole = trial.evidence.iter().find(|e| e.name == "write_log_whole");
    let whole = whole.unwrap();
    assert_eq!(whole.holds, Some(false), "{whole:?}");
    assert!(whole.detail.contains("log_size"), "{whole:?}");
    // The part that the log has is still a valid history of the device.
    let crash = trial.crash.as_ref().unwrap();
    assert_eq!(crash.clean, crash.judged, "{crash:?}");

    let temp = tempfile::tempdir().unwrap();
    let run = with(temp.path(), "8m");
    let Status::Failed(_, message) = &run.trials[0].status else {
        panic!("{:?}", run.trials[0].status);
    };
    assert!(message.contains("log_size"), "{message}");
}

/// A run whose power is cut; its only trial.
fn cut(temp: &Path, executor: &str, more: &[&str]) -> Run {
    let crash = ["--executor", executor, "--out", "run", "--set"];
    let method = ["crash.enabled=true", "--set", "crash.method=cut"];
    let output = run_in(
        temp,
        &common::guests::with(&[&crash[..], &method, more].concat()),
    );
    assert_ran(&output);
    common::guests::nothing_is_left(temp);
    Run::load(&temp.join("run")).unwrap()
}

/// The filesystem is clean after recovery, all durable data is there, and there was a power cut.
fn keeps_its_promise(run: &Run) -> &PowerCut {
    let trial = &run.trials[0];
    assert_eq!(trial.status, Status::Finished, "{:?}", trial.status);
    let crash = trial.crash.as_ref().unwrap();
    assert_eq!(
        (crash.judged, crash.clean, crash.damaged),
        (1, 1, 0),
        "{crash:?}"
    );
    let agreement = crash.agreement.as_ref().unwrap();
    assert_eq!(
        (agreement.before, agreement.after),
        ([1, 1], [1, 1]),
        "{agreement:?}"
    );
    let cut = crash.cut.as_ref().unwrap();
    assert_eq!(
        (cut.kept, cut.dropped),
        (Some(cut.promised), Some(true)),
        "{cut:?}"
    );
    let evidence = trial.evidence.iter().find(|e| e.name == "power_cut");
    assert_eq!(evidence.unwrap().holds, Some(true), "{evidence:?}");
    cut
}

fn can_cut(executor: &str) -> bool {
    if !common::is_root() {
        testkit::skip!("needs root");
        return false;
    }
    common::guests::can(executor)
}

/// After a phase everything is synced: it survives the cut, and later writes do not.
#[test]
fn a_power_cut_keeps_all_that_was_synced_and_nothing_more_needs_root_needs_uml() {
    if !can_cut("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let run = cut(temp.path(), "uml", &["--set", "crash.cut_phase=create"]);
    let cut = keeps_its_promise(&run);
    assert!(cut.promised > 100 && cut.read > 100, "{cut:?}");
    assert_eq!(cut.by, "dm-flakey (drop_writes)");
    assert_eq!(
        cut.sync_after, "succeeded",
        "writes are dropped without a word"
    );
    assert_eq!((cut.phase.as_str(), cut.after_seconds), ("create", None));
    let report = fs::read_to_string(temp.path().join("run/report.txt")).unwrap();
    assert!(report.contains("after phase create,"), "{report}");
    assert!(temp.path().join("run/promises/trial-0001.json").is_file());
    // Phases that finished before the cut have their figures.
    let samples = &run.trials[0].samples;
    assert!(
        samples.iter().any(|s| s.phase == "initial_create"),
        "{samples:?}"
    );
}

/// A cut within a phase: data from before the phase is durable, and the workload ends at the cut. A device that
/// returns errors is noticed by the fsync of the file that is written afterwards.
#[test]
fn a_power_cut_within_a_phase_ends_the_workload_needs_root_needs_uml() {
    if !can_cut("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let run = cut(
        temp.path(),
        "uml",
        &[
            "--set",
            "crash.cut_phase=patch",
            "--set",
            "crash.cut_after_ms=0",
            "--set",
            "device=flakey",
            "--set",
            "stack.flakey.failure=error_writes",
        ],
    );
    let cut = keeps_its_promise(&run);
    assert!(cut.promised > 100, "{cut:?}");
    assert_eq!(cut.phase, "patch");
    assert!(cut.after_seconds.is_some(), "{cut:?}");
    assert!(cut.sync_after.contains("error"), "{cut:?}");
    let trial = &run.trials[0];
    let phases: Vec<&str> = trial.samples.iter().map(|s| s.phase.as_str()).collect();
    assert!(!phases.contains(&"patch"), "it has no figures: {phases:?}");
    assert!(
        trial
            .warnings
            .iter()
            .any(|w| w.contains("within phase patch")),
        "{:?}",
        trial.warnings
    );
}

/// A QEMU guest cuts the power of its disk in the same way; without a named phase, after the first.
#[test]
fn a_power_cut_after_the_first_phase_needs_root_needs_qemu() {
    if !can_cut("qemu") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let run = cut(temp.path(), "qemu", &[]);
    let cut = keeps_its_promise(&run);
    assert_eq!(
        (cut.phase.as_str(), cut.after_seconds),
        ("initial_create", None)
    );
}

#[test]
fn a_phase_that_does_not_exist_is_reported_with_those_that_do_needs_root_needs_uml() {
    if !can_cut("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let run = cut(temp.path(), "uml", &["--set", "crash.cut_phase=creat"]);
    let Status::Failed(_, message) = &run.trials[0].status else {
        panic!("{:?}", run.trials[0].status);
    };
    assert!(
        message.contains("cut_phase=creat: the workload has no such phase"),
        "{message}"
    );
    assert!(message.contains("create"), "{message}");
}

#[test]
fn a_moment_without_a_cut_is_refused_in_a_line() {
    let temp = tempfile::tempdir().unwrap();
    for (set, why) in [
        ("crash.cut_phase=create", "needs method = 'cut'"),
        ("crash.cut_after_ms=5", "needs method = 'cut'"),
    ] {
        let output = run_in(temp.path(), &["plan", "journal", "--set", set]);
        assert_code(&output, 2);
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
}
