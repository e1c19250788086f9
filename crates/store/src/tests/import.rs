//! Imports: once, again, of a log that grows, of one that is not the same, and many at once.

use std::fs;
use std::thread;

use record::Event;

use super::runs::{self, Like};
use super::{Place, both, dump, dump_of, rows};
use crate::error::Error;
use crate::import::Imported;
use crate::location::Location;
use crate::store::Store;

both!(
    a_run_is_imported_once_and_its_numbers_are_exact,
    a_log_that_grows_gives_what_a_whole_one_gives,
    a_repeated_trial_counts_in_the_place_of_the_first,
    another_log_is_refused_and_changes_nothing,
    many_imports_at_once_leave_one_copy,
    a_name_too_long_and_a_time_too_far_are_refused,
);

fn a_run_is_imported_once_and_its_numbers_are_exact(place: &Place) {
    let temp = tempfile::tempdir().unwrap();
    let run = runs::run(&temp.path().join("run"), &Like::number(1));
    let samples = runs::samples(&run);
    let mut store = place.open();
    assert_eq!(store.import(&run).unwrap(), Imported::New { samples });
    let once = dump(&mut store);
    assert_eq!(store.import(&run).unwrap(), Imported::Unchanged);
    assert_eq!(dump(&mut store), once);
    assert_eq!(
        rows(&mut store, "select count(*) from sample"),
        [samples.to_string()]
    );
    // Each number is the log's, bit by bit.
    let folded = record::Run::load(&run).unwrap();
    let mut expected: Vec<String> = Vec::new();
    for (trial, record) in folded.trials.iter().enumerate() {
        for s in &record.samples {
            expected.push(format!(
                "{trial}|{}|{}|{:?}|{}",
                s.phase, s.metric, s.value, s.unit
            ));
        }
    }
    expected.sort();
    let sql = "select s.trial, m.phase, m.metric, s.value, m.unit from sample s join metric m on m.metric_id = s.metric_id";
    let mut found = rows(&mut store, sql);
    found.sort();
    assert_eq!(found, expected);
    let head = rows(
        &mut store,
        "select cast(seed as text), machine, kernel from run",
    );
    assert_eq!(
        head,
        ["18446744073709551614|Example CPU at 2.4 GHz, 8 CPUs, 16 GiB|6.12.48"]
    );
}

fn a_log_that_grows_gives_what_a_whole_one_gives(place: &Place) {
    let temp = tempfile::tempdir().unwrap();
    let lines = runs::lines(&runs::entries(&Like::number(2)));
    let dir = temp.path().join("run");
    let mut store = place.open();
    let mut had = 0;
    for count in (1..=lines.len()).step_by(5).chain([lines.len()]) {
        // The writer is in the middle of the next line.
        let torn = lines.get(count).map_or("", |next| &next[..next.len() / 2]);
        runs::put(&dir, &(lines[..count].concat() + torn));
        let imported = store.import(&dir).unwrap();
        match imported {
            Imported::Grown { lines, .. } => assert_eq!(lines, (count - had) as u64),
            Imported::New { .. } => assert_eq!(had, 0),
            Imported::Completed { .. } => panic!("the store is new"),
            Imported::Unchanged => assert_eq!(count, had),
        }
        had = count;
        assert_eq!(
            rows(&mut store, "select count(*) from sample"),
            [runs::samples(&dir).to_string()]
        );
    }
    assert_eq!(dump(&mut store), dump_of(&dir));
}

fn a_repeated_trial_counts_in_the_place_of_the_first(place: &Place) {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    let mut entries = runs::entries(&Like::number(3));
    let (first, plan) = match &entries[0].event {
        Event::RunStarted { plan, .. } => (plan.slots[6], plan.slots.len() as u32),
        _ => unreachable!(),
    };
    runs::put(&dir, &runs::lines(&entries).concat());
    let mut store = place.open();
    store.import(&dir).unwrap();
    let count =
        |store: &mut Store| rows(store, "select count(*) from sample where trial = 6")[0].clone();
    assert_ne!(count(&mut store), "0");
    let slot = study::Slot {
        trial: plan,
        ..first
    };
    let finished = entries.iter().find_map(|entry| match &entry.event {
        Event::TrialFinished {
            trial: 6, samples, ..
        } => Some(samples.clone()),
        _ => None,
    });
    let last = entries.last().unwrap().clone();
    for event in [
        Event::Resumed {
            tool: "fslab".into(),
        },
        Event::TrialRepeated {
            slot,
            repeats: 6,
            why: "doubtful".into(),
        },
        Event::TrialStarted {
            node: None,
            slot,
            telemetry: None,
        },
        Event::TrialFinished {
            trial: plan,
            samples: finished.unwrap(),
            evidence: Vec::new(),
            warnings: Vec::new(),
            ledger: record::Ledger::default(),
        },
    ] {
        let seq = entries.len() as u64;
        entries.push(record::Entry {
            seq,
            event,
            ..last.clone()
        });
    }
    runs::put(&dir, &runs::lines(&entries).concat());
    assert!(matches!(
        store.import(&dir).unwrap(),
        Imported::Grown { lines: 4, .. }
    ));
    assert_eq!(count(&mut store), "0");
    let status = rows(
        &mut store,
        "select trial, status from trial where trial in (6, 12) order by trial",
    );
    assert_eq!(status, ["6|replaced", "12|finished"]);
    assert_eq!(dump(&mut store), dump_of(&dir));
}

fn another_log_is_refused_and_changes_nothing(place: &Place) {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    let lines = runs::lines(&runs::entries(&Like::number(4)));
    runs::put(&dir, &lines.concat());
    let mut store = place.open();
    store.import(&dir).unwrap();
    let before = dump(&mut store);
    let mut other = lines.clone();
    other[2] = other[2].replace("3 blocks", "4 blocks");
    assert_ne!(other[2], lines[2]);
    for log in [other.concat(), lines[..9].concat()] {
        runs::put(&dir, &log);
        let error = store.import(&dir).unwrap_err();
        assert!(matches!(error, Error::Mismatch { .. }), "{error}");
        assert!(!error.to_string().contains('\n'));
        assert_eq!(dump(&mut store), before);
    }
    for (log, part) in [
        ("", "no events"),
        ("{}\n", "damaged log"),
        ("{\"format\": 99}\n", "newer"),
    ] {
        runs::put(&dir, log);
        let message = store.import(&dir).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    fs::remove_dir_all(&dir).unwrap();
    store.import(&dir).unwrap_err();
    assert_eq!(dump(&mut store), before);
}

/// Four writers of one run, and of runs whose series and metrics are new to the store at the same time.
fn many_imports_at_once_leave_one_copy(place: &Place) {
    let temp = tempfile::tempdir().unwrap();
    let dirs: Vec<_> = (0..4)
        .map(|n| runs::run(&temp.path().join(format!("{n}")), &Like::number(n)))
        .collect();
    let location: &Location = &place.location;
    thread::scope(|scope| {
        for n in 0..4 {
            let dirs = &dirs;
            scope.spawn(move || {
                let mut store = Store::open(location).unwrap();
                for step in 0..dirs.len() {
                    store.import(&dirs[(n + step) % dirs.len()]).unwrap();
                    store.import(&dirs[0]).unwrap();
                }
            });
        }
    });
    let one = Place::file();
    let mut alone = one.open();
    for dir in &dirs {
        alone.import(dir).unwrap();
    }
    assert_eq!(dump(&mut place.open()), dump(&mut alone));
}

fn a_name_too_long_and_a_time_too_far_are_refused(place: &Place) {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    let mut store = place.open();
    let mut entries = runs::entries(&Like::number(5));
    if let Event::RunStarted { plan, .. } = &mut entries[0].event {
        plan.study = "s".repeat(5000);
    }
    runs::put(&dir, &runs::lines(&entries).concat());
    let message = store.import(&dir).unwrap_err().to_string();
    assert!(
        message.contains("the name of a study has 5000 bytes"),
        "{message}"
    );
    entries[0].at = "-000500-01-01T00:00:00Z".parse().unwrap();
    runs::put(&dir, &runs::lines(&entries).concat());
    let message = store.import(&dir).unwrap_err().to_string();
    assert!(message.contains("years 1970 to 9999"), "{message}");
    assert_eq!(dump(&mut store), Vec::<String>::new());
}
