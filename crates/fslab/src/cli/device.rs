//! Options of `fslab device` and `fslab replay`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use study::Bytes;

use super::DocumentFormat;

#[derive(Debug, Subcommand)]
pub(crate) enum DeviceCommand {
    /// List the modelled devices
    List(DeviceListArgs),
    /// Show a device's figures, each with its source
    Show(DeviceShowArgs),
    /// Check a file of devices; --studies and --drives compare models with published and measured numbers
    Check(DeviceCheckArgs),
    /// Print what a device can do by its model, beside what follows from its figures; or fit a model to a real device
    Bench(DeviceBenchArgs),
    /// Serve a device in real time: as a file under a loop device, or by the driver ublk
    Serve(DeviceServeArgs),
}

/// Where devices come from.
#[derive(Debug, Args)]
pub(crate) struct DevicesFile {
    /// A file of further devices (docs/device-files.md); a name that fslab has too is replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) devices_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DeviceListArgs {
    #[command(flatten)]
    pub(crate) devices: DevicesFile,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[derive(Debug, Args)]
pub(crate) struct DeviceShowArgs {
    /// A device of `fslab device list`; NAMExN is N of them, striped at 64 KiB
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) devices: DevicesFile,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[derive(Debug, Args)]
pub(crate) struct DeviceBenchArgs {
    /// A device of `fslab device list`; or the path (with a slash) of a disk or image, which is read for some seconds
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) devices: DevicesFile,
    /// Write the fitted model to this device file
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[derive(Debug, Args)]
pub(crate) struct DeviceCheckArgs {
    /// The file of devices
    #[arg(required_unless_present_any = ["studies", "drives"], conflicts_with = "drives")]
    pub(crate) file: Option<PathBuf>,
    /// Compare the devices of the published studies with the published numbers: errors, intervals, coverage. Those of FILE take the
    /// place of shipped ones
    #[arg(long)]
    pub(crate) studies: bool,
    /// Compare models with the response times of four drives, from DiskSim's validation data in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) drives: Option<PathBuf>,
    /// Compare the rows of this file with models, in place of those of the studies (docs/formats.md)
    #[arg(long, value_name = "FILE", requires = "studies")]
    pub(crate) streams: Option<PathBuf>,
    /// Replays with drawn figures, from which the intervals of --studies come
    #[arg(long, value_name = "N", default_value_t = device::replay::RUNS, value_parser = clap::value_parser!(u32).range(1..=1000), requires = "studies")]
    pub(crate) runs: u32,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("front").args(["fuse", "ublk"]).required(true)))]
pub(crate) struct DeviceServeArgs {
    /// A device of `fslab device list`; NAMExN is N of them, striped at 64 KiB
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) devices: DevicesFile,
    /// Mount a file `disk` in this folder (FUSE; root), for `losetup --direct-io=on`
    #[arg(long, value_name = "DIR")]
    pub(crate) fuse: Option<PathBuf>,
    /// Name of that file
    #[arg(long, value_name = "NAME", default_value = modelled::live::fuse::NAME, value_parser = file_name, requires = "fuse")]
    pub(crate) file_name: String,
    /// Make a disk /dev/ublkbN by the kernel's driver ublk (root, the module ublk_drv)
    #[arg(long)]
    pub(crate) ublk: bool,
    /// Number of that disk [default: the first that is free]
    #[arg(long, value_name = "N", requires = "ublk", value_parser = clap::value_parser!(u32).range(0..1_048_576))]
    pub(crate) number: Option<u32>,
    /// Name that the disk is marked with: a server that starts removes what dead servers of the same mark have left
    #[arg(long, value_name = "NAME", default_value = "fslab", requires = "ublk")]
    pub(crate) mark: String,
    /// Answer each line of standard input with the counters so far, as a line of JSON; answer requests at once until
    /// a line `begin NS [NS_PER_MIB]`, and from then on NS nanoseconds before the model says, a second at most; end with the
    /// input, when the disk is no longer in use
    #[arg(long)]
    pub(crate) controlled: bool,
    /// Keep the bytes in this file, created if missing [default: in memory]
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    /// Size, as in 10g [default: that of the device]
    #[arg(long, value_name = "BYTES")]
    pub(crate) size: Option<Bytes>,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Traces by their bases, as blkparse -i takes them (sda for sda.blktrace.0, ...), or a folder of
    /// them; several are read as one. Or what `fslab check --record` wrote; or a log of dm-log-writes or QEMU's blklogwrites,
    /// for --mode saturate
    #[arg(required = true, value_name = "BASE")]
    pub(crate) bases: Vec<PathBuf>,
    /// The modelled devices: names of `fslab device list`; NAMExN is N of them, striped at 64 KiB
    #[arg(
        long,
        required = true,
        value_name = "NAME[,NAME]",
        value_delimiter = ','
    )]
    pub(crate) device: Vec<String>,
    #[command(flatten)]
    pub(crate) devices: DevicesFile,
    /// What is kept of the trace
    #[arg(long, value_enum, default_value = "dependent")]
    pub(crate) mode: ModeArg,
    /// Requests in flight in the mode saturate
    #[arg(long, value_name = "N", default_value_t = modelled::DEPTH, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) depth: u32,
    /// Longest time between a completion and a submission that waited for it, in ms [default: the
    /// larger of 1 and the 95th percentile of all]
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub(crate) think_limit: Option<u64>,
    /// Multiply processor times by this: 3 for a processor a third as fast
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = factor)]
    pub(crate) cpu: f64,
    /// Which events are requests [default: issue for a disk or an SSD, queue where an array is among the
    /// devices]
    #[arg(long, value_enum)]
    pub(crate) from: Option<FromArg>,
    /// Where requests go on a device that is smaller than the recorded one
    #[arg(long, value_enum, default_value = "keep")]
    pub(crate) place: PlaceArg,
    /// Replay only this device of the trace, as in 8,0
    #[arg(long, value_name = "M,N", value_parser = super::trace::device)]
    pub(crate) traced: Option<u32>,
    /// Replay a trace that lost events, or a log that ends early
    #[arg(long)]
    pub(crate) incomplete: bool,
    /// Replays with drawn figures, from which the interval comes
    #[arg(long, value_name = "N", default_value_t = device::replay::RUNS, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) runs: u32,
    /// Replay the whole of a long trace in every run and mode, not a sample of stretches
    #[arg(long)]
    pub(crate) whole: bool,
    /// Seed of the random draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Each request at its recorded time: latency under this load
    Open,
    /// As many requests in flight as recorded: jobs with a fixed queue depth, such as fio
    Closed,
    /// Each request after what its process waited for: how long the same job takes
    Dependent,
    /// All requests, with --depth of them in flight: the device's bound
    Saturate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FromArg {
    /// Requests as the recorded kernel merged them
    Issue,
    /// Bios, merged anew: for another topology. Of a log of writes: the writes, merged
    Queue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlaceArg {
    /// Where they were; what does not fit is refused
    Keep,
    /// In proportion to the sizes
    Scale,
    /// Modulo the size of the device
    Wrap,
}

/// A factor of times.
pub(crate) fn factor(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|factor| (0.0..=10_000.0).contains(factor))
        .ok_or_else(|| "give a number from 0 to 10000, as in 3 or 0.5".to_owned())
}

/// The name of a file in a folder.
fn file_name(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty() && text.len() <= 255 && !text.contains(['/', '\0']);
    (is_name && text != "." && text != "..")
        .then(|| text.to_owned())
        .ok_or_else(|| "give a name of 1 to 255 bytes without a slash".to_owned())
}

/// Milliseconds as ns.
fn milliseconds(text: &str) -> Result<u64, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|ms| (0.0..=86_400_000.0).contains(ms))
        .map(|ms| (ms * 1e6) as u64)
        .ok_or_else(|| "give milliseconds from 0 to 86400000, as in 5 or 0.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_and_times_have_bounds() {
        assert_eq!(factor("3"), Ok(3.0));
        assert_eq!(milliseconds("0.5"), Ok(500_000));
        assert_eq!(file_name("disk"), Ok("disk".into()));
        assert!(file_name("a/b").is_err() && file_name("..").is_err() && file_name("").is_err());
        for bad in ["-1", "nan", "inf", "x", ""] {
            assert!(factor(bad).is_err() && milliseconds(bad).is_err(), "{bad}");
        }
    }
}
