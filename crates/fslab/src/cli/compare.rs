//! `fslab compare`, `fslab history` and `fslab bisect-step` on the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ClockArg;

/// Which figures of which cells.
#[derive(Debug, Args)]
pub(crate) struct FigureArgs {
    /// This metric instead of those that the study prints, as in docs/metrics.md
    #[arg(long)]
    pub(crate) metric: Option<String>,
    /// Clock: original, fsync or syncfs [default: the one that the study prints]
    #[arg(long, value_enum)]
    pub(crate) clock: Option<ClockArg>,
    /// Only this phase
    #[arg(long)]
    pub(crate) phase: Option<String>,
    /// Keep only some levels of a factor (repeatable)
    #[arg(long, value_name = "FACTOR=LEVEL[,LEVEL]")]
    pub(crate) filter: Vec<String>,
    /// A parameter that may differ between compared cells, as in device.limit (repeatable)
    #[arg(long, value_name = "PARAMETER")]
    pub(crate) across: Vec<String>,
    /// Folder of the runs that names and selectors mean
    #[arg(long, value_name = "DIR", default_value = record::folder::RUNS)]
    pub(crate) runs: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The sides, the base first. A side is runs (A1,A2,A3), a folder of runs, or selectors that must all hold: study=,
    /// profile=, kernel=, commit=, id=, machine=, tag.NAME=
    #[arg(required = true, value_name = "SIDE")]
    pub(crate) sides: Vec<String>,
    #[command(flatten)]
    pub(crate) figures: FigureArgs,
    /// End with code 3 when a figure is worse, or is not shown to be not worse by more than the margin
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) fail_on: Option<FailOnArg>,
    /// The margin, as in 5% or 0.05 [default: not-shown: 5%, worse: the study's practical band]
    #[arg(long, value_name = "SHARE", value_parser = ::compare::parse_margin)]
    pub(crate) margin: Option<f64>,
    /// Let --fail-on judge a side of one run, whose trials say nothing of another run
    #[arg(long)]
    pub(crate) one_run: bool,
    /// Print how many runs a side would decide each figure, instead of comparing; one side is enough
    #[arg(long, conflicts_with_all = ["fail_on", "one_run"])]
    pub(crate) plan: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: CompareFormat,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOnArg {
    /// A figure that is worse
    Worse,
    /// A figure that is not shown to be not worse by more than the margin
    NotShown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// Text for people, 78 columns wide
    Text,
    /// One JSON document
    Json,
    /// Markdown
    Md,
    /// JUnit's XML: a test case for each figure of each cell; unclear is skipped
    Junit,
    /// GitLab's Code Quality report
    Gitlab,
    /// Markdown for a GitHub job summary
    Github,
}
