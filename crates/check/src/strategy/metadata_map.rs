//! What a format tells a strategy about the places of its metadata.

use std::ops::Range;

use super::Step;

/// The metadata of an opened volume. The reader decides what is read when, and how; the map knows where it is and whether it is sound.
///
/// A descriptor is a block that describes a group: a bitmap in ext4, a group descriptor in OCFS2. Descriptors form chains. A format whose
/// descriptors name their successors finds a [`next`](MetadataMap::next) in their bytes; for another format the chains are part of the
/// model, and the map computes them.
///
/// All calls for one step come before the first of the next step, in the order of [`steps`](MetadataMap::steps), so a map may collect
/// in a step what a later step needs.
pub trait MetadataMap {
    /// A descriptor: its place in its chain.
    type Link: Copy;

    /// The steps of this format, in order: those over descriptors, [`Step::Scan`], [`Step::Directories`].
    fn steps(&self) -> &'static [Step];

    /// Bytes of a block. It is also the unit of the reader's cache.
    fn block_size(&self) -> u32;

    /// Number of descriptors of a step, by the headers of the volume. The reader visits no more, so that a chain that leads
    /// into itself ends.
    fn descriptors(&self, step: Step) -> u64;

    /// The first link of each chain of a step. `chains` is how many the model has; a format with chains of its own ignores it.
    fn heads(&self, step: Step, chains: u32) -> Vec<Self::Link>;

    /// The block of a descriptor.
    fn block(&self, step: Step, link: Self::Link) -> u64;

    /// The link after this one in its chain; `bytes` is the block of the descriptor, none where it cannot be read.
    fn next(&self, step: Step, link: Self::Link, bytes: Option<&[u8]>) -> Option<Self::Link>;

    /// Verifies a descriptor; `bytes` is its block, none where it cannot be read. Each is verified once.
    fn verify(&mut self, step: Step, link: Self::Link, bytes: Option<&[u8]>) -> Verified;

    /// What precache reads with a verified descriptor: the inodes, or other blocks, of its group. Empty where precache does not apply.
    fn group(&self, step: Step, link: Self::Link) -> Vec<Range<u64>>;

    /// The inodes, in the order in which they are scanned, and what else [`Step::Scan`] reads.
    fn tables(&self) -> Vec<Table>;

    /// Verifies the inodes of a piece of a table; `offset` is its first byte within the table. Blocks of directories go to
    /// `blocks`, which also reads what is outside the table.
    fn inodes(
        &self,
        table: &Table,
        offset: u64,
        bytes: &[u8],
        blocks: &mut Blocks<'_>,
    ) -> InodeCount;

    /// Whether a directory block is sound.
    fn directory_block(&self, block: u64, bytes: &[u8]) -> bool;
}

/// The result of one descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Whether it holds something to verify: the bitmap of a group that was never used does not.
    pub verifiable: bool,
    /// Whether it could be read, and nothing is wrong with it.
    pub sound: bool,
}

/// Consecutive bytes of inodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Bytes of the device that hold inodes ever used, in whole blocks.
    pub bytes: Range<u64>,
    /// Number of the first inode.
    pub first: u64,
}

impl Table {
    /// Bytes of the table.
    pub(super) fn len(&self) -> u64 {
        self.bytes.end.saturating_sub(self.bytes.start)
    }
}

/// The result of a piece of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InodeCount {
    /// Inodes in use.
    pub in_use: u64,
    /// Faults in them and in the maps of directories.
    pub faults: u64,
}

/// Access to blocks outside the tables, for [`MetadataMap::inodes`].
pub struct Blocks<'a> {
    pub(super) read: &'a dyn Fn(u64) -> Option<Vec<u8>>,
    pub(super) directories: &'a mut Vec<u64>,
}

impl Blocks<'_> {
    /// Reads a block, through the reader's cache; none where it cannot be read.
    pub fn read(&self, block: u64) -> Option<Vec<u8>> {
        (self.read)(block)
    }

    /// Takes blocks of a directory, for [`Step::Directories`].
    pub fn directory(&mut self, blocks: impl IntoIterator<Item = u64>) {
        self.directories.extend(blocks);
    }
}
