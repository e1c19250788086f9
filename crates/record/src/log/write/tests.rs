//! Tests of writing and of what reading makes of every kind of torn or damaged log.

use std::fs;
use std::io::Cursor;

use proptest::prelude::*;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::*;
use crate::event::{Ledger, Sample};
use crate::example;
use crate::log::{Torn, read};
use crate::run::{Run, Status};

fn opened(dir: &Path) -> RunDir {
    RunDir::open(dir).unwrap()
}

fn write_example(dir: &Path) -> Vec<Entry> {
    let mut log = Log::create(&opened(dir)).unwrap();
    let events = example::entries().into_iter().map(|entry| entry.event);
    events.map(|event| log.emit(event).unwrap()).collect()
}

fn note(message: &str) -> Event {
    Event::Note {
        message: message.into(),
    }
}

/// A short log: one cell, one trial.
fn short() -> Vec<Entry> {
    let mut entries = example::entries();
    entries.truncate(6);
    for entry in &mut entries {
        if let Event::RunStarted { plan, .. } = &mut entry.event {
            plan.tables.clear();
            plan.cells.truncate(1);
            plan.slots.truncate(1);
            plan.slots[0].cell = 0;
        }
    }
    entries
}

fn bytes(entries: &[Entry]) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in entries {
        serde_json::to_writer(&mut all, entry).unwrap();
        all.push(b'\n');
    }
    all
}

fn parse(bytes: &[u8]) -> Result<(Vec<Entry>, Option<Torn>), Error> {
    let mut reader = Reader::new(Cursor::new(bytes), Path::new("events.jsonl"));
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        entries.push(entry);
    }
    Ok((entries, reader.torn()))
}

#[test]
fn what_is_written_is_read() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("events.jsonl");
    let written = write_example(temp.path());
    let loaded = read(&path).unwrap();
    assert_eq!(loaded.entries, written);
    assert_eq!(loaded.torn, None);
    assert_eq!(
        Run::load(temp.path()).unwrap(),
        Run::fold(&written).unwrap()
    );
    assert!(
        Log::create(&opened(temp.path())).is_err(),
        "an existing log is never begun anew"
    );
}

#[test]
fn each_event_is_in_the_file_when_emit_returns() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("events.jsonl");
    let mut log = Log::create(&opened(temp.path())).unwrap();
    for (n, entry) in short().into_iter().enumerate() {
        log.emit(entry.event).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), n + 1);
    }
}

#[test]
fn every_truncation_loads_a_prefix() {
    let entries = short();
    let all = bytes(&entries);
    for length in 0..all.len() {
        let (loaded, torn) = parse(&all[..length]).unwrap();
        assert_eq!(loaded, entries[..loaded.len()], "cut at {length}");
        // Every line that is there whole is loaded, with or without its line end.
        let ends = all[..length].split(|&b| b == b'\n').count() - 1;
        let line_end_cut = all[length] == b'\n' && length > 0;
        assert_eq!(
            loaded.len(),
            ends + usize::from(line_end_cut),
            "cut at {length}"
        );
        let at_line_end = length == 0 || all[length - 1] == b'\n';
        assert_eq!(
            torn.is_none(),
            at_line_end || line_end_cut,
            "cut at {length}"
        );
    }
}

#[test]
fn every_truncation_can_be_gone_on_with() {
    let temp = tempfile::tempdir().unwrap();
    let entries = short();
    let all = bytes(&entries);
    // The plan's line is long; its inside is all alike.
    let first = all.iter().position(|&b| b == b'\n').unwrap();
    for length in first - 2..all.len() {
        let path = temp.path().join("events.jsonl");
        let copy = temp.path().join("events.jsonl.torn");
        let _ = fs::remove_file(&copy);
        fs::write(&path, &all[..length]).unwrap();
        let (mut log, before) = Log::append_to(&opened(temp.path())).unwrap();
        if before.entries.is_empty() {
            assert!(log.is_empty() && copy.exists());
            continue;
        }
        log.emit(note("resumed")).unwrap();
        let after = read(&path).unwrap();
        assert_eq!(after.torn, None);
        assert_eq!(after.entries.len(), before.entries.len() + 1);
        assert_eq!(after.entries[..before.entries.len()], before.entries);
        assert_eq!(before.torn.is_some(), copy.exists());
        if let Some(torn) = before.torn {
            let kept = fs::read(&copy).unwrap();
            assert_eq!(
                kept[..kept.len() - 1],
                all[length - torn.bytes as usize..length]
            );
        }
    }
}

#[test]
fn a_loaded_run_reports_its_torn_line() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("events.jsonl");
    let message = Run::load(temp.path()).unwrap_err().to_string();
    assert!(message.contains("not a run folder"), "{message}");
    for begun in ["", "{\"seq\":0,"] {
        fs::write(&path, begun).unwrap();
        let message = Run::load(temp.path()).unwrap_err().to_string();
        assert!(message.contains("holds no events"), "{message}");
    }
    let mut all = bytes(&short());
    all.extend(b"{\"seq\":");
    fs::write(&path, all).unwrap();
    let run = Run::load(temp.path()).unwrap();
    let note = run.notes.last().unwrap();
    assert!(
        note.starts_with("line 7 of events.jsonl is torn (7 bytes)"),
        "{note}"
    );
}

#[test]
fn zeros_of_a_power_cut_are_a_torn_last_line() {
    let mut all = bytes(&short());
    let whole = short().len();
    all.extend([0; 5000]);
    let (loaded, torn) = parse(&all).unwrap();
    assert_eq!(loaded.len(), whole);
    assert_eq!(
        torn,
        Some(Torn {
            line: whole as u64 + 1,
            bytes: 5000
        })
    );
}

#[test]
fn damage_in_the_middle_names_its_line() {
    let all = String::from_utf8(bytes(&short())).unwrap();
    let mut lines: Vec<&str> = all.lines().collect();
    lines[2] = "{\"seq\":2,\"at\":";
    let message = parse(lines.join("\n").as_bytes()).unwrap_err().to_string();
    assert!(
        message.starts_with("events.jsonl:3: damaged log: "),
        "{message}"
    );
}

#[test]
fn a_gap_in_the_numbers_is_damage() {
    let mut entries = short();
    entries.remove(2);
    let message = parse(&bytes(&entries)).unwrap_err().to_string();
    assert!(
        message.contains(":3: damaged log: event 3 where 2 belongs"),
        "{message}"
    );
    let message = parse(&bytes(&short()[1..])).unwrap_err().to_string();
    assert!(
        message.contains(":1: damaged log: event 1 where 0 belongs"),
        "{message}"
    );
}

#[test]
fn an_unknown_event_at_the_end_is_not_torn() {
    let mut all = bytes(&short());
    let line = format!(
        "{{\"seq\":{},\"at\":\"2026-01-02T03:04:05Z\",\"event\":\"moon_landed\"}}\n",
        short().len()
    );
    all.extend(line.bytes());
    let message = parse(&all).unwrap_err().to_string();
    assert!(message.contains("moon_landed"), "{message}");
}

#[test]
fn a_newer_format_is_refused_before_it_is_interpreted() {
    let line = br#"{"seq":0,"at":"soon","event":"run_begun","format":2,"plan":[]}"#;
    let message = parse(line).unwrap_err().to_string();
    assert_eq!(
        message,
        "events.jsonl: log format 2 is newer than this fslab reads (1): use the fslab that wrote it"
    );
}

#[test]
fn a_plan_that_contradicts_itself_is_refused() {
    type Spoil = fn(&mut study::Plan);
    let cases: [(Spoil, &str); 3] = [
        (|plan| plan.slots[0].cell = 9, "wants cell 9 of 1"),
        (|plan| plan.slots[0].trial = 5, "trial 0 calls itself 5"),
        (|plan| plan.cells[0].id = 3, "cell 0 calls itself 3"),
    ];
    for (spoil, expected) in cases {
        let mut entries = short();
        if let Event::RunStarted { plan, .. } = &mut entries[0].event {
            spoil(plan);
        }
        let message = parse(&bytes(&entries)).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn numbers_that_are_not_finite_are_refused_and_the_log_goes_on() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("events.jsonl");
    let mut log = Log::create(&opened(temp.path())).unwrap();
    log.emit(short().remove(0).event).unwrap();
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let ledger = Ledger {
            total: value,
            ..Ledger::default()
        };
        let message = log
            .emit(Event::TrialFinished {
                trial: 0,
                samples: vec![],
                evidence: vec![],
                warnings: vec![],
                ledger,
            })
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("trial_finished") && message.contains("not finite"),
            "{message}"
        );
    }
    log.emit(note("still here")).unwrap();
    assert_eq!(read(&path).unwrap().entries.len(), 2);
}

#[test]
fn a_full_disk_leaves_no_torn_line_needs_root() {
    if !testkit::root!() {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    mount(
        "tmpfs",
        temp.path(),
        "tmpfs",
        MountFlags::empty(),
        Some(c"size=64k"),
    )
    .unwrap();
    let outcome = std::panic::catch_unwind(|| {
        let path = temp.path().join("events.jsonl");
        let mut log = Log::create(&opened(temp.path())).unwrap();
        log.emit(short().remove(0).event).unwrap();
        // Lines that do not divide a page, so that the last one goes in partly.
        let (count, error) = (1..1000)
            .find_map(|n| {
                log.emit(note(&"x".repeat(1013)))
                    .err()
                    .map(|error| (n, error))
            })
            .unwrap();
        let message = error.to_string();
        assert!(message.contains("No space left on device"), "{message}");
        assert!(
            message.contains("fslab resume") && !message.contains('\n'),
            "{message}"
        );
        let loaded = read(&path).unwrap();
        assert_eq!(loaded.entries.len(), count);
        assert_eq!(loaded.torn, None);
        assert!(fs::read(&path).unwrap().ends_with(b"\n"));
        // With room again, the same log goes on.
        log.emit(note("short")).unwrap();
        assert_eq!(read(&path).unwrap().entries.len(), count + 1);
    });
    unmount(temp.path(), UnmountFlags::DETACH).unwrap();
    outcome.unwrap();
}

#[test]
fn a_trial_torn_off_by_a_kill_runs_again() {
    let entries = short();
    let begun = entries
        .iter()
        .position(|e| matches!(e.event, Event::TrialStarted { .. }))
        .unwrap();
    let run = Run::fold(&entries[..=begun + 1]).unwrap();
    assert_eq!(run.trials[0].status, Status::Pending);
    assert_eq!(run.remaining(), run.plan.slots);
}

proptest! {
    #[test]
    fn garbage_never_panics(garbage in prop::collection::vec(any::<u8>(), 0..2000)) {
        let _ = parse(&garbage);
        let mut after_good = bytes(&short());
        after_good.extend(&garbage);
        match parse(&after_good) {
            Ok((entries, _)) => prop_assert_eq!(entries, short()),
            Err(error) => prop_assert!(error.to_string().contains("damaged")),
        }
    }

    #[test]
    fn a_changed_byte_never_panics(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut all = bytes(&short());
        let at = at.index(all.len());
        all[at] = to;
        let run = parse(&all).ok().and_then(|(entries, _)| Run::fold(&entries));
        if let Some(run) = run {
            prop_assert!(run.remaining().len() <= run.plan.slots.len());
        }
    }

    #[test]
    fn finite_numbers_round_trip(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
        let sample = Sample {
            phase: "read".into(),
            metric: "throughput".into(),
            clock: study::Clock::Syncfs,
            value,
            unit: "bytes_per_s".into(),
        };
        let event = Event::TrialFinished {
            trial: 0,
            samples: vec![sample],
            evidence: vec![],
            warnings: vec![],
            ledger: Ledger::default(),
        };
        let entry = Entry { seq: 0, at: Timestamp::UNIX_EPOCH, event };
        let line = encode(&entry).unwrap();
        let read: Entry = serde_json::from_slice(&line).unwrap();
        let Event::TrialFinished { samples, .. } = &read.event else { panic!("{read:?}") };
        prop_assert_eq!(samples[0].value.to_bits(), value.to_bits());
    }
}
