//! The page's values of grids, of the raw device, and of what each trial used.

use record::TrialRecord;
use serde_json::{Value, json};

use super::grid_plot::plots;
use crate::Report;
use crate::grid::{Beside, Footnote, Grid, Head, Panel, Place};
use crate::numbers::{range, writer};
use crate::published::{Published, PublishedGrid};
use crate::reference::{exceeded, facts, name};
use crate::text::{census, published_notes, published_value};
use crate::usage::{gnu_time, switches};

/// All grids.
pub(super) fn grids(report: &Report<'_>) -> Value {
    let grids = report.grids.iter().enumerate();
    grids.map(|(at, grid)| of_grid(at + 1, grid)).collect()
}

fn of_grid(number: usize, grid: &Grid) -> Value {
    let id = format!("grid-{number}");
    let footnotes = grid.footnotes.iter().enumerate();
    json!({
        "id": id,
        "title": grid.title,
        "short": grid.title.trim_end_matches(':'),
        "census": census(grid),
        "bars": grid.panels.iter().any(|p| !plots(p).is_empty()),
        "panels": grid.panels.iter().map(|p| panel(&id, p)).collect::<Vec<_>>(),
        "beside": grid.beside.as_ref().map(beside),
        "footnotes": footnotes.map(|(at, f)| footnote(&id, at + 1, f)).collect::<Vec<_>>(),
        "published": grid.published.map(|(document, grid)| published(document, grid)),
    })
}

fn panel(id: &str, panel: &Panel) -> Value {
    let labels: Vec<&str> = panel
        .labels
        .iter()
        .map(|label| match label.factor.as_str() {
            "kernel" if label.head.is_empty() => "kernel",
            _ => label.head.as_str(),
        })
        .collect();
    let columns = panel.columns.iter();
    let rows = panel.lines.iter().map(|line| {
        let places = line.places.iter().zip(&panel.columns);
        json!({
            "labels": line.labels,
            "places": places.map(|(p, head)| place(id, head, p)).collect::<Vec<_>>(),
        })
    });
    json!({
        "name": panel.name(),
        "labels": labels,
        "columns": columns.map(|c| json!({"label": c.label, "below": c.below()})).collect::<Vec<_>>(),
        "rows": rows.collect::<Vec<_>>(),
        "plots": plots(panel),
    })
}

fn place(id: &str, head: &Head, place: &Place) -> Value {
    let short = writer(&head.unit);
    let figure = &place.figure;
    let summary = figure.summary.as_ref();
    let values: Vec<String> = figure.points.iter().map(|p| short(p.value)).collect();
    // As the census says: up to two runs are printed themselves, more by their median.
    let shown = match summary {
        None if figure.cell.is_none() => Vec::new(),
        None => vec!["–".to_owned()],
        Some(summary) if summary.n <= 2 => values.clone(),
        Some(summary) => vec![short(summary.median)],
    };
    let interval = summary
        .filter(|s| s.n > 2)
        .and_then(|s| s.median_interval.filter(|i| i.low < i.high));
    let interval = interval.map_or(String::new(), |i| range(i.low, i.high, short) + ", ");
    let below = summary.map_or(String::new(), |s| format!("{interval}n={}", s.n));
    json!({
        "values": shown,
        "below": below,
        "title": format!("{} {}: {}", head.label, head.below(), values.join(", ")),
        "signs": figure.signs(),
        "footnote": place.footnote,
        "anchor": place.footnote.map(|n| format!("{id}-note-{n}")),
    })
}

fn beside(beside: &Beside) -> Value {
    let rows = beside.rows.iter().map(|(label, n, values)| {
        let values = values.iter().zip(&beside.extras);
        let values = values.map(|(v, e)| v.map_or_else(|| "–".to_owned(), writer(e.unit)));
        json!({"label": label, "n": n, "values": values.collect::<Vec<_>>()})
    });
    json!({
        "heads": beside.extras.iter().map(|e| e.head).collect::<Vec<_>>(),
        "rows": rows.collect::<Vec<_>>(),
    })
}

fn footnote(id: &str, number: usize, footnote: &Footnote) -> Value {
    let middle = &footnote.middle;
    let text = |lines: &[String]| match lines {
        [] => "none recorded".to_owned(),
        lines => lines.join("\n"),
    };
    json!({
        "id": format!("{id}-note-{number}"),
        "number": number,
        "sentence": footnote.sentence(),
        "iostat_classic": text(&middle.iostat_classic),
        "top_classic": text(&middle.top_classic),
        "iostat_modern": text(&middle.iostat_modern),
        "top_modern": text(&middle.top_modern),
    })
}

fn published(document: &Published, grid: &PublishedGrid) -> Value {
    let panels = grid.panels.iter().map(|panel| {
        let mut labels = grid.labels.clone();
        if let (Some(heading), Some(first)) = (&panel.heading, labels.first_mut()) {
            first.clone_from(heading);
        }
        let rows = document
            .lines(grid, panel)
            .into_iter()
            .map(|(labels, places)| {
                let places = places.iter().map(|records| {
                    let values = records.iter().map(|record| published_value(record));
                    values.collect::<Vec<_>>()
                });
                json!({"labels": labels, "places": places.collect::<Vec<_>>()})
            });
        json!({
            "labels": labels,
            "columns": panel.columns.iter().map(|c| &c.label).collect::<Vec<_>>(),
            "rows": rows.collect::<Vec<_>>(),
        })
    });
    json!({
        "short": document.document.short(),
        "table": grid.table,
        "panels": panels.collect::<Vec<_>>(),
        "notes": published_notes(document, grid),
    })
}

/// The raw device: a name, hdparm's line and facts for each.
pub(super) fn references(report: &Report<'_>) -> Value {
    let devices = report.run.references.iter().map(|reference| {
        let facts = facts(reference).into_iter();
        json!({
            "name": name(reference),
            "line": reference.line,
            "facts": facts.map(|(name, text)| json!({"name": name, "text": text})).collect::<Vec<_>>(),
            "notes": reference.notes,
        })
    });
    json!({"devices": devices.collect::<Vec<_>>(), "exceeded": exceeded(report)})
}

/// GNU time's lines of a trial's phases.
pub(super) fn times(trial: &TrialRecord) -> Value {
    let phases = trial.phases.iter().filter_map(|phase| {
        let usage = phase.usage.as_ref()?;
        Some(json!({
            "phase": phase.name, "of": usage.of,
            "lines": gnu_time(usage).join("\n"), "switches": switches(usage),
        }))
    });
    phases.collect()
}
