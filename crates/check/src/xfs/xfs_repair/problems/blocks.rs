//! Blocks, reverse mappings and reference counts against what was found; the realtime part.

use super::super::PASSES;
use super::problems;
use crate::frame::problem::{Class, Problem, Severity};

problems! {
    BLOCKS:
    BLOCK_UNKNOWN = 0x0600 3 "XFS-BLOCK-UNKNOWN" Error Metadata "blocks: in use by the reverse mappings, and nothing uses them";
    RT_STATE = 0x0601 3 "XFS-RT-STATE" Error Metadata "rt extent: its state is impossible";
    RMAP_AGF = 0x0602 3 "XFS-RMAP-AGF" Error Metadata "AG: AGF is refused by the verifier (here its counters and levels count at last)";
    RMAP_READ = 0x0603 3 "XFS-RMAP-READ" Error Metadata "rmapbt: record cannot be looked up";
    RMAP_MISSING = 0x0604 3 "XFS-RMAP-MISSING" Error Metadata "rmapbt: a mapping that was found has no record";
    RMAP_WRONG = 0x0605 3 "XFS-RMAP-WRONG" Error Metadata "rmapbt: record does not cover it with the same owner, offset, flags";
    REFLINK_SET = 0x0606 3 "XFS-REFLINK-SET" Error Metadata "inode: shares blocks but has no flag";
    REFC_AGF = 0x0607 3 "XFS-REFC-AGF" Error Metadata "AG: AGF is refused by the verifier";
    REFC_READ = 0x0608 3 "XFS-REFC-READ" Error Metadata "refcountbt: record cannot be looked up";
    REFC_MISSING = 0x0609 3 "XFS-REFC-MISSING" Error Metadata "refcountbt: shared extent without a record";
    REFC_WRONG = 0x060a 3 "XFS-REFC-WRONG" Error Metadata "refcountbt: start, length or count differ from what the files share";
    RT_FREXTENTS = 0x060b 4 "XFS-RT-FREXTENTS" Error Accounting "sb 0: free realtime extents";
    RT_OPEN = 0x060c 4 "XFS-RT-OPEN" Error Metadata "rt file: bitmap or summary inode cannot be read";
    RT_SIZE = 0x060d 4 "XFS-RT-SIZE" Error Metadata "rt file: its size is wrong";
    RT_MAP = 0x060e 4 "XFS-RT-MAP" Error Metadata "rt file: its map cannot be read";
    RT_HOLE = 0x060f 4 "XFS-RT-HOLE" Error Metadata "rt file: a block is not mapped";
    RT_READ = 0x0610 4 "XFS-RT-READ" Error Metadata "rt file: a block cannot be read";
    RT_CONTENT = 0x0611 4 "XFS-RT-CONTENT" Error Metadata "rt file: differs from what the files say (compared only for the first block of each piece of up to 1 MiB)";
}
