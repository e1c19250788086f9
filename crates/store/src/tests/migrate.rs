//! The schema moves by numbered steps.

use super::runs::{self, Like};
use super::{Place, both, dump, dump_of, rows};
use crate::engine::Step;
use crate::error::Error;
use crate::location::Location;
use crate::schema;
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
    old.import(&run).unwrap();
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
    assert_eq!(dump(&mut store), dump_of(&run));
    assert_ne!(
        rows(&mut store, "select count(*) from kernel_median"),
        ["0"]
    );
}

fn a_newer_store_is_refused(place: &Place) {
    drop(place.open());
    let mut engine = bare(place);
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
