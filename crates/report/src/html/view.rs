//! The page's values, in the shape of its template.

use serde_json::{Map, Value, json};
use study::Clock;

use super::{crash, grid, growth, inert_json, io, members, plot, scan, telemetry};
use crate::Report;
use crate::error::Result;
use crate::facts::{Answer, items};
use crate::general::General;
use crate::model::{Difference, Figure, Mark, Row, Table, clock_meaning};
use crate::numbers::{range, ratio, short};
use crate::text::{
    begun, decimals, family, few, few_blocks, meaning, method, order, table_warnings, time_lines,
    trials, trials_of,
};
use crate::trust::Group;
use crate::units;

/// Groups of at most so many doubts are open from the start.
const OPEN: usize = 6;

/// Everything the template asks for, but for the embedded files.
pub(super) fn page(report: &Report<'_>) -> Result<Map<String, Value>> {
    let run = report.run;
    let plan = &run.plan;
    let mut view = Map::new();
    let mut put = |name: &str, value: Value| view.insert(name.to_owned(), value);
    put("title", json!(plan.title));
    put("question", json!(plan.question));
    put("study", json!(plan.study));
    put("profile", json!(plan.profile));
    put("run", json!(run.name));
    put("tool", json!(run.tool));
    put("command", json!(run.command.join(" ")));
    put("strip", strip(report));
    put("alarms", alarms(report));
    put("level", json!(short_percent(report.options.level)));
    put("band", json!(short_percent(plan.band)));
    put("few", json!(few(report)));
    put("method", json!(method(report)));
    put("units", json!(units::legend(report.run)));
    put("clocks", clocks());
    put("repeats", repeats(report));
    let tables: Vec<Value> = report
        .tables
        .iter()
        .enumerate()
        .map(|(index, t)| table(report, index, t))
        .collect();
    put("tables", json!(tables));
    put("elapsed", json!(crate::usage::ELAPSED));
    put("grids", grid::grids(report));
    put("growths", growth::growths(report));
    put("memory", growth::memory(report));
    put("scan", scan::value(report));
    put("crash", crash::value(report));
    put("members", members::value(report));
    put("list", io::list(report));
    put("why", io::why(report));
    put("layout", io::layout(report));
    put("traces", io::traces(report));
    put("references", grid::references(report));
    put("tally", tally(report));
    let doubts: Vec<Value> = report
        .trust
        .groups()
        .iter()
        .map(|g| doubt(report, g))
        .collect();
    put("doubts", json!(doubts));
    put("notes", json!(notes(report)));
    put("variants", variants(report));
    put("order", json!(order(report)));
    put("trials", json!(trials(report)));
    put("order_rows", order_rows(report));
    put("context", context(report));
    for (name, value) in series(report)? {
        put(name, value);
    }
    Ok(view)
}

/// Lines of the evidence section that mark no number.
fn notes(report: &Report<'_>) -> Vec<String> {
    let general = report.trust.general.iter().map(General::sentence);
    let run = report.run;
    let notes = run.plan.notes.iter().chain(&run.notes);
    let notes = notes.chain(&report.notes).cloned();
    general.chain(notes).chain(time_lines(report)).collect()
}

fn short_percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What readers ask first.
fn strip(report: &Report<'_>) -> Value {
    let run = report.run;
    let mut strip = vec![
        json!({"name": "run", "value": run.name}),
        json!({"name": "begun", "value": begun(report)}),
        json!({"name": "trials", "value": trials(report)}),
        json!({"name": "order", "value": order(report)}),
        json!({"name": "target", "value": run.target}),
    ];
    for fact in &report.machine {
        let value = match &fact.answer {
            Answer::Known(text, _) => text.clone(),
            Answer::Absent(reason) => format!("absent: {reason}"),
        };
        strip.push(json!({"name": fact.name, "value": value}));
    }
    json!(strip)
}

/// What a reader must see before any number.
fn alarms(report: &Report<'_>) -> Value {
    let grave: Vec<Value> = report
        .trust
        .groups()
        .iter()
        .filter(|g| matches!(g.mark, Mark::Fails | Mark::Missing))
        .map(|g| {
            let phase = g.phase.map_or(String::new(), |p| format!(" in {p}"));
            json!({
                "sign": g.mark.sign().to_string(),
                "text": format!("{}{phase}: {}, {}{}", g.name, g.mark.meaning(), trials_of(g.doubts.len()), why_it_matters(g)),
            })
        })
        .collect();
    json!(grave)
}

/// `: O_DIRECT was asked for and ...`, for evidence that fails and whose name does not say it.
fn why_it_matters(group: &Group<'_>) -> String {
    let why = meaning(group.name).filter(|_| group.mark == Mark::Fails);
    why.map_or_else(String::new, |why| format!(": {why}"))
}

fn clocks() -> Value {
    let all: Vec<Value> = [Clock::Original, Clock::Fsync, Clock::Syncfs]
        .into_iter()
        .map(|c| json!({"mark": c.mark(), "meaning": clock_meaning(c)}))
        .collect();
    json!(all)
}

fn repeats(report: &Report<'_>) -> Value {
    report.published.map_or(Value::Null, |p| {
        let d = &p.document;
        json!({
            "short": d.short(), "citation": d.citation(), "hardware": d.hardware,
            "kernel": d.kernel, "runs": d.runs, "stddev": d.stddev, "barriers": d.barriers,
        })
    })
}

fn table(report: &Report<'_>, index: usize, table: &Table) -> Value {
    let columns: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
    let plots: Vec<Value> = table
        .rows
        .iter()
        .map(|row| {
            json!({
                "label": row.label, "unit": row.unit, "clock": clock(row),
                "few": few_blocks(table, row), "svg": plot::row(table, row),
            })
        })
        .collect();
    let rows: Vec<Value> = table
        .rows
        .iter()
        .map(|row| {
            let figures: Vec<Value> = table
                .columns
                .iter()
                .zip(&row.figures)
                .enumerate()
                .map(|(at, (column, f))| figure(report, &column.name, row, f, at == table.base))
                .collect();
            json!({
                "label": row.label, "unit": row.unit, "clock": clock(row),
                "few": few_blocks(table, row), "figures": figures,
            })
        })
        .collect();
    let warnings: Vec<Value> = table_warnings(table)
        .into_iter()
        .map(|(row, column, text)| json!({"row": row, "column": column, "text": text}))
        .collect();
    let factor: Vec<&str> = table
        .columns
        .first()
        .map(|c| c.fixed.keys().map(String::as_str).collect())
        .unwrap_or_default();
    json!({
        "id": format!("table-{}", index + 1),
        "title": table.title,
        "short": if table.subtitle.contains('=') { format!("{} ({})", table.title, table.subtitle) } else { table.title.clone() },
        "subtitle": table.subtitle,
        "base": table.base_name(),
        "family": family(table),
        "coverage": table.coverage(),
        "factor": factor.join(" "),
        "columns": columns,
        "published": table.has_published(),
        "plots": plots,
        "rows": rows,
        "warnings": warnings,
    })
}

fn clock(row: &Row) -> &'static str {
    row.clock.map_or("", Clock::mark)
}

fn figure(report: &Report<'_>, column: &str, row: &Row, figure: &Figure, is_base: bool) -> Value {
    let summary = figure.summary.as_ref();
    let digits = decimals(row);
    let dash = || "–".to_owned();
    let versus = figure.versus.as_ref();
    let (verdict, class) = match (versus, is_base) {
        (_, true) => ("base".to_owned(), "none"),
        (None, false) => (dash(), "none"),
        (Some(v), false) => (
            format!("{} {}", v.difference.sign(), v.difference.name()),
            match v.difference {
                Difference::Unclear | Difference::Same => "none",
                Difference::Better | Difference::Higher => "better",
                Difference::Worse | Difference::Lower => "worse",
            },
        ),
    };
    let published = figure.published;
    json!({
        "column": column,
        "mean": summary.map_or_else(dash, |s| format!("{:.digits$}", s.mean)),
        "stddev": summary.map(|s| s.stddev.map_or_else(dash, |d| format!("{d:.digits$}"))),
        "median": summary.map_or_else(dash, |s| short(s.median)),
        "interval": summary
            .and_then(|s| s.median_interval.as_ref())
            .map_or_else(dash, |i| range(i.low, i.high, short)),
        "n": summary.map_or(0, |s| s.n),
        "ratio": versus.map_or_else(|| if is_base { "1".to_owned() } else { dash() }, |v| ratio(v.ratio)),
        "ratio_interval": versus
            .and_then(|v| v.interval)
            .map_or_else(String::new, |(low, high)| range(low, high, ratio)),
        "verdict": verdict,
        "class": class,
        "p": versus.map_or_else(String::new, |v| p_value(v.p_adjusted.or(v.p))),
        "published": published.map_or_else(dash, |p| match p.stddev {
            Some(stddev) => format!("{:.1} ({stddev:.1})", p.value),
            None => format!("{:.1}", p.value),
        }),
        "published_ratio": published.map_or_else(dash, |p| p.ratio.map_or_else(|| "base".to_owned(), ratio)),
        "ratio_of_ratios": published.and_then(|p| p.ratio_of_ratios).map_or_else(String::new, ratio),
        "signs": figure.signs(),
        "why": why(report, row, figure),
    })
}

fn p_value(p: Option<f64>) -> String {
    match p {
        None => String::new(),
        Some(p) if p < 0.0001 => "<0.0001".to_owned(),
        Some(p) => format!("{p:.4}"),
    }
}

/// The doubts of a figure in words.
fn why(report: &Report<'_>, row: &Row, figure: &Figure) -> String {
    let mut names: Vec<String> = report
        .trust
        .doubts
        .iter()
        .filter(|d| Some(d.cell) == figure.cell)
        .filter(|d| match (&d.phase, &row.phase) {
            (Some(of), Some(phase)) => of == phase,
            _ => true,
        })
        .map(|d| format!("{}: {} in block {}", d.name, d.detail, d.block + 1))
        .collect();
    names.dedup();
    names.join("; ")
}

fn tally(report: &Report<'_>) -> Value {
    let rows: Vec<Value> = report
        .trust
        .tally
        .iter()
        .map(|(name, t)| {
            json!({"name": name, "holds": t.holds, "fails": t.fails, "unchecked": t.unchecked})
        })
        .collect();
    json!(rows)
}

fn cell_label(report: &Report<'_>, cell: u32) -> String {
    report
        .run
        .plan
        .cells
        .get(cell as usize)
        .map_or_else(|| format!("cell {cell}"), study::Cell::label)
}

fn doubt(report: &Report<'_>, group: &Group<'_>) -> Value {
    let trials: Vec<String> = group
        .doubts
        .iter()
        .map(|d| {
            let place = format!(
                "trial {}, block {}, {}",
                d.trial + 1,
                d.block + 1,
                cell_label(report, d.cell)
            );
            // A warning's text stands above the list.
            match d.mark {
                Mark::Warning => place,
                _ => format!("{place}: {}", d.detail),
            }
        })
        .collect();
    json!({
        "sign": group.mark.sign().to_string(),
        "name": group.name,
        "phase": group.phase.filter(|_| group.mark != Mark::Warning),
        "meaning": group.says(),
        "count": trials_of(group.doubts.len()),
        "open": group.doubts.len() <= OPEN && matches!(group.mark, Mark::Fails | Mark::Missing),
        "trials": trials,
    })
}

fn variants(report: &Report<'_>) -> Value {
    let mut rows = Vec::new();
    for variant in &report.variants {
        if variant.seen.is_empty() {
            rows.push(json!({"name": variant.name, "driver": "not recorded: no trial of it was mounted", "trials": 0}));
        }
        for (served, trials) in &variant.seen {
            let mkfs = match served.mkfs.as_str() {
                "" => "was there before the run".to_owned(),
                mkfs => format!("{mkfs} ({})", served.mkfs_version),
            };
            rows.push(json!({
                "name": variant.name, "driver": served.driver, "asked": served.asked, "options": served.options,
                "mkfs": mkfs, "features": served.features, "trials": trials,
            }));
        }
    }
    json!(rows)
}

fn order_rows(report: &Report<'_>) -> Value {
    let rows: Vec<Value> = report
        .slots()
        .map(|(slot, trial)| {
            let (status, message) = crate::status(&trial.status);
            let bad = trial.evidence.iter().filter(|e| e.holds == Some(false)).count();
            let open = trial.evidence.iter().filter(|e| e.holds.is_none()).count();
            let mut summary = format!("{} items", trial.evidence.len());
            if bad > 0 {
                summary.push_str(&format!(", {bad} do not hold"));
            }
            if open > 0 {
                summary.push_str(&format!(", {open} not checked"));
            }
            let evidence: Vec<Value> = trial
                .evidence
                .iter()
                .map(|e| {
                    let (holds, class) = match e.holds {
                        Some(true) => ("holds", ""),
                        Some(false) => ("does not hold", "fails"),
                        None => ("not checked", ""),
                    };
                    json!({"name": e.name, "phase": e.phase, "holds": holds, "class": class, "detail": e.detail})
                })
                .collect();
            let clean = status == "finished" && bad == 0;
            let seconds = |s: f64| if s > 0.0 { format!("{s:.2}") } else { String::new() };
            json!({
                "trial": slot.trial,
                "block": slot.block + 1,
                "cell": cell_label(report, slot.cell),
                "status": match message { Some(m) => format!("{status}: {m}"), None => status.to_owned() },
                "class": if clean { "" } else { "fails" },
                "begun": trial.started_at.map_or_else(String::new, |t| t.strftime("%H:%M:%S").to_string()),
                "workload": seconds(trial.ledger.workload),
                "total": seconds(trial.ledger.total),
                "summary": summary,
                "evidence": evidence,
                "times": grid::times(trial),
            })
        })
        .collect();
    json!(rows)
}

/// Items of the start, with the value of the end where it differs.
fn context(report: &Report<'_>) -> Value {
    let read = |when: &str| report.run.contexts.get(when).map(items).unwrap_or_default();
    let end = read("end");
    let rows: Vec<Value> = read("start")
        .into_iter()
        .map(|item| {
            let later = end
                .iter()
                .find(|e| e.name == item.name)
                .and_then(|e| e.value.clone())
                .filter(|v| Some(v) != item.value.as_ref());
            json!({
                "name": item.name,
                "value": item.value,
                "reason": item.reason.unwrap_or_else(|| "no reason was recorded".to_owned()),
                "source": item.source,
                "end": later,
            })
        })
        .collect();
    json!(rows)
}

/// The time series: their data, and which trials have none.
fn series(report: &Report<'_>) -> Result<Vec<(&'static str, Value)>> {
    let mut shown = Vec::new();
    let mut missing = Vec::new();
    if let Some(dir) = report.dir {
        for (slot, trial) in report.slots().filter(|(_, t)| t.started_at.is_some()) {
            let label = format!(
                "{}, block {}: {}",
                slot.trial,
                slot.block + 1,
                cell_label(report, slot.cell)
            );
            match telemetry::trial(dir, trial, &label) {
                Ok(value) => shown.push(value),
                Err(why) => missing.push(format!("{label}: {why}")),
            }
        }
    }
    let about = match (report.dir, shown.len()) {
        (None, _) => "the report was made without the run's folder.".to_owned(),
        (Some(_), 0) => "no trial has a telemetry file that can be read.".to_owned(),
        (Some(_), n) => format!(
            "{}, counters of /proc and /sys as rates, at most {} points each.",
            trials_of(n),
            140
        ),
    };
    let count = shown.len();
    let data = serde_json::to_string(&json!({ "trials": shown }))?;
    Ok(vec![
        ("telemetry_trials", json!(count)),
        ("telemetry_about", json!(about)),
        ("telemetry_missing_count", json!(trials_of(missing.len()))),
        ("telemetry_missing", json!(missing)),
        ("telemetry_json", json!(inert_json(&data))),
    ])
}
