//! On-disk formats, read and written as bytes.
//!
//! Nothing here opens a file. A function takes a slice and gives a value, or takes a value and gives
//! bytes; who reads the device, in which order and with which queue depth is the caller's affair. A
//! checker, a forger and a fuzzer can therefore share one description of the format.
//!
//! Three rules hold for every reader in this crate.
//!
//! 1. It is total: any bytes give a value or an [`Error`]; no input makes it panic, and the
//!    work it does is bounded by the length of the slice.
//! 2. It separates what is stored from what is right. A structure with a bad checksum or a silly
//!    field is still read, because a checker must say what it found. Errors are kept for bytes in which no
//!    structure can be seen at all: a slice too short, a magic number that is not there, a record
//!    that runs out of its block.
//! 3. It allocates nothing that a number on disk decides.
//!
//! Fixed structures are views over the slice itself ([`zerocopy`]), little-endian by type, so that a scan
//! of a hundred million inodes copies none of them. A parser generator was rejected: the structures that
//! are hard here (directory blocks, extended attributes, extent nodes) are not grammars but arrays
//! with offsets that may be wrong.

#[macro_use]
mod structure;

pub mod btrfs;
pub mod bytes;
pub mod checksum;
mod error;
pub mod ext4;
pub mod f2fs;
pub mod flags;
pub mod ocfs2;
pub mod signature;
pub mod swap;
pub mod xfs;

pub use checksum::Checksum;
pub use error::Error;
