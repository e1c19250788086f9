//! Summary CSV: one row for each cell and metric, with the comparison of each table that has it.
//!
//! The samples are [`crate::csv`]. Here a spreadsheet or a script finds what a reader of the tables finds: number of
//! values, median and its interval, the ratio to the base column with its interval, the p-value after correction,
//! and the verdict. Values are in the stored unit, as in the samples, so both files can be joined by factors, phase,
//! metric and clock. A metric that no table has is a row without a table and without a comparison; one that two tables
//! have is two rows, because their bases differ. With `--table`, `--row`, `--col` or `--only tables` only what those
//! tables have is listed.

use std::collections::BTreeMap;

use study::{Cell, Clock};
use words::csv_record;

use crate::Report;
use crate::model::{Column, Figure, Row, Table, Versus, clock_name};
use crate::options::Part;
use crate::samples;

/// Columns after the run and its factors.
const COLUMNS: [&str; 23] = [
    "phase",
    "metric",
    "clock",
    "unit",
    "n",
    "mean",
    "stddev",
    "median",
    "low",
    "high",
    "level",
    "table",
    "part",
    "base",
    "ratio",
    "ratio_low",
    "ratio_high",
    "p",
    "p_adjusted",
    "verdict",
    "warnings",
    "marks",
    "timing",
];

/// Phase, metric and clock.
type Series<'a> = (&'a str, &'a str, Clock);

/// A place of a table that has a series of a cell.
struct Place<'a> {
    title: &'a str,
    subtitle: &'a str,
    /// Name of the base column; empty where nothing is compared.
    base: &'a str,
    is_base: bool,
    versus: Option<&'a Versus>,
}

/// The report as summary CSV.
pub(crate) fn print(report: &Report<'_>) -> String {
    let factors = report.factors();
    let head = ["run"].into_iter();
    let head = head
        .chain(factors.iter().map(String::as_str))
        .chain(COLUMNS);
    let mut out = csv_record(head);
    let places = places(report);
    let options = report.options;
    let selected = options.is_pivot() || options.table.is_some() || options.part == Part::Tables;
    let cells = report.run.plan.cells.iter();
    for cell in cells.filter(|cell| report.has_cell(cell.id)) {
        for series in series_of(report, cell, &places) {
            let found = places
                .get(&(cell.id, series))
                .map_or(&[][..], Vec::as_slice);
            if found.is_empty() && !selected {
                out.push_str(&row(report, &factors, cell, series, None));
            }
            for place in found {
                out.push_str(&row(report, &factors, cell, series, Some(place)));
            }
        }
    }
    out
}

/// What a cell measured, in the order of its samples, then what its tables expect and no trial measured.
fn series_of<'a>(
    report: &'a Report<'_>,
    cell: &Cell,
    places: &BTreeMap<(u32, Series<'a>), Vec<Place<'a>>>,
) -> Vec<Series<'a>> {
    let finished = report.run.finished(cell.id);
    let measured = finished.iter().flat_map(|(_, trial)| &trial.samples);
    let measured = measured.filter(|sample| samples::selected(report, sample));
    let measured = measured.map(|s| (s.phase.as_str(), s.metric.as_str(), s.clock));
    let expected = places.keys().filter(|(id, _)| *id == cell.id);
    let mut all: Vec<Series<'a>> = Vec::new();
    for series in measured.chain(expected.map(|(_, series)| *series)) {
        if !all.contains(&series) {
            all.push(series);
        }
    }
    all
}

fn row(
    report: &Report<'_>,
    factors: &[String],
    cell: &Cell,
    (phase, metric, clock): Series<'_>,
    place: Option<&Place<'_>>,
) -> String {
    let run = report.run;
    let values = run.values(cell, phase, metric, clock);
    let summary = stats::summary::summarize_at(&values, report.options.level).ok();
    let interval = summary.as_ref().and_then(|s| s.median_interval.as_ref());
    let samples = run.trials.iter().flat_map(|trial| &trial.samples);
    let unit = { samples }
        .find(|s| s.phase == phase && s.metric == metric && s.clock == clock)
        .map_or("", |s| s.unit.as_str());
    let versus = place.and_then(|place| place.versus);
    let ends = versus.and_then(|versus| versus.interval);
    let verdict = match (place, versus) {
        (Some(place), _) if place.is_base => "base",
        // Without a test there is no verdict, only a ratio.
        (_, Some(versus)) if versus.p.is_some() => versus.difference.name(),
        _ => "",
    };
    let marks = report.validity.marks(cell.id, Some(phase), metric);
    let marks: Vec<&str> = marks.iter().map(|mark| mark.name()).collect();
    let text = str::to_owned;
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let fields: [String; COLUMNS.len()] = [
        text(phase),
        text(metric),
        text(clock_name(clock)),
        text(unit),
        values.len().to_string(),
        number(summary.as_ref().map(|s| s.mean)),
        number(summary.as_ref().and_then(|s| s.stddev)),
        number(summary.as_ref().map(|s| s.median)),
        number(interval.map(|interval| interval.low)),
        number(interval.map(|interval| interval.high)),
        report.options.level.to_string(),
        text(place.map_or("", |place| place.title)),
        text(place.map_or("", |place| place.subtitle)),
        text(place.map_or("", |place| place.base)),
        number(versus.map(|versus| versus.ratio)),
        number(ends.map(|(low, _)| low)),
        number(ends.map(|(_, high)| high)),
        number(versus.and_then(|versus| versus.p)),
        number(versus.and_then(|versus| versus.p_adjusted)),
        text(verdict),
        versus.map_or(String::new(), |versus| versus.warnings.join("; ")),
        marks.join(" "),
        run.timing().unwrap_or_default(),
    ];
    let levels = factors.iter().map(|factor| cell.levels.get(factor));
    let levels = levels.map(|level| level.cloned().unwrap_or_default());
    let first = std::iter::once(run.name.clone());
    csv_record(first.chain(levels).chain(fields))
}

/// Every place of the report's tables, grids and questions of growth, by cell and series.
fn places<'a>(report: &'a Report<'_>) -> BTreeMap<(u32, Series<'a>), Vec<Place<'a>>> {
    let mut places: BTreeMap<(u32, Series<'a>), Vec<Place<'a>>> = BTreeMap::new();
    let mut add = |figure: &Figure, series: Option<Series<'a>>, place: Place<'a>| {
        if let (Some(cell), Some(series)) = (figure.cell, series) {
            places.entry((cell, series)).or_default().push(place);
        }
    };
    for table in report.tables.iter().chain(&report.crossed) {
        for row in &table.rows {
            for (at, (column, figure)) in table.columns.iter().zip(&row.figures).enumerate() {
                let place = of_table(table, at, figure);
                add(figure, series(row, column), place);
            }
        }
    }
    let alone = |title: &'a str| Place {
        title,
        subtitle: "",
        base: "",
        is_base: false,
        versus: None,
    };
    for grid in &report.grids {
        for panel in &grid.panels {
            for line in &panel.lines {
                for (head, place) in panel.columns.iter().zip(&line.places) {
                    let series = (head.phase.as_str(), head.metric.as_str(), head.clock);
                    add(&place.figure, Some(series), alone(&grid.title));
                }
            }
        }
    }
    for growth in &report.growths {
        let series = (growth.phase.as_str(), growth.metric.as_str(), growth.clock);
        for size in growth.curves.iter().flat_map(|curve| &curve.sizes) {
            add(&size.figure, Some(series), alone(&growth.title));
        }
    }
    places
}

fn of_table<'a>(table: &'a Table, column: usize, figure: &'a Figure) -> Place<'a> {
    Place {
        title: &table.title,
        subtitle: &table.subtitle,
        base: table.base_name(),
        is_base: column == table.base,
        versus: figure.versus.as_ref(),
    }
}

/// What a place of a table shows: the row says it, or the column does.
fn series<'a>(row: &'a Row, column: &'a Column) -> Option<Series<'a>> {
    let clock_of = |name: &String| {
        let all = [Clock::Original, Clock::Fsync, Clock::Syncfs];
        all.into_iter().find(|clock| clock_name(*clock) == name)
    };
    let fixed = |name: &str| row.fixed.get(name).or_else(|| column.fixed.get(name));
    let phase = row.phase.as_ref().or_else(|| fixed("phase"))?;
    let metric = row.metric.as_ref().or_else(|| fixed("metric"))?;
    let clock = row.clock.or_else(|| fixed("clock").and_then(clock_of))?;
    Some((phase.as_str(), metric.as_str(), clock))
}
