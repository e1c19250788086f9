//! What e2fsck looks at when the passes are done: the orphan file, and the quota files.
//!
//! Both are files of the filesystem's own, whose inodes and blocks pass 1 has already judged; here it is their contents. A
//! filesystem that nobody uses has an orphan file without entries, and quota files that say what pass 1 has added up.

mod orphans;
mod quotas;

use crate::ext4::e2fsck::log::Log;
use crate::ext4::state::State;
use crate::ext4::volume::Volume;
use crate::frame::failure::Failure;

/// Where a finding comes: orphans, then quotas by kind.
fn order(step: u64, at: u64) -> u64 {
    step << 56 | at & ((1 << 56) - 1)
}

/// Looks into these files.
///
/// # Errors
/// The check was stopped, or has all the memory it may: what was not read for that reason is no fault of the filesystem.
pub(crate) fn run(volume: &Volume<'_>, state: &State, log: &mut Log) -> Result<(), Failure> {
    orphans::check(volume, log);
    volume.guard.hold()?;
    if volume.progress.cancelled() {
        return Err(Failure::Stopped);
    }
    quotas::check(volume, state, log);
    if volume.progress.cancelled() {
        return Err(Failure::Stopped);
    }
    volume.guard.hold()
}

#[cfg(test)]
mod tests;
