//! How often a gate is wrong, on simulated runs with fixed seeds. `--nocapture` prints the figures.

use compare::{FailOn, Options, Outcome, compare};
use fixtures::simulated::{Normal, Simulated};

use crate::common::side;

/// The share of comparisons that end a gate with "failed": `runs` a side of `blocks` trials, the second side at `ratio`.
fn failed(
    options: &Options,
    runs: u32,
    blocks: usize,
    of_runs: f64,
    ratio: f64,
    times: u32,
) -> f64 {
    let mut draws = Normal::new(2026);
    let mut make = |first: u32, level: f64| {
        let run = |number| Simulated::new(number, vec![draws.rates(level, blocks, of_runs, 0.02)]);
        (first..first + runs).map(run).collect::<Vec<_>>()
    };
    let mut count = 0;
    for _ in 0..times {
        let sides = [
            side("a", &make(0, 1000.0)),
            side("b", &make(100, 1000.0 * ratio)),
        ];
        let outcome = compare(&sides, options).expect("two sides").outcome;
        count += u32::from(outcome == Outcome::Failed);
    }
    f64::from(count) / f64::from(times)
}

fn gate(fail_on: FailOn) -> Options {
    Options {
        fail_on: Some(fail_on),
        ..Options::default()
    }
}

#[test]
fn equal_sides_fail_a_gate_in_at_most_five_of_a_hundred() {
    for (runs, blocks, of_runs) in [(3, 5, 0.01), (5, 3, 0.02), (5, 5, 0.03)] {
        let share = failed(&gate(FailOn::Worse), runs, blocks, of_runs, 1.0, 1000);
        println!("{runs} x {blocks}, runs vary by {of_runs}: {share} of 1000 equal pairs fail");
        assert!(share <= 0.05, "{share}");
    }
}

#[test]
fn a_device_at_ninety_per_cent_is_found_by_five_runs_of_five_blocks() {
    for of_runs in [0.01, 0.02, 0.03] {
        let share = failed(&gate(FailOn::Worse), 5, 5, of_runs, 0.9, 200);
        println!("5 x 5, runs vary by {of_runs}: 90 % of the rate is found in {share} of 200");
        assert!(share >= if of_runs < 0.03 { 0.95 } else { 0.85 }, "{share}");
    }
}

/// Shares of equal pairs that pass `not-shown` with a margin of 5 %, where the medians of runs vary by the given spread.
#[test]
fn equal_pairs_are_shown_as_often_as_documented() {
    const TABLE: [(f64, &[(u32, f64)]); 3] = [
        (0.02, &[(3, 0.76), (5, 0.98), (7, 1.0)]),
        (0.03, &[(3, 0.46), (5, 0.78), (7, 0.90), (10, 0.98)]),
        (
            0.05,
            &[(3, 0.24), (5, 0.43), (7, 0.55), (10, 0.70), (15, 0.86)],
        ),
    ];
    const TIMES: u32 = 300;
    for (spread, of_spread) in TABLE {
        for &(runs, documented) in of_spread {
            let mut draws = Normal::new(u64::from(runs) + 7);
            let mut make = |first: u32| {
                let run =
                    |number| Simulated::new(number, vec![draws.rates(1000.0, 1, spread, 0.0)]);
                (first..first + runs).map(run).collect::<Vec<_>>()
            };
            let passed = (0..TIMES).filter(|_| {
                let sides = [side("a", &make(0)), side("b", &make(100))];
                let found = compare(&sides, &gate(FailOn::NotShown)).expect("two sides");
                found.outcome == Outcome::Passed
            });
            let share = passed.count() as f64 / f64::from(TIMES);
            println!("spread {spread}, {runs} runs a side: {share} pass, {documented} documented");
            // Four standard errors of 300 draws.
            let error = (documented * (1.0 - documented) / f64::from(TIMES)).sqrt();
            assert!(
                (share - documented).abs() <= 4.0 * error + 0.02,
                "{share} for {documented}"
            );
        }
    }
}
