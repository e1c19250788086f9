//! What e2fsck checks after the passes: the orphan file, and the quota files.
//!
//! Both are files of the filesystem's own, whose inodes and blocks pass 1 has already judged; here it is their contents. A
//! filesystem that is not mounted has an orphan file without entries, and quota files that match the sums of pass 1.

mod orphans;
mod quotas;

use crate::ext4::e2fsck::log::Log;
use crate::ext4::state::State;
use crate::ext4::volume::Volume;
use crate::frame::failure::Failure;

/// Position of a finding: orphans, then quotas by kind.
fn order(step: u64, at: u64) -> u64 {
    step << 56 | at & ((1 << 56) - 1)
}

/// Looks into these files.
///
/// # Errors
/// The check was stopped, or the memory limit is reached: what was not read for that reason is no fault of the filesystem.
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
