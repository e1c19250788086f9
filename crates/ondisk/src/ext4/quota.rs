//! Quota files: a trie over 32-bit ids whose leaves hold limits and usage.
//!
//! The file is cut into blocks of 1 KiB whatever the filesystem's block size. Block 0 holds two headers, block 1 is the
//! trie's root; each inner block has 256 pointers, one byte of the id a level, four levels. A leaf block has 14
//! entries of 72 bytes (format v2r1, the only one that ext4 writes as hidden inodes). An entry counts when its id
//! leads to its block and its bytes are not all zero; since id 0 with no usage is all zeros too, the kernel marks
//! that one by a time of grace of 1. Source: fs/quota/quota_tree.c, quotaio_v2.h.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Error, u32_at, view};

/// Bytes of a block of the file.
pub const BLOCK: usize = 1024;
/// Levels of the trie.
pub const DEPTH: usize = 4;
/// Entries of a leaf block.
pub const LEAF_ENTRIES: usize = 14;

/// Whose usage a file counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// By owner.
    User,
    /// By group.
    Group,
    /// By project.
    Project,
}

impl Kind {
    /// `dqh_magic` of such a file.
    pub fn magic(self) -> u32 {
        match self {
            Self::User => 0xd9c0_1f11,
            Self::Group => 0xd9c0_1927,
            Self::Project => 0xd9c0_3f14,
        }
    }
}

/// The two headers in block 0: `struct v2_disk_dqheader` and `struct v2_disk_dqinfo`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// [`Kind::magic`].
    pub dqh_magic: U32,
    /// 1 for v2r1.
    pub dqh_version: U32,
    /// Seconds of grace for blocks.
    pub dqi_bgrace: U32,
    /// Seconds of grace for inodes.
    pub dqi_igrace: U32,
    /// Flags.
    pub dqi_flags: U32,
    /// Blocks of the file.
    pub dqi_blocks: U32,
    /// First free block, linked; 0 for none.
    pub dqi_free_blk: U32,
    /// First leaf block with a free entry, linked; 0 for none.
    pub dqi_free_entry: U32,
}

/// `struct qt_disk_dqdbheader`, at the start of a leaf block.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct LeafHeader {
    /// Next leaf block with a free entry.
    pub dqdh_next_free: U32,
    /// The one before.
    pub dqdh_prev_free: U32,
    /// Entries in use.
    pub dqdh_entries: U16,
    /// Zero.
    pub dqdh_pad1: U16,
    /// Zero.
    pub dqdh_pad2: U32,
}

/// `struct v2r1_disk_dqblk`: one id.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Entry {
    /// The id.
    pub dqb_id: U32,
    /// Zero.
    pub dqb_pad: U32,
    /// Hard limit of inodes.
    pub dqb_ihardlimit: U64,
    /// Soft limit of inodes.
    pub dqb_isoftlimit: U64,
    /// Inodes in use.
    pub dqb_curinodes: U64,
    /// Hard limit of space, KiB.
    pub dqb_bhardlimit: U64,
    /// Soft limit of space, KiB.
    pub dqb_bsoftlimit: U64,
    /// Space in use, bytes.
    pub dqb_curspace: U64,
    /// When the grace of space ends, seconds.
    pub dqb_btime: U64,
    /// When the grace of inodes ends, seconds.
    pub dqb_itime: U64,
}

const LEAF_HEAD: usize = size_of::<LeafHeader>();
const _: () = assert!(size_of::<Entry>() == 72 && LEAF_HEAD + LEAF_ENTRIES * 72 == BLOCK);

impl Header {
    /// The headers of a quota file.
    ///
    /// # Errors
    ///
    /// [`Error::Short`]; [`Error::Magic`] for a file of another kind; [`Error::Range`] for another version.
    pub fn read(file: &[u8], kind: Kind) -> Result<&Self, Error> {
        let this: &Self = view("quota file header", file)?;
        let (found, expected) = (this.dqh_magic.get(), kind.magic());
        if found != expected {
            return Err(Error::Magic {
                what: "quota file dqh_magic",
                found,
                expected,
            });
        }
        let version = this.dqh_version.get();
        if version != 1 {
            return Err(Error::Range {
                what: "dqh_version",
                found: version.into(),
                low: 1,
                high: 1,
            });
        }
        Ok(this)
    }
}

/// Which pointer of the block on a level (0 is the root) leads to an id.
pub fn pointer_of(id: u32, level: usize) -> usize {
    id.to_be_bytes().get(level).copied().unwrap_or(0).into()
}

/// The entries in use of a whole file, in the order of the trie, that is of ids.
///
/// # Errors
///
/// As [`Header::read`]; [`Error::Record`] with the offset in the file for a pointer that leaves it or that
/// leads to a block twice, and for an entry that is not where its id leads.
pub fn read(file: &[u8], kind: Kind) -> Result<Vec<Entry>, Error> {
    Header::read(file, kind)?;
    let mut walk = Walk {
        file,
        seen: vec![false; file.len() / BLOCK],
        entries: Vec::new(),
    };
    walk.node(1, 0, 0)?;
    Ok(walk.entries)
}

struct Walk<'a> {
    file: &'a [u8],
    seen: Vec<bool>,
    entries: Vec<Entry>,
}

impl<'a> Walk<'a> {
    fn block(&self, block: u32, from: usize) -> Result<&'a [u8], Error> {
        let start = block as usize * BLOCK;
        self.file
            .get(start..start + BLOCK)
            .filter(|_| block != 0)
            .ok_or(Error::Record {
                what: "quota tree pointer",
                offset: from,
                problem: "it leads out of the file",
            })
    }

    /// `prefix` holds the bytes of the id that lead here, in its low bytes.
    fn node(&mut self, block: u32, level: usize, prefix: u32) -> Result<(), Error> {
        let start = block as usize * BLOCK;
        let bytes = self.block(block, start)?;
        if let Some(seen) = self.seen.get_mut(block as usize)
            && std::mem::replace(seen, true)
        {
            return Err(Error::Record {
                what: "quota tree block",
                offset: start,
                problem: "two pointers lead to it",
            });
        }
        for nth in 0..256 {
            let at = nth as usize * 4;
            let below = u32_at(bytes, at).unwrap_or(0);
            if below == 0 {
                continue;
            }
            let id = prefix << 8 | nth;
            if level + 1 < DEPTH {
                self.block(below, start + at)?;
                self.node(below, level + 1, id)?;
            } else {
                let entry = find(self.block(below, start + at)?, id).ok_or(Error::Record {
                    what: "quota tree pointer",
                    offset: start + at,
                    problem: "the leaf block has no entry for its id",
                })?;
                self.entries.push(entry);
            }
        }
        Ok(())
    }
}

/// The entry of an id in a leaf block.
fn find(leaf: &[u8], id: u32) -> Option<Entry> {
    slots(leaf)
        .find(|entry| entry.dqb_id.get() == id && **entry != Entry::new_zeroed())
        .copied()
}

/// The 14 slots of a leaf block; fewer when the slice is shorter.
pub fn slots(leaf: &[u8]) -> impl Iterator<Item = &Entry> {
    leaf.get(LEAF_HEAD..)
        .unwrap_or(&[])
        .chunks_exact(size_of::<Entry>())
        .take(LEAF_ENTRIES)
        .filter_map(|slot| Entry::ref_from_bytes(slot).ok())
}

/// Writes a whole file with these entries, at most one for each id, and the times of grace in seconds.
/// Entries are packed, 14 to a leaf block.
pub fn write(kind: Kind, entries: &[Entry], bgrace: u32, igrace: u32) -> Vec<u8> {
    let mut file = vec![0; 2 * BLOCK];
    let mut leaf = 0;
    let mut used = LEAF_ENTRIES;
    for entry in entries {
        let id = entry.dqb_id.get();
        let mut node = 1;
        for level in 0..DEPTH {
            let at = node * BLOCK + pointer_of(id, level) * 4;
            let mut below = u32_at(&file, at).unwrap_or(0) as usize;
            if level + 1 == DEPTH {
                // The leaf comes after the nodes on the path to it, as the library of e2fsprogs has it.
                if used == LEAF_ENTRIES {
                    leaf = append(&mut file);
                    used = 0;
                }
                below = leaf;
            } else if below == 0 {
                below = append(&mut file);
            }
            file[at..at + 4].copy_from_slice(&(below as u32).to_le_bytes());
            node = below;
        }
        let at = leaf * BLOCK + LEAF_HEAD + used * size_of::<Entry>();
        file[at..at + size_of::<Entry>()].copy_from_slice(marked(*entry).as_bytes());
        used += 1;
        let count = (used as u16).to_le_bytes();
        file[leaf * BLOCK + 8..leaf * BLOCK + 10].copy_from_slice(&count);
    }
    let header = Header {
        dqh_magic: kind.magic().into(),
        dqh_version: 1.into(),
        dqi_bgrace: bgrace.into(),
        dqi_igrace: igrace.into(),
        dqi_flags: 0.into(),
        dqi_blocks: ((file.len() / BLOCK) as u32).into(),
        dqi_free_blk: 0.into(),
        dqi_free_entry: (if used < LEAF_ENTRIES { leaf as u32 } else { 0 }).into(),
    };
    file[..size_of::<Header>()].copy_from_slice(header.as_bytes());
    file
}

fn append(file: &mut Vec<u8>) -> usize {
    file.resize(file.len() + BLOCK, 0);
    file.len() / BLOCK - 1
}

fn marked(mut entry: Entry) -> Entry {
    if entry == Entry::new_zeroed() {
        entry.dqb_itime = 1.into();
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn entry(id: u32, space: u64) -> Entry {
        let mut entry = Entry::new_zeroed();
        entry.dqb_id = id.into();
        entry.dqb_curspace = space.into();
        entry.dqb_curinodes = 1.into();
        entry
    }

    #[test]
    fn a_loop_in_the_trie_ends_in_an_error() {
        let mut file = write(Kind::User, &[entry(0, 1)], 0, 0);
        let root = file[BLOCK..BLOCK + 4].to_vec();
        file[BLOCK + 8..BLOCK + 12].copy_from_slice(&root);
        let error = read(&file, Kind::User).unwrap_err().to_string();
        assert!(error.contains("two pointers lead to it"), "{error}");
        assert!(matches!(read(&file, Kind::Group), Err(Error::Magic { .. })));
    }

    proptest! {
        #[test]
        fn a_file_is_read_as_written(ids in proptest::collection::btree_map(any::<u32>(), any::<u64>(), 0..60)) {
            let entries: Vec<Entry> = ids.iter().map(|(id, space)| entry(*id, *space)).collect();
            let file = write(Kind::Project, &entries, 7, 8);
            prop_assert_eq!(read(&file, Kind::Project).unwrap(), entries);
            prop_assert_eq!(Header::read(&file, Kind::Project).unwrap().dqi_bgrace.get(), 7);
        }

        #[test]
        fn any_damage_ends(
            ids in proptest::collection::btree_set(0_u32..2000, 1..20),
            flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        ) {
            let entries: Vec<Entry> = ids.iter().map(|id| entry(*id, 1)).collect();
            let mut file = write(Kind::User, &entries, 0, 0);
            for (place, value) in flips {
                let at = BLOCK + place.index(file.len() - BLOCK);
                file[at] = value;
            }
            if let Ok(read) = read(&file, Kind::User) {
                let by_id: BTreeMap<u32, Entry> =
                    read.iter().map(|entry| (entry.dqb_id.get(), *entry)).collect();
                prop_assert_eq!(by_id.len(), read.len());
            }
        }
    }
}
