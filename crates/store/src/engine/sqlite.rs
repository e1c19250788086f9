//! A store in one SQLite file.
//!
//! The file has SQLite's rollback journal, not a write-ahead log: a copy of one file is the store, and it works on network
//! filesystems with locks. An import takes the write lock when it begins, so imports of the same run follow one another.

use std::fs::File;
use std::iter;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::limits::Limit;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use super::{Dialect, Each, Engine, Step};
use crate::error::Error;
use crate::value::{Value, microseconds};

/// Longest text or blob that is read, in bytes; a plan has the most.
const LONGEST: i32 = 256 << 20;

/// Instructions of SQLite's machine that a question may take: for each byte of the file, and for an empty one. A row takes some
/// dozens of bytes there, and a question some hundred instructions for each. A file can be made in which a table never ends: a page
/// of it refers to the same page a thousand times, and that again.
const WORK: (u64, u64) = (100, 1 << 27);
/// Instructions after which the work is added up.
const PIECE: u64 = 1 << 16;

/// How long a statement waits for the writer of the file.
const PATIENCE: Duration = Duration::from_secs(120);

/// Most KiB of pages that a connection keeps. A run's samples go to as many places of the index `sample_by_series` as it has series;
/// with SQLite's own 2 MiB each of these pages is read again for every run.
const CACHE: u32 = 64 << 10;

#[derive(Debug)]
pub(crate) struct Sqlite {
    connection: Connection,
    name: String,
    /// Pieces of work of the present question.
    work: Arc<AtomicU64>,
}

impl Sqlite {
    /// Opens the file, or makes it (and the folders above it).
    pub(crate) fn open(path: &Path) -> Result<Sqlite, Error> {
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            std::fs::create_dir_all(folder)
                .map_err(|cause| record::Error::io("make the folder", folder, cause))?;
        }
        match input::open_regular(path) {
            Err(error) if error.is_missing() => Sqlite::on(path),
            opened => Sqlite::on_file(opened, path),
        }
    }

    /// Opens a file that is there.
    pub(crate) fn existing(path: &Path) -> Result<Sqlite, Error> {
        match input::open_regular(path) {
            Err(error) if error.is_missing() => Err(Error::Missing {
                store: path.display().to_string(),
            }),
            opened => Sqlite::on_file(opened, path),
        }
    }

    /// SQLite itself would wait for a FIFO.
    fn on_file(opened: Result<File, input::Error>, path: &Path) -> Result<Sqlite, Error> {
        match opened {
            Ok(_) => Sqlite::on(path),
            Err(input::Error::Io(cause)) => Err(record::Error::io("open", path, cause).into()),
            Err(other) => Err(Error::Url {
                url: path.display().to_string(),
                why: format!("{other}; name another file or database"),
            }),
        }
    }

    fn on(path: &Path) -> Result<Sqlite, Error> {
        let name = path.display().to_string();
        let failed = |cause: rusqlite::Error| failed(&name, &cause);
        let mut connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        connection
            .execute_batch(&format!(
                "pragma foreign_keys = on; pragma trusted_schema = off; pragma temp_store = memory; \
                 pragma cache_size = -{CACHE};"
            ))
            .map_err(failed)?;
        connection
            .set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST)
            .map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(64);
        let work = Arc::new(AtomicU64::new(0));
        let (done, at) = (Arc::clone(&work), path.to_owned());
        let is_endless = move || {
            let pieces = done.fetch_add(1, Ordering::Relaxed);
            // The file grows while it is written.
            let length = || std::fs::metadata(&at).map_or(0, |file| file.len());
            pieces * PIECE > WORK.1 && pieces * PIECE > WORK.1 + WORK.0.saturating_mul(length())
        };
        connection
            .progress_handler(PIECE as i32, Some(is_endless))
            .map_err(failed)?;
        Ok(Sqlite {
            connection,
            name,
            work,
        })
    }

    /// Refuses a file in which one of the tables is a view or of another program (a virtual table), or that has triggers: what they
    /// compute has no end that can be known. Views and indexes that a user added are not read.
    fn refuse_altered(&mut self, steps: &[Step]) -> Result<(), Error> {
        let mut found = Vec::new();
        let sql = "select type, name, coalesce(sql, '') from sqlite_master";
        self.query(sql, &[], &mut |row| {
            let text = |at: usize| row[at].as_text().unwrap_or_default();
            found.push([text(0), text(1), text(2)]);
            Ok(())
        })?;
        let altered = |why: String| {
            Err(Error::Altered {
                store: self.name.clone(),
                why,
            })
        };
        let tables: Vec<&str> = iter::once("meta")
            .chain(steps.iter().flat_map(|step| tables(step.sql)))
            .collect();
        for [kind, name, sql] in &found {
            let is_ours = tables.iter().any(|table| table.eq_ignore_ascii_case(name));
            let sql = sql.trim_start().to_ascii_lowercase();
            if kind == "trigger" {
                return altered(format!("it has the trigger {}", words::quoted(name)));
            }
            if is_ours && kind != "table" {
                return altered(format!(
                    "{name} in it is a {}, not a table",
                    words::quoted(kind)
                ));
            }
            if is_ours && !sql.starts_with("create table") {
                return altered(format!("{name} in it is a virtual table"));
            }
        }
        Ok(())
    }

    fn failed(&self, cause: &rusqlite::Error) -> Error {
        failed(&self.name, cause)
    }

    fn batch(&self, sql: &str) -> Result<(), Error> {
        let done = self.connection.execute_batch(sql);
        done.map_err(|cause| self.failed(&cause))
    }

    /// The schema's number; 0: the file is empty.
    fn version(&mut self) -> Result<i64, Error> {
        let (mut tables, mut has_meta, mut version) = (0, 0, None);
        let sql = "select count(*), coalesce(sum(name = 'meta'), 0) from sqlite_master where type = 'table'";
        self.query(sql, &[], &mut |row| {
            tables = row[0].as_int().unwrap_or(0);
            has_meta = row[1].as_int().unwrap_or(0);
            Ok(())
        })?;
        if tables == 0 {
            return Ok(0);
        }
        if has_meta == 1 {
            let sql = "select value from meta where key = 'schema'";
            self.query(sql, &[], &mut |row| {
                version = row[0].as_text().and_then(|text| text.parse().ok());
                Ok(())
            })?;
        }
        version.ok_or_else(|| Error::NotAStore {
            store: self.name.clone(),
        })
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), Error> {
        let version = self.version()?;
        for step in steps.iter().filter(|step| step.number > version) {
            if step.number == 1 {
                self.batch(
                    "create table meta (key text primary key, value text not null) without rowid;",
                )?;
            }
            self.batch(step.sql)?;
            let sql = "insert into meta values ('schema', ?1) on conflict (key) do update set value = excluded.value";
            self.execute(sql, &[Value::text(&step.number.to_string())])?;
        }
        Ok(())
    }
}

fn failed(store: &str, cause: &rusqlite::Error) -> Error {
    let store = store.to_owned();
    match cause.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => Error::NotAStore { store },
        Some(rusqlite::ErrorCode::OperationInterrupted) => Error::Altered {
            store,
            why: "a question to it took more work than a file of its size can need".into(),
        },
        _ => Error::Database {
            store,
            why: cause.to_string(),
        },
    }
}

/// The tables that a step makes.
fn tables(sql: &str) -> impl Iterator<Item = &str> {
    let made = sql
        .lines()
        .filter_map(|line| line.strip_prefix("create table "));
    made.filter_map(|rest| rest.split(' ').next())
}

impl Engine for Sqlite {
    fn dialect(&self) -> Dialect {
        Dialect {
            key: "run",
            json: "",
            bytes: "",
            position: "instr",
            tag: ["(select value from json_each(r.tags) where key = ", ")"],
            hex: ["lower(hex(", "))"],
        }
    }

    fn migrate(&mut self, steps: &[Step]) -> Result<(), Error> {
        self.refuse_altered(steps)?;
        let newest = steps.iter().map(|step| step.number).max().unwrap_or(0);
        let version = self.version()?;
        if version > newest {
            return Err(Error::Newer {
                store: self.name.clone(),
                found: version,
                known: newest,
            });
        }
        if version == newest {
            return Ok(());
        }
        self.batch("begin immediate")?;
        match self.steps(steps) {
            Ok(()) => self.commit(),
            Err(error) => {
                self.rollback();
                Err(error)
            }
        }
    }

    fn begin(&mut self, _run: &[u8; 32], _started: Timestamp) -> Result<(), Error> {
        self.batch("begin immediate")
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.batch("commit")
    }

    fn rollback(&mut self) {
        let _ = self.connection.execute_batch("rollback");
    }

    fn key(&mut self, run: &[u8; 32]) -> Result<Option<Value>, Error> {
        let mut key = None;
        let id = [Value::Bytes(run.to_vec())];
        self.query("select run from run where run_id = ?1", &id, &mut |row| {
            key = Some(row[0].clone());
            Ok(())
        })?;
        Ok(key)
    }

    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Error> {
        self.work.store(0, Ordering::Relaxed);
        let done = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(params_from_iter(values)));
        done.map(|rows| rows as u64)
            .map_err(|cause| self.failed(&cause))
    }

    fn query(&mut self, sql: &str, values: &[Value], each: Each<'_>) -> Result<(), Error> {
        self.work.store(0, Ordering::Relaxed);
        let failed = |cause: rusqlite::Error| self.failed(&cause);
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
        let mut row = Vec::with_capacity(columns);
        while let Some(found) = rows.next().map_err(failed)? {
            row.clear();
            for column in 0..columns {
                row.push(found.get_ref(column).map(value_of).map_err(failed)?);
            }
            each(&row)?;
        }
        Ok(())
    }

    fn bulk(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &mut dyn Iterator<Item = Vec<Value>>,
    ) -> Result<u64, Error> {
        let marks: Vec<String> = (1..=columns.len()).map(|n| format!("?{n}")).collect();
        let sql = format!(
            "insert into {table} ({}) values ({})",
            columns.join(", "),
            marks.join(", ")
        );
        let mut count = 0;
        for row in rows {
            count += self.execute(&sql, &row)?;
        }
        Ok(count)
    }
}

fn value_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        use rusqlite::types::Value as Owned;
        Ok(match self {
            Value::Null => ToSqlOutput::Owned(Owned::Null),
            Value::Bool(truth) => ToSqlOutput::Owned(Owned::Integer(i64::from(*truth))),
            Value::Int(number) => ToSqlOutput::Owned(Owned::Integer(*number)),
            Value::Number(number) => ToSqlOutput::Owned(Owned::Text(number.to_string())),
            Value::Real(number) => ToSqlOutput::Owned(Owned::Real(*number)),
            Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Value::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Value::Time(at) => ToSqlOutput::Owned(Owned::Text(microseconds(*at))),
        })
    }
}
