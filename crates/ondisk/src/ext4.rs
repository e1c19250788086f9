//! ext2, ext3 and ext4.
//!
//! Names of fields and flags are those of the kernel (Documentation/filesystems/ext4, fs/ext4/ext4.h,
//! include/linux/jbd2.h), so that a reader can go from here to there with a search. Where a value is
//! split over two fields, a method joins it: `bg_block_bitmap_lo` and `_hi` are
//! [`GroupDescriptor::block_bitmap`].
//!
//! The path of a reader: [`Superblock::read`] at byte 1024, [`Geometry::new`] for all arithmetic of groups
//! and the place of each piece of metadata, a [`GroupDescriptor`] for each group, [`Inode`]s from its
//! table, and then by the kind of the inode [`extent`], [`block_map`] or [`inline`], [`directory`] and [`htree`],
//! [`xattr`].
//!
//! Checksums are never verified implicitly. Each structure that carries one has a method
//! that gives a [`Checksum`], the stored and the computed value, because a finding prints both.
//!
//! Not covered: case folding of names outside ASCII (see [`casefold`]), decryption of
//! names, the dead features (compression, snapshots, fragments), and the Hurd's and Masix's meaning of the
//! `osd` fields beyond the translator and author.

pub mod bitmap;
pub mod block_map;
pub mod casefold;
pub mod checksum;
pub mod device;
pub mod directory;
pub mod encryption;
pub mod extent;
pub mod feature;
pub mod geometry;
pub mod group_descriptor;
pub mod hash;
pub mod htree;
pub mod inline;
pub mod inode;
pub mod journal;
pub mod mmp;
pub mod mode;
pub mod orphan;
pub mod quota;
pub mod superblock;
pub mod symlink;
pub mod time;
pub mod xattr;

pub use crate::error::Error;
pub use checksum::{Checksum, Seed};
pub use geometry::Geometry;
pub use group_descriptor::GroupDescriptor;
pub use inode::Inode;
pub use mode::FileType;
pub use superblock::Superblock;

pub(crate) use crate::bytes::{put_u32, u16_at, u32_at, view, view_mut};
