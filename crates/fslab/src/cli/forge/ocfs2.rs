//! Options of `fslab forge ocfs2`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ForgeOutput, PopulationArgs};

/// mkfs.ocfs2 makes the empty volume. Unset options default as in mkfs.ocfs2 for the size.
#[derive(Debug, Args)]
pub(crate) struct ForgeOcfs2Args {
    /// Image to create; the contents of files are holes in it
    pub(crate) image: PathBuf,
    /// Size of the volume, as in 2T
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) size: u64,
    /// A published population, in place of a profile; --files scales it
    #[arg(long, value_enum, value_name = "NAME", conflicts_with = "profile")]
    pub(crate) preset: Option<PresetArg>,
    #[command(flatten)]
    pub(crate) population: PopulationArgs,
    /// Wait until the image is on stable storage, and include that in the time
    #[arg(long)]
    pub(crate) sync: bool,
    /// What the volume is for (mkfs.ocfs2 -T)
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    pub(crate) fs_type: Option<Ocfs2TypeArg>,
    /// Block size, 512 to 4k (mkfs.ocfs2 -b)
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) block_size: Option<u64>,
    /// Cluster size, 4k to 1M (mkfs.ocfs2 -C)
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) cluster_size: Option<u64>,
    /// Node slots (mkfs.ocfs2 -N)
    #[arg(long, value_name = "N")]
    pub(crate) slots: Option<u16>,
    /// Slots whose allocators the files come from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) used_slots: u16,
    /// Size of each slot's journal in MiB (mkfs.ocfs2 -J size=)
    #[arg(long, value_name = "MIB")]
    pub(crate) journal_size: Option<u32>,
    /// Set of features to begin with (mkfs.ocfs2 --fs-feature-level)
    #[arg(long, value_enum, default_value = "default", value_name = "LEVEL")]
    pub(crate) feature_level: FeatureLevelArg,
    /// Features to set, or with no before the name to clear, as in metaecc,noinline-data (mkfs.ocfs2 --fs-features)
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',')]
    pub(crate) features: Vec<String>,
    /// Make a volume for one node, without a cluster (mkfs.ocfs2 -M local)
    #[arg(long)]
    pub(crate) local: bool,
    /// Volume label (mkfs.ocfs2 -L)
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Option<String>,
    /// Where the groups of inodes are
    #[arg(long, value_enum, default_value = "kernel", value_name = "LAYOUT")]
    pub(crate) groups: GroupsArg,
    /// Where a chain of groups takes a new one
    #[arg(long, value_enum, default_value = "head", value_name = "PLACE")]
    pub(crate) chain_order: ChainOrderArg,
    /// How bytes above 127 count in hashes of names
    #[arg(long, value_enum, default_value = "signed", value_name = "SIGN")]
    pub(crate) name_hash: NameHashArg,
    /// Format of the summary on stdout
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ForgeOutput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PresetArg {
    /// The volume of the fsck.ocfs2 measurements of 2011: 1,556,247 files, 46 % of them in their inodes, 16 to a directory
    #[value(name = "paper-2011")]
    Paper2011,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ocfs2TypeArg {
    /// Databases: large clusters
    Datafiles,
    /// Many small files: large journals
    Mail,
    /// Images of virtual machines: large clusters
    Vmstore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FeatureLevelArg {
    /// What mkfs.ocfs2 sets by itself
    Default,
    /// What the oldest kernels know
    MaxCompat,
    /// Everything; quotas must be cleared (nousrquota,nogrpquota)
    MaxFeatures,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupsArg {
    /// As a kernel places them: runs of groups with data between the runs
    Kernel,
    /// All from the start on, data after them
    Packed,
    /// Spread evenly over the volume, as after years of use
    Scattered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChainOrderArg {
    /// At its head, as kernels do
    Head,
    /// At its tail, as mkfs.ocfs2 does
    Tail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NameHashArg {
    /// Negative, as in fsck.ocfs2 and in kernels before 6.2 on x86
    Signed,
    /// Positive, as in later kernels
    Unsigned,
}
