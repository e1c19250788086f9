//! The command line, as clap sees it. Values stay as typed here, or the libraries read them; those judge them, too.

use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

mod alone;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod crash;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod forge;
pub(crate) mod kernel;
pub(crate) mod layout;
pub(crate) mod trace;

pub(crate) use bench::BenchCommand;
pub(crate) use check::CheckArgs;
pub(crate) use crash::CrashArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use explain::ExplainArgs;
pub(crate) use forge::{ForgeArgs, ForgeCommand, ForgeOutput, FsTypeArg, HashArg};
pub(crate) use kernel::{
    KernelAddArgs, KernelCommand, KernelFetchArgs, KernelListArgs, KernelProbeArgs, MirrorArgs,
};
pub(crate) use layout::{LayoutArgs, LayoutFormat};
pub(crate) use trace::{RecordArgs, TraceCommand};

/// A filesystem laboratory for Linux.
///
/// Runs whole experiments on real filesystems and prints tables fit for a mailing list, with the
/// confidence, the context and the evidence.
#[derive(Debug, Parser)]
#[command(
    name = "fslab",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a study: format, mount, load, measure, report
    Run(RunArgs),
    /// Print what a run would do, and touch nothing
    Plan(PlanArgs),
    /// Go on with a run that was interrupted or killed
    Resume(ResumeArgs),
    /// List the runs below a folder
    List(ListArgs),
    /// Show a run: its trials, failures, evidence and where the time went
    Show(ShowArgs),
    /// Print the report of a run
    Report(ReportArgs),
    /// Say why cells of a run differ: the causes that hold, with their figures
    Explain(ExplainArgs),
    /// Undo what a killed run left mounted or attached
    Clean(CleanArgs),
    /// Run one workload alone in a directory
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Show where files lie: extents, gaps and their causes, free space
    Layout(LayoutArgs),
    /// Check a filesystem without writing to it: ext2, ext3 and ext4
    Check(CheckArgs),
    /// Judge what a power cut would have left, from a log of writes
    Crash(CrashArgs),
    /// Write whole filesystems without mounting anything, or break them on purpose
    #[command(subcommand)]
    Forge(ForgeCommand),
    /// Trace what block devices are asked to do
    #[command(subcommand)]
    Trace(TraceCommand),
    /// The kernels that guests run: list, fetch, add
    #[command(subcommand)]
    Kernel(KernelCommand),
    /// Say which ways of looking into the kernel work on this machine
    Doctor(DoctorArgs),
    /// Print the context record of this machine
    Context(ContextArgs),
}

/// What can be changed of a study without editing it.
#[derive(Debug, Args)]
pub(crate) struct StudyArgs {
    /// A built-in study's name, or a study file
    pub(crate) study: String,
    /// Profile: quick, standard or paper [default: standard, where the study has it]
    #[arg(long)]
    pub(crate) profile: Option<String>,
    /// Set a value, as in run.blocks=3 or iozone.size=64m (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Keep only some levels of a factor, as in filesystem=ext4,xfs (repeatable)
    #[arg(long, value_name = "FACTOR=LEVEL[,LEVEL]")]
    pub(crate) filter: Vec<String>,
    /// Number of blocks: how often each cell runs
    #[arg(long, value_name = "N")]
    pub(crate) blocks: Option<u32>,
    /// Seed of the order
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Order of the trials
    #[arg(long, value_enum)]
    pub(crate) order: Option<OrderArg>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OrderArg {
    /// Randomised complete blocks
    Blocked,
    /// All repetitions of a cell together, as the originals ran
    Sequential,
}

/// Where the trials take place. Without any of these: loop images in the run's folder.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// Use this existing directory; nothing is made or mounted
    #[arg(long, value_name = "DIR", conflicts_with = "device")]
    pub(crate) dir: Option<PathBuf>,
    /// Use this whole disk; everything on it is lost
    #[arg(long, value_name = "DEV", requires = "destroy")]
    pub(crate) device: Option<PathBuf>,
    /// The serial of the disk to destroy
    #[arg(long, value_name = "SERIAL", requires = "device")]
    pub(crate) destroy: Option<String>,
    /// Where trials run [default: the first of host, uml, qemu that has what the study needs]
    #[arg(long, value_enum, conflicts_with_all = ["dir", "device"])]
    pub(crate) executor: Option<ExecutorArg>,
    /// Guest kernel: a series (6.1, 6.12-cloud), a version, a name of `fslab kernel list`, or an image's path;
    /// several are compared
    #[arg(long, value_name = "VERSION|FILE[,...]", value_delimiter = ',',
          conflicts_with_all = ["dir", "device"])]
    pub(crate) kernel: Vec<String>,
    /// Modules of the kernel that --kernel FILE names: lib/modules/RELEASE, or a build tree
    #[arg(long, value_name = "DIR", requires = "kernel")]
    pub(crate) modules: Option<PathBuf>,
    /// QEMU's clock counts instructions and the device is null_blk: the same times in every run
    #[arg(long, conflicts_with_all = ["dir", "device"])]
    pub(crate) virtual_time: bool,
    #[command(flatten)]
    pub(crate) cache: kernel::CacheArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExecutorArg {
    /// This machine's own kernel
    Host,
    /// A guest: User-mode Linux, any machine, no block trace
    Uml,
    /// A guest: QEMU, by KVM where the processor has it, else emulated
    Qemu,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) study: StudyArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The run's folder, made new [default: fslab-runs/STUDY-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// What stdout gets: the text report, the JSON report, or each event as it happens
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: LiveFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LiveFormat {
    /// The report as text, when the run is whole
    Text,
    /// The report as one JSON document, when the run is whole
    Json,
    /// The events as JSON Lines, while they happen
    Jsonl,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) study: StudyArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentFormat {
    /// For people, 78 columns
    Text,
    /// One document
    Json,
}

/// A run is named by its folder, or by its name among those in the working directory.
fn run_folder() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new()
        .map(|named| record::folder::meant(named.into(), Path::new(record::folder::RUNS)))
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run's folder, or its name in `fslab list`
    #[arg(value_parser = run_folder())]
    pub(crate) run: PathBuf,
    /// What stdout gets
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: LiveFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// The folder to look in [default: fslab-runs]
    pub(crate) dir: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The run's folder, or its name in `fslab list`
    #[arg(value_parser = run_folder())]
    pub(crate) run: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run's folder, or its name in `fslab list`
    #[arg(value_parser = run_folder())]
    pub(crate) run: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ReportFormat,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Factor (or "phase") whose levels are the rows
    #[arg(long, value_name = "FACTOR")]
    pub(crate) row: Vec<String>,
    /// Factor (or "phase") whose levels are the columns
    #[arg(long, value_name = "FACTOR")]
    pub(crate) col: Vec<String>,
    /// Only the tables whose title contains this
    #[arg(long, value_name = "TITLE")]
    pub(crate) table: Option<String>,
    /// Keep only some levels of a factor (repeatable)
    #[arg(long, value_name = "FACTOR=LEVEL[,LEVEL]")]
    pub(crate) filter: Vec<String>,
    /// Metric of a pivot (with --row or --col), as in docs/metrics.md
    #[arg(long)]
    pub(crate) metric: Option<String>,
    /// Clock of a pivot: original, fsync or syncfs
    #[arg(long, value_enum)]
    pub(crate) clock: Option<ClockArg>,
    /// Width of text tables; 0: as wide as they are
    #[arg(long, default_value_t = 78)]
    pub(crate) width: usize,
    /// Column that the others are compared with [default: the first]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) base: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ClockArg {
    /// (a) as the original computes it
    Original,
    /// (b) to the end of an fsync of every file
    Fsync,
    /// (c) to the end of syncfs
    Syncfs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Tables for a mail, 78 columns
    Text,
    /// One self-contained page
    Html,
    /// One document
    Json,
    /// One row a sample
    Csv,
    /// Tables for a wiki or an issue
    Md,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// A run's folder or name, or a folder of runs [default: fslab-runs]
    #[arg(value_parser = run_folder())]
    pub(crate) dir: Option<PathBuf>,
    /// Say what would be undone
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    /// Describe the filesystem of this directory, too
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
