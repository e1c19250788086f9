//! Steps in the history of a study.

use compare::history::{By, History, history, render};
use compare::{Options, SideRun};
use fixtures::simulated::{Normal, Simulated};

/// Runs of one cell at the levels given, one run each, with 1 % of noise.
fn runs(levels: &[f64], seed: u64) -> Vec<Simulated> {
    let mut draws = Normal::new(seed);
    let run = |(number, level): (u32, &f64)| {
        Simulated::new(number, vec![draws.rates(*level, 3, 0.01, 0.01)])
    };
    (0..).zip(levels).map(run).collect()
}

fn of(runs: &[Simulated], by: By) -> History {
    let runs = runs.iter().map(|run| SideRun {
        from: run.name.clone(),
        run: run.run(),
    });
    history("mailserver", runs.collect(), by, &Options::default()).expect("runs of one study")
}

fn steps(found: &History) -> Vec<usize> {
    let all = found.series.iter().flat_map(|series| &series.steps);
    all.map(|step| step.at).collect()
}

#[test]
fn known_steps_are_nominated_where_they_are() {
    for seed in 1..=10 {
        let mut levels = vec![1000.0; 40];
        levels[15..].fill(900.0);
        levels[28..].fill(1050.0);
        let found = of(&runs(&levels, seed), By::Date);
        assert_eq!(steps(&found), [15, 28], "seed {seed}");
        let steps = &found.series[0].steps;
        assert!(steps[0].worse && !steps[1].worse);
        assert!((steps[0].ratio - 0.9).abs() < 0.02, "{:?}", steps[0]);
    }
}

#[test]
fn a_still_series_rarely_has_a_step() {
    let with_step =
        (0..100).filter(|seed| !steps(&of(&runs(&[1000.0; 30], 100 + seed), By::Date)).is_empty());
    let count = with_step.count();
    println!("{count} of 100 still series of 30 runs have a step");
    assert!(count <= 5, "{count}");
}

#[test]
fn the_last_two_runs_are_not_judged_yet() {
    let mut levels = vec![1000.0; 30];
    levels[28..].fill(700.0);
    let found = of(&runs(&levels, 3), By::Date);
    assert!(steps(&found).is_empty());
    // Blocks of three runs are permuted, so a level of one block may stand anywhere by chance: it takes more than three.
    let after = (3..=12).find(|after| {
        levels.resize(28 + after, 700.0);
        steps(&of(&runs(&levels, 3), By::Date)) == [28]
    });
    println!("a step after 28 runs is nominated with {after:?} runs after it");
    assert!(after.is_some_and(|after| after <= 9), "{after:?}");
}

#[test]
fn a_step_within_the_band_is_none() {
    let mut levels = vec![1000.0; 60];
    levels[30..].fill(990.0);
    let mut quiet = runs(&levels, 4);
    let mut draws = Normal::new(9);
    for (run, level) in quiet.iter_mut().zip(&levels) {
        run.rates = vec![draws.rates(*level, 3, 0.001, 0.001)];
    }
    assert!(steps(&of(&quiet, By::Date)).is_empty());
}

#[test]
fn kernels_are_in_the_order_of_their_numbers_and_confirmed_in_the_same_blocks() {
    let mut levels = vec![1000.0; 20];
    levels[10..].fill(850.0);
    let mut all = runs(&levels, 5);
    for run in &mut all[..10] {
        run.kernel = "6.2.9".into();
    }
    for run in &mut all[10..] {
        run.kernel = "6.12.1".into();
    }
    all.reverse();
    let found = of(&all, By::Kernel);
    let step = &found.series[0].steps[0];
    assert_eq!(
        (step.at, step.labels.clone()),
        (10, ["6.2.9".to_owned(), "6.12.1".to_owned()])
    );
    assert!(
        step.confirm[0].contains("--kernel 6.2.9,6.12.1 --blocks"),
        "{:?}",
        step.confirm
    );
}

#[test]
fn emulated_and_invalid_runs_are_kept_apart() {
    let mut all = runs(&[1000.0; 20], 6);
    for run in &mut all[10..] {
        run.timing = "emulated".into();
    }
    all[0].doubtful = true;
    let found = of(&all, By::Date);
    let points: Vec<usize> = found
        .series
        .iter()
        .map(|series| series.points.len())
        .collect();
    assert_eq!(points, [9, 10]);
    assert!(found.series.iter().all(|series| !series.enough));
    let heads = |text: &str| text.matches(", emulated times (qemu, tcg)\n").count();
    assert_eq!(heads(&render(&found)), 1, "{}", render(&found));
}

#[test]
fn as_text() {
    let mut levels = vec![1000.0; 24];
    levels[12..].fill(900.0);
    let mut all = runs(&levels, 7);
    for run in &mut all[12..] {
        run.tool = "fslab 0.1.0 (fedcba987654)".into();
    }
    insta::assert_snapshot!(render(&of(&all, By::Commit)));
}
