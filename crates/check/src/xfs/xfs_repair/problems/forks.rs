//! Extents, fork btrees, symbolic links, quota records.

use super::super::PASSES;
use super::problems;
use crate::frame::problem::{Class, Problem, Severity};

problems! {
    FORKS:
    EXT_ORDER = 0x0480 2 "XFS-EXT-ORDER" Error Data "extent: starts before the end of the one before";
    EXT_UNWRITTEN_ATTR = 0x0481 2 "XFS-EXT-UNWRITTEN-ATTR" Error Data "extent: unwritten in the attribute fork";
    EXT_UNWRITTEN_TYPE = 0x0482 2 "XFS-EXT-UNWRITTEN-TYPE" Error Data "extent: unwritten in what is no regular file";
    EXT_ZERO = 0x0483 2 "XFS-EXT-ZERO" Error Data "extent: its length is 0";
    EXT_START = 0x0484 2 "XFS-EXT-START" Error Data "extent: start is no block (beyond the AG or in its headers)";
    EXT_END = 0x0485 2 "XFS-EXT-END" Error Data "extent: end is no block";
    EXT_CROSS = 0x0486 2 "XFS-EXT-CROSS" Error Data "extent: start and end in different AGs";
    EXT_OFFSET = 0x0487 2 "XFS-EXT-OFFSET" Error Data "extent: offset beyond the largest file";
    EXT_FREE = 0x0488 2 "XFS-EXT-FREE" Error Data "extent: its blocks are free by the trees";
    EXT_RMAP_META = 0x0489 2 "XFS-EXT-RMAP-META" Error Data "extent: the reverse mappings have them as metadata";
    EXT_META = 0x048a 2 "XFS-EXT-META" Error Data "extent: its blocks are metadata: headers, log, trees, inodes";
    EXT_USED = 0x048b 2 "XFS-EXT-USED" Error Data "extent: its blocks are another's";
    EXT_COW = 0x048c 2 "XFS-EXT-COW" Error Data "extent: its blocks are a staging extent";
    RTEXT_START = 0x048d 2 "XFS-RTEXT-START" Error Data "rt extent: start is no realtime block";
    RTEXT_END = 0x048e 2 "XFS-RTEXT-END" Error Data "rt extent: it ends outside of the realtime part";
    RTEXT_OVERFLOW = 0x048f 2 "XFS-RTEXT-OVERFLOW" Error Data "rt extent: start and length wrap around";
    RTEXT_USED = 0x0490 2 "XFS-RTEXT-USED" Error Data "rt extent: another file has it";
    RTEXT_DUP = 0x0491 2 "XFS-RTEXT-DUP" Error Data "rt extent: phase 4: among those with several owners";
    RTEXT_STATE = 0x0492 2 "XFS-RTEXT-STATE" Stop Data "rt extent: partly mapped or impossible: ends the program";
    BMBT_ROOT_LEVEL = 0x0493 2 "XFS-BMBT-ROOT-LEVEL" Error Data "root in the inode: level 0 or above the maximum";
    BMBT_ROOT_NRECS = 0x0494 2 "XFS-BMBT-ROOT-NRECS" Error Data "root: it has no records";
    BMBT_ROOT_SIZE = 0x0495 2 "XFS-BMBT-ROOT-SIZE" Error Data "root: more records than the fork has room for";
    BMBT_ROOT_POINTER = 0x0496 2 "XFS-BMBT-ROOT-POINTER" Error Data "root: a child pointer is impossible";
    BMBT_ROOT_KEY = 0x0497 2 "XFS-BMBT-ROOT-KEY" Error Data "root: key is not the child's first offset";
    BMBT_ROOT_ORDER = 0x0498 2 "XFS-BMBT-ROOT-ORDER" Error Data "root: keys not ascending";
    BMBT_FEW = 0x0499 2 "XFS-BMBT-FEW" Error Data "fork: so few extents that they would fit the inode";
    BMBT_LAST_SIBLING = 0x049a 2 "XFS-BMBT-LAST-SIBLING" Error Data "bmbt: last block of a level has a right sibling";
    BMBT_CRC = 0x049b 2 "XFS-BMBT-CRC" Error Data "bmbt: checksum of a block is wrong";
    BMBT_MAGIC = 0x049c 2 "XFS-BMBT-MAGIC" Error Data "bmbt: magic number of a block is wrong";
    BMBT_LEVEL = 0x049d 2 "XFS-BMBT-LEVEL" Error Data "bmbt: level of a block is wrong";
    BMBT_OWNER = 0x049e 2 "XFS-BMBT-OWNER" Error Data "bmbt: a block belongs to another inode";
    BMBT_BLKNO = 0x049f 2 "XFS-BMBT-BLKNO" Error Data "bmbt: a block names another block number";
    BMBT_UUID = 0x04a0 2 "XFS-BMBT-UUID" Error Data "bmbt: a block has another UUID";
    BMBT_RIGHT = 0x04a1 2 "XFS-BMBT-RIGHT" Error Data "bmbt: right sibling of the one before is not this";
    BMBT_LEFT = 0x04a2 2 "XFS-BMBT-LEFT" Error Data "bmbt: left sibling of a block is wrong";
    BMBT_CLAIMED = 0x04a3 2 "XFS-BMBT-CLAIMED" Error Data "bmbt: block is used otherwise";
    BMBT_NRECS = 0x04a4 2 "XFS-BMBT-NRECS" Error Data "bmbt: number of records";
    BMBT_ORDER = 0x04a5 2 "XFS-BMBT-ORDER" Error Data "bmbt: first offset is not after that of the leaf before";
    BMBT_POINTER = 0x04a6 2 "XFS-BMBT-POINTER" Error Data "bmbt: a child pointer is impossible";
    BMBT_KEY = 0x04a7 2 "XFS-BMBT-KEY" Error Data "bmbt: key is not the child's first";
    AFORK_FORMAT_UNUSED = 0x04a8 2 "XFS-AFORK-FORMAT-UNUSED" Error Data "inode: no attribute fork, but its format is not that of extents";
    AFORK_FORMAT = 0x04a9 2 "XFS-AFORK-FORMAT" Error Data "inode: format of the attribute fork";
    INODE_NBLOCKS = 0x04aa 2 "XFS-INODE-NBLOCKS" Error Accounting "inode: blocks of both forks";
    INODE_NEXTENTS = 0x04ab 2 "XFS-INODE-NEXTENTS" Error Accounting "inode: its number of data extents is wrong";
    INODE_NEXTENTS_MAX = 0x04ac 2 "XFS-INODE-NEXTENTS-MAX" Error Accounting "inode: more than the counter may hold";
    INODE_ANEXTENTS = 0x04ad 2 "XFS-INODE-ANEXTENTS" Error Accounting "inode: its number of attribute extents is wrong";
    INODE_ANEXTENTS_MAX = 0x04ae 2 "XFS-INODE-ANEXTENTS-MAX" Error Accounting "inode: more than the counter may hold";
    INODE_NBLOCKS_FEW = 0x04af 2 "XFS-INODE-NBLOCKS-FEW" Error Accounting "inode: fewer blocks than extents";
    LINK_LONG = 0x04b0 2 "XFS-LINK-LONG" Error Data "symlink: 1024 bytes and more";
    LINK_EMPTY = 0x04b1 2 "XFS-LINK-EMPTY" Error Data "symlink: its size is 0";
    LINK_HOLE = 0x04b2 2 "XFS-LINK-HOLE" Error Data "symlink: a block of it is not mapped";
    LINK_READ = 0x04b3 2 "XFS-LINK-READ" Error Data "symlink: a block of it cannot be read";
    LINK_BLOCK = 0x04b4 2 "XFS-LINK-BLOCK" Error Data "symlink: the verifier refuses the block";
    LINK_CRC = 0x04b5 2 "XFS-LINK-CRC" Error Data "symlink: checksum of a block is wrong";
    LINK_HEADER = 0x04b6 2 "XFS-LINK-HEADER" Error Data "symlink: offset, bytes or owner of its header";
    LINK_NUL = 0x04b7 2 "XFS-LINK-NUL" Error Data "symlink: NUL in the target";
    QUOTA_READ = 0x04b8 2 "XFS-QUOTA-READ" Error Data "quota file: a block of it cannot be read";
    QUOTA_CRC = 0x04b9 2 "XFS-QUOTA-CRC" Error Data "dquot: its checksum is wrong";
    QUOTA_UUID = 0x04ba 2 "XFS-QUOTA-UUID" Error Data "dquot: it has another UUID";
    QUOTA_RECORD = 0x04bb 2 "XFS-QUOTA-RECORD" Error Data "dquot: magic, version, type, id, or a timer without a limit exceeded";
}
