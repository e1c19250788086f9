//! OCFS2.
//!
//! mkfs.ocfs2 makes the empty volume, of the [`Options`]; it then gets the generation, seeds and times that depend on the seed alone. The
//! population is placed as a kernel places it: inodes in groups of 1,024 blocks, a directory right before its files; data between the groups;
//! extent blocks and index roots in groups of their own. [`Ocfs2`] is all of it as an [`Image`].
//!
//! Every number of an inode, and every place of its data, follows by arithmetic from a small plan, so the groups are written in one pass, each by
//! one thread, and memory does not grow with the number of files.

mod attributes;
mod bitmap;
mod blocks;
mod contents;
mod directory;
mod mkfs;
mod options;
mod plan;
mod preset;
mod readback;
mod space;
mod tree;
mod volume;
mod write;

use std::path::Path;

pub use options::{ChainOrder, FeatureLevel, FsType, Groups, Options, Sign};

pub use preset::paper_2011;
pub use readback::{attributes, link_target, read};

use progress::Progress;

use self::contents::Contents;
use self::volume::Empty;
use crate::image_file::ImageFile;
use crate::population::{Population, Profile};
use crate::{Error, Image, Written};

/// A volume with its files, not made yet.
#[derive(Debug)]
pub struct Ocfs2 {
    options: Options,
    population: Population,
}

impl Ocfs2 {
    /// The volume of these options with the population of a profile.
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

impl Image for Ocfs2 {
    fn write(self, path: &Path, progress: &dyn Progress) -> Result<Written, Error> {
        let image = ImageFile::create(path, self.options.size)?;
        let empty = Empty::new(&self.options, image, progress)?;
        let contents = Contents::new(self.population, &empty)?;
        write::write(empty, &contents, progress)
    }
}
