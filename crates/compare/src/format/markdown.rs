//! Markdown, for a mail, a wiki or an issue.

use super::{answer, phrase, text};
use crate::comparison::{Compared, Row};

pub(super) fn render(compared: &Compared) -> String {
    let answer = answer(compared);
    let mut out = format!("## {}\n\n", escape(&answer.headline));
    if !answer.counts.is_empty() {
        out.push_str(&format!("{}\n\n", escape(&answer.counts)));
    }
    for line in &answer.first {
        out.push_str(&format!("- {}\n", escape(line)));
    }
    if !answer.first.is_empty() {
        out.push('\n');
    }
    out.push_str(&details(compared));
    out
}

/// Everything after the answer.
pub(super) fn details(compared: &Compared) -> String {
    let mut out = String::from("### Sides\n\n");
    for side in &compared.sides {
        out.push_str(&format!(
            "- **{}** {}\n",
            side.letter,
            escape(&text::side_line(side))
        ));
    }
    out.push_str("\n### Contexts\n\n");
    out.push_str(&contexts(compared));
    if !compared.unmatched.is_empty() {
        out.push_str("\n### Cells without a partner\n\n");
    }
    for cell in &compared.unmatched {
        let differs = match cell.differs.as_slice() {
            [] => String::new(),
            differs => format!(" ({})", differs.join("; ")),
        };
        out.push_str(&format!(
            "- only in {}: {}{}\n",
            cell.side,
            escape(&cell.cell),
            escape(&differs)
        ));
    }
    if !compared.rows.is_empty() {
        out.push_str("\n### Figures\n\n");
        out.push_str(&table(compared, &compared.rows));
    }
    let legend = phrase::legend(&compared.rows);
    if !legend.is_empty() || !compared.notes.is_empty() {
        out.push('\n');
    }
    for line in legend
        .iter()
        .copied()
        .chain(compared.notes.iter().map(String::as_str))
    {
        out.push_str(&format!("- {}\n", escape(line)));
    }
    out
}

fn contexts(compared: &Compared) -> String {
    let contexts = &compared.contexts;
    let mut out = String::new();
    let between: Vec<_> = contexts
        .changes
        .iter()
        .filter(|change| change.separates)
        .collect();
    for change in &between {
        out.push_str(&format!("- {}\n", escape(&text::item_line(change))));
    }
    if between.is_empty() {
        out.push_str("- no item differs between the sides\n");
    }
    let within: Vec<&str> = contexts
        .changes
        .iter()
        .filter(|change| !change.separates)
        .map(|change| change.name.as_str())
        .collect();
    if !within.is_empty() {
        out.push_str(&format!(
            "- varying within a side: {}\n",
            escape(&within.join(", "))
        ));
    }
    for run in &contexts.missing {
        out.push_str(&format!("- {} has no context record\n", escape(run)));
    }
    out
}

/// The figures as a table.
pub(super) fn table(compared: &Compared, rows: &[Row]) -> String {
    let level = phrase::share(compared.level);
    let mut out = format!(
        "| cell | figure | unit | base | other | change [{level} interval] | p adjusted | verdict |\n\
         |---|---|---|---:|---:|---|---:|---|\n"
    );
    for row in rows {
        let [base, other] = phrase::values(row);
        let p = row
            .comparison
            .as_ref()
            .map_or_else(|| "-".to_owned(), |c| phrase::p(c.adjusted_p));
        let verdict = match (&row.why_not, row.verdict) {
            (Some(why), _) => format!("not compared: {why}"),
            (None, _) => format!("{} {}", phrase::verdict(row), phrase::marks(row)),
        };
        let bold = if phrase::verdict(row) == "worse" {
            "**"
        } else {
            ""
        };
        out.push_str(&format!(
            "| {} | {} | {} | {} {base} | {} {other} | {} | {p} | {bold}{}{bold} |\n",
            escape(&row.cell),
            escape(&phrase::figure(row)),
            phrase::unit(row),
            row.sides[0],
            row.sides[1],
            escape(&phrase::change(row)),
            escape(verdict.trim()),
        ));
    }
    out
}

/// Foreign text as plain text of Markdown: nothing in it is a link, an image, an element or a new cell.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in words::printable(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '!' | '#' | '~' | '@' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
