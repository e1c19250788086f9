//! Runs against runs.
//!
//! **The unit is the run.** Trials of one run share a boot, a layout and an hour, so they are alike in what the next run will not
//! repeat. Taken as independent they give false differences: where runs vary by 2 %, as trials do, pooled trials differ
//! in 29 to 35 of 100 comparisons of equal sides, medians of runs in 4 to 5 (docs/metrics.md has the table). So the medians of
//! the runs are compared, unpaired, by [`stats::compare()`]. A side of one run has no such values; its trials are compared, each
//! verdict says so, and a gate does not take it.

use serde::Serialize;
use stats::not_worse::{NotWorse, not_worse};
use stats::{Comparison, Verdict};
use study::Clock;

use crate::context::{Contexts, Times, contexts, times_of};
use crate::error::Error;
use crate::figure::{self, Figure, Measured, SideCell, cells_of};
use crate::key::{Keys, parameters, short_id};
use crate::options::{FailOn, MARGIN, Options};
use crate::side::{Side, disjoint};
use crate::tables;

/// A side in the report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideFacts {
    /// A, B, C ...
    pub letter: String,
    /// As it was named.
    pub name: String,
    /// Its runs.
    pub runs: Vec<RunFacts>,
}

/// A run in the report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunFacts {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its folder.
    pub from: String,
    /// The study.
    pub study: String,
    /// fslab's version and commit.
    pub tool: String,
    /// When it began.
    pub started_at: jiff::Timestamp,
    /// Whole trials.
    pub finished: usize,
    /// Trials that have still to run.
    pub remaining: usize,
    /// The user's tags.
    pub tags: record::Tags,
}

/// A cell that only one of two sides has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unmatched {
    /// Letter of the side that has it.
    pub side: String,
    /// Letter of the side that does not.
    pub missing_in: String,
    /// The cell.
    pub cell: String,
    /// In what it differs from the other side's cell of the same name, if there is one: `device.size: 1g here, 2g there`.
    pub differs: Vec<String>,
}

/// What a row's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Values {
    /// Medians of runs.
    Runs,
    /// Trials, because a side has one run.
    Trials,
}

/// Why the values of a row were not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum WhyNot {
    /// Times of different clocks, of which one is an emulator's.
    Clocks {
        /// Whose times.
        text: String,
    },
    /// A side has no value.
    Missing {
        /// Which side, and how many of its trials failed.
        text: String,
    },
    /// A side has one value.
    OneValue,
    /// A value is not above zero.
    NoRatio,
}

impl std::fmt::Display for WhyNot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            WhyNot::Clocks { text } | WhyNot::Missing { text } => text,
            WhyNot::OneValue => "one value on a side: how much it varies is not known",
            WhyNot::NoRatio => "a value is zero or less, so there is no ratio",
        })
    }
}

/// What a gate makes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    /// It passes.
    Passed,
    /// It fails: a regression, or not shown.
    Failed,
    /// It cannot be judged.
    Invalid,
}

/// One figure of one cell, of two sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Letters of the base and the other side.
    pub sides: [String; 2],
    /// The levels by which the cell differs from the others, or its workload.
    pub cell: String,
    /// Short id of its parameters.
    pub cell_id: String,
    /// Phase.
    pub phase: String,
    /// Metric.
    pub metric: String,
    /// What is inside the clock.
    pub clock: Clock,
    /// Unit of the values as stored.
    pub unit: String,
    /// Whether a larger value is better.
    pub higher_is_better: bool,
    /// What the values are.
    pub values_are: Values,
    /// The values, base first.
    pub values: [Vec<f64>; 2],
    /// Medians of the values; none without values.
    pub medians: [Option<f64>; 2],
    /// Geometric means of the values, whose ratio is compared; none without values or with one that is not above zero.
    pub means: [Option<f64>; 2],
    /// Runs with values.
    pub runs: [usize; 2],
    /// Trials with values.
    pub trials: [usize; 2],
    /// Other against base; none where there are too few values.
    pub comparison: Option<Comparison>,
    /// `worse`, `better`, `same` (equal within the band) or `unclear`; none where nothing was compared.
    pub verdict: Option<Verdict>,
    /// Not worse by more than the margin.
    pub not_worse: Option<NotWorse>,
    /// Why nothing was compared.
    pub why_not: Option<WhyNot>,
    /// Evidence that does not hold.
    pub invalid: Vec<String>,
    /// Trials on a busy machine.
    pub noisy: usize,
    /// What the gate makes of it; none without a gate.
    pub judged: Option<Judged>,
}

/// How a comparison ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing could be compared at all.
    Nothing,
    /// There is no gate, or it passed.
    Passed,
    /// The gate found a regression, or something not shown.
    Failed,
    /// The gate could not judge everything, and what it could judge passed.
    Invalid,
}

/// The gate in force.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gate {
    /// What fails it.
    pub fail_on: FailOn,
    /// The margin, a share; with `worse` the practical band.
    pub margin: f64,
    /// Whether sides of one run are judged.
    pub one_run: bool,
}

/// A comparison of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The sides, base first.
    pub sides: Vec<SideFacts>,
    /// In what their contexts differ.
    pub contexts: Contexts,
    /// Whose times the runs have; none where all are of hardware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_of: Option<String>,
    /// Every figure, by side, cell and figure.
    pub rows: Vec<Row>,
    /// Cells that have no partner.
    pub unmatched: Vec<Unmatched>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// Confidence level of intervals.
    pub level: f64,
    /// The practical band.
    pub band: f64,
    /// The gate; none: nothing fails.
    pub gate: Option<Gate>,
    /// How it ends.
    pub outcome: Outcome,
}

/// Compares every other side with the first.
///
/// # Errors
/// Fewer than two sides, a run on two sides, a metric that no run has, a setting that no statistic takes.
pub fn compare(sides: &[Side], options: &Options) -> Result<Compared, Error> {
    let [base, others @ ..] = sides else {
        return Err(Error::Option(
            "nothing to compare: name two sides or more".to_owned(),
        ));
    };
    if others.is_empty() {
        return Err(Error::Option(
            "one side has nothing to be compared with: name a second, as in `fslab compare A B`"
                .to_owned(),
        ));
    }
    disjoint(sides)?;
    figure::check(sides, options)?;
    let band = match (options.fail_on, options.margin) {
        (Some(FailOn::Worse), Some(margin)) => margin,
        _ => base.runs[0].run.plan.band,
    };
    let gate = options.fail_on.map(|fail_on| Gate {
        fail_on,
        margin: match fail_on {
            FailOn::Worse => band,
            FailOn::NotShown => options.margin.unwrap_or(MARGIN),
        },
        one_run: options.one_run,
    });
    let keys = Keys::of(
        sides
            .iter()
            .flat_map(|side| side.runs.iter().map(|one| &one.run)),
        &options.across,
    );
    let mut work = Work {
        options,
        keys: &keys,
        band,
        gate,
        rows: Vec::new(),
        unmatched: Vec::new(),
        notes: Vec::new(),
    };
    for (at, other) in others.iter().enumerate() {
        work.pair([(0, base), (at + 1, other)])?;
    }
    work.correct()?;
    work.judge()?;
    let outcome = work.outcome();
    let mut notes = work.notes;
    notes.extend(notes_on_runs(sides));
    Ok(Compared {
        sides: sides
            .iter()
            .enumerate()
            .map(|(at, side)| facts(at, side))
            .collect(),
        contexts: contexts(sides),
        times_of: times_of(sides.iter().flat_map(|side| &side.runs).map(|one| &one.run)),
        rows: work.rows,
        unmatched: work.unmatched,
        notes,
        level: options.level,
        band,
        gate,
        outcome,
    })
}

/// A, B ... Z, then S27, S28 ...
pub(crate) fn letter(at: usize) -> String {
    match u8::try_from(at) {
        Ok(at) if at < 26 => char::from(b'A' + at).to_string(),
        _ => format!("S{}", at + 1),
    }
}

fn facts(at: usize, side: &Side) -> SideFacts {
    let run = |one: &crate::side::SideRun| RunFacts {
        id: one.run.id.clone(),
        name: one.run.name.clone(),
        from: one.from.clone(),
        study: one.run.plan.study.clone(),
        tool: one.run.tool.clone(),
        started_at: one.run.started_at,
        finished: one
            .run
            .trials
            .iter()
            .filter(|trial| trial.status == record::Status::Finished)
            .count(),
        remaining: one.run.remaining().len(),
        tags: one.run.tags.clone(),
    };
    SideFacts {
        letter: letter(at),
        name: side.name.clone(),
        runs: side.runs.iter().map(run).collect(),
    }
}

fn notes_on_runs(sides: &[Side]) -> Vec<String> {
    let mut notes = Vec::new();
    for one in sides.iter().flat_map(|side| &side.runs) {
        let remaining = one.run.remaining().len();
        if remaining > 0 {
            notes.push(format!(
                "{} is not whole: {remaining} of {} trials have still to run",
                one.from,
                one.run.trials.len()
            ));
        }
    }
    notes
}

struct Work<'a> {
    options: &'a Options,
    keys: &'a Keys,
    band: f64,
    gate: Option<Gate>,
    rows: Vec<Row>,
    unmatched: Vec<Unmatched>,
    notes: Vec<String>,
}

impl Work<'_> {
    fn pair(&mut self, sides: [(usize, &Side); 2]) -> Result<(), Error> {
        let letters = sides.map(|(at, _)| letter(at));
        let [base, other] = sides.map(|(_, side)| side);
        let (order, of_base) = cells_of(base, self.keys);
        let (order_of_other, of_other) = cells_of(other, self.keys);
        let matched: Vec<&String> = order
            .iter()
            .filter(|key| of_other.contains_key(*key) && self.passes(&of_base[*key]))
            .collect();
        let names = names(&matched.iter().map(|key| &of_base[*key]).collect::<Vec<_>>());
        for (key, name) in matched.iter().zip(&names) {
            let pair = [&of_base[*key], &of_other[*key]];
            self.cell(&letters, [base, other], pair, name, &short_id(key))?;
        }
        let left = |order: &[String], own: &Cells, others: &Cells, side: usize| {
            let missing = order.iter().filter(|key| !others.contains_key(*key));
            let missing = missing.filter(|key| self.passes(&own[*key]));
            missing
                .map(|key| Unmatched {
                    side: letters[side].clone(),
                    missing_in: letters[1 - side].clone(),
                    cell: own[key].cell.label(),
                    differs: self.namesake(&own[key], others),
                })
                .collect::<Vec<_>>()
        };
        let mut unmatched = left(&order, &of_base, &of_other, 0);
        unmatched.extend(left(&order_of_other, &of_other, &of_base, 1));
        self.unmatched.extend(unmatched);
        Ok(())
    }

    fn passes(&self, cell: &SideCell) -> bool {
        self.options.passes(&cell.cell)
    }

    /// In what a cell differs from one of the same name on the other side.
    fn namesake(&self, cell: &SideCell, others: &Cells) -> Vec<String> {
        let same = others
            .values()
            .find(|other| other.cell.levels == cell.cell.levels);
        let Some(other) = same else {
            return Vec::new();
        };
        let across = &self.options.across;
        let [here, there] = [cell, other].map(|one| flat(&parameters(&one.cell, across)));
        let names = here
            .keys()
            .chain(there.keys())
            .collect::<std::collections::BTreeSet<_>>();
        let value = |of: &Flat, name: &str| of.get(name).cloned().unwrap_or_else(|| "-".to_owned());
        names
            .into_iter()
            .filter(|name| here.get(*name) != there.get(*name))
            .map(|name| {
                format!(
                    "{name}: {} here, {} there",
                    value(&here, name),
                    value(&there, name)
                )
            })
            .collect()
    }

    fn cell(
        &mut self,
        letters: &[String; 2],
        sides: [&Side; 2],
        cells: [&SideCell; 2],
        name: &str,
        id: &str,
    ) -> Result<(), Error> {
        let first = &sides[0].runs[cells[0].places[0].0].run;
        let workload = &cells[0].cell.workload_name;
        let traced_twin = !tables::cells_of(&first.plan, workload)
            .iter()
            .any(|cell| cell.id == cells[0].places[0].1);
        if traced_twin {
            return Ok(());
        }
        for figure in figure::figures(sides[0], workload, self.options) {
            let measured = [0, 1].map(|at| Measured::of(sides[at], cells[at], &figure));
            let unit = measured
                .iter()
                .map(|m| m.unit.clone())
                .find(|unit| !unit.is_empty());
            let Some(unit) = unit else { continue };
            let Some(up) = figure::direction(&figure.metric, &unit) else {
                continue;
            };
            let times = timing(sides, cells);
            let row = self.row(letters, name, id, &figure, unit, up, &measured, times)?;
            self.rows.push(row);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one row")]
    fn row(
        &self,
        letters: &[String; 2],
        name: &str,
        id: &str,
        figure: &Figure,
        unit: String,
        higher_is_better: bool,
        measured: &[Measured; 2],
        times: Option<String>,
    ) -> Result<Row, Error> {
        let runs = [0, 1].map(|at| measured[at].runs.len());
        let by_run = runs.iter().all(|count| *count >= 2);
        let values = [0, 1].map(|at| measured[at].values(by_run));
        let median = |values: &Vec<f64>| {
            (!values.is_empty()).then(|| stats::order::median_mut(&mut values.clone()))
        };
        let mut row = Row {
            sides: letters.clone(),
            cell: name.to_owned(),
            cell_id: id.to_owned(),
            phase: figure.phase.clone(),
            metric: figure.metric.clone(),
            clock: figure.clock,
            higher_is_better,
            values_are: if by_run { Values::Runs } else { Values::Trials },
            medians: [median(&values[0]), median(&values[1])],
            means: [geometric_mean(&values[0]), geometric_mean(&values[1])],
            values,
            runs,
            trials: [0, 1].map(|at| measured[at].trials()),
            comparison: None,
            verdict: None,
            not_worse: None,
            why_not: None,
            invalid: measured.iter().flat_map(|m| m.invalid.clone()).collect(),
            noisy: measured.iter().map(|m| m.noisy).sum(),
            judged: None,
            unit,
        };
        if let Some(why) = times.filter(|_| figure::is_of_time(&row.unit)) {
            row.why_not = Some(WhyNot::Clocks { text: why });
            return Ok(row);
        }
        if let Some(at) = row.trials.iter().position(|count| *count == 0) {
            let text = match measured[at].failed {
                0 => format!("{} has no value of it", letters[at]),
                failed => {
                    let failed = words::plural(failed as u64, "trial");
                    format!("{} has no value of it: {failed} failed", letters[at])
                }
            };
            row.why_not = Some(WhyNot::Missing { text });
            return Ok(row);
        }
        let options = stats::Options {
            level: self.options.level,
            band: self.band,
            paired: false,
            seed: 0,
            higher_is_better,
        };
        match stats::compare(&row.values[0], &row.values[1], options) {
            Ok(comparison) => row.comparison = Some(comparison),
            Err(stats::Error::TooFew { .. } | stats::Error::Empty) => {
                row.why_not = Some(WhyNot::OneValue);
            }
            Err(stats::Error::NotPositive { .. }) => {
                row.why_not = Some(WhyNot::NoRatio);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(row)
    }

    /// Corrects all comparisons as one family.
    fn correct(&mut self) -> Result<(), Error> {
        let mut family: Vec<Comparison> = self
            .rows
            .iter()
            .filter_map(|row| row.comparison.clone())
            .collect();
        stats::family(&mut family, self.band)?;
        let rows = self.rows.iter_mut().filter(|row| row.comparison.is_some());
        for (row, comparison) in rows.zip(family) {
            row.verdict = Some(comparison.verdict);
            row.comparison = Some(comparison);
        }
        Ok(())
    }

    fn judge(&mut self) -> Result<(), Error> {
        let margin = match self.gate {
            Some(Gate {
                fail_on: FailOn::NotShown,
                margin,
                ..
            }) => margin,
            _ => self.options.margin.unwrap_or(MARGIN),
        };
        for row in &mut self.rows {
            if let Some(comparison) = &row.comparison {
                row.not_worse = Some(not_worse(comparison, margin)?);
            }
            row.judged = self.gate.and_then(|gate| judged(row, gate));
        }
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        let any = |judged| self.rows.iter().any(|row| row.judged == Some(judged));
        let comparable = |row: &Row| !matches!(row.why_not, Some(WhyNot::Clocks { .. }));
        if !self.rows.iter().any(comparable) {
            Outcome::Nothing
        } else if any(Judged::Failed) {
            Outcome::Failed
        } else if any(Judged::Invalid) {
            Outcome::Invalid
        } else {
            Outcome::Passed
        }
    }
}

/// None without values, or with one that is not above zero.
fn geometric_mean(values: &[f64]) -> Option<f64> {
    let fits = !values.is_empty() && values.iter().all(|value| *value > 0.0);
    let mean = || values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64;
    fits.then(|| mean().exp())
}

/// What the gate makes of a row; none for one that it does not judge.
fn judged(row: &Row, gate: Gate) -> Option<Judged> {
    let enough = row.values_are == Values::Runs || gate.one_run;
    let Some(verdict) = row.verdict else {
        let invalid = match row.why_not {
            Some(WhyNot::Clocks { .. }) => false,
            // Counts of zero: nothing is worse, and nothing is shown.
            Some(WhyNot::NoRatio) => gate.fail_on == FailOn::NotShown,
            _ => true,
        };
        return invalid.then_some(Judged::Invalid);
    };
    if !row.invalid.is_empty() || !enough {
        return Some(Judged::Invalid);
    }
    let fails = match gate.fail_on {
        FailOn::Worse => verdict == Verdict::Worse,
        FailOn::NotShown => !row.not_worse.is_some_and(|found| found.shown),
    };
    Some(if fails {
        Judged::Failed
    } else {
        Judged::Passed
    })
}

/// Why times of two sides cannot be compared; none: they can.
fn timing(sides: [&Side; 2], cells: [&SideCell; 2]) -> Option<String> {
    let of = |at: usize| {
        let runs = cells[at]
            .places
            .iter()
            .map(|(run, _)| &sides[at].runs[*run].run);
        runs.map(Times::of)
            .collect::<std::collections::BTreeSet<_>>()
    };
    let (base, other) = (of(0), of(1));
    if base == other && base.len() == 1 {
        return None;
    }
    let list = |times: &std::collections::BTreeSet<Times>| {
        let names: Vec<String> = times.iter().map(ToString::to_string).collect();
        names.join(" and ")
    };
    Some(format!("{} against {}", list(&base), list(&other)))
}

type Cells = std::collections::BTreeMap<String, SideCell>;
type Flat = std::collections::BTreeMap<String, String>;

/// A document as dotted names and texts.
fn flat(document: &serde_json::Value) -> Flat {
    fn add(name: &str, value: &serde_json::Value, flat: &mut Flat) {
        match value {
            serde_json::Value::Object(map) => {
                for (key, value) in map {
                    let name = if name.is_empty() {
                        key.clone()
                    } else {
                        format!("{name}.{key}")
                    };
                    add(&name, value, flat);
                }
            }
            serde_json::Value::String(text) => {
                flat.insert(name.to_owned(), text.clone());
            }
            serde_json::Value::Null => {}
            other => {
                flat.insert(name.to_owned(), other.to_string());
            }
        }
    }
    let mut all = Flat::new();
    add("", document, &mut all);
    all
}

/// The names of cells: the levels in which they differ; of a lone cell its workload.
pub(crate) fn names(cells: &[&SideCell]) -> Vec<String> {
    let differs = |factor: &String| {
        let levels = cells.iter().map(|cell| cell.cell.levels.get(factor));
        levels.collect::<std::collections::BTreeSet<_>>().len() > 1
    };
    let name = |cell: &&SideCell| {
        let levels = cell
            .cell
            .levels
            .iter()
            .filter(|(factor, _)| differs(factor));
        let pairs: Vec<String> = levels.map(|(f, l)| format!("{f}={l}")).collect();
        let text = if pairs.is_empty() {
            cell.cell.workload_name.clone()
        } else {
            pairs.join(" ")
        };
        words::printable(&text).into_owned()
    };
    cells.iter().map(name).collect()
}
