//! The list of 2010 as a section: the programs' own lines.

use crate::doc::{Block, Section};
use crate::transcript::{Entry, Transcript};

/// What differs from the message.
const ABOUT: &str = "dd's MB are 10^6 bytes; GNU time's elapsed goes on to the end of syncfs, dd's \
     seconds end with its last write, clock (a)";

/// The section.
pub(crate) fn section(transcript: &Transcript<'_>) -> Section<'static> {
    let title = format!("The runs as the message lists them{}", which(transcript));
    let mut section = Section::new("list", title).nav("As the message lists them");
    section.blocks.push(Block::Para(format!("{ABOUT}.")));
    for group in &transcript.groups {
        section
            .blocks
            .push(Block::Heading(format!("For {}:", group.of)));
        for entry in &group.entries {
            section.blocks.push(Block::Minor(entry.heading()));
            section.blocks.push(Block::Listing(entry.lines()));
        }
    }
    section
}

/// ` (the middle of 5 of each)`; nothing where each ran once.
fn which(transcript: &Transcript<'_>) -> String {
    let entries = || transcript.groups.iter().flat_map(|group| &group.entries);
    let counts = || entries().map(|entry: &Entry<'_>| entry.n);
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    match (least, most) {
        (_, 0 | 1) => String::new(),
        (least, most) if least == most => format!(" (of each the middle one of {most})"),
        (least, most) => format!(" (of each the middle one of {least} to {most})"),
    }
}
