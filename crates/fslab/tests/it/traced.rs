//! Runs that measure layouts and record block traces, end to end.

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{
    Scratch, assert_code, assert_ran, can_limit, fslab, is_root, run_in, stderr, stdout, wait_until,
};
use record::{FailureKind, Run, Status, TrialRecord};

/// The machine has one tracer: these tests take turns.
static TURN: Mutex<()> = Mutex::new(());

pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

const STUDY: &str = r#"
name = "traced"
title = "A study for tests"
question = "Where does the file lie, and what did the disk do?"
include = ["defaults.toml"]

[run]
blocks = 1
seed = 7
reference_seconds = 0

[device]
size = "320m"

[filesystem.ext4]
mkfs = ["-E", "lazy_itable_init=0,lazy_journal_init=0"]

[layout]
enabled = true

[[workload]]
name = "dd"
kind = "stream"
test = "write"
block = "1m"
count = 16
"#;

/// Bytes of its file.
const SIZE: f64 = 16_777_216.0;

fn study(scratch: &Scratch, factors: &str) -> PathBuf {
    let path = scratch.join("traced.toml");
    fs::write(&path, format!("{STUDY}\n[factors]\n{factors}\n")).unwrap();
    path
}

fn spawn(scratch: &Scratch, study: &Path, more: &[&str]) -> Child {
    fslab()
        .current_dir(scratch.path())
        .arg("run")
        .arg(study)
        .args(["--out", "out"])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts")
}

/// Runs the study; retries while another process has the tracer.
fn run(scratch: &Scratch, study: &Path, more: &[&str]) -> (Output, Run) {
    let until = Instant::now() + Duration::from_secs(120);
    loop {
        let output = spawn(scratch, study, more).wait_with_output().unwrap();
        let run = Run::load(&scratch.join("out"))
            .unwrap_or_else(|error| panic!("{error}; stderr was:\n{}", stderr(&output)));
        let busy = run
            .trials
            .iter()
            .any(|trial| failed_for(trial, "is already being traced"));
        if !busy || Instant::now() > until {
            return (output, run);
        }
        fs::remove_dir_all(scratch.join("out")).unwrap();
        sleep(Duration::from_millis(200));
    }
}

fn failed_for(trial: &TrialRecord, why: &str) -> bool {
    matches!(&trial.status, Status::Failed(_, message) if message.contains(why))
}

/// Cells and trials of a run, traced ones or untraced.
fn trials(run: &Run, traced: bool) -> Vec<(&str, &TrialRecord)> {
    let slots = run.plan.slots.iter();
    let of = |slot: &study::Slot| {
        let cell = &run.plan.cells[slot.cell as usize];
        let trial = &run.trials[slot.trial as usize];
        (cell.trace == traced).then(|| (cell.levels["filesystem"].as_str(), trial))
    };
    slots.filter_map(of).collect()
}

fn sample(trial: &TrialRecord, metric: &str) -> Option<f64> {
    let found = trial.samples.iter();
    let mut found = found.filter(|s| s.phase == "write" && s.metric == metric);
    found.next().map(|sample| sample.value)
}

fn assert_nothing_to_undo(scratch: &Scratch) {
    let dry = run_in(scratch.path(), &["clean", "out", "--dry-run"]);
    assert_code(&dry, 0);
    assert_eq!(stdout(&dry), "nothing to undo\n");
    scratch.assert_nothing_left();
}

#[test]
fn files_are_looked_at_and_every_traced_trial_has_an_untraced_twin_needs_root() {
    if !is_root() {
        return;
    }
    let _turn = turn();
    let scratch = Scratch::new();
    let study = study(
        &scratch,
        "filesystem = [\"ext4\", \"xfs\"]\ntrace = [false, true]",
    );
    let (output, run) = run(&scratch, &study, &[]);
    assert_ran(&output);
    let (plain, traced) = (trials(&run, false), trials(&run, true));
    assert_eq!((plain.len(), traced.len()), (2, 2));
    let mut delayed = Vec::new();
    for (filesystem, trial) in plain.iter().chain(&traced) {
        let [layout] = &trial.layouts[..] else {
            panic!("{:?}", trial.layouts);
        };
        assert_eq!((layout.phase.as_str(), layout.files_total), ("write", 1));
        let file = &layout.files[0];
        assert_eq!((file.path.as_str(), file.size), ("bigfile", 16 << 20));
        assert_eq!((file.mapped, file.holes), (16 << 20, 0), "{file:?}");
        delayed.push(sample(trial, "layout_delalloc").unwrap());
        assert_eq!(sample(trial, "layout_extents"), Some(file.extents as f64));
        let listing = scratch
            .join("out")
            .join(&layout.listings["filefrag -v bigfile"]);
        let listing = fs::read_to_string(listing).unwrap();
        assert!(listing.contains("File size of bigfile is 16777216 ("));
        let xfs_bmap = layout.listings.get("xfs_bmap -v bigfile");
        assert_eq!(xfs_bmap.is_some(), *filesystem == "xfs");
        if let Some(path) = xfs_bmap {
            let text = fs::read_to_string(scratch.join("out").join(path)).unwrap();
            assert!(text.starts_with("bigfile:\n EXT: FILE-OFFSET"), "{text}");
        }
        let free = layout
            .listings
            .keys()
            .any(|name| name.starts_with("e2freefrag /dev/loop"));
        assert!(free, "{:?}", layout.listings);
    }
    // dd flushes nothing: the delayed allocation was observed before our own fsync. The kernel may have written some of it back.
    assert!(delayed.iter().all(|bytes| *bytes <= SIZE), "{delayed:?}");
    assert!(delayed.contains(&SIZE), "{delayed:?}");
    for (_, trial) in &plain {
        assert_eq!(trial.traces, []);
        assert_eq!(sample(trial, "trace_bios"), None);
    }
    for (filesystem, trial) in &traced {
        let trace = &trial.traces[0];
        assert!(
            trace.device.ends_with("(the filesystem's device)"),
            "{}",
            trace.device
        );
        assert_eq!(trace.lost, 0);
        let figures = &trace.figures["write"];
        // With the file's block map, its requests can be separated from all others.
        assert_eq!(
            figures["trace_data_bytes"], SIZE,
            "{filesystem}: {figures:?}"
        );
        assert!(
            figures["trace_journal_bytes"] > 0.0,
            "{filesystem}: {figures:?}"
        );
        assert!(figures["trace_requests"] > 0.0 && figures["trace_busy"] > 0.0);
        assert_eq!(
            sample(trial, "trace_requests"),
            Some(figures["trace_requests"])
        );
        assert!(trace.figures["trial"]["trace_bios"] >= figures["trace_bios"]);
        let files = blktrace::Trace::open(&scratch.join("out").join(&trace.base)).unwrap();
        let bytes: u64 = files.files().iter().map(|file| file.bytes).sum();
        assert_eq!(bytes, trace.bytes);
        let complete = trial
            .evidence
            .iter()
            .find(|e| e.name == "trace_complete")
            .unwrap();
        assert_eq!(complete.holds, Some(true), "{}", complete.detail);
    }
    common::assert_fits_a_mail(&stdout(&output));
    assert_nothing_to_undo(&scratch);
}

/// Whether a device of this folder is being traced.
fn traces(scratch: &Scratch) -> bool {
    let here = scratch.path().to_string_lossy().into_owned();
    fs::read_dir("/sys/block").unwrap().flatten().any(|entry| {
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        read("loop/backing_file").contains(&here) && read("trace/enable").trim() == "1"
    })
}

/// Starts a run of one traced trial that takes seconds, and waits until it traces.
fn tracing(scratch: &Scratch, study: &Path) -> Child {
    let until = Instant::now() + Duration::from_secs(120);
    loop {
        // The rate limit makes the trial take seconds.
        let mut child = spawn(
            scratch,
            study,
            &["--set", "limit=8m", "--set", "dd.flush=fsync"],
        );
        while child.try_wait().unwrap().is_none() {
            if traces(scratch) {
                return child;
            }
            sleep(Duration::from_millis(5));
        }
        assert!(Instant::now() < until, "the tracer was never free");
        fs::remove_dir_all(scratch.join("out")).unwrap();
        sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_traced_run_that_was_killed_is_cleaned_and_resumed_needs_root() {
    if !can_limit() {
        return;
    }
    let _turn = turn();
    let scratch = Scratch::new();
    let study = study(&scratch, "filesystem = [\"ext4\"]\ntrace = [true]");
    let mut child = tracing(&scratch, &study);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(traces(&scratch), "kill -9 leaves it on");
    let cleaned = run_in(scratch.path(), &["clean", "out"]);
    assert_code(&cleaned, 0);
    assert!(
        stdout(&cleaned).contains("undone: block trace"),
        "{}",
        stdout(&cleaned)
    );
    assert_nothing_to_undo(&scratch);

    let resumed = run_in(scratch.path(), &["resume", "out"]);
    let run = Run::load(&scratch.join("out")).unwrap();
    if run
        .trials
        .iter()
        .any(|trial| failed_for(trial, "is already being traced"))
    {
        testkit::skip!("another process took the tracer during the test");
        return;
    }
    assert_ran(&resumed);
    let figures = &run.trials[0].traces[0].figures["write"];
    assert_eq!(
        figures["trace_data_bytes"], SIZE,
        "the first attempt's files are gone"
    );
    assert_nothing_to_undo(&scratch);
}

#[test]
fn an_interrupt_takes_the_tracer_back_needs_root() {
    if !can_limit() {
        return;
    }
    let _turn = turn();
    let scratch = Scratch::new();
    let study = study(&scratch, "filesystem = [\"xfs\"]\ntrace = [true]");
    let child = tracing(&scratch, &study);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_code(&output, 130);
    assert!(!traces(&scratch));
    assert_nothing_to_undo(&scratch);
}

#[test]
fn a_tracer_that_is_taken_fails_the_cell_and_no_other_needs_root() {
    if !can_limit() {
        return;
    }
    let _turn = turn();
    let scratch = Scratch::new();
    let study = study(&scratch, "filesystem = [\"ext4\"]\ntrace = [false, true]");
    // A recording of another run.
    let other = Scratch::new();
    let theirs = self::study(&other, "filesystem = [\"ext4\"]\ntrace = [true]");
    let mut holder = tracing(&other, &theirs);
    // Stopped, it keeps the tracer for longer than any run waits.
    let pid = rustix::process::Pid::from_child(&holder);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let output = spawn(&scratch, &study, &[]).wait_with_output().unwrap();
    let still = holder.try_wait().unwrap().is_none();
    let run = Run::load(&scratch.join("out")).unwrap();
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_code(&run_in(other.path(), &["clean", "out"]), 0);
    assert!(still, "the holder has to outlive what it disturbs");

    assert_code(&output, 7);
    let (plain, traced) = (trials(&run, false), trials(&run, true));
    assert_eq!(plain[0].1.status, Status::Finished);
    let Status::Failed(kind, message) = &traced[0].1.status else {
        panic!("{:?}", traced[0].1.status);
    };
    assert_eq!(*kind, FailureKind::Cell);
    let printed = "block trace: tracefs's current_tracer: is already being traced";
    assert!(message.starts_with(printed), "{message}");
    assert_eq!(message.lines().count(), 1);
    assert_nothing_to_undo(&scratch);
}

/// Stops one thread of a process, by the freezer of cgroup v1, which takes threads.
struct Frozen(PathBuf);

const FREEZER: &str = "/sys/fs/cgroup/freezer";

impl Frozen {
    fn thread(process: &Child, name: &str) -> Frozen {
        let tasks = format!("/proc/{}/task", process.id());
        let mut tid = None;
        wait_until("the thread", || {
            tid = fs::read_dir(&tasks).unwrap().flatten().find_map(|task| {
                let comm = fs::read_to_string(task.path().join("comm")).ok()?;
                (comm.trim() == name).then(|| task.file_name().into_string().unwrap())
            });
            tid.is_some()
        });
        let group = Path::new(FREEZER).join(format!("fslab-test-{}", std::process::id()));
        fs::create_dir(&group).unwrap();
        fs::write(group.join("tasks"), tid.unwrap()).unwrap();
        fs::write(group.join("freezer.state"), "FROZEN").unwrap();
        Frozen(group)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("freezer.state"), "THAWED");
        let tasks = fs::read_to_string(self.0.join("tasks")).unwrap_or_default();
        for tid in tasks.lines() {
            let _ = fs::write(Path::new(FREEZER).join("tasks"), tid);
        }
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn events_that_were_lost_mark_the_trial_needs_root() {
    if !is_root() {
        return;
    }
    if !Path::new(FREEZER).join("tasks").exists() {
        testkit::skip!("needs the freezer of cgroup v1");
        return;
    }
    let _turn = turn();
    let scratch = Scratch::new();
    // 8 MiB for each CPU hold some 280,000 events; a write of a block makes a dozen on two devices.
    let text = STUDY.replace("count = 16", "count = 60000\ndirect = true");
    let text = text.replace("block = \"1m\"", "block = \"4k\"");
    let path = scratch.join("lossy.toml");
    fs::write(
        &path,
        format!("{text}\n[factors]\nfilesystem = [\"ext4\"]\ntrace = [true]\n"),
    )
    .unwrap();
    let until = Instant::now() + Duration::from_secs(120);
    let mut child = loop {
        let mut child = spawn(&scratch, &path, &[]);
        while child.try_wait().unwrap().is_none() && !traces(&scratch) {
            sleep(Duration::from_millis(2));
        }
        if child.try_wait().unwrap().is_none() {
            break child;
        }
        assert!(Instant::now() < until, "the tracer was never free");
        fs::remove_dir_all(scratch.join("out")).unwrap();
    };
    let frozen = Frozen::thread(&child, "fslab-trace");
    // Until the end of the phase, when the run waits for the reader, which must continue.
    let log = scratch.join("out/events.jsonl");
    wait_until("the end of the phase", || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        text.contains("phase_finished") || child.try_wait().unwrap().is_some()
    });
    drop(frozen);
    let output = child.wait_with_output().unwrap();
    assert_code(&output, 7);
    let run = Run::load(&scratch.join("out")).unwrap();
    let trial = &run.trials[0];
    let complete = trial
        .evidence
        .iter()
        .find(|e| e.name == "trace_complete")
        .unwrap();
    assert_eq!(complete.holds, Some(false), "{}", complete.detail);
    assert!(trial.traces[0].lost > 0);
    assert_eq!(
        sample(trial, "trace_lost"),
        Some(trial.traces[0].lost as f64)
    );
    let warned = trial
        .warnings
        .iter()
        .any(|line| line.contains("of the block trace were lost"));
    assert!(warned, "{:?}", trial.warnings);
    assert_nothing_to_undo(&scratch);
}

#[test]
fn in_a_directory_the_disk_below_is_traced_or_the_reason_is_reported_needs_root() {
    if !is_root() {
        return;
    }
    let _turn = turn();
    let scratch = Scratch::new();
    let study = study(&scratch, "filesystem = [\"ext4\"]\ntrace = [false, true]");
    fs::create_dir(scratch.join("target")).unwrap();
    let (output, run) = self::run(&scratch, &study, &["--dir", "target"]);
    assert_ran(&output);
    let (plain, traced) = (trials(&run, false), trials(&run, true));
    assert_eq!(
        (plain.len(), traced.len()),
        (1, 1),
        "the trace stays a factor"
    );
    let trace = &traced[0].1.traces[0];
    assert!(
        trace.device.ends_with("(the disk under the directory)"),
        "{}",
        trace.device
    );
    assert!(trace.figures["write"]["trace_bios"] > 0.0);
    assert_eq!(traced[0].1.layouts[0].files_total, 1);

    // A filesystem without a disk.
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let dir = memory.path().to_string_lossy().into_owned();
    fs::remove_dir_all(scratch.join("out")).unwrap();
    let output = spawn(&scratch, &study, &["--dir", &dir])
        .wait_with_output()
        .unwrap();
    assert_code(&output, 7);
    let run = Run::load(&scratch.join("out")).unwrap();
    let traced = trials(&run, true)[0].1;
    assert!(
        failed_for(traced, "it is on tmpfs, which has no block device"),
        "{:?}",
        traced.status
    );
    let plain = trials(&run, false)[0].1;
    assert_eq!(plain.status, Status::Finished);
    assert!(
        !plain.layouts[0].notes.is_empty(),
        "tmpfs does not report where files are"
    );
}

#[test]
fn the_study_of_2010_runs_whole_needs_root() {
    if !is_root() {
        return;
    }
    let _turn = turn();
    let scratch = Scratch::new();
    let more = ["--profile", "quick", "--blocks", "1"];
    let small = ["--set", "dd.count=16", "--set", "run.reference_seconds=0"];
    let (output, run) = run(&scratch, Path::new("allocation"), &[more, small].concat());
    assert_ran(&output);
    let (plain, traced) = (trials(&run, false), trials(&run, true));
    assert_eq!((plain.len(), traced.len()), (10, 4));
    for (filesystem, trial) in plain.iter().chain(&traced) {
        assert_eq!(trial.status, Status::Finished, "{filesystem}");
        assert!(sample(trial, "system_seconds").is_some());
        let share = sample(trial, "cpu_share").unwrap();
        assert!((0.0..1.5).contains(&share), "{filesystem}: {share}");
        // Only a filesystem made with the stripe has an alignment to measure.
        let expected = sample(trial, "layout_begins_on_unit").is_some();
        assert_eq!(expected, filesystem.ends_with("-stripe"), "{filesystem}");
    }
    let text = common::whole_report(&scratch.join("out"));
    for part in [
        "dd if=/dev/zero of=bigfile bs=1M:",
        "Layout of the file:",
        "What the block layer did:",
        "Piszcz 2010",
        "Cost of tracing",
    ] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    common::assert_fits_a_mail(&text);
    assert_nothing_to_undo(&scratch);
}
