//! Which differences count: ratios, medians and shapes, each as one matrix below each table's name.
//!
//! The mail tables hold means and deviations, as the original did; whether two of them differ is
//! another question and is answered here, where all answers of a table are together. n and the
//! coverage of the intervals are printed once in the heading, and exceptions from them also there: in one
//! run they are the same almost everywhere, and a number repeated in every cell hides the one that
//! differs.

use std::collections::BTreeMap;

use super::legend::tested;
use super::matrix::{Cell, Matrix};
use super::wrap;
use crate::Report;
use crate::model::{ADVISED, Figure, Mark, Row, Table};
use crate::numbers::{brief_range, brief_ratio, short, three};
use crate::sentences::{family, table_warnings};

/// The section about the tables with the original's clocks, and about the factors that they do not compare.
pub(super) fn print(
    report: &Report<'_>,
    tables: &[&Table],
    crossed: &[&Table],
    width: usize,
) -> String {
    let percent = report.options.level * 100.0;
    let mut intro = "Ratios to the base column".to_owned();
    if tested(tables.iter().copied()) {
        intro.push_str(&format!(
            " with {percent:.0} % intervals: + better, - worse, ~ not a difference that counts"
        ));
        let versus = tables
            .iter()
            .chain(crossed)
            .flat_map(|table| table.figures());
        let mut versus = versus.filter_map(|figure| figure.versus.as_ref());
        if versus.any(|v| v.by_correction) {
            intro.push_str(" (~c: the correction for several comparisons took it)");
        }
    }
    if tables.iter().any(|table| several(table)) {
        intro.push_str("; then medians with intervals");
    }
    let document = report
        .published
        .filter(|_| tables.iter().any(|t| t.has_published()));
    if let Some(published) = document {
        intro.push_str(&format!(
            "; then the shapes: {}'s ratio / ours (of means)",
            published.document.short()
        ));
    }
    let common = common(tables);
    for part in &common {
        intro.push_str(&format!("; {part}"));
    }
    let mut out = String::from("Differences\n");
    out.push_str(&wrap("", 0, &format!("{intro}."), width));
    for table in tables {
        out.push('\n');
        out.push_str(&of_table(table, &common, width));
    }
    for table in crossed {
        let clocks: String = table.clocks().iter().map(|c| c.mark()).collect();
        let heading = format!("{} {clocks}; {}", name(table), family(table));
        out.push('\n');
        out.push_str(&wrap("", 2, &heading, width));
        out.push_str(&ratios(table).print(width));
    }
    out
}

/// What the numbers of a table rest on: n with coverage, the comparisons, whether there is more
/// than one value to take a median of.
fn basis(table: &Table) -> Vec<String> {
    let mut parts = census(table);
    parts.push(match table.family {
        // That they are one family is in the legend.
        1 => "1 comparison".to_owned(),
        n if n > 1 => format!("{n} comparisons"),
        _ => family(table),
    });
    if !several(table) {
        parts.push("medians are the values above".to_owned());
    }
    parts
}

fn several(table: &Table) -> bool {
    let most = table.figures().filter_map(|f| Some(f.summary.as_ref()?.n));
    most.max().unwrap_or(0) > 1
}

/// What all of these tables rest on alike, to be printed once above them.
pub(super) fn common(tables: &[&Table]) -> Vec<String> {
    let Some((first, rest)) = tables.split_first() else {
        return Vec::new();
    };
    let mut parts = basis(first);
    for table in rest {
        let own = basis(table);
        parts.retain(|part| own.contains(part));
    }
    parts
}

/// `; n=4 ...`: what this table rests on and others do not.
pub(super) fn own(table: &Table, common: &[String]) -> String {
    let own = basis(table).into_iter();
    own.filter(|part| !common.contains(part))
        .fold(String::new(), |text, part| text + "; " + &part)
}

fn of_table(table: &Table, common: &[String], width: usize) -> String {
    let clocks: String = table.clocks().iter().map(|c| c.mark()).collect();
    let heading = format!("{} {clocks}{}", name(table), own(table, common));
    let mut out = wrap("", 2, &heading, width);
    let mut matrices = vec![ratios(table)];
    if several(table) {
        matrices.push(medians(table));
    }
    matrices.push(shapes(table));
    let matrices: Vec<String> = matrices
        .iter()
        .map(|matrix| matrix.print(width))
        .filter(|text| !text.is_empty())
        .collect();
    out.push_str(&matrices.join("\n"));
    out.push_str(&warnings(table, width));
    out
}

/// The title, with the levels that distinguish it from others of the same title.
pub(super) fn name(table: &Table) -> String {
    if table.subtitle.contains('=') {
        format!("{}, {}", table.title, table.subtitle)
    } else {
        table.title.clone()
    }
}

/// Ratios to the base column: `0.51 0.44-0.60 -`, without sign where nothing could be tested.
pub(super) fn ratios(table: &Table) -> Matrix {
    let cell = |row: &Row, at: usize| -> Cell {
        let figure = &row.figures[at];
        let doubt = doubt(row, table.base, figure);
        let Some(versus) = &figure.versus else {
            return missing(&doubt);
        };
        match (versus.interval, versus.p) {
            (Some((low, high)), Some(_)) => vec![
                brief_ratio(versus.ratio),
                brief_range(low, high, brief_ratio),
                format!("{}{doubt}", versus.sign()),
            ],
            _ => vec![format!("{}{doubt}", brief_ratio(versus.ratio))],
        }
    };
    let columns: Vec<usize> = (0..table.columns.len())
        .filter(|c| *c != table.base)
        .collect();
    matrix(
        format!("ratio to {}", table.base_name()),
        table,
        &columns,
        cell,
    )
}

/// Medians with their intervals: `388.2 370-402`.
fn medians(table: &Table) -> Matrix {
    let cell = |row: &Row, at: usize| -> Cell {
        let figure = &row.figures[at];
        let sign = figure
            .worst()
            .map_or(String::new(), |m| m.sign().to_string());
        let Some(summary) = &figure.summary else {
            return missing(&sign);
        };
        let mut parts = vec![short(summary.median)];
        if let Some(interval) = &summary.median_interval {
            parts.push(format!(
                "{}{sign}",
                brief_range(interval.low, interval.high, three)
            ));
        } else {
            parts[0].push_str(&sign);
        }
        parts
    };
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    matrix("median".to_owned(), table, &columns, cell)
}

/// Their ratio to the base column / ours: `1.16 / 0.51`.
fn shapes(table: &Table) -> Matrix {
    let cell = |row: &Row, at: usize| -> Cell {
        let figure = &row.figures[at];
        let Some(theirs) = figure.published.and_then(|p| p.ratio) else {
            return missing("");
        };
        let base = row.figures.get(table.base).and_then(Figure::mean);
        let ours = figure
            .mean()
            .zip(base.filter(|b| *b != 0.0))
            .map_or_else(|| "-".to_owned(), |(ours, base)| brief_ratio(ours / base));
        vec![
            brief_ratio(theirs),
            "/".to_owned(),
            format!("{ours}{}", doubt(row, table.base, figure)),
        ]
    };
    let columns: Vec<usize> = (0..table.columns.len())
        .filter(|c| *c != table.base)
        .filter(|c| table.rows.iter().any(|r| r.figures[*c].published.is_some()))
        .collect();
    let mut shapes = matrix("theirs / ours".to_owned(), table, &columns, cell);
    let mut rows = table.rows.iter();
    shapes.rows.retain(|_| {
        let row = rows.next();
        row.is_some_and(|row| row.figures.iter().any(|f| f.published.is_some()))
    });
    shapes
}

fn matrix(
    corner: String,
    table: &Table,
    columns: &[usize],
    cell: impl Fn(&Row, usize) -> Cell,
) -> Matrix {
    Matrix {
        corner,
        columns: columns
            .iter()
            .map(|c| table.columns[*c].headings().1.to_owned())
            .collect(),
        above: columns
            .iter()
            .map(|c| table.columns[*c].headings().0.to_vec())
            .collect(),
        rows: table
            .rows
            .iter()
            .map(|row| {
                let cells = columns.iter().map(|c| cell(row, *c)).collect();
                (row.label.clone(), cells)
            })
            .collect(),
    }
}

fn missing(sign: &str) -> Cell {
    vec![format!("-{sign}")]
}

/// The worst doubt about a ratio: the figure's own, or that the evidence of its base fails.
fn doubt(row: &Row, base: usize, figure: &Figure) -> String {
    let of_base = row.figures.get(base).and_then(Figure::worst);
    let of_base = of_base.filter(|mark| *mark == Mark::Fails);
    let worst = of_base.into_iter().chain(figure.worst()).min();
    worst.map_or(String::new(), |mark| mark.sign().to_string())
}

/// n and coverage of one figure.
type Basis = (usize, Option<u32>);

/// `n=5, medians' intervals cover 94 %`, `ext3: n=4, 88 %`: what the numbers rest on, once for
/// most of them, then where it differs.
fn census(table: &Table) -> Vec<String> {
    let basis = |figure: &Figure| -> Option<Basis> {
        let summary = figure.summary.as_ref()?;
        let achieved = summary.median_interval.as_ref().and_then(|i| i.achieved);
        Some((summary.n, achieved.map(|a| (a * 100.0).round() as u32)))
    };
    let mut counts: BTreeMap<Basis, usize> = BTreeMap::new();
    for found in table.figures().filter_map(basis) {
        *counts.entry(found).or_default() += 1;
    }
    let Some((&common, _)) = counts.iter().max_by_key(|(_, count)| **count) else {
        return Vec::new();
    };
    let mut parts = vec![basis_words(common, "medians' intervals cover ")];
    for (at, column) in table.columns.iter().enumerate() {
        let here: Vec<(&Row, Basis)> = table
            .rows
            .iter()
            .filter_map(|row| Some((row, basis(&row.figures[at])?)))
            .collect();
        match here.split_first() {
            Some((first, rest)) if rest.iter().all(|(_, b)| *b == first.1) => {
                if first.1 != common {
                    parts.push(format!("{}: {}", column.name, basis_words(first.1, "")));
                }
            }
            _ => {
                for (row, found) in here.iter().filter(|(_, found)| *found != common) {
                    let place = format!("{} {}", row.label, column.name);
                    parts.push(format!("{place}: {}", basis_words(*found, "")));
                }
            }
        }
    }
    parts
}

fn basis_words((n, coverage): Basis, verb: &str) -> String {
    let few = if n < ADVISED {
        format!(": fewer than {ADVISED} blocks")
    } else {
        String::new()
    };
    match coverage {
        Some(coverage) => format!("n={n}{few}, {verb}{coverage} %"),
        None => format!("n={n}{few}"),
    }
}

/// What the statistics warn of: each text once, with the places that it speaks of.
pub(super) fn warnings(table: &Table, width: usize) -> String {
    let mut by_text: Vec<(String, Vec<String>)> = Vec::new();
    for (row, column, text) in table_warnings(table) {
        let place = format!("{row} {column}");
        match by_text.iter_mut().find(|(known, _)| *known == text) {
            Some((_, places)) => places.push(place),
            None => by_text.push((text, vec![place])),
        }
    }
    by_text
        .iter()
        .map(|(text, places)| wrap("# ", 4, &format!("{}: {text}", places.join(", ")), width))
        .collect()
}
