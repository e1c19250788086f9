//! Effects of example runs.

use fixtures::mail_server::{FAST_COMMIT, INTERACTING, Shape};

use compare::pair;

use super::*;

fn of(shape: &Shape) -> Effects {
    effects(&fixtures::mail_server::run(shape), &Options::default())
}

fn ratios(found: &Effects, factor: &str) -> Vec<(String, Levels, f64, Verdict)> {
    let mine = found.effects.iter().filter(|e| e.factor == factor);
    mine.map(|e| {
        let c = &e.comparison;
        (e.other.clone(), e.at.clone(), c.ratio, c.verdict)
    })
    .collect()
}

#[test]
fn a_main_effect_is_the_mean_over_the_other_factor() {
    let found = of(&FAST_COMMIT);
    let mkfs = ratios(&found, "mkfs");
    let levels: Vec<&str> = mkfs.iter().map(|(level, ..)| level.as_str()).collect();
    assert_eq!(levels, ["-O fast_commit", "-J size=64"]);
    assert_eq!(mkfs[0].3, Verdict::Better);
    assert!((mkfs[0].2 - 5565.0 / 2430.0).abs() < 0.01, "{mkfs:?}");
    assert_ne!(mkfs[1].3, Verdict::Better);
    let effect = found.effects.iter().find(|e| e.factor == "mkfs").unwrap();
    assert_eq!(effect.over, ["mount"]);
    assert_eq!(effect.cells, [[0, 1], [3, 4]]);
    assert!((effect.values[1] / effect.values[0] - 2.29).abs() < 0.02);
    let mount = ratios(&found, "mount");
    assert_eq!(mount.len(), 1);
    assert!((mount[0].2 - 1.0).abs() < 0.01, "{mount:?}");
    assert_eq!(found.interactions, []);
    assert_eq!(found.not_compared, []);
}

/// What does not matter is shown to be equal, and not just not different.
#[test]
fn equal_is_tested() {
    let found = of(&FAST_COMMIT);
    let mount = found.effects.iter().find(|e| e.factor == "mount").unwrap();
    assert!(mount.p_equal.unwrap() < 0.01, "{mount:?}");
    let fast = found.effects.iter().find(|e| e.factor == "mkfs").unwrap();
    assert!(fast.p_equal.unwrap() > 0.99, "{fast:?}");
}

#[test]
fn an_effect_that_depends_on_another_factor_is_given_at_its_levels() {
    let found = of(&INTERACTING);
    let mkfs = ratios(&found, "mkfs");
    let fast: Vec<_> = mkfs
        .iter()
        .filter(|(l, ..)| l == "-O fast_commit")
        .collect();
    assert_eq!(fast.len(), 2, "{mkfs:?}");
    assert_eq!(fast[0].1["mount"], "default");
    assert_eq!(fast[0].3, Verdict::Better);
    assert_eq!(fast[1].1["mount"], "noatime");
    assert_ne!(fast[1].3, Verdict::Better);
    let on = &found.interactions[0];
    assert_eq!((on.factor.as_str(), on.on.as_str()), ("mount", "mkfs"));
    assert!(found.interactions.iter().all(|i| i.p_adjusted <= 0.05));
    // The level that changes nothing in either place is one comparison.
    assert_eq!(mkfs.len(), 3, "{mkfs:?}");
}

#[test]
fn a_stratum_without_its_twin_is_left_out() {
    let mut run = fixtures::mail_server::run(&FAST_COMMIT);
    for slot in run.plan.slots.clone() {
        // noatime with fast_commit failed in all blocks.
        if slot.cell == 4 {
            run.trials[slot.trial as usize].status = record::Status::Pending;
        }
    }
    let found = effects(&run, &Options::default());
    let fast = found
        .effects
        .iter()
        .find(|e| e.other == "-O fast_commit")
        .unwrap();
    assert_eq!(fast.cells, [[0, 1]]);
    assert_eq!(fast.over, Vec::<String>::new());
}

#[test]
fn a_factor_that_cannot_be_compared_is_named_with_the_reason() {
    let one = Shape {
        blocks: 1,
        ..FAST_COMMIT
    };
    let found = of(&one);
    assert_eq!(found.effects, []);
    let factors: Vec<&str> = found
        .not_compared
        .iter()
        .map(|n| n.factor.as_str())
        .collect();
    assert_eq!(factors, ["mount", "mkfs"]);
    assert!(
        found.not_compared[0]
            .why
            .contains("one trial for each cell")
    );
    let mut run = fixtures::mail_server::run(&FAST_COMMIT);
    for slot in run.plan.slots.clone() {
        if run.plan.cells[slot.cell as usize].levels["mount"] == "noatime" {
            run.trials[slot.trial as usize].status = record::Status::Pending;
        }
    }
    let found = effects(&run, &Options::default());
    assert_eq!(
        found.not_compared[0].why,
        "only mount=default has finished trials"
    );
}

/// With one other factor at one level, the effect is the comparison of the two cells.
#[test]
fn of_two_cells_it_is_their_comparison() {
    let run = fixtures::example::run();
    let found = effects(&run, &Options::default());
    let clean = found.effects.iter().find(|e| e.phase == "clean").unwrap();
    let values = |filesystem: &str| -> Vec<(u32, f64)> {
        let cell =
            run.plan.cells.iter().find(|c| {
                c.levels["filesystem"] == filesystem && c.workload_name == "compilebench"
            });
        let finished = run.finished(cell.unwrap().id).into_iter();
        finished
            .map(|(slot, trial)| {
                let mut samples = trial.samples.iter();
                let sample = samples.find(|s| {
                    (s.phase.as_str(), s.metric.as_str(), s.clock)
                        == ("clean", "throughput", Clock::Original)
                });
                (slot.block, sample.unwrap().value)
            })
            .collect()
    };
    let pair = pair::cells(
        &run.plan,
        0.95,
        "bytes_per_s",
        &values("ext4"),
        &values("xfs"),
    );
    let pair = pair.unwrap();
    assert!((clean.comparison.ratio / pair.ratio - 1.0).abs() < 1e-9);
    assert!((clean.comparison.p / pair.p - 1.0).abs() < 1e-6);
    assert_eq!((clean.over.len(), clean.at.len()), (0, 0));
}

#[test]
fn another_clock_can_be_asked_for() {
    let asked = Options {
        clock: Some(Clock::Syncfs),
        ..Options::default()
    };
    let run = fixtures::mail_server::run(&FAST_COMMIT);
    let found = effects(&run, &asked);
    assert_eq!(found.effects.len(), 3);
    assert!(found.effects.iter().all(|e| e.clock == Clock::Syncfs));
    // iozone's `children` has clock (a) alone: its throughput takes its place.
    let found = effects(&fixtures::example::run(), &asked);
    let write = found.effects.iter().find(|e| e.phase == "initial_write");
    assert_eq!(write.unwrap().metric, "throughput");
}

/// A kernel is a factor as any other.
#[test]
fn kernels_are_compared() {
    let mut run = fixtures::mail_server::run(&FAST_COMMIT);
    for (name, levels) in &mut run.plan.factors {
        if name == "mkfs" {
            *name = "kernel".into();
            *levels = ["6.1", "6.6", "6.12"].map(String::from).into();
        }
    }
    for cell in &mut run.plan.cells {
        let mkfs = cell.levels.remove("mkfs").unwrap();
        let kernel = match mkfs.as_str() {
            "default" => "6.1",
            "-O fast_commit" => "6.6",
            _ => "6.12",
        };
        cell.levels.insert("kernel".into(), kernel.into());
    }
    let found = effects(&run, &Options::default());
    let others: Vec<&str> = found
        .effects
        .iter()
        .filter(|e| e.factor == "kernel")
        .map(|e| e.other.as_str())
        .collect();
    assert_eq!(others, ["6.6", "6.12"]);
}

/// What slows a whole block slows both sides: it must not widen the interval.
#[test]
fn a_block_is_no_noise() {
    let mut run = fixtures::mail_server::run(&FAST_COMMIT);
    let narrow = effects(&run, &Options::default());
    for slot in run.plan.slots.clone() {
        for sample in &mut run.trials[slot.trial as usize].samples {
            sample.value *= f64::from(1 + slot.block);
        }
    }
    let slow = effects(&run, &Options::default());
    for (a, b) in narrow.effects.iter().zip(&slow.effects) {
        let width = |e: &Effect| e.comparison.interval.width();
        assert!((width(a) / width(b) - 1.0).abs() < 1e-6, "{a:?}");
    }
}

/// The run of `FAST_COMMIT`, whose fills made `calls` fsync calls each; p99 is twice as long with fast_commit.
fn with_latencies(calls: u64) -> record::Run {
    let mut run = fixtures::mail_server::run(&FAST_COMMIT);
    for slot in run.plan.slots.clone() {
        let fast = run.plan.cells[slot.cell as usize].levels["mkfs"] == "-O fast_commit";
        let noise = 1.0 + 0.001 * f64::from(slot.trial % 7);
        let seconds = 1e-3 * noise * if fast { 2.0 } else { 1.0 };
        let trial = &mut run.trials[slot.trial as usize];
        for metric in ["fsync_p99", "fsync_p50", "creat_p99"] {
            trial.samples.push(record::Sample {
                phase: "fill".to_owned(),
                metric: metric.to_owned(),
                clock: Clock::Original,
                value: seconds,
                unit: "s".to_owned(),
            });
        }
        for phase in trial.phases.iter_mut().filter(|p| p.name == "fill") {
            phase.detail = serde_json::json!({"latency": [
                {"operation": "creat", "count": calls, "mean": 1e-6},
                {"operation": "fsync", "count": calls, "mean": seconds},
            ]});
        }
    }
    run
}

#[test]
fn the_calls_that_took_most_of_a_phase_are_compared_apart_from_its_speed() {
    let run = with_latencies(1000);
    let found = effects(&run, &Options::default());
    let metrics: BTreeSet<&str> = found.latencies.iter().map(|e| e.metric.as_str()).collect();
    assert_eq!(metrics, BTreeSet::from(["fsync_p99"]));
    let fast = found.latencies.iter().find(|e| e.other == "-O fast_commit");
    let fast = fast.unwrap();
    assert_eq!(fast.comparison.verdict, Verdict::Worse);
    assert!((fast.comparison.ratio - 2.0).abs() < 0.05, "{fast:?}");
    // The speeds do not depend on what was recorded of latencies.
    let without = effects(
        &fixtures::mail_server::run(&FAST_COMMIT),
        &Options::default(),
    );
    assert_eq!(without.latencies, []);
    let p = |found: &Effects| -> Vec<f64> {
        let all = found.effects.iter();
        all.map(|e| e.comparison.adjusted_p).collect()
    };
    assert_eq!(p(&found), p(&without));
}

/// p99 of 20 calls is the longest of them; nothing is printed of 4 calls.
#[test]
fn few_calls_are_compared_by_their_median_and_very_few_not_at_all() {
    let found = effects(&with_latencies(20), &Options::default());
    assert!(!found.latencies.is_empty());
    assert!(found.latencies.iter().all(|e| e.metric == "fsync_p50"));
    assert_eq!(
        effects(&with_latencies(4), &Options::default()).latencies,
        []
    );
}

/// A study that prints a latency has it among its rows already.
#[test]
fn a_phase_whose_latency_the_study_prints_has_no_second_one() {
    let mut run = with_latencies(1000);
    let row = run.plan.tables[0].rows[0].clone();
    run.plan.tables[0].rows.push(RowSpec {
        metric: "fsync_p99".to_owned(),
        unit: "ms".to_owned(),
        ..row
    });
    let found = effects(&run, &Options::default());
    assert!(found.effects.iter().any(|e| e.metric == "fsync_p99"));
    assert_eq!(found.latencies, []);
}
