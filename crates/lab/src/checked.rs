//! The result of a check: of the filesystem's own checker, or of a reader of metadata.

use record::{Event, Evidence, Sample};

/// What a check gives to its trial.
pub(crate) struct Checked {
    /// Its phases, for the log.
    pub(crate) events: Vec<Event>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) evidence: Vec<Evidence>,
    /// Why the trial cannot count, in one line.
    pub(crate) failure: Option<String>,
}
