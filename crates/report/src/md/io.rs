//! Layouts, block traces, what tracing cost, and the list of 2010 as GitHub Markdown.

use super::{escape, header_row};
use crate::Report;
use crate::numbers::short;
use crate::requests::{PANELS, Requests};
use crate::text::{placement, requests, transcript};

/// All of it; empty for a run without.
pub(super) fn sections(report: &Report<'_>) -> String {
    let mut out = list(report);
    out.push_str(&why(report));
    out.push_str(&layout(report));
    if let Some(found) = &report.requests {
        out.push_str(&traces(found));
        out.push_str(&cost(report));
    }
    out
}

fn list(report: &Report<'_>) -> String {
    let Some(found) = &report.transcript else {
        return String::new();
    };
    let which = transcript::which(found);
    let mut out = format!(
        "## The runs as the message lists them{which}\n\n{}.\n\n",
        escape(transcript::ABOUT)
    );
    for group in &found.groups {
        out.push_str(&format!("For {}:\n\n```\n", escape(&group.of)));
        for entry in &group.entries {
            for line in std::iter::once(entry.heading()).chain(entry.lines()) {
                out.push_str(&line.replace('`', "'"));
                out.push('\n');
            }
        }
        out.push_str("```\n\n");
    }
    out
}

fn why(report: &Report<'_>) -> String {
    let Some(found) = &report.why else {
        return String::new();
    };
    let mut out = format!("## Why\n\n{}.\n\n", escape(&found.summary()));
    for group in found.groups() {
        for difference in &group.differences {
            out.push_str(&format!(
                "- **{}**: {}\n",
                escape(&explain::title(difference)),
                escape(&explain::sentence(difference))
            ));
        }
        for cause in &group.causes {
            out.push_str(&format!("  - {}\n", escape(cause)));
        }
    }
    for (pair, differences) in found.unexplained() {
        out.push_str(&format!(
            "- not explained, {}: {}\n",
            escape(&pair),
            escape(&differences.join(", "))
        ));
    }
    out.push('\n');
    out
}

fn layout(report: &Report<'_>) -> String {
    let Some(found) = &report.placement else {
        return String::new();
    };
    let mut out = format!(
        "## Layout: where the files lie that each phase left\n\nMedians of n trials, and (largest) \
         where they differ; {}.\n\n",
        escape(placement::MEANING)
    );
    out.push_str(&header_row(
        "cell",
        placement::HEADS.map(str::to_owned).into_iter(),
    ));
    let names = placement::rows(found);
    for (row, name) in found.rows.iter().zip(&names) {
        let cells = placement::cells(row).join(" | ");
        out.push_str(&format!("| {} | {cells} |\n", escape(name)));
    }
    out.push('\n');
    for (of, text) in placement::words(found, &names) {
        out.push_str(&format!("- {}: {}\n", escape(&of), escape(&text)));
    }
    if let Some(files) = placement::listings(found) {
        out.push_str(&format!("- listings: {}\n", escape(&files)));
    }
    for note in &found.notes {
        out.push_str(&format!("- note: {}\n", escape(note)));
    }
    out.push('\n');
    out
}

fn traces(found: &Requests<'_>) -> String {
    let mut out = format!(
        "## Block trace: what the device was asked for\n\n{}\n\n",
        escape(&requests::about(found))
    );
    for doubt in requests::doubts(found) {
        out.push_str(&format!("- `!` {}\n\n", escape(&doubt)));
    }
    let names = requests::rows(found);
    for panel in &PANELS {
        let columns: Vec<_> = panel.shown(&found.rows).collect();
        if columns.is_empty() {
            continue;
        }
        out.push_str(&format!("### {}\n\n", escape(panel.title)));
        out.push_str(&header_row("cell", columns.iter().map(|c| escape(c.head))));
        for (row, name) in found.rows.iter().zip(&names) {
            let cells = columns
                .iter()
                .map(|c| requests::value(row.median(c.name), c.unit));
            let degraded = if row.degraded() > 0 {
                " `!` degraded"
            } else {
                ""
            };
            let cells: Vec<String> = cells.collect();
            out.push_str(&format!(
                "| {}{degraded} | {} |\n",
                escape(name),
                cells.join(" | ")
            ));
        }
        out.push('\n');
    }
    let bases = requests::bases(found);
    if !bases.is_empty() {
        out.push_str(&format!("- traces: {}\n", escape(&bases)));
    }
    for note in &found.notes {
        out.push_str(&format!("- note: {}\n", escape(note)));
    }
    out.push('\n');
    out
}

fn cost(report: &Report<'_>) -> String {
    let cost = report.cost.as_ref();
    let mut out = format!(
        "## Cost of tracing\n\n{}.\n\n",
        escape(&requests::verdict(cost))
    );
    let Some(cost) = cost.filter(|cost| !cost.pairs.is_empty()) else {
        return out;
    };
    let heads = [
        "clock", "unit", "untraced", "traced", "ratio", "interval", "",
    ];
    out.push_str(&header_row("cell", heads.map(str::to_owned).into_iter()));
    for pair in &cost.pairs {
        let medians = pair
            .medians()
            .map(|m| m.map_or_else(|| "-".to_owned(), short));
        let versus = requests::versus(pair.versus.as_ref()).map(|text| escape(&text));
        out.push_str(&format!(
            "| {}, {} | {} | {} | {} | {} |\n",
            escape(&pair.label),
            escape(&pair.phase),
            pair.clock.mark(),
            escape(pair.unit),
            medians.join(" | "),
            versus.join(" | ")
        ));
    }
    out.push('\n');
    out
}
