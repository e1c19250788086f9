//! ext2, ext3 and ext4.
//!
//! The passes are e2fsck's, because reports are read by their names:
//!
//! | pass | module | question | needs | leaves |
//! |---|---|---|---|---|
//! | 0 | `pass0` | superblock, descriptors, journal, orphans | the device | a [`Volume`] |
//! | 1 | `pass1` | is each inode sound, which blocks does it use? | [`Volume`] | [`State`] |
//! | 1B-1D | `pass1::shared` | who else uses them? | blocks used twice | |
//! | 2 | `pass2` | is each directory block sound, what does it name? | directories of pass 1 | parents, link counts |
//! | 3 | `pass3` | is each directory connected to the root? | parents | |
//! | 4 | `pass4` | does each inode have as many names as its link count? | link counts | |
//! | 5 | `pass5` | do bitmaps and counters agree with the inodes? | everything | |
//!
//! | after | `post` | orphan file, quota files | owners of pass 1 | |
//!
//! Passes 1, 2 and 5 sweep: each plans all its blocks at once, ascending, and threads take the pieces as they arrive. What they find
//! goes into flat atomic bitmaps and into logs of their own, so that no result depends on their number.
//!
//! What is e2fsck's and not the format's (codes, order of findings, early ends, bugs, exit code) is in [`e2fsck`].

mod directories;
pub mod e2fsck;
mod file;
mod forecast;
mod group_map;
mod inode_set;
mod memory;
mod options;
#[cfg(test)]
pub(crate) mod oracle;
mod pass0;
mod pass1;
mod pass2;
mod pass3;
mod pass4;
mod pass5;
mod paths;
mod post;
mod run;
mod slots;
mod state;
mod volume;

use blockio::BlockSource;
use fskind::Family;
use ondisk::ext4::{Superblock, superblock};

use crate::frame::failure::Failure;
use crate::frame::forecast::Forecast;
use crate::frame::observer::Observer;
use crate::frame::options::Options as Common;
use crate::frame::pass::Pass;
use crate::frame::report::{Report, Step, Target};
pub use group_map::GroupMap;
pub use options::{ExternalJournal, Options, Reference};
pub use run::check;

/// The checker of ext2, ext3 and ext4, with the options that only it has.
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
        Family::Ext
    }

    fn passes(&self) -> &'static [Pass] {
        &e2fsck::PASSES
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
        check(source, options, &self.options, observer)
    }

    fn advice(&self, source: &dyn BlockSource, report: &Report, target: &Target) -> Vec<Step> {
        e2fsck::advice::steps(source, &self.options, report, target)
    }
}

/// The checker, if the source has an ext2, ext3 or ext4 superblock at its usual place.
pub(crate) fn recognise(source: &dyn BlockSource) -> Option<Box<dyn crate::Checker>> {
    let mut bytes = [0; superblock::SIZE];
    source.read_at(&mut bytes, superblock::OFFSET).ok()?;
    Superblock::read(&bytes).ok()?;
    Some(Box::new(Checker::default()))
}
