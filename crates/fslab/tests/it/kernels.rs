//! Where a plan runs: the choice by what it needs, kernels as a factor, kernels by their files, and that a run
//! resumes in the kernel it started in.

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use common::guests::{SMALL, Uml, can};
use common::{assert_code, assert_ran, error_line, fslab, stderr, stdout};
use record::{Run, Status};

/// A User-mode Linux that runs here.
fn uml() -> PathBuf {
    Uml::of_this_machine().image
}

fn run(dir: &Path, command: &str, more: &[&str]) -> Output {
    fslab()
        .current_dir(dir)
        .env("FSLAB_CACHE", dir.join("cache"))
        .arg(command)
        .args(SMALL)
        .args(more)
        .output()
        .unwrap()
}

fn add(dir: &Path, name: &str, image: &Path) {
    let output = fslab()
        .current_dir(dir)
        .args(["kernel", "add", name, "--cache", "cache", "--kernel"])
        .arg(image)
        .output()
        .unwrap();
    assert_code(&output, 0);
}

/// The reason for the chosen executor, and the plan's notes.
fn planned(dir: &Path, more: &[&str]) -> (String, String) {
    let output = run(dir, "plan", &[&["--format", "json"], more].concat());
    assert_code(&output, 0);
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let notes = plan["plan"]["notes"].to_string();
    (plan["choice"].as_str().unwrap().to_owned(), notes)
}

#[test]
fn the_host_runs_what_it_has_everything_for() {
    let temp = tempfile::tempdir().unwrap();
    let (why, notes) = planned(temp.path(), &[]);
    assert!(
        why.starts_with("nothing is lacking: runs in the host's Linux"),
        "{why}"
    );
    assert_eq!(notes, "[]");
}

#[test]
fn the_first_that_has_everything_runs_it_and_the_plan_says_why_needs_uml() {
    if !can("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let uml = Uml::of_this_machine();
    if uml.libraries.is_some() {
        // It was fetched into another cache: the installed program may not run here.
        add(temp.path(), "uml-fetched", &uml.image);
    }
    let planned = |more: &[&str]| planned(temp.path(), more);
    let (why, notes) = planned(&["--executor", "uml"]);
    assert!(
        why.contains(": runs in User-mode Linux") && why.ends_with("times are emulated"),
        "{why}"
    );
    assert!(
        why.starts_with("as asked: ") || why.contains(" does not run on this machine ("),
        "{why}"
    );
    assert!(notes.contains(&why), "{notes}");
    // With --executor uml a version means one of User-mode Linux.
    let place = why.rsplit("User-mode Linux ").next().unwrap();
    let series: Vec<&str> = place.split('.').take(2).collect();
    let (of_series, _) = planned(&["--executor", "uml", "--kernel", &series.join(".")]);
    assert_eq!(of_series, why);
    // Only User-mode Linux has hostfs.
    let (why, notes) = planned(&["--set", "needs.capabilities=[\"hostfs\"]"]);
    assert!(
        why.starts_with("host lacks hostfs") && why.contains(": runs in User-mode Linux"),
        "{why}"
    );
    assert!(notes.contains(&why), "{notes}");
    let output = run(
        temp.path(),
        "plan",
        &["--set", "needs.capabilities=[\"hostfs\"]"],
    );
    assert!(
        stdout(&output).contains("host lacks hostfs"),
        "{}",
        stdout(&output)
    );
}

/// The one line of a run that is refused before anything is made.
fn refused(dir: &Path, more: &[&str]) -> String {
    let output = run(dir, "run", &[&["--out", "run"], more].concat());
    assert_code(&output, 2);
    assert!(!dir.join("run").exists());
    error_line(&output)
}

#[test]
fn what_no_executor_has_is_one_line_that_names_all_three() {
    let temp = tempfile::tempdir().unwrap();
    let refused = |more: &[&str]| refused(temp.path(), more);
    let message = refused(&["--set", "needs.kernel=>=99"]);
    assert!(
        message.contains("host lacks a version >=99")
            && (message.contains("uml") || message.contains("User-mode")),
        "{message}"
    );
    assert!(message.contains("fslab kernel"), "{message}");
    let message = refused(&["--kernel", "5.10,6.99"]);
    assert!(
        message.contains("no kernels 5.10, 6.99")
            && message.contains("`fslab kernel fetch 5.10 6.99`"),
        "{message}"
    );
    let message = refused(&["--kernel", "mine"]);
    assert!(
        message.contains("no kernel mine") && message.contains("fslab kernel add mine"),
        "{message}"
    );
    let message = refused(&[
        "--executor",
        "host",
        "--set",
        "needs.capabilities=[\"warp\"]",
    ]);
    assert!(message.contains("`warp` is no capability"), "{message}");
    let message = refused(&["--modules", "/lib", "--kernel", "6.1"]);
    assert!(message.contains("--kernel ./bzImage"), "{message}");
    let message = refused(&["--dir", "/tmp", "--set", "kernel=6.1"]);
    assert!(message.contains("its own kernel"), "{message}");
    let message = refused(&["--kernel", "./none"]);
    assert!(message.contains("./none"), "{message}");
}

#[test]
fn a_kernel_that_cannot_is_named_with_what_it_lacks_needs_uml() {
    if !can("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let refused = |more: &[&str]| refused(temp.path(), more);
    add(temp.path(), "uml-a", &uml());
    let message = refused(&["--kernel", "uml-a", "--set", "needs.times=absolute"]);
    assert!(
        message.contains("kernel uml-a lacks times of hardware"),
        "{message}"
    );
    let message = refused(&["--kernel", "uml-a", "--executor", "qemu"]);
    assert!(
        message.contains("--executor uml") || message.contains("install"),
        "{message}"
    );
    let message = refused(&["--kernel", "uml-a", "--executor", "host"]);
    assert!(message.contains("leave out --executor host"), "{message}");
}

/// A run of two identical kernels: everything but the numbers is as with different ones.
#[test]
fn kernels_are_a_factor_like_any_other_needs_uml() {
    if !can("uml") {
        return;
    }
    let image = uml();
    let temp = tempfile::tempdir().unwrap();
    for name in ["uml-a", "uml-b"] {
        add(temp.path(), name, &image);
    }
    let more = ["--kernel", "uml-a,uml-b", "--blocks", "2", "--out", "run"];
    let output = run(temp.path(), "run", &more);
    assert_ran(&output);
    let dir = temp.path().join("run");
    let run = Run::load(&dir).unwrap();
    assert_eq!(run.target, "guest uml kernels=uml-a:uml-a,uml-b:uml-b");
    assert_eq!((run.plan.cells.len(), run.trials.len()), (2, 4));
    assert!(
        run.trials
            .iter()
            .all(|trial| trial.status == Status::Finished)
    );
    for cell in &run.plan.cells {
        let level = &cell.levels["kernel"];
        assert_eq!(cell.kernel.as_ref(), Some(level));
        let context = run.context_of(cell).unwrap();
        let called = context["items"]["run.kernel"]["value"].as_str().unwrap();
        assert!(called.ends_with(&format!("({level})")), "{called}");
        assert!(run.contexts.contains_key(&format!("kernel {level}")));
        assert!(
            dir.join(format!("guests/context-{level}.console"))
                .is_file()
        );
    }
    assert!(
        run.context_item("run.choice")
            .unwrap()
            .contains("User-mode Linux")
    );
    let text = stdout(&output);
    assert!(text.contains("uml-a") && text.contains("uml-b"), "{text}");
    assert!(text.contains("times emulated (User-mode Linux)"), "{text}");
}

#[test]
fn a_kernel_by_its_file_and_a_run_that_goes_on_in_it_needs_uml() {
    if !can("uml") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let mine = temp.path().join("linux");
    Uml::of_this_machine().copy_to(&mine);
    let more = ["--kernel", "./linux", "--blocks", "1", "--out", "run"];
    let output = run(temp.path(), "run", &more);
    assert_ran(&output);
    let dir = temp.path().join("run");
    let target = Run::load(&dir).unwrap().target;
    let name = target.strip_prefix("guest uml kernel=linux-").unwrap();
    assert_eq!(name.len(), 12, "{target}");
    // The given file may be removed; the cache has a copy.
    fs::remove_file(&mine).unwrap();
    let log = dir.join("events.jsonl");
    let whole = fs::read_to_string(&log).unwrap();
    let begun = whole
        .lines()
        .take_while(|line| !line.contains("\"trial_started\""));
    let begun: String = begun.flat_map(|line| [line, "\n"]).collect();
    let resume = || {
        fslab()
            .current_dir(temp.path())
            .env("FSLAB_CACHE", temp.path().join("cache"))
            .args(["resume", "run"])
            .output()
            .unwrap()
    };
    // As if it had started in another kernel.
    let release = Run::load(&dir)
        .unwrap()
        .context_item("system.kernel.release")
        .unwrap();
    fs::write(&log, begun.replace(&release, "5.4.0-elsewhere")).unwrap();
    let output = resume();
    assert_code(&output, 2);
    let message = error_line(&output);
    assert!(
        message.contains("began in kernel 5.4.0-elsewhere") && message.contains(&release),
        "{message}"
    );
    fs::write(&log, &begun).unwrap();
    assert_ran(&resume());
    let run = Run::load(&dir).unwrap();
    assert_eq!(run.trials[0].status, Status::Finished);
    assert_eq!(run.target, target);
    // With an empty cache the run is refused, and the message names what is missing.
    fs::write(&log, &begun).unwrap();
    fs::remove_dir_all(temp.path().join("cache")).unwrap();
    let output = resume();
    assert_code(&output, 2);
    assert!(
        error_line(&output).contains("no kernel linux-"),
        "{}",
        stderr(&output)
    );
}
