//! Filesystems of XFS broken on purpose.
//!
//! As for ext4, a case makes one described fault. XFS's checker has no codes; a case has the code that names the problem (`XFS-AGF-MAGIC`), and words of
//! the line that `xfs_repair -n` prints for it, with its exit code: each has been tried. A fault is a structure, a field of it and a value: a
//! row of a table ([`Case`]). Changed structures get new checksums, but in the cases of wrong ones.
//!
//! Some faults `xfs_repair -n` does not see, and ends with 0; those are marked as silent.

mod case;
mod cases;
mod find;
mod locate;
mod volume;

pub use case::{Base, Case};
pub use cases::all;
pub use volume::Volume;

use super::{Error, Medium};

/// The case of a name.
///
/// # Errors
///
/// There is none; the error names one that is close.
pub fn case(name: &str) -> Result<&'static Case, Error> {
    super::named(name, all(), |case| case.name)
}

/// Whether a medium has an XFS superblock.
pub fn is_volume(medium: &mut dyn Medium) -> bool {
    Volume::open(medium).is_ok()
}
