//! The conclusions of 2011 as laws, and whether a run's numbers keep them.
//!
//! A pair of cells tests a law when one switch is all that tells them apart: the same filesystem, device,
//! population and other switches. Bytes and requests are medians; a hundredth is allowed where two cells should read the
//! same bytes, because each trial has a filesystem of its own.

use stats::Comparison;
use study::{Cell, Clock, ScanSpec};

use super::sets::{is_set, middle_of, value};
use super::{Case, Law, spec};
use crate::compare;
use crate::fill::Sources;
use crate::labels::Labels;
use crate::layout::Series;
use crate::model::{Difference, Figure, Point};
use crate::numbers::{ratio, size};
use crate::options::Options;

/// What two readings of the same bytes may differ by.
const SAME: f64 = 0.01;
/// Share of pass 1's bytes that precache must have read besides: a group or two may still be in the cache.
const AGAIN: std::ops::RangeInclusive<f64> = 0.9..=1.05;

/// The laws on every pair of the cells of a report; none where nothing was read.
pub(crate) fn of(sources: &Sources<'_>, options: &Options, cells: &[&Cell]) -> Vec<Law> {
    let cells: Vec<&Cell> = cells
        .iter()
        .copied()
        .filter(|cell| spec(cell).is_some() && bytes(sources, cell, "scan_pass_1").is_some())
        .collect();
    if cells.is_empty() {
        return Vec::new();
    }
    let judge = Judge {
        sources,
        options,
        cells,
    };
    vec![
        Law {
            id: "precache",
            says: "With a cache smaller than the inode tables, precache doubles the bytes from disk of \
                   passes 0b and 1",
            published: "6471 + 6532 MB with, 7 + 6531 MB without: 1.99 times",
            cases: judge.precache(false),
        },
        Law {
            id: "precache-large-cache",
            says: "With a cache larger than the metadata, precache reads nothing twice, and wins or ties",
            published: "not run: \"precache only works when the cache is large enough\"",
            cases: judge.precache(true),
        },
        Law {
            id: "prefill",
            says: "Prefill does not change the bytes from disk of pass 0a",
            published: "66 MB without, 66 MB with; 97.1 s and 12.8 s",
            cases: judge.prefill(),
        },
        Law {
            id: "scan-buffer",
            says: "A larger buffer changes the requests of pass 1, not its bytes",
            published: "6531 MB with 32 KiB to 1 MiB, 6531 MB with 4 MiB; 481.6 s and 271.1 s",
            cases: judge.buffer(),
        },
    ]
}

/// Looks for pairs, and at them.
struct Judge<'a> {
    sources: &'a Sources<'a>,
    options: &'a Options,
    cells: Vec<&'a Cell>,
}

impl<'a> Judge<'a> {
    /// Pairs that `leveled` makes equal: cells of one workload, or two sets.
    fn pairs(
        &self,
        differ: &str,
        before: fn(&ScanSpec, &ScanSpec) -> bool,
        leveled: fn(&mut ScanSpec),
    ) -> Vec<(String, &'a Cell, &'a Cell)> {
        let plan = &self.sources.run.plan;
        let mut found = Vec::new();
        for one in &self.cells {
            for other in &self.cells {
                let (Some(a), Some(b)) = (spec(one), spec(other)) else {
                    continue;
                };
                let one_workload = one.workload_name == other.workload_name;
                let related =
                    one_workload || is_set(self.sources, one) && is_set(self.sources, other);
                if related && before(a, b) && same_place(one, other) && levels(a, b, leveled) {
                    let labels = Labels::of(plan, &self.cells).without(&[differ]);
                    let (first, second) = (labels.of_cell(one), labels.of_cell(other));
                    let of = if one_workload || first == second {
                        first
                    } else {
                        let labels = labels.without(&["workload"]);
                        let rest = labels.of_cell(one);
                        let rest = if rest == crate::labels::filesystem(one) {
                            String::new()
                        } else {
                            format!(" {rest}")
                        };
                        format!("{} and {}{rest}", one.workload_name, other.workload_name)
                    };
                    found.push((of, *one, *other));
                }
            }
        }
        found
    }

    /// Precache against none, where the cache is small or where it is large.
    fn precache(&self, large: bool) -> Vec<Case> {
        let pairs = self.pairs(
            "precache",
            |a, b| a.precache && !b.precache,
            |spec| spec.precache = true,
        );
        let regime = |cell: &Cell| {
            let cache = self.median(cell, "scan", "cache_size");
            let tables = self.median(cell, "scan_pass_1", "disk_bytes");
            if large {
                cache >= self.median(cell, "scan", "metadata_bytes")
            } else {
                cache < tables
            }
        };
        let pairs = pairs.into_iter().filter(|(_, _, without)| regime(without));
        let case = |(of, with, without): (String, &Cell, &Cell)| {
            let tables = self.median(without, "scan_pass_1", "disk_bytes");
            let sum = |cell| {
                let of = |phase| self.median(cell, phase, "disk_bytes");
                of("scan_pass_0b") + of("scan_pass_1")
            };
            let (a, b) = (sum(with), sum(without));
            let share = (a - b) / tables;
            let mut figures = format!(
                "{} with, {} without: {} times; ",
                size(a),
                size(b),
                ratio(a / b)
            );
            let holds = if large {
                let (word, wins) = self.times(with, without);
                figures.push_str(&word);
                (a / b - 1.0).abs() <= SAME && wins
            } else {
                figures.push_str(&format!(
                    "{:.0} % of pass 1's {} was read again",
                    100.0 * share,
                    size(tables)
                ));
                AGAIN.contains(&share)
            };
            Case {
                cells: [with.id, without.id],
                of,
                figures,
                holds,
            }
        };
        pairs.map(case).collect()
    }

    /// Time of passes 0b and 1 with a switch over without it, in words; whether it is not worse.
    fn times(&self, with: &Cell, without: &Cell) -> (String, bool) {
        let figures = [without, with].map(|cell| self.both_passes(cell));
        let plan = &self.sources.run.plan;
        let one = compare::one(plan, self.options, "secs", &figures[0], &figures[1]);
        let Ok(comparison) = one else {
            let of = |figure: &Figure| middle_of(&figure.values());
            let times = of(&figures[1]) / of(&figures[0]);
            // Too few values for more: one in a hundred beyond the band is nothing to judge by.
            let wins = times <= 1.0 + plan.band;
            return (format!("time {} times", ratio(times)), wins);
        };
        let mut family: Vec<Comparison> = vec![comparison];
        let _ = stats::family(&mut family, plan.band);
        let versus = compare::versus(&family[0], true);
        let word = match versus.difference {
            Difference::Better => "it wins",
            Difference::Worse => "it loses",
            _ => "a tie",
        };
        let times = ratio(versus.ratio);
        (
            format!("time {times} times: {word}"),
            versus.difference != Difference::Worse,
        )
    }

    /// Seconds of passes 0b and 1 together, trial by trial.
    fn both_passes(&self, cell: &Cell) -> Figure {
        let of = |phase: &str| {
            let series = Series {
                phase: phase.to_owned(),
                metric: "seconds".to_owned(),
                clock: Clock::Original,
                unit: None,
                published: None,
            };
            self.sources.points(cell, &series, "secs")
        };
        let second = of("scan_pass_1");
        let sum = |point: &Point| {
            let other = second.iter().find(|other| other.trial == point.trial)?;
            Some(Point {
                value: point.value + other.value,
                ..*point
            })
        };
        Figure {
            cell: Some(cell.id),
            points: of("scan_pass_0b").iter().filter_map(sum).collect(),
            ..Figure::default()
        }
    }

    fn prefill(&self) -> Vec<Case> {
        let pairs = self.pairs(
            "prefill",
            |a, b| !a.prefill && b.prefill,
            |spec| spec.prefill = true,
        );
        let case = |(of, without, with): (String, &Cell, &Cell)| {
            let bytes = [without, with].map(|c| self.median(c, "scan_pass_0a", "disk_bytes"));
            let seeks = [without, with].map(|c| self.median(c, "scan_pass_0a", "seeks"));
            let seconds = [without, with].map(|c| self.median(c, "scan_pass_0a", "seconds"));
            Case {
                cells: [without.id, with.id],
                of,
                figures: format!(
                    "{} without, {} with; {:.0} and {:.0} seeks; time {} times",
                    size(bytes[0]),
                    size(bytes[1]),
                    seeks[0],
                    seeks[1],
                    ratio(seconds[1] / seconds[0])
                ),
                holds: same(bytes),
            }
        };
        pairs.into_iter().map(case).collect()
    }

    /// Each buffer against the next larger one.
    fn buffer(&self) -> Vec<Case> {
        let pairs = self.pairs(
            "scan_buffer",
            |a, b| a.scan_buffer < b.scan_buffer,
            |spec| spec.scan_buffer = study::Bytes(0),
        );
        let buffer = |cell: &Cell| spec(cell).map(|spec| spec.scan_buffer);
        let next = |(_, small, large): &&(String, &Cell, &Cell)| {
            !pairs
                .iter()
                .any(|(_, from, to)| from.id == small.id && buffer(to) < buffer(large))
        };
        let case = |(of, small, large): &(String, &Cell, &Cell)| {
            let bytes = [*small, *large].map(|c| self.median(c, "scan_pass_1", "disk_bytes"));
            let requests = [*small, *large].map(|c| self.median(c, "scan_pass_1", "requests"));
            let name = |cell| buffer(cell).map_or_else(String::new, |b| b.to_string());
            Case {
                cells: [small.id, large.id],
                of: of.clone(),
                figures: format!(
                    "{} to {}: {} and {}; {:.0} and {:.0} requests, {} times as many",
                    name(small),
                    name(large),
                    size(bytes[0]),
                    size(bytes[1]),
                    requests[0],
                    requests[1],
                    ratio(requests[1] / requests[0])
                ),
                holds: same(bytes) && requests[1] < requests[0],
            }
        };
        pairs.iter().filter(next).map(case).collect()
    }

    fn median(&self, cell: &Cell, phase: &str, metric: &str) -> f64 {
        let run = self.sources.run;
        let slots = run.plan.slots.iter().filter(|slot| slot.cell == cell.id);
        let trials = slots.filter_map(|slot| run.trials.get(slot.trial as usize));
        let finished = trials.filter(|trial| trial.status == record::Status::Finished);
        let values = finished.filter_map(|trial| value(trial, phase, metric));
        middle_of(&values.collect::<Vec<_>>())
    }
}

/// Bytes of a phase in any finished trial of a cell.
fn bytes(sources: &Sources<'_>, cell: &Cell, phase: &str) -> Option<f64> {
    let run = sources.run;
    let slots = run.plan.slots.iter().filter(|slot| slot.cell == cell.id);
    let mut trials = slots.filter_map(|slot| run.trials.get(slot.trial as usize));
    trials.find_map(|trial| value(trial, phase, "disk_bytes"))
}

fn same(bytes: [f64; 2]) -> bool {
    bytes[0] > 0.0 && (bytes[1] / bytes[0] - 1.0).abs() <= SAME
}

/// Whether two cells ran on the same filesystem, device and memory.
fn same_place(a: &Cell, b: &Cell) -> bool {
    a.filesystem == b.filesystem
        && a.device == b.device
        && a.memory == b.memory
        && a.trace == b.trace
}

fn levels(a: &ScanSpec, b: &ScanSpec, leveled: fn(&mut ScanSpec)) -> bool {
    let (mut a, mut b) = (a.clone(), b.clone());
    leveled(&mut a);
    leveled(&mut b);
    a == b
}
