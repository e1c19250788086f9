//! From a run's samples to the sets.

use record::{Status, TrialRecord};
use study::{Cell, Clock, ScanSpec};

use super::{Cost, Group, Pass, Set, published, spec};
use crate::compare;
use crate::fill::Sources;
use crate::labels::Labels;
use crate::layout::Series;
use crate::model::Figure;
use crate::options::Options;

/// Names, phases, and what fsck.ocfs2 prints before them; the whole last.
const PASSES: [(&str, &str, &str); 5] = [
    (
        "0a",
        "scan_pass_0a",
        "Pass 0a: Checking cluster allocation chains",
    ),
    (
        "0b",
        "scan_pass_0b",
        "Pass 0b: Checking inode allocation chains",
    ),
    ("1", "scan_pass_1", "Pass 1: Checking inodes and blocks"),
    ("2", "scan_pass_2", "Pass 2: Checking directory entries"),
    ("all", "scan", "Overall"),
];

/// The sets of a run, by what they ran on, and how many comparisons were corrected together. Cells of a workload
/// with factors of its own are no sets: they vary one switch, and have grids.
pub(crate) fn of(
    sources: &Sources<'_>,
    options: &Options,
    cells: &[&Cell],
    notes: &mut Vec<String>,
) -> (Vec<Group>, usize) {
    let sets: Vec<&Cell> = cells
        .iter()
        .copied()
        .filter(|cell| is_set(sources, cell))
        .collect();
    let labels = Labels::of(&sources.run.plan, &sets).without(&["workload", "limit"]);
    let mut groups: Vec<Group> = Vec::new();
    for cell in sets {
        let Some(set) = set(sources, cell) else {
            continue;
        };
        let of = disk(cell, &labels.of_cell(cell));
        match groups.iter_mut().find(|group| group.of == of) {
            Some(group) => group.sets.push(set),
            None => groups.push(Group {
                of,
                sets: vec![set],
            }),
        }
    }
    let family = compare(sources, options, &mut groups, notes);
    (groups, family)
}

/// `ext4-scattered on a disk of read=50m,read_iops=200 a second`.
fn disk(cell: &Cell, others: &str) -> String {
    match cell.device.limit {
        None => format!("{others} on the disk as it is"),
        Some(limit) => format!("{others} on a disk of {limit} a second"),
    }
}

/// Whether a cell is the only one of its workload on its disk.
pub(super) fn is_set(sources: &Sources<'_>, cell: &Cell) -> bool {
    let same = |other: &&Cell| {
        other.workload_name == cell.workload_name && other.workload != cell.workload
    };
    spec(cell).is_some() && !sources.run.plan.cells.iter().any(|other| same(&other))
}

fn set(sources: &Sources<'_>, cell: &Cell) -> Option<Set> {
    let spec = spec(cell)?;
    let trials = trials(sources, cell);
    let middle = trials.get(trials.len().checked_sub(1)? / 2)?;
    let passes = PASSES.iter().map(|(name, phase, title)| {
        let costs: Vec<Cost> = trials.iter().map(|(_, trial)| cost(trial, phase)).collect();
        Pass {
            name,
            title,
            median: median(&costs),
            middle: cost(middle.1, phase),
            seconds: figure(sources, cell, phase),
            versus: None,
            theirs: published::of(sources.published, spec, title),
        }
    });
    let of_whole = |metric: &str| {
        let values = trials
            .iter()
            .filter_map(|(_, trial)| value(trial, "scan", metric));
        middle_of(&values.collect::<Vec<_>>())
    };
    Some(Set {
        cell: cell.id,
        name: cell.workload_name.clone(),
        how: how(spec),
        n: trials.len(),
        middle: middle.0,
        cache_size: of_whole("cache_size"),
        metadata: of_whole("metadata_bytes"),
        passes: passes.collect(),
    })
}

/// The finished trials of a cell with their numbers, by the seconds of all passes.
fn trials<'a>(sources: &Sources<'a>, cell: &Cell) -> Vec<(u32, &'a TrialRecord)> {
    let run = sources.run;
    let slots = run.plan.slots.iter().filter(|slot| slot.cell == cell.id);
    let mut found: Vec<(f64, u32, &TrialRecord)> = slots
        .filter_map(|slot| {
            let trial = run.trials.get(slot.trial as usize)?;
            let whole = (trial.status == Status::Finished).then_some(trial)?;
            Some((value(whole, "scan", "seconds")?, slot.trial, whole))
        })
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
        .into_iter()
        .map(|(_, at, trial)| (at, trial))
        .collect()
}

/// A sample of a trial, in its stored unit.
pub(super) fn value(trial: &TrialRecord, phase: &str, metric: &str) -> Option<f64> {
    let mut samples = trial.samples.iter();
    let found =
        samples.find(|s| s.phase == phase && s.metric == metric && s.clock == Clock::Original)?;
    Some(found.value)
}

fn cost(trial: &TrialRecord, phase: &str) -> Cost {
    let of = |metric: &str| value(trial, phase, metric).unwrap_or(0.0);
    Cost {
        disk: of("disk_bytes"),
        cache: of("cache_bytes"),
        requests: of("requests"),
        seeks: of("seeks"),
        mean: of("request_mean"),
        real: of("seconds"),
        user: of("user_seconds"),
        system: of("system_seconds"),
        with_cache: of("rate_with_cache"),
        without_user: of("rate_without_user"),
        rate: of("throughput"),
        peak: of("peak_rss"),
    }
}

fn median(costs: &[Cost]) -> Cost {
    let of = |get: fn(&Cost) -> f64| middle_of(&costs.iter().map(get).collect::<Vec<_>>());
    Cost {
        disk: of(|c| c.disk),
        cache: of(|c| c.cache),
        requests: of(|c| c.requests),
        seeks: of(|c| c.seeks),
        mean: of(|c| c.mean),
        real: of(|c| c.real),
        user: of(|c| c.user),
        system: of(|c| c.system),
        with_cache: of(|c| c.with_cache),
        without_user: of(|c| c.without_user),
        rate: of(|c| c.rate),
        peak: of(|c| c.peak),
    }
}

/// The median; 0 of none.
pub(super) fn middle_of(values: &[f64]) -> f64 {
    stats::summarize(values).map_or(0.0, |summary| summary.median)
}

fn figure(sources: &Sources<'_>, cell: &Cell, phase: &str) -> Figure {
    let series = Series {
        phase: phase.to_owned(),
        metric: "seconds".to_owned(),
        clock: Clock::Original,
        unit: None,
        published: None,
    };
    Figure {
        cell: Some(cell.id),
        points: sources.points(cell, &series, "secs"),
        marks: sources.trust.marks(cell.id, Some(phase), "seconds"),
        ..Figure::default()
    }
}

/// Every set against the first of its group, pass by pass, corrected as one family.
fn compare(
    sources: &Sources<'_>,
    options: &Options,
    groups: &mut [Group],
    notes: &mut Vec<String>,
) -> usize {
    let plan = &sources.run.plan;
    let mut comparisons = Vec::new();
    let mut places = Vec::new();
    for (g, group) in groups.iter().enumerate() {
        let Some((base, others)) = group.sets.split_first() else {
            continue;
        };
        for (s, set) in others.iter().enumerate() {
            for (p, pass) in set.passes.iter().enumerate() {
                let (a, b) = (&base.passes[p].seconds, &pass.seconds);
                match compare::one(plan, options, "secs", a, b) {
                    Ok(comparison) => {
                        places.push((g, s + 1, p));
                        comparisons.push(comparison);
                    }
                    Err(stats::Error::Empty | stats::Error::TooFew { .. }) => {}
                    Err(error) => notes.push(format!(
                        "{}, pass {}: not compared: {error}",
                        set.name, pass.name
                    )),
                }
            }
        }
    }
    if let Err(error) = stats::family(&mut comparisons, plan.band) {
        notes.push(format!("the sets: not corrected: {error}"));
    }
    for ((g, s, p), comparison) in places.iter().zip(&comparisons) {
        let versus = compare::versus(comparison, true);
        groups[*g].sets[*s].passes[*p].versus = Some(versus);
    }
    comparisons.len()
}

/// The switches of a set in words.
fn how(spec: &ScanSpec) -> String {
    let precache = if spec.precache {
        "precache"
    } else {
        "no precache"
    };
    let prefill = if spec.prefill {
        "prefill"
    } else {
        "no prefill"
    };
    let buffer = spec.scan_buffer;
    let batch = match spec.batch {
        1 => "one block".to_owned(),
        batch => format!("{batch} blocks"),
    };
    format!("{precache}, {prefill}; pass 1 reads {buffer} at once, pass 2 {batch}")
}
