//! The list of 2010 in a mail; the programs' own lines may be wider than the report.

use super::wrap;
use crate::transcript::{Entry, Transcript};

/// What differs from the message, for every format.
pub(crate) const ABOUT: &str = "dd's MB are 10^6 bytes; GNU time's elapsed goes on to the end of syncfs, \
     dd's seconds end with its last write, clock (a)";

/// The section.
pub(super) fn print(transcript: &Transcript<'_>, width: usize) -> String {
    let title = format!("The runs as the message lists them{}", which(transcript));
    let mut out = wrap("", 2, &title, width);
    out.push_str(&wrap("", 0, &format!("{ABOUT}."), width));
    for group in &transcript.groups {
        out.push('\n');
        out.push_str(&wrap("For ", 2, &format!("{}:", group.of), width));
        for entry in &group.entries {
            out.push('\n');
            out.push_str(&wrap("", 2, &entry.heading(), width));
            for line in entry.lines() {
                out.push_str(&line);
                out.push('\n');
            }
        }
    }
    out
}

/// ` (the middle of 5 of each)`; nothing where each ran once.
pub(crate) fn which(transcript: &Transcript<'_>) -> String {
    let entries = || transcript.groups.iter().flat_map(|group| &group.entries);
    let counts = || entries().map(|entry: &Entry<'_>| entry.n);
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    match (least, most) {
        (_, 0 | 1) => String::new(),
        (least, most) if least == most => format!(" (of each the middle one of {most})"),
        (least, most) => format!(" (of each the middle one of {least} to {most})"),
    }
}
