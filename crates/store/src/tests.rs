//! Both databases, by the same tests.

mod alike;
mod export;
mod foreign;
mod import;
mod killed;
mod migrate;
mod runs;
mod select;

use std::path::Path;

use crate::location::Location;
use crate::select::hex;
use crate::store::Store;
use crate::value::Value;

/// A place for a new store: a file, and a database where there is a server.
pub(crate) struct Place {
    location: Location,
    _folder: tempfile::TempDir,
    #[cfg(feature = "postgres")]
    _server: Option<testkit::postgres::Server>,
}

impl Place {
    pub(crate) fn file() -> Place {
        let folder = tempfile::tempdir().unwrap();
        Place {
            location: Location::File(folder.path().join("store.sqlite")),
            _folder: folder,
            #[cfg(feature = "postgres")]
            _server: None,
        }
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn server() -> Option<Place> {
        let Some(server) = testkit::postgres::Server::start() else {
            testkit::skip!("needs a PostgreSQL server (package postgresql)");
            return None;
        };
        Some(Place {
            location: Location::Server(server.url.clone()),
            _folder: tempfile::tempdir().unwrap(),
            _server: Some(server),
        })
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(&self.location).unwrap()
    }
}

/// Defines a test of both databases from a function that takes a place.
macro_rules! both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test] fn $name() { super::$name(&crate::tests::Place::file()); })+
        }
        #[cfg(feature = "postgres")]
        mod postgres {
            $(#[test] fn $name() {
                if let Some(place) = crate::tests::Place::server() {
                    super::$name(&place);
                }
            })+
        }
    };
}
pub(crate) use both;

/// A value as text that both databases give alike.
fn shown(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => hex(bytes),
        Value::Bool(truth) => i64::from(*truth).to_string(),
        // Exact: no two numbers have the same text.
        Value::Real(number) => format!("{number:?}"),
        Value::Null => "-".into(),
        other => {
            let text = other
                .as_text()
                .or_else(|| other.as_int().map(|n| n.to_string()))
                .unwrap();
            match serde_json::from_str::<serde_json::Value>(&text) {
                Ok(json) if text.starts_with(['{', '[']) => json.to_string(),
                _ => text,
            }
        }
    }
}

/// The rows of a question, in its order.
pub(crate) fn rows(store: &mut Store, sql: &str) -> Vec<String> {
    let sql = store.engine.dialect().apply(sql);
    let mut rows = Vec::new();
    store
        .engine
        .query(&sql, &[], &mut |row| {
            let row: Vec<String> = row.iter().map(shown).collect();
            rows.push(row.join("|"));
            Ok(())
        })
        .unwrap();
    rows
}

/// Everything in a store except the times of imports, and without numbers that depend on the order of imports.
pub(crate) fn dump(store: &mut Store) -> Vec<String> {
    let questions = [
        r#"select run_id, name, study, profile, cast(seed as text), tool, "commit", target, machine, machine_named, kernel,
           started_at, ended_at, finished, failed, skipped, tags{json}, plan_sha, log_lines, log_sha,
           head{json}, plan{json} from run left join plan on plan.plan_id = run.plan_id"#,
        "select r.run_id, c.cell, k.cell_sha, c.label, c.levels{json}, c.kernel, c.phases{json}
         from cell c join run r on r.{key} = c.{key} join cell_kind k on k.cell_id = c.cell_id",
        "select cell_sha, study, filesystem, workload from cell_kind",
        "select r.run_id, t.trial, t.block, t.cell, cast(t.seed as text), t.status, t.failure, t.message, t.node,
         t.started_at, t.total_s from trial t join run r on r.{key} = t.{key}",
        "select r.run_id, s.trial, k.cell_sha, m.phase, m.metric, m.clock, m.unit, s.holds, s.value
         from sample s join run r on r.{key} = s.{key} join cell_kind k on k.cell_id = s.cell_id
         join metric m on m.metric_id = s.metric_id",
        "select r.run_id, e.trial, e.phase, e.name, e.holds, e.detail
         from evidence e join run r on r.{key} = e.{key}",
        "select r.run_id, x.moment, x.name, x.value{json}, x.source, x.reason, x.number, x.volatile
         from context x join run r on r.{key} = x.{key}",
    ];
    let mut all = Vec::new();
    for (n, question) in questions.iter().enumerate() {
        let mut of_table = rows(store, question);
        of_table.sort();
        all.extend(of_table.into_iter().map(|row| format!("{n} {row}")));
    }
    all
}

/// The dump of a new store into which a run was imported once.
pub(crate) fn dump_of(run: &Path) -> Vec<String> {
    let place = Place::file();
    let mut store = place.open();
    store.import(run).unwrap();
    dump(&mut store)
}
