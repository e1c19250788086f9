//! Sound or not: as the reference program would say, and strictly.
//!
//! A reference program has an exit code that scripts rely on, and it is seldom simply "was anything found". How the code comes about
//! is the checker's own knowledge; the strict verdict is common to all: whatever is wrong with the image is wrong.

use serde::Serialize;

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
    /// fsck's exit code: 0 clean, 4 errors, 8 stopped early, 12 both.
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
            self.exit_code & EXIT_ERRORS != 0,
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
