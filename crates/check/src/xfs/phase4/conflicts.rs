//! Extents of files whose blocks were taken before.

use super::owners::{Before, Owners};
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::xfs::claims::Conflict;
use crate::xfs::phase2::Use;
use crate::xfs::state::State;
use crate::xfs::volume::Volume;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    BMBT_CLAIMED, EXT_COW, EXT_FREE, EXT_META, EXT_USED, REFLINK_SET,
};

/// Looked at one by one; more have the problem of the first of their inode, or none of their own.
const LOOKED_AT: usize = 100_000;

/// Judges the conflicts.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(super) fn run(
    volume: &Volume<'_>,
    state: &State,
    owners: &mut Owners,
    log: &mut Log,
) -> Result<(), Failure> {
    let mut conflicts = state.claims.take_conflicts();
    conflicts.sort_unstable_by_key(|one| (one.owner.ino, one.fsblock));
    let rest = conflicts.len().saturating_sub(LOOKED_AT);
    conflicts.truncate(LOOKED_AT);
    for conflict in &conflicts {
        volume.go_on()?;
        let geo = &volume.geo;
        let (ag, start) = (
            geo.ag_of(conflict.fsblock) as u32,
            geo.agbno_of(conflict.fsblock),
        );
        let before = owners.before(volume, state, ag, start, conflict.length);
        let problem = problem(volume, conflict, before);
        log.add(
            Finding::new(problem)
                .inode(conflict.owner.ino)
                .block(conflict.fsblock)
                .blocks(conflict.length.into())
                .note(format!(
                    "{} blocks of its {} fork; taken before by {}",
                    conflict.length,
                    if conflict.owner.attr {
                        "attribute"
                    } else {
                        "data"
                    },
                    before.words()
                )),
        );
    }
    if rest > 0 {
        log.add_times(
            Finding::new(&EXT_USED).note(format!("{rest} more extents")),
            rest as u64,
        );
    }
    Ok(())
}

fn problem(volume: &Volume<'_>, conflict: &Conflict, before: Before) -> &'static Problem {
    if conflict.bmbt {
        return &BMBT_CLAIMED;
    }
    match before {
        Before::Free => &EXT_FREE,
        Before::Meta(Use::Staging) => &EXT_COW,
        Before::Meta(_) | Before::Chunk => &EXT_META,
        Before::File if !volume.geo.reflink || !conflict.owner.regular => &EXT_USED,
        // With shared blocks both forks of regular files are let through, and lack the flag.
        Before::File => &REFLINK_SET,
    }
}
