//! The rows of a run, written below its head.

use jiff::Timestamp;

use crate::engine::Engine;
use crate::error::Error;
use crate::rows::{CellRow, Rows, TrialRow};
use crate::value::Value;

/// Writes the rows of a run.
pub(super) struct Writer<'w> {
    pub(super) engine: &'w mut dyn Engine,
    /// The run, as other tables name it.
    pub(super) key: Value,
    /// When the run began.
    pub(super) started: Timestamp,
}

impl Writer<'_> {
    fn sql(&self, sql: &str) -> String {
        self.engine.dialect().apply(sql)
    }

    /// The cells and their series; the number of each cell's series.
    pub(super) fn cells(&mut self, rows: &Rows, new: bool) -> Result<Vec<i64>, Error> {
        let mut sorted: Vec<&CellRow> = rows.cells.iter().collect();
        // Always in the same order, so that two imports that add the same series cannot deadlock.
        sorted.sort_by_key(|cell| cell.sha);
        for cell in &sorted {
            self.add_kind(&rows.run.study, cell)?;
        }
        let mut kinds = vec![0; rows.cells.len()];
        for (cell, kind) in rows.cells.iter().zip(&mut kinds) {
            *kind = self.kind(cell)?.unwrap_or_default();
        }
        if !new {
            let delete = self.sql("delete from cell where {key} = ?1");
            self.engine
                .execute(&delete, std::slice::from_ref(&self.key))?;
        }
        let columns = [
            self.engine.dialect().key,
            "cell",
            "cell_id",
            "label",
            "levels",
            "kernel",
            "phases",
        ];
        let key = self.key.clone();
        let mut cells = rows.cells.iter().zip(&kinds).map(|(cell, kind)| {
            vec![
                key.clone(),
                Value::Int(cell.cell.into()),
                Value::Int(*kind),
                Value::text(&cell.label),
                Value::Text(cell.levels.to_string()),
                Value::or_null(cell.kernel.as_deref(), Value::text),
                Value::Text(cell.phases.to_string()),
            ]
        });
        self.engine.bulk("cell", &columns, &mut cells)?;
        Ok(kinds)
    }

    fn kind(&mut self, cell: &CellRow) -> Result<Option<i64>, Error> {
        let mut kind = None;
        let sql = "select cell_id from cell_kind where cell_sha = ?1";
        let sha = [Value::Bytes(cell.sha.to_vec())];
        self.engine.query(sql, &sha, &mut |row| {
            kind = row[0].as_int();
            Ok(())
        })?;
        Ok(kind)
    }

    fn add_kind(&mut self, study: &str, cell: &CellRow) -> Result<(), Error> {
        if self.kind(cell)?.is_some() {
            return Ok(());
        }
        let sql =
            "insert into cell_kind (cell_sha, study, label, filesystem, workload, levels, cell)
                   values (?1, ?2, ?3, ?4, ?5, ?6, ?7) on conflict (cell_sha) do nothing";
        let values = [
            Value::Bytes(cell.sha.to_vec()),
            Value::text(study),
            Value::text(&cell.label),
            Value::text(&cell.filesystem),
            Value::text(&cell.workload),
            Value::Text(cell.levels.to_string()),
            Value::Text(cell.parameters.to_string()),
        ];
        self.engine.execute(sql, &values).map(drop)
    }

    /// The number of each metric of the rows.
    fn metrics<'r>(&mut self, rows: &'r Rows) -> Result<Vec<(&'r [String; 4], i64)>, Error> {
        let mut numbers = Vec::new();
        for metric in rows.metrics() {
            let values: Vec<Value> = metric.iter().map(|word| Value::text(word)).collect();
            let mut number = self.metric(&values)?;
            if number.is_none() {
                let sql = "insert into metric (phase, metric, clock, unit) values (?1, ?2, ?3, ?4)
                           on conflict (phase, metric, clock, unit) do nothing";
                self.engine.execute(sql, &values)?;
                number = self.metric(&values)?;
            }
            numbers.push((metric, number.unwrap_or_default()));
        }
        Ok(numbers)
    }

    fn metric(&mut self, values: &[Value]) -> Result<Option<i64>, Error> {
        let sql = "select metric_id from metric where phase = ?1 and metric = ?2 and clock = ?3 and unit = ?4";
        let mut number = None;
        self.engine.query(sql, values, &mut |row| {
            number = row[0].as_int();
            Ok(())
        })?;
        Ok(number)
    }

    /// The trials with their samples and evidence; returns the number of samples.
    pub(super) fn trials(&mut self, rows: &Rows, kinds: &[i64], new: bool) -> Result<u64, Error> {
        let metrics = self.metrics(rows)?;
        if !new {
            for table in ["sample", "evidence", "trial"] {
                let sql = self.sql(&format!(
                    "delete from {table} where {{key}} = ?1 and trial = ?2"
                ));
                for trial in &rows.trials {
                    let values = [self.key.clone(), Value::Int(trial.slot.trial.into())];
                    self.engine.execute(&sql, &values)?;
                }
            }
        }
        self.trial_rows(&rows.trials)?;
        self.evidence(&rows.trials)?;
        let number = |metric| {
            let at = metrics.binary_search_by(|(known, _)| (*known).cmp(metric));
            at.map_or(0, |at| metrics[at].1)
        };
        let has_time = self.engine.dialect().key == "run_id";
        let mut columns = vec![
            self.engine.dialect().key,
            "trial",
            "cell_id",
            "metric_id",
            "holds",
            "value",
        ];
        if has_time {
            columns.push("started_at");
        }
        let (key, started) = (self.key.clone(), self.started);
        let samples = rows
            .trials
            .iter()
            .flat_map(|trial| trial.samples.iter().map(move |sample| (trial.slot, sample)));
        let mut samples = samples.map(|(slot, sample)| {
            let kind = kinds.get(slot.cell as usize).copied().unwrap_or_default();
            let mut row = vec![
                key.clone(),
                Value::Int(slot.trial.into()),
                Value::Int(kind),
                Value::Int(number(&sample.metric)),
                Value::Bool(sample.holds),
                Value::Real(sample.value),
            ];
            if has_time {
                row.push(Value::Time(started));
            }
            row
        });
        self.engine.bulk("sample", &columns, &mut samples)
    }

    fn trial_rows(&mut self, trials: &[TrialRow]) -> Result<(), Error> {
        let columns = [
            self.engine.dialect().key,
            "trial",
            "block",
            "cell",
            "seed",
            "status",
            "failure",
            "message",
            "started_at",
            "total_s",
        ];
        let key = self.key.clone();
        let mut rows = trials.iter().map(|trial| {
            vec![
                key.clone(),
                Value::Int(trial.slot.trial.into()),
                Value::Int(trial.slot.block.into()),
                Value::Int(trial.slot.cell.into()),
                Value::Number(trial.slot.seed),
                Value::text(trial.status),
                Value::or_null(trial.failure.as_deref(), Value::text),
                Value::or_null(trial.message.as_deref(), Value::text),
                Value::or_null(trial.started_at, Value::Time),
                Value::or_null(trial.total_s, Value::Real),
            ]
        });
        self.engine.bulk("trial", &columns, &mut rows).map(drop)
    }

    fn evidence(&mut self, trials: &[TrialRow]) -> Result<(), Error> {
        let columns = [
            self.engine.dialect().key,
            "trial",
            "phase",
            "name",
            "holds",
            "detail",
        ];
        let key = self.key.clone();
        let all = trials.iter().flat_map(|trial| {
            trial
                .evidence
                .iter()
                .map(move |found| (trial.slot.trial, found))
        });
        let mut rows = all.map(|(trial, found)| {
            vec![
                key.clone(),
                Value::Int(trial.into()),
                Value::or_null(found.phase.as_deref(), Value::text),
                Value::text(&found.name),
                Value::or_null(found.holds, Value::Bool),
                Value::text(&found.detail),
            ]
        });
        self.engine.bulk("evidence", &columns, &mut rows).map(drop)
    }

    pub(super) fn contexts(&mut self, rows: &Rows, new: bool) -> Result<(), Error> {
        let Some(contexts) = &rows.contexts else {
            return Ok(());
        };
        if !new {
            let delete = self.sql("delete from context where {key} = ?1");
            self.engine
                .execute(&delete, std::slice::from_ref(&self.key))?;
        }
        let columns = [
            self.engine.dialect().key,
            "moment",
            "name",
            "value",
            "source",
            "reason",
            "number",
            "volatile",
        ];
        let key = self.key.clone();
        let mut rows = contexts.iter().map(|item| {
            vec![
                key.clone(),
                Value::text(&item.moment),
                Value::text(&item.name),
                Value::or_null(item.value.as_ref(), |value| Value::Text(value.to_string())),
                Value::or_null(item.source.as_deref(), Value::text),
                Value::or_null(item.reason.as_deref(), Value::text),
                Value::or_null(item.number, Value::Int),
                Value::Bool(item.volatile),
            ]
        });
        self.engine.bulk("context", &columns, &mut rows).map(drop)
    }
}
