//! Values, changes and verdicts in words, the same in every format.

use stats::Verdict;

use crate::comparison::{Compared, Judged, Row, Values};

const MIB: f64 = 1_048_576.0;

/// A value in the unit that reports print.
fn value(value: Option<f64>, stored: &str) -> String {
    let scale = match stored {
        "bytes_per_s" | "bytes" => 1.0 / MIB,
        _ => 1.0,
    };
    value.map_or_else(|| "-".to_owned(), |value| words::significant(value * scale))
}

/// Both sides' values as a table prints them: geometric means, of which the change is the ratio; medians where there is none.
pub(super) fn values(row: &Row) -> [String; 2] {
    [0, 1].map(|at| value(row.means[at].or(row.medians[at]), &row.unit))
}

/// The unit that goes with [`value`].
pub(super) fn unit(stored: &str) -> &str {
    match stored {
        "bytes_per_s" => "MB/s",
        "mib_per_s" => "MiB/s",
        "files_per_s" => "files/s",
        "bytes" => "MiB",
        "percent" => "%",
        other => other,
    }
}

/// `write throughput (c)`.
pub(super) fn figure(row: &Row) -> String {
    let phase = words::printable(&row.phase);
    let metric = words::printable(&row.metric);
    format!("{phase} {metric} {}", row.clock.mark())
}

/// `-8.3 %`, by how much the other side's value is larger.
pub(super) fn percent(ratio: f64) -> String {
    let change = 100.0 * (ratio - 1.0);
    match change {
        change if change.abs() >= 1000.0 => format!("x {}", words::significant(ratio)),
        // No "-0.0".
        change if change.abs() < 0.05 => "0.0 %".to_owned(),
        change => format!("{change:+.1} %"),
    }
}

/// The change with its interval: `-8.3 % [-9.7 % .. -6.9 %]`; without interval the bare ratio of medians.
pub(super) fn change(row: &Row) -> String {
    match (&row.comparison, row.medians) {
        (Some(found), _) => format!("{} {}", percent(found.ratio), interval(row)),
        (None, [Some(base), Some(other)]) if base > 0.0 => percent(other / base),
        _ => "-".to_owned(),
    }
}

/// `[-9.7 % .. -6.9 %]`, or nothing.
fn interval(row: &Row) -> String {
    row.comparison.as_ref().map_or_else(String::new, |found| {
        format!(
            "[{} .. {}]",
            percent(found.interval.low),
            percent(found.interval.high)
        )
    })
}

/// One word; `-` where nothing was compared.
pub(super) fn verdict(row: &Row) -> &'static str {
    match row.verdict {
        Some(Verdict::Worse) => "worse",
        Some(Verdict::Better) => "better",
        Some(Verdict::Same) => "equal",
        Some(Verdict::Unclear) => "unclear",
        None => "-",
    }
}

/// Marks after a verdict: `!` invalid evidence, `1` one run on a side, `^` trials on a busy machine, `?` the tests disagree.
pub(super) fn marks(row: &Row) -> String {
    let disagree = |found: &stats::Comparison| {
        let mut warnings = found.warnings.iter();
        warnings.any(|warning| matches!(warning, stats::Warning::TestsDisagree { .. }))
    };
    let mut marks = String::new();
    for (is, mark) in [
        (!row.invalid.is_empty(), '!'),
        (is_one_run(row), '1'),
        (row.noisy > 0, '^'),
        (row.comparison.as_ref().is_some_and(disagree), '?'),
    ] {
        if is {
            marks.push(mark);
        }
    }
    marks
}

/// What the marks of some rows mean, a sentence each.
pub(super) fn legend(rows: &[Row]) -> Vec<&'static str> {
    const ALL: [(char, &str); 4] = [
        (
            '!',
            "! evidence of a trial does not hold: its measurement is invalid",
        ),
        (
            '1',
            "1 one run on a side: its trials were compared, which share a boot and an hour; the verdict holds for these runs and \
             not for others",
        ),
        ('^', "^ trials ran while others used the machine"),
        ('?', "? Mann-Whitney's test does not agree with the verdict"),
    ];
    let used = |mark: char| rows.iter().any(|row| marks(row).contains(mark));
    ALL.iter()
        .filter(|(mark, _)| used(*mark))
        .map(|(_, text)| *text)
        .collect()
}

fn is_one_run(row: &Row) -> bool {
    row.values_are == Values::Trials && row.comparison.is_some()
}

/// Why a gate did not pass a row, in one line; none for one that passed.
pub(super) fn objection(compared: &Compared, row: &Row) -> Option<String> {
    let gate = compared.gate?;
    match row.judged? {
        Judged::Passed => None,
        Judged::Failed if row.verdict == Some(Verdict::Worse) => {
            Some(format!("worse: {}", change(row)))
        }
        Judged::Failed => Some(format!(
            "not shown to be worse by less than {}: it may be worse by {}",
            share(gate.margin),
            row.not_worse
                .map_or_else(|| "any amount".to_owned(), |found| share(1.0 - found.bound)),
        )),
        Judged::Invalid => Some(invalid(row)),
    }
}

/// Why a row cannot be judged.
pub(super) fn invalid(row: &Row) -> String {
    if let Some(why) = &row.why_not {
        why.to_string()
    } else if let Some(first) = row.invalid.first() {
        let more = match row.invalid.len() {
            1 => String::new(),
            n => format!(" (and {} more)", n - 1),
        };
        format!("evidence does not hold: {}{more}", words::printable(first))
    } else {
        "one run on a side: too few runs; give more, or --one-run".to_owned()
    }
}

/// `5 %`.
pub(super) fn share(share: f64) -> String {
    format!("{} %", words::significant(100.0 * share))
}

/// p as a table prints it.
pub(super) fn p(p: f64) -> String {
    if p < 0.0001 {
        "< 0.0001".to_owned()
    } else {
        format!("{p:.4}")
    }
}
