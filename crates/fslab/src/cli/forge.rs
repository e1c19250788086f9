//! Options of `fslab forge`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

mod damage;
mod ocfs2;
mod xfs;

pub(crate) use damage::ForgeDamageArgs;
pub(crate) use ocfs2::{
    ChainOrderArg, FeatureLevelArg, ForgeOcfs2Args, GroupsArg, NameHashArg, Ocfs2TypeArg, PresetArg,
};

pub(crate) use xfs::{ForgeXfsArgs, PlacementArg, XfsPresetArg};

#[derive(Debug, Subcommand)]
pub(crate) enum ForgeCommand {
    /// Write a whole ext2, ext3 or ext4 filesystem with its files into a new image
    Ext4(Box<ForgeArgs>),
    /// Write a whole OCFS2 volume with its files into a new image
    Ocfs2(Box<ForgeOcfs2Args>),
    /// Write a whole XFS filesystem with its files into a new image
    Xfs(Box<ForgeXfsArgs>),
    /// Damage a filesystem on purpose: by a named case, or at random
    Damage(ForgeDamageArgs),
}

/// mke2fs makes the empty filesystem. Unset options default as in mke2fs for the size and type.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // flags are what they are
pub(crate) struct ForgeArgs {
    /// Image to create; the contents of files are holes in it
    pub(crate) image: PathBuf,
    /// Size of the filesystem, as in 72T
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) size: u64,
    #[command(flatten)]
    pub(crate) population: PopulationArgs,
    /// Fill the device from its start instead of spreading directories over it
    #[arg(long)]
    pub(crate) packed: bool,
    /// Wait until the image is on stable storage, and include that in the time
    #[arg(long)]
    pub(crate) sync: bool,
    #[command(flatten)]
    pub(crate) mke2fs: FormatArgs,
    /// Format of the summary on stdout
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ForgeOutput,
}

/// What exists in the filesystem.
#[derive(Debug, Args)]
pub(crate) struct PopulationArgs {
    /// Number of files, as in 105M, directories not counted
    #[arg(long, value_name = "N", value_parser = forge::amount::count)]
    pub(crate) files: Option<u64>,
    /// Files per directory [default: 3000]
    #[arg(long, value_name = "N", value_parser = forge::amount::count)]
    pub(crate) per_directory: Option<u64>,
    /// Size of each file [default: 4096]
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) file_size: Option<u64>,
    /// TOML file that describes the files: sizes, depths, names, links, attributes, ageing (docs/forge.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Random seed [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Write the contents of files instead of leaving holes
    #[arg(long)]
    pub(crate) contents: bool,
}

/// Options of mke2fs.
#[derive(Debug, Args)]
pub(crate) struct FormatArgs {
    /// Filesystem type (mke2fs -t)
    #[arg(long = "type", value_enum, default_value = "ext4", value_name = "TYPE")]
    pub(crate) fs_type: FsTypeArg,
    /// Block size, 1k to 64k (mke2fs -b)
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) block_size: Option<u64>,
    /// Cluster size, with the feature bigalloc (mke2fs -C)
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) cluster_size: Option<u64>,
    /// Inode size in bytes (mke2fs -I)
    #[arg(long, value_name = "BYTES")]
    pub(crate) inode_size: Option<u16>,
    /// Bytes of the filesystem per inode (mke2fs -i)
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes, conflicts_with = "inodes")]
    pub(crate) inode_ratio: Option<u64>,
    /// Minimum number of inodes (mke2fs -N) [default: from the bytes per inode]
    #[arg(long, value_name = "N", value_parser = forge::amount::count)]
    pub(crate) inodes: Option<u64>,
    /// Features to set, or with ^ to clear, as in large_dir,^64bit (mke2fs -O)
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',')]
    pub(crate) features: Vec<String>,
    /// Hash of indexed directories (mke2fs -E hash_alg=)
    #[arg(long, value_enum, default_value = "half_md4", value_name = "HASH")]
    pub(crate) hash: HashArg,
    /// Groups per flexible group (mke2fs -G)
    #[arg(long, value_name = "N")]
    pub(crate) flex_groups: Option<u32>,
    /// Journal size in MiB (mke2fs -J size=)
    #[arg(long, value_name = "MIB")]
    pub(crate) journal_size: Option<u32>,
    /// Percentage of blocks reserved for root (mke2fs -m) [default: 5]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) reserved: Option<f64>,
    /// Volume label (mke2fs -L)
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FsTypeArg {
    /// Block maps, no journal
    Ext2,
    /// Block maps and a journal
    Ext3,
    /// Extents, checksums, flexible groups
    Ext4,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HashArg {
    /// Half MD4
    #[value(name = "half_md4")]
    HalfMd4,
    /// The Tiny Encryption Algorithm
    Tea,
    /// The original hash
    Legacy,
    /// half_md4 over unsigned characters, as on machines other than x86
    #[value(name = "half_md4-unsigned")]
    HalfMd4Unsigned,
    /// tea over unsigned characters
    #[value(name = "tea-unsigned")]
    TeaUnsigned,
    /// legacy over unsigned characters
    #[value(name = "legacy-unsigned")]
    LegacyUnsigned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ForgeOutput {
    /// A few lines of text
    Text,
    /// One JSON document
    Json,
}
