//! The arithmetic of block and inode numbers, and the sizes that follow from the superblock.

use super::Superblock;
use super::feature::{
    BIGTIME, FINOBT, INOBTCOUNT, LAZY_COUNT, NREXT64, REFLINK, RMAPBT, SPINODES, V4_BORG,
};
use crate::Error;

/// A null block number in 32 bits.
pub const NULL_AGBLOCK: u32 = u32::MAX;
/// A null inode number within an allocation group.
pub const NULL_AGINO: u32 = u32::MAX;
/// A null block number in 64 bits.
pub const NULL_FSBLOCK: u64 = u64::MAX;
/// A null inode number.
pub const NULL_INO: u64 = u64::MAX;
/// Inodes of a chunk.
pub const CHUNK: u32 = 64;
/// Bytes that block numbers of headers count in.
pub const BASIC: u64 = 512;

/// What all other structures need of the superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a feature of the format"
)]
pub struct Geometry {
    /// Checksums, and headers with block number, UUID and owner.
    pub v5: bool,
    /// Bytes of a block.
    pub block_size: u32,
    /// log2 of it.
    pub block_log: u8,
    /// Bytes of a sector.
    pub sector_size: u32,
    /// Bytes of an inode.
    pub inode_size: u32,
    /// log2 of it.
    pub inode_log: u8,
    /// log2 of the number of inodes in a block.
    pub inopb_log: u8,
    /// Blocks of an allocation group but the last.
    pub ag_blocks: u32,
    /// Allocation groups.
    pub ag_count: u32,
    /// Bits of a block number within its allocation group.
    pub agblk_log: u8,
    /// Blocks of the data section.
    pub blocks: u64,
    /// A directory block has two to this power blocks.
    pub dirblk_log: u8,
    /// Alignment of inode chunks, blocks; 0: none.
    pub inode_align: u32,
    /// UUID that metadata carries.
    pub uuid: [u8; 16],
    /// Directory entries have file types.
    pub ftype: bool,
    /// There is a btree of free inodes.
    pub finobt: bool,
    /// There is a btree of reverse mappings.
    pub rmapbt: bool,
    /// There is a btree of reference counts.
    pub reflink: bool,
    /// The AGI counts the blocks of its btrees.
    pub inobtcount: bool,
    /// Inode chunks may have holes.
    pub sparse_inodes: bool,
    /// 64-bit timestamps.
    pub bigtime: bool,
    /// 64-bit extent counters.
    pub nrext64: bool,
    /// Superblock counters are written lazily.
    pub lazy_count: bool,
    /// Names are compared without case.
    pub ascii_ci: bool,
}

impl Geometry {
    /// The geometry of a superblock.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] for sizes with which nothing can be computed.
    pub fn new(sb: &Superblock) -> Result<Geometry, Error> {
        let range = |what, found: u64, low, high| {
            let sound = (low..=high).contains(&found);
            sound.then_some(()).ok_or(Error::Range {
                what,
                found,
                low,
                high,
            })
        };
        range("sb_blocklog", sb.sb_blocklog.into(), 9, 16)?;
        range("sb_sectsize", sb.sb_sectsize.get().into(), 512, 32768)?;
        range("sb_inodelog", sb.sb_inodelog.into(), 8, 11)?;
        range("sb_inopblog", sb.sb_inopblog.into(), 0, 8)?;
        range("sb_agblklog", sb.sb_agblklog.into(), 1, 31)?;
        range("sb_dirblklog", sb.sb_dirblklog.into(), 0, 7)?;
        range("sb_agcount", sb.sb_agcount.get().into(), 1, u64::MAX)?;
        let most = 1 << sb.sb_agblklog;
        range("sb_agblocks", sb.sb_agblocks.get().into(), 5, most)?;
        let most = u64::from(sb.sb_agblocks.get()) * u64::from(sb.sb_agcount.get());
        range("sb_dblocks", sb.sb_dblocks.get(), 1, most)?;
        Ok(Geometry {
            v5: sb.is_v5(),
            block_size: 1 << sb.sb_blocklog,
            block_log: sb.sb_blocklog,
            sector_size: sb.sb_sectsize.get().into(),
            inode_size: 1 << sb.sb_inodelog,
            inode_log: sb.sb_inodelog,
            inopb_log: sb.sb_inopblog,
            ag_blocks: sb.sb_agblocks.get(),
            ag_count: sb.sb_agcount.get(),
            agblk_log: sb.sb_agblklog,
            blocks: sb.sb_dblocks.get(),
            dirblk_log: sb.sb_dirblklog,
            inode_align: sb.sb_inoalignmt.get(),
            uuid: sb.metadata_uuid(),
            ftype: sb.has_ftype(),
            finobt: sb.has_ro_compat(FINOBT),
            rmapbt: sb.has_ro_compat(RMAPBT),
            reflink: sb.has_ro_compat(REFLINK),
            inobtcount: sb.has_ro_compat(INOBTCOUNT),
            sparse_inodes: sb.has_incompat(SPINODES),
            bigtime: sb.has_incompat(BIGTIME),
            nrext64: sb.has_incompat(NREXT64),
            lazy_count: sb.has_features2(LAZY_COUNT),
            ascii_ci: sb.has_version(V4_BORG),
        })
    }

    /// Blocks of an allocation group; 0 past the last.
    #[inline]
    pub fn ag_length(&self, ag: u32) -> u32 {
        let before = u64::from(ag) * u64::from(self.ag_blocks);
        let left = self.blocks.saturating_sub(before);
        left.min(self.ag_blocks.into()) as u32
    }

    /// Blocks at the start of an allocation group that its four headers take.
    #[inline]
    pub fn header_blocks(&self) -> u32 {
        (4 * self.sector_size).div_ceil(self.block_size)
    }

    /// Offset of a header of an allocation group, bytes: 0 superblock, 1 AGF, 2 AGI, 3 AGFL.
    pub fn header_offset(&self, ag: u32, sector: u32) -> u64 {
        self.ag_offset(ag) + u64::from(sector) * u64::from(self.sector_size)
    }

    /// Offset of an allocation group, bytes.
    #[inline]
    pub fn ag_offset(&self, ag: u32) -> u64 {
        (u64::from(ag) * u64::from(self.ag_blocks)) << self.block_log
    }

    /// The allocation group of a block number.
    #[inline]
    pub fn ag_of(&self, block: u64) -> u64 {
        block >> self.agblk_log
    }

    /// A block number without the bits above those of 2^32 allocation groups, as kernel and `xfs_repair` use it (`XFS_FSB_TO_AGNO`).
    pub fn reached(&self, block: u64) -> u64 {
        self.fsblock(self.ag_of(block) as u32, self.agbno_of(block))
    }

    /// The block number within its allocation group.
    #[inline]
    pub fn agbno_of(&self, block: u64) -> u32 {
        (block & ((1 << self.agblk_log) - 1)) as u32
    }

    /// The block number of a block of an allocation group.
    #[inline]
    pub fn fsblock(&self, ag: u32, agbno: u32) -> u64 {
        u64::from(ag) << self.agblk_log | u64::from(agbno)
    }

    /// Offset of a block, bytes.
    pub fn offset(&self, ag: u32, agbno: u32) -> u64 {
        self.ag_offset(ag) + (u64::from(agbno) << self.block_log)
    }

    /// Offset of a block, bytes.
    #[inline]
    pub fn block_offset(&self, block: u64) -> u64 {
        let ag = self.ag_of(block).saturating_mul(self.ag_blocks.into());
        ag.saturating_add(self.agbno_of(block).into())
            .saturating_mul(self.block_size.into())
    }

    /// The block number that headers have for it, in units of 512 bytes.
    pub fn daddr(&self, block: u64) -> u64 {
        self.block_offset(block) / BASIC
    }

    /// Whether a block number is one of the filesystem and not of an allocation group's headers (`verify_fsbno`).
    #[inline]
    pub fn is_block(&self, block: u64) -> bool {
        let ag = self.ag_of(block);
        ag < self.ag_count.into() && self.is_agblock(ag as u32, self.agbno_of(block))
    }

    /// Whether a block of an allocation group is after its headers and before its end.
    #[inline]
    pub fn is_agblock(&self, ag: u32, agbno: u32) -> bool {
        agbno >= self.header_blocks() && agbno < self.ag_length(ag)
    }

    /// Bits of an inode number within its allocation group.
    #[inline]
    pub fn agino_bits(&self) -> u32 {
        u32::from(self.agblk_log) + u32::from(self.inopb_log)
    }

    /// The allocation group of an inode.
    #[inline]
    pub fn ino_ag(&self, ino: u64) -> u64 {
        ino >> self.agino_bits()
    }

    /// The inode number within its allocation group.
    #[inline]
    pub fn agino_of(&self, ino: u64) -> u32 {
        (ino & ((1 << self.agino_bits()) - 1)) as u32
    }

    /// The inode number of an inode of an allocation group.
    #[inline]
    pub fn ino(&self, ag: u32, agino: u32) -> u64 {
        u64::from(ag) << self.agino_bits() | u64::from(agino)
    }

    /// The block of an inode, within its allocation group.
    #[inline]
    pub fn agino_block(&self, agino: u32) -> u32 {
        agino >> self.inopb_log
    }

    /// Offset of an inode, bytes.
    #[inline]
    pub fn ino_offset(&self, ino: u64) -> u64 {
        let agino = self.agino_of(ino);
        let index = agino & ((1 << self.inopb_log) - 1);
        let ag = u64::from(self.ino_ag(ino) as u32);
        ((ag * u64::from(self.ag_blocks) + u64::from(self.agino_block(agino))) << self.block_log)
            + (u64::from(index) << self.inode_log)
    }

    /// Whether an inode number can exist (`xfs_verify_ino`).
    #[inline]
    pub fn is_inode(&self, ino: u64) -> bool {
        let ag = self.ino_ag(ino);
        ag < self.ag_count.into()
            && self.is_agblock(ag as u32, self.agino_block(self.agino_of(ino)))
    }

    /// Bytes of a directory block.
    pub fn directory_block(&self) -> usize {
        (self.block_size as usize) << self.dirblk_log
    }

    /// Blocks of an inode chunk; 1 where a block has 64 inodes and more.
    pub fn chunk_blocks(&self) -> u32 {
        (CHUNK >> self.inopb_log).max(1)
    }

    /// Bytes of an inode after its core.
    pub fn literal_area(&self) -> usize {
        self.inode_size as usize - super::dinode::core_size(self.v5)
    }

    /// Entries of the free list's sector.
    pub fn free_list_room(&self) -> u32 {
        let header = if self.v5 { super::Agfl::SIZE } else { 0 };
        (self.sector_size - header as u32) / 4
    }
}
