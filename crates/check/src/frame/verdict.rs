//! Sound or not: as the reference program would say, and strictly.
//!
//! A reference program has an exit code that scripts rely on, and it is seldom simply "was anything found". How the code comes about
//! is the checker's own knowledge; the strict verdict is common to all: whatever is wrong with the image is wrong.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::finding::Finding;
use super::problem::{Problem, Severity};

/// Nothing wrong.
pub const EXIT_CLEAN: u8 = 0;
/// Errors are left.
pub const EXIT_ERRORS: u8 = 4;
/// The check did not run to its end.
pub const EXIT_STOPPED: u8 = 8;

/// The program whose verdict a checker follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its name: `e2fsck`.
    pub program: &'static str,
    /// The version whose behaviour is followed.
    pub version: &'static str,
    /// How it is called so that it repairs nothing: `e2fsck -n`.
    pub command: &'static str,
    /// Why it may find the filesystem clean where the strict verdict does not.
    pub lenience: &'static str,
}

/// A verdict on a filesystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// fsck's exit code: 0 clean, 4 errors, 8 stopped early, 12 both. Of `xfs_repair`: 0 clean, 1 anything else.
    pub exit_code: u8,
    /// Name of the problem at which the check stopped early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<&'static str>,
}

impl Verdict {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.exit_code == EXIT_CLEAN
    }

    /// In a word: `clean`, `errors`, `stopped` or `errors, stopped`.
    pub fn word(&self) -> &'static str {
        match (
            self.exit_code & !EXIT_STOPPED != 0,
            self.exit_code & EXIT_STOPPED != 0,
        ) {
            (false, false) => "clean",
            (true, false) => "errors",
            (false, true) => "stopped",
            (true, true) => "errors, stopped",
        }
    }
}

/// The verdicts on one filesystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdicts {
    /// The reference program's; none for a format without one.
    pub reference: Option<Verdict>,
    /// By everything that is wrong.
    pub strict: Verdict,
}

/// How a run of the reference program ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exit {
    /// With this exit code; 128 and the signal's number where it crashes.
    Code(u8),
    /// Never.
    Endless,
    /// All passes succeed.
    #[default]
    Complete,
}

impl Exit {
    /// A pass failed.
    pub const FAILED: Exit = Exit::Code(8);
    /// It gave up a number outside one of its bitmaps.
    pub const ABORTING: Exit = Exit::Code(1);
    /// An assertion failed, or abort(3).
    pub const ABORT: Exit = Exit::Code(134);
    /// A division by zero.
    pub const DIVISION: Exit = Exit::Code(136);
    /// An access outside its memory.
    pub const SEGMENT: Exit = Exit::Code(139);
}

impl Serialize for Exit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Exit::Code(code) => serializer.serialize_u8(*code),
            Exit::Endless => serializer.serialize_str("endless"),
            Exit::Complete => serializer.serialize_u8(0),
        }
    }
}

/// A run of the reference program in its read-only mode on the same filesystem.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReferenceRun {
    /// How it ends.
    pub exit: Exit,
    /// The problem at which it ends early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<&'static str>,
    /// The codes that it prints until then, and how often.
    pub codes: BTreeMap<&'static str, u64>,
}

/// Whether anything is wrong with the image. `unusable` is the problem of a source in which no filesystem could be opened.
pub(crate) fn strict(findings: &[Finding], unusable: &Problem) -> Verdict {
    // What the reference program does not look for and is cosmetic (a missing lost+found) is no damage.
    let wrong = findings.iter().any(|finding| {
        let idle = finding.beyond_reference && finding.problem.severity == Severity::Cosmetic;
        finding.problem.is_fault() && !idle
    });
    let unopened = findings
        .iter()
        .find(|finding| finding.reference_stops && finding.problem == unusable);
    Verdict {
        exit_code: if wrong { EXIT_ERRORS } else { EXIT_CLEAN }
            | if unopened.is_some() { EXIT_STOPPED } else { 0 },
        stopped_at: unopened.map(|finding| finding.problem.name),
    }
}
