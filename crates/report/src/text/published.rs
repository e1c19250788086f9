//! The published numbers beside ours: shapes, not speeds.

use super::wrap;
use crate::model::{Figure, PublishedFigure, Row, Table};
use crate::numbers::{ratio, short};
use crate::published::Document;

/// Widest column name that stands on the line of its numbers.
const NAME: usize = 15;

/// ` of 2 runs`, when all their numbers are of as many.
fn runs(table: &Table) -> String {
    let mut runs = table.figures().filter_map(|f| f.published?.n);
    match runs.next() {
        Some(n) if runs.all(|other| other == n) => format!(" of {n} runs"),
        _ => String::new(),
    }
}

/// Their value, ours, both ratios to the base column, and the ratio of the ratios.
pub(super) fn print(document: &Document, table: &Table, width: usize) -> String {
    let mut out = wrap(
        "",
        2,
        &format!(
            "{}: {} (mean{}) beside ours (mean). Their hardware was another: compare the shapes; 1 \
             in the last column is the same shape.",
            table.title,
            document.short(),
            runs(table)
        ),
        width,
    );
    let base = table.base_name();
    out.push_str(&format!(
        "  {:NAME$} {:>9} {:>9}  {:>9} {:>9}  {:>9}\n",
        "", "theirs", "ours", "theirs/", "ours/", "ours over"
    ));
    let clipped: String = base.chars().take(9).collect();
    out.push_str(&format!(
        "  {:NAME$} {:>9} {:>9}  {clipped:>9} {clipped:>9}  {:>9}\n",
        "", "", "", "theirs"
    ));
    for row in &table.rows {
        if row.figures.iter().all(|f| f.published.is_none()) {
            continue;
        }
        let clock = row.clock.map_or("", |c| c.mark());
        out.push_str(&wrap(
            "",
            4,
            &format!("{}, {} {clock}", row.label, row.unit),
            width,
        ));
        for (index, (column, figure)) in table.columns.iter().zip(&row.figures).enumerate() {
            let Some(published) = figure.published else {
                continue;
            };
            let numbers = numbers(table, row, index, published);
            let name = if column.name.chars().count() > NAME {
                format!("{}  {:NAME$}", wrap("  ", 4, &column.name, width), "")
            } else {
                format!("  {:NAME$}", column.name)
            };
            out.push_str(&format!("{name} {numbers}\n"));
        }
    }
    out
}

/// Theirs, ours, both ratios, the ratio of the ratios, and the doubts about ours.
fn numbers(table: &Table, row: &Row, index: usize, published: PublishedFigure) -> String {
    let figure = &row.figures[index];
    let ours = figure.mean();
    let own_ratio = ours
        .zip(row.figures.get(table.base).and_then(Figure::mean))
        .filter(|(_, base)| *base != 0.0)
        .map(|(ours, base)| ours / base);
    let is_base = index == table.base;
    let word = |value: Option<f64>| match (value, is_base) {
        (_, true) => "base".to_owned(),
        (Some(value), false) => ratio(value),
        (None, false) => "-".to_owned(),
    };
    let last = if is_base {
        String::new()
    } else {
        word(published.ratio_of_ratios)
    };
    let line = format!(
        "{:>9.1} {:>9}  {:>9} {:>9}  {last:>9} {}",
        published.value,
        ours.map_or_else(|| "-".to_owned(), short),
        word(published.ratio),
        word(own_ratio),
        figure.signs()
    );
    line.trim_end().to_owned()
}
