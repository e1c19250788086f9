//! Figures beside the time of a check: the questions of 2012's readers.
//!
//! How many files were there really, how much memory did the checker take, what did it read, did the
//! machine swap? The original's table has no room for them; they follow below it, one row for each of
//! its places.

use record::Run;
use serde::Serialize;
use study::Clock;

use super::{Panel, Place};
use crate::fill::Sources;
use crate::layout::Series;

/// A figure beside the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Extra {
    /// Head of its column.
    pub head: &'static str,
    /// Phases that may have it; the last that has is taken.
    #[serde(skip)]
    pub phases: &'static [&'static str],
    /// Metric.
    pub metric: &'static str,
    /// Unit as printed.
    pub unit: &'static str,
}

/// All of them, in order. A column is printed when any place has it.
const EXTRAS: [Extra; 6] = [
    Extra {
        head: "files counted",
        phases: &["forge", "fill", "age_fill", "age_remove", "age_add"],
        metric: "count",
        unit: "count",
    },
    Extra {
        head: "RSS MiB",
        phases: &["check"],
        metric: "peak_rss",
        unit: "MiB",
    },
    Extra {
        head: "MiB read",
        phases: &["check"],
        metric: "device_read",
        unit: "MiB",
    },
    Extra {
        head: "swap-ins",
        phases: &["check"],
        metric: "swap_ins",
        unit: "count",
    },
    Extra {
        head: "user s",
        phases: &["check"],
        metric: "user_seconds",
        unit: "secs",
    },
    Extra {
        head: "sys s",
        phases: &["check"],
        metric: "system_seconds",
        unit: "secs",
    },
];

/// Medians of what belongs to each place, one row a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    /// Columns.
    pub extras: Vec<Extra>,
    /// Label of the place, its n, and one value a column.
    pub rows: Vec<(String, usize, Vec<Option<f64>>)>,
}

/// The rows for all places with a time of a check; none when there is no such column, or when the
/// study itself prints what its checks took.
pub(super) fn of(sources: &Sources<'_>, panels: &[Panel]) -> Option<Beside> {
    let grids = &sources.run.plan.grids;
    let mut columns = grids.iter().flat_map(|grid| &grid.columns);
    if columns.any(|c| c.phase == "check" && c.metric == "peak_rss") {
        // The study has a grid of its own for them.
        return None;
    }
    let mut rows = Vec::new();
    for panel in panels {
        for (at, column) in panel.columns.iter().enumerate() {
            if column.phase != "check" || column.metric != "seconds" {
                continue;
            }
            for line in &panel.lines {
                let Some(values) = values(sources, &line.places[at]) else {
                    continue;
                };
                let own = column.levels.values().cloned();
                let parts = panel.heading.iter().cloned();
                let parts: Vec<String> = parts
                    .chain(panel.open.values().cloned())
                    .chain(line.labels.iter().cloned())
                    .chain(own)
                    .collect();
                rows.push((parts.join(" "), line.places[at].figure.points.len(), values));
            }
        }
    }
    let keep: Vec<bool> = (0..EXTRAS.len())
        .map(|c| rows.iter().any(|(_, _, values)| values[c].is_some()))
        .collect();
    let kept = |at: &usize| keep[*at];
    for (_, _, values) in &mut rows {
        let old = std::mem::take(values);
        *values = (0..EXTRAS.len()).filter(kept).map(|c| old[c]).collect();
    }
    let extras: Vec<Extra> = (0..EXTRAS.len()).filter(kept).map(|c| EXTRAS[c]).collect();
    (!extras.is_empty()).then_some(Beside { extras, rows })
}

/// The medians of one place's cell; none when the place has no number.
fn values(sources: &Sources<'_>, place: &Place) -> Option<Vec<Option<f64>>> {
    let id = place.figure.summary.as_ref().and(place.figure.cell)?;
    let cell = sources.run.plan.cells.iter().find(|c| c.id == id)?;
    let median = |extra: &Extra| {
        extra.phases.iter().rev().find_map(|phase| {
            let clock = clock(sources.run, phase, extra.metric)?;
            let series = Series {
                phase: (*phase).to_owned(),
                metric: extra.metric.to_owned(),
                clock,
                unit: None,
                published: None,
            };
            let points = sources.points(cell, &series, extra.unit);
            Some(sources.summary(&points).ok()??.median)
        })
    };
    Some(EXTRAS.iter().map(median).collect())
}

/// The clock under which a metric without one was stored.
fn clock(run: &Run, phase: &str, metric: &str) -> Option<Clock> {
    let mut samples = run.trials.iter().flat_map(|t| &t.samples);
    Some(
        samples
            .find(|s| s.phase == phase && s.metric == metric)?
            .clock,
    )
}
