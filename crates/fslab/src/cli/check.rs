//! Options of `fslab check`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use study::Bytes;

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct CheckArgs {
    /// An image, or a block device that is not mounted read-write
    #[arg(value_name = "IMAGE|DEVICE", required_unless_present = "files")]
    pub(crate) target: Option<PathBuf>,
    /// Byte offset of the filesystem in the image or device, as in 1MiB or 32256
    #[arg(long, value_name = "BYTES")]
    pub(crate) offset: Option<Bytes>,
    /// Accepted as in e2fsck; fslab check never writes
    #[arg(short = 'n')]
    pub(crate) no: bool,
    /// Accepted as in e2fsck; fslab check always checks everything
    #[arg(short = 'f')]
    pub(crate) force: bool,
    /// Would repair: answered with the program that does
    #[arg(short = 'p', hide = true)]
    pub(crate) preen: bool,
    /// As -p, as older versions of e2fsck have it
    #[arg(short = 'a', hide = true)]
    pub(crate) automatic: bool,
    /// Would repair: answered with the program that does
    #[arg(short = 'y', hide = true)]
    pub(crate) yes: bool,
    /// Whose verdict, and so whose exit code, to give
    #[arg(long, value_enum, default_value = "e2fsck")]
    pub(crate) verdict: VerdictArg,
    /// Format of the filesystem, where its superblock no longer says [default: as the superblock says]
    #[arg(long = "type", value_enum, value_name = "FORMAT")]
    pub(crate) kind: Option<TypeArg>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: CheckFormat,
    /// Print the verdict, a line for each kind of fault, and what to do next; text only
    #[arg(long, conflicts_with = "costs")]
    pub(crate) brief: bool,
    /// Print time, bytes and memory of each pass; text only, JSON always has them
    #[arg(long)]
    pub(crate) costs: bool,
    /// Print a line as each pass begins, and its times and reads as it ends; text only
    #[arg(long, conflicts_with_all = ["brief", "estimate"])]
    pub(crate) passes: bool,
    /// Estimate time and memory of this check and of e2fsck, from the descriptors and a sample of a few
    /// seconds; checks nothing
    #[arg(long, conflicts_with_all = ["brief", "costs", "ideal"])]
    pub(crate) estimate: bool,
    /// Files of a filesystem that does not exist yet, as in 10M: with --estimate and --device, and --type [default: ext4]
    #[arg(long, value_name = "N", value_parser = words::parse_count, requires = "estimate", conflicts_with_all = ["target", "offset", "superblock", "live"])]
    pub(crate) files: Option<u64>,
    /// Findings to show for each problem (0: all that are kept); JSON and CSV have them all
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) list: usize,
    /// Findings to keep for each problem; the rest are counted
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000_000))]
    pub(crate) keep: usize,
    /// Memory limit, as in 512m or 4g [default: as much as it needs]
    #[arg(long, value_name = "BYTES")]
    pub(crate) memory: Option<Bytes>,
    /// Number of threads [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Use the superblock in this block (e2fsck -b)
    #[arg(short = 'b', long, value_name = "BLOCK")]
    pub(crate) superblock: Option<u64>,
    /// Block size in bytes, for --superblock (e2fsck -B)
    #[arg(short = 'B', long, value_name = "BYTES", requires = "superblock")]
    pub(crate) block_size: Option<u32>,
    /// Device or file of an external journal (e2fsck -j); without it the machine's block devices are searched for its UUID
    #[arg(short = 'j', long, value_name = "DEVICE")]
    pub(crate) journal: Option<PathBuf>,
    /// What to do about an XFS log that is to be replayed
    #[arg(long, value_enum, default_value = "as-it-is", value_name = "HOW")]
    pub(crate) log: LogArg,
    /// Device or file of an external XFS log (xfs_repair -l)
    #[arg(long, value_name = "DEVICE")]
    pub(crate) log_device: Option<PathBuf>,
    /// Device or file of the realtime part of XFS (xfs_repair -r)
    #[arg(long, value_name = "DEVICE")]
    pub(crate) rt_device: Option<PathBuf>,
    /// Check even if it is mounted read-write; the verdict is then unstable. With --device: let each read take as long as on that
    /// device
    #[arg(long)]
    pub(crate) live: bool,
    /// Also estimate how long this check would take on a modelled device of `fslab device list`
    #[arg(long, value_name = "NAME", conflicts_with_all = ["brief", "ideal"])]
    pub(crate) device: Option<String>,
    #[command(flatten)]
    pub(crate) devices: super::device::DevicesFile,
    /// Multiply processor times there by this: 3 for a processor a third as fast
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = super::device::factor, requires = "device")]
    pub(crate) cpu: f64,
    /// Write the check's reads to this file, for `fslab replay`: which thread asked for what, and when it waited
    #[arg(long, value_name = "FILE", conflicts_with = "estimate")]
    pub(crate) record: Option<PathBuf>,
    /// How to read the device
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) io: IoArg,
    /// Size of a read request [default: 1m; 512k for small filesystems, 256k for cached ones]
    #[arg(long, value_name = "BYTES")]
    pub(crate) request: Option<Bytes>,
    /// Do not look up the paths of findings, which reads the directories a second time
    #[arg(long)]
    pub(crate) no_paths: bool,
    /// Measure the sequential read rate of the device at the end, to give an ideal time for each pass
    #[arg(long)]
    pub(crate) ideal: bool,
}

impl CheckArgs {
    /// What is checked.
    pub(crate) fn target(&self) -> &Path {
        self.target.as_deref().unwrap_or(Path::new(""))
    }

    /// The option that asks for repairs.
    pub(crate) fn repairing(&self) -> Option<&'static str> {
        let asked = [(self.preen, "-p"), (self.automatic, "-a"), (self.yes, "-y")];
        asked
            .into_iter()
            .find_map(|(is_set, name)| is_set.then_some(name))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerdictArg {
    /// e2fsck -fn of e2fsprogs 1.47.4; on OCFS2 as fsck.ocfs2, on XFS as xfs_repair
    #[value(alias = "e2fsck-1.47.4")]
    E2fsck,
    /// e2fsck -fn of e2fsprogs 1.47.0
    #[value(name = "e2fsck-1.47.0")]
    E2fsck1470,
    /// fsck.ocfs2 -fn of ocfs2-tools 1.8.7; the default verdict on OCFS2
    #[value(
        name = "fsck.ocfs2",
        alias = "fsck.ocfs2-1.8",
        alias = "fsck.ocfs2-1.8.8"
    )]
    FsckOcfs2,
    /// xfs_repair -n of xfsprogs 6.1; the default verdict on XFS
    #[value(name = "xfs_repair", alias = "xfs_repair-6.1")]
    XfsRepair,
    /// xfs_repair -n of xfsprogs 6.13
    #[value(name = "xfs_repair-6.13")]
    XfsRepair613,
    /// Any fault counts
    Strict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TypeArg {
    /// ext2, ext3 or ext4
    #[value(alias = "ext2", alias = "ext3")]
    Ext4,
    /// OCFS2
    Ocfs2,
    /// XFS
    Xfs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogArg {
    /// Nothing: judge what lies on the disk, as xfs_repair -n
    AsItIs,
    /// Replay it in memory, and judge what a mount would leave; nothing is written
    ReplayInMemory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// Text for people
    Text,
    /// One JSON document
    Json,
    /// One row for each finding
    Csv,
    /// Time and bytes as e2fsck -tt prints them
    E2fsck,
    /// Time and bytes as fsck.ocfs2 -tt prints them
    Ocfs2,
    /// Findings after the phase lines that xfs_repair -n prints
    #[value(name = "xfs_repair")]
    XfsRepair,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IoArg {
    /// Buffered if most of it is in the page cache, else direct
    Auto,
    /// Through the page cache
    Buffered,
    /// Bypassing the page cache (O_DIRECT)
    Direct,
    /// Through a memory mapping
    Mmap,
}
