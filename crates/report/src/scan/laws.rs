//! The conclusions of 2011 as laws, and whether a run's numbers keep them.
//!
//! A pair of cells tests a law when they differ in one switch alone: the same filesystem, device,
//! population and other switches. Bytes and requests are medians; a hundredth is allowed where two cells should read the
//! same bytes, because each trial has a filesystem of its own.
//!
//! Of the four, one speaks of time: precache with a large cache wins or ties. Its comparisons are a family and corrected together. Where
//! the runs do not distinguish two times, that is no tie: the law is open there.

use std::collections::BTreeSet;

use stats::Comparison;
use study::{Cell, ScanSpec};

use super::published::{self, Theirs};
use super::sets::{figure, finished, is_set, median, moved_marks};
use super::{Case, Law, spec};
use words::bytes_f64 as size;

use crate::compare;
use crate::fill::Sources;
use crate::labels::Labels;
use crate::model::{Difference, Figure, Mark, Point};
use crate::numbers::{ratio, short};
use crate::options::Options;
use crate::timing_tag;

/// What two readings of the same bytes may differ by.
const SAME: f64 = 0.01;
/// Share of pass 1's bytes that precache must have read besides: a group or two may still be in the cache.
const AGAIN: std::ops::RangeInclusive<f64> = 0.9..=1.05;
/// Phases of the passes that laws are about.
const PASS_0A: &str = "scan_pass_0a";
const PASS_0B: &str = "scan_pass_0b";
const PASS_1: &str = "scan_pass_1";
/// What most laws are about.
const BYTES: &str = "the bytes";

/// The laws on every pair of the cells of a report, and how many comparisons of times were corrected together; none where nothing
/// was read.
pub(crate) fn of(
    sources: &Sources<'_>,
    options: &Options,
    cells: &[&Cell],
    notes: &mut Vec<String>,
) -> Option<(Vec<Law>, usize)> {
    let read = |cell: &&Cell| {
        spec(cell).is_some() && median(&finished(sources, cell), PASS_1, "disk_bytes").is_some()
    };
    let cells: Vec<&Cell> = cells.iter().copied().filter(read).collect();
    if cells.is_empty() {
        return None;
    }
    let judge = Judge {
        sources,
        options,
        cells,
    };
    let (large, family) = judge.large_cache(notes);
    let [precache, prefill, buffer] = [precache_published, prefill_published, buffer_published]
        .map(|of| judge.published(of).unzip());
    let laws = vec![
        Law {
            id: "precache",
            says: "With a cache smaller than the inode tables, precache doubles the bytes from disk of \
                   passes 0b and 1",
            brief: Some("precache with a small cache doubles the bytes of 0b and 1"),
            published: precache.0,
            was: precache.1,
            cases: judge.small_cache(),
        },
        Law {
            id: "precache-large-cache",
            says: "With a cache larger than the metadata, precache reads nothing twice, and wins or ties",
            brief: None,
            published: judge.published(|_| Some(NOT_RUN.to_owned())),
            was: None,
            cases: large,
        },
        Law {
            id: "prefill",
            says: "Prefill does not change the bytes from disk of pass 0a, and shortens its seeks",
            brief: Some("prefill keeps the bytes of 0a and shortens its seeks"),
            published: prefill.0,
            was: prefill.1,
            cases: judge.prefill(),
        },
        Law {
            id: "scan-buffer",
            says: "A larger buffer changes the requests of pass 1, not its bytes",
            brief: Some("a larger buffer keeps the bytes of pass 1, with fewer requests"),
            published: buffer.0,
            was: buffer.1,
            cases: judge.buffer(),
        },
    ];
    Some((laws, family))
}

/// What the message of 16 September says of the large cache.
const NOT_RUN: &str =
    "not run: \"precache only works when the cache is large enough. In this run, it is not.\"";

type Document = crate::published::Published;

/// Two passes of one of his three sets.
fn his(document: &Document, set: &str, row: &str) -> Option<Theirs> {
    published::row(document, 0, set, row)
}

/// What he printed, in words and in few.
type Printed = (String, String);

/// His sets 1 and 2 differ in prefill as well.
fn precache_published(document: &Document) -> Option<Printed> {
    let both = |set| {
        Some((
            his(document, set, "Pass 0b: Checking inode allocation chains")?.disk,
            his(document, set, "Pass 1: Checking inodes and blocks")?.disk,
        ))
    };
    let (with, without) = (both("set 1")?, both("set 2")?);
    let times = ratio((with.0 + with.1) / (without.0 + without.1));
    let words = format!(
        "set 1, with it, {:.0} + {:.0} MB; set 2, without it and with prefill, {:.0} + {:.0} MB: {times} times",
        with.0, with.1, without.0, without.1,
    );
    Some((words, times))
}

fn prefill_published(document: &Document) -> Option<Printed> {
    let of = |set| his(document, set, "Pass 0a: Checking cluster allocation chains");
    let (without, with) = (of("set 1")?, of("set 2")?);
    let words = format!(
        "set 1, without it, {:.0} MB in {} s; set 2, with it and without precache, {:.0} MB in {} s",
        without.disk,
        short(without.real),
        with.disk,
        short(with.real)
    );
    Some((words, both(without, with)))
}

/// `66 and 66 MB`.
fn both(first: Theirs, second: Theirs) -> String {
    format!("{:.0} and {:.0} MB", first.disk, second.disk)
}

fn buffer_published(document: &Document) -> Option<Printed> {
    let of = |set| his(document, set, "Pass 1: Checking inodes and blocks");
    let (small, large) = (of("set 2")?, of("set 3")?);
    let words = format!(
        "set 2, 32 KiB to 1 MiB at once, {:.0} MB in {} s; set 3, 4 MiB, {:.0} MB in {} s",
        small.disk,
        short(small.real),
        large.disk,
        short(large.real)
    );
    Some((words, both(small, large)))
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

    fn published<T>(&self, of: impl Fn(&Document) -> Option<T>) -> Option<T> {
        of(self.sources.published?)
    }

    /// Precache against none, where the cache is large or where it is small.
    fn precache(&self, large: bool) -> Vec<(String, &'a Cell, &'a Cell)> {
        let mut pairs = self.pairs(
            "precache",
            |a, b| a.precache && !b.precache,
            |spec| spec.precache = true,
        );
        pairs.retain(|(_, _, without)| {
            let cache = self.median(without, "scan", "cache_size");
            let tables = self.median(without, PASS_1, "disk_bytes");
            if large {
                cache >= self.median(without, "scan", "metadata_bytes")
            } else {
                cache < tables
            }
        });
        pairs
    }

    /// Bytes from disk of passes 0b and 1, with precache and without.
    fn tables(&self, with: &Cell, without: &Cell) -> [f64; 2] {
        [with, without].map(|cell| {
            let of = |phase| self.median(cell, phase, "disk_bytes");
            of(PASS_0B) + of(PASS_1)
        })
    }

    fn small_cache(&self) -> Vec<Case> {
        let case = |(of, with, without): (String, &Cell, &Cell)| {
            let tables = self.median(without, PASS_1, "disk_bytes");
            let [a, b] = self.tables(with, without);
            let share = (a - b) / tables;
            Case {
                cells: [with.id, without.id],
                of,
                figures: format!(
                    "{} with, {} without: {} times; {:.0} % of pass 1's {} was read again",
                    size(a),
                    size(b),
                    ratio(a / b),
                    100.0 * share,
                    size(tables)
                ),
                times: vec![(BYTES, a / b)],
                holds: Some(AGAIN.contains(&share)),
                marks: self.marks([with, without], &[PASS_0B, PASS_1]),
            }
        };
        self.precache(false).into_iter().map(case).collect()
    }

    /// And how many comparisons of times the cases rest on.
    fn large_cache(&self, notes: &mut Vec<String>) -> (Vec<Case>, usize) {
        let pairs = self.precache(true);
        let mut comparisons = Vec::new();
        let mut places = Vec::new();
        for (_, with, without) in &pairs {
            let figures = [without, with].map(|cell| self.both_passes(cell));
            let plan = &self.sources.run.plan;
            let one = compare::one(plan, self.options, "secs", &figures[0], &figures[1]);
            places.push(match one {
                Ok(comparison) => {
                    comparisons.push(comparison);
                    Some(comparisons.len() - 1)
                }
                Err(stats::Error::Empty | stats::Error::TooFew { .. }) => None,
                Err(error) => {
                    notes.push(format!(
                        "precache with a large cache: not compared: {error}"
                    ));
                    None
                }
            });
        }
        if let Err(error) = stats::family(&mut comparisons, self.sources.run.plan.band) {
            notes.push(format!(
                "precache with a large cache: not corrected: {error}"
            ));
        }
        let cases = pairs
            .into_iter()
            .zip(places)
            .map(|((of, with, without), place)| {
                let comparison = place.and_then(|at| comparisons.get(at));
                self.large_case(of, [with, without], comparison)
            });
        (cases.collect(), comparisons.len())
    }

    fn large_case(&self, of: String, cells: [&Cell; 2], time: Option<&Comparison>) -> Case {
        let [with, without] = cells;
        let [a, b] = self.tables(with, without);
        let (word, wins) = self.time(cells, time);
        let bytes = (a / b - 1.0).abs() <= SAME;
        let mut marks = self.marks(cells, &[PASS_0B, PASS_1]);
        for cell in cells {
            for phase in [PASS_0B, PASS_1] {
                marks.extend(self.sources.validity.marks(cell.id, Some(phase), "seconds"));
            }
        }
        Case {
            cells: [with.id, without.id],
            of,
            figures: format!(
                "{} with, {} without: {} times; {word}",
                size(a),
                size(b),
                ratio(a / b)
            ),
            times: vec![(BYTES, a / b)],
            holds: if bytes { wins } else { Some(false) },
            marks,
        }
    }

    /// Time of passes 0b and 1 with precache over without it, in words; whether it is not worse, where the runs can tell.
    fn time(&self, cells: [&Cell; 2], comparison: Option<&Comparison>) -> (String, Option<bool>) {
        if comparison.is_some() && timing_tag::of(self.sources.run).is_some() {
            return ("not judged: times are emulated".to_owned(), None);
        }
        let Some(comparison) = comparison else {
            let [with, without] = cells.map(|cell| {
                self.median(cell, PASS_0B, "seconds") + self.median(cell, PASS_1, "seconds")
            });
            let times = ratio(with / without);
            return (format!("time {times} times, too few trials to judge"), None);
        };
        let versus = compare::versus(comparison, true);
        let (word, holds) = match versus.difference {
            Difference::Better => ("it wins", Some(true)),
            Difference::Worse => ("it loses", Some(false)),
            Difference::Same => ("a tie", Some(true)),
            _ => ("the runs do not distinguish them", None),
        };
        (format!("time {} times: {word}", ratio(versus.ratio)), holds)
    }

    /// Seconds of passes 0b and 1 together, trial by trial.
    fn both_passes(&self, cell: &Cell) -> Figure {
        let [first, second] = [PASS_0B, PASS_1].map(|phase| figure(self.sources, cell, phase));
        let sum = |point: &Point| {
            let mut others = second.points.iter();
            let other = others.find(|other| other.trial == point.trial)?;
            Some(Point {
                value: point.value + other.value,
                ..*point
            })
        };
        Figure {
            cell: Some(cell.id),
            points: first.points.iter().filter_map(sum).collect(),
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
            let of_0a = |metric| [without, with].map(|cell| self.known(cell, PASS_0A, metric));
            let known = |metric| of_0a(metric).map(Option::unwrap_or_default);
            let (bytes, seeks, seconds) = (known("disk_bytes"), known("seeks"), known("seconds"));
            let mut times = vec![(BYTES, bytes[1] / bytes[0])];
            let (way, shorter) = match of_0a("seek_bytes") {
                [Some(a), Some(b)] => {
                    times.push(("the seek distance", b / a));
                    (format!(" over {} and {}", size(a), size(b)), b < a)
                }
                // A run of before these were measured.
                _ => (String::new(), true),
            };
            let one_link = self.known(with, "scan", "chain_links") == Some(1.0);
            let (doubt, holds) = if one_link {
                ("; chains of one link: nothing to bring forward", None)
            } else {
                ("", Some(shorter))
            };
            Case {
                cells: [without.id, with.id],
                of,
                figures: format!(
                    "{} without, {} with; {:.0} and {:.0} seeks{way}; time {} times{doubt}",
                    size(bytes[0]),
                    size(bytes[1]),
                    seeks[0],
                    seeks[1],
                    ratio(seconds[1] / seconds[0])
                ),
                times,
                holds: if same(bytes) { holds } else { Some(false) },
                marks: self.marks([without, with], &[PASS_0A]),
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
            let bytes = [*small, *large].map(|c| self.median(c, PASS_1, "disk_bytes"));
            let requests = [*small, *large].map(|c| self.median(c, PASS_1, "requests"));
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
                times: vec![
                    (BYTES, bytes[1] / bytes[0]),
                    ("the requests", requests[1] / requests[0]),
                ],
                holds: Some(same(bytes) && requests[1] < requests[0]),
                marks: self.marks([small, large], &[PASS_1]),
            }
        };
        pairs.iter().filter(next).map(case).collect()
    }

    /// What speaks against the bytes and requests of these phases.
    fn marks(&self, cells: [&Cell; 2], phases: &[&str]) -> BTreeSet<Mark> {
        let of = |cell: &Cell| {
            let phases = phases.iter();
            phases
                .flat_map(|phase| moved_marks(self.sources, cell, phase))
                .collect::<Vec<_>>()
        };
        cells.into_iter().flat_map(of).collect()
    }

    fn known(&self, cell: &Cell, phase: &str, metric: &str) -> Option<f64> {
        median(&finished(self.sources, cell), phase, metric)
    }

    /// The median; 0 of what was not measured, which no law takes for kept.
    fn median(&self, cell: &Cell, phase: &str, metric: &str) -> f64 {
        self.known(cell, phase, metric).unwrap_or(0.0)
    }
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
