//! How long the readers of a study would take on modelled devices, in every format.

use crate::common;

use common::{between, in_format};
use record::{Estimate, EstimatedDevice, EstimatedPass, Run, Stream};
use report::Format;
use serde_json::Value;
use study::{Reader, WorkloadSpec};

/// A pass that took `seconds`, and would take `times` as long on the device.
fn pass(phase: &str, seconds: f64, times: f64, limit: &str) -> EstimatedPass {
    let modelled = seconds * times;
    EstimatedPass {
        phase: phase.into(),
        requests: 1024,
        bytes: 4 << 20,
        recorded_s: Some(seconds),
        modelled_s: Some(modelled),
        modelled_low_s: Some(0.8 * modelled),
        modelled_high_s: Some(1.3 * modelled),
        modelled_nominal_s: Some(modelled),
        modelled_ratio: Some(times),
        modelled_response_ms: [8.0, 7.0, 14.0, 20.0],
        modelled_busy_percent: Some(96.0),
        modelled_idle_percent: Some(3.0),
        limit: Some(limit.into()),
    }
}

fn device(name: &str, studies: &[&str], times: f64, limit: &str) -> EstimatedDevice {
    EstimatedDevice {
        device: name.into(),
        stands_for: format!("what {name} stands for"),
        studies: studies.iter().map(|&study| study.into()).collect(),
        members: 2,
        passes: vec![
            pass("scan", 4.0, times, limit),
            pass("scan_pass_0a", 1.0, times, limit),
            pass("scan_pass_1", 3.0, times, limit),
        ],
        modelled_hits: 7,
        assumed: vec!["spindle: seek_ms".into()],
        fitted: vec![format!("{name}: link to two rows")],
        ..EstimatedDevice::default()
    }
}

/// fsck-io, estimated on the hardware of 2011 and on another disk; e2fsck without a trace, and one check from its trace.
pub(crate) fn run() -> Run {
    let mut run = common::scan::fsck_io(3);
    for slot in run.plan.slots.clone() {
        let cell = &run.plan.cells[slot.cell as usize];
        let WorkloadSpec::Scan(spec) = &cell.workload else {
            continue;
        };
        let readers = ["set-1", "set-4", "fslab-check", "e2fsck"];
        if cell.device.limit.is_some() || !readers.contains(&cell.workload_name.as_str()) {
            continue;
        }
        let (reader, stream) = match spec.reader {
            Reader::Model => ("model", Stream::OwnRecord),
            Reader::Check => ("fslab check", Stream::BlockTrace),
            Reader::Fsck => ("e2fsck", Stream::None),
        };
        let mut estimate = Estimate {
            phase: "scan".into(),
            reader: reader.into(),
            stream,
            mode: "program".into(),
            cannot_tell: "what another program would ask for".into(),
            cpu: 2.0,
            runs: 16,
            seed: 1,
            ..Estimate::default()
        };
        if stream == Stream::None {
            estimate.missing = Some("it does not record its requests".into());
        } else {
            // The trials of a cell differ a little.
            let times = 40.0 + f64::from(slot.block);
            estimate.devices = vec![
                device(
                    "lun-2011",
                    &["mushran2011"],
                    times,
                    "the device: the link is 96 % busy",
                ),
                device(
                    "nvme-2018",
                    &[],
                    0.5,
                    "the host: the busiest member is 9 % busy",
                ),
            ];
        }
        run.trials[slot.trial as usize].estimates = vec![estimate];
    }
    run
}

#[test]
fn estimates_in_markdown() {
    let out = in_format(&run(), Format::Md);
    insta::assert_snapshot!(between(&out, "## Modelled: how long", "\n## "));
}

#[test]
fn estimates_in_json_are_medians_and_called_modelled() {
    let document: Value = serde_json::from_str(&in_format(&run(), Format::Json)).unwrap();
    let found = &document["estimates"];
    let rows = found["rows"].as_array().unwrap();
    let set = |name: &str, device: &str| {
        let is =
            |row: &&Value| row["label"].as_str().unwrap().contains(name) && row["device"] == device;
        rows.iter().find(is).unwrap()
    };
    let first = set("set-1", "lun-2011");
    assert_eq!(first["n"], 3);
    let whole = &first["passes"][0];
    assert_eq!(
        (&whole["pass"], &whole["phase"]),
        (&"all".into(), &"scan".into())
    );
    // The median of 40, 41 and 42 times 4 s.
    assert_eq!(whole["modelled_s"], 164.0);
    let this_run = whole["this_run_s"].as_f64().unwrap();
    let ratio = whole["modelled_ratio"].as_f64().unwrap();
    assert!((ratio - 164.0 / this_run).abs() < 1e-9);
    // Published numbers stand beside his hardware alone.
    assert!(whole["published_s"][0].as_f64().unwrap() > 0.0, "{whole}");
    let other = &set("set-1", "nvme-2018")["passes"][0];
    assert_eq!(other["published_s"], serde_json::json!([null, null]));
    assert_eq!(found["missing"][0]["reader"], "e2fsck");
    // No number of a device is called otherwise.
    for (key, value) in whole.as_object().unwrap() {
        let of_run = ["requests", "bytes", "this_run_s", "published_s"].contains(&key.as_str());
        let is_number = value.is_number();
        assert!(
            !is_number || of_run || key.starts_with("modelled_"),
            "{key}"
        );
    }
}

#[test]
fn tables_and_comparisons_do_not_see_them() {
    let (with, mut without) = (run(), run());
    for trial in &mut without.trials {
        trial.estimates.clear();
    }
    for format in [Format::Csv, Format::SummaryCsv] {
        assert_eq!(in_format(&with, format), in_format(&without, format));
    }
    for format in [Format::Text, Format::Md, Format::Html] {
        assert!(
            !in_format(&without, format).contains("Modelled:"),
            "{format:?}"
        );
    }
    let json =
        |run: &Run| -> Value { serde_json::from_str(&in_format(run, Format::Json)).unwrap() };
    let (mut with, without) = (json(&with), json(&without));
    assert!(without["estimates"].is_null());
    with["estimates"] = Value::Null;
    for trial in with["trials"].as_array_mut().unwrap() {
        trial["estimates"] = serde_json::json!([]);
    }
    assert_eq!(with, without);
}

#[test]
fn the_first_screen_has_a_line_for_each_device() {
    let text = in_format(&run(), Format::Text);
    let at = text.find("Modelled, not measured: how long").unwrap();
    let lines = &text[at..at + 600];
    let lines = lines.split_whitespace().collect::<Vec<_>>().join(" ");
    for device in [
        "lun-2011: set-1 164.0 s (131.2..213.2)",
        "nvme-2018: set-1 2.000 s",
    ] {
        assert!(lines.contains(device), "{lines}");
    }
    assert!(
        at < text
            .find("What lun-2011 stands for")
            .or(text.find("On lun-2011"))
            .unwrap()
    );
}
