//! The codes of fsck.ocfs2.
//!
//! Codes and their order are those of ocfs2-tools 1.8.9, which 1.8.4 and all later versions share; the meanings are in our own words.
//! fsck.ocfs2 has no numbers for them: ours count from 1. A problem that several passes raise has the first of them here; each finding has its own.

mod own;

use super::PASSES;
use crate::frame::problem::{Class, Problem, Severity};

pub use own::*;

macro_rules! problems {
    ($list:ident: $($constant:ident $(as $name:literal)? = $code:literal $pass:literal $class:ident $severity:ident $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub static $constant: Problem = Problem {
                code: $code,
                name: problems!(@name $constant $($name)?),
                class: Class::$class,
                severity: Severity::$severity,
                meaning: $meaning,
                pass: &PASSES[$pass],
                rank: $pass,
            };
        )*
        /// These problems, by code.
        pub static $list: &[&Problem] = &[$(&$constant),*];
    };
    (@name $constant:ident $name:literal) => { $name };
    (@name $constant:ident) => { stringify!($constant) };
}
use problems;

/// Every problem, by code.
pub fn all() -> impl Iterator<Item = &'static Problem> {
    CODES.iter().chain(OWN).copied()
}

problems! {
    CODES:
    RECOVER_BACKUP_SUPERBLOCK = 0x0001 0 Repair Metadata "the superblock is to be taken from a backup";
    RECOVER_CLUSTER_INFO = 0x0002 0 Repair Metadata "the running cluster stack is not the one that the superblock names";
    JOURNAL_FILE_INVALID = 0x0003 0 Repair Metadata "a slot's journal inode or journal superblock cannot be used, another slot's can";
    JOURNAL_UNKNOWN_FEATURE = 0x0004 0 Repair Metadata "one journal has JBD2 feature bits that are unknown, the others have not";
    JOURNAL_MISSING_FEATURE = 0x0005 0 Repair Metadata "one journal lacks JBD2 features that others have";
    JOURNAL_TOO_SMALL = 0x0006 0 Repair Metadata "a journal is smaller than the minimum, or than the largest of the others";
    CHAIN_CPG = 0x0007 1 Error Metadata "cl_cpg of the global bitmap is not the size of its only group";
    GROUP_EXPECTED_DESC = 0x0008 1 Error Metadata "a place where the global bitmap must have a group descriptor has none in any chain, or a bad one";
    GROUP_UNEXPECTED_DESC = 0x0009 1 Error Metadata "a chain of the global bitmap leads to a descriptor at none of the computed places";
    SUPERBLOCK_CLUSTERS = 0x000a 1 Error Accounting "i_clusters of the superblock and of the global bitmap's inode differ";
    FIXED_CHAIN_CLUSTERS = 0x000b 1 Repair Metadata "the repair of the chains changed the number of clusters";
    CHAIN_HEAD_LINK_RANGE = 0x000c 1 Error Metadata "a chain record begins outside the volume";
    CHAIN_COUNT = 0x000d 1 Error Metadata "cl_count is larger than the inode can hold";
    CHAIN_NEXT_FREE = 0x000e 1 Error Metadata "cl_next_free_rec is larger than the number of records";
    CHAIN_LINK_RANGE = 0x000f 1 Error Metadata "a link of a chain leaves the volume";
    CHAIN_LINK_MAGIC = 0x0010 1 Error Metadata "a link of a chain leads to a block without a descriptor's signature";
    CHAIN_LINK_GEN = 0x0011 1 Error Metadata "a descriptor in a chain has another volume's generation";
    CHAIN_BITS = 0x0012 1 Error Accounting "c_free or c_total are not the sums over the chain's descriptors";
    CHAIN_EMPTY = 0x0013 1 Error Metadata "a chain record in use has no first group";
    CHAIN_GROUP_BITS = 0x0014 1 Error Accounting "i_used or i_total of the allocator are not the sums over its chains";
    CHAIN_I_CLUSTERS = 0x0015 1 Error Accounting "i_clusters is not total bits / cl_bpc";
    CHAIN_I_SIZE = 0x0016 1 Error Accounting "i_size is not those clusters in bytes";
    GROUP_GEN = 0x0017 1 Error Metadata "bg_generation is not the volume's";
    GROUP_DUPLICATE = 0x0018 1 Error Metadata "the group is linked in the chain of another allocator as well, which it names as its parent";
    GROUP_PARENT = 0x0019 1 Error Metadata "bg_parent_dinode is not the inode whose chain this is";
    GROUP_BLKNO = 0x001a 1 Error Metadata "bg_blkno is not the block of the descriptor";
    GROUP_CHAIN = 0x001b 1 Error Metadata "bg_chain is not the number of the chain";
    GROUP_FREE_BITS = 0x001c 1 Error Accounting "bg_free_bits_count is larger than the number of zero bits";
    GROUP_CHAIN_LOOP = 0x001d 1 Error Metadata "a chain leads back to itself";
    DISCONTIG_BG_DEPTH = 0x001e 1 Error Metadata "extent list of a discontiguous group has a depth";
    DISCONTIG_BG_COUNT = 0x001f 1 Error Metadata "l_count is more than the descriptor can hold";
    DISCONTIG_BG_REC_RANGE = 0x0020 1 Error Metadata "an extent of the group leaves the volume";
    DISCONTIG_BG_CORRUPT_LEAVES = 0x0021 1 Error Metadata "a second extent is longer than a whole group";
    DISCONTIG_BG_LIST_CORRUPT = 0x0022 1 Error Metadata "extents continue after a full group, and one before was too long";
    DISCONTIG_BG_CLUSTERS = 0x0023 1 Error Metadata "the extents together are longer than a group";
    DISCONTIG_BG_NEXT_FREE_REC = 0x0024 1 Error Metadata "l_next_free_rec is not the number of extents that are filled in";
    DISCONTIG_BG_LESS_CLUSTERS = 0x0025 1 Error Metadata "the extents together are shorter than a group";
    DISCONTIG_BG_REC_CORRUPT = 0x0026 1 Error Metadata "one extent is too long although the others already fill the group";
    DISCONTIG_BG_LEAF_CLUSTERS = 0x0027 1 Error Metadata "exactly one extent is too long";
    INODE_ALLOC_REPAIR = 0x0028 4 Error Accounting "an inode's bit in its allocator does not agree with the inode";
    INODE_SUBALLOC = 0x0029 4 Error Metadata "i_suballoc_slot is not the slot whose groups have the inode";
    INODE_GEN = 0x002a 4 Repair Metadata "an inode of another generation";
    INODE_GEN_FIX = 0x002b 4 Repair Metadata "an inode of another generation is kept";
    INODE_BLKNO = 0x002c 4 Error Metadata "i_blkno is not the block of the inode";
    ROOT_NOTDIR = 0x002d 4 Error Data "the root inode is not a directory";
    INODE_NZ_DTIME = 0x002e 4 Error Metadata "an inode in use has a deletion time";
    INLINE_DATA_FLAG_INVALID = 0x002f 4 Error Metadata "inline flag, and the volume has no inline-data feature";
    REFCOUNT_FLAG_INVALID = 0x0030 4 Error Metadata "refcount flag, and the volume has no refcount feature";
    REFCOUNT_LOC_INVALID = 0x0031 4 Error Metadata "i_refcount_loc set without the flag";
    LALLOC_SIZE = 0x0032 4 Error Metadata "la_size is larger than the inode can hold";
    LALLOC_NZ_USED = 0x0033 4 Error Accounting "a local allocator without a window has i_used";
    LALLOC_NZ_BM = 0x0034 4 Error Metadata "a local allocator without a window has la_bm_off";
    LALLOC_BM_OVERRUN = 0x0035 4 Error Metadata "the window begins past the end of the volume";
    LALLOC_BM_SIZE = 0x0036 4 Error Metadata "i_total is more bits than la_size holds";
    LALLOC_BM_STRADDLE = 0x0037 4 Error Metadata "the window ends past the end of the volume";
    LALLOC_USED_OVERRUN = 0x0038 4 Error Metadata "i_used > i_total";
    LALLOC_CLEAR = 0x0039 4 Error Metadata "the window of the local allocator cannot be used";
    DEALLOC_COUNT = 0x003a 4 Error Metadata "tl_count is larger than the inode can hold";
    DEALLOC_USED = 0x003b 4 Error Metadata "tl_used > tl_count";
    TRUNCATE_REC_START_RANGE = 0x003c 4 Error Metadata "a record begins past the end of the volume";
    TRUNCATE_REC_WRAP = 0x003d 4 Error Metadata "t_start + t_clusters overflows 32 bits";
    TRUNCATE_REC_RANGE = 0x003e 4 Error Metadata "a record ends past the end of the volume";
    EB_BLKNO = 0x003f 4 Error Metadata "h_blkno is not the block of the extent block";
    EB_GEN = 0x0040 4 Error Metadata "extent block of another generation";
    EB_GEN_FIX = 0x0041 4 Error Metadata "an extent block of another generation is kept";
    EXTENT_EB_INVALID = 0x0042 4 Error Data "an index record points to a block without the signature of an extent block";
    EXTENT_LIST_DEPTH = 0x0043 4 Error Metadata "the depth of an extent block is not its parent's minus one";
    EXTENT_LIST_COUNT = 0x0044 4 Error Metadata "l_count is larger than the list has room for";
    EXTENT_LIST_FREE = 0x0045 4 Error Metadata "l_next_free_rec is larger than l_count";
    EXTENT_BLKNO_RANGE = 0x0046 4 Error Data "an extent record points outside the volume";
    EXTENT_OVERLAP = 0x0047 4 Error Data "e_cpos is smaller than the end of the extents before it";
    NO_HOLES = 0x0048 4 Error Data "e_cpos of a directory leaves a hole or overlaps";
    EXTENT_BLKNO_UNALIGNED = 0x0049 4 Error Metadata "an extent does not begin at a cluster";
    EXTENT_CLUSTERS_OVERRUN = 0x004a 4 Error Data "an extent ends past the end of the volume";
    EXTENT_MARKED_UNWRITTEN = 0x004b 4 Error Metadata "an extent is marked as unwritten on a volume without the feature";
    EXTENT_MARKED_REFCOUNTED = 0x004c 4 Error Metadata "an extent is marked as shared in a file without a tree of reference counts";
    INODE_SIZE = 0x004d 4 Error Data "i_size is larger than the allocated blocks";
    INODE_CLUSTERS = 0x004e 4 Error Accounting "i_clusters is not what the last block needs";
    INODE_SPARSE_SIZE = 0x004f 4 Error Data "i_size ends before the last allocated cluster begins";
    INODE_SPARSE_CLUSTERS = 0x0050 4 Error Accounting "i_clusters is not the number of mapped clusters";
    INLINE_DATA_COUNT_INVALID = 0x0051 4 Error Metadata "id_count is not the room of the inode";
    INODE_INLINE_SIZE = 0x0052 4 Error Data "i_size of an inline inode is larger than its room";
    INODE_INLINE_CLUSTERS = 0x0053 4 Error Metadata "inline inode with i_clusters";
    DIR_ZERO = 0x0054 4 Error Data "a directory has no block";
    LINK_FAST_DATA = 0x0055 4 Dead Metadata "a fast symbolic link has blocks";
    LINK_NULLTERM = 0x0056 4 Error Data "the target of a symbolic link has no NUL";
    LINK_SIZE = 0x0057 4 Error Data "i_size is not the length up to the NUL";
    LINK_BLOCKS = 0x0058 4 Error Data "fewer blocks than the target needs";
    DX_TREE_CORRUPT = 0x0059 4 Error Metadata "the root of a directory index cannot be read";
    XATTR_COUNT_INVALID = 0x005a 4 Error Data "xh_count is larger than the number of entries";
    XATTR_ENTRY_INVALID = 0x005b 4 Error Data "an attribute entry overlaps something else";
    XATTR_NAME_OFFSET_INVALID = 0x005c 4 Error Data "xe_name_offset is outside the storage";
    XATTR_LOCATION_INVALID = 0x005d 4 Error Data "the size of an attribute value contradicts where it is stored";
    XATTR_VALUE_INVALID = 0x005e 4 Error Data "name and value of an attribute overlap something else or leave the storage";
    XATTR_HASH_INVALID = 0x005f 4 Error Metadata "xe_name_hash is not the name's hash";
    XATTR_FREE_START_INVALID = 0x0060 4 Error Metadata "bucket: xh_free_start is not the lowest name offset";
    XATTR_VALUE_LEN_INVALID = 0x0061 4 Error Metadata "bucket: xh_name_value_len is not the sum";
    XATTR_BUCKET_COUNT_INVALID = 0x0062 4 Error Metadata "xh_num_buckets of an extent's first bucket is 0 or more than fit";
    XATTR_BLOCK_INVALID = 0x0063 4 Dead Metadata "an attribute block has no signature";
    RB_BLKNO = 0x0064 4 Error Metadata "rf_blkno is not the block of the refcount block";
    RB_GEN = 0x0065 4 Error Metadata "refcount block of another generation";
    RB_GEN_FIX = 0x0066 4 Error Metadata "a refcount block of another generation is kept";
    RB_PARENT = 0x0067 4 Error Metadata "rf_parent of a leaf is not the root";
    REFCOUNT_LIST_COUNT = 0x0068 4 Error Metadata "rl_count is larger than the block has room for";
    REFCOUNT_LIST_USED = 0x0069 4 Error Metadata "rl_used is larger than rl_count";
    REFCOUNT_CLUSTER_RANGE = 0x006a 4 Error Metadata "a refcount record leaves the volume";
    REFCOUNT_CLUSTER_COLLISION = 0x006b 4 Error Metadata "a record begins before the end of the one before";
    REFCOUNT_LIST_EMPTY = 0x006c 4 Error Metadata "a leaf of reference counts has no record";
    REFCOUNT_CLUSTERS = 0x006d 4 Error Accounting "rf_clusters of the root is not the number of leaves' clusters found";
    REFCOUNT_BLOCK_INVALID = 0x006e 4 Error Metadata "a leaf of reference counts cannot be used";
    REFCOUNT_ROOT_BLOCK_INVALID = 0x006f 4 Error Metadata "the root of a tree of reference counts cannot be used";
    REFCOUNT_COUNT = 0x0070 4 Error Accounting "rf_count is not the number of files that name the tree";
    REFCOUNT_REC_REDUNDANT = 0x0071 4 Error Metadata "reference counts for clusters that no file maps as shared";
    REFCOUNT_COUNT_INVALID = 0x0072 4 Error Data "r_refcount is not the number of files that map the clusters";
    CLUSTER_ALLOC_BIT = 0x0073 4 Error Accounting "a cluster is in use and free in the global bitmap, or the reverse";
    DUP_CLUSTERS_ADD_REFCOUNT = 0x0074 4 Error Data "a cluster with several owners could be shared properly";
    DUP_CLUSTERS_SYSFILE_CLONE = 0x0075 4 Error Data "a system file owns a cluster with several owners";
    DUP_CLUSTERS_CLONE = 0x0076 4 Error Data "a file owns a cluster with several owners";
    DUP_CLUSTERS_DELETE = 0x0077 4 Error Data "a file that owns a cluster with several owners could be deleted";
    DIRENT_DOTTY_DUP = 0x0078 6 Error Metadata "'.' or '..' elsewhere than in the first two places";
    DIRENT_NOT_DOTTY = 0x0079 6 Error Metadata "the first entry is not '.', or the second not '..'";
    DIRENT_DOT_INODE = 0x007a 6 Error Metadata "'.' leads elsewhere";
    DIRENT_DOT_EXCESS = 0x007b 6 Error Metadata "rec_len of '.' is not 16";
    DIRENT_ZERO = 0x007c 6 Error Data "name of length 0 with an inode";
    DIRENT_NAME_CHARS = 0x007d 6 Error Data "a name begins with '/' or NUL";
    DIRENT_INODE_RANGE = 0x007e 6 Error Data "an entry has an inode number outside the volume";
    DIRENT_INODE_FREE = 0x007f 6 Error Data "an entry names an inode whose bit is free";
    DIRENT_TYPE = 0x0080 6 Error Metadata "file_type of an entry is not that of the inode's mode";
    DIR_PARENT_DUP = 0x0081 6 Error Metadata "a second entry leads to a directory";
    DIRENT_DUPLICATE = 0x0082 6 Error Data "a name occurs twice in a directory";
    DIRENT_LENGTH = 0x0083 6 Error Data "rec_len of an entry makes no sense";
    DIR_TRAILER_INODE = 0x0084 6 Error Metadata "trailer's inode field is not 0";
    DIR_TRAILER_NAME_LEN = 0x0085 6 Error Metadata "trailer's name_len is not 0";
    DIR_TRAILER_REC_LEN = 0x0086 6 Error Metadata "trailer's rec_len is not 64";
    DIR_TRAILER_BLKNO = 0x0087 6 Error Metadata "db_blkno is not the block of the directory block";
    DIR_TRAILER_PARENT_INODE = 0x0088 6 Error Metadata "db_parent_dinode is not the directory";
    BAD_CRC32 = 0x0089 6 Error Metadata "the checksum of a directory's inode is wrong";
    DX_TREE_MISSING = 0x008a 6 Error Accounting "a directory with blocks has no index";
    DX_LOOKUP_FAILED = 0x008b 6 Error Metadata "a name is not in the index of its directory";
    IV_DX_TREE = 0x008c 6 Error Metadata "a directory has an index on a volume without the feature";
    ROOT_DIR_MISSING = 0x008d 7 Error Data "the root inode's bit is free";
    LOSTFOUND_MISSING = 0x008e 7 Error Cosmetic "/lost+found cannot be looked up";
    DIR_NOT_CONNECTED = 0x008f 7 Error Data "a directory is not connected to the root";
    DIR_DOTDOT = 0x0090 7 Error Metadata "'..' is not the directory that has the entry";
    INODE_ORPHANED = 0x0091 8 Repair Metadata "an inode in an orphan directory";
    ORPHAN_DIR_MISSING = 0x0092 8 Error Metadata "a slot has no orphan directory";
    INODE_NOT_CONNECTED = 0x0093 8 Error Data "an inode with links and no entry";
    INODE_COUNT = 0x0094 8 Error Accounting "i_links_count is not the number of entries";
    QMAGIC_INVALID = 0x0095 10 Error Metadata "the head of a global quota file is damaged";
    QTREE_BLK_INVALID = 0x0096 10 Error Metadata "the checksum of a quota tree block is wrong";
    DQBLK_INVALID = 0x0097 10 Error Metadata "an entry in a damaged quota block";
    DUP_DQBLK_INVALID = 0x0098 10 Error Metadata "an entry in a damaged quota block, for an id that is known already";
    DUP_DQBLK_VALID = 0x0099 10 Error Metadata "a second quota entry for an id";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_and_names_of_codes_are_unique() {
        assert_eq!(CODES.len(), 153);
        let numbers: Vec<u32> = all().map(|problem| problem.code).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        let mut names: Vec<&str> = CODES.iter().map(|problem| problem.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 153);
    }
}
