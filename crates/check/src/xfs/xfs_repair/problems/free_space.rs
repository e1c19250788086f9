//! Btrees of free space, and blocks of all btrees of an allocation group.

use super::super::PASSES;
use super::problems;
use crate::frame::problem::{Class, Problem, Severity};

problems! {
    FREE_SPACE:
    AGBT_READ = 0x0280 1 "XFS-AGBT-READ" Stop Metadata "btree block: cannot be had";
    BNO_LEVELS = 0x0281 1 "XFS-BNO-LEVELS" Error Metadata "AGF: levels are 0 or more than this geometry can have";
    BNO_ROOT = 0x0282 1 "XFS-BNO-ROOT" Error Metadata "AGF: root is no block of the AG";
    CNT_LEVELS = 0x0283 1 "XFS-CNT-LEVELS" Error Metadata "AGF: levels of the tree by size are impossible";
    CNT_ROOT = 0x0284 1 "XFS-CNT-ROOT" Error Metadata "AGF: root of the tree by size is no block of the AG";
    FSBT_MAGIC = 0x0285 1 "XFS-FSBT-MAGIC" Error Metadata "bno, cnt: magic of a block";
    FSBT_LEVEL = 0x0286 1 "XFS-FSBT-LEVEL" Error Metadata "bno, cnt: level of a block is not its parent's less one";
    FSBT_CLAIMED = 0x0287 1 "XFS-FSBT-CLAIMED" Error Metadata "bno, cnt: block of the tree is already used otherwise (the log, AG headers, another tree, the free list)";
    FSBT_NRECS = 0x0288 1 "XFS-FSBT-NRECS" Error Metadata "bno, cnt: records above the maximum, or below half of it outside of the root";
    FSBT_START = 0x0289 1 "XFS-FSBT-START" Error Metadata "bno, cnt: extent starts outside of the AG's usable part";
    FSBT_LENGTH = 0x028a 1 "XFS-FSBT-LENGTH" Error Metadata "bno, cnt: length 0, or end outside";
    BNO_ORDER = 0x028b 1 "XFS-BNO-ORDER" Error Metadata "bno: records of a leaf not ascending or overlapping (each leaf by itself; across leaves only through the ownership map)";
    CNT_ORDER = 0x028c 1 "XFS-CNT-ORDER" Error Metadata "cnt: lengths of a leaf not ascending (order of equal lengths by block is not looked at)";
    FSBT_MULTIPLE = 0x028d 1 "XFS-FSBT-MULTIPLE" Error Metadata "bno, cnt: free extent covers something already used, or twice free in one tree";
    FSBT_POINTER = 0x028e 1 "XFS-FSBT-POINTER" Error Metadata "bno, cnt: child pointer outside of the AG";
    FREE_ONE_TREE = 0x028f 1 "XFS-FREE-ONE-TREE" Error Metadata "bno, cnt: extent is free by one of the trees only";
    AGF_FREEBLKS = 0x0290 1 "XFS-AGF-FREEBLKS" Error Accounting "AGF: its number of free blocks is wrong";
    AGF_LONGEST = 0x0291 1 "XFS-AGF-LONGEST" Error Accounting "AGF: its longest free extent is wrong";
    AGF_BTREEBLKS = 0x0292 1 "XFS-AGF-BTREEBLKS" Error Accounting "AGF: blocks of bno, cnt and rmap trees without their roots";
    BNO_CRC = 0x0293 1 "XFS-BNO-CRC" Error Metadata "bno: checksum of a block";
    BNO_BLKNO = 0x0294 1 "XFS-BNO-BLKNO" Error Metadata "bno: block number in a block";
    BNO_BLOCK_OWNER = 0x0295 1 "XFS-BNO-BLOCK-OWNER" Error Metadata "bno: allocation group in a block";
    BNO_UUID = 0x0296 1 "XFS-BNO-UUID" Error Metadata "bno: UUID in a block";
    BNO_SIBLING_RANGE = 0x0297 1 "XFS-BNO-SIBLING-RANGE" Error Metadata "bno: sibling outside of the allocation group, or the block itself";
    BNO_REFUSED = 0x0298 1 "XFS-BNO-REFUSED" Error Metadata "bno: level of a block beyond what a tree can have, or more records than fit";
    CNT_CRC = 0x0299 1 "XFS-CNT-CRC" Error Metadata "cnt: checksum of a block";
    CNT_BLKNO = 0x029a 1 "XFS-CNT-BLKNO" Error Metadata "cnt: block number in a block";
    CNT_BLOCK_OWNER = 0x029b 1 "XFS-CNT-BLOCK-OWNER" Error Metadata "cnt: allocation group in a block";
    CNT_UUID = 0x029c 1 "XFS-CNT-UUID" Error Metadata "cnt: UUID in a block";
    CNT_SIBLING_RANGE = 0x029d 1 "XFS-CNT-SIBLING-RANGE" Error Metadata "cnt: sibling outside of the allocation group, or the block itself";
    CNT_REFUSED = 0x029e 1 "XFS-CNT-REFUSED" Error Metadata "cnt: level of a block beyond what a tree can have, or more records than fit";
    RMAP_CRC = 0x029f 1 "XFS-RMAP-CRC" Error Metadata "rmapbt: checksum of a block";
    RMAP_BLKNO = 0x02a0 1 "XFS-RMAP-BLKNO" Error Metadata "rmapbt: block number in a block";
    RMAP_BLOCK_OWNER = 0x02a1 1 "XFS-RMAP-BLOCK-OWNER" Error Metadata "rmapbt: allocation group in a block";
    RMAP_UUID = 0x02a2 1 "XFS-RMAP-UUID" Error Metadata "rmapbt: UUID in a block";
    RMAP_SIBLING_RANGE = 0x02a3 1 "XFS-RMAP-SIBLING-RANGE" Error Metadata "rmapbt: sibling outside of the allocation group, or the block itself";
    RMAP_REFUSED = 0x02a4 1 "XFS-RMAP-REFUSED" Error Metadata "rmapbt: level of a block beyond what a tree can have, or more records than fit";
    REFC_CRC = 0x02a5 1 "XFS-REFC-CRC" Error Metadata "refcountbt: checksum of a block";
    REFC_BLKNO = 0x02a6 1 "XFS-REFC-BLKNO" Error Metadata "refcountbt: block number in a block";
    REFC_BLOCK_OWNER = 0x02a7 1 "XFS-REFC-BLOCK-OWNER" Error Metadata "refcountbt: allocation group in a block";
    REFC_UUID = 0x02a8 1 "XFS-REFC-UUID" Error Metadata "refcountbt: UUID in a block";
    REFC_SIBLING_RANGE = 0x02a9 1 "XFS-REFC-SIBLING-RANGE" Error Metadata "refcountbt: sibling outside of the allocation group, or the block itself";
    REFC_REFUSED = 0x02aa 1 "XFS-REFC-REFUSED" Error Metadata "refcountbt: level of a block beyond what a tree can have, or more records than fit";
    INOBT_CRC = 0x02ab 1 "XFS-INOBT-CRC" Error Metadata "inobt: checksum of a block";
    INOBT_BLKNO = 0x02ac 1 "XFS-INOBT-BLKNO" Error Metadata "inobt: block number in a block";
    INOBT_BLOCK_OWNER = 0x02ad 1 "XFS-INOBT-BLOCK-OWNER" Error Metadata "inobt: allocation group in a block";
    INOBT_UUID = 0x02ae 1 "XFS-INOBT-UUID" Error Metadata "inobt: UUID in a block";
    INOBT_SIBLING_RANGE = 0x02af 1 "XFS-INOBT-SIBLING-RANGE" Error Metadata "inobt: sibling outside of the allocation group, or the block itself";
    INOBT_REFUSED = 0x02b0 1 "XFS-INOBT-REFUSED" Error Metadata "inobt: level of a block beyond what a tree can have, or more records than fit";
    FINOBT_CRC = 0x02b1 1 "XFS-FINOBT-CRC" Error Metadata "finobt: checksum of a block";
    FINOBT_BLKNO = 0x02b2 1 "XFS-FINOBT-BLKNO" Error Metadata "finobt: block number in a block";
    FINOBT_BLOCK_OWNER = 0x02b3 1 "XFS-FINOBT-BLOCK-OWNER" Error Metadata "finobt: allocation group in a block";
    FINOBT_UUID = 0x02b4 1 "XFS-FINOBT-UUID" Error Metadata "finobt: UUID in a block";
    FINOBT_SIBLING_RANGE = 0x02b5 1 "XFS-FINOBT-SIBLING-RANGE" Error Metadata "finobt: sibling outside of the allocation group, or the block itself";
    FINOBT_REFUSED = 0x02b6 1 "XFS-FINOBT-REFUSED" Error Metadata "finobt: level of a block beyond what a tree can have, or more records than fit";
}
