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
