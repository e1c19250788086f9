//! `fslab import` and `fslab export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct StoreArg {
    /// The store: an SQLite file, or postgresql:///DATABASE?host=FOLDER [default: FSLAB_STORE of the
    /// environment, else fslab-runs/store.sqlite]
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) store: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Folders of runs, or their names in `fslab list`; with --from, files of results
    #[arg(required = true, value_name = "RUN", value_parser = super::run_folder())]
    pub(crate) runs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Make a run of another program's results: the files are its repetitions. With --store it is also imported there
    #[arg(long, value_enum, value_name = "PROGRAM", requires = "out")]
    pub(crate) from: Option<ProgramArg>,
    /// Folder of that run, which must not exist yet
    #[arg(long, value_name = "DIR", requires = "from")]
    pub(crate) out: Option<PathBuf>,
    /// Tag of that run, by which selectors find it (repeatable)
    #[arg(long, value_name = "NAME=VALUE", requires = "from", value_parser = record::tags::parse)]
    pub(crate) tag: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgramArg {
    /// fio's JSON (fio --output-format=json), of version 3 and later
    Fio,
    /// IOR's text
    Ior,
    /// mdtest's text, of one iteration (-i 1) in each file
    Mdtest,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Runs to export, as in kernel=6.1, commit=abc, machine=x, tag.k=v, study=journal, run=NAME or id=DIGITS; with
    /// commas all must hold [default: all runs]
    pub(crate) selector: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Output format
    #[arg(long, value_enum, default_value = "csv")]
    pub(crate) format: ExportFormat,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One row for each sample, with a column for each factor
    Csv,
    /// One JSON object a line for each sample
    Jsonl,
    /// Apache Parquet with flat columns (in builds with this feature)
    Parquet,
}
