//! Pass 1: every inode, and the clusters that it uses.

mod bitmap;
mod blocks;
mod extents;
mod inode;
mod logs;
mod refcount;
mod refcount_tree;
pub(crate) mod scan;
pub(crate) mod sink;
mod sweep;
mod xattr;
mod xattr_header;

use super::fsck_ocfs2::Exit;
use super::fsck_ocfs2::log::Log;
use super::fsck_ocfs2::problems::REFCOUNT_UNREADABLE;
use super::refused::Refused;
use super::state::State;
use super::volume::Volume;
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
pub(crate) use sink::Gathered;
use sweep::Outcome;

/// Bytes of a group that are read together.
pub(crate) const BUFFER: usize = 4 << 20;

/// Runs the pass.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(crate) fn run(volume: &Volume<'_>, state: &mut State, log: &mut Log) -> Result<(), Failure> {
    match sweep::run(volume, state, log)? {
        Outcome::Done => {}
        Outcome::Refused => in_order(volume, state, log)?,
        Outcome::Undo => {
            *state = State::after_pass0(volume);
            in_order(volume, state, log)?;
        }
    }
    let windows = logs::mark_windows(volume, state, log);
    logs::mark_truncated(volume, state, log);
    let counted = refcount::check(volume, state, log);
    bitmap::compare(volume, state, log);
    bitmap::windows(state, &windows, log);
    if let Err(end) = counted {
        log.end(end.exit, *end.finding);
    }
    Ok(())
}

/// Judges one inode after the other, as fsck.ocfs2 does.
fn in_order(volume: &Volume<'_>, state: &mut State, log: &mut Log) -> Result<(), Failure> {
    let allocators = std::mem::take(&mut state.inodes);
    let coverage = state.coverage.clone();
    let scanned = scan::run(volume, &allocators, log, &mut |log, number, bytes| {
        inode::check(volume, state, log, &coverage, number, bytes);
    });
    state.inodes = allocators;
    scanned
}

/// What ends the reference, where the end comes later than what causes it.
pub(crate) struct End {
    exit: Exit,
    finding: Box<Finding>,
}

impl End {
    fn failed(finding: Finding) -> End {
        End {
            exit: Exit::FAILED,
            finding: Box::new(finding),
        }
    }

    fn refused(finding: Finding, refused: Refused) -> End {
        End {
            exit: refused.exit(),
            ..End::failed(finding.note(refused.words()))
        }
    }

    fn unreadable(root: u64, refused: Refused) -> End {
        End::refused(Finding::new(&REFCOUNT_UNREADABLE).block(root), refused)
    }
}
