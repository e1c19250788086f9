//! Options of `fslab forge xfs`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ForgeOutput, PopulationArgs};

/// mkfs.xfs makes the empty filesystem. Unset options default as in mkfs.xfs for the size.
#[derive(Debug, Args)]
pub(crate) struct ForgeXfsArgs {
    /// Image to create; the contents of files are holes in it
    pub(crate) image: PathBuf,
    /// Size of the filesystem, as in 72T
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) size: u64,
    /// A published population with its version and placement, in place of a profile; --files scales it
    #[arg(long, value_enum, value_name = "NAME", conflicts_with = "profile")]
    pub(crate) preset: Option<XfsPresetArg>,
    #[command(flatten)]
    pub(crate) population: PopulationArgs,
    /// Where inodes and data go [default: inode64, or that of the preset]
    #[arg(long, value_enum, value_name = "PLACEMENT")]
    pub(crate) placement: Option<PlacementArg>,
    /// Wait until the image is on stable storage, and include that in the time
    #[arg(long)]
    pub(crate) sync: bool,
    /// Block size, 512 to 64k (mkfs.xfs -b size=)
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) block_size: Option<u64>,
    /// Sector size (mkfs.xfs -s size=)
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) sector_size: Option<u64>,
    /// Inode size, 256 to 2k (mkfs.xfs -i size=)
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) inode_size: Option<u64>,
    /// Percentage of the space that inodes may take (mkfs.xfs -i maxpct=)
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) inode_percent: Option<u8>,
    /// Size of a directory block, up to 64k (mkfs.xfs -n size=)
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) directory_block_size: Option<u64>,
    /// Number of allocation groups (mkfs.xfs -d agcount=)
    #[arg(long, value_name = "N")]
    pub(crate) groups: Option<u32>,
    /// Stripe unit of the device (mkfs.xfs -d su=)
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes, requires = "stripe_width")]
    pub(crate) stripe_unit: Option<u64>,
    /// Stripe units in the width (mkfs.xfs -d sw=)
    #[arg(long, value_name = "N", requires = "stripe_unit")]
    pub(crate) stripe_width: Option<u32>,
    /// Size of the log (mkfs.xfs -l size=)
    #[arg(long, value_name = "BYTES", value_parser = forge::amount::bytes)]
    pub(crate) log_size: Option<u64>,
    /// Features to set, or with no before the name to clear, as in rmapbt,nrext64 or nocrc (mkfs.xfs -m, -i, -n)
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',')]
    pub(crate) features: Vec<String>,
    /// Volume label (mkfs.xfs -L)
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Option<String>,
    /// Format of the summary on stdout
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ForgeOutput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum XfsPresetArg {
    /// The filesystem of 2012 that xfs_repair was compared with e2fsck on: 105 million files of 400,000 bytes, version 4, inode32
    #[value(name = "paper-2012")]
    Paper2012,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlacementArg {
    /// Each directory in the next allocation group, its files with it, as kernels do since 3.7
    Inode64,
    /// Inodes only where numbers fit 32 bits, data in all groups in turn, as older kernels do
    Inode32,
    /// One allocation group after the other
    Packed,
}
