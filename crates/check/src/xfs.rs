//! XFS, versions 4 and 5.
//!
//! The phases have `xfs_repair`'s names, because reports are read by them:
//!
//! | phase | module | question |
//! |---|---|---|
//! | 1 | `phase1` | superblocks: do they agree, is the geometry possible? |
//! | 2 | `phase2` | log; headers, free lists and btrees of the allocation groups |
//! | 3 | `phase3` | is each inode sound, which blocks does it use? |
//! | 4 | `phase4` | blocks against btrees: used twice, leaked, reverse mappings, reference counts |
//! | 5 | `phase5` | realtime bitmap and summary |
//! | 6 | `phase6` | directories, attributes, targets of links: blocks by themselves, names against inodes |
//! | 7 | `phase7` | has each inode as many names as its link count? quotas |
//! | end | `phase2::log` | is any metadata newer than the log? |
//!
//! Where `xfs_repair` walks all inodes twice and all directories twice, each is read once here, in ascending sweeps: chunks come from the
//! inode btrees, blocks that inodes name are collected, sorted and swept. Nothing in a sweep needs the state of another inode; what
//! objects say of each other is kept in maps by rank ([`chunks`]) and by block ([`claims`]) and compared at the end.
//!
//! A log that is to be replayed is replayed in memory if the caller asks for it ([`recovery`]).
//!
//! `xfs_repair -n` ends with 1 as soon as it warned of anything ([`xfs_repair`]), so the order of findings does not matter for its
//! verdict.

mod attribute;
mod chunks;
mod claims;
mod directories;
mod directory;
mod fingerprint;
#[cfg(test)]
mod fixture;
mod forecast;
mod hash_tree;
mod inode;
mod lookup;
mod memory;
mod metadump;
mod named;
mod paths;
mod phase1;
mod phase2;
mod phase3;
mod phase4;
mod phase5;
mod phase6;
mod phase7;
mod quota;
mod realtime;
mod recovery;
mod rules;
mod run;
mod sink;
mod stand_in;
mod state;
mod types;
mod volume;
mod worker;
pub mod xfs_repair;

use blockio::BlockSource;
use fskind::Family;
use ondisk::xfs::Superblock;
use ondisk::xfs::superblock::SIZE;

use crate::frame::failure::Failure;
use crate::frame::forecast::Forecast;
use crate::frame::observer::Observer;
use crate::frame::options::Options as Common;
use crate::frame::pass::Pass;
use crate::frame::report::{Report, Step, Target};
pub use recovery::Options;
pub use run::{check, check_with};
pub use xfs_repair::Release;

/// The checker of XFS, with the options that only it has.
#[derive(Clone, Debug, Default)]
pub struct Checker {
    /// Its own options.
    pub options: Options,
}

impl Checker {
    /// A checker with these options.
    pub fn new(options: Options) -> Checker {
        Checker { options }
    }
}

impl crate::Checker for Checker {
    fn format(&self) -> Family {
        Family::Xfs
    }

    fn passes(&self) -> &'static [Pass] {
        &xfs_repair::PASSES
    }

    fn forecast(&self, source: &dyn BlockSource, options: &Common) -> Result<Forecast, String> {
        forecast::forecast(source, options)
    }

    fn check(
        &self,
        source: &dyn BlockSource,
        options: &Common,
        observer: &dyn Observer,
    ) -> Result<Report, Failure> {
        check_with(source, options, &self.options, observer)
    }

    fn advice(&self, source: &dyn BlockSource, report: &Report, target: &Target) -> Vec<Step> {
        xfs_repair::advice::steps(source, &self.options, report, target)
    }
}

/// The checker, if the source has an XFS superblock at its start or copies of one that is lost, or is a file of xfs_metadump.
pub(crate) fn recognise(source: &dyn BlockSource) -> Option<Box<dyn crate::Checker>> {
    let mut bytes = [0; SIZE];
    let found = source.read_at(&mut bytes, 0).is_ok() && Superblock::read(&bytes).is_ok();
    let found = found || metadump::version(source).is_some() || stand_in::exists(source);
    found.then(|| Box::new(Checker::default()) as Box<dyn crate::Checker>)
}
