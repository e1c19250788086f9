//! The blocks of one object.
//!
//! With extents, data come first and the blocks of the tree after them. With block maps, each
//! indirect block is before the first block that it lists, where the kernel's and mke2fs's
//! allocators put it when a file is written from its start to its end.

use ondisk::ext4::block_map::BlockMap;
use ondisk::ext4::extent::{self, Extent};

use super::{Cursor, Full};
use crate::Error;
use crate::ext4::layout::Layout;
use crate::ext4::plan::{Object, ObjectId, Objects, Piece};

/// A block of an extent tree, or an indirect block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ext4) struct Node {
    /// Extent trees: 0 for leaves. Block maps: 1 for a list of data blocks, 2 and 3 above.
    pub(in crate::ext4) level: u8,
    /// Extent trees: the first of its entries among all of its level. Block maps: its first logical block.
    pub(in crate::ext4) first: u64,
    /// Its location.
    pub(in crate::ext4) block: u64,
}

/// Location of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::ext4) struct Mapping {
    /// Its data, ascending by logical block.
    pub(in crate::ext4) data: Vec<Extent>,
    /// Blocks that map them, by level, then ascending (extents); as they were placed (block maps).
    pub(in crate::ext4) nodes: Vec<Node>,
    /// Its block of extended attributes, 0 for none.
    pub(in crate::ext4) xattr: u64,
    /// All of these, in blocks; whole clusters.
    pub(in crate::ext4) blocks: u64,
}

impl Mapping {
    fn clear(&mut self) {
        self.data.clear();
        self.nodes.clear();
        self.xattr = 0;
        self.blocks = 0;
    }

    /// Every run of blocks, unordered. With clusters the last one of a run may be cut.
    pub(in crate::ext4) fn ranges(&self) -> impl Iterator<Item = std::ops::Range<u64>> {
        let data = self
            .data
            .iter()
            .map(|run| run.start..run.start + u64::from(run.len));
        let nodes = self.nodes.iter().map(|node| node.block..node.block + 1);
        let xattr = (self.xattr != 0).then_some(self.xattr..self.xattr + 1);
        data.chain(nodes).chain(xattr)
    }

    /// Adds a run, as part of the last one where that is possible.
    pub(in crate::ext4) fn push(
        &mut self,
        mut block: u64,
        run: std::ops::Range<u64>,
        unwritten: bool,
    ) {
        let most = u64::from(extent::MAX_LEN) - u64::from(unwritten);
        let mut start = run.start;
        if let Some(last) = self.data.last_mut() {
            let follows = last.end() == block
                && last.start + u64::from(last.len) == start
                && last.unwritten == unwritten;
            if follows {
                let more = (most - u64::from(last.len)).min(run.end - start);
                last.len += more as u16;
                start += more;
                block += more;
            }
        }
        while start < run.end {
            let len = most.min(run.end - start);
            self.data.push(Extent {
                block: block as u32,
                len: len as u16,
                start,
                unwritten,
            });
            start += len;
            block += len;
        }
    }
}

/// Places objects of one filesystem, one at a time.
#[derive(Debug)]
pub(in crate::ext4) struct Placer {
    block_size: u64,
    cluster: u64,
    extents: bool,
    pieces: Vec<Piece>,
    /// The last block of attributes, for those who share it.
    pub(in crate::ext4) xattr: u64,
}

impl Placer {
    pub(in crate::ext4) fn new(layout: &Layout) -> Self {
        Self {
            block_size: layout.geometry.block_size.into(),
            cluster: layout.geometry.cluster_blocks.into(),
            extents: layout.extents(),
            pieces: Vec::new(),
            xattr: 0,
        }
    }

    /// Blocks of a plain object that is one extent wherever enough of them follow each other.
    pub(in crate::ext4) fn one_run(&self, object: &Object) -> Option<u64> {
        let blocks = object.plain_blocks(self.block_size as u32)?;
        let one = (1..=u64::from(extent::MAX_LEN)).contains(&blocks);
        (one && self.extents && self.cluster == 1).then_some(blocks)
    }

    /// Takes an object's blocks from the cursor.
    pub(in crate::ext4) fn place(
        &mut self,
        population: &dyn Objects,
        id: ObjectId,
        object: &Object,
        cursor: &mut Cursor<'_>,
        mapping: &mut Mapping,
    ) -> Result<(), Full> {
        mapping.clear();
        let before = cursor.given;
        if object.has_blocks() && object.size > 0 {
            // Rounded up by hand: a division would cost as much as all the rest of most files.
            let shift = self.block_size.trailing_zeros();
            let rest = object.size & (self.block_size - 1);
            let blocks = (object.size >> shift) + u64::from(rest > 0);
            if blocks >= 1 << 32 {
                return Err(too_long(id, object));
            }
            let placed = if object.fragmented || !self.extents {
                self.in_pieces(population, id, object, blocks, cursor, mapping)
            } else {
                self.in_one(blocks, cursor, mapping)
            };
            if !placed? {
                return Err(too_long(id, object));
            }
        }
        if object.xattr_block {
            if !object.xattr_shared {
                self.xattr = cursor.take(1)?.start;
                cursor.align();
            }
            mapping.xattr = self.xattr;
        }
        mapping.blocks = cursor.given - before;
        if object.xattr_shared {
            // Each owner pays for it.
            mapping.blocks += self.cluster;
        }
        if object.gap > 0 {
            cursor.skip(object.gap.into());
        }
        Ok(())
    }

    /// What most files are: all blocks one after the other.
    fn in_one(
        &self,
        blocks: u64,
        cursor: &mut Cursor<'_>,
        mapping: &mut Mapping,
    ) -> Result<bool, Full> {
        let mut at = 0;
        while at < blocks {
            let run = cursor.take(blocks - at)?;
            let len = run.end - run.start;
            mapping.push(at, run, false);
            at += len;
        }
        cursor.align();
        self.tree(cursor, mapping)?;
        Ok(true)
    }

    fn in_pieces(
        &mut self,
        population: &dyn Objects,
        id: ObjectId,
        object: &Object,
        blocks: u64,
        cursor: &mut Cursor<'_>,
        mapping: &mut Mapping,
    ) -> Result<bool, Full> {
        self.pieces.clear();
        if object.fragmented {
            population.pieces(id, object, &mut self.pieces);
            self.whole_clusters(blocks);
        } else {
            self.pieces.push(Piece {
                blocks: blocks as u32,
                ..Piece::default()
            });
        }
        if self.extents {
            self.extents(cursor, mapping)
        } else {
            self.block_map(cursor, mapping)
        }
    }

    /// With clusters, pieces must begin and end at their borders; the last one ends with the object.
    fn whole_clusters(&mut self, blocks: u64) {
        if self.cluster == 1 {
            return;
        }
        let mut at = 0;
        for piece in &mut self.pieces {
            let hole = u64::from(piece.hole)
                .next_multiple_of(self.cluster)
                .min(blocks - at);
            at += hole;
            let len = u64::from(piece.blocks)
                .next_multiple_of(self.cluster)
                .min(blocks - at);
            at += len;
            (piece.hole, piece.blocks) = (hole as u32, len as u32);
        }
        self.pieces.retain(|piece| piece.blocks > 0);
    }

    /// `false` when the logical blocks do not fit the format.
    fn extents(&self, cursor: &mut Cursor<'_>, mapping: &mut Mapping) -> Result<bool, Full> {
        let mut at = 0_u64;
        for piece in &self.pieces {
            at += u64::from(piece.hole);
            let end = at + u64::from(piece.blocks);
            if end >= 1 << 32 {
                return Ok(false);
            }
            while at < end {
                let run = cursor.take(end - at)?;
                let len = run.end - run.start;
                mapping.push(at, run, piece.unwritten);
                at += len;
            }
            cursor.align();
            if piece.gap > 0 {
                cursor.skip(piece.gap.into());
            }
        }
        self.tree(cursor, mapping)?;
        Ok(true)
    }

    /// The blocks of the tree: leaves, then what lists them, until four entries are left for the inode.
    fn tree(&self, cursor: &mut Cursor<'_>, mapping: &mut Mapping) -> Result<(), Full> {
        const IN_INODE: usize = 4;
        let capacity = usize::from(extent::capacity(self.block_size as usize));
        let mut entries = mapping.data.len();
        let mut level = 0;
        while entries > IN_INODE {
            for first in (0..entries).step_by(capacity) {
                let block = cursor.take(1)?.start;
                cursor.align();
                mapping.nodes.push(Node {
                    level,
                    first: first as u64,
                    block,
                });
            }
            entries = entries.div_ceil(capacity);
            level += 1;
        }
        Ok(())
    }

    fn block_map(&self, cursor: &mut Cursor<'_>, mapping: &mut Mapping) -> Result<bool, Full> {
        let map = BlockMap::new(self.block_size as u32);
        // The first logical block of the last indirect block of each level.
        let mut last_node = [None; 4];
        let mut at = 0_u64;
        for piece in &self.pieces {
            at += u64::from(piece.hole);
            let end = at + u64::from(piece.blocks);
            if end > map.limit() || piece.unwritten {
                return Ok(false);
            }
            while at < end {
                let Some(until) = indirect(map, at, &mut last_node, cursor, mapping)? else {
                    return Ok(false);
                };
                let run = cursor.take(end.min(until) - at)?;
                let len = run.end - run.start;
                mapping.push(at, run, false);
                at += len;
            }
            if piece.gap > 0 {
                cursor.skip(piece.gap.into());
            }
        }
        Ok(true)
    }
}

/// Places the indirect blocks on the way to a logical block that are not there yet. Gives the first block to which
/// the way is another.
fn indirect(
    map: BlockMap,
    at: u64,
    last_node: &mut [Option<u64>; 4],
    cursor: &mut Cursor<'_>,
    mapping: &mut Mapping,
) -> Result<Option<u64>, Full> {
    let Some((path, (base, _))) = map
        .path(at)
        .and_then(|path| Some((path, map.slot(path.slot)?)))
    else {
        return Ok(None);
    };
    if path.levels == 0 {
        return Ok(Some(ondisk::ext4::block_map::DIRECT.into()));
    }
    let mut until = 0;
    for level in (1..=path.levels).rev() {
        let span = map.span(level);
        let first = base + (at - base) / span * span;
        until = first + span;
        let last = &mut last_node[level as usize];
        if *last != Some(first) {
            *last = Some(first);
            mapping.nodes.push(Node {
                level: level as u8,
                first,
                block: cursor.take(1)?.start,
            });
        }
    }
    Ok(Some(until))
}

fn too_long(id: ObjectId, object: &Object) -> Full {
    Full::Other(Error::Population(format!(
        "slot {} of directory {}: {} bytes cannot be mapped with this block size; make it smaller, or the blocks larger",
        id.slot, id.directory, object.size
    )))
}
