//! Published populations.

use super::options::{Options, Placement};
use crate::Error;
use crate::population::Profile;

/// The files of the comparison of `xfs_repair` with e2fsck in 2012 (Layton, Linux filesystems of 38 and 72 TB): fs_mark in three threads that shared
/// 35,000 directories, 105 million files of 400,000 bytes on 72 TB.
const PAPER_2012: &str = r"
files = 105000000
per_directory = 3000
file_size = 400000
[directories]
fan_out = 35000
[names]
length = 40
";

/// The population of 2012, and sets the options to what its tools and kernel made: version 4, inodes of 256 bytes, `inode32`.
///
/// # Errors
///
/// None; the signature is that of [`Profile::parse`].
pub fn paper_2012(options: &mut Options) -> Result<Profile, Error> {
    options.features.insert(0, "nocrc".to_owned());
    options.features.insert(1, "noftype".to_owned());
    options.inode_size = options.inode_size.or(Some(256));
    options.placement = Placement::Inode32;
    Profile::parse("paper-2012", PAPER_2012)
}
