//! Where directories are: each is named once, by the directory that its `..` leads to, and all are below the root.

use std::sync::atomic::Ordering::Relaxed;

use ondisk::xfs::directory::file_type;

use crate::Problem;
use crate::frame::connectivity::{Break, Tree, Walk};
use crate::frame::finding::Finding;
use crate::xfs::directories::Directory;
use crate::xfs::rules::Rules;
use crate::xfs::state::State;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    CONN_DOTDOT, CONN_NO_DOTDOT, CONN_ORPHAN_DIR, CONN_TWICE, DIR_LOOP,
};

/// Compares names and `..`, counts subdirectories, and looks for rings.
pub(super) fn run(state: &State, rules: &Rules, log: &mut Log) {
    let mut children = std::mem::take(&mut state.directories.gathered().children);
    children.retain(|(child, _)| state.types.get(*child) == file_type::DIRECTORY);
    children.sort_unstable();
    let list = state.directories.list();
    let mut parents = vec![None; list.len()];
    let mut rest = children.as_slice();
    for (at, directory) in list.iter().enumerate() {
        let from = rest.partition_point(|(child, _)| *child < directory.rank);
        rest = &rest[from..];
        let to = rest.partition_point(|(child, _)| *child <= directory.rank);
        parents[at] = place(state, rules, directory, &rest[..to], log);
        rest = &rest[to..];
    }
    let root = state
        .chunks
        .rank(rules.root)
        .and_then(|rank| state.directories.place(rank));
    rings(state, parents, root, log);
}

/// The place of a directory's parent; none where no directory names it properly.
fn place(
    state: &State,
    rules: &Rules,
    directory: &Directory,
    names: &[(u64, u64)],
    log: &mut Log,
) -> Option<usize> {
    if state.types.get(directory.rank) != file_type::DIRECTORY {
        return None;
    }
    let ino = state.chunks.ino(directory.rank);
    let about = |problem: &'static Problem, from: u64| {
        Finding::new(problem)
            .inode(ino)
            .directory(state.chunks.ino(from))
    };
    let dotdot = directory.parent.load(Relaxed);
    let parent = rules
        .geometry
        .is_inode(dotdot)
        .then(|| state.chunks.rank(dotdot))
        .flatten();
    if ino == rules.root {
        for (_, from) in names {
            log.add(about(&CONN_TWICE, *from).note("the root"));
        }
        return None;
    }
    let mut found = None;
    for (_, from) in names {
        if found.is_some() && (parent == Some(*from) || parent.is_none()) {
            log.add(about(&CONN_TWICE, *from));
        } else if parent == Some(*from) {
            found = Some(*from);
        } else if parent.is_none() {
            log.add(about(&CONN_NO_DOTDOT, *from));
            found = Some(*from);
        } else {
            log.add(about(&CONN_DOTDOT, *from).found(dotdot));
        }
    }
    let Some(found) = found else {
        log.add(Finding::new(&CONN_ORPHAN_DIR).inode(ino));
        return None;
    };
    let above = state.directories.place(found)?;
    state.directories.list()[above]
        .subdirectories
        .fetch_add(1, Relaxed);
    Some(above)
}

/// Directories by place.
struct Parents {
    list: Vec<Option<usize>>,
    root: Option<usize>,
}

impl Tree for Parents {
    fn len(&self) -> usize {
        self.list.len()
    }

    fn root(&self) -> Option<usize> {
        self.root
    }

    fn parent(&self, at: usize) -> Option<usize> {
        self.list[at]
    }
}

/// Directories that lead to each other and not to the root. Those without a parent are reported as such.
fn rings(state: &State, list: Vec<Option<usize>>, root: Option<usize>, log: &mut Log) {
    let tree = Parents { list, root };
    let mut walk = Walk::new(&tree);
    for from in 0..tree.len() {
        walk.follow(from, |broken| {
            if let Break::Loop(ring) = broken {
                let ino = |at: &usize| state.chunks.ino(state.directories.list()[*at].rank);
                let first = ring.iter().map(ino).min().unwrap_or_default();
                let note = format!("{} directories lead to each other", ring.len());
                log.add(Finding::new(&DIR_LOOP).inode(first).note(note));
            }
        });
    }
}
