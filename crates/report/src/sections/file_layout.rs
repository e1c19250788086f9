//! Where the files are, as a section: one line of numbers for each cell, then filefrag's last line and
//! the causes of the gaps.

use words::bytes_f64 as size;

use crate::doc::{self, Block, Column, Item, Section, Sheet};
use crate::file_layout::{FileLayouts, Row, extents_found};
use crate::pressure::{spread_text, whole};

/// What the columns mean.
const MEANING: &str = "rows and extents as filefrag counts them; gaps: places where a file is not \
     contiguous, avoidable: those that no metadata explains; run: mean length of the extent that a \
     byte is in; delayed: bytes without blocks when the phase ended, before its fsync";

/// Heads of the columns of numbers.
const HEADS: [&str; 9] = [
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

/// The section.
pub(crate) fn section(placement: &FileLayouts<'_>) -> Section<'static> {
    let title = "Layout: where the files are that each phase left";
    let mut section = Section::new("layout", title).nav("Layout");
    let names = rows(placement);
    let lines = placement.rows.iter().zip(&names).map(|(row, name)| {
        let cells = cells(row).into_iter();
        doc::Row::texts(std::iter::once(name.clone()).chain(cells))
    });
    let sheet = Sheet::new("Layout", "cell", HEADS.map(Column::figures)).rows(lines);
    let mut items = words(placement, &names);
    items.extend(listings(placement).map(|files| Item::about("listings", files)));
    items.extend(placement.notes.iter().map(|note| Item::note(note)));
    section.blocks = vec![
        Block::Para(format!(
            "Medians of n trials, and (largest) where they differ; {MEANING}."
        )),
        Block::Table(sheet),
        Block::List(items),
    ];
    section
}

/// Names of the rows; the phase is one where there are several.
fn rows(placement: &FileLayouts<'_>) -> Vec<String> {
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
fn cells(row: &Row<'_>) -> [String; 9] {
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

/// A sentence about each row; rows with the same sentence share it.
fn words(placement: &FileLayouts<'_>, names: &[String]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for (row, name) in placement.rows.iter().zip(names) {
        let text = of_row(row);
        match items.iter_mut().find(|item| item.text == text) {
            Some(item) => item.lead.push(name.clone()),
            None => items.push(Item::about(name, text)),
        }
    }
    items
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
fn listings(placement: &FileLayouts<'_>) -> Option<String> {
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
