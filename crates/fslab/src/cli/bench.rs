//! The arguments of `fslab bench`. Letters are those of the original programs; what a workload does
//! is defined by its parameters in the crate `params`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use fskind::Kind;
use params::{
    AgeSpec, FillSpec, MetadataSpec, MixSpec, SharedSpec, StreamSpec, ThroughputSpec, TreeSpec,
};

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = true
)]
pub(crate) struct BenchLine {
    #[command(subcommand)]
    pub(crate) command: Option<BenchCommand>,
    #[command(flatten)]
    pub(crate) jobs: Option<FioJobArgs>,
}

#[derive(Debug, Args)]
pub(crate) struct FioJobArgs {
    /// Run the jobs of a job file of fio; its options are in docs/fio.md
    #[arg(long, value_name = "FILE")]
    pub(crate) fio_job: PathBuf,
    /// Directory for all files, in place of the job file's own
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Keep the files that the jobs make
    #[arg(long)]
    pub(crate) keep: bool,
    /// Let jobs write to files that exist
    #[arg(long)]
    pub(crate) reuse: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: MixFormat,
}

#[derive(Debug, Args)]
pub(crate) struct MixArgs {
    #[command(flatten)]
    pub(crate) spec: MixSpec,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: MixFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MixFormat {
    /// A table with the three clocks
    Text,
    /// One document
    Json,
    /// One row for each phase, metric and clock
    Csv,
    /// As fio --output-format=json prints it
    Fio,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// iozone -t: write, rewrite, read, re-read, random read, random write
    Throughput(ThroughputArgs),
    /// compilebench: create, patch, compile, clean, read, stat and delete kernel trees
    Tree(TreeArgs),
    /// aiod and dd: write one file, make it cold, read it
    Stream(StreamArgs),
    /// fs_mark: many files, with the latency of every system call
    Fill(FillArgs),
    /// Add and remove directories of files in rounds until the filesystem is aged
    Age(AgeArgs),
    /// fio: reads and writes mixed, timed, at a limited rate
    Mix(MixArgs),
    /// IOR: ranks that write and read together, each a file of its own or all of them one
    Shared(SharedArgs),
    /// mdtest: ranks that create, stat, read and remove many small files and directories
    Metadata(MetadataArgs),
    /// Time the filesystem's own checker, read-only, pass by pass
    Fsck(FsckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ThroughputArgs {
    #[command(flatten)]
    pub(crate) spec: ThroughputSpec,
    #[command(flatten)]
    pub(crate) common: BenchArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TreeArgs {
    #[command(flatten)]
    pub(crate) spec: TreeSpec,
    #[command(flatten)]
    pub(crate) common: BenchArgs,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct BenchArgs {
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: BenchFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchFormat {
    /// A table with the three clocks
    Text,
    /// One document
    Json,
    /// One row for each phase, metric and clock
    Csv,
    /// As the original program prints it: iozone, compilebench or fs_mark
    Original,
}

/// Formats of what no original program prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlainBenchFormat {
    /// Text of 78 columns
    Text,
    /// One JSON document
    Json,
    /// One row for each phase, metric and clock
    Csv,
}

#[derive(Debug, Args)]
pub(crate) struct StreamArgs {
    #[command(flatten)]
    pub(crate) spec: StreamSpec,
    /// Write only (aiod -W); the file stays
    #[arg(short = 'W', long, conflicts_with = "read")]
    pub(crate) write: bool,
    /// Read only (aiod -R) the file that an earlier -W left
    #[arg(short = 'R', long)]
    pub(crate) read: bool,
    /// dd's conv=
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WORD[,WORD]")]
    pub(crate) conv: Vec<ConvArg>,
    /// dd's oflag= and iflag=
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WORD[,WORD]")]
    pub(crate) oflag: Vec<OflagArg>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: StreamFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StreamFormat {
    /// A table with the three clocks
    Text,
    /// One document
    Json,
    /// One row for each phase, metric and clock
    Csv,
    /// A line for each phase, in both kinds of megabytes
    Original,
    /// dd's three lines
    Dd,
    /// dd's three lines as they were in 2010
    #[value(name = "dd-2010")]
    Dd2010,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvArg {
    /// fsync before the clock stops
    Fsync,
    /// fdatasync before the clock stops
    Fdatasync,
    /// Do not truncate the file
    Notrunc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OflagArg {
    /// O_DIRECT
    Direct,
    /// O_DSYNC: each write waits for its data
    Dsync,
    /// O_SYNC: each write waits for its data and metadata
    Sync,
}

#[derive(Debug, Args)]
pub(crate) struct FillArgs {
    #[command(flatten)]
    pub(crate) spec: FillSpec,
    /// Latency columns in the original's layout
    #[arg(short = 'v', long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) common: BenchArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AgeArgs {
    #[command(flatten)]
    pub(crate) spec: AgeSpec,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: PlainBenchFormat,
}

#[derive(Debug, Args)]
pub(crate) struct SharedArgs {
    #[command(flatten)]
    pub(crate) spec: SharedSpec,
    #[command(flatten)]
    pub(crate) ranks: RanksArgs,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: RanksFormat,
}

#[derive(Debug, Args)]
pub(crate) struct MetadataArgs {
    #[command(flatten)]
    pub(crate) spec: MetadataSpec,
    #[command(flatten)]
    pub(crate) ranks: RanksArgs,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: RanksFormat,
}

/// How ranks are started.
#[derive(Debug, Args)]
pub(crate) struct RanksArgs {
    /// Run the ranks as processes of MPI, started by this command, as in "mpirun -np {ranks}"
    #[arg(long, value_name = "COMMAND")]
    pub(crate) launcher: Option<String>,
    /// The MPI library [default: the one that fits the launcher]
    #[arg(long, value_name = "FILE", requires = "launcher")]
    pub(crate) mpi_library: Option<String>,
    /// Seconds without progress after which the ranks are ended
    #[arg(long, value_name = "S", default_value_t = 60, requires = "launcher",
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) stall: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RanksFormat {
    /// A table with the three clocks
    Text,
    /// One document
    Json,
    /// One row for each phase, metric and clock
    Csv,
    /// As IOR or mdtest prints it
    Original,
}

#[derive(Debug, Args)]
pub(crate) struct FsckArgs {
    /// An unmounted block device, or an image of a filesystem
    pub(crate) target: PathBuf,
    /// Kind of filesystem [default: from its superblock]
    #[arg(long = "type", value_name = "TYPE", value_parser = kinds())]
    pub(crate) kind: Option<Kind>,
    /// Kill the checker and its child processes after this many seconds
    #[arg(long, default_value_t = 86_400.0, value_name = "S")]
    pub(crate) timeout: f64,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: PlainBenchFormat,
}

/// The kinds of filesystem, each with the name of its checker as help.
fn kinds() -> impl TypedValueParser<Value = Kind> {
    let names = Kind::ALL.iter().map(|kind| {
        let checker = kind.properties().checker.title();
        PossibleValue::new(kind.name()).help(checker)
    });
    PossibleValuesParser::new(names)
        .try_map(|name| Kind::of_name(&name).ok_or("no such kind of filesystem"))
}
