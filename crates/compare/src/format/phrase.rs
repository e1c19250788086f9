//! Values, changes and verdicts in words, the same in every format.

use stats::Verdict;

use crate::comparison::{Compared, Judged, Row, Values};

/// Factor from stored values to printed ones, and the unit printed: that of reports, and of times the largest that the value fills.
pub fn scale(stored: &str, value: f64) -> (f64, &str) {
    const MIB: f64 = 1_048_576.0;
    match stored {
        "s" if value >= 1.0 || value == 0.0 => (1.0, "s"),
        "s" if value >= 1e-3 => (1e3, "ms"),
        "s" => (1e6, "us"),
        "bytes_per_s" => (1.0 / MIB, "MB/s"),
        "bytes" => (1.0 / MIB, "MiB"),
        "mib_per_s" => (1.0, "MiB/s"),
        "files_per_s" => (1.0, "files/s"),
        "percent" => (1.0, "%"),
        other => (1.0, other),
    }
}

fn scale_of(row: &Row) -> (f64, &str) {
    let first = |at: usize| row.means[at].or(row.medians[at]);
    scale(&row.unit, first(0).or(first(1)).unwrap_or(1.0))
}

/// Both sides' values as a table prints them: geometric means, of which the change is the ratio; medians where there is none.
pub fn values(row: &Row) -> [String; 2] {
    let (factor, _) = scale_of(row);
    [0, 1].map(|at| {
        let value = row.means[at].or(row.medians[at]);
        value.map_or_else(
            || "-".to_owned(),
            |value| words::significant(value * factor),
        )
    })
}

/// The unit that goes with [`values`].
pub fn unit(row: &Row) -> &str {
    scale_of(row).1
}

/// `write throughput (c)`.
pub fn figure(row: &Row) -> String {
    let phase = words::printable(&row.phase);
    let metric = words::printable(&row.metric);
    format!("{phase} {metric} {}", row.clock.mark())
}

/// `-8.3 %`, by how much the other side's value is larger.
pub fn percent(ratio: f64) -> String {
    let change = 100.0 * (ratio - 1.0);
    match change {
        change if change >= 99_900.0 => "> x 999".to_owned(),
        change if change >= 999.5 => format!("x {}", words::significant(ratio)),
        // No "-0.0".
        change if change.abs() < 0.05 => "0.0 %".to_owned(),
        change => format!("{change:+.1} %"),
    }
}

/// The change with its interval: `-8.3 % [-9.7 % .. -6.9 %]`; without interval the bare ratio of medians.
pub fn change(row: &Row) -> String {
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
pub fn verdict(row: &Row) -> &'static str {
    match row.verdict {
        Some(Verdict::Worse) => "worse",
        Some(Verdict::Better) => "better",
        Some(Verdict::Same) => "equal",
        Some(Verdict::Unclear) => "unclear",
        None => "-",
    }
}

/// Marks after a verdict: `!` invalid evidence, `1` one run on a side, `^` trials on a busy machine, `?` the tests disagree.
pub fn marks(row: &Row) -> String {
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
pub fn legend(rows: &[Row]) -> Vec<&'static str> {
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
pub fn objection(compared: &Compared, row: &Row) -> Option<String> {
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
pub fn invalid(row: &Row) -> String {
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
pub fn share(share: f64) -> String {
    format!("{} %", words::significant(100.0 * share))
}

/// p as a table prints it.
pub fn p(p: f64) -> String {
    if p < 0.0001 {
        "< 0.0001".to_owned()
    } else {
        format!("{p:.4}")
    }
}
