//! A volume that is to be damaged: its blocks, and the way to its structures.

use ondisk::ocfs2::chain::{self, BITMAP, GroupDescriptor};
use ondisk::ocfs2::dinode::{self, BODY, Dinode, INLINE_DATA, dynamic};
use ondisk::ocfs2::superblock::{BLOCK, BLOCK_SIZES};
use ondisk::ocfs2::{ChainList, ExtentList, Superblock, check, directory};

use crate::damage::{Error, Medium};

/// A volume with the fields that lead to everything else.
pub struct Volume<'a> {
    medium: &'a mut dyn Medium,
    pub(super) block_size: usize,
    pub(super) cluster_blocks: u64,
    pub(super) clusters: u32,
    pub(super) root: u64,
    system: u64,
    checksums: bool,
    /// Whether changed blocks get new checksums.
    pub seal: bool,
}

impl std::fmt::Debug for Volume<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Volume")
            .field("block_size", &self.block_size)
            .field("clusters", &self.clusters)
            .finish_non_exhaustive()
    }
}

impl<'a> Volume<'a> {
    /// Opens a volume.
    ///
    /// # Errors
    ///
    /// The medium has no OCFS2 superblock, or cannot be read.
    pub fn open(medium: &'a mut dyn Medium) -> Result<Self, Error> {
        for size in BLOCK_SIZES {
            let mut block = vec![0; size as usize];
            if medium.read(BLOCK * size, &mut block).is_err() {
                continue;
            }
            let Ok(sb) = Superblock::read(&block) else {
                continue;
            };
            if sb.block_size() != Some(size) {
                continue;
            }
            let cluster = sb.cluster_size().unwrap_or(size);
            return Ok(Self {
                block_size: size as usize,
                cluster_blocks: (cluster / size).max(1),
                clusters: sb.i_clusters.get(),
                root: sb.s_root_blkno.get(),
                system: sb.s_system_dir_blkno.get(),
                checksums: sb.s_feature_incompat.get() & 0x800 != 0,
                seal: true,
                medium,
            });
        }
        Err(Error::Missing {
            what: "OCFS2 superblock",
        })
    }

    /// Reads a block.
    pub(super) fn block(&self, at: u64) -> Result<Vec<u8>, Error> {
        let mut block = vec![0; self.block_size];
        let byte = at.saturating_mul(self.block_size as u64);
        let what = "a block";
        match self.medium.read(byte, &mut block) {
            Ok(()) => Ok(block),
            Err(source) => Err(Error::Read {
                what,
                at: byte,
                source,
            }),
        }
    }

    /// Writes a block, whose checksum is at `check` if it has one.
    pub(super) fn put(
        &mut self,
        at: u64,
        block: &mut [u8],
        check: Option<usize>,
    ) -> Result<(), Error> {
        if let Some(offset) = check.filter(|_| self.checksums && self.seal) {
            check::store(block, offset)?;
        }
        let at = at.saturating_mul(self.block_size as u64);
        let what = "a block";
        let result = self.medium.write(at, block);
        result.map_err(|source| Error::Write { what, at, source })
    }

    /// Writes a bucket of attributes from a block on.
    pub(super) fn put_bucket(&mut self, at: u64, bytes: &mut [u8]) -> Result<(), Error> {
        if self.checksums && self.seal {
            check::store(bytes, 0x08)?;
        }
        for (nth, block) in (0..).zip(bytes.chunks_exact_mut(self.block_size)) {
            self.put(at + nth, block, None)?;
        }
        Ok(())
    }

    /// The block of a system file.
    pub(super) fn file(&self, name: &str) -> Result<u64, Error> {
        let found = self.entries(self.system)?.into_iter();
        found
            .filter(|entry| entry.name == name.as_bytes())
            .map(|entry| entry.inode)
            .next()
            .ok_or(Error::Missing {
                what: "system file of that name",
            })
    }

    /// Blocks of a file or directory whose extents are in its inode.
    pub(super) fn blocks(&self, inode: &[u8]) -> Result<Vec<u64>, Error> {
        let list = ExtentList::read(&inode[BODY..])?;
        let mut blocks = Vec::new();
        if list.head().l_tree_depth.get() > 0 {
            return Ok(blocks);
        }
        for record in list.used() {
            let first = record.e_blkno.get();
            let count = u64::from(record.leaf_clusters()) * self.cluster_blocks;
            blocks.extend(first..first + count);
        }
        Ok(blocks)
    }

    /// Where the entries of a directory are: block, first byte, end.
    pub(super) fn areas(&self, inode: u64) -> Result<Vec<(u64, usize, usize)>, Error> {
        let block = self.block(inode)?;
        let head = Dinode::read(&block)?;
        if head.has_dynamic(dynamic::INLINE_DATA) {
            let end = INLINE_DATA + head.i_size.get() as usize;
            return Ok(vec![(inode, INLINE_DATA, end.min(block.len()))]);
        }
        let used = head.i_size.get() as usize / self.block_size;
        let blocks = self.blocks(&block)?.into_iter().take(used);
        let mut areas = Vec::new();
        for at in blocks {
            let bytes = self.block(at)?;
            let tail = directory::Trailer::offset(self.block_size);
            let trailer = bytes[tail + 0x10..].starts_with(&directory::SIGNATURE);
            areas.push((at, 0, if trailer { tail } else { self.block_size }));
        }
        Ok(areas)
    }

    /// The entries of a directory in use.
    pub(super) fn entries(&self, inode: u64) -> Result<Vec<Named>, Error> {
        let mut found = Vec::new();
        for (at, from, to) in self.areas(inode)? {
            let block = self.block(at)?;
            for (offset, entry, name) in directory::entries(&block[from..to]) {
                if entry.inode.get() != 0 {
                    found.push(Named {
                        block: at,
                        offset: from + offset,
                        inode: entry.inode.get(),
                        name: name.to_vec(),
                    });
                }
            }
        }
        Ok(found)
    }

    /// The descriptors of an allocator, chain by chain.
    pub(super) fn groups(&self, allocator: &str) -> Result<Vec<u64>, Error> {
        let block = self.block(self.file(allocator)?)?;
        let list = ChainList::read(&block[BODY..])?;
        let mut groups = Vec::new();
        for record in list.first(list.head().cl_next_free_rec.get().into()) {
            let mut at = record.c_blkno.get();
            while at != 0 && groups.len() < 1 << 20 {
                groups.push(at);
                at = GroupDescriptor::read(&self.block(at)?)?.bg_next_group.get();
            }
        }
        Ok(groups)
    }

    /// Calls `each` for every valid inode of the first slot until it returns a value.
    pub(super) fn inodes<T>(
        &self,
        mut each: impl FnMut(u64, &[u8]) -> Result<Option<T>, Error>,
    ) -> Result<Option<T>, Error> {
        for group in self.groups("inode_alloc:0000")? {
            let descriptor = self.block(group)?;
            let bits = GroupDescriptor::read(&descriptor)?.bg_bits.get();
            for bit in 1..u64::from(bits) {
                if !chain::bit(&descriptor[BITMAP..], bit as usize) {
                    continue;
                }
                let block = self.block(group + bit)?;
                let head = Dinode::read(&block)?;
                if head.i_signature == dinode::SIGNATURE
                    && head.has_flag(dinode::flag::VALID)
                    && let Some(found) = each(group + bit, &block)?
                {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }
}

/// An entry of a directory.
#[derive(Debug, Clone)]
pub(super) struct Named {
    /// The block with the entry.
    pub(super) block: u64,
    /// Its offset there.
    pub(super) offset: usize,
    pub(super) inode: u64,
    pub(super) name: Vec<u8>,
}
