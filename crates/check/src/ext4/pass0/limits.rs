//! The fields of the superblock, each by itself.

use ondisk::ext4::Superblock;
use ondisk::ext4::feature::{Incompat, RoCompat};
use ondisk::ext4::inode::number;
use ondisk::ext4::superblock::FLAG_TEST_FILESYS;

use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P0_64BIT_WITHOUT_EXTENTS, P0_BAD_MIN_EXTRA_ISIZE, P0_BAD_WANT_EXTRA_ISIZE,
    P0_CLEAR_TESTFS_FLAG, P0_CSUM_SEED_WITHOUT_META_CSUM, P0_FIRST_DATA_BLOCK,
    P0_FIRST_META_BG_TOO_BIG, P0_FS_REV_LEVEL, P0_FS_SIZE_WRONG, P0_FUTURE_SB_LAST_MOUNT,
    P0_FUTURE_SB_LAST_MOUNT_FUDGED, P0_FUTURE_SB_LAST_WRITE, P0_FUTURE_SB_LAST_WRITE_FUDGED,
    P0_HURD_CLEAR_FILETYPE, P0_INODE_COUNT_BIG, P0_INODE_COUNT_WRONG, P0_INVALID_QUOTA_INO,
    P0_META_AND_GDT_CSUM_SET, P0_MISC_CORRUPT_SUPER, P0_OPEN_FAILED,
};
use crate::ext4::e2fsck::stops;
use crate::ext4::pass0::libext2fs_open;
use crate::ext4::pass0::libext2fs_open::MAX_CLUSTERS;
use crate::ext4::volume::Volume;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;

/// Tolerance of clocks, seconds: e2fsck's default.
const FUDGE: i64 = 86_400;
/// `s_encoding`: UTF-8 by Unicode 12.1, the only encoding defined.
const UTF8: u16 = 1;
/// `s_creator_os` of the Hurd.
const HURD: u32 = 1;

/// What `s_first_data_block` must be.
pub(super) fn first_data_block(sb: &Superblock) -> u32 {
    let clusters = sb.s_log_cluster_size.get() != sb.s_log_block_size.get();
    u32::from(sb.s_log_block_size.get() == 0 && !clusters)
}

/// Whether it is not.
pub(super) fn wrong_first_data_block(sb: &Superblock) -> bool {
    sb.s_first_data_block.get() != first_data_block(sb)
}

/// A wrong number of inodes, which e2fsck comes to even where the arithmetic is impossible here. It does not come to it when a field
/// that it looks at before is out of range.
pub(super) fn wrong_inode_count(sb: &Superblock) -> Option<Finding> {
    if limits(sb).iter().any(|limit| !limit.holds()) {
        return None;
    }
    let blocks = sb
        .blocks_count()
        .checked_sub(sb.s_first_data_block.get().into())?;
    let groups = blocks.div_ceil(u64::from(sb.s_blocks_per_group.get()).max(1));
    let expected = groups.checked_mul(sb.s_inodes_per_group.get().into())?;
    let found = u64::from(sb.s_inodes_count.get());
    (found != expected && expected <= u32::MAX.into()).then(|| {
        Finding::new(&P0_INODE_COUNT_WRONG)
            .found(found)
            .expected(expected)
    })
}

/// Whether e2fsck asks for another superblock in place of this one.
pub(super) fn is_refused(sb: &Superblock) -> bool {
    limits(sb)
        .iter()
        .chain(first_inode(sb).as_ref())
        .any(|limit| !limit.holds())
        || wrong_first_data_block(sb)
}

/// The range of `s_first_ino`, where the superblock has the field.
fn first_inode(sb: &Superblock) -> Option<Limit> {
    let inodes = u64::from(sb.s_inodes_count.get());
    (sb.s_rev_level.get() > 0).then(|| limit("s_first_ino", sb.s_first_ino.get(), 11, inodes))
}

/// Unknown features and encodings: the reference stops, and nothing here is judged by them.
pub(super) fn features(volume: &Volume<'_>, log: &mut Log) {
    let (compat, ro_compat) = libext2fs_open::unknown_features(&volume.sb);
    for (field, bits) in [
        ("s_feature_compat", compat),
        ("s_feature_ro_compat", ro_compat),
    ] {
        if bits != 0 {
            let note = format!("{field} has unknown bits ({bits:#x}), which are not checked");
            log.add(stops::here(Finding::new(&P0_OPEN_FAILED).note(note)));
        }
    }
    let encoding = volume.sb.s_encoding.get();
    if volume.sb.has_incompat(Incompat::CASEFOLD) && encoding != UTF8 {
        let note = format!(
            "s_encoding is {encoding:#x}, an unknown encoding; case folding is not checked"
        );
        log.add(stops::here(Finding::new(&P0_OPEN_FAILED).note(note)));
    }
}

/// A field and the range it must be in.
struct Limit {
    field: &'static str,
    found: u64,
    low: u64,
    high: u64,
    power_of_two: bool,
}

impl Limit {
    fn holds(&self) -> bool {
        let even = !self.power_of_two || self.found == 0 || self.found.is_power_of_two();
        (self.low..=self.high).contains(&self.found) && even
    }
}

fn limit(field: &'static str, found: impl Into<u64>, low: u64, high: u64) -> Limit {
    Limit {
        field,
        found: found.into(),
        low,
        high,
        power_of_two: false,
    }
}

/// Ranges, in e2fsck's order. It would end at the first that does not hold.
pub(super) fn check(volume: &Volume<'_>, log: &mut Log) {
    let sb = &volume.sb;
    for limit in limits(sb) {
        check_one(&limit, log);
    }
    inode_count(volume, log);
    if let Some(limit) = first_inode(sb) {
        check_one(&limit, log);
    }
    let blocks = sb.blocks_count();
    let held = volume.source.len() / u64::from(volume.geometry.block_size);
    if held < blocks {
        log.add(Finding::new(&P0_FS_SIZE_WRONG).found(blocks).expected(held));
    }
    if wrong_first_data_block(sb) {
        log.add(
            Finding::new(&P0_FIRST_DATA_BLOCK)
                .found(sb.s_first_data_block.get())
                .expected(first_data_block(sb)),
        );
    }
    extra_isize(volume, log);
    combinations(volume, log);
}

/// The ranges of the fields up to the number of inodes. The library has looked at the sizes of blocks, clusters and inodes.
fn limits(sb: &Superblock) -> Vec<Limit> {
    let log_block = sb.s_log_block_size.get().min(6);
    let log_ratio = sb.s_log_cluster_size.get().saturating_sub(log_block);
    let block_size = 1024_u64 << log_block;
    let ratio = 1_u64 << log_ratio.min(19);
    let blocks = sb.blocks_count();
    let most_blocks = if sb.has_incompat(Incompat::BIT64) {
        (1 << 48) - 1
    } else {
        u64::from(u32::MAX)
    };
    let inodes_per_block = block_size / u64::from(sb.inode_size().max(1));
    let per_group = u64::from(sb.s_blocks_per_group.get());
    let most_inodes =
        (inodes_per_block * per_group.saturating_sub(4)).min((1 << 16) - inodes_per_block);
    let log_block = u64::from(sb.s_log_block_size.get());
    vec![
        limit("s_inodes_count", sb.s_inodes_count.get(), 1, u64::MAX),
        limit("s_blocks_count", blocks, 1, most_blocks),
        limit("s_first_data_block", sb.s_first_data_block.get(), 0, blocks),
        limit("s_log_block_size", log_block, 0, 6),
        limit(
            "s_log_cluster_size",
            sb.s_log_cluster_size.get(),
            log_block,
            19,
        ),
        limit(
            "s_clusters_per_group",
            sb.s_clusters_per_group.get(),
            8,
            (8 * block_size).min(MAX_CLUSTERS),
        ),
        limit(
            "s_blocks_per_group",
            per_group,
            8,
            (8 * block_size * ratio).min(MAX_CLUSTERS * ratio),
        ),
        limit(
            "s_inodes_per_group",
            sb.s_inodes_per_group.get(),
            inodes_per_block,
            most_inodes,
        ),
        limit("s_r_blocks_count", sb.r_blocks_count(), 0, blocks / 2),
        limit(
            "s_reserved_gdt_blocks",
            sb.s_reserved_gdt_blocks.get(),
            0,
            block_size / 4,
        ),
        Limit {
            power_of_two: true,
            ..limit("s_desc_size", sb.s_desc_size.get(), 0, 1024)
        },
    ]
}

fn check_one(limit: &Limit, log: &mut Log) {
    let Limit {
        field,
        found,
        low,
        high,
        power_of_two,
    } = *limit;
    if limit.holds() {
        return;
    }
    let expected = match (power_of_two, high) {
        (true, _) => format!("a power of two up to {high}"),
        (false, u64::MAX) => format!("at least {low}"),
        (false, _) => format!("{low}-{high}"),
    };
    log.add(
        Finding::new(&P0_MISC_CORRUPT_SUPER)
            .found(found)
            .expected(expected)
            .note(field),
    );
}

fn inode_count(volume: &Volume<'_>, log: &mut Log) {
    let (sb, geometry) = (&volume.sb, &volume.geometry);
    let expected = u64::from(geometry.groups) * u64::from(geometry.inodes_per_group);
    let found = sb.s_inodes_count.get();
    if expected > u64::from(u32::MAX) {
        log.add(
            Finding::new(&P0_INODE_COUNT_BIG)
                .found(expected)
                .expected(format!("up to {}", u32::MAX)),
        );
    } else if u64::from(found) != expected {
        log.add(
            Finding::new(&P0_INODE_COUNT_WRONG)
                .found(found)
                .expected(expected),
        );
        // With the answer no, e2fsck has no usable value.
        log.add(
            Finding::new(&P0_MISC_CORRUPT_SUPER)
                .found(found)
                .expected(expected)
                .note("s_inodes_count"),
        );
    }
}

fn extra_isize(volume: &Volume<'_>, log: &mut Log) {
    let sb = &volume.sb;
    let most = volume.geometry.inode_size.saturating_sub(128);
    if most == 0 {
        return;
    }
    let fields: [(&'static Problem, u16); 2] = [
        (&P0_BAD_MIN_EXTRA_ISIZE, sb.s_min_extra_isize.get()),
        (&P0_BAD_WANT_EXTRA_ISIZE, sb.s_want_extra_isize.get()),
    ];
    for (problem, found) in fields {
        if found != 0 && (!(4..=most).contains(&found) || !found.is_multiple_of(4)) {
            let expected = format!("0, or a multiple of 4 from 4 to {most}");
            log.add(Finding::new(problem).found(found).expected(expected));
        }
    }
}

/// Features that exclude or need each other.
fn combinations(volume: &Volume<'_>, log: &mut Log) {
    let (sb, geometry) = (&volume.sb, &volume.geometry);
    let metadata_csum = sb.has_ro_compat(RoCompat::METADATA_CSUM);
    if metadata_csum && sb.has_ro_compat(RoCompat::GDT_CSUM) {
        log.add(Finding::new(&P0_META_AND_GDT_CSUM_SET));
    }
    if !metadata_csum && sb.has_incompat(Incompat::CSUM_SEED) {
        log.add(Finding::new(&P0_CSUM_SEED_WITHOUT_META_CSUM));
    }
    if sb.has_incompat(Incompat::BIT64) && !sb.has_incompat(Incompat::EXTENTS) {
        log.add(Finding::new(&P0_64BIT_WITHOUT_EXTENTS));
    }
    let first_meta_bg = sb.s_first_meta_bg.get();
    if sb.has_incompat(Incompat::META_BG) && first_meta_bg > geometry.desc_blocks() {
        log.add(
            Finding::new(&P0_FIRST_META_BG_TOO_BIG)
                .found(first_meta_bg)
                .expected(format!("up to {}", geometry.desc_blocks())),
        );
    }
}

/// What e2fsck only looks at when it may write.
pub(super) fn beyond(volume: &Volume<'_>, log: &mut Log) {
    let sb = &volume.sb;
    if sb.s_flags.get() & FLAG_TEST_FILESYS != 0 {
        log.add(Finding::new(&P0_CLEAR_TESTFS_FLAG).beyond_reference());
    }
    if sb.s_creator_os.get() == HURD && sb.has_incompat(Incompat::FILETYPE) {
        log.add(Finding::new(&P0_HURD_CLEAR_FILETYPE).beyond_reference());
    }
    let features = sb.compat().0 | sb.incompat().0 | sb.ro_compat().0;
    if sb.s_rev_level.get() == 0 && features != 0 {
        log.add(Finding::new(&P0_FS_REV_LEVEL).beyond_reference());
    }
}

/// Times in the future.
pub(super) fn times(volume: &Volume<'_>, log: &mut Log) {
    let now = volume.options.now;
    let times: [(u64, &'static Problem, &'static Problem); 2] = [
        (
            volume.sb.mtime(),
            &P0_FUTURE_SB_LAST_MOUNT,
            &P0_FUTURE_SB_LAST_MOUNT_FUDGED,
        ),
        (
            volume.sb.wtime(),
            &P0_FUTURE_SB_LAST_WRITE,
            &P0_FUTURE_SB_LAST_WRITE_FUDGED,
        ),
    ];
    for (time, far, near) in times {
        // 40 bits at most.
        let seconds = time as i64;
        if seconds > now {
            let problem = if seconds <= now.saturating_add(FUDGE) {
                near
            } else {
                far
            };
            log.add(
                Finding::new(problem)
                    .found(time)
                    .expected(format!("up to {now}"))
                    .note("seconds since 1970"),
            );
        }
    }
}

/// Quota files in inodes that have another purpose, or in none.
pub(super) fn quota_inodes(volume: &Volume<'_>, log: &mut Log) {
    let sb = &volume.sb;
    let taken = [
        number::BAD,
        number::ROOT,
        number::BOOT_LOADER,
        number::UNDEL_DIR,
        number::RESIZE,
        number::JOURNAL,
        number::EXCLUDE,
        number::REPLICA,
    ];
    let files = [
        ("s_usr_quota_inum", sb.s_usr_quota_inum.get()),
        ("s_grp_quota_inum", sb.s_grp_quota_inum.get()),
        ("s_prj_quota_inum", sb.s_prj_quota_inum.get()),
    ];
    for (field, ino) in files {
        if ino != 0 && (taken.contains(&ino) || ino > sb.s_inodes_count.get()) {
            log.add(
                Finding::new(&P0_INVALID_QUOTA_INO)
                    .inode(ino)
                    .order(0)
                    .found(ino)
                    .note(field),
            );
        }
    }
}
