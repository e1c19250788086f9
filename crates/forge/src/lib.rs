//! Filesystems written directly, without mounting anything.
//!
//! A checker that is to be tried on a hundred million files needs a filesystem with a hundred
//! million files, and filling one through the kernel takes days. Here the whole is planned first
//! (how many directories, where each inode and block will be), and then written once, from the
//! first group to the last: superblock, descriptors, bitmaps, inode tables, directories and
//! journal. File contents are holes in the image unless requested, so that 72 TiB fit on a laptop.
//!
//! Two halves: [`population`] is what exists, the same for every format; a format ([`ext4`]) is an
//! [`Image`], which places it and writes it. The image must be what the format's own mkfs and the
//! kernel would have written: Debian's e2fsck finds it clean, the kernel mounts it and can write to
//! it.
//!
//! The third part breaks filesystems on purpose ([`damage`]), to try checkers on.

pub mod amount;
pub mod damage;
mod error;
pub mod ext4;
mod image;
mod image_file;
mod maker;
pub mod ocfs2;
pub mod population;
mod units;
pub mod xfs;

pub use error::Error;
pub use image::{Image, Written};
pub use progress::{Progress, Silent};
