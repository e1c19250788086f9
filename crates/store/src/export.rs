//! Samples of the store as a table: a row for each, with its run, its trial and the levels of its factors.
//!
//! Rows are written as the database gives them, so memory does not grow with the store. The columns are known first: those of
//! every table, and one for each factor of the runs that are exported, named as the factor, or `factor_NAME` where that is a
//! column already.

mod csv;
mod jsonl;
#[cfg(feature = "parquet")]
mod parquet;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use crate::Store;
use crate::error::Error;
use crate::select::{Selector, hex, time};
use crate::value::{Value, microseconds};

/// Columns before the factors.
const BEFORE: [&str; 13] = [
    "run_id",
    "run",
    "study",
    "profile",
    "tool",
    "commit",
    "machine",
    "kernel",
    "started_at",
    "trial",
    "block",
    "cell",
    "label",
];
/// Columns after the factors.
const AFTER: [&str; 7] = [
    "phase", "metric", "clock", "value", "unit", "holds", "timing",
];

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// RFC 4180, with a head line.
    Csv,
    /// A JSON object a line.
    Jsonl,
    /// Apache Parquet; feature `parquet`.
    Parquet,
}

impl Format {
    /// Whether this program was built with it.
    pub const fn is_built(self) -> bool {
        !matches!(self, Format::Parquet) || cfg!(feature = "parquet")
    }
}

/// What was exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Runs with samples.
    pub runs: u64,
    /// Rows.
    pub samples: u64,
}

/// A row of an export.
#[derive(Clone, Debug, PartialEq)]
struct Record<'r> {
    run_id: &'r str,
    name: String,
    study: String,
    profile: String,
    tool: String,
    commit: Option<String>,
    machine: Option<String>,
    /// Of the cell.
    kernel: Option<String>,
    started_at: String,
    trial: i64,
    block: i64,
    cell: i64,
    label: String,
    /// By factor.
    levels: &'r BTreeMap<String, String>,
    phase: String,
    metric: String,
    clock: String,
    value: f64,
    unit: String,
    holds: bool,
    /// Whose times the run has, as [`record::Run::timing`].
    timing: Option<&'r str>,
}

impl Record<'_> {
    /// The texts and numbers before the factors.
    fn before(&self) -> [Field<'_>; 13] {
        [
            Field::Text(self.run_id),
            Field::Text(&self.name),
            Field::Text(&self.study),
            Field::Text(&self.profile),
            Field::Text(&self.tool),
            optional(self.commit.as_deref()),
            optional(self.machine.as_deref()),
            optional(self.kernel.as_deref()),
            Field::Text(&self.started_at),
            Field::Int(self.trial),
            Field::Int(self.block),
            Field::Int(self.cell),
            Field::Text(&self.label),
        ]
    }

    /// What comes after the factors.
    fn after(&self) -> [Field<'_>; 7] {
        [
            Field::Text(&self.phase),
            Field::Text(&self.metric),
            Field::Text(&self.clock),
            Field::Real(self.value),
            Field::Text(&self.unit),
            Field::Bool(self.holds),
            optional(self.timing),
        ]
    }

    /// All fields of a flat table.
    fn fields(&self, factors: &[String]) -> Vec<Field<'_>> {
        let levels = factors.iter().map(|factor| {
            let level = self.levels.get(factor);
            level.map_or(Field::Null, |level| Field::Text(level))
        });
        let before = self.before().into_iter().chain(levels);
        before.chain(self.after()).collect()
    }
}

/// A field of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Field<'f> {
    Null,
    Text(&'f str),
    Int(i64),
    Real(f64),
    Bool(bool),
}

/// The field of a text that may be missing.
fn optional(text: Option<&str>) -> Field<'_> {
    text.map_or(Field::Null, Field::Text)
}

/// What writes rows.
trait Sink {
    fn row(&mut self, record: &Record<'_>) -> Result<(), Error>;

    fn finish(&mut self) -> Result<(), Error>;
}

/// The names of the columns of a flat table.
fn columns(factors: &[String]) -> Vec<String> {
    let taken = |factor: &str| {
        BEFORE
            .iter()
            .chain(&AFTER)
            .any(|name| name.eq_ignore_ascii_case(factor))
    };
    let of_factors = factors.iter().map(|factor| {
        if taken(factor) {
            format!("factor_{factor}")
        } else {
            factor.clone()
        }
    });
    let before = BEFORE.iter().map(|&name| name.to_owned());
    let after = AFTER.iter().map(|&name| name.to_owned());
    before.chain(of_factors).chain(after).collect()
}

impl Store {
    /// Writes the samples of the runs and cells that a selector names: by run, oldest first, then by trial, phase, metric
    /// and clock.
    ///
    /// # Errors
    /// [`Error::NothingSelected`], [`Error::Database`], [`Error::Output`].
    pub fn export(
        &mut self,
        selector: &Selector,
        format: Format,
        output: &mut (dyn Write + Send),
    ) -> Result<Exported, Error> {
        let cells = self.exported_cells(selector)?;
        let nothing = Error::NothingSelected {
            store: self.name.clone(),
        };
        // Before anything is written.
        if cells.is_empty() {
            return Err(nothing);
        }
        let factors: BTreeSet<&String> =
            cells.values().flat_map(|cell| cell.levels.keys()).collect();
        let factors: Vec<String> = factors.into_iter().cloned().collect();
        let mut sink: Box<dyn Sink + '_> = match format {
            Format::Csv => Box::new(csv::Csv::new(output, factors)?),
            Format::Jsonl => Box::new(jsonl::Jsonl::new(output)),
            #[cfg(feature = "parquet")]
            Format::Parquet => Box::new(parquet::Parquet::new(output, factors)?),
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => {
                let why = "this fslab was built without Parquet; build it with --features parquet, or take csv or jsonl";
                return Err(Error::Output(std::io::Error::other(why)));
            }
        };
        let exported = self.rows(selector, &cells, &mut *sink)?;
        if exported.samples == 0 {
            return Err(nothing);
        }
        sink.finish()?;
        Ok(exported)
    }

    /// The cells to export, by run and number.
    fn exported_cells(
        &mut self,
        selector: &Selector,
    ) -> Result<BTreeMap<(Vec<u8>, i64), ExportedCell>, Error> {
        let (condition, values) = selector.sql(1);
        let sql = self.engine.dialect().apply(&format!(
            "select r.run_id, c.cell, c.label, c.kernel, c.levels{{json}}, k.cell{{json}}, x.value{{json}}
             from cell c join run r on r.{{key}} = c.{{key}} join cell_kind k on k.cell_id = c.cell_id
             left join context x on x.{{key}} = r.{{key}} and x.moment = 'start' and x.name = 'run.timing'
             where {condition}"
        ));
        let mut cells = BTreeMap::new();
        self.engine.query(&sql, &values, &mut |row| {
            let levels = row[4]
                .as_text()
                .and_then(|text| serde_json::from_str(&text).ok());
            let cell = ExportedCell {
                label: row[2].as_text().unwrap_or_default(),
                kernel: row[3].as_text(),
                levels: levels.unwrap_or_default(),
                timing: timing(&row[5], &row[6]),
            };
            let run = row[0].as_bytes().unwrap_or_default().to_vec();
            cells.insert((run, row[1].as_int().unwrap_or(-1)), cell);
            Ok(())
        })?;
        Ok(cells)
    }

    fn rows(
        &mut self,
        selector: &Selector,
        cells: &BTreeMap<(Vec<u8>, i64), ExportedCell>,
        sink: &mut dyn Sink,
    ) -> Result<Exported, Error> {
        let (condition, values) = selector.sql(1);
        let sql = self.engine.dialect().apply(&format!(
            r#"select r.run_id, r.name, r.study, r.profile, r.tool, r."commit", r.machine, r.started_at,
               s.trial, t.block, t.cell, m.phase, m.metric, m.clock, s.value, m.unit, s.holds
               from run r join sample s on s.{{key}} = r.{{key}}
               join trial t on t.{{key}} = s.{{key}} and t.trial = s.trial
               join cell c on c.{{key}} = t.{{key}} and c.cell = t.cell
               join metric m on m.metric_id = s.metric_id
               where {condition}
               order by r.started_at, r.run_id, s.trial, m.phase {{bytes}}, m.metric {{bytes}}, m.clock {{bytes}},
               m.unit {{bytes}}, s.value"#
        ));
        let mut exported = Exported::default();
        let mut last = Vec::new();
        self.engine.query(&sql, &values, &mut |row| {
            let run = row[0].as_bytes().unwrap_or_default();
            if last != run {
                exported.runs += 1;
                last = run.to_vec();
            }
            exported.samples += 1;
            let cell = (last.clone(), row[10].as_int().unwrap_or(-1));
            if let Some(cell) = cells.get(&cell) {
                sink.row(&record(&hex(&last), cell, row))?;
            }
            Ok(())
        })?;
        Ok(exported)
    }
}

/// What the rows of a cell share.
struct ExportedCell {
    label: String,
    kernel: Option<String>,
    levels: BTreeMap<String, String>,
    timing: Option<String>,
}

/// Whose times a cell has: its parameters say whether its disk is a model, the context of its run the rest.
fn timing(parameters: &Value, said: &Value) -> Option<String> {
    let said: String = serde_json::from_str(&said.as_text()?).ok()?;
    let kind = || {
        let cell: serde_json::Value = serde_json::from_str(&parameters.as_text()?).ok()?;
        let kind = cell.pointer("/device/stack/layers/kind")?.as_str()?;
        Some(kind == "model")
    };
    // Times of hardware are on no model: the parameters are not read for them.
    let on_models = said != "real" && kind().unwrap_or(false);
    Some(record::run::timing(&said, on_models))
}

fn record<'r>(run_id: &'r str, cell: &'r ExportedCell, row: &[Value]) -> Record<'r> {
    let text = |n: usize| row[n].as_text().unwrap_or_default();
    let number = |n: usize| row[n].as_int().unwrap_or_default();
    Record {
        run_id,
        name: text(1),
        study: text(2),
        profile: text(3),
        tool: text(4),
        commit: row[5].as_text(),
        machine: row[6].as_text(),
        kernel: cell.kernel.clone(),
        started_at: time(&row[7]).map(microseconds).unwrap_or_default(),
        trial: number(8),
        block: number(9),
        cell: number(10),
        label: cell.label.clone(),
        levels: &cell.levels,
        phase: text(11),
        metric: text(12),
        clock: text(13),
        value: row[14].as_real().unwrap_or(f64::NAN),
        unit: text(15),
        holds: row[16].as_bool().unwrap_or(false),
        timing: cell.timing.as_deref(),
    }
}
