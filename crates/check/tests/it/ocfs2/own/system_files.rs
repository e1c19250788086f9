//! Faults of system files: the bitmap's groups, journals, the heartbeat file, quota files of slots, windows of local allocators.

use ondisk::ocfs2::ExtentList;
use ondisk::ocfs2::dinode::{self, BODY};
use ondisk::ocfs2::logs::LocalAlloc;
use ondisk::ocfs2::quota::{QuotaHeader, TRAILER};

use super::{Base, Fault, change_group, fault};
use crate::ocfs2::volume::Image;

/// `s_maxlen` and `s_feature_incompat` of a journal, big-endian.
const LENGTH: usize = 0x10;
const INCOMPAT: usize = 0x28;

pub(super) static FAULTS: &[Fault] = &[
    fault(
        "GROUP_CONTIG",
        "a group of clusters that claims a longer free run than it has",
        Base::Usual,
        |image| {
            let bitmap = image.files["global_bitmap"];
            change_group(image, bitmap, |head| {
                head.bg_contig_free_bits = u16::MAX.into();
            });
        },
    ),
    fault(
        "JOURNAL_SUPER",
        "a journal that is longer than its file",
        Base::Usual,
        |image| {
            let block = first_block(image, "journal:0001");
            image.block_mut(block)[LENGTH + 3] ^= 1;
        },
    ),
    fault(
        "JOURNAL_SUPER",
        "a journal without a superblock",
        Base::Usual,
        |image| {
            let block = first_block(image, "journal:0000");
            image.block_mut(block).fill(0);
        },
    ),
    fault(
        "JOURNAL_SUPER",
        "the second journal has block numbers of 64 bits, and the first has not",
        Base::Checksums,
        |image| {
            let block = first_block(image, "journal:0001");
            image.block_mut(block)[INCOMPAT + 3] ^= 2;
        },
    ),
    fault(
        "HEARTBEAT_FILE",
        "a hole at the start of the heartbeat file",
        Base::Usual,
        |image| {
            let inode = image.files["heartbeat"];
            image.put(inode, dinode::CHECK, BODY + 16, &1_u32.to_le_bytes());
            let cluster = image.layout.cluster_size();
            image.change(inode, |inode| {
                inode.i_size = (inode.i_size.get() + cluster).into();
            });
        },
    ),
    fault(
        "HEARTBEAT_FILE",
        "a heartbeat file that ends before its size",
        Base::Empty,
        |image| {
            let cluster = image.layout.cluster_size();
            image.change(image.files["heartbeat"], |inode| {
                inode.i_size = (inode.i_size.get() + cluster).into();
            });
        },
    ),
    fault(
        "QUOTA_LOCAL",
        "a slot's quota file with another magic number",
        Base::Quota,
        |image| change_quota(image, "aquota.user:0001", 0),
    ),
    fault(
        "QUOTA_LOCAL",
        "a slot's quota file that was not closed",
        Base::Quota,
        |image| change_quota(image, "aquota.group:0000", QuotaHeader::SIZE),
    ),
    fault(
        "QUOTA_LOCAL",
        "a slot's quota file of more blocks than it has",
        Base::Quota,
        |image| change_quota(image, "aquota.group:0000", QuotaHeader::SIZE + 8),
    ),
    fault(
        "LALLOC_GLOBAL",
        "a cluster of a window that is free in the global bitmap and of no use",
        Base::Usual,
        |image| {
            let first = image.clusters(7);
            let first = image.layout.cluster_of(first) as u32;
            window(image, first, 8, 0x80);
        },
    ),
];

/// A window of slot 0's local allocator; `used` has the bits in use among the first 8.
pub(super) fn window(image: &mut Image, first: u32, total: u32, used: u8) {
    let inode = image.files["local_alloc:0000"];
    image.put(inode, dinode::CHECK, BODY, &first.to_le_bytes());
    image.put(inode, dinode::CHECK, BODY + LocalAlloc::SIZE, &[used]);
    image.change(inode, |inode| inode.set_bitmap(used.count_ones(), total));
}

/// The first block of a system file.
fn first_block(image: &Image, name: &str) -> u64 {
    let list = ExtentList::read(&image.block(image.files[name])[BODY..]).unwrap();
    list.get(0).unwrap().e_blkno.get()
}

/// Changes the lowest bit of a byte of a quota file's head.
fn change_quota(image: &mut Image, name: &str, at: usize) {
    let block = first_block(image, name);
    let byte = image.block(block)[at] ^ 1;
    let check = image.layout.block_size() - TRAILER;
    image.put(block, check, at, &[byte]);
}
