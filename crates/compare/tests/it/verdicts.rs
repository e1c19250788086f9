//! What comes out of a comparison.

use compare::{Compared, FailOn, Judged, Options, Outcome, Side, Values, WhyNot, compare};
use stats::Verdict;

use crate::common::{of_cells, runs, side};

fn gate(fail_on: FailOn) -> Options {
    Options {
        fail_on: Some(fail_on),
        ..Options::default()
    }
}

fn compared(sides: &[Side], options: &Options) -> Compared {
    compare(sides, options).expect("comparable sides")
}

#[test]
fn every_verdict_is_reached() {
    let base = of_cells(0, 5, &[1000.0; 4], 1);
    let mut other = of_cells(10, 5, &[900.0, 1100.0, 1000.0, 1000.0], 2);
    for (run, factor) in other.iter_mut().zip([0.9, 1.1, 0.95, 1.08, 1.0]) {
        for rate in &mut run.rates[3] {
            *rate *= factor;
        }
    }
    let found = compared(
        &[side("old", &base), side("new", &other)],
        &Options::default(),
    );
    let verdicts: Vec<Option<Verdict>> = found.rows.iter().map(|row| row.verdict).collect();
    assert_eq!(
        verdicts,
        [
            Verdict::Worse,
            Verdict::Better,
            Verdict::Same,
            Verdict::Unclear
        ]
        .map(Some)
    );
    assert_eq!(
        found.outcome,
        Outcome::Passed,
        "without a gate nothing fails"
    );
    assert!(found.rows.iter().all(|row| row.judged.is_none()));
    let cells: Vec<&str> = found.rows.iter().map(|row| row.cell.as_str()).collect();
    assert_eq!(cells[1], "mkfs=-O fast_commit mount=default");
}

#[test]
fn medians_of_runs_are_the_values() {
    let (base, other) = (runs(0, 4, 1000.0, 1), runs(10, 3, 1000.0, 2));
    let found = compared(&[side("a", &base), side("b", &other)], &Options::default());
    let row = &found.rows[0];
    assert_eq!(
        (row.values_are, row.runs, row.trials),
        (Values::Runs, [4, 3], [12, 9])
    );
    let mut first = base[0].rates[0].clone();
    first.sort_by(f64::total_cmp);
    assert_eq!(row.values[0][0], first[1]);
    assert_eq!(
        row.comparison.as_ref().unwrap().method,
        stats::Method::WelchLog
    );
}

#[test]
fn the_gate_fails_on_what_is_worse() {
    let sides = [
        side("a", &runs(0, 5, 1000.0, 1)),
        side("b", &runs(10, 5, 880.0, 2)),
    ];
    let found = compared(&sides, &gate(FailOn::Worse));
    assert_eq!(found.outcome, Outcome::Failed);
    assert_eq!(found.rows[0].judged, Some(Judged::Failed));
    // A margin takes the place of the practical band.
    let wide = Options {
        margin: Some(0.3),
        ..gate(FailOn::Worse)
    };
    assert_eq!(compared(&sides, &wide).outcome, Outcome::Passed);
    // Seconds are worse where rates are.
    let seconds = Options {
        metric: Some("seconds".into()),
        ..gate(FailOn::Worse)
    };
    let found = compared(&sides, &seconds);
    assert_eq!(
        (found.outcome, found.rows[0].verdict),
        (Outcome::Failed, Some(Verdict::Worse))
    );
}

#[test]
fn unclear_passes_worse_and_fails_not_shown() {
    let mut other = runs(10, 3, 1000.0, 2);
    for (run, factor) in other.iter_mut().zip([0.9, 1.0, 1.1]) {
        for rate in &mut run.rates[0] {
            *rate *= factor;
        }
    }
    let sides = [side("a", &runs(0, 3, 1000.0, 1)), side("b", &other)];
    assert_eq!(
        compared(&sides, &gate(FailOn::Worse)).outcome,
        Outcome::Passed
    );
    let found = compared(&sides, &gate(FailOn::NotShown));
    assert_eq!(
        (found.outcome, found.rows[0].verdict),
        (Outcome::Failed, Some(Verdict::Unclear))
    );
    let wide = Options {
        margin: Some(0.5),
        ..gate(FailOn::NotShown)
    };
    assert_eq!(compared(&sides, &wide).outcome, Outcome::Passed);
}

#[test]
fn one_run_a_side_is_marked_and_no_gate_takes_it() {
    let sides = [
        side("a", &runs(0, 1, 1000.0, 1)),
        side("b", &runs(10, 5, 800.0, 2)),
    ];
    let found = compared(&sides, &Options::default());
    assert_eq!(found.rows[0].values_are, Values::Trials);
    assert_eq!(
        compared(&sides, &gate(FailOn::Worse)).outcome,
        Outcome::Invalid
    );
    let taken = Options {
        one_run: true,
        ..gate(FailOn::Worse)
    };
    assert_eq!(compared(&sides, &taken).outcome, Outcome::Failed);
}

#[test]
fn evidence_that_does_not_hold_is_no_regression_and_no_pass() {
    let mut other = runs(10, 5, 800.0, 2);
    other[2].doubtful = true;
    let sides = [side("a", &runs(0, 5, 1000.0, 1)), side("b", &other)];
    let found = compared(&sides, &gate(FailOn::Worse));
    assert_eq!(found.outcome, Outcome::Invalid);
    assert_eq!(found.rows[0].invalid.len(), 1);
    // A regression among sound figures counts more than what cannot be judged.
    let base = of_cells(0, 5, &[1000.0; 2], 3);
    let mut other = of_cells(10, 5, &[800.0; 2], 4);
    other[0].doubtful = true;
    let found = compared(&[side("a", &base), side("b", &other)], &gate(FailOn::Worse));
    assert_eq!(found.outcome, Outcome::Failed);
}

#[test]
fn a_cell_whose_trials_all_failed_does_not_pass_a_gate() {
    let mut other = of_cells(10, 3, &[1000.0, 1000.0], 2);
    for run in &mut other {
        run.rates[1] = vec![0.0; 3];
    }
    let sides = [
        side("a", &of_cells(0, 3, &[1000.0, 1000.0], 1)),
        side("b", &other),
    ];
    let found = compared(&sides, &gate(FailOn::Worse));
    assert_eq!(found.outcome, Outcome::Invalid);
    let Some(WhyNot::Missing { text }) = &found.rows[1].why_not else {
        panic!("{:?}", found.rows[1].why_not);
    };
    assert_eq!(text, "B has no value of it: 9 trials failed");
}

#[test]
fn emulated_times_never_meet_a_hosts() {
    let mut other = runs(10, 5, 800.0, 2);
    for run in &mut other {
        run.timing = "emulated".into();
    }
    let sides = [side("a", &runs(0, 5, 1000.0, 1)), side("b", &other)];
    let found = compared(&sides, &gate(FailOn::Worse));
    assert_eq!(found.outcome, Outcome::Nothing);
    let why = found.rows[0].why_not.as_ref().unwrap().to_string();
    assert_eq!(why, "times of hardware against emulated times (qemu, tcg)");
    // Bytes are bytes.
    let counts = Options {
        metric: Some("device_written".into()),
        ..gate(FailOn::Worse)
    };
    let found = compared(&sides, &counts);
    assert_eq!(
        (found.outcome, found.rows[0].verdict),
        (Outcome::Passed, Some(Verdict::Same))
    );
    // Both emulated by the same: they meet.
    let mut base = runs(0, 5, 1000.0, 1);
    for run in &mut base {
        run.timing = "emulated".into();
    }
    let sides = [side("a", &base), side("b", &other)];
    assert_eq!(
        compared(&sides, &gate(FailOn::Worse)).outcome,
        Outcome::Failed
    );
}

/// Nor do times of modelled and virtual disks, nor one of these the other.
#[test]
fn modelled_and_virtual_times_never_meet_a_hosts() {
    let times = |timing: &str, from: u32, rate: f64, seed: u64| {
        let mut runs = runs(from, 5, rate, seed);
        for run in &mut runs {
            run.timing = timing.into();
        }
        runs
    };
    for (one, other, words) in [
        ("modelled", "real", "times of modelled disks"),
        ("virtual", "real", "virtual times"),
        ("modelled", "virtual", "times of modelled disks"),
    ] {
        let sides = [
            side("a", &times(one, 0, 1000.0, 1)),
            side("b", &times(other, 10, 800.0, 2)),
        ];
        let found = compared(&sides, &gate(FailOn::Worse));
        assert_eq!(found.outcome, Outcome::Nothing, "{one} {other}");
        let why = found.rows[0].why_not.as_ref().unwrap().to_string();
        assert!(why.contains(words), "{why}");
    }
}

/// Of sides with the same times, which are compared, the headline says whose they are.
#[test]
fn the_headline_says_whose_times_are_compared() {
    for (timing, words) in [
        ("real", None),
        ("modelled", Some("times of modelled disks")),
        ("virtual", Some("virtual times (qemu, tcg)")),
    ] {
        let (mut base, mut other) = (runs(0, 5, 1000.0, 1), runs(10, 5, 800.0, 2));
        for run in base.iter_mut().chain(&mut other) {
            run.timing = timing.into();
        }
        let found = compared(&[side("a", &base), side("b", &other)], &Options::default());
        let headline = compare::format::answer(&found).headline;
        let marked = words.is_some_and(|words| headline.contains(&format!("[{words}")));
        assert_eq!(marked, words.is_some(), "{headline}");
        assert_eq!(headline.contains('['), words.is_some(), "{headline}");
    }
}

#[test]
fn cells_without_a_partner_are_named_with_what_differs() {
    let base = side("a", &runs(0, 3, 1000.0, 1));
    let mut other = side("b", &runs(10, 3, 800.0, 2));
    for one in &mut other.runs {
        one.run.plan.cells[0].device.readahead = Some(512);
    }
    let sides = [base, other];
    let found = compared(&sides, &gate(FailOn::Worse));
    assert_eq!((found.outcome, found.rows.len()), (Outcome::Nothing, 0));
    let [first, second] = &found.unmatched[..] else {
        panic!("{:?}", found.unmatched);
    };
    assert_eq!((first.side.as_str(), second.side.as_str()), ("A", "B"));
    assert_eq!(first.differs, ["device.readahead: - here, 512 there"]);
    let across = Options {
        across: vec!["device.readahead".into()],
        ..gate(FailOn::Worse)
    };
    assert_eq!(compared(&sides, &across).outcome, Outcome::Failed);
}

#[test]
fn contexts_that_separate_the_sides_come_first() {
    let mut other = runs(10, 3, 1000.0, 2);
    for run in &mut other {
        run.kernel = "6.1.90".into();
    }
    let sides = [side("a", &runs(0, 3, 1000.0, 1)), side("b", &other)];
    let found = compared(&sides, &Options::default());
    let [change] = &found.contexts.changes[..] else {
        panic!("{:?}", found.contexts);
    };
    assert_eq!(
        (change.name.as_str(), change.separates),
        ("system.kernel.release", true)
    );
    assert_eq!(change.values, [vec!["6.12.1"], vec!["6.1.90"]]);
    assert_eq!(found.contexts.same, 2);
}

#[test]
fn what_cannot_be_asked_is_refused_with_the_way_on() {
    let (a, b) = (runs(0, 2, 1000.0, 1), runs(10, 2, 1000.0, 2));
    let refused = |sides: &[Side], options: &Options| {
        let message = compare(sides, options).unwrap_err().to_string();
        assert!(!message.contains('\n'), "{message}");
        message
    };
    let both = refused(&[side("a", &a), side("b", &a)], &Options::default());
    assert!(both.contains("on the side a and on the side b"), "{both}");
    let alone = refused(&[side("a", &a)], &Options::default());
    assert!(alone.contains("fslab compare A B"), "{alone}");
    let sides = [side("a", &a), side("b", &b)];
    let metric = |name: &str| Options {
        metric: Some(name.into()),
        ..Options::default()
    };
    assert!(refused(&sides, &metric("nonsense")).contains("fslab metrics"));
    assert!(refused(&sides, &metric("count")).contains("neither better nor worse"));
}

#[test]
fn several_sides_are_one_family_against_the_first() {
    let sides = [
        side("a", &runs(0, 5, 1000.0, 1)),
        side("b", &runs(10, 5, 1000.0, 2)),
        side("c", &runs(20, 5, 850.0, 3)),
    ];
    let found = compared(&sides, &gate(FailOn::Worse));
    let of: Vec<_> = found
        .rows
        .iter()
        .map(|row| (row.sides[1].as_str(), row.judged))
        .collect();
    assert_eq!(
        of,
        [("B", Some(Judged::Passed)), ("C", Some(Judged::Failed))]
    );
    let worse = found.rows[1].comparison.as_ref().unwrap();
    assert!((worse.adjusted_p - 2.0 * worse.p).abs() < 1e-12);
}

#[test]
fn the_plan_says_how_many_runs_it_takes() {
    let sides = [side("a", &runs(0, 5, 1000.0, 1))];
    let planned = compare::plan::plan(&sides, &Options::default()).unwrap();
    let row = &planned.rows[0];
    assert_eq!(row.runs, 5);
    let (show, find) = (row.runs_to_show.unwrap(), row.runs_to_find.unwrap());
    assert!((2..8).contains(&show) && find > show, "{row:?}");
    assert_eq!(planned.runs_to_show, Some(show));
    let text = compare::plan::text(&planned);
    assert!(
        text.starts_with(&format!("{show} runs a side show")),
        "{text}"
    );
    let one = compare::plan::plan(&[side("a", &runs(0, 1, 1000.0, 1))], &Options::default());
    let one = one.unwrap();
    assert_eq!((one.rows[0].spread, one.runs_to_show), (None, None));
    assert!(
        compare::plan::text(&one)
            .replace("\n  ", " ")
            .contains("run the base twice")
    );
}
