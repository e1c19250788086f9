//! Which rows and columns a table has, before any number is looked at.
//!
//! A layout fixes every factor of every place in it, so that one place is one cell of the plan:
//! values of different cells are never pooled. Where a study's table leaves a factor open (it
//! names `workload` and `filesystem` but the run also varied `threads`), each row is printed once for each of
//! its levels.

use std::collections::{BTreeMap, BTreeSet};

use study::{Cell, Clock, Plan, RowSpec, TableSpec};

/// Factor (or `phase`, `metric`, `clock`) to level.
pub type Levels = BTreeMap<String, String>;

/// The metric of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Phase in snake case.
    pub phase: String,
    /// Metric of the phase.
    pub metric: String,
    /// What is inside the clock.
    pub clock: Clock,
    /// Unit to print; none: the usual one for the stored unit.
    pub unit: Option<String>,
    /// Row of the published records.
    pub published: Option<String>,
}

impl Series {
    /// What a row of a study's table measures.
    pub fn of(row: &RowSpec) -> Series {
        Series {
            phase: row.phase.clone(),
            metric: row.metric.clone(),
            clock: row.clock,
            unit: Some(row.unit.clone()),
            published: row.published.clone(),
        }
    }
}

/// A row or a column before it is filled.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Label or heading.
    pub name: String,
    /// The same for each factor alone, the outermost first; empty where one factor spans it.
    pub path: Vec<String>,
    /// The levels it fixes.
    pub levels: Levels,
    /// What it measures; in a table one of row and column has it.
    pub series: Option<Series>,
    /// Published column and table beside a column.
    pub published: Option<(String, String)>,
}

/// A table before it is filled.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// First line.
    pub title: String,
    /// Second line.
    pub subtitle: String,
    /// Levels that every place has.
    pub common: Levels,
    /// What every place measures, when neither rows nor columns say.
    pub series: Option<Series>,
    /// Columns in order.
    pub columns: Vec<Span>,
    /// Rows in order.
    pub rows: Vec<Span>,
}

/// Whether a cell has all these levels.
pub fn has(cell: &Cell, levels: &Levels) -> bool {
    levels.iter().all(|(f, l)| cell.levels.get(f) == Some(l))
}

/// The distinct values of some factors among cells, in the order of the factors' levels.
pub fn combinations(plan: &Plan, cells: &[&Cell], factors: &[&str]) -> Vec<Levels> {
    let rank = |factor: &str, level: &str| {
        plan.factors
            .iter()
            .find(|(name, _)| name == factor)
            .and_then(|(_, levels)| levels.iter().position(|l| l == level))
            .unwrap_or(usize::MAX)
    };
    let mut found: Vec<(Vec<usize>, Levels)> = Vec::new();
    for cell in cells {
        let levels: Levels = factors
            .iter()
            .filter_map(|f| Some(((*f).to_owned(), cell.levels.get(*f)?.clone())))
            .collect();
        let order: Vec<usize> = factors
            .iter()
            .map(|f| cell.levels.get(*f).map_or(usize::MAX, |l| rank(f, l)))
            .collect();
        if !found.iter().any(|(_, known)| *known == levels) {
            found.push((order, levels));
        }
    }
    // Stable: levels that the factors do not list stay in the order of the cells.
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found.into_iter().map(|(_, levels)| levels).collect()
}

/// The factors on which these cells differ.
pub fn varying(plan: &Plan, cells: &[&Cell]) -> Vec<String> {
    let mut names: Vec<String> = plan.factors.iter().map(|(name, _)| name.clone()).collect();
    let more: BTreeSet<&String> = cells.iter().flat_map(|c| c.levels.keys()).collect();
    for name in more {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names.retain(|name| {
        let levels: BTreeSet<Option<&String>> = cells.iter().map(|c| c.levels.get(name)).collect();
        levels.len() > 1
    });
    names
}

/// `threads=8 readahead=256`.
pub fn describe(levels: &Levels) -> String {
    let pairs: Vec<String> = levels.iter().map(|(f, l)| format!("{f}={l}")).collect();
    pairs.join(" ")
}

/// The layouts of one of the study's tables over the cells that the filter left: one for each workload.
///
/// The factors that the table leaves open span its rows: a reader compares levels in one table, and not across
/// tables.
pub fn of_table(plan: &Plan, table: &TableSpec, cells: &[&Cell]) -> Vec<Layout> {
    let cells: Vec<&Cell> = cells
        .iter()
        .copied()
        .filter(|c| has(c, &table.filter) && c.levels.contains_key(&table.columns))
        .collect();
    // What varies in the plan, not among the filtered cells: a factor narrowed to one level still
    // has to be named, or its other levels would answer for it.
    let all: Vec<&Cell> = plan
        .cells
        .iter()
        .filter(|c| has(c, &table.filter))
        .collect();
    let (workload, open): (Vec<String>, Vec<String>) = varying(plan, &all)
        .into_iter()
        .filter(|factor| *factor != table.columns)
        .partition(|factor| factor == "workload");
    let workload: Vec<&str> = workload.iter().map(String::as_str).collect();
    let open: Vec<&str> = open.iter().map(String::as_str).collect();
    combinations(plan, &cells, &workload)
        .into_iter()
        .map(|workload| {
            let here: Vec<&Cell> = cells
                .iter()
                .copied()
                .filter(|c| has(c, &workload))
                .collect();
            of_workload(plan, table, &workload, &here, &open)
        })
        .collect()
}

fn of_workload(
    plan: &Plan,
    table: &TableSpec,
    workload: &Levels,
    cells: &[&Cell],
    open: &[&str],
) -> Layout {
    let places = combinations(plan, cells, open);
    // What all places have in common is printed once, above the table.
    let first = places.first().cloned().unwrap_or_default();
    let shared = first.into_iter();
    let shared = shared.filter(|(f, l)| places.iter().all(|place| place.get(f) == Some(l)));
    let mut above: Levels = shared.collect();
    above.extend(workload.clone());
    let mut rows = Vec::new();
    for row in &table.rows {
        for place in &places {
            let mut own = place.clone();
            own.retain(|factor, _| !above.contains_key(factor));
            let parts = [row.label.clone(), describe(&own)];
            let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
            rows.push(Span {
                name: parts.join(", "),
                path: Vec::new(),
                levels: own,
                series: Some(Series::of(row)),
                published: None,
            });
        }
    }
    let subtitle = [table.subtitle.clone(), describe(&above)];
    let subtitle: Vec<String> = subtitle.into_iter().filter(|p| !p.is_empty()).collect();
    let mut common = table.filter.clone();
    common.extend(above);
    Layout {
        title: table.title.clone(),
        subtitle: subtitle.join(", "),
        common,
        series: None,
        columns: columns(plan, table, cells),
        rows,
    }
}

fn columns(plan: &Plan, table: &TableSpec, cells: &[&Cell]) -> Vec<Span> {
    combinations(plan, cells, &[&table.columns])
        .into_iter()
        .filter_map(|levels| {
            let name = levels.get(&table.columns)?.clone();
            let column = table.published_columns.get(&name).unwrap_or(&name).clone();
            let published = table
                .published_table
                .as_ref()
                .map(|pattern| (column.clone(), pattern.replace("{column}", &column)));
            Some(Span {
                name,
                path: Vec::new(),
                levels,
                series: None,
                published,
            })
        })
        .collect()
}
