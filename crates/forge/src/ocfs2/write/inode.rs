//! One inode, and what belongs to it: contents, extent blocks, attributes.

use ondisk::ocfs2::dinode::{self, BODY, Dinode, INLINE_DATA, InlineHead, dynamic, flag};
use ondisk::ocfs2::extent::ExtentRecord;
use ondisk::ocfs2::xattr::{BLOCK_HEADER, SIGNATURE};
use ondisk::ocfs2::{BlockCheck, XattrBlock};

use super::writer::{Cursor, Writer};
use crate::Error;
use crate::ocfs2::attributes;
use crate::ocfs2::blocks::Place;
use crate::ocfs2::contents::{Kind, Object};
use crate::ocfs2::plan::{self, Extent};
use crate::ocfs2::tree::{self, Common};
use crate::population::{FileKind, Namespace, ObjectId};

/// `i_mode`.
pub(super) fn mode(kind: Kind) -> u16 {
    match kind {
        Kind::Directory => 0x41ed,
        Kind::Freed | Kind::File(FileKind::Regular(_)) => 0x81a4,
        Kind::File(FileKind::Symlink(_)) => 0xa1ff,
        Kind::File(FileKind::CharacterDevice) => 0x21a4,
        Kind::File(FileKind::BlockDevice) => 0x61a4,
        Kind::File(FileKind::Fifo) => 0x11a4,
        Kind::File(FileKind::Socket) => 0xc1a4,
    }
}

/// A device number as Linux stores it in 64 bits (`huge_encode_dev`).
fn device((major, minor): (u32, u32)) -> u64 {
    u64::from(minor & 0xff | major << 8 | (minor & !0xff) << 12)
}

impl Writer<'_> {
    /// Writes an inode into its block, which is zero.
    pub(super) fn inode(
        &mut self,
        block: &mut [u8],
        id: ObjectId,
        object: &Object,
        place: Place,
        slot: u16,
        cursor: &mut Cursor,
    ) -> Result<(), Error> {
        let empty = self.shared.empty;
        let time = empty.time();
        let freed = object.kind == Kind::Freed;
        let head = Dinode::read_mut(block)?;
        head.i_signature = dinode::SIGNATURE;
        head.i_generation = empty.generation.wrapping_add(place.block as u32).into();
        head.i_suballoc_slot = slot.into();
        head.i_suballoc_bit = place.bit.into();
        head.i_uid = object.owner.into();
        head.i_gid = object.owner.into();
        head.i_mode = mode(object.kind).into();
        head.set_links(object.links);
        head.i_flags = if freed { 0 } else { flag::VALID }.into();
        for field in [&mut head.i_atime, &mut head.i_ctime, &mut head.i_mtime] {
            *field = time.into();
        }
        head.i_dtime = if freed { time } else { 0 }.into();
        head.i_blkno = place.block.into();
        head.i_fs_generation = empty.generation.into();
        if object.note {
            head.i_xattr_inline_size = self.shared.contents.xattr_size.into();
        }
        self.body(block, id, object, place, cursor)?;
        empty.seal().store(block, dinode::CHECK)
    }

    /// What follows an inode's head, and the fields of the head that depend on it.
    pub(super) fn body(
        &mut self,
        block: &mut [u8],
        id: ObjectId,
        object: &Object,
        place: Place,
        cursor: &mut Cursor,
    ) -> Result<(), Error> {
        let empty = self.shared.empty;
        if object.attributes {
            let at = self.take(id, cursor);
            self.attribute_block(id, at)?;
            let head = Dinode::read_mut(block)?;
            head.i_xattr_loc = at.block.into();
            head.i_dyn_features = (head.i_dyn_features.get() | dynamic::HAS_XATTR).into();
        }
        if object.note {
            let at = block.len() - usize::from(empty.xattr_size);
            let note = self.shared.contents.population.note(id);
            let entries = [(Namespace::User, "note", note)];
            attributes::write(
                &mut block[at..],
                &entries,
                empty.uuid_hash,
                empty.options.name_hash,
            )?;
            let head = Dinode::read_mut(block)?;
            head.i_dyn_features =
                (head.i_dyn_features.get() | dynamic::HAS_XATTR | dynamic::INLINE_XATTR).into();
        }
        match object.kind {
            Kind::Directory => self.directory(block, id.directory, object, place, cursor),
            Kind::File(FileKind::Regular(size)) if object.inline => {
                self.inline_file(block, id, object, size)
            }
            Kind::File(FileKind::Symlink(length)) if object.clusters == 0 => {
                let target = self.shared.contents.population.target(id, length);
                Dinode::read_mut(block)?.i_size = length.into();
                block[BODY..BODY + target.len()].copy_from_slice(&target);
                Ok(())
            }
            _ => self.file(block, id, object, cursor),
        }
    }

    /// The next extent block of the slot that a directory's inodes belong to.
    pub(super) fn take(&self, id: ObjectId, cursor: &mut Cursor) -> Place {
        let plan = self.shared.plan;
        let slot = plan.slot_of(id.directory) as usize;
        let place = plan.extents[slot].place(cursor.extent);
        cursor.extent += 1;
        place
    }

    fn inline_file(
        &self,
        block: &mut [u8],
        id: ObjectId,
        object: &Object,
        size: u64,
    ) -> Result<(), Error> {
        let xattr = if object.note {
            self.shared.contents.xattr_size.into()
        } else {
            0
        };
        let room = dinode::inline_room(block.len(), xattr);
        inline_head(block, room)?;
        let head = Dinode::read_mut(block)?;
        head.i_size = size.into();
        let population = &self.shared.contents.population;
        if population.profile().contents {
            population.fill(id, 0, &mut block[INLINE_DATA..INLINE_DATA + size as usize]);
        }
        Ok(())
    }

    /// Everything with an extent list: files with clusters, empty files, devices, and freed inodes.
    fn file(
        &mut self,
        block: &mut [u8],
        id: ObjectId,
        object: &Object,
        cursor: &mut Cursor,
    ) -> Result<(), Error> {
        let contents = self.shared.contents;
        let head = Dinode::read_mut(block)?;
        match object.kind {
            Kind::File(FileKind::Regular(size) | FileKind::Symlink(size)) => {
                head.i_size = size.into();
            }
            Kind::File(FileKind::CharacterDevice | FileKind::BlockDevice) => {
                head.set_rdev(device(contents.population.device_number(id)));
            }
            _ => {}
        }
        self.map(id, object, cursor);
        let extents = std::mem::take(&mut self.extents);
        let result = self.extent_list(block, id, object, &extents, cursor);
        let result = result.and_then(|()| self.data(id, object, &extents));
        self.extents = extents;
        result
    }

    /// Finds the extents of an object, and moves past its data.
    pub(super) fn map(&mut self, id: ObjectId, object: &Object, cursor: &mut Cursor) {
        self.extents.clear();
        if object.clusters > 0 {
            cursor.data = plan::extents(
                self.shared.contents,
                &self.shared.plan.space,
                id,
                object,
                cursor.data,
                &mut self.extents,
            );
        }
    }

    /// Writes an inode's extent list, and the blocks of its tree.
    pub(super) fn extent_list(
        &self,
        block: &mut [u8],
        id: ObjectId,
        object: &Object,
        extents: &[Extent],
        cursor: &mut Cursor,
    ) -> Result<(), Error> {
        let contents = self.shared.contents;
        let records = extents
            .iter()
            .map(|extent| extent.record(contents.cluster_blocks))
            .collect();
        let room = contents.inode_room(object);
        let root = self.tree(records, room, id, cursor)?;
        let clusters: u64 = extents.iter().map(|extent| extent.clusters).sum();
        let head = Dinode::read_mut(block)?;
        head.i_clusters = (clusters as u32).into();
        head.i_last_eb_blk = root.last_leaf.into();
        tree::write_list(&mut block[BODY..], &root.records, root.depth, room)
    }

    /// Builds a tree whose blocks are of a directory's slot.
    pub(super) fn tree(
        &self,
        records: Vec<ExtentRecord>,
        room: usize,
        id: ObjectId,
        cursor: &mut Cursor,
    ) -> Result<tree::Root, Error> {
        let empty = self.shared.empty;
        let common = Common {
            block_size: empty.block_size(),
            generation: empty.generation,
            slot: self.shared.plan.slot_of(id.directory) as u16,
            seal: empty.seal(),
        };
        let per_block = ondisk::ocfs2::extent::block_room(empty.block_size()) as u64;
        let count = tree::blocks(records.len() as u64, room as u64, per_block);
        let places: Vec<Place> = (0..count).map(|_| self.take(id, cursor)).collect();
        tree::build(records, room, common, places.into_iter(), |at, block| {
            empty.put(at, block)
        })
    }

    fn attribute_block(&self, id: ObjectId, at: Place) -> Result<(), Error> {
        let empty = self.shared.empty;
        let mut block = vec![0; empty.block_size()];
        *XattrBlock::read_mut(&mut block)? = XattrBlock {
            xb_signature: SIGNATURE,
            xb_suballoc_slot: (self.shared.plan.slot_of(id.directory) as u16).into(),
            xb_suballoc_bit: at.bit.into(),
            xb_fs_generation: empty.generation.into(),
            xb_blkno: at.block.into(),
            xb_check: BlockCheck::default(),
            xb_flags: 0.into(),
            xb_reserved0: 0.into(),
            xb_reserved1: 0.into(),
            xb_suballoc_loc: 0.into(),
        };
        let population = &self.shared.contents.population;
        let entries = population.block_attributes(id, attributes::LONGEST_VALUE);
        attributes::write(
            &mut block[BLOCK_HEADER..],
            &entries,
            empty.uuid_hash,
            empty.options.name_hash,
        )?;
        empty.seal().store(&mut block, 0x18)?;
        empty.put(at.block, &block)
    }

    /// Writes the contents of a file with clusters, where the profile asks for contents; a target always.
    fn data(&self, id: ObjectId, object: &Object, extents: &[Extent]) -> Result<(), Error> {
        /// Bytes that are written at once.
        const PIECE: u64 = 1 << 20;
        let empty = self.shared.empty;
        let population = &self.shared.contents.population;
        let cluster = empty.volume.cluster_size();
        if let Kind::File(FileKind::Symlink(length)) = object.kind {
            let Some(first) = extents.first() else {
                return Ok(());
            };
            // The target and its NUL fit a cluster, which has 4 KiB at least.
            let mut bytes = population.target(id, length);
            bytes.resize((bytes.len() + 1).next_multiple_of(empty.block_size()), 0);
            return empty.image.write(first.cluster * cluster, &bytes);
        }
        let Kind::File(FileKind::Regular(size)) = object.kind else {
            return Ok(());
        };
        if !population.profile().contents {
            return Ok(());
        }
        let mut bytes = Vec::new();
        for extent in extents.iter().filter(|extent| !extent.unwritten) {
            let from = extent.cpos * cluster;
            let end = (from + extent.clusters * cluster).min(size);
            let mut at = from;
            while at < end {
                let len = PIECE.min(end - at);
                bytes.clear();
                bytes.resize((len as usize).next_multiple_of(empty.block_size()), 0);
                population.fill(id, at, &mut bytes[..len as usize]);
                let to = extent.cluster * cluster + (at - from);
                empty.image.write(to, &bytes)?;
                at += len;
            }
        }
        Ok(())
    }
}

/// The head of inline contents with `room` bytes.
pub(super) fn inline_head(block: &mut [u8], room: usize) -> Result<(), Error> {
    let head = Dinode::read_mut(block)?;
    head.i_dyn_features = (head.i_dyn_features.get() | dynamic::INLINE_DATA).into();
    head.i_clusters = 0.into();
    *InlineHead::read_mut(&mut block[BODY..])? = InlineHead {
        id_count: (room as u16).into(),
        id_reserved0: 0.into(),
        id_reserved1: 0.into(),
    };
    Ok(())
}
