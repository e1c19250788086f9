//! Below each mail table: medians, intervals, n, ratios. What the original lacked.

use std::collections::BTreeSet;

use stats::Warning;
use study::Clock;

use super::wrap;
use crate::Report;
use crate::model::{Figure, Mark, Row, Table, clock_meaning};
use crate::numbers::{range, ratio, short};
use crate::units;

/// Widest column name that stands on the line of its numbers.
const NAME: usize = 15;
/// Fewer values than this say so beside the number (DESIGN rule 2).
const ADVISED: usize = 5;

/// The extension of one table.
pub(super) fn print(report: &Report<'_>, table: &Table, width: usize) -> String {
    let percent = report.options.level * 100.0;
    let clocks: Vec<&str> = table.clocks().iter().map(|c| c.mark()).collect();
    let mut out = wrap(
        "",
        2,
        &format!(
            "{}, clock {}: medians with {percent:.0} % intervals; ratios to {} with theirs ({})",
            table.title,
            clocks.join(" "),
            table.base_name(),
            family(table)
        ),
        width,
    );
    out.push_str(&format!(
        "  {:NAME$} {:>8}  {:15} {:>3} {:>7}  {}\n",
        "", "median", "interval", "n", "ratio", "interval"
    ));
    for row in &table.rows {
        if row.figures.iter().all(|f| f.summary.is_none()) {
            let signs: BTreeSet<char> = row
                .figures
                .iter()
                .flat_map(|f| f.signs().chars().collect::<Vec<_>>())
                .collect();
            let signs: String = signs.into_iter().collect();
            let text = format!(
                "{}: no finished trial measured it {signs}",
                heading(table, row)
            );
            out.push_str(&wrap("", 4, &text, width));
            continue;
        }
        out.push_str(&wrap("", 4, &heading(table, row), width));
        for (index, (column, figure)) in table.columns.iter().zip(&row.figures).enumerate() {
            out.push_str(&line(&column.name, figure, index == table.base, width));
        }
    }
    out.push_str(&warnings(table, width));
    out
}

/// How many comparisons share the error rate.
pub(crate) fn family(table: &Table) -> String {
    match table.family {
        0 => "nothing to test: two blocks or more are needed".to_owned(),
        1 => "1 comparison".to_owned(),
        n => format!("{n} comparisons, one family"),
    }
}

/// `initl_writers, MB/s (a); n=3: fewer than 5 blocks`.
fn heading(table: &Table, row: &Row) -> String {
    let clock = row
        .clock
        .map_or(String::new(), |c| format!(" {}", c.mark()));
    let few = few_blocks(table, row).map_or(String::new(), |few| format!("; {few}"));
    format!("{}, {}{clock}{few}", row.label, row.unit)
}

/// `n=3: fewer than 5 blocks`, or `n=3 for ext2: ...` where others have enough.
pub(crate) fn few_blocks(table: &Table, row: &Row) -> Option<String> {
    let counted: Vec<(&str, usize)> = table
        .columns
        .iter()
        .zip(&row.figures)
        .filter_map(|(c, f)| Some((c.name.as_str(), f.summary.as_ref()?.n)))
        .collect();
    let few: Vec<&(&str, usize)> = counted.iter().filter(|(_, n)| *n < ADVISED).collect();
    let least = few.iter().map(|(_, n)| *n).min()?;
    let most = few.iter().map(|(_, n)| *n).max()?;
    let n = if least == most {
        least.to_string()
    } else {
        format!("{least}..{most}")
    };
    let of = if few.len() < counted.len() {
        let names: Vec<&str> = few.iter().map(|(name, _)| *name).collect();
        format!(" for {}", names.join(", "))
    } else {
        String::new()
    };
    Some(format!("n={n}{of}: fewer than {ADVISED} blocks"))
}

fn line(name: &str, figure: &Figure, is_base: bool, width: usize) -> String {
    let Some(summary) = &figure.summary else {
        let signs = figure.signs();
        return format!(
            "{}\n",
            format!("  {name:NAME$} {:>8}  {signs}", "-").trim_end()
        );
    };
    let interval = summary
        .median_interval
        .as_ref()
        .map_or_else(|| "none".to_owned(), |i| range(i.low, i.high, short));
    let n = if summary.n < ADVISED {
        format!("{}<5", summary.n)
    } else {
        summary.n.to_string()
    };
    let versus = match (&figure.versus, is_base) {
        (_, true) => format!("{:>7}", "base"),
        (None, false) => format!("{:>7}", "-"),
        (Some(versus), false) => format!(
            "{:>7}  {:14} {}",
            ratio(versus.ratio),
            versus
                .interval
                .map_or_else(|| "none".to_owned(), |(low, high)| range(low, high, ratio)),
            versus.difference.sign()
        ),
    };
    let numbers = format!(
        "{:>8}  {interval:15} {n:>3} {versus} {}",
        short(summary.median),
        figure.signs()
    );
    let numbers = numbers.trim_end();
    if name.chars().count() > NAME {
        let name = wrap("  ", 4, name, width);
        format!("{name}  {:NAME$} {numbers}\n", "")
    } else {
        format!("  {name:NAME$} {numbers}\n")
    }
}

/// What the statistics warn of, but for what stands beside the numbers already.
fn warnings(table: &Table, width: usize) -> String {
    let mut out = String::new();
    for (row, column, text) in table_warnings(table) {
        out.push_str(&wrap("  # ", 6, &format!("{row}, {column}: {text}"), width));
    }
    out
}

/// Row, column and text of every warning that is not said beside its number.
pub(crate) fn table_warnings(table: &Table) -> Vec<(&str, &str, String)> {
    let mut found = Vec::new();
    for row in &table.rows {
        for (column, figure) in table.columns.iter().zip(&row.figures) {
            let own = figure
                .summary
                .iter()
                .flat_map(|s| &s.warnings)
                .filter(|w| {
                    !matches!(
                        w,
                        Warning::FewValues { .. } | Warning::LevelNotReached { .. }
                    )
                })
                .map(ToString::to_string);
            let versus = figure.versus.iter().flat_map(|v| v.warnings.clone());
            for text in own.chain(versus) {
                let warning = (row.label.as_str(), column.name.as_str(), text);
                if !found.contains(&warning) {
                    found.push(warning);
                }
            }
        }
    }
    found
}

/// What every sign and clock means.
pub(super) fn legend(report: &Report<'_>, width: usize) -> String {
    let how = method(report);
    let mut out = String::from("Legend\n");
    let mut line = |first: &str, text: &str| out.push_str(&wrap(first, 5, text, width));
    for clock in [Clock::Original, Clock::Fsync, Clock::Syncfs] {
        line(
            &format!("{}  ", clock.mark()),
            &format!("clock: {}", clock_meaning(clock)),
        );
    }
    line("     ", units::LEGEND);
    line(
        "~    ",
        &format!(
            "not a difference: the ratio's interval does not clear {:.0} % (the practical band), \
             or its p does not after Benjamini-Hochberg over the table; {how}",
            report.run.plan.band * 100.0
        ),
    );
    line(
        "+ -  ",
        "a difference that counts: + better, - worse than the base",
    );
    line("n<5  ", &few(report));
    for mark in Mark::ALL {
        line(
            &format!("{}    ", mark.sign()),
            &format!("{}: listed above", mark.meaning()),
        );
    }
    out
}

/// What the ratios are.
pub(crate) fn method(report: &Report<'_>) -> &'static str {
    match report.run.plan.order {
        study::Order::Blocked => {
            "ratio: geometric mean of the ratios within blocks, t interval on logarithms"
        }
        study::Order::Sequential => {
            "ratio: of geometric means, Welch interval on logarithms (no blocks to pair)"
        }
    }
}

/// What few blocks do to an interval, with the coverage that was reached.
pub(crate) fn few(report: &Report<'_>) -> String {
    let reached = report
        .tables
        .iter()
        .flat_map(crate::model::Table::figures)
        .filter_map(|f| f.summary.as_ref()?.median_interval?.achieved)
        .reduce(f64::min);
    let mut text = format!("fewer than {ADVISED} blocks: take the number as a hint");
    if let Some(reached) = reached.filter(|r| *r < report.options.level) {
        text.push_str(&format!(
            "; the median's interval is then the whole range and covers {:.0} % at least, not {:.0} %",
            reached * 100.0,
            report.options.level * 100.0
        ));
    }
    text
}
