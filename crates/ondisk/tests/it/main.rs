//! All tests of `ondisk` from outside, in one program: a module is what used to be one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod common;
mod conformance;
mod hashes;
mod journal;
mod kernel;
mod mke2fs;
mod mkfs_ocfs2;
mod mkfs_xfs;
mod robust;
