//! Laws of growth, and "was it memory?", in JSON.

use serde_json::{Value, json};
use stats::growth::{Estimate, Fit, Law};

use crate::growth::{Curve, Growth, Size};
use crate::pressure::Memory;

/// One question of growth.
pub(super) fn value(growth: &Growth) -> Value {
    json!({
        "title": growth.title,
        "x": growth.x,
        "x_unit": growth.x_unit,
        "phase": growth.phase,
        "metric": growth.metric,
        "clock": growth.clock,
        "unit": growth.unit,
        "level": growth.level,
        "curves": growth.curves.iter().map(curve).collect::<Vec<_>>(),
    })
}

fn curve(curve: &Curve) -> Value {
    let laws = curve.laws.as_ref();
    let projections: Vec<Value> = curve
        .projections
        .iter()
        .map(|p| {
            let laws: Vec<Value> = p.laws.iter().map(|(l, e)| projected(*l, e)).collect();
            json!({
                "x": p.x,
                "projection": true,
                "times_largest_measured": p.reach,
                "laws": laws,
                "published": p.published,
            })
        })
        .collect();
    json!({
        "levels": curve.levels,
        "sizes": curve.sizes.iter().map(size).collect::<Vec<_>>(),
        "laws": laws.map_or_else(|_| Vec::new(), |laws| laws.fits.iter().map(fit).collect()),
        "distinguishable": laws.map(stats::growth::Growth::distinguishable).ok(),
        "each_size_counts_once": laws.map(|laws| laws.by_sizes).ok(),
        "no_law": laws.err().map(ToString::to_string),
        "projections": projections,
        "published": curve.published,
    })
}

fn size(size: &Size) -> Value {
    let points = size.counted.iter().zip(&size.figure.points);
    json!({
        "x": size.x,
        "cell": size.figure.cell,
        "values": points.map(|(x, p)| json!({"trial": p.trial, "block": p.block, "x": x, "y": p.value})).collect::<Vec<_>>(),
        "summary": size.figure.summary,
        "marks": size.figure.marks,
    })
}

fn fit(fit: &Fit) -> Value {
    let [first, second] = fit.law.parameters();
    json!({
        "law": fit.law,
        first: estimate(&fit.parameters[0]),
        second: estimate(&fit.parameters[1]),
        "spread_of_ln_y": fit.spread,
        "degrees_of_freedom": fit.degrees,
        "sum_of_squares_of_ln_y": fit.squares,
        "aicc": fit.aicc,
        "aicc_above_best": fit.delta,
        "lack_of_fit": fit.lack_of_fit,
        "warnings": fit.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn projected(law: Law, of: &Estimate) -> Value {
    let mut value = estimate(of);
    value["law"] = json!(law);
    value
}

fn estimate(estimate: &Estimate) -> Value {
    let interval = estimate.interval;
    json!({"value": estimate.value, "low": interval.low, "high": interval.high})
}

/// "Was it memory?".
pub(super) fn memory(memory: &Memory) -> Value {
    let pairs = memory.pairs.iter().map(|pair| {
        json!({
            "filesystem": pair.filesystem,
            "label": pair.label,
            "base_memory": pair.memory[0],
            "memory": pair.memory[1],
            "limit": pair.limit,
            "seconds": pair.seconds,
            "device_read": pair.read,
        })
    });
    json!({
        "answers": memory.answers,
        "rows": memory.rows,
        "comparisons": memory.family,
        "pairs": pairs.collect::<Vec<_>>(),
    })
}
