//! The schema moves by numbered steps.

use std::collections::BTreeSet;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::runs::{self, Like};
use super::{Place, both, dump, dump_of, rows};
use crate::engine::Step;
use crate::error::Error;
use crate::import::Imported;
use crate::location::Location;
use crate::rows::Rows;
use crate::schema;
use crate::select::Selector;
use crate::store::Store;
use crate::value::Value;

both!(
    an_older_store_gets_the_steps_that_it_lacks,
    a_newer_store_is_refused,
    another_database_is_refused,
);

fn steps(place: &Place) -> Vec<Step> {
    match &place.location {
        Location::File(_) => schema::SQLITE.to_vec(),
        #[cfg(feature = "postgres")]
        Location::Server(_) => schema::POSTGRES.to_vec(),
        #[cfg(not(feature = "postgres"))]
        Location::Server(_) => unreachable!(),
    }
}

/// A connection without a schema.
fn bare(place: &Place) -> Box<dyn crate::engine::Engine> {
    match &place.location {
        Location::File(path) => Box::new(crate::engine::sqlite::Sqlite::open(path).unwrap()),
        #[cfg(feature = "postgres")]
        Location::Server(url) => {
            Box::new(crate::engine::postgres::Postgres::open(url, url).unwrap())
        }
        #[cfg(not(feature = "postgres"))]
        Location::Server(_) => unreachable!(),
    }
}

fn an_older_store_gets_the_steps_that_it_lacks(place: &Place) {
    let temp = tempfile::tempdir().unwrap();
    let run = runs::run(temp.path(), &Like::number(1));
    let steps = steps(place);
    let mut engine = bare(place);
    engine.migrate(&steps[..1]).unwrap();
    let mut old = Store {
        engine,
        name: "old".into(),
    };
    old_copy(&mut old, &run);
    assert_eq!(
        rows(&mut old, "select value from meta where key = 'schema'"),
        ["1"]
    );
    drop(old);
    let mut store = place.open();
    let newest = steps.last().unwrap().number.to_string();
    assert_eq!(
        rows(&mut store, "select value from meta where key = 'schema'"),
        [newest]
    );
    // Its runs are not lost, and the next import adds what they lack, also to a log that has not grown.
    let error = store.runs(&Selector::default()).unwrap_err();
    assert!(matches!(error, Error::NoPlan { .. }), "{error}");
    let imported = store.import(&run).unwrap();
    assert!(
        matches!(imported, Imported::Completed { .. }),
        "{imported:?}"
    );
    assert_eq!(store.import(&run).unwrap(), Imported::Unchanged);
    assert_eq!(store.runs(&Selector::default()).unwrap().len(), 1);
    assert_eq!(dump(&mut store), dump_of(&run));
    assert_ne!(
        rows(&mut store, "select count(*) from kernel_median"),
        ["0"]
    );
}

/// What the first schema kept of a run: its head and one cell, by the statements of that time.
fn old_copy(old: &mut Store, run: &Path) {
    let log = std::fs::read(run.join(record::folder::EVENTS)).unwrap();
    let lines = log.split_inclusive(|byte| *byte == b'\n').count();
    let first = log.split(|byte| *byte == b'\n').next().unwrap();
    let id: [u8; 32] = Sha256::digest(first).into();
    let folded = record::Run::load(run).unwrap();
    let (hash, none) = (
        |bytes: &[u8]| Value::Bytes(Sha256::digest(bytes).to_vec()),
        Value::Null,
    );
    old.engine.begin(&id, folded.started_at).unwrap();
    let sql = r#"insert into run (run_id, name, study, profile, seed, tool, "commit", target, machine, machine_named, kernel,
        started_at, ended_at, finished, failed, skipped, tags, plan_sha, log_lines, log_sha, ingested_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)"#;
    let closing = folded.closing.unwrap();
    let values = [
        Value::Bytes(id.to_vec()),
        Value::text(&folded.name),
        Value::text(&folded.plan.study),
        Value::text(&folded.plan.profile),
        Value::Number(folded.plan.seed),
        Value::text(&folded.tool),
        Value::or_null(folded.commit(), Value::text),
        Value::text(&folded.target),
        none.clone(),
        Value::Bool(false),
        none,
        Value::Time(folded.started_at),
        Value::Time(closing.at),
        Value::Int(closing.finished.into()),
        Value::Int(closing.failed.into()),
        Value::Int(closing.skipped.into()),
        Value::Text(serde_json::to_string(&folded.tags).unwrap()),
        hash(&serde_json::to_vec(&folded.plan).unwrap()),
        Value::Int(lines as i64),
        hash(&log),
        Value::Time(closing.at),
    ];
    old.engine.execute(sql, &values).unwrap();
    let key = old.engine.key(&id).unwrap().unwrap();
    let rows = Rows::of(&folded, id, &BTreeSet::new(), false).unwrap();
    let cell = &rows.cells[0];
    let sql = "insert into cell_kind (cell_sha, study, label, filesystem, workload, levels, cell)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let values = [
        Value::Bytes(cell.sha.to_vec()),
        Value::text(&folded.plan.study),
        Value::text(&cell.label),
        Value::text(&cell.filesystem),
        Value::text(&cell.workload),
        Value::Text(cell.levels.to_string()),
        Value::Text(cell.parameters.to_string()),
    ];
    old.engine.execute(sql, &values).unwrap();
    let sql = "insert into cell ({key}, cell, cell_id, label, levels, kernel)
               select ?1, 0, cell_id, label, levels, null from cell_kind";
    let sql = old.engine.dialect().apply(sql);
    old.engine.execute(&sql, &[key]).unwrap();
    old.engine.commit().unwrap();
}

fn a_newer_store_is_refused(place: &Place) {
    let mut engine = bare(place);
    engine.migrate(&steps(place)[..2]).unwrap();
    let newer = [Value::text("99")];
    engine
        .execute("update meta set value = ?1 where key = 'schema'", &newer)
        .unwrap();
    drop(engine);
    let error = Store::open(&place.location).unwrap_err();
    assert!(matches!(error, Error::Newer { found: 99, .. }), "{error}");
    // A step that fails leaves nothing of itself.
    let mut engine = bare(place);
    engine
        .execute(
            "update meta set value = ?1 where key = 'schema'",
            &[Value::text("1")],
        )
        .unwrap();
    engine.execute("drop view kernel_median", &[]).unwrap();
    engine.execute("drop view run_median", &[]).unwrap();
    let broken = Step {
        number: 2,
        sql: "create table extra (x integer); create table run (x integer);",
    };
    engine.migrate(&[steps(place)[0], broken]).unwrap_err();
    drop(engine);
    let mut store = place.open();
    assert_eq!(rows(&mut store, "select count(*) from run_median"), ["0"]);
}

fn another_database_is_refused(place: &Place) {
    let mut engine = bare(place);
    engine.execute("create table run (x integer)", &[]).unwrap();
    drop(engine);
    let error = Store::open(&place.location).unwrap_err();
    assert!(matches!(error, Error::NotAStore { .. }), "{error}");
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("notes.txt");
    std::fs::write(
        &path,
        "these are notes, and they are longer than a header\n".repeat(100),
    )
    .unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = Store::open(&Location::File(path.clone())).unwrap_err();
    assert!(matches!(error, Error::NotAStore { .. }), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let missing = temp.path().join("missing.sqlite");
    Store::existing(&Location::File(missing.clone())).unwrap_err();
    assert!(!missing.exists());
}

#[test]
fn a_store_whose_tables_are_not_tables_is_refused() {
    let endless = "create view sample as with recursive n(x) as (select 1 union all select x + 1 from n) \
                   select 1 run, 1 trial, 1 cell_id, 1 metric_id, 1 holds, x value from n";
    for (sql, says) in [
        (
            vec!["drop table sample", endless],
            "sample in it is a \"view\"",
        ),
        (
            vec![
                "drop table sample",
                "create virtual table sample using rtree(a, b, c)",
            ],
            "sample in it is a virtual table",
        ),
        (
            vec!["create trigger t after insert on run begin delete from run; end"],
            "the trigger \"t\"",
        ),
    ] {
        let place = Place::file();
        let mut store = place.open();
        for statement in ["drop view kernel_median", "drop view run_median"]
            .iter()
            .chain(&sql)
        {
            store.engine.execute(statement, &[]).unwrap();
        }
        drop(store);
        for opened in [
            Store::open(&place.location),
            Store::existing(&place.location),
        ] {
            let error = opened.unwrap_err();
            assert!(
                error.is_usage() && error.to_string().contains(says),
                "{error}"
            );
        }
    }
    // What a user adds is not read and not refused.
    let place = Place::file();
    let mut store = place.open();
    for statement in [
        "create view mine as select * from run",
        "create table notes (x)",
        "create index i on run (name)",
    ] {
        store.engine.execute(statement, &[]).unwrap();
    }
    drop(store);
    Store::existing(&place.location).unwrap();
}

#[test]
fn a_question_without_end_ends() {
    let place = Place::file();
    let mut store = place.open();
    let endless =
        "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n";
    let error = store
        .engine
        .query(endless, &[], &mut |_| Ok(()))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("more work than a file of its size"),
        "{error}"
    );
    // The next question has its own limit.
    assert_eq!(rows(&mut store, "select count(*) from run"), ["0"]);
}

#[test]
fn what_is_no_file_is_not_opened() {
    let temp = tempfile::tempdir().unwrap();
    let fifo = temp.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    for (path, says) in [
        (fifo.as_path(), "a FIFO"),
        (Path::new("/dev/zero"), "a device"),
    ] {
        for open in [Store::open, Store::existing] {
            let error = open(&Location::File(path.to_owned())).unwrap_err();
            assert!(
                error.is_usage() && error.to_string().contains(says),
                "{error}"
            );
        }
    }
}

#[cfg(not(feature = "postgres"))]
#[test]
fn without_the_feature_a_server_is_refused() {
    let url = "postgresql:///lab?host=/run/postgresql";
    let message = Store::open(&url.parse().unwrap()).unwrap_err().to_string();
    assert!(message.contains("--features postgres"), "{message}");
}

#[cfg(feature = "postgres")]
#[test]
fn a_url_that_cannot_be_met_is_one_line() {
    for (url, part) in [
        ("postgresql://h/db?sslmode=require", "sslmode=require"),
        ("postgresql://h/db?colour=red", "colour"),
        (
            "postgresql:///db?host=/nowhere",
            "check that the server runs",
        ),
    ] {
        let message = Store::open(&url.parse().unwrap()).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
}
