//! Which figures of which cells are compared, and the values that each run has of them.

use std::collections::BTreeMap;

use record::{QUIET_MACHINE, Run, TrialRecord};
use study::metrics::{Better, of_name};
use study::{Cell, Clock};

use crate::direction::Direction;
use crate::error::Error;
use crate::key::Keys;
use crate::options::Options;
use crate::pair::higher_is_better;
use crate::side::Side;
use crate::tables;

/// A metric of a phase under a clock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Figure {
    pub(crate) phase: String,
    pub(crate) metric: String,
    pub(crate) clock: Clock,
}

/// A cell as the runs of one side have it.
#[derive(Clone, Debug)]
pub(crate) struct SideCell {
    /// Of the first run that has it.
    pub(crate) cell: Cell,
    /// Index of the run in the side, and the cell's number there.
    pub(crate) places: Vec<(usize, u32)>,
}

/// The cells of a side by key, and their keys in the order of the first run that has each.
pub(crate) fn cells_of(side: &Side, keys: &Keys) -> (Vec<String>, BTreeMap<String, SideCell>) {
    let mut order = Vec::new();
    let mut cells: BTreeMap<String, SideCell> = BTreeMap::new();
    for (at, one) in side.runs.iter().enumerate() {
        for cell in &one.run.plan.cells {
            let key = keys.key(cell);
            let entry = cells.entry(key.clone()).or_insert_with(|| {
                order.push(key);
                SideCell {
                    cell: cell.clone(),
                    places: Vec::new(),
                }
            });
            entry.places.push((at, cell.id));
        }
    }
    (order, cells)
}

/// The figures to compare of a workload: those that its study prints, or those that were asked for.
pub(crate) fn figures(side: &Side, workload: &str, options: &Options) -> Vec<Figure> {
    let mut all: Vec<Figure> = Vec::new();
    for one in &side.runs {
        let run = &one.run;
        let found = match &options.metric {
            Some(metric) => asked(run, workload, metric, options.clock),
            None => printed(run, workload, options.clock),
        };
        for figure in found {
            let wanted = options
                .phase
                .as_ref()
                .is_none_or(|phase| *phase == figure.phase);
            if wanted && !all.contains(&figure) {
                all.push(figure);
            }
        }
    }
    all
}

fn printed(run: &Run, workload: &str, clock: Option<Clock>) -> Vec<Figure> {
    let tables = tables::tables(run);
    let rows = tables::rows_of(run, &tables, workload);
    let rows = match clock {
        Some(clock) => tables::at_clock(run, workload, rows, clock),
        None => rows,
    };
    let figure = |row: study::RowSpec| Figure {
        phase: row.phase,
        metric: row.metric,
        clock: row.clock,
    };
    rows.into_iter().map(figure).collect()
}

/// A metric in every phase that has it. Without a clock: of a phase that writes to the end of syncfs, so that data still in
/// memory does not count as written, of others as the original tool has it.
fn asked(run: &Run, workload: &str, metric: &str, clock: Option<Clock>) -> Vec<Figure> {
    let ids: Vec<u32> = tables::cells_of(&run.plan, workload)
        .iter()
        .map(|c| c.id)
        .collect();
    let slots = run
        .plan
        .slots
        .iter()
        .filter(|slot| ids.contains(&slot.cell));
    let trials = slots.filter_map(|slot| run.trials.get(slot.trial as usize));
    let rank = |figure: &Figure| match (Direction::of(&figure.phase), figure.clock) {
        (Direction::Write, Clock::Syncfs) | (Direction::Read, Clock::Original) => 0,
        (_, Clock::Fsync) => 2,
        _ => 1,
    };
    let mut best: Vec<Figure> = Vec::new();
    for sample in trials.flat_map(|trial| &trial.samples) {
        if sample.metric != metric || clock.is_some_and(|clock| clock != sample.clock) {
            continue;
        }
        let figure = Figure {
            phase: sample.phase.clone(),
            metric: sample.metric.clone(),
            clock: sample.clock,
        };
        match best.iter_mut().find(|known| known.phase == figure.phase) {
            Some(known) if rank(&figure) < rank(known) => *known = figure,
            Some(_) => {}
            None => best.push(figure),
        }
    }
    best
}

/// Whether a larger value is better. None: it is neither, so that nothing can be better or worse.
pub(crate) fn direction(metric: &str, unit: &str) -> Option<bool> {
    match of_name(metric).map(|metric| metric.better) {
        Some(Better::Higher) => Some(true),
        Some(Better::Lower) => Some(false),
        Some(Better::Neither) => None,
        None => higher_is_better(unit),
    }
}

/// Refuses a metric that no run has, or that describes.
pub(crate) fn check(sides: &[Side], options: &Options) -> Result<(), Error> {
    let Some(metric) = &options.metric else {
        return Ok(());
    };
    let runs = || sides.iter().flat_map(|side| &side.runs);
    let trials = || runs().flat_map(|one| &one.run.trials);
    let mut samples = trials().flat_map(|trial| &trial.samples);
    let Some(sample) = samples.find(|sample| sample.metric == *metric) else {
        return Err(Error::Option(format!(
            "--metric {metric}: no run has it; `fslab metrics` lists the metrics of each workload"
        )));
    };
    match direction(metric, &sample.unit) {
        Some(_) => Ok(()),
        None => Err(Error::Option(format!(
            "--metric {metric}: more of it is neither better nor worse; choose a metric with a direction (`fslab metrics`)"
        ))),
    }
}

/// Whether a unit is made of seconds, which are not the same in an emulator.
pub(crate) fn is_of_time(unit: &str) -> bool {
    higher_is_better(unit).is_some()
}

/// What a side measured of a figure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) unit: String,
    /// The trials' values of each run that has any, in the order of the side's runs.
    pub(crate) runs: Vec<Vec<f64>>,
    /// Evidence that does not hold: `RUN trial N: NAME: DETAIL`.
    pub(crate) invalid: Vec<String>,
    /// Trials that ran on a busy machine.
    pub(crate) noisy: usize,
    /// Trials that failed.
    pub(crate) failed: usize,
}

impl Measured {
    pub(crate) fn of(side: &Side, cell: &SideCell, figure: &Figure) -> Measured {
        let mut measured = Measured::default();
        for (at, _) in side.runs.iter().enumerate() {
            let mut values = Vec::new();
            for (_, id) in cell.places.iter().filter(|(run, _)| *run == at) {
                measured.add(side, at, *id, figure, &mut values);
            }
            if !values.is_empty() {
                measured.runs.push(values);
            }
        }
        measured
    }

    fn add(&mut self, side: &Side, at: usize, id: u32, figure: &Figure, values: &mut Vec<f64>) {
        let one = &side.runs[at];
        let own = one.run.plan.slots.iter().filter(|slot| slot.cell == id);
        let status = own.filter_map(|slot| one.run.trials.get(slot.trial as usize));
        self.failed += status
            .filter(|trial| matches!(trial.status, record::Status::Failed(..)))
            .count();
        for (slot, trial) in one.run.finished(id) {
            let is_it = |s: &&record::Sample| {
                (&s.phase, &s.metric, s.clock) == (&figure.phase, &figure.metric, figure.clock)
            };
            let Some(sample) = trial.samples.iter().find(is_it) else {
                continue;
            };
            self.unit.clone_from(&sample.unit);
            values.push(sample.value);
            self.noisy += usize::from(trial.is_noisy());
            let failing = failing(trial, &figure.phase);
            let named = |text: String| format!("{} trial {}: {text}", one.run.name, slot.trial + 1);
            self.invalid.extend(failing.map(named));
        }
    }

    /// Trials with a value.
    pub(crate) fn trials(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }

    /// The values that are compared: the median of each run, or of a side of one run its trials.
    pub(crate) fn values(&self, by_run: bool) -> Vec<f64> {
        if by_run {
            let median = |values: &Vec<f64>| stats::order::median_mut(&mut values.clone());
            self.runs.iter().map(median).collect()
        } else {
            self.runs.concat()
        }
    }
}

/// Evidence of the phase or the whole trial that does not hold. A busy machine is noise and not invalid.
fn failing<'a>(trial: &'a TrialRecord, phase: &'a str) -> impl Iterator<Item = String> + 'a {
    let of_phase = move |found: &&record::Evidence| {
        found.phase.as_deref().is_none_or(|of| of == phase)
            && found.holds == Some(false)
            && found.name != QUIET_MACHINE
    };
    let found = trial.evidence.iter().filter(of_phase);
    let mut lines: Vec<String> = found
        .map(|found| format!("{}: {}", found.name, found.detail))
        .collect();
    // A store does not keep the order of the log.
    lines.sort();
    lines.into_iter()
}
