//! Btrees of reverse mappings and of reference counts.

use super::super::PASSES;
use super::problems;
use crate::frame::problem::{Class, Problem, Severity};

problems! {
    MAPPINGS:
    RMAP_LEVELS = 0x0300 1 "XFS-RMAP-LEVELS" Error Metadata "AGF: levels of the tree of reverse mappings are impossible";
    RMAP_ROOT = 0x0301 1 "XFS-RMAP-ROOT" Error Metadata "AGF: root of the tree of reverse mappings is no block of the AG";
    RMAP_BLOCKS = 0x0302 1 "XFS-RMAP-BLOCKS" Error Accounting "AGF: number of blocks of the tree";
    RMAP_MAGIC = 0x0303 1 "XFS-RMAP-MAGIC" Error Metadata "rmapbt: magic number of a block is wrong";
    RMAP_LEVEL = 0x0304 1 "XFS-RMAP-LEVEL" Error Metadata "rmapbt: level of a block is wrong";
    RMAP_CLAIMED = 0x0305 1 "XFS-RMAP-CLAIMED" Error Metadata "rmapbt: block of the tree already used";
    RMAP_NRECS = 0x0306 1 "XFS-RMAP-NRECS" Error Metadata "rmapbt: number of records";
    RMAP_FLAGS = 0x0307 1 "XFS-RMAP-FLAGS" Error Metadata "rmapbt: record with bits that no flag has";
    RMAP_START = 0x0308 1 "XFS-RMAP-START" Error Metadata "rmapbt: start outside of the AG";
    RMAP_LENGTH = 0x0309 1 "XFS-RMAP-LENGTH" Error Metadata "rmapbt: length 0 or end outside";
    RMAP_OWNER = 0x030a 1 "XFS-RMAP-OWNER" Error Metadata "rmapbt: owner is neither a known special one nor a possible inode number";
    RMAP_META_FLAGS = 0x030b 1 "XFS-RMAP-META-FLAGS" Error Metadata "rmapbt: special owner with flags";
    RMAP_META_OFFSET = 0x030c 1 "XFS-RMAP-META-OFFSET" Error Metadata "rmapbt: special owner with an offset";
    RMAP_ORDER = 0x030d 1 "XFS-RMAP-ORDER" Error Metadata "rmapbt: order (start, owner, offset) with reflink; without it no overlap either";
    RMAP_MERGE = 0x030e 1 "XFS-RMAP-MERGE" Error Metadata "rmapbt: could be one with the record before";
    RMAP_HIGH_REC = 0x030f 1 "XFS-RMAP-HIGH-REC" Error Metadata "rmapbt: record ends after the high key of its block";
    RMAP_KEY_FLAGS = 0x0310 1 "XFS-RMAP-KEY-FLAGS" Error Metadata "rmapbt: key with impossible bits";
    RMAP_HIGH_KEY = 0x0311 1 "XFS-RMAP-HIGH-KEY" Error Metadata "rmapbt: high key of an entry is above that of its block's parent";
    RMAP_POINTER = 0x0312 1 "XFS-RMAP-POINTER" Error Metadata "rmapbt: child pointer outside of the AG";
    RMAP_X_STATIC = 0x0313 1 "XFS-RMAP-X-STATIC" Error Metadata "rmapbt: AG header or log by the map, another owner by the tree";
    RMAP_X_AGMETA = 0x0314 1 "XFS-RMAP-X-AGMETA" Error Metadata "rmapbt: block of an AG btree, another owner";
    RMAP_X_INODES = 0x0315 1 "XFS-RMAP-X-INODES" Error Metadata "rmapbt: inode chunk, another owner";
    RMAP_X_REFC = 0x0316 1 "XFS-RMAP-X-REFC" Error Metadata "rmapbt: refcount btree block, another owner";
    RMAP_X_DATA = 0x0317 1 "XFS-RMAP-X-DATA" Error Metadata "rmapbt: file block, impossible owner";
    RMAP_X_UNKNOWN = 0x0318 1 "XFS-RMAP-X-UNKNOWN" Error Metadata "rmapbt: two special owners, or a special one and a file, for one block; also two files without reflink";
    REFC_LEVELS = 0x0319 1 "XFS-REFC-LEVELS" Error Metadata "AGF: levels of the tree of reference counts are impossible";
    REFC_ROOT = 0x031a 1 "XFS-REFC-ROOT" Error Metadata "AGF: root of the tree of reference counts is no block of the AG";
    REFC_BLOCKS = 0x031b 1 "XFS-REFC-BLOCKS" Error Accounting "AGF: number of blocks of the tree";
    REFC_MAGIC = 0x031c 1 "XFS-REFC-MAGIC" Error Metadata "refcountbt: magic number of a block is wrong";
    REFC_LEVEL = 0x031d 1 "XFS-REFC-LEVEL" Error Metadata "refcountbt: level of a block is wrong";
    REFC_CLAIMED = 0x031e 1 "XFS-REFC-CLAIMED" Error Metadata "refcountbt: block of the tree already used";
    REFC_NRECS = 0x031f 1 "XFS-REFC-NRECS" Error Metadata "refcountbt: number of records";
    REFC_COW_COUNT = 0x0320 1 "XFS-REFC-COW-COUNT" Error Accounting "refcountbt: staging extent whose count is not 1";
    REFC_ONE = 0x0321 1 "XFS-REFC-ONE" Error Metadata "refcountbt: count 1 without the staging bit";
    REFC_START = 0x0322 1 "XFS-REFC-START" Error Metadata "refcountbt: an extent starts outside of the AG";
    REFC_LENGTH = 0x0323 1 "XFS-REFC-LENGTH" Error Metadata "refcountbt: length of an extent is impossible";
    REFC_COW_LEFT = 0x0324 1 "XFS-REFC-COW-LEFT" Error Metadata "refcountbt: a staging extent is left: normal after a crash, never after a clean unmount";
    REFC_COW_CLAIMED = 0x0325 1 "XFS-REFC-COW-CLAIMED" Error Metadata "refcountbt: its blocks are used otherwise";
    REFC_COUNT = 0x0326 1 "XFS-REFC-COUNT" Error Accounting "refcountbt: count 0 or above the maximum";
    REFC_ORDER = 0x0327 1 "XFS-REFC-ORDER" Error Metadata "refcountbt: order within a leaf";
    REFC_MERGE = 0x0328 1 "XFS-REFC-MERGE" Error Metadata "refcountbt: could be one with the record before";
    REFC_POINTER = 0x0329 1 "XFS-REFC-POINTER" Error Metadata "refcountbt: a child pointer is impossible";
}
