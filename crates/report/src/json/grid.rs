//! Grids as JSON: every place with its samples, and footnotes with both layouts of their rows.

use serde::Serialize;
use serde_json::{Value, json};

use super::tables::{Named, to_values};
use crate::error::Result;
use crate::grid::{Beside, Footnote, Grid, Head, Label, Line, Panel};
use crate::layout::Levels;
use crate::published::{Published, PublishedGrid, PublishedPanel, Record};
use crate::sections::published_notes;

#[derive(Serialize)]
struct OfPanel<'a> {
    heading: &'a Option<String>,
    levels: &'a Levels,
    labels: &'a [Label],
    columns: &'a [Head],
    rows: Vec<OfLine<'a>>,
}

#[derive(Serialize)]
struct OfLine<'a> {
    labels: &'a [String],
    levels: &'a Levels,
    figures: Vec<OfPlace<'a>>,
}

#[derive(Serialize)]
struct OfPlace<'a> {
    #[serde(flatten)]
    figure: Named<'a>,
    footnote: Option<usize>,
}

#[derive(Serialize)]
struct Numbered<'a> {
    number: usize,
    #[serde(flatten)]
    footnote: &'a Footnote,
}

/// A grid.
pub(super) fn value(grid: &Grid) -> Result<Value> {
    let footnotes = grid.footnotes.iter().enumerate();
    let footnotes = footnotes.map(|(at, footnote)| Numbered {
        number: at + 1,
        footnote,
    });
    Ok(json!({
        "title": grid.title,
        "panels": to_values(grid.panels.iter().map(panel))?,
        "beside": grid.beside.as_ref().map(beside),
        "footnotes": to_values(footnotes)?,
        "published": grid.published.map(|(document, grid)| published(document, grid)),
    }))
}

fn panel(panel: &Panel) -> OfPanel<'_> {
    let rows = panel.lines.iter().map(|of| OfLine {
        labels: &of.labels,
        levels: &of.levels,
        figures: figures(panel, of),
    });
    OfPanel {
        heading: &panel.heading,
        levels: &panel.levels,
        labels: &panel.labels,
        columns: &panel.columns,
        rows: rows.collect(),
    }
}

fn figures<'a>(panel: &'a Panel, line: &'a Line) -> Vec<OfPlace<'a>> {
    let places = line.places.iter().zip(&panel.columns);
    let places = places.map(|(place, head)| OfPlace {
        figure: Named {
            column: &head.label,
            figure: &place.figure,
        },
        footnote: place.footnote,
    });
    places.collect()
}

fn beside(beside: &Beside) -> Value {
    let rows = beside.rows.iter();
    let rows = rows.map(|(label, n, medians)| json!({"label": label, "n": n, "medians": medians}));
    json!({"columns": beside.extras, "rows": rows.collect::<Vec<_>>()})
}

/// The published grid with its empty and its lost places: `[]` was not run, a null value is lost.
fn published(document: &Published, grid: &PublishedGrid) -> Value {
    let record =
        |r: &&Record| json!({"value": r.value, "unit": r.unit, "kind": r.kind, "mark": r.mark});
    let panel = |panel: &PublishedPanel| {
        let lines = document.lines(grid, panel).into_iter();
        let lines = lines.map(|(labels, places)| {
            let places = places.iter().map(|all| all.iter().map(record).collect());
            json!({"labels": labels, "places": places.collect::<Vec<Vec<Value>>>()})
        });
        json!({
            "heading": panel.heading,
            "columns": panel.columns.iter().map(|c| &c.label).collect::<Vec<_>>(),
            "rows": lines.collect::<Vec<_>>(),
        })
    };
    json!({
        "doc": document.document.doc,
        "citation": document.document.citation(),
        "layout": document.document.layout,
        "table": grid.table,
        "labels": grid.labels,
        "panels": grid.panels.iter().map(panel).collect::<Vec<_>>(),
        "notes": published_notes(document, grid),
    })
}
