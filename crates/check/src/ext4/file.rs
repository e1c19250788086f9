//! Files that the filesystem keeps for itself, read one block after the other: journal, orphan file, quota files.
//!
//! The passes never follow a map inode by inode; here it is right, because there are a handful of these files, and what is to be
//! known of them is needed before pass 1 or long after it. No node of a map is read twice, so a map that leads into itself
//! ends, and what a map takes is bounded by what was read of it.

use std::collections::HashSet;

use blockio::ReadError;
use ondisk::ext4::block_map::{BlockMap, pointers};
use ondisk::ext4::extent::Node;
use ondisk::ext4::inode::Content;
use ondisk::ext4::{Checksum, Error, Inode};

use crate::ext4::volume::Volume;

/// Why a file, or the rest of it, cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FileError {
    /// There is no such inode.
    #[error("there is no inode {0}; the superblock that names it is damaged")]
    NoInode(u32),
    /// A read failed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The checksum of the inode is wrong.
    #[error(
        "the inode's checksum is {:#010x} and its bytes give {:#010x}; it is damaged",
        .0.stored,
        .0.computed
    )]
    Checksum(Checksum),
    /// A node of its map is damaged.
    #[error(transparent)]
    Format(#[from] Error),
    /// A pointer leaves the filesystem.
    #[error("its map names block {0}, which is not in the filesystem")]
    Outside(u64),
    /// It is in too many pieces.
    #[error("its map has more pieces than the memory limit allows; raise the limit")]
    NoRoom,
    /// Two pointers lead to one node.
    #[error("its map leads to block {0} twice")]
    Twice(u64),
    /// The levels of a tree do not count down.
    #[error("the node in block {block} of its extent tree has depth {found} instead of {expected}")]
    Depth {
        /// The node's block.
        block: u64,
        /// Its depth.
        found: u16,
        /// What its parent asks for.
        expected: u16,
    },
}

/// Consecutive blocks of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// First block of the file.
    pub logical: u64,
    /// First block of the device.
    pub physical: u64,
    /// Blocks.
    pub len: u64,
}

/// The blocks of a file, as far as its map could be followed.
#[derive(Debug, Default)]
pub(crate) struct Map {
    /// In the order of the map, which is ascending where the map is sound.
    pub stretches: Vec<Stretch>,
    /// What was wrong with the map.
    pub fault: Option<FileError>,
    /// It is an extent tree.
    pub extents: bool,
}

impl Map {
    /// The device's block of a block of the file.
    pub(crate) fn block(&self, logical: u64) -> Option<u64> {
        // The first that maps it, as the reference's library has it: a damaged tree may map a block twice.
        let covers = |stretch: &&Stretch| {
            stretch.logical <= logical && logical - stretch.logical < stretch.len
        };
        let stretch = self.stretches.iter().find(covers)?;
        Some(stretch.physical + (logical - stretch.logical))
    }

    /// Blocks of the file up to where the reference's walk ends, which continues after holes in extent trees and not in block maps.
    pub(crate) fn reach(&self) -> u64 {
        if !self.extents {
            return self.without_hole();
        }
        let mut end = 0;
        for stretch in &self.stretches {
            // Where extents overlap, the library ends its walk.
            if stretch.logical < end {
                break;
            }
            end = stretch.logical + stretch.len;
        }
        end
    }

    /// How many blocks from the first on are mapped without a hole.
    pub(crate) fn without_hole(&self) -> u64 {
        let mut next = 0;
        for stretch in &self.stretches {
            if stretch.logical != next {
                break;
            }
            next += stretch.len;
        }
        next
    }
}

impl Volume<'_> {
    /// One block.
    pub(crate) fn read_block(&self, block: u64) -> Result<Vec<u8>, FileError> {
        if block >= self.geometry.blocks_count {
            return Err(FileError::Outside(block));
        }
        let mut bytes = vec![0; self.block_size()];
        self.source
            .read_at(&mut bytes, block * u64::from(self.geometry.block_size))?;
        Ok(bytes)
    }

    /// The slot of an inode, whatever it holds.
    pub(crate) fn read_slot(&self, ino: u32) -> Result<Vec<u8>, FileError> {
        let none = FileError::NoInode(ino);
        let (group, _) = self.geometry.index_of_inode(ino).ok_or(none.clone())?;
        let descriptor = self.descriptors.get(group as usize).ok_or(none.clone())?;
        let (block, offset) = self.geometry.inode_position(ino, descriptor).ok_or(none)?;
        if block >= self.geometry.blocks_count {
            return Err(FileError::Outside(block));
        }
        let mut bytes = vec![0; usize::from(self.geometry.inode_size)];
        let at = block * u64::from(self.geometry.block_size) + u64::from(offset);
        self.source.read_at(&mut bytes, at)?;
        Ok(bytes)
    }

    /// The same with its checksum verified, where it carries one.
    pub(crate) fn read_inode(&self, ino: u32) -> Result<Vec<u8>, FileError> {
        let bytes = self.read_slot(ino)?;
        let inode = Inode::read(&bytes, self.geometry.inode_size)?;
        if let Some(seed) = self.seed
            && !inode.is_zero()
        {
            let sum = inode.checksum(seed, ino);
            if !sum.matches() {
                return Err(FileError::Checksum(sum));
            }
        }
        Ok(bytes)
    }

    /// The map of an inode.
    pub(crate) fn map(&self, inode: &Inode<'_>) -> Map {
        let mut walk = Walk {
            volume: self,
            map: Map {
                extents: inode.content() == Content::Extents,
                ..Map::default()
            },
            seen: HashSet::new(),
        };
        let done = match inode.content() {
            Content::Extents => walk.node(&inode.raw().i_block, 0, None),
            Content::BlockMap => walk.block_map(inode),
            _ => Ok(()),
        };
        walk.map.fault = done.err();
        walk.map
    }
}

struct Walk<'a> {
    volume: &'a Volume<'a>,
    map: Map,
    seen: HashSet<u64>,
}

impl Walk<'_> {
    fn push(&mut self, logical: u64, physical: u64, len: u64) -> Result<(), FileError> {
        // No file includes the superblock, whatever the first data block is.
        let first = u64::from(self.volume.geometry.first_data_block).max(1);
        let end = self.volume.geometry.blocks_count;
        if physical < first || physical >= end {
            return Err(FileError::Outside(physical));
        }
        if len > end - physical {
            // What is still inside counts: the reference walks as far.
            self.push(logical, physical, end - physical)?;
            return Err(FileError::Outside(end));
        }
        match self.map.stretches.last_mut() {
            Some(last)
                if last.logical + last.len == logical && last.physical + last.len == physical =>
            {
                last.len += len;
            }
            _ => self.map.stretches.push(Stretch {
                logical,
                physical,
                len,
            }),
        }
        let many = self.map.stretches.len().is_multiple_of(1 << 16);
        if many && self.volume.guard.is_full() {
            return Err(FileError::NoRoom);
        }
        Ok(())
    }

    /// The bytes of a node that was not read before.
    fn fetch(&mut self, block: u64) -> Result<Vec<u8>, FileError> {
        if !self.seen.insert(block) {
            return Err(FileError::Twice(block));
        }
        self.volume.read_block(block)
    }

    fn node(&mut self, bytes: &[u8], block: u64, depth: Option<u16>) -> Result<(), FileError> {
        let node = Node::read(bytes)?;
        if let Some(expected) = depth
            && node.depth() != expected
        {
            return Err(FileError::Depth {
                block,
                found: node.depth(),
                expected,
            });
        }
        for extent in node.extents() {
            self.push(extent.block.into(), extent.start, extent.len.into())?;
        }
        for index in node.indexes() {
            let below = self.fetch(index.leaf)?;
            self.node(&below, index.leaf, Some(node.depth() - 1))?;
        }
        Ok(())
    }

    fn block_map(&mut self, inode: &Inode<'_>) -> Result<(), FileError> {
        let arithmetic = BlockMap::new(self.volume.geometry.block_size);
        for (slot, pointer) in (0..).zip(inode.block_words()) {
            if let Some((logical, levels)) = arithmetic.slot(slot) {
                self.pointer(arithmetic, pointer.into(), logical, levels)?;
            }
        }
        Ok(())
    }

    fn pointer(
        &mut self,
        arithmetic: BlockMap,
        block: u64,
        logical: u64,
        levels: u32,
    ) -> Result<(), FileError> {
        if block == 0 {
            return Ok(());
        }
        if levels == 0 {
            return self.push(logical, block, 1);
        }
        let bytes = self.fetch(block)?;
        for (nth, below) in (0..).zip(pointers(&bytes)) {
            let first = logical + nth * arithmetic.span(levels - 1);
            self.pointer(arithmetic, below.into(), first, levels - 1)?;
        }
        Ok(())
    }
}
