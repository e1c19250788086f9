//! Flat maps with one entry per inode slot or allocation unit.
//!
//! Trees of extents are smaller on a filesystem that is empty or in good order, and slower and larger on one that is not. One bit per
//! 4 KiB block of 72 TiB takes 2.4 GB when all of it is used; pages of a map that are never touched take no memory, because the kernel
//! hands them out as zeros on first use.
//!
//! A slot is a dense number from 0. Where inode numbers are dense a checker takes the number less the first one; where they are sparse
//! (XFS: allocation group, chunk and index in 64 bits) it numbers the allocated chunks first.
//!
//! All maps are filled by several threads at once with relaxed atomic operations: nothing is read before the threads are joined.

mod bits;
mod file_types;
mod link_counts;
mod name_counts;

pub(crate) use bits::zeroed;
pub use bits::{Bits, OutOfMemory};
pub use file_types::FileTypes;
pub use link_counts::LinkCounts;
pub(crate) use name_counts::Batch;
pub use name_counts::NameCounts;
