//! Tables for machines: the summary CSV, and every option in every format.

use crate::common;

use std::collections::BTreeMap;

use record::{FailureKind, Run, Sample, Status};
use report::{Error, Format, Options, Part, render};
use study::Clock;

fn with(format: Format, change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options {
        format,
        part: Part::First,
        ..Options::default()
    };
    change(&mut options);
    options
}

/// The fields of a record; none of these tests has a line end inside a field.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let field = fields.last_mut().unwrap();
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => field.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            letter => field.push(letter),
        }
    }
    fields
}

type Record = BTreeMap<String, String>;

fn records(text: &str) -> Vec<Record> {
    let mut lines = text.split("\r\n").filter(|line| !line.is_empty());
    let head = fields(lines.next().unwrap());
    let record = |line: &str| {
        let fields = fields(line);
        assert_eq!(fields.len(), head.len(), "{line}");
        head.iter().cloned().zip(fields).collect()
    };
    lines.map(record).collect()
}

fn summary(run: &Run, change: impl FnOnce(&mut Options)) -> Vec<Record> {
    let options = with(Format::SummaryCsv, change);
    records(&render(run, None, &options).unwrap())
}

#[test]
fn the_summary_has_the_figures_of_the_tables() {
    let run = common::quick(5, None);
    let rows = summary(&run, |_| {});
    let options = with(Format::Json, |_| {});
    let text = render(&run, None, &options).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut compared = 0;
    for table in document["tables"].as_array().unwrap() {
        for row in table["rows"].as_array().unwrap() {
            for figure in row["figures"].as_array().unwrap() {
                let Some(cell) = figure["cell"].as_u64() else {
                    continue;
                };
                let levels = &run.plan.cells[cell as usize].levels;
                let is = |r: &&Record| {
                    r["table"] == table["title"].as_str().unwrap()
                        && r["part"] == table["subtitle"].as_str().unwrap()
                        && r["phase"] == row["phase"].as_str().unwrap()
                        && r["metric"] == row["metric"].as_str().unwrap()
                        && r["clock"] == row["clock"].as_str().unwrap()
                        && levels.iter().all(|(factor, level)| r[factor] == *level)
                };
                let found: Vec<&Record> = rows.iter().filter(is).collect();
                assert_eq!(found.len(), 1, "{figure}");
                let found = found[0];
                assert_eq!(found["n"], figure["summary"]["n"].to_string());
                assert_eq!(found["base"], table["base"].as_str().unwrap());
                let versus = &figure["comparison"];
                if versus.is_null() {
                    assert_eq!(found["verdict"], "base");
                    continue;
                }
                compared += 1;
                let number = |name: &str| found[name].parse::<f64>().unwrap();
                assert_eq!(number("ratio"), versus["ratio"].as_f64().unwrap());
                assert_eq!(number("ratio_low"), versus["interval"][0].as_f64().unwrap());
                assert_eq!(number("p_adjusted"), versus["p_adjusted"].as_f64().unwrap());
                assert_eq!(found["verdict"], versus["difference"].as_str().unwrap());
                assert!(number("low") <= number("median") && number("median") <= number("high"));
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn a_metric_that_no_table_has_is_a_row_of_the_summary() {
    let mut run = common::quick(5, None);
    let extra = Sample {
        metric: "peak_rss".into(),
        unit: "bytes".into(),
        ..run.trials[0].samples[0].clone()
    };
    run.trials[0].samples.push(extra);
    let rows = summary(&run, |_| {});
    let measured = run.trials.iter().flat_map(|trial| &trial.samples);
    let of_rows: Vec<(&str, &str)> = rows
        .iter()
        .map(|r| (r["phase"].as_str(), r["metric"].as_str()))
        .collect();
    for sample in measured {
        assert!(
            of_rows.contains(&(&sample.phase, &sample.metric)),
            "{} {}",
            sample.phase,
            sample.metric
        );
    }
    let alone: Vec<&Record> = rows.iter().filter(|r| r["table"].is_empty()).collect();
    assert_eq!(alone.len(), 1);
    assert_eq!(alone[0]["metric"], "peak_rss");
    for row in alone {
        assert_eq!((row["ratio"].as_str(), row["verdict"].as_str()), ("", ""));
        assert!(!row["median"].is_empty(), "{row:?}");
    }
}

#[test]
fn a_cell_without_values_has_a_row_that_says_missing() {
    let mut run = common::quick(5, None);
    let cell = run.plan.slots[0].cell;
    for slot in run.plan.slots.iter().filter(|slot| slot.cell == cell) {
        let trial = &mut run.trials[slot.trial as usize];
        trial.status = Status::Failed(FailureKind::Trial, "no space".into());
        trial.samples.clear();
    }
    let levels = run.plan.cells[cell as usize].levels.clone();
    let rows = summary(&run, |_| {});
    let of_cell = |r: &&Record| levels.iter().all(|(factor, level)| r[factor] == *level);
    let found: Vec<&Record> = rows.iter().filter(of_cell).collect();
    assert!(!found.is_empty());
    for row in found {
        assert_eq!((row["n"].as_str(), row["median"].as_str()), ("0", ""));
        assert!(row["marks"].contains("missing"), "{row:?}");
    }
}

/// What an option does to a format.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    /// The text is another one, and has no sample of what was not selected.
    Honoured,
    /// One line that names the option; exit code 2.
    Refused,
}

/// Sets one option.
type Change = fn(&mut Options);

#[test]
fn every_option_is_honoured_or_refused_in_every_format() {
    use Then::{Honoured, Refused};
    let run = common::quick(5, None);
    let options: [(&str, Change); 7] = [
        ("--metric", |o| o.metric = Some("throughput".into())),
        ("--clock", |o| o.clock = Some(Clock::Syncfs)),
        ("--table", |o| o.table = Some("8 Threads".into())),
        ("--filter", |o| {
            o.filter = Options::parse_filter("filesystem=ext4,xfs").unwrap();
        }),
        ("--row", |o| o.rows = vec!["phase".into()]),
        ("--col", |o| o.columns = vec!["threads".into()]),
        ("--base", |o| o.base = Some("xfs".into())),
    ];
    let others = [Honoured; 7];
    let samples = [
        Honoured, Honoured, Honoured, Honoured, Refused, Refused, Refused,
    ];
    for (name, format) in Format::NAMES {
        let plain = render(&run, None, &with(format, |_| {})).unwrap();
        let expected = if format == Format::Csv {
            samples
        } else {
            others
        };
        for ((option, change), expected) in options.iter().zip(expected) {
            let printed = render(&run, None, &with(format, change));
            match (expected, printed) {
                (Honoured, Ok(text)) => {
                    assert_ne!(text, plain, "{name} {option}");
                    assert!(!text.is_empty(), "{name} {option}");
                }
                (Refused, Err(error)) => {
                    let line = error.to_string();
                    assert!(matches!(error, Error::Malformed { .. }), "{line}");
                    assert!(line.starts_with(option) && !line.contains('\n'), "{line}");
                }
                (expected, printed) => panic!("{name} {option}: {expected:?}, {printed:?}"),
            }
        }
    }
}

#[test]
fn rows_for_machines_have_only_what_was_selected() {
    let run = common::quick(5, None);
    for format in [Format::Csv, Format::SummaryCsv] {
        let of = |change: Change| records(&render(&run, None, &with(format, change)).unwrap());
        let metric = of(|o| o.metric = Some("throughput".into()));
        assert!(metric.iter().all(|row| row["metric"] == "throughput"));
        let clock = of(|o| o.clock = Some(Clock::Syncfs));
        assert!(clock.iter().all(|row| row["clock"] == "syncfs"));
        let table = of(|o| o.table = Some("8 Threads".into()));
        assert!(table.iter().all(|row| row["threads"] == "8"));
        for rows in [metric, clock, table] {
            assert!(rows.len() > 10, "{format:?}: {}", rows.len());
        }
    }
    let options = with(Format::Json, |o| o.clock = Some(Clock::Syncfs));
    let text = render(&run, None, &options).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let samples = document["samples"].as_array().unwrap();
    assert!(!samples.is_empty() && samples.iter().all(|sample| sample["clock"] == "syncfs"));
}

#[test]
fn the_summary_in_one_part_is_refused_with_the_format_that_has_it() {
    let run = common::quick(5, None);
    let options = with(Format::Csv, |o| o.part = Part::Summary);
    let line = render(&run, None, &options).unwrap_err().to_string();
    assert!(line.contains("--format summary-csv"), "{line}");
}

#[test]
fn an_interrupted_trial_is_not_a_failed_one() {
    let mut run = common::quick(5, None);
    run.trials[3].status = Status::Failed(FailureKind::Interrupted, "stopped by a signal".into());
    run.trials[3].samples.clear();
    let text = render(&run, None, &Options::default()).unwrap();
    let count = "90 planned: 88 finished, 1 failed, 1 interrupted";
    assert!(text.contains(count), "{text}");
    let json = render(&run, None, &with(Format::Json, |_| {})).unwrap();
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["trials"][3]["status"], "interrupted");
}

#[test]
fn every_part_is_honoured_or_refused_by_name_in_every_format() {
    let run = common::quick(5, None);
    for (name, format) in Format::NAMES {
        let whole = render(&run, None, &with(format, |o| o.part = Part::Full)).unwrap();
        for (part_name, part) in Part::NAMES {
            let has = match format {
                Format::Text | Format::Json => true,
                Format::Md | Format::Html => part != Part::GnuTime,
                Format::Csv | Format::SummaryCsv => part == Part::Tables,
            };
            match render(&run, None, &with(format, |o| o.part = part)) {
                Ok(text) => {
                    assert!(has, "{name} has {part_name}");
                    assert!(text.len() <= whole.len(), "{name} {part_name}");
                    assert!(!text.is_empty(), "{name} {part_name}");
                }
                Err(error) => {
                    let line = error.to_string();
                    assert!(!has, "{line}");
                    let named = format!("--only {part_name:?}");
                    assert!(line.starts_with(&named) && !line.contains('\n'), "{line}");
                    assert!(line.contains("--format"), "{line}");
                }
            }
        }
    }
}

#[test]
fn parts_of_json_and_of_the_page_have_what_their_name_says_and_no_more() {
    let run = common::quick(5, None);
    let json = |part| -> serde_json::Value {
        let text = render(&run, None, &with(Format::Json, |o| o.part = part)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let summary = json(Part::Summary);
    assert!(summary["summary"]["differences"].is_array());
    assert!(summary["run"]["name"].is_string());
    assert!(summary.get("samples").is_none() && summary.get("tables").is_none());
    let tables = json(Part::Tables);
    assert!(!tables["samples"].as_array().unwrap().is_empty());
    assert!(tables.get("summary").is_none());
    let used = json(Part::GnuTime);
    let trial = &used["trials"][0];
    assert!(trial["phases"][0].get("gnu_time").is_some(), "{trial}");
    assert!(trial["phases"][0].get("memory").is_none(), "{trial}");
    assert!(trial.get("evidence").is_none() && used.get("samples").is_none());
    let page = |part| render(&run, None, &with(Format::Html, |o| o.part = part)).unwrap();
    for (part, has, lacks) in [
        (Part::Summary, "id=\"ratios\"", "id=\"table-1\""),
        (Part::Tables, "id=\"table-1\"", "id=\"ratios\""),
        (Part::Evidence, "id=\"telemetry\"", "id=\"table-1\""),
        (Part::Why, "id=\"why\"", "id=\"telemetry\""),
    ] {
        let text = page(part);
        assert!(text.contains(has), "{part:?} has no {has}");
        assert!(!text.contains(lacks), "{part:?} has {lacks}");
    }
}

#[test]
fn a_metric_a_clock_or_factors_print_their_table_alone() {
    let run = common::quick(5, None);
    for format in [Format::Text, Format::Md] {
        let of = |change: Change| render(&run, None, &with(format, change)).unwrap();
        let metric = of(|o| {
            o.metric = Some("children".into());
            o.clock = Some(Clock::Original);
        });
        let clock = of(|o| o.clock = Some(Clock::Syncfs));
        for text in [&metric, &clock] {
            for absent in ["Evidence", "Summary", "Legend", "Differences"] {
                assert!(!text.contains(absent), "{format:?} {absent}: {text}");
            }
            // Phases and threads are rows of one table for each workload.
            let plain = text.replace('\\', "");
            assert!(plain.contains("initial_write threads=8"), "{text}");
        }
        let titles = metric.matches("phase and threads by filesystem").count();
        assert_eq!(titles, 1, "{metric}");
    }
    let full = with(Format::Text, |o| {
        o.part = Part::Full;
        o.metric = Some("throughput".into());
    });
    assert!(render(&run, None, &full).unwrap().contains("Differences"));
}
