//! What speaks against the numbers of a run.

use std::collections::BTreeSet;

use record::Status;

use crate::fill::Sources;
use crate::layout::varying;
use crate::model::Mark;
use crate::run_wide::shape;
use crate::sentences::trials_of;

/// One kind of doubt: where it is.
#[derive(Default)]
struct Kind<'a> {
    what: String,
    /// The reason of the first such trial; empty where the kind says it.
    why: &'a str,
    phases: Vec<&'a str>,
    trials: BTreeSet<u32>,
    cells: BTreeSet<u32>,
}

impl Kind<'_> {
    /// `! cold_cache does not hold in read: 3 trials of filesystem=ext4`, `x failed: 1 trial: no space left`.
    fn sentence(&self, sources: &Sources<'_>) -> String {
        let phases = match self.phases.len() {
            0 => String::new(),
            _ => format!(" in {}", self.phases.join(", ")),
        };
        let of = common_levels(sources, &self.cells);
        let why = match self.why {
            "" => String::new(),
            why => format!(": {why}"),
        };
        format!(
            "{}{phases}: {}{of}{why}",
            self.what,
            trials_of(self.trials.len())
        )
    }
}

/// What speaks against the numbers, worst first.
pub(super) fn doubts(sources: &Sources<'_>) -> Vec<String> {
    let run = sources.run;
    let mut all: Vec<String> = Vec::new();
    let finished = |t: &&record::TrialRecord| matches!(t.status, Status::Finished);
    let done = run.trials.iter().filter(finished).count();
    let replaced = |t: &&record::TrialRecord| matches!(t.status, Status::Replaced { .. });
    let n = run.trials.len() - run.trials.iter().filter(replaced).count();
    if done < n {
        all.push(format!("{done} of {n} planned trials finished"));
    }
    if run.plan.blocks < 5 {
        let blocks = words::plural(u64::from(run.plan.blocks), "block");
        all.push(format!("{blocks}: fewer than 5, so intervals are wide"));
    }
    all.extend(repeats(run));
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    let groups = sources.validity.groups();
    let each = groups
        .iter()
        .flat_map(|g| g.doubts.iter().map(move |d| (g, *d)));
    for (group, doubt) in each {
        let sign = group.mark.sign();
        let (what, why) = match group.mark {
            Mark::Fails => (format!("{sign} {} does not hold", group.name), ""),
            Mark::Busy | Mark::Warning => (format!("{sign} {}", group.text()), ""),
            // A reason that differs in its numbers alone is one.
            Mark::Missing => (format!("{sign} {}", group.name), doubt.detail.as_str()),
            Mark::Unchecked => continue,
        };
        let known = |kind: &Kind<'_>| kind.what == what && shape(kind.why) == shape(why);
        let at = kinds.iter().position(known).unwrap_or_else(|| {
            kinds.push(Kind {
                what,
                why,
                ..Kind::default()
            });
            kinds.len() - 1
        });
        let phase = group
            .phase
            .filter(|phase| !kinds[at].phases.contains(phase));
        kinds[at].phases.extend(phase);
        kinds[at].trials.insert(doubt.trial);
        kinds[at].cells.insert(doubt.cell);
    }
    all.extend(kinds.iter().map(|kind| kind.sentence(sources)));
    all
}

/// Which trials were repeated, and which of them count.
fn repeats(run: &record::Run) -> Vec<String> {
    const LISTED: usize = 3;
    let notes = run.repeat_notes();
    let mut lines: Vec<String> = notes.iter().take(LISTED).cloned().collect();
    if notes.len() > LISTED {
        let more = notes.len() - LISTED;
        lines.push(format!("{more} more repeats: `fslab show` lists them all"));
    }
    lines
}

/// ` of filesystem=btrfs`: the levels that these cells share and others do not have.
fn common_levels(sources: &Sources<'_>, cells: &BTreeSet<u32>) -> String {
    let plan = &sources.run.plan;
    let all: Vec<&study::Cell> = plan.cells.iter().collect();
    let mine: Vec<&study::Cell> = plan
        .cells
        .iter()
        .filter(|c| cells.contains(&c.id))
        .collect();
    let shared = varying(plan, &all).into_iter().filter_map(|factor| {
        let level = mine.first()?.levels.get(&factor)?;
        let same = mine.iter().all(|c| c.levels.get(&factor) == Some(level));
        (same && factor != "workload").then(|| format!("{factor}={level}"))
    });
    let shared: Vec<String> = shared.collect();
    if shared.is_empty() {
        String::new()
    } else {
        format!(" of {}", shared.join(" "))
    }
}
