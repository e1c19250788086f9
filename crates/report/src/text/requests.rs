//! Block traces: four small tables by what a reader asks, and what tracing itself cost.

use super::columns::columns;
use super::matrix::Matrix;
use super::names::Names;
use super::wrap;
use crate::model::clock_meaning;
use crate::numbers::{duration, range, ratio, short, size};
use crate::pressure::{percent, whole};
use crate::requests::{Cost, PANELS, Requests, Row, Unit, WHOLE};

/// The section.
pub(super) fn print(requests: &Requests<'_>, width: usize) -> String {
    let mut out = wrap("", 2, "Block trace: what the device was asked for", width);
    out.push_str(&wrap("", 0, &about(requests), width));
    for line in doubts(requests) {
        out.push_str(&wrap("! ", 2, &line, width));
    }
    out.push('\n');
    let names = Names::of(&rows(requests), width);
    if !names.list.is_empty() {
        out.push_str(&names.list);
        out.push('\n');
    }
    for (at, panel) in PANELS.iter().enumerate() {
        let shown: Vec<_> = panel.shown(&requests.rows).collect();
        if shown.is_empty() {
            continue;
        }
        if at > 0 {
            out.push('\n');
        }
        out.push_str(&wrap("", 2, panel.title, width));
        let rows = requests.rows.iter().zip(&names.names).map(|(row, name)| {
            let cells = shown
                .iter()
                .map(|c| vec![value(row.median(c.name), c.unit)]);
            let degraded = if row.degraded() > 0 { "!" } else { "" };
            (format!("{name}{degraded}"), cells.collect())
        });
        let matrix = Matrix {
            corner: String::new(),
            columns: shown.iter().map(|c| c.head.to_owned()).collect(),
            rows: rows.collect(),
        };
        out.push_str(&matrix.print(width));
    }
    let bases = bases(requests);
    if !bases.is_empty() {
        out.push('\n');
        out.push_str(&wrap("traces: ", 2, &bases, width));
    }
    for note in &requests.notes {
        out.push_str(&wrap("note: ", 2, note, width));
    }
    out
}

/// What is behind the numbers, and what the letters of blktrace mean.
pub(crate) fn about(requests: &Requests<'_>) -> String {
    let counts = || requests.rows.iter().map(|row| row.traces.len());
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let n = if least == most {
        format!("n={least}")
    } else {
        format!("n={least} to {most}")
    };
    format!(
        "Medians of the traced trials ({n}), each phase to the end of its syncfs. A bio is queued (Q), \
         merged into a request, issued to the device (D) and completed (C); Q/D: bios of each request; \
         mean seek: from the end of one request to the begin of the next; kind switches: from data to \
         metadata or journal and back with a seek; busy: share of the time with a request in flight."
    )
}

/// The rows whose traces lost events.
pub(crate) fn doubts(requests: &Requests<'_>) -> Vec<String> {
    let names = rows(requests);
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for (row, name) in requests.rows.iter().zip(names) {
        let Some(doubt) = row.doubt() else {
            continue;
        };
        match told.iter_mut().find(|(known, _)| *known == doubt) {
            Some((_, of)) => of.push(name),
            None => told.push((doubt, vec![name])),
        }
    }
    let lines = told
        .into_iter()
        .map(|(doubt, of)| format!("{}: {doubt}: its figures count too little", of.join("; ")));
    lines.collect()
}

/// Where the traces are, and how large.
pub(crate) fn bases(requests: &Requests<'_>) -> String {
    let mut bases: Vec<&str> = requests
        .rows
        .iter()
        .flat_map(|row| &row.traces)
        .map(|(_, trace)| trace.base.as_str())
        .filter(|base| !base.is_empty())
        .collect();
    bases.sort_unstable();
    bases.dedup();
    match bases.as_slice() {
        [] => String::new(),
        [one] => format!("{one}.blktrace.*, {}", size(requests.bytes as f64)),
        [first, .., last] => format!(
            "{first} to {last}, {} in all, {}; read them with fslab trace report, blkparse or btt",
            bases.len(),
            size(requests.bytes as f64)
        ),
    }
}

/// Names of the rows: cell, phase and device where there are several.
pub(crate) fn rows(requests: &Requests<'_>) -> Vec<String> {
    let first = requests.rows.first().map(|row| row.phase);
    let several = requests.rows.iter().any(|row| Some(row.phase) != first);
    let name = |row: &Row<'_>| {
        let mut parts = vec![row.label.clone()];
        if several {
            parts.push(match row.phase {
                WHOLE => "whole trial".to_owned(),
                phase => phase.to_owned(),
            });
        }
        if requests.devices {
            parts.push(row.device.to_owned());
        }
        parts.join(", ")
    };
    requests.rows.iter().map(name).collect()
}

/// A value as its unit wants it.
pub(crate) fn value(value: Option<f64>, unit: Unit) -> String {
    let write = match unit {
        Unit::Count => whole,
        Unit::Bytes => size,
        Unit::Seconds => duration,
        Unit::Share => percent,
        Unit::Ratio => short,
    };
    value.map_or_else(|| "-".to_owned(), write)
}

/// What tracing cost, in one sentence.
pub(crate) fn verdict(cost: Option<&Cost>) -> String {
    let Some(cost) = cost.filter(|cost| !cost.pairs.is_empty()) else {
        return "not known: no cell has an untraced twin (trace = [false, true] among the factors \
                gives each traced trial one)"
            .to_owned();
    };
    let all = cost.pairs.len();
    let of = if all == 1 { "figure" } else { "figures" };
    let mut text = match (cost.family, cost.counted()) {
        (0, _) => format!("{all} {of}, none with values enough for a test"),
        (_, 0) => format!("none of {all} {of} differs by more than the band"),
        (_, n) => format!("{n} of {all} {of} differ by more than the band"),
    };
    if cost.alone > 0 {
        text.push_str(&format!("; {} traced cells have no twin", cost.alone));
    }
    text
}

/// The section about the cost.
pub(super) fn print_cost(cost: Option<&Cost>, level: f64, width: usize) -> String {
    let mut out = wrap("Cost of tracing: ", 2, &verdict(cost), width);
    let Some(cost) = cost.filter(|cost| !cost.pairs.is_empty()) else {
        return out;
    };
    let text = format!(
        "Traced over untraced, paired by block, with {:.0} % intervals; {}. Clock (a): {}; (c): {}.",
        level * 100.0,
        match cost.family {
            1 => "1 comparison".to_owned(),
            n => format!("{n} comparisons, one family"),
        },
        clock_meaning(study::Clock::Original),
        clock_meaning(study::Clock::Syncfs),
    );
    out.push_str(&wrap("", 0, &text, width));
    out.push('\n');
    let labels: Vec<String> = cost
        .pairs
        .iter()
        .map(|pair| format!("{}, {}", pair.label, pair.phase))
        .collect();
    let mut distinct = labels.clone();
    distinct.dedup();
    let names = Names::of(&distinct, width);
    if !names.list.is_empty() {
        out.push_str(&names.list);
        out.push('\n');
    }
    let head = ["", "clock", "unit", "untraced", "traced", "ratio", "", ""];
    let mut table: Vec<Vec<String>> = vec![head.map(str::to_owned).into()];
    for (pair, label) in cost.pairs.iter().zip(&labels) {
        let at = distinct
            .iter()
            .position(|known| known == label)
            .unwrap_or(0);
        let [untraced, traced] = pair
            .medians()
            .map(|m| m.map_or_else(|| "-".to_owned(), short));
        let mut row = vec![
            names.names[at].clone(),
            pair.clock.mark().to_owned(),
            pair.unit.to_owned(),
            untraced,
            traced,
        ];
        row.extend(versus(pair.versus.as_ref()));
        table.push(row);
    }
    out + &columns(&table, 3, 0)
}

/// Ratio, interval and sign.
pub(crate) fn versus(versus: Option<&crate::model::Versus>) -> [String; 3] {
    let Some(versus) = versus else {
        return ["-".to_owned(), String::new(), String::new()];
    };
    let interval = versus.interval;
    [
        ratio(versus.ratio),
        interval.map_or(String::new(), |(low, high)| range(low, high, ratio)),
        versus.difference.sign().to_string(),
    ]
}
