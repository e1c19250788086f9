//! A filesystem without files: its superblock, and where its tables lie.
//!
//! The layout is that of mke2fs to the block. Everything in it is computed from the superblock on
//! demand, and nothing is kept for a group: half a million groups cost nothing before they are
//! written. The unit of work is the flexible group (a plain group without `flex_bg`): its bitmaps
//! and tables lie together, its files' blocks after them.

mod taken;
mod unit;

pub(super) use taken::Taken;
pub(super) use unit::Unit;

use ondisk::ext4::feature::{Compat, Incompat, RoCompat};
use ondisk::ext4::inode::number;
use ondisk::ext4::superblock::{FLAG_SIGNED_HASH, FLAG_UNSIGNED_HASH, Superblock};
use ondisk::ext4::{Geometry, Seed, quota};

use super::Options;
use super::plan::Home;
use super::sizes::{self, Sizes};
use crate::Error;

/// The superblock of a filesystem to be, and all arithmetic of it.
#[derive(Debug, Clone)]
pub struct Layout {
    pub(super) options: Options,
    pub(super) superblock: Superblock,
    pub(super) geometry: Geometry,
    /// Groups of a unit.
    pub(super) unit_groups: u32,
    /// Blocks of the journal, those for fast commits among them; 0 for none.
    pub(super) journal_blocks: u32,
    /// Blocks at its end for fast commits.
    pub(super) fast_commit_blocks: u32,
    /// Blocks of the orphan file, 0 for none.
    pub(super) orphan_blocks: u32,
}

impl Layout {
    /// The layout for these options.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] for what mke2fs would refuse, or what cannot be made here.
    pub fn new(options: &Options) -> Result<Self, Error> {
        let sizes = Sizes::of(options)?;
        if options.label.len() > 16 {
            return Err(Error::Option(format!(
                "label {:?}: longer than 16 bytes",
                options.label
            )));
        }
        let mut superblock = fill(options, &sizes);
        let geometry = Geometry::new(&superblock)?;
        let mut journal_blocks = journal(options, &sizes, &geometry)?;
        if journal_blocks == 0 {
            let compat = superblock.compat();
            superblock.s_feature_compat = compat
                .without(Compat::HAS_JOURNAL)
                .without(Compat::ORPHAN_FILE)
                .0
                .into();
        } else {
            superblock.s_journal_inum = ondisk::ext4::inode::number::JOURNAL.into();
        }
        let fast_commit_blocks = if superblock.has_compat(Compat::FAST_COMMIT) && journal_blocks > 0
        {
            // By the default size of the journal, not the requested one.
            sizes::journal_blocks(sizes.blocks).unwrap_or(0) / JOURNAL_FOR_FAST_COMMITS
        } else {
            0
        };
        journal_blocks += fast_commit_blocks;
        large_file(&mut superblock);
        for (kind, ino) in quotas(&superblock) {
            match kind {
                quota::Kind::User => superblock.s_usr_quota_inum = ino.into(),
                quota::Kind::Group => superblock.s_grp_quota_inum = ino.into(),
                quota::Kind::Project => superblock.s_prj_quota_inum = ino.into(),
            }
        }
        let orphan_blocks = if superblock.has_compat(Compat::ORPHAN_FILE) {
            superblock.s_orphan_file_inum = first_behind_quotas(&superblock).into();
            sizes::orphan_blocks(sizes.blocks)
                .next_multiple_of(sizes.cluster_size / sizes.block_size)
        } else {
            0
        };
        Ok(Self {
            options: options.clone(),
            superblock,
            unit_groups: 1 << sizes.log_groups_per_flex,
            geometry,
            journal_blocks,
            fast_commit_blocks,
            orphan_blocks,
        })
    }

    /// The superblock, complete but for what depends on the files (the counts of free blocks and inodes). For a population
    /// that must know block size, features and hash seed.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Inodes that files may use.
    pub fn free_inodes(&self) -> u64 {
        u64::from(self.geometry.inodes_count()) - u64::from(self.first_free_inode() - 1)
    }

    /// The first inode of the population, after `lost+found`, the quotas of projects, and the orphan file.
    pub(super) fn first_free_inode(&self) -> u32 {
        first_behind_quotas(&self.superblock) + u32::from(self.orphan_blocks > 0)
    }

    /// The inode of the orphan file, if there is one.
    pub(super) fn orphan_inode(&self) -> Option<u32> {
        (self.orphan_blocks > 0).then(|| self.superblock.s_orphan_file_inum.get())
    }

    /// The quota files that there are, with their inodes.
    pub(super) fn quotas(&self) -> impl Iterator<Item = (quota::Kind, u32)> {
        quotas(&self.superblock)
    }

    pub(super) fn units(&self) -> u32 {
        self.geometry.groups.div_ceil(self.unit_groups)
    }

    pub(super) fn seed(&self) -> Option<Seed> {
        self.superblock.metadata_seed()
    }

    pub(super) fn extents(&self) -> bool {
        self.superblock.has_incompat(Incompat::EXTENTS)
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

/// Seconds between two signs of life of who mounts a filesystem protected against being mounted twice.
pub(super) const MMP_INTERVAL: u16 = 5;

/// Blocks of a journal for each of its blocks for fast commits.
const JOURNAL_FOR_FAST_COMMITS: u32 = 64;

fn quotas(sb: &Superblock) -> impl Iterator<Item = (quota::Kind, u32)> + use<> {
    let there = sb.has_ro_compat(RoCompat::QUOTA);
    let project = there && sb.has_ro_compat(RoCompat::PROJECT);
    [
        (quota::Kind::User, number::USR_QUOTA, there),
        (quota::Kind::Group, number::GRP_QUOTA, there),
        (quota::Kind::Project, Home::LOST_AND_FOUND + 1, project),
    ]
    .into_iter()
    .filter_map(|(kind, ino, there)| there.then_some((kind, ino)))
}

/// The first inode after `lost+found` and the quotas of projects, which have no number of their own.
fn first_behind_quotas(sb: &Superblock) -> u32 {
    let last = quotas(sb).map(|(_, ino)| ino).max().unwrap_or(0);
    last.max(Home::LOST_AND_FOUND) + 1
}

/// SplitMix64's finaliser (Steele, Lea and Flood 2014): spreads a counter over 64 bits.
pub(super) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// The resize inode is a file of more than 2 GiB where blocks are of 4 KiB or more.
fn large_file(sb: &mut Superblock) {
    if sb.has_compat(Compat::RESIZE_INODE) && sb.s_log_block_size.get() >= 2 {
        sb.s_feature_ro_compat = sb.ro_compat().with(RoCompat::LARGE_FILE).0.into();
    }
}

fn journal(options: &Options, sizes: &Sizes, geometry: &Geometry) -> Result<u32, Error> {
    if !sizes.features.journal() {
        return Ok(0);
    }
    let Some(mib) = options.journal_mib else {
        return Ok(sizes::journal_blocks(sizes.blocks).unwrap_or(0));
    };
    let blocks = u64::from(mib) * (1 << 20) / u64::from(sizes.block_size);
    let most = 10_240_000.min(free_blocks(sizes, geometry) / 2);
    if !(1024..=most).contains(&blocks) {
        return Err(Error::Option(format!(
            "a journal of {mib} MiB is {blocks} blocks: there may be 1024 to {most}"
        )));
    }
    Ok(blocks as u32)
}

/// Free blocks as mke2fs counts them before it makes the journal: bitmaps and tables of flexible groups are not placed yet.
fn free_blocks(sizes: &Sizes, geometry: &Geometry) -> u64 {
    let own = if sizes.log_groups_per_flex == 0 {
        2 + u64::from(geometry.inode_table_blocks())
    } else {
        0
    };
    geometry
        .group_layouts()
        .map(|group| {
            let copies = u64::from(group.superblock.is_some()) + group.reserved_gdt.end
                - group.descriptors.start;
            (group.blocks.end - group.blocks.start).saturating_sub(copies + own)
        })
        .sum()
}

fn fill(options: &Options, sizes: &Sizes) -> Superblock {
    let mut sb = Superblock::empty();
    let features = &sizes.features;
    let groups = (sizes.blocks - u64::from(sizes.first_data_block))
        .div_ceil(sizes.blocks_per_group.into()) as u32;
    sb.s_feature_compat = features.compat.0.into();
    sb.s_feature_incompat = features.incompat.0.into();
    sb.s_feature_ro_compat = features.ro_compat.0.into();
    sb.s_inodes_count = (groups * sizes.inodes_per_group).into();
    sb.set_blocks_count(sizes.blocks);
    sb.set_r_blocks_count(sizes.reserved_blocks);
    sb.s_first_data_block = sizes.first_data_block.into();
    sb.s_log_block_size = (sizes.block_size / 1024).trailing_zeros().into();
    sb.s_log_cluster_size = (sizes.cluster_size / 1024).trailing_zeros().into();
    sb.s_blocks_per_group = sizes.blocks_per_group.into();
    sb.s_clusters_per_group = sizes.clusters_per_group.into();
    sb.s_inodes_per_group = sizes.inodes_per_group.into();
    sb.s_max_mnt_count = 0xffff.into();
    sb.s_state = 1.into();
    sb.s_errors = 1.into();
    sb.s_first_ino = 11.into();
    sb.s_inode_size = sizes.inode_size.into();
    sb.s_reserved_gdt_blocks = (sizes.reserved_gdt_blocks as u16).into();
    sb.s_def_hash_version = options.hash.to_disk();
    sb.s_flags = if options.hash.is_unsigned() {
        FLAG_UNSIGNED_HASH
    } else {
        FLAG_SIGNED_HASH
    }
    .into();
    // acl and user_xattr.
    sb.s_default_mount_opts = 0xc.into();
    sb.s_log_groups_per_flex = sizes.log_groups_per_flex;
    if features.bit64() {
        sb.s_desc_size = sizes.desc_size.into();
    }
    if sizes.inode_size >= 256 {
        sb.s_min_extra_isize = 32.into();
        sb.s_want_extra_isize = 32.into();
    }
    if features.metadata_csum() {
        sb.s_checksum_type = 1;
    }
    if features.incompat.contains(Incompat::MMP) {
        sb.s_mmp_interval = MMP_INTERVAL.into();
    }
    if features.incompat.contains(Incompat::CASEFOLD) {
        sb.s_encoding = ondisk::ext4::casefold::UTF8_12_1.into();
    }
    if features.incompat.contains(Incompat::ENCRYPT) {
        // AES-256-XTS for contents, AES-256-CTS for names, as mke2fs names them.
        sb.s_encrypt_algos = [1, 4, 0, 0];
    }
    if features.compat.contains(Compat::SPARSE_SUPER2) {
        // The second group and the last one, ascending; with two groups both are one.
        let last = groups - 1;
        let first = u32::from(last > 1);
        sb.s_backup_bgs = [first.into(), last.into()];
    }
    identify(&mut sb, options);
    sb
}

/// What differs between two filesystems of the same shape: names, times, random numbers.
fn identify(sb: &mut Superblock, options: &Options) {
    let time = options.time.clamp(0, 0xff_ffff_ffff);
    let (low, high) = (time as u32, (time >> 32) as u8);
    sb.s_wtime = low.into();
    sb.s_wtime_hi = high;
    sb.s_mkfs_time = low.into();
    sb.s_mkfs_time_hi = high;
    sb.s_lastcheck = low.into();
    sb.s_lastcheck_hi = high;
    let label = options.label.as_bytes();
    sb.s_volume_name[..label.len()].copy_from_slice(label);
    let mut random = (0..).map(|nth| mix(options.seed.wrapping_add(0x0066_736c_6162) ^ nth << 56));
    for half in sb.s_uuid.chunks_exact_mut(8) {
        half.copy_from_slice(&random.next().unwrap_or(0).to_le_bytes());
    }
    // A random UUID: version 4, variant 1 (RFC 9562).
    sb.s_uuid[6] = sb.s_uuid[6] & 0x0f | 0x40;
    sb.s_uuid[8] = sb.s_uuid[8] & 0x3f | 0x80;
    for word in &mut sb.s_hash_seed {
        *word = (random.next().unwrap_or(0) as u32 | 1).into();
    }
    if sb.has_incompat(Incompat::CSUM_SEED) {
        sb.s_checksum_seed = Seed::of_uuid(&sb.s_uuid).0.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext4::FsType;
    use proptest::prelude::*;
    use testkit::mke2fs::FEATURES;

    fn any_options() -> impl Strategy<Value = Options> {
        let size = (10_u32..64, any::<u64>()).prop_map(|(bits, random)| random >> (64 - bits));
        let fs_type = prop_oneof![Just(FsType::Ext2), Just(FsType::Ext3), Just(FsType::Ext4)];
        let maybe = |range: std::ops::Range<u32>| {
            proptest::option::of(range.prop_map(|bits| 1_u32 << bits))
        };
        let inodes = proptest::option::of((0_u32..33, any::<u64>()));
        let features = proptest::sample::subsequence(FEATURES, 0..5);
        (
            size,
            fs_type,
            maybe(10..17),
            maybe(7..13),
            inodes,
            maybe(0..7),
            features,
        )
            .prop_map(
                |(size, fs_type, block_size, inode_size, inodes, flex_groups, features)| {
                    let mut options = Options::new(size, fs_type);
                    options.block_size = block_size;
                    options.inode_size = inode_size.map(|size| size as u16);
                    options.inodes = inodes.map(|(bits, random)| random >> (63 - bits));
                    options.flex_groups = flex_groups;
                    options.features.names = features.iter().map(ToString::to_string).collect();
                    options
                },
            )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn any_options_give_a_layout_or_a_reason(options in any_options()) {
            match Layout::new(&options) {
                Err(error) => prop_assert!(error.to_string().len() > 20),
                Ok(layout) => {
                    let geometry = &layout.geometry;
                    prop_assert!(geometry.blocks_count * u64::from(geometry.block_size) <= options.size);
                    prop_assert!(layout.free_inodes() > 0);
                    for number in [0, layout.units() / 2, layout.units() - 1] {
                        let Ok(unit) = layout.unit(number) else { continue };
                        let tables = u64::from(geometry.inode_table_blocks()) + 2;
                        let copies: u64 = unit.copies.ranges().iter().map(|range| range.end - range.start).sum();
                        let taken: u64 = unit.taken.ranges().iter().map(|range| range.end - range.start).sum();
                        prop_assert_eq!(taken, copies + tables * unit.places.len() as u64);
                        prop_assert!(unit.taken.ranges().last().is_some_and(|last| last.end <= unit.blocks.end));
                    }
                }
            }
        }
    }
}
