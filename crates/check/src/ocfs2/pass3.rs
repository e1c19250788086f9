//! Pass 3: is each directory connected to the root?

use super::fsck_ocfs2::Exit;
use super::fsck_ocfs2::log::Log;
use super::fsck_ocfs2::problems::{
    DIR_DOTDOT, DIR_NOT_CONNECTED, LOSTFOUND_MISSING, NO_DIRECTORY, ROOT_DIR_MISSING,
    ROOT_EXISTS_NOT_DIR,
};
use super::lookup;
use super::refused::Refused;
use super::state::{Seen, State};
use super::volume::Volume;
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;

/// Directories between two questions whether to go on.
const EVERY: u64 = 1 << 14;

/// Runs the pass.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(crate) fn run(volume: &Volume<'_>, state: &mut State, log: &mut Log) -> Result<(), Failure> {
    let root = volume.sb.s_root_blkno.get();
    if state.coverage.in_use(root) == Some(false) {
        log.add(Finding::new(&ROOT_DIR_MISSING).inode(root));
    } else if state.seen(root) != Seen::Directory {
        log.add(Finding::new(&ROOT_EXISTS_NOT_DIR).inode(root));
    }
    if let Err(refused) = lookup::find(volume, root, b"lost+found") {
        let finding = Finding::new(&LOSTFOUND_MISSING).note(refused.words());
        if refused == Refused::Depth {
            log.end(refused.exit(), finding.beyond_reference());
        } else {
            log.add(finding);
        }
    }
    for top in [root, volume.sb.s_system_dir_blkno.get()] {
        match state.directories.get_mut(&top) {
            Some(directory) => directory.connected = true,
            None => log.end(Exit::FAILED, Finding::new(&NO_DIRECTORY).inode(top)),
        }
    }
    let all: Vec<u64> = state.directories.keys().copied().collect();
    for (walk, directory) in (1_u64..).zip(all) {
        if walk.is_multiple_of(EVERY) {
            volume.go_on()?;
        }
        connect(state, log, directory, walk);
    }
    Ok(())
}

/// Goes up from a directory to one that is connected, and compares its `..` with the directory that names it.
fn connect(state: &mut State, log: &mut Log, directory: u64, walk: u64) {
    let mut at = directory;
    while let Some(here) = state
        .directories
        .get_mut(&at)
        .filter(|here| !here.connected)
    {
        here.connected = true;
        let up = here.entry;
        if up != 0 {
            let Some(parent) = state.directories.get_mut(&up) else {
                log.end(Exit::FAILED, Finding::new(&NO_DIRECTORY).inode(up));
                return;
            };
            if parent.walk != walk {
                parent.walk = walk;
                at = up;
                continue;
            }
        }
        log.add(Finding::new(&DIR_NOT_CONNECTED).inode(at));
        break;
    }
    let Some(&here) = state.directories.get(&directory) else {
        return;
    };
    let mut dotdot = here.dotdot;
    if here.orphan {
        // The `..` of an orphan does not name the orphan directory; fsck.ocfs2 counts as if it did.
        if dotdot != 0 {
            state.refer(dotdot, -1);
        }
        dotdot = here.entry;
        state.refer(dotdot, 1);
        if let Some(here) = state.directories.get_mut(&directory) {
            here.dotdot = dotdot;
        }
    }
    if here.entry != dotdot {
        let finding = Finding::new(&DIR_DOTDOT).inode(directory);
        log.add(finding.found(dotdot).expected(here.entry));
    }
}
