//! What lists show of a run.

use std::path::Path;

use record::{Listing, Run, Tags};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hash::Hash;

/// What lists show of a run. It is kept in the manifest, so that an unchanged log is not read again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// SHA-256 of the first line of its log; empty for a damaged one.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its study.
    pub study: String,
    /// Its profile.
    pub profile: String,
    /// fslab's version and commit.
    pub tool: String,
    /// The tag `commit`, else the commit of fslab; may be empty.
    pub commit: String,
    /// Release of the kernel; may be empty.
    pub kernel: String,
    /// Processor model; may be empty.
    pub machine: String,
    /// When it began.
    pub started: Option<jiff::Timestamp>,
    /// The user's tags.
    pub tags: Tags,
    /// Trials finished, failed for good, and of the plan.
    pub finished: u32,
    /// See `finished`.
    pub failed: u32,
    /// See `finished`.
    pub total: u32,
    /// Its state.
    pub state: State,
    /// Its context records: when each was taken, and the hash of its page.
    pub contexts: Vec<(String, Hash)>,
}

/// The state of a run, as [`record::State`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Running,
    Whole,
    Incomplete,
    Damaged(String),
}

impl State {
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            State::Running => "running",
            State::Whole => "whole",
            State::Incomplete => "incomplete",
            State::Damaged(_) => "damaged",
        }
    }
}

impl From<record::State> for State {
    fn from(state: record::State) -> State {
        match state {
            record::State::Running { .. } => State::Running,
            record::State::Whole => State::Whole,
            record::State::Incomplete => State::Incomplete,
            record::State::Damaged { why } => State::Damaged(why),
        }
    }
}

impl Facts {
    /// Of a run that was read. `writer`: the process that writes it.
    pub(crate) fn of(dir: &Path, run: &Run, writer: Option<String>) -> Facts {
        let listing = Listing::of(dir, run, writer);
        let commit = run.tags.get("commit").cloned();
        let contexts = run.contexts.iter();
        Facts {
            tool: run.tool.clone(),
            commit: commit
                .or_else(|| run.commit().map(str::to_owned))
                .unwrap_or_default(),
            kernel: compare::context::kernel(run).unwrap_or_default(),
            machine: compare::context::machine(run).unwrap_or_default(),
            contexts: contexts
                .filter(|(when, _)| has_page(when))
                .map(|(when, context)| (when.clone(), hash_of_context(context)))
                .collect(),
            ..Facts::listed(listing)
        }
    }

    /// Of a folder whose log cannot be read.
    pub(crate) fn damaged(dir: &Path, why: String) -> Facts {
        Facts::listed(Listing::damaged(dir, why))
    }

    fn listed(listing: Listing) -> Facts {
        Facts {
            id: listing.id,
            name: listing.name,
            study: listing.study,
            profile: listing.profile,
            tool: String::new(),
            commit: String::new(),
            kernel: String::new(),
            machine: String::new(),
            started: listing.started,
            tags: listing.tags,
            finished: listing.finished,
            failed: listing.failed,
            total: listing.total,
            state: listing.state.into(),
            contexts: Vec::new(),
        }
    }

    /// The hash in the address of its page; none for a damaged log.
    pub(crate) fn hash(&self) -> Option<Hash> {
        (!self.id.is_empty()).then(|| Hash::of_run(&self.id))
    }
}

/// Whether a context record has a page: that of the start, and those of guest kernels. Each trial has one, too, which is in the log.
pub(crate) fn has_page(when: &str) -> bool {
    when == "start" || when.starts_with("kernel ")
}

/// Items that change by themselves, and those that name the run: they are on no context page.
pub(crate) fn is_of_the_machine(name: &str, item: &Value) -> bool {
    let volatile = item.get("volatile").and_then(Value::as_bool);
    volatile != Some(true) && !["run.command_line", "run.seeds", "run.choice"].contains(&name)
}

/// The hash of a context record's page: of the items on it, so that equal machines share a page.
pub(crate) fn hash_of_context(context: &Value) -> Hash {
    let items = context.get("items").and_then(Value::as_object);
    let mut kept: Vec<String> = items
        .into_iter()
        .flatten()
        .filter(|(name, item)| is_of_the_machine(name, item))
        .map(|(name, item)| {
            let of = |key| item.get(key).cloned().unwrap_or_default();
            format!(
                "{name}\n{}\n{}\n{}\n",
                of("number"),
                of("value"),
                of("source")
            )
        })
        .collect();
    kept.sort();
    Hash::of(&kept.concat())
}
