//! A filesystem without files, as mke2fs made it.
//!
//! Superblock and descriptors are read back, and the blocks in use, as ranges: three or so for a unit, where a filesystem of
//! half a million groups has gigabytes of bitmaps. The unit of work is the flexible group (a plain group without `flex_bg`):
//! its bitmaps and tables are together, and its files' blocks follow them.

mod taken;
mod unit;

pub(super) use taken::Taken;
pub(super) use unit::Unit;

use std::ops::Range;
use std::path::Path;

use ondisk::ext4::bitmap::Bitmap;
use ondisk::ext4::extent;
use ondisk::ext4::feature::{Compat, Incompat, RoCompat};
use ondisk::ext4::group_descriptor::BLOCK_UNINIT;
use ondisk::ext4::inode::{Inode, number};
use ondisk::ext4::superblock::{FLAG_SIGNED_HASH, FLAG_UNSIGNED_HASH, OFFSET, SIZE, Superblock};
use ondisk::ext4::{Geometry, GroupDescriptor, Seed, quota};

use progress::{Progress, Step};

use super::Options;
use super::mke2fs::{self, Identity};
use super::plan::Home;
use crate::Error;
use crate::image_file::ImageFile;

/// An empty filesystem. Its image is removed when it is dropped before [`write`](super::write()) has completed it.
#[derive(Debug)]
pub struct Layout {
    pub(super) options: Options,
    pub(super) superblock: Superblock,
    pub(super) geometry: Geometry,
    /// Groups of a unit.
    pub(super) unit_groups: u32,
    pub(super) image: ImageFile,
    /// Name and version of the program that made it.
    pub(super) maker: String,
    /// The descriptors, as on disk.
    descriptors: Vec<u8>,
    /// Blocks in use, except for the root's.
    pub(super) taken: Taken,
    /// The root's block.
    pub(super) root: u64,
    /// The reserved inodes and those after them in use, `lost+found` and an orphan file.
    pub(super) reserved: Vec<u8>,
    /// The first inode of the population.
    first_free_inode: u32,
}

impl Layout {
    /// Makes the image at `path`, which must not exist yet, with the filesystem of these options.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] for what mke2fs refuses, or what cannot be made here, [`Error::Start`] without mke2fs, [`Error::Io`]
    /// with the cause when the image cannot be made, [`Error::Stopped`] when `progress` asks to stop.
    pub fn new(options: &Options, path: &Path, progress: &dyn Progress) -> Result<Self, Error> {
        check(options)?;
        let image = ImageFile::create(path, options.size)?;
        progress.begin(Step::new("mke2fs"));
        let identity = identity(options.seed);
        let maker = mke2fs::make(options, identity, &image, progress)?;
        let mut superblock = *Superblock::read(&image.read(OFFSET, SIZE)?)?;
        forgeable(options, &superblock)?;
        superblock.s_def_hash_version = options.hash.to_disk();
        superblock.s_flags = if options.hash.is_unsigned() {
            FLAG_UNSIGNED_HASH
        } else {
            FLAG_SIGNED_HASH
        }
        .into();
        let geometry = Geometry::new(&superblock)?;
        let mut this = Self {
            options: options.clone(),
            unit_groups: geometry.groups_per_flex,
            descriptors: descriptors(&geometry, &image)?,
            image,
            maker,
            taken: Taken::default(),
            root: 0,
            reserved: Vec::new(),
            first_free_inode: 0,
            superblock,
            geometry,
        };
        // Not where nothing changes: XFS writes a file back when it is closed after a truncation.
        if this.size() != options.size {
            this.image.set_len(this.size())?;
        }
        this.read_reserved()?;
        this.read_taken()?;
        this.add_quotas();
        Ok(this)
    }

    /// Bytes of the image, whole blocks.
    pub(super) fn size(&self) -> u64 {
        let block_size = u64::from(self.geometry.block_size);
        self.options.size / block_size * block_size
    }

    /// The inodes that mke2fs made, and the root's block.
    fn read_reserved(&mut self) -> Result<(), Error> {
        let free = self.superblock.s_free_inodes_count.get();
        let used = self.geometry.inodes_count().saturating_sub(free);
        let unit = self.unit_inodes(0);
        if u64::from(used) + 1 >= unit.end || used < Home::LOST_AND_FOUND {
            return Err(Error::Option(format!(
                "{} inodes: the filesystem's own do not fit the first group; ask for more",
                self.geometry.inodes_count()
            )));
        }
        let size = usize::from(self.geometry.inode_size);
        let per_group = self.geometry.inodes_per_group;
        for first in (0..used).step_by(per_group as usize) {
            let table = self.descriptor(first / per_group)?.inode_table();
            let count = per_group.min(used - first) as usize;
            let at = table * u64::from(self.geometry.block_size);
            self.reserved.extend(self.image.read(at, count * size)?);
        }
        self.first_free_inode = used + 1;
        self.root = self.root_block()?;
        Ok(())
    }

    fn root_block(&self) -> Result<u64, Error> {
        let size = self.geometry.inode_size;
        let at = (number::ROOT as usize - 1) * usize::from(size);
        let inode = Inode::read(&self.reserved[at..], size)?;
        if inode.size() != u64::from(self.geometry.block_size) {
            return Err(Error::Option(format!(
                "{} made a root directory of {} bytes, not of a block; take another version of e2fsprogs",
                self.maker,
                inode.size()
            )));
        }
        if !self.extents() {
            return Ok(inode.block_words()[0].into());
        }
        let node = extent::Node::read(&inode.raw().i_block)?;
        let first = node.extents().next();
        Ok(first.map_or(0, |run| run.start))
    }

    /// The blocks in use, from the bitmaps; of a group without one, from its descriptor.
    fn read_taken(&mut self) -> Result<(), Error> {
        let geometry = &self.geometry;
        let block_size = geometry.block_size as usize;
        let cluster = u64::from(geometry.cluster_blocks);
        let tables = u64::from(geometry.inode_table_blocks());
        let mut taken = Taken::default();
        for group in 0..geometry.groups {
            let desc = self.descriptor(group)?;
            let blocks = geometry.group_blocks(group);
            if desc.has_flags(BLOCK_UNINIT) {
                let layout = geometry.group_layout(group);
                let own = |start: u64, len: u64| {
                    let inside = blocks.contains(&start);
                    start..if inside { start + len } else { start }
                };
                for range in [
                    layout.superblock.map_or(0..0, |block| block..block + 1),
                    layout.descriptors.start..layout.reserved_gdt.end,
                    own(desc.block_bitmap(), 1),
                    own(desc.inode_bitmap(), 1),
                    own(desc.inode_table(), tables),
                ] {
                    taken.insert(range);
                }
                continue;
            }
            let at = desc.block_bitmap() * block_size as u64;
            let bytes = self.image.read(at, block_size)?;
            let bitmap = Bitmap::new(&bytes, geometry.group_clusters(group))?;
            for run in bitmap.runs(true) {
                let start = blocks.start + u64::from(run.start) * cluster;
                let end = blocks.start + u64::from(run.end) * cluster;
                taken.insert(start..end.min(blocks.end));
            }
        }
        taken.remove(self.root..self.root + cluster);
        self.taken = taken;
        Ok(())
    }

    /// mke2fs would make quota files that know of root alone.
    fn add_quotas(&mut self) {
        if !wants_quota(&self.options) {
            return;
        }
        let sb = &mut self.superblock;
        sb.s_feature_ro_compat = sb.ro_compat().with(RoCompat::QUOTA).0.into();
        sb.s_usr_quota_inum = number::USR_QUOTA.into();
        sb.s_grp_quota_inum = number::GRP_QUOTA.into();
        if sb.has_ro_compat(RoCompat::PROJECT) {
            sb.s_prj_quota_inum = self.first_free_inode.into();
            self.first_free_inode += 1;
            let size = usize::from(self.geometry.inode_size);
            self.reserved.resize(self.reserved.len() + size, 0);
        }
    }

    /// The superblock, complete but for what depends on the files (the counts of free blocks and inodes). For a population
    /// that must know block size, features and hash seed.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Inodes that files may use.
    pub fn free_inodes(&self) -> u64 {
        u64::from(self.geometry.inodes_count()) - u64::from(self.first_free_inode - 1)
    }

    /// The first inode of the population, after `lost+found`, the orphan file and the quotas of projects.
    pub(super) fn first_free_inode(&self) -> u32 {
        self.first_free_inode
    }

    /// The quota files, with their inodes.
    pub(super) fn quotas(&self) -> impl Iterator<Item = (quota::Kind, u32)> + use<> {
        let sb = &self.superblock;
        let there = sb.has_ro_compat(RoCompat::QUOTA);
        [
            (quota::Kind::User, sb.s_usr_quota_inum.get()),
            (quota::Kind::Group, sb.s_grp_quota_inum.get()),
            (quota::Kind::Project, sb.s_prj_quota_inum.get()),
        ]
        .into_iter()
        .filter(move |(_, ino)| there && *ino != 0)
    }

    pub(super) fn descriptor(&self, group: u32) -> Result<GroupDescriptor, Error> {
        let size = usize::from(self.geometry.desc_size);
        let at = group as usize * size;
        let bytes = &self.descriptors[at..at + size];
        Ok(GroupDescriptor::read(bytes, self.geometry.desc_size)?)
    }

    pub(super) fn seed(&self) -> Option<Seed> {
        self.superblock.metadata_seed()
    }

    pub(super) fn extents(&self) -> bool {
        self.superblock.has_incompat(Incompat::EXTENTS)
    }

    pub(super) fn huge_file(&self) -> bool {
        self.superblock.has_ro_compat(RoCompat::HUGE_FILE)
    }

    /// Whether descriptors carry checksums, and groups may therefore be left uninitialised.
    pub(super) fn uninit(&self) -> bool {
        self.superblock.has_ro_compat(RoCompat::METADATA_CSUM)
            || self.superblock.has_ro_compat(RoCompat::GDT_CSUM)
    }

    /// The generation of an inode: as random as the kernel's, but the same each time.
    pub(super) fn generation(&self, ino: u32) -> u32 {
        mix(self.options.seed ^ u64::from(ino) << 20) as u32
    }
}

/// SplitMix64's finaliser (Steele, Lea and Flood 2014): spreads a counter over 64 bits.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// UUID and hash seed of a random seed.
fn identity(seed: u64) -> Identity {
    let half = |nth: u64| mix(seed.wrapping_add(0x0066_736c_6162) ^ nth << 56);
    let joined = |first: u64, second: u64| {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&first.to_le_bytes());
        bytes[8..].copy_from_slice(&second.to_le_bytes());
        bytes
    };
    let mut uuid = joined(half(0), half(1));
    // A random UUID: version 4, variant 1 (RFC 9562).
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    let word = |nth: u64| half(nth) & 0xffff_ffff | 1;
    let hash_seed = joined(word(2) | word(3) << 32, word(4) | word(5) << 32);
    Identity { uuid, hash_seed }
}

/// Refuses what mke2fs would take for something else, or report badly.
fn check(options: &Options) -> Result<(), Error> {
    let power = |what: &str, value: Option<u64>, within: Range<u64>| match value {
        Some(value) if !(value.is_power_of_two() && within.contains(&value)) => {
            Err(Error::Option(format!(
                "{what} {value}: not a power of two within {}..={}",
                within.start,
                within.end - 1
            )))
        }
        _ => Ok(()),
    };
    power("block size", options.block_size.map(u64::from), 1024..65537)?;
    power(
        "cluster size",
        options.cluster_size.map(u64::from),
        1024..(1 << 29) + 1,
    )?;
    power("inode size", options.inode_size.map(u64::from), 128..65537)?;
    power(
        "groups of a flexible group",
        options.flex_groups.map(u64::from),
        1..(1 << 16) + 1,
    )?;
    let block_size = u64::from(options.block_size.unwrap_or(4096));
    let why = if options.label.len() > 16 {
        format!("label {:?}: longer than 16 bytes", options.label)
    } else if options.journal_mib == Some(0) {
        "a journal of 0 MiB: ask for more, or clear the feature has_journal".to_owned()
    } else if options.size < 8 * 1024 {
        format!(
            "{} bytes are too few for a filesystem: ask for more",
            options.size
        )
    } else if options.size / (block_size * block_size * 8) > u64::from(u32::MAX / 8) {
        // Every group has eight inodes at least, and an inode's number 32 bits.
        format!(
            "{} bytes: more groups than a filesystem with blocks of {block_size} bytes may have; ask for fewer bytes or larger blocks",
            options.size
        )
    } else {
        return Ok(());
    };
    Err(Error::Option(why))
}

/// Features that need contents of their own, which are not made here.
const NOT_FORGED: &[&str] = &[
    "dir_prealloc",
    "imagic_inodes",
    "lazy_bg",
    "exclude_inode",
    "snapshot_bitmap",
    "compression",
    "needs_recovery",
    "journal_dev",
    "dirdata",
    "btree_dir",
    "has_snapshot",
    "replica",
    "read-only",
    "shared_blocks",
    "orphan_present",
];

/// Refuses a filesystem that mke2fs made and that cannot be filled here.
fn forgeable(options: &Options, sb: &Superblock) -> Result<(), Error> {
    let names = [
        sb.compat().all_names(),
        sb.incompat().all_names(),
        sb.ro_compat().all_names(),
    ]
    .concat();
    let not = |name: &&String| name.starts_with("0x") || NOT_FORGED.contains(&name.as_str());
    if let Some(name) = names.iter().find(not) {
        return Err(Error::Option(format!(
            "feature {name}: cannot be forged; leave it out, or clear it with ^{name}"
        )));
    }
    match options.journal_mib {
        Some(mib) if !sb.has_compat(Compat::HAS_JOURNAL) => Err(Error::Option(format!(
            "a journal of {mib} MiB does not fit: ask for less, or for a larger image"
        ))),
        _ => Ok(()),
    }
}

fn wants_quota(options: &Options) -> bool {
    let names = options.features.names.iter();
    let last = names
        .rev()
        .find(|name| name.trim_start_matches('^') == "quota");
    last.is_some_and(|name| !name.starts_with('^'))
}

/// The whole table of descriptors.
fn descriptors(geometry: &Geometry, image: &ImageFile) -> Result<Vec<u8>, Error> {
    let block_size = geometry.block_size as usize;
    let mut all = Vec::with_capacity(geometry.desc_blocks() as usize * block_size);
    for index in 0..geometry.desc_blocks() {
        let block = geometry.desc_block(index).unwrap_or(0);
        all.extend(image.read(block * block_size as u64, block_size)?);
    }
    Ok(all)
}
