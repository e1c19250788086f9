//! From a study's question of growth to its answer.

use record::{Run, Status, TrialRecord};
use stats::growth::grow;
use study::{Bytes, Cell, GrowthSpec, Plan, Slot};

use super::published;
use super::{Curve, Growth, Projection, Size};
use crate::error::Result;
use crate::fill::Sources;
use crate::layout::{Levels, Series, combinations, has, varying};
use crate::model::{Figure, Point};
use crate::options::Options;
use crate::select::{filtered, is_growth};
use crate::timing_tag;
use crate::units;

/// The x that is no factor: files really counted.
pub(super) const COUNT: &str = "count";

/// Phases after which files were counted.
const FILLING: [&str; 5] = ["forge", "fill", "age_fill", "age_remove", "age_add"];

/// Factors that never say how large a thing is: two of their levels are two laws, even if they
/// happen to count different numbers of files.
const NEVER_SIZES: [&str; 9] = [
    "filesystem",
    "workload",
    "mkfs",
    "mount",
    "readahead",
    "limit",
    "memory",
    "volume",
    "checker",
];

/// Sizes this near to each other (as a ratio) are one, as in [`stats::growth`].
const ONE_SIZE: f64 = 1.05;

/// The questions of growth that the options leave. A pivot asks for something else and has none.
pub(crate) fn growths(
    sources: &Sources<'_>,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<Vec<Growth>> {
    let plan = &sources.run.plan;
    if options.is_pivot() {
        return Ok(Vec::new());
    }
    let cells = filtered(plan, &options.filter)?;
    let asked = |spec: &&GrowthSpec| options.table.as_ref().is_none_or(|n| is_growth(spec, n));
    let answered = plan.growth.iter().filter(asked).map(|spec| {
        let cells: Vec<&Cell> = cells.iter().copied().filter(|c| spec.holds(c)).collect();
        growth(sources, spec, &cells, notes)
    });
    Ok(answered.filter(|g| !g.curves.is_empty()).collect())
}

fn growth(
    sources: &Sources<'_>,
    spec: &GrowthSpec,
    cells: &[&Cell],
    notes: &mut Vec<String>,
) -> Growth {
    let series = Series {
        phase: spec.phase.clone(),
        metric: spec.metric.clone(),
        clock: spec.clock,
        unit: None,
        published: None,
    };
    let unit = sources.shown_unit(&series, &spec.title, notes);
    let timed = ::compare::pair::higher_is_better(&unit).is_some();
    let withheld = timing_tag::of(sources.run).filter(|_| timed && !spec.projections.is_empty());
    if let Some(mark) = &withheld {
        notes.push(format!("{}: no projection: {mark}", spec.title));
    }
    let mut measured = Vec::new();
    for cell in cells {
        if let Some(size) = size(sources, spec, cell, &series, &unit, notes) {
            measured.push((*cell, size));
        }
    }
    let splits = splits(&sources.run.plan, spec, &measured);
    let splits: Vec<&str> = splits.iter().map(String::as_str).collect();
    let of: Vec<&Cell> = measured.iter().map(|(cell, _)| *cell).collect();
    let curves = combinations(&sources.run.plan, &of, &splits)
        .into_iter()
        .map(|levels| {
            let here = measured.iter().filter(|(cell, _)| has(cell, &levels));
            let (cells, sizes): (Vec<&Cell>, Vec<Size>) = here.cloned().unzip();
            let mut curve = curve(sources, spec, levels, &cells, sizes);
            if withheld.is_some() {
                // Published numbers of those sizes are kept: they need no projection.
                let projections = std::mem::take(&mut curve.projections);
                let beside = projections.into_iter().flat_map(|p| p.published);
                curve.published.extend(beside);
            }
            curve
        });
    Growth {
        title: spec.title.clone(),
        x: spec.x.clone(),
        x_unit: spec.x_unit.clone(),
        phase: spec.phase.clone(),
        metric: spec.metric.clone(),
        clock: spec.clock,
        curves: curves.collect(),
        unit,
        level: sources.level,
    }
}

fn curve(
    sources: &Sources<'_>,
    spec: &GrowthSpec,
    levels: Levels,
    cells: &[&Cell],
    mut sizes: Vec<Size>,
) -> Curve {
    sizes.sort_by(|a, b| a.x.total_cmp(&b.x));
    let points: Vec<stats::growth::Point> = sizes
        .iter()
        .flat_map(|size| size.counted.iter().zip(&size.figure.points))
        .map(|(x, y)| stats::growth::Point { x: *x, y: y.value })
        .collect();
    let laws = grow(&points, sources.level);
    // Only times of checks were published.
    let mut published = match (sources.published, spec.phase.as_str(), spec.metric.as_str()) {
        (Some(document), "check", "seconds") => published::beside(document, cells),
        _ => Vec::new(),
    };
    let mut projections = Vec::new();
    if let Ok(laws) = &laws {
        for &x in &spec.projections {
            let (here, rest) = published.into_iter().partition(|p| published::is_at(p, x));
            published = rest;
            projections.push(Projection {
                x,
                reach: laws.reach(x),
                laws: laws.reported().iter().map(|f| (f.law, f.at(x))).collect(),
                published: here,
            });
        }
    }
    Curve {
        levels,
        sizes,
        laws,
        projections,
        published,
    }
}

/// The size that one cell measured; none without a finished trial.
fn size(
    sources: &Sources<'_>,
    spec: &GrowthSpec,
    cell: &Cell,
    series: &Series,
    unit: &str,
    notes: &mut Vec<String>,
) -> Option<Size> {
    let mut pairs: Vec<(f64, Point)> = finished(sources.run, cell)
        .into_iter()
        .filter_map(|(slot, trial)| {
            let x = x_of(spec, cell, trial)?;
            let of_series = |s: &&record::Sample| {
                s.phase == series.phase && s.metric == series.metric && s.clock == series.clock
            };
            let sample = trial.samples.iter().find(of_series)?;
            let value = sample.value * units::factor(&sample.unit, unit)?;
            let (trial, block) = (slot.trial, slot.block);
            Some((
                x,
                Point {
                    trial,
                    block,
                    value,
                },
            ))
        })
        .collect();
    pairs.sort_by_key(|(_, point)| point.block);
    let (counted, points): (Vec<f64>, Vec<Point>) = pairs.into_iter().unzip();
    let summary = sources.summary(&points).unwrap_or_else(|error| {
        notes.push(format!("{}, {}: {error}", spec.title, cell.label()));
        None
    })?;
    let x = stats::summarize(&counted).ok()?.median;
    Some(Size {
        x,
        counted,
        figure: Figure {
            cell: Some(cell.id),
            marks: sources
                .validity
                .marks(cell.id, Some(&series.phase), &series.metric),
            points,
            summary: Some(summary),
            versus: None,
            published: None,
        },
    })
}

/// The finished trials of a cell.
fn finished<'a>(run: &'a Run, cell: &Cell) -> Vec<(&'a Slot, &'a TrialRecord)> {
    let of_cell = run.plan.slots.iter().filter(|s| s.cell == cell.id);
    of_cell
        .filter_map(|slot| Some((slot, run.trials.get(slot.trial as usize)?)))
        .filter(|(_, trial)| trial.status == Status::Finished)
        .collect()
}

fn x_of(spec: &GrowthSpec, cell: &Cell, trial: &TrialRecord) -> Option<f64> {
    if spec.x == COUNT {
        return counted(trial, Some(&spec.phase));
    }
    let level = cell.levels.get(&spec.x)?;
    let bytes = |level: &String| level.parse::<Bytes>().ok().map(|b| b.get() as f64);
    level.parse().ok().or_else(|| bytes(level))
}

/// Files that were there before a phase: the count after the last filling phase up to it. None where
/// nothing was counted.
pub(crate) fn counted(trial: &TrialRecord, before: Option<&str>) -> Option<f64> {
    let filling = |phase: &str| FILLING.contains(&phase);
    let until = before.filter(|phase| !filling(phase));
    let of_phase = |phase: &str| {
        let mut samples = trial.samples.iter().rev();
        let count = samples.find(|s| s.phase == phase && s.metric == COUNT)?;
        Some(count.value)
    };
    let phases = trial.phases.iter().map(|p| p.name.as_str());
    let before: Vec<&str> = phases.take_while(|name| Some(*name) != until).collect();
    let last = before.into_iter().rev().filter(|name| filling(name));
    // Samples whose phase the log does not list still count.
    last.chain(FILLING.into_iter().rev()).find_map(of_phase)
}

/// The factors whose levels have laws of their own: those that the study names, those that never
/// are sizes, and every other in which two cells of one size differ. A factor that changes with the
/// size (a study that makes few files large has `size` beside `total_files`) splits nothing.
fn splits(plan: &Plan, spec: &GrowthSpec, measured: &[(&Cell, Size)]) -> Vec<String> {
    let cells: Vec<&Cell> = plan.cells.iter().filter(|c| spec.holds(c)).collect();
    let mut splits = spec.by.clone();
    let varying = varying(plan, &cells);
    for factor in &varying {
        let never = NEVER_SIZES.contains(&factor.as_str()) && *factor != spec.x;
        if never && !splits.contains(factor) {
            splits.push(factor.clone());
        }
    }
    let differ = |a: &Cell, b: &Cell, factor: &String| a.levels.get(factor) != b.levels.get(factor);
    let fixed = splits.clone();
    for (at, (a, size)) in measured.iter().enumerate() {
        for (b, other) in &measured[..at] {
            let ratio = (size.x / other.x).max(other.x / size.x);
            if ratio > ONE_SIZE || fixed.iter().any(|factor| differ(a, b, factor)) {
                continue;
            }
            for factor in varying.iter().filter(|factor| differ(a, b, factor)) {
                if !splits.contains(factor) {
                    splits.push(factor.clone());
                }
            }
        }
    }
    splits
}
