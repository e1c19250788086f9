//! OCFS2.
//!
//! The passes are fsck.ocfs2's, because reports are read by their names:
//!
//! | pass | module | question |
//! |---|---|---|
//! | start | `open` | superblock, journals |
//! | 0a | `pass0` | the chains of the global bitmap |
//! | 0b, 0c | `pass0` | the chains of the inode allocators and of the extent allocators |
//! | 1 | `pass1` | is each inode sound, which clusters does it use? |
//! | 1b to 1d | `pass1b` | who else uses them? |
//! | 2 | `pass2` | is each directory block sound, what does it name? |
//! | 3 | `pass3` | is each directory connected to the root? |
//! | 4a, 4b | `pass4` | orphans; has each inode as many names as its link count? |
//! | 5 | `pass5` | quota files |
//!
//! Inodes are swept group by group, each group in one request. Blocks out of a group (extent blocks, indexes, attributes) are read through a
//! small cache of blocks. Inode numbers are block numbers and sparse; maps by inode have one place for each block of an inode group
//! ([`inode_map`]).
//!
//! Findings are made in fsck.ocfs2's own order, so it is known at each moment whether fsck.ocfs2 has ended ([`fsck_ocfs2::log`]). The check
//! continues after that; what it finds then counts for the strict verdict alone.

mod blocks;
mod chain_map;
mod cluster_set;
mod coverage;
mod forecast;
pub mod fsck_ocfs2;
mod inode_map;
mod lookup;
mod memory;
mod open;
mod own;
mod packed;
mod pass0;
mod pass1;
mod pass1b;
mod pass2;
mod pass3;
mod pass4;
mod pass5;
mod paths;
mod refused;
mod run;
mod state;
mod tree;
mod usage;
mod volume;

use blockio::BlockSource;
use fskind::Family;
use ondisk::ocfs2::Superblock;
use ondisk::ocfs2::superblock::{BLOCK, BLOCK_SIZES, SIZE};

use crate::frame::failure::Failure;
use crate::frame::forecast::Forecast;
use crate::frame::observer::Observer;
use crate::frame::options::Options;
use crate::frame::pass::Pass;
use crate::frame::report::{Report, Step, Target};
pub use chain_map::ChainMap;
pub use run::check;

/// The checker of OCFS2.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checker;

impl crate::Checker for Checker {
    fn format(&self) -> Family {
        Family::Ocfs2
    }

    fn passes(&self) -> &'static [Pass] {
        &fsck_ocfs2::PASSES
    }

    fn check(
        &self,
        source: &dyn BlockSource,
        options: &Options,
        observer: &dyn Observer,
    ) -> Result<Report, Failure> {
        check(source, options, observer)
    }

    fn forecast(&self, source: &dyn BlockSource, options: &Options) -> Result<Forecast, String> {
        forecast::forecast(source, options)
    }

    fn advice(&self, source: &dyn BlockSource, report: &Report, target: &Target) -> Vec<Step> {
        fsck_ocfs2::advice::steps(source, report, target)
    }
}

/// The checker, if the source has an OCFS2 superblock at one of its places.
pub(crate) fn recognise(source: &dyn BlockSource) -> Option<Box<dyn crate::Checker>> {
    let found = BLOCK_SIZES.into_iter().any(|size| {
        let mut bytes = [0; SIZE];
        source.read_at(&mut bytes, BLOCK * size).is_ok() && Superblock::read(&bytes).is_ok()
    });
    let found = found || packed::header(source).is_some();
    found.then(|| Box::new(Checker) as Box<dyn crate::Checker>)
}
