//! `fslab explain`: on the example run and on what cannot be explained.

use crate::common;

use std::collections::BTreeSet;
use std::fs;

use common::{Scratch, assert_code, error_line, example_run, run_in, stderr, stdout};
use explain::Options;

#[test]
fn the_text_is_a_mail() {
    let scratch = Scratch::new();
    example_run(&scratch);
    let output = run_in(scratch.path(), &["explain", "example", "--phase", "clean"]);
    assert_code(&output, 0);
    common::assert_fits_a_mail(&stdout(&output));
    insta::assert_snapshot!(stdout(&output));
}

#[test]
fn json_is_one_document_with_numbers() {
    let scratch = Scratch::new();
    example_run(&scratch);
    let output = run_in(scratch.path(), &["explain", "example", "--format", "json"]);
    assert_code(&output, 0);
    let json: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json["compared"], 16);
    let first = &json["explanations"][0];
    assert!(first["difference"]["times"].as_f64().unwrap() > 1.0);
    let verdicts: BTreeSet<&str> = first["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["verdict"].as_str().unwrap())
        .collect();
    assert!(
        verdicts.is_subset(&["holds", "denied", "not_judged"].into()),
        "{verdicts:?}"
    );
}

/// What a table of the report marks as different, and only that, is explained.
#[test]
fn the_differences_are_those_of_the_report() {
    let run = fixtures::example::run();
    let options = report::Options::default();
    let report = report::Report::new(&run, None, &options).unwrap();
    let mut marked = BTreeSet::new();
    for row in report.tables.iter().flat_map(|table| &table.rows) {
        for figure in &row.figures {
            let difference = figure.versus.as_ref().map(|versus| versus.difference);
            if let Some(report::model::Difference::Better | report::model::Difference::Worse) =
                difference
            {
                marked.insert((row.phase.clone().unwrap(), figure.cell.unwrap()));
            }
        }
    }
    let explained = explain::explain(&run, None, &Options::default()).unwrap();
    let found: BTreeSet<(String, u32)> = explained
        .explanations
        .iter()
        .map(|e| (e.difference.phase.clone(), e.difference.other.cell))
        .collect();
    assert!(marked.len() > 5, "{marked:?}");
    assert_eq!(found, marked);
}

#[test]
fn what_cannot_be_explained_is_one_line() {
    let scratch = Scratch::new();
    let message = |args: &[&str], code| {
        let output = run_in(scratch.path(), args);
        assert_code(&output, code);
        assert!(output.stdout.is_empty());
        error_line(&output)
    };
    assert!(message(&["explain", "no-such-run"], 2).contains("no-such-run"));
    example_run(&scratch);
    let factor = message(&["explain", "example", "--factor", "colour"], 2);
    assert!(
        factor.contains("colour") && factor.contains("filesystem"),
        "{factor}"
    );
    let filter = ["--filter", "filesystem=ext4", "--factor", "filesystem"];
    let nothing = message(&[&["explain", "example"][..], &filter].concat(), 2);
    assert!(nothing.contains("differ in one factor"), "{nothing}");

    let log = fs::read_to_string(scratch.join("example/events.jsonl")).unwrap();
    let cut: Vec<&str> = log.lines().take(40).collect();
    fs::create_dir(scratch.join("stopped")).unwrap();
    fs::write(scratch.join("stopped/events.jsonl"), cut.join("\n") + "\n").unwrap();
    let unfinished = message(&["explain", "stopped"], 6);
    assert!(unfinished.contains("fslab resume stopped"), "{unfinished}");
    let partial = run_in(scratch.path(), &["explain", "stopped", "--partial"]);
    assert_code(&partial, 0);

    let mut entries = fixtures::example::entries();
    for entry in &mut entries {
        if let record::Event::RunStarted { plan, .. } = &mut entry.event {
            plan.cells.truncate(1);
            plan.slots.retain(|slot| slot.cell == 0);
            for (slot, trial) in plan.slots.iter_mut().zip(0..) {
                slot.trial = trial;
            }
        }
    }
    let lines: Vec<String> = entries
        .iter()
        .take(3)
        .map(|entry| serde_json::to_string(entry).unwrap())
        .collect();
    fs::create_dir(scratch.join("single")).unwrap();
    fs::write(scratch.join("single/events.jsonl"), lines.join("\n") + "\n").unwrap();
    let single = message(&["explain", "single", "--partial"], 2);
    assert!(single.contains("one cell"), "{single}");
}

#[test]
fn stderr_is_empty_when_all_went_well() {
    let scratch = Scratch::new();
    example_run(&scratch);
    let output = run_in(scratch.path(), &["explain", "example"]);
    assert_code(&output, 0);
    assert_eq!(stderr(&output), "");
}
