//! ext2, ext3 and ext4.
//!
//! [`Options`] say what mke2fs would be told, [`Layout`] is the filesystem they describe, a [`plan::Population`] says
//! which files exist in it, and [`write`] puts them there. No part knows more of the others than that: a
//! population of three files in a test and one of a hundred million take the same way.

pub mod directory;
mod error;
mod features;
mod layout;
mod options;
mod place;
pub mod plan;
pub mod population;
mod sizes;
mod watch;
mod write;

pub use error::Error;
pub use layout::Layout;
pub use ondisk::ext4::hash::HashVersion;
pub use options::{FeatureEdits, FsType, Options};
pub use watch::Watch;
pub use write::{Written, write};
