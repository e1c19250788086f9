//! A filesystem that is to be damaged: its blocks, and the way to its structures.

use ondisk::bytes::{be16, be32, be64};
use ondisk::xfs::btree::{ForkRoot, Tree, fork_pointer, fork_room, long_header, short_header};
use ondisk::xfs::dinode::Inode;
use ondisk::xfs::{Agf, Agi, Extent, Geometry, Superblock, checksum, extent};

use super::case::{Edit, Value};
use crate::damage::{Error, Medium};

/// A filesystem with what leads to everything else.
pub struct Volume<'a> {
    medium: &'a mut dyn Medium,
    pub(super) geometry: Geometry,
    pub(super) root: u64,
    pub(super) log: u64,
    /// Whether changed structures get new checksums.
    pub seal: bool,
}

impl std::fmt::Debug for Volume<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Volume")
            .field("geometry", &self.geometry)
            .finish_non_exhaustive()
    }
}

/// Bytes with one checksum, and where the structure begins among them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// Offset on the medium.
    pub(super) at: u64,
    pub(super) len: usize,
    pub(super) start: usize,
    /// The place of the checksum, in version 5.
    pub(super) sum: Option<usize>,
}

impl<'a> Volume<'a> {
    /// Opens a filesystem.
    ///
    /// # Errors
    ///
    /// The medium has no XFS superblock, or cannot be read.
    pub fn open(medium: &'a mut dyn Medium) -> Result<Self, Error> {
        let mut sector = vec![0; 512];
        medium.read(0, &mut sector).map_err(|source| Error::Read {
            what: "the superblock",
            at: 0,
            source,
        })?;
        let missing = |_| Error::Missing {
            what: "XFS superblock",
        };
        let sb = Superblock::read(&sector).map_err(missing)?;
        let geometry = Geometry::new(sb).map_err(missing)?;
        Ok(Self {
            root: sb.sb_rootino.get(),
            log: sb.sb_logstart.get(),
            geometry,
            seal: true,
            medium,
        })
    }

    pub(super) fn bytes(&self, at: u64, len: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; len];
        let what = "a block";
        match self.medium.read(at, &mut bytes) {
            Ok(()) => Ok(bytes),
            Err(source) => Err(Error::Read { what, at, source }),
        }
    }

    /// Reads a block of a group.
    pub(super) fn block(&self, ag: u32, agbno: u32) -> Result<Vec<u8>, Error> {
        let size = self.geometry.block_size as usize;
        self.bytes(self.geometry.offset(ag, agbno), size)
    }

    /// Reads a directory block.
    pub(super) fn directory_block(&self, block: u64) -> Result<Vec<u8>, Error> {
        let size = self.geometry.directory_block();
        self.bytes(self.geometry.block_offset(block), size)
    }

    /// Reads a header of a group.
    pub(super) fn header(&self, ag: u32, sector: u32) -> Result<Vec<u8>, Error> {
        let at = self.geometry.header_offset(ag, sector);
        self.bytes(at, self.geometry.sector_size as usize)
    }

    /// Reads an inode.
    pub(super) fn inode(&self, ino: u64) -> Result<Vec<u8>, Error> {
        let size = self.geometry.inode_size as usize;
        self.bytes(self.geometry.ino_offset(ino), size)
    }

    /// The root of a tree.
    pub(super) fn root_of(&self, ag: u32, tree: Tree) -> Result<u32, Error> {
        let (agf, agi) = (self.header(ag, 1)?, self.header(ag, 2)?);
        let (agf, agi) = (Agf::read(&agf)?, Agi::read(&agi)?);
        let root = match tree {
            Tree::Bno => agf.agf_bno_root,
            Tree::Cnt => agf.agf_cnt_root,
            Tree::Rmap => agf.agf_rmap_root,
            Tree::Refcount => agf.agf_refcount_root,
            Tree::Ino => agi.agi_root,
            Tree::Fino => agi.agi_free_root,
        };
        if root.get() == 0 {
            return Err(Error::Missing {
                what: "btree of that kind",
            });
        }
        Ok(root.get())
    }

    /// The leaves of a tree in their order.
    pub(super) fn leaves(&self, ag: u32, tree: Tree) -> Result<Vec<u32>, Error> {
        let mut level = vec![self.root_of(ag, tree)?];
        loop {
            let mut below = Vec::new();
            for &at in &level {
                let block = self.block(ag, at)?;
                if be16(&block, 4) == 0 {
                    return Ok(level);
                }
                let count = usize::from(be16(&block, 6));
                let count = count.min(tree.room(&self.geometry, false));
                below.extend((0..count).map(|nth| tree.pointer(&self.geometry, &block, nth)));
            }
            if below.len() > 1 << 20 || below.is_empty() {
                return Err(Error::Missing {
                    what: "sound btree",
                });
            }
            level = below;
        }
    }

    /// The extents of an inode's data fork.
    pub(super) fn extents(&self, inode: &Inode<'_>) -> Result<Vec<Extent>, Error> {
        let fork = inode.data_fork();
        match inode.format() {
            2 => Ok(extent::list(fork, inode.nextents() as usize).collect()),
            3 => {
                let mut all = Vec::new();
                for at in self.fork_leaves(fork)? {
                    let block = self.directory_block_of_fork(at)?;
                    let from = long_header(self.geometry.v5);
                    let count = usize::from(be16(&block, 6)).min(fork_room(&self.geometry));
                    all.extend(extent::list(&block[from..], count));
                }
                Ok(all)
            }
            _ => Ok(Vec::new()),
        }
    }

    fn directory_block_of_fork(&self, at: u64) -> Result<Vec<u8>, Error> {
        let size = self.geometry.block_size as usize;
        self.bytes(self.geometry.block_offset(at), size)
    }

    /// The leaves of a fork's btree.
    pub(super) fn fork_leaves(&self, fork: &[u8]) -> Result<Vec<u64>, Error> {
        let root = ForkRoot::new(fork);
        let count = usize::from(root.count()).min(root.room());
        let mut level: Vec<u64> = (0..count).map(|nth| root.pointer(nth)).collect();
        for _ in 1..root.level().min(9) {
            let mut below = Vec::new();
            for &at in &level {
                let block = self.directory_block_of_fork(at)?;
                let count = usize::from(be16(&block, 6)).min(fork_room(&self.geometry));
                below.extend((0..count).map(|nth| fork_pointer(&self.geometry, &block, nth)));
            }
            level = below;
        }
        Ok(level)
    }

    /// Changes a field.
    pub(super) fn apply(&mut self, edit: &Edit) -> Result<(), Error> {
        let found = self.locate(edit.at)?;
        let mut bytes = self.bytes(found.at, found.len)?;
        let from = found.start + edit.offset;
        let place = bytes.get_mut(from..from + edit.width);
        let place = place.ok_or(Error::Missing {
            what: "field at that place",
        })?;
        let mut wide = [0; 8];
        wide[8 - edit.width..].copy_from_slice(place);
        let old = be64(&wide, 0);
        let new = match edit.value {
            Value::Set(value) => value,
            Value::Add(value) => old.wrapping_add(value),
            Value::Or(bits) => old | bits,
            Value::Without(bits) => old & !bits,
        };
        place.copy_from_slice(&new.to_be_bytes()[8 - edit.width..]);
        if let Some(sum) = found.sum.filter(|_| self.seal && self.geometry.v5) {
            checksum::seal(&mut bytes, sum);
        }
        let what = "a block";
        let result = self.medium.write(found.at, &bytes);
        result.map_err(|source| Error::Write {
            what,
            at: found.at,
            source,
        })
    }

    /// The place of a record in a leaf.
    pub(super) fn record_at(&self, tree: Tree, nth: usize) -> usize {
        short_header(self.geometry.v5) + nth * tree.record_size()
    }

    /// The number of the first child of a node of a directory.
    pub(super) fn first_child(&self, node: &[u8]) -> u32 {
        let header = ondisk::xfs::da::header(self.geometry.v5);
        be32(node, header + 4)
    }
}
