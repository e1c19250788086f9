//! ext2, ext3 and ext4.
//!
//! [`Options`] say what mke2fs would be told, a [`plan::Population`] says which files exist.

mod error;
mod options;
pub mod plan;

pub use error::Error;
pub use options::{FeatureEdits, FsType, Options};
