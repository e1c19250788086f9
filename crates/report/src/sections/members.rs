//! How phases were shared among the members of a device of several layers, as a section.

use crate::doc::{self, Block, Column, Item, Section, Sheet};
use crate::members::{HEADS, Shares};

/// Heading of the section.
const TITLE: &str = "Members: how each phase was shared among the disks of its device";

/// What the columns mean.
const MEANING: &str = "Bytes that the members moved by their own counters, the mean of n trials; by \
     device: how many for each byte of the device above (parity, copies, and what it reads to write); \
     the shares of the least and the most loaded member; the members' mean request";

/// The section.
pub(crate) fn section(shares: &Shares) -> Section<'static> {
    let mut section = Section::new("members", TITLE).nav("Members");
    let devices = shares.devices.iter();
    let devices = devices.map(|(name, words)| Item::about(name, words));
    section.blocks.push(Block::List(devices.collect()));
    if shares.rows.is_empty() {
        return section;
    }
    let rows = shares.rows.iter().map(|row| {
        let cells = row.cells().into_iter().zip(HEADS).map(|(text, head)| {
            let mut cell = doc::Cell::from(text);
            if head == "most" {
                cell.bars = vec![row.most_share, row.least_share];
            }
            cell
        });
        doc::Row::new(std::iter::once(row.name().into()).chain(cells))
    });
    let columns = HEADS.map(Column::figures);
    let sheet = Sheet::new("Members of each phase", "cell, phase", columns).rows(rows);
    section.blocks.push(Block::Para(format!("{MEANING}.")));
    section.blocks.push(Block::Table(sheet));
    section
}
