//! Inodes: their core in the machine's byte order, and their forks.

use ondisk::bytes::{be16, be64, le16};
use ondisk::xfs::dinode::{self, Inode};
use ondisk::xfs::log_item::{InodeItem, inode_field, put_core};
use ondisk::xfs::{btree, checksum};

use super::records::Item;
use super::{Replay, is_newer};

/// Flushes of a version 2 inode: after the largest number comes 0.
const MOST_FLUSHES: u16 = 0xffff;

impl Replay<'_, '_> {
    /// Lays an inode over the source, unless its buffer is freed later or it is newer on disk.
    pub(super) fn inode(&mut self, item: &Item, lsn: u64) -> Result<(), String> {
        let place = InodeItem::read(item.head()?);
        if self.is_cancelled(place.place, place.length) {
            return Ok(());
        }
        let about = |what: &str| format!("inode {}: {what}", place.ino);
        let logged = item.region(1)?;
        let at = place
            .place
            .saturating_mul(512)
            .saturating_add(place.offset.into());
        let mut bytes = vec![0; self.geo.inode_size as usize];
        self.read(&mut bytes, at)?;
        if be16(&bytes, 0) != dinode::MAGIC {
            return Err(about("there is no inode where the log has one"));
        }
        if le16(logged, 0) != dinode::MAGIC || logged.len() < 96 {
            return Err(about("the log has no inode"));
        }
        if place.fields & inode_field::OWNERS != 0 {
            return Err(about(
                "its extents were exchanged with those of another, which is not replayed here",
            ));
        }
        if self.geo.v5 {
            if is_newer(be64(&bytes, 112), lsn, false) {
                return Ok(());
            }
        } else if is_flushed(le16(logged, 30), be16(&bytes, 30)) {
            return Ok(());
        }
        put_core(logged, lsn, &mut bytes);
        if place.fields & inode_field::DEVICE != 0 {
            let start = dinode::core_size(self.geo.v5);
            bytes[start..start + 4].copy_from_slice(&place.device.to_be_bytes());
        }
        self.forks(item, place.fields, &mut bytes)
            .map_err(|why| about(&why))?;
        if self.geo.v5 {
            checksum::seal(&mut bytes, checksum::INODE);
        }
        self.write(at, &bytes)
    }

    fn forks(&self, item: &Item, fields: u32, bytes: &mut [u8]) -> Result<(), String> {
        use inode_field::{ATTR, ATTR_EXTENTS, ATTR_ROOT, DATA, DATA_EXTENTS, DATA_ROOT};
        let inode = Inode::new(&self.geo, bytes);
        let (core, area) = (dinode::core_size(self.geo.v5), inode.literal().len());
        let forks = [
            (0, inode.data_fork().len(), DATA | DATA_EXTENTS, DATA_ROOT),
            (
                area - inode.attr_fork().len(),
                inode.attr_fork().len(),
                ATTR | ATTR_EXTENTS,
                ATTR_ROOT,
            ),
        ];
        let mut nth = 2;
        for (start, length, whole, root) in forks {
            if fields & (whole | root) == 0 {
                continue;
            }
            if nth >= item.count() {
                break;
            }
            let logged = item.region(nth)?;
            nth += 1;
            let fork = &mut bytes[core + start..core + start + length];
            if fields & root != 0 {
                self.root(logged, fork)?;
            } else {
                // Regions are padded to words.
                let used = logged.len().min(fork.len());
                fork[..used].copy_from_slice(&logged[..used]);
            }
        }
        Ok(())
    }

    /// The root of a fork's btree: a block in memory, and without most of its header in the inode.
    fn root(&self, block: &[u8], fork: &mut [u8]) -> Result<(), String> {
        const HEAD: usize = 4;
        const WIDTH: usize = 8;
        let header = btree::long_header(self.geo.v5);
        let room = |bytes: usize, head: usize| bytes.saturating_sub(head) / (2 * WIDTH);
        let (from, to) = (room(block.len(), header), room(fork.len(), HEAD));
        let count = usize::from(be16(block, 6));
        if block.len() < header || fork.len() < HEAD || count > from || count > to {
            return Err(format!("the root of its btree has {count} entries"));
        }
        fork[..HEAD].copy_from_slice(&block[4..8]);
        let used = count * WIDTH;
        fork[HEAD..HEAD + used].copy_from_slice(&block[header..header + used]);
        let (pointers, logged) = (HEAD + to * WIDTH, header + from * WIDTH);
        fork[pointers..pointers + used].copy_from_slice(&block[logged..logged + used]);
        Ok(())
    }
}

/// Whether the inode was flushed after it was logged.
fn is_flushed(logged: u16, stored: u16) -> bool {
    logged < stored && !(stored == MOST_FLUSHES && logged < MOST_FLUSHES >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushes_are_counted_around() {
        assert!(is_flushed(3, 4));
        assert!(!is_flushed(4, 4) && !is_flushed(5, 4));
        assert!(!is_flushed(3, MOST_FLUSHES));
        assert!(is_flushed(MOST_FLUSHES - 1, MOST_FLUSHES));
    }
}
