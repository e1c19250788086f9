//! The studies of a site.

use serde_json::{Value, json};

use crate::address::Address;
use crate::error::Error;
use crate::hash::Hash;
use crate::render::Renderer;
use crate::units::{Page, Summary};

/// Longest text in a row, in bytes.
const LONGEST: usize = 200;

/// The list of studies with their nominated steps.
pub(crate) fn page<'s>(
    renderer: &Renderer,
    summaries: impl Iterator<Item = &'s Summary>,
) -> Result<Page, Error> {
    let address = Address::Studies;
    let root = address.root();
    let rows: Vec<Value> = summaries
        .filter_map(|summary| row(summary, &root))
        .collect();
    let body = renderer.page("studies.html", &address, "Series", json!({ "rows": rows }))?;
    Ok(Page { address, body })
}

fn row(summary: &Summary, root: &str) -> Option<Value> {
    let Summary::Study {
        study,
        runs,
        series,
        steps,
        failed,
    } = summary
    else {
        return None;
    };
    let hash = Hash::of(study);
    let steps = steps.iter().map(|(of, text)| {
        let page = Address::Series(hash.clone(), of.clone());
        json!({ "to": format!("{root}{}", page.path()), "text": words::cut(text, LONGEST) })
    });
    Some(json!({
        "to": format!("{root}{}", Address::Study(hash.clone()).path()),
        "study": words::cut(study, LONGEST),
        "runs": runs,
        "series": series,
        "steps": steps.collect::<Vec<_>>(),
        "failed": failed.as_ref().map(|why| words::cut(why, LONGEST).into_owned()),
    }))
}
