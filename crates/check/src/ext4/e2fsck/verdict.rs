//! e2fsck's exit code.
//!
//! `e2fsck -fn` has an exit code that scripts rely on, and it is not simply "was anything found":
//!
//! - Before pass 1 the filesystem is marked valid whatever was found by then, so a wrong descriptor checksum leaves the code 0
//!   ([`Class::Uncounted`]).
//! - Some findings end the run under `-n`: code 8, and 4 as well if something had been found before, or if the filesystem was
//!   not yet known to be valid when it ended (the journal, multiple mount protection). Later findings do not count.
//! - Hints, banners and clocks never count, nor does what e2fsck does not look for ([`Finding::beyond_reference`]).

use super::problems::{
    P0_FIRST_DATA_BLOCK, P0_GETSIZE_ERROR, P0_INODE_COUNT_BIG, P0_JOURNAL_HAS_JOURNAL,
    P0_JOURNAL_RECOVER_SET, P0_JOURNAL_RESET_JOURNAL, P0_JOURNAL_RUN, P0_MISC_CORRUPT_SUPER,
    P0_QUOTA_INIT_CTX, P0_SB_CORRUPT, P1B_DUP_BLOCK, P1B_DUP_RANGE, P6_ORPHAN_PRESENT_CLEAN_FILE,
};
use crate::ext4::options::Reference;
use crate::frame::finding::Finding;
use crate::frame::log::Findings;
use crate::frame::problem::{Class, Problem};
use crate::frame::verdict::{self, EXIT_CLEAN, EXIT_ERRORS, EXIT_STOPPED, Verdict, Verdicts};

/// e2fsck's verdict and the strict one.
pub fn verdicts(findings: &Findings, reference: Reference) -> Verdicts {
    Verdicts {
        reference: Some(e2fsck(&findings.list, reference)),
        strict: verdict::strict(&findings.list, &P0_SB_CORRUPT),
    }
}

/// How far e2fsck is when it stops at a problem.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Point {
    /// There is no filesystem yet, so nothing is invalid.
    Unopened,
    /// Opened, not yet marked valid.
    Unproven,
    /// In the checks of the superblock, at whose start it is marked valid.
    Superblock,
    /// In the passes.
    Passes,
}

/// Problems that stop e2fsck in the checks of the superblock.
static OF_SUPERBLOCK: [&Problem; 5] = [
    &P0_FIRST_DATA_BLOCK,
    &P0_MISC_CORRUPT_SUPER,
    &P0_GETSIZE_ERROR,
    &P0_INODE_COUNT_BIG,
    &P0_QUOTA_INIT_CTX,
];

/// Problems of the journal, which e2fsck looks for before it marks the filesystem valid.
static OF_JOURNAL: [&Problem; 4] = [
    &P0_JOURNAL_HAS_JOURNAL,
    &P0_JOURNAL_RECOVER_SET,
    &P0_JOURNAL_RESET_JOURNAL,
    &P0_JOURNAL_RUN,
];

fn point(problem: &Problem) -> Point {
    if problem.pass.number > 0 {
        Point::Passes
    } else if *problem == P0_SB_CORRUPT {
        Point::Unopened
    } else if OF_SUPERBLOCK.contains(&problem) {
        Point::Superblock
    } else {
        Point::Unproven
    }
}

/// Reported without a question, whose answer no would be an error left: e2fsck asks in pass 1D, if it comes to it.
static UNASKED: [&Problem; 2] = [&P1B_DUP_BLOCK, &P1B_DUP_RANGE];

/// Whether e2fsck counts it as an error left.
fn counts(finding: &Finding, reference: Reference) -> bool {
    let problem = finding.problem;
    let error = problem.class == Class::Error
        // A hint since 1.47.1.
        || (reference == Reference::E2fsck1470 && *problem == P6_ORPHAN_PRESENT_CLEAN_FILE);
    error && !finding.beyond_reference && !UNASKED.contains(&problem)
}

/// e2fsck's verdict if it meets these findings in this order.
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
            .map(|finding| finding.problem)
            .any(|problem| problem.class == Class::Uncounted && !OF_JOURNAL.contains(&problem)),
        Point::Passes => errors,
    };
    Verdict {
        exit_code: EXIT_STOPPED | if invalid { EXIT_ERRORS } else { 0 },
        stopped_at: Some(last.problem.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext4::e2fsck::log::Log;
    use crate::ext4::e2fsck::problems::{
        P0_GDT_CSUM, P0_JOURNAL_BAD_SUPER, P1_BAD_I_BLOCKS, P1_ISCAN_ERROR, P2_DIR_CORRUPTED,
        P3_NO_LF_DIR, P4_BAD_REF_COUNT, P5_FREE_BLOCK_COUNT,
    };

    fn codes(findings: impl IntoIterator<Item = Finding>) -> (u8, u8) {
        let mut log = Log::new(10);
        for finding in findings {
            log.add(finding);
        }
        let verdicts = super::verdicts(&log.finish(), Reference::E2fsck1474);
        (
            verdicts.reference.unwrap().exit_code,
            verdicts.strict.exit_code,
        )
    }

    #[test]
    fn only_errors_count_and_only_up_to_where_e2fsck_stops() {
        let new = Finding::new;
        assert_eq!(codes([]), (0, 0));
        assert_eq!(codes([new(&P0_GDT_CSUM)]), (0, 4));
        assert_eq!(codes([new(&P5_FREE_BLOCK_COUNT)]), (0, 0));
        assert_eq!(codes([new(&P1_BAD_I_BLOCKS)]), (4, 4));
        assert_eq!(codes([new(&P4_BAD_REF_COUNT).beyond_reference()]), (0, 4));
        assert_eq!(codes([new(&P0_SB_CORRUPT)]), (8, 12));
        assert_eq!(codes([new(&P3_NO_LF_DIR).beyond_reference()]), (0, 0));
        // Not yet proven valid.
        assert_eq!(codes([new(&P0_JOURNAL_BAD_SUPER)]), (12, 4));
        // Pass 1 begins with a clean slate.
        let scan = || new(&P1_ISCAN_ERROR);
        assert_eq!(codes([new(&P0_GDT_CSUM), scan()]), (8, 4));
        assert_eq!(codes([scan(), new(&P4_BAD_REF_COUNT)]), (8, 4));
        // What ends it may itself be an error.
        assert_eq!(codes([new(&P2_DIR_CORRUPTED)]), (12, 4));
        let super_block = || new(&P0_MISC_CORRUPT_SUPER);
        assert_eq!(codes([super_block()]), (8, 4));
    }

    #[test]
    fn versions_differ() {
        let mut log = Log::new(10);
        log.add(Finding::new(&P6_ORPHAN_PRESENT_CLEAN_FILE));
        let findings = log.finish();
        let code = |reference| {
            super::verdicts(&findings, reference)
                .reference
                .unwrap()
                .exit_code
        };
        assert_eq!(
            (code(Reference::E2fsck1470), code(Reference::E2fsck1474)),
            (4, 0)
        );
    }
}
