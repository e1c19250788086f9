//! Volumes of OCFS2 broken on purpose.
//!
//! As for ext4, a case makes one described fault. It is named after the code that fsck.ocfs2 prints for it; each has been compared with
//! `fsck.ocfs2 -fn`, and lists the further codes that follow from the fault. Most faults are a structure, a field of it and a value: those are
//! rows of a table ([`Edit`]). Where a volume has checksums of metadata, the changed blocks get new ones.
//! [`random`] picks a block of metadata, a field and a value from a seed.

mod case;
mod cases;
mod find;
mod random;
mod space;
mod volume;

pub use case::{Base, Case, End};
pub use cases::all;
pub use random::{Survey, leaves_memory, random};
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

/// Whether a medium has an OCFS2 superblock.
pub fn is_volume(medium: &mut dyn Medium) -> bool {
    Volume::open(medium).is_ok()
}
