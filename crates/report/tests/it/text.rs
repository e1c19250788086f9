//! The whole text report: width, honesty, snapshots.

use crate::common;

use record::Status;
use report::{Options, render};

fn text(run: &record::Run, options: &Options) -> String {
    render(run, None, options).unwrap()
}

fn assert_fits(text: &str, width: usize) {
    for line in text.lines() {
        assert!(
            line.chars().count() <= width,
            "{} wide: {line}",
            line.chars().count()
        );
        assert_eq!(line.trim_end(), line, "trailing space");
    }
}

#[test]
fn the_example_run() {
    let out = text(&fixtures::example::run(), &Options::default());
    assert_fits(&out, 78);
    insta::assert_snapshot!(out);
}

#[test]
fn a_quick_run_of_the_built_in_study() {
    let out = text(&common::quick(5, None), &Options::default());
    assert_fits(&out, 78);
    insta::assert_snapshot!(out);
}

#[test]
fn the_published_numbers_as_a_run() {
    let out = text(&common::wohlgemuth(), &Options::default());
    assert_fits(&out, 78);
    insta::assert_snapshot!(out);
}

#[test]
fn tags_are_in_the_head() {
    let mut run = fixtures::example::run();
    run.tags = [("branch", "main"), ("machine", "rack-7")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let options = Options::default();
    let tags = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("tags "));
        line.map(|line| line[5..].trim().to_owned())
    };
    assert_eq!(
        tags(&text(&run, &options)).as_deref(),
        Some("branch=main, machine=rack-7")
    );
    let markdown = render(
        &run,
        None,
        &Options {
            format: report::Format::Md,
            part: report::Part::Full,
            ..Options::default()
        },
    );
    assert!(markdown.unwrap().contains("branch=main, machine=rack-7"));
    assert_eq!(tags(&text(&fixtures::example::run(), &options)), None);
}

#[test]
fn few_blocks_are_said_beside_the_number() {
    let out = text(&fixtures::example::run(), &Options::default());
    assert!(
        out.contains("n=2..3: fewer than 5 blocks") || out.contains("n=3: fewer than 5 blocks")
    );
    let out = text(&common::quick(6, None), &Options::default());
    assert!(out.contains("n=6, medians' intervals cover"));
    // Trial 7 of ext2 failed; five are left, which is enough.
    assert!(out.contains("ext2: n=5, 94 %"), "{out}");
    assert!(!out.contains("fewer than"), "{out}");
}

/// The lines between two headings.
fn section<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap();
    rest.split_once(to).unwrap().0
}

#[test]
fn the_answer_follows_the_head_and_the_whole_is_short() {
    let out = text(&common::quick(1, None), &Options::default());
    let lines: Vec<&str> = out.lines().collect();
    let first = lines.iter().position(|l| *l == "Iozone, 1 Thread").unwrap();
    let head = lines.iter().position(|l| l.starts_with("study  ")).unwrap();
    assert!(first - head <= 45, "a head of {} lines", first - head);
    let published = "Wohlgemuth 2009, mean of 2 runs, other hardware";
    let order = [
        "Summary",
        "Iozone, 1 Thread",
        published,
        "Iozone, 8 Threads",
        published,
        "Compilebench",
        published,
        "Differences",
        "Evidence",
        "Where the time went",
        "Legend",
    ];
    let mut rest = lines.iter();
    for heading in order {
        assert!(rest.any(|l| *l == heading), "{heading} is not in its place");
    }
    assert!(lines.len() < 390, "{} lines", lines.len());
    assert!(!out.contains("~    not a difference"), "nothing was tested");
    assert_fits(&out, 78);
}

#[test]
fn a_warning_of_all_trials_is_a_note_and_marks_nothing() {
    let mut run = common::quick(5, None);
    let note = "scale 0.02: trees have a fiftieth of the original's files";
    let out = text(&run, &Options::default());
    let notes = section(&out, "Notes (", "Where the time went");
    assert_eq!(notes.matches(note).count(), 1, "{notes}");
    assert!(!out.contains(")*"), "no number is marked");
    // One trial less, and it is a doubt about those that have it.
    let carrier = run.trials.iter().position(|t| !t.warnings.is_empty());
    run.trials[carrier.unwrap()].warnings.clear();
    let out = text(&run, &Options::default());
    assert!(!out.contains("Notes ("));
    assert!(out.contains(")*"), "the numbers are marked");
    assert!(section(&out, "Doubts", "Legend").contains("* warning: scale 0.02"));
}

#[test]
fn a_filter_does_not_make_a_note_of_a_mark() {
    let mut run = common::quick(5, None);
    let cells = &run.plan.cells;
    for slot in &run.plan.slots {
        run.trials[slot.trial as usize].warnings.clear();
        if cells[slot.cell as usize].levels["filesystem"] == "xfs" {
            run.trials[slot.trial as usize].warnings = vec!["only here".to_owned()];
        }
    }
    let options = Options {
        filter: Options::parse_filter("filesystem=xfs,ext4").unwrap(),
        ..Options::default()
    };
    let out = text(&run, &options);
    assert!(out.contains(")*") && out.contains("* warning: only here"));
    assert!(!out.contains("Notes ("));
}

#[test]
fn evidence_that_no_trial_of_a_kind_can_have_marks_nothing_but_is_counted() {
    let out = text(&fixtures::example::run(), &Options::default());
    assert!(!out.contains(")?"));
    let evidence = section(&out, "Evidence\n", "Doubts");
    let words: Vec<&str> = evidence.split_whitespace().collect();
    let evidence = words.join(" ");
    assert!(
        evidence.contains("not checked 5; never in filesystem xfs: XFS has no lazy init"),
        "{evidence}"
    );
    // Where some trials of the kind could be checked, the mark stays.
    assert!(text(&common::quick(5, None), &Options::default()).contains(")?"));
}

#[test]
fn direct_io_that_was_not_honoured_is_printed_first() {
    let mut run = common::quick(5, None);
    let of_btrfs = |slot: &&study::Slot| {
        let levels = &run.plan.cells[slot.cell as usize].levels;
        levels["filesystem"] == "btrfs" && levels.get("threads").is_some_and(|t| t == "8")
    };
    let trial = run.plan.slots.iter().find(of_btrfs).unwrap().trial as usize;
    for phase in ["initial_write", "rewrite"] {
        run.trials[trial].evidence.push(record::Evidence {
            phase: Some(phase.to_owned()),
            name: "direct_io_honoured".to_owned(),
            holds: Some(false),
            detail: "pages resident: 0 before, 3 after".to_owned(),
        });
    }
    let out = text(&run, &Options::default());
    assert!(
        section(&out, "IN DOUBT", "Filesystems").contains("direct_io_honoured fails in 1 trial")
    );
    let doubts = section(&out, "Doubts", "Legend");
    let words: Vec<&str> = doubts.split_whitespace().collect();
    let doubts = words.join(" ");
    assert!(
        doubts.contains(
            "! direct_io_honoured in initial_write, rewrite: evidence does not hold (1 of 90 trials): \
             O_DIRECT was asked for but the data went through the page cache"
        ),
        "{doubts}"
    );
    let table = section(&out, "Iozone, 8 Threads\n", "Wohlgemuth");
    let last_panel = table.rsplit("\n\n").find(|p| p.contains("btrfs")).unwrap();
    let marked: Vec<&str> = last_panel
        .lines()
        .filter(|l| l.ends_with(")!"))
        .filter_map(|l| l.split(':').next())
        .collect();
    assert_eq!(marked, ["initl_writers", "rewriters"]);
}

#[test]
fn a_table_that_no_trial_measured_is_one_line() {
    let mut run = common::quick(5, None);
    for trial in &mut run.trials {
        trial.samples.retain(|s| s.phase != "delete_compiled_tree");
    }
    let out = text(&run, &Options::default());
    let lines: Vec<&str> = out
        .lines()
        .filter(|l| l.contains("Compilebench, compiled trees"))
        .collect();
    assert_eq!(
        lines,
        ["Compilebench, compiled trees: no finished trial measured delete_compld"]
    );
    assert_eq!(out.matches("delete_compld").count(), 1);
}

#[test]
fn clocks_that_stop_together_are_told_once() {
    let mut run = common::quick(5, None);
    for trial in &mut run.trials {
        let fsync: Vec<record::Sample> = trial
            .samples
            .iter()
            .filter(|s| s.clock == study::Clock::Fsync)
            .cloned()
            .collect();
        trial.samples.retain(|s| s.clock != study::Clock::Syncfs);
        trial
            .samples
            .extend(fsync.into_iter().map(|s| record::Sample {
                clock: study::Clock::Syncfs,
                ..s
            }));
    }
    let out = text(&run, &Options::default());
    assert!(
        out.contains("Iozone, 1 Thread, syncfs: the same numbers as Iozone, 1 Thread, fsync\n")
    );
    let out = text(&common::quick(5, None), &Options::default());
    assert!(!out.contains("the same numbers as"));
}

#[test]
fn the_time_adds_up() {
    let out = text(&fixtures::example::run(), &Options::default());
    let line = section(&out, "Where the time went\n", "\n  run");
    let shares: f64 = line
        .split('%')
        .filter_map(|part| part.split_whitespace().last()?.parse::<f64>().ok())
        .sum();
    assert!((shares - 100.0).abs() < 0.3, "{line}");
    assert!(out.contains("s of wall time") && out.contains("MiB of memory at its peak"));
}

#[test]
fn a_number_whose_evidence_fails_does_not_look_clean() {
    let run = fixtures::example::run();
    let out = text(&run, &Options::default());
    // One trial of the example: its cold cache was not cold before iozone's read.
    let fails = |t: &&record::TrialRecord| t.evidence.iter().any(|e| e.holds == Some(false));
    assert_eq!(run.trials.iter().filter(fails).count(), 1);
    let line = out.lines().find(|l| l.starts_with("readers:")).unwrap();
    assert_eq!(line.matches(")!").count(), 1, "{line}");
    let clean = out.lines().find(|l| l.starts_with("re-readers:")).unwrap();
    assert!(!clean.contains('!'), "{clean}");
    assert!(out.contains("cold_cache in read: evidence does not hold"));
    assert!(out.contains("DOES NOT HOLD 1"));
    let words: Vec<&str> = out.split_whitespace().collect();
    assert!(words.join(" ").contains("no space left on device"));
}

#[test]
fn an_incomplete_run_says_so() {
    let mut run = fixtures::example::run();
    run.closing = None;
    for trial in run.trials.iter_mut().skip(6) {
        *trial = record::TrialRecord::default();
    }
    let out = text(&run, &Options::default());
    assert_fits(&out, 78);
    assert!(out.contains("the run is incomplete"));
    assert!(out.contains("not run: a trial failed, was interrupted or did not run"));
}

#[test]
fn a_run_without_any_number_still_reports() {
    let mut run = fixtures::example::run();
    run.contexts.clear();
    for trial in &mut run.trials {
        trial.status = Status::Pending;
        trial.samples.clear();
        trial.mounted = None;
        trial.evidence.clear();
    }
    let out = text(&run, &Options::default());
    assert_fits(&out, 78);
    assert!(out.contains("absent: not in this run's context record"));
    assert!(out.contains("none was recorded"));
}

#[test]
fn names_of_any_length_fit() {
    let mut run = fixtures::example::run();
    let long = "ext4-with-a-very-long-name-that-no-one-would-type,but-a-pivot-may-have";
    run.plan.title = format!("{long} {long}");
    run.plan.filesystems.clear();
    for (_, levels) in &mut run.plan.factors {
        for level in levels.iter_mut().filter(|l| *l == "xfs") {
            *level = long.to_owned();
        }
    }
    for cell in &mut run.plan.cells {
        for level in cell.levels.values_mut().filter(|l| *l == "xfs") {
            *level = long.to_owned();
        }
    }
    let out = text(&run, &Options::default());
    assert_fits(&out, 100);
    assert!(out.contains("1480") || out.contains("readers"));
}

#[test]
fn units_are_explained_once() {
    let out = text(&common::quick(5, None), &Options::default());
    assert_eq!(out.matches("2^20 bytes").count(), 1);
}

#[test]
fn without_a_width_nothing_is_cut_into_panels() {
    let options = Options {
        width: 0,
        ..Options::default()
    };
    let run = common::quick(5, None);
    let out = text(&run, &options);
    assert_eq!(
        section(&out, "Iozone, 1 Thread\n", "Wohlgemuth")
            .matches("rewriters:")
            .count(),
        1
    );
    assert!(
        out.lines()
            .any(|l| l.starts_with("ratio to ext2") && l.ends_with("btrfs"))
    );
    // The published table keeps the original's gaps where they fit.
    let published = section(&out, "other hardware\n", "Iozone, 8 Threads");
    assert!(
        published.contains("initl_writers:    56.6 MB/s (0.2)   56.3 MB/s (0.2)"),
        "{published}"
    );
}

#[test]
fn another_base_turns_the_ratios_and_the_shapes() {
    let options = Options {
        base: Some("ext4".to_owned()),
        ..Options::default()
    };
    let out = text(&common::wohlgemuth(), &options);
    let differences = section(&out, "Differences\n", "Iozone, 8 Threads (a)");
    let line = |from: &str, label: &str| -> Vec<String> {
        let (_, rest) = differences.split_once(from).unwrap();
        let line = rest.lines().find(|l| l.starts_with(label)).unwrap();
        line.split_whitespace().map(str::to_owned).collect()
    };
    // 56.6 / 65.5 = 0.864, 56.3 / 65.5 = 0.860, 66.3 / 65.5 = 1.012.
    let shapes = line("theirs / ours", "initl_writers");
    assert_eq!(
        shapes.join(" "),
        "initl_writers 0.86 / 0.86 0.86 / 0.86 1.01 / 1.01"
    );
    let ratios = line("ratio to ext4", "initl_writers");
    assert_eq!(
        [&ratios[1], &ratios[4], &ratios[7]],
        ["0.86", "0.86", "1.01"]
    );
}
