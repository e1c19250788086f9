//! The values of two sides of a comparison, in strata that differ in one factor alone.

use std::collections::{BTreeMap, BTreeSet};

use compare::pair;
use record::Run;
use stats::{Comparison, LogRatio};
use study::{Cell, Order, RowSpec};

use super::{Effect, Interaction, Levels};
use crate::options::Options;

/// The values of two cells that differ in the factor alone, by block.
pub(super) struct Stratum {
    pub(super) levels: Levels,
    pub(super) cells: [u32; 2],
    pub(super) values: [BTreeMap<u32, f64>; 2],
}

/// One figure with one level against the base, before it is known on what the effect depends.
pub(super) struct Subject<'a> {
    pub(super) workload: &'a str,
    pub(super) row: &'a RowSpec,
    /// Unit of the values as stored.
    pub(super) unit: String,
    pub(super) factor: &'a str,
    /// The level that is compared with, then the other.
    pub(super) levels: [String; 2],
    pub(super) strata: Vec<Stratum>,
    /// The blocks in which every stratum has both values.
    pub(super) blocks: Vec<u32>,
}

/// Every level of the factor against the base, with the strata that both have.
pub(super) fn subjects_of<'a>(
    run: &Run,
    options: &Options,
    workload: &'a str,
    row: &'a RowSpec,
    factor: &'a str,
    cells: &[&Cell],
) -> Vec<Subject<'a>> {
    let levels = levels(run, factor, cells);
    let values: BTreeMap<u32, (BTreeMap<u32, f64>, String)> = cells
        .iter()
        .filter_map(|cell| Some((cell.id, by_block(run, cell, row)?)))
        .collect();
    // The first level that was measured, also where this figure has no ratio: all figures have the same base.
    let measured = |level: &String| {
        let mut cells = cells.iter().filter(|c| c.levels.get(factor) == Some(level));
        cells.any(|cell| !run.finished(cell.id).is_empty())
    };
    let asked = options.base.iter().find(|base| levels.contains(base));
    let first = levels.iter().find(|level| measured(level));
    let Some(base) = asked.or(first) else {
        return Vec::new();
    };
    let unit = values.values().next().map(|(_, unit)| unit.clone());
    let subject = |other: &String| {
        let mut strata = Vec::new();
        for cell in cells.iter().filter(|c| c.levels.get(factor) == Some(other)) {
            let rest = rest(cell, factor);
            let twin = cells
                .iter()
                .find(|c| c.levels.get(factor) == Some(base) && self::rest(c, factor) == rest);
            let Some(twin) = twin else { continue };
            if let (Some((base, _)), Some((other, _))) =
                (values.get(&twin.id), values.get(&cell.id))
            {
                strata.push(Stratum {
                    levels: rest,
                    cells: [twin.id, cell.id],
                    values: [base.clone(), other.clone()],
                });
            }
        }
        let blocks = complete(&mut strata);
        Subject {
            workload,
            row,
            unit: unit.clone().unwrap_or_default(),
            factor,
            levels: [base.clone(), other.clone()],
            strata,
            blocks,
        }
    };
    let others = levels.iter().filter(|level| *level != base);
    others
        .map(subject)
        .filter(|s| !s.strata.is_empty())
        .collect()
}

/// The levels of a factor among cells, in the study's order.
fn levels(run: &Run, factor: &str, cells: &[&Cell]) -> Vec<String> {
    let here = cells.iter().filter_map(|c| c.levels.get(factor));
    in_order(run, factor, &here.collect())
}

/// Some levels of a factor in the study's order; those that the study does not list come last.
fn in_order(run: &Run, factor: &str, here: &BTreeSet<&String>) -> Vec<String> {
    let listed = run.plan.factors.iter().find(|(name, _)| name == factor);
    let listed = listed.map_or(&[][..], |(_, levels)| levels.as_slice());
    let mut all: Vec<String> = listed
        .iter()
        .filter(|l| here.contains(l))
        .cloned()
        .collect();
    for level in here {
        if !all.contains(level) {
            all.push((*level).clone());
        }
    }
    all
}

fn rest(cell: &Cell, factor: &str) -> Levels {
    let others = cell.levels.iter().filter(|(name, _)| *name != factor);
    others.map(|(f, l)| (f.clone(), l.clone())).collect()
}

/// A cell's values by block, and their unit; of a sequential run by the number of the repetition. None
/// without values, or with one that has no ratio.
fn by_block(run: &Run, cell: &Cell, row: &RowSpec) -> Option<(BTreeMap<u32, f64>, String)> {
    let blocked = run.plan.order == Order::Blocked;
    let mut unit = None;
    let mut values = BTreeMap::new();
    for (at, (slot, record)) in (0..).zip(run.finished(cell.id)) {
        let sample = record
            .samples
            .iter()
            .find(|s| (&s.phase, &s.metric, s.clock) == (&row.phase, &row.metric, row.clock));
        if let Some(sample) = sample {
            unit.get_or_insert_with(|| sample.unit.clone());
            values.insert(if blocked { slot.block } else { at }, sample.value);
        }
    }
    let has_ratio = values
        .values()
        .all(|value| value.is_finite() && *value > 0.0);
    unit.filter(|_| has_ratio).map(|unit| (values, unit))
}

/// The blocks in which all strata have both values. Where there are fewer than two, the stratum with the
/// fewest blocks is left out, until there are two or one stratum is left.
fn complete(strata: &mut Vec<Stratum>) -> Vec<u32> {
    let own = |stratum: &Stratum| -> BTreeSet<u32> {
        let [base, other] = &stratum.values;
        base.keys()
            .filter(|b| other.contains_key(b))
            .copied()
            .collect()
    };
    loop {
        let sets: Vec<BTreeSet<u32>> = strata.iter().map(own).collect();
        let all = sets
            .iter()
            .cloned()
            .reduce(|a, b| &a & &b)
            .unwrap_or_default();
        if all.len() >= 2 || strata.len() < 2 {
            return all.into_iter().collect();
        }
        let least = (0..sets.len()).min_by_key(|at| sets[*at].len());
        if let Some(at) = least {
            strata.remove(at);
        }
    }
}

impl Subject<'_> {
    /// Mean logarithms of base and other in each block, over some strata.
    fn logs(&self, of: &dyn Fn(&Stratum) -> bool) -> Vec<[f64; 2]> {
        let strata: Vec<&Stratum> = self.strata.iter().filter(|s| of(s)).collect();
        let mean = |block: u32, side: usize| {
            let logs = strata.iter().map(|s| s.values[side][&block].ln());
            logs.sum::<f64>() / strata.len() as f64
        };
        let blocks = self.blocks.iter();
        blocks.map(|&b| [mean(b, 0), mean(b, 1)]).collect()
    }

    /// Other over base, as means over some strata.
    pub(super) fn compare(
        &self,
        run: &Run,
        level: f64,
        of: &dyn Fn(&Stratum) -> bool,
    ) -> Result<Comparison, stats::Error> {
        let logs = self.logs(of);
        let side = |side: usize| -> Vec<(u32, f64)> {
            let blocks = self.blocks.iter().zip(&logs);
            blocks
                .map(|(block, log)| (*block, log[side].exp()))
                .collect()
        };
        pair::cells(&run.plan, level, &self.unit, &side(0), &side(1))
    }

    /// The levels of another factor among the strata, in the study's order.
    pub(super) fn levels_of(&self, run: &Run, factor: &str) -> Vec<String> {
        let here = self.strata.iter().filter_map(|s| s.levels.get(factor));
        in_order(run, factor, &here.collect())
    }

    /// The other factors in which the strata differ.
    pub(super) fn others(&self) -> Vec<String> {
        let names: BTreeSet<&String> = self.strata.iter().flat_map(|s| s.levels.keys()).collect();
        let names = names.into_iter().filter(|name| {
            let levels = self.strata.iter().map(|s| s.levels.get(*name));
            levels.collect::<BTreeSet<_>>().len() > 1
        });
        names.cloned().collect()
    }

    /// The ratio of the ratios at two levels of another factor: the second over the first.
    pub(super) fn ratio_of_ratios(
        &self,
        run: &Run,
        level: f64,
        factor: &str,
        levels: [&String; 2],
    ) -> Option<LogRatio> {
        let ratios = |at: &String| -> Vec<f64> {
            let logs = self.logs(&|s| s.levels.get(factor) == Some(at));
            logs.iter()
                .map(|[base, other]| (other - base).exp())
                .collect()
        };
        let [first, second] = levels.map(ratios);
        let test = match run.plan.order {
            Order::Blocked => stats::paired::log_ratio,
            Order::Sequential => stats::welch::log_ratio,
        };
        test(&first, &second, level).ok()
    }
}

impl Subject<'_> {
    pub(super) fn interaction(
        &self,
        on: &str,
        levels: [&String; 2],
        test: &LogRatio,
    ) -> Interaction {
        Interaction {
            workload: self.workload.to_owned(),
            phase: self.row.phase.clone(),
            metric: self.row.metric.clone(),
            clock: self.row.clock,
            factor: self.factor.to_owned(),
            levels: self.levels.clone(),
            on: on.to_owned(),
            on_levels: levels.map(Clone::clone),
            ratio: test.ratio,
            interval: (test.interval.low, test.interval.high),
            p_adjusted: 1.0,
        }
    }

    pub(super) fn effect(&self, run: &Run, at: Levels, comparison: Comparison) -> Effect {
        let here = |s: &&Stratum| at.iter().all(|(f, l)| s.levels.get(f) == Some(l));
        let strata: Vec<&Stratum> = self.strata.iter().filter(here).collect();
        let value = |side: usize| {
            let medians = strata.iter().filter_map(|s| {
                let mut values: Vec<f64> = s.values[side].values().copied().collect();
                (!values.is_empty()).then(|| stats::order::median_mut(&mut values).ln())
            });
            (medians.sum::<f64>() / strata.len() as f64).exp()
        };
        let varies = |factor: &String| {
            let levels: BTreeSet<_> = strata.iter().map(|s| s.levels.get(factor)).collect();
            levels.len() > 1
        };
        let listed = run.plan.factors.iter().map(|(name, _)| name.clone());
        Effect {
            workload: self.workload.to_owned(),
            phase: self.row.phase.clone(),
            metric: self.row.metric.clone(),
            clock: self.row.clock,
            label: self.row.label.clone(),
            unit: self.unit.clone(),
            factor: self.factor.to_owned(),
            base: self.levels[0].clone(),
            other: self.levels[1].clone(),
            over: listed.filter(varies).collect(),
            cells: strata.iter().map(|s| s.cells).collect(),
            values: [value(0), value(1)],
            at,
            p_equal: stats::equivalence::equivalence(&comparison, run.plan.band),
            comparison,
        }
    }
}
