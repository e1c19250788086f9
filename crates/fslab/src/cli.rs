//! The command line, as clap parses it. Values stay as typed, or are parsed by the libraries that validate them.

use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod crash;
pub(crate) mod device;
pub(crate) mod doctor;
pub(crate) mod explain;
mod fast_parse;
pub(crate) mod fleet;
pub(crate) mod forge;
pub(crate) mod kernel;
pub(crate) mod layout;
pub(crate) mod site;
pub(crate) mod store;
pub(crate) mod trace;

pub(crate) use bench::{BenchCommand, BenchLine};
pub(crate) use check::CheckArgs;
pub(crate) use compare::{
    BisectArgs, ByArg, CompareArgs, CompareFormat, FailOnArg, FigureArgs, HistoryArgs,
};
pub(crate) use crash::CrashArgs;
pub(crate) use device::{DeviceCommand, ReplayArgs};
pub(crate) use doctor::DoctorArgs;
pub(crate) use explain::ExplainArgs;
pub(crate) use fleet::FleetCommand;
pub(crate) use forge::{
    ForgeArgs, ForgeCommand, ForgeOcfs2Args, ForgeOutput, ForgeXfsArgs, FsTypeArg, HashArg,
    PopulationArgs,
};
pub(crate) use kernel::{
    KernelAddArgs, KernelCommand, KernelFetchArgs, KernelListArgs, KernelProbeArgs, MirrorArgs,
};
pub(crate) use layout::{LayoutArgs, LayoutFormat};
pub(crate) use site::{PagesArgs, ServeArgs, SiteArgs};
pub(crate) use store::{ExportArgs, ExportFormat, ImportArgs, ProgramArg, StoreArg};
pub(crate) use trace::{RecordArgs, TraceCommand};

/// Release and commit: `0.1.0 (0123456789ab)`.
pub(crate) const VERSION: &str = env!("FSLAB_VERSION");

/// A filesystem laboratory for Linux.
///
/// Runs whole experiments on real filesystems and prints tables for a mailing list, with confidence
/// intervals, the context of the run and the evidence that it is valid.
#[derive(Debug, Parser)]
#[command(
    name = "fslab",
    version = VERSION,
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
    /// Print what a run would do, without changing anything
    Plan(PlanArgs),
    /// Resume an interrupted or killed run
    Resume(ResumeArgs),
    /// List the built-in studies, or show what one asks, varies and costs
    Studies(StudiesArgs),
    /// List the metrics: unit, clock, which direction is better, and what each is
    Metrics(MetricsArgs),
    /// Write a study of your own, with comments, that runs as it is
    New(NewArgs),
    /// List the runs in a folder
    List(ListArgs),
    /// Show a run: trials, failures, evidence and time spent
    Show(ShowArgs),
    /// Print the report of a run
    Report(ReportArgs),
    /// Explain why cells of a run differ: causes and their figures
    Explain(ExplainArgs),
    /// Compare runs with runs: what is worse, better, equal or unclear; a gate for CI
    Compare(CompareArgs),
    /// Show a study's figures over its runs, and where they step
    History(HistoryArgs),
    /// Judge one commit, for `git bisect run`: good 0, bad 1, untestable 125, stop 255
    BisectStep(BisectArgs),
    /// Make a folder of pages of many runs: lists, reports, series, comparisons
    Site(SiteArgs),
    /// Serve the same pages to browsers, read-only, with the progress of runs
    Serve(ServeArgs),
    /// Add runs to a store, a database of many runs
    Import(ImportArgs),
    /// Write the samples of a store as CSV, JSON Lines or Parquet
    Export(ExportArgs),
    /// Undo what a killed run left mounted or attached
    Clean(CleanArgs),
    /// Run one workload alone in a directory, or the jobs of a job file of fio
    Bench(BenchLine),
    /// Show the layout of files on disk: extents, gaps and their causes, free space
    Layout(LayoutArgs),
    /// Check a filesystem without writing to it: ext2, ext3, ext4, OCFS2, XFS
    Check(CheckArgs),
    /// Check every state that a power cut could have left, from a log of writes
    Crash(CrashArgs),
    /// Write whole filesystems without mounting them, or damage them on purpose
    #[command(subcommand)]
    Forge(ForgeCommand),
    /// Record and report block traces
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Run a study's blocks on many nodes, by Slurm or any other scheduler, and gather them
    #[command(subcommand)]
    Fleet(FleetCommand),
    /// Estimate how long a block trace would take on modelled devices
    Replay(ReplayArgs),
    /// Modelled devices: list, show, check, bench
    #[command(subcommand)]
    Device(DeviceCommand),
    /// Kernels for guests: list, fetch, add
    #[command(subcommand)]
    Kernel(KernelCommand),
    /// Report what works on this machine: measurements, tracing methods, guest kernels
    Doctor(DoctorArgs),
    /// Print the context record of this machine: hardware, kernel, settings
    Context(ContextArgs),
    /// Print a manual page, or write all of them into a folder
    Man(ManArgs),
    /// Print the completion script of a shell
    Completions(CompletionsArgs),
}

/// What can be changed in a study without editing its file.
#[derive(Debug, Args)]
pub(crate) struct StudyArgs {
    /// A built-in study's name, or a study file
    pub(crate) study: String,
    /// Profile: quick, standard or paper [default: standard, where the study has it]
    #[arg(long)]
    pub(crate) profile: Option<String>,
    /// Set a value, as in run.blocks=3, iozone.size=64m or mount=noatime (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Keep only some levels of a factor, as in filesystem=ext4,xfs (repeatable)
    #[arg(long, value_name = "FACTOR=LEVEL[,LEVEL]")]
    pub(crate) filter: Vec<String>,
    /// Number of blocks: how often each cell runs
    #[arg(long, value_name = "N")]
    pub(crate) blocks: Option<u32>,
    /// Seed of the random order of trials
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Order of the trials
    #[arg(long, value_enum)]
    pub(crate) order: Option<OrderArg>,
    #[command(flatten)]
    pub(crate) devices: device::DevicesFile,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OrderArg {
    /// Randomised complete blocks
    Blocked,
    /// All repetitions of a cell in a row, as the original studies ran
    Sequential,
}

/// Where the trials take place. Without any of these: loop images in the run's folder.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// Run in this existing directory; no filesystem is made or mounted
    #[arg(long, value_name = "DIR", conflicts_with = "device")]
    pub(crate) dir: Option<PathBuf>,
    /// Run on this whole disk, which must be empty and unused; it is formatted for each trial
    #[arg(long, value_name = "DEV", requires = "destroy")]
    pub(crate) device: Option<PathBuf>,
    /// Serial number of that disk, to confirm that it is the one to overwrite
    #[arg(long, value_name = "SERIAL", requires = "device")]
    pub(crate) destroy: Option<String>,
    /// Where trials run [default: the first of host, uml, qemu that has what the study needs]
    #[arg(long, value_enum, conflicts_with = "device")]
    pub(crate) executor: Option<ExecutorArg>,
    /// Command that starts ranks, with --executor mpi [default: the study's, else "mpirun -np {ranks}"]
    #[arg(long, value_name = "COMMAND", requires = "executor")]
    pub(crate) launcher: Option<String>,
    /// The MPI library, with --executor mpi [default: the one that fits the launcher]
    #[arg(long, value_name = "FILE", requires = "executor")]
    pub(crate) mpi_library: Option<String>,
    /// Guest kernel: a series (6.1, 6.12-cloud), a version, a name from `fslab kernel list`, or the path of an
    /// image; several kernels are compared
    #[arg(long, value_name = "VERSION|FILE[,...]", value_delimiter = ',',
          conflicts_with_all = ["dir", "device"])]
    pub(crate) kernel: Vec<String>,
    /// Modules of the kernel that --kernel FILE names: lib/modules/RELEASE, or a build tree
    #[arg(long, value_name = "DIR", requires = "kernel")]
    pub(crate) modules: Option<PathBuf>,
    /// Reproducible times: QEMU's clock counts instructions, and the device is null_blk
    #[arg(long, conflicts_with_all = ["dir", "device"])]
    pub(crate) virtual_time: bool,
    #[command(flatten)]
    pub(crate) cache: kernel::CacheArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExecutorArg {
    /// This machine's kernel
    Host,
    /// A User-mode Linux guest: runs without KVM, has no block trace
    Uml,
    /// A QEMU guest: with KVM where available, else emulated
    Qemu,
    /// Ranks of MPI in the directory of --dir, which all nodes share
    Mpi,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) study: StudyArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Folder of the run, which must not exist yet [default: fslab-runs/STUDY-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Repeat each doubtful or failed trial up to N times, at the end of the run
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) rerun_doubtful: u32,
    /// Keep a word with the run, as in branch=main, by which runs are chosen later (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = record::tags::parse)]
    pub(crate) tag: Vec<(String, String)>,
    /// What to print on stdout
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: LiveFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LiveFormat {
    /// The report as text, at the end of the run
    Text,
    /// The report as one JSON document, at the end of the run
    Json,
    /// Events as JSON Lines, as they happen
    Jsonl,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) study: StudyArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Make, mount and measure each variant once on the target, and estimate the time from that
    #[arg(long)]
    pub(crate) probe: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentFormat {
    /// Text for people
    Text,
    /// One JSON document
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowFormat {
    /// Text for people
    Text,
    /// One JSON document
    Json,
    /// One row for each trial: its levels, status, seconds, evidence and warnings
    Csv,
}

/// A run is named by its folder, or by its name in the fslab-runs folder of the working directory.
fn run_folder() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new()
        .map(|named| record::folder::meant(named.into(), Path::new(record::folder::RUNS)))
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run's folder, or its name in `fslab list`
    #[arg(value_parser = run_folder())]
    pub(crate) run: PathBuf,
    /// What to print on stdout
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: LiveFormat,
}

#[derive(Debug, Args)]
pub(crate) struct StudiesArgs {
    /// A built-in study's name, or a study file [default: all built-in studies]
    pub(crate) study: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[derive(Debug, Args)]
pub(crate) struct MetricsArgs {
    /// A workload's kind, or check, calls, device, memory, layout, trace [default: all]
    pub(crate) workload: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// Name of the study; the file is NAME.toml. A path that ends in .toml is that file
    pub(crate) name: PathBuf,
    /// What it measures: throughput, tree, stream, fill, age or scan
    #[arg(long, value_name = "KIND", default_value = "fill")]
    pub(crate) workload: String,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Folder of the runs [default: fslab-runs]
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
    pub(crate) format: ShowFormat,
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
    /// Factor (or phase, metric, clock) whose levels are the rows (repeatable); --row, --col, --metric and --clock print
    /// the table that they describe alone, unless --full is given
    #[arg(long, value_name = "FACTOR")]
    pub(crate) row: Vec<String>,
    /// Factor (or phase, metric, clock) whose levels are the columns; several have headings above headings
    #[arg(long, value_name = "FACTOR")]
    pub(crate) col: Vec<String>,
    /// Print all of it: text begins with the first screen alone, of at most 120 lines
    #[arg(long, conflicts_with = "only")]
    pub(crate) full: bool,
    /// Print one part: every format but CSV has all parts but GNU time's lines, which text and JSON have; CSV has tables
    #[arg(long, value_enum, value_name = "PART", conflicts_with = "table")]
    pub(crate) only: Option<ReportPart>,
    /// Print only tables whose title contains this text; in text and Markdown without anything around them, unless
    /// --full is given
    #[arg(long, value_name = "TITLE")]
    pub(crate) table: Option<String>,
    /// Keep only some levels of a factor (repeatable)
    #[arg(long, value_name = "FACTOR=LEVEL[,LEVEL]")]
    pub(crate) filter: Vec<String>,
    /// Print a table of this metric, as in docs/metrics.md
    #[arg(long)]
    pub(crate) metric: Option<String>,
    /// Print a table under this clock: original, fsync or syncfs; without --metric of the rows that the study prints
    #[arg(long, value_enum)]
    pub(crate) clock: Option<ClockArg>,
    /// Width of text tables in columns (0 = unlimited)
    #[arg(long, default_value_t = 78)]
    pub(crate) width: usize,
    /// Column to compare the others with [default: the first]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) base: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ClockArg {
    /// (a) as the original program computes it
    Original,
    /// (b) to the end of an fsync of every file
    Fsync,
    /// (c) to the end of syncfs
    Syncfs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Tables for a mail, 78 columns wide
    Text,
    /// One self-contained page
    Html,
    /// One JSON document
    Json,
    /// One row for each sample
    Csv,
    /// One row for each cell and metric: n, median, interval, ratio to the base, p adjusted, verdict
    SummaryCsv,
    /// Tables for a wiki or an issue
    Md,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportPart {
    /// The answer in sentences, and all ratios
    Summary,
    /// The tables, with the ratios of each
    Tables,
    /// The causes of the differences
    Why,
    /// What shows that the numbers are valid, and what speaks against them
    Evidence,
    /// GNU time's lines of each phase (text and JSON)
    GnuTime,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// A run's folder or name, or a folder of runs [default: fslab-runs]
    #[arg(value_parser = run_folder())]
    pub(crate) dir: Option<PathBuf>,
    /// Only print what would be undone
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    /// Also describe this directory's filesystem
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The command whose page to print, as in `fslab man bench fill | man -l -` [default: fslab itself]
    #[arg(conflicts_with = "dir")]
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands into this folder, and print their names
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell; bash reads the script from ~/.local/share/bash-completion/completions/fslab
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// GNU Bash
    Bash,
    /// Z shell
    Zsh,
    /// fish
    Fish,
}
