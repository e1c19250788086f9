//! What fsck.ocfs2 prints without a code, errors of its library that end it, its false alarms, and what it does not look for.

use super::super::PASSES;
use super::problems;
use crate::frame::problem::{Class, Problem, Severity};

problems! {
    OWN:
    // Lines without a code. They do not change the verdict of the reference.
    SB_SLOTS_ZERO = 0x0101 0 Stop Metadata "max_slots is 0";
    JOURNAL_DIRTY = 0x0102 0 Notice Metadata "a journal has transactions to replay; the check reads the volume without them";
    ALLOC_NOT_USABLE = 0x0103 1 Stop Metadata "an allocator's inode has no signature, is not valid, or is no chain allocator";
    GROUP_UNREADABLE = 0x0104 1 Uncounted Metadata "a group descriptor cannot be read";
    INODE_NO_GROUP = 0x0105 4 Uncounted Metadata "no group in any chain has the inode";
    INODE_WALK = 0x0106 4 Stop Metadata "the extents of an inode cannot be walked";
    CLUSTERS_SHARED = 0x0107 5 Uncounted Data "a cluster has several owners";
    CLUSTERS_SHARED_CHAIN = 0x0108 5 Uncounted Data "a chain allocator owns a cluster with several owners";
    DIR_BLOCK_NOT_ALLOCATED = 0x0109 6 Uncounted Metadata "a directory's bit in its allocator is free";
    DIR_BLOCK_UNREADABLE = 0x010a 6 Uncounted Data "a directory block cannot be read";
    DIRENT_INODE_UNCOVERED = 0x010b 6 Uncounted Data "an entry names an inode that is in no group";
    DIRENT_TYPE_UNKNOWN = 0x010c 6 Uncounted Data "the inode of an entry cannot be read";
    DIR_NO_PARENT_RECORD = 0x010d 6 Uncounted Metadata "a directory was not met among the inodes";
    ROOT_EXISTS_NOT_DIR = 0x010e 7 Uncounted Data "the root inode exists and is not a directory";
    LINKS_DISAGREE = 0x010f 9 Uncounted Accounting "the link count on disk is not the one that was met among the inodes";
    LINKS_UNREADABLE = 0x0110 9 Uncounted Accounting "an inode with a wrong link count cannot be read";
    ORPHANS_PRESENT = 0x0111 8 Notice Accounting "an orphan directory is not empty; the next mount frees its inodes";

    // Errors of libocfs2 that end a run.
    SB_UNUSABLE = 0x0180 0 Stop Data "no usable superblock";
    SB_FEATURES = 0x0181 0 Stop Metadata "the volume has features that fsck.ocfs2 does not know";
    JOURNAL_UNUSABLE = 0x0182 0 Stop Metadata "a journal cannot be looked up or read";
    SYSTEM_FILE_UNUSABLE = 0x0183 1 Stop Metadata "a system file cannot be looked up or read";
    GROUP_CORRUPT = 0x0184 2 Stop Metadata "a group of an inode allocator cannot be used";
    INODE_SCAN = 0x0185 4 Stop Metadata "the groups of an inode allocator do not agree with its chains";
    XATTR_UNREADABLE = 0x0186 4 Stop Data "extended attributes cannot be read";
    REFCOUNT_UNREADABLE = 0x0187 4 Stop Metadata "a tree of reference counts cannot be read";
    DIR_BLOCK_SHARED = 0x0188 4 Stop Data "a block belongs to two directories";
    CLUSTER_RANGE = 0x0189 4 Stop Data "a cluster past the end of the volume is claimed";
    OWNERS_UNREADABLE = 0x018a 5 Stop Metadata "the owners of shared clusters cannot be found";
    NO_DIRECTORY = 0x018b 7 Stop Metadata "root, system directory or a parent was not met among the directories";
    ORPHANS_UNREADABLE = 0x018c 8 Stop Metadata "an orphan directory cannot be looked up or read";
    QUOTA_UNREADABLE = 0x018d 10 Stop Metadata "a quota file cannot be looked up or read";

    // Lines with a code that are no fault of the volume.
    DX_LOOKUP_FAILED_SIGN as "DX_LOOKUP_FAILED" = 0x0200 6 Optional Cosmetic "a name is in the index by its hash over unsigned characters, as kernels since 6.2 write it";
    DX_TREE_MISSING_SYSTEM as "DX_TREE_MISSING" = 0x0201 6 Optional Cosmetic "the system directory has blocks and no index, as mkfs.ocfs2 makes it";
    GROUP_CHAIN_LONG as "GROUP_CHAIN_LOOP" = 0x0202 1 Optional Cosmetic "a chain is longer than an even distribution of groups makes it";
    DIRENT_LENGTH_ATTRIBUTES as "DIRENT_LENGTH" = 0x0203 6 Optional Cosmetic "the attributes after inline entries are taken for an entry";
    XATTR_HASH_SIGN as "XATTR_HASH_INVALID" = 0x0204 4 Optional Cosmetic "an attribute's hash is over unsigned characters, as kernels since 6.2 write it";
    INODE_SPARSE_SIZE_UNWRITTEN as "INODE_SPARSE_SIZE" = 0x0205 4 Optional Cosmetic "extents past the end of a file are all unwritten, as a program may have them allocated";

    // What fsck.ocfs2 does not look for.
    META_CRC = 0x0300 4 Error Metadata "the checksum of a metadata block is wrong";
    SB_BACKUP = 0x0301 0 Error Metadata "a backup of the superblock is missing or differs";
    SB_HASH = 0x0302 0 Error Metadata "s_uuid_hash is not the hash of the UUID";
    BACKUP_CLUSTER_CLAIMED = 0x0303 4 Error Data "a cluster with a backup of the superblock is in use by something else";
    GROUP_GEOMETRY = 0x0304 1 Error Metadata "bg_size or bg_bits is not what the geometry of the volume gives";
    GROUP_FREE_BITS_LOW = 0x0305 1 Error Accounting "bg_free_bits_count is smaller than the number of zero bits";
    INODE_SUBALLOC_BIT = 0x0307 4 Error Metadata "i_suballoc_bit or i_suballoc_loc is not the place of the inode in its group";
    INODE_LAST_EB = 0x0308 4 Stop Metadata "i_last_eb_blk is not the last leaf of the extent tree";
    EXTENT_ORDER = 0x0309 4 Error Metadata "extent records are not ascending";
    LINK_FAST_SIZE = 0x030a 4 Error Data "i_size of a fast symbolic link is not the length of its target";
    LINK_FAST_NULLTERM = 0x030b 4 Error Data "the target of a fast symbolic link has no NUL";
    DIR_SIZE = 0x030c 4 Error Data "i_size of a directory is not a multiple of the block size";
    DIRENT_NAME_INNER = 0x030d 6 Error Data "a name has '/' or NUL in it";
    DX_ROOT_FIELDS = 0x030e 6 Error Metadata "a field of an index root is wrong";
    LINKS_HI = 0x030f 9 Error Accounting "i_links_count_hi is wrong";
    EXTENT_ALLOC_BIT = 0x0310 11 Error Metadata "a block of an extent allocator is not free, and no tree uses it";
    EXTENT_ALLOC_BIT_DATA as "EXTENT_ALLOC_BIT" = 0x0311 11 Error Data "a block that a tree uses is free, in no group of extent blocks, or used by another tree";
    DX_PLACE = 0x0312 11 Error Metadata "an index entry is in a leaf to which its hash does not lead";
    DX_EXTRA = 0x0313 11 Error Metadata "an index entry has no name in the block that it gives";
    DX_LEAF_FIELDS = 0x0314 11 Error Metadata "a field of an index leaf is wrong";
    QUOTA_USAGE = 0x0315 10 Error Accounting "the usage in a quota file is not what the inodes of the user or group come to";
    SLOT_MAP = 0x0316 11 Error Metadata "the slot map cannot be read";
    SLOT_MAP_NODE as "SLOT_MAP" = 0x0317 11 Notice Metadata "the slot map names a node, and no journal has anything to replay";
    ORPHAN_STATE = 0x0318 11 Error Accounting "an orphan's flag, slot and name in an orphan directory do not agree";
    XATTR_ORDER = 0x0319 4 Error Metadata "a bucket has hashes of another range, or begins before the end of the one before it";
    SB_BLOCK_SIZE = 0x031a 0 Error Metadata "s_blocksize_bits has bits that are no part of a size";
    GROUP_CONTIG = 0x031b 1 Error Cosmetic "bg_contig_free_bits is larger than the longest run of free bits";
    EXTENT_BEYOND_SIZE = 0x031c 4 Error Cosmetic "clusters of a file lie wholly past its end, on a volume without sparse files";
    DIRENT_DUPLICATE_FAR = 0x031d 11 Error Data "a name occurs twice in a directory, where fsck.ocfs2 does not compare the two";
    DIR_FREE_LIST = 0x031e 11 Error Metadata "the list of a directory's blocks with room leads back to itself, or out of the directory";
    EB_NEXT_LEAF = 0x031f 4 Error Metadata "h_next_leaf_blk of an extent block does not lead to the next leaf";
    QUOTA_LOCAL = 0x0320 11 Error Accounting "the head of a slot's quota file is wrong, or the file was not closed";
    HEARTBEAT_FILE = 0x0321 11 Error Metadata "the heartbeat file has a hole, or ends before its size";
    JOURNAL_SUPER = 0x0322 11 Error Metadata "the superblock of a journal does not fit its file, or has features that the other journals have not";
    LALLOC_GLOBAL = 0x0323 4 Error Data "clusters of a local allocator's window are free in the global bitmap";
    FILE_CUT = 0x0324 4 Error Data "the image or device ends before a file's blocks do";
    VOLUME_CUT = 0x0325 0 Error Data "the image or device ends before the volume";
}
