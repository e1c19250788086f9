//! Which backup of the superblock is tried when the primary is of no use.

use std::ops::Range;

use blockio::BlockSource;
use ondisk::ext4::Superblock;
use ondisk::ext4::feature::{Incompat, RoCompat};
use ondisk::ext4::superblock::MAGIC;
use zerocopy::IntoBytes;

use crate::ext4::options::{Options, Reference};
use crate::ext4::pass0::libext2fs_open;

/// Block and block size of the backup that e2fsck would try. `known` is the superblock whose descriptors cannot be right, if the
/// superblock itself could be opened.
///
/// 1.47.0 looks only after the first group, and takes its size from the primary. Later versions look at each group that a
/// `sparse_super` filesystem would have a backup in, for a superblock with the block size it was found by.
pub(super) fn choose(
    source: &dyn BlockSource,
    known: Option<&Superblock>,
    options: &Options,
) -> Option<(u64, u32)> {
    match (options.reference, known) {
        (Reference::E2fsck1470, Some(sb)) => {
            let first = u64::from(sb.s_first_data_block.get());
            Some((
                u64::from(sb.s_blocks_per_group.get()) + first,
                block_size(sb)?,
            ))
        }
        (Reference::E2fsck1470, None) => {
            let sizes = options.block_size.map_or(all_sizes(), |size| vec![size]);
            let found = sizes
                .into_iter()
                .map(|size| (after_first_group(size), size))
                .find(|(block, size)| is_backup(source, *block, *size));
            Some(found.unwrap_or((8193, 1024)))
        }
        (Reference::E2fsck1474, _) => {
            let size = known.and_then(block_size).or(options.block_size);
            let per_group = known.map(|sb| u64::from(sb.s_blocks_per_group.get()));
            let sizes = size.map_or(all_sizes(), |size| vec![size]);
            sizes
                .into_iter()
                .find_map(|size| any_group(source, size, per_group))
        }
    }
}

/// Bytes of a superblock that differ between the primary, which is written in use, and its copies, which are not: free blocks and inodes; times and
/// mounts; state; last check; the copy's group; the last mount point; the first orphan; free blocks, high half; bytes written; errors;
/// overhead; times, high halves; the checksum.
const CHANGING: [Range<usize>; 13] = [
    0x0C..0x14,
    0x2C..0x36,
    0x3A..0x3C,
    0x40..0x44,
    0x5A..0x5C,
    0x88..0xC8,
    0xE8..0xEC,
    0x158..0x15C,
    0x178..0x180,
    0x194..0x200,
    0x248..0x24C,
    0x274..0x27C,
    0x3FC..0x400,
];

/// A superblock without what changes in use, for comparisons.
pub(super) fn lasting(sb: &Superblock) -> Vec<u8> {
    let mut sb = *sb;
    sb.s_feature_incompat = sb.incompat().without(Incompat::RECOVER).0.into();
    sb.s_feature_ro_compat = sb.ro_compat().without(RoCompat::ORPHAN_PRESENT).0.into();
    let mut bytes = sb.as_bytes().to_vec();
    for range in CHANGING {
        bytes[range].fill(0);
    }
    bytes
}

fn all_sizes() -> Vec<u32> {
    (0..=6).map(|log| 1024 << log).collect()
}

fn block_size(sb: &Superblock) -> Option<u32> {
    1024_u32.checked_shl(sb.s_log_block_size.get())
}

fn after_first_group(size: u32) -> u64 {
    u64::from(size) * 8 + u64::from(size == 1024)
}

fn any_group(source: &dyn BlockSource, size: u32, per_group: Option<u64>) -> Option<(u64, u32)> {
    in_groups(source, size, per_group).next()
}

/// The copies in groups of this many blocks, or of the usual size.
fn in_groups(
    source: &dyn BlockSource,
    size: u32,
    per_group: Option<u64>,
) -> impl Iterator<Item = (u64, u32)> {
    let per_group = per_group.unwrap_or(u64::from(size) * 8);
    let blocks = source.len() / u64::from(size.max(1));
    groups(blocks / per_group.max(1))
        .into_iter()
        .map(move |group| group * per_group + u64::from(size == 1024))
        .filter(move |block| is_backup(source, *block, size))
        .map(move |block| (block, size))
}

/// All copies that are where mke2fs puts them, block and block size, for blocks of this size or of any.
pub(super) fn all(source: &dyn BlockSource, size: Option<u32>) -> impl Iterator<Item = (u64, u32)> {
    let sizes = size.map_or(all_sizes(), |size| vec![size]);
    sizes
        .into_iter()
        .flat_map(move |size| in_groups(source, size, None))
}

/// 1 and the powers of 3, 5 and 7, up to a bound, ascending.
fn groups(bound: u64) -> Vec<u64> {
    let mut groups = vec![1];
    for base in [3_u64, 5, 7] {
        let powers = std::iter::successors(Some(base), |power| power.checked_mul(base));
        groups.extend(powers.take_while(|power| *power <= bound));
    }
    groups.sort_unstable();
    groups
}

fn is_backup(source: &dyn BlockSource, block: u64, size: u32) -> bool {
    libext2fs_open::read(source, Some((block, size)))
        .is_ok_and(|sb| sb.s_magic.get() == MAGIC && block_size(&sb) == Some(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_backups_ascend() {
        assert_eq!(groups(30), [1, 3, 5, 7, 9, 25, 27]);
        assert_eq!(groups(0), [1]);
    }
}
