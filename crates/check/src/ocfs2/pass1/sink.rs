//! Where the judgement of an inode puts what it finds out.
//!
//! fsck.ocfs2 takes one inode after the other, and what it says of one may depend on those before. Few do: two directories with one block,
//! trees of reference counts, an inode that claims another number. So inodes are judged in any order into a [`Gathered`] first; those of
//! which something is to be said, or that depend on others, are judged again in fsck.ocfs2's order, directly into the
//! [`State`].

use std::collections::BTreeMap;

use crate::frame::finding::Finding;
use crate::ocfs2::fsck_ocfs2::Exit;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{CLUSTER_RANGE, DIR_BLOCK_SHARED};
use crate::ocfs2::own::orphans::Orphan;
use crate::ocfs2::state::{Counts, Parent, RefTree, State};
use crate::ocfs2::usage::Owners;
use crate::ocfs2::volume::Volume;

/// Takes what is found out about inodes.
pub(crate) trait Sink {
    /// What fsck.ocfs2 counts.
    fn counts(&mut self) -> &mut Counts;

    /// Takes clusters within the volume as used by one more owner.
    fn use_clusters(&mut self, first: u32, count: u32);

    /// Sets the `file_type` of an inode.
    fn set_kind(&mut self, inode: u64, kind: u8);

    /// Sets the links that an inode's own count gives.
    fn set_links(&mut self, inode: u64, links: u16);

    /// Takes a directory.
    fn directory(&mut self, inode: u64, parent: Parent);

    /// Takes a block of a directory and its number within it; the directory that has it already, if any.
    fn directory_block(&mut self, block: u64, directory: u64, logical: u64) -> Option<u64>;

    /// Number of directory blocks so far.
    fn directory_blocks(&self) -> u64;

    /// The trees of reference counts; none where inodes come in any order.
    fn trees(&mut self) -> Option<&mut BTreeMap<u64, RefTree>>;

    /// Whether INODE_ALLOC_REPAIR was asked.
    fn asked_repair(&mut self) -> &mut bool;

    /// Takes a block of an extent allocator as used by one more tree.
    fn tree_block(&mut self, block: u64);

    /// Takes an inode that says that it is in an orphan directory.
    fn orphan(&mut self, orphan: Orphan);

    /// Takes an inode that counts for the quota of its user and group, with its clusters.
    fn owned(&mut self, owners: Owners, clusters: u32);
}

/// Marks a run of clusters as used by one more owner. fsck.ocfs2 ends at a cluster past the end.
pub(crate) fn mark(
    sink: &mut dyn Sink,
    volume: &Volume<'_>,
    log: &mut Log,
    first: u32,
    count: u32,
) {
    let left = volume.clusters().saturating_sub(first);
    sink.use_clusters(first, count.min(left));
    if count > left {
        let finding = Finding::new(&CLUSTER_RANGE).found(u64::from(first) + u64::from(left));
        let finding = finding.expected(format!("0-{}", volume.clusters() - 1));
        log.end(Exit::ABORTING, finding);
    }
}

/// Remembers a block for pass 2. fsck.ocfs2 never returns where another directory has it already.
pub(super) fn directory_block(
    sink: &mut dyn Sink,
    log: &mut Log,
    directory: u64,
    block: u64,
    logical: u64,
) {
    if let Some(other) = sink.directory_block(block, directory, logical) {
        let finding = Finding::new(&DIR_BLOCK_SHARED)
            .block(block)
            .inode(directory);
        log.end(Exit::Endless, finding.found(other));
    }
}

impl Sink for State {
    fn counts(&mut self) -> &mut Counts {
        &mut self.counts
    }

    fn use_clusters(&mut self, first: u32, count: u32) {
        State::use_clusters(self, first, count);
    }

    fn set_kind(&mut self, inode: u64, kind: u8) {
        State::set_kind(self, inode, kind);
    }

    fn set_links(&mut self, inode: u64, links: u16) {
        State::set_links(self, inode, links);
    }

    fn directory(&mut self, inode: u64, parent: Parent) {
        self.directories.insert(inode, parent);
    }

    fn directory_block(&mut self, block: u64, directory: u64, logical: u64) -> Option<u64> {
        if let Some((other, _)) = self.directory_blocks.get(&block) {
            return Some(*other);
        }
        self.directory_blocks.insert(block, (directory, logical));
        None
    }

    fn directory_blocks(&self) -> u64 {
        self.directory_blocks.len() as u64
    }

    fn trees(&mut self) -> Option<&mut BTreeMap<u64, RefTree>> {
        Some(&mut self.trees)
    }

    fn asked_repair(&mut self) -> &mut bool {
        &mut self.asked_repair
    }

    fn tree_block(&mut self, block: u64) {
        self.tree_blocks.take(block);
    }

    fn orphan(&mut self, orphan: Orphan) {
        self.orphans.push(orphan);
    }

    fn owned(&mut self, owners: Owners, clusters: u32) {
        self.usage.add(owners, clusters);
    }
}

/// Directory blocks of one piece at most: no sound piece has more, and a damaged one may claim the volume.
const MOST_BLOCKS: usize = 1 << 20;

/// What the inodes of a piece of the volume come to.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(super) counts: Counts,
    pub(super) clusters: Vec<(u32, u32)>,
    pub(super) kinds: Vec<(u64, u8)>,
    pub(super) links: Vec<(u64, u16)>,
    pub(crate) directories: Vec<(u64, Parent)>,
    /// Block, directory, number within it.
    pub(crate) blocks: Vec<(u64, u64, u64)>,
    /// Names of inline directories: the inode and the bit of the type.
    pub(crate) names: Vec<(u64, u8)>,
    /// Names of directories in inline directories: the directory that is named and the one with the name.
    pub(crate) parents: Vec<(u64, u64)>,
    pub(super) tree_blocks: Vec<u64>,
    pub(super) orphans: Vec<Orphan>,
    pub(super) owned: Vec<(Owners, u32)>,
    /// Directory blocks of inodes that are judged again.
    pub(super) again: Vec<u64>,
    /// The inode depends on those before it.
    pub(super) depends: bool,
    /// All inodes must be judged in order.
    pub(super) conflict: bool,
    asked_repair: bool,
}

/// The lengths of the lists of a [`Gathered`], and its counts.
pub(super) struct Before {
    counts: Counts,
    clusters: usize,
    kinds: usize,
    links: usize,
    directories: usize,
    blocks: usize,
    tree_blocks: usize,
    orphans: usize,
    owned: usize,
}

impl Gathered {
    /// What was gathered so far.
    pub(super) fn before(&self) -> Before {
        Before {
            counts: self.counts.clone(),
            clusters: self.clusters.len(),
            kinds: self.kinds.len(),
            links: self.links.len(),
            directories: self.directories.len(),
            blocks: self.blocks.len(),
            tree_blocks: self.tree_blocks.len(),
            orphans: self.orphans.len(),
            owned: self.owned.len(),
        }
    }

    /// Forgets an inode, but for the directory blocks that it claims.
    pub(super) fn forget(&mut self, before: Before) {
        self.counts = before.counts;
        self.clusters.truncate(before.clusters);
        self.kinds.truncate(before.kinds);
        self.links.truncate(before.links);
        self.directories.truncate(before.directories);
        self.tree_blocks.truncate(before.tree_blocks);
        self.orphans.truncate(before.orphans);
        self.owned.truncate(before.owned);
        let claimed = self.blocks.drain(before.blocks..);
        self.again.extend(claimed.map(|(block, _, _)| block));
        self.conflict |= self.again.len() > MOST_BLOCKS;
        self.depends = false;
        self.asked_repair = false;
    }
}

impl Sink for Gathered {
    fn counts(&mut self) -> &mut Counts {
        &mut self.counts
    }

    fn use_clusters(&mut self, first: u32, count: u32) {
        self.clusters.push((first, count));
    }

    fn set_kind(&mut self, inode: u64, kind: u8) {
        self.kinds.push((inode, kind));
    }

    fn set_links(&mut self, inode: u64, links: u16) {
        self.links.push((inode, links));
    }

    fn directory(&mut self, inode: u64, parent: Parent) {
        self.directories.push((inode, parent));
    }

    fn directory_block(&mut self, block: u64, directory: u64, logical: u64) -> Option<u64> {
        if self.blocks.len() < MOST_BLOCKS {
            self.blocks.push((block, directory, logical));
        } else {
            self.conflict = true;
        }
        None
    }

    fn directory_blocks(&self) -> u64 {
        self.blocks.len() as u64
    }

    fn trees(&mut self) -> Option<&mut BTreeMap<u64, RefTree>> {
        self.depends = true;
        None
    }

    fn asked_repair(&mut self) -> &mut bool {
        &mut self.asked_repair
    }

    fn tree_block(&mut self, block: u64) {
        if self.tree_blocks.len() < MOST_BLOCKS {
            self.tree_blocks.push(block);
        } else {
            self.conflict = true;
        }
    }

    fn orphan(&mut self, orphan: Orphan) {
        self.orphans.push(orphan);
    }

    fn owned(&mut self, owners: Owners, clusters: u32) {
        self.owned.push((owners, clusters));
    }
}
