//! GitHub tables: the mail tables and their extensions for an issue or a README.

mod crash;
mod grid;
mod growth;
mod io;
mod members;
mod scan;

use study::Clock;

use crate::error::Result;
use crate::facts::Answer;
use crate::model::{Mark, Table, clock_meaning};
use crate::numbers::{range, ratio, short};
use crate::text::{
    begun, decimals, few, meaning, method, order, table_warnings, time_lines, trials, trials_of,
};
use crate::{Format, Report, units};

/// The Markdown format.
#[derive(Clone, Copy, Debug)]
pub struct Md;

impl Format for Md {
    fn render(&self, report: &Report<'_>) -> Result<String> {
        let mut out = head(report);
        out.push_str(&grid::references(report));
        if let Some(scan) = &report.scan {
            out.push_str(&scan::print(scan));
        }
        for grid in &report.grids {
            out.push_str(&grid::print(grid));
        }
        out.push_str(&growth::growths(report));
        if let Some(memory) = &report.memory {
            out.push_str(&growth::memory(memory));
        }
        out.push_str(&crash::print(report));
        for table in &report.tables {
            out.push_str(&mail(table));
            out.push_str(&details(report, table));
            if table.has_published() {
                out.push_str(&published(report, table));
            }
        }
        out.push_str(&members::print(report));
        out.push_str(&io::sections(report));
        out.push_str(&doubts(report));
        Ok(out)
    }
}

fn head(report: &Report<'_>) -> String {
    let run = report.run;
    let mut out = format!("# {}\n\n", escape(&run.plan.title));
    let mut rows = vec![
        (
            "study",
            format!("{}, profile {}", run.plan.study, run.plan.profile),
        ),
        ("question", run.plan.question.clone()),
        (
            "repeats",
            report
                .published
                .map_or_else(|| "nothing published".to_owned(), |p| p.document.citation()),
        ),
        ("run", run.name.clone()),
        ("begun", begun(report)),
        ("trials", trials(report)),
        ("order", order(report)),
        ("tool", run.tool.clone()),
        ("target", run.target.clone()),
    ];
    for fact in &report.machine {
        rows.push((
            fact.name,
            match &fact.answer {
                Answer::Known(text, _) => text.clone(),
                Answer::Absent(reason) => format!("absent: {reason}"),
            },
        ));
    }
    for variant in &report.variants {
        for (served, _) in &variant.seen {
            rows.push((
                "filesystem",
                format!(
                    "{}: driver {}; {}{}",
                    variant.name,
                    served.driver,
                    served.options,
                    match served.asked.as_str() {
                        "" => String::new(),
                        asked => format!(" (asked for -o {asked})"),
                    }
                ),
            ));
        }
    }
    out.push_str("| | |\n|---|---|\n");
    for (name, text) in rows {
        out.push_str(&format!("| {name} | {} |\n", escape(&text)));
    }
    out.push('\n');
    out
}

fn heading(table: &Table, more: &str) -> String {
    let subtitle = match table.subtitle.as_str() {
        "" => String::new(),
        text => format!(" ({})", escape(text)),
    };
    format!("## {}{subtitle}{more}\n\n", escape(&table.title))
}

fn header_row(first: &str, names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    format!(
        "| {first} | {} |\n|---|{}\n",
        names.join(" | "),
        "---:|".repeat(names.len())
    )
}

fn mail(table: &Table) -> String {
    let mut out = heading(table, ": mean (stddev)");
    out.push_str(&header_row(
        "Type",
        table.columns.iter().map(|c| escape(&c.name)),
    ));
    for row in &table.rows {
        let clock = row.clock.map_or("", |c| c.mark());
        let digits = decimals(row);
        let figures: Vec<String> = row
            .figures
            .iter()
            .map(|f| match &f.summary {
                Some(s) => format!(
                    "{:.digits$} ({}){}",
                    s.mean,
                    s.stddev
                        .map_or_else(|| "-".to_owned(), |d| format!("{d:.digits$}")),
                    signs(&f.signs())
                ),
                None => format!("-{}", signs(&f.signs())),
            })
            .collect();
        out.push_str(&format!(
            "| {} {}, {} | {} |\n",
            escape(&row.label),
            clock,
            escape(&row.unit),
            figures.join(" | ")
        ));
    }
    out.push('\n');
    out
}

fn details(report: &Report<'_>, table: &Table) -> String {
    let mut out = format!(
        "Medians with intervals (coverage {}); ratio to {} with its {:.0} % interval\n\n",
        table.coverage().unwrap_or_else(|| "not reached".into()),
        escape(table.base_name()),
        report.options.level * 100.0
    );
    out.push_str(&header_row(
        "Type",
        table.columns.iter().map(|c| escape(&c.name)),
    ));
    for row in &table.rows {
        let figures: Vec<String> = row
            .figures
            .iter()
            .map(|f| {
                let Some(s) = &f.summary else {
                    return format!("-{}", signs(&f.signs()));
                };
                let interval = s.median_interval.as_ref().map_or(String::new(), |i| {
                    format!(" [{}]", range(i.low, i.high, short))
                });
                let few = if s.n < 5 { ": fewer than 5 blocks" } else { "" };
                let versus = f.versus.as_ref().map_or(String::new(), |v| {
                    format!(
                        "; {}{} {}",
                        ratio(v.ratio),
                        v.interval.map_or(String::new(), |(low, high)| format!(
                            " [{}]",
                            range(low, high, ratio)
                        )),
                        escape(&v.difference.sign().to_string())
                    )
                });
                format!(
                    "{}{interval}, n={}{few}{versus}{}",
                    short(s.median),
                    s.n,
                    signs(&f.signs())
                )
            })
            .collect();
        let clock = row.clock.map_or("", |c| c.mark());
        out.push_str(&format!(
            "| {} {clock}, {} | {} |\n",
            escape(&row.label),
            escape(&row.unit),
            figures.join(" | ")
        ));
    }
    out.push('\n');
    for (row, column, text) in table_warnings(table) {
        out.push_str(&format!(
            "- {}, {}: {}\n",
            escape(row),
            escape(column),
            escape(&text)
        ));
    }
    out.push('\n');
    out
}

fn published(report: &Report<'_>, table: &Table) -> String {
    let name = report
        .published
        .map_or(String::new(), |p| p.document.short());
    let mut out = format!(
        "{} beside ours (their mean; in brackets our ratio to {} over theirs, 1 = the same shape)\n\n",
        escape(&name),
        escape(table.base_name())
    );
    out.push_str(&header_row(
        "Type",
        table.columns.iter().map(|c| escape(&c.name)),
    ));
    for row in &table.rows {
        let figures: Vec<String> = row
            .figures
            .iter()
            .map(|f| match f.published {
                Some(p) => format!(
                    "{:.1}{}",
                    p.value,
                    p.ratio_of_ratios
                        .map_or(String::new(), |r| format!(" [{}]", ratio(r)))
                ),
                None => "-".to_owned(),
            })
            .collect();
        out.push_str(&format!(
            "| {} | {} |\n",
            escape(&row.label),
            figures.join(" | ")
        ));
    }
    out.push('\n');
    out
}

fn doubts(report: &Report<'_>) -> String {
    let mut out = format!("## Evidence\n\n{}\n\n", units::legend(report.run));
    for (name, tally) in &report.trust.tally {
        out.push_str(&format!(
            "- {}: holds {}, does not hold {}, not checked {}\n",
            escape(name),
            tally.holds,
            tally.fails,
            tally.unchecked
        ));
    }
    for group in report.trust.groups() {
        let first = group.doubts.first().map_or("", |d| d.detail.as_str());
        let detail = match (group.mark, meaning(group.name)) {
            (Mark::Warning, _) => group.says().to_owned(),
            (Mark::Fails, Some(why)) => format!("{why}: {first}"),
            _ => first.to_owned(),
        };
        out.push_str(&format!(
            "- `{}` {}{} ({}): {}\n",
            group.mark.sign(),
            escape(group.name),
            group
                .phase
                .map_or(String::new(), |p| format!(" in {}", escape(p))),
            trials_of(group.doubts.len()),
            escape(&detail)
        ));
    }
    for general in &report.trust.general {
        out.push_str(&format!("- {}\n", escape(&general.sentence())));
    }
    let notes = report.run.plan.notes.iter().chain(&report.notes);
    for note in notes.chain(&time_lines(report)) {
        out.push_str(&format!("- {}\n", escape(note)));
    }
    out.push_str("\nMarks: ");
    let marks: Vec<String> = Mark::ALL
        .iter()
        .map(|m| format!("`{}` {}", m.sign(), m.meaning()))
        .collect();
    out.push_str(&marks.join("; "));
    out.push_str(
        "; `~` not a difference that counts; `+` better, `-` worse than the base.\n\nClocks: ",
    );
    let clocks: Vec<String> = [Clock::Original, Clock::Fsync, Clock::Syncfs]
        .iter()
        .map(|c| format!("{} {}", c.mark(), clock_meaning(*c)))
        .collect();
    out.push_str(&clocks.join("; "));
    out.push_str(&format!(
        ".\n\nA difference counts when its interval clears {:.0} % and its p holds after \
         Benjamini-Hochberg over the table; {}. n below 5: {}.\n",
        report.run.plan.band * 100.0,
        method(report),
        few(report)
    ));
    out
}

fn signs(signs: &str) -> String {
    if signs.is_empty() {
        String::new()
    } else {
        format!(" `{signs}`")
    }
}

/// Text that cannot end a table cell, start markup or open a tag.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '~' | '#' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
