//! Passes 4a and 4b: orphans, and link counts.

use ondisk::ocfs2::system;

use super::fsck_ocfs2::log::Log;
use super::fsck_ocfs2::problems::{
    INODE_COUNT, INODE_NOT_CONNECTED, LINKS_DISAGREE, LINKS_UNREADABLE, ORPHAN_DIR_MISSING,
    ORPHANS_PRESENT, ORPHANS_UNREADABLE,
};
use super::lookup;
use super::refused::Refused;
use super::state::State;
use super::tree::Next;
use super::volume::{Volume, head};
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;

/// Pass 4a. fsck.ocfs2 -n says of each orphan directory that has entries that it leaves them; an error of the last slot ends the pass.
pub(crate) fn orphans(volume: &Volume<'_>, log: &mut Log) {
    let slots = volume.slots();
    let mut before = None;
    let mut status = Ok(());
    for slot in 0..slots {
        let name = system::slot_file("orphan_dir", slot);
        let found = match lookup::system(volume, &name) {
            Ok(found) => Some(found),
            Err(Refused::NotFound) => {
                log.add(Finding::new(&ORPHAN_DIR_MISSING).name(name.as_bytes()));
                before
            }
            Err(refused) => {
                status = Err(refused);
                break;
            }
        };
        before = found;
        let mut orphan = false;
        status = match found {
            Some(directory) => lookup::entries(volume, directory, &mut |_, name| {
                if name == b"." || name == b".." {
                    return Next::Continue;
                }
                orphan = true;
                Next::Stop
            }),
            None => Err(Refused::NotFound),
        };
        if orphan {
            log.add(Finding::new(&ORPHANS_PRESENT).name(name.as_bytes()));
        }
    }
    if let Err(refused) = status {
        let finding = Finding::new(&ORPHANS_UNREADABLE);
        log.end(refused.exit(), finding.note(refused.words()));
    }
}

/// Inodes between two questions whether to go on.
const EVERY: u64 = 1 << 16;

/// Pass 4b: each inode that has links or entries, ascending.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(crate) fn links(volume: &Volume<'_>, state: &State, log: &mut Log) -> Result<(), Failure> {
    let (Some(references), Some(links)) = (&state.references, &state.links) else {
        return Ok(());
    };
    for (nth, inode) in (0_u64..).zip(references.with_value(links, &state.slots)) {
        if nth.is_multiple_of(EVERY) {
            volume.go_on()?;
        }
        count(volume, state, log, inode);
    }
    Ok(())
}

fn count(volume: &Volume<'_>, state: &State, log: &mut Log, inode: u64) {
    let (references, links) = (state.references(inode), state.links(inode));
    if references == 0 {
        log.add(Finding::new(&INODE_NOT_CONNECTED).inode(inode));
    }
    if references == links {
        return;
    }
    let bytes = match volume.inode(inode) {
        Ok(bytes) => bytes,
        Err(refused) => {
            let finding = Finding::new(&LINKS_UNREADABLE).inode(inode);
            log.add(finding.note(refused.words()));
            return;
        }
    };
    let stored = head(&bytes).i_links_count.get();
    if stored != links {
        let finding = Finding::new(&LINKS_DISAGREE).inode(inode);
        log.add(finding.found(stored).expected(links));
    }
    let finding = Finding::new(&INODE_COUNT).inode(inode);
    log.add(finding.found(links).expected(references));
}
