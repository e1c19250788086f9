//! The superblock's fields that the arithmetic needs, each checked for a possible value.

use crate::ext4::feature::{Incompat, RoCompat};
use crate::ext4::{Error, Superblock};

pub(super) fn within(what: &'static str, found: u64, low: u64, high: u64) -> Result<u64, Error> {
    if (low..=high).contains(&found) {
        return Ok(found);
    }
    Err(Error::Range {
        what,
        found,
        low,
        high,
    })
}

pub(super) fn must(
    fits: bool,
    what: &'static str,
    found: u64,
    problem: &'static str,
) -> Result<(), Error> {
    if fits {
        Ok(())
    } else {
        Err(Error::Value {
            what,
            found,
            problem,
        })
    }
}

pub(super) fn sizes(sb: &Superblock) -> Result<(u32, u32), Error> {
    let log_block = within("s_log_block_size", sb.s_log_block_size.get().into(), 0, 6)?;
    let log_cluster = u64::from(sb.s_log_cluster_size.get());
    if !sb.has_ro_compat(RoCompat::BIGALLOC) {
        // Old tools wrote the fragment size here; without bigalloc it may only repeat the block size.
        must(
            log_cluster == log_block,
            "s_log_cluster_size",
            log_cluster,
            "differs from s_log_block_size without bigalloc",
        )?;
        return Ok((1024 << log_block, 1));
    }
    within("s_log_cluster_size", log_cluster, log_block, 19)?;
    Ok((1024 << log_block, 1 << (log_cluster - log_block)))
}

/// Most inodes of a group: e2fsck bounds the size of the table, and not that of the bitmap.
/// Source: e2fsprogs, e2fsck/super.c, `check_super_block` (`ipg_max`), and `EXT2_MAX_INODES_PER_GROUP`.
pub(super) fn most_inodes(inodes_per_block: u64, blocks_per_group: u64) -> u64 {
    let by_table = inodes_per_block.saturating_mul(blocks_per_group.saturating_sub(4));
    by_table.min((1_u64 << 16).saturating_sub(inodes_per_block))
}

pub(super) fn inode_size(sb: &Superblock, block_size: u32) -> Result<u16, Error> {
    let size = sb.inode_size();
    within("s_inode_size", size.into(), 128, block_size.into())?;
    must(
        size.is_power_of_two(),
        "s_inode_size",
        size.into(),
        "is not a power of two",
    )?;
    Ok(size)
}

pub(super) fn desc_size(sb: &Superblock, block_size: u32) -> Result<u16, Error> {
    let size = sb.desc_size();
    if sb.has_incompat(Incompat::BIT64) {
        // The field has 16 bits and mke2fs never goes beyond 1024.
        within(
            "s_desc_size",
            size.into(),
            64,
            u64::from(block_size.min(1024)),
        )?;
        must(
            size.is_power_of_two(),
            "s_desc_size",
            size.into(),
            "is not a power of two",
        )?;
    }
    Ok(size)
}

pub(super) fn first_data_block(sb: &Superblock, block_size: u32) -> Result<u32, Error> {
    let first = sb.s_first_data_block.get();
    let expected = u32::from(block_size == 1024);
    // mke2fs -O bigalloc with 1 KiB blocks begins at block 0, so that clusters are aligned.
    if first == 0 && sb.has_ro_compat(RoCompat::BIGALLOC) {
        return Ok(0);
    }
    must(
        first == expected,
        "s_first_data_block",
        first.into(),
        "is not what the block size asks for (1 with 1 KiB, else 0)",
    )?;
    Ok(first)
}

pub(super) fn groups_per_flex(sb: &Superblock) -> Result<u32, Error> {
    if !sb.has_incompat(Incompat::FLEX_BG) {
        return Ok(1);
    }
    let log = within(
        "s_log_groups_per_flex",
        sb.s_log_groups_per_flex.into(),
        0,
        31,
    )?;
    Ok(1 << log)
}
