//! A run: its report, and its context records.

use report::{Format, Options, Report};
use serde_json::json;

use crate::address::Address;
use crate::error::Error;
use crate::facts::{State, has_page, hash_of_context};
use crate::hash::Hash;
use crate::library::Known;
use crate::pages::context;
use crate::render::Renderer;
use crate::units::{Page, Summary, Unit};

/// The pages of a run.
pub(crate) fn unit(renderer: &Renderer, known: &Known, has_series: bool) -> Result<Unit, Error> {
    let run = known.load()?;
    let address = Address::Run(Hash::of_run(&run.id));
    let body = report(renderer, known, &run, has_series, &address);
    let body = match body {
        Ok(body) => body,
        // A run of which nothing can be reported yet is still a run.
        Err(Error::Report(error @ report::Error::Template { .. })) => return Err(error.into()),
        Err(error) => failed(renderer, known, &address, &error.to_string())?,
    };
    let mut pages = vec![Page { address, body }];
    for (_, record) in run.contexts.iter().filter(|(when, _)| has_page(when)) {
        let hash = hash_of_context(record);
        pages.push(context::page(renderer, hash, record)?);
    }
    Ok(Unit {
        pages,
        summary: Summary::Run,
    })
}

fn report(
    renderer: &Renderer,
    known: &Known,
    run: &record::Run,
    has_series: bool,
    address: &Address,
) -> Result<String, Error> {
    let options = Options {
        format: Format::Html,
        ..Options::default()
    };
    let report = Report::new(run, known.dir.as_deref(), &options)?;
    let linked = renderer.report(address, links(renderer, known, has_series, address));
    Ok(report::linked(&report, &linked)?)
}

/// Links to what else there is of the run.
fn links(
    renderer: &Renderer,
    known: &Known,
    has_series: bool,
    address: &Address,
) -> Vec<(String, String)> {
    let root = address.root();
    let facts = &known.facts;
    let mut links = Vec::new();
    if has_series {
        let study = Address::Study(Hash::of(&facts.study));
        links.push((
            format!("{root}{}", study.path()),
            "Series of this study".to_owned(),
        ));
    }
    for (when, hash) in &facts.contexts {
        let page = Address::Context(hash.clone());
        links.push((format!("{root}{}", page.path()), format!("Context: {when}")));
    }
    if let (true, Some(hash)) = (renderer.serving, facts.hash()) {
        if facts.state == State::Running {
            links.push((format!("{root}live/{hash}.html"), "Progress".to_owned()));
        }
        links.push((format!("{root}file/{hash}/log"), "Log".to_owned()));
    }
    links
}

/// The page of a run without a report.
fn failed(
    renderer: &Renderer,
    known: &Known,
    address: &Address,
    why: &str,
) -> Result<String, Error> {
    let facts = &known.facts;
    let view = json!({
        "kicker": format!("study {}, profile {}", facts.study, facts.profile),
        "what": "There is no report of this run.",
        "why": why,
    });
    renderer.page("failed.html", address, &facts.name, view)
}
