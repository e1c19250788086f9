//! How many runs would decide: what to know before a week of machine time is spent.
//!
//! The spread of runs is taken from the sides that have two runs or more, pooled, and taken for the true one. One side is
//! enough: the runs of the base say how many runs a comparison with it takes.

use serde::Serialize;
use stats::not_worse::{MOST_VALUES, values_to_find, values_to_show};

use crate::comparison::letter;
use crate::error::Error;
use crate::figure::{self, Measured, cells_of};
use crate::key::Keys;
use crate::options::{MARGIN, Options};
use crate::side::{Side, disjoint};

/// Runs needed for each figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Planned {
    /// The margin and the size of the step to be found, a share.
    pub margin: f64,
    /// The practical band.
    pub band: f64,
    /// The rows.
    pub rows: Vec<PlannedRow>,
    /// Most runs a side with which every figure is shown to be not worse by the margin, if it is equal. None: some figure
    /// takes more than [`MOST_VALUES`], or its spread is not known.
    pub runs_to_show: Option<usize>,
    /// Most runs a side with which a figure that is worse by the margin is found.
    pub runs_to_find: Option<usize>,
}

/// Runs needed for a figure of a cell, each with a probability of 80 %.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedRow {
    /// Letters of the sides whose runs gave the spread.
    pub from: Vec<String>,
    /// The cell.
    pub cell: String,
    /// Phase.
    pub phase: String,
    /// Metric.
    pub metric: String,
    /// What is inside the clock.
    pub clock: study::Clock,
    /// Runs that gave the spread.
    pub runs: usize,
    /// Standard deviation of the runs' medians as a share; none with one run a side.
    pub spread: Option<f64>,
    /// Runs a side that show an equal side to be not worse by more than the margin.
    pub runs_to_show: Option<usize>,
    /// Runs a side that find a side that is worse by the margin.
    pub runs_to_find: Option<usize>,
}

/// Plans a comparison with the first side.
///
/// # Errors
/// As [`compare`](crate::compare()).
pub fn plan(sides: &[Side], options: &Options) -> Result<Planned, Error> {
    let Some(base) = sides.first() else {
        return Err(Error::Option("nothing to plan: name a side".to_owned()));
    };
    disjoint(sides)?;
    figure::check(sides, options)?;
    let margin = options.margin.unwrap_or(MARGIN);
    let band = base.runs[0].run.plan.band;
    let keys = Keys::of(
        sides
            .iter()
            .flat_map(|side| side.runs.iter().map(|one| &one.run)),
        &options.across,
    );
    let of_sides: Vec<_> = sides.iter().map(|side| cells_of(side, &keys)).collect();
    let (order, of_base) = &of_sides[0];
    let mut rows = Vec::new();
    for key in order {
        let cell = &of_base[key];
        if !options.passes(&cell.cell) {
            continue;
        }
        for figure in figure::figures(base, &cell.cell.workload_name, options) {
            let measured: Vec<(usize, Measured)> = (0..sides.len())
                .filter_map(|at| {
                    Some((
                        at,
                        Measured::of(&sides[at], of_sides[at].1.get(key)?, &figure),
                    ))
                })
                .collect();
            rows.extend(row(
                &measured,
                &cell.cell.label(),
                figure,
                margin,
                band,
                options,
            )?);
        }
    }
    let most = |of: fn(&PlannedRow) -> Option<usize>| {
        rows.iter()
            .map(of)
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .max()
    };
    Ok(Planned {
        margin,
        band,
        runs_to_show: most(|row| row.runs_to_show),
        runs_to_find: most(|row| row.runs_to_find),
        rows,
    })
}

fn row(
    measured: &[(usize, Measured)],
    cell: &str,
    figure: figure::Figure,
    margin: f64,
    band: f64,
    options: &Options,
) -> Result<Option<PlannedRow>, Error> {
    let mut logs: Vec<Vec<f64>> = Vec::new();
    let mut from = Vec::new();
    for (at, side) in measured {
        let values = side.values(true);
        if values.iter().any(|value| *value <= 0.0) {
            return Ok(None);
        }
        if values.len() >= 2 {
            from.push(letter(*at));
            logs.push(values.iter().map(|value| value.ln()).collect());
        }
    }
    if measured.iter().all(|(_, side)| side.runs.is_empty()) {
        return Ok(None);
    }
    let spread = pooled(&logs);
    let alpha = 1.0 - options.level;
    let (show, find) = match spread {
        Some(spread) => (
            values_to_show(spread, margin)?,
            values_to_find(spread, margin, band, options.level, alpha)?,
        ),
        None => (None, None),
    };
    Ok(Some(PlannedRow {
        from,
        cell: words::printable(cell).into_owned(),
        phase: figure.phase,
        metric: figure.metric,
        clock: figure.clock,
        runs: logs.iter().map(Vec::len).sum(),
        spread,
        runs_to_show: show,
        runs_to_find: find,
    }))
}

/// The standard deviation within groups.
pub(crate) fn pooled(groups: &[Vec<f64>]) -> Option<f64> {
    let free: usize = groups
        .iter()
        .map(|group| group.len().saturating_sub(1))
        .sum();
    let squares = |group: &Vec<f64>| {
        let mean = group.iter().sum::<f64>() / group.len().max(1) as f64;
        group
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
    };
    (free > 0).then(|| (groups.iter().map(squares).sum::<f64>() / free as f64).sqrt())
}

/// As text of 78 columns.
pub fn text(planned: &Planned) -> String {
    let margin = words::significant(100.0 * planned.margin);
    let count = |count: Option<usize>| match count {
        Some(count) => words::plural(count as u64, "run"),
        None => format!("more than {MOST_VALUES} runs, or not known,"),
    };
    let mut out = words::wrap(
        "",
        2,
        &format!(
            "{} a side show that nothing is worse by more than {margin} %, if the sides are equal",
            count(planned.runs_to_show)
        ),
        78,
    );
    out.push_str(&words::wrap(
        "",
        2,
        &format!(
            "{} a side find every figure that is worse by {margin} %",
            count(planned.runs_to_find)
        ),
        78,
    ));
    out.push_str("both with a probability of 80 % for each figure\n");
    out.push_str(&format!(
        "\n{:<38}{:>6}{:>12}{:>10}{:>10}\n",
        "", "runs", "spread", "to show", "to find"
    ));
    let mut cell = "";
    for row in &planned.rows {
        if cell != row.cell {
            cell = &row.cell;
            out.push_str(&words::wrap("", 2, cell, 78));
        }
        let spread = row.spread.map_or_else(
            || "not known".to_owned(),
            |spread| format!("{} %", words::significant(100.0 * spread)),
        );
        let number = |count: Option<usize>| match (count, row.spread) {
            (Some(count), _) => count.to_string(),
            (None, Some(_)) => format!("> {MOST_VALUES}"),
            (None, None) => "-".to_owned(),
        };
        let figure = format!("  {} {} {}", row.phase, row.metric, row.clock.mark());
        out.push_str(&format!(
            "{:<38}{:>6}{spread:>12}{:>10}{:>10}\n",
            words::printable(&figure),
            row.runs,
            number(row.runs_to_show),
            number(row.runs_to_find),
        ));
    }
    if planned.rows.iter().any(|row| row.spread.is_none()) {
        out.push_str(&words::wrap(
            "",
            2,
            "the spread of runs is not known with one run a side: run the base twice or more",
            78,
        ));
    }
    out
}
