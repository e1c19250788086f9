//! `fslab trace record` and `fslab doctor`, end to end.

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Scratch, assert_code, error_line, fslab, run_in, stderr, stdout};

fn needs_root() -> bool {
    !testkit::root!("block traces and loop devices")
}

/// A loop device over an image in the scratch folder.
struct Disk(PathBuf);

impl Disk {
    fn new(scratch: &Scratch) -> Disk {
        let image = scratch.path().join("image");
        fs::File::create(&image).unwrap().set_len(32 << 20).unwrap();
        let output = Command::new("losetup")
            .args(["-f", "--show"])
            .arg(&image)
            .output()
            .unwrap();
        assert!(output.status.success());
        Disk(stdout(&output).trim().into())
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn name(&self) -> &str {
        self.0.file_name().unwrap().to_str().unwrap()
    }

    fn enabled(&self) -> bool {
        let path = format!("/sys/block/{}/trace/enable", self.name());
        fs::read_to_string(path).unwrap().trim() == "1"
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.0).status();
    }
}

/// Runs `trace record`, again while another recording has the machine's one tracer.
fn record(scratch: &Scratch, args: &[&str]) -> Output {
    let until = Instant::now() + Duration::from_secs(120);
    loop {
        let output = run_in(scratch.path(), &[&["trace", "record"], args].concat());
        let busy =
            output.status.code() == Some(5) && stderr(&output).contains("is already being traced");
        if !busy || Instant::now() > until {
            return output;
        }
        sleep(Duration::from_millis(100));
    }
}

fn files(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_command_is_traced_and_its_code_kept_needs_root() {
    if needs_root() {
        return;
    }
    let scratch = Scratch::new();
    let disk = Disk::new(&scratch);
    let write = format!(
        "dd if=/dev/zero of={} bs=64k count=16 oflag=direct 2>/dev/null; exit 3",
        disk.path()
    );
    let output = record(
        &scratch,
        &[disk.path(), "-o", "t", "--", "sh", "-c", &write],
    );
    assert_code(&output, 3);
    let text = stdout(&output);
    assert!(
        text.starts_with(&format!("=== {} ===\n", disk.name())),
        "{text}"
    );
    assert!(text.contains("events (dropped 0)"), "{text}");
    let out = scratch.path().join("t");
    let names = files(&out);
    assert!(
        names.contains(&format!("{}.blktrace.0", disk.name())),
        "{names:?}"
    );
    assert!(
        names.contains(&format!("{}.blktrace.json", disk.name())),
        "{names:?}"
    );
    assert!(!names.contains(&"undo.jsonl".to_owned()), "{names:?}");
    let json = fs::read_to_string(out.join(format!("{}.blktrace.json", disk.name()))).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    // 16 writes are queued, get a request, are issued and completed.
    assert!(json["events"].as_u64().unwrap() >= 16 * 4, "{json}");
    assert_eq!(json["degraded"], false);
    assert!(!disk.enabled());

    let again = record(&scratch, &[disk.path(), "-o", "t", "--seconds", "0.1"]);
    assert_code(&again, 2);
    assert!(error_line(&again).contains("exists already"));
}

#[test]
fn a_program_that_is_not_there_leaves_no_trace_needs_root() {
    if needs_root() {
        return;
    }
    let scratch = Scratch::new();
    let disk = Disk::new(&scratch);
    let output = record(
        &scratch,
        &[disk.path(), "-o", "t", "--", "/no/such/program"],
    );
    assert_code(&output, 2);
    assert!(error_line(&output).contains("/no/such/program"));
    assert_eq!(files(&scratch.path().join("t")), [""; 0]);
    assert!(!disk.enabled());
}

#[test]
fn what_a_kill_leaves_is_cleaned_needs_root() {
    if needs_root() {
        return;
    }
    let scratch = Scratch::new();
    let disk = Disk::new(&scratch);
    let until = Instant::now() + Duration::from_secs(120);
    while !disk.enabled() {
        assert!(Instant::now() < until, "the tracer was never free");
        let _ = fs::remove_dir_all(scratch.path().join("t"));
        let mut child = fslab()
            .current_dir(scratch.path())
            .args(["trace", "record", disk.path(), "-o", "t"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while !disk.enabled() && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(10));
        }
        if disk.enabled() {
            let running = run_in(scratch.path(), &["clean", "t"]);
            assert_ne!(running.status.code(), Some(0), "its owner lives");
        }
        let _ = child.kill();
        child.wait().unwrap();
    }
    let dry = run_in(scratch.path(), &["clean", "t", "--dry-run"]);
    assert!(
        stdout(&dry).contains("would undo: block trace"),
        "{}",
        stdout(&dry)
    );
    assert!(disk.enabled());
    let cleaned = run_in(scratch.path(), &["clean", "t"]);
    assert_code(&cleaned, 0);
    assert!(stdout(&cleaned).contains("undone: block trace"));
    assert!(!disk.enabled());
    // The tracer is free again.
    let output = record(&scratch, &[disk.path(), "-o", "u", "--seconds", "0.1"]);
    assert_code(&output, 0);
}

#[test]
fn wrong_requests_touch_nothing() {
    let scratch = Scratch::new();
    for (args, code, message) in [
        (&["/no/such/device", "-o", "t"][..], 2, "/no/such/device"),
        (&["/dev/null", "-o", "t"], 2, "no block device"),
        (
            &["/dev/null", "-o", "t", "--actions", "queue,nothing"],
            2,
            "nothing",
        ),
        (&["/dev/null", "-o", "t", "--seconds", "0"], 2, "--seconds"),
        (&["/dev/null", "-o", "t", "--buffer", "1k"], 2, "64 KiB"),
        (&["/dev/null"], 2, "--out"),
    ] {
        let output = run_in(scratch.path(), &[&["trace", "record"], args].concat());
        assert_code(&output, code);
        let line = error_line(&output);
        assert!(line.contains(message), "{line}");
        assert!(!scratch.path().join("t").exists());
    }
}

#[test]
fn doctor_names_every_way_and_its_json_is_the_same() {
    let scratch = Scratch::new();
    let text = run_in(scratch.path(), &["doctor"]);
    assert_code(&text, 0);
    let json = run_in(scratch.path(), &["doctor", "--format", "json"]);
    assert_code(&json, 0);
    let json: serde_json::Value = serde_json::from_str(&stdout(&json)).unwrap();
    let ways = json["block_traces"].as_array().unwrap();
    assert_eq!(ways.len(), 3);
    let machine = json["machine"].as_array().unwrap();
    for name in ["io_uring", "pressure", "memory limits", "rate limits"] {
        assert!(machine.iter().any(|one| one["name"] == name), "{name}");
    }
    for way in ways.iter().chain(machine) {
        assert!(stdout(&text).contains(way["name"].as_str().unwrap()));
        assert!(!way["note"].as_str().unwrap().is_empty());
    }
}
