//! `fslab explain` on the command line.

use std::path::PathBuf;

use clap::Args;

use super::{ClockArg, DocumentFormat, run_folder};

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The run's folder, or its name in `fslab list`
    #[arg(value_parser = run_folder())]
    pub(crate) run: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
    /// Compare along this factor, not as the study's tables do (repeatable)
    #[arg(long, value_name = "FACTOR")]
    pub(crate) factor: Vec<String>,
    /// Level to compare the others with [default: the first of each factor]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) base: Option<String>,
    /// Keep only some levels of a factor (repeatable)
    #[arg(long, value_name = "FACTOR=LEVEL[,LEVEL]")]
    pub(crate) filter: Vec<String>,
    /// Only this phase, as in docs/metrics.md
    #[arg(long)]
    pub(crate) phase: Option<String>,
    /// This metric instead of those of the study's tables
    #[arg(long)]
    pub(crate) metric: Option<String>,
    /// Only this clock: original, fsync or syncfs
    #[arg(long, value_enum)]
    pub(crate) clock: Option<ClockArg>,
    /// Explain the trials that an unfinished run has so far
    #[arg(long)]
    pub(crate) partial: bool,
}
