//! The fields of every structure: name, place and width, as the kernel has them.
//!
//! Random damage uses these tables and not typed views: it must write values that no view allows.

/// A field of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// The kernel's name for it.
    pub name: &'static str,
    /// Bytes from the structure's start.
    pub at: usize,
    /// Bytes of it: 1, 2, 4 or 8.
    pub width: usize,
}

macro_rules! fields {
    ($($table:ident { $($name:ident $at:literal $width:literal),+ $(,)? })+) => {$(
        pub(super) static $table: &[Field] = &[
            $(Field { name: stringify!($name), at: $at, width: $width }),+
        ];
    )+};
}

fields! {
    SUPERBLOCK {
        s_inodes_count 0 4, s_blocks_count_lo 4 4, s_r_blocks_count_lo 8 4, s_free_blocks_count_lo 12 4,
        s_free_inodes_count 16 4, s_first_data_block 20 4, s_log_block_size 24 4, s_log_cluster_size 28 4,
        s_blocks_per_group 32 4, s_clusters_per_group 36 4, s_inodes_per_group 40 4, s_mtime 44 4, s_wtime 48 4,
        s_magic 56 2, s_state 58 2, s_errors 60 2, s_lastcheck 64 4, s_creator_os 72 4, s_rev_level 76 4,
        s_first_ino 84 4, s_inode_size 88 2, s_block_group_nr 90 2, s_feature_compat 92 4,
        s_feature_incompat 96 4, s_feature_ro_compat 100 4, s_uuid 104 4, s_reserved_gdt_blocks 206 2,
        s_journal_uuid 208 4, s_journal_inum 224 4, s_journal_dev 228 4, s_last_orphan 232 4, s_hash_seed 236 4,
        s_def_hash_version 252 1, s_jnl_backup_type 253 1, s_desc_size 254 2, s_first_meta_bg 260 4,
        s_jnl_blocks 268 4, s_blocks_count_hi 336 4, s_free_blocks_count_hi 344 4, s_min_extra_isize 348 2,
        s_want_extra_isize 350 2, s_flags 352 4, s_mmp_interval 358 2, s_mmp_block 360 8,
        s_log_groups_per_flex 372 1, s_checksum_type 373 1, s_snapshot_inum 384 4, s_usr_quota_inum 576 4,
        s_grp_quota_inum 580 4, s_overhead_blocks 584 4, s_backup_bgs 588 4, s_lpf_ino 616 4,
        s_prj_quota_inum 620 4, s_checksum_seed 624 4, s_encoding 636 2, s_encoding_flags 638 2,
        s_orphan_file_inum 640 4, s_checksum 1020 4,
    }
    DESCRIPTOR {
        bg_block_bitmap_lo 0 4, bg_inode_bitmap_lo 4 4, bg_inode_table_lo 8 4, bg_free_blocks_count_lo 12 2,
        bg_free_inodes_count_lo 14 2, bg_used_dirs_count_lo 16 2, bg_flags 18 2, bg_block_bitmap_csum_lo 24 2,
        bg_inode_bitmap_csum_lo 26 2, bg_itable_unused_lo 28 2, bg_checksum 30 2,
    }
    DESCRIPTOR_HIGH {
        bg_block_bitmap_hi 32 4, bg_inode_bitmap_hi 36 4, bg_inode_table_hi 40 4, bg_free_blocks_count_hi 44 2,
        bg_free_inodes_count_hi 46 2, bg_used_dirs_count_hi 48 2, bg_itable_unused_hi 50 2,
        bg_block_bitmap_csum_hi 56 2, bg_inode_bitmap_csum_hi 58 2,
    }
    INODE {
        i_mode 0 2, i_uid 2 2, i_size_lo 4 4, i_atime 8 4, i_ctime 12 4, i_mtime 16 4, i_dtime 20 4, i_gid 24 2,
        i_links_count 26 2, i_blocks_lo 28 4, i_flags 32 4, i_osd1 36 4, i_block_0 40 4, i_block_1 44 4,
        i_block_2 48 4, i_block_3 52 4, i_block_4 56 4, i_block_5 60 4, i_block_6 64 4, i_block_11 84 4,
        i_block_12 88 4, i_block_13 92 4, i_block_14 96 4, i_generation 100 4, i_file_acl_lo 104 4,
        i_size_high 108 4, i_obso_faddr 112 4, l_i_blocks_high 116 2, l_i_file_acl_high 118 2, l_i_uid_high 120 2,
        l_i_gid_high 122 2, l_i_checksum_lo 124 2, l_i_reserved 126 2,
    }
    INODE_EXTRA {
        i_extra_isize 128 2, i_checksum_hi 130 2, i_ctime_extra 132 4, i_mtime_extra 136 4, i_atime_extra 140 4,
        i_crtime 144 4, i_crtime_extra 148 4, i_version_hi 152 4, i_projid 156 4,
    }
    EXTENT_HEADER { eh_magic 0 2, eh_entries 2 2, eh_max 4 2, eh_depth 6 2, eh_generation 8 4 }
    EXTENT { ee_block 0 4, ee_len 4 2, ee_start_hi 6 2, ee_start_lo 8 4 }
    POINTER { pointer 0 4 }
    ENTRY { inode 0 4, rec_len 4 2, name_len 6 1, file_type 7 1, name_0 8 1, name_1 9 1 }
    INDEX_ROOT {
        dot_inode 0 4, dot_rec_len 4 2, dotdot_inode 12 4, dotdot_rec_len 16 2, reserved_zero 24 4,
        hash_version 28 1, info_length 29 1, indirect_levels 30 1, unused_flags 31 1, limit 32 2, count 34 2,
        block_0 36 4, hash_1 40 4, block_1 44 4, hash_2 48 4, block_2 52 4,
    }
    INDEX_NODE {
        fake_inode 0 4, fake_rec_len 4 2, limit 8 2, count 10 2, block_0 12 4, hash_1 16 4, block_1 20 4,
        hash_2 24 4, block_2 28 4,
    }
    XATTR_HEADER { h_magic 0 4, h_refcount 4 4, h_blocks 8 4, h_hash 12 4, h_checksum 16 4 }
    XATTR {
        e_name_len 0 1, e_name_index 1 1, e_value_offs 2 2, e_value_inum 4 4, e_value_size 8 4, e_hash 12 4,
        e_name_0 16 1,
    }
    JOURNAL {
        h_magic 0 4, h_blocktype 4 4, s_blocksize 12 4, s_maxlen 16 4, s_first 20 4, s_sequence 24 4,
        s_start 28 4, s_errno 32 4, s_feature_compat 36 4, s_feature_incompat 40 4, s_feature_ro_compat 44 4,
        s_uuid 48 4, s_nr_users 64 4, s_num_fc_blks 84 4, s_checksum_type 80 1, s_checksum 252 4,
    }
    MMP { mmp_magic 0 4, mmp_seq 4 4, mmp_time 8 8, mmp_check_interval 112 2, mmp_checksum 1020 4 }
}

/// A field's value, little-endian; 0 past the end.
pub(super) fn get(bytes: &[u8], field: Field) -> u64 {
    let mut wide = [0; 8];
    if let Some(found) = bytes.get(field.at..field.at + field.width) {
        wide[..field.width].copy_from_slice(found);
    }
    u64::from_le_bytes(wide)
}

/// Writes it, as far as it fits.
pub(super) fn put(bytes: &mut [u8], field: Field, value: u64) {
    if let Some(place) = bytes.get_mut(field.at..field.at + field.width) {
        place.copy_from_slice(&value.to_le_bytes()[..field.width]);
    }
}

#[cfg(test)]
mod tests {
    use ondisk::ext4::inode::{RawInode, RawInodeExtra};
    use ondisk::ext4::journal::JournalSuperblock;
    use ondisk::ext4::{Superblock, mmp::Mmp};
    use zerocopy::{FromZeros, IntoBytes};

    use super::*;

    fn at(table: &[Field], name: &str) -> Field {
        *table.iter().find(|field| field.name == name).unwrap()
    }

    #[test]
    fn fields_lie_where_the_views_have_them() {
        let mut sb = Superblock::new_zeroed();
        sb.s_orphan_file_inum = 7.into();
        sb.s_mmp_block = (1 << 40).into();
        sb.s_desc_size = 64.into();
        let bytes = sb.as_bytes();
        for (name, value) in [
            ("s_orphan_file_inum", 7),
            ("s_mmp_block", 1 << 40),
            ("s_desc_size", 64),
        ] {
            assert_eq!(get(bytes, at(SUPERBLOCK, name)), value, "{name}");
        }
        let mut inode = RawInode::new_zeroed();
        inode.i_file_acl_lo = 5.into();
        inode.l_i_checksum_lo = 6.into();
        assert_eq!(get(inode.as_bytes(), at(INODE, "i_file_acl_lo")), 5);
        assert_eq!(get(inode.as_bytes(), at(INODE, "l_i_checksum_lo")), 6);
        let mut extra = RawInodeExtra::new_zeroed();
        extra.i_projid = 8.into();
        let mut whole = vec![0; 128];
        whole.extend_from_slice(extra.as_bytes());
        assert_eq!(get(&whole, at(INODE_EXTRA, "i_projid")), 8);
        let mut journal = JournalSuperblock::new_zeroed();
        journal.s_checksum = 9.into();
        journal.s_num_fc_blks = 10.into();
        // The journal alone is big-endian; the places are the same.
        assert_eq!(get(journal.as_bytes(), at(JOURNAL, "s_checksum")), 9 << 24);
        assert_eq!(
            get(journal.as_bytes(), at(JOURNAL, "s_num_fc_blks")),
            10 << 24
        );
        let mut mmp = Mmp::new_zeroed();
        mmp.mmp_check_interval = 11.into();
        assert_eq!(get(mmp.as_bytes(), at(MMP, "mmp_check_interval")), 11);
    }

    #[test]
    fn a_field_behind_the_end_is_zero_and_stays_unwritten() {
        let field = at(INODE, "i_generation");
        let mut short = [7; 50];
        assert_eq!(get(&short, field), 0);
        put(&mut short, field, 99);
        assert_eq!(short, [7; 50]);
    }
}
