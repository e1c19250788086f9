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

use std::collections::{BTreeMap, BTreeSet};

use compare::pair;
use record::Run;
use serde::Serialize;
use stats::{Comparison, LogRatio, Verdict};
use study::{Cell, Clock, Order, RowSpec};

use crate::options::Options;
use crate::questions::passes;
use crate::tables::{at_clock, cells_of, compared_factors, rows_of, tables, workloads};

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

/// The values of two cells that differ in the factor alone, by block.
struct Stratum {
    levels: Levels,
    cells: [u32; 2],
    values: [BTreeMap<u32, f64>; 2],
}

/// One figure with one level against the base, before it is known on what the effect depends.
struct Subject<'a> {
    workload: &'a str,
    row: &'a RowSpec,
    unit: String,
    factor: &'a str,
    levels: [String; 2],
    strata: Vec<Stratum>,
    /// The blocks in which every stratum has both values.
    blocks: Vec<u32>,
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
    let rows: Vec<(String, Vec<RowSpec>)> = workloads(plan)
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
        let mut subjects = Vec::new();
        for (workload, rows) in &rows {
            let cells = filtered(run, options, workload);
            for row in rows {
                subjects.extend(subjects_of(run, options, workload, row, factor, &cells));
            }
        }
        of_factor(run, options, &subjects, &mut found);
        if !found.effects.iter().any(|effect| effect.factor == *factor) {
            let why = why_not(run, factor, &subjects);
            found.not_compared.push(NotCompared {
                factor: factor.clone(),
                why,
            });
        }
    }
    found.effects.sort_by_key(|effect| {
        let at = |(workload, rows): &(String, Vec<RowSpec>)| {
            (*workload == effect.workload).then(|| rows.iter().position(|row| is_of(row, effect)))
        };
        rows.iter()
            .enumerate()
            .find_map(|(n, one)| Some((n, at(one)??)))
    });
    found
}

fn is_of(row: &RowSpec, effect: &Effect) -> bool {
    (&row.phase, &row.metric, row.clock) == (&effect.phase, &effect.metric, effect.clock)
}

fn filtered<'a>(run: &'a Run, options: &Options, workload: &str) -> Vec<&'a Cell> {
    let mut cells = cells_of(&run.plan, workload);
    cells.retain(|cell| passes(cell, options));
    cells
}

/// Every level of the factor against the base, with the strata that both have.
fn subjects_of<'a>(
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
    fn compare(
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
    fn levels_of(&self, run: &Run, factor: &str) -> Vec<String> {
        let here = self.strata.iter().filter_map(|s| s.levels.get(factor));
        in_order(run, factor, &here.collect())
    }

    /// The other factors in which the strata differ.
    fn others(&self) -> Vec<String> {
        let names: BTreeSet<&String> = self.strata.iter().flat_map(|s| s.levels.keys()).collect();
        let names = names.into_iter().filter(|name| {
            let levels = self.strata.iter().map(|s| s.levels.get(*name));
            levels.collect::<BTreeSet<_>>().len() > 1
        });
        names.cloned().collect()
    }

    /// The ratio of the ratios at two levels of another factor: the second over the first.
    fn ratio_of_ratios(
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

/// Of each subject the interaction that counts most, if any does.
fn interactions(
    run: &Run,
    options: &Options,
    subjects: &[Subject<'_>],
) -> Vec<Option<Interaction>> {
    let band = run.plan.band;
    let mut tests: Vec<(usize, Interaction, f64)> = Vec::new();
    for (at, subject) in subjects.iter().enumerate() {
        for on in subject.others() {
            let levels = subject.levels_of(run, &on);
            let Some(first) = levels.first() else {
                continue;
            };
            for second in levels.iter().skip(1) {
                let Some(test) = subject.ratio_of_ratios(run, options.level, &on, [first, second])
                else {
                    continue;
                };
                let Some(p) = test.p else { continue };
                tests.push((at, subject.interaction(&on, [first, second], &test), p));
            }
        }
    }
    let p: Vec<f64> = tests.iter().map(|(.., p)| *p).collect();
    let adjusted = stats::multiple::benjamini_hochberg(&p).unwrap_or(p);
    let mut best: Vec<Option<Interaction>> = subjects.iter().map(|_| None).collect();
    for ((at, mut interaction, _), p) in tests.into_iter().zip(adjusted) {
        interaction.p_adjusted = p;
        let (low, high) = interaction.interval;
        let clear = low > 1.0 + band || high < 1.0 - band;
        let size = |i: &Interaction| i.ratio.ln().abs();
        let larger = best[at]
            .as_ref()
            .is_none_or(|b| size(&interaction) > size(b));
        if clear && p <= 1.0 - options.level && larger {
            best[at] = Some(interaction);
        }
    }
    best
}

impl Subject<'_> {
    fn interaction(&self, on: &str, levels: [&String; 2], test: &LogRatio) -> Interaction {
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

    fn effect(&self, run: &Run, at: Levels, comparison: Comparison) -> Effect {
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
mod tests {
    use fixtures::mail_server::{FAST_COMMIT, INTERACTING, Shape};

    use super::*;

    fn of(shape: &Shape) -> Effects {
        effects(&fixtures::mail_server::run(shape), &Options::default())
    }

    fn ratios(found: &Effects, factor: &str) -> Vec<(String, Levels, f64, Verdict)> {
        let mine = found.effects.iter().filter(|e| e.factor == factor);
        mine.map(|e| {
            let c = &e.comparison;
            (e.other.clone(), e.at.clone(), c.ratio, c.verdict)
        })
        .collect()
    }

    #[test]
    fn a_main_effect_is_the_mean_over_the_other_factor() {
        let found = of(&FAST_COMMIT);
        let mkfs = ratios(&found, "mkfs");
        let levels: Vec<&str> = mkfs.iter().map(|(level, ..)| level.as_str()).collect();
        assert_eq!(levels, ["-O fast_commit", "-J size=64"]);
        assert_eq!(mkfs[0].3, Verdict::Better);
        assert!((mkfs[0].2 - 5565.0 / 2430.0).abs() < 0.01, "{mkfs:?}");
        assert_ne!(mkfs[1].3, Verdict::Better);
        let effect = found.effects.iter().find(|e| e.factor == "mkfs").unwrap();
        assert_eq!(effect.over, ["mount"]);
        assert_eq!(effect.cells, [[0, 1], [3, 4]]);
        assert!((effect.values[1] / effect.values[0] - 2.29).abs() < 0.02);
        let mount = ratios(&found, "mount");
        assert_eq!(mount.len(), 1);
        assert!((mount[0].2 - 1.0).abs() < 0.01, "{mount:?}");
        assert_eq!(found.interactions, []);
        assert_eq!(found.not_compared, []);
    }

    /// What does not matter is shown to be equal, and not just not different.
    #[test]
    fn equal_is_tested() {
        let found = of(&FAST_COMMIT);
        let mount = found.effects.iter().find(|e| e.factor == "mount").unwrap();
        assert!(mount.p_equal.unwrap() < 0.01, "{mount:?}");
        let fast = found.effects.iter().find(|e| e.factor == "mkfs").unwrap();
        assert!(fast.p_equal.unwrap() > 0.99, "{fast:?}");
    }

    #[test]
    fn an_effect_that_depends_on_another_factor_is_given_at_its_levels() {
        let found = of(&INTERACTING);
        let mkfs = ratios(&found, "mkfs");
        let fast: Vec<_> = mkfs
            .iter()
            .filter(|(l, ..)| l == "-O fast_commit")
            .collect();
        assert_eq!(fast.len(), 2, "{mkfs:?}");
        assert_eq!(fast[0].1["mount"], "default");
        assert_eq!(fast[0].3, Verdict::Better);
        assert_eq!(fast[1].1["mount"], "noatime");
        assert_ne!(fast[1].3, Verdict::Better);
        let on = &found.interactions[0];
        assert_eq!((on.factor.as_str(), on.on.as_str()), ("mount", "mkfs"));
        assert!(found.interactions.iter().all(|i| i.p_adjusted <= 0.05));
        // The level that changes nothing in either place is one comparison.
        assert_eq!(mkfs.len(), 3, "{mkfs:?}");
    }

    #[test]
    fn a_stratum_without_its_twin_is_left_out() {
        let mut run = fixtures::mail_server::run(&FAST_COMMIT);
        for slot in run.plan.slots.clone() {
            // noatime with fast_commit failed in all blocks.
            if slot.cell == 4 {
                run.trials[slot.trial as usize].status = record::Status::Pending;
            }
        }
        let found = effects(&run, &Options::default());
        let fast = found
            .effects
            .iter()
            .find(|e| e.other == "-O fast_commit")
            .unwrap();
        assert_eq!(fast.cells, [[0, 1]]);
        assert_eq!(fast.over, Vec::<String>::new());
    }

    #[test]
    fn a_factor_that_cannot_be_compared_is_named_with_the_reason() {
        let one = Shape {
            blocks: 1,
            ..FAST_COMMIT
        };
        let found = of(&one);
        assert_eq!(found.effects, []);
        let factors: Vec<&str> = found
            .not_compared
            .iter()
            .map(|n| n.factor.as_str())
            .collect();
        assert_eq!(factors, ["mount", "mkfs"]);
        assert!(
            found.not_compared[0]
                .why
                .contains("one trial for each cell")
        );
        let mut run = fixtures::mail_server::run(&FAST_COMMIT);
        for slot in run.plan.slots.clone() {
            if run.plan.cells[slot.cell as usize].levels["mount"] == "noatime" {
                run.trials[slot.trial as usize].status = record::Status::Pending;
            }
        }
        let found = effects(&run, &Options::default());
        assert_eq!(
            found.not_compared[0].why,
            "only mount=default has finished trials"
        );
    }

    /// With one other factor at one level, the effect is the comparison of the two cells.
    #[test]
    fn of_two_cells_it_is_their_comparison() {
        let run = fixtures::example::run();
        let found = effects(&run, &Options::default());
        let clean = found.effects.iter().find(|e| e.phase == "clean").unwrap();
        let values = |filesystem: &str| -> Vec<(u32, f64)> {
            let cell = run.plan.cells.iter().find(|c| {
                c.levels["filesystem"] == filesystem && c.workload_name == "compilebench"
            });
            let finished = run.finished(cell.unwrap().id).into_iter();
            finished
                .map(|(slot, trial)| {
                    let mut samples = trial.samples.iter();
                    let sample = samples.find(|s| {
                        (s.phase.as_str(), s.metric.as_str(), s.clock)
                            == ("clean", "throughput", Clock::Original)
                    });
                    (slot.block, sample.unwrap().value)
                })
                .collect()
        };
        let pair = pair::cells(
            &run.plan,
            0.95,
            "bytes_per_s",
            &values("ext4"),
            &values("xfs"),
        );
        let pair = pair.unwrap();
        assert!((clean.comparison.ratio / pair.ratio - 1.0).abs() < 1e-9);
        assert!((clean.comparison.p / pair.p - 1.0).abs() < 1e-6);
        assert_eq!((clean.over.len(), clean.at.len()), (0, 0));
    }

    #[test]
    fn another_clock_can_be_asked_for() {
        let asked = Options {
            clock: Some(Clock::Syncfs),
            ..Options::default()
        };
        let run = fixtures::mail_server::run(&FAST_COMMIT);
        let found = effects(&run, &asked);
        assert_eq!(found.effects.len(), 3);
        assert!(found.effects.iter().all(|e| e.clock == Clock::Syncfs));
        // iozone's `children` has clock (a) alone: its throughput takes its place.
        let found = effects(&fixtures::example::run(), &asked);
        let write = found.effects.iter().find(|e| e.phase == "initial_write");
        assert_eq!(write.unwrap().metric, "throughput");
    }

    /// A kernel is a factor as any other.
    #[test]
    fn kernels_are_compared() {
        let mut run = fixtures::mail_server::run(&FAST_COMMIT);
        for (name, levels) in &mut run.plan.factors {
            if name == "mkfs" {
                *name = "kernel".into();
                *levels = ["6.1", "6.6", "6.12"].map(String::from).into();
            }
        }
        for cell in &mut run.plan.cells {
            let mkfs = cell.levels.remove("mkfs").unwrap();
            let kernel = match mkfs.as_str() {
                "default" => "6.1",
                "-O fast_commit" => "6.6",
                _ => "6.12",
            };
            cell.levels.insert("kernel".into(), kernel.into());
        }
        let found = effects(&run, &Options::default());
        let others: Vec<&str> = found
            .effects
            .iter()
            .filter(|e| e.factor == "kernel")
            .map(|e| e.other.as_str())
            .collect();
        assert_eq!(others, ["6.6", "6.12"]);
    }

    /// What slows a whole block slows both sides: it must not widen the interval.
    #[test]
    fn a_block_is_no_noise() {
        let mut run = fixtures::mail_server::run(&FAST_COMMIT);
        let narrow = effects(&run, &Options::default());
        for slot in run.plan.slots.clone() {
            for sample in &mut run.trials[slot.trial as usize].samples {
                sample.value *= f64::from(1 + slot.block);
            }
        }
        let slow = effects(&run, &Options::default());
        for (a, b) in narrow.effects.iter().zip(&slow.effects) {
            let width = |e: &Effect| e.comparison.interval.width();
            assert!((width(a) / width(b) - 1.0).abs() < 1e-6, "{a:?}");
        }
    }
}
