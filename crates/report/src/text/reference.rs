//! The raw device near the head: five lines for each.

use super::wrap;
use crate::Report;
use crate::reference::{exceeded, facts, name};

/// The section; empty for a run without a reference.
pub(super) fn print(report: &Report<'_>, width: usize) -> String {
    let references = &report.run.references;
    if references.is_empty() {
        return String::new();
    }
    let mut out = wrap(
        "\n",
        2,
        "The raw device, read before the first trial:",
        width,
    );
    for reference in references {
        out.push_str(&wrap("  ", 4, &name(reference), width));
        if !reference.line.is_empty() {
            // hdparm's own line, its leading space and double spaces included.
            out.push_str(&format!("   {}\n", reference.line.trim_end()));
        }
        for (name, text) in facts(reference) {
            out.push_str(&wrap(&format!("    {name}: "), 6, &text, width));
        }
        for note in &reference.notes {
            out.push_str(&wrap("    note: ", 6, note, width));
        }
    }
    for line in exceeded(report) {
        out.push_str(&wrap("  ", 4, &line, width));
    }
    out
}
