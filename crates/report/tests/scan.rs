//! How a checker read, in every format.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::scan::fsck_io;
use record::Run;
use report::{FormatName, Options, Report, render};
use serde_json::Value;

fn text(run: &Run) -> String {
    render(run, None, &Options::default()).unwrap()
}

fn format(run: &Run, format: FormatName) -> String {
    let options = Options {
        format,
        ..Options::default()
    };
    render(run, None, &options).unwrap()
}

/// The section, without the head of the report and what follows.
fn section(out: &str) -> &str {
    let begin = out.find("How a checker reads").unwrap();
    let end = out[begin..].find("\n\n\nPrecache and prefill").unwrap();
    &out[begin..begin + end]
}

#[test]
fn the_sets_the_laws_and_the_lines_in_a_mail() {
    let out = text(&fsck_io(5));
    assert!(out.lines().all(|line| line.chars().count() <= 78), "{out}");
    insta::assert_snapshot!(section(&out));
}

#[test]
fn every_law_has_its_pairs_and_none_twice() {
    let run = fsck_io(3);
    let options = Options::default();
    let report = Report::new(&run, None, &options).unwrap();
    let scan = report.scan.unwrap();
    let cases: Vec<(&str, usize)> = scan.laws.iter().map(|l| (l.id, l.cases.len())).collect();
    // Buffers: three steps of the sweep, and sets 2 and 3 on each disk.
    assert_eq!(
        cases,
        [
            ("precache", 2),
            ("precache-large-cache", 2),
            ("prefill", 4),
            ("scan-buffer", 5)
        ]
    );
    for law in &scan.laws {
        assert!(law.cases.iter().all(|case| case.holds), "{law:?}");
        let mut cells: Vec<[u32; 2]> = law.cases.iter().map(|case| case.cells).collect();
        cells.sort_unstable();
        cells.dedup();
        assert_eq!(cells.len(), law.cases.len());
    }
    assert_eq!(scan.groups.len(), 2);
    assert!(scan.groups.iter().all(|group| group.sets.len() == 4));
}

/// A reader that reads more with prefill, asks as often with a larger buffer, and loses nothing from its small cache breaks all.
#[test]
fn a_law_that_is_broken_is_said_to_be() {
    let mut run = fsck_io(3);
    for slot in run.plan.slots.clone() {
        let cell = &run.plan.cells[slot.cell as usize];
        let study::WorkloadSpec::Scan(spec) = &cell.workload else {
            panic!("{}", cell.label());
        };
        for sample in &mut run.trials[slot.trial as usize].samples {
            match (sample.phase.as_str(), sample.metric.as_str()) {
                ("scan_pass_0a", "disk_bytes") if spec.prefill => sample.value *= 1.5,
                ("scan_pass_1", "requests") => sample.value = 100.0,
                ("scan_pass_1", "disk_bytes") if spec.precache => sample.value = 0.0,
                ("scan_pass_0b", "seconds") if spec.precache => sample.value += 9.0,
                _ => {}
            }
        }
    }
    let options = Options::default();
    let report = Report::new(&run, None, &options).unwrap();
    for law in &report.scan.as_ref().unwrap().laws {
        assert!(law.cases.iter().all(|case| !case.holds), "{law:?}");
        assert!(
            law.verdict().starts_with("does not hold in any"),
            "{}",
            law.verdict()
        );
    }
    let out = text(&run);
    assert_eq!(out.matches("  FAILS  ").count(), 13, "{out}");
}

/// One block gives ratios and no verdicts; nothing finished gives no section.
#[test]
fn few_trials_say_less() {
    let out = text(&fsck_io(1));
    assert!(section(&out).contains("holds in 4 of 4 pairs"), "{out}");
    assert!(!section(&out).contains("comparisons"), "{out}");
    let mut none = fsck_io(1);
    for trial in &mut none.trials {
        trial.status = record::Status::Pending;
        trial.samples.clear();
    }
    assert!(!text(&none).contains("How a checker reads"));
}

#[test]
fn json_markdown_and_the_page_hold_the_same() {
    let run = fsck_io(3);
    let json: Value = serde_json::from_str(&format(&run, FormatName::Json)).unwrap();
    let scan = &json["scan"];
    assert_eq!(scan["beside"], "Mushran 2011");
    let set = &scan["groups"][0]["sets"][0];
    assert_eq!((&set["name"], &set["n"]), (&"set-1".into(), &3.into()));
    assert_eq!(set["passes"][0]["median"]["disk_bytes"], 128.0 * 4096.0);
    assert_eq!(
        set["passes"][2]["published"]["2011-09-21"]["real_s"],
        3842.447
    );
    assert_eq!(scan["laws"][2]["verdict"], "holds in 4 of 4 pairs");

    let md = format(&run, FormatName::Md);
    assert!(md.contains("## How a checker reads"), "{md}");
    assert!(md.contains("**holds in 2 of 2 pairs**"), "{md}");

    let page = format(&run, FormatName::Html);
    for part in [
        "id=\"scan\"",
        "id=\"laws\"",
        "Pass 0a: Checking cluster allocation chains",
        "Mushran 2011, 16 Sep, 1.5 M files",
        "holds in 5 of 5 pairs",
    ] {
        assert!(page.contains(part), "{part}");
    }
}
