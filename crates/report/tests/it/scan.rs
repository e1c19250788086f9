//! How a checker read, in every format.

use crate::common;

use common::scan::{fsck_io, of_profile};
use record::{Evidence, Run, Sample};
use report::model::Mark;
use report::scan::{By, Case, Law, Scan};
use report::{Format, Options, Part, Report, render};
use serde_json::Value;
use study::{ScanSpec, WorkloadSpec};

fn text(run: &Run) -> String {
    render(run, None, &Options::default()).unwrap()
}

fn format(run: &Run, format: Format) -> String {
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

/// Forged, with one trial of each: no difference can be established, and the laws are the answer. What is on disk is the image.
#[test]
fn the_first_screen_has_the_laws_in_a_line_each() {
    let run = of_profile("demo", 1);
    let options = Options {
        part: Part::First,
        ..Options::default()
    };
    let out = render(&run, None, &options).unwrap();
    assert!(out.lines().count() <= 120, "{out}");
    insta::assert_snapshot!(out);
    // 42,501 inodes of 4 KiB, and what the filesystem keeps for itself: the contents of files are holes.
    let full = text(&run);
    let words = full.split_whitespace().collect::<Vec<_>>().join(" ");
    let set = "working set fsck-ocfs2, fslab-check, set-1, set-2, set-3, set-4, switches 234 MiB (RAM not recorded)";
    assert!(words.contains(set), "{full}");
    let json: Value = serde_json::from_str(&format(&run, Format::Json)).unwrap();
    let laws = json["summary"]["laws"].as_array().unwrap();
    assert_eq!(laws.len(), 3, "{laws:?}");
    let page = format(&run, Format::Html);
    let lead = page.split("id=\"summary-whole\"").next().unwrap();
    assert!(lead.contains("The laws of 2011 on these numbers:"));
    assert!(
        lead.contains(
            "prefill keeps the bytes of 0a and shortens its seeks: holds in 4 of 4 pairs"
        )
    );
}

/// A law that the numbers break, or that rests on numbers in doubt, says so in its line.
#[test]
fn a_line_says_that_its_law_fails() {
    let broken = changed(fsck_io(3), |spec, sample| {
        if spec.precache && sample.phase == "scan_pass_1" && sample.metric == "disk_bytes" {
            sample.value *= 0.8;
        }
    });
    let report = |run: &Run| {
        let json: Value = serde_json::from_str(&format(run, Format::Json)).unwrap();
        json["summary"]["laws"][0].as_str().unwrap().to_owned()
    };
    let line = report(&broken);
    assert!(
        line.contains(": does not hold in any of 4 pairs; 1.7"),
        "{line}"
    );
    assert!(
        report(&fsck_io(3)).ends_with("holds in 4 of 4 pairs; 1.971 times the bytes (2011: 1.989)")
    );
    let mut alone = fsck_io(1);
    alone.plan.repeats = None;
    assert!(!report(&alone).contains("2011:"));
}

fn scan(run: &Run) -> Scan {
    let options = Options::default();
    let report = Report::new(run, None, &options).unwrap();
    report.scan.unwrap()
}

fn law<'a>(scan: &'a Scan, id: &str) -> &'a Law {
    scan.laws.iter().find(|law| law.id == id).unwrap()
}

/// Lets a change meet every sample of every trial, with the cell's parameters.
fn changed(mut run: Run, change: impl Fn(&ScanSpec, &mut Sample)) -> Run {
    for slot in run.plan.slots.clone() {
        let cell = &run.plan.cells[slot.cell as usize];
        let WorkloadSpec::Scan(spec) = &cell.workload else {
            panic!("{}", cell.label());
        };
        let trial = &mut run.trials[slot.trial as usize];
        trial.samples.iter_mut().for_each(|s| change(spec, s));
    }
    run
}

#[test]
fn every_law_has_its_pairs_and_none_twice() {
    let scan = scan(&fsck_io(3));
    let cases: Vec<(&str, usize)> = scan.laws.iter().map(|l| (l.id, l.cases.len())).collect();
    // Precache with and without prefill, prefill with and without precache, on the disk as it is and on the limited one; the
    // large cache on the disk as it is. Buffers: three steps of the sweep on each of two disks, and sets 2 and 3 on each of three.
    assert_eq!(
        cases,
        [
            ("precache", 4),
            ("precache-large-cache", 2),
            ("prefill", 6),
            ("scan-buffer", 9)
        ]
    );
    for law in &scan.laws {
        let holds = |case: &Case| case.holds == Some(true);
        assert!(law.cases.iter().all(holds), "{law:?}");
        let mut cells: Vec<[u32; 2]> = law.cases.iter().map(|case| case.cells).collect();
        cells.sort_unstable();
        cells.dedup();
        assert_eq!(cells.len(), law.cases.len());
    }
    assert_eq!(scan.law_family, 2);
    assert_eq!(scan.groups.len(), 3);
    let sets: Vec<usize> = scan.groups.iter().map(|group| group.sets.len()).collect();
    assert_eq!(sets, [6, 6, 4]);
    let notes: Vec<bool> = scan
        .groups
        .iter()
        .map(|group| group.note.is_some())
        .collect();
    assert_eq!(notes, [false, true, true]);
}

/// What breaks a law: its id, a phase, a metric, and the factor that it is changed by in a cell.
type Break = (
    &'static str,
    &'static str,
    &'static str,
    fn(&ScanSpec) -> f64,
);

/// Each half of each law is broken alone, and found broken in every pair; all other laws hold.
#[test]
fn a_law_that_is_broken_is_reported() {
    fn small(spec: &ScanSpec) -> bool {
        spec.precache && spec.cache < 1.0
    }
    fn large(spec: &ScanSpec) -> bool {
        spec.precache && spec.cache > 1.0
    }
    let breaks: [Break; 8] = [
        // 80 % and 120 % of the tables were read again: neither is twice.
        ("precache", "scan_pass_1", "disk_bytes", |spec| {
            if small(spec) { 0.8 } else { 1.0 }
        }),
        ("precache", "scan_pass_1", "disk_bytes", |spec| {
            if small(spec) { 1.2 } else { 1.0 }
        }),
        // Of the large cache the bytes, then the time.
        (
            "precache-large-cache",
            "scan_pass_0b",
            "disk_bytes",
            |spec| if large(spec) { 1.1 } else { 1.0 },
        ),
        ("precache-large-cache", "scan_pass_0b", "seconds", |spec| {
            if large(spec) { 9.0 } else { 1.0 }
        }),
        ("prefill", "scan_pass_0a", "disk_bytes", |spec| {
            if spec.prefill { 1.5 } else { 1.0 }
        }),
        ("prefill", "scan_pass_0a", "seek_bytes", |spec| {
            if spec.prefill { 99.0 } else { 1.0 }
        }),
        // Fewer bytes with each larger buffer; then no fewer requests.
        ("scan-buffer", "scan_pass_1", "disk_bytes", |spec| {
            32_768.0 / spec.scan_buffer.get() as f64
        }),
        ("scan-buffer", "scan_pass_1", "requests", |spec| {
            spec.scan_buffer.get() as f64
        }),
    ];
    for (id, phase, metric, factor) in breaks {
        let run = changed(fsck_io(3), |spec, sample| {
            if sample.phase == phase && sample.metric == metric {
                sample.value *= factor(spec);
            }
        });
        let found = scan(&run);
        let broken = law(&found, id);
        let fails = |case: &Case| case.holds == Some(false);
        assert!(
            broken.cases.iter().all(fails),
            "{phase} {metric}: {broken:?}"
        );
        assert!(broken.verdict().starts_with("does not hold in any"), "{id}");
        for other in found.laws.iter().filter(|other| other.id != id) {
            let holds = |case: &Case| case.holds == Some(true);
            assert!(other.cases.iter().all(holds), "{phase} {metric}: {other:?}");
        }
        let out = text(&run);
        assert_eq!(out.matches("  FAILS  ").count(), broken.cases.len(), "{id}");
    }
}

/// Times that the runs do not distinguish are no tie, and chains of one link test no prefill.
#[test]
fn what_the_run_cannot_tell_is_open() {
    let noisy = changed(fsck_io(3), |spec, sample| {
        if spec.cache > 1.0 && sample.metric == "seconds" {
            // Digits that differ from trial to trial, by far more than the switch.
            sample.value = 1.0 + (sample.value * 1e9).rem_euclid(7.0);
        }
    });
    let found = scan(&noisy);
    let large = law(&found, "precache-large-cache");
    assert_eq!(large.verdict(), "open in all 2 pairs", "{large:?}");
    assert!(text(&noisy).contains("  open  "));

    let one_link = changed(fsck_io(3), |_, sample| {
        if sample.metric == "chain_links" {
            sample.value = 1.0;
        }
    });
    let found = scan(&one_link);
    assert_eq!(law(&found, "prefill").verdict(), "open in all 6 pairs");
    let out = text(&one_link);
    assert!(out.contains("nothing to bring forward"), "{out}");
}

/// A doubt about the bytes of a pass stands beside them, and beside every law that was judged by them.
#[test]
fn a_law_does_not_look_clean_when_its_evidence_fails() {
    let mut run = fsck_io(3);
    for slot in run.plan.slots.clone() {
        run.trials[slot.trial as usize].evidence.push(Evidence {
            phase: Some("scan_pass_0a".to_owned()),
            name: "bytes_on_device".to_owned(),
            holds: Some(false),
            detail: "moved 524288 bytes; the device read 0 and wrote 0".to_owned(),
        });
    }
    let found = scan(&run);
    for law in &found.laws {
        let doubted = law.id == "prefill";
        for case in &law.cases {
            assert_eq!(case.marks.contains(&Mark::Fails), doubted, "{law:?}");
            assert_eq!(case.word() == "holds (!)", doubted);
        }
    }
    let out = text(&run);
    let row = out.lines().find(|line| line.starts_with("0a    set-1"));
    assert!(row.unwrap().contains("0.5000! "), "{out}");
    assert!(out.contains("  holds (!)  switches"), "{out}");
    let md = format(&run, Format::Md);
    assert!(
        md.contains("| 0a | set-1 | 0.5000 `!` | 0 | 128 `!` |"),
        "{md}"
    );
    assert!(md.contains("| holds (!) | switches"), "{md}");
    let json: Value = serde_json::from_str(&format(&run, Format::Json)).unwrap();
    assert_eq!(json["scan"]["laws"][2]["cases"][0]["marks"][0], "fails");
}

/// What does not fit the cache is not done, and reported; what was not measured is no zero.
#[test]
fn what_was_not_done_or_not_measured_is_reported() {
    let small = changed(fsck_io(1), |spec, sample| {
        if spec.batch > 1 && sample.phase == "scan_pass_2" && sample.metric == "batched" {
            sample.value = 1.0;
        }
    });
    let out = text(&small);
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = "one block (1024 do not fit the cache)";
    assert!(words.contains(wanted), "{out}");

    let mut run = fsck_io(1);
    for trial in &mut run.trials {
        let gone = |s: &Sample| s.phase == "scan_pass_2" && s.metric == "rate_without_user";
        trial.samples.retain(|sample| !gone(sample));
    }
    let json: Value = serde_json::from_str(&format(&run, Format::Json)).unwrap();
    let passes = &json["scan"]["groups"][0]["sets"][0]["passes"];
    assert!(passes[3]["median"]["rate_without_user"].is_null());
    assert!(passes[2]["median"]["rate_without_user"].is_number());
}

/// Everything of 2011 is in the study's document: without it nothing is printed of it.
#[test]
fn a_study_that_repeats_nothing_has_nothing_beside() {
    let mut run = fsck_io(1);
    run.plan.repeats = None;
    let found = scan(&run);
    assert_eq!(found.beside, None);
    assert!(found.laws.iter().all(|law| law.published.is_none()));
    assert!(!section(&text(&run)).contains("Mushran"));
}

/// One block gives ratios and no verdicts on time; nothing finished gives no section.
#[test]
fn few_trials_say_less() {
    let run = fsck_io(1);
    let out = text(&run);
    assert!(section(&out).contains("holds in 6 of 6 pairs"), "{out}");
    assert!(!section(&out).contains("comparisons"), "{out}");
    let found = scan(&run);
    let large = law(&found, "precache-large-cache");
    assert_eq!(large.verdict(), "open in all 2 pairs");
    assert!(
        large.cases[0].figures.contains("too few trials"),
        "{large:?}"
    );
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
    let json: Value = serde_json::from_str(&format(&run, Format::Json)).unwrap();
    let scan = &json["scan"];
    assert_eq!(scan["beside"], "Mushran 2011");
    let set = &scan["groups"][0]["sets"][0];
    assert_eq!((&set["name"], &set["n"]), (&"set-1".into(), &3.into()));
    assert_eq!(set["passes"][0]["median"]["disk_bytes"], 128.0 * 4096.0);
    assert_eq!(
        set["passes"][2]["published"]["2011-09-21"]["real_s"],
        3842.447
    );
    assert_eq!(scan["laws"][2]["verdict"], "holds in 6 of 6 pairs");
    assert_eq!(
        scan["laws"][0]["published"],
        "set 1, with it, 6471 + 6532 MB; set 2, without it and with prefill, 7 + 6531 MB: 1.989 times"
    );

    let md = format(&run, Format::Md);
    assert!(md.contains("## How a checker reads"), "{md}");
    assert!(md.contains(": holds in 4 of 4 pairs\n"), "{md}");

    // Whose lines they are.
    let listing = md.split("## The passes in fsck.ocfs2").nth(1).unwrap();
    let listing = listing.split("<summary>").nth(1).unwrap();
    for set in ["set-1", "set-2", "set-3", "set-4"] {
        assert_eq!(listing.matches(&format!("({set})")).count(), 5, "{listing}");
    }
    assert!(listing.contains("  Cache size: "), "{listing}");

    let page = format(&run, Format::Html);
    for part in [
        "id=\"scan\"",
        "id=\"laws\"",
        "0b: inode bitmaps, with precache inode tables too",
        "Pass 0a: Checking cluster allocation chains",
        "Beside Mushran 2011: compare x",
        "1.5 million files on 16 September",
        "holds in 6 of 6 pairs",
        "not distance",
        "fslab&#39;s model of a checker",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

/// Whole checkers stand beside the model in the passes that they have, and are held against nothing of 2011.
#[test]
fn whole_checkers_stand_beside_the_model() {
    let run = fsck_io(3);
    let scan = scan(&run);
    let names = |by: By| -> Vec<&str> {
        let mut sets = scan.groups[0].sets.iter();
        let set = sets.find(|set| set.by == by).unwrap();
        set.passes.iter().map(|pass| pass.name).collect()
    };
    assert_eq!(names(By::Model), ["0a", "0b", "1", "2", "all"]);
    let check = ["0", "1", "2", "3", "4", "5", "end", "all"];
    assert_eq!(names(By::Check), check);
    assert_eq!(names(By::E2fsck), ["1", "2", "3", "4", "5", "all"]);
    for set in &scan.groups[0].sets {
        for pass in &set.passes {
            if matches!(set.by, By::Check | By::E2fsck) {
                assert_eq!(pass.theirs, [None, None], "{} {}", set.name, pass.name);
                // Only with a pass that the first set has as well.
                let both = ["1", "2", "all"].contains(&pass.name);
                assert_eq!(pass.versus.is_some(), both, "{} {}", set.name, pass.name);
            }
        }
    }
    let out = text(&run);
    let lines: Vec<&str> = out.lines().collect();
    let at = lines
        .iter()
        .position(|line| line.starts_with("1     set-1 "));
    let rows = &lines[at.unwrap()..][..6];
    for (row, name) in rows
        .iter()
        .zip(["1     set-1", "", "", "", "      fslab ", "      e2fsck"])
    {
        assert!(row.starts_with(name), "{row}");
    }
    // What was not counted is no zero.
    assert!(
        out.contains("  I/O read disk/cache: 17MB / -, write: 0MB"),
        "{out}"
    );
    let json: Value = serde_json::from_str(&format(&run, Format::Json)).unwrap();
    let sets = &json["scan"]["groups"][0]["sets"];
    assert_eq!(sets[4]["reader"], "fslab check");
    assert!(sets[5]["passes"][0]["median"]["cache_bytes"].is_null());
}
