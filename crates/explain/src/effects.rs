//! What each factor does: every level against the first, over the levels of the other factors.
//!
//! A table compares cells that differ in one factor alone, one by one. A reader asks more: what does this
//! factor do, whatever the others are? Trials stand in complete blocks of all cells, so each block
//! answers by itself: the mean, over the other factors' levels, of the logarithm of the ratio of two cells
//! that differ in this factor alone. A t test over the blocks then gives ratio and interval (Fisher, The
//! Design of Experiments, 1935, chapters V and VI: the main effect of a factorial experiment). It is computed as the
//! comparison of geometric means, by [`::compare::pair`], so that one statistic judges everything.
//!
//! A main effect misleads where the factor does one thing here and another there. So the logarithms of the ratio
//! at two levels of each other factor are compared, block by block. Where their ratio is clear of the practical band
//! and the correction for all such tests leaves it, the interaction counts, and the effect is reported at
//! each level of that factor instead.
//!
//! Rejected: an analysis of variance with one pooled error over all cells, for the reason that
//! [`stats::compare()`] gives.

mod interactions;
mod latency;
mod subject;

use std::collections::{BTreeMap, BTreeSet};

use record::Run;
use serde::Serialize;
use stats::{Comparison, Verdict};
use study::{Cell, Clock, RowSpec};

use crate::options::Options;
use crate::questions::passes;
use crate::tables::{at_clock, cells_of, compared_factors, rows_of, tables, workloads};

use interactions::interactions;
use subject::{Stratum, Subject, subjects_of};

/// A workload with the rows that are compared of it.
type Rows = (String, Vec<RowSpec>);

/// Factor to level.
type Levels = BTreeMap<String, String>;

/// One level against another in one figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The workload.
    pub workload: String,
    /// Phase.
    pub phase: String,
    /// Metric.
    pub metric: String,
    /// What is inside the clock.
    pub clock: Clock,
    /// The study's label of the figure.
    pub label: String,
    /// Unit of the values as stored.
    pub unit: String,
    /// The factor in which the sides differ.
    pub factor: String,
    /// The level it is compared with.
    pub base: String,
    /// The other level.
    pub other: String,
    /// Levels at which it holds: empty, or those of the factor on which it depends.
    pub at: Levels,
    /// Factors over whose levels it is a mean.
    pub over: Vec<String>,
    /// Cells of both sides.
    pub cells: Vec<[u32; 2]>,
    /// Geometric means of the medians of both sides' cells, base first, in `unit`.
    pub values: [f64; 2],
    /// Other over base; the verdict is that of the family of all effects of the factor.
    pub comparison: Comparison,
    /// p of "not equal within the practical band", of two one-sided tests; none where nothing varies.
    pub p_equal: Option<f64>,
}

/// A factor whose effect depends on another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interaction {
    /// The workload.
    pub workload: String,
    /// Phase.
    pub phase: String,
    /// Metric.
    pub metric: String,
    /// What is inside the clock.
    pub clock: Clock,
    /// The factor.
    pub factor: String,
    /// Its levels that were compared, base first.
    pub levels: [String; 2],
    /// The factor on which the effect depends.
    pub on: String,
    /// Its levels, of which the second's ratio was divided by the first's.
    pub on_levels: [String; 2],
    /// Ratio of the two ratios.
    pub ratio: f64,
    /// Its interval.
    pub interval: (f64, f64),
    /// p after correction for all interactions of the factor.
    pub p_adjusted: f64,
}

/// A factor of several levels that is compared nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotCompared {
    /// The factor.
    pub factor: String,
    /// Why.
    pub why: String,
}

/// What the factors of a run do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Effects {
    /// In the order of the workloads, their figures, the factors and their levels.
    pub effects: Vec<Effect>,
    /// The same of the latency of calls: of each phase the kind of call in which most of its time went.
    pub latencies: Vec<Effect>,
    /// Interactions that count, the strongest of each effect.
    pub interactions: Vec<Interaction>,
    /// Factors that are compared nowhere.
    pub not_compared: Vec<NotCompared>,
    /// Comparisons of too few blocks for an interval.
    pub too_few: usize,
}

impl Effects {
    /// Whether an effect is a difference that counts.
    pub fn is_established(effect: &Effect) -> bool {
        matches!(effect.comparison.verdict, Verdict::Better | Verdict::Worse)
    }

    /// Whether both sides are equal for practical purposes: the whole interval is within the band.
    pub fn is_equal(effect: &Effect) -> bool {
        effect.comparison.verdict == Verdict::Same
    }
}

/// The effects of all factors that the cells passing the filter vary.
pub fn effects(run: &Run, options: &Options) -> Effects {
    let plan = &run.plan;
    let tables = tables(run);
    let mut found = Effects::default();
    let mut factors: Vec<String> = Vec::new();
    for workload in workloads(plan) {
        for factor in compared_factors(plan, &filtered(run, options, &workload)) {
            if !factors.contains(&factor) {
                factors.push(factor);
            }
        }
    }
    let rows: Vec<Rows> = workloads(plan)
        .into_iter()
        .map(|workload| {
            let rows = rows_of(run, &tables, &workload);
            let rows = match options.clock {
                Some(clock) => at_clock(run, &workload, rows, clock),
                None => rows,
            };
            (workload, rows)
        })
        .collect();
    for factor in &factors {
        let subjects = all_subjects(run, options, factor, &rows);
        of_factor(run, options, &subjects, &mut found);
        if !found.effects.iter().any(|effect| effect.factor == *factor) {
            let why = why_not(run, factor, &subjects);
            found.not_compared.push(NotCompared {
                factor: factor.clone(),
                why,
            });
        }
    }
    sort(&mut found.effects, &rows);
    if options.clock.is_none_or(|clock| clock == Clock::Original) {
        found.latencies = latencies(run, options, &factors, &rows);
    }
    found
}

/// What the factors do to the latency of each phase: comparisons of a family of their own for each factor, so that
/// those of speeds do not depend on whether latencies were recorded.
fn latencies(run: &Run, options: &Options, factors: &[String], rows: &[Rows]) -> Vec<Effect> {
    let rows = rows.iter().map(|(workload, rows)| {
        let cells = filtered(run, options, workload);
        let rows = latency::rows_of(run, workload, rows, &cells);
        (workload.clone(), rows)
    });
    let rows: Vec<Rows> = rows.collect();
    let mut found = Effects::default();
    for factor in factors {
        let subjects = all_subjects(run, options, factor, &rows);
        of_factor(run, options, &subjects, &mut found);
    }
    sort(&mut found.effects, &rows);
    found.effects
}

/// Every figure with every level of a factor against the base.
fn all_subjects<'a>(
    run: &Run,
    options: &Options,
    factor: &'a str,
    rows: &'a [Rows],
) -> Vec<Subject<'a>> {
    let mut subjects = Vec::new();
    for (workload, rows) in rows {
        let cells = filtered(run, options, workload);
        for row in rows {
            subjects.extend(subjects_of(run, options, workload, row, factor, &cells));
        }
    }
    subjects
}

/// In the order of the workloads and their rows; the factors of a row stay in their order.
fn sort(effects: &mut [Effect], rows: &[Rows]) {
    effects.sort_by_key(|effect| {
        let at = |(workload, rows): &Rows| {
            (*workload == effect.workload).then(|| rows.iter().position(|row| is_of(row, effect)))
        };
        rows.iter()
            .enumerate()
            .find_map(|(n, one)| Some((n, at(one)??)))
    });
}

fn is_of(row: &RowSpec, effect: &Effect) -> bool {
    (&row.phase, &row.metric, row.clock) == (&effect.phase, &effect.metric, effect.clock)
}

fn filtered<'a>(run: &'a Run, options: &Options, workload: &str) -> Vec<&'a Cell> {
    let mut cells = cells_of(&run.plan, workload);
    cells.retain(|cell| passes(cell, options));
    cells
}

/// The effects of one factor: its interactions are one family, the reported comparisons another.
fn of_factor(run: &Run, options: &Options, subjects: &[Subject<'_>], found: &mut Effects) {
    let depends = interactions(run, options, subjects);
    let mut effects: Vec<Effect> = Vec::new();
    for (subject, on) in subjects.iter().zip(&depends) {
        let parts: Vec<Levels> = match on {
            None => vec![Levels::new()],
            Some(one) => subject
                .levels_of(run, &one.on)
                .into_iter()
                .map(|level| Levels::from([(one.on.clone(), level)]))
                .collect(),
        };
        for at in parts {
            let here = |s: &Stratum| at.iter().all(|(f, l)| s.levels.get(f) == Some(l));
            match subject.compare(run, options.level, &here) {
                Ok(comparison) => effects.push(subject.effect(run, at.clone(), comparison)),
                Err(_) => found.too_few += 1,
            }
        }
    }
    let mut comparisons: Vec<Comparison> = effects.iter().map(|e| e.comparison.clone()).collect();
    // Every p is a probability: a comparison that is none was refused before.
    if stats::family(&mut comparisons, run.plan.band).is_ok() {
        for (effect, comparison) in effects.iter_mut().zip(comparisons) {
            effect.comparison = comparison;
        }
    }
    found.interactions.extend(depends.into_iter().flatten());
    found.effects.extend(effects);
}

/// Why a factor is compared nowhere.
fn why_not(run: &Run, factor: &str, subjects: &[Subject<'_>]) -> String {
    let finished = |cell: &&Cell| !run.finished(cell.id).is_empty();
    let cells: Vec<&Cell> = run.plan.cells.iter().filter(finished).collect();
    let levels: BTreeSet<&String> = cells.iter().filter_map(|c| c.levels.get(factor)).collect();
    if cells.is_empty() {
        return "no trial finished".to_owned();
    }
    if let (1, Some(level)) = (levels.len(), levels.first()) {
        return format!("only {factor}={level} has finished trials");
    }
    if subjects.is_empty() {
        return "no two cells that differ in it alone measured the same figure".to_owned();
    }
    let most = subjects.iter().map(|s| s.blocks.len()).max().unwrap_or(0);
    match most {
        0 => "no block has both sides of a comparison".to_owned(),
        1 => "one trial for each cell: --blocks 5 gives an interval".to_owned(),
        n => format!("{n} blocks, and none of the figures has a ratio"),
    }
}

#[cfg(test)]
mod tests;
