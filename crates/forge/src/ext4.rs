//! ext2, ext3 and ext4.
//!
//! [`Options`] are those of mke2fs, [`Layout`] is the empty filesystem that it makes of them, [`Contents`] is a population as this
//! filesystem stores it, and [`write()`] adds it. No part knows more of the others: [`plan::Objects`] of three files in a
//! test and of a hundred million take the same way. [`Ext4`] is all of it as an [`Image`].

mod contents;
pub mod directory;
mod layout;
mod mke2fs;
mod options;
mod place;
pub mod plan;
mod write;

use std::path::Path;

pub use contents::{Contents, rules};
pub use layout::Layout;
pub use ondisk::ext4::hash::HashVersion;
pub use options::{FeatureEdits, FsType, Options};
pub use write::write;

use progress::Progress;

use crate::population::{Population, Profile};
use crate::{Error, Image, Written};

/// A filesystem of the family with its files, not made yet.
#[derive(Debug)]
pub struct Ext4 {
    options: Options,
    population: Population,
}

impl Ext4 {
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
}

impl Image for Ext4 {
    fn write(self, path: &Path, progress: &dyn Progress) -> Result<Written, Error> {
        let layout = Layout::new(&self.options, path, progress)?;
        let contents = Contents::new(self.population, layout.superblock())?;
        write(layout, &contents, progress)
    }
}
