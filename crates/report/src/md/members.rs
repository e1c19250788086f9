//! How phases were shared among the members of a device of several layers, in Markdown.

use super::{escape, header_row};
use crate::Report;
use crate::members::{self, HEADS, MEANING, TITLE};

/// Empty without devices of several layers.
pub(super) fn print(report: &Report<'_>) -> String {
    let Some(shares) = members::of(report) else {
        return String::new();
    };
    let mut out = format!("## {TITLE}\n\n");
    for (name, words) in &shares.devices {
        out.push_str(&format!("- {}: {}\n", escape(name), escape(words)));
    }
    out.push('\n');
    if shares.rows.is_empty() {
        return out;
    }
    out.push_str(&format!("{MEANING}.\n\n"));
    out.push_str(&header_row("Phase", HEADS.map(str::to_owned).into_iter()));
    for row in &shares.rows {
        let name = escape(&row.name());
        out.push_str(&format!("| {name} | {} |\n", row.cells().join(" | ")));
    }
    out.push('\n');
    out
}
