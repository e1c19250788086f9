//! A history as text of 78 columns.

use super::{By, FEWEST, History, NOT_YET, Series, Step};
use crate::context::Times;
use crate::format::phrase;

const WIDTH: usize = 78;

/// The history as text.
pub fn render(history: &History) -> String {
    let mut out = String::new();
    let steps: usize = history.series.iter().map(|series| series.steps.len()).sum();
    let stepped = history
        .series
        .iter()
        .filter(|series| !series.steps.is_empty())
        .count();
    let headline = match steps {
        0 => format!(
            "No step nominated in {} of {}",
            series(history.series.len()),
            runs(history.runs)
        ),
        _ => format!(
            "{} nominated in {stepped} of {} ({})",
            words::plural(steps as u64, "step"),
            series(history.series.len()),
            runs(history.runs)
        ),
    };
    put(&mut out, "", 2, &headline);
    put(
        &mut out,
        "",
        2,
        "A nominated step is not a verdict: its runs are not interleaved. The commands below it confirm it or not.",
    );
    for one in history
        .series
        .iter()
        .filter(|series| !series.steps.is_empty())
    {
        out.push('\n');
        put(&mut out, "", 2, &name(one));
        for step in &one.steps {
            of_step(&mut out, one, step, history.by);
        }
    }
    table(&mut out, history);
    out.push_str("\nNotes\n");
    let last = format!(
        "a step needs 3 runs on each side: the last {NOT_YET} runs of each series are not judged yet"
    );
    put(&mut out, "  ", 4, &last);
    let short = history
        .series
        .iter()
        .filter(|series| !series.enough)
        .count();
    if short > 0 {
        let text = format!(
            "{} with fewer than {FEWEST} runs: too few to find a step",
            series(short)
        );
        put(&mut out, "  ", 4, &text);
    }
    for note in &history.notes {
        put(&mut out, "  ", 4, note);
    }
    words::printable_lines(&out).into_owned()
}

fn put(out: &mut String, lead: &str, indent: usize, text: &str) {
    out.push_str(&words::wrap(lead, indent, text, WIDTH));
}

fn series(count: usize) -> String {
    format!("{count} series")
}

fn runs(count: usize) -> String {
    words::plural(count as u64, "run")
}

fn name(series: &Series) -> String {
    format!(
        "{}, {} {} {}{}",
        series.cell,
        series.phase,
        series.metric,
        series.clock.mark(),
        times(series)
    )
}

/// Whose times a series is of, where they are not of hardware.
fn times(series: &Series) -> String {
    match &series.times {
        Times::Real => String::new(),
        other => format!(", {other}"),
    }
}

fn of_step(out: &mut String, series: &Series, step: &Step, by: By) {
    let what = if step.worse { "worse" } else { "better" };
    let [before, after] = &step.labels;
    let between = match by {
        By::Date => format!(
            "between {before} ({}) and {after} ({})",
            step.runs[0], step.runs[1]
        ),
        _ => format!(
            "between {before} and {after} ({} and {})",
            step.runs[0], step.runs[1]
        ),
    };
    let p = if step.p_adjusted < 0.0001 {
        "< 0.0001".to_owned()
    } else {
        format!("{:.4}", step.p_adjusted)
    };
    let text = format!(
        "{} ({what}) {between}; p adjusted {p}, spread of runs {}",
        phrase::percent(step.ratio),
        phrase::share(series.spread)
    );
    put(out, "  - ", 4, &text);
    out.push_str("    to confirm:\n");
    for line in &step.confirm {
        // A command stays one line, to be copied.
        out.push_str(&format!("      {line}\n"));
    }
}

fn table(out: &mut String, history: &History) {
    out.push_str(&format!(
        "\n{:<34}{:>6}{:>10}{:>10}{:>9}  {}\n",
        "Series", "runs", "first", "last", "spread", "steps"
    ));
    let mut above = None;
    for one in &history.series {
        // Series of a cell are apart by whose times they are of.
        let head = format!("{}{}", one.cell, times(one));
        if above.as_ref() != Some(&head) {
            put(out, "", 2, &head);
            above = Some(head);
        }
        let edge = one.points.first().map_or(1.0, |point| point.value);
        let (factor, unit) = phrase::scale(&one.unit, edge);
        let value = |point: Option<&super::Point>| {
            point.map_or_else(
                || "-".to_owned(),
                |point| words::significant(point.value * factor),
            )
        };
        let label = format!("  {} {} {} {unit}", one.phase, one.metric, one.clock.mark());
        let label = words::printable(&label).into_owned();
        let label = if label.chars().count() > 34 {
            out.push_str(&format!("{label}\n"));
            String::new()
        } else {
            label
        };
        let steps = if one.enough {
            one.steps.len().to_string()
        } else {
            "-".to_owned()
        };
        out.push_str(&format!(
            "{label:<34}{:>6}{:>10}{:>10}{:>9}  {steps}\n",
            one.points.len(),
            value(one.points.first()),
            value(one.points.last()),
            phrase::share(one.spread),
        ));
    }
}
