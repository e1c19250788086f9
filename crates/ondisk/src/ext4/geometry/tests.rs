//! Places of blocks, inodes and descriptors.

use super::*;
use crate::ext4::feature::RoCompat;
use proptest::prelude::*;
use zerocopy::FromBytes;

fn superblock(log_block: u32, blocks: u64) -> Superblock {
    let mut sb = Superblock::empty();
    sb.s_log_block_size = log_block.into();
    sb.s_log_cluster_size = log_block.into();
    sb.s_first_data_block = u32::from(log_block == 0).into();
    sb.s_blocks_per_group = (8 * (1024 << log_block)).into();
    sb.s_clusters_per_group = sb.s_blocks_per_group;
    sb.s_inodes_per_group = 1024.into();
    sb.s_inode_size = 256.into();
    sb.s_feature_ro_compat = RoCompat::SPARSE_SUPER.0.into();
    sb.set_blocks_count(blocks);
    sb
}

#[test]
fn backups_are_where_the_manual_says() {
    let sb = superblock(2, 32768 * 130);
    let geometry = Geometry::new(&sb).unwrap();
    let groups: Vec<u32> = geometry.super_groups().collect();
    assert_eq!(groups, [0, 1, 3, 5, 7, 9, 25, 27, 49, 81, 125]);
}

#[test]
fn with_meta_bg_descriptors_lie_in_first_second_and_last() {
    let mut sb = superblock(0, 8192 * 100);
    sb.s_feature_incompat = Incompat::META_BG.0.into();
    let geometry = Geometry::new(&sb).unwrap();
    assert_eq!(geometry.descs_per_block(), 32);
    let holders: Vec<u32> = geometry
        .group_layouts()
        .filter(|layout| !layout.descriptors.is_empty())
        .map(|layout| layout.group)
        .collect();
    assert_eq!(holders, [0, 1, 31, 32, 33, 63, 64, 65, 95, 96, 97]);
    assert_eq!(
        geometry.desc_block(1),
        Some(32 * 8192 + 1),
        "group 32 has no superblock"
    );
    assert_eq!(geometry.backup_desc_block(0, 1), Some(33 * 8192 + 1));
    assert_eq!(geometry.desc_block(4), None);
}

/// The bounds of e2fsck's `check_super_block`, and of the bitmap where it has more bits.
#[test]
fn a_group_may_have_more_inodes_than_bits() {
    let with = |log_block, inodes: u32| {
        let mut sb = superblock(log_block, 20_000);
        sb.s_inodes_per_group = inodes.into();
        Geometry::new(&sb).ok()
    };
    // Four inodes in each of 8,188 blocks, and 16 in each of 32,764, of which 65,520 are allowed.
    for (log_block, most, bits) in [(0, 4 * 8188, 8192), (2, 65_520, 32_768)] {
        assert!(with(log_block, bits).unwrap().inode_bitmap_fits());
        assert!(with(log_block, bits + 7).unwrap().inode_bitmap_fits());
        assert!(!with(log_block, bits + 8).unwrap().inode_bitmap_fits());
        assert!(!with(log_block, most).unwrap().inode_bitmap_fits());
        assert_eq!(with(log_block, most + 1), None);
    }
    assert!(with(6, 8 << 16).unwrap().inode_bitmap_fits());
    assert_eq!(with(6, (8 << 16) + 1), None);
}

#[test]
fn the_last_group_is_cut_off() {
    let geometry = Geometry::new(&superblock(0, 20000)).unwrap();
    assert_eq!(geometry.groups, 3);
    assert_eq!(geometry.group_blocks(2), 16385..20000);
    assert_eq!(geometry.group_of_block(0), None);
    assert_eq!(geometry.bit_of_block(16386), Some((2, 1)));
    assert_eq!(geometry.group_of_block(20000), None);
}

#[test]
fn reserved_blocks_list_as_many_backups_as_they_have_room_for() {
    let mut sb = superblock(0, 8192 << 17);
    sb.s_reserved_gdt_blocks = 256.into();
    for (features, backups) in [(RoCompat::SPARSE_SUPER.0, 24), (0, 256)] {
        sb.s_feature_ro_compat = features.into();
        let geometry = Geometry::new(&sb).unwrap();
        assert_eq!(geometry.groups, 1 << 17);
        let map: Vec<_> = geometry.reserved_gdt_map().collect();
        assert_eq!(map.len(), 256);
        assert!(map.iter().all(|kept| kept.backups.len() == backups));
        let last = &map[255];
        let first_backup = geometry.group_first_block(1) - geometry.group_first_block(0);
        assert_eq!(last.backups[0], last.block + first_backup);
    }
}

#[test]
fn impossible_fields_are_named() {
    let mut sb = superblock(2, 32768);
    sb.s_inode_size = 200.into();
    let error = Geometry::new(&sb).unwrap_err().to_string();
    assert!(
        error.starts_with("s_inode_size: 200 is not a power of two"),
        "{error}"
    );
    let mut sb = superblock(2, 32768);
    sb.s_log_block_size = 7.into();
    assert!(matches!(
        Geometry::new(&sb),
        Err(Error::Range {
            what: "s_log_block_size",
            found: 7,
            high: 6,
            ..
        })
    ));
}

proptest! {
    #[test]
    fn every_block_and_inode_has_one_place(
        log_block in 0_u32..=6,
        blocks in 2_u64..1 << 33,
        pick: u64,
    ) {
        let mut sb = superblock(log_block, blocks);
        sb.s_feature_incompat = Incompat::BIT64.0.into();
        sb.s_desc_size = 64.into();
        let Ok(geometry) = Geometry::new(&sb) else { return Ok(()) };
        let block = pick % blocks;
        if let Some((group, bit)) = geometry.bit_of_block(block) {
            prop_assert!(geometry.group_blocks(group).contains(&block));
            prop_assert!(bit < geometry.group_clusters(group));
        } else {
            prop_assert!(block < u64::from(geometry.first_data_block));
        }
        let ino = (pick % u64::from(geometry.inodes_count())) as u32 + 1;
        let (group, index) = geometry.index_of_inode(ino).unwrap();
        prop_assert_eq!(geometry.inode_number(group, index), Some(ino));
    }

    /// Whatever the superblock says, the arithmetic neither panics nor leaves the filesystem.
    #[test]
    fn any_superblock_gives_a_geometry_or_an_error(
        bytes in proptest::collection::vec(any::<u8>(), crate::ext4::superblock::SIZE),
        log_block in 0_u32..=7,
        group: u32,
    ) {
        let mut sb = Superblock::read_from_bytes(&bytes).unwrap();
        sb.s_log_block_size = log_block.into();
        sb.s_log_cluster_size = (log_block + u32::from(bytes[0] & 3)).into();
        sb.s_inode_size = 256.into();
        if sb.has_incompat(Incompat::BIT64) {
            sb.s_desc_size = 64.into();
        }
        sb.s_clusters_per_group = 8192.into();
        sb.s_blocks_per_group = (8192 << (bytes[0] & 3)).into();
        sb.s_inodes_per_group = 512.into();
        if let Ok(geometry) = Geometry::new(&sb) {
            let group = group % geometry.groups;
            let layout = geometry.group_layout(group);
            prop_assert!(layout.blocks.start < layout.blocks.end);
            prop_assert!(geometry.desc_position(group).is_some());
            prop_assert!(geometry.inodes_count() >= geometry.inodes_per_group);
        }
    }
}
