//! How a checker read, in Markdown.

use super::{escape, header_row};
use crate::numbers::short;
use crate::scan::{
    Group, MIB, Pass, Scan, count, gb, listing, listing_title, mb, their_words, times, told,
};
use crate::text::scan::{about, heading};

/// Columns of a listing.
const WIDTH: usize = 78;

/// The section.
pub(super) fn print(scan: &Scan) -> String {
    let mut out = "## How a checker reads\n\n".to_owned();
    for (name, how) in scan.ways() {
        out.push_str(&format!("- **{}**: {}\n", escape(name), escape(how)));
    }
    out.push('\n');
    for group in &scan.groups {
        out.push_str(&format!("### {}\n\n", escape(&heading(group))));
        out.push_str(&table(group, scan.beside.is_some()));
        if let Some(note) = group.note {
            out.push_str(&format!("{}\n\n", escape(note)));
        }
    }
    if !scan.groups.is_empty() {
        out.push_str(&format!("{}\n\n", escape(&about(scan))));
    }
    for paragraph in &scan.legend {
        out.push_str(&format!("{}\n\n", escape(paragraph)));
    }
    out.push_str(&laws(scan));
    for group in &scan.groups {
        out.push_str(&format!(
            "<details><summary>{}</summary>\n\n```\n{}```\n\n</details>\n\n",
            escape(&listing_title(group)),
            listing(group, WIDTH)
        ));
    }
    out
}

fn table(group: &Group, beside: bool) -> String {
    let mut heads: Vec<String> = [
        "set", "disk MB", "cache MB", "requests", "seeks", "over GB", "real s", "x", "MB/s",
    ]
    .map(str::to_owned)
    .into();
    if beside {
        for day in ["16 Sep", "21 Sep"] {
            heads.extend(["disk MB", "real s", "x"].map(|head| format!("{day} {head}")));
        }
    }
    let mut out = header_row("pass", heads.into_iter());
    for (set, pass) in group.rows().into_iter().flatten() {
        let mut cells = vec![escape(&set.name)];
        cells.extend(figures(group, pass, beside));
        out.push_str(&format!("| {} | {} |\n", pass.name, cells.join(" | ")));
    }
    out.push('\n');
    out
}

fn figures(group: &Group, pass: &Pass, beside: bool) -> Vec<String> {
    let cost = &pass.median;
    let moved = pass.moved_signs();
    let mut cells = vec![
        escape(&format!("{}{moved}", mb(cost.disk))),
        mb(cost.cache),
        escape(&format!("{}{moved}", count(cost.requests))),
        count(cost.seeks),
        gb(cost.seek_bytes),
        escape(&format!("{}{}", told(cost.real, short), pass.time_signs())),
        escape(&times(group, pass)),
        told(cost.rate, |rate| short(rate / MIB)),
    ];
    if beside {
        cells.extend(
            [0, 1]
                .into_iter()
                .flat_map(|at| their_words(group, pass, at)),
        );
    }
    cells
}

fn laws(scan: &Scan) -> String {
    let mut out = "### The laws of 2011 on these numbers\n\n".to_owned();
    out.push_str(&format!("On {}.\n\n", escape(&scan.laws_title())));
    for law in &scan.laws {
        let (says, verdict) = (escape(law.says), escape(&law.verdict()));
        out.push_str(&format!("- {says}: **{verdict}**\n"));
        if let Some(published) = &law.published {
            out.push_str(&format!("  - 2011: {}\n", escape(published)));
        }
        for case in &law.cases {
            let text = format!("{}: {}: {}", case.word(), case.of, case.figures);
            out.push_str(&format!("  - {}\n", escape(&text)));
        }
    }
    out.push('\n');
    out
}
