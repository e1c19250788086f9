//! `--set estimate=NAME`: the checks of a run on modelled devices, from their own requests; and `fslab check --record`, which writes these.

use crate::common;
use crate::traced::turn;

use std::fs;

use common::checked::sound;
use common::{
    Scratch, assert_code, assert_ran, error_line, is_root, run_in, stderr, stdout, whole_report,
};
use record::{Estimate, Run, Status, Stream, TrialRecord};
use serde_json::Value;

fn fslab(scratch: &Scratch, words: &str) -> std::process::Output {
    let words: Vec<&str> = words.split_whitespace().collect();
    run_in(scratch.path(), &words)
}

fn sample(trial: &TrialRecord, phase: &str, metric: &str) -> Option<f64> {
    let mut samples = trial.samples.iter();
    let found = samples.find(|s| s.phase == phase && s.metric == metric);
    found.map(|sample| sample.value)
}

/// The finished trials of a run with their workloads, and their estimates, of which there is one each.
fn estimated(run: &Run) -> Vec<(&str, &TrialRecord, &Estimate)> {
    let slots = run.plan.slots.iter();
    let all = slots.map(|slot| {
        let trial = &run.trials[slot.trial as usize];
        let cell = &run.plan.cells[slot.cell as usize];
        assert_eq!(trial.status, Status::Finished, "{}", cell.label());
        let [estimate] = &trial.estimates[..] else {
            panic!("{}: {:?}", cell.label(), trial.estimates);
        };
        (cell.workload_name.as_str(), trial, estimate)
    });
    all.collect()
}

const FORGED: &str = "run fsck-io --profile quick --blocks 1 --set volume=forged --filter limit=none \
     --set run.reference_seconds=0";

#[test]
fn readers_are_estimated_from_what_they_read_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let output = fslab(
        &scratch,
        &format!(
            "{FORGED} --filter workload=set-1,set-3,fslab-check,e2fsck --set estimate=lun-2011,nvme-2018 --out out"
        ),
    );
    let run = sound(&scratch, &output);
    for (workload, trial, estimate) in estimated(&run) {
        if workload == "e2fsck" {
            assert_eq!(estimate.stream, Stream::None);
            let why = estimate.missing.as_deref().unwrap();
            assert!(why.contains("set trace = true"), "{why}");
            continue;
        }
        assert_eq!(
            (estimate.missing.as_deref(), estimate.stream),
            (None, Stream::OwnRecord)
        );
        counted_as_measured(trial, estimate);
        let [slow, fast] = &estimate.devices[..] else {
            panic!("{:?}", estimate.devices);
        };
        // His LUN takes some milliseconds a read; this machine's page cache does not.
        let here = sample(trial, "scan", "seconds").unwrap();
        assert!(slow.passes[0].modelled_s > Some(here), "{workload}");
        assert!(fast.passes[0].modelled_s < slow.passes[0].modelled_s);
        assert_eq!(slow.studies, ["mushran2011"]);
        // Nothing of it is a sample.
        let modelled = |s: &&record::Sample| s.metric.contains("modelled");
        assert_eq!(trial.samples.iter().find(modelled), None);
    }
    // Precache reads everything twice where the cache is small; on a slow disk that is what counts.
    let seconds = |set: &str| {
        let all = estimated(&run);
        let found = all.iter().find(|(workload, ..)| *workload == set).unwrap();
        found.2.devices[0].passes[0].modelled_s.unwrap()
    };
    assert!(seconds("set-1") > seconds("set-3"));
    reported(&scratch);
    replayed_again(&scratch, &run);
    scratch.assert_nothing_left();
}

/// Requests and bytes of each pass are those that the reader has counted of itself.
fn counted_as_measured(trial: &TrialRecord, estimate: &Estimate) {
    let device = &estimate.devices[0];
    assert_eq!(device.passes[0].phase, "scan");
    let (mut passes, mut seconds) = (0, 0.0);
    for phase in trial
        .phases
        .iter()
        .filter(|p| p.name.starts_with("scan_pass_"))
    {
        let pass = device.pass(&phase.name).expect(&phase.name);
        // The superblock, which is read before, belongs to the first. A pass without objects has no samples.
        let before = if passes == 0 { 8.0 } else { 0.0 };
        if let Some(requests) = sample(trial, &phase.name, "requests") {
            let more = pass.requests as f64 - requests;
            assert!((0.0..=before).contains(&more), "{}: {more}", phase.name);
            let bytes = sample(trial, &phase.name, "disk_bytes").unwrap();
            assert!(pass.bytes as f64 >= bytes, "{}", phase.name);
            // Its clock has not what the lab did between the passes.
            let here = sample(trial, &phase.name, "seconds").unwrap();
            let recorded = pass.recorded_s.unwrap();
            assert!(recorded < here + 0.5, "{}: {recorded} {here}", phase.name);
        }
        assert!(pass.limit.is_some(), "{}", phase.name);
        passes += 1;
        seconds += pass.modelled_nominal_s.unwrap();
    }
    assert_eq!(device.passes.len(), passes + 1);
    let whole = device.passes[0].modelled_nominal_s.unwrap();
    assert!((seconds - whole).abs() < 1e-6, "{seconds} {whole}");
}

fn reported(scratch: &Scratch) {
    let mail = whole_report(&scratch.join("out"));
    let words = mail.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [
        "Modelled: how long the checks would take on other devices",
        "Modelled, not measured.",
        "On lun-2011 (the LUN of 2 TB of the study of 2011), modelled",
        " decides: ",
        "Not estimated",
        "Mushran 2011: seconds as published",
        "link to mushran2011",
    ] {
        assert!(words.contains(text), "{text}: {mail}");
    }
    let json = stdout(&fslab(scratch, "report out --format json"));
    let report: Value = serde_json::from_str(&json).unwrap();
    let rows = report["estimates"]["rows"].as_array().unwrap();
    // Three readers on two devices.
    assert_eq!(rows.len(), 6);
    let samples = stdout(&fslab(scratch, "report out --format csv"));
    assert!(!samples.contains("modelled"));
}

/// What is kept of a reading gives the same numbers again, and those of other devices.
fn replayed_again(scratch: &Scratch, run: &Run) {
    let all = estimated(run);
    let (_, _, first) = all
        .iter()
        .find(|(workload, ..)| *workload == "set-1")
        .unwrap();
    let file = first.file.as_ref().unwrap();
    let words = format!("replay out/{file} --device lun-2011,7k500x2 --format json");
    let report: Value = serde_json::from_str(&stdout(&fslab(scratch, &words))).unwrap();
    assert_eq!(report["mode"], "program");
    let devices = report["devices"].as_array().unwrap();
    let again = &devices[0]["rows"][0]["modelled"];
    let whole = &first.devices[0].passes[0];
    assert_eq!(again["nominal_s"].as_f64(), whole.modelled_nominal_s);
    assert_eq!(again["seconds"].as_f64(), whole.modelled_s);
    assert_eq!(devices[1]["device"], "7k500x2");
}

const OWN: &str = r#"
include = ["defaults.toml"]
name = "own"
title = "Checks of a forged filesystem"
volume = "forged"

[factors]
filesystem = ["ext4"]
checker = ["own", "fslab"]

[device]
size = "64m"

[run]
blocks = 1
reference_seconds = 0

[check]
enabled = true

[estimate]
devices = ["7k500"]
cpu = 2

[[workload]]
name = "fill"
kind = "fill"
files = 300
directories = 20
per_directory = 15
keep = true
"#;

#[test]
fn a_check_by_a_program_is_estimated_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    fs::write(scratch.join("own.toml"), OWN).unwrap();
    let plan = stdout(&fslab(&scratch, "plan own.toml"));
    assert!(plan.contains("Estimate  after each check"), "{plan}");
    assert!(plan.contains("multiplied by 2"), "{plan}");
    let output = fslab(&scratch, "run own.toml --out out");
    let run = sound(&scratch, &output);
    let all = estimated(&run);
    let of = |reader: &str| {
        let found = all
            .iter()
            .find(|(_, _, estimate)| estimate.reader == reader);
        *found.unwrap_or_else(|| panic!("{reader}: {all:?}"))
    };
    assert!(of("e2fsck").2.missing.is_some());
    let (_, trial, estimate) = of("fslab check");
    assert_eq!(estimate.missing, None);
    assert_eq!((estimate.phase.as_str(), estimate.cpu), ("check", 2.0));
    let device = &estimate.devices[0];
    for pass in &device.passes {
        let measured = sample(trial, &pass.phase, "seconds");
        assert!(measured.is_some() || pass.requests == 0, "{}", pass.phase);
    }
    assert!(device.pass("check_pass_1").unwrap().requests > 0);
    assert!(
        scratch
            .join("out")
            .join(estimate.file.as_ref().unwrap())
            .is_file()
    );
    let mail = whole_report(&scratch.join("out"));
    let words = mail.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("Processor times are multiplied by 2."),
        "{mail}"
    );
    scratch.assert_nothing_left();
}

/// e2fsck records nothing of its own.
#[test]
fn a_program_is_estimated_from_its_block_trace_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let _turn = turn();
    let output = fslab(
        &scratch,
        &format!(
            "{FORGED} --filter workload=e2fsck --set trace=true --set estimate=lun-2011 --out out"
        ),
    );
    let run = Run::load(&scratch.join("out")).unwrap();
    if let Status::Failed(_, why) = &run.trials[0].status
        && why.starts_with("block trace: ")
    {
        testkit::skip!("cannot trace here: {why}");
        return;
    }
    assert_ran(&output);
    let all = estimated(&run);
    let (_, trial, estimate) = all[0];
    assert_eq!(
        (estimate.missing.as_deref(), estimate.stream),
        (None, Stream::BlockTrace)
    );
    assert_eq!(estimate.mode, "dependent");
    let device = &estimate.devices[0];
    assert_eq!(device.passes[0].phase, "scan");
    let read = sample(trial, "scan", "device_read").unwrap();
    let traced = device.passes[0].bytes as f64;
    assert!((traced / read - 1.0).abs() < 0.05, "{traced} {read}");
    let first = device.pass("scan_pass_1").unwrap();
    assert!(first.requests > 0 && first.modelled_s > Some(0.0));
    let mail = whole_report(&scratch.join("out"));
    assert!(mail.contains("(trace)"), "{mail}");
    assert!(!mail.contains("Not estimated"), "{mail}");
    phases_are_replayed_from_the_run_too(&scratch, estimate);
    scratch.assert_nothing_left();
}

/// The trace lies in the run's folder, whose record has the phases: each has a row, as the estimate has.
fn phases_are_replayed_from_the_run_too(scratch: &Scratch, estimate: &Estimate) {
    let base = format!("out/{}", estimate.file.as_deref().unwrap());
    let output = fslab(
        scratch,
        &format!("replay {base} --device lun-2011 --format json"),
    );
    assert_code(&output, 0);
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let rows = document["devices"][0]["rows"].as_array().unwrap();
    let passes = &estimate.devices[0].passes;
    assert!(rows.len() > passes.len() && passes.len() > 2, "{rows:?}");
    for pass in passes {
        let row = rows.iter().find(|row| row["name"] == pass.phase.as_str());
        let row = row.expect(&pass.phase);
        assert_eq!(row["requests"], pass.requests);
        assert_eq!(row["modelled"]["seconds"].as_f64(), pass.modelled_s);
    }
}

#[test]
fn a_device_that_cannot_be_is_refused_in_a_line() {
    let scratch = Scratch::new();
    for (words, needed) in [
        ("fsck-io --set estimate=lun-2012", "did you mean lun-2011?"),
        (
            "fsck-io --set estimate=t7k250 --set device_size=1t",
            "choose a larger device",
        ),
        ("journal --set estimate=7k500", "nothing to estimate"),
    ] {
        for command in ["plan", "run"] {
            let output = fslab(&scratch, &format!("{command} {words}"));
            assert_code(&output, 2);
            let line = error_line(&output);
            assert!(line.contains(needed), "{line}");
        }
    }
}

/// The line through two small filesystems, against the modelled check of one of the size that was asked for. One disk, so that its time
/// is the disk's and not the processor's, which other tests use, too.
#[test]
fn a_filesystem_that_does_not_exist_yet_is_estimated() {
    let scratch = Scratch::new();
    let cases = [
        ("ext4", 1_000_000_u64, 2, 2),
        ("ext4", 700_000, 32, 2),
        ("xfs", 1_000_000, 1, 2),
        ("xfs", 1_000_000, 8, 2),
        ("ocfs2", 100_000, 2, 1),
    ];
    for (format, files, threads, samples) in cases {
        let device = format!("--threads {threads} --device 7k500 --format json");
        let words = format!("check --estimate --files {files} --type {format} {device}");
        let output = fslab(&scratch, &words);
        assert_code(&output, 0);
        let planned: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(
            (&planned["timing"], &planned["files"]),
            (&"modelled".into(), &files.into())
        );
        assert_eq!(planned["samples"].as_array().unwrap().len(), samples);
        let size = (files * (32 << 10)).max(1 << 30);
        let forged = format!("forge {format} {format}.img --size {size} --files {files}");
        assert_code(&fslab(&scratch, &forged), 0);
        let words = format!("check {format}.img {device}");
        let output = fslab(&scratch, &words);
        assert_code(&output, 0);
        let real: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let modelled = &real["modelled"]["devices"][0]["rows"][0]["modelled"];
        let ratio = |planned: &Value, real: &Value| {
            let (planned, real) = (planned.as_f64().unwrap(), real.as_f64().unwrap());
            (planned / real).max(real / planned)
        };
        let seconds = ratio(&planned["seconds"]["likely"], &modelled["seconds"]);
        assert!(seconds < 1.5, "{format}: {seconds}: {planned}, {modelled}");
        let parts = real["memory"]["stated"].as_object().unwrap().values();
        let stated: u64 = parts.map(|bytes| bytes.as_u64().unwrap()).sum();
        let bytes = ratio(&planned["memory"], &stated.into());
        assert!(
            bytes < 1.3,
            "{format}: {bytes}: {planned}, {}",
            real["memory"]
        );
        std::fs::remove_file(scratch.join(&format!("{format}.img"))).unwrap();
    }
    let left = std::fs::read_dir(scratch.path()).unwrap();
    assert_eq!(left.count(), 0);
    for (words, needed) in [
        ("check --estimate --files 10k", "with --device"),
        ("check --estimate --files 10k --device no-such", "no-such"),
        (
            "check --estimate --files 1000000M --device 7k500",
            "choose a larger device",
        ),
        ("check --estimate --device 7k500 disk.img", "(--files)"),
        ("check --files 10k --device 7k500", "--estimate"),
        ("check --estimate", "IMAGE|DEVICE"),
    ] {
        let output = fslab(&scratch, words);
        assert_code(&output, 16);
        let line = error_line(&output);
        assert!(line.contains(needed), "{words}: {line}");
    }
}

#[test]
fn a_record_is_replayed_as_the_check_was() {
    let scratch = Scratch::new();
    let forged = fslab(&scratch, "forge ext4 disk.img --size 64m --files 500");
    assert_code(&forged, 0);
    let words = "check disk.img --record disk.reads --device 7k500 --format json";
    let output = fslab(&scratch, words);
    assert_code(&output, 0);
    let check: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let there = &check["modelled"]["devices"][0]["rows"];
    let replay = fslab(&scratch, "replay disk.reads --device 7k500 --format json");
    assert_code(&replay, 0);
    let replay: Value = serde_json::from_str(&stdout(&replay)).unwrap();
    let again = &replay["devices"][0]["rows"];
    assert_eq!(again[0]["requests"], there[0]["requests"]);
    let nominal = |rows: &Value| rows[0]["modelled"]["nominal_s"].as_f64().unwrap();
    // Times in the file are whole units of 16 ns.
    assert!((nominal(again) / nominal(there) - 1.0).abs() < 1e-3);
    assert_eq!(again[2]["name"], "1");
    // --passes prints the same lines with it.
    let passes = fslab(&scratch, "check disk.img --passes --record disk.reads");
    assert_code(&passes, 0);
    assert!(
        stdout(&passes).starts_with("pass 0: "),
        "{}",
        stderr(&passes)
    );

    let output = fslab(&scratch, "replay disk.reads --device 7k500 --mode open");
    assert_code(&output, 2);
    assert!(
        error_line(&output).contains("--mode: "),
        "{}",
        stderr(&output)
    );
    let bytes = fs::read(scratch.join("disk.reads")).unwrap();
    fs::write(scratch.join("short.reads"), &bytes[..bytes.len() - 7]).unwrap();
    let output = fslab(&scratch, "replay short.reads --device 7k500");
    assert_code(&output, 7);
    assert!(
        error_line(&output).contains("short.reads: is not whole: has "),
        "{}",
        stderr(&output)
    );
    fs::write(scratch.join("long.reads"), [&bytes[..], b"more"].concat()).unwrap();
    let output = fslab(&scratch, "replay long.reads --device 7k500");
    assert_code(&output, 1);
    assert!(
        error_line(&output).contains("long.reads: has "),
        "{}",
        stderr(&output)
    );
    let output = fslab(&scratch, "check disk.img --record none/disk.reads");
    assert_code(&output, 8);
    assert!(
        error_line(&output).contains("name another file"),
        "{}",
        stderr(&output)
    );
}
