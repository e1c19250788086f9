//! JSON, CSV, Markdown, pivots and the options that choose what is printed.

use crate::common;

use report::{Error, Format, Options, Report, render};

fn with(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options::default();
    change(&mut options);
    options
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| (*s).to_owned()).collect()
}

/// The first table and the text about it below, without the machine and the evidence.
fn without_head(text: &str) -> String {
    let parts: Vec<&str> = text.split("\n\n\n").collect();
    let differences = parts
        .iter()
        .find(|p| p.starts_with("Differences"))
        .expect("a section");
    let first: Vec<&str> = differences.split("\n\n").take(3).collect();
    format!("{}\n\n\n{}", parts[1], first.join("\n\n"))
}

#[test]
fn json_is_one_document_with_every_sample() {
    let run = common::quick(5, None);
    let options = with(|o| o.format = Format::Json);
    let text = render(&run, None, &options).unwrap();
    let doc: serde_json::Value = serde_json::from_str(&text).unwrap();
    let samples: usize = run.trials.iter().map(|t| t.samples.len()).sum();
    assert_eq!(doc["samples"].as_array().unwrap().len(), samples);
    assert_eq!(doc["trials"].as_array().unwrap().len(), 90);
    assert_eq!(
        doc["tables"].as_array().unwrap().len(),
        run.plan.tables.len()
    );
    let figure = &doc["tables"][0]["rows"][0]["figures"][1];
    assert_eq!(figure["column"], "ext3");
    assert_eq!(figure["values"].as_array().unwrap().len(), 5);
    assert!(figure["summary"]["median"].is_number());
    assert!(figure["comparison"]["interval"].is_array());
    assert_eq!(figure["published"]["value"], 56.3);
    assert_eq!(doc["repeats"]["doc"], "wohlgemuth2009");
    assert_eq!(doc["clocks"]["original"]["mark"], "(a)");
    let general = doc["general"].as_array().unwrap();
    assert_eq!(general.len(), 1, "{general:?}");
    assert_eq!(general[0]["of"], "workload compilebench");
    assert_eq!(general[0]["trials"], 30);
    let marks = |row: &serde_json::Value| row["figures"][0]["marks"].clone();
    let compilebench = &doc["tables"][2];
    assert_eq!(compilebench["title"], "Compilebench");
    for row in compilebench["rows"].as_array().unwrap() {
        assert_eq!(marks(row), serde_json::json!([]), "{row}");
    }
    assert!(
        doc["doubts"]
            .as_array()
            .unwrap()
            .iter()
            .any(|d| d["kind"] == "fails")
    );
}

#[test]
fn csv_has_one_row_per_sample_and_levels_as_columns() {
    let mut run = common::quick(5, None);
    run.name = "a \"name\", quoted".to_owned();
    let options = with(|o| {
        o.format = Format::Csv;
        o.filter = Options::parse_filter("filesystem=ext4,xfs").unwrap();
    });
    let text = render(&run, None, &options).unwrap();
    let mut lines = text.split("\r\n");
    assert_eq!(
        lines.next(),
        Some(
            "run,trial,block,filesystem,workload,threads,phase,metric,clock,value,unit,marks,timing"
        )
    );
    let rows: Vec<&str> = lines.filter(|l| !l.is_empty()).collect();
    let wanted: usize = run
        .plan
        .slots
        .iter()
        .filter(|s| {
            ["ext4", "xfs"].contains(&run.plan.cells[s.cell as usize].levels["filesystem"].as_str())
        })
        .map(|s| run.trials[s.trial as usize].samples.len())
        .sum();
    assert_eq!(rows.len(), wanted);
    assert!(
        rows.iter()
            .all(|r| r.starts_with("\"a \"\"name\"\", quoted\","))
    );
    assert!(rows.iter().any(|r| r.contains(",compilebench,,")));
}

#[test]
fn markdown_of_the_example() {
    let options = with(|o| o.format = Format::Md);
    let text = render(&fixtures::example::run(), None, &options).unwrap();
    // Every table keeps its number of columns in every row.
    for block in text.split("\n\n").filter(|b| b.starts_with('|')) {
        let counts: Vec<usize> = block
            .lines()
            .map(|l| l.replace("\\|", "").matches('|').count())
            .collect();
        assert!(counts.iter().all(|c| *c == counts[0]), "{block}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_pivot_over_threads_and_filesystems() {
    let run = common::quick(5, None);
    let options = with(|o| {
        o.rows = names(&["threads"]);
        o.columns = names(&["filesystem"]);
        o.table = Some("average".to_owned());
        o.filter = Options::parse_filter("workload=iozone").unwrap();
    });
    let report = Report::new(&run, None, &options).unwrap();
    // One table for each of the six phases: nothing is pooled.
    assert_eq!(report.tables.len(), 6);
    for table in &report.tables {
        assert_eq!(table.columns.len(), 6);
        assert_eq!(
            table
                .rows
                .iter()
                .map(|r| r.label.as_str())
                .collect::<Vec<_>>(),
            ["threads=1", "threads=8"]
        );
        for figure in table.figures() {
            assert!((4..=5).contains(&figure.points.len()), "{figure:?}");
        }
    }
    let text = render(&run, None, &options).unwrap();
    assert!(text.lines().all(|l| l.chars().count() <= 78), "{text}");
    insta::assert_snapshot!(without_head(&text));
}

#[test]
fn a_filtered_pivot_shows_the_cells_that_the_filter_left() {
    let run = common::quick(5, None);
    for (filter, columns) in [
        ("threads=8", "filesystem"),
        ("filesystem=ext4,xfs", "threads"),
    ] {
        let options = with(|o| {
            o.format = Format::Json;
            o.rows = names(&["phase"]);
            o.columns = names(&[columns]);
            o.metric = Some("children".into());
            o.clock = Some(study::Clock::Original);
            o.filter = Options::parse_filter(filter).unwrap();
        });
        let text = render(&run, None, &options).unwrap();
        let doc: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut seen = 0;
        let tables = doc["tables"].as_array().unwrap();
        for row in tables.iter().flat_map(|t| t["rows"].as_array().unwrap()) {
            for figure in row["figures"].as_array().unwrap() {
                let Some(cell) = figure["cell"].as_u64() else {
                    continue;
                };
                let levels = &run.plan.cells[cell as usize].levels;
                let (factor, allowed) = filter.split_once('=').unwrap();
                assert!(
                    allowed
                        .split(',')
                        .any(|level| levels.get(factor).is_some_and(|l| l == level)),
                    "--filter {filter} shows {levels:?}"
                );
                let column = figure["column"].as_str().unwrap();
                assert!(column.ends_with(&levels[columns]), "{column}: {levels:?}");
                seen += 1;
            }
        }
        assert!(seen >= 6, "--filter {filter} shows {seen} figures");
    }
}

#[test]
fn a_pivot_with_phases_as_rows_and_one_metric() {
    let run = fixtures::example::run();
    let options = with(|o| {
        o.metric = Some("throughput".to_owned());
        o.clock = Some(study::Clock::Syncfs);
        o.filter = Options::parse_filter("workload=iozone").unwrap();
    });
    let report = Report::new(&run, None, &options).unwrap();
    assert_eq!(report.tables.len(), 1);
    let table = &report.tables[0];
    assert_eq!(
        table
            .columns
            .iter()
            .map(|c| c.name.as_str())
            .collect::<Vec<_>>(),
        ["ext4", "xfs"]
    );
    assert_eq!(table.rows.len(), 6);
    assert!(
        table
            .rows
            .iter()
            .all(|r| r.unit == "MB/s" && r.clock == Some(study::Clock::Syncfs))
    );
    // 0.97 of the example's rate: the clock is really the other one.
    let children = run.values(
        &run.plan.cells[0],
        "initial_write",
        "children",
        study::Clock::Original,
    );
    let ours = &table.rows[0].figures[0].points;
    assert_eq!(ours.len(), children.len());
    for (point, rate) in ours.iter().zip(children) {
        assert!((point.value * common::MIB / rate - 0.97).abs() < 1e-9);
    }
    insta::assert_snapshot!(without_head(&render(&run, None, &options).unwrap()));
}

#[test]
fn factors_left_open_span_the_rows() {
    let mut run = common::quick(5, None);
    for table in &mut run.plan.tables {
        table.filter.remove("threads");
    }
    run.plan.tables.truncate(1);
    let report_options = Options::default();
    let report = Report::new(&run, None, &report_options).unwrap();
    assert_eq!(report.tables.len(), 1, "not one for each level");
    let labels: Vec<&str> = report.tables[0]
        .rows
        .iter()
        .map(|r| r.label.as_str())
        .collect();
    assert_eq!(labels.len(), 12);
    assert_eq!(
        labels[..2],
        ["initl_writers, threads=1", "initl_writers, threads=8"]
    );
    let rows = &report.tables[0].rows;
    assert!(
        rows.iter()
            .all(|row| row.figures.iter().all(|f| f.summary.is_some()))
    );
    // A filter leaves one level: it is printed once.
    let options = with(|o| o.filter = vec![("threads".into(), "8".into())]);
    let report = Report::new(&run, None, &options).unwrap();
    assert_eq!(report.tables[0].subtitle, "Average throughput, threads=8");
    assert_eq!(report.tables[0].rows[0].label, "initl_writers");
}

#[test]
fn another_base() {
    let run = common::quick(5, None);
    let options = with(|o| {
        o.base = Some("ext4".to_owned());
        o.table = Some("Compilebench".to_owned());
    });
    let report = Report::new(&run, None, &options).unwrap();
    let table = &report.tables[0];
    assert_eq!(table.base_name(), "ext4");
    let row = &table.rows[0];
    assert!(row.figures[2].versus.is_none());
    let nojournal = row.figures[3].versus.as_ref().unwrap();
    let medians = row.figures[3].summary.as_ref().unwrap().median
        / row.figures[2].summary.as_ref().unwrap().median;
    assert!((nojournal.ratio / medians - 1.0).abs() < 0.05);
    // Published: 77.1 over 59.7, as theirs were against ext4.
    assert!((row.figures[3].published.unwrap().ratio.unwrap() - 77.1 / 59.7).abs() < 1e-12);
}

#[test]
fn unknown_names_are_refused_with_what_is_allowed() {
    let run = common::quick(2, None);
    let cases: [(Options, &str); 7] = [
        (
            with(|o| o.rows = names(&["thread"])),
            "--row \"thread\": no such factor in this run; did you mean threads? allowed: filesystem, workload, threads, phase, metric, clock",
        ),
        (
            with(|o| o.columns = names(&["kernel"])),
            "--col \"kernel\": no such factor",
        ),
        (
            with(|o| o.table = Some("fio".to_owned())),
            "--table \"fio\": no such table",
        ),
        (
            with(|o| o.filter = vec![("fs".to_owned(), "ext4".to_owned())]),
            "--filter \"fs\": no such factor",
        ),
        (
            with(|o| o.filter = vec![("filesystem".to_owned(), "zfs".to_owned())]),
            "no such level in this run; did you mean xfs? allowed: btrfs, ext2",
        ),
        (
            with(|o| o.base = Some("zfs".to_owned())),
            "--base \"zfs\": no such column",
        ),
        (
            with(|o| o.metric = Some("iops".to_owned())),
            "--metric \"iops\": no such metric",
        ),
    ];
    for (options, wanted) in cases {
        let error = Report::new(&run, None, &options)
            .expect_err("refused")
            .to_string();
        assert!(error.contains(wanted), "{error}");
        assert!(!error.contains('\n'));
    }
    let nothing = with(|o| {
        o.table = Some("Iozone".to_owned());
        o.filter = Options::parse_filter("workload=compilebench").unwrap();
    });
    assert!(matches!(
        Report::new(&run, None, &nothing),
        Err(Error::Empty { .. })
    ));
    assert!(Options::parse_filter("ext4").is_err());
    assert!("pdf".parse::<Format>().is_err());
    let twice = with(|o| {
        o.rows = names(&["phase"]);
        o.columns = names(&["phase"]);
    });
    assert!(matches!(
        Report::new(&run, None, &twice),
        Err(Error::Malformed { .. })
    ));
}

#[test]
fn a_sequential_run_is_not_paired() {
    let run = common::sequential(common::quick(5, None));
    let options = Options::default();
    let report = Report::new(&run, None, &options).unwrap();
    let methods: std::collections::BTreeSet<&str> = report
        .tables
        .iter()
        .flat_map(report::model::Table::figures)
        .filter_map(|f| f.versus.as_ref())
        .map(|v| v.method.as_str())
        .collect();
    assert_eq!(methods.into_iter().collect::<Vec<_>>(), ["Welch on logs"]);
}

#[test]
fn a_unit_that_does_not_fit_is_said_not_guessed() {
    let mut run = fixtures::example::run();
    run.plan.tables[0].rows[0].unit = "secs".to_owned();
    let options = Options::default();
    let report = Report::new(&run, None, &options).unwrap();
    assert_eq!(report.tables[0].rows[0].unit, "MB/s");
    assert!(
        report
            .notes
            .iter()
            .any(|n| n.contains("bytes_per_s, which is not printed as secs")),
        "{:?}",
        report.notes
    );
}

/// Two factors as columns: the level that columns share is printed once, above them.
#[test]
fn columns_of_two_factors_have_headings_above_headings() {
    let run = common::quick(5, None);
    let options = |format| {
        with(|o| {
            o.format = format;
            o.part = report::Part::First;
            o.rows = names(&["phase"]);
            o.columns = names(&["filesystem", "threads"]);
            o.table = Some("average".to_owned());
            o.filter = vec![
                ("workload".to_owned(), "iozone".to_owned()),
                ("filesystem".to_owned(), "ext4".to_owned()),
                ("filesystem".to_owned(), "xfs".to_owned()),
            ];
            o.width = 120;
        })
    };
    let of = |format| render(&run, None, &options(format)).unwrap();
    let text = of(Format::Text);
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|l| l.contains("threads=1")).unwrap();
    let column = |line: &str, name: &str| line.find(name).unwrap();
    assert_eq!(lines[at - 1].matches("ext4").count(), 1, "{text}");
    assert_eq!(lines[at].matches("threads=8").count(), 2, "{text}");
    assert_eq!(
        column(lines[at - 1], "ext4"),
        column(lines[at], "threads=1"),
        "{text}"
    );
    let markdown = of(Format::Md);
    assert!(
        markdown.contains("| ext4 |  | xfs |  |")
            && markdown.contains("| **threads=1** | **threads=8** |"),
        "{markdown}"
    );
    let page = of(Format::Html);
    assert!(page.contains("colspan=\"2\">ext4</th>"));
    let document: serde_json::Value = serde_json::from_str(&of(Format::Json)).unwrap();
    assert_eq!(
        document["tables"][0]["columns"][0]["path"],
        serde_json::json!(["ext4", "threads=1"])
    );
}
