//! What the passes leave for each other.

use std::collections::BTreeMap;

use super::blocks::Block;
use super::cluster_set::ClusterSet;
use super::coverage::Coverage;
use super::fsck_ocfs2::log::Log;
use super::inode_map::{InodeMap, Slots};
use super::own::duplicates::Twice;
use super::own::index::Named;
use super::own::orphans::Orphan;
use super::own::tree_blocks::TreeBlocks;
use super::pass0;
use super::pass1::sink;
use super::usage::Usage;
use super::volume::Volume;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Not in use, or neither of the others.
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

impl Allocator {
    /// Bytes of memory of its groups, for blocks of `size` bytes.
    pub(crate) fn memory(&self, size: usize) -> u64 {
        // A descriptor is in an allocation with its counts; a tree leaves room in its nodes.
        let group = size_of::<Group>() + size + 32;
        let region = 2 * size_of::<(u64, Region)>();
        (self.groups.len() * group + self.regions.len() * region) as u64
    }
}

impl Counts {
    /// Adds what another part of the volume comes to.
    pub(crate) fn add(&mut self, other: &Counts) {
        let (files, more) = (&mut self.files, other.files);
        files.inodes += more.inodes;
        files.regular += more.regular;
        files.directories += more.directories;
        files.char_devices += more.char_devices;
        files.block_devices += more.block_devices;
        files.fifos += more.fifos;
        files.sockets += more.sockets;
        files.symlinks += more.symlinks;
        self.inline_files += other.inline_files;
        self.inline_directories += other.inline_directories;
        self.fast_symlinks += other.fast_symlinks;
        self.reflinks += other.reflinks;
        self.links += other.links;
        for (depth, more) in self.depths.iter_mut().zip(other.depths) {
            *depth += more;
        }
    }
}

/// In place of the number of a directory block: pass 1 has judged it.
pub(crate) const JUDGED: u64 = u64::MAX;

/// What the passes leave for each other.
#[derive(Default)]
pub(crate) struct State {
    /// The global bitmap.
    pub(crate) bitmap: Allocator,
    /// Whether libocfs2 can load the global bitmap.
    pub(crate) bitmap_loaded: bool,
    /// The inode allocators: the global one, then one of each slot.
    pub(crate) inodes: Vec<Allocator>,
    /// Clusters in use.
    pub(crate) used: ClusterSet,
    /// Clusters in use more than once.
    pub(crate) shared: ClusterSet,
    /// The numbering of inodes.
    pub(crate) slots: Slots,
    /// The bits of all inode groups.
    pub(crate) coverage: Coverage,
    /// `file_type` of each inode in use.
    pub(crate) kinds: Option<InodeMap<u8>>,
    /// Bits of the types that names in inline directories claim, for each inode.
    pub(crate) claims: Option<InodeMap<u8>>,
    /// Names of directories in inline directories that pass 1 judged: the directory that is named and the one with the name.
    pub(crate) parents: Vec<(u64, u64)>,
    /// `i_links_count` of each inode.
    pub(crate) links: Option<InodeMap<u16>>,
    /// Entries that name each inode.
    pub(crate) references: Option<InodeMap<u16>>,
    /// Directories.
    pub(crate) directories: BTreeMap<u64, Parent>,
    /// Directory blocks by block number: the directory and the number within it.
    pub(crate) directory_blocks: BTreeMap<u64, (u64, u64)>,
    /// Directory blocks with room for names that lead to the next such block.
    pub(crate) free_next: BTreeMap<u64, u64>,
    /// Names that occur twice in a directory, and directories whose names pass 2 could not compare.
    pub(crate) twice: Twice,
    /// Trees of reference counts, by their roots.
    pub(crate) trees: BTreeMap<u64, RefTree>,
    /// Directory blocks that are not in o2image's file.
    pub(crate) unjudged: u64,
    /// Whether INODE_ALLOC_REPAIR was asked.
    pub(crate) asked_repair: bool,
    /// What fsck.ocfs2 counts.
    pub(crate) counts: Counts,
    /// The uses of the blocks of the extent allocators.
    pub(crate) tree_blocks: TreeBlocks,
    /// Inodes that say that they are in an orphan directory.
    pub(crate) orphans: Vec<Orphan>,
    /// Inodes and clusters by user and group, where the volume has quota.
    pub(crate) usage: Usage,
    /// The names of directories with an index.
    pub(crate) index_sums: BTreeMap<u64, Named>,
}

impl State {
    /// The maps as they are after pass 0, whose findings are known.
    pub(crate) fn after_pass0(volume: &Volume<'_>) -> State {
        let (mut state, mut log) = (State::new(volume), Log::new(1));
        pass0::clusters(volume, &mut state, &mut log);
        pass0::inodes(volume, &mut state, &mut log);
        pass0::extents(volume, &mut state, &mut log);
        state
    }

    /// Maps for a volume of that many clusters.
    pub(crate) fn new(volume: &Volume<'_>) -> State {
        State {
            used: ClusterSet::new(volume.clusters()),
            shared: ClusterSet::new(volume.clusters()),
            ..State::default()
        }
    }

    /// Marks a run of clusters as used by one more owner. fsck.ocfs2 ends at a cluster past the end.
    pub(crate) fn mark(&mut self, volume: &Volume<'_>, log: &mut Log, cluster: u32, count: u32) {
        sink::mark(self, volume, log, cluster, count);
    }

    /// Marks a run of clusters within the volume as used by one more owner.
    pub(crate) fn use_clusters(&mut self, first: u32, count: u32) {
        let shared = &mut self.shared;
        self.used
            .take(first, count, |word, mask| shared.add_word(word, mask));
    }

    /// Whether a cluster is in use.
    pub(crate) fn is_used(&self, cluster: u32) -> bool {
        self.used.has(cluster)
    }

    /// What an inode is.
    pub(crate) fn seen(&self, inode: u64) -> Seen {
        let map = self.kinds.as_ref();
        match map.map_or(0, |map| map.get(&self.slots, inode)) {
            1 => Seen::Regular,
            2 => Seen::Directory,
            _ => Seen::Other,
        }
    }

    /// Sets the `file_type` of an inode.
    pub(crate) fn set_kind(&mut self, inode: u64, kind: u8) {
        if let Some(map) = &mut self.kinds {
            map.set(&self.slots, inode, kind);
        }
    }

    /// Remembers the types, a bit each, that a name claims of an inode.
    pub(crate) fn claim(&mut self, inode: u64, kinds: u8) {
        if let Some(map) = &mut self.claims {
            let before = map.get(&self.slots, inode);
            map.set(&self.slots, inode, before | kinds);
        }
    }

    /// Takes the parents of the directories that pass 1 found in inline directories; `false` where a directory has two.
    fn take_parents(&mut self) -> bool {
        let parents = std::mem::take(&mut self.parents);
        parents.into_iter().all(|(target, parent)| {
            let own = self
                .directories
                .get_mut(&target)
                .filter(|own| own.entry == 0);
            own.map(|own| own.entry = parent).is_some()
        })
    }

    /// Takes over what pass 1 found out about names, or leaves all directories to pass 2 where not all of it holds. `tops` are their own
    /// parents.
    pub(crate) fn take_names(&mut self, tops: [u64; 2]) {
        for again in [false, true] {
            for top in tops {
                if let Some(parent) = self.directories.get_mut(&top) {
                    parent.entry = top;
                }
            }
            if again || self.claims_hold() && self.take_parents() {
                return;
            }
            self.references = Some(InodeMap::new(&self.slots));
            for parent in self.directories.values_mut() {
                (parent.entry, parent.dotdot) = (0, 0);
            }
            for (_, logical) in self.directory_blocks.values_mut() {
                if *logical == JUDGED {
                    *logical = 0;
                }
            }
        }
    }

    /// Whether all inodes are of the types that names claim of them.
    pub(crate) fn claims_hold(&self) -> bool {
        let (Some(claims), Some(kinds)) = (&self.claims, &self.kinds) else {
            return true;
        };
        claims.agrees(kinds, |claimed, kind| claimed == 0 || claimed == 1 << kind)
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
