//! The differences to explain: those that count in the report of the run.
//!
//! A study's tables and grids say what is compared. A table compares its columns with the first, at each
//! combination of the factors it leaves open, as one family, exactly as the report does. A grid compares
//! along each factor that its cells vary in. A factor that varies and is in none of them is compared in the
//! same figures ([`crate::tables`]). A factor named on the command line is compared in the headline figure of each
//! phase. Workloads are never compared with each other, nor sizes of which a law of growth is asked: that more
//! files take longer needs no explanation.

use std::collections::{BTreeMap, BTreeSet};

use compare::{is_wall_time, pair};
use record::Run;
use serde::Serialize;
use stats::{Comparison, Verdict};
use study::{Cell, Clock, Plan};

use crate::error::Error;
use crate::options::Options;
use crate::questions::{Question, Series, questions};

/// Which of the two is slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Slower {
    /// The base of the comparison.
    Base,
    /// The other.
    Other,
}

/// One side of a difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
    /// Number of the cell.
    pub cell: u32,
    /// Level of the factor.
    pub level: String,
    /// Median of its values, in the unit of the difference.
    pub median: f64,
    /// Number of trials of the median.
    pub trials: usize,
}

/// A difference that counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Where the report prints it: the table's or the grid's title, or the factor.
    pub title: String,
    /// The factor in which the two cells differ.
    pub factor: String,
    /// The levels that both have, factors of one level aside.
    pub common: BTreeMap<String, String>,
    /// Phase.
    pub phase: String,
    /// Metric.
    pub metric: String,
    /// What is inside the clock.
    pub clock: Clock,
    /// Unit of the medians, as stored (`bytes_per_s`, `s`, `files_per_s`).
    pub unit: String,
    /// What it was compared with.
    pub base: Place,
    /// The other.
    pub other: Place,
    /// Which of the two is slower.
    pub slower: Slower,
    /// Ratio of times, slower to faster: above 1.
    pub times: f64,
    /// Confidence interval of `times`.
    pub interval: (f64, f64),
    /// p after correction for the family.
    pub p_adjusted: f64,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub differences: Vec<Difference>,
    /// Comparisons of figures of which one direction is better.
    pub compared: usize,
    /// Comparisons that had too few values.
    pub too_few: usize,
    pub notes: Vec<String>,
}

/// The differences of a run that count.
///
/// # Errors
/// Names that the run does not have, a plan of one cell, nothing to compare.
pub(crate) fn find(run: &Run, options: &Options) -> Result<Found, Error> {
    let plan = &run.plan;
    if plan.cells.len() < 2 {
        return Err(Error::OneCell {
            run: run.name.clone(),
        });
    }
    check_names(run, options)?;
    let mut found = Found::default();
    for question in questions(run, options) {
        answer(run, options, &question, &mut found);
    }
    if found.compared == 0 && found.too_few == 0 {
        return Err(Error::NothingToCompare {
            run: run.name.clone(),
            why: why_nothing(run).to_owned(),
        });
    }
    Ok(found)
}

/// Why no comparison could be made at all.
fn why_nothing(run: &Run) -> &'static str {
    let finished = |cell: &&Cell| !run.finished(cell.id).is_empty();
    match run.plan.cells.iter().filter(finished).count() {
        0 => "no trial finished, so nothing was measured; fslab show has the reasons",
        1 => "only one cell has finished trials; fslab show has the reasons of the others",
        _ => {
            "no two cells that differ in one factor alone have values of the same figure; loosen \
             --filter, or see fslab show for trials that failed"
        }
    }
}

/// Refuses names that nothing in the run has.
fn check_names(run: &Run, options: &Options) -> Result<(), Error> {
    let plan = &run.plan;
    let factors: BTreeSet<&str> = plan
        .cells
        .iter()
        .flat_map(|cell| cell.levels.keys().map(String::as_str))
        .collect();
    let levels = |factor: &str| -> BTreeSet<&str> {
        plan.cells
            .iter()
            .filter_map(|cell| cell.levels.get(factor).map(String::as_str))
            .collect()
    };
    let known = |option, name: &str, what, allowed: &BTreeSet<&str>| {
        if allowed.contains(name) {
            return Ok(());
        }
        Err(Error::Unknown {
            option,
            name: name.to_owned(),
            what,
            allowed: allowed.iter().copied().map(String::from).collect(),
        })
    };
    for factor in &options.factors {
        known("--factor", factor, "factor", &factors)?;
    }
    for (factor, level) in &options.filter {
        known("--filter", factor, "factor", &factors)?;
        known("--filter", level, "level", &levels(factor))?;
    }
    if let Some(base) = &options.base {
        let all: BTreeSet<&str> = factors.iter().flat_map(|factor| levels(factor)).collect();
        known("--base", base, "level", &all)?;
    }
    let samples = || run.trials.iter().flat_map(|trial| &trial.samples);
    if let Some(phase) = &options.phase {
        let phases = samples().map(|sample| sample.phase.as_str()).collect();
        known("--phase", phase, "phase", &phases)?;
    }
    if let Some(metric) = &options.metric {
        let metrics = samples().map(|sample| sample.metric.as_str()).collect();
        known("--metric", metric, "metric", &metrics)?;
    }
    Ok(())
}

/// The values of a cell, each with its block, in block order, and their unit.
fn values(run: &Run, cell: &Cell, series: &Series) -> (Vec<(u32, f64)>, Option<String>) {
    let mut unit = None;
    let mut values = Vec::new();
    for (slot, record) in run.finished(cell.id) {
        let mine = record.samples.iter().filter(|s| {
            s.phase == series.phase && s.metric == series.metric && s.clock == series.clock
        });
        for sample in mine {
            unit.get_or_insert_with(|| sample.unit.clone());
            values.push((slot.block, sample.value));
        }
    }
    (values, unit)
}

/// A comparison with its place.
struct Compared<'a> {
    group: BTreeMap<String, String>,
    series: &'a Series,
    unit: String,
    sides: [(&'a Cell, f64, usize); 2],
}

fn answer<'a>(run: &'a Run, options: &Options, question: &'a Question<'a>, found: &mut Found) {
    let mut groups: Vec<BTreeMap<String, String>> = Vec::new();
    for (_, cells) in &question.series {
        for cell in cells {
            let rest = rest(cell, &question.factor);
            if cell.levels.contains_key(&question.factor) && !groups.contains(&rest) {
                groups.push(rest);
            }
        }
    }
    // What the traced twins show is the untraced cells' difference once more, and the tracer's cost.
    let untraced = |group: &BTreeMap<String, String>| {
        let mut twin = group.clone();
        twin.insert("trace".to_owned(), "false".to_owned());
        twin
    };
    let asked = options.filter.iter().any(|(factor, _)| factor == "trace");
    let known = groups.clone();
    groups.retain(|group| {
        let traced = group.get("trace").is_some_and(|level| level == "true");
        asked || !traced || !known.contains(&untraced(group))
    });
    let mut family = Vec::new();
    for group in groups {
        for (series, cells) in &question.series {
            let here: Vec<&Cell> = cells
                .iter()
                .copied()
                .filter(|cell| cell.levels.contains_key(&question.factor))
                .filter(|cell| rest(cell, &question.factor) == group)
                .collect();
            compare_here(
                run,
                options,
                question,
                series,
                &here,
                &group,
                &mut family,
                found,
            );
        }
        if question.split {
            judge(run, options, question, std::mem::take(&mut family), found);
        }
    }
    judge(run, options, question, family, found);
}

fn rest(cell: &Cell, factor: &str) -> BTreeMap<String, String> {
    let others = cell.levels.iter().filter(|(name, _)| *name != factor);
    others
        .map(|(name, level)| (name.clone(), level.clone()))
        .collect()
}

/// Compares the cells of one group with its base.
#[allow(
    clippy::too_many_arguments,
    reason = "one place of a loop over families"
)]
fn compare_here<'a>(
    run: &'a Run,
    options: &Options,
    question: &'a Question<'a>,
    series: &'a Series,
    cells: &[&'a Cell],
    group: &BTreeMap<String, String>,
    family: &mut Vec<(Compared<'a>, Comparison)>,
    found: &mut Found,
) {
    let Some(base) = base(&run.plan, options, &question.factor, cells) else {
        return;
    };
    let (base_values, unit) = values(run, base, series);
    let Some(unit) = unit else {
        return;
    };
    for other in cells.iter().copied().filter(|cell| cell.id != base.id) {
        let (other_values, _) = values(run, other, series);
        if other_values.is_empty() {
            continue;
        }
        let compared = pair::cells(&run.plan, options.level, &unit, &base_values, &other_values);
        match compared {
            Ok(comparison) => family.push((
                Compared {
                    group: group.clone(),
                    series,
                    unit: unit.clone(),
                    sides: [(base, &base_values), (other, &other_values)]
                        .map(|(cell, values)| (cell, median(values), values.len())),
                },
                comparison,
            )),
            Err(stats::Error::Empty | stats::Error::TooFew { .. }) => {
                let counts = pair::higher_is_better(&unit).is_some() && wanted(options, series);
                found.too_few += usize::from(counts);
            }
            // A count with one value of 0 has no ratio, and no option asked for it.
            Err(_) if pair::higher_is_better(&unit).is_none() || !wanted(options, series) => {}
            Err(error) => found.notes.push(format!(
                "{} {}, {}: not compared: {error}",
                series.phase,
                series.metric,
                other.label()
            )),
        }
    }
}

/// The cell to compare with: of the level asked for, else of the factor's first.
fn base<'a>(plan: &Plan, options: &Options, factor: &str, cells: &[&'a Cell]) -> Option<&'a Cell> {
    let at = |level: &String| {
        cells
            .iter()
            .copied()
            .find(|c| c.levels.get(factor) == Some(level))
    };
    let listed = plan.factors.iter().find(|(name, _)| name == factor);
    let first = listed.and_then(|(_, levels)| levels.iter().find_map(at));
    let asked = options.base.as_ref().and_then(at);
    asked.or(first).or_else(|| cells.first().copied())
}

fn median(values: &[(u32, f64)]) -> f64 {
    let mut sorted: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2])
}

/// Whether a figure was asked for. It is asked after the correction: a phase looked at alone must not
/// count where the report, which looks at all of its table, says that it does not.
fn wanted(options: &Options, series: &Series) -> bool {
    is_wall_time(&series.metric)
        && (options.phase.as_ref()).is_none_or(|phase| *phase == series.phase)
        && (options.clock).is_none_or(|clock| clock == series.clock)
}

/// Corrects a family and keeps what counts.
fn judge(
    run: &Run,
    options: &Options,
    question: &Question<'_>,
    family: Vec<(Compared<'_>, Comparison)>,
    found: &mut Found,
) {
    let (places, mut comparisons): (Vec<Compared<'_>>, Vec<Comparison>) =
        family.into_iter().unzip();
    if let Err(error) = stats::family(&mut comparisons, run.plan.band) {
        found
            .notes
            .push(format!("{}: not corrected: {error}", question.title));
    }
    for (place, comparison) in places.iter().zip(&comparisons) {
        let Some(higher) = pair::higher_is_better(&place.unit) else {
            continue;
        };
        if !wanted(options, place.series) {
            continue;
        }
        found.compared += 1;
        if !matches!(comparison.verdict, Verdict::Better | Verdict::Worse) {
            continue;
        }
        let difference = difference(&run.plan, question, place, comparison, higher);
        let same = |known: &Difference| {
            (known.base.cell, known.other.cell) == (difference.base.cell, difference.other.cell)
                && (&known.phase, &known.metric, known.clock)
                    == (&difference.phase, &difference.metric, difference.clock)
        };
        // Two grids may show the same pair.
        if found.differences.iter().any(same) {
            found.compared -= 1;
        } else {
            found.differences.push(difference);
        }
    }
}

fn difference(
    plan: &Plan,
    question: &Question<'_>,
    place: &Compared<'_>,
    comparison: &Comparison,
    higher: bool,
) -> Difference {
    let [base, other] = place.sides.map(|(cell, median, trials)| Place {
        cell: cell.id,
        level: cell
            .levels
            .get(&question.factor)
            .cloned()
            .unwrap_or_default(),
        median,
        trials,
    });
    // other / base, in the unit: below 1 the other has less of it.
    let other_slower = (comparison.ratio < 1.0) == higher;
    let (low, high) = (comparison.interval.low, comparison.interval.high);
    let turn = comparison.ratio < 1.0;
    let all: Vec<&Cell> = plan.cells.iter().collect();
    let varies = |name: &String| {
        let levels: BTreeSet<Option<&String>> = all.iter().map(|c| c.levels.get(name)).collect();
        levels.len() > 1
    };
    Difference {
        title: question.title.clone(),
        factor: question.factor.clone(),
        common: place
            .group
            .iter()
            .filter(|(name, _)| varies(name))
            .map(|(name, level)| (name.clone(), level.clone()))
            .collect(),
        phase: place.series.phase.clone(),
        metric: place.series.metric.clone(),
        clock: place.series.clock,
        unit: place.unit.clone(),
        base,
        other,
        slower: if other_slower {
            Slower::Other
        } else {
            Slower::Base
        },
        times: if turn {
            1.0 / comparison.ratio
        } else {
            comparison.ratio
        },
        interval: if turn {
            (1.0 / high, 1.0 / low)
        } else {
            (low, high)
        },
        p_adjusted: comparison.adjusted_p,
    }
}

#[cfg(test)]
mod tests;
