//! A store in a PostgreSQL database.
//!
//! The client is synchronous and needs no system library. There is no TLS: a URL that requires it is refused, and a server
//! elsewhere is reached through a Unix socket, a private network or a tunnel.
//!
//! Rows go in by binary COPY. Samples are partitioned by the quarter in which their run began; the partition is made in a
//! transaction of its own before the import begins, because making it locks the table.

mod encode;

use std::collections::HashMap;
use std::error::Error as _;

use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use postgres::binary_copy::BinaryCopyInWriter;
use postgres::config::SslMode;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{ToSql, Type};
use postgres::{Client, Config, NoTls, Statement};

use super::{Dialect, Each, Engine, Step};
use crate::error::Error;
use crate::value::Value;

/// Key of the advisory lock under which tables and partitions are made.
const SCHEMA_LOCK: i64 = 0x0066_736c_6162;

pub(crate) struct Postgres {
    client: Client,
    statements: HashMap<String, Statement>,
    name: String,
}

impl Postgres {
    pub(crate) fn open(url: &str, name: &str) -> Result<Postgres, Error> {
        let wrong = |why: String| Error::Url {
            url: name.to_owned(),
            why,
        };
        let mut config: Config = url
            .parse()
            .map_err(|error: postgres::Error| wrong(message(&error)))?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(wrong(
                "sslmode=require cannot be met, this client has no TLS; use a Unix socket or a tunnel, with sslmode=disable"
                    .into(),
            ));
        }
        if config.get_application_name().is_none() {
            config.application_name("fslab");
        }
        let client = config.connect(NoTls).map_err(|error| Error::Database {
            store: name.to_owned(),
            why: format!(
                "{}; check that the server runs and the URL is right",
                message(&error)
            ),
        })?;
        Ok(Postgres {
            client,
            statements: HashMap::new(),
            name: name.to_owned(),
        })
    }

    fn batch(&mut self, sql: &str) -> Result<(), Error> {
        let done = self.client.batch_execute(sql);
        done.map_err(|error| failed(&self.name, &error))
    }

    fn statement(&mut self, sql: &str) -> Result<Statement, Error> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let prepared = self.client.prepare(&sql.replace('?', "$"));
        let statement = prepared.map_err(|error| failed(&self.name, &error))?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// The schema's number; 0: the database is empty.
    fn version(&mut self) -> Result<i64, Error> {
        let mut found = [false; 2];
        for (name, found) in ["meta", "run"].into_iter().zip(&mut found) {
            *found = self.has_table(name)?;
        }
        let mut version = match found {
            [false, false] => return Ok(0),
            _ => None,
        };
        if found[0] {
            self.query(
                "select value from meta where key = 'schema'",
                &[],
                &mut |row| {
                    version = row[0].as_text().and_then(|text| text.parse().ok());
                    Ok(())
                },
            )?;
        }
        version.ok_or_else(|| Error::NotAStore {
            store: self.name.clone(),
        })
    }

    /// Whether there is a table of this name. The catalogue is read, because `to_regclass` answers from a cache that is not
    /// renewed while a transaction waits for an advisory lock.
    fn has_table(&mut self, name: &str) -> Result<bool, Error> {
        let mut there = false;
        let sql = "select exists (select 1 from pg_class where relname = cast(?1 as text) and pg_table_is_visible(oid))";
        self.query(sql, &[Value::text(name)], &mut |row| {
            there = row[0].as_bool().unwrap_or(false);
            Ok(())
        })?;
        Ok(there)
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), Error> {
        self.batch(&format!("select pg_advisory_xact_lock({SCHEMA_LOCK})"))?;
        let version = self.version()?;
        for step in steps.iter().filter(|step| step.number > version) {
            if step.number == 1 {
                self.batch("create table meta (key text primary key, value text not null)")?;
            }
            self.batch(step.sql)?;
            let sql = "insert into meta values ('schema', ?1) on conflict (key) do update set value = excluded.value";
            self.execute(sql, &[Value::text(&step.number.to_string())])?;
        }
        Ok(())
    }

    fn in_transaction(
        &mut self,
        act: impl FnOnce(&mut Postgres) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.batch("begin")?;
        match act(self) {
            Ok(()) => self.commit(),
            Err(error) => {
                self.rollback();
                Err(error)
            }
        }
    }

    /// Makes the partition of a quarter, unless it is there.
    fn partition(&mut self, started: Timestamp) -> Result<(), Error> {
        let (name, [from, to]) = quarter(started);
        if self.has_table(&name)? {
            return Ok(());
        }
        self.in_transaction(|this| {
            this.batch(&format!("select pg_advisory_xact_lock({SCHEMA_LOCK})"))?;
            if this.has_table(&name)? {
                return Ok(());
            }
            this.batch(&format!(
                "create table {name} partition of sample for values from ('{from}Z') to ('{to}Z')"
            ))
        })
    }

    fn types(&mut self, table: &str, columns: &[&str]) -> Result<Vec<Type>, Error> {
        let sql = format!("select {} from {table} limit 0", columns.join(", "));
        let statement = self.statement(&sql)?;
        Ok(statement
            .columns()
            .iter()
            .map(|column| column.type_().clone())
            .collect())
    }
}

/// Name and bounds of the quarter of a time: `sample_2026q1`, from its first day to the next quarter's.
fn quarter(at: Timestamp) -> (String, [String; 2]) {
    let date = at.to_zoned(TimeZone::UTC).date();
    let quarter = (date.month() - 1) / 3;
    let from = civil::date(date.year(), quarter * 3 + 1, 1);
    let to = match quarter {
        3 => format!("{}-01-01", i32::from(date.year()) + 1),
        _ => civil::date(date.year(), quarter * 3 + 4, 1).to_string(),
    };
    let name = format!("sample_{}q{}", date.year(), quarter + 1);
    (name, [format!("{from} 00:00:00"), format!("{to} 00:00:00")])
}

impl Engine for Postgres {
    fn dialect(&self) -> Dialect {
        Dialect {
            key: "run_id",
            json: "::text",
            bytes: "collate \"C\"",
            position: "strpos",
            tag: ["(r.tags ->> ", ")"],
            hex: ["encode(", ", 'hex')"],
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
        self.in_transaction(|this| this.steps(steps))
    }

    fn begin(&mut self, run: &[u8; 32], started: Timestamp) -> Result<(), Error> {
        self.partition(started)?;
        self.batch("begin")?;
        let mut key = [0; 8];
        key.copy_from_slice(&run[..8]);
        let locked = self.execute(
            "select pg_advisory_xact_lock(?1)",
            &[Value::Int(i64::from_be_bytes(key))],
        );
        if locked.is_err() {
            self.rollback();
        }
        locked.map(drop)
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.batch("commit")
    }

    fn rollback(&mut self) {
        let _ = self.client.batch_execute("rollback");
    }

    fn key(&mut self, run: &[u8; 32]) -> Result<Option<Value>, Error> {
        Ok(Some(Value::Bytes(run.to_vec())))
    }

    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Error> {
        let statement = self.statement(sql)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        let done = self.client.execute(&statement, &values);
        done.map_err(|error| failed(&self.name, &error))
    }

    fn query(&mut self, sql: &str, values: &[Value], each: Each<'_>) -> Result<(), Error> {
        let statement = self.statement(sql)?;
        let failed = |error: postgres::Error| failed(&self.name, &error);
        let mut rows = self.client.query_raw(&statement, values).map_err(failed)?;
        let mut row = Vec::new();
        while let Some(found) = rows.next().map_err(failed)? {
            row.clear();
            for column in 0..found.len() {
                row.push(found.try_get::<_, Value>(column).map_err(failed)?);
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
        let types = self.types(table, columns)?;
        let sql = format!(
            "copy {table} ({}) from stdin (format binary)",
            columns.join(", ")
        );
        let failed = |error: postgres::Error| failed(&self.name, &error);
        let writer = self.client.copy_in(&sql).map_err(failed)?;
        let mut writer = BinaryCopyInWriter::new(writer, &types);
        for row in rows {
            let row: Vec<&(dyn ToSql + Sync)> = row.iter().map(|value| value as _).collect();
            writer.write(&row).map_err(failed)?;
        }
        writer.finish().map_err(failed)
    }
}

fn failed(store: &str, error: &postgres::Error) -> Error {
    Error::Database {
        store: store.to_owned(),
        why: message(error),
    }
}

/// The server's message in one line; the client's own, when the server gave none.
fn message(error: &postgres::Error) -> String {
    let text = match error.as_db_error() {
        Some(server) => server.message().to_owned(),
        None => match error.source() {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        },
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_has_its_partition() {
        let of = |text: &str| {
            let (name, [from, to]) = quarter(text.parse().unwrap());
            format!("{name} {from} {to}")
        };
        assert_eq!(
            of("2026-01-01T00:00:00Z"),
            "sample_2026q1 2026-01-01 00:00:00 2026-04-01 00:00:00"
        );
        assert_eq!(
            of("2026-03-31T23:59:59.999999999Z"),
            "sample_2026q1 2026-01-01 00:00:00 2026-04-01 00:00:00"
        );
        assert_eq!(
            of("2026-12-31T23:00:00Z"),
            "sample_2026q4 2026-10-01 00:00:00 2027-01-01 00:00:00"
        );
        assert_eq!(
            of("9999-12-30T21:00:00Z"),
            "sample_9999q4 9999-10-01 00:00:00 10000-01-01 00:00:00"
        );
    }
}
