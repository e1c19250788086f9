//! The first lines of every format: what came out.

use serde::Serialize;
use stats::Verdict;

use super::phrase;
use crate::comparison::{Compared, Judged, Outcome, Row};
use crate::options::FailOn;

/// What came out, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// One sentence.
    pub headline: String,
    /// Numbers of verdicts in one sentence; empty where nothing was compared.
    pub counts: String,
    /// The figures that matter most, a line each: those that the gate did not pass; without a gate those that are worse.
    pub first: Vec<String>,
}

/// Most figures of [`Answer::first`].
const MOST: usize = 10;

/// What came out.
pub fn answer(compared: &Compared) -> Answer {
    let mut lines: Vec<String> = Vec::new();
    let several = compared.sides.len() > 2;
    for row in &compared.rows {
        let what = match compared.gate {
            Some(_) => phrase::objection(compared, row),
            None if row.verdict == Some(Verdict::Worse) => Some(phrase::change(row)),
            None => None,
        };
        if let Some(what) = what {
            let side = if several {
                format!("{}: ", row.sides[1])
            } else {
                String::new()
            };
            lines.push(format!(
                "{side}{}, {}: {what}",
                row.cell,
                phrase::figure(row)
            ));
        }
    }
    let more = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    if more > 0 {
        lines.push(format!("and {more} more, in the table"));
    }
    // The headline is quoted alone, and is the title of a page.
    let mut headline = headline(compared);
    if let Some(times) = &compared.times_of {
        headline.push_str(&format!(" [{times}]"));
    }
    Answer {
        headline,
        counts: counts(compared),
        first: lines,
    }
}

fn others(compared: &Compared) -> String {
    let letters: Vec<&str> = compared.sides[1..]
        .iter()
        .map(|side| side.letter.as_str())
        .collect();
    letters.join(" or ")
}

fn number(compared: &Compared, which: impl Fn(&Row) -> bool) -> usize {
    compared.rows.iter().filter(|row| which(row)).count()
}

fn headline(compared: &Compared) -> String {
    let others = others(compared);
    let all = number(compared, |row| row.verdict.is_some());
    let judged = number(compared, |row| row.judged.is_some());
    let failed = number(compared, |row| row.judged == Some(Judged::Failed));
    let invalid = number(compared, |row| row.judged == Some(Judged::Invalid));
    let figures = |count: usize| words::plural(count as u64, "figure");
    let Some(gate) = compared
        .gate
        .filter(|_| compared.outcome != Outcome::Nothing)
    else {
        return match compared.outcome {
            Outcome::Nothing if compared.rows.is_empty() => {
                "Nothing to compare: the sides have no figure of the same cell".to_owned()
            }
            Outcome::Nothing => {
                "Nothing to compare: the sides' times are of different clocks".to_owned()
            }
            _ if all == 0 => format!("{others} and A cannot be compared: too few values"),
            _ => {
                let worse = number(compared, |row| row.verdict == Some(Verdict::Worse));
                match worse {
                    0 => format!("{others} is worse than A in none of {}", figures(all)),
                    worse => format!("{others} is worse than A in {worse} of {}", figures(all)),
                }
            }
        };
    };
    let margin = phrase::share(gate.margin);
    match (compared.outcome, gate.fail_on) {
        (Outcome::Failed, FailOn::Worse) => format!(
            "FAILED: {others} is worse than A by more than {margin} in {failed} of {}",
            figures(judged)
        ),
        (Outcome::Failed, FailOn::NotShown) => format!(
            "FAILED: in {failed} of {} it is not shown that {others} is not worse than A by more than {margin}",
            figures(judged)
        ),
        (Outcome::Invalid, _) => {
            format!(
                "NOT JUDGED: {invalid} of {} cannot be judged, the others pass",
                figures(judged)
            )
        }
        (_, FailOn::Worse) => format!(
            "PASSED: no figure of {others} is found to be worse than A by more than {margin} ({})",
            figures(judged)
        ),
        (_, FailOn::NotShown) => format!(
            "PASSED: {others} is shown to be not worse than A by more than {margin} ({})",
            figures(judged)
        ),
    }
}

fn counts(compared: &Compared) -> String {
    let of = |verdict| number(compared, |row| row.verdict == Some(verdict));
    let not_compared = number(compared, |row| row.verdict.is_none());
    if compared.rows.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "worse {}, better {}, equal within {} {}, unclear {}",
        of(Verdict::Worse),
        of(Verdict::Better),
        phrase::share(compared.band),
        of(Verdict::Same),
        of(Verdict::Unclear),
    );
    if not_compared > 0 {
        text.push_str(&format!(", not compared {not_compared}"));
    }
    if of(Verdict::Unclear) > 0 {
        text.push_str("; unclear is not \"no change\"");
    }
    text
}
