//! Directories and their indexes.

use ondisk::ocfs2::dinode::{BODY, INLINE_DATA, dynamic};
use ondisk::ocfs2::directory::{Entry, Trailer, type_of_mode};
use ondisk::ocfs2::index::{
    DxEntry, DxHead, DxList, INLINE, LEAF_LIST, LEAF_SIGNATURE, ROOT_LIST, ROOT_SIGNATURE,
};
use ondisk::ocfs2::{BlockCheck, Dinode, DxLeaf, DxRoot, ExtentRecord};

use super::inode::{inline_head, mode};
use super::writer::{Cursor, Writer};
use crate::Error;
use crate::ocfs2::blocks::Place;
use crate::ocfs2::contents::{Kind, Object};
use crate::ocfs2::directory::{Area, DOT, DOT_DOT, FREE, Index, Shape, index};
use crate::ocfs2::tree;
use crate::population::{ObjectId, Target};

/// `dr_check`, and `dl_check`.
const INDEX_CHECK: usize = 0x08;

impl Writer<'_> {
    /// The body of a directory's inode, and its blocks.
    pub(super) fn directory(
        &mut self,
        block: &mut [u8],
        directory: u32,
        object: &Object,
        place: Place,
        cursor: &mut Cursor,
    ) -> Result<(), Error> {
        let shape = self.shape(directory)?;
        if shape.inline {
            let room = self.shared.contents.rules.inline_room as usize;
            inline_head(block, room)?;
            Dinode::read_mut(block)?.i_size = (room as u64).into();
            let area = &mut block[INLINE_DATA..INLINE_DATA + room];
            area.fill(0);
            return self.records(area, &shape, &shape.areas[0], directory, place.block);
        }
        let id = ObjectId::directory(directory);
        let index_root = shape.index.as_ref().map(|_| self.take(id, cursor));
        let leaves_at = cursor.data + self.shared.contents.data_clusters(object);
        self.map(id, object, cursor);
        let extents = std::mem::take(&mut self.extents);
        let blocks: Vec<u64> = extents
            .iter()
            .flat_map(|extent| {
                let per_cluster = self.shared.contents.cluster_blocks;
                let first = extent.cluster * per_cluster;
                first..first + extent.clusters * per_cluster
            })
            .collect();
        {
            let head = Dinode::read_mut(block)?;
            head.i_dyn_features = (head.i_dyn_features.get() & !dynamic::INLINE_DATA).into();
            let size = shape.areas.len() * self.shared.empty.block_size();
            head.i_size = (size as u64).into();
            block[BODY..].fill(0);
        }
        self.extent_list(block, id, object, &extents, cursor)?;
        self.extents = extents;
        self.blocks(&shape, directory, place.block, &blocks)?;
        if let (Some(at), Some(index)) = (index_root, &shape.index) {
            let head = Dinode::read_mut(block)?;
            head.i_dx_root = at.block.into();
            head.i_dyn_features = (head.i_dyn_features.get() | dynamic::INDEXED_DIR).into();
            let free = shape.with_room.last();
            let free = free.and_then(|&nth| blocks.get(nth as usize)).copied();
            let root = RootOf {
                at,
                directory: place.block,
                free: free.unwrap_or(0),
                leaves_at,
            };
            self.index(id, index, &root, &blocks, cursor)?;
        }
        Ok(())
    }

    /// Writes the records of an area.
    fn records(
        &self,
        bytes: &mut [u8],
        shape: &Shape,
        area: &Area,
        directory: u32,
        own: u64,
    ) -> Result<(), Error> {
        let mut at = 0;
        for record in &area.records {
            let len = record.len as usize;
            match record.id {
                FREE => Entry::put(bytes, at, 0, len, 0, b"")?,
                DOT => Entry::put(bytes, at, own, len, type_of_mode(0x4000), b".")?,
                DOT_DOT => {
                    let parent = self.shared.contents.population.parent(directory);
                    let parent = self.shared.plan.inode(ObjectId::directory(parent));
                    Entry::put(bytes, at, parent, len, type_of_mode(0x4000), b"..")?;
                }
                id => {
                    let (name, target) = shape.name(id).ok_or_else(|| {
                        Error::Population(format!("directory {directory} has no name {id}"))
                    })?;
                    let (inode, kind) = self.target(directory, target);
                    Entry::put(bytes, at, inode, len, kind, name)?;
                }
            }
            at += len;
        }
        Ok(())
    }

    /// The inode of a name, and the type of its entry.
    fn target(&self, directory: u32, target: Target) -> (u64, u8) {
        let population = &self.shared.contents.population;
        let plan = self.shared.plan;
        let file = |id: ObjectId| {
            let kind = Kind::File(population.file_kind(id));
            (plan.inode(id), type_of_mode(mode(kind)))
        };
        match target {
            Target::LostAndFound => (plan.lost_and_found(), type_of_mode(0x4000)),
            Target::Subdirectory(nth) => {
                let child = population.children(directory).start + nth;
                (plan.inode(ObjectId::directory(child)), type_of_mode(0x4000))
            }
            Target::File(slot) => file(ObjectId { directory, slot }),
            Target::Link(nth) => file(population.link(directory, nth)),
            Target::Gone => (0, 0),
        }
    }

    /// Writes the blocks of a directory, neighbours together.
    fn blocks(&self, shape: &Shape, directory: u32, own: u64, blocks: &[u64]) -> Result<(), Error> {
        let empty = self.shared.empty;
        let size = empty.block_size();
        let trailer = empty.features.indexed_dirs || empty.features.metaecc;
        let indexed = shape.index.is_some();
        let next: std::collections::HashMap<u32, u64> = shape
            .with_room
            .windows(2)
            .filter_map(|pair| Some((pair[1], *blocks.get(pair[0] as usize)?)))
            .collect();
        let mut buffer: Vec<u8> = Vec::new();
        let mut first = 0;
        for (nth, (area, &at)) in shape.areas.iter().zip(blocks).enumerate() {
            let follows = first + (buffer.len() / size) as u64 == at;
            if !follows || buffer.len() >= 1 << 20 {
                empty.image.write(first * size as u64, &buffer)?;
                buffer.clear();
            }
            if buffer.is_empty() {
                first = at;
            }
            let from = buffer.len();
            buffer.resize(from + size, 0);
            let block = &mut buffer[from..];
            let room = self.shared.contents.rules.block_room as usize;
            self.records(&mut block[..room], shape, area, directory, own)?;
            if trailer {
                let tail = Trailer::of_block_mut(block)?;
                *tail = Trailer::new(at, own);
                if indexed && area.hole > 0 {
                    tail.db_free_rec_len = (area.hole as u16).into();
                    tail.db_free_next = next.get(&(nth as u32)).copied().unwrap_or(0).into();
                }
                empty.seal().store(block, Trailer::check_offset(size))?;
            }
        }
        empty.image.write(first * size as u64, &buffer)
    }

    /// Writes the index of a directory.
    fn index(
        &self,
        id: ObjectId,
        index: &Index,
        of: &RootOf,
        blocks: &[u64],
        cursor: &mut Cursor,
    ) -> Result<(), Error> {
        let empty = self.shared.empty;
        let size = empty.block_size();
        let mut block = vec![0; size];
        let mut root = DxRoot {
            dr_signature: ROOT_SIGNATURE,
            dr_check: BlockCheck::default(),
            dr_suballoc_slot: (self.shared.plan.slot_of(id.directory) as u16).into(),
            dr_suballoc_bit: of.at.bit.into(),
            dr_fs_generation: empty.generation.into(),
            dr_blkno: of.at.block.into(),
            dr_last_eb_blk: 0.into(),
            dr_clusters: 0.into(),
            dr_flags: 0,
            dr_reserved0: 0,
            dr_reserved1: 0.into(),
            dr_dir_blkno: of.directory.into(),
            dr_num_entries: (index.entries() as u32).into(),
            dr_reserved2: 0.into(),
            dr_free_blk: of.free.into(),
            dr_suballoc_loc: 0.into(),
            dr_reserved3: [0; 112],
        };
        let (root_room, _) = self.shared.contents.rules.index_room;
        match index {
            Index::Inline(entries) => {
                root.dr_flags = INLINE;
                entry_list(&mut block[ROOT_LIST..], entries, root_room, blocks)?;
            }
            Index::Leaves(leaves) => {
                let mut records = Vec::with_capacity(leaves.len());
                for (at, leaf) in (of.leaves_at..).zip(leaves) {
                    let mut cluster = 0;
                    self.shared
                        .plan
                        .space
                        .extents(at, 1, &mut |found, _| cluster = found);
                    let first = empty.volume.block_of(cluster);
                    self.leaves(first, &leaf.blocks, blocks)?;
                    records.push(ExtentRecord::leaf(leaf.first, 1, 0, first));
                }
                let tree = self.tree(records, root_room, id, cursor)?;
                root.dr_clusters = (leaves.len() as u32).into();
                root.dr_last_eb_blk = tree.last_leaf.into();
                tree::write_list(
                    &mut block[ROOT_LIST..],
                    &tree.records,
                    tree.depth,
                    root_room,
                )?;
            }
        }
        *DxRoot::read_mut(&mut block)? = root;
        empty.seal().store(&mut block, INDEX_CHECK)?;
        empty.put(of.at.block, &block)
    }

    /// Writes a cluster of leaves.
    fn leaves(
        &self,
        first: u64,
        leaves: &[Vec<index::Entry>],
        blocks: &[u64],
    ) -> Result<(), Error> {
        let empty = self.shared.empty;
        let size = empty.block_size();
        let mut bytes = vec![0; leaves.len() * size];
        let (_, room) = self.shared.contents.rules.index_room;
        for (at, (block, entries)) in (first..).zip(bytes.chunks_exact_mut(size).zip(leaves)) {
            *DxLeaf::read_mut(block)? = DxLeaf {
                dl_signature: LEAF_SIGNATURE,
                dl_check: BlockCheck::default(),
                dl_blkno: at.into(),
                dl_fs_generation: empty.generation.into(),
                dl_reserved0: 0.into(),
                dl_reserved1: 0.into(),
            };
            entry_list(&mut block[LEAF_LIST..], entries, room, blocks)?;
            empty.seal().store(block, INDEX_CHECK)?;
        }
        empty.image.write(first * size as u64, &bytes)
    }
}

/// Where an index root is, and what it leads to.
struct RootOf {
    at: Place,
    /// The directory's inode.
    directory: u64,
    /// The first block with room.
    free: u64,
    /// The address of the first cluster of leaves.
    leaves_at: u64,
}

fn entry_list(
    bytes: &mut [u8],
    entries: &[index::Entry],
    room: usize,
    blocks: &[u64],
) -> Result<(), Error> {
    *DxHead::read_mut(bytes)? = DxHead {
        de_reserved: 0.into(),
        de_count: (room as u16).into(),
        de_num_used: (entries.len() as u16).into(),
    };
    for (nth, entry) in entries.iter().enumerate() {
        let block = blocks.get(entry.block as usize).copied().unwrap_or(0);
        let entry = DxEntry {
            dx_major_hash: entry.hash.major.into(),
            dx_minor_hash: entry.hash.minor.into(),
            dx_dirent_blk: block.into(),
        };
        DxList::put(bytes, nth, entry)?;
    }
    Ok(())
}
