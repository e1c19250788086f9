//! All tests of `report` from outside, in one program: a module is what used to be one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod common;
mod control_characters;
mod crash;
mod estimates;
mod for_machines;
mod formats;
mod grids;
mod growth;
mod io;
mod latency;
mod mail;
mod members;
mod original;
mod page;
mod scan;
mod subjects;
mod summary;
mod text;
mod vendored;
