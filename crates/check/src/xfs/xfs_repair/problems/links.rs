//! Link counts and quotas.

use super::super::PASSES;
use super::problems;
use crate::frame::problem::{Class, Problem, Severity};

problems! {
    LINKS:
    NLINK = 0x0700 6 "XFS-NLINK" Error Accounting "inode: links are not the names found";
    NLINK_MAP = 0x0701 6 "XFS-NLINK-MAP" Error Accounting "inode: inode cannot be opened for that";
    QUOTA_COUNT_READ = 0x0702 6 "XFS-QUOTA-COUNT-READ" Error Accounting "inode: inode or its extents cannot be read for counting";
    QUOTA_TYPE = 0x0703 6 "XFS-QUOTA-TYPE" Error Metadata "dquot: id or type";
    QUOTA_BCOUNT = 0x0704 6 "XFS-QUOTA-BCOUNT" Error Accounting "dquot: its number of blocks is wrong";
    QUOTA_RTBCOUNT = 0x0705 6 "XFS-QUOTA-RTBCOUNT" Error Accounting "dquot: its number of realtime blocks is wrong";
    QUOTA_ICOUNT = 0x0706 6 "XFS-QUOTA-ICOUNT" Error Accounting "dquot: its number of inodes is wrong";
    QUOTA_BIGTIME = 0x0707 6 "XFS-QUOTA-BIGTIME" Error Metadata "dquot: wide times without the feature";
    QUOTA_WALK = 0x0708 6 "XFS-QUOTA-WALK" Error Metadata "quota file: cannot be read";
    QUOTA_MISSING = 0x0709 6 "XFS-QUOTA-MISSING" Error Metadata "dquot: files of an owner without a record";
    QUOTA_NONE = 0x070a 6 "XFS-QUOTA-NONE" Error Metadata "sb 0: quota bit without any quota inode";
    QUOTA_LOST = 0x070b 6 "XFS-QUOTA-LOST" Error Metadata "sb 0: all quota inodes would be lost";
    QUOTA_LOST_U = 0x070c 6 "XFS-QUOTA-LOST-U" Error Metadata "sb 0: user quota inode is missing, free or would be cleared";
    QUOTA_LOST_G = 0x070d 6 "XFS-QUOTA-LOST-G" Error Metadata "sb 0: the group quota inode is free, or would be cleared";
    QUOTA_LOST_P = 0x070e 6 "XFS-QUOTA-LOST-P" Error Metadata "sb 0: the project quota inode is free, or would be cleared";
}
