//! Pass 3: is each directory connected to the root, and does its `..` name its parent?
//!
//! Pass 2 has found each directory's parent, the directory that names it. How parents are followed is
//! [`crate::frame::connectivity`].
//!
//! e2fsck has a search for loops that never runs: a directory that was met before counts as connected, and each in a loop
//! has been met when the loop closes (found with 1.47.0; its source is the same today). An unreachable loop of directories
//! is sound to it. Here it is found, for the strict verdict. So are the states of `lost+found` that would keep a repair from using it,
//! which e2fsck looks at only when it repairs.

use std::sync::atomic::Ordering::Relaxed;

use ondisk::ext4::FileType;
use ondisk::ext4::directory::{Entries, entries};
use ondisk::ext4::inline::InlineData;
use ondisk::ext4::inode::flag;
use ondisk::ext4::inode::number::ROOT;

use super::slots::Slots;
use crate::ext4::directories::{Directories, Directory, Run};
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P3_BAD_DOT_DOT, P3_LOOPED_DIR, P3_LPF_ENCRYPTED, P3_LPF_INLINE_DATA, P3_LPF_NOTDIR,
    P3_NO_LF_DIR, P3_NO_ROOT_INODE, P3_NO_ROOT_INODE_ABORT, P3_ROOT_NOT_DIR_ABORT,
    P3_UNCONNECTED_DIR,
};
use crate::ext4::state::State;
use crate::ext4::volume::Volume;
use crate::frame::connectivity::{Break, Tree, Walk};
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;

const LOST_AND_FOUND: &[u8] = b"lost+found";

/// Judges how the directories are connected.
///
/// # Errors
/// The check was stopped.
pub(crate) fn run(volume: &Volume<'_>, state: &State, log: &mut Log) -> Result<(), Failure> {
    let has_root = root(state, log);
    let list = &state.directories.list;
    let tree = Parents(&state.directories);
    let mut walk = Walk::new(&tree);
    for (at, directory) in list.iter().enumerate() {
        if at.is_multiple_of(1 << 16) && volume.progress.cancelled() {
            return Err(Failure::Stopped);
        }
        walk.follow(at, |broken| {
            if let Some(finding) = disconnected(list, at, broken) {
                log.add(finding);
            }
        });
        dot_dot(directory, log);
    }
    if has_root {
        lost_and_found(volume, state, log);
    }
    Ok(())
}

/// Whether there is a root that is a directory.
fn root(state: &State, log: &mut Log) -> bool {
    if !state.used.get(u64::from(ROOT) - 1) {
        log.add(Finding::new(&P3_NO_ROOT_INODE));
        log.add(Finding::new(&P3_NO_ROOT_INODE_ABORT));
        return false;
    }
    if state.directories.get(ROOT).is_none() {
        log.add(Finding::new(&P3_ROOT_NOT_DIR_ABORT));
        return false;
    }
    true
}

/// Directories by their place in the list, and their parents.
struct Parents<'a>(&'a Directories);

impl Tree for Parents<'_> {
    fn len(&self) -> usize {
        self.0.list.len()
    }

    fn root(&self) -> Option<usize> {
        self.0.position(ROOT)
    }

    fn parent(&self, at: usize) -> Option<usize> {
        self.0.position(self.0.list[at].parent.load(Relaxed))
    }
}

/// What keeps a directory from the root; `from` is the directory whose parents were followed.
fn disconnected(list: &[Directory], from: usize, broken: Break<'_>) -> Option<Finding> {
    let finding = match broken {
        Break::NoParent(at) => Finding::new(&P3_UNCONNECTED_DIR).inode(list[at].inode),
        Break::Loop(members) => {
            let lowest = members.iter().map(|at| list[*at].inode).min()?;
            let note = format!("{} directories name each other in a loop", members.len());
            let finding = Finding::new(&P3_LOOPED_DIR).inode(lowest).note(note);
            finding.beyond_reference()
        }
    };
    Some(finding.order(list[from].inode.into()))
}

/// Compares `..` with the directory that has the name.
fn dot_dot(directory: &Directory, log: &mut Log) {
    let (found, parent) = (
        directory.dotdot.load(Relaxed),
        directory.parent.load(Relaxed),
    );
    if found != parent {
        let finding = Finding::new(&P3_BAD_DOT_DOT).inode(directory.inode);
        log.add(finding.found(found).expected(parent));
    }
}

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// To this inode.
    Inode(u32),
    /// There is no such name.
    Nothing,
    /// Not all of the directory can be read.
    Unknown,
}

/// Whether a repair could use `lost+found`.
fn lost_and_found(volume: &Volume<'_>, state: &State, log: &mut Log) {
    let finding = match repair_place(volume, state) {
        Found::Unknown => return,
        Found::Nothing => Finding::new(&P3_NO_LF_DIR),
        Found::Inode(inode) => {
            let has = |flags| {
                let directory = state.directories.get(inode);
                directory.is_some_and(|directory| directory.flags & flags != 0)
            };
            let problem = if has(flag::INLINE_DATA) {
                &P3_LPF_INLINE_DATA
            } else if has(flag::ENCRYPT) {
                &P3_LPF_ENCRYPTED
            } else if state.file_type(inode) != Some(FileType::Directory) {
                &P3_LPF_NOTDIR
            } else {
                return;
            };
            Finding::new(problem).inode(inode)
        }
    };
    log.add(finding.order(u64::MAX).beyond_reference());
}

/// What `lost+found` in the root leads to.
pub(crate) fn repair_place(volume: &Volume<'_>, state: &State) -> Found {
    match state.directories.get(ROOT) {
        Some(root) => look_up(volume, root.flags, &state.directories.runs),
        None => Found::Unknown,
    }
}

/// The same where the root's flags and the runs of directories are known, and nothing else yet.
pub(crate) fn look_up(volume: &Volume<'_>, flags: u32, runs: &[Run]) -> Found {
    let block_size = volume.geometry.block_size;
    if flags & flag::INLINE_DATA != 0 {
        return look_up_inline(volume);
    }
    let mut bytes = vec![0; volume.block_size()];
    let of_root = |run: &&Run| run.inode == ROOT && run.physical != 0;
    for run in runs.iter().filter(of_root) {
        for nth in 0..u64::from(run.len) {
            let at = (run.physical + nth).saturating_mul(block_size.into());
            if volume.source.read_at(&mut bytes, at).is_err() {
                return Found::Unknown;
            }
            let found = find(entries(&bytes, block_size));
            if found != Found::Nothing {
                return found;
            }
        }
    }
    Found::Nothing
}

fn look_up_inline(volume: &Volume<'_>) -> Found {
    let mut slots = Slots::new(volume);
    let Some(inode) = slots.read(ROOT) else {
        return Found::Unknown;
    };
    let Ok(Some(data)) = InlineData::read(&inode) else {
        return Found::Unknown;
    };
    let areas = data.areas(volume.geometry.block_size).map(find);
    let found = areas.into_iter().find(|found| *found != Found::Nothing);
    found.unwrap_or(Found::Nothing)
}

/// The inode of `lost+found` among these entries.
fn find(entries: Entries<'_>) -> Found {
    for entry in entries {
        match entry {
            Ok(entry) if entry.name == LOST_AND_FOUND && entry.inode != 0 => {
                return Found::Inode(entry.inode);
            }
            Ok(_) => {}
            Err(_) => return Found::Unknown,
        }
    }
    Found::Nothing
}
