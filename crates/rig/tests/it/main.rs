//! All tests of `rig` from outside, in one program: a module is what used to be one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod block;
mod bounds;
mod clean;
mod common;
mod fsck;
mod hostile;
mod prepare;
mod reference;
mod remount;
