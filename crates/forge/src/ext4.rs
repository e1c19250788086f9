//! ext2, ext3 and ext4.
//!
//! [`Options`] are what mke2fs would be given, [`Layout`] is the empty filesystem they describe, [`Contents`] is a population as this
//! filesystem stores it, and [`write()`] puts it there. No part knows more of the others: [`plan::Objects`] of three files in a
//! test and of a hundred million take the same way. [`Ext4`] is all of it as an [`Image`].

mod contents;
pub mod directory;
mod features;
mod layout;
mod options;
mod place;
pub mod plan;
mod sizes;
mod write;

use std::path::Path;

pub use contents::{Contents, rules};
pub use layout::Layout;
pub use ondisk::ext4::hash::HashVersion;
pub use options::{FeatureEdits, FsType, Options};
pub use write::write;

use progress::Progress;

use crate::population::Profile;
use crate::{Error, Image, Written};

/// A filesystem of the family with its files, planned.
#[derive(Debug)]
pub struct Ext4 {
    layout: Layout,
    contents: Contents,
}

impl Ext4 {
    /// The filesystem of these options with the population of a profile.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] for what mke2fs would refuse, what cannot be made here, or a profile that the filesystem cannot hold;
    /// [`Error::Room`] when it has too few inodes.
    pub fn new(options: &Options, profile: Profile) -> Result<Self, Error> {
        let layout = Layout::new(options)?;
        let contents = Contents::new(profile, layout.superblock())?;
        Ok(Self { layout, contents })
    }
}

impl Image for Ext4 {
    fn write(&self, path: &Path, progress: &dyn Progress) -> Result<Written, Error> {
        write(&self.layout, &self.contents, path, progress)
    }
}
