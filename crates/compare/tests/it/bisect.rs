//! Steps of a bisection, without git: runs are simulated.

use compare::bisect::{Bisection, Ended, Measurement, Verdict};
use compare::{Error, Options, Side, SideRun};
use fixtures::simulated::{Normal, Simulated};

use crate::common::{runs, side};

fn sides() -> [Side; 2] {
    [
        side("good", &runs(0, 5, 1000.0, 1)),
        side("bad", &runs(10, 5, 900.0, 2)),
    ]
}

fn measured(run: &Simulated) -> Measurement {
    Measurement::Run(Box::new(SideRun {
        from: run.name.clone(),
        run: run.run(),
    }))
}

/// The step of a commit at a level.
fn step(level: f64, seed: u64) -> Ended {
    let bisection = Bisection::new(&sides(), &Options::default(), 6, 20).expect("far apart");
    let mut draws = Normal::new(seed);
    let measure = |n: usize| {
        let rates = draws.rates(level, 3, 0.01, 0.02);
        Ok::<_, Error>(measured(&Simulated::new(100 + n as u32, vec![rates])))
    };
    bisection.step(measure, |_| ()).expect("a verdict")
}

#[test]
fn commits_like_the_good_and_the_bad_are_told() {
    for seed in 0..50 {
        let (good, bad) = (step(1000.0, seed), step(900.0, 1000 + seed));
        assert_eq!(
            (good.verdict, bad.verdict),
            (Verdict::Good, Verdict::Bad),
            "seed {seed}: {good:?} {bad:?}"
        );
        assert!(good.values.len() >= 2);
    }
}

#[test]
fn a_commit_in_the_middle_is_skipped() {
    let skipped = (0..20)
        .filter(|seed| step(948.7, *seed).verdict == Verdict::Skip)
        .count();
    assert!(skipped >= 15, "{skipped} of 20");
}

#[test]
fn what_cannot_be_measured_is_skipped_and_says_why() {
    let bisection = Bisection::new(&sides(), &Options::default(), 6, 20).unwrap();
    let ended = |run: Measurement| {
        let mut run = Some(run);
        bisection
            .step(|_| Ok::<_, Error>(run.take().unwrap()), |_| ())
            .unwrap()
    };
    let no_build = ended(Measurement::Untestable("it does not build".into()));
    assert_eq!(
        (no_build.verdict, no_build.why.as_str()),
        (Verdict::Skip, "it does not build")
    );
    let mut doubtful = runs(50, 1, 1000.0, 3).remove(0);
    doubtful.doubtful = true;
    let ended_doubtful = ended(measured(&doubtful));
    assert_eq!(ended_doubtful.verdict, Verdict::Skip);
    assert!(
        ended_doubtful.why.contains("evidence does not hold"),
        "{}",
        ended_doubtful.why
    );
    let failed = ended(measured(&Simulated::new(51, vec![vec![0.0; 3]])));
    assert!(
        failed.verdict == Verdict::Skip && failed.why.contains("3 trials failed"),
        "{failed:?}"
    );
}

#[test]
fn a_search_that_cannot_succeed_is_refused() {
    let refused = |sides: &[Side; 2], options: &Options| {
        let message = Bisection::new(sides, options, 6, 20)
            .err()
            .expect("refused")
            .to_string();
        assert!(!message.contains('\n'), "{message}");
        message
    };
    let close = [
        side("good", &runs(0, 5, 1000.0, 1)),
        side("bad", &runs(10, 5, 990.0, 2)),
    ];
    let message = refused(&close, &Options::default());
    assert!(message.contains("4 spreads apart"), "{message}");
    let one = [
        side("good", &runs(0, 1, 1000.0, 1)),
        side("bad", &runs(10, 5, 500.0, 2)),
    ];
    assert!(refused(&one, &Options::default()).contains("--good has 1 run"));
    let mut emulated = [runs(0, 3, 1000.0, 1), runs(10, 3, 500.0, 2)];
    for run in emulated.iter_mut().flatten() {
        run.timing = "emulated".into();
    }
    let emulated = emulated.map(|runs| side("x", &runs));
    assert!(refused(&emulated, &Options::default()).contains("--virtual-time"));
    let two = [
        side("good", &crate::common::of_cells(0, 3, &[1000.0, 1000.0], 1)),
        side("bad", &crate::common::of_cells(10, 3, &[500.0, 500.0], 2)),
    ];
    assert!(refused(&two, &Options::default()).contains("a search follows one"));
}

#[test]
fn runs_of_another_clock_stop_the_search() {
    let bisection = Bisection::new(&sides(), &Options::default(), 6, 20).unwrap();
    let mut emulated = runs(50, 1, 1000.0, 3).remove(0);
    emulated.timing = "emulated".into();
    let error = bisection
        .step(|_| Ok::<_, Error>(measured(&emulated)), |_| ())
        .unwrap_err();
    assert!(error.to_string().contains("times of hardware"), "{error}");
}
