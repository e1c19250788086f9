//! All tests of `forge` from outside, in one program: a module is what used to be one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod ageing;
mod common;
mod damage;
mod e2fsck;
mod kernel;
mod layout;
mod ocfs2;
mod xfs;
