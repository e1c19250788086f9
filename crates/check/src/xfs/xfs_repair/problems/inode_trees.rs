//! Inode btrees and totals.

use super::super::PASSES;
use super::problems;
use crate::frame::problem::{Class, Problem, Severity};

problems! {
    INODE_TREES:
    INOBT_LEVELS = 0x0380 1 "XFS-INOBT-LEVELS" Error Metadata "AGI: levels of the inode btree are impossible";
    INOBT_ROOT = 0x0381 1 "XFS-INOBT-ROOT" Error Metadata "AGI: root of the inode btree is no block of the AG";
    FINOBT_LEVELS = 0x0382 1 "XFS-FINOBT-LEVELS" Error Metadata "AGI: levels of the btree of free inodes are impossible";
    FINOBT_ROOT = 0x0383 1 "XFS-FINOBT-ROOT" Error Metadata "AGI: root of the btree of free inodes is no block of the AG";
    INOBT_BLOCKS = 0x0384 1 "XFS-INOBT-BLOCKS" Error Accounting "AGI: blocks of the inode btree";
    FINOBT_BLOCKS = 0x0385 1 "XFS-FINOBT-BLOCKS" Error Accounting "AGI: blocks of the free inode btree";
    AGI_COUNT = 0x0386 1 "XFS-AGI-COUNT" Error Accounting "AGI: inodes in chunks";
    AGI_FREECOUNT = 0x0387 1 "XFS-AGI-FREECOUNT" Error Accounting "AGI: free inodes by inobt";
    AGI_FREECOUNT_F = 0x0388 1 "XFS-AGI-FREECOUNT-F" Error Accounting "AGI: free inodes by finobt";
    AGI_UNLINKED = 0x0389 1 "XFS-AGI-UNLINKED" Error Accounting "AGI: a bucket of unlinked inodes is not empty";
    INOBT_MAGIC = 0x038a 1 "XFS-INOBT-MAGIC" Error Metadata "inobt, finobt: magic number of a block is wrong";
    INOBT_LEVEL = 0x038b 1 "XFS-INOBT-LEVEL" Error Metadata "inobt, finobt: level of a block is wrong";
    INOBT_CLAIMED = 0x038c 1 "XFS-INOBT-CLAIMED" Error Metadata "inobt, finobt: block of the tree already used (a free block is not a fault here)";
    INOBT_HEADER = 0x038d 1 "XFS-INOBT-HEADER" Error Metadata "inobt, finobt: leaf with wrong magic, level or number of records";
    INOBT_ORDER = 0x038e 1 "XFS-INOBT-ORDER" Error Metadata "inobt, finobt: records of a leaf not ascending by 64";
    INOBT_POINTER = 0x038f 1 "XFS-INOBT-POINTER" Error Metadata "inobt, finobt: a child pointer is impossible";
    INOBT_ALIGN = 0x0390 1 "XFS-INOBT-ALIGN" Error Metadata "inobt, finobt: start of a chunk is 0, inside of a block, or off the alignment";
    INOBT_START = 0x0391 1 "XFS-INOBT-START" Error Metadata "inobt, finobt: first inode cannot exist";
    INOBT_END = 0x0392 1 "XFS-INOBT-END" Error Metadata "inobt, finobt: last inode cannot exist";
    INOBT_HOLE_USED = 0x0393 1 "XFS-INOBT-HOLE-USED" Error Metadata "inobt: inode in a hole of a sparse chunk is not marked free";
    INOBT_CHUNK_CLAIMED = 0x0394 1 "XFS-INOBT-CHUNK-CLAIMED" Error Metadata "inobt: block of a chunk is used otherwise or free";
    INOBT_OVERLAP = 0x0395 1 "XFS-INOBT-OVERLAP" Error Metadata "inobt: chunk overlaps another";
    INOBT_FREECOUNT = 0x0396 1 "XFS-INOBT-FREECOUNT" Error Accounting "inobt: free count is not the number of bits";
    INOBT_COUNT = 0x0397 1 "XFS-INOBT-COUNT" Error Accounting "inobt, finobt: count of a sparse-format record is not 64 less the holes";
    FINOBT_HOLE = 0x0398 1 "XFS-FINOBT-HOLE" Error Metadata "finobt: hole where inobt has inodes";
    FINOBT_UNTRACKED = 0x0399 1 "XFS-FINOBT-UNTRACKED" Error Metadata "finobt: blocks that inobt does not have";
    FINOBT_CLAIMED = 0x039a 1 "XFS-FINOBT-CLAIMED" Error Metadata "finobt: blocks used otherwise";
    FINOBT_MISMATCH = 0x039b 1 "XFS-FINOBT-MISMATCH" Error Metadata "finobt: record starts elsewhere than inobt's";
    FINOBT_MASK = 0x039c 1 "XFS-FINOBT-MASK" Error Metadata "finobt: mask differs from inobt's: no message of its own, the tree only becomes suspect";
    FINOBT_NEW = 0x039d 1 "XFS-FINOBT-NEW" Error Metadata "finobt: record for a chunk that inobt does not have";
    FINOBT_FREECOUNT = 0x039e 1 "XFS-FINOBT-FREECOUNT" Error Accounting "finobt: number of free inodes of a record is wrong";
    FINOBT_FULL = 0x039f 1 "XFS-FINOBT-FULL" Error Metadata "finobt: record without a free inode";
    PHASE67_SKIPPED = 0x03a0 1 "XFS-PHASE67-SKIPPED" Error Metadata "fs: an inode btree was suspect: connectivity and link counts are not looked at";
    ROOT_CHUNK = 0x03a1 1 "XFS-ROOT-CHUNK" Error Metadata "AG 0: no chunk with the root inode";
    ROOT_FREE = 0x03a2 1 "XFS-ROOT-FREE" Error Metadata "inobt: root is marked free";
    RBM_FREE = 0x03a3 1 "XFS-RBM-FREE" Error Metadata "inobt: realtime bitmap inode is marked free";
    RSUM_FREE = 0x03a4 1 "XFS-RSUM-FREE" Error Metadata "inobt: realtime summary inode is marked free";
    SB_ICOUNT = 0x03a5 1 "XFS-SB-ICOUNT" Error Accounting "sb 0: its number of inodes is wrong";
    SB_IFREE = 0x03a6 1 "XFS-SB-IFREE" Error Accounting "sb 0: its number of free inodes is wrong";
    SB_FDBLOCKS = 0x03a7 1 "XFS-SB-FDBLOCKS" Error Accounting "sb 0: free blocks: of the by-size tree, the free lists, and tree blocks other than roots of bno, cnt and rmap";
}
