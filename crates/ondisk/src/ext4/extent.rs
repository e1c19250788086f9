//! Extent trees.
//!
//! A node is a header and entries of 12 bytes: extents in a leaf, indexes above. The root is in
//! the 60 bytes of `i_block`, any other node fills a block and, with `metadata_csum`, carries its checksum
//! after the room for its last entry. Source: Documentation/filesystems/ext4/ifork.rst.

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Checksum, Error, Seed, put_u32, u32_at, view};

/// `eh_magic`.
pub const MAGIC: u16 = 0xf30a;
/// The deepest tree: 5 levels of indexes map 2^32 blocks in any block size.
pub const MAX_DEPTH: u16 = 5;
/// The most blocks of one written extent; an unwritten one has one fewer.
pub const MAX_LEN: u16 = 32768;

/// Bytes of an entry, and of the header before them.
pub const ENTRY: usize = 12;

/// `struct ext4_extent_header`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub eh_magic: U16,
    /// Entries in use.
    pub eh_entries: U16,
    /// Entries there is room for.
    pub eh_max: U16,
    /// Levels below this node; 0 in a leaf.
    pub eh_depth: U16,
    /// Version of the tree; unused.
    pub eh_generation: U32,
}

/// A run of blocks of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Extent {
    /// First logical block (`ee_block`).
    pub block: u32,
    /// Blocks, 0 to [`MAX_LEN`]; 0 is damage.
    pub len: u16,
    /// First block on the device.
    pub start: u64,
    /// Allocated, never written: reads as zeros.
    pub unwritten: bool,
}

impl Extent {
    /// The extent that one entry of a leaf holds, for a reader that decides by itself which node is a leaf.
    pub fn of_entry(entry: &[u8; ENTRY]) -> Self {
        let raw = u16::from_le_bytes([entry[4], entry[5]]);
        let unwritten = raw > MAX_LEN;
        Self {
            block: u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]),
            len: if unwritten { raw - MAX_LEN } else { raw },
            start: u64::from(u32::from_le_bytes([
                entry[8], entry[9], entry[10], entry[11],
            ])) | u64::from(u16::from_le_bytes([entry[6], entry[7]])) << 32,
            unwritten,
        }
    }

    fn to_disk(self) -> Result<[u8; ENTRY], Error> {
        let most = if self.unwritten { MAX_LEN - 1 } else { MAX_LEN };
        if self.len > most {
            return Err(Error::Range {
                what: "ee_len",
                found: self.len.into(),
                low: 1,
                high: most.into(),
            });
        }
        // A length of 0 is written as asked for, so that damage can be made; an unwritten one would turn
        // into a written one of 32768 blocks.
        if self.len == 0 && self.unwritten {
            return Err(Error::Range {
                what: "ee_len",
                found: 0,
                low: 1,
                high: most.into(),
            });
        }
        let mut entry = [0; ENTRY];
        let len = self.len + if self.unwritten { MAX_LEN } else { 0 };
        entry[..4].copy_from_slice(&self.block.to_le_bytes());
        entry[4..6].copy_from_slice(&len.to_le_bytes());
        put_start(&mut entry, 6, 8, self.start)?;
        Ok(entry)
    }

    /// The first logical block after it; 64 bits, because damage may reach beyond 2^32.
    pub fn end(&self) -> u64 {
        u64::from(self.block) + u64::from(self.len)
    }

    /// Whether it maps a logical block.
    pub fn contains(&self, block: u32) -> bool {
        self.block <= block && u64::from(block) < self.end()
    }
}

/// An entry of an inner node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Index {
    /// First logical block of the subtree (`ei_block`).
    pub block: u32,
    /// The block of the node below.
    pub leaf: u64,
    /// `ei_unused`: no meaning, but kept.
    pub unused: u16,
}

impl Index {
    /// The index that one entry of an inner node holds.
    pub fn of_entry(entry: &[u8; ENTRY]) -> Self {
        Self {
            block: u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]),
            leaf: u64::from(u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]))
                | u64::from(u16::from_le_bytes([entry[8], entry[9]])) << 32,
            unused: u16::from_le_bytes([entry[10], entry[11]]),
        }
    }

    fn to_disk(self) -> Result<[u8; ENTRY], Error> {
        let mut entry = [0; ENTRY];
        entry[..4].copy_from_slice(&self.block.to_le_bytes());
        put_start(&mut entry, 8, 4, self.leaf)?;
        entry[10..].copy_from_slice(&self.unused.to_le_bytes());
        Ok(entry)
    }
}

fn put_start(entry: &mut [u8; ENTRY], hi: usize, lo: usize, block: u64) -> Result<(), Error> {
    if block >= 1 << 48 {
        return Err(Error::Range {
            what: "block of an extent",
            found: block,
            low: 0,
            high: (1 << 48) - 1,
        });
    }
    entry[lo..lo + 4].copy_from_slice(&(block as u32).to_le_bytes());
    entry[hi..hi + 2].copy_from_slice(&((block >> 32) as u16).to_le_bytes());
    Ok(())
}

/// A node of a tree: a root of 60 bytes, or a block.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    header: &'a Header,
    bytes: &'a [u8],
}

/// Entries that fit `len` bytes.
pub fn capacity(len: usize) -> u16 {
    (len.saturating_sub(ENTRY) / ENTRY).min(usize::from(u16::MAX)) as u16
}

impl<'a> Node<'a> {
    /// The node that fills `bytes`.
    ///
    /// # Errors
    ///
    /// [`Error::Magic`], and [`Error::Range`] when the counts do not fit each other or the slice: `eh_max` may be
    /// up to two below what fits (room for a checksum), `eh_entries` not above it.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let header: &Header = view("extent header", bytes)?;
        if header.eh_magic.get() != MAGIC {
            return Err(Error::Magic {
                what: "extent header eh_magic",
                found: header.eh_magic.get().into(),
                expected: MAGIC.into(),
            });
        }
        let most = capacity(bytes.len());
        let checks = [
            ("eh_max", header.eh_max.get(), most.saturating_sub(2), most),
            (
                "eh_entries",
                header.eh_entries.get(),
                0,
                header.eh_max.get(),
            ),
            ("eh_depth", header.eh_depth.get(), 0, MAX_DEPTH),
        ];
        for (what, found, low, high) in checks {
            if !(low..=high).contains(&found) {
                return Err(Error::Range {
                    what,
                    found: found.into(),
                    low: low.into(),
                    high: high.into(),
                });
            }
        }
        Ok(Self { header, bytes })
    }

    /// The header.
    pub fn header(&self) -> &'a Header {
        self.header
    }

    /// Levels below; 0 in a leaf.
    pub fn depth(&self) -> u16 {
        self.header.eh_depth.get()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        usize::from(self.header.eh_entries.get())
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entries(&self) -> impl ExactSizeIterator<Item = &'a [u8; ENTRY]> {
        let (entries, _) = self.bytes[ENTRY..].as_chunks::<ENTRY>();
        entries.iter().take(self.len())
    }

    /// The extents of a leaf; an inner node has none.
    pub fn extents(&self) -> impl Iterator<Item = Extent> {
        let leaf = self.depth() == 0;
        self.entries().filter(move |_| leaf).map(Extent::of_entry)
    }

    /// The indexes of an inner node; a leaf has none.
    pub fn indexes(&self) -> impl Iterator<Item = Index> {
        let inner = self.depth() > 0;
        self.entries().filter(move |_| inner).map(Index::of_entry)
    }

    /// Where a logical block is to be looked for in this node, which must be ordered.
    pub fn lookup(&self, block: u32) -> Lookup {
        let (entries, _) = self.bytes[ENTRY..].as_chunks::<ENTRY>();
        let entries = entries.get(..self.len()).unwrap_or(entries);
        let first =
            |entry: &[u8; ENTRY]| u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]);
        let after = entries.partition_point(|entry| first(entry) <= block);
        let Some(entry) = after.checked_sub(1).and_then(|nth| entries.get(nth)) else {
            return Lookup::Hole;
        };
        if self.depth() > 0 {
            return Lookup::Below(Index::of_entry(entry));
        }
        let extent = Extent::of_entry(entry);
        if extent.contains(block) {
            Lookup::Extent(extent)
        } else {
            Lookup::Hole
        }
    }

    /// The checksum of a node that fills a block; `seed` is that of the inode. `None` for a root,
    /// which the inode's own checksum covers, and when no room is left after the entries.
    pub fn checksum(&self, seed: Seed) -> Option<Checksum> {
        let at = tail_at(self.header.eh_max.get());
        let covered = self.bytes.get(..at)?;
        Some(Checksum {
            stored: u32_at(self.bytes, at)?,
            computed: seed.over(covered),
        })
    }
}

/// See [`Node::lookup`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// Mapped by this extent.
    Extent(Extent),
    /// In the node this index points to.
    Below(Index),
    /// Not mapped.
    Hole,
}

fn tail_at(max: u16) -> usize {
    ENTRY + usize::from(max) * ENTRY
}

fn write_header(bytes: &mut [u8], entries: usize, depth: u16) -> Result<(), Error> {
    let max = capacity(bytes.len());
    if entries > usize::from(max) || bytes.len() < ENTRY {
        return Err(Error::Full {
            what: "extent node",
            need: (entries + 1) * ENTRY,
            room: bytes.len(),
        });
    }
    let header = Header {
        eh_magic: MAGIC.into(),
        eh_entries: (entries as u16).into(),
        eh_max: max.into(),
        eh_depth: depth.into(),
        eh_generation: 0.into(),
    };
    bytes.fill(0);
    bytes[..ENTRY].copy_from_slice(header.as_bytes());
    Ok(())
}

/// Writes a leaf that fills `bytes`. A block needs [`seal`] afterwards, if metadata carries checksums.
///
/// # Errors
///
/// [`Error::Full`] for too many extents, [`Error::Range`] for one that the format cannot hold.
pub fn write_leaf(bytes: &mut [u8], extents: &[Extent]) -> Result<(), Error> {
    write_header(bytes, extents.len(), 0)?;
    for (place, extent) in bytes[ENTRY..].chunks_exact_mut(ENTRY).zip(extents) {
        place.copy_from_slice(&extent.to_disk()?);
    }
    Ok(())
}

/// Writes an inner node that fills `bytes`, `depth` levels above its leaves.
///
/// # Errors
///
/// As [`write_leaf`].
pub fn write_index(bytes: &mut [u8], depth: u16, indexes: &[Index]) -> Result<(), Error> {
    if !(1..=MAX_DEPTH).contains(&depth) {
        return Err(Error::Range {
            what: "eh_depth",
            found: depth.into(),
            low: 1,
            high: MAX_DEPTH.into(),
        });
    }
    write_header(bytes, indexes.len(), depth)?;
    for (place, index) in bytes[ENTRY..].chunks_exact_mut(ENTRY).zip(indexes) {
        place.copy_from_slice(&index.to_disk()?);
    }
    Ok(())
}

/// Writes the checksum of the node that fills `bytes`, a block; `seed` is that of the inode.
///
/// # Errors
///
/// As [`Node::read`], and [`Error::Full`] without room for it.
pub fn seal(bytes: &mut [u8], seed: Seed) -> Result<(), Error> {
    let node = Node::read(bytes)?;
    let at = tail_at(node.header.eh_max.get());
    let computed = node.checksum(seed).map(|sum| sum.computed);
    let room = bytes.len().saturating_sub(at);
    match computed {
        Some(sum) if put_u32(bytes, at, sum) => Ok(()),
        _ => Err(Error::Full {
            what: "extent node's checksum",
            need: 4,
            room,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_extent() -> impl Strategy<Value = Extent> {
        (any::<u32>(), 1..MAX_LEN, 0_u64..1 << 48, any::<bool>()).prop_map(
            |(block, len, start, unwritten)| Extent {
                block,
                len,
                start,
                unwritten,
            },
        )
    }

    #[test]
    fn the_longest_extents() {
        let written = Extent {
            block: 0,
            len: MAX_LEN,
            start: 5,
            unwritten: false,
        };
        let mut root = [0; 60];
        write_leaf(&mut root, &[written]).unwrap();
        assert_eq!(Node::read(&root).unwrap().extents().next(), Some(written));
        let unwritten = Extent {
            unwritten: true,
            ..written
        };
        assert!(write_leaf(&mut root, &[unwritten]).is_err());
        assert_eq!(
            write_leaf(&mut root, &[written; 5]).unwrap_err(),
            Error::Full {
                what: "extent node",
                need: 72,
                room: 60,
            }
        );
    }

    #[test]
    fn counts_that_lie_are_errors() {
        let mut block = vec![0; 1024];
        write_leaf(&mut block, &[]).unwrap();
        block[2] = 200;
        assert!(matches!(
            Node::read(&block),
            Err(Error::Range {
                what: "eh_entries",
                ..
            })
        ));
        block[2] = 0;
        block[4] = 85;
        assert!(matches!(
            Node::read(&block),
            Err(Error::Range {
                what: "eh_max",
                high: 84,
                ..
            })
        ));
        assert!(matches!(Node::read(&block[1..]), Err(Error::Magic { .. })));
    }

    proptest! {
        #[test]
        fn a_leaf_is_read_as_written(
            extents in proptest::collection::vec(any_extent(), 0..84),
            seed: u32,
        ) {
            let mut block = vec![0xaa; 1024];
            write_leaf(&mut block, &extents).unwrap();
            seal(&mut block, Seed(seed)).unwrap();
            let node = Node::read(&block).unwrap();
            prop_assert_eq!(node.extents().collect::<Vec<_>>(), extents.clone());
            prop_assert_eq!(node.indexes().count(), 0);
            prop_assert!(node.checksum(Seed(seed)).unwrap().matches());
            let again: Vec<Extent> = node.extents().collect();
            let mut second = vec![0; 1024];
            write_leaf(&mut second, &again).unwrap();
            seal(&mut second, Seed(seed)).unwrap();
            prop_assert_eq!(second, block);
        }

        #[test]
        fn an_index_is_read_as_written(
            raw in proptest::collection::vec((any::<u32>(), 0_u64..1 << 48, any::<u16>()), 0..5),
            depth in 1..=MAX_DEPTH,
        ) {
            let indexes: Vec<Index> =
                raw.into_iter().map(|(block, leaf, unused)| Index { block, leaf, unused }).collect();
            let mut root = [0; 60];
            if indexes.len() > 4 {
                prop_assert!(write_index(&mut root, depth, &indexes).is_err());
            } else {
                write_index(&mut root, depth, &indexes).unwrap();
                let node = Node::read(&root).unwrap();
                prop_assert_eq!(node.indexes().collect::<Vec<_>>(), indexes);
                prop_assert_eq!(node.depth(), depth);
            }
        }

        #[test]
        fn lookup_agrees_with_a_search(
            lens in proptest::collection::vec((1_u16..20, 0_u32..10), 1..20),
            block in 0_u32..400,
        ) {
            let mut at = 0;
            let extents: Vec<Extent> = lens
                .into_iter()
                .map(|(len, gap)| {
                    let extent =
                        Extent { block: at + gap, len, start: u64::from(at) + 1000, unwritten: false };
                    at = extent.end() as u32;
                    extent
                })
                .collect();
            let mut node = vec![0; 1024];
            write_leaf(&mut node, &extents).unwrap();
            let expected = extents
                .iter()
                .find(|extent| extent.contains(block))
                .map_or(Lookup::Hole, |extent| Lookup::Extent(*extent));
            prop_assert_eq!(Node::read(&node).unwrap().lookup(block), expected);
        }

        #[test]
        fn any_bytes_give_a_node_or_an_error(mut bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            if bytes.len() > 8 {
                bytes[..2].copy_from_slice(&MAGIC.to_le_bytes());
                bytes[3] = 0;
                bytes[5] = 0;
                bytes[4] = capacity(bytes.len()) as u8;
                bytes[7] = 0;
                bytes[6] %= 7;
            }
            if let Ok(node) = Node::read(&bytes) {
                let _ = (node.extents().count(), node.indexes().count(), node.lookup(7));
                let _ = node.checksum(Seed(0));
            }
        }
    }
}
