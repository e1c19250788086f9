//! Laws of growth and "was it memory?", in every format.

use crate::common;

use record::{MemoryPressure, Run, Status};
use report::pressure::Memory;
use report::{Format, Options, Report, render};
use stats::growth::Law;

fn with(format: Format) -> Options {
    Options {
        format,
        ..Options::default()
    }
}

/// The sections of the text from one that begins so up to the next.
fn section(text: &str, begin: &str) -> String {
    let parts = text
        .split("\n\n\n")
        .map(|part| part.trim_start_matches('\n'));
    let found: Vec<&str> = parts.filter(|part| part.starts_with(begin)).collect();
    assert_eq!(found.len(), 1, "{begin}: {text}");
    found[0].to_owned()
}

#[test]
fn growth_in_a_mail() {
    let run = common::growth::run(5);
    let text = render(&run, None, &Options::default()).unwrap();
    assert!(
        text.lines().all(|line| line.chars().count() <= 78),
        "{text}"
    );
    insta::assert_snapshot!(section(&text, "Time of a check"));
}

#[test]
fn memory_in_a_mail() {
    let run = common::growth::run(5);
    let text = render(&run, None, &Options::default()).unwrap();
    insta::assert_snapshot!(section(&text, "Was it memory?"));
}

/// No number that was not measured stands on a line without the word.
#[test]
fn every_projection_is_called_one() {
    let run = common::growth::run(5);
    for format in [Format::Text, Format::Md] {
        let text = render(&run, None, &with(format)).unwrap();
        let far: Vec<&str> = text
            .lines()
            .filter(|l| l.contains("10.2 M") || l.contains("415 M"))
            .collect();
        assert!(far.len() >= 6, "{far:?}");
        for line in far {
            assert!(line.contains("projection"), "{line}");
        }
    }
}

#[test]
fn laws_are_those_that_made_the_numbers() {
    let run = common::growth::run(5);
    let options = Options::default();
    let report = Report::new(&run, None, &options).unwrap();
    let curves = &report.growths[0].curves;
    let names: Vec<String> = curves.iter().map(report::growth::Curve::name).collect();
    assert_eq!(
        names,
        [
            "filesystem=ext4 workload=fill",
            "filesystem=xfs workload=fill",
            "filesystem=xfs workload=age",
            "filesystem=btrfs workload=fill"
        ]
    );
    let best = |at: usize| curves[at].laws.as_ref().unwrap().best();
    assert_eq!((best(0).law, best(1).law), (Law::Linear, Law::Power));
    assert!(best(0).parameters[0].interval.contains(0.15));
    assert!(best(0).parameters[1].interval.contains(8e-6));
    assert!(best(1).parameters[1].interval.contains(1.08));
    for (curve, truth) in [(0, 0.15 + 8e-6 * 105e6), (1, 6e-6 * 105e6_f64.powf(1.08))] {
        let projection = &curves[curve].projections[2];
        assert_eq!(projection.x, 105e6);
        assert!((projection.reach - 105e6 / 192e3).abs() < 1e-9);
        assert!(
            projection.laws[0].1.interval.contains(truth),
            "{projection:?}"
        );
    }
    // Both laws at once: both projected.
    assert!(curves[2].projections.iter().all(|p| p.laws.len() == 2));
    // Counted after the last phase that adds, not in between, and as counted, not as asked.
    let counted = &curves[2].sizes[4].counted;
    assert!(
        counted.iter().all(|x| (x / 192e3 - 1.0).abs() < 0.006),
        "{counted:?}"
    );
    assert!(counted.iter().any(|x| *x != 192e3));
    assert!(matches!(
        curves[3].laws,
        Err(stats::Error::FewSizes { need: 4, have: 3 })
    ));
    assert!(curves[3].projections.is_empty());
}

/// A figure that does not follow the files at all: the report does not say that it grows, and the noise is a
/// factor, not a percentage.
#[test]
fn noise_is_called_noise() {
    let mut run = common::growth::run(5);
    for (at, trial) in run.trials.iter_mut().enumerate() {
        for sample in trial.samples.iter_mut().filter(|s| s.metric == "seconds") {
            sample.value = (3.0 * common::noise(at as u64 + 9)).exp();
        }
    }
    let text = render(&run, None, &Options::default()).unwrap();
    let text = section(&text, "Time of a check");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("that y grows with the files at all is not shown"),
        "{text}"
    );
    assert!(text.contains("vary by a factor of 2."), "{text}");
    assert!(text.contains("are not distinguishable here"), "{text}");
}

/// Only the fresh xfs of 105 and 415 million and the aged one were published with numbers.
#[test]
fn published_times_stand_beside_their_own_kind() {
    let run = common::growth::run(5);
    let options = Options::default();
    let report = Report::new(&run, None, &options).unwrap();
    let beside: Vec<Vec<f64>> = report.growths[0]
        .curves
        .iter()
        .map(|curve| {
            let of = curve.projections.iter().flat_map(|p| &p.published);
            of.chain(&curve.published).map(|p| p.y).collect()
        })
        .collect();
    assert_eq!(beside, [vec![], vec![1629.0, 11324.0], vec![676.0], vec![]]);
}

/// A factor that is neither x nor named keeps its levels apart.
#[test]
fn no_two_memories_share_a_law() {
    let mut run = common::growth::run(2);
    run.plan.growth[0].filter.clear();
    run.plan.growth[0].by = vec!["filesystem".to_owned()];
    let options = Options::default();
    let report = Report::new(&run, None, &options).unwrap();
    let curves = &report.growths[0].curves;
    assert_eq!(curves.len(), 7);
    for curve in curves {
        assert!(curve.levels.contains_key("memory") && curve.levels.contains_key("workload"));
        assert!(!curve.levels.contains_key("files"));
    }
    // The same with the factor itself as x.
    run.plan.growth[0].x = "files".to_owned();
    let report = Report::new(&run, None, &options).unwrap();
    assert_eq!(report.growths[0].curves.len(), 7);
    assert_eq!(report.growths[0].curves[0].sizes[4].x, 192e3);
}

/// A factor that goes with the size (fewer files, larger ones) is no condition of its own; one in
/// which cells of one size differ is.
#[test]
fn what_changes_with_the_size_splits_nothing() {
    let mut run = common::growth::run(2);
    for cell in &mut run.plan.cells {
        let size = match cell.levels["files"].as_str() {
            "3000" => "64k",
            "12000" => "16k",
            _ => "4k",
        };
        cell.levels.insert("size".to_owned(), size.to_owned());
    }
    let options = Options::default();
    let report = Report::new(&run, None, &options).unwrap();
    assert_eq!(report.growths[0].curves.len(), 4);
    assert_eq!(report.growths[0].curves[0].sizes.len(), 5);
    for cell in &mut run.plan.cells {
        // Where memory is limited, say, the device is a smaller one.
        let device = if cell.memory.is_some() { "1g" } else { "2g" };
        cell.levels
            .insert("device_size".to_owned(), device.to_owned());
    }
    run.plan.growth[0].filter.clear();
    let report = Report::new(&run, None, &options).unwrap();
    assert_eq!(report.growths[0].curves.len(), 7);
}

/// A limit that only the fill reached is reported, and does not make a slow check.
#[test]
fn a_limit_reached_in_the_fill_is_reported() {
    let mut run = common::growth::run(5);
    for trial in &mut run.trials {
        for phase in trial.phases.iter_mut().filter(|p| p.name == "fill") {
            let memory = phase.memory.as_mut().expect("recorded");
            memory.limit_met = memory.limit_met.map(|_| 7);
        }
    }
    let options = Options::default();
    let report = Report::new(&run, None, &options).unwrap();
    let memory = report.memory.as_ref().unwrap();
    assert_eq!(answers(memory)[1], ("xfs", "No"));
    assert!(
        memory.answers[1]
            .because
            .ends_with("met its limit in 25 of 25 cases"),
        "{}",
        memory.answers[1].because
    );
    let text = render(&run, None, &options).unwrap();
    assert!(section(&text, "Was it memory?").contains("fill, each trial:"));
}

#[test]
fn a_filter_and_a_failed_trial_leave_what_they_leave() {
    let mut run = common::growth::run(5);
    run.trials[0].status = Status::Failed(record::FailureKind::Trial, "no space".to_owned());
    run.trials[0].samples.clear();
    let options = Options {
        filter: Options::parse_filter("filesystem=ext4").unwrap(),
        ..Options::default()
    };
    let report = Report::new(&run, None, &options).unwrap();
    assert_eq!(report.growths[0].curves.len(), 1);
    let size = &report.growths[0].curves[0].sizes[0];
    assert_eq!((size.counted.len(), size.figure.signs().as_str()), (4, "x"));
    let memory = report.memory.as_ref().unwrap();
    assert!(memory.rows.iter().all(|row| row.filesystem == "ext4"));
    let pivot = Options {
        rows: vec!["files".to_owned()],
        ..Options::default()
    };
    assert!(Report::new(&run, None, &pivot).is_ok_and(|r| r.growths.is_empty()));
}

/// Changes the memory of all checks of one filesystem without a limit.
fn with_pressure(change: impl Fn(&mut MemoryPressure)) -> Run {
    let mut run = common::growth::run(5);
    for trial in &mut run.trials {
        for phase in &mut trial.phases {
            let memory = phase.memory.as_mut().expect("recorded");
            if phase.name == "check" && memory.limit.is_none() {
                change(memory);
            }
        }
    }
    run
}

fn answers(memory: &Memory) -> Vec<(&str, &str)> {
    let answers = memory.answers.iter();
    answers.map(|a| (a.filesystem.as_str(), a.word)).collect()
}

#[test]
fn memory_is_answered_by_what_was_seen() {
    let options = Options::default();
    let quiet = common::growth::run(5);
    let report = Report::new(&quiet, None, &options).unwrap();
    let memory = report.memory.as_ref().unwrap();
    assert_eq!(
        answers(memory),
        [("ext4", "Yes, in part"), ("xfs", "No"), ("btrfs", "No")]
    );
    let slow: Vec<&report::pressure::Pair> = memory
        .pairs
        .iter()
        .filter(|p| p.seconds.as_ref().unwrap().difference == report::model::Difference::Worse)
        .collect();
    assert_eq!(slow.len(), 1);
    assert_eq!(slow[0].label, "fill files=192000");
    let read = slow[0].read.as_ref().unwrap();
    assert!((read.ratio - 1.8).abs() < 1e-6, "{read:?}");
    // 192000 inodes of 256 bytes under 96 MiB.
    let share = memory.rows.iter().filter(|r| r.filesystem == "ext4");
    let share = share.filter_map(|r| r.inode_share).fold(0.0, f64::max);
    assert!((share - 192e3 * 256.0 / (96.0 * common::MIB)).abs() < 1e-9);

    let swapped = with_pressure(|m| m.swapped_in = 12);
    let report = Report::new(&swapped, None, &options).unwrap();
    let memory = report.memory.as_ref().unwrap();
    assert_eq!(
        answers(memory),
        [("ext4", "Yes"), ("xfs", "Perhaps"), ("btrfs", "Perhaps")]
    );
    let reclaimed = with_pressure(|m| m.reclaimed = 4000);
    let report = Report::new(&reclaimed, None, &options).unwrap();
    assert_eq!(
        answers(report.memory.as_ref().unwrap())[1],
        ("xfs", "Perhaps")
    );
}

/// The journal study neither checks nor limits memory: neither is mentioned.
#[test]
fn other_studies_are_not_asked() {
    let run = common::quick(5, None);
    let options = Options::default();
    let report = Report::new(&run, None, &options).unwrap();
    assert!(report.memory.is_none() && report.growths.is_empty());
}

#[test]
fn json_has_the_laws_and_what_they_rest_on() {
    let run = common::growth::run(5);
    let text = render(&run, None, &with(Format::Json)).unwrap();
    let doc: serde_json::Value = serde_json::from_str(&text).unwrap();
    let curve = &doc["growth"][0]["curves"][0];
    assert_eq!(curve["levels"]["filesystem"], "ext4");
    assert_eq!(curve["laws"][0]["law"], "linear");
    assert!(curve["laws"][0]["c"]["low"].as_f64().unwrap() < 0.15);
    assert!(curve["laws"][1]["aicc_above_best"].as_f64().unwrap() > 2.0);
    assert_eq!(curve["sizes"].as_array().unwrap().len(), 5);
    assert_eq!(curve["sizes"][0]["values"][0]["x"], 3000.0);
    let projection = &curve["projections"][0];
    assert_eq!(
        (&projection["x"], &projection["projection"]),
        (&10.2e6.into(), &true.into())
    );
    assert!(
        doc["growth"][0]["curves"][3]["no_law"]
            .as_str()
            .unwrap()
            .contains("3 size(s)")
    );
    assert_eq!(doc["memory"]["answers"][0]["answer"], "Yes, in part");
    assert_eq!(doc["memory"]["rows"][0]["limit_met"], serde_json::json!([]));
    let published = &doc["growth"][0]["curves"][1]["projections"][2]["published"];
    assert_eq!(published[0]["y"], 1629.0);
}

/// Rows of laws follow the samples and belong to no trial.
#[test]
fn csv_keeps_projections_apart_from_measurements() {
    let run = common::growth::run(5);
    let text = render(&run, None, &with(Format::Csv)).unwrap();
    let rows: Vec<Vec<&str>> = text
        .split("\r\n")
        .filter(|l| !l.is_empty())
        .map(|l| l.split(',').collect())
        .collect();
    let column = |name: &str| rows[0].iter().position(|h| *h == name).unwrap();
    let (trial, metric, value, marks) = (
        column("trial"),
        column("metric"),
        column("value"),
        column("marks"),
    );
    let samples: usize = run.trials.iter().map(|t| t.samples.len()).sum();
    let (derived, measured): (Vec<_>, Vec<_>) = rows[1..].iter().partition(|r| r[trial].is_empty());
    assert_eq!(measured.len(), samples);
    // Two laws with one set of parameters and projections, one with two; three ends each.
    assert_eq!(derived.len(), 3 * (2 * (2 + 4) + 2 * (2 + 4)));
    assert!(
        derived
            .iter()
            .all(|r| ["law", "projection"].contains(&r[marks]))
    );
    let far = derived
        .iter()
        .find(|r| r[metric] == "projection_linear_at_105000000")
        .unwrap();
    let far: f64 = far[value].parse().unwrap();
    assert!((far - 840.9).abs() < 0.1, "{far}");
}

#[test]
fn markdown_of_growth() {
    let run = common::growth::run(5);
    let text = render(&run, None, &with(Format::Md)).unwrap();
    let begin = text.find("## Time of a check").unwrap();
    let end = text.find("## Evidence").unwrap();
    for block in text[begin..end]
        .split("\n\n")
        .filter(|b| b.starts_with('|'))
    {
        let counts: Vec<usize> = block.lines().map(|l| l.matches('|').count()).collect();
        assert!(counts.iter().all(|c| *c == counts[0]), "{block}");
    }
    insta::assert_snapshot!(&text[begin..end]);
}

/// Dashed beyond the data, both words on the drawing, one drawing a curve; written where
/// `FSLAB_PAGE` says, to be looked at.
#[test]
fn the_page_draws_measured_and_projected_apart() {
    let run = common::growth::run(5);
    let page = render(&run, None, &with(Format::Html)).unwrap();
    if let Ok(path) = std::env::var("FSLAB_PAGE") {
        std::fs::write(path, &page).unwrap();
    }
    let drawings: Vec<&str> = page.split("<svg class=\"plot growth\"").skip(1).collect();
    assert_eq!(drawings.len(), 4);
    let count = |at: usize, what: &str| {
        drawings[at]
            .split("</svg>")
            .next()
            .unwrap()
            .matches(what)
            .count()
    };
    for (at, laws) in [(0, 1), (1, 1), (2, 2), (3, 0)] {
        assert_eq!(count(at, "class=\"line law"), 2 * laws, "{at}");
        assert_eq!(count(at, " projected\""), 2 * laws, "{at}");
        assert_eq!(count(at, "class=\"far law"), 4 * laws, "{at}");
        assert_eq!(count(at, ">projection</text>"), laws.min(1), "{at}");
        assert_eq!(count(at, "class=\"sample\""), if at == 3 { 15 } else { 25 });
        assert!(!drawings[at].contains("NaN"));
    }
    assert_eq!(
        (
            count(1, "class=\"published\""),
            count(0, "class=\"published\"")
        ),
        (2, 0)
    );
    assert!(page.contains("Was it memory?") && page.contains("<b>ext4</b>: Yes, in part:"));
}
