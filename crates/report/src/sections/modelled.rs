//! Published numbers beside modelled ones, as a section.

use words::significant;

use crate::Report;
use crate::doc::{Block, Cell, Column, Item, Row, Section, Sheet};
use crate::modelled::{self, Bound, Modelled};

/// What the numbers are, and what they are not.
const ABOUT: &str = "From the order and sizes of the requests of the original's programs, on models of its hardware, without a run: what \
     these disks by themselves say of its numbers. They are not of this run. `fslab device check --studies` computes them; docs/devices.md \
     says from what";

/// The section.
pub(super) fn section(report: &Report<'_>, found: &Modelled) -> Section<'static> {
    let mut section = Section::new(
        "modelled",
        "Published and modelled: the original on a model of its hardware",
    )
    .nav("Published and modelled");
    section.blocks.push(Block::Para(format!("{ABOUT}.")));
    if !found.rows.is_empty() {
        section.blocks.push(Block::Table(sheet(found)));
    }
    let decides = report.published.map(|published| &published.document);
    let decides = decides.filter(|document| !document.host_decides.is_empty());
    let sentence = decides.map(|document| {
        let of = format!("Of the numbers of {}", document.short());
        Item::about(of, document.host_decides.clone())
    });
    let host: Vec<Item> = sentence
        .into_iter()
        .chain(found.host.iter().map(bound))
        .collect();
    if !host.is_empty() {
        let title = "The host decides, and no model of the disks can tell";
        section.blocks.push(Block::Heading(title.to_owned()));
        section.blocks.push(Block::List(host));
    }
    section
}

fn sheet(found: &Modelled) -> Sheet {
    let columns = [
        Column::words("device").rank(2),
        Column::figures("published").published(),
        Column::figures("modelled"),
        Column::figures("error"),
        Column::words("modelled 5-95 %").rank(1),
        Column::words(""),
    ];
    let rows = found.rows.iter().map(|row| {
        let cells = [
            format!("{}, {}", row.name, row.unit),
            row.device.clone(),
            significant(row.published),
            significant(row.modelled),
            format!("{:+.0} %", row.error_percent()),
            span([row.modelled_low, row.modelled_high]),
            verdict(row),
        ];
        Row::new(cells.map(Cell::from))
    });
    Sheet::new("Published and modelled numbers", "number", columns).rows(rows)
}

/// What a row says of the model.
fn verdict(row: &modelled::Row) -> String {
    match (row.fitted, row.is_near()) {
        (true, _) => "fitted to it".to_owned(),
        (false, true) => String::new(),
        (false, false) => format!("missed: {}", row.cause),
    }
}

fn bound(bound: &Bound) -> Item {
    Item::about(
        bound.name.clone(),
        format!(
            "published {} {unit}; {} could do {} {unit} by its model ({})",
            span(bound.published),
            bound.device,
            span(bound.possible),
            bound.how,
            unit = bound.unit
        ),
    )
}

/// `220 to 597`; one number where both are.
fn span(values: [f64; 2]) -> String {
    let [low, high] = values.map(significant);
    if low == high {
        low
    } else {
        format!("{low} to {high}")
    }
}
