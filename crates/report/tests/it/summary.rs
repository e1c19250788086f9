//! The first screen: the answer in sentences, the matrix of ratios, the parts of a report.

use crate::common;

use fixtures::mail_server::{FAST_COMMIT, INTERACTING, Shape, run};
use record::{Run, Status};
use report::{Format, Options, Part, Report, render};

fn of(run: &Run, part: Part, format: Format) -> String {
    let options = Options {
        part,
        format,
        ..Options::default()
    };
    render(run, None, &options).unwrap()
}

fn first(run: &Run) -> String {
    let text = of(run, Part::First, Format::Text);
    for line in text.lines() {
        assert!(line.chars().count() <= 78, "{line}");
        assert_eq!(line.trim_end(), line);
    }
    text
}

/// The case that was missed: the table has the mount options as columns, and the mkfs option matters.
#[test]
fn the_factor_that_no_table_names_is_the_answer() {
    let text = first(&run(&FAST_COMMIT));
    insta::assert_snapshot!(text);
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        whole.contains("mkfs=-O fast_commit creates files 2.29 times as fast as mkfs=default"),
        "{text}"
    );
    let why = of(&run(&FAST_COMMIT), Part::Why, Format::Text);
    assert!(!why.contains("None of"), "{why}");
    assert!(why.contains("2 of 7 comparisons differ"), "{why}");
}

#[test]
fn an_effect_that_depends_on_another_is_said_to() {
    insta::assert_snapshot!(first(&run(&INTERACTING)));
}

#[test]
fn a_study_without_tables_has_one_good_table() {
    let mut run = run(&FAST_COMMIT);
    run.plan.tables.clear();
    insta::assert_snapshot!(first(&run));
}

#[test]
fn one_block_gives_the_reason() {
    let one = run(&Shape {
        blocks: 1,
        ..FAST_COMMIT
    });
    let text = first(&one);
    assert!(
        text.contains("mkfs: one trial for each cell: --blocks 5 gives an interval"),
        "{text}"
    );
    let full = of(&one, Part::Full, Format::Text);
    let full = full.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        full.contains("nothing to test: one trial for each cell"),
        "{full}"
    );
    let mut failed = run(&FAST_COMMIT);
    for trial in &mut failed.trials {
        trial.status = Status::Pending;
        trial.samples.clear();
    }
    let text = first(&failed);
    assert!(text.contains("no trial finished"), "{text}");
}

#[test]
fn the_first_screen_of_the_built_in_study_has_at_most_120_lines() {
    for blocks in [1, 2, 5] {
        let run = common::quick(blocks, None);
        let text = first(&run);
        assert!(
            text.lines().count() <= 120,
            "{} lines",
            text.lines().count()
        );
        let question = text.lines().position(|l| l.starts_with("Question: "));
        assert!(question.unwrap() < 6, "{text}");
        assert!(text.contains("--full"), "{text}");
    }
    insta::assert_snapshot!(first(&common::quick(5, None)));
}

#[test]
fn each_part_is_of_the_whole() {
    let run = common::quick(5, None);
    let full = of(&run, Part::Full, Format::Text);
    let title = full.lines().next().unwrap();
    let parts = [
        (Part::Summary, "Summary", "Iozone, 1 Thread"),
        (Part::Tables, "Differences", "Evidence"),
        (Part::Why, "Why", "Differences"),
        (Part::Evidence, "Evidence", "Why"),
    ];
    for (part, has, lacks) in parts {
        let text = of(&run, part, Format::Text);
        assert_eq!(text.lines().next(), Some(title));
        assert!(text.lines().any(|l| l == has), "{part:?}: {text}");
        assert!(!text.lines().any(|l| l == lacks), "{part:?}: {text}");
        for line in text.lines() {
            assert!(full.lines().any(|l| l == line), "{part:?}: {line}");
        }
        let md = of(&run, part, Format::Md);
        assert!(md.contains(&format!("## {}", md_name(part))), "{md}");
        assert_eq!(md.matches("## Legend").count(), 0);
    }
}

fn md_name(part: Part) -> &'static str {
    match part {
        Part::Summary => "Summary",
        Part::Tables => "Compilebench",
        Part::Why => "Why",
        _ => "Evidence",
    }
}

#[test]
fn a_table_alone_is_ready_to_paste() {
    let run = common::quick(5, None);
    let options = Options {
        part: Part::First,
        table: Some("iozone, 8 threads".into()),
        ..Options::default()
    };
    let text = render(&run, None, &options).unwrap();
    // Three tables have it in their titles: clocks (a), (b) and (c).
    assert!(text.starts_with("Iozone, 8 Threads\n"), "{text}");
    assert!(!text.contains("Differences") && !text.contains("Legend"));
    let options = Options {
        table: Some("by threads".into()),
        ..options
    };
    let text = render(&run, None, &options).unwrap();
    assert!(text.starts_with("iozone by threads\n"), "{text}");
    let options = Options {
        format: Format::Md,
        ..options
    };
    let text = render(&run, None, &options).unwrap();
    assert!(text.starts_with("## iozone by threads\n"), "{text}");
}

#[test]
fn every_format_begins_with_the_answer() {
    let run = run(&FAST_COMMIT);
    let json: serde_json::Value =
        serde_json::from_str(&of(&run, Part::Full, Format::Json)).unwrap();
    let summary = &json["summary"];
    assert_eq!(summary["question"], json["study"]["question"]);
    let difference = &summary["differences"][0];
    assert_eq!(difference["factor"], "mkfs");
    let times = difference["times"].as_f64().unwrap();
    assert!((times - 2.29).abs() < 0.02);
    let interval = difference["interval"].as_array().unwrap();
    assert!(interval[0].as_f64().unwrap() < times && times < interval[1].as_f64().unwrap());
    assert!(!summary["equal"].as_array().unwrap().is_empty());
    assert_eq!(summary["effects"].as_array().unwrap().len(), 3);
    assert_eq!(summary["to_syncfs"]["hold"], 1);
    assert_eq!(json["by_factor"][0]["title"], "By mkfs");
    let md = of(&run, Part::Full, Format::Md);
    assert!(
        md.starts_with("# A mail server on ext4\n\n## Summary\n"),
        "{md}"
    );
    let page = of(&run, Part::Full, Format::Html);
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(at("<section id=\"summary\"") < at("<section id=\"machine\""));
    assert!(at("<section id=\"ratios\"") < at("<section id=\"table-1\""));
    assert!(page.contains("data-heat=\"4\""));
}

/// The sentence gives way to its evidence: a number in doubt marks what rests on it.
#[test]
fn a_difference_that_rests_on_a_number_in_doubt_is_marked() {
    let mut run = run(&FAST_COMMIT);
    for trial in &mut run.trials {
        for evidence in &mut trial.evidence {
            evidence.holds = Some(false);
        }
    }
    let options = Options::default();
    let report = Report::new(&run, None, &options).unwrap();
    let summary = report.summary.as_ref().unwrap();
    assert!(summary.differences.iter().all(|d| !d.marks.is_empty()));
    assert!(summary.doubts[0].contains("counts_agree does not hold: 30 trials"));
    assert!(first(&run).contains("[! evidence does not hold]"));
}

/// A trial that failed is named with its reason before anything else is read.
#[test]
fn the_reason_of_a_failed_trial_is_on_the_first_screen() {
    let text = first(&fixtures::example::run());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("x failed: 1 trial of filesystem="), "{text}");
    assert!(text.contains("no space left on device"), "{text}");
}

#[test]
fn the_published_shapes_are_found_in_the_published_numbers() {
    let run = common::wohlgemuth();
    let options = Options::default();
    let report = Report::new(&run, None, &options).unwrap();
    let shapes = report.summary.as_ref().unwrap().published.as_ref().unwrap();
    // Two runs decide few, but none the wrong way.
    assert_eq!(shapes.otherwise, Vec::<String>::new());
    assert!(shapes.again > 10 && shapes.again + shapes.undecided == shapes.ratios);
}
