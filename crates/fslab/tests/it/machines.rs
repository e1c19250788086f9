//! Machines that lack something, or have much of it: every command ends well and names what is missing.

use crate::common;

use std::path::Path;
use std::process::{Command, Output};

use common::checked::{STREAM, sound, study};
use common::{Scratch, assert_code, facility, is_root, run_in, stderr, stdout};
use serde_json::Value;

/// Runs fslab in a mount namespace after `change`.
fn with_mounts(dir: &Path, change: &str, args: &[&str]) -> Output {
    let script = format!("{change}\nexec \"$@\"");
    Command::new("unshare")
        .args(["-m", "sh", "-c", &script, "sh"])
        .arg(env!("CARGO_BIN_EXE_fslab"))
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap()
}

#[test]
fn a_machine_without_pressure_or_control_groups_works_and_is_named_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = study(&scratch, "\"ext4\"", "", &[STREAM]);
    let study = study.to_string_lossy();
    let hidden = "mount -t tmpfs none /proc/pressure\numount -R -l /sys/fs/cgroup 2>/dev/null";
    let doctor = with_mounts(scratch.path(), hidden, &["doctor", "--format", "json"]);
    assert_code(&doctor, 0);
    for (name, why) in [
        ("pressure", "No such file or directory"),
        ("memory limits", "no control group tree"),
        ("rate limits", "no control group tree"),
    ] {
        let found = facility(&doctor, name);
        assert_eq!(found["available"], false, "{found}");
        let note = found["note"].as_str().unwrap();
        assert!(note.contains(why), "{note}");
    }
    let output = with_mounts(scratch.path(), hidden, &["run", &study, "--out", "out"]);
    sound(&scratch, &output);
    scratch.assert_nothing_left();
    // A limit that nothing serves is refused before the first trial; no trial runs without it.
    let limit = ["run", &study, "--out", "limited", "--set", "limit=8m"];
    let output = with_mounts(scratch.path(), hidden, &limit);
    assert_code(&output, 2);
    let message = stderr(&output);
    assert!(message.contains("no control group tree"), "{message}");
    scratch.assert_nothing_left();
}

#[test]
fn a_check_finds_the_same_with_any_number_of_threads() {
    let scratch = Scratch::new();
    let tool = |program: &str, args: &[&str]| {
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        let output = Command::new(program)
            .env("PATH", path)
            .args(args)
            .current_dir(scratch.path())
            .output()
            .unwrap_or_else(|error| panic!("{program}: {error} (install e2fsprogs)"));
        assert!(output.status.success(), "{program} {args:?}: {output:?}");
    };
    // 64 groups, as many as there are threads at most.
    let groups = [
        "-qF", "-t", "ext4", "-b", "1024", "-g", "1024", "disk.img", "64m",
    ];
    tool("mke2fs", &groups);
    for request in [
        "mkdir a",
        "mkdir a/b",
        "clri a/b",
        "set_inode_field a links_count 9",
    ] {
        tool("debugfs", &["-w", "-R", request, "disk.img"]);
    }
    let findings = |threads: &str| {
        let output = run_in(
            scratch.path(),
            &[
                "check",
                "disk.img",
                "--format",
                "json",
                "--threads",
                threads,
            ],
        );
        let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
        (output.status.code(), json["findings"].clone())
    };
    let one = findings("1");
    assert!(
        one.1.as_array().is_some_and(|found| !found.is_empty()),
        "{one:?}"
    );
    for threads in ["2", "7", "64", "256"] {
        assert_eq!(findings(threads), one, "{threads} threads");
    }
}
