//! One named block: judged by itself, with what it gives to its directory or attribute fork.

use std::sync::atomic::Ordering::Relaxed;

use ondisk::xfs::da;

use super::alike::Alike;
use crate::Problem;
use crate::frame::finding::Finding;
use crate::xfs::attribute::{leaf as attr_leaf, value};
use crate::xfs::directories::{Directory, Form, seen};
use crate::xfs::directory::{self, data, free, leaf};
use crate::xfs::hash_tree::{self, Member};
use crate::xfs::named::{NamedRun, Use};
use crate::xfs::quota::{self, Record};
use crate::xfs::rules::Fork;
use crate::xfs::sink::Sink;
use crate::xfs::types::kind;
use crate::xfs::worker::Worker;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::{
    ATTR_LEAF_READ, ATTR_ROOT_MAGIC, ATTR_ROOT_READ, DA_BAD, DIR_DATA_READ, DIR_DOT_MANY,
    DIR_DOTDOT_MANY, DIR_ENT_FREE, DIR_ENT_UNLISTED, DIR_FREE_READ, DIR_FTYPE, DIR_LEAF1_READ,
    DIR_LEAFN_READ, QUOTA_READ,
};

/// A block of a value in an attribute fork.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueBlock {
    /// Rank of the inode.
    pub(super) rank: u64,
    /// The block in the fork.
    pub(super) offset: u64,
    /// The block of the filesystem.
    pub(super) fsblock: u64,
    /// What is wrong with it, and why.
    pub(super) refused: Option<(&'static Problem, &'static str)>,
}

/// What threads gather for the comparisons after the sweep.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// Nodes and leaves below nodes.
    pub(super) members: Vec<Member>,
    /// Hash entries whose names may be equal.
    pub(super) alike: Vec<Alike>,
    /// Values that attributes have in blocks of their own, with the rank of the inode.
    pub(super) remote: Vec<(u64, attr_leaf::Remote)>,
    /// Blocks of values.
    pub(super) values: Vec<ValueBlock>,
    /// Quota records.
    pub(super) records: Vec<Record>,
}

impl Gathered {
    /// Takes what another has, and empties it.
    pub(super) fn take(&mut self, other: &mut Gathered) {
        self.members.append(&mut other.members);
        self.alike.append(&mut other.alike);
        self.remote.append(&mut other.remote);
        self.values.append(&mut other.values);
        self.records.append(&mut other.records);
    }
}

/// Judges blocks on behalf of one thread.
pub(super) struct Blocks<'a> {
    pub(super) worker: Worker<'a>,
    gathered: Gathered,
    /// The directory of the last block, by place.
    last: usize,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(worker: Worker<'a>) -> Self {
        Blocks {
            worker,
            gathered: Gathered::default(),
            last: 0,
        }
    }

    /// The findings, and what is to be compared.
    pub(super) fn finish(self) -> (Log, Gathered) {
        (self.worker.finish(), self.gathered)
    }

    /// Judges a block, a run of one.
    pub(super) fn block(&mut self, item: NamedRun, bytes: &[u8]) {
        let (rank, offset, fsblock) = (item.rank(), item.offset(), item.fsblock());
        match item.what() {
            Use::Directory => self.directory(rank, offset, fsblock, bytes),
            Use::Attribute => self.attribute(rank, offset, fsblock, bytes),
            Use::Quota => self.quota(rank, offset, fsblock, bytes),
        }
    }

    /// Judges blocks that lie in a hole. A damaged inode of a sparse image may map as many as the filesystem has, all of them alike.
    pub(super) fn hole(&mut self, items: impl Iterator<Item = NamedRun>, zeros: &[u8]) {
        let mut series: Option<(NamedRun, u64)> = None;
        for item in items {
            match &mut series {
                Some((first, count)) if self.goes_on(*first, *count, item) => {
                    *count += 1;
                }
                _ => {
                    if let Some((first, count)) = series.replace((item, 1)) {
                        self.judge_for(first, count, zeros);
                    }
                }
            }
        }
        if let Some((first, count)) = series {
            self.judge_for(first, count, zeros);
        }
    }

    /// Whether a block continues the `count` blocks of one directory from `first` on, in the same one of its three parts.
    fn goes_on(&self, first: NamedRun, count: u64, item: NamedRun) -> bool {
        let rules = self.worker.rules;
        [first.what(), item.what()] == [Use::Directory; 2]
            && first.rank() == item.rank()
            && first.offset() + count == item.offset()
            && ![rules.leaf, rules.free].contains(&item.offset())
    }

    /// Judges one of `count` blocks for all.
    fn judge_for(&mut self, first: NamedRun, count: u64, zeros: &[u8]) {
        self.worker.times = count;
        self.block(first, zeros);
        self.worker.times = 1;
    }

    /// A block that cannot be read.
    pub(super) fn unreadable(&mut self, item: NamedRun, why: &str) {
        let (rank, offset) = (item.rank(), item.offset());
        let rules = self.worker.rules;
        let problem = match item.what() {
            Use::Directory if offset < rules.leaf => &DIR_DATA_READ,
            Use::Directory if offset < rules.free => {
                let form = self.directory_of(rank).map(|directory| directory.form);
                if form == Some(Form::Leaf) {
                    &DIR_LEAF1_READ
                } else {
                    &DIR_LEAFN_READ
                }
            }
            Use::Directory => &DIR_FREE_READ,
            Use::Attribute if offset == 0 => &ATTR_ROOT_READ,
            Use::Attribute => &ATTR_LEAF_READ,
            Use::Quota => &QUOTA_READ,
        };
        if let Some(directory) = self.directory_of(rank) {
            directory.note(seen::REFUSED);
        }
        let finding = Finding::new(problem).inode(self.worker.state.chunks.ino(rank));
        let finding = finding.block(item.fsblock()).logical(offset);
        self.worker.find(finding.note(why));
    }

    /// The directory with that rank. Blocks of one directory mostly follow each other.
    fn directory_of(&mut self, rank: u64) -> Option<&'a Directory> {
        let state = self.worker.state;
        let list = state.directories.list();
        if list
            .get(self.last)
            .is_none_or(|directory| directory.rank != rank)
        {
            self.last = state.directories.place(rank)?;
        }
        list.get(self.last)
    }

    /// Judges a block of a directory.
    pub(super) fn directory(&mut self, rank: u64, offset: u64, fsblock: u64, bytes: &[u8]) {
        let Some(directory) = self.directory_of(rank) else {
            return;
        };
        let rules = self.worker.rules;
        let block = directory::Block {
            ino: self.worker.state.chunks.ino(rank),
            offset,
            fsblock,
            bytes,
        };
        if offset < rules.leaf {
            self.data(directory, &block);
        } else if offset >= rules.free {
            match free::judge(rules, &block, &mut self.worker) {
                Some(sum) => subtract(&directory.bests, sum),
                None => _ = directory.note(seen::REFUSED),
            }
        } else if directory.form == Form::Node {
            self.tree_block(directory, &block);
        } else {
            match leaf::judge(rules, &block, true, &mut self.worker) {
                Some(found) => {
                    subtract(&directory.names, found.names);
                    subtract(&directory.bests, found.bests);
                    let covers = found.covers.map_or(0, u64::from);
                    directory.covers.store(covers, Relaxed);
                    self.alike(rank, found.alike);
                }
                None => _ = directory.note(seen::REFUSED),
            }
        }
    }

    fn data(&mut self, directory: &Directory, block: &directory::Block<'_>) {
        let rules = self.worker.rules;
        let whole = directory.form == Form::Block;
        let Some(found) = data::judge(rules, block, whole, &mut self.worker) else {
            directory.note(seen::REFUSED);
            return;
        };
        if !whole {
            directory.names.fetch_add(found.names, Relaxed);
            let number = rules.db(block.offset) as u32;
            directory
                .bests
                .fetch_add(directory::pair(number, found.best.into()), Relaxed);
        }
        if found.dot && directory.note(seen::DOT) {
            self.worker.find(block.about(&DIR_DOT_MANY));
        }
        if let Some(parent) = found.dotdot {
            if directory.note(seen::DOTDOT) {
                self.worker.find(block.about(&DIR_DOTDOT_MANY));
            } else {
                directory.parent.store(parent, Relaxed);
                self.parent(block, parent);
            }
        }
    }

    /// What `..` leads to must be a directory in use.
    fn parent(&mut self, block: &directory::Block<'_>, parent: u64) {
        let rules = self.worker.rules;
        if !rules.geometry.is_inode(parent) || rules.is_internal(parent) {
            return;
        }
        let about = |problem: &'static Problem| {
            Finding::new(problem)
                .inode(parent)
                .directory(block.ino)
                .name(b"..")
        };
        let Some(rank) = self.worker.rank(parent) else {
            self.worker.find(about(&DIR_ENT_UNLISTED));
            return;
        };
        match self.worker.state.types.get(rank) {
            kind::FREE | kind::CLEARED => self.worker.find(about(&DIR_ENT_FREE)),
            kind::UNKNOWN | ondisk::xfs::directory::file_type::DIRECTORY => {}
            other if rules.geometry.ftype => {
                self.worker
                    .find(about(&DIR_FTYPE).expected(u64::from(other)));
            }
            _ => {}
        }
    }

    /// A node or leaf of a directory with a tree.
    fn tree_block(&mut self, directory: &Directory, block: &directory::Block<'_>) {
        let rules = self.worker.rules;
        let member = hash_tree::Block {
            ino: block.ino,
            rank: directory.rank,
            fork: Fork::Data,
            offset: block.offset,
            fsblock: block.fsblock,
            bytes: block.bytes,
        };
        if hash_tree::is_node(block.bytes) {
            let node = hash_tree::node(rules, &member, &mut self.worker);
            self.gathered.members.push(node);
            return;
        }
        let is_leaf = matches!(da::magic(block.bytes), da::LEAFN | da::LEAFN_3);
        if block.offset == rules.leaf && !is_leaf {
            let found = format!("0x{:04x}", da::magic(block.bytes));
            self.worker.find(block.about(&DA_BAD).found(found));
            directory.note(seen::REFUSED);
            self.gathered.members.push(member.leaf((0, 0), 0, true));
            return;
        }
        let found = leaf::judge(rules, block, false, &mut self.worker);
        let refused = found.is_none();
        let found = found.unwrap_or_default();
        if refused {
            directory.note(seen::REFUSED);
        }
        subtract(&directory.names, found.names);
        let leaf = member.leaf(found.hashes, found.count, refused);
        self.gathered.members.push(leaf);
        self.alike(directory.rank, found.alike);
    }

    fn alike(&mut self, rank: u64, entries: Vec<(u32, u32)>) {
        let entries = entries.into_iter().map(|(hash, address)| Alike {
            rank,
            hash,
            address,
        });
        self.gathered.alike.extend(entries);
    }

    /// Judges a block of an attribute fork, by its magic number. Blocks of values have none in version 4.
    fn attribute(&mut self, rank: u64, offset: u64, fsblock: u64, bytes: &[u8]) {
        let rules = self.worker.rules;
        let block = attr_leaf::Block {
            ino: self.worker.state.chunks.ino(rank),
            offset,
            fsblock,
            bytes,
        };
        let member = hash_tree::Block {
            ino: block.ino,
            rank,
            fork: Fork::Attr,
            offset,
            fsblock,
            bytes,
        };
        if hash_tree::is_node(bytes) {
            let node = hash_tree::node(rules, &member, &mut self.worker);
            self.gathered.members.push(node);
            return;
        }
        if matches!(da::magic(bytes), da::ATTR_LEAF | da::ATTR_LEAF_3) {
            let found = attr_leaf::judge(rules, &block, &mut self.worker);
            let refused = found.is_none();
            let found = found.unwrap_or_default();
            if offset != 0 {
                let leaf = member.leaf(found.hashes, found.count, refused);
                self.gathered.members.push(leaf);
            }
            let remote = found.remote.into_iter().map(|remote| (rank, remote));
            self.gathered.remote.extend(remote);
            return;
        }
        if offset == 0 {
            let found = format!("0x{:04x}", da::magic(bytes));
            self.worker.find(block.about(&ATTR_ROOT_MAGIC).found(found));
            return;
        }
        self.gathered.values.push(ValueBlock {
            rank,
            offset,
            fsblock,
            refused: value::refused(rules, block.ino, fsblock, bytes),
        });
    }

    fn quota(&mut self, rank: u64, offset: u64, fsblock: u64, bytes: &[u8]) {
        let rules = self.worker.rules;
        let ino = self.worker.state.chunks.ino(rank);
        for (kind, _) in rules
            .quota
            .iter()
            .enumerate()
            .filter(|(_, quota)| **quota == ino)
        {
            let records = &mut self.gathered.records;
            let place = (offset, fsblock);
            quota::block(
                rules,
                kind as u8,
                place,
                bytes,
                &mut self.worker,
                |record| {
                    records.push(record);
                },
            );
        }
    }
}

fn subtract(sum: &std::sync::atomic::AtomicU64, by: u64) {
    sum.fetch_sub(by, Relaxed);
}
