//! JUnit's XML: a test suite for each pair of sides, a test case for each figure of each cell.
//!
//! Worse is a failure, and so is what a gate did not pass; what cannot be judged is an error; unclear and not compared are
//! skipped.

use stats::Verdict;

use super::xml::Element;
use super::{answer, phrase};
use crate::comparison::{Compared, Judged, Row};

/// What a test case comes to.
enum Case {
    Passed,
    Failure(String),
    Error(String),
    Skipped(String),
}

pub(super) fn render(compared: &Compared) -> String {
    let mut suites = Element::new("testsuites");
    let mut totals = [0; 4];
    let mut all = Vec::new();
    for side in &compared.sides[1..] {
        let rows: Vec<&Row> = compared
            .rows
            .iter()
            .filter(|row| row.sides[1] == side.letter)
            .collect();
        let cases: Vec<Case> = rows.iter().map(|row| case(compared, row)).collect();
        let counts = counts(&cases);
        for (total, count) in totals.iter_mut().zip(counts) {
            *total += count;
        }
        let name = format!("{} against {}", side.name, compared.sides[0].name);
        let mut suite = counted(Element::new("testsuite").with("name", &name), counts);
        for (row, case) in rows.iter().zip(cases) {
            suite = suite.child(test_case(row, case));
        }
        all.push(suite);
    }
    suites = counted(suites.with("name", "fslab compare"), totals);
    let answer = answer(compared);
    for suite in all {
        let text = format!("{}\n{}\n", answer.headline, answer.counts);
        suites = suites.child(suite.child(Element::new("system-out").text(&text)));
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}",
        suites.render()
    )
}

fn case(compared: &Compared, row: &Row) -> Case {
    let objection = phrase::objection(compared, row);
    match (row.judged, row.verdict) {
        (Some(Judged::Failed), _) => Case::Failure(objection.unwrap_or_default()),
        (Some(Judged::Invalid), _) => Case::Error(objection.unwrap_or_default()),
        (None, Some(Verdict::Worse)) => Case::Failure(format!("worse: {}", phrase::change(row))),
        (_, Some(Verdict::Unclear)) if !is_shown(row) => {
            Case::Skipped(format!("unclear: {}", phrase::change(row)))
        }
        (_, None) => Case::Skipped(phrase::invalid(row)),
        _ => Case::Passed,
    }
}

/// Whether a gate that demands evidence passed it, so that it is decided.
fn is_shown(row: &Row) -> bool {
    row.judged == Some(Judged::Passed) && row.not_worse.is_some_and(|found| found.shown)
}

fn counts(cases: &[Case]) -> [usize; 4] {
    let of = |which: fn(&Case) -> bool| cases.iter().filter(|case| which(case)).count();
    [
        cases.len(),
        of(|case| matches!(case, Case::Failure(_))),
        of(|case| matches!(case, Case::Error(_))),
        of(|case| matches!(case, Case::Skipped(_))),
    ]
}

fn counted(element: Element, counts: [usize; 4]) -> Element {
    let names = ["tests", "failures", "errors", "skipped"];
    let named = names.into_iter().zip(counts);
    named.fold(element, |element, (name, count)| {
        element.with(name, &count.to_string())
    })
}

fn test_case(row: &Row, case: Case) -> Element {
    let element = Element::new("testcase")
        .with("classname", &row.cell)
        .with("name", &phrase::figure(row))
        .with("time", "0");
    let [base, other] = phrase::values(row);
    let unit = phrase::unit(row);
    let detail = format!(
        "{} {base} {unit}, {} {other} {unit}, change {}, {} and {} runs, verdict {}",
        row.sides[0],
        row.sides[1],
        phrase::change(row),
        row.runs[0],
        row.runs[1],
        phrase::verdict(row),
    );
    let child = |name: &'static str, message: &str| {
        Element::new(name)
            .with("message", message)
            .with("type", name)
            .text(&detail)
    };
    match case {
        Case::Passed => element.child(Element::new("system-out").text(&detail)),
        Case::Failure(message) => element.child(child("failure", &message)),
        Case::Error(message) => element.child(child("error", &message)),
        Case::Skipped(message) => element.child(Element::new("skipped").with("message", &message)),
    }
}
