//! Whether a superblock is good enough to open a filesystem by it.
//!
//! e2fsck has its library open the filesystem, which looks at few fields: those without which nothing can be computed. Which
//! backup is tried, and whether one is, depends on what the library refuses and in which order it looks, so that order is kept here.
//! A superblock that passes may still have fields out of range; those are findings (`limits`).

use blockio::{BlockSource, ReadError};
use ondisk::ext4::feature::{Compat, Incompat, RoCompat};
use ondisk::ext4::superblock::{OFFSET, SIZE};
use ondisk::ext4::{Error, Geometry, Superblock};
use zerocopy::FromBytes;

/// Why a superblock is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] ReadError),
    #[error("s_magic is {0:#06x} instead of 0xef53")]
    Magic(u16),
    #[error("s_checksum is {stored:#010x} and its bytes give {computed:#010x}")]
    Checksum { stored: u32, computed: u32 },
    #[error("s_checksum_type is {0}, and 1 is the only one there is")]
    ChecksumType(u8),
    #[error("s_rev_level is {0}, and 1 is the highest there is")]
    Revision(u32),
    #[error("s_feature_incompat has unknown bits ({0:#x})")]
    Incompat(u32),
    #[error("it is that of an external journal")]
    JournalDevice,
    #[error("{field} is {found}: {problem}")]
    Corrupt {
        field: &'static str,
        found: u64,
        problem: &'static str,
    },
    #[error("s_desc_size is {0}, which is no power of two within 64..=1024")]
    DescriptorSize(u16),
    #[error("its blocks are of {0} bytes, others than were asked for")]
    BlockSize(u32),
    #[error("its descriptors take {needs} bytes of memory, and {limit} are allowed")]
    Memory { needs: u64, limit: u64 },
}

impl Refusal {
    /// Whether e2fsck then tries a backup.
    pub(super) fn asks_for_backup(&self) -> bool {
        matches!(
            self,
            Refusal::Magic(_) | Refusal::Checksum { .. } | Refusal::Corrupt { .. }
        )
    }

    /// Whether e2fsck then tries once more and looks at less.
    pub(super) fn may_be_overlooked(&self) -> bool {
        matches!(self, Refusal::Corrupt { .. } | Refusal::DescriptorSize(_))
    }
}

/// Features that e2fsck 1.47 knows and checks.
pub(super) fn unknown_features(sb: &Superblock) -> (u32, u32) {
    let compat = Compat::DIR_PREALLOC
        .with(Compat::IMAGIC_INODES)
        .with(Compat::HAS_JOURNAL)
        .with(Compat::EXT_ATTR)
        .with(Compat::RESIZE_INODE)
        .with(Compat::DIR_INDEX)
        .with(Compat::SPARSE_SUPER2)
        .with(Compat::FAST_COMMIT)
        .with(Compat::STABLE_INODES)
        .with(Compat::ORPHAN_FILE);
    let ro_compat = RoCompat::SPARSE_SUPER
        .with(RoCompat::LARGE_FILE)
        .with(RoCompat::HUGE_FILE)
        .with(RoCompat::GDT_CSUM)
        .with(RoCompat::DIR_NLINK)
        .with(RoCompat::EXTRA_ISIZE)
        .with(RoCompat::QUOTA)
        .with(RoCompat::BIGALLOC)
        .with(RoCompat::METADATA_CSUM)
        .with(RoCompat::READONLY)
        .with(RoCompat::PROJECT)
        .with(RoCompat::SHARED_BLOCKS)
        .with(RoCompat::VERITY)
        .with(RoCompat::ORPHAN_PRESENT);
    (
        sb.compat().without(compat).0,
        sb.ro_compat().without(ro_compat).0,
    )
}

fn unknown_incompat(sb: &Superblock) -> u32 {
    let known = Incompat::FILETYPE
        .with(Incompat::RECOVER)
        .with(Incompat::JOURNAL_DEV)
        .with(Incompat::META_BG)
        .with(Incompat::EXTENTS)
        .with(Incompat::BIT64)
        .with(Incompat::MMP)
        .with(Incompat::FLEX_BG)
        .with(Incompat::EA_INODE)
        .with(Incompat::CSUM_SEED)
        .with(Incompat::LARGEDIR)
        .with(Incompat::INLINE_DATA)
        .with(Incompat::ENCRYPT)
        .with(Incompat::CASEFOLD);
    sb.incompat().without(known).0
}

/// A superblock the library takes.
#[derive(Clone, Debug)]
pub(super) struct OpenedSuperblock {
    pub sb: Superblock,
    /// Its own block when it is a backup that was asked for.
    pub backup: Option<u64>,
    /// Its arithmetic, or the field that forbids it.
    pub geometry: Result<Geometry, Error>,
    pub groups: u64,
}

/// Reads and judges a superblock: the primary, or that at a block of the given size. `overlook` leaves out what e2fsck
/// leaves out when it tries despite errors.
pub(super) fn take(
    source: &dyn BlockSource,
    backup: Option<(u64, u32)>,
    overlook: bool,
) -> Result<OpenedSuperblock, Refusal> {
    let sb = read(source, backup)?;
    identity(&sb)?;
    let groups = arithmetic(&sb, backup.map(|(_, size)| size), overlook)?;
    let mut sane = sb;
    if sb.s_log_groups_per_flex > 31 {
        // Only where new groups would be put.
        sane.s_log_groups_per_flex = 0;
    }
    Ok(OpenedSuperblock {
        sb,
        backup: backup.map(|(block, _)| block),
        geometry: Geometry::new(&sane),
        groups,
    })
}

/// The bytes at the place of a superblock, whatever they are.
pub(super) fn read(
    source: &dyn BlockSource,
    backup: Option<(u64, u32)>,
) -> Result<Superblock, ReadError> {
    let at = backup.map_or(OFFSET, |(block, size)| {
        block.saturating_mul(u64::from(size))
    });
    let mut bytes = [0; SIZE];
    source.read_at(&mut bytes, at)?;
    // As long as the structure, which has no invalid bytes: this cannot fail.
    Ok(Superblock::read_from_bytes(&bytes).unwrap_or_else(|_| Superblock::empty()))
}

/// Magic, checksum, revision and features.
fn identity(sb: &Superblock) -> Result<(), Refusal> {
    if sb.s_magic.get() != ondisk::ext4::superblock::MAGIC {
        return Err(Refusal::Magic(sb.s_magic.get()));
    }
    if let Some(sum) = sb.checksum() {
        if !sum.matches() {
            return Err(Refusal::Checksum {
                stored: sum.stored,
                computed: sum.computed,
            });
        }
        if sb.s_checksum_type != 1 {
            return Err(Refusal::ChecksumType(sb.s_checksum_type));
        }
    }
    if sb.s_rev_level.get() > 1 {
        return Err(Refusal::Revision(sb.s_rev_level.get()));
    }
    match unknown_incompat(sb) {
        0 => {}
        bits => return Err(Refusal::Incompat(bits)),
    }
    if sb.has_incompat(Incompat::JOURNAL_DEV) {
        return Err(Refusal::JournalDevice);
    }
    Ok(())
}

fn must(
    fits: bool,
    field: &'static str,
    found: impl Into<u64>,
    problem: &'static str,
) -> Result<(), Refusal> {
    if fits {
        return Ok(());
    }
    Err(Refusal::Corrupt {
        field,
        found: found.into(),
        problem,
    })
}

/// Most clusters of a group.
pub(super) const MAX_CLUSTERS: u64 = (1 << 16) - 8;

/// The fields the number of groups depends on; that number.
fn arithmetic(sb: &Superblock, asked: Option<u32>, overlook: bool) -> Result<u64, Refusal> {
    let (log, cluster_log) = (sb.s_log_block_size.get(), sb.s_log_cluster_size.get());
    must(log <= 6, "s_log_block_size", log, "it is above 6")?;
    let bigalloc = sb.has_ro_compat(RoCompat::BIGALLOC);
    must(
        (bigalloc && (log..=19).contains(&cluster_log)) || cluster_log == log,
        "s_log_cluster_size",
        cluster_log,
        "it does not fit s_log_block_size",
    )?;
    let block_size = 1024_u64 << log;
    let inode_size = u64::from(sb.inode_size());
    must(
        (128..=block_size).contains(&inode_size) && inode_size.is_power_of_two(),
        "s_inode_size",
        inode_size,
        "it is no power of two from 128 to the block size",
    )?;
    let long = sb.has_incompat(Incompat::BIT64);
    let desc_size = sb.s_desc_size.get();
    let legal = (64..=1024).contains(&desc_size) && desc_size.is_power_of_two();
    if long && (desc_size == 0 || !(overlook || legal || u64::from(desc_size) > block_size)) {
        return Err(Refusal::DescriptorSize(desc_size));
    }
    must(
        sb.s_log_groups_per_flex <= 31,
        "s_log_groups_per_flex",
        sb.s_log_groups_per_flex,
        "it is above 31",
    )?;
    if let Some(asked) = asked
        && u64::from(asked) != block_size
    {
        return Err(Refusal::BlockSize(block_size as u32));
    }
    groups(sb, block_size, cluster_log - log, overlook)
}

/// Blocks of a group's inode table as the library counts them, with 32 bits: a table of 4 GiB has none.
pub(super) fn table_blocks(sb: &Superblock) -> u64 {
    let block_size = sb.block_size();
    let inode_size = u32::from(sb.inode_size());
    let bytes = sb.s_inodes_per_group.get().wrapping_mul(inode_size);
    u64::from(bytes.wrapping_add(block_size - 1) / block_size)
}

fn groups(
    sb: &Superblock,
    block_size: u64,
    ratio_log: u32,
    overlook: bool,
) -> Result<u64, Refusal> {
    let blocks_per_group = u64::from(sb.s_blocks_per_group.get());
    must(
        blocks_per_group == u64::from(sb.s_clusters_per_group.get()) << ratio_log,
        "s_blocks_per_group",
        blocks_per_group,
        "it is not s_clusters_per_group times the blocks of a cluster",
    )?;
    let inodes_per_group = u64::from(sb.s_inodes_per_group.get());
    let inode_size = u64::from(sb.inode_size());
    must(
        inodes_per_group > 0 && table_blocks(sb) <= (1 << 16) - block_size / inode_size,
        "s_inodes_per_group",
        inodes_per_group,
        "the inode table would be of no size, or of a size that cannot be",
    )?;
    must(
        (1..=MAX_CLUSTERS << ratio_log).contains(&blocks_per_group),
        "s_blocks_per_group",
        blocks_per_group,
        "it is out of range",
    )?;
    let desc_size = u64::from(sb.desc_size());
    must(
        desc_size <= block_size,
        "s_desc_size",
        desc_size,
        "it is larger than a block",
    )?;
    let first = u64::from(sb.s_first_data_block.get());
    must(
        first < sb.blocks_count(),
        "s_first_data_block",
        first,
        "it is past the last block",
    )?;
    let groups = (sb.blocks_count() - first).div_ceil(blocks_per_group);
    must(
        groups >> 32 == 0,
        "s_blocks_count",
        sb.blocks_count(),
        "there would be more than 2^32 groups",
    )?;
    if overlook {
        return Ok(groups);
    }
    let inodes = sb.s_inodes_count.get();
    must(
        groups * inodes_per_group == u64::from(inodes),
        "s_inodes_count",
        inodes,
        "it is not the number of groups times s_inodes_per_group",
    )?;
    let desc_blocks = groups.div_ceil((block_size / desc_size).max(1));
    let first_meta_bg = u64::from(sb.s_first_meta_bg.get());
    must(
        !sb.has_incompat(Incompat::META_BG) || first_meta_bg <= desc_blocks,
        "s_first_meta_bg",
        first_meta_bg,
        "it is past the last block of descriptors",
    )?;
    Ok(groups)
}
