//! Directories as the kernel leaves them.
//!
//! A directory that took a name at a time has another shape than one packed at once: its leaves are half to
//! quite full, because each was split when it overflowed, and the blocks that the splits made are in the
//! order of their creation and not of their hashes. A checker's second pass, and readdir, feel
//! the difference. So nothing is packed here. [`Growth`] takes names in the order of their creation and
//! splits leaves and index nodes by the kernel's rules (first fit within a block; the upper half, by bytes, moves to
//! a new block; an index node in two halves by count), and [`Shape`] is the result, to be written block by block. The
//! packing of `e2fsck -D` was rejected for that reason: no filesystem in use looks like that.
//!
//! Names may go again ([`Growth::remove`]): their records fall to the one before, and later names fit into the gaps.
//! That is how directories become sparse, since no ext4 gives a block of a directory back.
//!
//! With `inline_data` the first names are in the inode, until they no longer fit there.
//!
//! A directory that is both encrypted and case-folded is ordered by SipHash under a key of its own, over names that are not readable without the
//! key. So each record has its hash after the name ([`Rules::secret`]). The kernel counts these 8 bytes for every
//! record whose length it computes anew, `..` too, and only there: `.` and a fresh `..` have none.
//!
//! Memory: some thirty bytes for each name of the one directory that grows. Where that would be too much, [`Vast`] grows the same
//! directory in parts.

mod block;
mod growth;
mod index;
mod inline;
mod leaf;
#[cfg(test)]
mod tests;
mod vast;
mod write;

pub use growth::{Growth, Shape};
pub use vast::{Event, Events, Portions, Vast};
pub use write::{Entry, Identity};

use ondisk::ext4::hash::{HashVersion, NameHash, name_hash};
use ondisk::ext4::{directory, htree};

/// What the shape of a directory depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Bytes of a block.
    pub block_size: u32,
    /// Whether blocks end in a checksum (`metadata_csum`).
    pub checksums: bool,
    /// How names are hashed; `None` without `dir_index`: the directory is a list of blocks.
    pub index: Option<Hashing>,
    /// Levels of nodes between the root and the leaves that are allowed: 1, or 2 with `large_dir`.
    pub most_levels: u8,
    /// Whether entries carry types (`filetype`).
    pub file_types: bool,
    /// Bytes that the inode has for the attribute `system.data`, where a directory begins in its inode (`inline_data`).
    pub inline: Option<u32>,
    /// The key of SipHash where each name has its hash after it: encrypted and case-folded directories. Their index is ordered by
    /// that hash, whatever [`Rules::index`] names.
    pub secret: Option<[u64; 2]>,
}

/// A hash and the filesystem's seed of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashing {
    /// The function, with its sign.
    pub version: HashVersion,
    /// `s_hash_seed`.
    pub seed: [u32; 4],
}

impl Hashing {
    /// The major hash of a name; 0 for SipHash, whose key is secret.
    pub fn of(&self, name: &[u8]) -> u32 {
        name_hash(self.version, self.seed, name).map_or(0, |hash| hash.major)
    }
}

impl Rules {
    /// The major hash of a name, 0 where nothing is ordered by it.
    pub fn hash(&self, name: &[u8]) -> u32 {
        match self.secret {
            Some(key) => NameHash::sip(name, key).major,
            None => self.index.map_or(0, |hashing| hashing.of(name)),
        }
    }

    /// Bytes of the record of a name.
    fn needed(&self, len: u8) -> usize {
        directory::needed(len.into(), self.secret.is_some())
    }

    /// Bytes of a leaf that entries may use.
    fn leaf_room(&self) -> u32 {
        self.block_size
            - if self.checksums {
                directory::TAIL as u32
            } else {
                0
            }
    }

    /// Entries of a root or node.
    fn limit(&self, root: bool) -> usize {
        htree::limit(self.block_size, root, self.checksums).into()
    }

    /// Whether names of `len` bytes and more can be too many at first sight. An index that is not full may be out of room
    /// nevertheless, since leaves are not full; this only spares growing what can never fit.
    pub fn surely_full(&self, names: u64, len: u8) -> bool {
        let node = self.limit(false) as u64;
        let leaves = match self.index {
            None => self.most_blocks(),
            Some(_) => self.limit(true) as u64 * node.pow(self.most_levels.into()),
        };
        let each = self.needed(len) as u64;
        names > leaves * (u64::from(self.leaf_room()) / each)
    }

    /// The most blocks of a directory: sizes are 32 bits below `large_dir`, block numbers in an index 28.
    fn most_blocks(&self) -> u64 {
        if self.most_levels > 1 {
            1 << 28
        } else {
            (u64::from(u32::MAX) / u64::from(self.block_size)).min(1 << 28)
        }
    }
}

/// The directory cannot take another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{names} names are too many for one directory: blocks of {block_size} bytes and an index of {levels} levels hold no more; spread the names over more directories, or take larger blocks or the feature large_dir"
)]
pub struct Full {
    /// Names that fitted, or that were to fit.
    pub names: u32,
    /// Bytes of a block.
    pub block_size: u32,
    /// Levels of the index, the root among them.
    pub levels: u8,
}
