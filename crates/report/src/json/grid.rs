//! Grids as JSON: every place with its samples, and footnotes with both layouts of their rows.

use serde_json::{Value, json};

use crate::error::Result;
use crate::grid::{Beside, Footnote, Grid, Head, Line, Panel, Place};
use crate::model::clock_name;
use crate::published::{Published, PublishedGrid, PublishedPanel};

/// A grid.
pub(super) fn value(grid: &Grid) -> Result<Value> {
    let footnotes: Vec<Value> = grid
        .footnotes
        .iter()
        .enumerate()
        .map(|(at, note)| footnote(at + 1, note))
        .collect::<Result<_>>()?;
    Ok(json!({
        "title": grid.title,
        "panels": grid.panels.iter().map(panel).collect::<Vec<_>>(),
        "beside": grid.beside.as_ref().map(beside),
        "footnotes": footnotes,
        "published": grid.published.map(|(document, grid)| published(document, grid)),
    }))
}

fn panel(panel: &Panel) -> Value {
    let labels = panel.labels.iter();
    json!({
        "heading": panel.heading,
        "levels": panel.levels,
        "labels": labels.map(|l| json!({"factor": l.factor, "head": l.head})).collect::<Vec<_>>(),
        "columns": panel.columns.iter().map(head).collect::<Vec<_>>(),
        "rows": panel.lines.iter().map(|l| line(panel, l)).collect::<Vec<_>>(),
    })
}

fn head(head: &Head) -> Value {
    json!({
        "label": head.label, "phase": head.phase, "metric": head.metric,
        "clock": clock_name(head.clock), "unit": head.unit, "levels": head.levels,
    })
}

fn line(panel: &Panel, line: &Line) -> Value {
    let figures = panel.columns.iter().zip(&line.places);
    json!({
        "labels": line.labels,
        "levels": line.levels,
        "figures": figures.map(|(head, p)| place(head, p)).collect::<Vec<_>>(),
    })
}

fn place(head: &Head, place: &Place) -> Value {
    let mut value = super::figure(&head.label, &place.figure);
    value["footnote"] = json!(place.footnote);
    value
}

fn beside(beside: &Beside) -> Value {
    let extras = beside.extras.iter();
    let rows = beside.rows.iter();
    json!({
        "columns": extras.map(|e| json!({"head": e.head, "metric": e.metric, "unit": e.unit})).collect::<Vec<_>>(),
        "rows": rows.map(|(label, n, medians)| json!({"label": label, "n": n, "medians": medians})).collect::<Vec<_>>(),
    })
}

fn footnote(number: usize, footnote: &Footnote) -> Result<Value> {
    Ok(json!({
        "number": number,
        "place": footnote.place,
        "cell": footnote.cell,
        "phase": footnote.phase,
        "trial": footnote.trial,
        "block": footnote.block,
        "is_median": footnote.is_median,
        "middle": serde_json::to_value(&footnote.middle)?,
    }))
}

/// The published grid with its empty and its lost places: `[]` was not run, a null value is lost.
fn published(document: &Published, grid: &PublishedGrid) -> Value {
    let panel = |panel: &PublishedPanel| {
        let lines = document.lines(grid, panel).into_iter().map(|(labels, places)| {
            let place = |records: &Vec<&crate::published::Record>| {
                let records = records.iter();
                records
                    .map(|r| json!({"value": r.value, "unit": r.unit, "kind": r.kind, "mark": r.mark}))
                    .collect::<Vec<_>>()
            };
            json!({"labels": labels, "places": places.iter().map(place).collect::<Vec<_>>()})
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
        "notes": crate::text::published_notes(document, grid),
    })
}
