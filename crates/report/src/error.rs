//! What can go wrong while a report is made: almost only names that the run does not have.

/// Why no report was made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A factor, level, table, column or format that does not exist here, as
    /// [`explain::Error::Unknown`] has it.
    #[error(transparent)]
    Unknown(#[from] explain::Error),
    /// An option whose text is not of the right form.
    #[error("{option} {text:?}: {why}")]
    Malformed {
        /// The option as typed.
        option: &'static str,
        /// What was given.
        text: String,
        /// What is wrong and what would be right.
        why: &'static str,
    },
    /// Options that leave nothing to print.
    #[error("nothing to report: {why}")]
    Empty {
        /// Which options exclude everything, and what to change.
        why: String,
    },
    /// A defect in an embedded template or data file: tests keep it from being released.
    #[error("report template {name}: {source}")]
    Template {
        /// Which template.
        name: &'static str,
        /// minijinja's error.
        source: minijinja::Error,
    },
    /// Serialising failed; with these types that means a defect.
    #[error("report as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
