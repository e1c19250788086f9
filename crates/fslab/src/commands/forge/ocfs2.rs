//! `fslab forge ocfs2`.

use std::time::Instant;

use ::forge::Error;
use ::forge::ocfs2::{ChainOrder, FeatureLevel, FsType, Groups, Ocfs2, Options, Sign, paper_2011};

use super::made::{self, Made};
use super::population;
use crate::cli::ForgeOcfs2Args;
use crate::cli::forge::{
    ChainOrderArg, FeatureLevelArg, GroupsArg, NameHashArg, Ocfs2TypeArg, PresetArg,
};

pub(crate) fn run(args: &ForgeOcfs2Args) -> anyhow::Result<u8> {
    made::report(args.format, work(args))
}

fn work(args: &ForgeOcfs2Args) -> Result<Made, Error> {
    let preset = match args.preset {
        Some(PresetArg::Paper2011) => Some(paper_2011()?),
        None => None,
    };
    let profile = population::profile(&args.population, preset)?;
    let began = Instant::now();
    let image = Ocfs2::new(options(args, profile.seed)?, profile)?;
    made::make(image, &args.image, began)
}

fn options(args: &ForgeOcfs2Args, seed: u64) -> Result<Options, Error> {
    let mut options = Options::new(args.size);
    options.fs_type = args.fs_type.map(|fs_type| match fs_type {
        Ocfs2TypeArg::Datafiles => FsType::Datafiles,
        Ocfs2TypeArg::Mail => FsType::Mail,
        Ocfs2TypeArg::Vmstore => FsType::Vmstore,
    });
    options.block_size = population::small("--block-size", args.block_size)?;
    options.cluster_size = population::small("--cluster-size", args.cluster_size)?;
    options.slots = args.slots;
    options.used_slots = args.used_slots;
    options.journal_mib = args.journal_size;
    options.feature_level = match args.feature_level {
        FeatureLevelArg::Default => FeatureLevel::Default,
        FeatureLevelArg::MaxCompat => FeatureLevel::MaxCompat,
        FeatureLevelArg::MaxFeatures => FeatureLevel::MaxFeatures,
    };
    options.features.clone_from(&args.features);
    options.local = args.local;
    options.label = args.label.clone().unwrap_or_default();
    options.groups = match args.groups {
        GroupsArg::Kernel => Groups::Kernel,
        GroupsArg::Packed => Groups::Packed,
        GroupsArg::Scattered => Groups::Scattered,
    };
    options.chain_order = match args.chain_order {
        ChainOrderArg::Head => ChainOrder::Head,
        ChainOrderArg::Tail => ChainOrder::Tail,
    };
    options.name_hash = match args.name_hash {
        NameHashArg::Signed => Sign::Signed,
        NameHashArg::Unsigned => Sign::Unsigned,
    };
    options.seed = seed;
    options.sync = args.sync;
    Ok(options)
}
