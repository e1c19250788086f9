//! Directories whose blocks were all judged: sums that must be zero, and what every directory has.

use std::sync::atomic::Ordering::Relaxed;

use crate::Problem;
use crate::frame::finding::Finding;
use crate::xfs::directories::{Directory, Form, seen};
use crate::xfs::rules::Rules;
use crate::xfs::state::State;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    DIR_FREE_ENTRY, DIR_HASH_TABLE, DIR_LEAF1_TAIL, DIR_NO_DOT, DIR_NO_DOTDOT, DIR_NO_DOTDOT_ROOT,
};

/// Compares what was gathered of each directory.
pub(super) fn compare(state: &State, rules: &Rules, log: &mut Log) {
    for directory in state.directories.list() {
        let sums = directory.names.load(Relaxed) | directory.bests.load(Relaxed);
        let whole = seen::DOT | seen::DOTDOT;
        let covered = directory.covers.load(Relaxed) == u64::from(directory.blocks);
        if sums == 0 && covered && directory.seen.load(Relaxed) == whole {
            continue;
        }
        one(state, rules, directory, log);
    }
}

fn one(state: &State, rules: &Rules, directory: &Directory, log: &mut Log) {
    let ino = state.chunks.ino(directory.rank);
    let about = |problem: &'static Problem| Finding::new(problem).inode(ino);
    if !directory.has(seen::REFUSED) {
        if directory.names.load(Relaxed) != 0 {
            log.add(about(&DIR_HASH_TABLE));
        }
        let covers = directory.covers.load(Relaxed);
        let covered = covers == u64::from(directory.blocks);
        if directory.form == Form::Leaf && (directory.bests.load(Relaxed) != 0 || !covered) {
            let finding = about(&DIR_LEAF1_TAIL).found(covers);
            log.add(finding.expected(u64::from(directory.blocks)));
        }
        if directory.form == Form::Node && directory.bests.load(Relaxed) != 0 {
            log.add(about(&DIR_FREE_ENTRY));
        }
        if !directory.has(seen::DOT) {
            log.add(about(&DIR_NO_DOT));
        }
    }
    if !directory.has(seen::DOTDOT) {
        let root = ino == rules.root;
        log.add(about(if root {
            &DIR_NO_DOTDOT_ROOT
        } else {
            &DIR_NO_DOTDOT
        }));
    }
}
