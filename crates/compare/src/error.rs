//! What can go wrong before anything is compared.

/// An error in one line: what, why, what next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A run that cannot be read.
    #[error(transparent)]
    Record(#[from] record::Error),
    /// A setting that no statistic takes.
    #[error(transparent)]
    Stats(#[from] stats::Error),
    /// A selector that cannot be read, or a store that cannot.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Folders and selectors in one side.
    #[error("{0}: runs and selectors in one side; name the runs, or choose them by selectors")]
    Mixed(String),
    /// A side without runs.
    #[error("{side}: no whole run among {place}; `fslab list` shows the runs and their state")]
    NoRuns {
        /// The side as named.
        side: String,
        /// Where it was looked for.
        place: String,
    },
    /// A run on two sides.
    #[error("{run} is on the side {} and on the side {}; leave it out of one", sides[0], sides[1])]
    OnBothSides {
        /// The run.
        run: String,
        /// Both sides as named.
        sides: [String; 2],
    },
    /// An option with a wrong value.
    #[error("{0}")]
    Option(String),
}

impl Error {
    /// Whether the command line is wrong, and not a file unreadable.
    pub fn is_usage(&self) -> bool {
        match self {
            Error::Record(error) => matches!(
                error,
                record::Error::NotARun { .. } | record::Error::NothingRecorded { .. }
            ),
            Error::Store(error) => error.is_usage(),
            _ => true,
        }
    }
}
