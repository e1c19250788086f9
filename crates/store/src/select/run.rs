//! Runs of a store as comparisons read them, and what a selector leaves of a run that was read from its folder.
//!
//! Both give the same: a run of [`Store::runs`] has the plan, contexts, trials, samples and evidence that its log has, and a
//! comparison of such runs prints what a comparison of the folders prints. It has no telemetry, phases, layouts, traces, notes and
//! ledgers: these are in the log alone.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use record::run::Closing;
use record::{Evidence, Run, Sample, Status, TrialRecord};
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use study::{Plan, Slot};

use super::{Condition, Selector, damaged, hex, sample, time};
use crate::Store;
use crate::error::Error;
use crate::rows::{Machine, kernel_of};
use crate::value::Value;

/// Fewest digits of an identity that `run=` takes; fewer are more likely a name.
pub(super) const DIGITS: usize = 6;

impl Selector {
    /// What the selector leaves of a run: the cells for which it holds, with their trials and contexts. None: it holds for no
    /// cell.
    pub fn narrow(&self, mut run: Run) -> Option<Run> {
        let cells = run.plan.cells.iter().filter(|cell| {
            let holds = |condition: &Condition| match condition {
                Condition::Kernel(series) => {
                    kernel_of(&run, cell).is_some_and(|kernel| is_of_series(&kernel, series))
                }
                _ => true,
            };
            self.conditions.iter().all(holds)
        });
        let cells: BTreeSet<u32> = cells.map(|cell| cell.id).collect();
        if cells.is_empty() || !self.conditions.iter().all(|one| one.holds(&run)) {
            return None;
        }
        keep(&mut run, &cells);
        Some(run)
    }
}

impl Condition {
    /// Whether a condition on runs holds; those on cells do.
    fn holds(&self, run: &Run) -> bool {
        match self {
            Condition::Kernel(_) => true,
            Condition::Commit(value) => {
                let tag = run.tags.get("commit").map(String::as_str);
                let mut commits = tag.into_iter().chain(run.commit());
                commits.any(|commit| commit.starts_with(value))
            }
            Condition::Machine(value) => {
                let machine = Machine::of(run);
                machine.text.is_some_and(|text| {
                    text == *value || (!machine.named && text.contains(value.as_str()))
                })
            }
            Condition::Study(value) => run.plan.study == *value,
            Condition::Profile(value) => run.plan.profile == *value,
            Condition::Run(value) => {
                run.name == *value
                    || (is_identity(value) && run.id.starts_with(&value.to_ascii_lowercase()))
            }
            Condition::Id(value) => run.id.starts_with(value),
            Condition::Tag(name, value) => run.tags.get(name) == Some(value),
        }
    }
}

/// Whether a text can be the first digits of an identity.
pub(super) fn is_identity(text: &str) -> bool {
    text.len() >= DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a release belongs to a series: 6.1 is 6.1.5, 6.1-rc3 and 6.1+, and not 6.12.
fn is_of_series(release: &str, series: &str) -> bool {
    let rest = release.strip_prefix(series);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+']))
}

/// Leaves out all other cells, with their slots and the contexts of kernels that only they ran under.
fn keep(run: &mut Run, cells: &BTreeSet<u32>) {
    if run.plan.cells.iter().all(|cell| cells.contains(&cell.id)) {
        return;
    }
    run.plan.cells.retain(|cell| cells.contains(&cell.id));
    run.plan.slots.retain(|slot| cells.contains(&slot.cell));
    let levels = run
        .plan
        .cells
        .iter()
        .filter_map(|cell| cell.kernel.as_deref());
    let kept: BTreeSet<String> = levels.map(Run::of_kernel).collect();
    run.contexts
        .retain(|when, _| !when.starts_with(&Run::of_kernel("")) || kept.contains(when));
}

/// A row of `run` with its plan.
struct Head {
    key: Value,
    run: Run,
}

/// What the column `head` has.
#[derive(Deserialize)]
struct First {
    at: Timestamp,
    command: Vec<String>,
}

impl Store {
    /// The whole runs of a selector as comparisons read them, oldest first, each with the cells that were selected. Only these
    /// runs are read.
    ///
    /// # Errors
    /// [`Error::Database`], [`Error::NoPlan`].
    pub fn runs(&mut self, selector: &Selector) -> Result<Vec<Run>, Error> {
        let mut runs = Vec::new();
        for Head { key, mut run } in self.whole(selector)? {
            let phases = self.phases(&key)?;
            self.trials(&key, &mut run)?;
            if !run.remaining().is_empty() {
                continue;
            }
            self.evidence(&key, &mut run)?;
            self.samples(&key, &mut run, &phases)?;
            run.contexts = self.contexts(&key)?;
            keep(&mut run, &self.chosen(selector, &key)?);
            runs.push(run);
        }
        Ok(runs)
    }

    /// Runs that ended, without their trials.
    fn whole(&mut self, selector: &Selector) -> Result<Vec<Head>, Error> {
        let (condition, values) = selector.sql(1);
        let sql = self.sql(&format!(
            "select r.{{key}}, r.run_id, r.name, r.tool, r.target, cast(r.seed as text), r.tags{{json}}, r.head{{json}},
             p.plan{{json}}, r.ended_at, r.finished, r.failed, r.skipped
             from run r left join plan p on p.plan_id = r.plan_id
             where r.ended_at is not null
             and exists (select 1 from cell c where c.{{key}} = r.{{key}} and {condition})
             order by r.started_at, r.run_id"
        ));
        let (store, mut heads) = (self.name.clone(), Vec::new());
        self.engine.query(&sql, &values, &mut |row| {
            heads.push(head(&store, row)?);
            Ok(())
        })?;
        Ok(heads)
    }

    /// The numbers of the cells of a run that a selector names.
    fn chosen(&mut self, selector: &Selector, key: &Value) -> Result<BTreeSet<u32>, Error> {
        let (condition, given) = selector.sql(2);
        let values: Vec<Value> = std::iter::once(key.clone()).chain(given).collect();
        let sql = self.sql(&format!(
            "select c.cell from cell c join run r on r.{{key}} = c.{{key}} where c.{{key}} = ?1 and {condition}"
        ));
        let mut cells = BTreeSet::new();
        self.engine.query(&sql, &values, &mut |row| {
            cells.extend(number(&row[0]));
            Ok(())
        })?;
        Ok(cells)
    }

    /// The phases of each cell, in the order of the log.
    fn phases(&mut self, key: &Value) -> Result<BTreeMap<u32, Vec<String>>, Error> {
        let sql = self.sql("select cell, phases{json} from cell where {key} = ?1");
        let mut all = BTreeMap::new();
        self.engine
            .query(&sql, std::slice::from_ref(key), &mut |row| {
                let phases = row[1].as_text();
                let phases = phases.and_then(|text| serde_json::from_str(&text).ok());
                all.extend(number(&row[0]).zip(Some(phases.unwrap_or_default())));
                Ok(())
            })?;
        Ok(all)
    }

    fn trials(&mut self, key: &Value, run: &mut Run) -> Result<(), Error> {
        let sql = self.sql(
            "select trial, block, cell, cast(seed as text), status, failure, message, started_at
             from trial where {key} = ?1 order by trial",
        );
        let store = self.name.clone();
        self.engine
            .query(&sql, std::slice::from_ref(key), &mut |row| {
                let (slot, status) = trial(row).ok_or_else(|| damaged(&store, "a trial"))?;
                run.plan.slots.push(slot);
                run.trials.push(TrialRecord {
                    started_at: time(&row[7]),
                    status,
                    ..TrialRecord::default()
                });
                Ok(())
            })
    }

    fn evidence(&mut self, key: &Value, run: &mut Run) -> Result<(), Error> {
        let sql = self.sql(
            "select trial, phase, name, holds, detail from evidence where {key} = ?1
             order by trial, coalesce(phase, '') {bytes}, name {bytes}, detail {bytes}",
        );
        self.engine
            .query(&sql, std::slice::from_ref(key), &mut |row| {
                if let Some(trial) = of_trial(run, &row[0]) {
                    trial.evidence.push(Evidence {
                        phase: row[1].as_text(),
                        name: row[2].as_text().unwrap_or_default(),
                        holds: row[3].as_bool(),
                        detail: row[4].as_text().unwrap_or_default(),
                    });
                }
                Ok(())
            })
    }

    /// The samples of each trial, in the order of the log's phases.
    fn samples(
        &mut self,
        key: &Value,
        run: &mut Run,
        phases: &BTreeMap<u32, Vec<String>>,
    ) -> Result<(), Error> {
        let sql = self.sql(
            "select t.cell, s.trial, t.block, m.phase, m.metric, m.clock, s.value, m.unit, s.holds
             from sample s join trial t on t.{key} = s.{key} and t.trial = s.trial
             join metric m on m.metric_id = s.metric_id where s.{key} = ?1
             order by s.trial, m.phase {bytes}, m.metric {bytes}, m.clock {bytes}, m.unit {bytes}, s.value",
        );
        let store = self.name.clone();
        self.engine
            .query(&sql, std::slice::from_ref(key), &mut |row| {
                let sample = sample(&store, row)?;
                if let Some(trial) = of_trial(run, &row[1]) {
                    trial.samples.push(Sample {
                        phase: sample.phase,
                        metric: sample.metric,
                        clock: sample.clock,
                        value: sample.value,
                        unit: sample.unit,
                    });
                }
                Ok(())
            })?;
        for (slot, trial) in run.plan.slots.iter().zip(&mut run.trials) {
            if let Some(order) = phases.get(&slot.cell) {
                let place = |sample: &Sample| order.iter().position(|one| *one == sample.phase);
                trial
                    .samples
                    .sort_by_key(|sample| place(sample).unwrap_or(order.len()));
            }
        }
        Ok(())
    }

    /// Every context record in the form of the log.
    fn contexts(&mut self, key: &Value) -> Result<BTreeMap<String, Json>, Error> {
        let sql = self.sql(
            "select moment, name, value{json}, source, reason, number, volatile from context where {key} = ?1",
        );
        let mut all: BTreeMap<String, Map<String, Json>> = BTreeMap::new();
        self.engine
            .query(&sql, std::slice::from_ref(key), &mut |row| {
                let items = all.entry(row[0].as_text().unwrap_or_default()).or_default();
                items.insert(row[1].as_text().unwrap_or_default(), item(row).into());
                Ok(())
            })?;
        let record = |items| serde_json::json!({ "items": Json::Object(items) });
        Ok(all
            .into_iter()
            .map(|(moment, items)| (moment, record(items)))
            .collect())
    }
}

fn head(store: &str, row: &[Value]) -> Result<Head, Error> {
    let text = |n: usize| row[n].as_text().unwrap_or_default();
    let lost = |what| damaged(store, what);
    let (Some(first), Some(plan)) = (row[7].as_text(), row[8].as_text()) else {
        return Err(Error::NoPlan {
            store: store.to_owned(),
            run: text(2),
        });
    };
    let first: First = serde_json::from_str(&first).map_err(|_| lost("the head of a run"))?;
    let plan: Plan = serde_json::from_str(&plan).map_err(|_| lost("a plan"))?;
    let count = |n: usize| number(&row[n]).unwrap_or_default();
    let run = Run {
        name: text(2),
        id: row[1]
            .as_bytes()
            .map(hex)
            .ok_or_else(|| lost("a run's identity"))?,
        tags: serde_json::from_str(&text(6)).map_err(|_| lost("a run's tags"))?,
        tool: text(3),
        command: first.command,
        target: text(4),
        started_at: first.at,
        resumed: 0,
        plan: Plan {
            seed: text(5).parse().map_err(|_| lost("a run's seed"))?,
            ..plan
        },
        contexts: BTreeMap::new(),
        trials: Vec::new(),
        repeats: BTreeMap::new(),
        references: Vec::new(),
        notes: Vec::new(),
        closing: time(&row[9]).map(|at| Closing {
            at,
            finished: count(10),
            failed: count(11),
            skipped: count(12),
            seconds: 0.0,
            peak_rss: 0,
        }),
    };
    Ok(Head {
        key: row[0].clone(),
        run,
    })
}

fn number(value: &Value) -> Option<u32> {
    value.as_int().and_then(|number| number.try_into().ok())
}

fn of_trial<'r>(run: &'r mut Run, number: &Value) -> Option<&'r mut TrialRecord> {
    let number = self::number(number)?;
    run.trials.get_mut(number as usize)
}

fn trial(row: &[Value]) -> Option<(Slot, Status)> {
    let slot = Slot {
        trial: number(&row[0])?,
        block: number(&row[1])?,
        cell: number(&row[2])?,
        seed: row[3].as_text()?.parse().ok()?,
    };
    let message = || row[6].as_text().unwrap_or_default();
    let status = match row[4].as_text()?.as_str() {
        "pending" => Status::Pending,
        "finished" => Status::Finished,
        "failed" => {
            let kind = Json::String(row[5].as_text()?);
            Status::Failed(serde_json::from_value(kind).ok()?, message())
        }
        "replaced" => Status::Replaced {
            // "trial 12 counts in its place"
            by: message().split(' ').nth(1)?.parse().ok()?,
        },
        _ => return None,
    };
    Some((slot, status))
}

/// An item of a context record: value, source, reason, number, volatile from the third column on.
fn item(row: &[Value]) -> Map<String, Json> {
    let mut item = Map::new();
    let value = row[2].as_text();
    let value = value.and_then(|text| serde_json::from_str(&text).ok());
    item.insert("value".into(), value.unwrap_or(Json::Null));
    for (name, column) in [("source", &row[3]), ("reason", &row[4])] {
        if let Some(text) = column.as_text() {
            item.insert(name.into(), text.into());
        }
    }
    if let Some(number) = row[5].as_int() {
        item.insert("number".into(), number.into());
    }
    if row[6].as_bool() == Some(true) {
        item.insert("volatile".into(), true.into());
    }
    item
}
