//! `fslab forge ext4`.

use std::time::Instant;

use ::forge::Error;
use ::forge::ext4::{Ext4, FsType, HashVersion, Options};

use super::made::{self, Made};
use super::population;
use crate::cli::{ForgeArgs, FsTypeArg, HashArg};

pub(crate) fn run(args: &ForgeArgs) -> anyhow::Result<u8> {
    made::report(args.format, work(args))
}

fn work(args: &ForgeArgs) -> Result<Made, Error> {
    let profile = population::profile(&args.population, None)?;
    let began = Instant::now();
    let image = Ext4::new(options(args, profile.seed)?, profile)?;
    made::make(image, &args.image, began)
}

fn options(args: &ForgeArgs, seed: u64) -> Result<Options, Error> {
    let format = &args.mke2fs;
    let fs_type = match format.fs_type {
        FsTypeArg::Ext2 => FsType::Ext2,
        FsTypeArg::Ext3 => FsType::Ext3,
        FsTypeArg::Ext4 => FsType::Ext4,
    };
    let mut options = Options::new(args.size, fs_type);
    options.block_size = population::small("--block-size", format.block_size)?;
    options.cluster_size = population::small("--cluster-size", format.cluster_size)?;
    options.inode_size = format.inode_size;
    options.inode_ratio = format.inode_ratio;
    options.inodes = format.inodes;
    options.features.names.clone_from(&format.features);
    options.hash = match format.hash {
        HashArg::HalfMd4 => HashVersion::HalfMd4,
        HashArg::Tea => HashVersion::Tea,
        HashArg::Legacy => HashVersion::Legacy,
        HashArg::HalfMd4Unsigned => HashVersion::HalfMd4Unsigned,
        HashArg::TeaUnsigned => HashVersion::TeaUnsigned,
        HashArg::LegacyUnsigned => HashVersion::LegacyUnsigned,
    };
    options.flex_groups = format.flex_groups;
    options.journal_mib = format.journal_size;
    if let Some(percent) = format.reserved {
        options.reserved_percent = percent;
    }
    if let Some(label) = &format.label {
        options.label.clone_from(label);
    }
    options.seed = seed;
    options.spread = !args.packed;
    options.sync = args.sync;
    Ok(options)
}
