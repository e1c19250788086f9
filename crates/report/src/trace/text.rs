//! The report as text of 78 columns, for a mail.

use super::Subject;
use super::view::{Table, facts, tables};

/// Columns of a line.
const WIDTH: usize = 78;

/// The report as text.
pub fn text(subject: &Subject<'_>) -> String {
    let mut text = format!("Block trace {}\n\n", subject.analysis.name);
    for (name, value) in facts(subject) {
        text += &wrap_after(&format!("{name:<16}"), &value);
    }
    match &subject.doubts()[..] {
        [] => text += "lost            nothing\n",
        doubts => {
            text += "\nDEGRADED: the trace is not whole.\n";
            for doubt in doubts {
                text += &wrap_after("  - ", &format!("{doubt}."));
            }
        }
    }
    for table in tables(subject) {
        text += &of_table(&table);
    }
    // Names of tasks and devices come from the trace.
    words::printable_lines(&text).into_owned()
}

/// Text after a lead; further lines are indented by the lead's width.
fn wrap_after(lead: &str, text: &str) -> String {
    words::wrap(lead, lead.chars().count(), text, WIDTH)
}

fn of_table(table: &Table) -> String {
    // Names come from the trace: they are escaped before their columns are measured.
    let plain = |cell: &String| words::printable(cell).into_owned();
    let rows: Vec<Vec<String>> = { table.rows.iter() }
        .map(|row| row.iter().map(plain).collect())
        .collect();
    let columns = table.heads.len();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let cells = cells.chain(table.heads.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..columns).map(width).collect();
    shrink(&mut widths, table.words);
    let mut text = format!("\n{}\n", table.title);
    text += &line(&table.heads, &widths, table.words);
    text += &format!("{}\n", "-".repeat(total(&widths)));
    for row in &rows {
        text += &line(row, &widths, table.words);
    }
    if !table.note.is_empty() {
        text += &wrap_after("  ", &table.note);
    }
    text
}

/// Columns and the two blanks between them.
fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)
}

/// Cuts the column of names where a line would be too long: names come from outside, figures do not.
fn shrink(widths: &mut [usize], words: usize) {
    let excess = total(widths).saturating_sub(WIDTH);
    if let Some(first) = widths.first_mut()
        && words > 0
    {
        *first = first.saturating_sub(excess).max(8.min(*first));
    }
}

fn line(cells: &[String], widths: &[usize], words: usize) -> String {
    let mut text = String::new();
    for (column, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        if column > 0 {
            text += "  ";
        }
        let cell = cut(cell, width);
        if column < words {
            text += &format!("{cell:<width$}");
        } else {
            text += &format!("{cell:>width$}");
        }
    }
    format!("{}\n", text.trim_end())
}

/// A name that is too long ends in a full stop for what is missing.
fn cut(cell: &str, width: usize) -> String {
    if cell.chars().count() <= width {
        return cell.to_owned();
    }
    let kept = cell.chars().take(width.saturating_sub(1));
    kept.chain(['.']).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{analysis, names, subject};
    use super::*;
    use fixtures::block_trace::Forge;

    #[test]
    fn a_plain_trace() {
        let (analysis, names) = (analysis(&Forge::plain(3, 4000)), names());
        insta::assert_snapshot!(text(&subject(&analysis, &names)));
    }

    #[test]
    fn a_hostile_trace_of_a_stack() {
        let (analysis, names) = (analysis(&Forge::hostile(3, 4000)), names());
        insta::assert_snapshot!(text(&subject(&analysis, &names)));
    }

    #[test]
    fn no_line_is_longer_than_a_mails() {
        let names = names();
        for seed in 0..6 {
            for requests in [0, 1, 30, 3000] {
                let forge = Forge {
                    pause: 1 << (seed * 6),
                    ..Forge::hostile(seed, requests)
                };
                let analysis = analysis(&forge);
                let text = text(&subject(&analysis, &names));
                for line in text.lines() {
                    assert!(line.chars().count() <= WIDTH, "{line}");
                }
            }
        }
    }

    #[test]
    fn a_name_can_neither_break_a_line_nor_push_the_figures_off_it() {
        let mut analysis = analysis(&Forge::plain(1, 200));
        analysis.processes[0].name = "x\n\u{1b}[31m".to_owned() + &"long ".repeat(30);
        let names = names();
        let text = text(&subject(&analysis, &names));
        assert!(!text.contains('\u{1b}'));
        assert!(text.contains("x\\n\\u{1b}[31m"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    }
}
