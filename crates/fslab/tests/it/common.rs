//! Helpers of the end-to-end tests: the binary, scratch folders, and assertions that nothing is left.

#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod checked;
pub(crate) mod documents;
pub(crate) mod guest_script;
pub(crate) mod guests;
pub(crate) mod launchers;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The binary under test.
pub(crate) fn fslab() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fslab"));
    command.stdin(Stdio::null()).env_remove("FSLAB_LOG");
    command
}

/// Runs it in `dir` with `args`.
pub(crate) fn run_in(dir: &Path, args: &[&str]) -> Output {
    fslab()
        .current_dir(dir)
        .args(args)
        .output()
        .expect("the binary starts")
}

/// stderr as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// stdout as text.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The whole report of a run; `run` prints its first screen only.
pub(crate) fn whole_report(run: &Path) -> String {
    std::fs::read_to_string(run.join("report.txt")).unwrap()
}

/// The one `fslab: ...` line of a failure; panics when there are more or none.
pub(crate) fn error_line(output: &Output) -> String {
    let text = stderr(output);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("fslab: "))
        .collect();
    assert_eq!(
        lines.len(),
        1,
        "one error line expected, stderr was:\n{text}"
    );
    lines[0].to_owned()
}

/// Asserts an exit code, showing stderr when it differs.
pub(crate) fn assert_code(output: &Output, code: i32) {
    assert_eq!(
        output.status.code(),
        Some(code),
        "stderr was:\n{}",
        stderr(output)
    );
}

/// Asserts that a run is whole. On a busy machine evidence may be in doubt (code 7: a phase of milliseconds, pages that
/// another program read), which does not affect what is tested; failed trials are left to the test.
pub(crate) fn assert_ran(output: &Output) {
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 7)), "{code:?}: {}", stderr(output));
}

/// Asserts that a report fits a mail of 78 columns. What other programs would have printed is printed
/// as they print it, however wide: GNU time's first line with large numbers, and rows of iostat.
pub(crate) fn assert_fits_a_mail(text: &str) {
    let mut in_iostat = false;
    let wide = text.lines().find(|line| {
        in_iostat = line.trim_start().starts_with("Device") || (in_iostat && !line.is_empty());
        line.chars().count() > 78 && !in_iostat && !line.ends_with("maxresident)k")
    });
    assert_eq!(wide, None);
}

/// A scratch folder on a real disk (not on tmpfs, where loop images have no direct I/O).
pub(crate) struct Scratch(tempfile::TempDir);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        Scratch(tempfile::tempdir_in(base).expect("a scratch folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a study that needs seconds, for the given filesystems.
    pub(crate) fn tiny_study(&self, filesystems: &[&str], extra: &str) -> PathBuf {
        let path = self.join("tiny.toml");
        let names: Vec<String> = filesystems.iter().map(|name| format!("{name:?}")).collect();
        let text = TINY.replace("FILESYSTEMS", &names.join(", ")) + extra;
        fs::write(&path, text).expect("the study file");
        path
    }

    /// Mounts and loop devices that still belong to this folder.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let here = self.path().to_string_lossy().into_owned();
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mountinfo");
        let mut left: Vec<String> = mounts
            .lines()
            .filter(|line| line.contains(&here))
            .map(str::to_owned)
            .collect();
        for entry in fs::read_dir("/sys/block").expect("/sys/block").flatten() {
            let backing = entry.path().join("loop/backing_file");
            if let Ok(file) = fs::read_to_string(backing)
                && file.contains(&here)
            {
                left.push(format!("{}: {}", entry.path().display(), file.trim()));
            }
        }
        left
    }

    /// Asserts that nothing is left, within 5 s: a detached loop device stays while another process has it open, and each
    /// mkfs.btrfs on the machine opens all disks for a moment.
    pub(crate) fn assert_nothing_left(&self) {
        let begun = Instant::now();
        while !self.leftovers().is_empty() && begun.elapsed() < Duration::from_secs(5) {
            sleep(Duration::from_millis(20));
        }
        assert_eq!(self.leftovers(), Vec::<String>::new());
    }
}

const TINY: &str = r#"
name = "tiny"
title = "A study for tests"
question = "Does everything work?"
include = ["defaults.toml"]

[run]
blocks = 2
seed = 7

[device]
size = "512m"

[factors]
filesystem = [FILESYSTEMS]

[[workload]]
name = "iozone"
kind = "throughput"
size = "2m"
record = "256k"
direct = true
settle_seconds = 0.0

[workload.factors]
threads = [1, 2]
"#;

/// Whether this process may mount. Without it the caller returns; the line makes the skip visible
/// and countable.
pub(crate) fn is_root() -> bool {
    testkit::root!("loop devices and mounts")
}

/// The facility of this name in doctor's JSON.
pub(crate) fn facility(doctor: &Output, name: &str) -> serde_json::Value {
    let json: serde_json::Value = serde_json::from_str(&stdout(doctor)).unwrap();
    let machine = json["machine"].as_array().unwrap();
    let found = machine.iter().find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {json}")).clone()
}

/// Whether the rates and the memory of a trial can be limited here, which needs root, too; says so where they cannot.
pub(crate) fn can_limit() -> bool {
    if !is_root() {
        return false;
    }
    let doctor = fslab().args(["doctor", "--format", "json"]).output();
    let doctor = doctor.expect("the binary starts");
    let lacking = ["rate limits", "memory limits"]
        .map(|name| facility(&doctor, name))
        .into_iter()
        .find(|found| found["available"] != true);
    if let Some(found) = &lacking {
        testkit::skip!("{}: {}", found["name"], found["note"]);
    }
    lacking.is_none()
}

/// Writes the example run's log into a new run folder.
pub(crate) fn example_run(scratch: &Scratch) -> PathBuf {
    let dir = scratch.join("example");
    fs::create_dir_all(&dir).expect("the run's folder");
    let mut log = String::new();
    for entry in fixtures::example::entries() {
        log.push_str(&serde_json::to_string(&entry).expect("an entry serialises"));
        log.push('\n');
    }
    fs::write(dir.join("events.jsonl"), log).expect("the log");
    dir
}

/// Waits until `holds`, for three minutes at most: other tests may keep the processors busy.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(
            begun.elapsed() < Duration::from_secs(180),
            "waited three minutes for {what}"
        );
        sleep(Duration::from_millis(2));
    }
}

/// The first mount of a trial below a run's folder, once it is there. Before the first trial each variant is mounted
/// for a moment; these mounts are gone when a trial begins.
pub(crate) fn wait_for_mount(scratch: &Scratch) -> PathBuf {
    let here = scratch.path().to_string_lossy().into_owned();
    let mut found = None;
    wait_until("a mount", || {
        let log = fs::read_to_string(scratch.join("out/events.jsonl"));
        if log.is_ok_and(|log| !log.contains("\"trial_started\"")) {
            return false;
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        found = mounts
            .split_whitespace()
            // The file of a modelled disk is mounted until its loop device has it.
            .find(|word| word.starts_with(&here) && !word.ends_with("-model"))
            .map(PathBuf::from);
        found.is_some()
    });
    found.expect("found above")
}

/// Fills the filesystem.
pub(crate) fn fill_up(path: &Path) {
    let file = fs::File::create(path).unwrap();
    let (mut at, mut step) = (0_u64, 64 << 20);
    while step >= 4096 {
        match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), at, step) {
            Ok(()) => at += step,
            Err(_) => step /= 2,
        }
    }
}
