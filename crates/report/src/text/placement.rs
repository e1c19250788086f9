//! Where the files lie: one line of numbers for each cell, then filefrag's last line and the causes.

use super::matrix::Matrix;
use super::names::Names;
use super::wrap;
use crate::numbers::size;
use crate::placement::{Placement, Row, extents_found};
use crate::pressure::{spread_text, whole};

/// What the columns mean; the same in every format.
pub(crate) const MEANING: &str = "rows and extents as filefrag counts them; gaps: places where a file \
     does not go on where it was, avoidable: those that no metadata explains; run: length of the piece \
     that a byte lies in, on average; delayed: bytes without blocks when the phase ended, before its \
     fsync";

/// Heads of the columns of numbers.
pub(crate) const HEADS: [&str; 9] = [
    "n",
    "files",
    "largest",
    "rows",
    "extents",
    "gaps",
    "avoidable",
    "run",
    "delayed",
];

/// The section; empty without layouts.
pub(super) fn print(placement: &Placement<'_>, width: usize) -> String {
    let head = "Layout: where the files lie that each phase left";
    let mut out = wrap("", 2, head, width);
    let text = format!("Medians of n trials, and (largest) where they differ; {MEANING}.");
    out.push_str(&wrap("", 0, &text, width));
    out.push('\n');
    let names = Names::of(&rows(placement), width);
    if !names.list.is_empty() {
        out.push_str(&names.list);
        out.push('\n');
    }
    let rows = placement.rows.iter().zip(&names.names);
    let matrix = Matrix {
        corner: String::new(),
        columns: HEADS.map(str::to_owned).into(),
        rows: rows
            .map(|(row, name)| (name.clone(), cells(row).map(|text| vec![text]).into()))
            .collect(),
    };
    out.push_str(&matrix.print(width));
    out.push('\n');
    for (of, text) in words(placement, &names.names) {
        out.push_str(&wrap(&format!("{of}: "), 2, &text, width));
    }
    if let Some(files) = listings(placement) {
        out.push_str(&wrap("listings: ", 2, &files, width));
    }
    for note in &placement.notes {
        out.push_str(&wrap("note: ", 2, note, width));
    }
    out
}

/// Names of the rows; the phase is one where there are several.
pub(crate) fn rows(placement: &Placement<'_>) -> Vec<String> {
    let first = placement.rows.first().map(|row| row.phase);
    let several = placement.rows.iter().any(|row| Some(row.phase) != first);
    let rows = placement.rows.iter().map(|row| {
        if several {
            format!("{}, {}", row.label, row.phase)
        } else {
            row.label.clone()
        }
    });
    rows.collect()
}

/// The numbers of a row under [`HEADS`].
pub(crate) fn cells(row: &Row<'_>) -> [String; 9] {
    let count = |name: &str| spread_text(&row.values(name), whole);
    let bytes = |name: &str| spread_text(&row.values(name), size);
    [
        row.trials.len().to_string(),
        spread_text(&row.files(), whole),
        spread_text(&row.largest(), size),
        count("layout_rows"),
        count("layout_extents"),
        count("layout_discontiguities"),
        count("layout_avoidable"),
        bytes("layout_weighted_run"),
        bytes("layout_delalloc"),
    ]
}

/// What is said of each row, rows of which the same is said together.
pub(crate) fn words(placement: &Placement<'_>, names: &[String]) -> Vec<(String, String)> {
    let mut told: Vec<(String, Vec<&str>)> = Vec::new();
    for (row, name) in placement.rows.iter().zip(names) {
        let text = of_row(row);
        match told.iter_mut().find(|(known, _)| *known == text) {
            Some((_, of)) => of.push(name),
            None => told.push((text, vec![name])),
        }
    }
    let joined = told.into_iter().map(|(text, of)| (of.join(", "), text));
    joined.collect()
}

/// `bigfile: 13 extents found; 12 gaps: 6 backup superblock, ...`, and which trial it is of where the
/// trials differ.
fn of_row(row: &Row<'_>) -> String {
    let (slot, _) = &row.middle;
    let of = if row.differs() {
        format!(
            " (block {}, the middle of {})",
            slot.block + 1,
            row.trials.len()
        )
    } else {
        String::new()
    };
    let mut parts = vec![match row.file() {
        Some(file) => format!("{}{of}", extents_found(file)),
        None => format!("no file was described{of}"),
    }];
    parts.extend(row.gaps());
    parts.join("; ")
}

/// Where the listings are: those of the first trial for all.
pub(crate) fn listings(placement: &Placement<'_>) -> Option<String> {
    let trials = placement.rows.iter().flat_map(|row| &row.trials);
    let with_any = trials.filter(|layout| !layout.listings.is_empty());
    let first = with_any.clone().next()?;
    let files = first.listings.iter();
    let files: Vec<String> = files
        .map(|(command, file)| format!("{command} in {file}"))
        .collect();
    let others = match with_any.count() {
        1 => "",
        _ => ", and so of every trial",
    };
    Some(format!("{}{others}", files.join(", ")))
}
