//! A store in one SQLite file.
//!
//! The file has SQLite's rollback journal, not a write-ahead log: a copy of one file is the store, and it works on network
//! filesystems with locks. An import takes the write lock when it begins, so imports of the same run follow one another.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use super::{Dialect, Each, Engine, Step};
use crate::error::Error;
use crate::value::{Value, microseconds};

/// How long a statement waits for the writer of the file.
const PATIENCE: Duration = Duration::from_secs(120);

/// Most KiB of pages that a connection keeps. A run's samples go to as many places of the index `sample_by_series` as it has series;
/// with SQLite's own 2 MiB each of these pages is read again for every run.
const CACHE: u32 = 64 << 10;

#[derive(Debug)]
pub(crate) struct Sqlite {
    connection: Connection,
    name: String,
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
        Sqlite::on(Connection::open(path), path)
    }

    /// Opens a file that is there.
    pub(crate) fn existing(path: &Path) -> Result<Sqlite, Error> {
        match std::fs::metadata(path) {
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::Missing {
                    store: path.display().to_string(),
                });
            }
            found => found.map_err(|cause| record::Error::io("open", path, cause))?,
        };
        Sqlite::on(Connection::open(path), path)
    }

    fn on(opened: rusqlite::Result<Connection>, path: &Path) -> Result<Sqlite, Error> {
        let name = path.display().to_string();
        let failed = |cause: rusqlite::Error| failed(&name, &cause);
        let connection = opened.map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        connection
            .execute_batch(&format!(
                "pragma foreign_keys = on; pragma temp_store = memory; pragma cache_size = -{CACHE};"
            ))
            .map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(Sqlite { connection, name })
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
    if cause.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) {
        return Error::NotAStore { store };
    }
    let why = cause.to_string();
    Error::Database { store, why }
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
        let done = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(params_from_iter(values)));
        done.map(|rows| rows as u64)
            .map_err(|cause| self.failed(&cause))
    }

    fn query(&mut self, sql: &str, values: &[Value], each: Each<'_>) -> Result<(), Error> {
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
