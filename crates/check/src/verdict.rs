//! Sound or not, as the reference would say it and as it is.
//!
//! `e2fsck -fn` has an exit code that people's scripts rely on, and it is not simply "was anything found":
//!
//! - Before pass 1 the filesystem is marked valid whatever was found by then, so a wrong descriptor checksum leaves the code 0
//!   ([`Class::Uncounted`]).
//! - Some findings end the run under `-n`: code 8, and 4 as well if something had been found before, or if the filesystem was
//!   not yet known to be valid when it ended (the journal, multiple mount protection). What lies behind does not count.
//! - Hints, banners and clocks never count, nor does what the reference does not look for ([`Finding::beyond_reference`]).
//!
//! The strict verdict has none of this: whatever is wrong with the image is wrong.

use serde::Serialize;

use crate::ext4::Reference;
use crate::finding::Finding;
use crate::log::Findings;
use crate::problem::{
    Class, P0_FIRST_DATA_BLOCK, P0_GETSIZE_ERROR, P0_INODE_COUNT_BIG, P0_MISC_CORRUPT_SUPER,
    P0_QUOTA_INIT_CTX, P0_SB_CORRUPT, P6_ORPHAN_PRESENT_CLEAN_FILE, Problem, Severity,
};

/// Nothing wrong.
pub const EXIT_CLEAN: u8 = 0;
/// Errors are left.
pub const EXIT_ERRORS: u8 = 4;
/// The check did not come to its end.
pub const EXIT_STOPPED: u8 = 8;

/// What a judge says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// fsck's exit code: 0 clean, 4 errors, 8 ended before its time, 12 both.
    pub exit_code: u8,
    /// Where it ended before its time: the problem's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<&'static str>,
}

impl Verdict {
    /// Nothing is wrong.
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

/// Both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdicts {
    /// What `e2fsck -fn` says.
    pub e2fsck: Verdict,
    /// What is.
    pub strict: Verdict,
}

impl Verdicts {
    /// Of these, in order.
    pub fn of(findings: &Findings, reference: Reference) -> Verdicts {
        Verdicts {
            e2fsck: e2fsck(&findings.list, reference),
            strict: strict(&findings.list),
        }
    }
}

/// How far e2fsck is when it ends at a problem of pass 0.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Point {
    /// There is no filesystem yet: nothing to be invalid.
    Unopened,
    /// Opened, not yet marked valid.
    Unproven,
    /// In the checks of the superblock, at whose begin it is marked valid.
    Superblock,
    /// In the passes.
    Passes,
}

/// Problems that end the checks of the superblock.
static OF_SUPERBLOCK: [&Problem; 5] = [
    &P0_FIRST_DATA_BLOCK,
    &P0_MISC_CORRUPT_SUPER,
    &P0_GETSIZE_ERROR,
    &P0_INODE_COUNT_BIG,
    &P0_QUOTA_INIT_CTX,
];

fn point(problem: &Problem) -> Point {
    if problem.pass() > 0 {
        Point::Passes
    } else if *problem == P0_SB_CORRUPT {
        Point::Unopened
    } else if OF_SUPERBLOCK.contains(&problem) {
        Point::Superblock
    } else {
        Point::Unproven
    }
}

/// Whether the reference takes it for an error that was not mended.
fn counts(finding: &Finding, reference: Reference) -> bool {
    let problem = finding.problem;
    let error = problem.class == Class::Error
        // Became a hint later on.
        || (reference == Reference::E2fsck1470 && *problem == P6_ORPHAN_PRESENT_CLEAN_FILE);
    error && !finding.beyond_reference
}

/// What e2fsck's exit code would be, had it met these in this order.
fn e2fsck(findings: &[Finding], reference: Reference) -> Verdict {
    let end = findings.iter().position(|finding| finding.reference_stops);
    let seen = &findings[..end.map_or(findings.len(), |at| at + 1)];
    let errors = seen.iter().any(|finding| counts(finding, reference));
    let Some(last) = seen.last().filter(|last| last.reference_stops) else {
        return Verdict {
            exit_code: if errors { EXIT_ERRORS } else { EXIT_CLEAN },
            stopped_at: None,
        };
    };
    let invalid = match point(last.problem) {
        Point::Unopened => false,
        Point::Unproven => true,
        Point::Superblock => seen
            .iter()
            .any(|finding| finding.problem.class == Class::Uncounted),
        Point::Passes => errors,
    };
    Verdict {
        exit_code: EXIT_STOPPED | if invalid { EXIT_ERRORS } else { 0 },
        stopped_at: Some(last.problem.name),
    }
}

/// Whether anything is wrong with the image, and whether all of it was seen.
fn strict(findings: &[Finding]) -> Verdict {
    // What the reference does not look for and nobody would miss (lost+found) is no damage.
    let wrong = findings.iter().any(|finding| {
        let idle = finding.beyond_reference && finding.problem.severity == Severity::Cosmetic;
        finding.problem.is_fault() && !idle
    });
    let unopened = findings
        .iter()
        .find(|finding| finding.reference_stops && point(finding.problem) == Point::Unopened);
    Verdict {
        exit_code: if wrong { EXIT_ERRORS } else { EXIT_CLEAN }
            | if unopened.is_some() { EXIT_STOPPED } else { 0 },
        stopped_at: unopened.map(|finding| finding.problem.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Log;
    use crate::problem::{
        P0_GDT_CSUM, P0_JOURNAL_BAD_SUPER, P1_BAD_I_BLOCKS, P1_ISCAN_ERROR, P2_DIR_CORRUPTED,
        P3_NO_LF_DIR, P4_BAD_REF_COUNT, P5_FREE_BLOCK_COUNT,
    };

    fn codes(findings: impl IntoIterator<Item = Finding>) -> (u8, u8) {
        let mut log = Log::new(10);
        for finding in findings {
            log.add(finding);
        }
        let verdicts = Verdicts::of(&log.finish(), Reference::E2fsck1474);
        (verdicts.e2fsck.exit_code, verdicts.strict.exit_code)
    }

    #[test]
    fn only_errors_count_and_only_up_to_where_the_reference_ends() {
        let new = Finding::new;
        assert_eq!(codes([]), (0, 0));
        assert_eq!(codes([new(&P0_GDT_CSUM)]), (0, 4));
        assert_eq!(codes([new(&P5_FREE_BLOCK_COUNT)]), (0, 0));
        assert_eq!(codes([new(&P1_BAD_I_BLOCKS)]), (4, 4));
        assert_eq!(codes([new(&P4_BAD_REF_COUNT).beyond_reference()]), (0, 4));
        assert_eq!(codes([new(&P0_SB_CORRUPT).stops_reference()]), (8, 12));
        assert_eq!(codes([new(&P3_NO_LF_DIR).beyond_reference()]), (0, 0));
        // Not yet proven valid.
        assert_eq!(
            codes([new(&P0_JOURNAL_BAD_SUPER).stops_reference()]),
            (12, 4)
        );
        // Pass 1 begins with a clean slate.
        let scan = || new(&P1_ISCAN_ERROR).stops_reference();
        assert_eq!(codes([new(&P0_GDT_CSUM), scan()]), (8, 4));
        assert_eq!(codes([scan(), new(&P4_BAD_REF_COUNT)]), (8, 4));
        // What ends it may itself be an error.
        assert_eq!(codes([new(&P2_DIR_CORRUPTED).stops_reference()]), (12, 4));
        let super_block = || new(&P0_MISC_CORRUPT_SUPER).stops_reference();
        assert_eq!(codes([super_block()]), (8, 4));
    }

    #[test]
    fn versions_differ() {
        let mut log = Log::new(10);
        log.add(Finding::new(&P6_ORPHAN_PRESENT_CLEAN_FILE));
        let findings = log.finish();
        let code = |reference| Verdicts::of(&findings, reference).e2fsck.exit_code;
        assert_eq!(
            (code(Reference::E2fsck1470), code(Reference::E2fsck1474)),
            (4, 0)
        );
    }
}
