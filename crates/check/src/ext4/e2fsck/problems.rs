//! The table of e2fsck's problem codes: one constant for each, and all of them in order.
//!
//! Codes, names and classes are those of e2fsprogs 1.47.4 (e2fsck/problem.h, problem.c); the meanings are in our own words. The codes
//! are the common language of people who repair ext filesystems, so findings carry them and not numbers of our own.

use super::PASSES;
use crate::frame::pass::Pass;
use crate::frame::problem::{Class, Problem, Severity};

/// The pass that raises a code: the upper byte of three.
const fn pass_of(code: u32) -> &'static Pass {
    match code >> 16 {
        0 => &PASSES[0],
        1 => &PASSES[1],
        2 => &PASSES[2],
        3 => &PASSES[3],
        4 => &PASSES[4],
        5 => &PASSES[5],
        _ => &PASSES[6],
    }
}

/// The pass or part of a pass that raises a code: `0x010` for pass 1, `0x011` for pass 1B.
const fn rank_of(code: u32) -> u16 {
    (code >> 12) as u16
}

/// The problem of that code.
pub fn problem(code: u32) -> Option<&'static Problem> {
    let at = ALL
        .binary_search_by_key(&code, |problem| problem.code)
        .ok()?;
    Some(ALL[at])
}

macro_rules! problems {
    ($($(#[$doc:meta])* $constant:ident = $code:literal $name:literal $class:ident $severity:ident $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub static $constant: Problem = Problem {
                code: $code,
                name: $name,
                class: Class::$class,
                severity: Severity::$severity,
                meaning: $meaning,
                pass: pass_of($code),
                rank: rank_of($code),
            };
        )*
        /// Every problem, by code.
        pub static ALL: &[&Problem] = &[$(&$constant),*];
    };
}

problems! {

    // before pass 1: superblock, descriptors, journal, orphan replay
    P0_BB_NOT_GROUP = 0x00_0001 "0_BB_NOT_GROUP" Uncounted Metadata "descriptor puts the group's block bitmap outside the range it may live in";
    P0_IB_NOT_GROUP = 0x00_0002 "0_IB_NOT_GROUP" Uncounted Metadata "descriptor puts the group's inode bitmap outside the range it may live in";
    P0_ITABLE_NOT_GROUP = 0x00_0003 "0_ITABLE_NOT_GROUP" Uncounted Data "descriptor puts the inode table (start or end) outside the range it may live in";
    P0_SB_CORRUPT = 0x00_0004 "0_SB_CORRUPT" Stop Data "no usable superblock: bad magic/geometry, cannot go on";
    P0_FS_SIZE_WRONG = 0x00_0005 "0_FS_SIZE_WRONG" Uncounted Data "superblock claims more blocks than the device or file holds";
    P0_NO_FRAGMENTS = 0x00_0006 "0_NO_FRAGMENTS" Dead Cosmetic "fragment size differs from block size";
    P0_BLOCKS_PER_GROUP = 0x00_0007 "0_BLOCKS_PER_GROUP" Dead Cosmetic "blocks-per-group value is impossible";
    P0_FIRST_DATA_BLOCK = 0x00_0008 "0_FIRST_DATA_BLOCK" Stop Metadata "first data block does not fit the block size (1 for 1K, else 0)";
    P0_ADD_UUID = 0x00_0009 "0_ADD_UUID" Notice Cosmetic "filesystem has an all-zero UUID";
    P0_RELOCATE_HINT = 0x00_000a "0_RELOCATE_HINT" Notice Cosmetic "advice text shown once before relocation questions";
    P0_MISC_CORRUPT_SUPER = 0x00_000b "0_MISC_CORRUPT_SUPER" Stop Metadata "a superblock field (named in the message) is out of its legal range";
    P0_GETSIZE_ERROR = 0x00_000c "0_GETSIZE_ERROR" Stop Metadata "device size cannot be determined";
    P0_INODE_COUNT_WRONG = 0x00_000d "0_INODE_COUNT_WRONG" Uncounted Accounting "total inodes is not groups x inodes-per-group";
    P0_HURD_CLEAR_FILETYPE = 0x00_000e "0_HURD_CLEAR_FILETYPE" Uncounted Cosmetic "filetype feature set on a Hurd-created filesystem";
    P0_JOURNAL_BAD_INODE = 0x00_000f "0_JOURNAL_BAD_INODE" Stop Data "the journal inode is not a usable journal (mode, links, blocks)";
    P0_JOURNAL_UNSUPP_MULTIFS = 0x00_0010 "0_JOURNAL_UNSUPP_MULTIFS" Stop Metadata "external journal is shared by several filesystems";
    P0_CANT_FIND_JOURNAL = 0x00_0011 "0_CANT_FIND_JOURNAL" Stop Metadata "external journal device cannot be located; name it with -j";
    P0_EXT_JOURNAL_BAD_SUPER = 0x00_0012 "0_EXT_JOURNAL_BAD_SUPER" Stop Metadata "external journal device has no valid superblock";
    P0_JOURNAL_BAD_UUID = 0x00_0013 "0_JOURNAL_BAD_UUID" Stop Metadata "external journal does not list this filesystem's UUID";
    P0_JOURNAL_UNSUPP_SUPER = 0x00_0014 "0_JOURNAL_UNSUPP_SUPER" Dead Cosmetic "journal superblock of unknown type";
    P0_JOURNAL_BAD_SUPER = 0x00_0015 "0_JOURNAL_BAD_SUPER" Stop Data "journal superblock fails validation (magic, size, checksum, first/maxlen)";
    P0_JOURNAL_HAS_JOURNAL = 0x00_0016 "0_JOURNAL_HAS_JOURNAL" Uncounted Metadata "journal inode number recorded but has_journal feature off";
    P0_JOURNAL_RECOVER_SET = 0x00_0017 "0_JOURNAL_RECOVER_SET" Uncounted Metadata "recovery-needed flag on, but there is no journal";
    P0_JOURNAL_RECOVERY_CLEAR = 0x00_0018 "0_JOURNAL_RECOVERY_CLEAR" Notice Cosmetic "journal holds transactions, but recovery-needed flag is off";
    P0_JOURNAL_RESET_JOURNAL = 0x00_0019 "0_JOURNAL_RESET_JOURNAL" Uncounted Metadata "question: throw the journal's contents away";
    P0_FS_REV_LEVEL = 0x00_001a "0_FS_REV_LEVEL" Optional Cosmetic "feature bits set on a revision-0 filesystem";
    P0_ORPHAN_CLEAR_INODE = 0x00_0020 "0_ORPHAN_CLEAR_INODE" Repair Metadata "orphan inode being truncated or freed";
    P0_ORPHAN_ILLEGAL_BLOCK_NUM = 0x00_0021 "0_ORPHAN_ILLEGAL_BLOCK_NUM" Repair Metadata "orphan inode maps an illegal block";
    P0_ORPHAN_ALREADY_CLEARED_BLOCK = 0x00_0022 "0_ORPHAN_ALREADY_CLEARED_BLOCK" Repair Metadata "orphan inode maps a block already free";
    P0_ORPHAN_ILLEGAL_HEAD_INODE = 0x00_0023 "0_ORPHAN_ILLEGAL_HEAD_INODE" Repair Metadata "head of orphan list is not a legal inode number";
    P0_ORPHAN_ILLEGAL_INODE = 0x00_0024 "0_ORPHAN_ILLEGAL_INODE" Repair Metadata "link in the orphan list is not a legal inode number";
    P0_JOURNAL_UNSUPP_ROCOMPAT = 0x00_0025 "0_JOURNAL_UNSUPP_ROCOMPAT" Stop Metadata "journal has an unknown read-only-compatible feature";
    P0_JOURNAL_UNSUPP_INCOMPAT = 0x00_0026 "0_JOURNAL_UNSUPP_INCOMPAT" Stop Metadata "journal has an unknown incompatible feature";
    P0_JOURNAL_UNSUPP_VERSION = 0x00_0027 "0_JOURNAL_UNSUPP_VERSION" Stop Metadata "journal format version unknown";
    P0_MOVE_JOURNAL = 0x00_0028 "0_MOVE_JOURNAL" Repair Metadata "journal visible as a file is being moved to the hidden inode";
    P0_ERR_MOVE_JOURNAL = 0x00_0029 "0_ERR_MOVE_JOURNAL" Repair Metadata "that move failed";
    P0_CLEAR_V2_JOURNAL = 0x00_002a "0_CLEAR_V2_JOURNAL" Notice Cosmetic "V1 journal with garbage in V2 superblock fields";
    P0_JOURNAL_RUN = 0x00_002b "0_JOURNAL_RUN" Uncounted Metadata "question: replay although flag is off";
    P0_JOURNAL_RUN_DEFAULT = 0x00_002c "0_JOURNAL_RUN_DEFAULT" Repair Metadata "backup superblock in use, replaying without asking";
    P0_BACKUP_JNL = 0x00_002d "0_BACKUP_JNL" Repair Metadata "journal inode map copied into superblock backup";
    P0_NONZERO_RESERVED_GDT_BLOCKS = 0x00_002e "0_NONZERO_RESERVED_GDT_BLOCKS" Uncounted Cosmetic "reserved-GDT count non-zero without resize_inode";
    P0_CLEAR_RESIZE_INODE = 0x00_002f "0_CLEAR_RESIZE_INODE" Uncounted Metadata "resize inode in use without resize_inode feature";
    P0_RESIZE_INODE_INVALID = 0x00_0030 "0_RESIZE_INODE_INVALID" Uncounted Metadata "resize inode's mode, links or reserved-GDT mapping is wrong";
    P0_FUTURE_SB_LAST_MOUNT = 0x00_0031 "0_FUTURE_SB_LAST_MOUNT" Optional Cosmetic "last mount time later than now (over a day)";
    P0_FUTURE_SB_LAST_WRITE = 0x00_0032 "0_FUTURE_SB_LAST_WRITE" Optional Cosmetic "last write time later than now (over a day)";
    P0_EXTERNAL_JOURNAL_HINT = 0x00_0033 "0_EXTERNAL_JOURNAL_HINT" Uncounted Cosmetic "recorded device number of external journal is stale";
    P0_DIRHASH_HINT = 0x00_0034 "0_DIRHASH_HINT" Notice Cosmetic "signed/unsigned hash hint absent, being added";
    P0_GDT_CSUM = 0x00_0035 "0_GDT_CSUM" Uncounted Metadata "group descriptor checksum mismatch";
    P0_GDT_UNINIT = 0x00_0036 "0_GDT_UNINIT" Uncounted Accounting "uninit flags or unused-inode count set without a checksum feature";
    P0_GDT_ITABLE_UNUSED = 0x00_0038 "0_GDT_ITABLE_UNUSED" Uncounted Accounting "unused-inode count exceeds group's free inodes or inodes per group";
    P0_BB_UNINIT_LAST = 0x00_0039 "0_BB_UNINIT_LAST" Uncounted Accounting "last group carries BLOCK_UNINIT";
    P0_JNL_TXN_CORRUPT = 0x00_003a "0_JNL_TXN_CORRUPT" Repair Metadata "a journal transaction failed its checks";
    P0_CLEAR_TESTFS_FLAG = 0x00_003b "0_CLEAR_TESTFS_FLAG" Uncounted Cosmetic "ext4-development test_fs flag still set";
    P0_FUTURE_SB_LAST_MOUNT_FUDGED = 0x00_003c "0_FUTURE_SB_LAST_MOUNT_FUDGED" Notice Cosmetic "last mount time less than a day in the future (clock skew)";
    P0_FUTURE_SB_LAST_WRITE_FUDGED = 0x00_003d "0_FUTURE_SB_LAST_WRITE_FUDGED" Notice Cosmetic "last write time less than a day in the future (clock skew)";
    P0_GDT_CSUM_LATCH = 0x00_003e "0_GDT_CSUM_LATCH" Uncounted Metadata "one question for all group-descriptor checksum mismatches";
    P0_FREE_INODE_COUNT = 0x00_003f "0_FREE_INODE_COUNT" Notice Cosmetic "superblock free-inode total taken anew from groups (skip path)";
    P0_FREE_BLOCK_COUNT = 0x00_0040 "0_FREE_BLOCK_COUNT" Notice Cosmetic "superblock free-block total taken anew from groups (skip path)";
    P0_HIDE_QUOTA = 0x00_0041 "0_HIDE_QUOTA" Repair Metadata "quota file visible in root is being hidden";
    P0_MMP_INVALID_BLK = 0x00_0042 "0_MMP_INVALID_BLK" Uncounted Metadata "MMP block number outside the filesystem";
    P0_MMP_INVALID_MAGIC = 0x00_0043 "0_MMP_INVALID_MAGIC" Stop Metadata "MMP block lacks its magic";
    P0_OPEN_FAILED = 0x00_0044 "0_OPEN_FAILED" Notice Cosmetic "library refused to open with the primary superblock; backups tried";
    P0_CHECK_DESC_FAILED = 0x00_0045 "0_CHECK_DESC_FAILED" Notice Cosmetic "library's group-descriptor sanity check failed; backups tried";
    P0_META_AND_GDT_CSUM_SET = 0x00_0046 "0_META_AND_GDT_CSUM_SET" Optional Cosmetic "metadata_csum and uninit_bg both set";
    P0_MMP_CSUM_INVALID = 0x00_0047 "0_MMP_CSUM_INVALID" Stop Metadata "MMP block checksum mismatch";
    P0_64BIT_WITHOUT_EXTENTS = 0x00_0048 "0_64BIT_WITHOUT_EXTENTS" Optional Cosmetic "64bit feature without extents feature";
    P0_FIRST_META_BG_TOO_BIG = 0x00_0049 "0_FIRST_META_BG_TOO_BIG" Uncounted Metadata "first_meta_bg beyond the descriptor block count";
    P0_EXT_JOURNAL_SUPER_CSUM_INVALID = 0x00_004a "0_EXT_JOURNAL_SUPER_CSUM_INVALID" Uncounted Metadata "external journal's own superblock checksum mismatch";
    P0_CSUM_SEED_WITHOUT_META_CSUM = 0x00_004b "0_CSUM_SEED_WITHOUT_META_CSUM" Optional Cosmetic "checksum-seed feature without metadata_csum";
    P0_QUOTA_INIT_CTX = 0x00_004c "0_QUOTA_INIT_CTX" Stop Metadata "quota bookkeeping could not start";
    P0_BAD_MIN_EXTRA_ISIZE = 0x00_004d "0_BAD_MIN_EXTRA_ISIZE" Uncounted Cosmetic "s_min_extra_isize too large or misaligned";
    P0_BAD_WANT_EXTRA_ISIZE = 0x00_004e "0_BAD_WANT_EXTRA_ISIZE" Uncounted Cosmetic "s_want_extra_isize too large or misaligned";
    P0_INVALID_QUOTA_INO = 0x00_004f "0_INVALID_QUOTA_INO" Uncounted Metadata "quota inode number in superblock is not legal";
    P0_INODE_COUNT_BIG = 0x00_0050 "0_INODE_COUNT_BIG" Stop Metadata "groups x inodes-per-group overflows 32 bits";
    P0_DISABLE_RESIZE_INODE = 0x00_0051 "0_DISABLE_RESIZE_INODE" Uncounted Metadata "meta_bg and resize_inode both set";
    P0_ORPHAN_FILE_HOLE = 0x00_0052 "0_ORPHAN_FILE_HOLE" Repair Metadata "orphan file has a hole while being replayed";
    P0_ORPHAN_FILE_BAD_MAGIC = 0x00_0053 "0_ORPHAN_FILE_BAD_MAGIC" Repair Metadata "orphan-file block trailer magic wrong while replaying";
    P0_ORPHAN_FILE_BAD_CHECKSUM = 0x00_0054 "0_ORPHAN_FILE_BAD_CHECKSUM" Repair Metadata "orphan-file block checksum wrong while replaying";
    P0_ORPHAN_FILE_WRONG_SIZE = 0x00_0055 "0_ORPHAN_FILE_WRONG_SIZE" Repair Metadata "orphan-file size not whole blocks while replaying";

    // pass 1: inodes, block maps, xattrs
    P1_PASS_HEADER = 0x01_0000 "1_PASS_HEADER" Notice Cosmetic "heading of the pass";
    P1_ROOT_NO_DIR = 0x01_0001 "1_ROOT_NO_DIR" Error Data "inode 2 is not a directory";
    P1_ROOT_DTIME = 0x01_0002 "1_ROOT_DTIME" Error Cosmetic "root inode carries a deletion time";
    P1_RESERVED_BAD_MODE = 0x01_0003 "1_RESERVED_BAD_MODE" Error Metadata "reserved inode has a mode it should not";
    P1_ZERO_DTIME = 0x01_0004 "1_ZERO_DTIME" Error Accounting "inode with link count 0 but a mode and no deletion time";
    P1_SET_DTIME = 0x01_0005 "1_SET_DTIME" Error Cosmetic "live inode carries a deletion time";
    P1_ZERO_LENGTH_DIR = 0x01_0006 "1_ZERO_LENGTH_DIR" Error Data "directory of size 0";
    P1_BB_CONFLICT = 0x01_0007 "1_BB_CONFLICT" Error Metadata "group's block bitmap block is claimed by other metadata too";
    P1_IB_CONFLICT = 0x01_0008 "1_IB_CONFLICT" Error Metadata "group's inode bitmap block is claimed by other metadata too";
    P1_ITABLE_CONFLICT = 0x01_0009 "1_ITABLE_CONFLICT" Error Data "inode-table block is claimed by other metadata too";
    P1_BB_BAD_BLOCK = 0x01_000a "1_BB_BAD_BLOCK" Error Metadata "block bitmap sits on a listed bad block";
    P1_IB_BAD_BLOCK = 0x01_000b "1_IB_BAD_BLOCK" Error Metadata "inode bitmap sits on a listed bad block";
    P1_BAD_I_SIZE = 0x01_000c "1_BAD_I_SIZE" Error Data "i_size disagrees with mapped blocks";
    P1_BAD_I_BLOCKS = 0x01_000d "1_BAD_I_BLOCKS" Error Accounting "i_blocks disagrees with blocks counted (data + metadata + xattr)";
    P1_ILLEGAL_BLOCK_NUM = 0x01_000e "1_ILLEGAL_BLOCK_NUM" Error Data "block pointer outside filesystem or in forbidden metadata";
    P1_BLOCK_OVERLAPS_METADATA = 0x01_000f "1_BLOCK_OVERLAPS_METADATA" Dead Cosmetic "data block overlaps filesystem metadata";
    P1_INODE_BLOCK_LATCH = 0x01_0010 "1_INODE_BLOCK_LATCH" Error Data "one question for all illegal pointers of an inode";
    P1_TOO_MANY_BAD_BLOCKS = 0x01_0011 "1_TOO_MANY_BAD_BLOCKS" Optional Cosmetic "more illegal pointers than the limit; offer to wipe inode";
    P1_BB_ILLEGAL_BLOCK_NUM = 0x01_0012 "1_BB_ILLEGAL_BLOCK_NUM" Error Metadata "illegal pointer in bad-block inode";
    P1_INODE_BBLOCK_LATCH = 0x01_0013 "1_INODE_BBLOCK_LATCH" Error Metadata "one question for all illegal pointers of the bad-block inode";
    P1_DUP_BLOCKS_PREENSTOP = 0x01_0014 "1_DUP_BLOCKS_PREENSTOP" Notice Cosmetic "duplicate/bad blocks end preen mode";
    P1_BBINODE_BAD_METABLOCK = 0x01_0015 "1_BBINODE_BAD_METABLOCK" Error Metadata "indirect block of bad-block inode is itself listed bad";
    P1_BBINODE_BAD_METABLOCK_PROMPT = 0x01_0016 "1_BBINODE_BAD_METABLOCK_PROMPT" Error Metadata "follow-up: bad-block inode looks ruined, continue?";
    P1_BAD_PRIMARY_BLOCK = 0x01_0017 "1_BAD_PRIMARY_BLOCK" Error Metadata "a primary superblock/descriptor block is listed bad";
    P1_BAD_PRIMARY_BLOCK_PROMPT = 0x01_0018 "1_BAD_PRIMARY_BLOCK_PROMPT" Error Metadata "follow-up: drop that block from the bad list?";
    P1_BAD_PRIMARY_SUPERBLOCK = 0x01_0019 "1_BAD_PRIMARY_SUPERBLOCK" Error Metadata "primary superblock's block is listed bad";
    P1_BAD_PRIMARY_GROUP_DESCRIPTOR = 0x01_001a "1_BAD_PRIMARY_GROUP_DESCRIPTOR" Error Metadata "primary descriptor block is listed bad";
    P1_BAD_SUPERBLOCK = 0x01_001b "1_BAD_SUPERBLOCK" Notice Cosmetic "a backup superblock's block is listed bad";
    P1_BAD_GROUP_DESCRIPTORS = 0x01_001c "1_BAD_GROUP_DESCRIPTORS" Notice Cosmetic "a backup descriptor block is listed bad";
    P1_PROGERR_CLAIMED_BLOCK = 0x01_001d "1_PROGERR_CLAIMED_BLOCK" Notice Cosmetic "internal: bad block claimed by no known owner";
    P1_RELOC_BLOCK_ALLOCATE = 0x01_001e "1_RELOC_BLOCK_ALLOCATE" Stop Metadata "no space for relocating group metadata; pass aborts";
    P1_RELOC_MEMORY_ALLOCATE = 0x01_001f "1_RELOC_MEMORY_ALLOCATE" Stop Metadata "out of memory while relocating; pass aborts";
    P1_RELOC_FROM_TO = 0x01_0020 "1_RELOC_FROM_TO" Notice Cosmetic "progress text of a relocation";
    P1_RELOC_TO = 0x01_0021 "1_RELOC_TO" Notice Cosmetic "progress text of a relocation with no source";
    P1_RELOC_READ_ERR = 0x01_0022 "1_RELOC_READ_ERR" Notice Cosmetic "source block of relocation unreadable";
    P1_RELOC_WRITE_ERR = 0x01_0023 "1_RELOC_WRITE_ERR" Notice Cosmetic "target block of relocation unwritable";
    P1_ALLOCATE_IBITMAP_ERROR = 0x01_0024 "1_ALLOCATE_IBITMAP_ERROR" Stop Metadata "out of memory for an inode bitmap";
    P1_ALLOCATE_BBITMAP_ERROR = 0x01_0025 "1_ALLOCATE_BBITMAP_ERROR" Stop Metadata "out of memory for a block bitmap";
    P1_ALLOCATE_ICOUNT = 0x01_0026 "1_ALLOCATE_ICOUNT" Stop Metadata "out of memory for link-count table";
    P1_ALLOCATE_DBCOUNT = 0x01_0027 "1_ALLOCATE_DBCOUNT" Stop Metadata "out of memory for directory-block list";
    P1_ISCAN_ERROR = 0x01_0028 "1_ISCAN_ERROR" Stop Data "inode table scan failed (I/O or bad table location)";
    P1_BLOCK_ITERATE = 0x01_0029 "1_BLOCK_ITERATE" Stop Data "block-map walk failed in a way that cannot be ignored";
    P1_ICOUNT_STORE = 0x01_002a "1_ICOUNT_STORE" Stop Metadata "storing a link count failed";
    P1_ADD_DBLOCK = 0x01_002b "1_ADD_DBLOCK" Stop Metadata "storing a directory block failed";
    P1_READ_INODE = 0x01_002c "1_READ_INODE" Dead Cosmetic "an inode cannot be read";
    P1_SUPPRESS_MESSAGES = 0x01_002d "1_SUPPRESS_MESSAGES" Optional Cosmetic "offer to silence further messages about an inode";
    P1_SET_IMAGIC = 0x01_002f "1_SET_IMAGIC" Error Cosmetic "imagic flag on an inode without the feature";
    P1_SET_IMMUTABLE = 0x01_0030 "1_SET_IMMUTABLE" Optional Cosmetic "device/socket/fifo/symlink with immutable or append-only flag";
    P1_SET_NONZSIZE = 0x01_0032 "1_SET_NONZSIZE" Error Cosmetic "device/socket/fifo with non-zero size";
    P1_FS_REV_LEVEL = 0x01_0033 "1_FS_REV_LEVEL" Optional Cosmetic "feature bits on revision 0 found in pass 1";
    P1_JOURNAL_INODE_NOT_CLEAR = 0x01_0034 "1_JOURNAL_INODE_NOT_CLEAR" Error Metadata "inode 8 has contents though no journal is in use";
    P1_JOURNAL_BAD_MODE = 0x01_0035 "1_JOURNAL_BAD_MODE" Error Metadata "journal inode is not a regular file";
    P1_LOW_DTIME = 0x01_0036 "1_LOW_DTIME" Error Cosmetic "deletion time looks like an inode number: leftover of a broken orphan list";
    P1_ORPHAN_LIST_REFUGEES = 0x01_0037 "1_ORPHAN_LIST_REFUGEES" Error Cosmetic "one question for all such leftovers";
    P1_ALLOCATE_REFCOUNT = 0x01_0038 "1_ALLOCATE_REFCOUNT" Stop Metadata "out of memory for xattr reference table";
    P1_READ_EA_BLOCK = 0x01_0039 "1_READ_EA_BLOCK" Error Data "xattr block unreadable";
    P1_BAD_EA_BLOCK = 0x01_003a "1_BAD_EA_BLOCK" Error Data "inode's xattr block number or header is bad";
    P1_EXTATTR_READ_ABORT = 0x01_003b "1_EXTATTR_READ_ABORT" Stop Data "xattr block cannot be read; stop";
    P1_EXTATTR_REFCOUNT = 0x01_003c "1_EXTATTR_REFCOUNT" Error Accounting "xattr block's reference count differs from users found";
    P1_EXTATTR_WRITE_ABORT = 0x01_003d "1_EXTATTR_WRITE_ABORT" Stop Metadata "xattr block cannot be written; stop";
    P1_EA_MULTI_BLOCK = 0x01_003e "1_EA_MULTI_BLOCK" Error Data "xattr header claims more than one block";
    P1_EA_ALLOC_REGION_ABORT = 0x01_003f "1_EA_ALLOC_REGION_ABORT" Stop Metadata "out of memory for xattr overlap map";
    P1_EA_ALLOC_COLLISION = 0x01_0040 "1_EA_ALLOC_COLLISION" Error Data "entries/values overlap within xattr block";
    P1_EA_BAD_NAME = 0x01_0041 "1_EA_BAD_NAME" Error Data "xattr name illegal";
    P1_EA_BAD_VALUE = 0x01_0042 "1_EA_BAD_VALUE" Error Data "xattr value location, size or hash illegal";
    P1_INODE_TOOBIG = 0x01_0043 "1_INODE_TOOBIG" Error Data "file larger than the map type permits";
    P1_TOOBIG_DIR = 0x01_0044 "1_TOOBIG_DIR" Error Data "a block makes the directory exceed its size limit";
    P1_TOOBIG_REG = 0x01_0045 "1_TOOBIG_REG" Error Data "a block makes the file exceed its size limit";
    P1_TOOBIG_SYMLINK = 0x01_0046 "1_TOOBIG_SYMLINK" Error Data "symlink has more than one block";
    P1_HTREE_SET = 0x01_0047 "1_HTREE_SET" Error Metadata "indexed-directory flag without dir_index feature";
    P1_HTREE_NODIR = 0x01_0048 "1_HTREE_NODIR" Error Metadata "indexed-directory flag on a non-directory";
    P1_HTREE_BADROOT = 0x01_0049 "1_HTREE_BADROOT" Error Metadata "htree root block unreadable or malformed";
    P1_HTREE_HASHV = 0x01_004a "1_HTREE_HASHV" Error Metadata "htree uses a hash version not known";
    P1_HTREE_INCOMPAT = 0x01_004b "1_HTREE_INCOMPAT" Error Metadata "htree root has an unknown flag";
    P1_HTREE_DEPTH = 0x01_004c "1_HTREE_DEPTH" Error Metadata "htree deeper than allowed";
    P1_BB_FS_BLOCK = 0x01_004d "1_BB_FS_BLOCK" Error Metadata "indirect block of bad-block inode collides with metadata";
    P1_RESIZE_INODE_CREATE = 0x01_004e "1_RESIZE_INODE_CREATE" Error Metadata "rebuilding the resize inode failed";
    P1_EXTRA_ISIZE = 0x01_004f "1_EXTRA_ISIZE" Error Metadata "i_extra_isize misaligned or beyond the inode";
    P1_ATTR_NAME_LEN = 0x01_0050 "1_ATTR_NAME_LEN" Error Data "in-inode xattr name length runs past the space";
    P1_ATTR_VALUE_OFFSET = 0x01_0051 "1_ATTR_VALUE_OFFSET" Dead Cosmetic "in-inode xattr value offset illegal";
    P1_ATTR_VALUE_BLOCK = 0x01_0052 "1_ATTR_VALUE_BLOCK" Dead Cosmetic "in-inode xattr value block non-zero";
    P1_ATTR_VALUE_SIZE = 0x01_0053 "1_ATTR_VALUE_SIZE" Error Data "in-inode xattr value size runs past the space";
    P1_ATTR_HASH = 0x01_0054 "1_ATTR_HASH" Error Data "in-inode xattr hash mismatch";
    P1_TREAT_AS_DIRECTORY = 0x01_0055 "1_TREAT_AS_DIRECTORY" Error Data "non-directory inode whose first block parses as a directory";
    P1_READ_EXTENT = 0x01_0056 "1_READ_EXTENT" Error Data "extent tree node cannot be read";
    P1_EXTENT_ITERATE_FAILURE = 0x01_0057 "1_EXTENT_ITERATE_FAILURE" Error Data "extent walk stuck on an operation";
    P1_EXTENT_BAD_START_BLK = 0x01_0058 "1_EXTENT_BAD_START_BLK" Error Data "extent's physical start outside filesystem";
    P1_EXTENT_ENDS_BEYOND = 0x01_0059 "1_EXTENT_ENDS_BEYOND" Error Data "extent's physical end outside filesystem";
    P1_EXTENTS_SET = 0x01_005a "1_EXTENTS_SET" Error Data "extents flag on a filesystem lacking the feature, content not an extent tree";
    P1_EXTENT_FEATURE = 0x01_005b "1_EXTENT_FEATURE" Error Metadata "valid extent tree but feature bit absent in superblock";
    P1_UNSET_EXTENT_FL = 0x01_005c "1_UNSET_EXTENT_FL" Error Data "content is an extent tree but inode flag is off";
    P1_FAST_SYMLINK_EXTENT_FL = 0x01_005d "1_FAST_SYMLINK_EXTENT_FL" Error Metadata "in-inode symlink marked as extent-mapped";
    P1_OUT_OF_ORDER_EXTENTS = 0x01_005e "1_OUT_OF_ORDER_EXTENTS" Error Data "logical start not after the previous extent";
    P1_EXTENT_HEADER_INVALID = 0x01_005f "1_EXTENT_HEADER_INVALID" Error Data "extent node header malformed";
    P1_CONVERT_SUBCLUSTER = 0x01_0061 "1_CONVERT_SUBCLUSTER" Stop Metadata "cluster bitmap conversion failed";
    P1_QUOTA_BAD_MODE = 0x01_0062 "1_QUOTA_BAD_MODE" Error Metadata "quota inode is not a regular file";
    P1_QUOTA_INODE_NOT_CLEAR = 0x01_0063 "1_QUOTA_INODE_NOT_CLEAR" Error Metadata "reserved quota inode has contents though quota is off";
    P1_QUOTA_INODE_NOT_HIDDEN = 0x01_0064 "1_QUOTA_INODE_NOT_HIDDEN" Dead Cosmetic "quota inode reachable by a name";
    P1_INVALID_BAD_INODE = 0x01_0065 "1_INVALID_BAD_INODE" Error Metadata "bad-block inode has unexpected mode/links/size";
    P1_EXTENT_LENGTH_ZERO = 0x01_0066 "1_EXTENT_LENGTH_ZERO" Error Data "extent of length 0";
    P1_INODE_IS_GARBAGE = 0x01_0067 "1_INODE_IS_GARBAGE" Error Data "inode fails checksum and looks like junk";
    P1_INODE_ONLY_CSUM_INVALID = 0x01_0068 "1_INODE_ONLY_CSUM_INVALID" Error Metadata "inode sane but its checksum is wrong";
    P1_INODE_EA_ALLOC_COLLISION = 0x01_0069 "1_INODE_EA_ALLOC_COLLISION" Error Data "in-inode xattr entries overlap";
    P1_EXTENT_ONLY_CSUM_INVALID = 0x01_006a "1_EXTENT_ONLY_CSUM_INVALID" Error Metadata "extent block sane but its checksum is wrong";
    P1_EA_BLOCK_ONLY_CSUM_INVALID = 0x01_006c "1_EA_BLOCK_ONLY_CSUM_INVALID" Error Metadata "xattr block sane but its checksum is wrong";
    P1_EXTENT_INDEX_START_INVALID = 0x01_006d "1_EXTENT_INDEX_START_INVALID" Error Data "index entry's logical start differs from its child's first";
    P1_EXTENT_END_OUT_OF_BOUNDS = 0x01_006e "1_EXTENT_END_OUT_OF_BOUNDS" Error Data "extent reaches beyond its parent's logical range";
    P1_INLINE_DATA_FEATURE = 0x01_006f "1_INLINE_DATA_FEATURE" Error Metadata "inode has inline data but feature bit absent";
    P1_INLINE_DATA_SET = 0x01_0070 "1_INLINE_DATA_SET" Error Data "inline flag set, feature absent, no inline content";
    P1_CRITICAL_METADATA_COLLISION = 0x01_0071 "1_CRITICAL_METADATA_COLLISION" Notice Cosmetic "map block lies on superblock/descriptor/table blocks; map not followed";
    P1_COLLAPSE_DBLOCK = 0x01_0072 "1_COLLAPSE_DBLOCK" Error Metadata "directory has a logical hole; block should move down";
    P1_UNINIT_DBLOCK = 0x01_0073 "1_UNINIT_DBLOCK" Error Data "directory maps an unwritten extent";
    P1_MISALIGNED_CLUSTER = 0x01_0074 "1_MISALIGNED_CLUSTER" Notice Cosmetic "bigalloc mapping breaks cluster alignment (sends inode to 1B)";
    P1_INLINE_DATA_NO_ATTR = 0x01_0075 "1_INLINE_DATA_NO_ATTR" Error Data "inline flag set but the system.data xattr is absent";
    P1_SPECIAL_EXTENTS_IDATA = 0x01_0076 "1_SPECIAL_EXTENTS_IDATA" Optional Cosmetic "device/socket/fifo with extents or inline flag";
    P1_CLEAR_INLINE_DATA_FOR_EXTENT = 0x01_0077 "1_CLEAR_INLINE_DATA_FOR_EXTENT" Error Metadata "both flags set; content is an extent header";
    P1_CLEAR_EXTENT_FOR_INLINE_DATA = 0x01_0078 "1_CLEAR_EXTENT_FOR_INLINE_DATA" Error Metadata "both flags set; content is inline data";
    P1_CLEAR_EXTENT_INLINE_DATA_FLAGS = 0x01_0079 "1_CLEAR_EXTENT_INLINE_DATA_FLAGS" Error Metadata "both flags set; content is a block map";
    P1_CLEAR_EXTENT_INLINE_DATA_INODE = 0x01_007a "1_CLEAR_EXTENT_INLINE_DATA_INODE" Error Data "both flags set; content is junk";
    P1_BADBLOCKS_IN_BADBLOCKS = 0x01_007b "1_BADBLOCKS_IN_BADBLOCKS" Error Metadata "bad-block list names its own inode's table block";
    P1_EXTENT_ALLOC_REGION_ABORT = 0x01_007c "1_EXTENT_ALLOC_REGION_ABORT" Dead Cosmetic "out of memory for extent map";
    P1_EXTENT_COLLISION = 0x01_007d "1_EXTENT_COLLISION" Error Data "two extents of one inode overlap logically";
    P1_ALLOCATE_ENCRYPTED_INODE_LIST = 0x01_007e "1_ALLOCATE_ENCRYPTED_INODE_LIST" Stop Metadata "out of memory for encrypted-inode list";
    P1_EXTENT_BAD_MAX_DEPTH = 0x01_007f "1_EXTENT_BAD_MAX_DEPTH" Optional Cosmetic "extent tree deeper than it need be";
    P1_NO_BIGALLOC_BLOCKMAP_FILES = 0x01_0080 "1_NO_BIGALLOC_BLOCKMAP_FILES" Error Data "block-mapped file on bigalloc";
    P1_MISSING_EXTENT_HEADER = 0x01_0081 "1_MISSING_EXTENT_HEADER" Error Data "extents flag set but header absent";
    P1_EA_TIME_OUT_OF_RANGE = 0x01_0082 "1_EA_TIME_OUT_OF_RANGE" Optional Cosmetic "extended timestamp far in the future, likely old encoding bug";
    P1_ATTR_VALUE_EA_INODE = 0x01_0083 "1_ATTR_VALUE_EA_INODE" Error Data "xattr refers to an illegal value inode";
    P1_ATTR_NO_EA_INODE_FL = 0x01_0085 "1_ATTR_NO_EA_INODE_FL" Error Metadata "value inode lacks its flag and does not look like one";
    P1_ATTR_SET_EA_INODE_FL = 0x01_0086 "1_ATTR_SET_EA_INODE_FL" Error Metadata "value inode matches but lacks its flag";
    P1_CLEAR_UNINIT_EXTENT = 0x01_0087 "1_CLEAR_UNINIT_EXTENT" Error Metadata "unwritten extent where none is permitted";
    P1_CASEFOLD_NONDIR = 0x01_0088 "1_CASEFOLD_NONDIR" Error Metadata "casefold flag on a non-directory";
    P1_CASEFOLD_FEATURE = 0x01_0089 "1_CASEFOLD_FEATURE" Error Metadata "casefold flag without the feature";
    P1_MISSING_ENCRYPTION_XATTR = 0x01_008a "1_MISSING_ENCRYPTION_XATTR" Error Data "encrypt flag but no encryption context";
    P1_CORRUPT_ENCRYPTION_XATTR = 0x01_008b "1_CORRUPT_ENCRYPTION_XATTR" Error Data "encryption context malformed";
    P1_ALLOCATE_CASEFOLDED_DIRLIST = 0x01_008c "1_ALLOCATE_CASEFOLDED_DIRLIST" Stop Metadata "out of memory for the list of casefolded directories";
    P1_HTREE_NEEDS_SIPHASH = 0x01_008d "1_HTREE_NEEDS_SIPHASH" Error Metadata "casefolded+encrypted directory with another hash";
    P1_HTREE_CANNOT_SIPHASH = 0x01_008e "1_HTREE_CANNOT_SIPHASH" Error Metadata "SipHash used by an ordinary directory";
    P1_ORPHAN_FILE_BAD_MODE = 0x01_008f "1_ORPHAN_FILE_BAD_MODE" Error Metadata "orphan-file inode is not a regular file";
    P1_ORPHAN_FILE_NOT_CLEAR = 0x01_0090 "1_ORPHAN_FILE_NOT_CLEAR" Error Metadata "orphan-file inode has contents though feature off";
    P1_EA_INODE_NONREG = 0x01_0091 "1_EA_INODE_NONREG" Error Metadata "ea_inode flag on something not a regular file";
    P1_EA_INODE_FEATURE = 0x01_0092 "1_EA_INODE_FEATURE" Error Metadata "value inodes in use but feature bit absent";

    // pass 1B: rescan for shared blocks
    P1B_PASS_HEADER = 0x01_1000 "1B_PASS_HEADER" Notice Cosmetic "heading of a part of the pass";
    P1B_DUP_BLOCK_HEADER = 0x01_1001 "1B_DUP_BLOCK_HEADER" Notice Cosmetic "list start: blocks of an inode that others claim too";
    P1B_DUP_BLOCK = 0x01_1002 "1B_DUP_BLOCK" Error Data "list item: one shared block";
    P1B_DUP_BLOCK_END = 0x01_1003 "1B_DUP_BLOCK_END" Notice Cosmetic "end of the list of shared blocks";
    P1B_ISCAN_ERROR = 0x01_1004 "1B_ISCAN_ERROR" Stop Metadata "inode rescan failed";
    P1B_ALLOCATE_IBITMAP_ERROR = 0x01_1005 "1B_ALLOCATE_IBITMAP_ERROR" Stop Metadata "out of memory for the duplicate map";
    P1B_BLOCK_ITERATE = 0x01_1006 "1B_BLOCK_ITERATE" Notice Cosmetic "block walk failed in the rescan";
    P1B_ADJ_EA_REFCOUNT = 0x01_1007 "1B_ADJ_EA_REFCOUNT" Repair Metadata "xattr count adjust failed";
    P1B_DUP_RANGE = 0x01_1008 "1B_DUP_RANGE" Error Data "list item: range of shared blocks";

    // pass 1C: names of inodes with shared blocks
    P1C_PASS_HEADER = 0x01_2000 "1C_PASS_HEADER" Notice Cosmetic "heading of a part of the pass";

    // pass 1D: reconcile shared blocks
    P1D_PASS_HEADER = 0x01_3000 "1D_PASS_HEADER" Notice Cosmetic "heading of a part of the pass";
    P1D_DUP_FILE = 0x01_3001 "1D_DUP_FILE" Error Data "names a file that shares blocks";
    P1D_DUP_FILE_LIST = 0x01_3002 "1D_DUP_FILE_LIST" Notice Cosmetic "names a partner of the sharing";
    P1D_SHARE_METADATA = 0x01_3003 "1D_SHARE_METADATA" Notice Cosmetic "the partner is filesystem metadata";
    P1D_NUM_DUP_INODES = 0x01_3004 "1D_NUM_DUP_INODES" Notice Cosmetic "number of inodes involved";
    P1D_DUP_BLOCKS_DEALT = 0x01_3005 "1D_DUP_BLOCKS_DEALT" Repair Metadata "earlier repair already settled this file";
    P1D_CLONE_QUESTION = 0x01_3006 "1D_CLONE_QUESTION" Optional Cosmetic "question: give the file private copies";
    P1D_DELETE_QUESTION = 0x01_3007 "1D_DELETE_QUESTION" Error Data "question: delete the file; a 'no' makes the filesystem invalid";
    P1D_CLONE_ERROR = 0x01_3008 "1D_CLONE_ERROR" Repair Metadata "copying the shared blocks failed";

    // pass 1E: extent tree optimisation
    P1E_PASS_HEADER = 0x01_4000 "1E_PASS_HEADER" Notice Cosmetic "heading of a part of the pass";
    P1E_OPTIMIZE_EXT_ERR = 0x01_4001 "1E_OPTIMIZE_EXT_ERR" Repair Metadata "extent-tree rebuild failed";
    P1E_OPTIMIZE_EXT_HEADER = 0x01_4002 "1E_OPTIMIZE_EXT_HEADER" Repair Metadata "progress of optimising extents";
    P1E_OPTIMIZE_EXT = 0x01_4003 "1E_OPTIMIZE_EXT" Repair Metadata "progress of optimising extents";
    P1E_OPTIMIZE_EXT_END = 0x01_4004 "1E_OPTIMIZE_EXT_END" Repair Metadata "progress of optimising extents";
    P1E_MAX_EXTENT_TREE_DEPTH = 0x01_4005 "1E_MAX_EXTENT_TREE_DEPTH" Stop Metadata "internal limit of tree depth passed";
    P1E_CAN_COLLAPSE_EXTENT_TREE = 0x01_4006 "1E_CAN_COLLAPSE_EXTENT_TREE" Optional Cosmetic "a tree level could be dropped";
    P1E_CAN_NARROW_EXTENT_TREE = 0x01_4007 "1E_CAN_NARROW_EXTENT_TREE" Optional Cosmetic "a tree level could have fewer nodes";

    // pass 2: directory structure
    P2_PASS_HEADER = 0x02_0000 "2_PASS_HEADER" Notice Cosmetic "heading of the pass";
    P2_BAD_INODE_DOT = 0x02_0001 "2_BAD_INODE_DOT" Error Metadata "'.' names an inode other than its own directory";
    P2_BAD_INO = 0x02_0002 "2_BAD_INO" Error Data "entry's inode number is out of range or reserved";
    P2_UNUSED_INODE = 0x02_0003 "2_UNUSED_INODE" Error Data "entry names an inode not in use";
    P2_LINK_DOT = 0x02_0004 "2_LINK_DOT" Error Metadata "an ordinary name refers to its own directory";
    P2_BB_INODE = 0x02_0005 "2_BB_INODE" Error Data "entry names an inode lying on a bad block";
    P2_LINK_DIR = 0x02_0006 "2_LINK_DIR" Error Metadata "second name for a directory";
    P2_LINK_ROOT = 0x02_0007 "2_LINK_ROOT" Error Metadata "an ordinary name refers to the root";
    P2_BAD_NAME = 0x02_0008 "2_BAD_NAME" Error Data "name has '/' or NUL";
    P2_MISSING_DOT = 0x02_0009 "2_MISSING_DOT" Error Metadata "directory block 0 lacks '.'";
    P2_MISSING_DOT_DOT = 0x02_000a "2_MISSING_DOT_DOT" Error Metadata "directory block 0 lacks '..'";
    P2_1ST_NOT_DOT = 0x02_000b "2_1ST_NOT_DOT" Error Metadata "first entry is not '.'";
    P2_2ND_NOT_DOT_DOT = 0x02_000c "2_2ND_NOT_DOT_DOT" Error Metadata "second entry is not '..'";
    P2_FADDR_ZERO = 0x02_000d "2_FADDR_ZERO" Error Cosmetic "i_faddr not zero";
    P2_FILE_ACL_ZERO = 0x02_000e "2_FILE_ACL_ZERO" Error Metadata "xattr block number set where none is permitted";
    P2_DIR_SIZE_HIGH_ZERO = 0x02_000f "2_DIR_SIZE_HIGH_ZERO" Error Cosmetic "high half of size set on a directory without large_dir";
    P2_FRAG_ZERO = 0x02_0010 "2_FRAG_ZERO" Error Cosmetic "fragment number not zero";
    P2_FSIZE_ZERO = 0x02_0011 "2_FSIZE_ZERO" Error Cosmetic "fragment size not zero";
    P2_BAD_MODE = 0x02_0012 "2_BAD_MODE" Error Data "inode's type bits are no known type";
    P2_DIR_CORRUPTED = 0x02_0013 "2_DIR_CORRUPTED" Error Data "entry structure broken (rec_len, name_len, alignment)";
    P2_FILENAME_LONG = 0x02_0014 "2_FILENAME_LONG" Dead Cosmetic "name too long for its record";
    P2_DIRECTORY_HOLE = 0x02_0015 "2_DIRECTORY_HOLE" Error Data "directory has an unmapped block";
    P2_DOT_NULL_TERM = 0x02_0016 "2_DOT_NULL_TERM" Error Cosmetic "'.' not followed by NUL";
    P2_DOT_DOT_NULL_TERM = 0x02_0017 "2_DOT_DOT_NULL_TERM" Error Cosmetic "'..' not followed by NUL";
    P2_BAD_CHAR_DEV = 0x02_0018 "2_BAD_CHAR_DEV" Error Metadata "character-device inode malformed";
    P2_BAD_BLOCK_DEV = 0x02_0019 "2_BAD_BLOCK_DEV" Error Metadata "block-device inode malformed";
    P2_DUP_DOT = 0x02_001a "2_DUP_DOT" Error Metadata "second '.' entry";
    P2_DUP_DOT_DOT = 0x02_001b "2_DUP_DOT_DOT" Error Metadata "second '..' entry";
    P2_NO_DIRINFO = 0x02_001c "2_NO_DIRINFO" Stop Metadata "internal: directory table lacks an entry";
    P2_FINAL_RECLEN = 0x02_001d "2_FINAL_RECLEN" Error Data "last entry does not end at the block's end";
    P2_ALLOCATE_ICOUNT = 0x02_001e "2_ALLOCATE_ICOUNT" Stop Metadata "out of memory for reference counts";
    P2_DBLIST_ITERATE = 0x02_001f "2_DBLIST_ITERATE" Stop Metadata "walk of the directory-block list failed";
    P2_READ_DIRBLOCK = 0x02_0020 "2_READ_DIRBLOCK" Error Data "directory block unreadable";
    P2_WRITE_DIRBLOCK = 0x02_0021 "2_WRITE_DIRBLOCK" Repair Metadata "directory block unwritable";
    P2_ALLOC_DIRBOCK = 0x02_0022 "2_ALLOC_DIRBOCK" Repair Metadata "filling a directory hole failed";
    P2_DEALLOC_INODE = 0x02_0023 "2_DEALLOC_INODE" Repair Metadata "freeing an inode failed";
    P2_SPLIT_DOT = 0x02_0024 "2_SPLIT_DOT" Optional Cosmetic "'.' record longer than need be";
    P2_BAD_FIFO = 0x02_0025 "2_BAD_FIFO" Error Metadata "FIFO inode malformed";
    P2_BAD_SOCKET = 0x02_0026 "2_BAD_SOCKET" Error Metadata "socket inode malformed";
    P2_SET_FILETYPE = 0x02_0027 "2_SET_FILETYPE" Notice Cosmetic "entry's type byte is 0 though feature on; would be filled in";
    P2_BAD_FILETYPE = 0x02_0028 "2_BAD_FILETYPE" Error Metadata "entry's type byte disagrees with the inode";
    P2_CLEAR_FILETYPE = 0x02_0029 "2_CLEAR_FILETYPE" Error Metadata "entry has a type byte though feature off";
    P2_NULL_NAME = 0x02_0030 "2_NULL_NAME" Error Data "name of length 0";
    P2_INVALID_SYMLINK = 0x02_0031 "2_INVALID_SYMLINK" Error Data "symlink's size/content malformed";
    P2_FILE_ACL_BAD = 0x02_0032 "2_FILE_ACL_BAD" Error Data "xattr block number out of range";
    P2_FEATURE_LARGE_FILES = 0x02_0033 "2_FEATURE_LARGE_FILES" Error Metadata "files over 2 GiB but large_file bit absent";
    P2_HTREE_NOTREF = 0x02_0034 "2_HTREE_NOTREF" Error Data "a leaf/index block that no index entry refers to";
    P2_HTREE_DUPREF = 0x02_0035 "2_HTREE_DUPREF" Error Metadata "a block referred to by two index entries";
    P2_HTREE_MIN_HASH = 0x02_0036 "2_HTREE_MIN_HASH" Error Data "a name hashes below its block's range";
    P2_HTREE_MAX_HASH = 0x02_0037 "2_HTREE_MAX_HASH" Error Data "a name hashes above its block's range";
    P2_HTREE_CLEAR = 0x02_0038 "2_HTREE_CLEAR" Error Metadata "question: drop the directory's index";
    P2_FEATURE_LARGE_DIRS = 0x02_0039 "2_FEATURE_LARGE_DIRS" Error Metadata "oversized directory but large_dir bit absent";
    P2_HTREE_BADBLK = 0x02_003a "2_HTREE_BADBLK" Error Data "index entry's block number out of range";
    P2_ADJ_EA_REFCOUNT = 0x02_003b "2_ADJ_EA_REFCOUNT" Repair Metadata "xattr count adjust failed";
    P2_HTREE_BAD_ROOT = 0x02_003c "2_HTREE_BAD_ROOT" Error Metadata "index root fails checks in pass 2";
    P2_HTREE_BAD_LIMIT = 0x02_003d "2_HTREE_BAD_LIMIT" Error Metadata "index node's capacity field wrong";
    P2_HTREE_BAD_COUNT = 0x02_003e "2_HTREE_BAD_COUNT" Error Metadata "index node's count field wrong";
    P2_HTREE_HASH_ORDER = 0x02_003f "2_HTREE_HASH_ORDER" Error Metadata "index node's hashes not ascending";
    P2_HTREE_BAD_DEPTH = 0x02_0040 "2_HTREE_BAD_DEPTH" Error Metadata "leaf found at the wrong level";
    P2_DUPLICATE_DIRENT = 0x02_0041 "2_DUPLICATE_DIRENT" Error Metadata "same name and inode twice in a directory";
    P2_NON_UNIQUE_FILE = 0x02_0042 "2_NON_UNIQUE_FILE" Error Data "same name for two inodes in one directory (raised when the duplicate directory is looked at again, pass 3A; also under -n)";
    P2_REPORT_DUP_DIRENT = 0x02_0043 "2_REPORT_DUP_DIRENT" Notice Cosmetic "duplicate name noticed; directory queued for rebuild";
    P2_BLOCKS_HI_ZERO = 0x02_0044 "2_BLOCKS_HI_ZERO" Error Cosmetic "high half of i_blocks set without huge_file";
    P2_UNEXPECTED_HTREE_BLOCK = 0x02_0045 "2_UNEXPECTED_HTREE_BLOCK" Error Metadata "directory has a block its index cannot own";
    P2_INOREF_BG_INO_UNINIT = 0x02_0046 "2_INOREF_BG_INO_UNINIT" Error Data "entry names an inode in a group flagged INODE_UNINIT";
    P2_INOREF_IN_UNUSED = 0x02_0047 "2_INOREF_IN_UNUSED" Error Data "entry names an inode beyond the group's used part";
    P2_I_FILE_ACL_HI_ZERO = 0x02_0048 "2_I_FILE_ACL_HI_ZERO" Error Metadata "high half of xattr block number set without 64bit";
    P2_HTREE_ROOT_CSUM_INVALID = 0x02_0049 "2_HTREE_ROOT_CSUM_INVALID" Error Metadata "index root checksum wrong";
    P2_HTREE_NODE_CSUM_INVALID = 0x02_004a "2_HTREE_NODE_CSUM_INVALID" Error Metadata "index node checksum wrong";
    P2_LEAF_NODE_MISSING_CSUM = 0x02_004c "2_LEAF_NODE_MISSING_CSUM" Error Metadata "directory block has no room/tail for a checksum";
    P2_LEAF_NODE_ONLY_CSUM_INVALID = 0x02_004d "2_LEAF_NODE_ONLY_CSUM_INVALID" Error Metadata "directory block sane but its checksum is wrong";
    P2_BAD_INLINE_DIR_SIZE = 0x02_004e "2_BAD_INLINE_DIR_SIZE" Error Data "inline directory size not a multiple of 4";
    P2_FIX_INLINE_DIR_FAILED = 0x02_004f "2_FIX_INLINE_DIR_FAILED" Repair Metadata "resizing an inline directory failed";
    P2_BAD_ENCRYPTED_NAME = 0x02_0050 "2_BAD_ENCRYPTED_NAME" Error Data "encrypted name too short";
    P2_UNENCRYPTED_FILE = 0x02_0051 "2_UNENCRYPTED_FILE" Error Metadata "plain inode inside an encrypted directory";
    P2_INCONSISTENT_ENCRYPTION_POLICY = 0x02_0052 "2_INCONSISTENT_ENCRYPTION_POLICY" Error Metadata "child's encryption policy differs from the directory's";
    P2_BAD_ENCODED_NAME = 0x02_0053 "2_BAD_ENCODED_NAME" Error Metadata "name not valid UTF-8 in a strict casefold directory";
    P2_NON_UNIQUE_FILE_NO_RENAME = 0x02_0054 "2_NON_UNIQUE_FILE_NO_RENAME" Error Data "same name twice and a rename is not possible (encrypted)";
    P2_EA_INODE_DIR_LINK = 0x02_0055 "2_EA_INODE_DIR_LINK" Error Metadata "a name refers to an xattr value inode";

    // pass 3: connectivity
    P3_PASS_HEADER = 0x03_0000 "3_PASS_HEADER" Notice Cosmetic "heading of the pass";
    P3_NO_ROOT_INODE = 0x03_0001 "3_NO_ROOT_INODE" Error Data "root inode not in use";
    P3_EXPAND_LF_DIR = 0x03_0002 "3_EXPAND_LF_DIR" Repair Metadata "lost+found is full";
    P3_UNCONNECTED_DIR = 0x03_0003 "3_UNCONNECTED_DIR" Error Data "directory not reachable from root";
    P3_NO_LF_DIR = 0x03_0004 "3_NO_LF_DIR" Error Cosmetic "there is no directory lost+found";
    P3_BAD_DOT_DOT = 0x03_0005 "3_BAD_DOT_DOT" Error Metadata "'..' names other than the parent holding the entry";
    P3_NO_LPF = 0x03_0006 "3_NO_LPF" Repair Metadata "lost+found unusable for reconnecting";
    P3_CANT_EXPAND_LPF = 0x03_0007 "3_CANT_EXPAND_LPF" Repair Metadata "growing lost+found failed";
    P3_CANT_RECONNECT = 0x03_0008 "3_CANT_RECONNECT" Repair Metadata "linking into lost+found failed";
    P3_ERR_FIND_LPF = 0x03_0009 "3_ERR_FIND_LPF" Notice Cosmetic "lookup of lost+found failed";
    P3_ERR_LPF_NEW_BLOCK = 0x03_000a "3_ERR_LPF_NEW_BLOCK" Repair Metadata "no block for lost+found";
    P3_ERR_LPF_NEW_INODE = 0x03_000b "3_ERR_LPF_NEW_INODE" Repair Metadata "no inode for lost+found";
    P3_ERR_LPF_NEW_DIR_BLOCK = 0x03_000c "3_ERR_LPF_NEW_DIR_BLOCK" Repair Metadata "building lost+found's block failed";
    P3_ERR_LPF_WRITE_BLOCK = 0x03_000d "3_ERR_LPF_WRITE_BLOCK" Repair Metadata "writing lost+found's block failed";
    P3_ADJUST_INODE = 0x03_000e "3_ADJUST_INODE" Repair Metadata "changing a link count failed";
    P3_FIX_PARENT_ERR = 0x03_000f "3_FIX_PARENT_ERR" Repair Metadata "rewriting '..' failed";
    P3_FIX_PARENT_NOFIND = 0x03_0010 "3_FIX_PARENT_NOFIND" Repair Metadata "no '..' to rewrite";
    P3_ALLOCATE_IBITMAP_ERROR = 0x03_0011 "3_ALLOCATE_IBITMAP_ERROR" Stop Metadata "out of memory for a directory bitmap";
    P3_CREATE_ROOT_ERROR = 0x03_0012 "3_CREATE_ROOT_ERROR" Repair Metadata "making a root failed";
    P3_CREATE_LPF_ERROR = 0x03_0013 "3_CREATE_LPF_ERROR" Repair Metadata "making lost+found failed";
    P3_ROOT_NOT_DIR_ABORT = 0x03_0014 "3_ROOT_NOT_DIR_ABORT" Stop Data "root is no directory; checking stops";
    P3_NO_ROOT_INODE_ABORT = 0x03_0015 "3_NO_ROOT_INODE_ABORT" Stop Data "no root; checking stops";
    P3_NO_DIRINFO = 0x03_0016 "3_NO_DIRINFO" Stop Metadata "internal: directory table lacks an entry";
    P3_LPF_NOTDIR = 0x03_0017 "3_LPF_NOTDIR" Error Metadata "lost+found is not a directory";
    P3_LPF_INLINE_DATA = 0x03_0018 "3_LPF_INLINE_DATA" Error Metadata "lost+found kept inline";
    P3_LPF_NO_SPACE = 0x03_0019 "3_LPF_NO_SPACE" Repair Metadata "no room for lost+found; use root?";
    P3_NO_SPACE_TO_RECOVER = 0x03_001a "3_NO_SPACE_TO_RECOVER" Repair Metadata "no room to reconnect";
    P3_LPF_ENCRYPTED = 0x03_001b "3_LPF_ENCRYPTED" Error Metadata "lost+found is encrypted";
    P3_LOOPED_DIR = 0x03_001d "3_LOOPED_DIR" Error Data "directory is its own ancestor";

    // pass 3A: directory rebuild
    P3A_PASS_HEADER = 0x03_1000 "3A_PASS_HEADER" Notice Cosmetic "heading of a part of the pass";
    P3A_OPTIMIZE_ITER = 0x03_1001 "3A_OPTIMIZE_ITER" Repair Metadata "iterator for rebuild failed";
    P3A_OPTIMIZE_DIR_ERR = 0x03_1002 "3A_OPTIMIZE_DIR_ERR" Notice Cosmetic "directory rebuild failed";
    P3A_OPTIMIZE_DIR_HEADER = 0x03_1003 "3A_OPTIMIZE_DIR_HEADER" Repair Metadata "progress of optimising directories";
    P3A_OPTIMIZE_DIR = 0x03_1004 "3A_OPTIMIZE_DIR" Repair Metadata "progress of optimising directories";
    P3A_OPTIMIZE_DIR_END = 0x03_1005 "3A_OPTIMIZE_DIR_END" Repair Metadata "progress of optimising directories";

    // pass 4: reference counts
    P4_PASS_HEADER = 0x04_0000 "4_PASS_HEADER" Notice Cosmetic "heading of the pass";
    P4_ZERO_LEN_INODE = 0x04_0001 "4_ZERO_LEN_INODE" Optional Cosmetic "inode in use, no name, no data";
    P4_UNATTACHED_INODE = 0x04_0002 "4_UNATTACHED_INODE" Error Data "inode in use with no name";
    P4_BAD_REF_COUNT = 0x04_0003 "4_BAD_REF_COUNT" Error Accounting "link count differs from names found";
    P4_INCONSISTENT_COUNT = 0x04_0004 "4_INCONSISTENT_COUNT" Notice Cosmetic "link count changed under the checker (mounted, or internal)";
    P4_EA_INODE_REF_COUNT = 0x04_0005 "4_EA_INODE_REF_COUNT" Error Accounting "value inode's reference count differs from users found";
    P4_DIR_NLINK_FEATURE = 0x04_0006 "4_DIR_NLINK_FEATURE" Error Accounting "directory over 65000 links but dir_nlink bit absent";
    P4_DIR_OVERFLOW_REF_COUNT = 0x04_0007 "4_DIR_OVERFLOW_REF_COUNT" Error Accounting "directory link count is the overflow marker though an exact one fits";
    P4_EA_INODE_SPURIOUS_FLAG = 0x04_0008 "4_EA_INODE_SPURIOUS_FLAG" Error Accounting "ea_inode flag on a file with names and no users";

    // pass 5: bitmaps and group totals
    P5_PASS_HEADER = 0x05_0000 "5_PASS_HEADER" Notice Cosmetic "heading of the pass";
    P5_INODE_BMAP_PADDING = 0x05_0001 "5_INODE_BMAP_PADDING" Error Accounting "tail of inode bitmap not all ones";
    P5_BLOCK_BMAP_PADDING = 0x05_0002 "5_BLOCK_BMAP_PADDING" Error Accounting "tail of block bitmap not all ones";
    P5_BLOCK_BITMAP_HEADER = 0x05_0003 "5_BLOCK_BITMAP_HEADER" Notice Cosmetic "head of the list of differences in block bitmaps";
    P5_BLOCK_UNUSED = 0x05_0004 "5_BLOCK_UNUSED" Error Accounting "block marked used but not in use";
    P5_BLOCK_USED = 0x05_0005 "5_BLOCK_USED" Error Data "block owned but marked free";
    P5_BLOCK_BITMAP_END = 0x05_0006 "5_BLOCK_BITMAP_END" Error Accounting "question closing the block-bitmap list; carries the error";
    P5_INODE_BITMAP_HEADER = 0x05_0007 "5_INODE_BITMAP_HEADER" Notice Cosmetic "head of the list of differences in inode bitmaps";
    P5_INODE_UNUSED = 0x05_0008 "5_INODE_UNUSED" Error Accounting "inode marked used but it is free";
    P5_INODE_USED = 0x05_0009 "5_INODE_USED" Error Data "inode in use but marked free";
    P5_INODE_BITMAP_END = 0x05_000a "5_INODE_BITMAP_END" Error Accounting "question closing the inode-bitmap list; carries the error";
    P5_FREE_INODE_COUNT_GROUP = 0x05_000b "5_FREE_INODE_COUNT_GROUP" Error Accounting "group's free-inode count differs";
    P5_FREE_DIR_COUNT_GROUP = 0x05_000c "5_FREE_DIR_COUNT_GROUP" Error Accounting "group's directory count differs";
    P5_FREE_INODE_COUNT = 0x05_000d "5_FREE_INODE_COUNT" Optional Cosmetic "superblock's free-inode total differs";
    P5_FREE_BLOCK_COUNT_GROUP = 0x05_000e "5_FREE_BLOCK_COUNT_GROUP" Error Accounting "group's free-block count differs";
    P5_FREE_BLOCK_COUNT = 0x05_000f "5_FREE_BLOCK_COUNT" Optional Cosmetic "superblock's free-block total differs";
    P5_BMAP_ENDPOINTS = 0x05_0010 "5_BMAP_ENDPOINTS" Stop Accounting "internal: bitmap bounds differ";
    P5_FUDGE_BITMAP_ERROR = 0x05_0011 "5_FUDGE_BITMAP_ERROR" Stop Accounting "a bitmap cannot be read, so its padding cannot be filled in";
    P5_COPY_IBITMAP_ERROR = 0x05_0012 "5_COPY_IBITMAP_ERROR" Repair Accounting "replacing the inode bitmap failed";
    P5_COPY_BBITMAP_ERROR = 0x05_0013 "5_COPY_BBITMAP_ERROR" Repair Accounting "replacing the block bitmap failed";
    P5_BLOCK_RANGE_UNUSED = 0x05_0014 "5_BLOCK_RANGE_UNUSED" Error Accounting "range marked used but not in use";
    P5_BLOCK_RANGE_USED = 0x05_0015 "5_BLOCK_RANGE_USED" Error Data "range owned but marked free";
    P5_INODE_RANGE_UNUSED = 0x05_0016 "5_INODE_RANGE_UNUSED" Error Accounting "inode range marked used but free";
    P5_INODE_RANGE_USED = 0x05_0017 "5_INODE_RANGE_USED" Error Data "inode range in use but marked free";
    P5_BLOCK_UNINIT = 0x05_0018 "5_BLOCK_UNINIT" Error Data "blocks in use in a group flagged BLOCK_UNINIT";
    P5_INODE_UNINIT = 0x05_0019 "5_INODE_UNINIT" Error Data "inodes in use in a group flagged INODE_UNINIT";
    P5_INODE_BITMAP_CSUM_INVALID = 0x05_001a "5_INODE_BITMAP_CSUM_INVALID" Error Accounting "inode bitmap checksum wrong";
    P5_BLOCK_BITMAP_CSUM_INVALID = 0x05_001b "5_BLOCK_BITMAP_CSUM_INVALID" Error Accounting "block bitmap checksum wrong";

    // after pass 5
    P6_RECREATE_JOURNAL = 0x06_0001 "6_RECREATE_JOURNAL" Optional Cosmetic "question: make a new journal";
    P6_UPDATE_QUOTAS = 0x06_0002 "6_UPDATE_QUOTAS" Error Accounting "quota usage on disk differs from usage found";
    P6_SET_BG_CHECKSUM = 0x06_0003 "6_SET_BG_CHECKSUM" Repair Accounting "setting descriptor checksums failed";
    P6_FLUSH_FILESYSTEM = 0x06_0004 "6_FLUSH_FILESYSTEM" Repair Accounting "final metadata write failed";
    P6_IO_FLUSH = 0x06_0005 "6_IO_FLUSH" Repair Accounting "device flush failed";
    P6_WRITE_QUOTAS = 0x06_0006 "6_WRITE_QUOTAS" Repair Accounting "writing quota file failed";
    P6_ORPHAN_FILE_WITHOUT_JOURNAL = 0x06_0007 "6_ORPHAN_FILE_WITHOUT_JOURNAL" Error Accounting "orphan-file feature without a journal";
    P6_ORPHAN_FILE_TRUNC_FAILED = 0x06_0008 "6_ORPHAN_FILE_TRUNC_FAILED" Repair Accounting "truncating orphan file failed";
    P6_ORPHAN_FILE_CORRUPTED = 0x06_0009 "6_ORPHAN_FILE_CORRUPTED" Error Accounting "orphan file unusable (size, hole, block trailer)";
    P6_ORPHAN_FILE_BITMAP_INVALID = 0x06_000a "6_ORPHAN_FILE_BITMAP_INVALID" Repair Accounting "cannot rebuild it while bitmaps are invalid";
    P6_ORPHAN_FILE_CREATE_FAILED = 0x06_000b "6_ORPHAN_FILE_CREATE_FAILED" Repair Accounting "making a new orphan file failed";
    P6_ORPHAN_BLOCK_DIRTY = 0x06_000c "6_ORPHAN_BLOCK_DIRTY" Error Accounting "orphan-file block still names inodes";
    P6_ORPHAN_PRESENT_CLEAN_FILE = 0x06_000d "6_ORPHAN_PRESENT_CLEAN_FILE" Optional Cosmetic "orphan_present set though the orphan file is empty";
    P6_ORPHAN_PRESENT_NO_FILE = 0x06_000e "6_ORPHAN_PRESENT_NO_FILE" Error Accounting "orphan_present set without orphan_file feature";
    P6_ORPHAN_FILE_WRONG_SIZE = 0x06_000f "6_ORPHAN_FILE_WRONG_SIZE" Notice Cosmetic "orphan-file size not whole blocks";
    P6_ORPHAN_FILE_HOLE = 0x06_0010 "6_ORPHAN_FILE_HOLE" Notice Cosmetic "orphan file has a hole";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_ascends_and_names_are_unique() {
        assert!(ALL.windows(2).all(|pair| pair[0].code < pair[1].code));
        let mut names: Vec<_> = ALL.iter().map(|problem| problem.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 415);
        let of = |class| ALL.iter().filter(|problem| problem.class == class).count();
        assert_eq!(
            (of(Class::Error), of(Class::Uncounted), of(Class::Stop)),
            (209, 27, 46)
        );
    }

    #[test]
    fn a_code_finds_its_problem() {
        for one in ALL {
            assert!(std::ptr::eq(problem(one.code).unwrap(), *one));
            assert_eq!(u32::from(one.pass.number), one.code >> 16);
        }
        assert!(problem(0).is_none());
    }
}
