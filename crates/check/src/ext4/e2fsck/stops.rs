//! Where `e2fsck -fn` ends before its last pass.
//!
//! The passes of this checker go on where e2fsck ends, so that a finding says what is wrong and not what e2fsck does then. [`mark`] marks the
//! ends in the sorted list, and [`super::verdict`] cuts the list at the first.
//!
//! Mostly the problem decides. e2fsck ends at every problem of [`Class::Stop`], and at those of [`WITH_ANSWER_NO`], where it asks and the
//! answer no leaves it nothing to go on with. A finding that e2fsck never reaches or does not look for ends nothing.
//!
//! With the remaining problems e2fsck ends in one case and goes on in another, and code and place are the same in both: a block of an
//! orphan file that cannot be read ends it, a wrong checksum of that block does not. Only the pass knows which case it has. It calls [`here`],
//! and knows nothing else of ends.

use ondisk::ext4::Geometry;

use super::problems::{
    P0_JOURNAL_RECOVER_SET, P0_MMP_INVALID_BLK, P1_BBINODE_BAD_METABLOCK_PROMPT,
    P1_RESIZE_INODE_CREATE, P2_DIR_CORRUPTED, P2_READ_DIRBLOCK, P4_INCONSISTENT_COUNT,
    P5_FUDGE_BITMAP_ERROR,
};
use crate::frame::finding::Finding;
use crate::frame::problem::{Class, Problem};

/// Problems that e2fsck reports as errors, and at which it ends with the answer no.
static WITH_ANSWER_NO: [&Problem; 7] = [
    &P0_JOURNAL_RECOVER_SET,
    &P0_MMP_INVALID_BLK,
    &P1_RESIZE_INODE_CREATE,
    &P1_BBINODE_BAD_METABLOCK_PROMPT,
    &P2_DIR_CORRUPTED,
    &P2_READ_DIRBLOCK,
    &P4_INCONSISTENT_COUNT,
];

/// Whether e2fsck ends at every finding of this problem.
fn ends_at(problem: &Problem) -> bool {
    problem.class == Class::Stop || WITH_ANSWER_NO.contains(&problem)
}

/// A finding at which e2fsck ends, although it does not end at every finding of the problem.
pub(in crate::ext4) fn here(finding: Finding) -> Finding {
    finding.stops_reference()
}

/// The end where e2fsck reads all bitmaps, in pass 1D and in pass 5, and they are too short for the inodes of a group. It has no
/// code of its own; this is the one of a bitmap that cannot be read.
pub(in crate::ext4) fn at_short_bitmaps(geometry: &Geometry) -> Option<Finding> {
    let finding = || {
        Finding::new(&P5_FUDGE_BITMAP_ERROR)
            .found(geometry.inodes_per_group)
            .expected(format!("up to {}", geometry.block_size * 8))
            .note("s_inodes_per_group: a bitmap has fewer bits; bitmaps and counts are not judged")
    };
    (!geometry.inode_bitmap_fits()).then(finding)
}

/// Marks the findings at which e2fsck would end if it met them.
pub(super) fn mark(findings: &mut [Finding]) {
    for finding in findings {
        if !finding.beyond_reference && ends_at(finding.problem) {
            finding.reference_stops = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::problems::{P1_BAD_I_BLOCKS, P1_BLOCK_ITERATE};
    use super::*;

    #[test]
    fn a_problem_ends_e2fsck_unless_it_is_not_reached() {
        let mut findings = vec![
            Finding::new(&P1_BAD_I_BLOCKS),
            Finding::new(&P1_BLOCK_ITERATE).beyond_reference(),
            Finding::new(&P1_BLOCK_ITERATE),
            Finding::new(&P2_DIR_CORRUPTED),
            here(Finding::new(&P1_BAD_I_BLOCKS)),
        ];
        mark(&mut findings);
        let stops = findings.iter().map(|finding| finding.reference_stops);
        assert_eq!(stops.collect::<Vec<_>>(), [false, false, true, true, true]);
    }
}
