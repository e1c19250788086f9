//! Streams and fills with the check after them: under limits, with checkers that fail in every way,
//! killed and resumed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::{Scratch, assert_code, error_line, fslab, is_root, run_in, stderr, stdout};
use record::{Run, Status};

/// A study of one small stream and one small fill, each checked.
const CHECKED: &str = r#"
name = "checked"
title = "A study for tests"
question = "Is what was written still a filesystem?"
include = ["defaults.toml"]

[run]
blocks = 1
seed = 7
reference_seconds = 0

[device]
size = "320m"

[check]
enabled = true
timeout_seconds = 60

[filesystem.ext4]
mkfs = ["-E", "lazy_itable_init=0,lazy_journal_init=0"]

[factors]
filesystem = [FILESYSTEMS]
"#;

const STREAM: &str = r#"
[[workload]]
name = "aiod"
kind = "stream"
block = "1m"
count = 24
verify = true
content = "random"
"#;

const FILL: &str = r#"
[[workload]]
name = "fill"
kind = "fill"
files = 150
processes = 2
size = "4k"
directories = 3
per_directory = 20
sync_method = 0
keep = true
"#;

fn study(scratch: &Scratch, filesystems: &str, head: &str, workloads: &[&str]) -> PathBuf {
    let path = scratch.join("checked.toml");
    let text = CHECKED.replace("FILESYSTEMS", filesystems) + head + &workloads.concat();
    fs::write(&path, text).unwrap();
    path
}

fn run(scratch: &Scratch, study: &Path, more: &[&str]) -> Output {
    let study = study.to_string_lossy();
    let mut words = vec!["run", &study, "--out", "out"];
    words.extend(more);
    run_in(scratch.path(), &words)
}

fn load(scratch: &Scratch) -> Run {
    Run::load(&scratch.join("out")).unwrap()
}

/// Names of evidence that does not hold. On a machine that is busy with other tests the clock of a
/// checker may differ from ours, which is said and makes the run doubtful; nothing else may.
fn doubts(run: &Run) -> Vec<&str> {
    let all = run.trials.iter().flat_map(|trial| &trial.evidence);
    let doubts: Vec<&str> = all
        .filter(|evidence| evidence.holds == Some(false))
        .map(|evidence| evidence.name.as_str())
        .collect();
    assert!(
        doubts.iter().all(|name| *name == "clock_agrees"),
        "{doubts:?}"
    );
    doubts
}

/// Control groups that a process of ours made and left.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&format!("fslab-{pid}-")) {
                found.push(entry.path());
            }
            todo.push(entry.path());
        }
    }
    found
}

/// Lines of the block layer's throttle files (version 1) that name this device.
fn throttles(device: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/sys/fs/cgroup/blkio")
        .into_iter()
        .flatten()
        .flatten()
    {
        if !entry
            .file_name()
            .to_string_lossy()
            .starts_with("blkio.throttle")
        {
            continue;
        }
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let of_device = text
            .lines()
            .filter(|line| line.starts_with(&format!("{device} ")))
            .filter(|line| line.split(' ').count() == 2);
        found.extend(of_device.map(|line| format!("{}: {line}", entry.path().display())));
    }
    found
}

#[test]
fn streams_and_fills_are_checked_under_limits_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let limits = "limit = [\"none\", \"read=40m,write=80m\"]\nmemory = [\"160m\"]\n";
    let study = study(&scratch, "\"ext4\", \"xfs\"", limits, &[STREAM, FILL]);
    let output = run(&scratch, &study, &[]);
    let run = load(&scratch);
    assert_code(&output, if doubts(&run).is_empty() { 0 } else { 7 });
    assert_eq!(run.trials.len(), 8);
    for slot in &run.plan.slots {
        let (cell, trial) = (
            &run.plan.cells[slot.cell as usize],
            &run.trials[slot.trial as usize],
        );
        assert_eq!(trial.status, Status::Finished, "{}", cell.label());
        let phase = |name: &str| trial.phases.iter().find(|phase| phase.name == name);
        let check = phase("check").unwrap();
        let program = if cell.levels["filesystem"] == "xfs" {
            "xfs_repair"
        } else {
            "e2fsck"
        };
        let usage = check.usage.as_ref().unwrap();
        assert_eq!(usage.of, program);
        assert!(usage.elapsed > 0.0 && usage.max_rss > 0, "{usage:?}");
        let pass = phase("check_pass_1").unwrap();
        assert!(pass.begin_ns >= check.begin_ns && pass.end_ns <= check.end_ns);
        assert!(pass.usage.is_none(), "a pass is not a process");
        for phase in &trial.phases[..trial.phases.len().min(2)] {
            let memory = phase.memory.as_ref().unwrap();
            assert_eq!(memory.limit, Some(160 << 20), "{}", phase.name);
            assert!(memory.peak.unwrap() > 0 && memory.peak.unwrap() <= 160 << 20);
            assert!(memory.memory_total > 160 << 20);
        }
        let sample = |phase: &str, metric: &str| {
            let mut all = trial.samples.iter();
            all.find(|s| s.phase == phase && s.metric == metric)
                .map(|s| s.value)
        };
        assert!(sample("check", "seconds").unwrap() > 0.0);
        assert!(sample("check", "device_read").unwrap() > 0.0);
        assert_eq!(sample("check", "swap_ins"), Some(0.0));
        if cell.workload_name == "fill" {
            assert_eq!(sample("fill", "count"), Some(300.0));
            let usage = phase("fill").unwrap().usage.as_ref().unwrap();
            assert_eq!(usage.of, "fslab");
        } else if cell.device.limit.is_some() {
            // 24 MiB at 40 MiB/s; the block layer lets a first slice, and what was read ahead of
            // the clock, through.
            let read = sample("read", "throughput").unwrap();
            assert!(read < 80.0 * f64::from(1 << 20), "{read} bytes a second");
        }
        let cold = trial
            .evidence
            .iter()
            .find(|e| e.name == "cold_cache" && e.phase.as_deref() == Some("check"));
        assert_eq!(cold.unwrap().holds, Some(true));
        let kept = scratch.join(&format!("out/checks/trial-{:04}.txt", slot.trial + 1));
        let kept = fs::read_to_string(kept).unwrap();
        assert!(
            kept.contains(program) && kept.to_lowercase().contains("phase 1")
                || kept.contains("Pass 1")
        );
    }
    common::assert_fits_a_mail(&stdout(&output));
    scratch.assert_nothing_left();
}

#[test]
fn the_disk_itself_is_read_first_and_told_in_log_and_context_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = study(
        &scratch,
        "\"ext4\"",
        "limit = [\"none\", \"50m\"]\n",
        &[FILL],
    );
    let output = run(&scratch, &study, &["--set", "run.reference_seconds=0.05"]);
    let run = load(&scratch);
    assert_code(&output, if doubts(&run).is_empty() { 0 } else { 7 });
    let images: Vec<_> = run
        .references
        .iter()
        .filter(|reference| reference.device == "loop image")
        .collect();
    assert_eq!(images.len(), 2, "{:?}", run.references);
    assert_eq!(images[0].limit, None);
    assert_eq!(images[1].limit.as_deref(), Some("50m"));
    for image in &images {
        assert_eq!((image.sequential.len(), image.pass_seconds), (3, 0.05));
        assert!(
            image.line.contains("Timing buffered disk reads"),
            "{image:?}"
        );
    }
    // The disk below is measured too, or it is said why not (a container may not open it).
    let disk = run.references.len() == 3;
    let noted = run.notes.iter().any(|note| note.contains("raw-device"));
    assert!(disk || noted, "{:?} {:?}", run.references, run.notes);
    let told = &run.contexts["start"]["items"]["block.raw_reference"]["value"];
    assert!(
        told.as_str()
            .unwrap()
            .contains("a loop image like the trials', held to 50m: "),
        "{told}"
    );
    scratch.assert_nothing_left();
}

/// Puts a program of that name before all others; it prints its version and then does `script`.
fn fake(scratch: &Scratch, name: &str, script: &str) -> String {
    let folder = scratch.join("bin");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = -V ] && {{ echo {name} 0.0; exit 0; }}\n\
         echo 'Pass 1: Checking inodes, blocks, and sizes'\n{script}\n"
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let rest = std::env::var("PATH").unwrap_or_default();
    format!("{}:{rest}", folder.display())
}

/// Runs the study with a fake e2fsck; every trial must have failed. The message of the first.
fn failing(scratch: &Scratch, script: &str, more: &[&str]) -> String {
    let study = study(scratch, "\"ext4\"", "", &[FILL]);
    let path = fake(scratch, "e2fsck", script);
    let output = fslab()
        .current_dir(scratch.path())
        .env("PATH", path)
        .arg("run")
        .arg(&study)
        .args(["--out", "out", "--blocks", "2"])
        .args(more)
        .output()
        .unwrap();
    assert_code(&output, 7);
    let run = load(scratch);
    assert_eq!(run.trials.len(), 2);
    let messages: Vec<String> = run
        .trials
        .iter()
        .map(|trial| match &trial.status {
            Status::Failed(record::FailureKind::Trial, message) => message.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(messages.iter().all(|m| !m.contains('\n')), "{messages:?}");
    let report = stdout(&output);
    assert!(report.contains("e2fsck"), "the report says why:\n{report}");
    let phases: Vec<&str> = run.trials[0]
        .phases
        .iter()
        .map(|phase| phase.name.as_str())
        .collect();
    assert!(
        phases.contains(&"fill") && phases.contains(&"check"),
        "{phases:?}"
    );
    scratch.assert_nothing_left();
    messages[0].clone()
}

#[test]
fn a_checker_that_finds_errors_fails_the_trial_and_its_output_is_kept_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let script = "echo 'Inode 12, i_blocks is 8, should be 16.  Fix? no'; exit 4";
    let message = failing(&scratch, script, &[]);
    assert!(message.contains("exit code 4"), "{message}");
    let kept = scratch.join("out/checks/trial-0001.txt");
    assert!(message.contains("checks/trial-0001.txt"), "{message}");
    let kept = fs::read_to_string(kept).unwrap();
    assert!(kept.contains("i_blocks is 8, should be 16"), "{kept}");
}

#[test]
fn a_checker_that_crashes_fails_the_trial_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let message = failing(&scratch, "kill -SEGV $$", &[]);
    assert!(message.contains("signal 11"), "{message}");
}

#[test]
fn a_checker_that_hangs_is_ended_with_all_that_it_started_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let script = "trap '' TERM; sleep 86412.5 & sleep 86412.5";
    let message = failing(&scratch, script, &["--set", "check.timeout_seconds=0.3"]);
    assert!(message.contains("0.3 s"), "{message}");
    let left = fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.starts_with(b"sleep\x0086412.5")
    });
    assert_eq!(left.count(), 0, "its children are gone");
}

#[test]
fn a_missing_checker_is_found_before_anything_is_made_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = study(&scratch, "\"ext4\", \"xfs\"", "", &[FILL]);
    let script =
        "for p in /usr/sbin/e2fsck /sbin/e2fsck; do mount --bind /dev/null $p; done; exec \"$@\"";
    let output = std::process::Command::new("unshare")
        .args(["-m", "sh", "-c", script, "sh"])
        .args([env!("CARGO_BIN_EXE_fslab"), "run"])
        .arg(&study)
        .args(["--out", "out"])
        .current_dir(scratch.path())
        .output()
        .unwrap();
    assert_code(&output, 2);
    let line = error_line(&output);
    assert!(
        line.contains("e2fsck") && line.contains("e2fsprogs"),
        "{line}"
    );
    assert!(line.contains("--filter filesystem=xfs"), "{line}");
    assert!(!scratch.join("out").exists());
}

#[test]
fn killed_under_limits_it_is_cleaned_and_resumed_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let limits = "limit = [\"write=6m\"]\nmemory = [\"160m\"]\n";
    let study = study(&scratch, "\"ext4\"", limits, &[STREAM]);
    let mut child = fslab()
        .current_dir(scratch.path())
        .arg("run")
        .arg(&study)
        .args(["--out", "out", "--blocks", "2"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mount = common::wait_for_mount(&scratch);
    common::wait_until("the file", || mount.join("bigfile").exists());
    sleep(Duration::from_millis(150));
    let device = loop_of(&scratch);
    assert!(!throttles(&device).is_empty(), "{device} is limited");
    assert!(!groups_of(child.id()).is_empty(), "its memory is limited");
    child.kill().unwrap();
    child.wait().unwrap();

    let output = run_in(scratch.path(), &["clean", "out"]);
    assert_code(&output, 0);
    assert_eq!(
        throttles(&device),
        Vec::<String>::new(),
        "{}",
        stdout(&output)
    );
    assert_eq!(groups_of(child.id()), Vec::<PathBuf>::new());
    scratch.assert_nothing_left();

    let output = run_in(scratch.path(), &["resume", "out"]);
    let run = load(&scratch);
    assert_code(&output, if doubts(&run).is_empty() { 0 } else { 7 });
    assert!(
        run.trials
            .iter()
            .all(|trial| trial.status == Status::Finished)
    );
    assert!(
        run.trials
            .iter()
            .all(|trial| trial.phases.iter().any(|phase| phase.name == "check"))
    );
    assert_eq!(run.resumed, 1);
    scratch.assert_nothing_left();
}

/// `7:3` of the loop device whose image lies in this folder.
fn loop_of(scratch: &Scratch) -> String {
    let here = scratch.path().to_string_lossy().into_owned();
    for entry in fs::read_dir("/sys/block").unwrap().flatten() {
        let backing = fs::read_to_string(entry.path().join("loop/backing_file"));
        if backing.is_ok_and(|file| file.contains(&here)) {
            let number = fs::read_to_string(entry.path().join("dev")).unwrap();
            return number.trim().to_owned();
        }
    }
    panic!("no loop device of {here}");
}

#[test]
fn interrupted_in_a_check_it_ends_the_checker_and_resumes_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = study(&scratch, "\"ext4\"", "", &[FILL]);
    let path = fake(&scratch, "e2fsck", "exec sleep 86413.5");
    let child = fslab()
        .current_dir(scratch.path())
        .env("PATH", path)
        .arg("run")
        .arg(&study)
        .args(["--out", "out"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let asleep = || {
        fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            line.starts_with(b"sleep\x0086413.5")
        })
    };
    common::wait_until("the checker", asleep);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_code(&output, 130);
    assert!(!asleep(), "the checker is gone");
    scratch.assert_nothing_left();

    let output = run_in(scratch.path(), &["resume", "out"]);
    let run = load(&scratch);
    assert_code(&output, if doubts(&run).is_empty() { 0 } else { 7 });
    assert_eq!(run.trials[0].status, Status::Finished);
    assert!(!stderr(&output).contains("panicked"));
    scratch.assert_nothing_left();
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_made() {
    let scratch = Scratch::new();
    let study = study(&scratch, "\"ext4\"", "", &[STREAM]);
    for (set, told) in [
        (["aiod.direct=true", "aiod.block=5000"], "block"),
        (["aiod.count=400", "aiod.block=1m"], "size"),
        (["memory=1m", "aiod.count=24"], "memory"),
        (["limit=fast", "aiod.count=24"], "limit"),
    ] {
        for command in ["plan", "run"] {
            let output = run_in(
                scratch.path(),
                &[
                    command,
                    &study.to_string_lossy(),
                    "--set",
                    set[0],
                    "--set",
                    set[1],
                ],
            );
            assert_code(&output, 2);
            let line = error_line(&output);
            assert!(line.contains(told), "{set:?}: {line}");
        }
    }
    assert!(!scratch.join("fslab-runs").exists());
}

#[test]
fn a_read_only_directory_is_refused_alike_by_run_and_bench_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = study(&scratch, "\"ext4\"", "", &[STREAM]);
    fs::create_dir(scratch.join("frozen")).unwrap();
    let study = study.to_string_lossy();
    for words in [
        &["run", &study, "--out", "out", "--dir", "frozen"][..],
        &["bench", "stream", "--dir", "frozen"],
        &["bench", "fill", "-d", "frozen"],
        &["bench", "age", "--dir", "frozen"],
        &["bench", "throughput", "--dir", "frozen"],
        &["bench", "tree", "--dir", "frozen"],
    ] {
        let script = r#"mount -t tmpfs -o ro none frozen && exec "$@""#;
        let output = std::process::Command::new("unshare")
            .args(["-m", "sh", "-c", script, "sh"])
            .arg(env!("CARGO_BIN_EXE_fslab"))
            .args(words)
            .current_dir(scratch.path())
            .output()
            .unwrap();
        assert_code(&output, 2);
        let line = error_line(&output);
        assert!(
            line.contains("frozen") && line.contains("Read-only") && line.contains("remount,rw"),
            "{line}"
        );
    }
    assert!(!scratch.join("out").exists());
}

#[test]
fn a_name_with_a_newline_stays_one_line() {
    let scratch = Scratch::new();
    let study = study(&scratch, "\"ext4\"", "", &[STREAM]);
    fs::create_dir(scratch.join("target")).unwrap();
    let output = run_in(
        scratch.path(),
        &[
            "run",
            &study.to_string_lossy(),
            "--dir",
            "target",
            "--out",
            "two\nlines",
        ],
    );
    assert_code(&output, 0);
    assert!(
        stderr(&output).contains("two\\nlines/report.txt"),
        "{}",
        stderr(&output)
    );
    assert!(
        stdout(&output).contains("two\\nlines"),
        "{}",
        stdout(&output)
    );
    let list = run_in(scratch.path(), &["list", "."]);
    assert!(stdout(&list).contains("two\\nlines"), "{}", stdout(&list));
}
