//! `fslab forge xfs`.

use std::time::Instant;

use ::forge::Error;
use ::forge::xfs::{Options, Placement, Stripe, Xfs, paper_2012};

use super::made::{self, Made};
use super::population;
use crate::cli::ForgeXfsArgs;
use crate::cli::forge::{PlacementArg, XfsPresetArg};

pub(crate) fn run(args: &ForgeXfsArgs) -> anyhow::Result<u8> {
    made::report(args.format, work(args))
}

fn work(args: &ForgeXfsArgs) -> Result<Made, Error> {
    let mut options = options(args)?;
    let preset = match args.preset {
        Some(XfsPresetArg::Paper2012) => Some(paper_2012(&mut options)?),
        None => None,
    };
    if let Some(placement) = args.placement {
        options.placement = match placement {
            PlacementArg::Inode64 => Placement::Inode64,
            PlacementArg::Inode32 => Placement::Inode32,
            PlacementArg::Packed => Placement::Packed,
        };
    }
    let profile = population::profile(&args.population, preset)?;
    options.seed = profile.seed;
    let began = Instant::now();
    let image = Xfs::new(options, profile)?;
    made::make(image, &args.image, began)
}

fn options(args: &ForgeXfsArgs) -> Result<Options, Error> {
    let mut options = Options::new(args.size);
    options.block_size = population::small("--block-size", args.block_size)?;
    options.sector_size = population::small("--sector-size", args.sector_size)?;
    options.inode_size = population::small("--inode-size", args.inode_size)?;
    options.directory_block_size =
        population::small("--directory-block-size", args.directory_block_size)?;
    options.groups = args.groups;
    options.stripe = args
        .stripe_unit
        .zip(args.stripe_width)
        .map(|(unit, width)| Stripe { unit, width });
    options.log_size = args.log_size;
    options.inode_percent = args.inode_percent;
    options.features.clone_from(&args.features);
    options.label = args.label.clone().unwrap_or_default();
    options.sync = args.sync;
    Ok(options)
}
