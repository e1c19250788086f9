//! The whole text report: width, honesty, snapshots.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod common;

use record::Status;
use report::{Options, render};

fn text(run: &record::Run, options: &Options) -> String {
    render(run, None, options).unwrap()
}

fn assert_fits(text: &str, width: usize) {
    for line in text.lines() {
        assert!(
            line.chars().count() <= width,
            "{} wide: {line}",
            line.chars().count()
        );
        assert_eq!(line.trim_end(), line, "trailing space");
    }
}

#[test]
fn the_example_run() {
    let out = text(&record::example::run(), &Options::default());
    assert_fits(&out, 78);
    insta::assert_snapshot!(out);
}

#[test]
fn a_quick_run_of_the_built_in_study() {
    let out = text(&common::quick(5, None), &Options::default());
    assert_fits(&out, 78);
    insta::assert_snapshot!(out);
}

#[test]
fn the_published_numbers_as_a_run() {
    let out = text(&common::wohlgemuth(), &Options::default());
    assert_fits(&out, 78);
    insta::assert_snapshot!(out);
}

#[test]
fn few_blocks_are_said_beside_the_number() {
    let out = text(&record::example::run(), &Options::default());
    assert!(
        out.contains("n=2..3: fewer than 5 blocks") || out.contains("n=3: fewer than 5 blocks")
    );
    let out = text(&common::quick(6, None), &Options::default());
    assert!(!out.contains("n=6"));
}

#[test]
fn a_number_whose_evidence_fails_does_not_look_clean() {
    let run = record::example::run();
    let out = text(&run, &Options::default());
    // One trial of the example: its cold cache was not cold before iozone's read.
    let fails = |t: &&record::TrialRecord| t.evidence.iter().any(|e| e.holds == Some(false));
    assert_eq!(run.trials.iter().filter(fails).count(), 1);
    let line = out.lines().find(|l| l.starts_with("readers:")).unwrap();
    assert_eq!(line.matches(")!").count(), 1, "{line}");
    let clean = out.lines().find(|l| l.starts_with("re-readers:")).unwrap();
    assert!(!clean.contains('!'), "{clean}");
    assert!(out.contains("cold_cache in read: evidence does not hold"));
    assert!(out.contains("DOES NOT HOLD 1"));
    assert!(out.contains("no space left on device"));
}

#[test]
fn an_incomplete_run_says_so() {
    let mut run = record::example::run();
    run.closing = None;
    for trial in run.trials.iter_mut().skip(6) {
        *trial = record::TrialRecord::default();
    }
    let out = text(&run, &Options::default());
    assert_fits(&out, 78);
    assert!(out.contains("the run is incomplete"));
    assert!(out.contains("not run: a trial failed or did not run"));
}

#[test]
fn a_run_without_any_number_still_reports() {
    let mut run = record::example::run();
    run.contexts.clear();
    for trial in &mut run.trials {
        trial.status = Status::Pending;
        trial.samples.clear();
        trial.mounted = None;
        trial.evidence.clear();
    }
    let out = text(&run, &Options::default());
    assert_fits(&out, 78);
    assert!(out.contains("absent: not in this run's context record"));
    assert!(out.contains("none was recorded"));
}

#[test]
fn names_of_any_length_fit() {
    let mut run = record::example::run();
    let long = "ext4-with-a-very-long-name-that-nobody-would-type,but-a-pivot-may-have";
    run.plan.title = format!("{long} {long}");
    run.plan.filesystems.clear();
    for (_, levels) in &mut run.plan.factors {
        for level in levels.iter_mut().filter(|l| *l == "xfs") {
            *level = long.to_owned();
        }
    }
    for cell in &mut run.plan.cells {
        for level in cell.levels.values_mut().filter(|l| *l == "xfs") {
            *level = long.to_owned();
        }
    }
    let out = text(&run, &Options::default());
    assert_fits(&out, 100);
    assert!(out.contains("1480") || out.contains("readers"));
}

#[test]
fn units_are_explained_once() {
    let out = text(&common::quick(5, None), &Options::default());
    assert_eq!(out.matches("2^20 bytes").count(), 1);
}
