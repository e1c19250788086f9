//! From a run's phases to what is known of its memory.

use std::collections::BTreeMap;

use record::{MemoryPressure, Phase, Run, Status, TrialRecord};
use stats::Comparison;
use study::{Cell, Clock};

use super::{Memory, Pair, Row, answer};
use crate::compare;
use crate::fill::Sources;
use crate::growth::counted;
use crate::labels::{Labels, filesystem};
use crate::layout::Series;
use crate::model::{Figure, Versus};
use crate::options::Options;

/// The factor that says how much memory a cell has.
const MEMORY: &str = "memory";

/// The phases that matter where a study checks; in others all do.
const CHECKED: [&str; 5] = ["check", "fill", "age_fill", "age_remove", "age_add"];

/// What is known of memory in the cells of the report. None for a study that neither checks nor
/// limits memory, and for a run that recorded nothing of it.
pub(crate) fn of(
    sources: &Sources<'_>,
    options: &Options,
    cells: &[&Cell],
    notes: &mut Vec<String>,
) -> Option<Memory> {
    let plan = &sources.run.plan;
    let checks = cells.iter().any(|cell| cell.check.is_some());
    if !checks && cells.iter().all(|cell| cell.memory.is_none()) {
        return None;
    }
    let labels = Labels::of(plan, cells);
    let mut rows: Vec<Row> = Vec::new();
    for cell in cells {
        rows.extend(of_cell(sources.run, cell, checks, &labels));
    }
    if rows.is_empty() {
        return None;
    }
    // Stable: the cells of a phase stay in the plan's order.
    let mut phases: Vec<String> = Vec::new();
    for row in &rows {
        if !phases.contains(&row.phase) {
            phases.push(row.phase.clone());
        }
    }
    let rank = |row: &Row| {
        let place = phases.iter().position(|phase| *phase == row.phase);
        (row.phase != "check", place)
    };
    rows.sort_by_key(rank);
    let labels = labels.without(&["filesystem", MEMORY]);
    let (pairs, family) = pairs(sources, options, cells, &labels, notes);
    Some(Memory {
        answers: answer::all(&rows, &pairs, checks),
        rows,
        pairs,
        family,
    })
}

/// One row for each phase of a cell.
fn of_cell(run: &Run, cell: &Cell, checks: bool, labels: &Labels) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let slots = run.plan.slots.iter().filter(|s| s.cell == cell.id);
    let trials = slots.filter_map(|slot| run.trials.get(slot.trial as usize));
    for trial in trials.filter(|t| t.status == Status::Finished) {
        let mut phases: Vec<(&str, MemoryPressure)> = Vec::new();
        for phase in &trial.phases {
            let part = phase.name.starts_with("check_pass");
            if part || (checks && !CHECKED.contains(&phase.name.as_str())) {
                continue;
            }
            let Some(memory) = pressure(trial, phase) else {
                continue;
            };
            match phases.iter_mut().find(|(name, _)| *name == phase.name) {
                Some((_, sum)) => add(sum, &memory),
                None => phases.push((&phase.name, memory)),
            }
        }
        for (phase, memory) in phases {
            let at = rows.iter().position(|row| row.phase == phase);
            let at = at.unwrap_or_else(|| {
                rows.push(Row {
                    cell: cell.id,
                    filesystem: filesystem(cell),
                    label: labels.of_cell(cell),
                    phase: phase.to_owned(),
                    swapped: Vec::new(),
                    reclaimed: Vec::new(),
                    stalls: Vec::new(),
                    limit: None,
                    peak: Vec::new(),
                    met: Vec::new(),
                    inode_share: None,
                });
                rows.len() - 1
            });
            push(&mut rows[at], cell, trial, &memory);
        }
    }
    rows
}

/// What the log says of a phase; from its samples where an older log has only those.
fn pressure(trial: &TrialRecord, phase: &Phase) -> Option<MemoryPressure> {
    if phase.memory.is_some() {
        return phase.memory.clone();
    }
    let of = |metric: &str| {
        let mut samples = trial.samples.iter();
        let sample = samples.find(|s| s.phase == phase.name && s.metric == metric)?;
        Some(sample.value as u64)
    };
    Some(MemoryPressure {
        swapped_in: of("swap_ins")?,
        swapped_out: of("swap_outs")?,
        scanned_direct: of("pages_scanned")?,
        reclaimed: of("pages_reclaimed")?,
        allocation_stalls: of("allocation_stalls")?,
        ..MemoryPressure::default()
    })
}

/// A phase that ran in several parts.
fn add(sum: &mut MemoryPressure, part: &MemoryPressure) {
    sum.swapped_in += part.swapped_in;
    sum.swapped_out += part.swapped_out;
    sum.reclaimed += part.reclaimed;
    sum.allocation_stalls += part.allocation_stalls;
    sum.limit_met = sum.limit_met.zip(part.limit_met).map(|(a, b)| a + b);
    sum.peak = sum.peak.max(part.peak);
}

fn push(row: &mut Row, cell: &Cell, trial: &TrialRecord, memory: &MemoryPressure) {
    row.swapped
        .push((memory.swapped_in + memory.swapped_out) as f64);
    row.reclaimed.push(memory.reclaimed as f64);
    row.stalls.push(memory.allocation_stalls as f64);
    let limit = memory.limit.or(cell.memory.map(study::Bytes::get));
    row.limit = limit.map(|bytes| bytes as f64);
    row.peak.extend(memory.peak.map(|bytes| bytes as f64));
    row.met.extend(memory.limit_met.map(|times| times as f64));
    let room = limit.unwrap_or(memory.memory_total) as f64;
    let share = inodes(trial).map(|bytes| bytes / room);
    let share = share.filter(|share| share.is_finite());
    row.inode_share = [row.inode_share, share]
        .into_iter()
        .flatten()
        .reduce(f64::max);
}

/// Bytes of the inodes of the files that a trial counted, where the superblock names their size.
fn inodes(trial: &TrialRecord) -> Option<f64> {
    let superblock = &trial.mounted.as_ref()?.superblock;
    let size: f64 = superblock.get("inode_size")?.parse().ok()?;
    Some(counted(trial, None)? * size)
}

/// Every limited cell against the same cell with the most memory, corrected as one family.
fn pairs(
    sources: &Sources<'_>,
    options: &Options,
    cells: &[&Cell],
    labels: &Labels,
    notes: &mut Vec<String>,
) -> (Vec<Pair>, usize) {
    let room = |cell: &Cell| cell.memory.map_or(u64::MAX, study::Bytes::get);
    let rest = |cell: &Cell| -> BTreeMap<String, String> {
        let others = cell.levels.iter().filter(|(factor, _)| *factor != MEMORY);
        others.map(|(f, l)| (f.clone(), l.clone())).collect()
    };
    let mut pairs: Vec<Pair> = Vec::new();
    let mut comparisons: Vec<Comparison> = Vec::new();
    let mut places: Vec<(usize, bool)> = Vec::new();
    for cell in cells.iter().filter(|c| c.check.is_some()) {
        let alike = cells.iter().filter(|c| rest(c) == rest(cell));
        let Some(base) = alike
            .max_by_key(|c| room(c))
            .filter(|b| room(b) > room(cell))
        else {
            continue;
        };
        let level = |cell: &Cell| cell.levels.get(MEMORY).cloned().unwrap_or_default();
        for (metric, unit) in [("seconds", "secs"), ("device_read", "bytes")] {
            let figures = [base, cell].map(|cell| figure(sources, cell, metric, unit));
            match compare::one(&sources.run.plan, options, unit, &figures[0], &figures[1]) {
                Ok(comparison) => {
                    places.push((pairs.len(), unit == "secs"));
                    comparisons.push(comparison);
                }
                Err(stats::Error::Empty | stats::Error::TooFew { .. }) => {}
                Err(error) => notes.push(format!(
                    "memory, {}, {metric}: not compared: {error}",
                    cell.label()
                )),
            }
        }
        pairs.push(Pair {
            filesystem: filesystem(cell),
            label: labels.of_cell(cell),
            memory: [level(base), level(cell)],
            limit: room(cell) as f64,
            seconds: None,
            read: None,
        });
    }
    if let Err(error) = stats::family(&mut comparisons, sources.run.plan.band) {
        notes.push(format!("memory: not corrected: {error}"));
    }
    for ((pair, seconds), comparison) in places.iter().zip(&comparisons) {
        let versus: Versus = compare::versus(comparison, *seconds);
        let pair = &mut pairs[*pair];
        *(if *seconds {
            &mut pair.seconds
        } else {
            &mut pair.read
        }) = Some(versus);
    }
    (pairs, comparisons.len())
}

fn figure(sources: &Sources<'_>, cell: &Cell, metric: &str, unit: &str) -> Figure {
    let series = Series {
        phase: "check".to_owned(),
        metric: metric.to_owned(),
        clock: Clock::Original,
        unit: None,
        published: None,
    };
    Figure {
        cell: Some(cell.id),
        points: sources.points(cell, &series, unit),
        ..Figure::default()
    }
}
