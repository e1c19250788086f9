//! The list of a directory's blocks with room for names: the root of the index leads to the first, each trailer to the next.

use std::collections::{BTreeMap, BTreeSet};

use crate::frame::finding::Finding;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::DIR_FREE_LIST;

/// Follows the list of a directory from its first block on. `blocks` are those of all directories, with the directory that each is of;
/// `next` has the blocks that lead on.
pub(super) fn check(
    directory: u64,
    first: u64,
    blocks: &BTreeMap<u64, (u64, u64)>,
    next: &BTreeMap<u64, u64>,
    log: &mut Log,
) {
    if let Some((block, why)) = fault(directory, first, blocks, next) {
        let finding = Finding::new(&DIR_FREE_LIST).inode(directory);
        log.own(finding.block(block).note(why));
    }
}

fn fault(
    directory: u64,
    first: u64,
    blocks: &BTreeMap<u64, (u64, u64)>,
    next: &BTreeMap<u64, u64>,
) -> Option<(u64, &'static str)> {
    let mut seen = BTreeSet::new();
    let mut at = first;
    while at != 0 {
        if blocks.get(&at).is_none_or(|of| of.0 != directory) {
            return Some((at, "it is no block of the directory"));
        }
        if !seen.insert(at) {
            return Some((at, "the list comes to it twice"));
        }
        at = next.get(&at).copied().unwrap_or(0);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_ends_and_stays_within_its_directory() {
        let blocks = [(10, (5, 0)), (11, (5, 1)), (12, (6, 0)), (13, (5, 2))].into();
        let fault = |first, next: &[(u64, u64)]| {
            fault(5, first, &blocks, &next.iter().copied().collect()).map(|found| found.0)
        };
        assert_eq!(fault(0, &[]), None);
        assert_eq!(fault(13, &[(13, 10), (10, 11)]), None);
        assert_eq!(fault(13, &[(13, 10), (10, 13)]), Some(13));
        assert_eq!(fault(10, &[(10, 10)]), Some(10));
        assert_eq!(fault(10, &[(10, 12)]), Some(12), "another directory's");
        assert_eq!(fault(99, &[]), Some(99), "no directory's");
    }
}
