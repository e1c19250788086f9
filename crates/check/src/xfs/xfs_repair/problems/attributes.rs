//! Attributes, and hash trees.

use super::super::PASSES;
use super::problems;
use crate::frame::problem::{Class, Problem, Severity};

problems! {
    ATTRIBUTES:
    ATTR_SF_EMPTY = 0x0500 2 "XFS-ATTR-SF-EMPTY" Error Data "local attrs: count 0, size not that of a header";
    ATTR_SF_NAME0 = 0x0501 2 "XFS-ATTR-SF-NAME0" Error Data "local attrs: name of length 0";
    ATTR_SF_LENGTH = 0x0502 2 "XFS-ATTR-SF-LENGTH" Error Data "local attrs: name or value reach beyond the end";
    ATTR_SF_NAME = 0x0503 2 "XFS-ATTR-SF-NAME" Error Data "local attrs: NUL in the name";
    ATTR_SF_INCOMPLETE = 0x0504 2 "XFS-ATTR-SF-INCOMPLETE" Error Data "local attrs: an attribute has the incomplete flag";
    ATTR_SF_COUNT = 0x0505 2 "XFS-ATTR-SF-COUNT" Error Accounting "local attrs: count of entries";
    ATTR_SF_TOTSIZE = 0x0506 2 "XFS-ATTR-SF-TOTSIZE" Error Data "local attrs: size of all";
    ATTR_ACL = 0x0507 2 "XFS-ATTR-ACL" Error Data "value: ACL (root's SGI_ACL_FILE, SGI_ACL_DEFAULT) is not valid";
    ATTR_ACL_COUNT = 0x0508 2 "XFS-ATTR-ACL-COUNT" Error Accounting "value: ACL has too many entries";
    ATTR_MAC = 0x0509 2 "XFS-ATTR-MAC" Error Data "value: a MAC label is not valid";
    ATTR_CAP = 0x050a 2 "XFS-ATTR-CAP" Error Data "value: capability set of the wrong size";
    ATTR_RMT_HOLE = 0x050b 2 "XFS-ATTR-RMT-HOLE" Error Data "remote value: a block of it is not mapped";
    ATTR_RMT_READ = 0x050c 2 "XFS-ATTR-RMT-READ" Error Data "remote value: a block of it cannot be read";
    ATTR_RMT_BLOCK = 0x050d 2 "XFS-ATTR-RMT-BLOCK" Error Data "remote value: checksum or header";
    ATTR_NAME = 0x050e 2 "XFS-ATTR-NAME" Error Data "leaf entry: its name is not valid";
    ATTR_HASH = 0x050f 2 "XFS-ATTR-HASH" Error Data "leaf entry: hash is not the name's, or not ascending";
    ATTR_RMT_ENTRY = 0x0510 2 "XFS-ATTR-RMT-ENTRY" Error Data "leaf entry: remote: name, hash, order, or first block 0";
    ATTR_LEAF_EMPTY0 = 0x0511 2 "XFS-ATTR-LEAF-EMPTY0" Optional Cosmetic "leaf block 0: no entries: logged only under -n";
    ATTR_LEAF_COUNT = 0x0512 2 "XFS-ATTR-LEAF-COUNT" Error Accounting "leaf: 0 entries, or more than fit";
    ATTR_LEAF_INDEX = 0x0513 2 "XFS-ATTR-LEAF-INDEX" Error Data "leaf entry: place of the name";
    ATTR_LEAF_INCOMPLETE = 0x0514 2 "XFS-ATTR-LEAF-INCOMPLETE" Error Data "leaf entry: it has the incomplete flag";
    ATTR_LEAF_ENTRY_SPACE = 0x0515 2 "XFS-ATTR-LEAF-ENTRY-SPACE" Error Data "leaf: entry overlaps something";
    ATTR_LEAF_NAME_SPACE = 0x0516 2 "XFS-ATTR-LEAF-NAME-SPACE" Error Data "leaf: name or value overlaps something or leaves the block";
    ATTR_LEAF_FIRST = 0x0517 2 "XFS-ATTR-LEAF-FIRST" Error Data "leaf: first used byte";
    ATTR_LEAF_USED = 0x0518 2 "XFS-ATTR-LEAF-USED" Error Data "leaf: number of used bytes";
    ATTR_CYCLE = 0x0519 2 "XFS-ATTR-CYCLE" Error Data "node tree: first leaf is block 0";
    ATTR_LEAF_MAP = 0x051a 2 "XFS-ATTR-LEAF-MAP" Error Data "node tree: leaf is not mapped";
    ATTR_LEAF_READ = 0x051b 2 "XFS-ATTR-LEAF-READ" Error Data "node tree: a leaf cannot be read";
    ATTR_LEAF_MAGIC = 0x051c 2 "XFS-ATTR-LEAF-MAGIC" Error Data "node tree: magic of a leaf";
    ATTR_LEAF_BACK = 0x051d 2 "XFS-ATTR-LEAF-BACK" Error Data "node tree: back pointer of a leaf";
    ATTR_OWNER = 0x051e 2 "XFS-ATTR-OWNER" Error Data "block 0: owner (other blocks are not looked at)";
    ATTR_BLKNO = 0x051f 2 "XFS-ATTR-BLKNO" Error Data "block 0: it names another block number";
    ATTR_UUID = 0x0520 2 "XFS-ATTR-UUID" Error Data "block 0: it has another UUID";
    ATTR_ROOT_LINKS = 0x0521 2 "XFS-ATTR-ROOT-LINKS" Error Data "block 0: it has siblings, and must not";
    ATTR_ROOT_HOLE = 0x0522 2 "XFS-ATTR-ROOT-HOLE" Error Data "block 0: missing although there are extents";
    ATTR_ROOT_BLOCK = 0x0523 2 "XFS-ATTR-ROOT-BLOCK" Error Data "block 0: mapped to no block";
    ATTR_ROOT_READ = 0x0524 2 "XFS-ATTR-ROOT-READ" Error Data "block 0: it cannot be read";
    ATTR_ROOT_BAD = 0x0525 2 "XFS-ATTR-ROOT-BAD" Error Data "block 0: the verifier refuses it";
    ATTR_ROOT_MAGIC = 0x0526 2 "XFS-ATTR-ROOT-MAGIC" Error Data "block 0: neither leaf nor node";
    DA_READ = 0x0527 2 "XFS-DA-READ" Error Data "node: it cannot be read";
    DA_BAD = 0x0528 2 "XFS-DA-BAD" Error Data "node: checksum, or the verifier refuses it (magic, level, count, block number, UUID; owner is not looked at here)";
    DA_LEAFN = 0x0529 2 "XFS-DA-LEAFN" Error Data "node: a leaf where a node belongs";
    DA_MAGIC = 0x052a 2 "XFS-DA-MAGIC" Error Data "node: its magic number is wrong";
    DA_COUNT = 0x052b 2 "XFS-DA-COUNT" Error Accounting "node: its number of entries is impossible";
    DA_DEPTH = 0x052c 2 "XFS-DA-DEPTH" Error Data "root: level 0 or above 4";
    DA_LEVEL = 0x052d 2 "XFS-DA-LEVEL" Error Data "node: level is not its parent's less one";
    DA_MAP = 0x052e 2 "XFS-DA-MAP" Error Data "node: sibling is not mapped";
    DA_BACK = 0x052f 2 "XFS-DA-BACK" Error Data "node: its back pointer is wrong";
    DA_LAST_USED = 0x0530 2 "XFS-DA-LAST-USED" Error Data "node: right edge: entries left over";
    DA_LAST_HASH = 0x0531 2 "XFS-DA-LAST-HASH" Error Data "node: right edge: hash does not rise";
    DA_LAST_FORW = 0x0532 2 "XFS-DA-LAST-FORW" Error Data "node: right edge: has a next block";
    DA_HASH_LAST = 0x0533 2 "XFS-DA-HASH-LAST" Error Data "node: right edge: hash is not the child's last";
    DA_HASH = 0x0534 2 "XFS-DA-HASH" Error Data "node: hash is not the child's last";
    DA_CHILD = 0x0535 2 "XFS-DA-CHILD" Error Data "node: block below is not the one that the entry names: no message of its own; a directory counts as bad in phase 6, an attribute fork at once";
}
