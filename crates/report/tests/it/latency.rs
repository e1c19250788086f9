//! The latency of operations: in every format where the log has it, in none where it has not.

use record::{Run, Sample};
use report::{Format, Options, Part, render};
use serde_json::{Value, json};
use study::Clock;

use crate::common::in_format;

const TITLE: &str = "Latency of operations";

/// The example run, each phase of which took its time in writes.
pub(crate) fn run() -> Run {
    let mut run = fixtures::example::run();
    for (at, trial) in run.trials.iter_mut().enumerate() {
        for phase in &mut trial.phases {
            phase.detail["latency"] = latencies(1.0 + 0.01 * at as f64);
        }
    }
    run
}

fn latencies(scale: f64) -> Value {
    let of = |operation: &str, count: u64, p50: f64| {
        let p50 = p50 * scale;
        let bucket =
            |from: f64, count: u64| json!({"from": from, "to": from * 1.25, "count": count});
        json!({
            "operation": operation, "count": count, "min": p50 / 2.0, "mean": p50, "p50": p50,
            "p90": p50 * 2.0, "p99": p50 * 4.0, "p999": p50 * 20.0, "max": p50 * 50.0,
            "histogram": [bucket(1.0e-4, count - count / 4), bucket(1.6e-4, count / 4)],
        })
    };
    json!([
        of("open", 4, 2.0e-5),
        of("write", 1024, 1.2e-4),
        of("fsync", 4, 8.0e-3)
    ])
}

#[test]
fn every_format_has_them() {
    let run = run();
    let mail = in_format(&run, Format::Text);
    assert!(mail.contains(TITLE) && mail.contains("p99.9"), "{mail}");
    assert!(mail.lines().all(|line| line.chars().count() <= 78));
    // Only the page and Markdown have room for every operation.
    let markdown = in_format(&run, Format::Md);
    assert!(
        markdown.contains("fsync") && !mail.contains("| fsync"),
        "{markdown}"
    );
    let page = in_format(&run, Format::Html);
    assert!(page.contains("id=\"latency\"") && page.contains("svg class=\"plot histogram\""));
    let document: Value = serde_json::from_str(&in_format(&run, Format::Json)).unwrap();
    let first = &document["latency"][0];
    assert_eq!(first["operation"], "open");
    for field in [
        "cell",
        "phase",
        "n",
        "operations",
        "p50",
        "p90",
        "p99",
        "p999",
        "max",
    ] {
        assert!(!first[field].is_null(), "{field}: {first}");
    }
    let counted: u64 = first["histogram"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bucket| bucket["count"].as_u64().unwrap())
        .sum();
    assert_eq!(Some(counted), first["operations"].as_u64());
}

#[test]
fn a_log_without_them_has_no_section() {
    let run = fixtures::example::run();
    for format in [Format::Text, Format::Md, Format::Html] {
        let out = in_format(&run, format);
        assert!(!out.contains(TITLE), "{out}");
    }
    let document: Value = serde_json::from_str(&in_format(&run, Format::Json)).unwrap();
    assert!(document["latency"].is_null());
}

/// The same run with samples of each phase's writes: xfs takes `times` as long as the others at p99.
fn measured(times: f64) -> Run {
    with_samples(run(), times)
}

fn with_samples(mut run: Run, times: f64) -> Run {
    for slot in run.plan.slots.clone() {
        let levels = &run.plan.cells[slot.cell as usize].levels;
        let is_xfs = levels["filesystem"] == "xfs";
        let trial = &mut run.trials[slot.trial as usize];
        let noise = 1.0 + 0.002 * f64::from(slot.trial % 5);
        let phases: Vec<String> = trial.phases.iter().map(|p| p.name.clone()).collect();
        for phase in phases {
            trial.samples.push(Sample {
                phase,
                metric: "write_p99".to_owned(),
                clock: Clock::Original,
                value: 5e-4 * noise * if is_xfs { times } else { 1.0 },
                unit: "s".to_owned(),
            });
        }
    }
    run
}

#[test]
fn the_summary_names_the_largest_difference_of_p99_and_the_matrix_has_a_row_for_each_phase() {
    let run = measured(2.0);
    let text = first(&run);
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    assert!(
        text.contains("Latency, the largest difference first (16 of 16"),
        "{text}"
    );
    assert!(
        text.contains("is 2.00 times as long with xfs as with ext4 ("),
        "{text}"
    );
    assert!(text.contains("1 ms against 501 us"), "{text}");
    let document = json(&run);
    let summary = &document["summary"];
    let latencies = summary["latencies"].as_array().unwrap();
    let mut phases: Vec<&str> = latencies
        .iter()
        .filter(|e| e["other"] == "xfs" || e["base"] == "xfs")
        .map(|e| e["phase"].as_str().unwrap())
        .collect();
    let n = phases.len();
    phases.dedup();
    assert_eq!(phases.len(), n, "one row for each phase: {phases:?}");
    assert!(n > 3, "{phases:?}");
    // The first screen has the largest differences, the summary alone all of them.
    assert_eq!(text.matches("(write p99)").count(), 5, "{text}");
    assert!(
        text.contains("rows of latency more: --only summary"),
        "{text}"
    );
    let summary_alone = Options {
        part: Part::Summary,
        ..Options::default()
    };
    let whole = render(&run, None, &summary_alone).unwrap();
    assert_eq!(whole.matches("(write p99)").count(), n, "{whole}");
    assert!(summary["latency_established"].as_u64().unwrap() >= n as u64);
    // The sentences on speeds do not depend on them.
    let without = json(&super::latency::run());
    for key in [
        "differences",
        "equal",
        "undecided",
        "established",
        "effects",
    ] {
        assert_eq!(summary[key], without["summary"][key], "{key}");
    }
}

#[test]
fn latencies_that_do_not_differ_are_one_line() {
    let text = first(&measured(1.0));
    assert!(
        text.contains("Latency: no difference is established in"),
        "{text}"
    );
}

/// A study of two factors and fifteen phases, each with a latency that differs, has a first screen all the same.
#[test]
fn the_first_screen_of_the_built_in_study_has_room_for_them() {
    let mut run = crate::common::quick(5, None);
    for phase in run.trials.iter_mut().flat_map(|trial| &mut trial.phases) {
        phase.detail["latency"] = latencies(1.0);
    }
    let text = first(&with_samples(run, 2.0));
    assert!(text.contains("(write p99)"), "{text}");
    assert!(text.lines().count() <= 120, "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 78),
        "{text}"
    );
}

/// The first screen.
fn first(run: &Run) -> String {
    let options = Options {
        part: Part::First,
        ..Options::default()
    };
    render(run, None, &options).unwrap()
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&in_format(run, Format::Json)).unwrap()
}

/// A mail has no room for a drawing, and shows the shape of the distribution all the same.
#[test]
fn the_text_has_a_histogram_of_each_phase() {
    let mail = in_format(&run(), Format::Text);
    let plot = mail.find("initial_write, write: share of operations by latency, @ is 75 %");
    let plot: Vec<&str> = mail[plot.unwrap()..].lines().take(5).collect();
    assert!(plot[1].trim_start().starts_with("ext4"), "{plot:#?}");
    assert!(plot[1].contains("|@ -"), "{plot:#?}");
    assert!(
        plot.iter().any(|line| line.contains("|100 us")),
        "{plot:#?}"
    );
}
