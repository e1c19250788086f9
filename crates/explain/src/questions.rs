//! What a run's study compares: which cells along which factor in which figures.
//!
//! The essay of [`crate::differences`] says why these and no others.

use std::collections::BTreeMap;

use record::Run;
use study::{Cell, Clock, Plan, TableSpec};

use crate::options::Options;
use crate::tables::{crossed, tables};
pub(crate) use compare::{has, varying};

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Series {
    pub(crate) phase: String,
    pub(crate) metric: String,
    pub(crate) clock: Clock,
}

/// Cells to compare along a factor.
pub(crate) struct Question<'a> {
    pub(crate) title: String,
    pub(crate) factor: String,
    pub(crate) series: Vec<(Series, Vec<&'a Cell>)>,
    /// One family for each combination of the other factors; else one in all, as tables and grids have.
    pub(crate) split: bool,
}

/// What is to be compared: by the study's tables and grids and along every factor that they leave open, or as the
/// options say.
pub(crate) fn questions<'a>(run: &'a Run, options: &Options) -> Vec<Question<'a>> {
    let plan = &run.plan;
    let cells: Vec<&Cell> = plan
        .cells
        .iter()
        .filter(|cell| passes(cell, options))
        .collect();
    if options.factors.is_empty() && options.metric.is_none() {
        let tables = tables(run);
        let mut all = of_tables(&tables, &cells);
        all.extend(of_grids(plan, &cells));
        all.extend(of_tables(&crossed(run, &tables), &cells));
        all
    } else {
        let factors = match options.factors.as_slice() {
            [] => varying(plan, &cells),
            named => named.to_vec(),
        };
        let series = headline(run, options);
        let with_cells = |series: &Series| (series.clone(), cells.clone());
        let question = |factor: String| Question {
            title: format!("by {factor}"),
            factor,
            series: series.iter().map(with_cells).collect(),
            split: true,
        };
        factors.into_iter().map(question).collect()
    }
}

/// Whether a cell passes every `--filter`; several levels of one factor are alternatives.
pub(crate) fn passes(cell: &Cell, options: &Options) -> bool {
    options.filter.iter().all(|(factor, _)| {
        let mut levels = options.filter.iter().filter(|(f, _)| f == factor);
        levels.any(|(_, level)| cell.levels.get(factor) == Some(level))
    })
}

fn of_tables<'a>(tables: &[TableSpec], cells: &[&'a Cell]) -> Vec<Question<'a>> {
    let question = |table: &TableSpec| {
        let cells: Vec<&Cell> = cells
            .iter()
            .copied()
            .filter(|cell| has(cell, &table.filter))
            .collect();
        let series = table.rows.iter().map(|row| Series {
            phase: row.phase.clone(),
            metric: row.metric.clone(),
            clock: row.clock,
        });
        Question {
            title: table.title.trim_end_matches(':').to_owned(),
            factor: table.columns.clone(),
            series: series.map(|series| (series, cells.clone())).collect(),
            split: false,
        }
    };
    tables.iter().map(question).collect()
}

fn of_grids<'a>(plan: &Plan, cells: &[&'a Cell]) -> Vec<Question<'a>> {
    let mut all = Vec::new();
    for grid in &plan.grids {
        let mut series: Vec<(Series, Vec<&Cell>)> = Vec::new();
        for column in &grid.columns {
            let one = Series {
                phase: column.phase.clone(),
                metric: column.metric.clone(),
                clock: column.clock,
            };
            let shown = cells
                .iter()
                .copied()
                .filter(|cell| has(cell, &grid.filter) && has(cell, &column.filter));
            let known = series.iter().position(|(known, _)| *known == one);
            let known = known.unwrap_or_else(|| {
                series.push((one, Vec::new()));
                series.len() - 1
            });
            for cell in shown {
                if !series[known].1.iter().any(|c| c.id == cell.id) {
                    series[known].1.push(cell);
                }
            }
        }
        let shown: Vec<&Cell> = series
            .iter()
            .flat_map(|(_, cells)| cells.iter().copied())
            .collect();
        all.extend(varying(plan, &shown).into_iter().map(|factor| Question {
            title: grid.title.trim_end_matches(':').to_owned(),
            factor,
            series: series.clone(),
            split: false,
        }));
    }
    all
}

/// The figure of each phase that says how fast it was: a metric that was asked for, else its
/// throughput, files or seconds, under (a) and (c).
fn headline(run: &Run, options: &Options) -> Vec<Series> {
    let rank = |metric: &str| match (&options.metric, metric) {
        (Some(asked), metric) => (asked == metric).then_some(0),
        (None, "throughput") => Some(0),
        (None, "files") => Some(1),
        (None, "seconds") => Some(2),
        _ => None,
    };
    let mut best: BTreeMap<&str, usize> = BTreeMap::new();
    let samples = || run.trials.iter().flat_map(|trial| &trial.samples);
    for sample in samples() {
        if let Some(rank) = rank(&sample.metric) {
            let entry = best.entry(&sample.phase).or_insert(rank);
            *entry = rank.min(*entry);
        }
    }
    let mut all: Vec<Series> = Vec::new();
    for sample in samples() {
        let wanted =
            rank(&sample.metric).is_some_and(|r| best.get(sample.phase.as_str()) == Some(&r));
        let clock = options
            .clock
            .map_or(sample.clock != Clock::Fsync, |c| c == sample.clock);
        let series = Series {
            phase: sample.phase.clone(),
            metric: sample.metric.clone(),
            clock: sample.clock,
        };
        if wanted && clock && !all.contains(&series) {
            all.push(series);
        }
    }
    all
}
