//! The workloads alone: one JSON document, the originals' layouts, bad options.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Scratch, assert_code, error_line, run_in, stderr, stdout};
use serde_json::Value;

fn bench(scratch: &Scratch, words: &str) -> std::process::Output {
    let mut args = vec!["bench"];
    args.extend(words.split_whitespace());
    run_in(scratch.path(), &args)
}

fn document(output: &std::process::Output) -> Value {
    assert_code(output, 0);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn names(document: &Value) -> Vec<&str> {
    document["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect()
}

#[test]
fn throughput_prints_one_document() {
    let scratch = Scratch::new();
    let output = bench(
        &scratch,
        "throughput --dir . -t 2 -s 1m -r 64k --settle 0 --format json",
    );
    let document = document(&output);
    assert_eq!(document["workload"], "throughput");
    let expected = [
        "initial_write",
        "rewrite",
        "read",
        "reread",
        "random_read",
        "random_write",
    ];
    assert_eq!(names(&document), expected);
    for phase in document["phases"].as_array().unwrap() {
        for clock in ["original", "fsync", "syncfs"] {
            assert!(
                phase["bytes_per_s"][clock].as_f64().unwrap() > 0.0,
                "{phase}"
            );
        }
        assert!(phase["seconds"].as_f64().unwrap() > 0.0);
        assert_eq!(phase["threads"].as_array().unwrap().len(), 2);
        assert_eq!(phase["bytes_asked"], 2 << 20);
        assert!(phase["operations"].as_u64().unwrap() <= 32);
        let parent = phase["figures"]["parent"].as_f64().unwrap();
        assert!(phase["figures"]["children"].as_f64().unwrap() >= parent * 0.99);
        assert!(phase["figures"]["min_xfer"].as_f64().unwrap() <= f64::from(1 << 20));
    }
    assert_eq!(
        std::fs::read_dir(scratch.path()).unwrap().count(),
        0,
        "its files are removed"
    );
}

#[test]
fn tree_prints_one_document() {
    let scratch = Scratch::new();
    let output = bench(
        &scratch,
        "tree --dir . -i 10 -r 30 --scale 0.005 --format json",
    );
    let document = document(&output);
    assert_eq!(document["workload"], "tree");
    let runs: Vec<(&str, u64)> = document["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| {
            (
                p["name"].as_str().unwrap(),
                p["operations"].as_u64().unwrap(),
            )
        })
        .collect();
    // compilebench -i 10 -r 30: the sequence is fixed by its seed.
    let expected = [
        ("initial_create", 10),
        ("create", 5),
        ("patch", 4),
        ("compile", 7),
        ("clean", 4),
        ("read_tree", 2),
        ("read_compiled_tree", 1),
        ("delete_tree", 2),
        ("delete_compiled_tree", 0),
        ("stat_tree", 4),
        ("stat_compiled_tree", 1),
    ];
    assert_eq!(runs, expected);
    for phase in document["phases"].as_array().unwrap() {
        let threads = phase["threads"].as_array().unwrap();
        let whole = phase["operations"] != 0;
        assert_eq!(threads.len(), usize::from(whole), "{phase}");
        assert!(!whole || threads[0]["bytes"] == phase["bytes"], "{phase}");
        for clock in ["original", "fsync", "syncfs"] {
            assert!(phase["bytes_per_s"].get(clock).is_some(), "{phase}");
        }
    }
}

#[test]
fn the_originals_layouts_can_be_had() {
    let scratch = Scratch::new();
    let output = bench(
        &scratch,
        "throughput --dir . -s 1m -r 64k --settle 0 --format original",
    );
    assert_code(&output, 0);
    assert!(stdout(&output).contains("\tChildren see throughput for  1 initial writers \t="));
    let output = bench(
        &scratch,
        "tree --dir . -i 2 -r 0 -n --scale 0.005 --format original",
    );
    assert_code(&output, 0);
    assert!(
        stdout(&output).contains("intial create total runs 2 avg "),
        "{}",
        stdout(&output)
    );
}

#[test]
fn text_is_a_table_within_78_columns_with_every_clock() {
    let scratch = Scratch::new();
    let output = bench(&scratch, "throughput --dir . -t 2 -s 1m -r 64k --settle 0");
    assert_code(&output, 0);
    let text = stdout(&output);
    assert!(
        text.lines().all(|line| line.chars().count() <= 78),
        "{text}"
    );
    for word in ["(a) MB/s", "(b) MB/s", "(c) MB/s", "random_write"] {
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn a_line_is_written_every_five_seconds_without_a_terminal() {
    let scratch = Scratch::new();
    let output = bench(&scratch, "throughput --dir . -s 1m -r 64k --settle 1.1");
    assert_code(&output, 0);
    let text = stderr(&output);
    let phases = [
        "initial_write",
        "rewrite",
        "read",
        "reread",
        "random_read",
        "random_write",
    ];
    let lines = text
        .lines()
        .filter(|line| phases.iter().any(|name| line.contains(name)))
        .count();
    assert!((1..=3).contains(&lines), "{text}");
}

#[test]
fn bad_options_are_refused_with_what_is_allowed() {
    let scratch = Scratch::new();
    for (words, told) in [
        ("throughput --dir . -t 0", "1..=1024"),
        ("throughput --dir . -r 0", "1"),
        ("throughput --dir . -s 1k -r 4k", "size"),
        ("throughput --dir . --direct -s 64k -r 1000", "record"),
        ("throughput --dir . --queue-depth 4", "io_uring"),
        ("throughput --dir . --settle -1", "settle"),
        ("throughput --dir . -s 2x", "2x"),
        ("tree --dir . --scale 0", "scale"),
        ("tree --dir . -i 1001", "initial"),
        ("tree --dir . -s no-such-folder", "no-such-folder"),
    ] {
        let output = bench(&scratch, words);
        assert_code(&output, 2);
        assert!(
            error_line(&output).contains(told),
            "{words}: {}",
            error_line(&output)
        );
        assert_eq!(
            std::fs::read_dir(scratch.path()).unwrap().count(),
            0,
            "{words}"
        );
    }
}
