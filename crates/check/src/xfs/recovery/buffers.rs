//! Buffers: parts of metadata as bytes.

use ondisk::bytes::{be16, be32, be64};
use ondisk::xfs::ag::{AGF_MAGIC, AGFL_MAGIC, AGI_MAGIC};
use ondisk::xfs::btree::{self, Tree};
use ondisk::xfs::geometry::CHUNK;
use ondisk::xfs::log_item::{Buffer, NewInodes, buffer_flag};
use ondisk::xfs::{Geometry, checksum, da, dinode, directory};

use super::records::Item;
use super::{Replay, is_newer};

/// Units of 512 bytes that a buffer has at most: the largest block.
const MOST: u16 = 128;
/// Superblock.
const SB: u32 = 0x5846_5342;
/// Block of a symbolic link's target.
const SYMLINK: u32 = 0x5853_4c4d;

/// Where an object has its number, its UUID and its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    lsn: usize,
    uuid: usize,
    sum: usize,
}

/// The stamp of a block by its magic number; none where it has none.
fn stamp(geo: &Geometry, bytes: &[u8]) -> Option<Stamp> {
    let of = |lsn, uuid, sum| Some(Stamp { lsn, uuid, sum });
    let magic = be32(bytes, 0);
    let short = [
        Tree::Bno,
        Tree::Cnt,
        Tree::Ino,
        Tree::Fino,
        Tree::Rmap,
        Tree::Refcount,
    ];
    if short.iter().any(|tree| tree.magic(true) == magic) {
        return of(24, 32, checksum::SHORT_BTREE);
    }
    match magic {
        AGF_MAGIC => return of(208, 64, checksum::AGF),
        AGI_MAGIC => return of(320, 296, checksum::AGI),
        AGFL_MAGIC => return of(24, 8, checksum::AGFL),
        SYMLINK => return of(48, 16, checksum::REMOTE),
        SB => {
            // With the meta_uuid feature metadata carries another one than users see.
            let uuid = if geo.uuid == bytes[32..48] { 32 } else { 248 };
            return of(240, uuid, checksum::SUPERBLOCK);
        }
        _ => {}
    }
    if magic == btree::fork_magic(true) {
        return of(32, 40, checksum::LONG_BTREE);
    }
    if [directory::BLOCK3, directory::DATA3, directory::FREE3].contains(&magic) {
        return of(16, 24, checksum::DIRECTORY);
    }
    if [da::NODE3, da::LEAF1_3, da::LEAFN_3, da::ATTR_LEAF_3].contains(&be16(bytes, 8)) {
        return of(24, 32, checksum::DA);
    }
    None
}

impl Replay<'_, '_> {
    /// Lays a buffer over the source, unless it is freed later or newer on disk.
    pub(super) fn buffer(&mut self, item: &Item, lsn: u64) -> Result<(), String> {
        let buffer = Buffer::new(item.head()?);
        let key = (buffer.place(), u32::from(buffer.length()));
        if buffer.flags() & buffer_flag::CANCEL != 0 {
            if let Some(ahead) = self.cancelled.get_mut(&key) {
                *ahead -= 1;
                if *ahead == 0 {
                    self.cancelled.remove(&key);
                }
            }
            return Ok(());
        }
        if self.is_cancelled(key.0, key.1) {
            return Ok(());
        }
        if buffer.length() == 0 || buffer.length() > MOST {
            return Err(format!("a buffer has {} blocks", buffer.length()));
        }
        let at = buffer.place().saturating_mul(512);
        let mut bytes = vec![0; usize::from(buffer.length()) * 512];
        self.read(&mut bytes, at)?;
        if self.geo.v5
            && let Some(stamp) = stamp(&self.geo, &bytes)
            && bytes[stamp.uuid..stamp.uuid + 16] == self.geo.uuid
            && is_newer(be64(&bytes, stamp.lsn), lsn, true)
        {
            return Ok(());
        }
        let quotas = buffer_flag::QUOTAS.iter().fold(0, |all, flag| all | flag);
        if buffer.flags() & buffer_flag::INODES != 0 {
            self.unlinked_fields(item, &buffer, &mut bytes)?;
        } else if buffer.flags() & quotas != 0 {
            if !self.quotas {
                return Ok(());
            }
            regions(item, &buffer, &mut bytes)?;
        } else {
            regions(item, &buffer, &mut bytes)?;
            if self.geo.v5 {
                seal(&self.geo, &mut bytes, lsn);
            }
        }
        self.write(at, &bytes)
    }

    /// The places of inodes in lists of unlinked ones.
    fn unlinked_fields(
        &self,
        item: &Item,
        buffer: &Buffer<'_>,
        bytes: &mut [u8],
    ) -> Result<(), String> {
        const NEXT_UNLINKED: usize = 96;
        let mut logged = vec![None; bytes.len()];
        for (start, region) in placed(item, buffer)? {
            for (nth, byte) in region.iter().enumerate() {
                if let Some(place) = logged.get_mut(start + nth) {
                    *place = Some(*byte);
                }
            }
        }
        for inode in (0..bytes.len()).step_by(self.geo.inode_size as usize) {
            let end = inode + self.geo.inode_size as usize;
            let field = inode + NEXT_UNLINKED..inode + NEXT_UNLINKED + 4;
            let Some(new) = logged.get(field.clone()) else {
                break;
            };
            let new: Option<Vec<u8>> = new.iter().copied().collect();
            let (Some(new), Some(inode)) = (new, bytes.get_mut(inode..end)) else {
                continue;
            };
            if new == [0; 4] {
                return Err("a list of unlinked inodes leads to inode 0".into());
            }
            inode[NEXT_UNLINKED..NEXT_UNLINKED + 4].copy_from_slice(&new);
            if self.geo.v5 {
                checksum::seal(inode, checksum::INODE);
            }
        }
        Ok(())
    }

    /// New inodes, all free.
    pub(super) fn new_inodes(&mut self, head: &[u8]) -> Result<(), String> {
        let new = NewInodes::read(head);
        let geo = self.geo;
        // Large blocks have several chunks each, and are made whole.
        let most = CHUNK.max(1 << geo.inopb_log);
        let last = new.agbno.checked_add(new.blocks.saturating_sub(1));
        let sound = new.ag < geo.ag_count
            && new.inode_size == geo.inode_size
            && (1..=most).contains(&new.count)
            && new.blocks > 0
            && u64::from(new.count) << geo.inode_log == u64::from(new.blocks) << geo.block_log
            && geo.is_agblock(new.ag, new.agbno)
            && last.is_some_and(|last| geo.is_agblock(new.ag, last));
        if !sound {
            return Err(format!("it has impossible new inodes: {new:?}"));
        }
        let place = geo.offset(new.ag, new.agbno) / 512;
        let length = (u64::from(new.blocks) << geo.block_log) / 512;
        // The inodes are buffers of a cluster each; they are freed together.
        let end = place + length;
        if self.cancelled.range((place, 0)..(end, 0)).next().is_some() {
            return Ok(());
        }
        let first = geo.ino(new.ag, new.agbno << geo.inopb_log);
        let size = geo.inode_size as usize;
        let mut bytes = vec![0; size * new.count as usize];
        for (nth, inode) in bytes.chunks_exact_mut(size).enumerate() {
            inode[..2].copy_from_slice(&dinode::MAGIC.to_be_bytes());
            inode[4] = if geo.v5 { 3 } else { 2 };
            inode[92..96].copy_from_slice(&new.generation.to_be_bytes());
            inode[96..100].fill(0xff);
            if geo.v5 {
                inode[152..160].copy_from_slice(&(first + nth as u64).to_be_bytes());
                inode[160..176].copy_from_slice(&geo.uuid);
                checksum::seal(inode, checksum::INODE);
            }
        }
        self.write(place * 512, &bytes)
    }
}

/// The logged regions of a buffer and where they are in it. A run of chunks may be logged as several regions.
fn placed<'a>(item: &'a Item, buffer: &Buffer<'_>) -> Result<Vec<(usize, &'a [u8])>, String> {
    let mut placed = Vec::new();
    let mut nth = 1;
    for (mut start, length) in buffer.runs() {
        let end = start + length;
        while start < end {
            let region = item.region(nth)?;
            let used = region.len().min(end - start);
            if used == 0 {
                return Err("a region of a buffer is empty".into());
            }
            placed.push((start, &region[..used]));
            start += used;
            nth += 1;
        }
    }
    Ok(placed)
}

fn regions(item: &Item, buffer: &Buffer<'_>, bytes: &mut [u8]) -> Result<(), String> {
    for (start, region) in placed(item, buffer)? {
        let Some(room) = bytes.get_mut(start..start + region.len()) else {
            return Err("a region reaches past its buffer".into());
        };
        room.copy_from_slice(region);
    }
    Ok(())
}

/// Number of the transaction and checksum, as the block would be written.
fn seal(geo: &Geometry, bytes: &mut [u8], lsn: u64) {
    let Some(stamp) = stamp(geo, bytes) else {
        return;
    };
    bytes[stamp.lsn..stamp.lsn + 8].copy_from_slice(&lsn.to_be_bytes());
    checksum::seal(bytes, stamp.sum);
}
