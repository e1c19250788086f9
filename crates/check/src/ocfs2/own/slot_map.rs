//! The slot map: which node uses which slot.

use ondisk::bytes::le16;
use ondisk::ocfs2::feature;
use ondisk::ocfs2::slot_map::{ExtendedSlot, FREE};

use crate::frame::finding::Finding;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{SLOT_MAP, SLOT_MAP_NODE};
use crate::ocfs2::lookup;
use crate::ocfs2::open;
use crate::ocfs2::refused::Refused;
use crate::ocfs2::tree::{self, Next};
use crate::ocfs2::volume::{Volume, head};

/// Judges the map. A node in it is no fault: the volume may be a copy of one in use.
pub(super) fn check(volume: &Volume<'_>, log: &mut Log) {
    let extended = volume.sb.has_incompat(feature::EXTENDED_SLOT_MAP);
    let size = if extended { ExtendedSlot::SIZE } else { 2 };
    let bytes = match map(volume, usize::from(volume.slots()) * size) {
        Ok(bytes) => bytes,
        Err(Refused::Absent) => return,
        Err(refused) => {
            log.own(Finding::new(&SLOT_MAP).note(refused.words()));
            return;
        }
    };
    if open::is_dirty(volume) {
        return;
    }
    for (slot, entry) in bytes.chunks_exact(size).enumerate() {
        let in_use = if extended {
            entry[0] != 0
        } else {
            le16(entry, 0) != FREE
        };
        if in_use {
            log.own(Finding::new(&SLOT_MAP_NODE).note(format!("slot {slot}")));
        }
    }
}

/// The entries of all slots, `size` bytes.
fn map(volume: &Volume<'_>, size: usize) -> Result<Vec<u8>, Refused> {
    let inode = volume.inode(lookup::system(volume, "slot_map")?)?;
    let wanted = size.div_ceil(volume.block_size());
    let mut blocks = Vec::with_capacity(wanted);
    tree::extents(volume, &inode, &mut |record| {
        let count = volume
            .layout
            .block_of(u64::from(record.leaf_clusters()))
            .min((wanted - blocks.len()) as u64);
        blocks.extend((0..count).map(|at| record.e_blkno.get().wrapping_add(at)));
        if blocks.len() < wanted {
            Next::Continue
        } else {
            Next::Stop
        }
    })?;
    let mut bytes = Vec::with_capacity(wanted * volume.block_size());
    for block in blocks {
        bytes.extend_from_slice(&volume.read(block)?);
    }
    if bytes.len() < size || head(&inode).i_size.get() < size as u64 {
        return Err(Refused::Corrupt);
    }
    bytes.truncate(size);
    Ok(bytes)
}
