//! The workflows of docs/examples, run as their services run them: with a stand-in for the build and the machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{Scratch, stderr, stdout};
use fixtures::simulated::{Normal, Simulated};

/// Stands for `fslab` in the workflow: a run is copied from a pool by its side and number, after its options were
/// checked; all else is the program itself.
const FSLAB: &str = "#!/bin/sh
set -e
if [ \"$1\" != run ]; then exec \"$REAL\" \"$@\"; fi
\"$REAL\" \"$@\" --help > /dev/null
out= side= commit=
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift;;
    --tag) case $2 in side=*) side=${2#side=};; commit=*) commit=${2#commit=};; esac; shift;;
  esac
  shift
done
test -n \"$commit\"
mkdir -p \"$(dirname \"$out\")\"
cp -r \"$POOL/$side-${out##*-}\" \"$out\"
";

/// Stands for a program that has nothing to do here.
const NOTHING: &str = "#!/bin/sh\n";

/// A folder of programs, and runs of a base and of a head with the given level, five each.
fn machine(scratch: &Scratch, head: f64) {
    let programs = scratch.join("programs");
    fs::create_dir(&programs).unwrap();
    for (name, text) in [("fslab", FSLAB), ("git", NOTHING), ("make", NOTHING)] {
        let path = programs.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut draws = Normal::new(12);
    for (first, side, level) in [(0, "base", 1000.0), (10, "head", head)] {
        for n in 1..=5 {
            let mut run = Simulated::new(first + n, vec![draws.rates(level, 3, 0.005, 0.01)]);
            run.name = format!("{side}-{n}");
            run.tags.insert("side".into(), side.into());
            run.write(&scratch.join("pool").join(&run.name)).unwrap();
        }
    }
}

fn workflow(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
    fs::read_to_string(path.join(name)).unwrap()
}

/// The shell texts of a workflow, in order: blocks after `KEY: |` or `- |`, and the one-line items of a list `script:`.
fn scripts(text: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = text.lines().collect();
    let (mut found, mut at, mut list) = (Vec::new(), 0, None);
    while at < lines.len() {
        let (line, depth) = (lines[at].trim(), indent(lines[at]));
        at += 1;
        if line == "script:" {
            list = Some(depth);
        } else if line == "run: |" || line == "- |" {
            let mut block = String::new();
            while at < lines.len() && (lines[at].trim().is_empty() || indent(lines[at]) > depth) {
                block.push_str(lines[at].trim_start());
                block.push('\n');
                at += 1;
            }
            found.push(block);
        } else if list.is_some_and(|list| depth > list) {
            found.extend(line.strip_prefix("- ").map(str::to_owned));
        } else {
            list = None;
        }
    }
    found
}

/// Runs the scripts in turn, each in a shell of its own that ends with the first failure. The outputs up to the first failure.
fn run(scratch: &Scratch, scripts: &[String], folder: &Path) -> Vec<Output> {
    let path = std::env::var("PATH").unwrap();
    let mut outputs = Vec::new();
    for script in scripts {
        let script = script
            .replace("${{ github.event.pull_request.base.sha }}", "base0")
            .replace("${{ github.sha }}", "head0");
        assert!(!script.contains("${{"), "{script}");
        let output = Command::new("sh")
            .args(["-e", "-c", &script])
            .current_dir(folder)
            .env(
                "PATH",
                format!("{}:{path}", scratch.join("programs").display()),
            )
            .env("REAL", env!("CARGO_BIN_EXE_fslab"))
            .env("POOL", scratch.join("pool"))
            .env("RUNNER_TEMP", scratch.join("temp"))
            .env("GITHUB_STEP_SUMMARY", scratch.join("summary.md"))
            .env("CI_MERGE_REQUEST_DIFF_BASE_SHA", "base0")
            .env("CI_COMMIT_SHA", "head0")
            .output()
            .unwrap();
        let failed = !output.status.success();
        outputs.push(output);
        if failed {
            break;
        }
    }
    outputs
}

/// The code of the workflow's last command, and a folder with what it left.
fn gate(name: &str, head: f64) -> (i32, Scratch) {
    let scratch = Scratch::new();
    machine(&scratch, head);
    let folder: PathBuf = scratch.join("work");
    fs::create_dir(&folder).unwrap();
    fs::create_dir(scratch.join("temp")).unwrap();
    let scripts = scripts(&workflow(name));
    assert!(scripts.len() >= 2, "{scripts:?}");
    let outputs = run(&scratch, &scripts, &folder);
    let last = outputs.last().unwrap();
    assert_eq!(
        outputs.len(),
        scripts.len(),
        "{} {}",
        stdout(last),
        stderr(last)
    );
    (last.status.code().unwrap(), scratch)
}

#[test]
fn the_github_workflow_passes_and_fails_and_has_a_summary() {
    for (head, code, verdict) in [(1000.0, 0, "PASSED"), (880.0, 3, "FAILED")] {
        let (found, scratch) = gate("github.yml", head);
        assert_eq!(found, code);
        let summary = fs::read_to_string(scratch.join("summary.md")).unwrap();
        assert!(
            summary.contains('|') && summary.len() < 1 << 20,
            "{verdict}: {summary}"
        );
        assert_eq!(fs::read_dir(scratch.join("temp/runs")).unwrap().count(), 10);
    }
}

#[test]
fn the_gitlab_workflow_passes_and_fails_and_has_its_reports() {
    for (head, code) in [(1000.0, 0), (880.0, 3)] {
        let (found, scratch) = gate("gitlab.yml", head);
        assert_eq!(found, code);
        let junit = fs::read_to_string(scratch.join("work/junit.xml")).unwrap();
        assert!(
            junit.starts_with("<?xml") && junit.contains("<testcase"),
            "{junit}"
        );
        let quality = fs::read_to_string(scratch.join("work/quality.json")).unwrap();
        let quality: serde_json::Value = serde_json::from_str(&quality).unwrap();
        assert_eq!(quality.as_array().unwrap().is_empty(), code == 0);
    }
}
