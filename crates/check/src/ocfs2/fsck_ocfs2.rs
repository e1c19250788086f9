//! What is fsck.ocfs2's and not the format's: its passes, its codes, where it ends, and the exit code that comes of that.

pub(crate) mod advice;
pub(crate) mod log;
pub mod problems;

use crate::frame::affected::{Harm, Harms};
use crate::frame::log::Findings;
use crate::frame::pass::Pass;
use crate::frame::problem::Class;
use crate::frame::verdict::{
    self, EXIT_CLEAN, EXIT_ERRORS, EXIT_STOPPED, Reference, Verdict, Verdicts,
};
pub use crate::frame::verdict::{Exit, ReferenceRun as Run};

/// The program whose verdict is followed.
pub const REFERENCE: Reference = Reference {
    program: "fsck.ocfs2",
    version: "1.8.7",
    command: "fsck.ocfs2 -fn",
    lenience: "fsck.ocfs2 does not look for all of these, or it ended before it came to them",
};

/// fsck.ocfs2's passes, and the steps before and after them.
pub static PASSES: [Pass; 12] = [
    Pass::new(
        0,
        "start",
        "before pass 0a",
        "superblock and journals",
        "slots",
    ),
    Pass::new(1, "0a", "pass 0a", "cluster allocation chains", "groups"),
    Pass::new(2, "0b", "pass 0b", "inode allocation chains", "groups"),
    Pass::new(
        3,
        "0c",
        "pass 0c",
        "extent block allocation chains",
        "groups",
    ),
    Pass::new(4, "1", "pass 1", "inodes and blocks", "inodes"),
    Pass::new(
        5,
        "1b",
        "passes 1b to 1d",
        "multiply-claimed clusters",
        "clusters",
    ),
    Pass::new(6, "2", "pass 2", "directory entries", "directory blocks"),
    Pass::new(7, "3", "pass 3", "directory connectivity", "directories"),
    Pass::new(8, "4a", "pass 4a", "for orphaned inodes", "slots"),
    Pass::new(9, "4b", "pass 4b", "inodes link counts", "inodes"),
    Pass::new(10, "5", "pass 5", "quota information", "files"),
    Pass::new(
        11,
        "own",
        "after pass 5",
        "what fsck.ocfs2 does not look for",
        "inodes",
    ),
];

/// fsck.ocfs2's verdict and the strict one.
///
/// The program itself exits with 0 whatever it printed, unless something ended it. The verdict says what its output says: 4 where at
/// least one code was printed and the run was complete, 8 where it ended early.
pub(crate) fn verdicts(findings: &Findings, run: &Run) -> Verdicts {
    let exit_code = if run.ends_at.is_some() {
        EXIT_STOPPED
    } else if run.codes.is_empty() {
        EXIT_CLEAN
    } else {
        EXIT_ERRORS
    };
    Verdicts {
        reference: Some(Verdict {
            exit_code,
            stopped_at: run.ends_at,
        }),
        strict: verdict::strict(&findings.list, &problems::SB_UNUSABLE),
    }
}

/// Whether fsck.ocfs2 prints a code for it, whether or not it is a fault.
pub(crate) fn has_code(class: Class) -> bool {
    matches!(class, Class::Error | Class::Optional)
}

/// What its problems do to a file.
pub(crate) const HARMS: Harms = &[
    ("NOT_CONNECTED", Harm::Unreachable),
    ("DIRENT", Harm::Name),
    ("XATTR", Harm::Attributes),
    ("SIZE", Harm::Size),
];
