//! The empty volume: read after mkfs.ocfs2 made it, and given the generation, seeds and times of the options.

use std::collections::HashMap;

use ondisk::ocfs2::chain::{self, BITMAP, SIGNATURE as GROUP};
use ondisk::ocfs2::dinode::{self, BODY, INLINE_DATA, dynamic};
use ondisk::ocfs2::hash::uuid_hash;
use ondisk::ocfs2::superblock::{BLOCK, BLOCK_SIZES};
use ondisk::ocfs2::system::slot_file;
use ondisk::ocfs2::{
    ChainList, Dinode, ExtentList, GroupDescriptor, Superblock, Trailer, Volume, directory,
};
use progress::Progress;
use zerocopy::FromBytes as _;

use super::bitmap::Bitmap;
use super::blocks::Seal;
use super::mkfs;
use super::options::Options;
use crate::Error;
use crate::image_file::ImageFile;
use crate::population::scramble;

/// `bg_check` in a group descriptor.
pub(super) const GROUP_CHECK: usize = 0x30;

/// What the features of a volume allow.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "independent features")]
pub(super) struct Features {
    pub(super) inline_data: bool,
    pub(super) indexed_dirs: bool,
    pub(super) xattr: bool,
    pub(super) sparse: bool,
    pub(super) unwritten: bool,
    pub(super) discontig: bool,
    pub(super) metaecc: bool,
}

/// A chain allocator of inodes or of extent blocks, as mkfs.ocfs2 made it.
#[derive(Debug, Clone)]
pub(super) struct Allocator {
    /// Its inode.
    pub(super) inode: u64,
    /// Clusters of a group.
    pub(super) group_clusters: u32,
    /// Blocks of a group, the descriptor included.
    pub(super) bits: u32,
    /// Chains that the inode has room for.
    pub(super) chains: u16,
    /// The groups of each chain in its order.
    pub(super) groups: Vec<Vec<u64>>,
    /// Bits in use, the descriptors' included.
    pub(super) used: u32,
}

/// An empty volume.
#[derive(Debug)]
pub(super) struct Empty {
    pub(super) image: ImageFile,
    pub(super) options: Options,
    pub(super) volume: Volume,
    pub(super) features: Features,
    pub(super) generation: u32,
    pub(super) uuid_hash: u32,
    pub(super) dx_seed: [u32; 3],
    pub(super) slots: u16,
    pub(super) root: u64,
    /// Bytes of inline extended attributes.
    pub(super) xattr_size: u16,
    /// Clusters of a group of the global bitmap.
    pub(super) group_clusters: u32,
    pub(super) bitmap: Bitmap,
    /// System files by their names.
    pub(super) system: HashMap<String, u64>,
    /// Name and version of mkfs.ocfs2.
    pub(super) maker: String,
}

/// Numbers that depend on the seed alone.
struct Identity {
    uuid: [u8; 16],
    generation: u32,
    dx_seed: [u32; 3],
}

impl Identity {
    fn new(seed: u64) -> Self {
        let word = |nth: u64| scramble(scramble(seed ^ 0x6f63_6673) ^ nth << 56);
        let mut uuid = [0; 16];
        uuid[..8].copy_from_slice(&word(0).to_le_bytes());
        uuid[8..].copy_from_slice(&word(1).to_le_bytes());
        // A random UUID: version 4, variant 1 (RFC 9562).
        uuid[6] = uuid[6] & 0x0f | 0x40;
        uuid[8] = uuid[8] & 0x3f | 0x80;
        Self {
            uuid,
            generation: word(2) as u32 | 1,
            dx_seed: [word(3), word(4), word(5)].map(|word| word as u32),
        }
    }
}

impl Empty {
    /// Makes the volume and reads it.
    pub(super) fn new(
        options: &Options,
        image: ImageFile,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let identity = Identity::new(options.seed);
        let maker = mkfs::make(options, identity.uuid, &image, progress)?;
        let block = superblock(&image, &maker)?;
        let sb = Superblock::read(&block)?;
        let volume = Volume::new(sb)?;
        let mut this = Self {
            features: features(sb)?,
            generation: identity.generation,
            uuid_hash: uuid_hash(&sb.s_uuid),
            dx_seed: identity.dx_seed,
            slots: sb.s_max_slots.get(),
            root: sb.s_root_blkno.get(),
            xattr_size: sb.s_xattr_inline_size.get(),
            group_clusters: 0,
            bitmap: Bitmap::new(volume.clusters),
            system: HashMap::new(),
            maker,
            image,
            options: options.clone(),
            volume,
        };
        if options.used_slots == 0 || options.used_slots > this.slots {
            return Err(Error::Option(format!(
                "{} slots are to be used and the volume has {}; ask for more slots",
                options.used_slots, this.slots
            )));
        }
        this.system = this.system_files(sb.s_system_dir_blkno.get())?;
        this.read_bitmap()?;
        this.free_root()?;
        this.identify(sb, block.clone())?;
        Ok(this)
    }

    pub(super) fn seal(&self) -> Seal {
        Seal(self.features.metaecc)
    }

    pub(super) fn block_size(&self) -> usize {
        self.volume.block_size()
    }

    /// Reads a block.
    pub(super) fn block(&self, block: u64) -> Result<Vec<u8>, Error> {
        let size = self.block_size();
        self.image.read(block * size as u64, size)
    }

    /// Writes a block.
    pub(super) fn put(&self, block: u64, bytes: &[u8]) -> Result<(), Error> {
        self.image.write(block * self.block_size() as u64, bytes)
    }

    fn unexpected(&self, why: impl Into<String>) -> Error {
        Error::Unexpected {
            maker: self.maker.clone(),
            why: why.into(),
        }
    }

    /// The block of a system file.
    pub(super) fn file(&self, name: &str) -> Result<u64, Error> {
        let found = self.system.get(name).copied();
        found.ok_or_else(|| self.unexpected(format!("there is no system file {name}")))
    }

    /// Names and inodes of a directory of mkfs.ocfs2, whose extents are in its inode.
    fn system_files(&self, directory: u64) -> Result<HashMap<String, u64>, Error> {
        let inode = self.block(directory)?;
        let head = Dinode::read(&inode)?;
        let mut areas = Vec::new();
        if head.has_dynamic(dynamic::INLINE_DATA) {
            let end = (INLINE_DATA + head.i_size.get() as usize).min(inode.len());
            areas.push(inode[INLINE_DATA..end].to_vec());
        } else {
            let list = ExtentList::read(&inode[BODY..])?;
            let blocks = head.i_size.get() >> self.volume.block_bits;
            let all = list.used().flat_map(|record| {
                let first = record.e_blkno.get();
                let count = u64::from(record.leaf_clusters()) * self.volume.blocks_per_cluster();
                first..first + count
            });
            for block in all.take(blocks as usize) {
                areas.push(self.block(block)?);
            }
        }
        let mut found = HashMap::new();
        for area in &areas {
            for (_, entry, name) in directory::entries(area) {
                if entry.inode.get() != 0 {
                    let name = String::from_utf8_lossy(name).into_owned();
                    found.insert(name, entry.inode.get());
                }
            }
        }
        Ok(found)
    }

    /// An allocator by its name.
    pub(super) fn allocator(&self, name: &str, slot: u16) -> Result<Allocator, Error> {
        let inode = self.file(&slot_file(name, slot))?;
        self.allocator_at(inode)
    }

    fn allocator_at(&self, inode: u64) -> Result<Allocator, Error> {
        let block = self.block(inode)?;
        let list = ChainList::read(&block[BODY..])?;
        let head = list.head();
        let mut groups = Vec::new();
        for record in list.first(head.cl_next_free_rec.get().into()) {
            let mut chain = Vec::new();
            let mut at = record.c_blkno.get();
            while at != 0 {
                let descriptor = self.descriptor(at)?;
                chain.push(at);
                at = GroupDescriptor::read(&descriptor)?.bg_next_group.get();
                if chain.len() > 1 << 20 {
                    return Err(self.unexpected("a chain of groups does not end"));
                }
            }
            groups.push(chain);
        }
        Ok(Allocator {
            used: Dinode::read(&block)?.used(),
            inode,
            group_clusters: head.cl_cpg.get().into(),
            bits: u32::from(head.cl_cpg.get()) * u32::from(head.cl_bpc.get()),
            chains: head.cl_count.get(),
            groups,
        })
    }

    fn descriptor(&self, at: u64) -> Result<Vec<u8>, Error> {
        let block = self.block(at)?;
        if GroupDescriptor::read(&block)?.bg_signature != GROUP {
            return Err(self.unexpected(format!("block {at} is not a group descriptor")));
        }
        Ok(block)
    }

    /// Reads the descriptors of the global bitmap at their computed places.
    fn read_bitmap(&mut self) -> Result<(), Error> {
        let inode = self.block(self.file("global_bitmap")?)?;
        self.group_clusters = ChainList::read(&inode[BODY..])?.head().cl_cpg.get().into();
        let groups = self
            .volume
            .groups(self.group_clusters)
            .ok_or_else(|| self.unexpected("the groups of the global bitmap are empty"))?;
        for group in 0..u64::from(groups) {
            let block = self.descriptor(self.volume.group_block(group, self.group_clusters))?;
            let first = group * u64::from(self.group_clusters);
            let bits = GroupDescriptor::read(&block)?.bg_bits.get();
            for (nth, _) in block[BITMAP..]
                .iter()
                .enumerate()
                .filter(|(_, byte)| **byte != 0)
            {
                for bit in nth * 8..(nth * 8 + 8).min(bits.into()) {
                    if chain::bit(&block[BITMAP..], bit) {
                        self.bitmap.set(first + bit as u64, 1);
                    }
                }
            }
        }
        Ok(())
    }

    /// Frees the blocks of the root, which gets others with its names.
    fn free_root(&mut self) -> Result<(), Error> {
        let inode = self.block(self.root)?;
        if Dinode::read(&inode)?.has_dynamic(dynamic::INLINE_DATA) {
            return Ok(());
        }
        let records: Vec<_> = ExtentList::read(&inode[BODY..])?.used().copied().collect();
        for record in records {
            let first = self.volume.cluster_of(record.e_blkno.get());
            for cluster in first..first + u64::from(record.leaf_clusters()) {
                self.bitmap.clear(cluster);
            }
        }
        Ok(())
    }

    /// Gives superblocks, inodes and the descriptors of suballocators the generation, seeds and times of the options; the descriptors of the global
    /// bitmap are written when it is complete.
    fn identify(&self, sb: &Superblock, mut block: Vec<u8>) -> Result<(), Error> {
        let copies = sb.s_feature_compat.get() & 1 != 0;
        let view = superblock_mut(&mut block)?;
        let time = self.time();
        view.i_generation = self.generation.into();
        view.i_fs_generation = self.generation.into();
        for field in [&mut view.i_atime, &mut view.i_ctime, &mut view.i_mtime] {
            *field = time.into();
        }
        view.s_lastcheck = time.into();
        view.s_dx_seed = self.dx_seed.map(Into::into);
        let backups = self.volume.backups().filter(|_| copies);
        for at in std::iter::once(BLOCK).chain(backups) {
            superblock_mut(&mut block)?.i_blkno = at.into();
            self.seal().store(&mut block, dinode::CHECK)?;
            self.put(at, &block)?;
        }
        let mut inodes = vec![self.file("global_inode_alloc")?];
        for slot in 0..self.slots {
            for name in ["extent_alloc", "inode_alloc"] {
                inodes.push(self.file(&slot_file(name, slot))?);
            }
        }
        for inode in inodes {
            for group in self.allocator_at(inode)?.groups.into_iter().flatten() {
                self.identify_group(group)?;
            }
        }
        Ok(())
    }

    /// The descriptor of a suballocator's group, and the inodes in it.
    fn identify_group(&self, group: u64) -> Result<(), Error> {
        let mut block = self.descriptor(group)?;
        let bits = GroupDescriptor::read(&block)?.bg_bits.get();
        GroupDescriptor::read_mut(&mut block)?.bg_generation = self.generation.into();
        self.seal().store(&mut block, GROUP_CHECK)?;
        self.put(group, &block)?;
        for bit in (1..u64::from(bits)).filter(|&bit| chain::bit(&block[BITMAP..], bit as usize)) {
            let mut inode = self.block(group + bit)?;
            let head = Dinode::read_mut(&mut inode)?;
            if head.i_signature != dinode::SIGNATURE {
                continue;
            }
            self.stamp(head);
            self.seal().store(&mut inode, dinode::CHECK)?;
            self.put(group + bit, &inode)?;
        }
        Ok(())
    }

    /// Generation and times of an inode of mkfs.ocfs2.
    fn stamp(&self, head: &mut Dinode) {
        head.i_generation = self.generation.into();
        head.i_fs_generation = self.generation.into();
        let time = self.time();
        for field in [&mut head.i_atime, &mut head.i_ctime, &mut head.i_mtime] {
            *field = time.into();
        }
    }

    /// Seconds since 1970.
    pub(super) fn time(&self) -> u64 {
        self.options.time.cast_unsigned()
    }
}

/// The block with the superblock.
fn superblock(image: &ImageFile, maker: &str) -> Result<Vec<u8>, Error> {
    for size in BLOCK_SIZES {
        let block = image.read(BLOCK * size, size as usize)?;
        let found = Superblock::read(&block).ok();
        if found.is_some_and(|sb| sb.block_size() == Some(size)) {
            return Ok(block);
        }
    }
    Err(Error::Unexpected {
        maker: maker.to_owned(),
        why: "there is no superblock".to_owned(),
    })
}

fn features(sb: &Superblock) -> Result<Features, Error> {
    use ondisk::ocfs2::superblock::{INCOMPAT, RO_COMPAT};
    let has = |table: &[(u64, &str)], field: u32, name: &str| {
        table
            .iter()
            .any(|(bit, known)| *known == name && u64::from(field) & bit != 0)
    };
    let incompat = |name| has(INCOMPAT, sb.s_feature_incompat.get(), name);
    let ro_compat = |name| has(RO_COMPAT, sb.s_feature_ro_compat.get(), name);
    for quota in ["usrquota", "grpquota"] {
        if ro_compat(quota) {
            return Err(Error::Option(format!(
                "the feature {quota} is not possible here: quota files are not filled; clear it (no{quota})"
            )));
        }
    }
    if incompat("heartbeat-device") {
        return Err(Error::Option(
            "a heartbeat device has no files; leave that option out".to_owned(),
        ));
    }
    if incompat("indexed-dirs") && !incompat("inline-data") {
        return Err(Error::Option(
            "the features indexed-dirs without inline-data are not possible here: mkfs.ocfs2 then makes indexes of its own; clear both (noinline-data,noindexed-dirs)".to_owned(),
        ));
    }
    Ok(Features {
        inline_data: incompat("inline-data"),
        indexed_dirs: incompat("indexed-dirs"),
        xattr: incompat("xattr"),
        sparse: incompat("sparse"),
        unwritten: ro_compat("unwritten"),
        discontig: incompat("discontig-bg"),
        metaecc: incompat("metaecc"),
    })
}

/// Bytes of a block before its directory trailer, where it has one.
pub(super) fn directory_room(block_size: usize, trailer: bool) -> usize {
    if trailer {
        Trailer::offset(block_size)
    } else {
        block_size
    }
}

/// The superblock in its block, to be changed.
fn superblock_mut(block: &mut [u8]) -> Result<&mut Superblock, Error> {
    let (have, need) = (block.len(), ondisk::ocfs2::superblock::SIZE);
    Superblock::mut_from_prefix(block)
        .map(|(this, _)| this)
        .map_err(|_| {
            Error::Format(ondisk::Error::Short {
                what: "OCFS2 superblock",
                have,
                need,
            })
        })
}
