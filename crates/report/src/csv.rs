//! Tidy CSV: one row per sample, factor levels as columns, stored units, RFC 4180 quoting.
//!
//! The laws of growth follow the samples as rows without a trial, so that no sum over
//! trials takes a projection for a measurement: `growth_power_b`, `projection_linear_at_105000000`,
//! each also with `_low` and `_high`; their `marks` say `law` and `projection`. So does what tracing cost
//! (`cost_of_tracing_throughput`, marked `ratio`), traced over untraced. The last column says whose times these are.

use stats::Interval;
use stats::growth::{Estimate, Law};

use crate::Report;
use crate::block_io::Pair;
use crate::growth::{Curve, Growth};
use crate::model::clock_name;
use crate::options::Part;
use crate::samples::lines;
use words::csv_record as record;

/// The report as CSV.
pub(crate) fn print(report: &Report<'_>) -> String {
    let factors = report.factors();
    let mut head: Vec<&str> = vec!["run", "trial", "block"];
    head.extend(factors.iter().map(String::as_str));
    head.extend([
        "phase", "metric", "clock", "value", "unit", "marks", "timing",
    ]);
    let timing = report.run.timing().unwrap_or_default();
    let mut out = record(head);
    for line in lines(report) {
        let (trial, block) = (line.trial.to_string(), line.block.to_string());
        let value = line.sample.value.to_string();
        let marks: Vec<&str> = line.marks.iter().map(|m| m.name()).collect();
        let marks = marks.join(" ");
        let mut fields: Vec<&str> = vec![&report.run.name, &trial, &block];
        fields.extend(
            factors
                .iter()
                .map(|f| line.cell.levels.get(f).map_or("", String::as_str)),
        );
        fields.extend([
            line.sample.phase.as_str(),
            &line.sample.metric,
            clock_name(line.sample.clock),
            &value,
            &line.sample.unit,
            &marks,
            &timing,
        ]);
        out.push_str(&record(fields));
    }
    // What tracing cost is in no table.
    let cost_of = report
        .cost
        .iter()
        .filter(|_| report.options.part != Part::Tables);
    let costs = cost_of.flat_map(|cost| &cost.pairs);
    for pair in costs {
        out.push_str(&cost(report, pair, &factors, &timing));
    }
    for growth in &report.growths {
        for curve in &growth.curves {
            for (metric, value, unit, mark) in derived(growth, curve) {
                let level = |f: &String| curve.levels.get(f).map_or("", String::as_str);
                let mut fields: Vec<&str> = vec![&report.run.name, "", ""];
                fields.extend(factors.iter().map(level));
                let (clock, value) = (clock_name(growth.clock), value.to_string());
                fields.extend([&growth.phase, &metric, clock, &value, unit, mark, &timing]);
                out.push_str(&record(fields));
            }
        }
    }
    out
}

/// The rows of what tracing cost in one phase: the ratio and the ends of its interval.
fn cost(report: &Report<'_>, pair: &Pair, factors: &[String], timing: &str) -> String {
    let cells = &report.run.plan.cells;
    let cell = cells.iter().find(|c| Some(c.id) == pair.traced.cell);
    let level = |factor: &String| cell.and_then(|cell| cell.levels.get(factor).cloned());
    let levels = factors
        .iter()
        .map(|factor| level(factor).unwrap_or_default());
    let levels: Vec<String> = levels.collect();
    let Some(versus) = &pair.versus else {
        return String::new();
    };
    let ends = versus
        .interval
        .map(|(low, high)| [("_low", low), ("_high", high)]);
    let all = std::iter::once(("", versus.ratio)).chain(ends.into_iter().flatten());
    let rows = all.map(|(end, value)| {
        let metric = format!("cost_of_tracing_{}{end}", pair.metric);
        let (clock, value) = (clock_name(pair.clock), value.to_string());
        let mut fields: Vec<&str> = vec![&report.run.name, "", ""];
        fields.extend(levels.iter().map(String::as_str));
        fields.extend([
            &pair.phase,
            &metric,
            clock,
            &value,
            "ratio",
            "ratio",
            timing,
        ]);
        record(fields)
    });
    rows.collect()
}

/// Metric, value, unit and mark of everything that the reported laws of a curve say.
fn derived<'a>(growth: &'a Growth, curve: &Curve) -> Vec<(String, f64, &'a str, &'static str)> {
    let mut rows = Vec::new();
    let mut add = |name: &str, estimate: &Estimate, unit: &'a str, mark| {
        let Interval { low, high, .. } = estimate.interval;
        for (end, value) in [("", estimate.value), ("_low", low), ("_high", high)] {
            rows.push((format!("{name}{end}"), value, unit, mark));
        }
    };
    for fit in curve.reported() {
        for (name, estimate) in fit.law.parameters().iter().zip(&fit.parameters) {
            // b has no unit; a and d have that of y for each x.
            let unit = if *name == "c" {
                growth.unit.as_str()
            } else {
                ""
            };
            add(
                &format!("growth_{}_{name}", key(fit.law)),
                estimate,
                unit,
                "law",
            );
        }
    }
    for projection in &curve.projections {
        for (law, estimate) in &projection.laws {
            let name = format!("projection_{}_at_{}", key(*law), projection.x);
            add(&name, estimate, &growth.unit, "projection");
        }
    }
    rows
}

fn key(law: Law) -> &'static str {
    match law {
        Law::Power => "power",
        Law::Linear => "linear",
    }
}
