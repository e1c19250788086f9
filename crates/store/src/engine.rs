//! What a database does for the store. Everything else is written once, in SQL that both engines read.
//!
//! Statements name parameters `?1`, `?2` ...; words in braces differ between the engines ([`Dialect`]).

#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod sqlite;

use jiff::Timestamp;

use crate::error::Error;
use crate::value::Value;

/// Words of SQL that differ between the engines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect {
    /// `{key}`: the column by which tables refer to a run.
    pub(crate) key: &'static str,
    /// `{json}`: makes a JSON column text.
    pub(crate) json: &'static str,
    /// `{bytes}`: order of texts by their bytes.
    pub(crate) bytes: &'static str,
    /// `{position}`: the function of (text, part) that gives the place of the part, or 0.
    pub(crate) position: &'static str,
    /// `{tag:NAME}`: the value of a tag of `run r`.
    pub(crate) tag: [&'static str; 2],
    /// `{hex:COLUMN}`: bytes as hexadecimal digits in small letters.
    pub(crate) hex: [&'static str; 2],
}

impl Dialect {
    pub(crate) fn apply(&self, sql: &str) -> String {
        let mut text = sql
            .replace("{key}", self.key)
            .replace("{json}", self.json)
            .replace("{bytes}", self.bytes)
            .replace("{position}", self.position);
        for (word, around) in [("{tag:", self.tag), ("{hex:", self.hex)] {
            while let Some((before, rest)) = text.split_once(word) {
                let (inside, after) = rest.split_once('}').unwrap_or((rest, ""));
                text = format!("{before}{}{inside}{}{after}", around[0], around[1]);
            }
        }
        text
    }
}

/// One numbered step of the schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) number: i64,
    pub(crate) sql: &'static str,
}

/// Takes the columns of one row of an answer.
pub(crate) type Each<'e> = &'e mut dyn FnMut(&[Value]) -> Result<(), Error>;

/// A connection to a database.
pub(crate) trait Engine: Send {
    fn dialect(&self) -> Dialect;

    /// Brings the schema to the newest of the steps. A newer schema is refused.
    fn migrate(&mut self, steps: &[Step]) -> Result<(), Error>;

    /// Begins the transaction of an import, and waits for other imports of the same run.
    fn begin(&mut self, run: &[u8; 32], started: Timestamp) -> Result<(), Error>;

    fn commit(&mut self) -> Result<(), Error>;

    /// Ends a transaction without a trace. An error is not reported: the connection is lost, and with it the transaction.
    fn rollback(&mut self);

    /// The value of the key column of a run in other tables, when the run is there.
    fn key(&mut self, run: &[u8; 32]) -> Result<Option<Value>, Error>;

    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Error>;

    fn query(&mut self, sql: &str, values: &[Value], each: Each<'_>) -> Result<(), Error>;

    /// Inserts many rows. `columns` as in an `insert`.
    fn bulk(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &mut dyn Iterator<Item = Vec<Value>>,
    ) -> Result<u64, Error>;
}
