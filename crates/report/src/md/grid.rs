//! Grids, footnotes and the raw device as GitHub Markdown.

use super::{escape, header_row, signs};
use crate::Report;
use crate::grid::{Beside, Footnote, Grid, Head, Panel, Place};
use crate::numbers::{range, writer};
use crate::published::{Published, PublishedGrid};
use crate::reference::{exceeded, facts, name};
use crate::text::{census, published_notes, published_value};

/// The raw device; empty without one.
pub(super) fn references(report: &Report<'_>) -> String {
    if report.run.references.is_empty() {
        return String::new();
    }
    let mut out = String::from("## The raw device, read before the first trial\n\n");
    for reference in &report.run.references {
        out.push_str(&format!("- {}\n", escape(&name(reference))));
        if !reference.line.is_empty() {
            out.push_str(&format!(
                "  - `{}`\n",
                reference.line.trim().replace('`', "'")
            ));
        }
        for (name, text) in facts(reference) {
            out.push_str(&format!("  - {}: {}\n", escape(name), escape(&text)));
        }
        for note in &reference.notes {
            out.push_str(&format!("  - note: {}\n", escape(note)));
        }
    }
    for line in exceeded(report) {
        out.push_str(&format!("- {}\n", escape(&line)));
    }
    out.push('\n');
    out
}

/// A grid with everything below it.
pub(super) fn print(grid: &Grid) -> String {
    let mut out = format!(
        "## {}\n\n{}\n\n",
        escape(&grid.title),
        escape(&census(grid))
    );
    for panel in &grid.panels {
        out.push_str(&of_panel(panel));
    }
    out.push_str(&grid.beside.as_ref().map_or(String::new(), beside));
    if let Some((document, published)) = grid.published {
        out.push_str(&of_published(document, published));
    }
    for (at, footnote) in grid.footnotes.iter().enumerate() {
        out.push_str(&of_footnote(at + 1, footnote));
    }
    out
}

fn of_panel(panel: &Panel) -> String {
    let name = panel.name();
    let mut out = if name.is_empty() {
        String::new()
    } else {
        format!("### {}\n\n", escape(&name))
    };
    let heads = panel
        .labels
        .iter()
        .map(|label| match label.factor.as_str() {
            "kernel" if label.head.is_empty() => "kernel".to_owned(),
            _ => escape(&label.head),
        });
    let columns = panel.columns.iter();
    let columns = columns.map(|c| format!("{}, {}", escape(&c.label), escape(&c.below())));
    let heads: Vec<String> = heads.chain(columns).collect();
    out.push_str(&table_head(&heads, panel.labels.len()));
    for line in &panel.lines {
        let labels = line.labels.iter().map(|l| escape(l));
        let places = line.places.iter().zip(&panel.columns);
        let places = places.map(|(place, head)| cell(place, head));
        let cells: Vec<String> = labels.chain(places).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out.push('\n');
    out
}

fn table_head(heads: &[String], labels: usize) -> String {
    match heads.split_first() {
        Some((first, rest)) if labels == 1 => header_row(first, rest.iter().cloned()),
        _ => format!(
            "| {} |\n|{}\n",
            heads.join(" | "),
            "---|".repeat(heads.len())
        ),
    }
}

fn cell(place: &Place, head: &Head) -> String {
    let short = writer(&head.unit);
    let figure = &place.figure;
    if figure.cell.is_none() {
        return String::new();
    }
    let note = place
        .footnote
        .map_or(String::new(), |n| format!(" \\[{n}\\]"));
    let behind = format!("{}{note}", signs(&figure.signs()));
    let Some(summary) = &figure.summary else {
        return format!("-{behind}");
    };
    if summary.n <= 2 {
        let values: Vec<String> = figure.points.iter().map(|p| short(p.value)).collect();
        return format!("{}{behind}", values.join("<br>"));
    }
    let interval = summary.median_interval.as_ref();
    let interval = interval
        .filter(|i| i.low < i.high)
        .map_or(String::new(), |i| {
            format!("<br>\\[{}\\]", range(i.low, i.high, short))
        });
    format!("{}{behind}{interval}", short(summary.median))
}

fn beside(beside: &Beside) -> String {
    let heads = ["beside each check".to_owned(), "n".to_owned()];
    let extras = beside.extras.iter().map(|e| e.head.to_owned());
    let heads: Vec<String> = heads.into_iter().chain(extras).collect();
    let mut out = table_head(&heads, 1);
    for (label, n, values) in &beside.rows {
        let values = values.iter().zip(&beside.extras);
        let values = values.map(|(v, e)| v.map_or_else(|| "-".to_owned(), writer(e.unit)));
        let values: Vec<String> = values.collect();
        out.push_str(&format!(
            "| {} | {n} | {} |\n",
            escape(label),
            values.join(" | ")
        ));
    }
    out.push('\n');
    out
}

fn of_published(document: &Published, grid: &PublishedGrid) -> String {
    let short = document.document.short();
    let mut out = format!(
        "### {}, other hardware: {}\n\n",
        escape(&short),
        escape(&grid.table)
    );
    for panel in &grid.panels {
        let mut heads = grid.labels.clone();
        if let (Some(heading), Some(first)) = (&panel.heading, heads.first_mut()) {
            first.clone_from(heading);
        }
        let columns = panel.columns.iter().map(|c| c.label.clone());
        let heads: Vec<String> = heads
            .into_iter()
            .chain(columns)
            .map(|h| escape(&h))
            .collect();
        out.push_str(&table_head(&heads, grid.labels.len()));
        for (labels, places) in document.lines(grid, panel) {
            let labels = labels.iter().map(|l| escape(l));
            let places = places.iter().map(|records| {
                let values: Vec<String> = records.iter().map(|r| published_value(r)).collect();
                let values: Vec<String> = values.iter().map(|v| escape(v)).collect();
                values.join("<br>")
            });
            let cells: Vec<String> = labels.chain(places).collect();
            out.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        out.push('\n');
    }
    for (name, text) in published_notes(document, grid) {
        out.push_str(&format!("- {} {}\n", escape(&name), escape(&text)));
    }
    out.push('\n');
    out
}

fn of_footnote(number: usize, footnote: &Footnote) -> String {
    let middle = &footnote.middle;
    let mut lines = vec!["Typical iostat output:".to_owned()];
    lines.extend(middle.iostat_classic.iter().cloned());
    lines.push("and top output (only %CPU > 0 shown):".to_owned());
    lines.extend(middle.top_classic.iter().cloned());
    // Indented code holds any text; a fence could be closed by it.
    let mut code = String::new();
    for line in lines.iter().flat_map(|line| line.split(['\n', '\r'])) {
        code.push_str(format!("    {line}").trim_end());
        code.push('\n');
    }
    format!(
        "\\[{number}\\] {}\n\n{code}\n",
        escape(&footnote.sentence())
    )
}
