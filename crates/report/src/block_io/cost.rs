//! What tracing cost: traced trials against their untraced twins.
//!
//! A twin is the cell that differs in `trace` alone; it runs in the same blocks, so the cost is a
//! paired difference like any other, with an interval and the correction of its family. Rates and
//! times as the original's clock has them and to the end of syncfs: a tracer works while writeback
//! goes on, which only the second sees.

use stats::Comparison;
use study::{Cell, Clock};

use crate::compare;
use crate::fill::Sources;
use crate::labels::Labels;
use crate::layout::Series;
use crate::model::{Figure, Versus};
use crate::options::Options;

/// The factor.
const TRACE: &str = "trace";

/// The metrics that are compared, best first; the first that a phase has is taken.
const METRICS: [(&str, &str); 3] = [
    ("throughput", "MB/s"),
    ("files", "files/s"),
    ("seconds", "secs"),
];

/// All pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// By cell, phase and clock.
    pub pairs: Vec<Pair>,
    /// Comparisons corrected together.
    pub family: usize,
    /// Cells that were traced and have no twin.
    pub alone: usize,
}

/// A traced cell against its twin, in one phase and clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Levels that distinguish the two from other pairs.
    pub label: String,
    /// The phase.
    pub phase: String,
    /// What is compared.
    pub metric: &'static str,
    /// What is inside the clock.
    pub clock: Clock,
    /// Unit of the figures.
    pub unit: &'static str,
    /// The twin without tracing.
    pub untraced: Figure,
    /// The traced cell.
    pub traced: Figure,
    /// Traced over untraced; none with too few values.
    pub versus: Option<Versus>,
}

impl Pair {
    /// Medians, untraced first.
    pub fn medians(&self) -> [Option<f64>; 2] {
        [&self.untraced, &self.traced].map(|f| f.summary.as_ref().map(|s| s.median))
    }
}

impl Cost {
    /// How many pairs differ by more than the band.
    pub fn counted(&self) -> usize {
        use crate::model::Difference::{Same, Unclear};
        let versus = self.pairs.iter().filter_map(|pair| pair.versus.as_ref());
        versus
            .filter(|v| !matches!(v.difference, Same | Unclear))
            .count()
    }
}

/// Compares every traced cell with its twin; none where nothing was traced.
pub(crate) fn of(
    sources: &Sources<'_>,
    options: &Options,
    cells: &[&Cell],
    notes: &mut Vec<String>,
) -> Option<Cost> {
    let is_traced = |cell: &&&Cell| level(cell) == Some("true");
    let traced: Vec<&Cell> = cells.iter().filter(is_traced).copied().collect();
    let labels = Labels::of(&sources.run.plan, cells).without(&[TRACE]);
    let mut cost = Cost::default();
    let mut places = Vec::new();
    let mut comparisons: Vec<Comparison> = Vec::new();
    for cell in &traced {
        let Some(twin) = cells.iter().find(|other| are_twins(cell, other)) else {
            cost.alone += 1;
            continue;
        };
        for (phase, metric, unit) in measured(sources, cell) {
            for clock in [Clock::Original, Clock::Syncfs] {
                let figures = [twin, cell].map(|c| figure(sources, c, &phase, metric, clock, unit));
                let [untraced, traced] = figures;
                if untraced.summary.is_none() || traced.summary.is_none() {
                    continue;
                }
                match compare::one(&sources.run.plan, options, unit, &untraced, &traced) {
                    Ok(comparison) => {
                        places.push(cost.pairs.len());
                        comparisons.push(comparison);
                    }
                    Err(stats::Error::Empty | stats::Error::TooFew { .. }) => {}
                    Err(error) => notes.push(format!(
                        "cost of tracing, {}, {phase}: not compared: {error}",
                        cell.label()
                    )),
                }
                cost.pairs.push(Pair {
                    label: labels.of_cell(cell),
                    phase: phase.clone(),
                    metric,
                    clock,
                    unit,
                    untraced,
                    traced,
                    versus: None,
                });
            }
        }
    }
    if let Err(error) = stats::family(&mut comparisons, sources.run.plan.band) {
        notes.push(format!("cost of tracing: not corrected: {error}"));
    }
    cost.family = comparisons.len();
    for (at, comparison) in places.into_iter().zip(&comparisons) {
        cost.pairs[at].versus = Some(compare::versus(comparison, true));
    }
    (!traced.is_empty()).then_some(cost)
}

fn level(cell: &Cell) -> Option<&str> {
    cell.levels.get(TRACE).map(String::as_str)
}

fn are_twins(traced: &Cell, other: &Cell) -> bool {
    let mut levels = traced.levels.clone();
    levels.insert(TRACE.to_owned(), "false".to_owned());
    other.levels == levels
}

/// The phases of a cell in running order with what each is compared by.
fn measured(sources: &Sources<'_>, cell: &Cell) -> Vec<(String, &'static str, &'static str)> {
    let plan = &sources.run.plan;
    let slots = plan.slots.iter().filter(|slot| slot.cell == cell.id);
    let trials = slots.filter_map(|slot| sources.run.trials.get(slot.trial as usize));
    let mut found: Vec<(String, &str, &str)> = Vec::new();
    for trial in trials {
        for sample in &trial.samples {
            let known = |(phase, ..): &(String, &str, &str)| *phase == sample.phase;
            if found.iter().any(known) || sample.phase.starts_with("check_pass") {
                continue;
            }
            let has = |metric: &str| {
                let mut samples = trial.samples.iter();
                samples.any(|s| s.phase == sample.phase && s.metric == metric)
            };
            if let Some((metric, unit)) = METRICS.iter().find(|(metric, _)| has(metric)) {
                found.push((sample.phase.clone(), *metric, *unit));
            }
        }
    }
    found
}

fn figure(
    sources: &Sources<'_>,
    cell: &Cell,
    phase: &str,
    metric: &str,
    clock: Clock,
    unit: &str,
) -> Figure {
    let series = Series {
        phase: phase.to_owned(),
        metric: metric.to_owned(),
        clock,
        unit: None,
        published: None,
    };
    let points = sources.points(cell, &series, unit);
    Figure {
        cell: Some(cell.id),
        marks: sources.validity.marks(cell.id, Some(phase), metric),
        summary: sources.summary(&points).ok().flatten(),
        points,
        ..Figure::default()
    }
}
