//! btrfs. The superblock so far.
//!
//! Names of fields are those of the kernel's headers.

pub mod superblock;

pub use superblock::Superblock;
