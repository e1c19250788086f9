//! The global quota files.

use ondisk::bytes::le32;
use ondisk::ocfs2::dinode::{self, BODY, Dinode};
use ondisk::ocfs2::quota::{QuotaEntry, QuotaLeaf, TRAILER};
use ondisk::ocfs2::{ExtentList, ExtentRecord};

use super::super::case::{Base, Case, End, with};
use super::super::volume::Volume;
use crate::damage::Error;

const FILE: &str = "aquota.user";
/// `dqdh_entries`.
const ENTRIES: usize = 8;

pub(super) static CASES: &[Case] = &[
    with(
        "qmagic-invalid",
        "QMAGIC_INVALID",
        "the head of a quota file has another magic number",
        |volume| {
            let file = File::of(volume, FILE)?;
            file.change(volume, 0, |bytes| bytes[0] ^= 1)
        },
    )
    .on(Base::Quota),
    with(
        "qtree-blk-invalid",
        "QTREE_BLK_INVALID",
        "the checksum of the root of a quota file's tree is wrong",
        |volume| {
            let file = File::of(volume, FILE)?;
            let at = file.place(1)?;
            let mut block = volume.block(at)?;
            block[100..108].fill(0x5a);
            volume.put(at, &mut block, None)
        },
    )
    .on(Base::Quota)
    .ends(End::Exit(8)),
    with(
        "dqblk-invalid",
        "DQBLK_INVALID",
        "a block of quota entries has more entries than it has room for",
        |volume| {
            let file = File::of(volume, FILE)?;
            let (_, leaf) = file.leaf(volume)?;
            file.change(volume, leaf, too_many)
        },
    )
    .on(Base::Quota),
    with(
        "dup-dqblk-valid",
        "DUP_DQBLK_VALID",
        "a quota file has two entries for a user",
        |volume| {
            let file = File::of(volume, FILE)?;
            let (_, leaf) = file.leaf(volume)?;
            file.change(volume, leaf, |bytes| {
                let first = QuotaLeaf::SIZE..QuotaLeaf::SIZE + QuotaEntry::SIZE;
                bytes.copy_within(first.clone(), first.end);
                bytes[ENTRIES] += 1;
            })
        },
    )
    .on(Base::Quota),
    with(
        "dup-dqblk-invalid",
        "DUP_DQBLK_INVALID",
        "a quota file has an entry for a user once more, in a damaged block",
        |volume| {
            let file = File::of(volume, FILE)?;
            let (above, leaf) = file.leaf(volume)?;
            let copy = volume.block(file.place(leaf)?)?;
            let file = file.longer(volume)?;
            let last = file.blocks.len() as u32 - 1;
            let mut block = copy;
            too_many(&mut block);
            let place = file.place(last)?;
            let tail = block.len() - TRAILER;
            volume.put(place, &mut block, Some(tail))?;
            file.change(volume, above, |bytes| {
                bytes[4..8].copy_from_slice(&last.to_le_bytes());
            })
        },
    )
    .also(&["QMAGIC_INVALID"])
    .on(Base::Quota),
    with(
        "quota-local",
        "",
        "the quota file of a slot has another magic number",
        |volume| File::of(volume, "aquota.user:0000")?.change(volume, 0, |bytes| bytes[0] ^= 1),
    )
    .strict("QUOTA_LOCAL")
    .on(Base::Quota),
];

/// More entries than a block holds.
fn too_many(bytes: &mut [u8]) {
    bytes[ENTRIES..ENTRIES + 2].copy_from_slice(&60_000_u16.to_le_bytes());
}

/// A quota file's blocks in order.
struct File {
    inode: u64,
    blocks: Vec<u64>,
}

impl File {
    fn of(volume: &Volume<'_>, name: &str) -> Result<File, Error> {
        let inode = volume.file(name)?;
        let bytes = volume.block(inode)?;
        let used = Dinode::read(&bytes)?.i_size.get() as usize / volume.block_size;
        let mut blocks = volume.blocks(&bytes)?;
        blocks.truncate(used);
        Ok(File { inode, blocks })
    }

    /// The block of the volume.
    fn place(&self, block: u32) -> Result<u64, Error> {
        let place = self.blocks.get(block as usize).copied();
        place.ok_or(Error::Missing {
            what: "block of a quota file",
        })
    }

    /// Changes a block of the file and seals it.
    fn change(
        &self,
        volume: &mut Volume<'_>,
        block: u32,
        change: impl FnOnce(&mut [u8]),
    ) -> Result<(), Error> {
        let at = self.place(block)?;
        let mut bytes = volume.block(at)?;
        change(&mut bytes);
        let tail = bytes.len() - TRAILER;
        volume.put(at, &mut bytes, Some(tail))
    }

    /// The block with the entry of the first user, and the block above it.
    fn leaf(&self, volume: &Volume<'_>) -> Result<(u32, u32), Error> {
        let references = (volume.block_size - TRAILER) as u64 / 4;
        let (mut above, mut at) = (0, 1);
        let mut reach = 1;
        while reach < 1 << 32 {
            reach *= references;
            above = at;
            at = le32(&volume.block(self.place(at)?)?, 0);
        }
        Ok((above, at))
    }

    /// The file with one more cluster.
    fn longer(&self, volume: &mut Volume<'_>) -> Result<File, Error> {
        let first = volume.take_cluster()?;
        let mut bytes = volume.block(self.inode)?;
        let list = ExtentList::read(&bytes[BODY..])?;
        let used = list.head().l_next_free_rec.get();
        let clusters = Dinode::read(&bytes)?.i_clusters.get();
        let record = ExtentRecord::leaf(clusters, 1, 0, first);
        ExtentList::put(&mut bytes[BODY..], used.into(), record)?;
        ondisk::ocfs2::extent::ExtentHead::read_mut(&mut bytes[BODY..])?.l_next_free_rec =
            (used + 1).into();
        let head = Dinode::read_mut(&mut bytes)?;
        head.i_clusters = (clusters + 1).into();
        head.i_size = (head.i_size.get() + volume.block_size as u64).into();
        volume.put(self.inode, &mut bytes, Some(dinode::CHECK))?;
        File::of(volume, FILE)
    }
}
