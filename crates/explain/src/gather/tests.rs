use record::{Layout, Mounted, Sample, Trace, Usage};

use super::*;

/// The example with everything recorded in each trial of its first cell, which is not traced and
/// has a traced twin.
fn run() -> Run {
    let mut run = fixtures::example::run();
    let twin = run.plan.cells.len() as u32;
    let mut traced = run.plan.cells[0].clone();
    traced.id = twin;
    traced.levels.insert("trace".into(), "true".into());
    run.plan.cells.push(traced);
    run.plan.cells[0]
        .levels
        .insert("trace".into(), "false".into());
    run.plan.cells[0].device.limit = "read=70m,write_iops=200".parse().ok();
    let slots: Vec<study::Slot> = run.plan.slots.clone();
    for slot in slots.iter().filter(|slot| slot.cell == 0) {
        fill(&mut run.trials[slot.trial as usize]);
        let mut twin_trial = run.trials[slot.trial as usize].clone();
        twin_trial.traces.push(trace());
        run.plan.slots.push(study::Slot {
            trial: run.trials.len() as u32,
            cell: twin,
            ..*slot
        });
        run.trials.push(twin_trial);
    }
    run
}

fn trace() -> Trace {
    let figures = [("trace_requests", 400.0), ("trace_kind_switches", 20.0)];
    let figures = figures.map(|(name, value)| (name.to_owned(), value)).into();
    Trace {
        figures: [("rewrite".to_owned(), figures)].into(),
        ..Trace::default()
    }
}

fn fill(record: &mut TrialRecord) {
    let sample = |metric: &str, value| Sample {
        phase: "rewrite".into(),
        metric: metric.into(),
        clock: Clock::Original,
        value,
        unit: "count".into(),
    };
    record.samples.extend([
        sample("device_written", 536_870_912.0),
        sample("write_requests", 1024.0),
    ]);
    record.layouts.push(Layout {
        phase: "initial_write".into(),
        figures: [("layout_avoidable".to_owned(), 3.0)].into(),
        ..Layout::default()
    });
    let facts = [("block_size", "4096"), ("stripe_width_blocks", "176")];
    record.mounted = Some(Mounted {
        driver: "ext4".into(),
        mounted_type: "ext4".into(),
        superblock: facts.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        device_facts: [("read_ahead_kb".to_owned(), "128".to_owned())].into(),
        ..Mounted::default()
    });
    for phase in record
        .phases
        .iter_mut()
        .filter(|phase| phase.name == "rewrite")
    {
        phase.detail = serde_json::json!({
            "bytes_transferred": 268_435_456_u64, "operations": 1024, "seconds": 2.0,
            "threads": [{}, {}],
        });
        phase.end_ns = phase.begin_ns + 4_000_000_000;
        phase.usage = Some(Usage {
            user: 0.5,
            system: 1.5,
            elapsed: 4.0,
            ..Usage::default()
        });
    }
}

#[test]
fn every_source_has_its_name() {
    let run = run();
    let mut gatherer = Gatherer::new(&run, None);
    gatherer.gather(&run.plan.cells[0], "rewrite");
    let side = gatherer.side(&run.plan.cells[0], "rewrite").unwrap();
    assert_eq!(side.trials, 3);
    for (name, value) in [
        ("write_request_mean", 524_288.0),
        ("written_ratio", 2.0),
        ("write_rate", 134_217_728.0),
        ("writes_per_s", 256.0),
        ("cpu_seconds", 2.0),
        ("cpu_share", 0.5),
        ("cpu_share_all", 0.25),
        ("readahead", 131_072.0),
        ("stripe_width", 720_896.0),
        ("layout_avoidable", 3.0),
        ("read_limit", 73_400_320.0),
        ("write_iops_limit", 200.0),
        ("trace_requests", 400.0),
        ("trace_switch_share", 0.05),
    ] {
        assert_eq!(side.median(name), Some(value), "{name}");
    }
    assert!(side.median("throughput.original").is_some());
    assert_eq!(side.fact("trace.of"), Some("the traced twin"));
    assert_eq!(side.fact("evidence.lazy_init_finished"), Some("yes"));
    assert!(
        side.why_absent("telemetry")
            .unwrap()
            .contains("no telemetry")
    );
    assert_eq!(side.why_absent("diskstats"), None, "samples have it");
}

#[test]
fn a_phase_without_anything_says_what_is_absent() {
    let run = fixtures::example::run();
    let mut gatherer = Gatherer::new(&run, None);
    gatherer.gather(&run.plan.cells[1], "clean");
    let side = gatherer.side(&run.plan.cells[1], "clean").unwrap();
    for source in ["telemetry", "diskstats", "layout", "trace"] {
        assert!(side.why_absent(source).is_some(), "{source}");
    }
    assert_eq!(side.median("cpu_seconds"), None);
}

/// What one trial alone found changed is a fact of the others too: the run's value.
#[test]
fn a_setting_that_changed_for_one_side_is_compared_with_the_runs() {
    let mut run = fixtures::example::run();
    let item = |value: &str| serde_json::json!({"value": value});
    let of = |items: &[(&str, &str)]| {
        let items: serde_json::Map<String, serde_json::Value> = (items
            .iter()
            .map(|(name, value)| ((*name).to_owned(), item(value))))
        .collect();
        serde_json::json!({ "items": items })
    };
    let start = [
        ("vm.dirty_ratio", "20"),
        ("vm.swappiness", "60"),
        ("run.command_line", "run"),
    ];
    run.contexts.insert("start".into(), of(&start));
    let changed = [("vm.dirty_ratio", "40"), ("run.command_line", "resume")];
    let own = |cell: u32| {
        let mine = run.plan.slots.iter().filter(move |slot| slot.cell == cell);
        mine.map(|slot| format!("trial {}", slot.trial + 1))
            .collect::<Vec<String>>()
    };
    for when in own(0) {
        run.contexts.insert(when, of(&changed));
    }
    for when in own(1) {
        run.contexts.insert(when, of(&[]));
    }
    let mut gatherer = Gatherer::new(&run, None);
    for (cell, phase, ratio) in [(0, "rewrite", "40"), (1, "clean", "20")] {
        let cell = &run.plan.cells[cell];
        gatherer.gather(cell, phase);
        let side = gatherer.side(cell, phase).unwrap();
        assert!(side.trials > 0);
        assert_eq!(side.fact("context.vm.dirty_ratio"), Some(ratio));
        assert_eq!(
            side.fact("context.vm.swappiness"),
            None,
            "no trial changed it"
        );
        assert_eq!(side.fact("context.run.command_line"), None);
    }
    // A trial of before contexts has no facts of one.
    let cell = &run.plan.cells[2];
    gatherer.gather(cell, "rewrite");
    let side = gatherer.side(cell, "rewrite").unwrap();
    assert!(side.trials > 0);
    assert_eq!(side.fact("context.vm.dirty_ratio"), None);
}
