//! Options of `fslab trace`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use study::Bytes;

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Record what a block device is asked to do, as blktrace does
    Record(RecordArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Block devices
    #[arg(required = true, value_name = "DEV")]
    pub(crate) devices: Vec<PathBuf>,
    /// Folder for DEV.blktrace.CPU and DEV.blktrace.json
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Only these categories of events, as in queue,issue,complete [default: all]
    #[arg(long, value_name = "NAME[,NAME]")]
    pub(crate) actions: Option<String>,
    /// Kernel buffer of each CPU
    #[arg(long, value_name = "SIZE", default_value = "8m")]
    pub(crate) buffer: Bytes,
    /// Stop after this time at the latest
    #[arg(long, value_name = "N")]
    pub(crate) seconds: Option<f64>,
    /// Record while this runs; without it and --seconds: until SIGINT
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
