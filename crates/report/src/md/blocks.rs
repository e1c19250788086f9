//! The blocks of a section in GitHub Markdown.

use words::escape_xml;

use super::escape;
use crate::doc::{Block, Cell, Column, Item, Section, Sheet, shared};

/// Items of a folded list that are printed.
const SHOWN: usize = 4;

/// A section.
pub(super) fn print(section: &Section<'_>) -> String {
    let timing = section.timing.as_ref();
    let tag = timing.map_or(String::new(), |tag| format!(" [{tag}]"));
    let mut out = format!("## {}{tag}\n\n", escape(&section.title));
    for block in &section.blocks {
        one(&mut out, block, &tag);
    }
    out
}

fn one(out: &mut String, block: &Block<'_>, tag: &str) {
    let mut all = |blocks: &[Block<'_>]| blocks.iter().for_each(|block| one(out, block, tag));
    match block {
        Block::Heading(text) => out.push_str(&format!("### {}{tag}\n\n", escape(text))),
        Block::Minor(text) => out.push_str(&format!("#### {}{tag}\n\n", escape(text))),
        Block::Para(text) | Block::Published(text) => {
            out.push_str(&format!("{}\n\n", escape(text)));
        }
        Block::List(items) => {
            list(out, items, 0);
            out.push('\n');
        }
        Block::Facts(facts) => {
            out.push_str("| | |\n|---|---|\n");
            for (name, value) in facts {
                out.push_str(&format!("| {} | {} |\n", cell(name), cell(value)));
            }
            out.push('\n');
        }
        Block::Table(sheet) => table(out, sheet),
        Block::Listing(lines) => out.push_str(&listing(lines)),
        Block::Plots(_) => {}
        Block::Beside(_, blocks) => all(blocks),
        Block::Details(details) => {
            let summary = format!("{} {}", details.summary, details.rest);
            out.push_str(&format!(
                "<details><summary>{}</summary>\n\n",
                escape_xml(summary.trim_end())
            ));
            for block in &details.blocks {
                one(out, block, tag);
            }
            out.push_str("</details>\n\n");
        }
        Block::Either { full, .. } => all(full),
    }
}

fn list(out: &mut String, items: &[Item], depth: usize) {
    let indent = 2 * depth;
    for item in items {
        let sign = match item.sign.as_str() {
            "" => String::new(),
            sign => format!("`{sign}` "),
        };
        let lead = match item.lead.as_slice() {
            [] => String::new(),
            lead => format!("**{}**: ", escape(&lead.join(", "))),
        };
        out.push_str(&format!(
            "{:indent$}- {sign}{lead}{}\n",
            "",
            escape(&item.text)
        ));
        let folded = item.fold.is_some() && item.children.len() > SHOWN;
        let shown = if folded { SHOWN } else { item.children.len() };
        list(out, &item.children[..shown], depth + 1);
        if folded {
            let more = item.children.len() - shown;
            out.push_str(&format!(
                "{:indent$}  - and {more} more: see the page or JSON\n",
                ""
            ));
        }
    }
}

/// Indented code holds any text; a fence could be closed by it.
fn listing(lines: &[String]) -> String {
    let mut out = String::new();
    for line in lines.iter().flat_map(|line| line.split(['\n', '\r'])) {
        out.push_str(format!("    {line}").trim_end());
        out.push('\n');
    }
    out.push('\n');
    out
}

fn table(out: &mut String, sheet: &Sheet) {
    let below = sheet.rows.iter().any(|row| !row.below.is_empty());
    let heads = sheet.columns.iter().map(head);
    let mut heads: Vec<String> = heads.collect();
    let mut rules: Vec<&str> = sheet.columns.iter().map(rule).collect();
    if below {
        heads.push("published".to_owned());
        rules.push("---");
    }
    // Markdown has one line of heads: the outermost is it, and those below are the first rows.
    let depth = sheet.depth();
    let mut lines: Vec<Vec<String>> = (0..depth).map(|level| above(sheet, level)).collect();
    if depth > 0 {
        heads = heads.iter().map(|head| bold(head)).collect();
        for line in lines.iter_mut().skip(1) {
            *line = line.iter().map(|head| bold(head)).collect();
        }
    }
    lines.push(heads);
    let lines: Vec<String> = lines.iter().map(|line| line.join(" | ")).collect();
    let (first, others) = lines.split_first().map_or(("", &[][..]), |(f, o)| (f, o));
    out.push_str(&format!("| {first} |\n|{}|\n", rules.join("|")));
    for line in others {
        out.push_str(&format!("| {line} |\n"));
    }
    for row in &sheet.rows {
        let mut cells: Vec<String> = row.cells.iter().map(cell).collect();
        cells.resize(sheet.columns.len(), String::new());
        if below {
            cells.push(escape(&row.below));
        }
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out.push('\n');
}

/// A line of heads that columns share: each above the first of its columns.
fn above(sheet: &Sheet, level: usize) -> Vec<String> {
    let runs = shared(&sheet.columns, level).into_iter();
    let cells = runs.flat_map(|(text, n)| {
        std::iter::once(escape(text)).chain(std::iter::repeat_n(String::new(), n - 1))
    });
    cells.collect()
}

fn bold(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("**{text}**")
    }
}

fn head(column: &Column) -> String {
    let parts = [column.head.as_str(), column.unit.as_str()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    escape(&parts.join(", "))
}

fn rule(column: &Column) -> &'static str {
    if column.words { "---" } else { "---:" }
}

fn cell(cell: &Cell) -> String {
    let mut lines: Vec<String> = cell.lines.iter().map(|line| escape(line)).collect();
    if let Some(first) = lines.first_mut() {
        if !cell.signs.is_empty() {
            first.push_str(&format!(" `{}`", cell.signs));
        }
        if let Some((number, _)) = &cell.note {
            first.push_str(&format!(" \\[{number}\\]"));
        }
    }
    if !cell.small.is_empty() {
        lines.push(escape(&cell.small));
    }
    lines.join("<br>")
}
