//! From a study's grid to one with numbers.

use std::collections::BTreeSet;

use record::Run;
use study::{Cell, GridSpec, Plan};

use super::{Grid, Head, Label, Line, Panel, Place, beside, footnote, label};
use crate::error::Result;
use crate::facts;
use crate::fill::Sources;
use crate::layout::{Levels, Series, combinations, has, varying};
use crate::model::Figure;
use crate::options::Options;
use crate::published;
use crate::select::{filtered, is_grid};

/// The label column that is no factor: the release of the kernel that ran.
const KERNEL: &str = "kernel";

/// The grids that the options leave. A pivot asks for something else and has none.
pub(crate) fn grids(
    sources: &Sources<'_>,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<Vec<Grid>> {
    let plan = &sources.run.plan;
    if options.is_pivot() {
        return Ok(Vec::new());
    }
    let cells = filtered(plan, &options.filter)?;
    let asked = |spec: &&GridSpec| options.table.as_ref().is_none_or(|n| is_grid(spec, n));
    let filled = plan.grids.iter().filter(asked).map(|spec| {
        let cells: Vec<&Cell> = cells
            .iter()
            .copied()
            .filter(|cell| has(cell, &spec.filter))
            .collect();
        grid(sources, spec, &cells, notes)
    });
    Ok(filled.filter(|grid| !grid.panels.is_empty()).collect())
}

fn grid(sources: &Sources<'_>, spec: &GridSpec, cells: &[&Cell], notes: &mut Vec<String>) -> Grid {
    let plan = &sources.run.plan;
    let open = open(plan, spec);
    let mut splits: Vec<&str> = spec.heading.iter().map(String::as_str).collect();
    splits.extend(open.iter().map(String::as_str));
    let heads = heads(sources, spec, notes);
    // A cell that no column shows makes no panel.
    let shown: Vec<&Cell> = cells
        .iter()
        .copied()
        .filter(|cell| heads.iter().any(|head| has(cell, &head.levels)))
        .collect();
    let mut panels = Vec::new();
    for levels in combinations(plan, &shown, &splits) {
        let here: Vec<&Cell> = shown.iter().copied().filter(|c| has(c, &levels)).collect();
        let heading = spec.heading.as_ref();
        let in_heading = |factor: &String| Some(factor) == heading;
        let panel = Panel {
            heading: heading.and_then(|factor| levels.get(factor).cloned()),
            open: levels
                .iter()
                .filter(|(factor, _)| !in_heading(factor))
                .map(|(factor, level)| (factor.clone(), level.clone()))
                .collect(),
            levels,
            labels: Vec::new(),
            columns: heads.clone(),
            lines: Vec::new(),
        };
        panels.push(lines(sources, spec, panel, &here, notes));
    }
    let footnotes = if spec.footnotes {
        footnotes(sources.run, &mut panels)
    } else {
        Vec::new()
    };
    for panel in &mut panels {
        without_empty(panel);
    }
    panels.retain(|panel| !panel.columns.is_empty());
    Grid {
        title: spec.title.clone(),
        beside: beside::of(sources, &panels),
        panels,
        footnotes,
        published: spec.published.as_deref().and_then(published::grid),
    }
}

/// Factors that have to split the grid, so that each place is one cell. A factor that goes with the
/// rows (a file's size that is settled by size of device and number of files) splits nothing.
fn open(plan: &Plan, spec: &GridSpec) -> Vec<String> {
    let of_column = |column: &study::GridColumn| -> Vec<&Cell> {
        let cells = plan.cells.iter();
        cells
            .filter(|c| has(c, &spec.filter) && has(c, &column.filter))
            .collect()
    };
    let columns: Vec<Vec<&Cell>> = spec.columns.iter().map(of_column).collect();
    let rows = spec.rows.iter().map(|row| row.factor.as_str());
    let fixed: Vec<&str> = rows.chain(spec.heading.as_deref()).collect();
    let vary: BTreeSet<String> = columns.iter().flat_map(|c| varying(plan, c)).collect();
    let listed = plan.factors.iter().map(|(name, _)| name.clone());
    let mut names: Vec<String> = listed.filter(|name| vary.contains(name)).collect();
    let others: Vec<String> = vary.into_iter().filter(|f| !names.contains(f)).collect();
    names.extend(others);
    names.retain(|name| !fixed.contains(&name.as_str()));
    for name in names.clone().iter().rev() {
        let without: Vec<&str> = names
            .iter()
            .filter(|n| *n != name)
            .map(String::as_str)
            .collect();
        let factors: Vec<&str> = fixed.iter().copied().chain(without).collect();
        if columns.iter().all(|cells| are_told_apart(cells, &factors)) {
            names.retain(|other| other != name);
        }
    }
    names
}

/// Whether no two of these cells have the same levels of all these factors.
fn are_told_apart(cells: &[&Cell], factors: &[&str]) -> bool {
    let mut seen = BTreeSet::new();
    cells.iter().all(|cell| {
        let levels: Vec<Option<&String>> = factors.iter().map(|f| cell.levels.get(*f)).collect();
        seen.insert(levels)
    })
}

fn heads(sources: &Sources<'_>, spec: &GridSpec, notes: &mut Vec<String>) -> Vec<Head> {
    let head = |column: &study::GridColumn| {
        let series = series(
            &column.phase,
            &column.metric,
            column.clock,
            Some(&column.unit),
        );
        let place = format!("{}, {}", spec.title, column.label);
        Head {
            label: column.label.clone(),
            phase: column.phase.clone(),
            metric: column.metric.clone(),
            clock: column.clock,
            unit: sources.shown_unit(&series, &place, notes),
            levels: column.filter.clone(),
        }
    };
    spec.columns.iter().map(head).collect()
}

fn series(phase: &str, metric: &str, clock: study::Clock, unit: Option<&String>) -> Series {
    Series {
        phase: phase.to_owned(),
        metric: metric.to_owned(),
        clock,
        unit: unit.cloned(),
        published: None,
    }
}

/// The rows of a panel, labelled and filled.
fn lines(
    sources: &Sources<'_>,
    spec: &GridSpec,
    mut panel: Panel,
    cells: &[&Cell],
    notes: &mut Vec<String>,
) -> Panel {
    let plan = &sources.run.plan;
    let factors: Vec<&str> = spec.rows.iter().map(|r| r.factor.as_str()).collect();
    let rows = combinations(plan, cells, &factors);
    let mut columns: Vec<label::Natural> = Vec::new();
    for row in &spec.rows {
        let level = |levels: &Levels| match levels.get(&row.factor) {
            Some(level) if row.factor == KERNEL => of_level(sources.run, level),
            Some(level) => level.clone(),
            None if row.factor == KERNEL => kernel(sources.run),
            None => String::new(),
        };
        let levels: Vec<String> = rows.iter().map(level).collect();
        let levels: Vec<&str> = levels.iter().map(String::as_str).collect();
        let natural = label::natural(&row.label, &row.factor, &levels);
        panel.labels.push(Label {
            factor: row.factor.clone(),
            head: natural.head.clone(),
        });
        columns.push(natural);
    }
    for (at, levels) in rows.into_iter().enumerate() {
        let labels: Vec<String> = columns.iter().map(|c| c.levels[at].clone()).collect();
        let named = columns.iter().map(|c| c.named[at].as_str());
        let named: Vec<&str> = named.filter(|name| !name.is_empty()).collect();
        let name = named.join(", ");
        let places = panel
            .columns
            .iter()
            .map(|head| place(sources, spec, &panel, &levels, head, notes))
            .collect();
        panel.lines.push(Line {
            labels,
            name,
            levels,
            places,
        });
    }
    panel
}

fn kernel(run: &Run) -> String {
    let release = run.contexts.get("start").and_then(facts::release);
    release.unwrap_or_else(|| "kernel not recorded".to_owned())
}

/// The release that ran as this level of the kernel factor.
fn of_level(run: &Run, level: &str) -> String {
    let context = run.contexts.get(&Run::of_kernel(level));
    let release = context.and_then(facts::release);
    release.unwrap_or_else(|| level.to_owned())
}

/// Fills one place. Levels of grid, panel, row and column that contradict each other have no cell, nor has a phase that the cell's volume rules
/// out: a forged one is not filled.
fn place(
    sources: &Sources<'_>,
    spec: &GridSpec,
    panel: &Panel,
    row: &Levels,
    head: &Head,
    notes: &mut Vec<String>,
) -> Place {
    let of_place = |cell: &&Cell| {
        let mut levels = [&spec.filter, &panel.levels, row, &head.levels].into_iter();
        cell.volume.has_phase(&head.phase) && levels.all(|levels| has(cell, levels))
    };
    let mut cells = sources.run.plan.cells.iter().filter(of_place);
    let Some(cell) = cells.next() else {
        return Place::default();
    };
    if cells.next().is_some() {
        notes.push(format!(
            "{}, {}: more than one cell; fix the other factors in the column's where",
            spec.title, head.label
        ));
        return Place::default();
    }
    let series = series(&head.phase, &head.metric, head.clock, None);
    let points = sources.points(cell, &series, &head.unit);
    let summary = sources.summary(&points).unwrap_or_else(|error| {
        notes.push(format!("{}, {}: {error}", spec.title, head.label));
        None
    });
    Place {
        figure: Figure {
            cell: Some(cell.id),
            marks: sources
                .validity
                .marks(cell.id, Some(&head.phase), &head.metric),
            points,
            summary,
            versus: None,
            published: None,
        },
        footnote: None,
    }
}

/// Numbers the footnotes in reading order; places with the same phase of the same cell share one.
fn footnotes(run: &Run, panels: &mut [Panel]) -> Vec<super::Footnote> {
    let mut found: Vec<super::Footnote> = Vec::new();
    for panel in panels {
        let name = panel.name();
        for line in &mut panel.lines {
            let labels = [name.clone(), line.name.clone()];
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            let of_line = labels.join(" ").trim().to_owned();
            for (place, head) in line.places.iter_mut().zip(&panel.columns) {
                let same = |f: &super::Footnote| {
                    Some(f.cell) == place.figure.cell && f.phase == head.phase
                };
                if let Some(at) = found.iter().position(same) {
                    place.footnote = Some(at + 1);
                    continue;
                }
                let name = format!("{of_line}, {}", head.label);
                if let Some(new) = footnote::of(run, &place.figure, &head.phase, &name) {
                    found.push(new);
                    place.footnote = Some(found.len());
                }
            }
        }
    }
    found
}

/// Drops the columns of a panel that none of its places has a cell for: in 2008 ext3's table had two
/// columns and ext4's five. What is only in the kernel's filling of a volume has no cell where all were forged.
fn without_empty(panel: &mut Panel) {
    let keep: Vec<bool> = (0..panel.columns.len())
        .map(|at| {
            let mut places = panel.lines.iter().map(|line| &line.places[at]);
            places.any(|place| place.figure.cell.is_some())
        })
        .collect();
    let mut at = 0..;
    panel
        .columns
        .retain(|_| at.next().is_none_or(|i: usize| keep[i]));
    for line in &mut panel.lines {
        let mut at = 0..;
        line.places
            .retain(|_| at.next().is_none_or(|i: usize| keep[i]));
    }
}
