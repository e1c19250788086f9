//! How a checker read, in Markdown.

use super::{escape, header_row};
use crate::numbers::short;
use crate::scan::{Group, Scan, lines};
use crate::text::scan::{about, heading, their_words, times};

const MIB: f64 = 1_048_576.0;

/// The section.
pub(super) fn print(scan: &Scan) -> String {
    let mut out = "## How a checker reads\n\n".to_owned();
    let first = scan.groups.first();
    for set in first.into_iter().flat_map(|group| &group.sets) {
        out.push_str(&format!(
            "- **{}**: {}\n",
            escape(&set.name),
            escape(&set.how)
        ));
    }
    out.push('\n');
    for group in &scan.groups {
        out.push_str(&format!("### {}\n\n", escape(&heading(group))));
        out.push_str(&table(group, scan.beside.is_some()));
    }
    if !scan.groups.is_empty() {
        out.push_str(&format!("{}\n\n", escape(&about(scan))));
    }
    out.push_str("### The laws of 2011 on these numbers\n\n");
    for law in &scan.laws {
        let (says, verdict) = (escape(law.says), escape(&law.verdict()));
        out.push_str(&format!("- {says}: **{verdict}**\n"));
        out.push_str(&format!("  - 2011: {}\n", escape(law.published)));
        for case in &law.cases {
            let word = if case.holds { "holds" } else { "fails" };
            let of = escape(&format!("{}: {}", case.of, case.figures));
            out.push_str(&format!("  - {word}: {of}\n"));
        }
    }
    out.push('\n');
    for group in &scan.groups {
        out.push_str(&listing(group));
    }
    out
}

fn table(group: &Group, beside: bool) -> String {
    let mut heads: Vec<String> = [
        "set", "disk MB", "cache MB", "requests", "seeks", "real s", "x", "MB/s",
    ]
    .map(str::to_owned)
    .into();
    if beside {
        for day in ["16 Sep", "21 Sep"] {
            heads.extend(["disk MB", "real s", "x"].map(|head| format!("{day} {head}")));
        }
    }
    let mut out = header_row("pass", heads.into_iter());
    let passes = group.sets.first().map_or(0, |set| set.passes.len());
    for at in 0..passes {
        for set in &group.sets {
            let pass = &set.passes[at];
            let cost = &pass.median;
            let mut cells = vec![
                pass.name.to_owned(),
                escape(&set.name),
                short(cost.disk / MIB),
                short(cost.cache / MIB),
                format!("{:.0}", cost.requests),
                format!("{:.0}", cost.seeks),
                short(cost.real),
                escape(&times(group, pass)),
                short(cost.rate / MIB),
            ];
            if beside {
                for at in [0, 1] {
                    cells.extend(their_words(group, pass, at));
                }
            }
            out.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
    }
    out.push('\n');
    out
}

fn listing(group: &Group) -> String {
    let mut out = format!(
        "<details><summary>fsck.ocfs2's lines, {}</summary>\n\n```\n",
        escape(&group.of)
    );
    let passes = group.sets.first().map_or(&[][..], |set| &set.passes);
    for (at, pass) in passes.iter().enumerate() {
        out.push_str(&format!("{}\n", pass.title));
        for set in &group.sets {
            for line in lines(&set.passes[at].middle) {
                out.push_str(&format!("{line}\n"));
            }
        }
    }
    out + "```\n\n</details>\n\n"
}
