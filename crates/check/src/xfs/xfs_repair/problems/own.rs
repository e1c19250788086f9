//! What `xfs_repair -n` does not look for.

use super::super::PASSES;
use super::problems;
use crate::frame::problem::{Class, Problem, Severity};

// 0x081b was for two hash entries of one name of which one is stale. A stale entry has no address, so nothing says whose it was.

problems! {
    OWN:
    BLOCK_LEAKED = 0x0800 8 "XFS-BLOCK-LEAKED" Error Metadata "block neither free, nor on the free list, nor anyone's; counters agree";
    AGBT_KEY = 0x0801 8 "XFS-AGBT-KEY" Error Metadata "key in a node of an AG btree is not the first of the block below";
    AGBT_SIBLING = 0x0802 8 "XFS-AGBT-SIBLING" Error Metadata "sibling of a block of an AG btree is not its neighbour";
    AGBT_ORDER_LEAVES = 0x0803 8 "XFS-AGBT-ORDER-LEAVES" Error Metadata "records of an AG btree are out of order from one leaf to the next";
    AGBT_LEVEL_COUNT = 0x0804 8 "XFS-AGBT-LEVEL-COUNT" Error Accounting "node of an inode btree has too few or too many keys; xfs_repair then skips phases 6 and 7";
    FREE_ADJACENT = 0x0805 8 "XFS-FREE-ADJACENT" Error Metadata "two free extents are side by side; kernels always join them";
    CNT_TIE = 0x0806 8 "XFS-CNT-TIE" Error Metadata "free extents of one length do not ascend by block";
    RMAP_EXTRA = 0x0807 8 "XFS-RMAP-EXTRA" Error Metadata "reverse mapping of free blocks, or of more than there is";
    RMAP_MISSING_AGMETA = 0x0808 8 "XFS-RMAP-MISSING-AGMETA" Error Metadata "no reverse mapping of blocks of AG btrees or of the free list";
    RMAP_LOWKEY = 0x0809 8 "XFS-RMAP-LOWKEY" Error Metadata "low key in a node of the btree of reverse mappings";
    RMAP_UNWRITTEN_KEY = 0x080a 8 "XFS-RMAP-UNWRITTEN-KEY" Error Metadata "a key of the btree of reverse mappings has the unwritten bit";
    REFC_EXTRA = 0x080b 8 "XFS-REFC-EXTRA" Error Metadata "record of two owners and more for what is not shared";
    REFLINK_USELESS = 0x080c 8 "XFS-REFLINK-USELESS" Optional Cosmetic "a file with the shared flag shares nothing";
    AGFL_HEADER = 0x080d 8 "XFS-AGFL-HEADER" Error Metadata "magic number, group or UUID of a free list, with a right checksum";
    AGFL_TAIL = 0x080e 8 "XFS-AGFL-TAIL" Optional Cosmetic "entries that are not in use and not null: kernels leave them there";
    AGF_RANGE = 0x080f 8 "XFS-AGF-RANGE" Error Metadata "a counter of the AGF is larger than is possible";
    AGI_HINTS = 0x0810 8 "XFS-AGI-HINTS" Optional Cosmetic "agi_newino leads to no chunk (kernels leave it when a chunk is freed), or agi_dirino is not null";
    UNLINKED_LIST = 0x0811 8 "XFS-UNLINKED-LIST" Error Accounting "list of unlinked inodes has a loop, an inode with links, or one of another bucket";
    SB_COPY_STALE = 0x0812 8 "XFS-SB-COPY-STALE" Optional Cosmetic "copy of the superblock with an old UUID, label, root inode or log sector";
    SB_BAD2_ZERO = 0x0813 8 "XFS-SB-BAD2-ZERO" Error Metadata "the twin of features2 is 0";
    SB_LOGSUNIT = 0x0814 8 "XFS-SB-LOGSUNIT" Error Metadata "log stripe unit is 0 with a log of version 2";
    LOG_RECORD = 0x0815 8 "XFS-LOG-RECORD" Error Metadata "UUID or format in the head of the last record of the log";
    SHARED_ATTR = 0x0816 8 "XFS-SHARED-ATTR" Error Metadata "attribute fork of a regular file shares blocks, and flags and counts agree";
    DIR_LOOP = 0x0817 8 "XFS-DIR-LOOP" Error Metadata "directories that name each other in a ring, detached from the root";
    DIR_SIZE_BLOCKS = 0x0818 8 "XFS-DIR-SIZE-BLOCKS" Error Accounting "size of a directory is not the end of its last data block";
    DIR_BEYOND = 0x0819 8 "XFS-DIR-BEYOND" Error Metadata "mapped block after the end of a directory's index of free space";
    DIR_LEAF_UNREACHED = 0x081a 8 "XFS-DIR-LEAF-UNREACHED" Error Metadata "leaf or node block that no parent names";
    FILE_SIZE_EXTENT = 0x081c 8 "XFS-FILE-SIZE-EXTENT" Error Metadata "mapped extents far beyond the end of the file (preallocation: legal with the flag)";
    ATTR_LEAF_CRC = 0x081d 8 "XFS-ATTR-LEAF-CRC" Error Metadata "checksum of a leaf or of the root of an attribute fork (6.13 mentions it)";
    ATTR_LEAF_OWNER = 0x081e 8 "XFS-ATTR-LEAF-OWNER" Error Metadata "owner, block number, UUID of attribute blocks other than block 0 (the verifier refuses a block number, and repair passes over that)";
    ATTR_FLAGS = 0x081f 8 "XFS-ATTR-FLAGS" Error Metadata "unknown or several namespaces (6.13 mentions it)";
    ATTR_DUP = 0x0820 8 "XFS-ATTR-DUP" Error Metadata "a name twice in one namespace";
    ATTR_FREEMAP = 0x0821 8 "XFS-ATTR-FREEMAP" Error Metadata "free map of a leaf overlaps what is used";
    ATTR_UNREACHED = 0x0822 8 "XFS-ATTR-UNREACHED" Error Metadata "mapped block of the attribute fork that nothing names";
    INODE_PAD = 0x0823 8 "XFS-INODE-PAD" Error Metadata "bytes 132 to 143; old DMAPI fields";
    INODE_OWNER_NULL = 0x0824 8 "XFS-INODE-OWNER-NULL" Error Metadata "user or group 2^32 - 1";
    INODE_TIME = 0x0825 8 "XFS-INODE-TIME" Optional Cosmetic "times before 1970 or far in the future (hint)";
    INODE_FREE_NLINK = 0x0826 8 "XFS-INODE-FREE-NLINK" Error Accounting "free inode with links or blocks";
    EXT_MERGE = 0x0827 8 "XFS-EXT-MERGE" Optional Cosmetic "neighbours in a fork that are one extent (hint)";
    BMBT_EMPTY_FORK = 0x0828 8 "XFS-BMBT-EMPTY-FORK" Optional Cosmetic "an attribute fork has neither attributes nor extents (legal)";
    QUOTA_TIMER = 0x0829 8 "XFS-QUOTA-TIMER" Error Metadata "timer runs although below the limit";
    CNTR_RESERVED = 0x082a 8 "XFS-CNTR-RESERVED" Optional Cosmetic "free blocks of an AG are fewer than a mount sets aside for its trees; the kernel warns of that";
    FREE_INOBT = 0x082b 8 "XFS-FREE-INOBT" Error Metadata "blocks of an inode btree are free by the btree of free space";
    EXT_FORK_ROOM = 0x082c 8 "XFS-EXT-FORK-ROOM" Error Metadata "extents in the inode reach into the attribute fork";
    EXT_HIGH_BITS = 0x082d 8 "XFS-EXT-HIGH-BITS" Error Metadata "block number of an extent or of a block of its btree has bits above those of groups; xfs_repair drops them";
    DA_ROOT_BACK = 0x082e 8 "XFS-DA-ROOT-BACK" Error Metadata "root of a tree of hashes has a left neighbour";
    LOG_REPLAY = 0x082f 8 "XFS-LOG-REPLAY" Error Metadata "the log cannot be replayed in memory; a mount would fail, too, or do what is not done here";
    BMBT_NODE_SIBLING = 0x0830 8 "XFS-BMBT-NODE-SIBLING" Error Metadata "the last node below the root of a fork's btree has a right neighbour";
    NAMED_LEFT_OUT = 0x0831 8 "XFS-NAMED-LEFT-OUT" Error Data "forks of directories and attributes map more blocks than the filesystem has; those of the largest were not read";
    FILE_CUT = 0x0832 8 "XFS-FILE-CUT" Error Data "the image or device ends before a file's blocks do";
    ATTR_RMT_LENGTH = 0x0833 8 "XFS-ATTR-RMT-LENGTH" Error Data "remote value of 2 GiB and more: xfs_repair takes the length for negative and reads nothing of it";
}
