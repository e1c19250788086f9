//! A small study whose trials are checked: what the tests of checks and of limits share.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use record::Run;

use super::{Scratch, assert_code, assert_ran, run_in};

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

pub(crate) const STREAM: &str = r#"
[[workload]]
name = "aiod"
kind = "stream"
block = "1m"
count = 24
verify = true
content = "random"
"#;

pub(crate) const FILL: &str = r#"
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

pub(crate) fn study(
    scratch: &Scratch,
    filesystems: &str,
    head: &str,
    workloads: &[&str],
) -> PathBuf {
    let path = scratch.join("checked.toml");
    let text = CHECKED.replace("FILESYSTEMS", filesystems) + head + &workloads.concat();
    fs::write(&path, text).unwrap();
    path
}

pub(crate) fn run(scratch: &Scratch, study: &Path, more: &[&str]) -> Output {
    let study = study.to_string_lossy();
    let mut words = vec!["run", &study, "--out", "out"];
    words.extend(more);
    run_in(scratch.path(), &words)
}

pub(crate) fn load(scratch: &Scratch) -> Run {
    Run::load(&scratch.join("out")).unwrap()
}

/// Names of evidence that does not hold. On a machine that is busy with other tests the clock of a
/// checker may differ from ours, which is reported and makes the run doubtful; nothing else may.
fn doubts(run: &Run) -> Vec<&str> {
    let all = run.trials.iter().flat_map(|trial| &trial.evidence);
    let doubts: Vec<&str> = all
        .filter(|found| found.holds == Some(false) && found.name != record::QUIET_MACHINE)
        .map(|evidence| evidence.name.as_str())
        .collect();
    assert!(
        doubts.iter().all(|name| *name == "clock_agrees"),
        "{doubts:?}"
    );
    doubts
}

/// The run that printed this. It finished, and nothing is doubtful but a checker's clock on a busy machine.
#[track_caller]
pub(crate) fn sound(scratch: &Scratch, output: &Output) -> Run {
    assert_ran(output);
    let run = load(scratch);
    assert_code(output, if doubts(&run).is_empty() { 0 } else { 7 });
    run
}
