//! The frame of the page: what its template asks for.

use serde_json::{Map, Value, json};
use study::Clock;

use super::first_screen::{self, FirstScreen};
use super::lean::{Lean, STEPS, lean};
use super::{Linked, axes, blocks, inert_json, telemetry};
use crate::Report;
use crate::doc::Section;
use crate::error::Result;
use crate::facts::Answer;
use crate::model::{Mark, clock_meaning};
use crate::options::Part;
use crate::sections::{answer, basis, causes, measured, records, tables};
use crate::sentences::{begun, few, meaning, method, order, trials, trials_of};
use crate::units;
use crate::validity::Group;

/// Tables from which on the list of sections folds them.
const MANY: usize = 24;

/// Everything that the template asks for, but for the embedded files.
pub(super) fn view(report: &Report<'_>, linked: Option<&Linked>) -> Result<Map<String, Value>> {
    let most = linked.map_or(usize::MAX, |linked| linked.content_bytes);
    let steps = STEPS.into_iter();
    let mut views = steps.map(|step| content(report, step));
    let mut view = views.next().unwrap_or_default();
    while bytes(&view) > most {
        match views.next() {
            Some(smaller) => view = smaller,
            None => break,
        }
    }
    if report.options.part.has(Part::Evidence) {
        for (name, value) in series(report, linked)? {
            view.insert(name.to_owned(), value);
        }
    }
    Ok(view)
}

/// Bytes of the sections, which are most of a page.
fn bytes(view: &Map<String, Value>) -> usize {
    let text = |value: &Value| value.as_str().map_or(0, str::len);
    view.values().map(text).sum()
}

/// Everything but the time series.
fn content<'a>(report: &'a Report<'_>, step: Lean) -> Map<String, Value> {
    let run = report.run;
    let plan = &run.plan;
    let part = report.options.part;
    let of = |wanted: Part, sections: Vec<Section<'a>>| -> Vec<Section<'a>> {
        let sections = sections.into_iter().filter(|_| part.has(wanted));
        sections.map(|section| lean(step, section)).collect()
    };
    let mut measured = of(Part::Tables, measured(report));
    let mut tables = of(Part::Tables, tables(report));
    axes::share(&mut measured);
    axes::share(&mut tables);
    let FirstScreen { first, rest } = first_screen::split(of(Part::Summary, answer(report)));
    let causes = of(Part::Why, causes(report));
    let basis = basis(report).into_iter().chain(records(report));
    let basis = of(Part::Evidence, basis.collect());
    let nav = |sections: &[Section<'_>]| -> Vec<Value> { sections.iter().map(link).collect() };
    let printed =
        |sections: &[Section<'_>]| -> String { sections.iter().map(blocks::print).collect() };
    let mut view = Map::new();
    let mut put = |name: &str, value: Value| view.insert(name.to_owned(), value);
    put("title", json!(report.title()));
    put("question", json!(plan.question));
    put("study", json!(plan.study));
    put("profile", json!(plan.profile));
    put("run", json!(run.name));
    put("tool", json!(run.tool));
    put("command", json!(run.command.join(" ")));
    put("recorded", json!(part.has(Part::Evidence)));
    put("strip", strip(report));
    put("alarms", alarms(report));
    put("nav_answer", json!(nav(&first)));
    put("answer", json!(printed(&first)));
    put("nav_rest", json!(nav(&rest)));
    put("rest", json!(printed(&rest)));
    put("nav_measured", json!(nav(&measured)));
    put("nav_tables", json!(nav(&tables)));
    put("nav_causes", json!(nav(&causes)));
    put("nav_basis", json!(nav(&basis)));
    put("many", json!(tables.len() > MANY));
    put("measured", json!(printed(&measured)));
    put("tables", json!(printed(&tables)));
    put("causes", json!(printed(&causes)));
    put("basis", json!(printed(&basis)));
    put("timing", json!(report.timing));
    put("grids", json!(!report.grids.is_empty()));
    put("level", json!(short_percent(report.options.level)));
    put("band", json!(short_percent(plan.band)));
    put("few", json!(few(report)));
    put("method", json!(method(report)));
    put("units", json!(units::legend(run)));
    put("clocks", clocks());
    let repeats = report.published.map(|p| p.document.short());
    put("repeats", json!(repeats));
    view
}

/// A section in the list of sections.
pub(crate) fn link(section: &Section<'_>) -> Value {
    let name = match section.nav.as_str() {
        "" => &section.title,
        nav => nav,
    };
    json!({"id": section.id, "name": name})
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
        .validity
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

/// The time series: their data, and which trials have none.
fn series(report: &Report<'_>, linked: Option<&Linked>) -> Result<Vec<(&'static str, Value)>> {
    let begun = || report.slots().filter(|(_, t)| t.started_at.is_some());
    let (most, points) = linked.map_or((usize::MAX, telemetry::POINTS), |linked| {
        telemetry::within(linked.series_bytes, begun().count())
    });
    let mut left_out = 0;
    let mut shown = Vec::new();
    let mut missing = Vec::new();
    if let Some(dir) = report.dir {
        for (slot, trial) in begun() {
            // The first blocks have a trial of every cell.
            if shown.len() >= most {
                left_out += 1;
                continue;
            }
            let label = format!(
                "{}, block {}: {}",
                slot.trial + 1,
                slot.block + 1,
                report.cell_label(slot.cell)
            );
            match telemetry::trial(dir, trial, &label, points) {
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
            points
        ),
    };
    if left_out > 0 {
        missing.push(format!(
            "{}, to keep the site small; `fslab report RUN --format html` prints a page with all",
            trials_of(left_out)
        ));
    }
    let without = missing.len() - usize::from(left_out > 0) + left_out;
    let count = shown.len();
    let data = serde_json::to_string(&json!({ "trials": shown }))?;
    Ok(vec![
        ("telemetry_trials", json!(count)),
        ("telemetry_about", json!(about)),
        ("telemetry_missing_count", json!(trials_of(without))),
        ("telemetry_missing", json!(missing)),
        ("telemetry_json", json!(inert_json(&data))),
    ])
}
