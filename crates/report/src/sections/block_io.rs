//! Block traces as a section: four small tables by what a reader asks. And what tracing itself cost.

use words::{bytes_f64 as size, short_time};

use crate::block_io::{BlockIo, Cost, PANELS, Row, Unit, WHOLE};
use crate::doc::{self, Block, Cell, Column, Item, Section, Sheet, compared};
use crate::model::clock_meaning;
use crate::numbers::short;
use crate::pressure::{percent, whole};
use crate::why::capital;

/// The section.
pub(crate) fn section(requests: &BlockIo<'_>) -> Section<'static> {
    let title = "Block trace: what the device was asked for";
    let mut section = Section::new("traces", title).nav("Block trace");
    section.blocks.push(Block::Para(about(requests)));
    let names = rows(requests);
    let doubts = doubts(requests, &names);
    if !doubts.is_empty() {
        section.blocks.push(Block::List(doubts));
    }
    for panel in &PANELS {
        let shown: Vec<_> = panel.shown(&requests.rows).collect();
        if shown.is_empty() {
            continue;
        }
        let rows = requests.rows.iter().zip(&names).map(|(row, name)| {
            let mut label = Cell::from(name.as_str());
            if let Some(doubt) = row.doubt() {
                label = label.signs("!").hover(doubt);
                "degraded".clone_into(&mut label.small);
            }
            let cells = shown.iter().map(|c| value(row.median(c.name), c.unit));
            doc::Row::new(std::iter::once(label).chain(cells.map(Cell::from)))
        });
        let columns = shown.iter().map(|c| Column::figures(c.head));
        let sheet = Sheet::new(panel.title, "cell", columns).rows(rows);
        section.blocks.push(Block::Heading(panel.title.to_owned()));
        section.blocks.push(Block::Table(sheet));
    }
    let bases = bases(requests).map(|bases| Item::about("traces", bases));
    let notes = requests.notes.iter().map(|note| Item::note(note));
    let items: Vec<Item> = bases.into_iter().chain(notes).collect();
    if !items.is_empty() {
        section.blocks.push(Block::List(items));
    }
    section
}

/// What the numbers are, and what the letters of blktrace mean.
fn about(requests: &BlockIo<'_>) -> String {
    let counts = || requests.rows.iter().map(|row| row.traces.len());
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let n = if least == most {
        format!("n={least}")
    } else {
        format!("n={least} to {most}")
    };
    format!(
        "Medians of the traced trials ({n}), each phase to the end of its syncfs. A bio is queued (Q), \
         merged into a request, issued to the device (D) and completed (C); Q/D: bios of each request; \
         mean seek: from the end of one request to the start of the next; kind switches: from data to \
         metadata or journal and back with a seek; busy: share of the time with a request in flight."
    )
}

/// The rows whose traces lost events; rows with the same loss share an item.
fn doubts(requests: &BlockIo<'_>, names: &[String]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for (row, name) in requests.rows.iter().zip(names) {
        let Some(doubt) = row.doubt() else {
            continue;
        };
        let text = format!("{doubt}: its figures count too little");
        match items.iter_mut().find(|item| item.text == text) {
            Some(item) => item.lead.push(name.clone()),
            None => items.push(Item::about(name, text).sign("!")),
        }
    }
    items
}

/// Where the traces are, and how large; nothing where none was kept.
fn bases(requests: &BlockIo<'_>) -> Option<String> {
    let mut bases: Vec<&str> = requests
        .rows
        .iter()
        .flat_map(|row| &row.traces)
        .map(|(_, trace)| trace.base.as_str())
        .filter(|base| !base.is_empty())
        .collect();
    bases.sort_unstable();
    bases.dedup();
    Some(match bases.as_slice() {
        [] => return None,
        [one] => format!("{one}.blktrace.*, {}", size(requests.bytes as f64)),
        [first, .., last] => format!(
            "{first} to {last}, {} in all, {}; read them with fslab trace report, blkparse or btt",
            bases.len(),
            size(requests.bytes as f64)
        ),
    })
}

/// Names of the rows: cell, phase and device where there are several.
fn rows(requests: &BlockIo<'_>) -> Vec<String> {
    let first = requests.rows.first().map(|row| row.phase);
    let several = requests.rows.iter().any(|row| Some(row.phase) != first);
    let name = |row: &Row<'_>| {
        let mut parts = vec![row.label.clone()];
        if several {
            parts.push(match row.phase {
                WHOLE => "whole trial".to_owned(),
                phase => phase.to_owned(),
            });
        }
        if requests.devices {
            parts.push(row.device.to_owned());
        }
        parts.join(", ")
    };
    requests.rows.iter().map(name).collect()
}

/// A value as its unit wants it.
fn value(value: Option<f64>, unit: Unit) -> String {
    let write = match unit {
        Unit::Count => whole,
        Unit::Bytes => size,
        Unit::Seconds => short_time,
        Unit::Share => percent,
        Unit::Ratio => short,
    };
    value.map_or_else(|| "-".to_owned(), write)
}

/// What tracing cost, in one sentence.
fn verdict(cost: Option<&Cost>) -> String {
    let Some(cost) = cost.filter(|cost| !cost.pairs.is_empty()) else {
        return "not known: no cell has an untraced twin (trace = [false, true] among the factors \
                gives each traced trial one)"
            .to_owned();
    };
    let all = cost.pairs.len();
    let of = if all == 1 { "figure" } else { "figures" };
    let mut text = match (cost.family, cost.counted()) {
        (0, _) => format!("{all} {of}, none with values enough for a test"),
        (_, 0) => format!("none of {all} {of} differs by more than the band"),
        (_, n) => format!("{n} of {all} {of} differ by more than the band"),
    };
    if cost.alone > 0 {
        text.push_str(&format!("; {} traced cells have no twin", cost.alone));
    }
    text
}

/// The section about the cost.
pub(crate) fn cost_section(cost: Option<&Cost>, level: f64) -> Section<'static> {
    let mut section = Section::new("tracing", "Cost of tracing");
    section
        .blocks
        .push(Block::Para(format!("{}.", capital(&verdict(cost)))));
    let Some(cost) = cost.filter(|cost| !cost.pairs.is_empty()) else {
        return section;
    };
    section.blocks.push(Block::Para(format!(
        "Traced over untraced, paired by block, with {:.0} % intervals; {}. Clock (a): {}; (c): {}.",
        level * 100.0,
        match cost.family {
            1 => "1 comparison".to_owned(),
            n => format!("{n} comparisons, one family"),
        },
        clock_meaning(study::Clock::Original),
        clock_meaning(study::Clock::Syncfs),
    )));
    let rows = cost.pairs.iter().map(|pair| {
        let medians = pair.medians();
        let medians = medians.map(|m| m.map_or_else(|| "-".to_owned(), short));
        let label = format!("{}, {}", pair.label, pair.phase);
        let words = [label, pair.clock.mark().to_owned(), pair.unit.to_owned()];
        let cells = words.into_iter().chain(medians).map(Cell::from);
        doc::Row::new(cells.chain(compared(pair.versus.as_ref())))
    });
    let columns = [
        Column::words("clock"),
        Column::words("unit"),
        Column::figures("untraced"),
        Column::figures("traced"),
        Column::figures("ratio"),
        Column::words("interval"),
    ];
    let sheet = Sheet::new("Cost of tracing", "cell, phase", columns).rows(rows);
    section.blocks.push(Block::Table(sheet));
    section
}
