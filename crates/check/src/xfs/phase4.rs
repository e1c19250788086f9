//! Phase 4: what was found against the btrees.
//!
//! By now all blocks have been claimed. Conflicts are looked up, shared extents are compared with the btree of reference counts, blocks
//! without an owner are listed, and windows in which found and stored mappings differ are compared exactly. On a sound filesystem only the
//! shared extents take time.

mod conflicts;
mod counts;
mod gaps;
mod mappings;
mod owners;
mod unlinked;

use super::state::State;
use super::volume::Volume;
use super::xfs_repair::log::Log;
use crate::frame::failure::Failure;
use owners::Owners;

/// The phase. How many objects were judged.
///
/// # Errors
/// The check was cancelled, or there is no memory.
pub(super) fn run(volume: &Volume<'_>, state: &mut State, log: &mut Log) -> Result<u64, Failure> {
    let mut owners = Owners::new(volume.geo.ag_count);
    counts::run(volume, state, &mut owners, log)?;
    conflicts::run(volume, state, &mut owners, log)?;
    volume.guard.hold()?;
    gaps::run(volume, state, log)?;
    unlinked::run(volume, state, log)?;
    if volume.geo.rmapbt {
        mappings::run(volume, state, &mut owners, log)?;
    }
    Ok(volume.geo.blocks)
}
