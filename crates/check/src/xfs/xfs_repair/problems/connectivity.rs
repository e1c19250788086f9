//! Names against inodes, hashes and each other.

use super::super::PASSES;
use super::problems;
use crate::frame::problem::{Class, Problem, Severity};

problems! {
    CONNECTIVITY:
    CONN_MAP = 0x0680 5 "XFS-CONN-MAP" Error Data "directory: inode cannot be opened (refused by the verifier of inodes)";
    DIR_DUP_ADDR = 0x0681 5 "XFS-DIR-DUP-ADDR" Error Data "directory: two entries at one place";
    DIR_HASH_TABLE = 0x0682 5 "XFS-DIR-HASH-TABLE" Error Data "directory: hash entries and names do not match: no name for a hash, no hash for a name, twice, wrong hash, wrong count of stale ones";
    DIR_FTYPE = 0x0683 5 "XFS-DIR-FTYPE" Error Data "entry: file type in the entry is not the inode's (also for \".\" and \"..\")";
    DIR_BLOCK_EMPTY = 0x0684 5 "XFS-DIR-BLOCK-EMPTY" Error Data "directory block: no entry in it";
    DIR_BLOCK_WALK6 = 0x0685 5 "XFS-DIR-BLOCK-WALK6" Error Data "directory block: its entries are no chain, as by XFS-DIR-BLOCK-WALK";
    DIR_BLOCK_MAGIC6 = 0x0686 5 "XFS-DIR-BLOCK-MAGIC6" Error Data "directory block: magic is not that of the directory's form";
    DIR_FREE_ADJACENT = 0x0687 5 "XFS-DIR-FREE-ADJACENT" Error Data "directory block: free entries side by side";
    CONN_PARENT_UNKNOWN = 0x0688 5 "XFS-CONN-PARENT-UNKNOWN" Error Data "directory: parent was never learned";
    CONN_TWICE = 0x0689 5 "XFS-CONN-TWICE" Error Data "entry: directory has another name already";
    CONN_NO_DOTDOT = 0x068a 5 "XFS-CONN-NO-DOTDOT" Error Data "directory: has no \"..\"; would become this one";
    CONN_DOTDOT = 0x068b 5 "XFS-CONN-DOTDOT" Error Data "entry: \"..\" of the directory named is another";
    DIR_OWNER = 0x068c 5 "XFS-DIR-OWNER" Error Data "directory block: it belongs to another inode";
    DIR_BLKNO = 0x068d 5 "XFS-DIR-BLKNO" Error Data "directory block: it names another block number";
    DIR_UUID = 0x068e 5 "XFS-DIR-UUID" Error Data "directory block: it has another UUID";
    DIR_LEAF1_CRC = 0x068f 5 "XFS-DIR-LEAF1-CRC" Error Data "leaf: checksum, or refused";
    DIR_LEAF1_READ = 0x0690 5 "XFS-DIR-LEAF1-READ" Stop Data "leaf: unreadable: ends the program";
    DIR_LEAF1_HEADER = 0x0691 5 "XFS-DIR-LEAF1-HEADER" Error Data "leaf: its siblings or counts are wrong";
    DIR_LEAF1_TAIL = 0x0692 5 "XFS-DIR-LEAF1-TAIL" Error Data "leaf: table of best-free of all data blocks";
    DIR_LEAFN_READ6 = 0x0693 5 "XFS-DIR-LEAFN-READ6" Error Data "leaf: it cannot be read";
    DIR_LEAFN_MAGIC6 = 0x0694 5 "XFS-DIR-LEAFN-MAGIC6" Error Data "leaf: its magic number is wrong";
    DIR_LEAFN_HEADER = 0x0695 5 "XFS-DIR-LEAFN-HEADER" Error Data "leaf: its counts are wrong";
    DIR_FREE_READ = 0x0696 5 "XFS-DIR-FREE-READ" Error Data "free block: it cannot be read";
    DIR_FREE_HEADER = 0x0697 5 "XFS-DIR-FREE-HEADER" Error Data "free block: magic, first block, counts";
    DIR_FREE_ENTRY = 0x0698 5 "XFS-DIR-FREE-ENTRY" Error Data "free block: entry is not the data block's best";
    DIR_FREE_USED = 0x0699 5 "XFS-DIR-FREE-USED" Error Data "free block: count of used entries";
    DIR_FREE_MISSING = 0x069a 5 "XFS-DIR-FREE-MISSING" Error Data "free block: data block without an entry";
    DIR_DATA_READ = 0x069b 5 "XFS-DIR-DATA-READ" Error Data "directory block: it cannot be read";
    DIR_SF_UNLISTED = 0x069c 5 "XFS-DIR-SF-UNLISTED" Error Data "entry: inode form: points to an unlisted inode";
    DIR_SF_FREE = 0x069d 5 "XFS-DIR-SF-FREE" Error Data "entry: inode form: points to a free inode";
    DIR_SF_LOSTFOUND = 0x069e 5 "XFS-DIR-SF-LOSTFOUND" Error Data "entry: lost+found is no directory";
    DIR_SF_DUP = 0x069f 5 "XFS-DIR-SF-DUP" Error Data "entry: same name twice";
    DIR_SF_I8COUNT6 = 0x06a0 5 "XFS-DIR-SF-I8COUNT6" Error Accounting "directory: its number of long inode numbers is wrong, as by XFS-DIR-SF-I8COUNT";
    DIR_SF_SIZE6 = 0x06a1 5 "XFS-DIR-SF-SIZE6" Error Data "directory: size of the directory is not that of its data";
    DIR_ROOT_DOTDOT = 0x06a2 5 "XFS-DIR-ROOT-DOTDOT" Error Data "root: would get a \"..\"";
    DIR_DOT_MISSING = 0x06a3 5 "XFS-DIR-DOT-MISSING" Error Data "directory: would get a \".\"";
    CONN_ORPHAN_DIR = 0x06a4 5 "XFS-CONN-ORPHAN-DIR" Error Data "inode: directory that no directory names";
    CONN_ORPHAN = 0x06a5 5 "XFS-CONN-ORPHAN" Error Data "inode: inode in use that no directory names";
    DIR_ENT_UNLISTED = 0x06a6 5 "XFS-DIR-ENT-UNLISTED" Error Data "entry: points to an inode that no chunk has";
    DIR_ENT_FREE = 0x06a7 5 "XFS-DIR-ENT-FREE" Error Data "entry: points to a free inode";
    DIR_LOSTFOUND = 0x06a8 5 "XFS-DIR-LOSTFOUND" Error Data "entry: lost+found in the root is no directory";
    DIR_ENT_DUP = 0x06a9 5 "XFS-DIR-ENT-DUP" Error Data "entry: same name twice";
    DIR_DOTDOT_PLACE = 0x06aa 5 "XFS-DIR-DOTDOT-PLACE" Error Data "entry: \"..\" is not in the first block";
    DIR_DOT_PLACE = 0x06ab 5 "XFS-DIR-DOT-PLACE" Error Data "entry: \".\" is not the first entry";
    DIR_DATA_CRC = 0x06ac 5 "XFS-DIR-DATA-CRC" Error Data "directory block: its checksum is wrong";
    DIR_LEAFN_CRC = 0x06ad 5 "XFS-DIR-LEAFN-CRC" Error Data "leaf of a node directory: its checksum is wrong";
    DIR_FREE_CRC = 0x06ae 5 "XFS-DIR-FREE-CRC" Error Data "free block: its checksum is wrong";
    DIR_NODE_CRC = 0x06af 5 "XFS-DIR-NODE-CRC" Error Data "node of a directory: its checksum is wrong";
}
