//! Lists of runs: all of them, and those with one study, kernel, machine or tag, so that a list can be filtered without a script.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::address::Address;
use crate::error::Error;
use crate::facts::{Facts, State};
use crate::hash::Hash;
use crate::library::Library;
use crate::render::{Renderer, minute};
use crate::units::Page;

/// Most values of a property that have a list each. A property that differs in almost every run, as a tag with a time, tells
/// nothing by its lists.
const MOST_VALUES: usize = 200;
/// Longest text in a row, in bytes.
const LONGEST: usize = 100;

/// A property and one of its values.
type Filter = (String, String);
/// The places of the runs with each, in the list of all.
type Filters = BTreeMap<Filter, Vec<usize>>;

/// The list of all runs and those of each property.
pub(crate) fn pages(
    renderer: &Renderer,
    library: &Library,
    from: &str,
) -> Result<Vec<Page>, Error> {
    let facts: Vec<&Facts> = library.runs.iter().map(|known| &known.facts).collect();
    let filters = filters(&facts);
    let mut pages = vec![page(
        renderer,
        &filters,
        None,
        &facts,
        library.copies,
        from,
    )?];
    for (filter, places) in &filters {
        let of_it: Vec<&Facts> = places.iter().map(|at| facts[*at]).collect();
        pages.push(page(renderer, &filters, Some(filter), &of_it, 0, from)?);
    }
    Ok(pages)
}

/// The properties of a run, with their values.
fn properties(facts: &Facts) -> Vec<Filter> {
    let own = [
        ("study", &facts.study),
        ("kernel", &facts.kernel),
        ("machine", &facts.machine),
    ];
    let own = own
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.clone()));
    let tags = facts.tags.iter();
    let tags = tags.map(|(name, value)| (format!("tag {name}"), value.clone()));
    own.chain(tags)
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

/// Every value of every property that has not too many.
fn filters(facts: &[&Facts]) -> Filters {
    let mut all = Filters::new();
    for (at, facts) in facts.iter().enumerate() {
        for filter in properties(facts) {
            all.entry(filter).or_default().push(at);
        }
    }
    let mut values: BTreeMap<String, usize> = BTreeMap::new();
    for (name, _) in all.keys() {
        *values.entry(name.clone()).or_default() += 1;
    }
    all.retain(|(name, _), _| values[name] <= MOST_VALUES);
    all
}

fn address(filter: &Filter) -> Address {
    Address::List(Hash::of(&format!("{}\n{}", filter.0, filter.1)))
}

fn page(
    renderer: &Renderer,
    filters: &Filters,
    chosen: Option<&Filter>,
    facts: &[&Facts],
    copies: usize,
    from: &str,
) -> Result<Page, Error> {
    let address = chosen.map_or(Address::Runs, address);
    let root = address.root();
    let title = match chosen {
        None => "Runs".to_owned(),
        Some((name, value)) => format!("Runs: {name} {}", words::cut(value, LONGEST)),
    };
    let mut notes = Vec::new();
    if copies > 0 {
        let copies = match copies {
            1 => "1 folder has a copy of a run and is left out.".to_owned(),
            n => format!("{n} folders have copies of runs and are left out."),
        };
        notes.push(copies);
    }
    let count = |state: fn(&State) -> bool| facts.iter().filter(|one| state(&one.state)).count();
    let view = json!({
        "count": words::plural(facts.len() as u64, "run"),
        "from": from,
        "states": [
            ["whole", count(|state| *state == State::Whole)],
            ["running", count(|state| *state == State::Running)],
            ["incomplete", count(|state| *state == State::Incomplete)],
            ["damaged", count(|state| matches!(state, State::Damaged(_)))],
        ],
        "chosen": chosen.is_some(),
        "filters": menu(filters, chosen, &root),
        "rows": facts.iter().map(|facts| row(renderer, facts, filters, &root)).collect::<Vec<_>>(),
        "notes": notes,
    });
    let body = renderer.page("runs.html", &address, &title, view)?;
    Ok(Page { address, body })
}

/// The properties with links to their lists.
fn menu(filters: &Filters, chosen: Option<&Filter>, root: &str) -> Value {
    let mut menu: Vec<(&str, Vec<Value>)> = Vec::new();
    for (filter, places) in filters {
        let (name, value) = filter;
        let link = json!({
            "to": format!("{root}{}", address(filter).path()),
            "text": words::cut(value, LONGEST),
            "runs": places.len(),
            "current": chosen == Some(filter),
        });
        match menu.last_mut() {
            Some((last, links)) if *last == name => links.push(link),
            _ => menu.push((name, vec![link])),
        }
    }
    // What every run has is first, in the order of the columns.
    let rank = |name: &str| {
        ["study", "kernel", "machine"]
            .iter()
            .position(|known| *known == name)
    };
    menu.sort_by_key(|(name, _)| (rank(name).unwrap_or(usize::MAX), (*name).to_owned()));
    json!(menu)
}

fn row(renderer: &Renderer, facts: &Facts, filters: &Filters, root: &str) -> Value {
    let link = |name: &str, value: &str| {
        let filter = (name.to_owned(), value.to_owned());
        let to = filters
            .contains_key(&filter)
            .then(|| format!("{root}{}", address(&filter).path()));
        json!({ "text": words::cut(value, LONGEST), "to": to })
    };
    let tags = facts.tags.iter().map(|(name, value)| {
        let mut tag = link(&format!("tag {name}"), value);
        tag["name"] = json!(words::cut(name, LONGEST));
        tag
    });
    let why = match &facts.state {
        State::Damaged(why) => words::cut(why, 400).into_owned(),
        _ => String::new(),
    };
    let hash = facts.hash();
    let live = hash
        .as_ref()
        .filter(|_| renderer.serving && facts.state == State::Running);
    json!({
        "name": words::cut(&facts.name, LONGEST),
        "to": hash.as_ref().map(|hash| format!("{root}{}", Address::Run(hash.clone()).path())),
        "live": live.map(|hash| format!("{root}live/{hash}.html")),
        "id": facts.id.get(..12),
        "begun": facts.started.map(minute),
        "study": link("study", &facts.study),
        "profile": words::cut(&facts.profile, LONGEST),
        "kernel": link("kernel", &facts.kernel),
        "machine": link("machine", &facts.machine),
        "commit": words::cut(&facts.commit, 16),
        "trials": format!("{}/{}", facts.finished + facts.failed, facts.total),
        "failed": facts.failed,
        "state": facts.state.word(),
        "why": why,
        "tags": tags.collect::<Vec<_>>(),
    })
}
