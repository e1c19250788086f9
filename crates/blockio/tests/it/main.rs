//! All tests of `blockio` from outside, in one program: a module is what used to be one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod devices;
mod ext4_image;
mod models;
mod pacing;
mod properties;
