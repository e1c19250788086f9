//! Laws of growth, and "was it memory?", as GitHub tables.

use super::{escape, header_row, signs};
use crate::Report;
use crate::growth::{
    Curve, Growth, LAWS, PublishedPoint, amount, brief, engineering, interval, reach, sentences,
    tested,
};
use crate::numbers::{range, ratio, short};
use crate::pressure::{Memory, mib, percent, spread_text, whole};

/// All laws of the report.
pub(super) fn growths(report: &Report<'_>) -> String {
    report.growths.iter().map(growth).collect()
}

fn growth(growth: &Growth) -> String {
    let mut out = format!(
        "## {}\n\n{}\n\n",
        escape(&growth.title),
        escape(&growth.about())
    );
    for curve in &growth.curves {
        out.push_str(&format!("### {}\n\n", escape(&curve.name())));
        out.push_str(&measured(growth, curve));
        for text in tested(curve).into_iter().chain(sentences(growth, curve)) {
            out.push_str(&format!("- {}\n", escape(&text)));
        }
        out.push('\n');
        if !curve.projections.is_empty() {
            out.push_str(&projections(growth, curve));
        }
        for point in &curve.published {
            out.push_str(&format!("- {}\n\n", escape(&point.sentence())));
        }
    }
    let level = 100.0 * growth.level;
    out + &format!("{level:.0} % intervals; {}\n\n", escape(LAWS))
}

fn measured(growth: &Growth, curve: &Curve) -> String {
    let heads = ["n", "median", "interval"].map(str::to_owned);
    let mut out = header_row(&escape(&growth.x_unit), heads.into_iter());
    for size in &curve.sizes {
        let Some(summary) = &size.figure.summary else {
            continue;
        };
        let interval = summary.median_interval.as_ref();
        out.push_str(&format!(
            "| {} | {} | {}{} | {} |\n",
            amount(size.x),
            summary.n,
            short(summary.median),
            signs(&size.figure.signs()),
            interval.map_or(String::new(), |i| range(i.low, i.high, short))
        ));
    }
    out.push('\n');
    out
}

fn projections(growth: &Growth, curve: &Curve) -> String {
    let laws = curve.reported().iter();
    let heads = std::iter::once("x largest".to_owned())
        .chain(laws.map(|fit| format!("{}, {}", brief(fit.law), growth.unit)))
        .chain(["published".to_owned()]);
    let mut out = header_row(&format!("projection, {}", escape(&growth.x_unit)), heads);
    for projection in &curve.projections {
        let laws = projection.laws.iter();
        let laws: Vec<String> = laws.map(|(_, e)| interval(e, engineering)).collect();
        let published: Vec<String> = projection
            .published
            .iter()
            .map(PublishedPoint::sentence)
            .collect();
        out.push_str(&format!(
            "| projection {} | {} | {} | {} |\n",
            amount(projection.x),
            reach(projection),
            laws.join(" | "),
            escape(&published.join("; "))
        ));
    }
    out.push('\n');
    out
}

/// The answers, the counters of each cell, and what less memory cost.
pub(super) fn memory(memory: &Memory) -> String {
    let mut out = "## Was it memory?\n\n".to_owned();
    for answer in &memory.answers {
        out.push_str(&format!(
            "- **{}**: {}\n",
            escape(&answer.filesystem),
            escape(&answer.sentence())
        ));
    }
    out.push('\n');
    let heads = [
        "phase",
        "n",
        "swapped",
        "reclaimed",
        "stalls",
        "limit, MiB",
        "peak, MiB",
        "limit met",
        "inodes / memory",
    ];
    out.push_str(&header_row("cell", heads.map(str::to_owned).into_iter()));
    for row in &memory.rows {
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            escape(&row.label),
            escape(&row.phase),
            row.n(),
            spread_text(&row.swapped, whole),
            row.reclaimed_text(),
            row.stalls_text(),
            row.limit.map_or_else(|| "none".to_owned(), mib),
            spread_text(&row.peak, mib),
            spread_text(&row.met, whole),
            row.inode_share.map_or_else(|| "-".to_owned(), percent),
        ));
    }
    out.push('\n');
    out.push_str(&pairs(memory));
    out
}

fn pairs(memory: &Memory) -> String {
    let mut pairs = memory
        .pairs
        .iter()
        .filter(|p| p.seconds.is_some())
        .peekable();
    if pairs.peek().is_none() {
        return String::new();
    }
    let heads = ["memory", "time", "bytes read"].map(str::to_owned);
    let mut out = header_row("check, less memory over more", heads.into_iter());
    for pair in pairs {
        let [seconds, read] = [&pair.seconds, &pair.read].map(|versus| {
            versus.as_ref().map_or_else(String::new, |v| {
                let interval = v.interval.map_or(String::new(), |(low, high)| {
                    format!(" [{}]", range(low, high, ratio))
                });
                let sign = escape(&v.difference.sign().to_string());
                format!("{}{interval} {sign}", ratio(v.ratio))
            })
        });
        out.push_str(&format!(
            "| {} {} | {} / {} | {seconds} | {read} |\n",
            escape(&pair.filesystem),
            escape(&pair.label),
            escape(&pair.memory[1]),
            escape(&pair.memory[0]),
        ));
    }
    out.push('\n');
    out
}
