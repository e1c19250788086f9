//! Options of `fslab crash`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use fskind::Kind;
use study::Bytes;

use super::DocumentFormat;

/// The kinds whose recovery after a power cut is tested.
fn kinds() -> PossibleValuesParser {
    let tested = Kind::ALL
        .iter()
        .filter(|kind| kind.properties().crash_tested);
    PossibleValuesParser::new(tested.map(|kind| kind.name()))
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("start").args(["base", "blank"]).required(true)))]
pub(crate) struct CrashArgs {
    /// Log of writes: the log device of dm-log-writes or a copy of it, or the log file of QEMU's blklogwrites
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,
    /// Content of the device before the log started: an image or a device, opened read-only
    #[arg(value_name = "BASE")]
    pub(crate) base: Option<PathBuf>,
    /// Instead of BASE: size of a device that was blank, as in 256m
    #[arg(long, value_name = "BYTES")]
    pub(crate) blank: Option<Bytes>,
    /// Kind of filesystem
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) filesystem: String,
    /// Where to cut the power
    #[arg(long, value_enum, default_value = "flush")]
    pub(crate) boundaries: BoundaryArg,
    /// Check at most N images, evenly spread (0 = all)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) most: usize,
    /// Start after the mark of this name (dmsetup message DEVICE 0 mark NAME)
    #[arg(long, value_name = "NAME", conflicts_with = "from_entry")]
    pub(crate) from_mark: Option<String>,
    /// Start after this many entries
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) from_entry: usize,
    /// How to recover each image [default: mount; e2fsck for ext3 and ext4 without root; none for ext2]
    #[arg(long, value_enum)]
    pub(crate) recover: Option<RecoverArg>,
    /// Stop at the first image that is not clean, and save it here, unrecovered
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,
    /// Folder for images while they are checked [default: the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Kill a checker after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) timeout: u64,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BoundaryArg {
    /// At each flush: only what the device has confirmed as durable
    Flush,
    /// At each flush and each FUA write
    Fua,
    /// At each write
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecoverArg {
    /// Mount by the kernel
    Mount,
    /// e2fsck -p
    E2fsck,
    /// No recovery
    None,
}
