//! `--row`, `--col`, `--table` and `--filter`: other tables of the same run.
//!
//! Dimensions are the study's factors, `phase`, and `metric` and `clock` where they are selected.
//! What neither rows nor columns span, and yet varies, splits the answer into several tables.

use std::collections::BTreeSet;

use record::Run;
use study::{Cell, Clock, Plan, TableSpec};

use crate::error::{Error, Result};
use crate::layout::{Layout, Levels, Series, Span, combinations, describe, has, of_table, varying};
use crate::model::clock_name;
use crate::options::{Format, Options};
use crate::select::{self, factors, filtered};

/// The dimensions of a sample that are not factors.
const OF_SAMPLES: [&str; 3] = ["phase", "metric", "clock"];

/// The layouts of a report.
pub(crate) struct Layouts {
    /// Its tables.
    pub tables: Vec<Layout>,
    /// The same figures by the factors that no table compares, for the ratios.
    pub crossed: Vec<Layout>,
}

/// The layouts that the options ask for.
pub(crate) fn layouts(run: &Run, options: &Options) -> Result<Layouts> {
    let plan = &run.plan;
    let cells = filtered(plan, &options.filter)?;
    let specs = ::compare::tables::tables(run);
    let crossed = ::compare::tables::crossed(run, &specs);
    let tables = chosen(plan, &specs, &crossed, options.table.as_deref())?;
    let of = |table: &&TableSpec| of_table(plan, table, &cells);
    let layouts: Vec<Layout> = if options.is_pivot() {
        pivot(run, options, &cells, &tables)?
    } else {
        tables.iter().flat_map(of).collect()
    };
    let whole = !options.is_pivot() && options.table.is_none();
    let crossed = crossed.iter().filter(|_| whole);
    let crossed: Vec<Layout> = crossed.flat_map(|table| of(&table)).collect();
    // A run in which nothing could be measured still has a report: its failures.
    let asked = options.is_pivot() || options.table.is_some() || !options.filter.is_empty();
    let only_tables = options.is_pivot() || (plan.grids.is_empty() && plan.growth.is_empty());
    if layouts.is_empty() && asked && only_tables {
        return Err(Error::Empty {
            why: "no cell is in a chosen table and passes --filter: loosen --filter or --table"
                .to_owned(),
        });
    }
    Ok(Layouts {
        tables: layouts,
        crossed,
    })
}

/// The tables whose title or subtitle contains `name`, in either case; without a name the study's own.
fn chosen<'a>(
    plan: &'a Plan,
    tables: &'a [TableSpec],
    crossed: &'a [TableSpec],
    name: Option<&str>,
) -> Result<Vec<&'a TableSpec>> {
    let Some(name) = name else {
        return Ok(tables.iter().collect());
    };
    let wanted = name.to_lowercase();
    let found: Vec<&TableSpec> = tables
        .iter()
        .chain(crossed)
        .filter(|t| {
            t.title.to_lowercase().contains(&wanted) || t.subtitle.to_lowercase().contains(&wanted)
        })
        .collect();
    let a_grid = plan.grids.iter().any(|spec| select::is_grid(spec, name));
    let a_law = plan.growth.iter().any(|spec| select::is_growth(spec, name));
    if found.is_empty() && !a_grid && !a_law {
        let titles = tables.iter().chain(crossed).map(|t| &t.title);
        let titles = titles
            .chain(plan.grids.iter().map(|g| &g.title))
            .chain(plan.growth.iter().map(|g| &g.title));
        return Err(Error::Unknown(explain::Error::Unknown {
            option: "--table",
            name: name.to_owned(),
            what: "table",
            allowed: titles.cloned().collect(),
        }));
    }
    Ok(found)
}

/// One cell with one thing it measured.
struct Place<'a> {
    cell: &'a Cell,
    series: &'a Series,
}

impl Place<'_> {
    fn level(&self, dimension: &str) -> Option<String> {
        match dimension {
            "phase" => Some(self.series.phase.clone()),
            "metric" => Some(self.series.metric.clone()),
            "clock" => Some(clock_name(self.series.clock).to_owned()),
            factor => self.cell.levels.get(factor).cloned(),
        }
    }

    fn levels(&self, dimensions: &[String]) -> Levels {
        dimensions
            .iter()
            .filter_map(|d| Some((d.clone(), self.level(d)?)))
            .collect()
    }
}

fn pivot(
    run: &Run,
    options: &Options,
    cells: &[&Cell],
    tables: &[&TableSpec],
) -> Result<Vec<Layout>> {
    let plan = &run.plan;
    let (rows, columns) = dimensions(plan, options)?;
    let cells: Vec<&Cell> = match options.table {
        Some(_) => cells
            .iter()
            .copied()
            .filter(|c| tables.iter().any(|t| has(c, &t.filter)))
            .collect(),
        None => cells.to_vec(),
    };
    let series = series(run, options, tables)?;
    let places: Vec<Place<'_>> = ordered(plan, &cells)
        .into_iter()
        .flat_map(|cell| series.iter().map(move |s| (cell, s)))
        .filter(|(cell, s)| measured(run, cell, s))
        .map(|(cell, series)| Place { cell, series })
        .collect();
    let rest = rest(plan, &rows, &columns);
    let mut groups: Vec<(Levels, Vec<&Place<'_>>)> = Vec::new();
    for place in &places {
        let key = place.levels(&rest);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, members)) => members.push(place),
            None => groups.push((key, vec![place])),
        }
    }
    Ok(groups
        .into_iter()
        .map(|(common, members)| layout(&rows, &columns, &common, &members, plan))
        .collect())
}

/// Rows and columns, each checked and with its default.
fn dimensions(plan: &Plan, options: &Options) -> Result<(Vec<String>, Vec<String>)> {
    let mut allowed = factors(plan);
    allowed.extend(OF_SAMPLES.map(String::from));
    for (option, names) in [("--row", &options.rows), ("--col", &options.columns)] {
        for name in names {
            if !allowed.contains(name) {
                return Err(Error::Unknown(explain::Error::Unknown {
                    option,
                    name: name.clone(),
                    what: "factor",
                    allowed: allowed.clone(),
                }));
            }
        }
    }
    let usual = plan
        .tables
        .first()
        .map(|t| t.columns.clone())
        .or_else(|| factors(plan).first().cloned())
        .unwrap_or_else(|| "phase".to_owned());
    let mut columns = options.columns.clone();
    let mut rows = options.rows.clone();
    if rows.is_empty() && columns.is_empty() {
        // A metric or a clock alone: one table, of which the other factors are rows.
        let all: Vec<&Cell> = plan.cells.iter().collect();
        let open = varying(plan, &all).into_iter();
        let open = open.filter(|factor| *factor != usual && factor != "workload");
        let rows = std::iter::once("phase".to_owned()).chain(open.filter(|_| usual != "phase"));
        return Ok((rows.collect(), vec![usual]));
    }
    if rows.is_empty() {
        rows.push(if columns.iter().any(|c| c == "phase") {
            usual.clone()
        } else {
            "phase".to_owned()
        });
    }
    if columns.is_empty() {
        columns.push(if rows.contains(&usual) {
            "phase".to_owned()
        } else {
            usual
        });
    }
    if let Some(twice) = rows.iter().find(|r| columns.contains(r)) {
        return Err(Error::Malformed {
            option: "--col",
            text: twice.clone(),
            why: "it already spans the rows; name another factor",
        });
    }
    Ok((rows, columns))
}

/// What to print: the study's own rows, or what the samples have of the selected metric.
fn series(run: &Run, options: &Options, tables: &[&TableSpec]) -> Result<Vec<Series>> {
    let asked = options.metric.is_some()
        || options.clock.is_some()
        || options
            .rows
            .iter()
            .chain(&options.columns)
            .any(|d| d == "metric" || d == "clock")
        || tables.is_empty();
    let own: Vec<Series> = tables
        .iter()
        .flat_map(|t| t.rows.iter().map(Series::of))
        .fold(Vec::new(), |mut seen, s| {
            if !seen.contains(&s) {
                seen.push(s);
            }
            seen
        });
    if !asked {
        return Ok(own);
    }
    // For people, a clock alone is that of the rows that the study prints; programs get every metric.
    let for_people = matches!(options.format, Format::Text | Format::Md | Format::Html);
    if let (Some(clock), None, true) = (options.clock, &options.metric, for_people) {
        let at_clock = at_clock(run, tables, clock);
        if !at_clock.is_empty() {
            return Ok(at_clock);
        }
    }
    let phases: Option<BTreeSet<&str>> = options
        .table
        .as_ref()
        .map(|_| own.iter().map(|s| s.phase.as_str()).collect());
    let mut found: Vec<Series> = Vec::new();
    let mut metrics: BTreeSet<&str> = BTreeSet::new();
    for sample in run.trials.iter().flat_map(|t| &t.samples) {
        metrics.insert(&sample.metric);
        let wanted = options.metric.as_ref().is_none_or(|m| *m == sample.metric)
            && options.clock.is_none_or(|c| c == sample.clock)
            && phases
                .as_ref()
                .is_none_or(|p| p.contains(sample.phase.as_str()));
        let series = Series {
            phase: sample.phase.clone(),
            metric: sample.metric.clone(),
            clock: sample.clock,
            unit: None,
            published: None,
        };
        if wanted && !found.contains(&series) {
            found.push(series);
        }
    }
    if let Some(metric) = options
        .metric
        .as_ref()
        .filter(|m| !metrics.contains(m.as_str()))
    {
        return Err(Error::Unknown(explain::Error::Unknown {
            option: "--metric",
            name: metric.clone(),
            what: "metric",
            allowed: metrics.into_iter().map(String::from).collect(),
        }));
    }
    Ok(found)
}

/// The tables' rows under another clock: see [`explain::tables::at_clock`].
fn at_clock(run: &Run, tables: &[&TableSpec], clock: Clock) -> Vec<Series> {
    let mut found: Vec<Series> = Vec::new();
    for workload in explain::tables::workloads(&run.plan) {
        let rows = tables.iter().flat_map(|table| table.rows.clone());
        let rows = explain::tables::at_clock(run, &workload, rows.collect(), clock);
        for series in rows.iter().map(Series::of) {
            // Two rows of a phase in different metrics may become one.
            if !found
                .iter()
                .any(|s| (&s.phase, &s.metric) == (&series.phase, &series.metric))
            {
                found.push(series);
            }
        }
    }
    found
}

/// Cells in the order of the factors' levels.
fn ordered<'a>(plan: &'a Plan, cells: &[&'a Cell]) -> Vec<&'a Cell> {
    let names = factors(plan);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    combinations(plan, cells, &names)
        .iter()
        .filter_map(|levels| cells.iter().copied().find(|c| has(c, levels)))
        .collect()
}

/// Whether a cell measures a series at all (in any finished trial).
fn measured(run: &Run, cell: &Cell, series: &Series) -> bool {
    !run.values(cell, &series.phase, &series.metric, series.clock)
        .is_empty()
}

/// Dimensions that vary in the plan and that neither rows nor columns span. One that a filter
/// narrowed to a level is among them: without its level a place would match other cells, too.
fn rest(plan: &Plan, rows: &[String], columns: &[String]) -> Vec<String> {
    let all: Vec<&Cell> = plan.cells.iter().collect();
    varying(plan, &all)
        .into_iter()
        .chain(OF_SAMPLES.map(String::from))
        .filter(|d| !rows.contains(d) && !columns.contains(d))
        .collect()
}

fn layout(
    rows: &[String],
    columns: &[String],
    common: &Levels,
    members: &[&Place<'_>],
    plan: &Plan,
) -> Layout {
    let phase_in_rows = rows.iter().any(|d| OF_SAMPLES.contains(&d.as_str()));
    let phase_in_columns = columns.iter().any(|d| OF_SAMPLES.contains(&d.as_str()));
    let shown: Levels = common
        .iter()
        .filter(|(d, _)| !OF_SAMPLES.contains(&d.as_str()) || d.as_str() == "phase")
        .map(|(d, l)| (d.clone(), l.clone()))
        .collect();
    let measures: Vec<String> = ["metric", "clock"]
        .iter()
        .filter_map(|d| common.get(*d).map(|l| format!("{d} {l}")))
        .collect();
    Layout {
        title: format!("{} by {}", rows.join(" and "), columns.join(" and ")),
        subtitle: [vec![describe(&shown)], measures]
            .concat()
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(", "),
        common: only_factors(common),
        series: (!phase_in_rows && !phase_in_columns)
            .then(|| members.first().map(|m| m.series.clone()))
            .flatten(),
        columns: reorder(plan, spans(members, columns, phase_in_columns), columns),
        rows: reorder(
            plan,
            spans(members, rows, phase_in_rows && !phase_in_columns),
            rows,
        ),
    }
}

/// The distinct rows or columns of some places, in their order.
fn spans(members: &[&Place<'_>], dimensions: &[String], with_series: bool) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for place in members {
        let levels = place.levels(dimensions);
        let name: Vec<String> = dimensions
            .iter()
            .filter_map(|d| Some((d, place.level(d)?)))
            .map(|(d, level)| {
                // A bare number would not say of what.
                if level.parse::<f64>().is_ok() {
                    format!("{d}={level}")
                } else {
                    level
                }
            })
            .collect();
        let span = Span {
            name: name.join(" "),
            path: if dimensions.len() > 1 {
                name
            } else {
                Vec::new()
            },
            levels: only_factors(&levels),
            series: with_series.then(|| place.series.clone()),
            published: None,
        };
        if !spans.contains(&span) {
            spans.push(span);
        }
    }
    spans
}

fn only_factors(levels: &Levels) -> Levels {
    levels
        .iter()
        .filter(|(d, _)| !OF_SAMPLES.contains(&d.as_str()))
        .map(|(d, l)| (d.clone(), l.clone()))
        .collect()
}

/// Spans in the order of their factors' levels; phases keep the order of the series.
fn reorder(plan: &Plan, mut spans: Vec<Span>, dimensions: &[String]) -> Vec<Span> {
    let key = |span: &Span| -> Vec<usize> {
        dimensions
            .iter()
            .filter_map(|d| {
                let level = span.levels.get(d)?;
                let (_, levels) = plan.factors.iter().find(|(name, _)| name == d)?;
                levels.iter().position(|l| l == level)
            })
            .collect()
    };
    spans.sort_by_key(key);
    spans
}
