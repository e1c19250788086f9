//! Selectors: `kernel=6.1`, `commit=abc`, `machine=x`, `tag.k=v`, and the runs that they name.

mod run;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use study::{Cell, Clock};

use crate::Store;
use crate::error::Error;
use crate::value::Value;

/// What a run must be like. Conditions with a comma between them must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    /// A kernel release, or the series that it begins with. It selects cells: those that ran under the kernel.
    Kernel(String),
    /// The tag `commit` or the commit of fslab, or its first digits.
    Commit(String),
    Machine(String),
    Study(String),
    Profile(String),
    /// A run's name, or the first digits of its identity.
    Run(String),
    /// The first digits of a run's identity.
    Id(String),
    Tag(String, String),
}

impl Selector {
    /// Whether a text is meant as a selector, as against a folder: it begins with a word that selects and `=`.
    pub fn is_meant(text: &str) -> bool {
        let words = [
            "kernel", "commit", "machine", "study", "profile", "run", "id",
        ];
        text.split_once('=')
            .is_some_and(|(word, _)| words.contains(&word) || word.starts_with("tag."))
    }

    /// The condition that all runs are of one study, added.
    #[must_use]
    pub fn of_study(mut self, study: &str) -> Selector {
        self.conditions.push(Condition::Study(study.to_owned()));
        self
    }

    /// The run of a name, or of the first digits of its identity.
    pub fn of_run(name: &str) -> Selector {
        Selector {
            conditions: vec![Condition::Run(name.to_owned())],
        }
    }

    /// The conditions of another selector, added.
    #[must_use]
    pub fn and(mut self, other: Selector) -> Selector {
        self.conditions.extend(other.conditions);
        self
    }

    /// The condition in SQL, on `run r` and `cell c`, and its parameters, the first of which has the number `next`.
    pub(crate) fn sql(&self, mut next: usize) -> (String, Vec<Value>) {
        let (mut all, mut values) = (String::from("1 = 1"), Vec::new());
        for condition in &self.conditions {
            let (sql, given) = condition.sql(next);
            all.push_str(" and ");
            all.push_str(&sql);
            next += given.len();
            values.extend(given.into_iter().map(Value::Text));
        }
        (all, values)
    }
}

impl Condition {
    fn of(key: &str, value: &str) -> Option<Condition> {
        let value = value.to_owned();
        Some(match key {
            "kernel" => Condition::Kernel(value),
            "commit" => Condition::Commit(value),
            "machine" => Condition::Machine(value),
            "study" => Condition::Study(value),
            "profile" => Condition::Profile(value),
            "run" => Condition::Run(value),
            "id" => Condition::Id(value.to_ascii_lowercase()),
            _ => Condition::Tag(
                key.strip_prefix("tag.")
                    .filter(|name| !name.is_empty())?
                    .to_owned(),
                value,
            ),
        })
    }

    fn sql(&self, n: usize) -> (String, Vec<String>) {
        let one = |sql: String, value: &String| (sql, vec![value.clone()]);
        let given = format!("cast(?{n} as text)");
        let begins = |text: &str| format!("substr({text}, 1, length({given})) = {given}");
        match self {
            // 6.1 is 6.1.5, 6.1-rc3 and 6.1+, and not 6.12.
            Condition::Kernel(value) => one(
                format!(
                    "(c.kernel = {given} or substr(c.kernel, 1, length({given}) + 1)
                     in ({given} || '.', {given} || '-', {given} || '+'))"
                ),
                value,
            ),
            Condition::Commit(value) => one(
                format!(
                    "({} or {})",
                    begins("{tag:'commit'}"),
                    begins(r#"r."commit""#)
                ),
                value,
            ),
            // A name is whole; a machine without one is found by a part of its description.
            Condition::Machine(value) => one(
                format!(
                    "(r.machine = {given} or (not r.machine_named and {{position}}(r.machine, {given}) > 0))"
                ),
                value,
            ),
            Condition::Study(value) => one(format!("r.study = {given}"), value),
            Condition::Profile(value) => one(format!("r.profile = {given}"), value),
            Condition::Run(value) if run::is_identity(value) => one(
                format!(
                    "(r.name = {given} or {})",
                    begins("{hex:r.run_id}").replace(&given, &format!("lower({given})"))
                ),
                value,
            ),
            Condition::Run(value) => one(format!("r.name = {given}"), value),
            Condition::Id(value) => one(begins("{hex:r.run_id}"), value),
            Condition::Tag(name, value) => (
                format!("{{tag:{given}}} = cast(?{} as text)", n + 1),
                vec![name.clone(), value.clone()],
            ),
        }
    }
}

impl FromStr for Selector {
    type Err = Error;

    /// `kernel=6.1,machine=x`. A comma that no key follows belongs to the value.
    fn from_str(text: &str) -> Result<Selector, Error> {
        let wrong = |why: String| Error::Selector {
            text: text.to_owned(),
            why,
        };
        let mut pairs: Vec<(String, String)> = Vec::new();
        for part in text.split(',') {
            let word = part.trim_start();
            let part = if Selector::is_meant(word) { word } else { part };
            match (part.split_once('='), pairs.last_mut()) {
                (Some((key, value)), _) if Selector::is_meant(part) => {
                    pairs.push((key.to_owned(), value.to_owned()));
                }
                (_, Some((_, value))) => {
                    value.push(',');
                    value.push_str(part);
                }
                (Some((key, _)), None) => {
                    let known =
                        "kernel=, commit=, machine=, study=, profile=, run=, id= or tag.NAME=";
                    return Err(wrong(format!("{key:?} selects nothing; use {known}")));
                }
                (None, None) => {
                    return Err(wrong(
                        "it has no KEY=VALUE, as in kernel=6.1 or tag.branch=main".into(),
                    ));
                }
            }
        }
        let mut conditions = Vec::new();
        for (key, value) in pairs {
            if value.is_empty() {
                return Err(wrong(format!("{key} has no value, as in {key}=6.1")));
            }
            let condition = Condition::of(&key, &value);
            conditions.push(
                condition.ok_or_else(|| wrong("a tag has a name, as in tag.branch=main".into()))?,
            );
        }
        Ok(Selector { conditions })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, condition) in self.conditions.iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            let (key, value) = match condition {
                Condition::Kernel(value) => ("kernel", value),
                Condition::Commit(value) => ("commit", value),
                Condition::Machine(value) => ("machine", value),
                Condition::Study(value) => ("study", value),
                Condition::Profile(value) => ("profile", value),
                Condition::Run(value) => ("run", value),
                Condition::Id(value) => ("id", value),
                Condition::Tag(name, value) => {
                    write!(f, "{comma}tag.{name}={value}")?;
                    continue;
                }
            };
            write!(f, "{comma}{key}={value}")?;
        }
        Ok(())
    }
}

/// A run that a selector names, with the cells that it names.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected {
    /// SHA-256 of the first line of its log, in 64 hexadecimal digits.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its study.
    pub study: String,
    /// Its profile.
    pub profile: String,
    /// Version and commit of the fslab that began it.
    pub tool: String,
    /// That commit.
    pub commit: Option<String>,
    /// Its machine: the tag `machine`, else model, CPUs and memory.
    pub machine: Option<String>,
    /// Its kernel at the start.
    pub kernel: Option<String>,
    /// When it began, to the microsecond.
    pub started_at: Timestamp,
    /// Whether all its trials had ended when it was imported.
    pub whole: bool,
    /// The user's tags.
    pub tags: BTreeMap<String, String>,
    /// The record of its context at the start, in the form of the log: `items` by name, each with `value` and `source`.
    pub context: serde_json::Value,
    /// The cells that were selected, in the order of the plan.
    pub cells: Vec<SelectedCell>,
}

/// A cell of a run that was selected.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectedCell {
    /// The cell as the plan has it.
    pub cell: Cell,
    /// The kernel that it ran under.
    pub kernel: Option<String>,
    /// Number of its series in this store: cells of equal parameters have the same.
    pub series: i64,
    /// The samples of its finished trials, in the order of trials, phases, metrics and clocks.
    pub samples: Vec<SelectedSample>,
}

/// A sample of a run that was selected.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectedSample {
    /// Number of its trial, from 0.
    pub trial: u32,
    /// Number of its block, from 0.
    pub block: u32,
    /// Phase in snake case.
    pub phase: String,
    /// Metric, as in docs/metrics.md.
    pub metric: String,
    /// What is inside the clock.
    pub clock: Clock,
    /// The value, in `unit`.
    pub value: f64,
    /// The stored unit.
    pub unit: String,
    /// Whether all evidence about its phase and its trial holds.
    pub holds: bool,
}

impl Store {
    /// The runs of a selector, oldest first, with the samples of their cells. Only these runs are read.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub fn select(&mut self, selector: &Selector) -> Result<Vec<Selected>, Error> {
        let mut runs = self.heads(selector)?;
        for (key, run) in &mut runs {
            run.cells = self.cells(selector, key)?;
            run.context = self.context(key)?;
        }
        Ok(runs.into_iter().map(|(_, run)| run).collect())
    }

    fn sql(&self, sql: &str) -> String {
        self.engine.dialect().apply(sql)
    }

    fn heads(&mut self, selector: &Selector) -> Result<Vec<(Value, Selected)>, Error> {
        let (condition, values) = selector.sql(1);
        let sql = self.sql(&format!(
            r#"select r.{{key}}, r.run_id, r.name, r.study, r.profile, r.tool, r."commit", r.machine, r.kernel,
               r.started_at, r.ended_at is not null, r.tags{{json}}
               from run r where exists (select 1 from cell c where c.{{key}} = r.{{key}} and {condition})
               order by r.started_at, r.run_id"#
        ));
        let mut runs = Vec::new();
        let store = self.name.clone();
        self.engine.query(&sql, &values, &mut |row| {
            runs.push((row[0].clone(), head(&store, row)?));
            Ok(())
        })?;
        Ok(runs)
    }

    fn cells(&mut self, selector: &Selector, key: &Value) -> Result<Vec<SelectedCell>, Error> {
        let (condition, given) = selector.sql(2);
        let values: Vec<Value> = std::iter::once(key.clone()).chain(given).collect();
        let from = format!(
            "from cell c join run r on r.{{key}} = c.{{key}} join cell_kind k on k.cell_id = c.cell_id
             where c.{{key}} = ?1 and {condition}"
        );
        let sql = self.sql(&format!(
            "select c.cell, c.cell_id, c.kernel, k.cell{{json}}, c.levels{{json}} {from} order by c.cell"
        ));
        let store = self.name.clone();
        let mut cells = Vec::new();
        self.engine.query(&sql, &values, &mut |row| {
            cells.push(cell(&store, row)?);
            Ok(())
        })?;
        let sql = self.sql(
            "select t.cell, s.trial, t.block, m.phase, m.metric, m.clock, s.value, m.unit, s.holds
             from sample s join trial t on t.{key} = s.{key} and t.trial = s.trial
             join metric m on m.metric_id = s.metric_id where s.{key} = ?1
             order by s.trial, m.phase {bytes}, m.metric {bytes}, m.clock {bytes}, m.unit {bytes}, s.value",
        );
        self.engine
            .query(&sql, std::slice::from_ref(key), &mut |row| {
                let number = row[0].as_int().unwrap_or(-1);
                let of = cells
                    .iter_mut()
                    .find(|cell| i64::from(cell.cell.id) == number);
                if let Some(cell) = of {
                    cell.samples.push(sample(&store, row)?);
                }
                Ok(())
            })?;
        Ok(cells)
    }

    fn context(&mut self, key: &Value) -> Result<serde_json::Value, Error> {
        let sql = self.sql(
            "select name, value{json}, source, reason from context where {key} = ?1 and moment = 'start'",
        );
        let mut items = serde_json::Map::new();
        self.engine
            .query(&sql, std::slice::from_ref(key), &mut |row| {
                let value = row[1]
                    .as_text()
                    .and_then(|text| serde_json::from_str(&text).ok());
                let mut item = serde_json::Map::new();
                item.insert("value".into(), value.unwrap_or(serde_json::Value::Null));
                for (name, column) in [("source", &row[2]), ("reason", &row[3])] {
                    if let Some(text) = column.as_text() {
                        item.insert(name.into(), text.into());
                    }
                }
                items.insert(row[0].as_text().unwrap_or_default(), item.into());
                Ok(())
            })?;
        Ok(serde_json::json!({ "items": items }))
    }
}

fn damaged(store: &str, what: &str) -> Error {
    Error::Database {
        store: store.to_owned(),
        why: format!("{what} cannot be read; import the runs into a new store"),
    }
}

/// A time of either engine.
pub(crate) fn time(value: &Value) -> Option<Timestamp> {
    match value {
        Value::Time(at) => Some(*at),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

/// An identity in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or('0');
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

fn head(store: &str, row: &[Value]) -> Result<Selected, Error> {
    let text = |n: usize| row[n].as_text();
    let tags = text(11).and_then(|tags| serde_json::from_str(&tags).ok());
    Ok(Selected {
        id: row[1]
            .as_bytes()
            .map(hex)
            .ok_or_else(|| damaged(store, "a run's identity"))?,
        name: text(2).unwrap_or_default(),
        study: text(3).unwrap_or_default(),
        profile: text(4).unwrap_or_default(),
        tool: text(5).unwrap_or_default(),
        commit: text(6),
        machine: text(7),
        kernel: text(8),
        started_at: time(&row[9]).ok_or_else(|| damaged(store, "the time of a run"))?,
        whole: row[10].as_bool().unwrap_or(false),
        tags: tags.ok_or_else(|| damaged(store, "a run's tags"))?,
        context: serde_json::Value::Null,
        cells: Vec::new(),
    })
}

fn cell(store: &str, row: &[Value]) -> Result<SelectedCell, Error> {
    let kept = row[3]
        .as_text()
        .and_then(|text| serde_json::from_str::<Cell>(&text).ok());
    let mut cell = kept.ok_or_else(|| damaged(store, "a cell"))?;
    let levels = row[4]
        .as_text()
        .and_then(|text| serde_json::from_str(&text).ok());
    // Those of this run: the series may have been written by a run with other names.
    cell.id = row[0]
        .as_int()
        .and_then(|id| id.try_into().ok())
        .unwrap_or(cell.id);
    cell.levels = levels.ok_or_else(|| damaged(store, "the levels of a cell"))?;
    Ok(SelectedCell {
        cell,
        kernel: row[2].as_text(),
        series: row[1].as_int().unwrap_or_default(),
        samples: Vec::new(),
    })
}

fn sample(store: &str, row: &[Value]) -> Result<SelectedSample, Error> {
    let number = |n: usize| row[n].as_int().and_then(|number| number.try_into().ok());
    let text = |n: usize| row[n].as_text().unwrap_or_default();
    let clock = serde_json::from_value(text(5).into()).ok();
    let whole = number(1).zip(number(2)).zip(clock).zip(row[6].as_real());
    let (((trial, block), clock), value) = whole.ok_or_else(|| damaged(store, "a sample"))?;
    Ok(SelectedSample {
        trial,
        block,
        phase: text(3),
        metric: text(4),
        clock,
        value,
        unit: text(7),
        holds: row[8].as_bool().unwrap_or(false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_read_and_written() {
        for text in [
            "kernel=6.1",
            "kernel=6.1,machine=Xeon, 2 CPUs",
            "tag.branch=a=b,commit=abc",
            "study=journal,profile=quick,run=x,id=0a",
        ] {
            let selector: Selector = text.parse().unwrap();
            assert_eq!(selector.to_string(), text);
            assert!(Selector::is_meant(text));
        }
        let spaced: Selector = "kernel=6.1, tag.branch=main".parse().unwrap();
        assert_eq!(spaced.to_string(), "kernel=6.1,tag.branch=main");
    }

    #[test]
    fn what_selects_nothing_is_refused() {
        for text in [
            "",
            "kernel",
            "kernel=",
            "colour=red",
            "tag.=x",
            "kernel=6.1,machine=",
        ] {
            let message = text.parse::<Selector>().unwrap_err().to_string();
            assert!(message.starts_with("selector "), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
        assert!(!Selector::is_meant("runs/kernel=6.1"));
        assert!(!Selector::is_meant("journal-20260102"));
    }
}
