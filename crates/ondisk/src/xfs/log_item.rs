//! Items of transactions in the log (fs/xfs/libxfs/xfs_log_format.h). Their numbers are in the byte order of the machine that wrote
//! them; those here are little-endian, as `h_fmt` says of Linux on most machines.

use crate::bytes::{be32, le16, le32, le64};

/// `XFS_TRANS_HEADER_MAGIC`, at the start of a transaction.
pub const TRANSACTION_MAGIC: u32 = 0x5452_414e;
/// Bytes of the head of a transaction.
pub const TRANSACTION_HEAD: usize = 16;
/// Regions of an item at most.
pub const MOST_REGIONS: u16 = 513;

/// Types of items (`XFS_LI_*`).
pub mod kind {
    /// Extents that are to be freed.
    pub const EFI: u16 = 0x1236;
    /// They are.
    pub const EFD: u16 = 0x1237;
    /// An inode.
    pub const INODE: u16 = 0x123b;
    /// A buffer: parts of metadata as bytes.
    pub const BUF: u16 = 0x123c;
    /// A quota record.
    pub const DQUOT: u16 = 0x123d;
    /// Quotas are turned off.
    pub const QUOTAOFF: u16 = 0x123e;
    /// New inodes.
    pub const ICREATE: u16 = 0x123f;
    /// Reverse mappings that are to be changed; even numbers from here on are intents, and the next odd number says that one is done.
    pub const RUI: u16 = 0x1240;
    /// The last that is known: an exchange of contents is done.
    pub const XMD: u16 = 0x1249;
}

/// The type of an item, at the start of its first region.
pub fn item_kind(region: &[u8]) -> u16 {
    le16(region, 0)
}

/// The regions of an item, the first one included.
pub fn regions(region: &[u8]) -> u16 {
    le16(region, 2)
}

/// The number of an intent, and of the one that a done item ends.
pub fn intent_id(region: &[u8]) -> u64 {
    le64(region, 8)
}

/// Extents of an [`kind::EFI`] (`struct xfs_efi_log_format`): first block and number of blocks. Machines of 32 bits pad less.
pub fn freed_extents(region: &[u8]) -> Vec<(u64, u32)> {
    const HEAD: usize = 16;
    let count = le32(region, 4) as usize;
    let room = region.len().saturating_sub(HEAD);
    let size = if count > 0 && room / count >= 16 {
        16
    } else {
        12
    };
    region
        .get(HEAD..)
        .unwrap_or_default()
        .chunks_exact(size)
        .take(count)
        .map(|extent| (le64(extent, 0), le32(extent, 8)))
        .collect()
}

/// Bits of a buffer's flags (`XFS_BLF_*`).
pub mod buffer_flag {
    /// Inodes: only their places in lists of unlinked ones are replayed.
    pub const INODES: u16 = 1 << 0;
    /// The buffer was freed: what was logged of it before is not replayed.
    pub const CANCEL: u16 = 1 << 1;
    /// Quota records of users, projects and groups.
    pub const QUOTAS: [u16; 3] = [1 << 2, 1 << 3, 1 << 4];
}

/// Bytes for which a buffer's map has a bit.
pub const CHUNK: usize = 128;

/// The first region of a [`kind::BUF`] (`struct xfs_buf_log_format`).
#[derive(Debug, Clone, Copy)]
pub struct Buffer<'a>(&'a [u8]);

impl<'a> Buffer<'a> {
    /// The region.
    pub fn new(region: &'a [u8]) -> Buffer<'a> {
        Buffer(region)
    }

    /// Flags, see [`buffer_flag`].
    pub fn flags(&self) -> u16 {
        le16(self.0, 4)
    }

    /// Length in units of 512 bytes.
    pub fn length(&self) -> u16 {
        le16(self.0, 6)
    }

    /// Place on the device in units of 512 bytes.
    pub fn place(&self) -> u64 {
        le64(self.0, 8)
    }

    /// Runs of chunks that were logged: first byte and number of bytes.
    pub fn runs(&self) -> Vec<(usize, usize)> {
        let words = le32(self.0, 16) as usize;
        let map = self.0.get(20..).unwrap_or_default();
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for nth in 0..words.min(map.len() / 4) * 32 {
            if le32(map, nth / 32 * 4) >> (nth % 32) & 1 == 0 {
                continue;
            }
            match runs.last_mut() {
                Some((start, length)) if *start + *length == nth * CHUNK => *length += CHUNK,
                _ => runs.push((nth * CHUNK, CHUNK)),
            }
        }
        runs
    }
}

/// Bits of the fields that an inode's item has (`XFS_ILOG_*`).
pub mod inode_field {
    /// The data fork's contents.
    pub const DATA: u32 = 0x002;
    /// The data fork's extents.
    pub const DATA_EXTENTS: u32 = 0x004;
    /// The root of the data fork's btree.
    pub const DATA_ROOT: u32 = 0x008;
    /// A device number.
    pub const DEVICE: u32 = 0x010;
    /// The attribute fork's contents.
    pub const ATTR: u32 = 0x040;
    /// The attribute fork's extents.
    pub const ATTR_EXTENTS: u32 = 0x080;
    /// The root of the attribute fork's btree.
    pub const ATTR_ROOT: u32 = 0x100;
    /// The blocks of the btrees change their owner.
    pub const OWNERS: u32 = 0x600;
}

/// The first region of a [`kind::INODE`] (`struct xfs_inode_log_format`, and the one of 32-bit machines).
#[derive(Debug, Clone, Copy)]
pub struct InodeItem {
    /// See [`inode_field`].
    pub fields: u32,
    /// The inode.
    pub ino: u64,
    /// A device number.
    pub device: u32,
    /// Place of the inode's buffer in units of 512 bytes.
    pub place: u64,
    /// Length of it in these units.
    pub length: u32,
    /// Byte of the inode in the buffer.
    pub offset: u32,
}

impl InodeItem {
    /// Reads the region.
    pub fn read(region: &[u8]) -> InodeItem {
        // 32-bit machines have no padding before the number.
        let at = if region.len() < 56 { 12 } else { 16 };
        InodeItem {
            fields: le32(region, 4),
            ino: le64(region, at),
            device: le32(region, at + 8),
            place: le64(region, at + 24),
            length: le32(region, at + 32),
            offset: le32(region, at + 36),
        }
    }
}

/// Numbers of a logged core that are turned around as they are: first byte and width. Timestamps, extent counters and what is not copied
/// are left out.
const CORE: [(usize, usize); 21] = [
    (0, 2),
    (2, 2),
    (4, 1),
    (5, 1),
    (8, 4),
    (12, 4),
    (16, 4),
    (20, 2),
    (22, 2),
    (24, 8),
    (56, 8),
    (64, 8),
    (72, 4),
    (76, 4),
    (80, 2),
    (82, 1),
    (83, 1),
    (84, 4),
    (88, 2),
    (90, 2),
    (92, 4),
];
/// The same of version 3 alone: changes, flags, hint, number.
const CORE_V3: [(usize, usize); 4] = [(104, 8), (120, 8), (128, 4), (152, 8)];

/// Writes a logged core over the core of an inode. What the log does not have stays: the list of unlinked inodes and the checksum.
/// `lsn` becomes the inode's.
pub fn put_core(logged: &[u8], lsn: u64, inode: &mut [u8]) {
    const VERSION: usize = 4;
    const NREXT64: u64 = 1 << 4;
    let wide = logged.get(VERSION).is_some_and(|version| *version >= 3);
    let end = if wide { 176 } else { 96 };
    if logged.len() < end || inode.len() < end {
        return;
    }
    for (at, width) in CORE {
        reverse(logged, inode, at, width);
    }
    times(logged, inode, wide);
    inode[6..8].fill(0);
    if !wide || le64(logged, 120) & NREXT64 == 0 {
        // Padding, or a count of flushes that starts again.
        inode[24..32].fill(0);
    }
    if wide {
        for (at, width) in CORE_V3 {
            reverse(logged, inode, at, width);
        }
        inode[112..120].copy_from_slice(&lsn.to_be_bytes());
        inode[132..144].fill(0);
        inode[160..176].copy_from_slice(&logged[160..176]);
    }
}

fn reverse(from: &[u8], to: &mut [u8], at: usize, width: usize) {
    for nth in 0..width {
        to[at + nth] = from[at + width - 1 - nth];
    }
}

/// Timestamps: one number with wide times, else seconds and nanoseconds.
fn times(logged: &[u8], inode: &mut [u8], wide: bool) {
    const BIGTIME: u64 = 1 << 3;
    let bigtime = wide && le64(logged, 120) & BIGTIME != 0;
    let places: &[usize] = if wide {
        &[32, 40, 48, 144]
    } else {
        &[32, 40, 48]
    };
    for at in places {
        if bigtime {
            reverse(logged, inode, *at, 8);
        } else {
            reverse(logged, inode, *at, 4);
            reverse(logged, inode, *at + 4, 4);
        }
    }
}

/// An [`kind::ICREATE`] (`struct xfs_icreate_log`), whose numbers are big-endian.
#[derive(Debug, Clone, Copy)]
pub struct NewInodes {
    /// Allocation group.
    pub ag: u32,
    /// First block.
    pub agbno: u32,
    /// Inodes.
    pub count: u32,
    /// Bytes of an inode.
    pub inode_size: u32,
    /// Blocks.
    pub blocks: u32,
    /// Generation of the inodes.
    pub generation: u32,
}

impl NewInodes {
    /// Reads the region.
    pub fn read(region: &[u8]) -> NewInodes {
        NewInodes {
            ag: be32(region, 4),
            agbno: be32(region, 8),
            count: be32(region, 12),
            inode_size: be32(region, 16),
            blocks: be32(region, 20),
            generation: be32(region, 24),
        }
    }
}

/// The first region of a [`kind::DQUOT`] (`struct xfs_dq_logformat`).
#[derive(Debug, Clone, Copy)]
pub struct QuotaItem {
    /// Place of the block in units of 512 bytes.
    pub place: u64,
    /// Byte of the record in the block.
    pub offset: u32,
}

impl QuotaItem {
    /// Reads the region.
    pub fn read(region: &[u8]) -> QuotaItem {
        QuotaItem {
            place: le64(region, 8),
            offset: le32(region, 20),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_those_of_the_map() {
        let mut region = vec![0; 28];
        region[16] = 2;
        region[20] = 0b1000_0110;
        region[23] = 0x80;
        region[24] = 1;
        let runs = Buffer::new(&region).runs();
        assert_eq!(runs, [(128, 256), (7 * 128, 128), (31 * 128, 256)]);
        region[16] = 200;
        assert_eq!(Buffer::new(&region).runs(), runs);
        assert!(Buffer::new(&[]).runs().is_empty());
    }

    #[test]
    fn extents_of_both_paddings_are_read() {
        let mut region = vec![0; 16];
        region[4] = 1;
        region.extend(77_u64.to_le_bytes());
        region.extend(5_u32.to_le_bytes());
        assert_eq!(freed_extents(&region), [(77, 5)]);
        region.extend([0; 4]);
        assert_eq!(freed_extents(&region), [(77, 5)]);
    }

    #[test]
    fn a_core_is_turned_around() {
        let mut logged: Vec<u8> = (0..176).collect();
        logged[4] = 3;
        logged[120..128].fill(0);
        let mut inode = vec![0xee; 512];
        put_core(&logged, 0x0102, &mut inode);
        assert_eq!(inode[..6], [1, 0, 3, 2, 3, 5]);
        assert_eq!(inode[6..8], [0, 0]);
        assert_eq!(inode[8..12], [11, 10, 9, 8]);
        assert_eq!(inode[24..32], [0; 8]);
        assert_eq!(inode[32..40], [35, 34, 33, 32, 39, 38, 37, 36]);
        assert_eq!(inode[56..64], [63, 62, 61, 60, 59, 58, 57, 56]);
        assert_eq!(inode[96..104], [0xee; 8]);
        assert_eq!(inode[112..120], [0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(inode[132..144], [0; 12]);
        assert_eq!(inode[160..176], logged[160..176]);
        assert_eq!(inode[176], 0xee);
        put_core(&logged[..50], 0, &mut inode);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = (Buffer::new(&bytes).runs(), freed_extents(&bytes), InodeItem::read(&bytes));
            let _ = (NewInodes::read(&bytes), QuotaItem::read(&bytes), regions(&bytes));
            put_core(&bytes, 1, &mut [0; 256]);
        }
    }
}
