//! What an object's blocks are for.
//!
//! The blocks of a directory's files have addresses of their own, which follow each other; the plan maps them to blocks. An object's addresses
//! are its attributes, its contents with the free space between them, and the btree of its extents.

use ondisk::xfs::Extent;
use ondisk::xfs::extent::MOST_BLOCKS;

use super::contents::{Contents, Kind, Object};
use super::fork;
use super::plan::Data;
use crate::population::{FileKind, ObjectId};

/// The part of a file that blocks belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The attribute fork.
    Attributes,
    /// The data fork.
    Contents,
    /// The btree of the data fork's extents.
    Tree,
}

/// The blocks of one object.
#[derive(Debug, Default)]
pub(super) struct Uses {
    pub(super) attributes: Vec<Extent>,
    pub(super) contents: Vec<Extent>,
    /// Blocks of the btree, one by one.
    pub(super) tree: Vec<u64>,
}

impl Uses {
    /// Finds the blocks of an object whose addresses begin at `at`.
    pub(super) fn find(
        &mut self,
        contents: &Contents,
        data: &Data<'_>,
        id: ObjectId,
        object: &Object,
        at: u64,
    ) {
        self.attributes.clear();
        self.contents.clear();
        self.tree.clear();
        if object.blocks == 0 {
            return;
        }
        let mut address = at;
        if object.attribute_blocks > 0 {
            let count = object.attribute_blocks.into();
            run(data, address, 0, count, false, &mut self.attributes);
            address += count;
        }
        if object.fragmented
            && let Kind::File(FileKind::Regular(size)) = object.kind
        {
            let mut offset = 0;
            for piece in contents.pieces(id, size) {
                offset += u64::from(piece.hole);
                let count = piece.blocks.into();
                let out = &mut self.contents;
                run(data, address, offset, count, piece.unwritten, out);
                offset += count;
                address += count + u64::from(piece.gap);
            }
        } else {
            run(data, address, 0, object.data, false, &mut self.contents);
        }
        if object.tree > 0 {
            // They are the last of the object's addresses.
            let from = at + object.blocks - u64::from(object.tree);
            let fork = contents.data_fork(object.fork_offset);
            let extents = self.contents.len() as u64;
            let count = fork::blocks(&contents.geometry, fork, extents);
            let tree = &mut self.tree;
            data.map(from, count.min(object.tree.into()), &mut |block, len| {
                tree.extend(block..block + len);
            });
        }
    }

    /// Calls `each` with part, offset in the fork, first block, length, and whether it is unwritten, ascending by address.
    pub(super) fn each(&self, each: &mut dyn FnMut(Part, &Extent)) {
        for extent in &self.attributes {
            each(Part::Attributes, extent);
        }
        for extent in &self.contents {
            each(Part::Contents, extent);
        }
        for &block in &self.tree {
            let extent = Extent {
                offset: 0,
                block,
                count: 1,
                unwritten: false,
            };
            each(Part::Tree, &extent);
        }
    }

    /// Blocks in all.
    pub(super) fn blocks(&self) -> u64 {
        let extents = self.attributes.iter().chain(&self.contents);
        extents.map(|extent| extent.count).sum::<u64>() + self.tree.len() as u64
    }
}

fn run(
    data: &Data<'_>,
    address: u64,
    offset: u64,
    count: u64,
    unwritten: bool,
    out: &mut Vec<Extent>,
) {
    debug_assert!(count < 1 << 54 && MOST_BLOCKS > 0);
    let mut offset = offset;
    data.map(address, count, &mut |block, len| {
        let extent = Extent {
            offset,
            block,
            count: len,
            unwritten,
        };
        fork::push(out, extent);
        offset += len;
    });
}
