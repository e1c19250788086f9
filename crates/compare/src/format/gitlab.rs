//! GitLab's Code Quality report: a JSON array with an entry for each figure that a gate did not pass, or without a gate for each
//! that is worse. A merge request lists the entries that are new.
//!
//! The report of metrics (OpenMetrics) was rejected: GitLab would compare single values without intervals there.

use serde_json::{Value, json};
use stats::Verdict;

use super::phrase;
use crate::comparison::{Compared, Judged, Row};
use crate::key::short_id;

pub(super) fn render(compared: &Compared) -> String {
    let entries: Vec<Value> = compared
        .rows
        .iter()
        .filter_map(|row| entry(compared, row))
        .collect();
    format!("{:#}\n", Value::Array(entries))
}

fn entry(compared: &Compared, row: &Row) -> Option<Value> {
    let what = match compared.gate {
        Some(_) => phrase::objection(compared, row)?,
        None => (row.verdict == Some(Verdict::Worse)).then(|| phrase::change(row))?,
    };
    let severity = match row.judged {
        Some(Judged::Invalid) => "info",
        _ if row.verdict == Some(Verdict::Worse) => "major",
        _ => "minor",
    };
    let name = format!("{}, {}", row.cell, phrase::figure(row));
    // The same for the same figure of the same cell, so that a regression that stays is no new one.
    let of = [
        row.sides[1].as_str(),
        &row.cell_id,
        &row.phase,
        &row.metric,
        row.clock.mark(),
    ]
    .join(" ");
    let study = compared
        .sides
        .iter()
        .flat_map(|side| &side.runs)
        .map(|run| &run.study)
        .next();
    // An entry is shown alone.
    let times = compared.times_of.as_ref();
    let times = times.map_or(String::new(), |times| format!(" [{times}]"));
    Some(json!({
        "description": format!("{name}: {what}{times}"),
        "check_name": "fslab compare",
        "fingerprint": short_id(&of),
        "severity": severity,
        "location": {
            "path": study.map_or_else(String::new, |study| format!("fslab/{study}")),
            "lines": { "begin": 1 }
        }
    }))
}
