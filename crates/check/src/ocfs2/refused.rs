//! What can be wrong with a block before any of its fields is judged.

use super::fsck_ocfs2::Exit;

/// Why a structure cannot be used, as libocfs2 distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The block number is outside the volume.
    Range,
    /// The block cannot be read.
    Read,
    /// The checksum is wrong.
    Checksum,
    /// The signature is wrong.
    Magic,
    /// A field makes the structure useless.
    Corrupt,
    /// A name is not there.
    NotFound,
    /// The block is not in o2image's packed file: nothing is known of it.
    Absent,
    /// No record of an extent list leads on.
    Record,
    /// A tree is deeper than the most levels that libocfs2 follows to a leaf; it fails an assertion.
    Depth,
    /// libocfs2 wants to correct the structure on the way, and the volume is read-only.
    Write,
}

impl Refused {
    /// How fsck.ocfs2 ends where it cannot do without the structure.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Refused::Depth => Exit::ABORT,
            _ => Exit::FAILED,
        }
    }

    /// Why, in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Refused::Range => "its block number is outside the volume",
            Refused::Read => "it cannot be read",
            Refused::Checksum => "its checksum is wrong",
            Refused::Magic => "its signature is wrong",
            Refused::Corrupt => "its fields contradict each other",
            Refused::NotFound => "there is no such name",
            Refused::Absent => "it is not in the o2image file",
            Refused::Record => "no record of its extents leads on",
            Refused::Depth => "it is deeper than five levels",
            Refused::Write => "fsck.ocfs2 wants to correct it although the volume is read-only",
        }
    }
}
