//! Inodes that e2fsck takes for others when the checksum of an inode is wrong.
//!
//! The library of e2fsprogs caches four inodes. An inode with a wrong checksum is refused, but it has already been read into the oldest
//! entry of the cache, which keeps its old number: a later request for that number gets the refused inode.

pub(crate) mod directories;
pub(crate) mod resize_inode;
