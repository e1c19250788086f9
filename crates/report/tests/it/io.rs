//! Layouts, block traces, what tracing cost, and the list of 2010 in every format.

use crate::common;

use common::io::allocation;
use report::{Format, Options, render};

fn rendered(run: &record::Run, format: Format) -> String {
    let options = Options {
        format,
        ..Options::default()
    };
    render(run, None, &options).unwrap()
}

fn json(run: &record::Run) -> serde_json::Value {
    serde_json::from_str(&rendered(run, Format::Json)).unwrap()
}

#[test]
fn a_traced_run_in_a_mail() {
    let out = rendered(&allocation(5), Format::Text);
    let of_time = |line: &str| line.contains("CPU (0avgtext+0avgdata");
    for line in out.lines().filter(|line| !of_time(line)) {
        assert!(line.chars().count() <= 78, "{line}");
        assert_eq!(line.trim_end(), line, "trailing space");
    }
    insta::assert_snapshot!(out);
}

#[test]
fn a_traced_run_in_markdown() {
    let out = rendered(&allocation(3), Format::Md);
    let at = out.find("## The runs as the message").unwrap();
    insta::assert_snapshot!(&out[at..]);
}

#[test]
fn json_has_every_layout_trace_and_pair() {
    let seen = json(&allocation(5));
    let layouts = seen["layouts"].as_array().unwrap();
    assert_eq!(layouts.len(), 8, "one for each cell");
    assert_eq!(
        layouts[2]["figures"]["layout_extents"],
        serde_json::json!(vec![13.0; 5])
    );
    assert_eq!(layouts[2]["middle"]["layout"]["files"][0]["extents"], 13);
    let traces = seen["traces"].as_array().unwrap();
    assert_eq!(traces.len(), 4, "one for each traced cell");
    let degraded: Vec<bool> = traces
        .iter()
        .map(|t| t["degraded"].as_bool().unwrap())
        .collect();
    assert_eq!(degraded, [false, false, false, true]);
    assert!(
        traces[3]["doubt"]
            .as_str()
            .unwrap()
            .contains("lost 31200 of 2589102 events (1.21 %)")
    );
    let cost = &seen["cost_of_tracing"];
    // Four cells, clocks (a) and (c).
    assert_eq!(
        (cost["comparisons"].as_u64(), cost["without_twin"].as_u64()),
        (Some(8), Some(0))
    );
    let pair = &cost["pairs"][0];
    assert_eq!(pair["metric"], "throughput");
    let ratio = pair["comparison"]["ratio"].as_f64().unwrap();
    assert!((ratio - 1.0 / 1.021).abs() < 0.004, "{ratio}");
    assert_eq!(seen["list"][1]["entries"].as_array().unwrap().len(), 6);
    let traced = &seen["trials"][1];
    assert_eq!(
        traced["traces"][0]["device"],
        "loop1 (the filesystem's device)"
    );
    assert_eq!(traces[0]["device"], "the filesystem's device");
    assert_eq!(traces[0]["n"], 5, "whatever its loop devices were");
    assert_eq!(traced["layouts"][0]["files_total"], 1);
}

#[test]
fn csv_has_the_cost_of_tracing() {
    let out = rendered(&allocation(5), Format::Csv);
    let rows: Vec<&str> = out
        .lines()
        .filter(|l| l.contains("cost_of_tracing"))
        .collect();
    assert_eq!(rows.len(), 8 * 3);
    assert!(
        rows[0].starts_with("allocation-20260102-030405,,,xfs,,true,dd,write,"),
        "{}",
        rows[0]
    );
    assert!(rows[0].ends_with(",ratio,ratio,"), "{}", rows[0]);
}

#[test]
fn traces_without_twins_say_that_their_cost_is_not_known() {
    let mut run = allocation(5);
    for cell in &mut run.plan.cells {
        cell.levels.remove("trace");
        let id = cell.id.to_string();
        cell.levels.insert("readahead".to_owned(), id);
    }
    let out = rendered(&run, Format::Text);
    assert!(
        out.contains("Not known: no cell has an untraced twin"),
        "{out}"
    );
}

#[test]
fn one_block_has_a_cost_but_no_verdict() {
    let seen = json(&allocation(1));
    assert_eq!(seen["cost_of_tracing"]["comparisons"], 0);
    let out = rendered(&allocation(1), Format::Text);
    assert!(
        out.contains("8 figures, none with values enough for a test"),
        "{out}"
    );
    assert!(!out.contains("the middle of 1"), "{out}");
}

#[test]
fn a_pivot_and_a_plain_run_have_none_of_it() {
    let options = Options {
        metric: Some("seconds".to_owned()),
        ..Options::default()
    };
    let pivot = render(&allocation(3), None, &options).unwrap();
    let plain = rendered(&fixtures::example::run(), Format::Text);
    for heading in [
        "Layout:",
        "Block trace:",
        "Cost of tracing",
        "as the message lists",
    ] {
        assert!(
            !pivot.contains(heading) && !plain.contains(heading),
            "{heading}"
        );
    }
}
