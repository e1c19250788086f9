//! What `xfs_repair -n` does not look for.

use super::super::PASSES;
use super::problems;
use crate::frame::problem::{Class, Problem, Severity};

problems! {
    OWN:
    BLOCK_LEAKED = 0x0800 8 "XFS-BLOCK-LEAKED" Error Metadata "block neither free, nor on the free list, nor anyone's; counters agree";
    AGBT_KEY = 0x0801 8 "XFS-AGBT-KEY" Error Metadata "key in an interior block of an AG btree is not its child's first";
    AGBT_SIBLING = 0x0802 8 "XFS-AGBT-SIBLING" Error Metadata "siblings of AG btree blocks: null where there is a neighbour, another block, no way back";
    AGBT_ORDER_LEAVES = 0x0803 8 "XFS-AGBT-ORDER-LEAVES" Error Metadata "records out of order from one leaf to the next (overlaps are seen through the ownership map)";
    AGBT_LEVEL_COUNT = 0x0804 8 "XFS-AGBT-LEVEL-COUNT" Error Accounting "interior nodes of inobt with a wrong number of records (silent, only stops phases 6 and 7, which has a message: compare XFS-PHASE67-SKIPPED)";
    FREE_ADJACENT = 0x0805 8 "XFS-FREE-ADJACENT" Error Metadata "two free extents side by side (the kernel always joins them)";
    CNT_TIE = 0x0806 8 "XFS-CNT-TIE" Error Metadata "equal lengths not ascending by block";
    RMAP_EXTRA = 0x0807 8 "XFS-RMAP-EXTRA" Error Metadata "record for free blocks, or more than is there";
    RMAP_MISSING_AGMETA = 0x0808 8 "XFS-RMAP-MISSING-AGMETA" Error Metadata "no record for blocks of AG btrees or of the free list";
    RMAP_LOWKEY = 0x0809 8 "XFS-RMAP-LOWKEY" Error Metadata "low keys of interior blocks";
    RMAP_UNWRITTEN_KEY = 0x080a 8 "XFS-RMAP-UNWRITTEN-KEY" Error Metadata "unwritten bit in a key (6.13 mentions it)";
    REFC_EXTRA = 0x080b 8 "XFS-REFC-EXTRA" Error Metadata "record of 2 and more for what nobody shares";
    REFLINK_USELESS = 0x080c 8 "XFS-REFLINK-USELESS" Error Cosmetic "shared flag on a file that shares nothing (legal: an optimisation; severity cosmetic)";
    AGFL_HEADER = 0x080d 8 "XFS-AGFL-HEADER" Error Metadata "magic, number, UUID under a right checksum";
    AGFL_TAIL = 0x080e 8 "XFS-AGFL-TAIL" Error Cosmetic "entries outside of first..last that are not null (kernel leaves them behind: cosmetic)";
    AGF_RANGE = 0x080f 8 "XFS-AGF-RANGE" Error Metadata "what the verifier refuses and repair passes over: flcount, btreeblks, rmap and refcount blocks above the AG, longest above freeblks (mostly seen otherwise)";
    AGI_HINTS = 0x0810 8 "XFS-AGI-HINTS" Error Metadata "newino, dirino";
    UNLINKED_LIST = 0x0811 8 "XFS-UNLINKED-LIST" Error Accounting "lists of unlinked inodes: member in use with links, loop, wrong bucket (inode mod 64), inode without links on none";
    SB_COPY_STALE = 0x0812 8 "XFS-SB-COPY-STALE" Error Cosmetic "secondary: UUID, label, root inode, log sector fields, quota of times past";
    SB_BAD2_ZERO = 0x0813 8 "XFS-SB-BAD2-ZERO" Error Metadata "the twin of features2 is 0";
    SB_LOGSUNIT = 0x0814 8 "XFS-SB-LOGSUNIT" Error Metadata "log stripe unit 0 or 1 with version-2 logs";
    LOG_RECORD = 0x0815 8 "XFS-LOG-RECORD" Error Metadata "checksum of the last records, UUID or format in the header of the log";
    SHARED_ATTR = 0x0816 8 "XFS-SHARED-ATTR" Error Metadata "attribute fork of a regular file shares blocks, and the refcount btree agrees";
    DIR_LOOP = 0x0817 8 "XFS-DIR-LOOP" Error Metadata "directories that name each other in a ring, detached from the root";
    DIR_SIZE_BLOCKS = 0x0818 8 "XFS-DIR-SIZE-BLOCKS" Error Accounting "size of a directory is not the end of its last data block";
    DIR_BEYOND = 0x0819 8 "XFS-DIR-BEYOND" Error Metadata "mapped blocks between the forms' three segments, or beyond the last data block";
    DIR_LEAF_UNREACHED = 0x081a 8 "XFS-DIR-LEAF-UNREACHED" Error Metadata "leaf or node block that no parent names";
    DIR_STALE_DUP = 0x081b 8 "XFS-DIR-STALE-DUP" Error Metadata "two hash entries for one name where one is stale";
    FILE_SIZE_EXTENT = 0x081c 8 "XFS-FILE-SIZE-EXTENT" Error Metadata "mapped extents far beyond the end of the file (preallocation: legal with the flag)";
    ATTR_LEAF_CRC = 0x081d 8 "XFS-ATTR-LEAF-CRC" Error Metadata "checksum of an attribute block that is not a node (6.13 mentions it)";
    ATTR_LEAF_OWNER = 0x081e 8 "XFS-ATTR-LEAF-OWNER" Error Metadata "owner, block number, UUID of attribute blocks other than block 0 (the verifier refuses a block number, and repair passes over that)";
    ATTR_FLAGS = 0x081f 8 "XFS-ATTR-FLAGS" Error Metadata "unknown or several namespaces (6.13 mentions it)";
    ATTR_DUP = 0x0820 8 "XFS-ATTR-DUP" Error Metadata "a name twice in one namespace";
    ATTR_FREEMAP = 0x0821 8 "XFS-ATTR-FREEMAP" Error Metadata "free map of a leaf overlaps what is used";
    ATTR_UNREACHED = 0x0822 8 "XFS-ATTR-UNREACHED" Error Metadata "mapped block of the attribute fork that nothing names";
    INODE_PAD = 0x0823 8 "XFS-INODE-PAD" Error Metadata "bytes 132 to 143; old DMAPI fields";
    INODE_OWNER_NULL = 0x0824 8 "XFS-INODE-OWNER-NULL" Error Metadata "user or group 2^32 - 1";
    INODE_TIME = 0x0825 8 "XFS-INODE-TIME" Error Cosmetic "times before 1970 or far in the future (hint)";
    INODE_FREE_NLINK = 0x0826 8 "XFS-INODE-FREE-NLINK" Error Accounting "free inode with links, blocks, or a size";
    EXT_MERGE = 0x0827 8 "XFS-EXT-MERGE" Error Cosmetic "neighbours in a fork that are one extent (hint)";
    BMBT_EMPTY_FORK = 0x0828 8 "XFS-BMBT-EMPTY-FORK" Error Cosmetic "extents format, 0 extents, but a fork offset (legal)";
    QUOTA_TIMER = 0x0829 8 "XFS-QUOTA-TIMER" Error Metadata "timer runs although below the limit";
    CNTR_RESERVED = 0x082a 8 "XFS-CNTR-RESERVED" Error Cosmetic "free blocks below what the AGs reserve for their trees (hint)";
    FREE_INOBT = 0x082b 8 "XFS-FREE-INOBT" Error Metadata "blocks of an inode btree are free by the btree of free space";
}
