//! Progress of a run that is being written.

use record::{Run, Status};
use serde_json::json;

use crate::address::Address;
use crate::assets::{self, Kind};
use crate::error::Error;
use crate::hash::Hash;
use crate::render::Renderer;

/// Most trials whose cells the page names.
const MOST_LABELS: usize = 2000;
/// Longest name of a cell, in bytes.
const LONGEST: usize = 120;

/// The page. It is at `live/HASH.html`, as deep as the page of the run.
pub(crate) fn page(renderer: &Renderer, run: &Run, hash: &Hash) -> Result<String, Error> {
    let address = Address::Run(hash.clone());
    let root = address.root();
    let labels = run.plan.slots.iter().take(MOST_LABELS).map(|slot| {
        let cell = run.plan.cells.get(slot.cell as usize);
        cell.map_or_else(String::new, |cell| {
            words::cut(&cell.label(), LONGEST).into_owned()
        })
    });
    let plan = json!({
        "total": run.plan.slots.len(),
        "labels": labels.collect::<Vec<_>>(),
        "events": format!("{root}events/{hash}"),
    });
    let count = |which: fn(&Status) -> bool| {
        run.trials
            .iter()
            .filter(|trial| which(&trial.status))
            .count()
    };
    let finished = count(|status| *status == Status::Finished);
    let failed = count(|status| matches!(status, Status::Failed(..)));
    let begun = run.trials.iter().zip(&run.plan.slots);
    let current = begun
        .filter(|(trial, _)| trial.started_at.is_some() && trial.status == Status::Pending)
        .map(|(_, slot)| slot.trial)
        .next_back();
    let now = current.map_or_else(
        || "no trial runs yet".to_owned(),
        |trial| format!("trial {}", trial + 1),
    );
    let view = json!({
        "study": words::cut(&run.plan.study, LONGEST),
        "profile": words::cut(&run.plan.profile, LONGEST),
        "finished": finished,
        "failed": failed,
        "done": finished + failed,
        "total": run.trials.len(),
        "most": run.trials.len().max(1),
        "now": now,
        "report": format!("{root}{}", address.path()),
        "live": format!("{root}{}", Address::Asset(assets::asset(Kind::LiveJs)).path()),
        "plan": report::inert_json(&plan.to_string()),
    });
    renderer.page("live.html", &address, &run.name, view)
}
