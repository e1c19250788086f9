//! Units of a site: the pages that are made together because they are made of the same things.

use compare::{Side, SideRun};
use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::error::Error;
use crate::groups::{self, Pair};
use crate::hash::Hash;
use crate::library::{Known, Library};
use crate::pages;
use crate::render::Renderer;

/// A page.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub address: Address,
    pub body: String,
}

/// Pages that were made together.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub pages: Vec<Page>,
    pub summary: Summary,
}

/// What lists show of a unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Summary {
    /// A run: what lists show is in its facts.
    Run,
    /// A study.
    Study {
        /// Its name.
        study: String,
        /// Its whole runs.
        runs: usize,
        /// Its series.
        series: usize,
        /// Nominated steps, in words, each with the hash of its series.
        steps: Vec<(Hash, String)>,
        /// Why there is no history.
        failed: Option<String>,
    },
    /// A comparison.
    Comparison {
        /// The study; empty where a user named the sides.
        study: String,
        /// The sides' names.
        names: [String; 2],
        /// Runs of the sides.
        runs: [usize; 2],
        /// When the newest run began.
        newest: Option<jiff::Timestamp>,
        /// The answer, or why there is none.
        headline: String,
        /// Numbers of verdicts.
        counts: String,
        /// Whether a figure is worse.
        worse: bool,
    },
}

/// A unit to make.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    /// `run 0123456789abcdef`.
    pub key: String,
    /// Hash of all that it is made of.
    pub input: String,
    what: What<'a>,
}

#[derive(Debug)]
enum What<'a> {
    Run {
        known: &'a Known,
        has_series: bool,
    },
    Study {
        study: &'a str,
        runs: Vec<&'a Known>,
    },
    Comparison(&'a Pair),
}

/// Every unit of a site: runs, studies, comparisons.
pub(crate) fn jobs<'a>(
    library: &'a Library,
    pairs: &'a [Pair],
    renderer: &Renderer,
) -> Vec<Job<'a>> {
    let studies = groups::studies(library);
    let runs = library.runs.iter().filter_map(|known| {
        let has_series = studies.contains(&known.facts.study.as_str());
        of_run(known, has_series, renderer)
    });
    let studies = studies
        .iter()
        .map(|study| of_study(library, study, renderer));
    let pairs = pairs.iter().map(|pair| of_pair(pair, renderer));
    runs.chain(studies).chain(pairs).collect()
}

/// The unit of a run; none for one without an id.
pub(crate) fn of_run<'a>(
    known: &'a Known,
    has_series: bool,
    renderer: &Renderer,
) -> Option<Job<'a>> {
    let hash = known.facts.hash()?;
    let parts = [&renderer.version, &known.stamp, &has_series.to_string()];
    Some(Job {
        key: format!("run {hash}"),
        input: input(parts),
        what: What::Run { known, has_series },
    })
}

/// The unit of a study.
pub(crate) fn of_study<'a>(library: &'a Library, study: &'a str, renderer: &Renderer) -> Job<'a> {
    let runs: Vec<&Known> = library.whole_of(study).collect();
    let stamps = runs.iter().map(|known| &known.stamp);
    Job {
        key: format!("study {}", Hash::of(study)),
        input: input(std::iter::once(&renderer.version).chain(stamps)),
        what: What::Study { study, runs },
    }
}

/// The unit of a comparison.
pub(crate) fn of_pair<'a>(pair: &'a Pair, renderer: &Renderer) -> Job<'a> {
    let stamps = pair.runs.iter().flatten().map(|known| &known.stamp);
    let names = pair.names.iter();
    Job {
        key: format!("comparison {}", pair.hash()),
        input: input(
            std::iter::once(&renderer.version)
                .chain(names)
                .chain(stamps),
        ),
        what: What::Comparison(pair),
    }
}

fn input<'s>(parts: impl IntoIterator<Item = &'s String>) -> String {
    let parts: Vec<&str> = parts.into_iter().map(String::as_str).collect();
    Hash::of(&parts.join("\n")).to_string()
}

impl Job<'_> {
    /// Makes the pages.
    ///
    /// # Errors
    /// A log that cannot be read any more; a defect in a template.
    pub(crate) fn make(&self, renderer: &Renderer) -> Result<Unit, Error> {
        match &self.what {
            What::Run { known, has_series } => pages::run::unit(renderer, known, *has_series),
            What::Study { study, runs } => {
                let runs = loaded(runs.iter().copied())?;
                pages::study::unit(renderer, study, runs)
            }
            What::Comparison(pair) => {
                let side = |at: usize| -> Result<Side, Error> {
                    Ok(Side {
                        name: pair.names[at].clone(),
                        runs: loaded(pair.runs[at].iter())?,
                    })
                };
                pages::comparison::unit(renderer, pair, &[side(0)?, side(1)?])
            }
        }
    }
}

/// The runs; one whose log was removed meanwhile is left out.
fn loaded<'k>(runs: impl Iterator<Item = &'k Known>) -> Result<Vec<SideRun>, Error> {
    let mut found = Vec::new();
    for known in runs {
        match known.side_run() {
            Ok(run) => found.push(run),
            Err(Error::Record(record::Error::NotARun { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
