//! Superblocks and geometry.

use super::super::PASSES;
use super::problems;
use crate::frame::problem::{Class, Problem, Severity};

problems! {
    SUPERBLOCK:
    SB_READ = 0x0100 0 "XFS-SB-READ" Stop Metadata "sb: primary or a secondary superblock cannot be read; an image shorter than its AGs (128 KiB are read at the start of each) ends here";
    SB_UNCONFIRMED = 0x0101 0 "XFS-SB-UNCONFIRMED" Stop Metadata "sb 0: primary is sound by itself, but less than half of the secondaries can be read as sound";
    SB_SEARCH = 0x0102 0 "XFS-SB-SEARCH" Stop Metadata "sb: search for a secondary: dots, candidates, found or not found (nothing found: ends)";
    SB_FEATURES2 = 0x0103 0 "XFS-SB-FEATURES2" Stop Metadata "sb 0: features2 and its misplaced twin differ and the twin is not zero (a twin of zero is not mentioned)";
    SB_SHARED_VN = 0x0104 0 "XFS-SB-SHARED-VN" Stop Metadata "sb 0: shared_vn is not zero";
    SB_STILL_BAD = 0x0105 0 "XFS-SB-STILL-BAD" Stop Metadata "sb 0: primary is still bad when read again";
    SB_TWO_AGS = 0x0106 0 "XFS-SB-TWO-AGS" Stop Metadata "sb: exactly two AGs and their geometry differs (needs -o force_geometry)";
    SB_ONE_AG = 0x0107 0 "XFS-SB-ONE-AG" Stop Metadata "sb: exactly one AG: always refused without -o force_geometry, sound or not";
    SB_NO_MAJORITY = 0x0108 0 "XFS-SB-NO-MAJORITY" Stop Metadata "sb: fewer than half of the superblocks agree on one geometry";
    SB_WINNER_UNREADABLE = 0x0109 0 "XFS-SB-WINNER-UNREADABLE" Stop Metadata "sb: the superblock with the majority's geometry cannot be read again";
    SB_ROOTINO = 0x010a 0 "XFS-SB-ROOTINO" Error Metadata "sb 0: root inode number is not the one that follows from the geometry";
    SB_RBMINO = 0x010b 0 "XFS-SB-RBMINO" Error Metadata "sb 0: realtime bitmap inode is not root + 1";
    SB_RSUMINO = 0x010c 0 "XFS-SB-RSUMINO" Error Metadata "sb 0: realtime summary inode is not root + 2";
    SB_ROOT_UNALIGNED = 0x010d 0 "XFS-SB-ROOT-UNALIGNED" Error Metadata "sb 0: root is a plausible directory, but not where the stripe unit puts it";
    SB_SHAREDBIT = 0x010e 0 "XFS-SB-SHAREDBIT" Stop Metadata "sb 0: version has the shared bit";
    SB_VERSION = 0x010f 0 "XFS-SB-VERSION" Stop Metadata "sb 0: superblock version or V4 feature bits unknown";
    SB_UNKNOWN_FEATURES = 0x0110 0 "XFS-SB-UNKNOWN-FEATURES" Stop Metadata "sb 0: compat, ro-compat or incompat bits that this version does not know (6.1: above ro 0x0f, incompat 0x3f): stops with 1";
    SB_V1_INODES = 0x0111 0 "XFS-SB-V1-INODES" Error Metadata "sb 0: filesystem of version-1 inodes (V4 without the nlink bit)";
    SB_BAD_MAGIC = 0x0112 0 "XFS-SB-BAD-MAGIC" Stop Metadata "sb 0: magic is not XFSB";
    SB_BAD_VERSION = 0x0113 0 "XFS-SB-BAD-VERSION" Stop Metadata "sb 0: version or a feature bit of version 4 is unknown";
    SB_BAD_INPROGRESS = 0x0114 0 "XFS-SB-BAD-INPROGRESS" Stop Metadata "sb 0: mkfs did not finish";
    SB_BAD_SECTOR = 0x0115 0 "XFS-SB-BAD-SECTOR" Stop Metadata "sb 0: sector size is no power of two of 512 to 32768, or not its log";
    SB_BAD_CRC = 0x0116 0 "XFS-SB-BAD-CRC" Stop Metadata "sb 0: its checksum is wrong";
    SB_BAD_BLOCKSIZE = 0x0117 0 "XFS-SB-BAD-BLOCKSIZE" Stop Metadata "sb 0: block size is 0";
    SB_BAD_BLOCKLOG = 0x0118 0 "XFS-SB-BAD-BLOCKLOG" Stop Metadata "sb 0: log of the block size is outside of 9 to 16, or not that of the size";
    SB_BAD_SIZE = 0x0119 0 "XFS-SB-BAD-SIZE" Stop Metadata "sb 0: blocks of the data part do not go with the number and size of allocation groups";
    SB_BAD_INODESIZE = 0x011a 0 "XFS-SB-BAD-INODESIZE" Stop Metadata "sb 0: inode size, its log, inodes per block, or a log stripe unit above 256 KiB";
    SB_BAD_LOG = 0x011b 0 "XFS-SB-BAD-LOG" Stop Metadata "sb 0: number of log blocks or the log stripe unit";
    SB_BAD_LOGSECTOR = 0x011c 0 "XFS-SB-BAD-LOGSECTOR" Stop Metadata "sb 0: sector size of the log";
    SB_BAD_RT = 0x011d 0 "XFS-SB-BAD-RT" Stop Metadata "sb 0: its realtime fields are impossible";
    SB_BAD_INOALIGN = 0x011e 0 "XFS-SB-BAD-INOALIGN" Stop Metadata "sb 0: alignment of inode chunks";
    SB_BAD_IMAXPCT = 0x011f 0 "XFS-SB-BAD-IMAXPCT" Stop Metadata "sb 0: share of inodes above 100 %";
    SB_BAD_SUNIT = 0x0120 0 "XFS-SB-BAD-SUNIT" Stop Metadata "sb 0: its stripe unit is impossible";
    SB_BAD_SWIDTH = 0x0121 0 "XFS-SB-BAD-SWIDTH" Stop Metadata "sb 0: its stripe width is impossible";
    SB_BAD_DIRBLOCK = 0x0122 0 "XFS-SB-BAD-DIRBLOCK" Stop Metadata "sb 0: directory block above 64 KiB";
    SB_UNSUPPORTED = 0x0123 0 "XFS-SB-UNSUPPORTED" Stop Metadata "sb 0: features that no check here reads";
    SB_RT_NODEV = 0x0124 0 "XFS-SB-RT-NODEV" Stop Metadata "sb 0: the filesystem has a realtime part, and its device was not given";
    SB_WOULD_MODIFY = 0x0125 0 "XFS-SB-WOULD-MODIFY" Stop Metadata "sb 0: the geometry of most superblocks is another";
    SB_TRUNCATED = 0x0126 0 "XFS-SB-TRUNCATED" Stop Data "the device ends before the filesystem does, and the kernel does not mount it";
    SB_NEWER = 0x0127 0 "XFS-SB-NEWER" Notice Cosmetic "the filesystem has features of newer kernels that are not read here";
    SB_RT_SHORT = 0x0128 0 "XFS-SB-RT-SHORT" Stop Data "sb 0: the realtime device ends before the realtime part does";
}
