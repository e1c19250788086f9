//! Sites as their readers have them: folders of files, a server on a loopback port, and a real browser.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod browser;
mod common;
mod folder;
#[cfg(feature = "serve")]
mod greedy;
#[cfg(feature = "serve")]
mod live;
mod pages;
#[cfg(feature = "serve")]
mod security;
