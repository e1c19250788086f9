//! One figure of one cell over the runs of a study.

use compare::format::phrase;
use compare::history::{FEWEST_RUNS, History, NOT_YET, Point, Series, Step};
use serde_json::{Value, json};

use super::wording;
use crate::address::Address;
use crate::chart::{self, Chart, Mark};
use crate::error::Error;
use crate::hash::Hash;
use crate::render::{Renderer, minute};
use crate::units::Page;

/// Most runs in the table; the newest stay.
const MOST_ROWS: usize = 500;
/// Longest name in a row, in bytes.
const LONGEST: usize = 120;

/// The hash in its address: of what it is a series of.
pub(crate) fn hash(one: &Series) -> Hash {
    let times = one.times.to_string();
    let parts = [
        one.cell_id.as_str(),
        &one.phase,
        &one.metric,
        one.clock.mark(),
        &times,
    ];
    Hash::of(&parts.join("\n"))
}

pub(crate) fn page(
    renderer: &Renderer,
    found: &History,
    one: &Series,
    study_hash: &Hash,
) -> Result<Page, Error> {
    let address = Address::Series(study_hash.clone(), hash(one));
    let root = address.root();
    let edge = one.points.first().map_or(1.0, |point| point.value);
    let (factor, unit) = phrase::scale(&one.unit, edge);
    let to = |point: &Point| format!("{root}{}", Address::Run(Hash::of_run(&point.id)).path());
    let marks = one.points.iter().map(|point| Mark {
        label: point.label.clone(),
        title: format!("{} {}", point.run, minute(point.at)),
        to: Some(to(point)),
        low: point.interval.map_or(point.value, |ends| ends[0]) * factor,
        value: point.value * factor,
        high: point.interval.map_or(point.value, |ends| ends[1]) * factor,
    });
    let marks: Vec<Mark> = marks.collect();
    let steps: Vec<(usize, bool)> = one.steps.iter().map(|step| (step.at, step.worse)).collect();
    let chart = Chart {
        about: format!("{} over the runs of {}", wording::name(one), found.study),
        marks: &marks,
        steps: &steps,
    };
    let rows = one.points.iter().rev().take(MOST_ROWS);
    let rows: Vec<Value> = rows.map(|point| row(point, factor, &to(point))).collect();
    let view = json!({
        "study": found.study,
        "study_page": format!("{root}{}", Address::Study(study_hash.clone()).path()),
        "cell": one.cell,
        "figure": wording::figure(one),
        "unit": unit,
        "better": if one.higher_is_better { "more is better" } else { "less is better" },
        "runs": words::plural(one.points.len() as u64, "run"),
        "spread": phrase::share(one.spread),
        "enough": one.enough,
        "fewest": FEWEST_RUNS,
        "not_yet": NOT_YET,
        "chart": chart.svg(),
        "buckets": marks.len() > chart::MOST_MARKS,
        "steps": one.steps.iter().map(step).collect::<Vec<_>>(),
        "rows": rows,
        "left_out": one.points.len().saturating_sub(MOST_ROWS),
        "notes": found.notes,
    });
    let title = words::cut(&wording::name(one), 2 * LONGEST).into_owned();
    let body = renderer.page("series.html", &address, &title, view)?;
    Ok(Page { address, body })
}

fn step(step: &Step) -> Value {
    let p = if step.p_adjusted < 0.0001 {
        "< 0.0001".to_owned()
    } else {
        format!("{:.4}", step.p_adjusted)
    };
    json!({
        "text": wording::words_of(step),
        "worse": step.worse,
        "p": p,
        "confirm": step.confirm,
    })
}

fn row(point: &Point, factor: f64, to: &str) -> Value {
    let shown = |value: f64| words::significant(value * factor);
    json!({
        "to": to,
        "run": words::cut(&point.run, LONGEST),
        "begun": minute(point.at),
        "label": point.label,
        "value": shown(point.value),
        "interval": point.interval.map(|[low, high]| format!("{} .. {}", shown(low), shown(high))),
        "trials": point.trials,
    })
}
