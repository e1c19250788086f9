//! The checksum of a directory block.
//!
//! Leaves carry it in a last entry that looks unused, index blocks after the room for their entries. Nothing in a
//! block shows which of the two it is, so e2fsck tries: a chain of entries that ends exactly at a tail makes a leaf, the shape
//! of an index makes an index block, and what is neither cannot be sound.

use ondisk::ext4::directory::{self, TAIL, rec_len_from_disk};
use ondisk::ext4::htree::IndexBlock;
use ondisk::ext4::{Checksum, Seed};

/// What was found where a checksum should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seal {
    /// The filesystem has no checksums, or the block is so broken that none is looked for.
    None,
    /// A leaf's tail.
    Leaf(Checksum),
    /// An index block's.
    Index(Checksum),
    /// An index block's of 64 KiB, the length of whose only entry is no number that 16 bits hold: no chain of entries was found in it.
    Unchained(Checksum),
    /// No place for one.
    Missing,
}

impl Seal {
    /// Of a block; `seed` is that of its directory.
    pub(super) fn of(bytes: &[u8], seed: Option<Seed>) -> Seal {
        let Some(seed) = seed else {
            return Seal::None;
        };
        let sum = match chain_end(bytes) {
            End::Tail => directory::checksum(bytes, seed).map(Seal::Leaf),
            End::NoTail => index(bytes)
                .and_then(|block| block.checksum(seed))
                .map(Seal::Index),
            // For a leaf that is a finding of its own, and more specific.
            End::Broken => index(bytes)
                .and_then(|block| block.checksum(seed))
                .map_or(Some(Seal::None), |sum| Some(Seal::Unchained(sum))),
        };
        sum.unwrap_or(Seal::Missing)
    }

    /// Whether the block is not what was last written.
    pub(super) fn is_broken(self) -> bool {
        match self {
            Seal::None => false,
            Seal::Leaf(sum) | Seal::Index(sum) | Seal::Unchained(sum) => !sum.matches(),
            Seal::Missing => true,
        }
    }

    /// Whether a leaf has no tail where it must have one.
    pub(super) fn lacks_tail(self) -> bool {
        self.is_broken() && !matches!(self, Seal::Leaf(_) | Seal::Unchained(_))
    }

    /// Where the entries of a leaf of `len` bytes end: before its tail.
    pub(super) fn end_of_leaf(self, size: usize, seed: Option<Seed>) -> usize {
        if seed.is_some() && !self.lacks_tail() {
            size.saturating_sub(TAIL)
        } else {
            size
        }
    }

    /// Stored and computed, where there are both.
    pub(super) fn values(self) -> Option<Checksum> {
        match self {
            Seal::Leaf(sum) | Seal::Index(sum) | Seal::Unchained(sum) => Some(sum),
            Seal::None | Seal::Missing => None,
        }
    }
}

/// How a chain of entries ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// At a tail.
    Tail,
    /// Past where a tail would be, or at something else.
    NoTail,
    /// It leads out of the block, or nowhere.
    Broken,
}

/// Lengths are taken as they stand there. What stands for 64 KiB, 0 or 65535, is none here: an entry as long as the block leaves
/// no room for a tail.
fn chain_end(bytes: &[u8]) -> End {
    let size = bytes.len();
    let top = size.saturating_sub(TAIL);
    let mut at = 0;
    while at < top {
        let len = usize::from(u16::from_le_bytes([bytes[at + 4], bytes[at + 5]]));
        if len < 8 || !len.is_multiple_of(4) || at + len > size {
            return End::Broken;
        }
        at += len;
    }
    if directory::tail(bytes) == Some(at) {
        End::Tail
    } else {
        End::NoTail
    }
}

/// The block as an index block, if its shape is that of one.
fn index(bytes: &[u8]) -> Option<IndexBlock<'_>> {
    let size = bytes.len();
    let rec_len = |at: usize| {
        let raw = bytes.get(at..at + 2)?;
        Some(rec_len_from_disk(
            u16::from_le_bytes([raw[0], raw[1]]),
            size as u32,
        ))
    };
    let (block, at) = if rec_len(4)? == size && bytes.get(6..8)? == [0, 0] {
        (IndexBlock::read_node(bytes, size as u32).ok()?, 8)
    } else if rec_len(4)? == 12 && rec_len(16)? == size - 12 {
        let sound = bytes.get(24..28)? == [0; 4] && *bytes.get(29)? == 8;
        let root = IndexBlock::read_root(bytes).ok().filter(|_| sound)?;
        (root, 32)
    } else {
        return None;
    };
    let most = (size - at) / 8;
    (usize::from(block.limit()) <= most && usize::from(block.count()) <= most).then_some(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ondisk::ext4::FileType;
    use ondisk::ext4::directory::BlockWriter;
    use ondisk::ext4::hash::HashVersion;
    use ondisk::ext4::htree::{IndexEntry, NewRoot, write_node, write_root};
    use proptest::prelude::*;

    const SEED: Seed = Seed(77);

    fn leaf() -> Vec<u8> {
        let mut bytes = vec![0; 1024];
        let mut writer = BlockWriter::new(&mut bytes, 1024, true).unwrap();
        let _ = writer.push(12, Some(FileType::Regular), b"name", None);
        writer.finish(Some(SEED)).unwrap();
        bytes
    }

    #[test]
    fn leaves_and_index_blocks_are_distinguished_by_their_shape() {
        assert_eq!(Seal::of(&[0; 1024], None), Seal::None);
        assert!(!Seal::of(&leaf(), Some(SEED)).is_broken());
        let entries = [IndexEntry { hash: 0, block: 1 }];
        let mut node = vec![0; 1024];
        write_node(&mut node, &entries, Some(SEED)).unwrap();
        assert!(matches!(Seal::of(&node, Some(SEED)), Seal::Index(sum) if sum.matches()));
        let new = NewRoot {
            dot: 12,
            dot_dot: 2,
            hash: HashVersion::HalfMd4,
            indirect_levels: 0,
            file_types: true,
        };
        let mut root = vec![0; 1024];
        write_root(&mut root, new, &entries, Some(SEED)).unwrap();
        assert!(matches!(Seal::of(&root, Some(SEED)), Seal::Index(sum) if sum.matches()));
        root[29] = 16;
        assert_eq!(Seal::of(&root, Some(SEED)), Seal::Missing);
    }

    #[test]
    fn a_tail_that_the_chain_does_not_reach_is_none() {
        let mut bytes = leaf();
        assert_eq!(chain_end(&bytes), End::Tail);
        // The entry swallows the tail.
        bytes[4..6].copy_from_slice(&1024_u16.to_le_bytes());
        assert_eq!(chain_end(&bytes), End::NoTail);
        assert_eq!(Seal::of(&bytes, Some(SEED)), Seal::Missing);
        bytes[4..6].copy_from_slice(&1028_u16.to_le_bytes());
        assert_eq!(Seal::of(&bytes, Some(SEED)), Seal::None);
        let mut bytes = leaf();
        bytes[9] ^= 1;
        assert!(Seal::of(&bytes, Some(SEED)).is_broken());
    }

    #[test]
    fn an_entry_of_64_kib_is_no_chain() {
        for raw in [[0, 0], [0xff, 0xff]] {
            let mut bytes = vec![0; 65536];
            bytes[4..6].copy_from_slice(&raw);
            assert_eq!(chain_end(&bytes), End::Broken);
            let seal = Seal::of(&bytes, Some(SEED));
            assert_eq!(seal.end_of_leaf(65536, Some(SEED)), 65524);
            let entries = [IndexEntry { hash: 0, block: 1 }];
            write_node(&mut bytes, &entries, Some(SEED)).unwrap();
            bytes[4..6].copy_from_slice(&raw);
            let seal = Seal::of(&bytes, Some(SEED));
            assert!(matches!(seal, Seal::Unchained(_)) && !seal.lacks_tail());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_answer(mut bytes in prop::collection::vec(any::<u8>(), 1024), head in 0..4) {
            match head {
                0 => bytes[4..8].copy_from_slice(&[0, 4, 0, 0]),
                1 => {
                    bytes[4..6].copy_from_slice(&[12, 0]);
                    bytes[16..18].copy_from_slice(&1012_u16.to_le_bytes());
                    bytes[24..30].copy_from_slice(&[0, 0, 0, 0, 1, 8]);
                }
                2 => bytes[1012..1020].copy_from_slice(&[0, 0, 0, 0, 12, 0, 0, 0xde]),
                _ => {}
            }
            let _ = Seal::of(&bytes, Some(SEED)).is_broken();
        }
    }
}
