//! Indexed directories: a tree of hashes laid into blocks that look unused to a reader that does not know it.
//!
//! Block 0 of the directory is the root: the entries `.` and `..`, whose record reaches to the block's end,
//! and within it the hash's version, the depth and the index. Inner nodes begin with an unused
//! entry that covers the whole block. The first entry of every index has no hash (it is 0 by meaning); in its
//! place are `limit`, the room, and `count`. Blocks are *logical* blocks of the directory. Source:
//! Documentation/filesystems/ext4/directory.rst, "Hash Tree Directories".

use super::directory::{rec_len_from_disk, rec_len_to_disk};
use super::hash::HashVersion;
use super::mode::FileType;
use super::{Checksum, Error, Seed, put_u32, u16_at, u32_at};

const ROOT_COUNT_AT: usize = 32;
const NODE_COUNT_AT: usize = 8;
const ENTRY: usize = 8;
const TAIL: usize = 8;
/// The bits of an entry that are a block; the others are kept for a fill factor that never came.
const BLOCK_MASK: u32 = 0x0fff_ffff;

/// `struct dx_root_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RootInfo {
    /// Zero.
    pub reserved_zero: u32,
    /// The hash; see [`HashVersion::from_disk`].
    pub hash_version: u8,
    /// Bytes of this structure: 8.
    pub info_length: u8,
    /// Levels of inner nodes: 0, 1, or 2 with `large_dir`.
    pub indirect_levels: u8,
    /// Zero.
    pub unused_flags: u8,
}

/// What a block of an index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The root, with its inodes of `.` and `..`.
    Root {
        /// The structure after the two entries.
        info: RootInfo,
        /// The directory itself.
        dot: u32,
        /// Its parent.
        dot_dot: u32,
    },
    /// An inner node.
    Node,
}

/// A root or an inner node.
#[derive(Debug, Clone, Copy)]
pub struct IndexBlock<'a> {
    bytes: &'a [u8],
    kind: Kind,
    count_at: usize,
}

/// An entry of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexEntry {
    /// The lowest hash below; 0 in the first entry. Bit 0 marks that the hash began in the block before.
    pub hash: u32,
    /// The logical block.
    pub block: u32,
}

/// Entries that fit an index block; what `limit` must be.
pub fn limit(block_size: u32, root: bool, with_tail: bool) -> u16 {
    let at = if root { ROOT_COUNT_AT } else { NODE_COUNT_AT };
    let room = (block_size as usize).saturating_sub(at);
    (room / ENTRY - usize::from(with_tail)) as u16
}

impl<'a> IndexBlock<'a> {
    /// The root in block 0 of an indexed directory. Only what is needed to see an index at all is demanded:
    /// the length of `.`'s record and of the structure after `..`.
    ///
    /// # Errors
    ///
    /// [`Error::Short`], [`Error::Record`], and [`Error::Value`] when `info_length` is below 8 or leaves the
    /// block.
    pub fn read_root(bytes: &'a [u8]) -> Result<Self, Error> {
        let short = Error::Short {
            what: "htree root",
            have: bytes.len(),
            need: ROOT_COUNT_AT + ENTRY,
        };
        let (Some(dot), Some(dot_dot), Some(reserved_zero)) =
            (u32_at(bytes, 0), u32_at(bytes, 12), u32_at(bytes, 24))
        else {
            return Err(short);
        };
        let [hash_version, info_length, indirect_levels, unused_flags] = *bytes
            .get(28..ROOT_COUNT_AT)
            .and_then(|info| info.first_chunk())
            .ok_or(short.clone())?;
        if u16_at(bytes, 4) != Some(12) {
            return Err(Error::Record {
                what: "htree root",
                offset: 4,
                problem: "the record of '.' is not 12 bytes long",
            });
        }
        let count_at = 24 + usize::from(info_length);
        if info_length < 8 || count_at + ENTRY > bytes.len() {
            return Err(Error::Value {
                what: "htree root info_length",
                found: info_length.into(),
                problem: "is not 8",
            });
        }
        let info = RootInfo {
            reserved_zero,
            hash_version,
            info_length,
            indirect_levels,
            unused_flags,
        };
        Ok(Self {
            bytes,
            kind: Kind::Root { info, dot, dot_dot },
            count_at,
        })
    }

    /// An inner node.
    ///
    /// # Errors
    ///
    /// [`Error::Short`]; [`Error::Record`] when the block does not begin with an unused entry over all of it.
    pub fn read_node(bytes: &'a [u8], block_size: u32) -> Result<Self, Error> {
        let need = NODE_COUNT_AT + ENTRY;
        if bytes.len() < need {
            return Err(Error::Short {
                what: "htree node",
                have: bytes.len(),
                need,
            });
        }
        let rec_len = u16_at(bytes, 4).map(|raw| rec_len_from_disk(raw, block_size));
        if u32_at(bytes, 0) != Some(0) || rec_len != Some(bytes.len()) {
            return Err(Error::Record {
                what: "htree node",
                offset: 0,
                problem: "it does not begin with an unused entry over the whole block",
            });
        }
        Ok(Self {
            bytes,
            kind: Kind::Node,
            count_at: NODE_COUNT_AT,
        })
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The hash of a root; `None` in a node, or for a number without meaning.
    pub fn hash_version(&self, unsigned: bool) -> Option<HashVersion> {
        match self.kind {
            Kind::Root { info, .. } => HashVersion::from_disk(info.hash_version, unsigned),
            Kind::Node => None,
        }
    }

    /// Room for entries, as stored.
    pub fn limit(&self) -> u16 {
        u16_at(self.bytes, self.count_at).unwrap_or(0)
    }

    /// Entries in use, as stored; never 0 in a sound index.
    pub fn count(&self) -> u16 {
        u16_at(self.bytes, self.count_at + 2).unwrap_or(0)
    }

    /// The entries, as many as `count` says and the block holds.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = IndexEntry> {
        let (pairs, _) = self.bytes[self.count_at..].as_chunks::<ENTRY>();
        pairs
            .iter()
            .take(self.count().into())
            .enumerate()
            .map(|(nth, pair)| {
                let [first, block] = [0, 4].map(|at| u32_at(pair, at).unwrap_or(0));
                let hash = if nth == 0 { 0 } else { first };
                IndexEntry {
                    hash,
                    block: block & BLOCK_MASK,
                }
            })
    }

    /// The checksum after the room for entries, `None` when `limit` and `count` leave no place
    /// for it; `seed` is that of the directory's inode.
    pub fn checksum(&self, seed: Seed) -> Option<Checksum> {
        let (covered, at) = self.covered()?;
        let start = Seed(seed.over(covered));
        let computed = Seed(start.over(&self.bytes[at..at + 4])).over(&[0; 4]);
        Some(Checksum {
            stored: u32_at(self.bytes, at + 4)?,
            computed,
        })
    }

    /// The bytes in use, and where the tail is.
    fn covered(&self) -> Option<(&'a [u8], usize)> {
        let used = self.count_at + usize::from(self.count()) * ENTRY;
        let at = self.count_at + usize::from(self.limit()) * ENTRY;
        if self.count() > self.limit() || at + TAIL > self.bytes.len() {
            return None;
        }
        Some((&self.bytes[..used], at))
    }
}

/// What a root says apart from its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewRoot {
    /// The directory itself.
    pub dot: u32,
    /// Its parent.
    pub dot_dot: u32,
    /// The hash.
    pub hash: HashVersion,
    /// Levels of inner nodes.
    pub indirect_levels: u8,
    /// Whether entries carry types (`filetype`).
    pub file_types: bool,
}

/// Writes a root that fills `bytes`, one block. The first entry's hash is not stored. With `seed`, that of the
/// directory's inode, it gets a tail and checksum.
///
/// # Errors
///
/// [`Error::Full`] for more entries than fit, or none.
pub fn write_root(
    bytes: &mut [u8],
    root: NewRoot,
    entries: &[IndexEntry],
    seed: Option<Seed>,
) -> Result<(), Error> {
    let len = prepare(bytes, true, entries, seed.is_some())?;
    let kind = if root.file_types {
        FileType::Directory.entry()
    } else {
        0
    };
    for (at, ino, rec_len, name) in [
        (0, root.dot, 12, &b"."[..]),
        (12, root.dot_dot, len - 12, &b".."[..]),
    ] {
        write_head(&mut bytes[at..], ino, rec_len, len)?;
        bytes[at + 6] = name.len() as u8;
        bytes[at + 7] = kind;
        bytes[at + 8..at + 8 + name.len()].copy_from_slice(name);
    }
    bytes[28..32].copy_from_slice(&[root.hash.to_disk(), 8, root.indirect_levels, 0]);
    put_entries(bytes, true, entries, seed)
}

/// Writes an inner node that fills `bytes`, one block; the rest as [`write_root`].
///
/// # Errors
///
/// As [`write_root`].
pub fn write_node(
    bytes: &mut [u8],
    entries: &[IndexEntry],
    seed: Option<Seed>,
) -> Result<(), Error> {
    let len = prepare(bytes, false, entries, seed.is_some())?;
    write_head(bytes, 0, len, len)?;
    put_entries(bytes, false, entries, seed)
}

fn prepare(
    bytes: &mut [u8],
    root: bool,
    entries: &[IndexEntry],
    tail: bool,
) -> Result<usize, Error> {
    let room = bytes.len();
    let fits = if room < 64 {
        0
    } else {
        limit(room as u32, root, tail)
    };
    if entries.is_empty() || entries.len() > usize::from(fits) {
        let need = entries.len().max(1) * ENTRY + ROOT_COUNT_AT;
        return Err(Error::Full {
            what: "htree index",
            need,
            room,
        });
    }
    bytes.fill(0);
    Ok(room)
}

fn write_head(bytes: &mut [u8], ino: u32, rec_len: usize, block: usize) -> Result<(), Error> {
    let raw = rec_len_to_disk(rec_len, block as u32).ok_or(Error::Range {
        what: "rec_len",
        found: rec_len as u64,
        low: 12,
        high: block as u64,
    })?;
    bytes[..4].copy_from_slice(&ino.to_le_bytes());
    bytes[4..6].copy_from_slice(&raw.to_le_bytes());
    Ok(())
}

fn put_entries(
    bytes: &mut [u8],
    root: bool,
    entries: &[IndexEntry],
    seed: Option<Seed>,
) -> Result<(), Error> {
    let block_size = bytes.len() as u32;
    let at = if root { ROOT_COUNT_AT } else { NODE_COUNT_AT };
    for (place, entry) in bytes[at..].chunks_exact_mut(ENTRY).zip(entries) {
        place[..4].copy_from_slice(&entry.hash.to_le_bytes());
        place[4..].copy_from_slice(&entry.block.to_le_bytes());
    }
    let most = limit(block_size, root, seed.is_some());
    bytes[at..at + 2].copy_from_slice(&most.to_le_bytes());
    bytes[at + 2..at + 4].copy_from_slice(&(entries.len() as u16).to_le_bytes());
    if let Some(seed) = seed {
        seal(bytes, root, seed)?;
    }
    Ok(())
}

/// Writes the checksum of the index block that fills `bytes`; `seed` is that of the directory's inode.
///
/// # Errors
///
/// As the readers, and [`Error::Full`] when `limit` leaves no room for it.
pub fn seal(bytes: &mut [u8], root: bool, seed: Seed) -> Result<(), Error> {
    let room = bytes.len();
    let block = if root {
        IndexBlock::read_root(bytes)?
    } else {
        IndexBlock::read_node(bytes, room as u32)?
    };
    let place = block.covered().map(|(_, at)| at + 4);
    let sum = block.checksum(seed).map(|sum| sum.computed);
    match (place, sum) {
        (Some(at), Some(sum)) if put_u32(bytes, at, sum) => Ok(()),
        _ => Err(Error::Full {
            what: "htree index's checksum",
            need: TAIL,
            room,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::directory;
    use super::*;
    use proptest::prelude::*;

    fn root(hash: HashVersion) -> NewRoot {
        NewRoot {
            dot: 12,
            dot_dot: 2,
            hash,
            indirect_levels: 1,
            file_types: true,
        }
    }

    #[test]
    fn limits_of_the_manual() {
        assert_eq!(limit(4096, true, false), 508);
        assert_eq!(limit(4096, true, true), 507);
        assert_eq!(limit(4096, false, false), 511);
        assert_eq!(limit(1024, false, true), 126);
    }

    #[test]
    fn an_index_looks_unused_to_a_linear_reader() {
        let mut block = vec![1; 4096];
        let entries = [
            IndexEntry { hash: 0, block: 1 },
            IndexEntry { hash: 80, block: 2 },
        ];
        write_root(&mut block, root(HashVersion::Tea), &entries, Some(Seed(1))).unwrap();
        let names: Vec<_> = directory::entries(&block, 4096)
            .map(|entry| entry.unwrap().name.to_vec())
            .collect();
        assert_eq!(names, [&b"."[..], b".."]);
        write_node(&mut block, &entries, Some(Seed(1))).unwrap();
        let only: Vec<_> = directory::entries(&block, 4096)
            .map(Result::unwrap)
            .collect();
        assert_eq!((only.len(), only[0].inode), (1, 0));
    }

    proptest! {
        #[test]
        fn an_index_is_read_as_written(
            raw in proptest::collection::vec((any::<u32>(), 0_u32..=BLOCK_MASK), 1..140),
            is_root: bool,
            with_tail: bool,
            log in 0_u32..=6,
        ) {
            let size = 1024_u32 << log;
            let mut list: Vec<IndexEntry> =
                raw.into_iter().map(|(hash, block)| IndexEntry { hash, block }).collect();
            list[0].hash = 0;
            let seed = with_tail.then_some(Seed(5));
            let mut block = vec![3; size as usize];
            let written = if is_root {
                write_root(&mut block, root(HashVersion::HalfMd4), &list, seed)
            } else {
                write_node(&mut block, &list, seed)
            };
            if list.len() > usize::from(limit(size, is_root, with_tail)) {
                prop_assert!(written.is_err());
                return Ok(());
            }
            written.unwrap();
            let index = if is_root {
                IndexBlock::read_root(&block).unwrap()
            } else {
                IndexBlock::read_node(&block, size).unwrap()
            };
            prop_assert_eq!(index.entries().collect::<Vec<_>>(), list);
            prop_assert_eq!(index.limit(), limit(size, is_root, with_tail));
            if with_tail {
                prop_assert!(index.checksum(Seed(5)).unwrap().matches());
            }
        }

        #[test]
        fn any_bytes_give_an_index_or_an_error(mut bytes in proptest::collection::vec(any::<u8>(), 0..1025)) {
            if bytes.len() > 40 {
                bytes[4..6].copy_from_slice(&12_u16.to_le_bytes());
                bytes[29] = 8;
            }
            if let Ok(index) = IndexBlock::read_root(&bytes) {
                let _ = (index.entries().count(), index.checksum(Seed(0)));
            }
            if bytes.len() > 40 {
                bytes[..4].fill(0);
                let len = bytes.len() as u16;
                bytes[4..6].copy_from_slice(&len.to_le_bytes());
            }
            if let Ok(index) = IndexBlock::read_node(&bytes, 4096) {
                let _ = (index.entries().count(), index.checksum(Seed(0)));
            }
        }
    }
}
