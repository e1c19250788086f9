//! One group of inodes.

use ondisk::ocfs2::chain::{self, BITMAP, SIGNATURE};
use ondisk::ocfs2::dinode::{self, Dinode};
use ondisk::ocfs2::{BlockCheck, GroupDescriptor};
use progress::Progress;

use super::Shared;
use super::writer::{Cursor, Writer};
use crate::Error;
use crate::ocfs2::blocks::Place;
use crate::ocfs2::contents::Kind;
use crate::ocfs2::plan::Suballocator;
use crate::ocfs2::volume::{Empty, GROUP_CHECK};
use crate::population::ObjectId;

impl Writer<'_> {
    /// The root, whose inode mkfs.ocfs2 made.
    pub(in crate::ocfs2) fn root(&mut self) -> Result<(), Error> {
        let Shared {
            empty, contents, ..
        } = self.shared;
        let object = contents.directory(0);
        let mut block = empty.block(empty.root)?;
        let place = Place {
            block: empty.root,
            bit: 0,
        };
        let mut cursor = Cursor::default();
        self.body(
            &mut block,
            ObjectId::directory(0),
            &object,
            place,
            &mut cursor,
        )?;
        let head = Dinode::read_mut(&mut block)?;
        head.set_links(object.links);
        empty.seal().store(&mut block, dinode::CHECK)?;
        empty.put(empty.root, &block)
    }

    /// Puts a group together and writes it.
    pub(super) fn group(
        &mut self,
        slot: usize,
        group: usize,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let Shared {
            empty,
            contents,
            plan,
        } = self.shared;
        let allocator = &plan.inodes[slot];
        let size = empty.block_size();
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let mut bitmap = vec![0; bitmap_size(empty)];
        chain::set_bit(&mut bitmap, 0, true);
        let mut number = group as u32 * allocator.per_group();
        let mut first_bit = 1;
        if number == 0 && slot == 0 {
            // `lost+found` stays as mkfs.ocfs2 made it.
            chain::set_bit(&mut bitmap, 1, true);
            (number, first_bit) = (1, 2);
        }
        let end = (group as u32 + 1) * allocator.per_group();
        let start = plan.starts[slot].get(group).copied().unwrap_or_default();
        let mut cursor = Cursor {
            data: start.data,
            extent: start.extent,
        };
        let mut inodes = 0;
        let (mut directory, mut at) = (start.directory, start.slot);
        while number < end.min(allocator.given) {
            let slots = contents.population.slots(directory);
            while number < end && at < slots.total() {
                let id = ObjectId {
                    directory,
                    slot: at,
                };
                let object = contents.object(&slots, id).ok_or_else(|| {
                    Error::Population(format!("directory {directory} has no slot {at}"))
                })?;
                let place = allocator.place(number);
                let from = buffer.len();
                buffer.resize(from + size, 0);
                // The buffer grows by nothing else meanwhile.
                let mut block = std::mem::take(&mut buffer);
                let result = self.inode(
                    &mut block[from..],
                    id,
                    &object,
                    place,
                    allocator.slot,
                    &mut cursor,
                );
                buffer = block;
                result?;
                if object.kind != Kind::Freed {
                    chain::set_bit(&mut bitmap, place.bit.into(), true);
                    inodes += 1;
                }
                number += 1;
                at += 1;
            }
            directory += u32::from(empty.options.used_slots);
            at = 0;
        }
        let block = allocator.groups[group];
        empty
            .image
            .write((block + first_bit) * size as u64, &buffer)?;
        self.buffer = buffer;
        empty.put(block, &descriptor(empty, allocator, group, &bitmap)?)?;
        progress.advance(inodes);
        Ok(())
    }
}

/// Bytes of the bitmap of a suballocator's group.
pub(super) fn bitmap_size(empty: &Empty) -> usize {
    if empty.features.discontig {
        chain::DISCONTIG_BITMAP
    } else {
        chain::bitmap_size(empty.block_size())
    }
}

/// The descriptor of a suballocator's group.
pub(super) fn descriptor(
    empty: &Empty,
    allocator: &Suballocator,
    group: usize,
    bitmap: &[u8],
) -> Result<Vec<u8>, Error> {
    let mut block = vec![0; empty.block_size()];
    let (chain, next) = allocator.link(group);
    let used = allocator.used(group);
    let bits = allocator.bits as usize;
    if chain::zeros(bitmap, bits) != bits - used as usize {
        return Err(Error::Population(format!(
            "group {group} of slot {} was planned with {used} blocks in use and has {}",
            allocator.slot,
            bits - chain::zeros(bitmap, bits)
        )));
    }
    *GroupDescriptor::read_mut(&mut block)? = GroupDescriptor {
        bg_signature: SIGNATURE,
        bg_size: (bitmap.len() as u16).into(),
        bg_bits: (allocator.bits as u16).into(),
        bg_free_bits_count: ((allocator.bits - used) as u16).into(),
        bg_chain: chain.into(),
        bg_generation: empty.generation.into(),
        bg_contig_free_bits: 0.into(),
        bg_reserved1: 0.into(),
        bg_next_group: next.into(),
        bg_parent_dinode: allocator.inode.into(),
        bg_blkno: allocator.groups[group].into(),
        bg_check: BlockCheck::default(),
        bg_reserved2: 0.into(),
    };
    block[BITMAP..BITMAP + bitmap.len()].copy_from_slice(bitmap);
    empty.seal().store(&mut block, GROUP_CHECK)?;
    Ok(block)
}
