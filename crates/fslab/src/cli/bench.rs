//! The arguments of `fslab bench`. Letters are those of the original programs.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use fskind::Kind;
use study::Bytes;

use super::DocumentFormat;

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
    /// Time the filesystem's own checker, read-only, pass by pass
    Fsck(FsckArgs),
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub(crate) struct ThroughputArgs {
    /// Directory on the filesystem under test
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Children (iozone -t)
    #[arg(short = 't', long, default_value_t = 1)]
    pub(crate) threads: u32,
    /// Bytes of each child's file (iozone -s)
    #[arg(short = 's', long, default_value = "512k")]
    pub(crate) size: Bytes,
    /// Bytes of a record (iozone -r)
    #[arg(short = 'r', long, default_value = "4k")]
    pub(crate) record: Bytes,
    /// O_DIRECT (iozone -I)
    #[arg(short = 'I', long)]
    pub(crate) direct: bool,
    /// Include fsync in clock (a) (iozone -e)
    #[arg(short = 'e', long)]
    pub(crate) include_fsync: bool,
    /// Include close in clock (a) (iozone -c)
    #[arg(short = 'c', long)]
    pub(crate) include_close: bool,
    /// No stonewall (iozone -x)
    #[arg(short = 'x', long)]
    pub(crate) no_stonewall: bool,
    /// I/O engine
    #[arg(long, value_enum, default_value = "sync")]
    pub(crate) engine: EngineArg,
    /// Requests in flight per child (aio and io-uring only)
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) queue_depth: u32,
    /// Seconds of rest after each test's sync
    #[arg(
        long,
        default_value_t = 2.0,
        value_name = "S",
        allow_negative_numbers = true
    )]
    pub(crate) settle: f64,
    /// Drop caches, with proof, before each read test
    #[arg(long)]
    pub(crate) cold: bool,
    /// Keep the files (iozone -w)
    #[arg(short = 'w', long)]
    pub(crate) keep: bool,
    #[command(flatten)]
    pub(crate) common: BenchArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EngineArg {
    /// read and write
    Sync,
    /// io_uring
    IoUring,
    /// Linux AIO
    Aio,
    /// Transfers nothing: the cost of the generator
    Null,
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub(crate) struct TreeArgs {
    /// Directory on the filesystem under test
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Trees created first (compilebench -i)
    #[arg(short = 'i', long, default_value_t = 30)]
    pub(crate) initial: u32,
    /// Random operations (compilebench -r)
    #[arg(short = 'r', long, default_value_t = 100)]
    pub(crate) runs: u32,
    /// Folder with compilebench's own data sets (compilebench -s)
    #[arg(short = 's', long, value_name = "DIR")]
    pub(crate) sources: Option<PathBuf>,
    /// Bytes of one read or write (compilebench -b)
    #[arg(short = 'b', long, default_value = "256k")]
    pub(crate) buffer: Bytes,
    /// No sync and no cache dropping (compilebench -n)
    #[arg(short = 'n', long)]
    pub(crate) no_sync: bool,
    /// Compile all trees, read 3, delete all, then stop (compilebench -m)
    #[arg(short = 'm', long)]
    pub(crate) makej: bool,
    /// Share of the data sets' files to keep, 0 < scale <= 1
    #[arg(long, default_value_t = 1.0)]
    pub(crate) scale: f64,
    /// Without compilebench's append and dictionary quirks
    #[arg(long)]
    pub(crate) no_compat: bool,
    /// Keep the trees
    #[arg(long)]
    pub(crate) keep: bool,
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
    /// As the original program prints it: iozone, compilebench or fs_mark
    Original,
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub(crate) struct StreamArgs {
    /// Directory on the filesystem under test
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Bytes of a request (aiod -b, dd bs=)
    #[arg(short = 'b', long, default_value = "4m")]
    pub(crate) block: Bytes,
    /// Requests (aiod -w, dd count=)
    #[arg(short = 'w', long, default_value_t = 256, value_name = "N")]
    pub(crate) count: u64,
    /// Write only (aiod -W); the file stays
    #[arg(short = 'W', long, conflicts_with = "read")]
    pub(crate) write: bool,
    /// Read only (aiod -R) the file that an earlier -W left
    #[arg(short = 'R', long)]
    pub(crate) read: bool,
    /// O_DIRECT (aiod without -B, dd oflag=direct)
    #[arg(short = 'I', long)]
    pub(crate) direct: bool,
    /// I/O engine
    #[arg(long, value_enum, default_value = "sync")]
    pub(crate) engine: EngineArg,
    /// Requests in flight (aio and io-uring only)
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) queue_depth: u32,
    /// What is written
    #[arg(long, value_enum, default_value = "zero")]
    pub(crate) content: ContentArg,
    /// Put a number and a checksum into each block, and check them when reading
    #[arg(long)]
    pub(crate) verify: bool,
    /// dd's conv=
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WORD[,WORD]")]
    pub(crate) conv: Vec<ConvArg>,
    /// dd's oflag= and iflag=
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WORD[,WORD]")]
    pub(crate) oflag: Vec<OflagArg>,
    /// How the cache is emptied between write and read
    #[arg(long, value_enum, default_value = "drop")]
    pub(crate) between: BetweenArg,
    /// Name of the file, in the directory
    #[arg(long, value_name = "NAME", default_value = "bigfile")]
    pub(crate) file: String,
    /// Blocks skipped at the begin of the file when writing (dd seek=)
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seek: u64,
    /// Blocks skipped at the begin of the file when reading (dd skip=)
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) skip: u64,
    /// Keep the file; -W does so by itself
    #[arg(long)]
    pub(crate) keep: bool,
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
    /// A line for each phase, in both kinds of megabytes
    Original,
    /// dd's three lines
    Dd,
    /// dd's three lines as they were in 2010
    #[value(name = "dd-2010")]
    Dd2010,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContentArg {
    /// Zero bytes
    Zero,
    /// One repeated pattern
    Pattern,
    /// Bytes that neither compress nor repeat
    Random,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvArg {
    /// fsync before the clock stops
    Fsync,
    /// fdatasync before the clock stops
    Fdatasync,
    /// Write into the file as it is
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BetweenArg {
    /// sync, drop the caches, prove it
    Drop,
    /// Nothing: the read finds what the write left
    Warm,
}

#[derive(Debug, Args)]
pub(crate) struct FillArgs {
    /// Base directory (fs_mark -d), repeatable, at most 64
    #[arg(short = 'd', long = "dir", value_name = "DIR", required = true)]
    pub(crate) dirs: Vec<PathBuf>,
    /// Files of each process and iteration
    #[arg(short = 'n', long, default_value_t = 1000, value_name = "N")]
    pub(crate) files: u64,
    /// Bytes of a file
    #[arg(short = 's', long, default_value = "51200")]
    pub(crate) size: Bytes,
    /// Sync method, 0 to 6
    #[arg(short = 'S', long, default_value_t = 1, value_name = "N")]
    pub(crate) sync_method: u8,
    /// Processes
    #[arg(short = 't', long, default_value_t = 1, value_name = "N")]
    pub(crate) processes: u32,
    /// Subdirectories of each base directory
    #[arg(short = 'D', long, default_value_t = 0, value_name = "N")]
    pub(crate) directories: u32,
    /// Files of a process in a subdirectory before it moves on
    #[arg(short = 'N', long, default_value_t = 0, value_name = "N")]
    pub(crate) per_directory: u64,
    /// Iterations; more than one keeps the files
    #[arg(short = 'L', long, default_value_t = 1, value_name = "N")]
    pub(crate) iterations: u32,
    /// Keep the files
    #[arg(short = 'k', long)]
    pub(crate) keep: bool,
    /// Go on until the filesystem is full, which then is the end and no error
    #[arg(short = 'F', long)]
    pub(crate) until_full: bool,
    /// Bytes of one write
    #[arg(short = 'w', long, default_value = "16k")]
    pub(crate) write_size: Bytes,
    /// Characters of a file's name
    #[arg(short = 'p', long, default_value_t = 40, value_name = "N")]
    pub(crate) name_length: u32,
    /// Random characters at the end of a name
    #[arg(short = 'r', long, default_value_t = 24, value_name = "N")]
    pub(crate) random_length: u32,
    /// Latency columns in the original's layout
    #[arg(short = 'v', long)]
    pub(crate) verbose: bool,
    /// Seed of the names
    #[arg(long, default_value_t = 2012, value_name = "N")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) common: BenchArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AgeArgs {
    /// Directory on the filesystem under test; the files stay in it
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Rounds
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub(crate) rounds: u32,
    /// Files that each process adds in a round
    #[arg(short = 'n', long, default_value_t = 7000, value_name = "N")]
    pub(crate) files: u64,
    /// Processes
    #[arg(short = 't', long, default_value_t = 3, value_name = "N")]
    pub(crate) processes: u32,
    /// Directories that the files of a round are dealt to
    #[arg(short = 'D', long, default_value_t = 70, value_name = "N")]
    pub(crate) directories: u32,
    /// Files of a process in a directory
    #[arg(short = 'N', long, default_value_t = 100, value_name = "N")]
    pub(crate) per_directory: u64,
    /// Directories removed, and added inside others, in round k: this times k
    #[arg(long, default_value_t = 7, value_name = "N")]
    pub(crate) step: u32,
    /// Each process has a base directory of its own
    #[arg(long)]
    pub(crate) own_bases: bool,
    /// Bytes of a file
    #[arg(short = 's', long, default_value = "4k")]
    pub(crate) size: Bytes,
    /// Bytes of one write
    #[arg(short = 'w', long, default_value = "16k")]
    pub(crate) write_size: Bytes,
    /// Seed of the choices
    #[arg(long, default_value_t = 2012, value_name = "N")]
    pub(crate) seed: u64,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
}

#[derive(Debug, Args)]
pub(crate) struct FsckArgs {
    /// An unmounted block device, or an image of a filesystem
    pub(crate) target: PathBuf,
    /// Kind of filesystem [default: as its superblock says]
    #[arg(long = "type", value_name = "TYPE", value_parser = kinds())]
    pub(crate) kind: Option<Kind>,
    /// Seconds after which the checker, and all that it started, is killed
    #[arg(long, default_value_t = 86_400.0, value_name = "S")]
    pub(crate) timeout: f64,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: DocumentFormat,
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
