//! The raw device as a section.

use crate::Report;
use crate::doc::{Block, Item, Section};
use crate::reference::{exceeded, facts, name};

/// The section; none for a run without a reference.
pub(crate) fn section(report: &Report<'_>) -> Option<Section<'static>> {
    let title = "The raw device, read before the first trial";
    let mut section = Section::new("device", title).nav("Raw device");
    for reference in &report.run.references {
        section.blocks.push(Block::Heading(name(reference)));
        if !reference.line.is_empty() {
            let line = reference.line.trim_end().to_owned();
            section.blocks.push(Block::Listing(vec![line]));
        }
        let facts = facts(reference).into_iter();
        let facts = facts.map(|(name, text)| (name.into(), text.into()));
        section.blocks.push(Block::Facts(facts.collect()));
        section.blocks.extend(Block::notes(&reference.notes));
    }
    let exceeded = exceeded(report);
    if !exceeded.is_empty() {
        let items = exceeded.into_iter().map(Item::from);
        section.blocks.push(Block::List(items.collect()));
    }
    (!section.blocks.is_empty()).then_some(section)
}
