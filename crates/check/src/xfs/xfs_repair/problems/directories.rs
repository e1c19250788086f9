//! Directories, each by itself.

use super::super::PASSES;
use super::problems;
use crate::frame::problem::{Class, Problem, Severity};

problems! {
    DIRECTORIES:
    DIR_SF_INO = 0x0580 2 "XFS-DIR-SF-INO" Error Data "entry: names the directory itself, an impossible inode, a realtime or quota inode; in phase 4 also a free or unknown one";
    DIR_SF_LENGTH = 0x0581 2 "XFS-DIR-SF-LENGTH" Error Data "entry: name of length 0, or beyond the end";
    DIR_SF_NAME = 0x0582 2 "XFS-DIR-SF-NAME" Error Data "entry: NUL or slash in the name";
    DIR_SF_OFFSET_ORDER = 0x0583 2 "XFS-DIR-SF-OFFSET-ORDER" Error Data "entry: offset is below the end of the one before";
    DIR_SF_COUNT = 0x0584 2 "XFS-DIR-SF-COUNT" Error Accounting "directory: inode form: its number of entries is wrong";
    DIR_SF_I8COUNT = 0x0585 2 "XFS-DIR-SF-I8COUNT" Error Accounting "directory: count of 8-byte inode numbers";
    DIR_SF_SIZE = 0x0586 2 "XFS-DIR-SF-SIZE" Error Data "directory: inode form: its size is not that of its entries";
    DIR_SF_OFFSETS = 0x0587 2 "XFS-DIR-SF-OFFSETS" Error Data "directory: offsets too high for a block, or any of the order faults";
    DIR_SF_PARENT = 0x0588 2 "XFS-DIR-SF-PARENT" Error Data "directory: parent is an impossible inode";
    DIR_SF_PARENT_ROOT = 0x0589 2 "XFS-DIR-SF-PARENT-ROOT" Error Data "root: parent is not itself";
    DIR_SF_PARENT_SELF = 0x058a 2 "XFS-DIR-SF-PARENT-SELF" Error Data "directory: parent is itself";
    DIR_SHAPE = 0x058b 2 "XFS-DIR-SHAPE" Error Data "directory: last mapped offset fits none of the forms (block, leaf, node)";
    DIR_BLOCK_MISSING = 0x058c 2 "XFS-DIR-BLOCK-MISSING" Error Data "directory block: it is not mapped";
    DIR_BLOCK_READ = 0x058d 2 "XFS-DIR-BLOCK-READ" Error Data "directory block: it cannot be read";
    DIR_BLOCK_BAD = 0x058e 2 "XFS-DIR-BLOCK-BAD" Error Data "directory block: the verifier refuses it: block number, UUID, best-free table, free and used entries, tags, file types above 8, impossible inodes, in the one-block form also hashes, their order, counts";
    DIR_BLOCK_MAGIC = 0x058f 2 "XFS-DIR-BLOCK-MAGIC" Error Data "directory block: its magic number is wrong";
    DIR_BLOCK_WALK = 0x0590 2 "XFS-DIR-BLOCK-WALK" Error Data "directory block: entries do not fill it: length, tag";
    DIR_ENT_INO = 0x0591 2 "XFS-DIR-ENT-INO" Error Data "entry: inode number: as in the inode form";
    DIR_ENT_LEN0 = 0x0592 2 "XFS-DIR-ENT-LEN0" Error Data "entry: name of length 0";
    DIR_ENT_NAME = 0x0593 2 "XFS-DIR-ENT-NAME" Error Data "entry: NUL or slash in the name (phase 3)";
    DIR_DOTDOT_SELF = 0x0594 2 "XFS-DIR-DOTDOT-SELF" Error Data "entry: \"..\" is the directory itself";
    DIR_DOTDOT_ROOT = 0x0595 2 "XFS-DIR-DOTDOT-ROOT" Error Data "entry: \"..\" of the root is another";
    DIR_DOTDOT_INO = 0x0596 2 "XFS-DIR-DOTDOT-INO" Error Data "entry: \"..\" is an impossible inode";
    DIR_DOTDOT_MANY = 0x0597 2 "XFS-DIR-DOTDOT-MANY" Error Data "entry: \"..\" is there several times";
    DIR_DOT_INO = 0x0598 2 "XFS-DIR-DOT-INO" Error Data "entry: \".\" is another inode";
    DIR_DOT_MANY = 0x0599 2 "XFS-DIR-DOT-MANY" Error Data "entry: \".\" is there several times";
    DIR_ENT_SELF = 0x059a 2 "XFS-DIR-ENT-SELF" Error Data "entry: another name for the directory itself";
    DIR_BESTFREE = 0x059b 2 "XFS-DIR-BESTFREE" Error Data "directory block: its table of free space is wrong";
    DIR_NO_DOT = 0x059c 2 "XFS-DIR-NO-DOT" Error Data "directory: it has no \".\"";
    DIR_NO_DOTDOT = 0x059d 2 "XFS-DIR-NO-DOTDOT" Error Data "directory: it has no \"..\"";
    DIR_NO_DOTDOT_ROOT = 0x059e 2 "XFS-DIR-NO-DOTDOT-ROOT" Error Data "root: it has no \"..\"";
    DIR_LEAFN_COUNT = 0x059f 2 "XFS-DIR-LEAFN-COUNT" Error Accounting "leaf of a node directory: its number of entries is wrong";
    DIR_LEAFN_ORDER = 0x05a0 2 "XFS-DIR-LEAFN-ORDER" Error Data "leaf: hashes not ascending";
    DIR_LEAFN_STALE = 0x05a1 2 "XFS-DIR-LEAFN-STALE" Error Data "leaf: count of stale entries";
    DIR_LEAFN_MAP = 0x05a2 2 "XFS-DIR-LEAFN-MAP" Error Data "leaf: it is not mapped";
    DIR_LEAFN_READ = 0x05a3 2 "XFS-DIR-LEAFN-READ" Error Data "leaf: it cannot be read";
    DIR_LEAFN_BAD = 0x05a4 2 "XFS-DIR-LEAFN-BAD" Error Data "leaf: the verifier refuses it";
    DIR_LEAFN_MAGIC = 0x05a5 2 "XFS-DIR-LEAFN-MAGIC" Error Data "leaf: its magic number is wrong";
    DIR_LEAFN_BACK = 0x05a6 2 "XFS-DIR-LEAFN-BACK" Error Data "leaf: its back pointer is wrong";
}
