//! What fsck.ocfs2 does not look for, and what needs all passes before it.

pub(crate) mod duplicates;
mod free_list;
mod heartbeat;
pub(crate) mod index;
pub(crate) mod index_sum;
mod journals;
mod local_quota;
mod names;
pub(crate) mod orphans;
mod slot_map;
pub(crate) mod tree_blocks;

use super::fsck_ocfs2::log::Log;
use super::state::State;
use super::volume::Volume;
use crate::frame::failure::Failure;

/// Runs the pass. Gives the number of indexes.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(crate) fn run(volume: &Volume<'_>, state: &mut State, log: &mut Log) -> Result<u64, Failure> {
    journals::check(volume, log);
    slot_map::check(volume, log);
    heartbeat::check(volume, log);
    local_quota::check(volume, log);
    orphans::check(volume, &state.orphans, log);
    tree_blocks::compare(state, log);
    duplicates::check(volume, &state.twice, log)?;
    index::check(volume, state, log)
}
