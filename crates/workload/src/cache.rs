//! Evidence of the page cache before a read: what emptied it, and how it was found.

use std::io;

use crate::Evidence;
use crate::residency::Residency;

/// The observer's answer about dropping the caches, or about an unmount.
pub(crate) fn emptied(answer: io::Result<Evidence>) -> Evidence {
    answer.unwrap_or_else(|error| Evidence {
        name: "cold_cache".into(),
        holds: Some(false),
        detail: format!("the caches could not be dropped: {error}"),
    })
}

/// The page cache as a read found it. It always holds, being a statement of what was; unless the
/// cache had to be cold and was not.
pub(crate) fn state(before: &io::Result<Residency>, had_to_be_cold: bool) -> Evidence {
    let (holds, detail) = match before {
        Ok(seen) => (
            Some(!had_to_be_cold || seen.resident == 0),
            format!(
                "{}: {} of {} pages resident, {} dirty",
                seen.state(),
                seen.resident,
                seen.pages,
                seen.dirty
            ),
        ),
        Err(error) => (None, format!("the page cache could not be asked: {error}")),
    };
    Evidence {
        name: "cache_state".into(),
        holds,
        detail,
    }
}

/// Pages of the first file in the page cache: before a phase, and most seen during it.
#[derive(Clone, Copy)]
pub(crate) struct First {
    pub(crate) before: u64,
    pub(crate) most: Option<u64>,
}

/// Whether O_DIRECT kept the files out of the page cache: no more pages after than before, and
/// of the first file none added in between (a fallback to buffered I/O may drop its pages again).
pub(crate) fn direct(
    before: &io::Result<Residency>,
    first: First,
    after: &io::Result<Residency>,
) -> Evidence {
    let (holds, detail) = match (before, after) {
        (Ok(before), Ok(after)) => (
            Some(after.resident <= before.resident && first.most.unwrap_or(0) <= first.before),
            format!(
                "pages resident: {} before, {} after; of the first file {} before, at most {} \
                 seen during the phase",
                before.resident,
                after.resident,
                first.before,
                first.most.map_or("none".into(), |n| n.to_string())
            ),
        ),
        (Err(error), _) | (_, Err(error)) => {
            (None, format!("the page cache could not be asked: {error}"))
        }
    };
    Evidence {
        name: "direct_io_honoured".into(),
        holds,
        detail,
    }
}
