//! From a run's samples to the sets.

use std::collections::BTreeSet;

use record::{Status, TrialRecord};
use study::{Cell, Clock, ScanSpec};

use super::passes::{By, PASSES, is_ocfs2};
use super::{Cost, Group, Pass, Set, published, spec};
use crate::compare;
use crate::fill::Sources;
use crate::labels::Labels;
use crate::layout::Series;
use crate::model::{Figure, Mark};
use crate::options::Options;

/// What a limited disk cannot show.
const NO_DISTANCE: &str = "This limit counts requests and bytes, not distance: what prefill saves in seeks it cannot show.";

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
                note: cell.device.limit.map(|_| NO_DISTANCE),
                sets: vec![set],
            }),
        }
    }
    let family = compare(sources, options, &mut groups, notes);
    (groups, family)
}

/// `ext4-scattered on a disk held to read=35m,read_iops=200 a second`.
fn disk(cell: &Cell, others: &str) -> String {
    match cell.device.limit {
        None => format!("{others} on the disk as it is"),
        Some(limit) => format!("{others} on a disk held to {limit} a second"),
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
    let mut trials = finished(sources, cell);
    trials.retain(|(_, trial)| value(trial, "scan", "seconds").is_some());
    let time = |trial| value(trial, "scan", "seconds").unwrap_or(f64::INFINITY);
    trials.sort_by(|a, b| time(a.1).total_cmp(&time(b.1)));
    let middle = trials.get(trials.len().checked_sub(1)? / 2)?;
    let has_links = median(&trials, "scan_pass_4b", "seconds").is_some();
    let (by, on_ocfs2) = (By::of(cell, has_links), is_ocfs2(cell));
    let known = PASSES.iter().filter_map(|known| {
        let what = known.what(by, on_ocfs2)?;
        // Not every version of a program has every pass.
        let seconds = median(&trials, known.phase, "seconds");
        let always = by == By::Model && !on_ocfs2;
        (always || seconds.is_some()).then_some((known, what))
    });
    let passes: Vec<Pass> = known
        .map(|(known, what)| Pass {
            name: known.name,
            what,
            title: known.title,
            median: cost(|metric| median(&trials, known.phase, metric)),
            middle: cost(|metric| value(middle.1, known.phase, metric)),
            seconds: figure(sources, cell, known.phase),
            marks: moved_marks(sources, cell, known.phase),
            versus: None,
            theirs: published::of(
                sources.published.filter(|_| by.repeats()),
                spec,
                known.title,
            ),
        })
        .collect();
    let of_whole = |metric: &str| median(&trials, "scan", metric);
    Some(Set {
        cell: cell.id,
        name: by.set().unwrap_or(&cell.workload_name).to_owned(),
        by,
        on_ocfs2,
        forged: cell.volume.is_forged(),
        how: by.how().map_or_else(|| how(spec, &passes), str::to_owned),
        files: spec.files,
        n: trials.len(),
        middle: middle.0,
        cache_size: of_whole("cache_size"),
        metadata: of_whole("metadata_bytes"),
        chains: spec.chains,
        chain_links: of_whole("chain_links"),
        passes,
    })
}

/// The finished trials of a cell, with their numbers.
pub(super) fn finished<'a>(sources: &Sources<'a>, cell: &Cell) -> Vec<(u32, &'a TrialRecord)> {
    let run = sources.run;
    let slots = run.plan.slots.iter().filter(|slot| slot.cell == cell.id);
    let trials = slots.filter_map(|slot| Some((slot.trial, run.trials.get(slot.trial as usize)?)));
    trials
        .filter(|(_, trial)| trial.status == Status::Finished)
        .collect()
}

/// The median of a metric over trials; none where none has it.
pub(super) fn median(trials: &[(u32, &TrialRecord)], phase: &str, metric: &str) -> Option<f64> {
    let values = trials.iter();
    let values = values.filter_map(|(_, trial)| value(trial, phase, metric));
    let summary = stats::summarize(&values.collect::<Vec<_>>()).ok()?;
    Some(summary.median)
}

/// A sample of a trial, in its stored unit.
fn value(trial: &TrialRecord, phase: &str, metric: &str) -> Option<f64> {
    let mut samples = trial.samples.iter();
    let found =
        samples.find(|s| s.phase == phase && s.metric == metric && s.clock == Clock::Original)?;
    Some(found.value)
}

/// What speaks against the bytes and requests of a phase.
pub(super) fn moved_marks(sources: &Sources<'_>, cell: &Cell, phase: &str) -> BTreeSet<Mark> {
    let of = |metric| sources.validity.marks(cell.id, Some(phase), metric);
    ["disk_bytes", "requests"]
        .into_iter()
        .flat_map(of)
        .collect()
}

fn cost(of: impl Fn(&str) -> Option<f64>) -> Cost {
    Cost {
        disk: of("disk_bytes"),
        cache: of("cache_bytes"),
        requests: of("requests"),
        seeks: of("seeks"),
        seek_bytes: of("seek_bytes"),
        batched: of("batched"),
        objects: of("objects"),
        verified: of("verified"),
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

/// The seconds of a phase, trial by trial.
pub(super) fn figure(sources: &Sources<'_>, cell: &Cell, phase: &str) -> Figure {
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
        marks: sources.validity.marks(cell.id, Some(phase), "seconds"),
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
                let Some(first) = base.pass(pass.name) else {
                    continue;
                };
                match compare::one(plan, options, "secs", &first.seconds, &pass.seconds) {
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

/// The switches of a set in words, and what came of them.
fn how(spec: &ScanSpec, passes: &[Pass]) -> String {
    // One by one, though more were wanted: the cache is too small for more.
    let one_by_one = |name: &str| {
        let pass = passes.iter().find(|pass| pass.name == name);
        pass.and_then(|pass| pass.median.batched)
            .is_some_and(|most| most <= 1.0)
    };
    let precache = if spec.precache {
        "precache"
    } else {
        "no precache"
    };
    let prefill = match spec.prefill {
        false => "no prefill",
        true if spec.chains > 1 && one_by_one("0a") => "prefill (does not fit the cache: not done)",
        true => "prefill",
    };
    let buffer = spec.scan_buffer;
    let batch = match spec.batch {
        1 => "one block".to_owned(),
        batch if one_by_one("2") => {
            format!("one block ({batch} do not fit the cache)")
        }
        batch => format!("{batch} blocks"),
    };
    format!("{precache}, {prefill}; pass 1 reads {buffer} at once, pass 2 {batch}")
}
