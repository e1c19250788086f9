//! Why nothing could be explained: almost only names that the run does not have.

/// Why there is no explanation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A factor, level, phase or metric that does not exist here.
    #[error(
        "{option} {name:?}: no such {what} in this run; {}allowed: {allowed}",
        words::hint(.name, .allowed.split(", "))
    )]
    Unknown {
        /// The option as typed on the command line (`--factor`).
        option: &'static str,
        /// What was asked for.
        name: String,
        /// What kind of thing it names.
        what: &'static str,
        /// Everything that would have been accepted.
        allowed: String,
    },
    /// The run has nothing to compare.
    #[error(
        "run {run}: its plan has one cell, so there is no difference to explain; give a factor two \
         levels, as in [factors] readahead = [256, 4096]"
    )]
    OneCell {
        /// The run's name.
        run: String,
    },
    /// No two cells have a figure in common.
    #[error("run {run}: {why}")]
    NothingToCompare {
        /// The run's name.
        run: String,
        /// Why, and what to change.
        why: String,
    },
}
