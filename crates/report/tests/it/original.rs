//! What IOR and mdtest print of their repetitions, from the blocks of a run.

use crate::common::{empty, in_format, noise};

use record::{Phase, Run, Status};
use report::Format;
use serde_json::{Value, json};
use study::{Overrides, Study, WorkloadSpec};

const BLOCKS: u32 = 3;

/// A run of a study's quick profile on ext4, whose phases are as ranks leave them.
fn of_study(name: &str) -> Run {
    let study = Study::load(name).unwrap();
    let overrides = Overrides {
        profile: Some("quick".to_owned()),
        blocks: Some(BLOCKS),
        filter: vec!["filesystem=ext4".to_owned()],
        ..Overrides::default()
    };
    let plan = study::plan(&study, &overrides).unwrap();
    let mut run = empty(plan, &format!("{name}-20260102-030405"));
    for slot in run.plan.slots.clone() {
        let trial = &mut run.trials[slot.trial as usize];
        trial.status = Status::Finished;
        let spread = 1.0 + 0.1 * noise(u64::from(slot.trial));
        trial.phases = match &run.plan.cells[slot.cell as usize].workload {
            WorkloadSpec::Shared(spec) => [("write", 2.0), ("read", 0.5)]
                .map(|(name, seconds)| access(name, spec.all_bytes(), seconds * spread))
                .into(),
            _ => [("file_creation", 20_000.0), ("tree_removal", 90.0)]
                .map(|(name, rate)| phase(name, json!({"figures": {"files_sum": rate * spread}})))
                .into(),
        };
    }
    run
}

fn access(name: &str, bytes: u64, seconds: f64) -> Phase {
    let figures = json!({
        "iops": 1000.0 / seconds, "best_mean_latency": seconds / 1000.0, "open_seconds": 0.001,
        "transfer_seconds": seconds - 0.002, "close_seconds": 0.001,
    });
    let rate = bytes as f64 / seconds;
    let detail = json!({
        "bytes": bytes, "seconds": seconds, "bytes_per_s": {"original": rate, "fsync": null}, "figures": figures,
    });
    phase(name, detail)
}

fn phase(name: &str, detail: Value) -> Phase {
    Phase {
        name: name.to_owned(),
        begin_ns: 0,
        end_ns: 1,
        detail,
        usage: None,
        memory: None,
        middle: None,
    }
}

/// The section, up to the next one.
fn section(run: &Run, title: &str) -> String {
    let out = in_format(run, Format::Text);
    let begin = out.find(&format!("\n{title}\n")).expect(title) + 1;
    let end = out[begin..].find("\n\n\n");
    out[begin..end.map_or(out.len(), |end| begin + end)].to_owned()
}

#[test]
fn blocks_are_repetitions_of_ior() {
    let run = of_study("clients");
    insta::assert_snapshot!(section(&run, "As IOR prints it"));
    let json: Value = serde_json::from_str(&in_format(&run, Format::Json)).unwrap();
    let found = &json["original"];
    // Two layouts with one and two ranks: a head, and a line for each write and read.
    assert_eq!(found["ior"].as_array().unwrap().len(), 4);
    assert_eq!(found["ior_summary"].as_array().unwrap().len(), 1 + 4 * 2);
    assert!(found["mdtest"].as_array().unwrap().is_empty());
    let page = in_format(&run, Format::Html);
    assert!(page.contains("id=\"original\"") && page.contains("Summary of all tests:"));
}

#[test]
fn blocks_are_iterations_of_mdtest() {
    let run = of_study("metadata");
    insta::assert_snapshot!(section(&run, "As mdtest prints it"));
}

/// A trial that did not finish is no repetition, and a study without ranks has no such section.
#[test]
fn only_what_finished_counts() {
    let mut run = of_study("clients");
    let cell = run.plan.slots[0].cell;
    for slot in run.plan.slots.clone() {
        if slot.cell == cell && slot.block > 0 {
            let trial = &mut run.trials[slot.trial as usize];
            trial.status = Status::Pending;
        }
    }
    let json: Value = serde_json::from_str(&in_format(&run, Format::Json)).unwrap();
    let lines = |test: usize| {
        let lines = json["original"]["ior"][test]["lines"].as_array().unwrap();
        lines.len()
    };
    let cell = cell as usize;
    // Two lines of the head, two of the best rates, a write and a read of each repetition.
    assert_eq!(lines(cell), 4 + 2);
    assert_eq!(lines((cell + 1) % 4), 4 + 2 * BLOCKS as usize);
    let other = crate::common::quick(1, None);
    assert!(!in_format(&other, Format::Text).contains("As IOR prints it"));
}
