//! All tests of `check` from outside, in one program: a module is what used to be one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod advice;
mod affected;
mod allocator;
mod attributes;
mod bounds;
mod cancel;
mod cases;
mod codes;
mod common;
mod conformance;
mod damaged;
mod forecast;
mod inodes_per_group;
mod metadata;
mod names;
mod ocfs2;
mod raw;
mod verdicts;
mod whole;
mod xfs;
mod xfs_memory;
