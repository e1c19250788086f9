//! The page's values of layouts, block traces, what tracing cost, and the list of 2010.

use serde_json::{Value, json};

use crate::Report;
use crate::model::Difference;
use crate::numbers::short;
use crate::requests::{PANELS, Pair};
use crate::text::{placement, requests, transcript};
use crate::why::{capital, confidence};

/// Where the files lie; null without layouts.
pub(super) fn layout(report: &Report<'_>) -> Value {
    let Some(found) = &report.placement else {
        return Value::Null;
    };
    let rows = found.rows.iter().zip(placement::rows(found));
    let rows = rows.map(|(row, name)| json!({"name": name, "cells": placement::cells(row)}));
    let words = placement::words(found, &placement::rows(found));
    json!({
        "meaning": placement::MEANING,
        "heads": placement::HEADS,
        "rows": rows.collect::<Vec<_>>(),
        "words": words,
        "listings": placement::listings(found),
        "notes": found.notes,
    })
}

/// The block traces; null without any.
pub(super) fn traces(report: &Report<'_>) -> Value {
    let Some(found) = &report.requests else {
        return Value::Null;
    };
    let names = requests::rows(found);
    let panels = PANELS.iter().map(|panel| {
        let columns: Vec<_> = panel.shown(&found.rows).collect();
        let rows = found.rows.iter().zip(&names).map(|(row, name)| {
            let cells = columns
                .iter()
                .map(|c| requests::value(row.median(c.name), c.unit));
            json!({
                "name": name,
                "doubt": row.doubt(),
                "cells": cells.collect::<Vec<_>>(),
            })
        });
        json!({
            "title": panel.title,
            "heads": columns.iter().map(|c| c.head).collect::<Vec<_>>(),
            "rows": rows.collect::<Vec<_>>(),
        })
    });
    let panels: Vec<Value> = panels
        .filter(|panel| {
            panel["heads"]
                .as_array()
                .is_some_and(|heads| !heads.is_empty())
        })
        .collect();
    json!({
        "about": requests::about(found),
        "doubts": requests::doubts(found),
        "panels": panels,
        "bases": requests::bases(found),
        "notes": found.notes,
        "verdict": requests::verdict(report.cost.as_ref()),
        "family": report.cost.as_ref().map_or(0, |cost| cost.family),
        "pairs": report.cost.iter().flat_map(|cost| &cost.pairs).map(pair).collect::<Vec<_>>(),
    })
}

fn pair(pair: &Pair) -> Value {
    let [ratio, interval, sign] = requests::versus(pair.versus.as_ref());
    let class = pair.versus.as_ref().map_or("none", |v| match v.difference {
        Difference::Unclear | Difference::Same => "none",
        Difference::Better | Difference::Higher => "better",
        Difference::Worse | Difference::Lower => "worse",
    });
    let medians = pair.medians();
    let medians = medians.map(|m| m.map_or_else(|| "–".to_owned(), short));
    json!({
        "name": pair.label, "phase": pair.phase, "clock": pair.clock.mark(), "unit": pair.unit,
        "medians": medians, "ratio": ratio, "interval": interval, "sign": sign, "class": class,
    })
}

/// Why: each difference with the rules that hold; null where nothing can be compared.
pub(super) fn why(report: &Report<'_>) -> Value {
    let Some(found) = &report.why else {
        return Value::Null;
    };
    let row = |row: &explain::Row| {
        let [slower, faster] = row.printed();
        json!({"label": row.label, "slower": slower, "faster": faster, "source": row.source})
    };
    let differences = found.explained.explanations.iter().map(|explanation| {
        let difference = &explanation.difference;
        let (slower, faster) = match difference.slower {
            explain::Slower::Base => (&difference.base, &difference.other),
            explain::Slower::Other => (&difference.other, &difference.base),
        };
        let holds = explanation.holds().map(|finding| {
            json!({
                "title": finding.title,
                "rule": finding.rule,
                "confidence": confidence(finding),
                "because": capital(&finding.judgement.because),
                "evidence": finding.judgement.evidence.iter().map(row).collect::<Vec<_>>(),
                "against": finding.judgement.against.iter().map(row).collect::<Vec<_>>(),
                "experiment": finding.judgement.experiment,
            })
        });
        let denied = explanation.denied();
        let denied = denied.map(|f| json!({"title": f.title, "because": f.judgement.because}));
        let open = explanation.open();
        let open = open.map(|(f, needs)| json!({"title": f.title, "needs": needs}));
        json!({
            "title": explain::title(difference),
            "sentence": explain::sentence(difference),
            "slower": slower.level,
            "faster": faster.level,
            "holds": holds.collect::<Vec<_>>(),
            "denied": denied.collect::<Vec<_>>(),
            "open": open.collect::<Vec<_>>(),
        })
    });
    json!({
        "summary": found.summary(),
        "legend": explain::LEGEND,
        "differences": differences.collect::<Vec<_>>(),
        "notes": found.notes(),
    })
}

/// The list of 2010; null where no dd ran.
pub(super) fn list(report: &Report<'_>) -> Value {
    let Some(found) = &report.transcript else {
        return Value::Null;
    };
    let groups = found.groups.iter().map(|group| {
        let entries = group.entries.iter();
        let entries =
            entries.map(|e| json!({"heading": e.heading(), "lines": e.lines().join("\n")}));
        json!({"of": group.of, "entries": entries.collect::<Vec<_>>()})
    });
    json!({
        "which": transcript::which(found),
        "about": transcript::ABOUT,
        "groups": groups.collect::<Vec<_>>(),
    })
}
