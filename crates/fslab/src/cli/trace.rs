//! Options of `fslab trace`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use study::Bytes;

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Record a block trace, as blktrace does
    Record(RecordArgs),
    /// Report a block trace: as a summary, blkparse's text, btt's tables, JSON, CSV, or a page with plots
    Report(TraceReportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Block devices
    #[arg(required = true, value_name = "DEV")]
    pub(crate) devices: Vec<PathBuf>,
    /// Folder for DEV.blktrace.CPU and DEV.blktrace.json
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Categories of events to record, as in queue,issue,complete [default: all]
    #[arg(long, value_name = "NAME[,NAME]")]
    pub(crate) actions: Option<String>,
    /// Size of the kernel buffer of each CPU
    #[arg(long, value_name = "SIZE", default_value = "8m")]
    pub(crate) buffer: Bytes,
    /// Stop after this many seconds at the latest
    #[arg(long, value_name = "N")]
    pub(crate) seconds: Option<f64>,
    /// Record while this command runs [default: until --seconds or SIGINT]
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct TraceReportArgs {
    /// Traces by their bases, as blkparse -i takes them (sda for sda.blktrace.0, ...), or a folder of
    /// them; several are read as one
    #[arg(required = true, value_name = "BASE")]
    pub(crate) bases: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TraceFormat,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write all files that btt can write (iostat, latencies, seeks, ...) into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) files: Option<PathBuf>,
    /// Only events from this time on, seconds from the first (btt -t)
    #[arg(long, value_name = "SECONDS")]
    pub(crate) from: Option<f64>,
    /// Only events up to this time (btt -T)
    #[arg(long, value_name = "SECONDS")]
    pub(crate) to: Option<f64>,
    /// Show only these devices, as in 8,0;8,16 (btt -D)
    #[arg(long, value_name = "M,N", value_delimiter = ';', value_parser = device)]
    pub(crate) devices: Vec<u32>,
    /// Show only these processes, as in dd,fio (btt -e)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) processes: Vec<String>,
    /// File of device names: lines that start with a name and end with M,N (btt -M)
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Option<PathBuf>,
    /// Ignore remaps (btt -r)
    #[arg(long)]
    pub(crate) no_remaps: bool,
    /// Reproduce btt's results where fslab's differ on purpose
    #[arg(long)]
    pub(crate) as_btt: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    /// Summary for a mail, 78 columns: lost events, sizes, latency quantiles, seeks, processes and purposes
    Text,
    /// The same as GitHub Markdown
    Md,
    /// Every event and the summary, in blkparse's default format
    Blkparse,
    /// btt --all-data's tables and ranges
    Btt,
    /// One JSON document
    Json,
    /// One row for each figure: table, device or process, direction, metric, value, unit
    Csv,
    /// One self-contained page with plots
    Html,
}

/// A device's numbers: major << 20 | minor.
pub(crate) fn device(text: &str) -> Result<u32, String> {
    let numbers = text.split_once(',').and_then(|(major, minor)| {
        let (major, minor) = (
            major.trim().parse::<u32>().ok()?,
            minor.trim().parse::<u32>().ok()?,
        );
        (major < 1 << 12 && minor < 1 << 20).then_some(major << 20 | minor)
    });
    numbers.ok_or_else(|| "give major and minor number, as in 8,0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_devices() {
        assert_eq!(device("8,16"), Ok((8 << 20) | 16));
        assert_eq!(device("259, 1048575"), Ok((259 << 20) | 0xf_ffff));
        for bad in ["", "8", "8,", "sda", "4096,0", "8,1048576", "-1,0"] {
            assert!(device(bad).is_err(), "{bad}");
        }
    }
}
