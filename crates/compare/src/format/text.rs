//! Text of 78 columns.

use super::{answer, phrase};
use crate::comparison::{Compared, Row, SideFacts};
use crate::context::ContextChange;

const WIDTH: usize = 78;
/// Most items of the contexts that are printed.
const MOST_ITEMS: usize = 20;
/// Longest value of an item that is printed.
const VALUE: usize = 60;

pub(super) fn render(compared: &Compared) -> String {
    let mut out = String::new();
    let answer = answer(compared);
    put(&mut out, "", 2, &answer.headline);
    if !answer.counts.is_empty() {
        put(&mut out, "", 2, &answer.counts);
    }
    for line in &answer.first {
        put(&mut out, "  - ", 4, line);
    }
    sides(&mut out, compared);
    contexts(&mut out, compared);
    unmatched(&mut out, compared);
    table(&mut out, compared);
    let legend = phrase::legend(&compared.rows);
    if !legend.is_empty() || !compared.notes.is_empty() {
        out.push_str("\nNotes\n");
    }
    for line in legend {
        put(&mut out, "  ", 4, line);
    }
    for note in &compared.notes {
        put(&mut out, "  ", 4, note);
    }
    words::printable_lines(&out).into_owned()
}

fn put(out: &mut String, lead: &str, indent: usize, text: &str) {
    out.push_str(&words::wrap(lead, indent, text, WIDTH));
}

fn sides(out: &mut String, compared: &Compared) {
    out.push_str("\nSides\n");
    for side in &compared.sides {
        put(out, &format!("  {}  ", side.letter), 5, &side_line(side));
    }
}

/// `main (5 runs, 25 trials; fslab 0.1.0 (0123456789ab))`.
pub(super) fn side_line(side: &SideFacts) -> String {
    let mut tools: Vec<&str> = side.runs.iter().map(|run| run.tool.as_str()).collect();
    tools.dedup();
    let trials: usize = side.runs.iter().map(|run| run.finished).sum();
    format!(
        "{} ({}, {}; {})",
        side.name,
        words::plural(side.runs.len() as u64, "run"),
        words::plural(trials as u64, "whole trial"),
        tools.join(", ")
    )
}

fn contexts(out: &mut String, compared: &Compared) {
    let contexts = &compared.contexts;
    let (between, within): (Vec<_>, Vec<_>) = contexts.changes.iter().partition(|c| c.separates);
    out.push_str("\nContexts\n");
    for change in between.iter().take(MOST_ITEMS) {
        put(out, "  ", 4, &item_line(change));
    }
    if between.len() > MOST_ITEMS {
        let more = format!(
            "and {} more items (--format json has all)",
            between.len() - MOST_ITEMS
        );
        put(out, "  ", 4, &more);
    }
    let mut text = match between.len() {
        0 => format!(
            "none of {} differs between the sides",
            items(contexts.same + contexts.changes.len())
        ),
        n => format!(
            "{n} of {} differ between the sides",
            items(contexts.same + contexts.changes.len())
        ),
    };
    if !within.is_empty() {
        let names: Vec<&str> = within.iter().map(|change| change.name.as_str()).collect();
        text.push_str(&format!(
            "; {} vary within a side: {}",
            within.len(),
            names.join(", ")
        ));
    }
    put(out, "  ", 4, &text);
    for run in &contexts.missing {
        put(
            out,
            "  ",
            4,
            &format!("{run} has no context record: nothing is known of its machine"),
        );
    }
}

fn items(count: usize) -> String {
    words::plural(count as u64, "item")
}

/// `system.kernel.release: 6.1.90 | 6.12.1`.
pub(super) fn item_line(change: &ContextChange) -> String {
    let side = |values: &Vec<serde_json::Value>| {
        let texts = values.iter().map(|value| match value {
            serde_json::Value::String(text) => words::printable(text).into_owned(),
            serde_json::Value::Null => "unknown".to_owned(),
            other => other.to_string(),
        });
        let texts: Vec<String> = texts
            .map(|text| words::cut(&text, VALUE).into_owned())
            .collect();
        if texts.is_empty() {
            "unknown".to_owned()
        } else {
            texts.join(", ")
        }
    };
    let sides: Vec<String> = change.values.iter().map(side).collect();
    format!("{}: {}", change.name, sides.join(" | "))
}

fn unmatched(out: &mut String, compared: &Compared) {
    if compared.unmatched.is_empty() {
        return;
    }
    out.push_str("\nCells without a partner\n");
    for cell in &compared.unmatched {
        let mut line = format!("only in {}: {}", cell.side, cell.cell);
        if !cell.differs.is_empty() {
            line.push_str(&format!(" ({})", cell.differs.join("; ")));
        }
        put(out, "  ", 4, &line);
    }
}

fn table(out: &mut String, compared: &Compared) {
    let mut heading: Option<(&[String; 2], &str)> = None;
    let mut sides: Option<&[String; 2]> = None;
    for row in &compared.rows {
        if sides != Some(&row.sides) {
            sides = Some(&row.sides);
            let [base, other] = &row.sides;
            let change = format!("{other}/{base}");
            let level = format!("{} interval", phrase::share(compared.level));
            out.push_str(&format!(
                "\n{:<28}{base:>9}{other:>9}{change:>9}  {level:<12}\n",
                "Geometric means of runs"
            ));
        }
        if heading != Some((&row.sides, &row.cell)) {
            heading = Some((&row.sides, &row.cell));
            put(out, "", 2, &row.cell);
        }
        line(out, row);
    }
}

fn line(out: &mut String, row: &Row) {
    let label = format!("  {} {}", phrase::figure(row), phrase::unit(row));
    let [base, other] = phrase::values(row);
    let change = match (&row.comparison, row.medians) {
        (Some(found), _) => phrase::percent(found.ratio),
        (None, [Some(base), Some(other)]) if base > 0.0 => phrase::percent(other / base),
        _ => "-".to_owned(),
    };
    let interval = row.comparison.as_ref().map_or_else(String::new, |found| {
        let end = |ratio: f64| phrase::percent(ratio).replace(" %", "");
        format!("{}..{}", end(found.interval.low), end(found.interval.high))
    });
    let label = if label.chars().count() > 28 {
        out.push_str(&label);
        out.push('\n');
        String::new()
    } else {
        label
    };
    let verdict = format!("{} {}", phrase::verdict(row), phrase::marks(row));
    let line = format!(
        "{label:<28}{base:>9}{other:>9}{change:>9}  {interval:<12} {}",
        verdict.trim()
    );
    out.push_str(line.trim_end());
    out.push('\n');
    if let Some(why) = &row.why_not {
        put(out, "    not compared: ", 6, &why.to_string());
    }
}
