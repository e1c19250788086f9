//! What is `xfs_repair`'s and not the format's: its phases, its messages as codes, where it ends, and the exit code that comes of that.
//!
//! The rule of `xfs_repair -n` is simple: one warning anywhere makes the exit code 1. So what follows from a finding never matters
//! for the verdict, and the parts of a check may run in any order. A fault of the superblock that it would have to correct ends it, also
//! with 1.

pub(crate) mod advice;
pub(crate) mod log;
pub mod problems;

use crate::frame::affected::{Harm, Harms};
use crate::frame::log::Findings;
use crate::frame::pass::Pass;
use crate::frame::problem::{Class, Problem, Severity};
use crate::frame::verdict::{EXIT_CLEAN, EXIT_ERRORS, EXIT_STOPPED, Reference, Verdict, Verdicts};
pub use crate::frame::verdict::{Exit, ReferenceRun as Run};
use problems::{
    ATTR_FLAGS, ATTR_LEAF_CRC, LOG_DIRTY, LOG_EXTERNAL, RMAP_UNWRITTEN_KEY, SB_NEWER, SB_ONE_AG,
    SB_RT_NODEV, SB_UNKNOWN_FEATURES,
};

/// The program whose verdict is followed.
pub const REFERENCE: Reference = Reference {
    program: "xfs_repair",
    version: "6.1.0",
    command: "xfs_repair -n",
    lenience: "xfs_repair does not look for all of these, or it ended before it came to them",
};

/// A release whose verdict is followed. Where releases differ is in `xfs_repair`'s sources: attributes and reverse mappings it looks at more closely
/// since 6.13, and it knows parent pointers and the exchange of contents; what it finds in parent pointers is not followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// 6.1.0.
    #[default]
    V6_1,
    /// 6.13.0.
    V6_13,
}

impl Release {
    pub(crate) fn reference(self) -> Reference {
        match self {
            Release::V6_1 => REFERENCE,
            Release::V6_13 => Reference {
                version: "6.13.0",
                ..REFERENCE
            },
        }
    }

    /// Whether this release warns of what 6.1 passes over.
    fn mentions(self, problem: &Problem) -> bool {
        let more = [&ATTR_LEAF_CRC, &ATTR_FLAGS, &RMAP_UNWRITTEN_KEY];
        self == Release::V6_13 && more.contains(&problem)
    }
}

/// Its exit code when it warned of anything, or could not continue.
pub const EXIT_WARNED: u8 = 1;

/// Its phases, and what comes after them.
pub static PASSES: [Pass; 9] = [
    Pass::new(0, "1", "phase 1", "superblock", "superblocks"),
    Pass::new(1, "2", "phase 2", "log, headers and btrees", "blocks"),
    Pass::new(2, "3", "phase 3", "inodes and what they map", "inodes"),
    Pass::new(3, "4", "phase 4", "blocks against the btrees", "blocks"),
    Pass::new(4, "5", "phase 5", "realtime bitmap and summary", "blocks"),
    Pass::new(5, "6", "phase 6", "directories and attributes", "blocks"),
    Pass::new(6, "7", "phase 7", "link counts and quotas", "inodes"),
    Pass::new(7, "end", "the end", "largest log sequence number", "logs"),
    Pass::new(
        8,
        "own",
        "after the end",
        "what xfs_repair does not look for",
        "inodes",
    ),
];

/// `xfs_repair`'s verdict and the strict one. `opened`: whether the superblock was of use.
pub(crate) fn verdicts(findings: &Findings, run: &Run, opened: bool, release: Release) -> Verdicts {
    if findings
        .list
        .iter()
        .any(|finding| finding.problem == &SB_NEWER)
    {
        // Nothing was judged: neither verdict is known.
        let none = Verdict {
            exit_code: EXIT_STOPPED,
            stopped_at: None,
        };
        return Verdicts {
            reference: Some(none.clone()),
            strict: none,
        };
    }
    let mut tallies = findings.tallies.iter();
    let warned = run.ends_at.is_some()
        || !run.codes.is_empty()
        || tallies.any(|tally| release.mentions(tally.problem));
    let wrong = findings.list.iter().any(|finding| {
        let idle = finding.beyond_reference && finding.problem.severity == Severity::Cosmetic;
        finding.problem.is_fault() && !idle && !is_circumstance(finding.problem)
    });
    let unopened = findings.list.iter().find(|_| !opened);
    Verdicts {
        reference: Some(Verdict {
            exit_code: if warned { EXIT_WARNED } else { EXIT_CLEAN },
            stopped_at: run.ends_at,
        }),
        strict: Verdict {
            exit_code: if wrong { EXIT_ERRORS } else { EXIT_CLEAN }
                | if opened { 0 } else { EXIT_STOPPED },
            stopped_at: unopened.map(|finding| finding.problem.name),
        },
    }
}

/// Whether it makes `xfs_repair -n` end with 1 and is no fault of the filesystem: an unreplayed log, a device that was not given, a single
/// allocation group, features that xfsprogs 6.1 does not know and that are read here.
fn is_circumstance(problem: &Problem) -> bool {
    [
        &LOG_DIRTY,
        &LOG_EXTERNAL,
        &SB_ONE_AG,
        &SB_RT_NODEV,
        &SB_UNKNOWN_FEATURES,
    ]
    .contains(&problem)
}

/// Whether it makes the exit code 1.
pub(crate) fn counts(class: Class) -> bool {
    matches!(class, Class::Error | Class::Stop)
}

/// What its problems do to a file.
pub(crate) const HARMS: Harms = &[
    ("CONN-ORPHAN", Harm::Unreachable),
    ("CONN-PARENT", Harm::Unreachable),
    ("CONN-", Harm::Name),
    ("DIR-ENT", Harm::Name),
    ("DIR-SF", Harm::Name),
    ("DIR-DOT", Harm::Name),
    ("FTYPE", Harm::Name),
    ("ATTR", Harm::Attributes),
    ("AFORK", Harm::Attributes),
    ("EXTSIZE", Harm::Owner),
    ("SIZE", Harm::Size),
    ("INODE-FLAG", Harm::Owner),
    ("INODE-REFLINK", Harm::Owner),
    ("INODE-COWEXT", Harm::Owner),
    ("INODE-BIGTIME", Harm::Owner),
    ("INODE-NREXT64", Harm::Owner),
    ("INODE-NSEC", Harm::Owner),
    ("INODE-DAX", Harm::Owner),
    ("PAD", Harm::Owner),
];
