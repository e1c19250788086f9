//! One JSON document: the run, its tables with summaries and comparisons, and every sample.

mod grid;
mod growth;
mod io;
mod parts;
mod tables;

use serde_json::{Map, Value, json};
use study::{Clock, Plan};

use crate::error::Result;
use crate::facts::{Answer, Fact};
use crate::model::{clock_meaning, clock_name};
use crate::samples::{Line, lines};
use crate::usage::gnu_time;
use crate::{Report, reference, units};

/// Layout version of the document.
pub(crate) const FORMAT: u32 = 1;

/// The report as JSON.
pub(crate) fn print(report: &Report<'_>) -> Result<String> {
    let mut document = document(report)?;
    parts::keep(&mut document, report.options.part);
    if let Some(timing) = &report.timing {
        tag(&mut document, timing);
    }
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// Adds `times` to everything that has a title.
fn tag(value: &mut Value, timing: &str) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(|value| tag(value, timing));
            if map.get("title").is_some_and(Value::is_string) {
                map.insert("times".to_owned(), timing.into());
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| tag(value, timing)),
        _ => {}
    }
}

fn document(report: &Report<'_>) -> Result<Value> {
    let run = report.run;
    let plan = &run.plan;
    let clocks: Map<String, Value> = [Clock::Original, Clock::Fsync, Clock::Syncfs]
        .into_iter()
        .map(|c| {
            (
                clock_name(c).to_owned(),
                json!({"mark": c.mark(), "meaning": clock_meaning(c)}),
            )
        })
        .collect();
    Ok(json!({
        "format": FORMAT,
        "summary": report.summary,
        "run": {
            "name": run.name,
            "id": run.id,
            "tags": run.tags,
            "tool": run.tool,
            "command": run.command,
            "target": run.target,
            "started_at": run.started_at,
            "resumed": run.resumed,
            "whole": run.closing.is_some(),
            "seconds": run.closing.map(|c| c.seconds),
            "peak_rss": run.closing.map(|c| c.peak_rss),
            "notes": run.notes,
            "plan_notes": plan.notes,
        },
        "study": study(plan),
        "repeats": report.published.map(|p| json!({
            "doc": p.document.doc, "citation": p.document.citation(),
            "hardware": p.document.hardware, "kernel": p.document.kernel, "runs": p.document.runs,
            "barriers": p.document.barriers, "stddev": p.document.stddev,
        })),
        "modelled": report.modelled,
        "estimates": report.estimates,
        "clocks": clocks,
        "units": units::legend(report.run),
        "machine": report.machine.iter().map(fact).collect::<Vec<_>>(),
        "contexts": run.contexts,
        "tables": tables::values(&report.tables)?,
        "by_factor": tables::values(&report.crossed)?,
        "grids": report.grids.iter().map(grid::value).collect::<Result<Vec<_>>>()?,
        "growth": report.growths.iter().map(growth::value).collect::<Vec<_>>(),
        "memory": report.memory.as_ref().map(growth::memory),
        "scan": report.scan,
        "why": report.why.as_ref().map(|why| serde_json::to_value(&why.explained)).transpose()?,
        "latency": report.latency.as_ref().map(|found| &found.rows),
        "members": io::members(report),
        "layouts": io::layouts(report)?,
        "traces": io::traces(report),
        "cost_of_tracing": io::cost(report),
        "list": io::list(report),
        "original": io::original(report),
        "references": references(report)?,
        "level": report.options.level,
        "trials": trials(report),
        "doubts": report.validity.doubts.iter().map(|d| json!({
            "mark": d.mark.sign().to_string(), "kind": d.mark, "trial": d.trial, "block": d.block,
            "cell": d.cell, "phase": d.phase, "name": d.name, "detail": d.detail,
        })).collect::<Vec<_>>(),
        "general": report.validity.run_wide.iter().map(|g| json!({
            "kind": g.mark, "of": g.of, "name": g.name, "phase": g.phase, "text": g.text,
            "trials": g.trials,
        })).collect::<Vec<_>>(),
        "notes": report.notes,
        "samples": lines(report).map(|l| sample(&l)).collect::<Vec<_>>(),
    }))
}

fn study(plan: &Plan) -> Value {
    let factors: Vec<Value> = plan
        .factors
        .iter()
        .map(|(name, levels)| json!({"name": name, "levels": levels}))
        .collect();
    json!({
        "name": plan.study,
        "title": plan.title,
        "question": plan.question,
        "profile": plan.profile,
        "seed": plan.seed,
        "order": plan.order,
        "blocks": plan.blocks,
        "band": plan.band,
        "factors": factors,
        "filesystems": plan.filesystems,
    })
}

fn fact(fact: &Fact) -> Value {
    match &fact.answer {
        Answer::Known(value, source) => {
            json!({"name": fact.name, "value": value, "source": source})
        }
        Answer::Absent(reason) => json!({"name": fact.name, "value": null, "reason": reason}),
    }
}

fn trials(report: &Report<'_>) -> Vec<Value> {
    report
        .slots()
        .map(|(slot, trial)| {
            let (status, message) = crate::status(&trial.status);
            json!({
                "trial": slot.trial,
                "block": slot.block,
                "cell": slot.cell,
                "levels": report.run.plan.cells.get(slot.cell as usize).map(|c| &c.levels),
                "status": status,
                "message": message,
                "started_at": trial.started_at,
                "telemetry": trial.telemetry,
                "mounted": &trial.mounted,
                "layouts": &trial.layouts,
                "members": &trial.members,
                "traces": &trial.traces,
                "crash": &trial.crash,
                "estimates": &trial.estimates,
                "phases": trial.phases.iter().map(phase).collect::<Vec<_>>(),
                "evidence": &trial.evidence,
                "warnings": trial.warnings,
                "ledger": trial.ledger,
            })
        })
        .collect()
}

/// A phase with what it used, in GNU time's words too, and what memory management did.
fn phase(phase: &record::Phase) -> Value {
    json!({
        "name": phase.name,
        "begin_ns": phase.begin_ns,
        "end_ns": phase.end_ns,
        "usage": phase.usage,
        "gnu_time": phase.usage.as_ref().map(gnu_time),
        "memory": phase.memory,
    })
}

/// Every raw-device reference as recorded, with the spread of its passes in MB/s.
fn references(report: &Report<'_>) -> Result<Value> {
    let spread = |passes: &[f64]| {
        reference::spread(passes)
            .map(|s| json!({"n": s.n, "min": s.min, "median": s.median, "max": s.max}))
    };
    let one = |r: &record::Reference| {
        let mut value = serde_json::to_value(r)?;
        value["sequential_mb_s"] = json!(spread(&r.sequential));
        value["sequential_direct_mb_s"] = json!(spread(&r.sequential_direct));
        Ok(value)
    };
    let all = report.run.references.iter().map(one);
    Ok(json!({
        "devices": all.collect::<Result<Vec<_>>>()?,
        "exceeded": reference::exceeded(report),
    }))
}

fn sample(line: &Line<'_>) -> Value {
    json!({
        "trial": line.trial,
        "block": line.block,
        "cell": line.cell.id,
        "phase": line.sample.phase,
        "metric": line.sample.metric,
        "clock": line.sample.clock,
        "value": line.sample.value,
        "unit": line.sample.unit,
        "marks": line.marks,
    })
}
