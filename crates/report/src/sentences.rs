//! Sentences and numbers that several formats print in the same words.

use record::{FailureKind, Status};
use stats::Warning;
use study::Order;

use crate::Report;
use crate::model::{ADVISED, Figure, Row, Table};

/// `2026-01-02 03:04:05 UTC`.
pub(crate) fn begun(report: &Report<'_>) -> String {
    report
        .run
        .started_at
        .strftime("%Y-%m-%d %H:%M:%S UTC")
        .to_string()
}

/// `12 planned: 11 finished, 1 failed`.
pub(crate) fn trials(report: &Report<'_>) -> String {
    let count = |test: fn(&Status) -> bool| {
        report
            .run
            .trials
            .iter()
            .filter(|trial| test(&trial.status))
            .count()
    };
    let finished = count(|s| matches!(s, Status::Finished));
    let interrupted = count(|s| matches!(s, Status::Failed(FailureKind::Interrupted, _)));
    let failed = count(|s| matches!(s, Status::Failed(..))) - interrupted;
    let pending = count(|s| matches!(s, Status::Pending));
    let planned = report.run.trials.len() - report.run.repeats.len();
    let mut text = format!("{planned} planned: {finished} finished");
    if failed > 0 {
        text.push_str(&format!(", {failed} failed"));
    }
    if interrupted > 0 {
        text.push_str(&format!(", {interrupted} interrupted"));
    }
    if pending > 0 {
        text.push_str(&format!(", {pending} not run"));
    }
    let repeated = report.run.repeats.len();
    if repeated > 0 {
        text.push_str(&format!(", {repeated} repeated"));
    }
    let finished_trials = report.run.trials.iter();
    let busy = finished_trials.filter(|t| t.status == Status::Finished && t.is_noisy());
    let busy = busy.count();
    if busy > 0 {
        text.push_str(&format!(", {busy} on a busy machine"));
    }
    if report.run.closing.is_none() {
        text.push_str("; the run is incomplete");
    }
    if report.run.resumed > 0 {
        let times = match report.run.resumed {
            1 => "once".to_owned(),
            n => format!("{n} times"),
        };
        text.push_str(&format!("; resumed {times}"));
    }
    text
}

/// `1 trial`, `12 trials`.
pub(crate) fn trials_of(n: usize) -> String {
    match n {
        1 => "1 trial".to_owned(),
        n => format!("{n} trials"),
    }
}

/// `5 blocks, interleaved in a seeded random order (seed 2009)`.
pub(crate) fn order(report: &Report<'_>) -> String {
    let plan = &report.run.plan;
    let few = if plan.blocks < 5 {
        ": fewer than 5"
    } else {
        ""
    };
    let blocks = match plan.blocks {
        1 => "1 block".to_owned(),
        n => format!("{n} blocks"),
    };
    match plan.order {
        Order::Blocked => format!("{blocks}{few}, interleaved at random, seed {}", plan.seed),
        Order::Sequential => {
            format!("{blocks}{few}, sequential as the original ran: drift looks like a difference")
        }
    }
}

/// The same for other formats.
pub(crate) fn time_lines(report: &Report<'_>) -> Vec<String> {
    let spent = record::show::spent(report.run);
    let mut lines = Vec::new();
    if spent.total > 0.0 {
        let shares: Vec<String> = [
            ("mkfs", spent.mkfs),
            ("mount", spent.mount),
            ("waiting for lazy initialisation", spent.wait),
            ("workload", spent.workload),
            ("umount", spent.umount),
            ("fslab's own", spent.own()),
        ]
        .iter()
        .filter(|(name, seconds)| *seconds > 0.0005 * spent.total || !name.starts_with("waiting"))
        .map(|(name, seconds)| format!("{name} {:.1} %", 100.0 * seconds / spent.total))
        .collect();
        lines.push(format!(
            "trials {:.1} s: {}",
            spent.total,
            shares.join(", ")
        ));
    }
    let reference: f64 = report.run.references.iter().map(|r| r.seconds).sum();
    if reference > 0.0 {
        lines.push(format!("raw-device reference {reference:.1} s"));
    }
    if let Some(closing) = &report.run.closing {
        let last = match report.run.resumed {
            0 => "",
            _ => ", of the last process",
        };
        lines.push(format!(
            "run {:.1} s of wall time, {:.1} MiB of memory at its peak{last}",
            closing.seconds,
            closing.peak_rss as f64 / 1_048_576.0
        ));
    }
    lines
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
        .figures()
        .filter(|f| few_values(f))
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

/// How many comparisons share the error rate.
pub(crate) fn family(table: &Table) -> String {
    match table.family {
        0 => format!("nothing to test: {}", why_untested(table)),
        1 => "1 comparison".to_owned(),
        n => format!("{n} comparisons, one family"),
    }
}

/// Why a table has no comparison.
fn why_untested(table: &Table) -> String {
    let n = |figure: &Figure| figure.summary.as_ref().map_or(0, |s| s.n);
    let most = table.figures().map(n).max().unwrap_or(0);
    let of_base = table
        .rows
        .iter()
        .filter_map(|row| row.figures.get(table.base));
    let of_base = of_base.map(n).max().unwrap_or(0);
    let measured = |at: usize| table.rows.iter().any(|row| n(&row.figures[at]) > 0);
    let columns = (0..table.columns.len()).filter(|at| measured(*at)).count();
    match (table.columns.as_slice(), most) {
        (_, 0) => "no finished trial has these figures".to_owned(),
        ([one], _) => format!("{} is the only column", one.name),
        _ if of_base == 0 => format!("{}, the base, has no values", table.base_name()),
        _ if columns == 1 => format!("only {} has values", table.base_name()),
        (_, 1) => "one trial for each cell; two blocks or more are needed".to_owned(),
        _ => "a value of 0 has no ratio, or no block has both values".to_owned(),
    }
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

/// Row, column and text of every warning that is not printed beside its number.
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

/// One decimal, as the original; more where it would print two different values as 0.0.
pub(crate) fn decimals(row: &Row) -> usize {
    decimals_of(row.figures.iter().filter_map(Figure::mean))
}

/// What the failure of evidence means for the numbers, where its name does not say it.
pub(crate) fn meaning(name: &str) -> Option<&'static str> {
    match name {
        "direct_io_honoured" => Some(
            "O_DIRECT was asked for but the data went through the page cache (btrfs \
             does so with checksummed files since Linux 6.14; mount option nodatasum avoids it)",
        ),
        "cold_cache" => Some("memory served part of what should have come from the device"),
        "quiet_machine" => Some("other work on the machine may have slowed the trial"),
        "bytes_on_device" => Some("the device did not see the bytes that the numbers claim"),
        _ => None,
    }
}

/// Whether a figure has too few values.
pub(crate) fn few_values(figure: &Figure) -> bool {
    figure.summary.as_ref().is_some_and(|s| s.n < ADVISED)
}

/// Decimals that show the smallest of some values with two digits.
pub(crate) fn decimals_of(values: impl Iterator<Item = f64>) -> usize {
    let least = values
        .map(f64::abs)
        .filter(|value| *value > 0.0)
        .fold(f64::INFINITY, f64::min);
    match least {
        v if v >= 1.0 => 1,
        v if v >= 0.1 => 2,
        v if v >= 0.01 => 3,
        _ => 4,
    }
}
