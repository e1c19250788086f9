//! The empty filesystem, read after mkfs.xfs made it.

use ondisk::xfs::ag::{free_list_entry, free_list_start};
use ondisk::xfs::btree::{ShortBlock, Tree};
use ondisk::xfs::geometry::NULL_AGBLOCK;
use ondisk::xfs::record::{AllocRecord, RmapRecord, owner};
use ondisk::xfs::{Agf, Agi, Geometry, Superblock, checksum};
use progress::Progress;

use super::cursor::{Cursor, Sizes};
use super::ledger::Used;
use super::mkfs;
use super::options::Options;
use crate::Error;
use crate::image_file::ImageFile;
use crate::population::scramble;

/// Inodes that mkfs.xfs makes: the root, and the realtime bitmap and summary.
pub(super) const SYSTEM_INODES: u32 = 3;

/// An allocation group as mkfs.xfs made it.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) length: u32,
    /// Blocks in use, ascending; without reverse mappings all are one owner's.
    pub(super) used: Vec<Used>,
    /// The longest free extent: first block and the one after it.
    pub(super) room: (u32, u32),
    /// Blocks of the free list.
    pub(super) free_list: Vec<u32>,
}

/// An empty filesystem.
#[derive(Debug)]
pub(super) struct Empty {
    pub(super) image: ImageFile,
    pub(super) options: Options,
    pub(super) geometry: Geometry,
    pub(super) sizes: Sizes,
    pub(super) groups: Vec<Group>,
    /// The first block of the chunk with the root.
    pub(super) root_chunk: u32,
    /// Percentage of the space that inodes may take; 0: no limit.
    inode_percent: u8,
    /// Name and version of mkfs.xfs.
    pub(super) maker: String,
}

/// A UUID that depends on the seed alone: version 4, variant 1 (RFC 9562).
fn identity(seed: u64) -> [u8; 16] {
    let word = |nth: u64| scramble(scramble(seed ^ 0x7866_7366) ^ nth << 56);
    let mut uuid = [0; 16];
    uuid[..8].copy_from_slice(&word(0).to_be_bytes());
    uuid[8..].copy_from_slice(&word(1).to_be_bytes());
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    uuid
}

impl Empty {
    /// Makes the filesystem and reads it.
    pub(super) fn new(
        options: &Options,
        image: ImageFile,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let maker = mkfs::make(options, identity(options.seed), &image, progress)?;
        let sector = image.read(0, 512)?;
        let sb = Superblock::read(&sector)?;
        let geometry = Geometry::new(sb)?;
        let mut this = Self {
            sizes: Sizes::new(&geometry),
            root_chunk: geometry.agino_block(geometry.agino_of(sb.sb_rootino.get())),
            inode_percent: sb.sb_imax_pct,
            options: options.clone(),
            groups: Vec::new(),
            geometry,
            image,
            maker,
        };
        let index = geometry.agino_of(sb.sb_rootino.get()) % (1 << geometry.inopb_log);
        if geometry.ino_ag(sb.sb_rootino.get()) != 0
            || index != 0
            || sb.sb_rbmino.get() != sb.sb_rootino.get() + 1
            || sb.sb_rsumino.get() != sb.sb_rootino.get() + 2
        {
            return Err(this.unexpected("the root is not the first inode of a chunk"));
        }
        this.groups = (0..geometry.ag_count)
            .map(|ag| this.group(ag))
            .collect::<Result<_, _>>()?;
        Ok(this)
    }

    pub(super) fn unexpected(&self, why: impl Into<String>) -> Error {
        Error::Unexpected {
            maker: self.maker.clone(),
            why: why.into(),
        }
    }

    /// Where the first directory's inodes and blocks are in a group.
    pub(super) fn cursor(&self, ag: u32) -> Cursor {
        let block = self.groups.get(ag as usize).map_or(0, |group| group.room.0);
        Cursor::new(if ag == 0 { SYSTEM_INODES } else { 0 }, block)
    }

    /// The most inodes that can be allocated.
    pub(super) fn most_inodes(&self) -> u64 {
        let percent = match self.inode_percent {
            0 => 100,
            percent => u64::from(percent),
        };
        (self.geometry.blocks * percent / 100) << self.geometry.inopb_log
    }

    /// Reads a block of a group.
    pub(super) fn block(&self, ag: u32, agbno: u32) -> Result<Vec<u8>, Error> {
        let size = self.geometry.block_size as usize;
        self.image.read(self.geometry.offset(ag, agbno), size)
    }

    /// Writes bytes from a block of a group on.
    pub(super) fn put(&self, ag: u32, agbno: u32, bytes: &[u8]) -> Result<(), Error> {
        self.image.write(self.geometry.offset(ag, agbno), bytes)
    }

    /// Reads a header of a group: 0 superblock, 1 AGF, 2 AGI, 3 AGFL.
    pub(super) fn header(&self, ag: u32, sector: u32) -> Result<Vec<u8>, Error> {
        let at = self.geometry.header_offset(ag, sector);
        self.image.read(at, self.geometry.sector_size as usize)
    }

    /// Writes a header of a group, whose checksum is at `sum`.
    pub(super) fn put_header(
        &self,
        ag: u32,
        sector: u32,
        bytes: &mut [u8],
        sum: usize,
    ) -> Result<(), Error> {
        if self.geometry.v5 {
            checksum::seal(bytes, sum);
        }
        self.image
            .write(self.geometry.header_offset(ag, sector), bytes)
    }

    fn group(&self, ag: u32) -> Result<Group, Error> {
        let geometry = &self.geometry;
        let sector = self.header(ag, 1)?;
        let agf = Agf::read(&sector)?;
        let length = agf.agf_length.get();
        let root = self.leaf(ag, agf.agf_bno_root.get())?;
        let records = root.chunks_exact(AllocRecord::SIZE);
        let mut free: Vec<(u32, u32)> = Vec::new();
        for bytes in records {
            let record = AllocRecord::read(bytes)?;
            free.push((record.ar_startblock.get(), record.ar_blockcount.get()));
        }
        let longest = free.iter().copied().max_by_key(|extent| extent.1);
        let longest = longest.ok_or_else(|| self.unexpected("a group without free space"))?;
        let used = if geometry.rmapbt {
            self.mappings(ag, agf.agf_rmap_root.get())?
        } else {
            used_between(&free, length)
        };
        let list = self.header(ag, 3)?;
        let free_list = (0..agf.agf_flcount.get())
            .map(|nth| {
                let room = geometry.free_list_room();
                free_list_entry(geometry, &list, (agf.agf_flfirst.get() + nth) % room)
            })
            .collect();
        Ok(Group {
            length,
            used,
            room: (longest.0, longest.0 + longest.1),
            free_list,
        })
    }

    /// The records of a tree that is one block.
    fn leaf(&self, ag: u32, root: u32) -> Result<Vec<u8>, Error> {
        let block = self.block(ag, root)?;
        let head = ShortBlock::read(&block)?;
        if head.bb_level.get() != 0 {
            return Err(self.unexpected("a btree of an empty group has several levels"));
        }
        let size = if head.bb_magic.get() == Tree::Rmap.magic(true) {
            RmapRecord::SIZE
        } else {
            AllocRecord::SIZE
        };
        let from = ondisk::xfs::btree::short_header(self.geometry.v5);
        let records = block.get(from..from + usize::from(head.bb_numrecs.get()) * size);
        let records = records.ok_or_else(|| self.unexpected("a btree block is too full"))?;
        Ok(records.to_vec())
    }

    fn mappings(&self, ag: u32, root: u32) -> Result<Vec<Used>, Error> {
        let mut used = Vec::new();
        for bytes in self.leaf(ag, root)?.chunks_exact(RmapRecord::SIZE) {
            let record = RmapRecord::read(bytes)?;
            used.push(Used {
                start: record.rm_startblock.get(),
                len: record.rm_blockcount.get(),
                owner: record.rm_owner.get(),
                offset: record.rm_offset.get(),
            });
        }
        Ok(used)
    }

    /// A time of the filesystem as inodes have it: nanoseconds since 1901, or seconds in the upper half.
    pub(super) fn time(&self) -> u64 {
        let seconds = self.options.time;
        if self.geometry.bigtime {
            (seconds + (1 << 31)).unsigned_abs() * 1_000_000_000
        } else {
            u64::from(seconds as u32) << 32
        }
    }

    /// The roots of a group's trees.
    pub(super) fn roots(&self, ag: u32) -> Result<Roots, Error> {
        let (agf, agi) = (self.header(ag, 1)?, self.header(ag, 2)?);
        let (agf, agi) = (Agf::read(&agf)?, Agi::read(&agi)?);
        Ok(Roots {
            bno: agf.agf_bno_root.get(),
            cnt: agf.agf_cnt_root.get(),
            rmap: agf.agf_rmap_root.get(),
            ino: agi.agi_root.get(),
            fino: agi.agi_free_root.get(),
        })
    }

    /// Writes the blocks of the free list, and the fields of the AGF that count them; the others are the caller's.
    pub(super) fn put_free_list(
        &self,
        ag: u32,
        agf: &mut Agf,
        blocks: &[u32],
    ) -> Result<(), Error> {
        let geometry = &self.geometry;
        let mut sector = self.header(ag, 3)?;
        let start = free_list_start(geometry);
        let room = geometry.free_list_room() as usize;
        if blocks.len() + 1 > room {
            return Err(self.unexpected("the free list is too short"));
        }
        let entries = sector[start..].chunks_exact_mut(4).take(room);
        for (nth, entry) in entries.enumerate() {
            let block = nth.checked_sub(1).and_then(|nth| blocks.get(nth));
            entry.copy_from_slice(&block.copied().unwrap_or(NULL_AGBLOCK).to_be_bytes());
        }
        self.put_header(ag, 3, &mut sector, checksum::AGFL)?;
        agf.agf_flfirst = 1.into();
        agf.agf_fllast = (blocks.len() as u32).into();
        agf.agf_flcount = (blocks.len() as u32).into();
        Ok(())
    }
}

/// Where the roots of a group's trees are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Roots {
    pub(super) bno: u32,
    pub(super) cnt: u32,
    pub(super) rmap: u32,
    pub(super) ino: u32,
    pub(super) fino: u32,
}

/// What free extents leave.
fn used_between(free: &[(u32, u32)], length: u32) -> Vec<Used> {
    let mut used = Vec::new();
    let mut at = 0;
    for &(start, len) in free.iter().chain([&(length, 0)]) {
        if start > at {
            used.push(Used::new(at, start - at, owner::FS));
        }
        at = start + len;
    }
    used
}
