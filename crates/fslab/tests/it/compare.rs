//! `fslab compare`, `fslab history` and `fslab bisect-step` on simulated runs: codes, sides, formats.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::common::{Scratch, assert_code, error_line, run_in, stderr, stdout};
use fixtures::simulated::{Normal, Simulated};

/// Runs `NAME-0`, `NAME-1` ... below `fslab-runs`, tagged with their side.
fn write_side(dir: &Path, name: &str, first: u32, count: u32, level: f64) {
    let mut draws = Normal::new(u64::from(first) + 1);
    for n in 0..count {
        let mut run = Simulated::new(first + n, vec![draws.rates(level, 3, 0.01, 0.02)]);
        run.name = format!("{name}-{n}");
        run.tags.insert("side".into(), name.into());
        run.write(&dir.join("fslab-runs").join(&run.name)).unwrap();
    }
}

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    write_side(scratch.path(), "main", 0, 5, 1000.0);
    write_side(scratch.path(), "slow", 10, 5, 880.0);
    write_side(scratch.path(), "same", 20, 5, 1000.0);
    scratch
}

#[test]
fn codes_of_a_gate() {
    let scratch = scratch();
    let code = |arguments: &[&str], code: i32| {
        let output = run_in(scratch.path(), &[&["compare"], arguments].concat());
        assert_code(&output, code);
        stdout(&output)
    };
    let (main, slow, same) = ("tag.side=main", "tag.side=slow", "tag.side=same");
    assert!(code(&[main, slow], 0).starts_with("B is worse than A in 1 of 1 figure\n"));
    assert!(code(&[main, slow, "--fail-on", "worse"], 3).starts_with("FAILED"));
    assert!(code(&[main, same, "--fail-on", "worse"], 0).starts_with("PASSED"));
    assert!(code(&[main, same, "--fail-on", "not-shown"], 0).starts_with("PASSED"));
    code(
        &[main, same, "--fail-on", "not-shown", "--margin", "0.1%"],
        3,
    );
    // One run a side: no gate takes it, unless it is asked to.
    code(&["main-0", "slow-0"], 0);
    assert!(code(&["main-0", "slow-0", "--fail-on", "worse"], 7).starts_with("NOT JUDGED"));
    code(&["main-0", "slow-0", "--fail-on", "worse", "--one-run"], 3);
    // Names, paths and folders of runs are sides.
    code(
        &[
            "main-0,main-1,fslab-runs/main-2",
            "slow-0,slow-1,slow-2",
            "--fail-on",
            "worse",
        ],
        3,
    );
    code(&[main, slow, same, "--fail-on", "worse"], 3);
    assert!(code(&[main, "--plan"], 0).contains("runs a side show"));
}

#[test]
fn every_format_is_printed_and_written() {
    let scratch = scratch();
    for format in ["text", "json", "md", "junit", "gitlab", "github"] {
        let arguments = [
            "compare",
            "tag.side=main",
            "tag.side=slow",
            "--fail-on",
            "worse",
            "--format",
            format,
        ];
        let printed = run_in(scratch.path(), &arguments);
        assert_code(&printed, 3);
        let file = scratch.join(format);
        let written = run_in(
            scratch.path(),
            &[&arguments[..], &["-o", file.to_str().unwrap()]].concat(),
        );
        assert_code(&written, 3);
        assert_eq!(
            stdout(&printed),
            fs::read_to_string(&file).unwrap(),
            "{format}"
        );
        assert_eq!(stdout(&written), "");
    }
}

#[test]
fn what_is_wrong_is_named_in_one_line() {
    let scratch = scratch();
    for (arguments, says) in [
        (&["main-0"][..], "fslab compare A B"),
        (&["main-0", "main-0"], "on the side main-0"),
        (&["main-0", "nothing-there"], "nothing-there"),
        (&["tag.side=main", "tag.side=none"], "fslab list"),
        (&["tag.side=main", "colour=red"], "tag.NAME"),
        (&["tag.side=main,main-0", "slow-0"], "one side"),
        (
            &["main-0", "slow-0", "--metric", "nonsense"],
            "fslab metrics",
        ),
        (&["main-0", "slow-0", "--margin", "5"], "as in 5%"),
    ] {
        let output = run_in(scratch.path(), &[&["compare"], arguments].concat());
        assert_code(&output, 2);
        let line = error_line(&output);
        assert!(line.contains(says), "{arguments:?}: {line}");
    }
}

#[test]
fn nothing_comparable_is_code_2() {
    let scratch = scratch();
    let mut emulated = Simulated::new(30, vec![vec![1000.0; 3]]);
    emulated.timing = "emulated".into();
    emulated
        .write(&scratch.join("fslab-runs/emulated"))
        .unwrap();
    let output = run_in(
        scratch.path(),
        &["compare", "tag.side=main", "emulated", "--fail-on", "worse"],
    );
    assert_code(&output, 2);
    assert!(
        stdout(&output).starts_with("Nothing to compare"),
        "{}",
        stdout(&output)
    );
    assert!(stderr(&output).contains("nothing to compare"));
}

#[test]
fn a_history_nominates_and_never_fails() {
    let scratch = Scratch::new();
    write_side(scratch.path(), "a", 0, 12, 1000.0);
    write_side(scratch.path(), "b", 20, 12, 850.0);
    let output = run_in(scratch.path(), &["history", "mailserver"]);
    assert_code(&output, 0);
    let text = stdout(&output);
    assert!(
        text.starts_with("1 step nominated in 1 of 1 series (24 runs)"),
        "{text}"
    );
    assert!(text.contains("to confirm:"), "{text}");
    let output = run_in(
        scratch.path(),
        &["history", "mailserver", "tag.side=a", "--format", "json"],
    );
    assert_code(&output, 0);
    let json: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        (
            &json["runs"],
            json["series"][0]["steps"].as_array().unwrap().len()
        ),
        (&12.into(), 0)
    );
    assert_code(&run_in(scratch.path(), &["history", "none"]), 2);
}

/// git takes 1 to 127 as bad, so nothing but a bad commit may end with one of these.
#[test]
fn a_step_that_cannot_be_made_stops_the_search() {
    let scratch = scratch();
    let step = |arguments: &[&str], code: i32| {
        let output = run_in(scratch.path(), &[&["bisect-step"], arguments].concat());
        assert_code(&output, code);
        stderr(&output)
    };
    let sides = ["--good", "tag.side=main", "--bad", "tag.side=slow"];
    let with = |rest: &[&'static str]| [&sides[..], rest].concat();
    step(&["--no-such-option"], 255);
    step(&[], 255);
    step(&with(&["--", "true"]), 255);
    step(&with(&["--", "no-such-program", "{out}"]), 255);
    step(
        &[
            "--good",
            "tag.side=main",
            "--bad",
            "tag.side=same",
            "--",
            "true",
            "{out}",
        ],
        255,
    );
    step(&with(&["--", "sh", "-c", "exit 130", "{out}"]), 255);
    step(&with(&["--", "sh", "-c", "exit 5", "{out}"]), 255);
    step(&with(&["--", "sh", "-c", "kill -9 $$", "{out}"]), 255);
    // It ended well and left no run.
    step(&with(&["--", "true", "{out}"]), 255);
    let skipped = step(&with(&["--", "sh", "-c", "exit 7", "{out}"]), 125);
    assert!(
        skipped.contains("skip: the measurement ended with code 7"),
        "{skipped}"
    );
    step(&with(&["--build", "false", "--", "true", "{out}"]), 125);
}

/// Copies a run of the commit's kind from a pool: what `fslab run --out` would have measured.
const MEASURE: &str = "#!/bin/sh
set -e
number=$(cat number)
if [ \"$number\" = \"$UNTESTABLE\" ]; then exit 1; fi
if [ \"$number\" -ge \"$FIRST_BAD\" ]; then kind=bad; else kind=good; fi
next=$(cat \"$POOL/next\")
echo $((next + 1)) > \"$POOL/next\"
cp -r \"$POOL/$kind-$next\" \"$1\"
";

fn git(tree: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(tree)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .args(["-c", "user.name=test", "-c", "user.email=test@example.org"])
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {text}{errors}");
    text.trim().to_owned()
}

/// A tree of 64 commits of which one is untestable is bisected rightly 20 times of 20, through `git bisect run`.
#[test]
fn a_tree_of_64_commits_is_bisected() {
    const MOST: u32 = 400;
    if Command::new("git").arg("--version").output().is_err() {
        testkit::skip!("git is missing");
        return;
    }
    let scratch = scratch();
    let tree = scratch.join("tree");
    fs::create_dir(&tree).unwrap();
    git(&tree, &["init", "-q"]);
    let mut commits = Vec::new();
    for number in 1..=64 {
        fs::write(tree.join("number"), format!("{number}\n")).unwrap();
        git(&tree, &["add", "number"]);
        git(&tree, &["commit", "-q", "-m", &format!("commit {number}")]);
        commits.push(git(&tree, &["rev-parse", "HEAD"]));
    }
    let pool = scratch.join("pool");
    let mut draws = Normal::new(64);
    for n in 0..MOST {
        for (kind, level) in [("good", 1000.0), ("bad", 880.0)] {
            let mut run = Simulated::new(1000 + n, vec![draws.rates(level, 3, 0.01, 0.02)]);
            run.name = format!("{kind}-{n}");
            run.write(&pool.join(&run.name)).unwrap();
        }
    }
    let measure = scratch.join("measure");
    fs::write(&measure, MEASURE).unwrap();
    fs::set_permissions(&measure, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(pool.join("next"), "0\n").unwrap();
    let mut right = 0;
    for search in 0..20_usize {
        // Where the first bad commit is, and an untestable one that is not next to it: git could not tell those apart.
        let first_bad = 2 + (search * 37) % 62;
        let untestable = 2 + (first_bad + 20) % 61;
        git(&tree, &["bisect", "start", &commits[63], &commits[0]]);
        let mut run = Command::new("git");
        run.current_dir(&tree)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("POOL", &pool)
            .env("FIRST_BAD", first_bad.to_string())
            .env("UNTESTABLE", untestable.to_string())
            .args([
                "bisect",
                "run",
                env!("CARGO_BIN_EXE_fslab"),
                "bisect-step",
                "--steps",
                "6",
            ])
            .args([
                "--good",
                "tag.side=main",
                "--bad",
                "tag.side=slow",
                "--runs",
            ])
            .arg(scratch.join("fslab-runs"))
            .arg("--out")
            .arg(scratch.join(&format!("measured-{search}")))
            .arg("--")
            .arg(&measure)
            .arg("{out}");
        let output = run.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let found = format!("{} is the first bad commit", commits[first_bad - 1]);
        let is_right = text.contains(&found);
        if !is_right {
            let errors = String::from_utf8_lossy(&output.stderr);
            println!(
                "search {search}: commit {first_bad} is bad, {untestable} untestable:\n{text}{errors}"
            );
        }
        right += usize::from(is_right);
        git(&tree, &["bisect", "reset"]);
    }
    println!("{right} of 20 searches found the first bad commit");
    assert_eq!(right, 20);
}
