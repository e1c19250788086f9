//! The latency of operations: in every format where the log has it, in none where it has not.

use record::Run;
use report::Format;
use serde_json::{Value, json};

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
