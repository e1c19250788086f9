//! Grids, footnotes, GNU time's lines and the raw device in every format.

use crate::common;

use common::grids::{fsck_scale, streaming};
use report::{Format, Options, render};
use study::{GridSpec, Volume};

fn text(run: &record::Run) -> String {
    render(run, None, &Options::default()).unwrap()
}

fn json(run: &record::Run) -> serde_json::Value {
    let options = Options {
        format: Format::Json,
        ..Options::default()
    };
    serde_json::from_str(&render(run, None, &options).unwrap()).unwrap()
}

/// Lines in the formats of other programs are the only ones that may be wider.
fn assert_fits(text: &str) {
    let foreign = |line: &str| {
        [
            "loop0 ", "vda ", "Device", "Cpu(s)", "Mem:", "Swap:", "top -",
        ]
        .iter()
        .any(|p| line.starts_with(p))
            || line.contains("CPU (0avgtext+0avgdata")
    };
    for line in text.lines().filter(|line| !foreign(line)) {
        assert!(line.chars().count() <= 78, "{line}");
        assert_eq!(line.trim_end(), line, "trailing space");
    }
}

#[test]
fn a_streaming_run() {
    let out = text(&streaming(5));
    assert_fits(&out);
    insta::assert_snapshot!(out);
}

#[test]
fn a_run_of_the_matrix() {
    let out = text(&fsck_scale(3));
    assert_fits(&out);
    insta::assert_snapshot!(out);
}

/// Nothing fills a forged volume: the columns and the grid that are about it alone are left out, and so is what is about forging where all are
/// filled.
#[test]
fn what_a_volume_does_not_have_is_left_out() {
    use common::grids::{column, label};
    let mut run = fsck_scale(1);
    let grid = |title: &str, columns: &[(&str, &str)]| GridSpec {
        title: title.to_owned(),
        filter: [].into(),
        heading: Some("filesystem".to_owned()),
        rows: vec![label("device_size", "Size"), label("total_files", "Files")],
        columns: columns
            .iter()
            .map(|(label, phase)| column(label, phase, "count", "count", &[]))
            .collect(),
        footnotes: false,
        published: None,
    };
    let all = [("Counted", "fill"), ("Inodes", "forge"), ("Read", "check")];
    run.plan.grids = vec![
        grid("Resources of the check", &all),
        grid("The fill", &all[..1]),
        grid("Forging", &all[1..2]),
    ];
    let heads = |run: &record::Run| {
        let mut heads = Vec::new();
        for grid in json(run)["grids"].as_array().unwrap() {
            for column in grid["panels"][0]["columns"].as_array().unwrap() {
                let title = grid["title"].as_str().unwrap();
                let label = column["label"].as_str().unwrap();
                heads.push(format!("{title}: {label}"));
            }
        }
        heads
    };
    let filled = [
        "Resources of the check: Counted",
        "Resources of the check: Read",
        "The fill: Counted",
    ];
    assert_eq!(heads(&run), filled);
    for cell in &mut run.plan.cells {
        cell.volume = Volume::Forged;
    }
    let forged = [
        "Resources of the check: Inodes",
        "Resources of the check: Read",
        "Forging: Inodes",
    ];
    assert_eq!(heads(&run), forged);
    assert!(!text(&run).contains("The fill"));
}

#[test]
fn markdown_of_both() {
    let options = Options {
        format: Format::Md,
        ..Options::default()
    };
    let both = [streaming(1), fsck_scale(2)].map(|run| render(&run, None, &options).unwrap());
    insta::assert_snapshot!(both.join("\n=====\n\n"));
}

#[test]
fn json_holds_every_place_footnote_and_usage() {
    let seen = json(&streaming(5));
    let grid = &seen["grids"][0];
    let ext4 = &grid["panels"][0];
    assert_eq!(ext4["heading"], "ext4");
    assert_eq!(ext4["rows"][0]["labels"][0], "6.18.5");
    let place = &ext4["rows"][0]["figures"][2];
    assert_eq!(place["marks"][0], "fails");
    assert_eq!(place["values"].as_array().unwrap().len(), 5);
    let number = place["footnote"].as_u64().unwrap() as usize;
    let footnote = &grid["footnotes"][number - 1];
    assert_eq!(footnote["phase"], "read");
    assert!(
        footnote["middle"]["iostat_modern"][1]
            .as_str()
            .unwrap()
            .starts_with("loop0")
    );
    // The trial of the footnote holds the median.
    let values: Vec<f64> = place["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["value"].as_f64().unwrap())
        .collect();
    let of_trial = |p: &&serde_json::Value| p["trial"] == footnote["trial"];
    let shown = place["values"]
        .as_array()
        .unwrap()
        .iter()
        .find(of_trial)
        .unwrap();
    let shown = shown["value"].as_f64().unwrap();
    assert_eq!(values.iter().filter(|v| **v < shown).count(), 2);
    let phase = &seen["trials"][0]["phases"][0];
    assert!(
        phase["gnu_time"][1]
            .as_str()
            .unwrap()
            .starts_with("2097152inputs+16outputs")
    );
    assert_eq!(phase["usage"]["voluntary_switches"], 812);
    let device = &seen["references"]["devices"][0];
    assert_eq!(device["sequential_mb_s"]["median"], 525.0);
    let lost =
        &json(&fsck_scale(1))["grids"][0]["published"]["panels"][0]["rows"][1]["places"][0][0];
    assert_eq!(
        (&lost["value"], lost["kind"].as_str()),
        (&serde_json::Value::Null, Some("missing in the stored copy"))
    );
}

#[test]
fn csv_lists_the_samples_of_grids() {
    let options = Options {
        format: Format::Csv,
        ..Options::default()
    };
    let out = render(&fsck_scale(3), None, &options).unwrap();
    let header = out.lines().next().unwrap();
    assert!(
        header.contains(",device_size,") && header.contains(",total_files,"),
        "{header}"
    );
    assert_eq!(
        out.lines()
            .filter(|l| l.contains(",check,peak_rss,"))
            .count(),
        36
    );
}

#[test]
fn a_grid_is_chosen_by_title_and_narrowed_by_a_filter() {
    let run = streaming(2);
    let with = |table: Option<&str>, filter: &[(&str, &str)]| {
        let options = Options {
            table: table.map(str::to_owned),
            filter: filter
                .iter()
                .map(|(f, l)| ((*f).to_owned(), (*l).to_owned()))
                .collect(),
            ..Options::default()
        };
        render(&run, None, &options)
    };
    let all = with(Some("throughput RESULTS"), &[]).unwrap();
    assert!(
        all.contains("\next4    Read") && all.contains("\nxfs     Read"),
        "{all}"
    );
    let error = with(Some("no such"), &[]).unwrap_err().to_string();
    assert!(error.contains("Throughput results (in MB/s):"), "{error}");
    let one = with(None, &[("filesystem", "xfs")]).unwrap();
    assert!(
        one.contains("\nxfs     Read") && !one.contains("\next4    Read"),
        "{one}"
    );
    // Two runs stand below each other, as in 2008.
    let row = one.lines().position(|l| l.starts_with("6.18.5")).unwrap();
    let below = one.lines().nth(row + 1).unwrap();
    assert_eq!(below.split_whitespace().count(), 4, "{below}");
}

#[test]
fn a_factor_that_columns_leave_open_splits_the_grid_and_is_never_pooled() {
    let mut run = streaming(1);
    for column in &mut run.plan.grids[0].columns {
        column.filter.remove("readahead");
    }
    let seen = json(&run);
    let panels = seen["grids"][0]["panels"].as_array().unwrap();
    // ext4 and xfs with three readaheads each, ext3 with one.
    assert_eq!(panels.len(), 7);
    for panel in panels {
        for figure in panel["rows"][0]["figures"].as_array().unwrap() {
            assert!(figure["values"].as_array().unwrap().len() <= 1, "{figure}");
        }
    }
    assert!(text(&run).contains("ext4, readahead=4096\n"));
}

#[test]
fn every_block_of_a_narrow_grid_repeats_its_labels() {
    let options = Options {
        width: 44,
        ..Options::default()
    };
    let out = render(&streaming(5), None, &options).unwrap();
    let grid = out.split("Throughput results").nth(2).unwrap();
    let grid = grid.split("Dokos 2008, other").next().unwrap();
    assert!(grid.lines().all(|l| l.chars().count() <= 44), "{grid}");
    assert!(grid.matches("\n6.18.5").count() > 3, "{grid}");
    for mark in 1..=11 {
        assert_eq!(
            grid.matches(&format!(" [{mark}]")).count(),
            1,
            "{mark} in {grid}"
        );
    }
}

#[test]
fn a_run_without_any_of_it_says_nothing_of_it() {
    let mut run = streaming(1);
    run.references.clear();
    for phase in run.trials.iter_mut().flat_map(|t| &mut t.phases) {
        (phase.usage, phase.middle) = (None, None);
    }
    run.contexts.clear();
    let out = text(&run);
    for absent in ["raw device", "GNU time", "Footnotes of", " [11]"] {
        assert!(!out.contains(absent), "{absent}");
    }
    assert!(out.contains("kernel not recorded"), "{out}");
    // Nothing was measured: the grid says so.
    for trial in &mut run.trials {
        trial.samples.clear();
    }
    let out = text(&run);
    let at = out.find("No finished trial has measured it.").unwrap();
    // There is no table of dashes below it: the section ends.
    let below: Vec<&str> = out[at..].lines().skip(1).take(2).collect();
    assert_eq!(below, ["", ""], "{out}");
}

/// A name that no line can hold.
fn lengthen(run: &mut record::Run) {
    let long = "a-name-without-space-or-end-".repeat(4);
    let plan = &mut run.plan;
    let levels = plan.factors.iter_mut().flat_map(|(_, levels)| levels);
    let levels = levels.chain(plan.cells.iter_mut().flat_map(|c| c.levels.values_mut()));
    let columns = plan.grids.iter_mut().flat_map(|g| &mut g.columns);
    let levels = levels.chain(columns.flat_map(|c| c.filter.values_mut()));
    for level in levels.filter(|level| *level == "xfs") {
        level.clone_from(&long);
    }
    for grid in &mut plan.grids {
        grid.title.push_str(&long);
        grid.columns
            .iter_mut()
            .for_each(|c| c.label.push_str(&long));
        grid.rows.iter_mut().for_each(|l| l.label.push_str(&long));
    }
    for table in &mut plan.tables {
        table.title.push_str(&long);
        table.rows.iter_mut().for_each(|r| r.label.push_str(&long));
    }
    plan.title.push_str(&long);
}

#[test]
fn a_width_is_honoured_down_to_forty_and_with_any_name() {
    for width in [0, 1, 40, 50, 78] {
        for long in [false, true] {
            for mut run in [common::quick(2, None), streaming(3), fsck_scale(3)] {
                // Rows of iostat and top, GNU time's and hdparm's lines are as wide as they are.
                run.references.iter_mut().for_each(|r| r.line.clear());
                for phase in run.trials.iter_mut().flat_map(|t| &mut t.phases) {
                    (phase.usage, phase.middle) = (None, None);
                }
                if long {
                    lengthen(&mut run);
                }
                let options = Options {
                    width,
                    ..Options::default()
                };
                let out = render(&run, None, &options).unwrap();
                let widest = out.lines().map(|l| l.chars().count()).max().unwrap();
                if width == 0 {
                    assert!(!long || out.contains(&"a-name-without-space-or-end-".repeat(4)));
                } else {
                    assert!(widest <= width.max(40), "{widest} of {width} in {out}");
                }
            }
        }
    }
}

#[test]
fn a_table_of_another_workload_is_not_said_to_be_unmeasured() {
    let mut run = common::quick(2, None);
    // Cells of iozone in compilebench's tables.
    for table in &mut run.plan.tables {
        if table
            .filter
            .get("workload")
            .is_some_and(|w| w == "compilebench")
        {
            table
                .filter
                .insert("workload".to_owned(), "iozone".to_owned());
        }
    }
    assert!(!text(&run).contains("no finished trial measured"));
    // A table of its own workload whose trials all failed is.
    let mut run = common::quick(2, None);
    for trial in &mut run.trials {
        trial
            .samples
            .retain(|s| s.phase != "read_tree" && !s.phase.contains("create"));
    }
    let plan = &mut run.plan;
    for table in plan
        .tables
        .iter_mut()
        .filter(|t| t.filter["workload"] == "compilebench")
    {
        table.rows.retain(|r| r.phase == "read_tree");
    }
    assert!(text(&run).contains("no finished trial measured"));
}

/// A run of a built-in study in which every phase of every grid gave its figures.
fn of_study(name: &str, profile: &str) -> record::Run {
    let study = study::Study::load(name).unwrap();
    let overrides = study::Overrides {
        profile: Some(profile.to_owned()),
        ..study::Overrides::default()
    };
    let mut run = common::empty(study::plan(&study, &overrides).unwrap(), name);
    for slot in run.plan.slots.clone() {
        let cell = run.plan.cells[slot.cell as usize].clone();
        let phases = study::names::phases(cell.workload.kind());
        let trial = &mut run.trials[slot.trial as usize];
        trial.status = record::Status::Finished;
        for column in run.plan.grids.iter().flat_map(|g| &g.columns) {
            let is_checked = cell.check.is_some() && column.phase.starts_with("check");
            let sample = record::Sample {
                phase: column.phase.clone(),
                metric: column.metric.clone(),
                clock: column.clock,
                value: f64::from(100 + slot.trial),
                unit: match column.unit.as_str() {
                    "MB/s" => "bytes_per_s",
                    "MB" | "MiB" => "bytes",
                    "secs" => "s",
                    "files/s" => "files_per_s",
                    other => other,
                }
                .to_owned(),
            };
            if (is_checked || phases.contains(&column.phase.as_str()))
                && !trial.samples.contains(&sample)
            {
                trial.samples.push(sample);
            }
        }
    }
    run
}

#[test]
fn every_place_of_the_built_in_grids_is_one_cell() {
    for (name, profile) in [
        ("streaming", "quick"),
        ("streaming", "standard"),
        ("streaming", "paper"),
        ("fsck-scale", "quick"),
        ("fsck-scale", "standard"),
        ("fsck-scale", "paper"),
        ("fsck-io", "quick"),
        ("fsck-io", "standard"),
    ] {
        let run = of_study(name, profile);
        let options = Options::default();
        let report = report::Report::new(&run, None, &options).unwrap();
        let pooled = report
            .notes
            .iter()
            .filter(|n| n.contains("more than one cell"));
        assert_eq!(pooled.count(), 0, "{name} {profile}: {:?}", report.notes);
        assert!(!report.grids.is_empty(), "{name} {profile}");
        for grid in &report.grids {
            for panel in &grid.panels {
                assert!(
                    panel.open.is_empty(),
                    "{name} {profile} {}: {:?}",
                    grid.title,
                    panel.open
                );
                assert!(!panel.columns.is_empty(), "{name} {profile} {}", grid.title);
                let places = panel.lines.iter().flat_map(|line| &line.places);
                for place in places.filter(|p| p.figure.cell.is_some()) {
                    let n = place.figure.points.len();
                    assert_eq!(
                        n, run.plan.blocks as usize,
                        "{name} {profile} {}",
                        grid.title
                    );
                }
            }
        }
        assert_fits(&text(&run));
    }
}
