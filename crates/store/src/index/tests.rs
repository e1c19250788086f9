//! The index says what the fold says.

use std::fs;
use std::os::unix::fs::symlink;

use rusqlite::types::Value;

use super::*;
use fixtures::example;
use record::folder::EVENTS;
use record::{Entry, Event, FailureKind, Ledger, Run, Status};

fn opened(dir: &Path) -> RunDir {
    RunDir::open(dir).unwrap()
}

fn put(dir: &Path, entries: &[Entry]) {
    let lines: Vec<String> = entries
        .iter()
        .map(|e| serde_json::to_string(e).unwrap() + "\n")
        .collect();
    fs::write(dir.join(EVENTS), lines.concat()).unwrap();
}

fn built(entries: &[Entry]) -> (tempfile::TempDir, Connection) {
    let temp = tempfile::tempdir().unwrap();
    put(temp.path(), entries);
    rebuild(&opened(temp.path())).unwrap();
    let db = Connection::open(temp.path().join(NAME)).unwrap();
    (temp, db)
}

fn one<T: rusqlite::types::FromSql>(db: &Connection, sql: &str) -> T {
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Samples, evidence, warnings, notes, phases, context items, statuses of index and fold.
fn same(db: &Connection, run: &Run) {
    let count = |f: fn(&record::TrialRecord) -> usize| -> i64 {
        run.trials.iter().map(f).sum::<usize>() as i64
    };
    assert_eq!(
        one::<i64>(db, "select count(*) from sample"),
        count(|t| t.samples.len())
    );
    assert_eq!(
        one::<i64>(db, "select count(*) from evidence"),
        count(|t| t.evidence.len())
    );
    assert_eq!(
        one::<i64>(db, "select count(*) from phase"),
        count(|t| t.phases.len())
    );
    let warnings = one::<i64>(db, "select count(*) from note where kind = 'warning'");
    assert_eq!(warnings, count(|t| t.warnings.len()));
    let notes = one::<i64>(db, "select count(*) from note where trial is null");
    assert_eq!(notes, run.notes.len() as i64);
    assert_eq!(one::<u32>(db, "select resumed from run"), run.resumed);
    let ended: Option<String> = one(db, "select ended_at from run");
    assert_eq!(ended.is_some(), run.closing.is_some());
    let mut query = db
        .prepare("select status, failure, total_s from trial order by trial")
        .unwrap();
    let mut rows = query.query([]).unwrap();
    for record in &run.trials {
        let row = rows.next().unwrap().unwrap();
        let status: String = row.get(0).unwrap();
        let total: Option<f64> = row.get(2).unwrap();
        let expected = match record.status {
            Status::Pending => "pending",
            Status::Finished => "finished",
            Status::Failed(..) => "failed",
            Status::Replaced { .. } => "replaced",
        };
        assert_eq!(status, expected);
        assert_eq!(total.unwrap_or(0.0), record.ledger.total);
    }
    assert!(rows.next().unwrap().is_none());
}

#[test]
fn the_index_says_what_the_fold_says_at_every_length() {
    let entries = example::entries();
    for length in [1, 2, 5, 11, 12, 40, 60, entries.len()] {
        let (_temp, db) = built(&entries[..length]);
        same(&db, &Run::fold(&entries[..length]).unwrap());
    }
}

#[test]
fn a_trial_that_ran_again_counts_once() {
    let mut entries = example::entries();
    let end = entries
        .iter()
        .rposition(|e| matches!(e.event, Event::TrialFinished { .. }))
        .unwrap();
    let begin = entries
        .iter()
        .rposition(|e| matches!(e.event, Event::TrialStarted { .. }))
        .unwrap();
    let again: Vec<Event> = entries[begin..=end]
        .iter()
        .map(|e| e.event.clone())
        .collect();
    let Event::TrialStarted { slot, .. } = again[0] else {
        panic!()
    };
    let ledger = Ledger::default();
    let interrupted = Event::TrialFailed {
        trial: slot.trial,
        kind: FailureKind::Interrupted,
        message: "stopped".into(),
        ledger,
    };
    let at = entries[end].at;
    let more = [
        interrupted,
        Event::Resumed {
            tool: "fslab".into(),
        },
    ]
    .into_iter()
    .chain(again);
    for event in more {
        entries.push(Entry {
            seq: entries.len() as u64,
            at,
            event,
        });
    }
    let (_temp, db) = built(&entries);
    let run = Run::fold(&entries).unwrap();
    assert_eq!(run.resumed, 1);
    same(&db, &run);
}

#[test]
fn the_view_joins_every_factor() {
    let (_temp, db) = built(&example::entries());
    let run = example::run();
    let cell = run
        .plan
        .cells
        .iter()
        .find(|c| c.label().contains("xfs"))
        .unwrap();
    let sql = "select avg(value) from sample_view where filesystem = 'xfs' and
               workload = 'iozone' and phase = 'read' and metric = 'children' and
               clock = 'original'";
    let values = run.values(cell, "read", "children", study::Clock::Original);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let found: f64 = one(&db, sql);
    assert!((found / mean - 1.0).abs() < 1e-12, "{found} {mean}");
}

#[test]
fn factors_of_any_name_get_a_column() {
    let mut entries = example::entries();
    if let Event::RunStarted { plan, .. } = &mut entries[0].event {
        for name in ["value", "it's \"odd\"", "Trial"] {
            plan.factors.push((name.into(), vec!["x".into()]));
            for cell in &mut plan.cells {
                cell.levels.insert(name.into(), "x".into());
            }
        }
    }
    let (_temp, db) = built(&entries);
    let query = db.prepare("select * from sample_view").unwrap();
    let names = query.column_names().collect::<Vec<_>>().join(" ");
    assert!(
        names.ends_with("workload factor_value it's \"odd\" factor_Trial"),
        "{names}"
    );
    let odd: String = one(&db, "select distinct \"it's \"\"odd\"\"\" from sample_view");
    assert_eq!(odd, "x");
}

#[test]
fn context_and_mount_facts_are_there() {
    let (_temp, db) = built(&example::entries());
    let reason: String = one(
        &db,
        "select reason from context_item where moment = 'end' and name = 'microcode'",
    );
    assert_eq!(reason, "not in this guest");
    let agcount: String = one(
        &db,
        "select distinct json_extract(mounted, '$.superblock.agcount') from trial
         where driver = 'xfs'",
    );
    assert_eq!(agcount, "4");
    let doubts: Vec<Value> = db
        .prepare("select trial from evidence where holds = 0")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(
        doubts,
        [Value::Integer(i64::from(example::FAILED_EVIDENCE))]
    );
}

#[test]
fn it_can_be_deleted_and_rebuilt_and_leaves_no_other_file() {
    let (temp, db) = built(&example::entries());
    drop(db);
    let path = temp.path().join("index.sqlite");
    let first = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    rebuild(&opened(temp.path())).unwrap();
    assert_eq!(fs::read(&path).unwrap(), first);
    fs::write(temp.path().join(EVENTS), "{\"format\": 99}\n").unwrap();
    let message = rebuild(&opened(temp.path())).unwrap_err().to_string();
    assert!(message.contains("newer"), "{message}");
    assert_eq!(fs::read(&path).unwrap(), first, "the old index stays");
    let left: Vec<_> = fs::read_dir(temp.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

/// A link that waits for the build's file is removed, and one on the way to the folder is refused: SQLite writes through neither.
#[test]
fn no_link_is_written_through() {
    let temp = tempfile::tempdir().unwrap();
    let run = temp.path().join("run");
    fs::create_dir(&run).unwrap();
    put(&run, &example::entries());
    fs::write(temp.path().join("victim"), "kept").unwrap();
    let waiting = format!("index.sqlite.new-{}", std::process::id());
    symlink(temp.path().join("victim"), run.join(waiting)).unwrap();
    let dir = opened(&run);
    rebuild(&dir).unwrap();
    assert!(run.join(NAME).symlink_metadata().unwrap().is_file());
    // The folder is moved, and a link to another is in its place.
    fs::rename(&run, temp.path().join("moved")).unwrap();
    let other = temp.path().join("other");
    fs::create_dir(&other).unwrap();
    symlink(&other, &run).unwrap();
    rebuild(&dir).unwrap_err();
    assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
    assert_eq!(
        fs::read_to_string(temp.path().join("victim")).unwrap(),
        "kept"
    );
}
