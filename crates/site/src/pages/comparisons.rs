//! The comparisons of a site.

use serde_json::{Value, json};

use crate::address::Address;
use crate::error::Error;
use crate::groups::MOST;
use crate::hash::Hash;
use crate::render::{Renderer, minute};
use crate::units::{Page, Summary};

/// Longest text in a row, in bytes.
const LONGEST: usize = 200;

/// The list of comparisons, each with its answer.
pub(crate) fn page<'s>(
    renderer: &Renderer,
    summaries: impl Iterator<Item = (Hash, &'s Summary)>,
) -> Result<Page, Error> {
    let address = Address::Comparisons;
    let root = address.root();
    let rows = summaries.filter_map(|(hash, summary)| row(hash, summary, &root));
    let view = json!({ "rows": rows.collect::<Vec<_>>(), "most": MOST });
    let body = renderer.page("comparisons.html", &address, "Comparisons", view)?;
    Ok(Page { address, body })
}

fn row(hash: Hash, summary: &Summary, root: &str) -> Option<Value> {
    let Summary::Comparison {
        study,
        names,
        runs,
        newest,
        headline,
        counts,
        worse,
    } = summary
    else {
        return None;
    };
    Some(json!({
        "to": format!("{root}{}", Address::Comparison(hash).path()),
        "study": words::cut(study, LONGEST),
        "base": words::cut(&names[0], LONGEST),
        "other": words::cut(&names[1], LONGEST),
        "runs": format!("{} | {}", runs[0], runs[1]),
        "newest": newest.map(minute),
        "headline": headline,
        "counts": counts,
        "worse": worse,
    }))
}
