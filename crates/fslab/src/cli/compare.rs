//! `fslab compare`, `fslab history` and `fslab bisect-step` on the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ClockArg, DocumentFormat};

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
    /// Store whose runs selectors choose from, instead of a folder: an SQLite file, or postgresql:///DATABASE?host=FOLDER
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) store: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The sides, the base first. A side is runs (A1,A2,A3), a folder of runs, or selectors that must all hold: study=,
    /// profile=, kernel=, commit=, run= (name or id), id=, machine=, tag.NAME=
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
    /// One self-contained page
    Html,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Name of the study, as in `fslab list`
    pub(crate) study: String,
    /// Only runs that have all of these: profile=, kernel=, commit=, run=, id=, machine=, tag.NAME=
    #[arg(value_name = "SELECTOR")]
    pub(crate) selectors: Vec<String>,
    #[command(flatten)]
    pub(crate) figures: FigureArgs,
    /// Order of the runs
    #[arg(long, value_enum, default_value = "date")]
    pub(crate) by: ByArg,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByArg {
    /// When they began
    Date,
    /// The tag commit, else the commit of fslab, in the order of first appearance
    Commit,
    /// Release of the kernel, lowest first
    Kernel,
}

#[derive(Debug, Args)]
pub(crate) struct BisectArgs {
    /// Runs of a good commit: a side, as of `fslab compare`
    #[arg(long, value_name = "SIDE")]
    pub(crate) good: String,
    /// Runs of a bad commit
    #[arg(long, value_name = "SIDE")]
    pub(crate) bad: String,
    #[command(flatten)]
    pub(crate) figures: FigureArgs,
    /// Build the commit with this shell command first; if it fails, the commit is untestable
    #[arg(long, value_name = "COMMAND")]
    pub(crate) build: Option<String>,
    /// Steps of the whole search, to which the confidence of each is set
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) steps: u32,
    /// Most runs of this step, after which it is untestable
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) most: u32,
    /// Folder for the runs of this step
    #[arg(long, value_name = "DIR", default_value = "fslab-runs/bisect")]
    pub(crate) out: PathBuf,
    /// The command that measures: it makes a run in the folder {out}, as in fslab run STUDY --out {out}
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
