//! Options of `fslab forge`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

mod damage;

pub(crate) use damage::ForgeDamageArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum ForgeCommand {
    /// Write a whole ext2, ext3 or ext4 filesystem with its files into a new image
    Ext4(Box<ForgeArgs>),
    /// Break a filesystem on purpose: a named case, or at random
    Damage(ForgeDamageArgs),
}

/// What is left open is decided as mke2fs decides it for the size and type.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // flags are what they are
pub(crate) struct ForgeArgs {
    /// The image, made new; files' contents are holes in it
    pub(crate) image: PathBuf,
    /// Bytes of the filesystem, as in 72T
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) size: u64,
    /// Files in all, as in 105M; directories come on top
    #[arg(long, value_name = "N", value_parser = forge::amount::count)]
    pub(crate) files: Option<u64>,
    /// Files in each directory [default: 3000]
    #[arg(long, value_name = "N", value_parser = forge::amount::count)]
    pub(crate) per_directory: Option<u64>,
    /// Bytes of each file [default: 4096]
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) file_size: Option<u64>,
    /// A TOML file that says more about the files: sizes, depths, names, links, attributes, ageing (docs/forge.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Everything random comes from it [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Fill the files instead of leaving holes
    #[arg(long)]
    pub(crate) contents: bool,
    /// Fill the device from its front instead of spreading directories over it
    #[arg(long)]
    pub(crate) packed: bool,
    /// End when all is on the disk, not when it is in the page cache; the time says so
    #[arg(long)]
    pub(crate) sync: bool,
    #[command(flatten)]
    pub(crate) mke2fs: FormatArgs,
    /// What stdout gets at the end
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ForgeOutput,
}

/// What one would tell mke2fs.
#[derive(Debug, Args)]
pub(crate) struct FormatArgs {
    /// The member of the family (mke2fs -t)
    #[arg(long = "type", value_enum, default_value = "ext4", value_name = "TYPE")]
    pub(crate) fs_type: FsTypeArg,
    /// Bytes of a block, 1k to 64k (mke2fs -b)
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) block_size: Option<u64>,
    /// Bytes of a cluster, with the feature bigalloc (mke2fs -C)
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) cluster_size: Option<u64>,
    /// Bytes of an inode (mke2fs -I)
    #[arg(long, value_name = "BYTES")]
    pub(crate) inode_size: Option<u16>,
    /// Bytes of the filesystem for each inode (mke2fs -i)
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes, conflicts_with = "inodes")]
    pub(crate) inode_ratio: Option<u64>,
    /// Inodes at least (mke2fs -N) [default: by the ratio]
    #[arg(long, value_name = "N", value_parser = forge::amount::count)]
    pub(crate) inodes: Option<u64>,
    /// Features to set, or with ^ to clear, as in large_dir,^64bit (mke2fs -O)
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',')]
    pub(crate) features: Vec<String>,
    /// Hash of names in indexed directories (mke2fs -E hash_alg=)
    #[arg(long, value_enum, default_value = "half_md4", value_name = "HASH")]
    pub(crate) hash: HashArg,
    /// Groups of a flexible group (mke2fs -G)
    #[arg(long, value_name = "N")]
    pub(crate) flex_groups: Option<u32>,
    /// MiB of the journal (mke2fs -J size=)
    #[arg(long, value_name = "MIB")]
    pub(crate) journal_size: Option<u32>,
    /// Percent of the blocks that only root may use (mke2fs -m) [default: 5]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) reserved: Option<f64>,
    /// The label (mke2fs -L)
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
    /// MD4 cut in half
    #[value(name = "half_md4")]
    HalfMd4,
    /// The Tiny Encryption Algorithm
    Tea,
    /// The first one
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
    /// A few lines for people
    Text,
    /// One document
    Json,
}
