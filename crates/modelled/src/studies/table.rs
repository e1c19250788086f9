//! The table for people.

use std::fmt::Write as _;

use words::significant;

use super::{Comparison, ENOUGH, HostDecides, MEDIAN, NEAR, Table, Whose};

pub(super) fn text(table: &Table) -> String {
    let mut out = match (table.near().1, table.whose) {
        (0, _) => "All rows are fitted: nothing is predicted.\n\n".to_owned(),
        (_, Whose::Own) => answer(table, ["", "", "", ""]),
        (_, Whose::Frozen) => judged(table),
    };
    let _ = writeln!(
        out,
        "{:<52} {:>9} {:>9} {:>7}  {:<16}",
        "", "published", "modelled", "error %", "modelled 5-95 %"
    );
    let mut before = None;
    for row in &table.rows {
        let group = (&row.document, &row.device);
        if before != Some(group) {
            let _ = writeln!(out, "{} on {}", row.document, row.device);
        }
        before = Some(group);
        out.push_str(&line(row));
    }
    let misses: Vec<&Comparison> = table.predicted().filter(|row| !row.is_near()).collect();
    if !misses.is_empty() {
        let _ = writeln!(out, "\nOff by more than {NEAR:.0} %:");
    }
    for row in misses {
        let cause = if row.cause.is_empty() {
            "no cause is given"
        } else {
            &row.cause
        };
        let text = format!("{}: {cause}", row.name);
        out.push_str(&words::wrap("  ", 4, &text, 100));
    }
    if !table.host.is_empty() {
        out.push_str("\nThe host decides, not the device (bounds, no prediction):\n");
    }
    for bound in &table.host {
        out.push_str(&bound_line(bound));
    }
    if table.whose == Whose::Frozen {
        out.push_str(&words::wrap("  ", 4, NEEDS_A_FILESYSTEM, 100));
    }
    out
}

/// What has no stream of its own.
const NEEDS_A_FILESYSTEM: &str = "wohlgemuth2009, compilebench: what the filesystem writes, and when, decides; \
     fslab run journal --set device=model:disk-2009 runs it on the model";

/// How many numbers are met, with what is said of the targets: of the number, the median, both, and the coverage.
fn answer(table: &Table, [enough, median, verdict, coverage]: [&str; 4]) -> String {
    let (near, all) = table.near();
    format!(
        "{near} of {all} predicted numbers are within {NEAR:.0} %{enough}, median |error| {:.1} %{median}{verdict}.\n\
         {} of {all} are inside their intervals of 5 to 95 % ({:.0} %{coverage}).\n\n",
        table.median_error(),
        table.inside(),
        share(table.inside(), all)
    )
}

/// The answer for the rows of the studies, which have targets.
fn judged(table: &Table) -> String {
    let all = table.near().1;
    let verdict = if table.is_met() { ": met" } else { ": missed" };
    let enough = format!(" (target {ENOUGH})");
    let median = format!(" (target {MEDIAN:.0} %)");
    let covered = share(table.inside(), all);
    let coverage = if (80.0..=97.0).contains(&covered) {
        "; target 80 to 97 %: met"
    } else {
        "; target 80 to 97 %: missed"
    };
    let answer = answer(table, [&enough, &median, verdict, coverage]);
    let without = format!(
        "Command times below a fitted time that contains them are not drawn. This rule was chosen after the intervals had been seen; \
         without it {} of {all} are inside ({:.0} %). {} more rows are fitted, and not counted.",
        table.inside_without_rule(),
        share(table.inside_without_rule(), all),
        table.rows.iter().filter(|row| row.fitted).count()
    );
    format!(
        "{}\n{}\n",
        answer.trim_end(),
        words::wrap("", 0, &without, 100)
    )
}

fn share(part: usize, all: usize) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

fn line(row: &Comparison) -> String {
    let mark = match (row.fitted, row.is_inside()) {
        (true, _) => " fitted",
        (false, true) => "",
        (false, false) => " outside",
    };
    let name = format!("{}, {}", row.name, row.unit);
    format!(
        "  {name:<50} {:>9} {:>9} {:>+7.0}  {:<16}{mark}",
        significant(row.published),
        significant(row.modelled),
        row.error_percent(),
        format!(
            "{} to {}",
            significant(row.modelled_low),
            significant(row.modelled_high)
        ),
    )
    .trim_end()
    .to_owned()
        + "\n"
}

fn bound_line(bound: &HostDecides) -> String {
    let span = |values: [f64; 2]| match values.map(significant) {
        [low, high] if low == high => low,
        [low, high] => format!("{low} to {high}"),
    };
    let holds = if bound.holds { "" } else { "; does not hold" };
    let text = format!(
        "{}: published {} {}; {} could do {} {} ({}; modelled){holds}",
        bound.name,
        span(bound.published),
        bound.unit,
        bound.device,
        span(bound.modelled_bound),
        bound.unit,
        bound.how
    );
    words::wrap("  ", 4, &text, 100)
}
