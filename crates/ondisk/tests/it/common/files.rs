//! The blocks of a file, by either map.

use ondisk::ext4::block_map::{BlockMap, pointers};
use ondisk::ext4::extent::Node;
use ondisk::ext4::inode::Content;
use ondisk::ext4::{Geometry, Inode, Seed};

use super::Image;

/// What an inode maps.
#[derive(Default)]
pub(crate) struct Mapped {
    /// Logical block, block on the device, whether it was written.
    pub(crate) data: Vec<(u64, u64, bool)>,
    /// Blocks of the map itself.
    pub(crate) metadata: Vec<u64>,
    /// What was wrong on the way.
    pub(crate) problems: Vec<String>,
    /// Extent nodes whose checksum was compared.
    pub(crate) checksums: u32,
}

/// Follows the map of an inode. The work is bounded by a budget, since damage may form loops.
pub(crate) fn map(
    image: &Image,
    geometry: &Geometry,
    inode: &Inode<'_>,
    seed: Option<Seed>,
) -> Mapped {
    let mut mapped = Mapped::default();
    let mut walk = Walk {
        image,
        geometry,
        seed,
        mapped: &mut mapped,
        budget: 200_000,
    };
    match inode.content() {
        Content::Extents => walk.extents(&inode.raw().i_block, None),
        Content::BlockMap => {
            let arithmetic = BlockMap::new(geometry.block_size);
            for (slot, pointer) in (0..).zip(inode.block_words()) {
                if let Some((first, levels)) = arithmetic.slot(slot) {
                    walk.tree(arithmetic, pointer, first, levels);
                }
            }
        }
        _ => {}
    }
    mapped
}

struct Walk<'a> {
    image: &'a Image,
    geometry: &'a Geometry,
    seed: Option<Seed>,
    mapped: &'a mut Mapped,
    budget: u32,
}

impl Walk<'_> {
    fn problem(&mut self, text: String) {
        self.mapped.problems.push(text);
    }

    fn extents(&mut self, bytes: &[u8], expected: Option<u16>) {
        let node = match Node::read(bytes) {
            Ok(node) => node,
            Err(error) => return self.problem(error.to_string()),
        };
        if expected.is_some_and(|depth| depth != node.depth()) {
            return self.problem(format!("depth {} instead of {expected:?}", node.depth()));
        }
        if let (Some(seed), true) = (self.seed, bytes.len() > 60) {
            match node.checksum(seed) {
                Some(sum) if sum.matches() => self.mapped.checksums += 1,
                other => self.problem(format!("extent node checksum {other:?}")),
            }
        }
        for extent in node.extents() {
            let len = u32::from(extent.len).min(self.budget);
            self.budget -= len;
            for nth in 0..u64::from(len) {
                let logical = u64::from(extent.block) + nth;
                self.mapped
                    .data
                    .push((logical, extent.start + nth, !extent.unwritten));
            }
        }
        for index in node.indexes() {
            self.mapped.metadata.push(index.leaf);
            match self.image.block(self.geometry, index.leaf) {
                Some(bytes) if self.budget > 0 => {
                    self.budget -= 1;
                    self.extents(bytes, Some(node.depth() - 1));
                }
                _ => self.problem(format!("extent node {} outside", index.leaf)),
            }
        }
    }

    fn tree(&mut self, arithmetic: BlockMap, pointer: u32, first: u64, levels: u32) {
        if pointer == 0 || self.budget == 0 {
            return;
        }
        self.budget -= 1;
        if levels == 0 {
            self.mapped.data.push((first, pointer.into(), true));
            return;
        }
        self.mapped.metadata.push(pointer.into());
        let Some(bytes) = self.image.block(self.geometry, pointer.into()) else {
            return self.problem(format!("indirect block {pointer} outside"));
        };
        for (nth, below) in (0..).zip(pointers(bytes)) {
            self.tree(
                arithmetic,
                below,
                first + nth * arithmetic.span(levels - 1),
                levels - 1,
            );
        }
    }
}

/// The content of a file, with holes and unwritten blocks as zeros.
pub(crate) fn content(image: &Image, geometry: &Geometry, inode: &Inode<'_>) -> Vec<u8> {
    let size = inode.size() as usize;
    if inode.content() == Content::Inline {
        let Ok(Some(data)) = ondisk::ext4::inline::InlineData::read(inode) else {
            return Vec::new();
        };
        let (first, second) = data.pieces(inode.size());
        return [first, second].concat();
    }
    let block = geometry.block_size as usize;
    let mut bytes = vec![0; size.next_multiple_of(block)];
    for (logical, place, written) in map(image, geometry, inode, None).data {
        let at = logical as usize * block;
        if let (true, Some(piece)) = (written && at < bytes.len(), image.block(geometry, place)) {
            bytes[at..at + block].copy_from_slice(piece);
        }
    }
    bytes.truncate(size);
    bytes
}
