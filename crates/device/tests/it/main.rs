//! The models from outside: under random loads, and with planted errors.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod planted;
mod trees;
