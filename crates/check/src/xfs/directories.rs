//! The directories, what names say of their places, and what phase 3 leaves for the phases that follow.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::inode::symlink::Part;
use super::quota::{Record, Usage};

/// How a directory is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// In the inode.
    Local,
    /// One block.
    Block,
    /// Data blocks and one leaf.
    Leaf,
    /// Data blocks, a tree and a free index.
    Node,
}

/// Bits of [`Directory::seen`].
pub(crate) mod seen {
    /// It has `.`.
    pub(crate) const DOT: u8 = 1;
    /// It has `..`.
    pub(crate) const DOTDOT: u8 = 2;
    /// Part of it was refused, so that its names and hashes cannot be compared.
    pub(crate) const REFUSED: u8 = 4;
}

/// A directory.
#[derive(Debug)]
pub(crate) struct Directory {
    /// Its rank.
    pub(crate) rank: u64,
    /// Links as its inode has them.
    pub(crate) links: u32,
    /// How it is stored.
    pub(crate) form: Form,
    /// Data blocks up to the last.
    pub(crate) blocks: u32,
    /// Class of its data fork among those whose blocks are named.
    pub(crate) class: u8,
    /// Data blocks that the table in its only leaf covers.
    pub(crate) covers: AtomicU64,
    /// What `..` leads to; 0: not known.
    pub(crate) parent: AtomicU64,
    /// Sum of the pairs of hash and address, of names less hash entries.
    pub(crate) names: AtomicU64,
    /// Sum of the pairs of data block and largest free area, of data blocks less tables.
    pub(crate) bests: AtomicU64,
    /// Directories that it names and whose `..` is this one.
    pub(crate) subdirectories: AtomicU64,
    /// See [`seen`].
    pub(crate) seen: AtomicU8,
}

impl Directory {
    /// A directory whose blocks are not read yet.
    pub(crate) fn new(rank: u64, links: u32, form: Form, blocks: u32) -> Directory {
        Directory {
            rank,
            links,
            form,
            blocks,
            class: 0,
            covers: AtomicU64::new(blocks.into()),
            parent: AtomicU64::new(0),
            names: AtomicU64::new(0),
            bests: AtomicU64::new(0),
            subdirectories: AtomicU64::new(0),
            seen: AtomicU8::new(0),
        }
    }

    /// Notes that something was seen; whether it was before.
    pub(crate) fn note(&self, bit: u8) -> bool {
        self.seen.fetch_or(bit, Relaxed) & bit != 0
    }

    /// Whether something was seen.
    pub(crate) fn has(&self, bit: u8) -> bool {
        self.seen.load(Relaxed) & bit != 0
    }
}

/// A directory block whose parts are not side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fragmented {
    /// Rank of the directory.
    pub(crate) rank: u64,
    /// The block in the file.
    pub(crate) offset: u64,
    /// Its parts, blocks of the filesystem.
    pub(crate) blocks: Vec<u64>,
}

/// Stands for all directories in inodes.
pub(crate) const ALL: u64 = u64::MAX;

/// What workers of phase 3 gather.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// Directories, in no order.
    pub(crate) directories: Vec<Directory>,
    /// Names that lead to directories: rank of the directory named, rank of the directory that has the name.
    pub(crate) children: Vec<(u64, u64)>,
    /// Ranks of directories in inodes whose names may disagree with what they lead to; [`ALL`]: of any.
    pub(crate) questions: Vec<u64>,
    /// Targets of symbolic links in blocks: rank and part.
    pub(crate) targets: Vec<(u64, Part)>,
    /// Directory blocks whose parts are not side by side.
    pub(crate) fragmented: Vec<Fragmented>,
    /// What each owner uses.
    pub(crate) usage: Usage,
    /// Quota records, which phase 6 reads.
    pub(crate) records: Vec<Record>,
}

impl Gathered {
    /// Takes what another has, and empties it.
    pub(crate) fn take(&mut self, other: &mut Gathered) {
        self.directories.append(&mut other.directories);
        self.children.append(&mut other.children);
        self.questions.append(&mut other.questions);
        self.targets.append(&mut other.targets);
        self.fragmented.append(&mut other.fragmented);
        self.usage.take(&mut other.usage);
        self.records.append(&mut other.records);
    }
}

/// The directories, and what is gathered with them.
#[derive(Debug, Default)]
pub(crate) struct Directories {
    gathered: Mutex<Gathered>,
    /// All directories by rank, after phase 3.
    list: OnceLock<Vec<Directory>>,
}

impl Directories {
    /// What was gathered so far.
    pub(crate) fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All directories are known.
    pub(crate) fn seal(&self) {
        let mut list = std::mem::take(&mut self.gathered().directories);
        list.sort_unstable_by_key(|directory| directory.rank);
        list.shrink_to_fit();
        let _ = self.list.set(list);
    }

    /// All directories by rank; none before they are known.
    pub(crate) fn list(&self) -> &[Directory] {
        self.list.get().map_or(&[], Vec::as_slice)
    }

    /// The directory with this rank.
    pub(crate) fn get(&self, rank: u64) -> Option<&Directory> {
        let at = self.place(rank)?;
        self.list().get(at)
    }

    /// Its place in [`Directories::list`].
    pub(crate) fn place(&self, rank: u64) -> Option<usize> {
        let found = self
            .list()
            .binary_search_by_key(&rank, |directory| directory.rank);
        found.ok()
    }
}
