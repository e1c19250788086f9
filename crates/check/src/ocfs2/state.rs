//! What the passes leave for each other.

use std::collections::{BTreeMap, BTreeSet};

use super::blocks::Block;
use super::fsck_ocfs2::Exit;
use super::fsck_ocfs2::log::Log;
use super::fsck_ocfs2::problems::CLUSTER_RANGE;
use super::inode_map::{InodeMap, Slots};
use super::volume::Volume;
use crate::frame::finding::Finding;
use crate::frame::report::FileCounts;

/// A group of an allocator, as its chain led to it.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Block of the descriptor.
    pub(crate) block: u64,
    /// The descriptor.
    pub(crate) bytes: Block,
}

/// Bits of a group's bitmap that are consecutive on the device.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// First bit, as the allocator counts: a block or a cluster.
    pub(crate) start: u64,
    /// Number of bits.
    pub(crate) bits: u64,
    /// Position of the first one in the group's bitmap.
    pub(crate) offset: usize,
    /// The descriptor.
    pub(crate) group: Block,
}

/// An allocator.
#[derive(Debug, Default)]
pub(crate) struct Allocator {
    /// Its inode's block.
    pub(crate) inode: u64,
    /// Its inode.
    pub(crate) bytes: Option<Block>,
    /// Its bitmap, ascending.
    pub(crate) regions: BTreeMap<u64, Region>,
    /// Its groups.
    pub(crate) groups: Vec<Group>,
}

impl Allocator {
    /// The place of a number: the group's block and the bit in its bitmap.
    pub(crate) fn place(&self, number: u64) -> Option<(u64, usize)> {
        let (_, region) = self.regions.range(..=number).next_back()?;
        let at = number - region.start;
        let group = super::volume::value(ondisk::ocfs2::GroupDescriptor::read(&region.group));
        (at < region.bits).then(|| (group.bg_blkno.get(), region.offset + at as usize))
    }

    /// A bit of its bitmap; none where no group covers it.
    pub(crate) fn bit(&self, number: u64) -> Option<bool> {
        let (_, region) = self.regions.range(..=number).next_back()?;
        let at = number - region.start;
        (at < region.bits).then(|| {
            let bitmap = super::volume::from(&region.group, ondisk::ocfs2::chain::BITMAP);
            ondisk::ocfs2::chain::bit(bitmap, region.offset + at as usize)
        })
    }
}

/// A directory and who names it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parent {
    /// The directory with the first entry that names it; 0: none yet.
    pub(crate) entry: u64,
    /// What its `..` names.
    pub(crate) dotdot: u64,
    /// Whether pass 3 has been here.
    pub(crate) connected: bool,
    /// The last walk of pass 3 that has been here.
    pub(crate) walk: u64,
    /// Whether it is an orphan.
    pub(crate) orphan: bool,
}

/// What an inode is, as pass 1 saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Not in use, or neither of the others.
    #[default]
    Other,
    /// A directory.
    Directory,
    /// A regular file.
    Regular,
}

/// An extent that a file shares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared {
    /// Clusters.
    pub(crate) clusters: u32,
}

/// A tree of reference counts and its files.
#[derive(Debug, Default)]
pub(crate) struct RefTree {
    /// Whether its root can be used.
    pub(crate) valid: bool,
    /// The end of its last record, cluster.
    pub(crate) end: u64,
    /// Its files, with the extents that they share by first cluster.
    pub(crate) files: Vec<(u64, BTreeMap<u64, Shared>)>,
}

/// What fsck.ocfs2 counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Files by type.
    pub(crate) files: FileCounts,
    /// Regular files with inline data.
    pub(crate) inline_files: u64,
    /// Directories with inline data.
    pub(crate) inline_directories: u64,
    /// Symbolic links in the inode.
    pub(crate) fast_symlinks: u64,
    /// Files with the flag of reference counts.
    pub(crate) reflinks: u64,
    /// Inodes with several links, and directories.
    pub(crate) links: u64,
    /// Extent trees by depth; the last counts deeper ones too.
    pub(crate) depths: [u64; 6],
}

/// What the passes leave for each other.
#[derive(Default)]
pub(crate) struct State {
    /// The global bitmap.
    pub(crate) bitmap: Allocator,
    /// The inode allocators: the global one, then one of each slot.
    pub(crate) inodes: Vec<Allocator>,
    /// Clusters in use, a bit each.
    pub(crate) used: Vec<u64>,
    /// Clusters in use more than once.
    pub(crate) shared: BTreeSet<u32>,
    /// The numbering of inodes.
    pub(crate) slots: Slots,
    /// What each inode is.
    pub(crate) seen: Option<InodeMap<Seen>>,
    /// `i_links_count` of each inode.
    pub(crate) links: Option<InodeMap<u16>>,
    /// Entries that name each inode.
    pub(crate) references: Option<InodeMap<u16>>,
    /// Directories.
    pub(crate) directories: BTreeMap<u64, Parent>,
    /// Directory blocks by block number: the directory and the number within it.
    pub(crate) directory_blocks: BTreeMap<u64, (u64, u64)>,
    /// Trees of reference counts, by their roots.
    pub(crate) trees: BTreeMap<u64, RefTree>,
    /// Directory blocks that are not in o2image's file.
    pub(crate) unjudged: u64,
    /// Whether INODE_ALLOC_REPAIR was asked.
    pub(crate) asked_repair: bool,
    /// What fsck.ocfs2 counts.
    pub(crate) counts: Counts,
}

impl State {
    /// Maps for a volume of that many clusters.
    pub(crate) fn new(volume: &Volume<'_>) -> State {
        State {
            used: vec![0; (volume.clusters() as usize).div_ceil(64)],
            ..State::default()
        }
    }

    /// Marks a run of clusters as used by one more owner. fsck.ocfs2 ends at a cluster past the end.
    pub(crate) fn mark(&mut self, volume: &Volume<'_>, log: &mut Log, cluster: u32, count: u32) {
        for at in 0..count {
            let number = cluster.wrapping_add(at);
            if number >= volume.clusters() {
                let finding = Finding::new(&CLUSTER_RANGE)
                    .found(u64::from(number))
                    .expected(format!("0-{}", volume.clusters() - 1));
                log.end(Exit::ABORTING, finding);
                return;
            }
            let (word, bit) = (number as usize / 64, 1 << (number % 64));
            if self.used[word] & bit != 0 {
                self.shared.insert(number);
            }
            self.used[word] |= bit;
        }
    }

    /// Whether a cluster is in use.
    pub(crate) fn is_used(&self, cluster: u32) -> bool {
        let word = self.used.get(cluster as usize / 64).copied().unwrap_or(0);
        word >> (cluster % 64) & 1 == 1
    }

    /// What an inode is.
    pub(crate) fn seen(&self, inode: u64) -> Seen {
        let map = self.seen.as_ref();
        map.map_or(Seen::Other, |map| map.get(&self.slots, inode))
    }

    /// Sets what an inode is.
    pub(crate) fn set_seen(&mut self, inode: u64, seen: Seen) {
        if let Some(map) = &mut self.seen {
            map.set(&self.slots, inode, seen);
        }
    }

    /// The links that an inode's own count gives.
    pub(crate) fn links(&self, inode: u64) -> u16 {
        let map = self.links.as_ref();
        map.map_or(0, |map| map.get(&self.slots, inode))
    }

    /// Sets them.
    pub(crate) fn set_links(&mut self, inode: u64, links: u16) {
        if let Some(map) = &mut self.links {
            map.set(&self.slots, inode, links);
        }
    }

    /// Entries that name an inode, modulo 65536.
    pub(crate) fn references(&self, inode: u64) -> u16 {
        let map = self.references.as_ref();
        map.map_or(0, |map| map.get(&self.slots, inode))
    }

    /// Adds to them.
    pub(crate) fn refer(&mut self, inode: u64, delta: i16) {
        let count = self.references(inode).wrapping_add_signed(delta);
        if let Some(map) = &mut self.references {
            map.set(&self.slots, inode, count);
        }
    }
}
