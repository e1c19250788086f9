//! All tests of `guest` from outside, in one program: a module is what used to be one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod boot_probe;
mod boots;
mod common;
mod fetch;
mod machines;
