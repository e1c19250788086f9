//! An image that is changed structure by structure, with right checksums.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use ondisk::bytes::{be16, be32, be64};
use ondisk::xfs::btree::{Tree, short_header};
use ondisk::xfs::dinode::{Format, Inode, mode};
use ondisk::xfs::{Agf, Agi, Extent, Geometry, Superblock, checksum};

use super::strict::put;

/// Blocks of an extent at most.
pub(crate) const MOST: u64 = (1 << 21) - 1;

/// An image under change.
pub(crate) struct Disk {
    file: File,
    pub(crate) geo: Geometry,
    pub(crate) sb: Superblock,
}

/// A fork of an inode.
#[derive(Clone, Copy)]
pub(crate) enum Fork {
    Data,
    Attributes,
}

/// Offsets of fields of the AGF.
pub(crate) mod agf {
    pub(crate) const FREE_BLOCKS: usize = 52;
    pub(crate) const LONGEST: usize = 56;
}

impl Disk {
    pub(crate) fn open(image: &Path) -> Disk {
        let file = File::options().read(true).write(true).open(image).unwrap();
        let mut sector = [0; 512];
        file.read_exact_at(&mut sector, 0).unwrap();
        let sb = *Superblock::read(&sector).unwrap();
        Disk {
            geo: Geometry::new(&sb).unwrap(),
            sb,
            file,
        }
    }

    pub(crate) fn bytes(&self, at: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, at).unwrap();
        bytes
    }

    /// Changes a structure and corrects its checksum.
    pub(crate) fn change(&self, at: u64, len: usize, sum: usize, change: impl FnOnce(&mut [u8])) {
        let mut bytes = self.bytes(at, len);
        change(&mut bytes);
        if self.geo.v5 {
            checksum::seal(&mut bytes, sum);
        }
        self.file.write_all_at(&bytes, at).unwrap();
    }

    /// The superblock, AGF, AGI or AGFL of a group.
    pub(crate) fn header(&self, ag: u32, sector: u32, change: impl FnOnce(&mut [u8])) {
        let sums = [
            checksum::SUPERBLOCK,
            checksum::AGF,
            checksum::AGI,
            checksum::AGFL,
        ];
        let at = self.geo.header_offset(ag, sector);
        self.change(
            at,
            self.geo.sector_size as usize,
            sums[sector as usize],
            change,
        );
    }

    pub(crate) fn block(&self, ag: u32, agbno: u32) -> Vec<u8> {
        self.bytes(self.geo.offset(ag, agbno), self.geo.block_size as usize)
    }

    /// A block of a btree of a group.
    pub(crate) fn node(&self, ag: u32, agbno: u32, change: impl FnOnce(&mut [u8])) {
        let at = self.geo.offset(ag, agbno);
        self.change(
            at,
            self.geo.block_size as usize,
            checksum::SHORT_BTREE,
            change,
        );
    }

    pub(crate) fn inode(&self, ino: u64, change: impl FnOnce(&mut [u8])) {
        let at = self.geo.ino_offset(ino);
        self.change(at, self.geo.inode_size as usize, checksum::INODE, change);
    }

    pub(crate) fn inode_bytes(&self, ino: u64) -> Vec<u8> {
        self.bytes(self.geo.ino_offset(ino), self.geo.inode_size as usize)
    }

    /// Root and levels of a tree.
    pub(crate) fn root(&self, ag: u32, tree: Tree) -> (u32, u32) {
        let sector = |nth| self.bytes(self.geo.header_offset(ag, nth), 512);
        let (space, inodes) = (sector(1), sector(2));
        let (space, inodes) = (Agf::read(&space).unwrap(), Agi::read(&inodes).unwrap());
        let (root, levels) = match tree {
            Tree::Bno => (space.agf_bno_root, space.agf_bno_level),
            Tree::Cnt => (space.agf_cnt_root, space.agf_cnt_level),
            Tree::Rmap => (space.agf_rmap_root, space.agf_rmap_level),
            Tree::Refcount => (space.agf_refcount_root, space.agf_refcount_level),
            Tree::Ino => (inodes.agi_root, inodes.agi_level),
            Tree::Fino => (inodes.agi_free_root, inodes.agi_free_level),
        };
        (root.get(), levels.get())
    }

    /// The leaves of a tree from left to right.
    pub(crate) fn leaves(&self, ag: u32, tree: Tree) -> Vec<u32> {
        let (root, levels) = self.root(ag, tree);
        let mut level = vec![root];
        for _ in 1..levels {
            let nodes = level.iter().flat_map(|agbno| {
                let bytes = self.block(ag, *agbno);
                (0..usize::from(be16(&bytes, 6)))
                    .map(|nth| tree.pointer(&self.geo, &bytes, nth))
                    .collect::<Vec<u32>>()
            });
            level = nodes.collect();
        }
        level
    }

    /// The records of a tree.
    pub(crate) fn records(&self, ag: u32, tree: Tree) -> Vec<Vec<u8>> {
        let leaves = self.leaves(ag, tree);
        let records = leaves.iter().flat_map(|agbno| {
            let bytes = self.block(ag, *agbno);
            (0..usize::from(be16(&bytes, 6)))
                .map(|nth| {
                    let at = tree.record_at(&self.geo, nth);
                    bytes[at..at + tree.record_size()].to_vec()
                })
                .collect::<Vec<Vec<u8>>>()
        });
        records.collect()
    }

    /// Sets the records of a tree of one leaf.
    pub(crate) fn set_records(&self, ag: u32, tree: Tree, records: &[Vec<u8>]) {
        let (root, levels) = self.root(ag, tree);
        assert_eq!(levels, 1, "{tree:?}");
        self.node(ag, root, |bytes| {
            bytes[6..8].copy_from_slice(&(records.len() as u16).to_be_bytes());
            let mut at = short_header(self.geo.v5);
            for record in records {
                bytes[at..at + record.len()].copy_from_slice(record);
                at += record.len();
            }
        });
    }

    /// The free extents of a group by block.
    pub(crate) fn free(&self, ag: u32) -> Vec<(u32, u32)> {
        let records = self.records(ag, Tree::Bno);
        let pair = |record: &Vec<u8>| (be32(record, 0), be32(record, 4));
        records.iter().map(pair).collect()
    }

    /// Sets the free extents of a group whose trees are a leaf each, in both orders, and the counters that follow.
    pub(crate) fn set_free(&self, ag: u32, by_block: &[(u32, u32)], by_size: &[(u32, u32)]) {
        let before: u32 = self.free(ag).iter().map(|(_, length)| length).sum();
        let words = |list: &[(u32, u32)]| -> Vec<Vec<u8>> {
            let record =
                |(start, length): &(u32, u32)| [start.to_be_bytes(), length.to_be_bytes()].concat();
            list.iter().map(record).collect()
        };
        self.set_records(ag, Tree::Bno, &words(by_block));
        self.set_records(ag, Tree::Cnt, &words(by_size));
        let free: u32 = by_block.iter().map(|(_, length)| length).sum();
        let longest = by_block.iter().map(|(_, length)| *length).max().unwrap();
        self.header(ag, 1, |bytes| {
            bytes[agf::FREE_BLOCKS..agf::FREE_BLOCKS + 4].copy_from_slice(&free.to_be_bytes());
            bytes[agf::LONGEST..agf::LONGEST + 4].copy_from_slice(&longest.to_be_bytes());
        });
        self.header(0, 0, |bytes| {
            let sb = Superblock::read_mut(bytes).unwrap();
            let others = sb.sb_fdblocks.get() - u64::from(before);
            sb.sb_fdblocks.set(others + u64::from(free));
        });
    }

    /// Takes blocks from the end of the longest free extent of a group whose trees are a leaf each; the first of them.
    pub(crate) fn take(&self, ag: u32, count: u32) -> u64 {
        let mut free = self.free(ag);
        let longest = free.iter_mut().max_by_key(|(_, length)| *length).unwrap();
        longest.1 -= count;
        let first = longest.0 + longest.1;
        let mut by_size = free.clone();
        by_size.sort_unstable_by_key(|(start, length)| (*length, *start));
        self.set_free(ag, &free, &by_size);
        self.geo.fsblock(ag, first)
    }

    /// Maps blocks after the other extents of a fork whose extents are in its inode.
    pub(crate) fn map(&self, ino: u64, fork: Fork, extent: Extent) {
        let literal = self.geo.inode_size as usize - self.geo.literal_area();
        self.inode(ino, |bytes| {
            let blocks = be64(bytes, 64) + extent.count;
            bytes[64..72].copy_from_slice(&blocks.to_be_bytes());
            let (start, count) = match fork {
                Fork::Data => {
                    let count = be32(bytes, 76);
                    bytes[76..80].copy_from_slice(&(count + 1).to_be_bytes());
                    (literal, count as usize)
                }
                Fork::Attributes => {
                    let count = be16(bytes, 80);
                    bytes[80..82].copy_from_slice(&(count + 1).to_be_bytes());
                    (literal + 8 * usize::from(bytes[82]), count.into())
                }
            };
            let at = start + 16 * count;
            bytes[at..at + 16].copy_from_slice(&extent.to_bytes());
        });
    }

    /// Inodes in use of all groups, and those that are free.
    pub(crate) fn inodes(&self) -> Vec<(u64, bool)> {
        let mut inodes = Vec::new();
        for ag in 0..self.geo.ag_count {
            for record in self.records(ag, Tree::Ino) {
                let start = be32(&record, 0);
                let free = u64::from_be_bytes(record[8..16].try_into().unwrap());
                for nth in 0..64 {
                    let ino = self.geo.ino(ag, start + nth);
                    inodes.push((ino, free >> nth & 1 == 0));
                }
            }
        }
        inodes
    }

    /// Regular files of one name.
    pub(crate) fn files(&self) -> Vec<u64> {
        let internal = [self.sb.sb_rbmino.get(), self.sb.sb_rsumino.get()];
        let is_file = |ino: u64| {
            let bytes = self.inode_bytes(ino);
            let inode = Inode::new(&self.geo, &bytes);
            inode.file_type() == mode::REGULAR && inode.nlink() == 1 && !internal.contains(&ino)
        };
        let used = self.inodes().into_iter().filter(|(_, used)| *used);
        used.map(|(ino, _)| ino)
            .filter(|&ino| is_file(ino))
            .collect()
    }

    /// Makes an inode of 512 bytes a directory of one extent of [`MOST`] blocks for each of these first blocks.
    pub(crate) fn huge_directory(&self, ino: u64, starts: impl Iterator<Item = u64>) {
        self.inode(ino, |bytes| {
            put(bytes, 2, &0o040_755_u16.to_be_bytes());
            bytes[5] = Format::Extents as u8;
            put(bytes, 16, &2_u32.to_be_bytes());
            put(bytes, 56, &((1_u64 << 35) - 4096).to_be_bytes());
            bytes[82] = 0;
            bytes[176..].fill(0);
            let mut extents = 0;
            for (nth, start) in (0_u64..).zip(starts) {
                let record =
                    u128::from(nth * MOST) << 73 | u128::from(start) << 21 | u128::from(MOST);
                put(bytes, 176 + 16 * nth as usize, &record.to_be_bytes());
                extents = nth + 1;
            }
            put(bytes, 64, &(extents * MOST).to_be_bytes());
            if bytes[127] & 1 << 4 == 0 {
                put(bytes, 76, &(extents as u32).to_be_bytes());
            } else {
                put(bytes, 24, &extents.to_be_bytes());
            }
        });
    }

    /// The first inode in use that this holds of.
    pub(crate) fn find(&self, holds: impl Fn(&Inode<'_>) -> bool) -> u64 {
        let found = self
            .inodes()
            .into_iter()
            .filter(|(_, used)| *used)
            .find(|(ino, _)| {
                let bytes = self.inode_bytes(*ino);
                holds(&Inode::new(&self.geo, &bytes))
            });
        found.expect("no inode is like that").0
    }
}
