//! Blocks that are neither free nor anyone's.

use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::xfs::state::State;
use crate::xfs::volume::Volume;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::BLOCK_LEAKED;

/// Lists them.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(super) fn run(volume: &Volume<'_>, state: &State, log: &mut Log) -> Result<(), Failure> {
    for ag in 0..volume.geo.ag_count {
        volume.go_on()?;
        state.claims.gaps(ag, |start, length| {
            if volume
                .journal
                .will_free(volume.geo.fsblock(ag, start), length.into())
            {
                return;
            }
            let finding = Finding::new(&BLOCK_LEAKED)
                .group(ag)
                .block(volume.geo.fsblock(ag, start));
            log.add_times(
                finding.note(format!("agbno {start}, {length} blocks")),
                length.into(),
            );
        });
    }
    Ok(())
}
