//! What is e2fsck's and not ext4's: its passes and problem codes, the order in which it meets faults, where it stops, its bugs, and the
//! exit code that comes of all that.
//!
//! The passes of the checker judge what they read in the order of the device and in several threads. The findings are then sorted into
//! e2fsck's order ([`order`], [`deferred`]), those that it never reaches and those at which it ends are marked ([`misread`], [`log::Log`],
//! [`stops`]), and its exit code is computed ([`verdict`]).

pub(crate) mod advice;
pub(crate) mod deferred;
pub(crate) mod log;
pub(crate) mod misread;
pub(crate) mod order;
pub mod problems;
pub(crate) mod stops;
mod verdict;

use crate::frame::affected::{Harm, Harms};
use crate::frame::pass::Pass;
pub use verdict::verdicts;

/// e2fsck's passes, and the two steps after them.
pub static PASSES: [Pass; 8] = [
    Pass::new(
        0,
        "0",
        "before pass 1",
        "superblock, descriptors, journal",
        "groups",
    ),
    Pass::new(1, "1", "pass 1", "inodes, blocks, and sizes", "inodes"),
    Pass::new(2, "2", "pass 2", "directory structure", "directory blocks"),
    Pass::new(3, "3", "pass 3", "directory connectivity", "directories"),
    Pass::new(4, "4", "pass 4", "reference counts", "inodes"),
    Pass::new(5, "5", "pass 5", "group summary information", "groups"),
    Pass::new(6, "after", "after pass 5", "quota and orphan file", "files"),
    Pass::new(
        7,
        "paths",
        "after the check",
        "paths of what was found",
        "inodes",
    ),
];

/// What its problems do to a file.
pub(crate) const HARMS: Harms = &[
    ("UNCONNECTED", Harm::Unreachable),
    ("UNATTACHED", Harm::Unreachable),
    ("ATTR", Harm::Attributes),
    ("EA_", Harm::Attributes),
    ("FILE_ACL", Harm::Attributes),
    ("ENCRYPTION_XATTR", Harm::Contents),
    ("I_SIZE", Harm::Size),
    ("TOOBIG", Harm::Size),
    ("BAD_MODE", Harm::Owner),
];
