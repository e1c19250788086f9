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
    /// A log of writes: the log device of dm-log-writes, or a copy; the log file of QEMU's blklogwrites
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,
    /// What the device was before the log began: an image or a device; it is only read
    #[arg(value_name = "BASE")]
    pub(crate) base: Option<PathBuf>,
    /// Instead of BASE: the device was blank and had this size, as in 256m
    #[arg(long, value_name = "BYTES")]
    pub(crate) blank: Option<Bytes>,
    /// The filesystem on it
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) filesystem: String,
    /// After what a power cut is tried
    #[arg(long, value_enum, default_value = "flush")]
    pub(crate) boundaries: BoundaryArg,
    /// Judge at most so many, evenly spread; 0: all
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) most: usize,
    /// Begin behind the mark of this name (dmsetup message DEVICE 0 mark NAME)
    #[arg(long, value_name = "NAME", conflicts_with = "from_entry")]
    pub(crate) from_mark: Option<String>,
    /// Begin behind so many entries
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) from_entry: usize,
    /// What recovers each image [default: mount; e2fsck for ext3 and ext4 without root; none for ext2]
    #[arg(long, value_enum)]
    pub(crate) recover: Option<RecoverArg>,
    /// End at the first image that is not clean, and keep it here as the power cut left it
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,
    /// Where images lie while they are judged [default: the folder for temporary files]
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
    /// Each flush: what the device promised to keep, and no more
    Flush,
    /// Each flush and each write that was forced to the medium
    Fua,
    /// Each write
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecoverArg {
    /// The kernel mounts it
    Mount,
    /// e2fsck -p
    E2fsck,
    /// Nothing does
    None,
}
