//! Layouts, block traces and what tracing cost, as summaries over trials. Each trial's own layouts and
//! traces are among the trials, as recorded.

use serde_json::{Map, Value, json};

use super::tables::Named;
use crate::Report;
use crate::block_io::{Pair, WHOLE};
use crate::error::Result;
use crate::tool_output::{ior, mdtest};

/// Extents and gaps of the files: one object for each cell and phase.
pub(super) fn layouts(report: &Report<'_>) -> Result<Value> {
    let rows = report.file_layout.iter().flat_map(|found| &found.rows);
    let rows = rows.map(|row| {
        let names = row.trials.iter().flat_map(|layout| layout.figures.keys());
        let figures = names.map(|name| (name.clone(), json!(row.values(name))));
        let figures: Map<String, Value> = figures.collect();
        Ok(json!({
            "cell": row.cell,
            "name": row.label,
            "phase": row.phase,
            "n": row.trials.len(),
            "files": row.files(),
            "figures": figures,
            "middle": {
                "trial": row.middle.0.trial,
                "block": row.middle.0.block,
                "layout": serde_json::to_value(row.middle.1)?,
                "gaps": row.gaps(),
            },
        }))
    });
    Ok(json!(rows.collect::<Result<Vec<_>>>()?))
}

/// The block traces: one object for each cell, device and phase.
pub(super) fn traces(report: &Report<'_>) -> Value {
    let rows = report.block_io.iter().flat_map(|found| &found.rows);
    let rows = rows.map(|row| {
        let of_phase = row
            .traces
            .iter()
            .filter_map(|(_, t)| t.figures.get(row.phase));
        let names = of_phase.flat_map(|figures| figures.keys());
        let figures = names.map(|name| {
            let value = json!({"values": row.values(name), "median": row.median(name)});
            (name.clone(), value)
        });
        let figures: Map<String, Value> = figures.collect();
        json!({
            "cell": row.cell,
            "name": row.label,
            "phase": (row.phase != WHOLE).then_some(row.phase),
            "device": row.device,
            "n": row.traces.len(),
            "degraded": row.degraded() > 0,
            "doubt": row.doubt(),
            "figures": figures,
        })
    });
    json!(rows.collect::<Vec<_>>())
}

/// What tracing cost; null where nothing was traced.
pub(super) fn cost(report: &Report<'_>) -> Value {
    let Some(cost) = &report.cost else {
        return Value::Null;
    };
    json!({
        "comparisons": cost.family,
        "without_twin": cost.alone,
        "pairs": cost.pairs.iter().map(pair).collect::<Vec<_>>(),
    })
}

fn pair(pair: &Pair) -> Value {
    json!({
        "name": pair.label,
        "phase": pair.phase,
        "metric": pair.metric,
        "clock": pair.clock,
        "unit": pair.unit,
        "untraced": Named { column: "untraced", figure: &pair.untraced },
        "traced": Named { column: "traced", figure: &pair.traced },
        "comparison": pair.versus,
    })
}

/// The runs as the message of 2010 lists them.
pub(super) fn list(report: &Report<'_>) -> Value {
    let groups = report.transcript.iter().flat_map(|found| &found.groups);
    let groups = groups.map(|group| {
        let entries = group.entries.iter().map(|entry| {
            json!({
                "cell": entry.cell,
                "trial": entry.slot.trial,
                "n": entry.n,
                "phase": entry.phase,
                "heading": entry.heading(),
                "bytes": entry.bytes,
                "seconds": entry.seconds,
                "lines": entry.lines(),
            })
        });
        json!({"of": group.of, "entries": entries.collect::<Vec<_>>()})
    });
    json!(groups.collect::<Vec<_>>())
}

/// The lines of IOR and mdtest; null where nothing is theirs.
pub(super) fn original(report: &Report<'_>) -> Value {
    let Some(found) = &report.original else {
        return Value::Null;
    };
    let named = |name: &str, lines: Vec<String>| json!({"of": name, "lines": lines});
    let ior = found.ior.iter();
    let ior: Vec<Value> = ior
        .map(|(name, test)| named(name, ior::results(test)))
        .collect();
    let mdtest = found.mdtest.iter();
    let mdtest = mdtest.map(|(name, test)| named(name, mdtest::summary(test)));
    json!({
        "ior": ior,
        "ior_summary": if ior.is_empty() { Vec::new() } else { found.ior_summary() },
        "mdtest": mdtest.collect::<Vec<_>>(),
    })
}

/// How phases were shared among the members of a device; null without devices of several layers. Bytes
/// are means of the trials, shares are parts of 1. Each member of each trial is with the trials.
pub(super) fn members(report: &Report<'_>) -> Value {
    let Some(shares) = &report.members else {
        return Value::Null;
    };
    let devices = shares.devices.iter();
    let devices = devices.map(|(name, words)| json!({"name": name, "words": words}));
    json!({"devices": devices.collect::<Vec<_>>(), "phases": shares.rows})
}
