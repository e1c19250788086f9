//! One thread of pass 2, and what it keeps until all are done.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use super::names::Names;
use super::shared::Shared;
use crate::ext4::e2fsck::log::Log;
use crate::ext4::slots::Slots;
use crate::frame::maps::Batch;

/// A block of an indexed directory, and the hashes of the names in it. `min` is above `max` where it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    /// The directory's place in the list.
    pub(super) dir: u32,
    pub(super) logical: u32,
    pub(super) role: Role,
    pub(super) min: u32,
    pub(super) max: u32,
}

/// What a block of an indexed directory looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// It was not read: a hole.
    #[default]
    Unseen,
    Root,
    Node,
    Leaf,
}

/// The content of a root or node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// The directory's place in the list.
    pub(super) dir: u32,
    pub(super) logical: u32,
    pub(super) physical: u64,
    /// When e2fsck comes to it.
    pub(super) key: u64,
    /// Hash and logical block.
    pub(super) entries: Vec<(u32, u32)>,
    /// Of a root: the number of its hash, and its levels.
    pub(super) root: Option<(u8, u8)>,
}

/// A further name of a directory, or one that came first only because of the order of the threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Second {
    /// The place in the list of the directory that is named.
    pub(super) child: usize,
    /// When e2fsck comes to it.
    pub(super) key: u64,
    /// Inode number of the directory that holds the name.
    pub(super) parent: u32,
    pub(super) name: Vec<u8>,
}

/// What is remembered of a block while it is looked at; kept from block to block for its memory.
#[derive(Debug, Default)]
pub(super) struct BlockEntries {
    /// Each entry in use: where it begins, and the length of its name in the lowest byte.
    pub(super) entries: Vec<u32>,
    /// Those that name directories: where they begin.
    pub(super) children: Vec<u32>,
}

/// One thread.
pub(super) struct Worker<'a> {
    pub(super) shared: &'a Shared<'a>,
    pub(super) log: Log,
    pub(super) names: Names,
    /// Names counted and not yet shared.
    pub(super) batch: Batch,
    pub(super) seen: BlockEntries,
    pub(super) slots: Slots<'a>,
    pub(super) leaves: Vec<Leaf>,
    pub(super) nodes: Vec<Node>,
    pub(super) seconds: Vec<Second>,
    /// Directories with a name twice in one block: key, and place in the list.
    pub(super) twins: Vec<(u64, usize)>,
    /// Names whose order could not be judged.
    pub(super) unjudged: u64,
    /// The current directory is one that e2fsck skips.
    pub(super) passes_over: bool,
    /// See [`State::unreached_names`](crate::ext4::State::unreached_names).
    pub(super) unreached: BTreeMap<u32, u32>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(shared: &'a Shared<'a>, log: &Log) -> Worker<'a> {
        Worker {
            shared,
            log: log.fork(),
            names: Names::new(shared.volume.block_size()),
            batch: Batch::new(),
            seen: BlockEntries::default(),
            slots: Slots::new(shared.volume),
            leaves: Vec::new(),
            nodes: Vec::new(),
            seconds: Vec::new(),
            twins: Vec::new(),
            unjudged: 0,
            passes_over: false,
            unreached: BTreeMap::new(),
        }
    }

    /// Whether findings and names from here on are of a directory that e2fsck skips.
    pub(super) fn pass_over(&mut self, passes_over: bool) {
        self.passes_over = passes_over;
        self.log.unreached(passes_over);
    }

    /// Counts a name that e2fsck does not reach, of an inode that it cannot read again.
    pub(super) fn count_unreached(&mut self, inode: u32) {
        if self.shared.state.bad_checksum.contains(inode) {
            *self.unreached.entry(inode).or_default() += 1;
        }
    }
}

/// What all threads have kept.
#[derive(Default)]
pub(super) struct Harvest {
    pub(super) leaves: Vec<Leaf>,
    pub(super) nodes: Vec<Node>,
    pub(super) seconds: Vec<Second>,
    pub(super) twins: Vec<(u64, usize)>,
}

impl Harvest {
    /// Takes a thread's, its findings into `log`.
    pub(super) fn take(&mut self, worker: Worker<'_>, log: &mut Log) {
        let state = worker.shared.state;
        state.unjudged_names.fetch_add(worker.unjudged, Relaxed);
        worker.batch.finish(&state.name_counts);
        log.merge(worker.log);
        let unreached = state.unreached_names.lock();
        let mut unreached = unreached.unwrap_or_else(PoisonError::into_inner);
        for (inode, names) in worker.unreached {
            *unreached.entry(inode).or_default() += names;
        }
        self.leaves.extend(worker.leaves);
        self.nodes.extend(worker.nodes);
        self.seconds.extend(worker.seconds);
        self.twins.extend(worker.twins);
    }
}
