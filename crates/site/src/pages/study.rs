//! The series of a study, and where their levels step.

use compare::format::phrase;
use compare::history::{By, FEWEST_RUNS, History, NOT_YET, Series, history};
use compare::{Options, SideRun};
use serde_json::{Value, json};

use crate::address::Address;
use crate::error::Error;
use crate::hash::Hash;
use crate::pages::series;
use crate::pages::wording::{figure, name, words_of};
use crate::render::Renderer;
use crate::units::{Page, Summary, Unit};

/// Longest name in a list, in bytes.
const LONGEST: usize = 120;

/// The pages of a study: the list of its series, and each of them.
pub(crate) fn unit(renderer: &Renderer, study: &str, runs: Vec<SideRun>) -> Result<Unit, Error> {
    let count = runs.len();
    let hash = Hash::of(study);
    let address = Address::Study(hash.clone());
    let found = match history(study, runs, By::Date, &Options::default()) {
        Ok(found) => found,
        Err(error) => return failed(renderer, study, count, address, &error.to_string()),
    };
    let mut pages = vec![list(renderer, &found, &hash)?];
    for one in &found.series {
        pages.push(series::page(renderer, &found, one, &hash)?);
    }
    let steps = found.series.iter().flat_map(|one| {
        let steps = one.steps.iter();
        steps.map(move |step| {
            (
                series::hash(one),
                format!("{}: {}", name(one), words_of(step)),
            )
        })
    });
    Ok(Unit {
        summary: Summary::Study {
            study: study.to_owned(),
            runs: found.runs,
            series: found.series.len(),
            steps: steps.collect(),
            failed: None,
        },
        pages,
    })
}

/// A study without a history.
fn failed(
    renderer: &Renderer,
    study: &str,
    runs: usize,
    address: Address,
    why: &str,
) -> Result<Unit, Error> {
    let view =
        json!({ "kicker": "study", "what": "There is no history of this study.", "why": why });
    let body = renderer.page("failed.html", &address, study, view)?;
    Ok(Unit {
        pages: vec![Page { address, body }],
        summary: Summary::Study {
            study: study.to_owned(),
            runs,
            series: 0,
            steps: Vec::new(),
            failed: Some(why.to_owned()),
        },
    })
}

fn list(renderer: &Renderer, found: &History, study: &Hash) -> Result<Page, Error> {
    let address = Address::Study(study.clone());
    let root = address.root();
    let rows: Vec<Value> = found
        .series
        .iter()
        .map(|one| row(one, study, &root))
        .collect();
    let steps: Vec<Value> = found
        .series
        .iter()
        .flat_map(|one| one.steps.iter().map(move |step| (one, step)))
        .map(|(one, step)| {
            json!({
                "to": to(one, study, &root),
                "series": words::cut(&name(one), LONGEST),
                "text": words_of(step),
                "worse": step.worse,
            })
        })
        .collect();
    let few = found.series.iter().filter(|one| !one.enough).count();
    let view = json!({
        "study": found.study,
        "runs": words::plural(found.runs as u64, "run"),
        "rows": rows,
        "steps": steps,
        "few": few,
        "fewest": FEWEST_RUNS,
        "not_yet": NOT_YET,
        "notes": found.notes,
    });
    let title = format!("Series of {}", words::cut(&found.study, LONGEST));
    let body = renderer.page("study.html", &address, &title, view)?;
    Ok(Page { address, body })
}

fn to(one: &Series, study: &Hash, root: &str) -> String {
    let page = Address::Series(study.clone(), series::hash(one));
    format!("{root}{}", page.path())
}

fn row(one: &Series, study: &Hash, root: &str) -> Value {
    let edge = one.points.first().map_or(1.0, |point| point.value);
    let (factor, unit) = phrase::scale(&one.unit, edge);
    let value = |at: Option<&compare::history::Point>| {
        at.map(|point| words::significant(point.value * factor))
    };
    json!({
        "to": to(one, study, root),
        "cell": words::cut(&one.cell, LONGEST),
        "figure": words::cut(&figure(one), LONGEST),
        "unit": unit,
        "runs": one.points.len(),
        "first": value(one.points.first()),
        "last": value(one.points.last()),
        "spread": phrase::share(one.spread),
        "steps": one.enough.then_some(one.steps.len()),
    })
}
