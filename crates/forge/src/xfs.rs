//! XFS.
//!
//! mkfs.xfs makes the empty filesystem of the [`Options`]; the times that it took from the clock are replaced. The population is placed as the
//! kernel places it: each directory in the next allocation group, its files there as well, chunks of inodes and blocks of the directory taking
//! turns, data after them. [`Xfs`] is all of it as an [`Image`].
//!
//! The plan keeps eight bytes for each directory and four for each chunk of 64 inodes; everything else follows from it. Allocation groups are
//! written in one pass each, by several threads, and the btrees of a group are built at once when all of its extents are known.

mod attributes;
mod contents;
mod cursor;
mod directory;
mod fork;
mod ledger;
mod mkfs;
mod options;
mod plan;
mod possible;
mod preset;
mod readback;
mod uses;
mod volume;
mod write;

use std::path::Path;

pub use options::{Options, Placement, Stripe};
pub use preset::paper_2012;
pub use readback::{attributes, device_number, link_target, read};

use progress::Progress;

use self::contents::Contents;
use self::volume::Empty;
use crate::image_file::ImageFile;
use crate::population::{Population, Profile};
use crate::{Error, Image, Written};

/// A filesystem with its files, not made yet.
#[derive(Debug)]
pub struct Xfs {
    options: Options,
    population: Population,
}

impl Xfs {
    /// The filesystem of these options with the population of a profile.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] for a profile that is not possible in any filesystem.
    pub fn new(options: Options, profile: Profile) -> Result<Self, Error> {
        Ok(Self {
            options,
            population: Population::new(profile)?,
        })
    }

    /// What exists.
    pub fn population(&self) -> &Population {
        &self.population
    }
}

impl Image for Xfs {
    fn write(self, path: &Path, progress: &dyn Progress) -> Result<Written, Error> {
        possible::profile(&self.population)?;
        let image = ImageFile::create(path, self.options.size)?;
        let empty = Empty::new(&self.options, image, progress)?;
        let contents = Contents::new(self.population, &empty);
        write::write(empty, &contents, progress)
    }
}
