//! Growth in the mail: what was measured at each size, the law, and its projections.

use super::columns::columns;
use super::legend::ADVISED;
use super::wrap;
use crate::growth::{
    Curve, Growth, LAWS, Projection, amount, brief, engineering, interval, reach, sentences, tested,
};
use crate::model::Figure;
use crate::numbers::{range, short};

/// Indentation of what belongs to a curve.
const INDENT: usize = 2;

/// One question of growth with all its curves.
pub(super) fn print(growth: &Growth, width: usize) -> String {
    let mut out = wrap("", 0, &growth.title, width);
    out.push_str(&wrap("", INDENT, &growth.about(), width));
    for curve in &growth.curves {
        out.push('\n');
        out.push_str(&one(growth, curve, width));
    }
    out.push('\n');
    let percent = format!("{:.0} % intervals; {LAWS}", 100.0 * growth.level);
    out.push_str(&wrap("", INDENT, &percent, width));
    out
}

fn one(growth: &Growth, curve: &Curve, width: usize) -> String {
    let mut out = wrap("", INDENT, &curve.name(), width);
    out.push_str(&columns(&measured(growth, curve), 0, INDENT));
    if let Some(text) = tested(curve) {
        out.push_str(&wrap("  ", 4, &text, width));
    }
    for text in sentences(growth, curve) {
        out.push_str(&wrap("  ", 4, &text, width));
    }
    if !curve.projections.is_empty() {
        out.push_str(&projections(growth, curve, width));
    }
    for point in &curve.published {
        out.push_str(&wrap("  ", 4, &point.sentence(), width));
    }
    out
}

fn measured(growth: &Growth, curve: &Curve) -> Vec<Vec<String>> {
    let head = [&growth.x_unit, "n", "median", "interval", ""];
    let mut rows: Vec<Vec<String>> = vec![head.map(str::to_owned).into()];
    for size in &curve.sizes {
        let mut row = vec![amount(size.x)];
        row.extend(figure(&size.figure));
        rows.push(row);
    }
    rows
}

/// n, median, interval and doubts.
fn figure(figure: &Figure) -> [String; 4] {
    let Some(summary) = &figure.summary else {
        return ["0", "-", "", ""].map(str::to_owned);
    };
    let few = if summary.n < ADVISED { "n<5" } else { "" };
    let interval = summary.median_interval.as_ref();
    [
        summary.n.to_string(),
        short(summary.median),
        interval.map_or(String::new(), |i| range(i.low, i.high, short)),
        format!("{few}{}", figure.signs()),
    ]
}

/// The word on every line; a published time on a line of its own, as it is no projection.
fn projections(growth: &Growth, curve: &Curve, width: usize) -> String {
    let laws = curve.reported();
    let to = format!("projection, {}", growth.x_unit);
    let mut head = vec![to, "x largest".to_owned()];
    let names = laws.iter().map(|fit| brief(fit.law));
    head.extend(names.map(|name| format!("{name}, {}", growth.unit)));
    let mut rows = vec![head];
    rows.extend(curve.projections.iter().map(row));
    let table = columns(&rows, 1, INDENT);
    let wide = table.lines().any(|line| line.chars().count() > width);
    let mut out = String::new();
    for (line, projection) in std::iter::once(None)
        .chain(curve.projections.iter().map(Some))
        .enumerate()
    {
        match (wide, projection) {
            // Two wide intervals: a sentence for each.
            (true, None) => {}
            (true, Some(projection)) => out.push_str(&spelled(growth, projection, width)),
            (false, _) => {
                out.push_str(table.lines().nth(line).unwrap_or_default());
                out.push('\n');
            }
        }
        for point in projection.into_iter().flat_map(|p| &p.published) {
            out.push_str(&wrap("      ", 8, &point.sentence(), width));
        }
    }
    out
}

fn row(projection: &Projection) -> Vec<String> {
    let to = format!("projection {}", amount(projection.x));
    let mut row = vec![to, reach(projection)];
    let laws = projection.laws.iter();
    row.extend(laws.map(|(_, estimate)| interval(estimate, engineering)));
    row
}

fn spelled(growth: &Growth, projection: &Projection, width: usize) -> String {
    let laws: Vec<String> = projection
        .laws
        .iter()
        .map(|(law, estimate)| {
            format!("{} by the {}", interval(estimate, engineering), brief(*law))
        })
        .collect();
    let text = format!(
        "projection to {} {}, {} times the largest, {}: {}",
        amount(projection.x),
        growth.x_unit,
        reach(projection),
        growth.unit,
        laws.join(", ")
    );
    wrap("  ", 4, &text, width)
}
