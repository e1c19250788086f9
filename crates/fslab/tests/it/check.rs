//! `fslab check`: fsck's exit codes, four forms, nothing written.

use crate::common;

use std::path::Path;
use std::process::{Command, Output};

use common::{Scratch, assert_code, error_line, is_root, run_in, stderr, stdout};

/// A small filesystem of mke2fs, in `name` of the scratch folder.
fn filesystem(scratch: &Scratch, name: &str, more: &[&str]) {
    let output = Command::new("mke2fs")
        .current_dir(scratch.path())
        .args(["-q", "-F", "-t", "ext4"])
        .args(more)
        .args([name, "16m"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Runs debugfs's commands on an image.
fn debugfs(scratch: &Scratch, name: &str, request: &str) {
    let output = Command::new("debugfs")
        .current_dir(scratch.path())
        .args(["-w", "-R", request, name])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

fn check(scratch: &Scratch, args: &[&str]) -> Output {
    let mut all = vec!["check"];
    all.extend(args);
    run_in(scratch.path(), &all)
}

fn e2fsck(scratch: &Scratch, name: &str) -> i32 {
    let output = Command::new("e2fsck")
        .current_dir(scratch.path())
        .args(["-fn", name])
        .output();
    output.unwrap().status.code().unwrap()
}

#[test]
fn a_sound_filesystem_is_clean_in_every_form() {
    let scratch = Scratch::new();
    filesystem(&scratch, "disk.img", &[]);
    let before = std::fs::read(scratch.join("disk.img")).unwrap();
    for format in ["text", "json", "csv", "e2fsck", "ocfs2"] {
        let output = check(&scratch, &["disk.img", "--format", format]);
        assert_code(&output, 0);
        assert!(!stdout(&output).is_empty(), "{format}");
    }
    assert_eq!(std::fs::read(scratch.join("disk.img")).unwrap(), before);
    let text = check(&scratch, &["disk.img"]);
    let text = stdout(&text);
    assert!(
        text.contains("verdict (e2fsck-1.47.4): clean, exit code 0"),
        "{text}"
    );
    assert!(text.contains("in use: 11 inodes of 4,096"), "{text}");
}

#[test]
fn what_is_found_has_a_code_a_path_and_both_values() {
    let scratch = Scratch::new();
    filesystem(&scratch, "disk.img", &[]);
    debugfs(&scratch, "disk.img", "mkdir /a");
    debugfs(&scratch, "disk.img", "write /etc/passwd /a/passwd");
    debugfs(
        &scratch,
        "disk.img",
        "set_inode_field /a/passwd links_count 7",
    );
    assert_eq!(e2fsck(&scratch, "disk.img"), 4);
    let output = check(&scratch, &["disk.img"]);
    assert_code(&output, 4);
    let text = stdout(&output);
    assert!(
        text.contains("4_BAD_REF_COUNT 0x040003, accounting, 1 time"),
        "{text}"
    );
    assert!(text.contains("/a/passwd): found 7, expected 1"), "{text}");
    let output = check(&scratch, &["disk.img", "--format", "csv"]);
    assert_code(&output, 4);
    let text = stdout(&output);
    assert!(text.starts_with("code,name,class,severity,"), "{text}");
    assert!(text.contains("0x040003,4_BAD_REF_COUNT,"), "{text}");
    assert!(text.contains(",/a/passwd,7,1,"), "{text}");
    let output = check(
        &scratch,
        &["disk.img", "--format", "json", "--verdict", "strict"],
    );
    assert_code(&output, 4);
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["judge"], "strict");
    assert_eq!(document["findings"][0]["name"], "4_BAD_REF_COUNT");
    assert_eq!(document["findings"][0]["path"], "/a/passwd");
    assert_eq!(document["findings"][0]["found"], 7);
    assert_eq!(document["passes"][1]["pass"], "1");
}

#[test]
fn what_is_no_filesystem_is_fscks_operational_error() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("noise"), vec![7; 1 << 20]).unwrap();
    let output = check(&scratch, &["noise"]);
    assert_code(&output, 8);
    assert!(
        stdout(&output).contains("0_SB_CORRUPT"),
        "{}",
        stdout(&output)
    );
    let output = check(&scratch, &["no-such-thing"]);
    assert_code(&output, 8);
    assert!(error_line(&output).contains("no-such-thing"));
    assert!(output.stdout.is_empty());
    let output = check(&scratch, &["."]);
    assert_code(&output, 8);
    assert!(
        error_line(&output).contains("is a directory"),
        "{}",
        error_line(&output)
    );
}

#[test]
fn a_wrong_command_line_is_fscks_code_16() {
    let scratch = Scratch::new();
    for args in [
        &["--no-such-option"][..],
        &["x", "--threads", "0"],
        &["x", "-B", "1024"],
        &[],
    ] {
        let output = check(&scratch, args);
        assert_code(&output, 16);
        assert!(error_line(&output).starts_with("fslab: "));
    }
}

#[test]
fn memory_that_is_too_little_is_refused_before_pass_1() {
    let scratch = Scratch::new();
    filesystem(&scratch, "disk.img", &[]);
    let output = check(&scratch, &["disk.img", "--memory", "1m"]);
    assert_code(&output, 8);
    assert!(
        error_line(&output).contains(" of memory and the limit is 1 MiB"),
        "{}",
        error_line(&output)
    );
    let output = check(&scratch, &["disk.img", "--memory", "64m"]);
    assert_code(&output, 0);
    assert!(
        stderr(&output).contains("memory: at most"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_closed_pipe_is_an_answer() {
    let scratch = Scratch::new();
    filesystem(&scratch, "disk.img", &[]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = common::fslab()
        .current_dir(scratch.path())
        .args(["check", "disk.img"])
        .stdout(std::os::fd::OwnedFd::from(writer))
        .stderr(std::process::Stdio::piped())
        .output()
        .unwrap();
    assert_code(&output, 141);
}

#[test]
fn a_mounted_filesystem_is_checked_only_live_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    filesystem(&scratch, "disk.img", &[]);
    let point = scratch.join("mnt");
    std::fs::create_dir(&point).unwrap();
    let run = |program: &str, args: &[&Path]| {
        Command::new(program).args(args).status().unwrap().success()
    };
    assert!(run(
        "mount",
        &[Path::new("-oloop"), &scratch.join("disk.img"), &point]
    ));
    let refused = check(&scratch, &["disk.img"]);
    let live = check(&scratch, &["disk.img", "--live"]);
    assert!(run("umount", &[&point]));
    assert_code(&refused, 8);
    assert!(
        error_line(&refused).contains("mounted read-write"),
        "{}",
        error_line(&refused)
    );
    assert!(stdout(&live).contains("unstable"), "{}", stdout(&live));
    let after = check(&scratch, &["disk.img"]);
    assert_code(&after, 0);
    assert!(!stdout(&after).contains("unstable"));
}

#[test]
fn brief_says_what_to_do_and_costs_are_asked_for() {
    let scratch = Scratch::new();
    filesystem(&scratch, "disk.img", &[]);
    let clean = check(&scratch, &["disk.img", "--brief"]);
    assert_code(&clean, 0);
    assert_eq!(stdout(&clean), "disk.img: ext4: clean, exit code 0\n");
    debugfs(&scratch, "disk.img", "write /etc/passwd passwd");
    debugfs(&scratch, "disk.img", "set_inode_field passwd links_count 7");
    let brief = check(&scratch, &["disk.img", "--brief"]);
    assert_code(&brief, 4);
    let text = stdout(&brief);
    assert!(text.lines().count() < 12, "{text}");
    assert!(text.contains("4_BAD_REF_COUNT"), "{text}");
    assert!(text.contains("what to do next\n  1. "), "{text}");
    assert!(text.contains("\n       e2fsck -fy disk.img\n"), "{text}");
    let plain = stdout(&check(&scratch, &["disk.img"]));
    assert!(plain.contains("what to do next"), "{plain}");
    assert!(!plain.contains("wall s"), "{plain}");
    let costs = stdout(&check(&scratch, &["disk.img", "--costs"]));
    assert!(costs.contains("pass   wall s"), "{costs}");
    let json = stdout(&check(
        &scratch,
        &["disk.img", "--format", "json", "--brief"],
    ));
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(document["passes"][1]["wall_s"].as_f64().is_some());
    assert_eq!(document["next"][0]["commands"][0], "e2fsck -fy disk.img");
}

#[test]
fn an_estimate_is_of_both_checkers_and_writes_nothing() {
    let scratch = Scratch::new();
    filesystem(&scratch, "disk.img", &[]);
    let before = std::fs::read(scratch.join("disk.img")).unwrap();
    let text = check(&scratch, &["--estimate", "disk.img"]);
    assert_code(&text, 0);
    let text = stdout(&text);
    for words in [
        "11 inodes in use",
        "fslab check",
        "e2fsck -fn",
        "random block",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let csv = check(&scratch, &["--estimate", "disk.img", "--format", "csv"]);
    assert_code(&csv, 0);
    let rows = stdout(&csv);
    assert_eq!(rows.lines().count(), 5, "{rows}");
    assert!(
        rows.lines().all(|row| row.split(',').count() == 6),
        "{rows}"
    );
    let json = check(&scratch, &["--estimate", "disk.img", "--format", "json"]);
    assert_code(&json, 0);
    let document: serde_json::Value = serde_json::from_str(&stdout(&json)).unwrap();
    assert_eq!(document["inodes"], 11);
    for program in document["programs"].as_array().unwrap() {
        for of in ["seconds", "memory"] {
            let value = |end: &str| program[of][end].as_f64().unwrap();
            assert!(
                0.0 < value("low")
                    && value("low") < value("likely")
                    && value("likely") < value("high"),
                "{program}"
            );
        }
    }
    assert_eq!(std::fs::read(scratch.join("disk.img")).unwrap(), before);
}
