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
//! Checksums are never verified behind the caller's back. Each structure that carries one has a method
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
mod error;
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

pub use checksum::{Checksum, Seed};
pub use error::Error;
pub use geometry::Geometry;
pub use group_descriptor::GroupDescriptor;
pub use inode::Inode;
pub use mode::FileType;
pub use superblock::Superblock;

/// Reads a fixed structure at the start of `bytes`; the rest is left alone.
pub(crate) fn view<'a, T>(what: &'static str, bytes: &'a [u8]) -> Result<&'a T, Error>
where
    T: zerocopy::FromBytes + zerocopy::KnownLayout + zerocopy::Immutable + zerocopy::Unaligned,
{
    T::ref_from_prefix(bytes)
        .map(|(value, _)| value)
        .map_err(|_| Error::Short {
            what,
            have: bytes.len(),
            need: size_of::<T>(),
        })
}

/// The same for writing.
pub(crate) fn view_mut<'a, T>(what: &'static str, bytes: &'a mut [u8]) -> Result<&'a mut T, Error>
where
    T: zerocopy::FromBytes
        + zerocopy::IntoBytes
        + zerocopy::KnownLayout
        + zerocopy::Immutable
        + zerocopy::Unaligned,
{
    let have = bytes.len();
    T::mut_from_prefix(bytes)
        .map(|(value, _)| value)
        .map_err(|_| Error::Short {
            what,
            have,
            need: size_of::<T>(),
        })
}

/// Little-endian 16 bits at `at`, if they lie within `bytes`.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let end = at.checked_add(2)?;
    Some(u16::from_le_bytes(bytes.get(at..end)?.try_into().ok()?))
}

/// Little-endian 32 bits at `at`, if they lie within `bytes`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let end = at.checked_add(4)?;
    Some(u32::from_le_bytes(bytes.get(at..end)?.try_into().ok()?))
}

/// Writes `value` at `at`; `false` when it does not fit.
#[must_use]
pub(crate) fn put_u32(bytes: &mut [u8], at: usize, value: u32) -> bool {
    let Some(place) = at.checked_add(4).and_then(|end| bytes.get_mut(at..end)) else {
        return false;
    };
    place.copy_from_slice(&value.to_le_bytes());
    true
}
