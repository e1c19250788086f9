//! The arguments of `fslab fleet`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{DocumentFormat, LiveFormat, StudyArgs, TargetArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Write a run's folder with a script for Slurm, an array element for each block, and submit it
    Submit(Box<FleetSubmitArgs>),
    /// Run one block on this node
    Block(FleetBlockArgs),
    /// Show how far the blocks are
    Status(FleetStatusArgs),
    /// Make one run of the whole blocks
    Gather(FleetStatusArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FleetSubmitArgs {
    #[command(flatten)]
    pub(crate) study: StudyArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Folder of the run, on a filesystem that all nodes share [default: fslab-runs/STUDY-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Blocks that run at the same time, at most
    #[arg(long, value_name = "N", default_value_t = 1000, hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) at_once: u32,
    /// Submit the blocks of this run that have no whole attempt, and nothing else; STUDY is the run's folder
    #[arg(long, conflicts_with_all = ["profile", "set", "filter", "blocks", "seed", "order", "out",
          "dir", "device", "executor", "kernel"])]
    pub(crate) missing: bool,
    /// Write folder and script, and submit nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Keep a word with the run, as in branch=main, by which runs are chosen later (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = record::tags::parse)]
    pub(crate) tag: Vec<(String, String)>,
    /// Options of sbatch, as in -- --partition=x
    #[arg(last = true, value_name = "OPTION")]
    pub(crate) sbatch: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct FleetBlockArgs {
    /// The run's folder
    pub(crate) run: PathBuf,
    /// The block, counted from 0
    pub(crate) block: u32,
    /// What to print on stdout
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: LiveFormat,
}

#[derive(Debug, Args)]
pub(crate) struct FleetStatusArgs {
    /// The run's folder
    pub(crate) run: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}
