//! Group descriptors: the places of a group's bitmaps and inode table, and its counts.
//!
//! Two sizes exist: 32 bytes, and with the 64bit feature 64 or more, whose second half holds the high
//! halves of the first. A descriptor is copied out of its block (64 bytes) instead of viewed, so that code that uses
//! one need not know the size; bytes beyond 64 have no meaning yet, but the checksum covers them.
//! Source: Documentation/filesystems/ext4/group_descr.rst.

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::checksum::{Checksum, Seed, crc16, crc32c};
use super::feature::RoCompat;
use super::{Error, Superblock};

/// `bg_flags`: the inode table and bitmap were never written.
pub const INODE_UNINIT: u16 = 1;
/// `bg_flags`: the block bitmap was never written.
pub const BLOCK_UNINIT: u16 = 2;
/// `bg_flags`: the inode table is zeroed on disk.
pub const INODE_ZEROED: u16 = 4;

/// `struct ext4_group_desc` in its long form; the high halves of a short one are zero.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct RawGroupDescriptor {
    /// Block of the block bitmap, low half.
    pub bg_block_bitmap_lo: U32,
    /// Block of the inode bitmap, low half.
    pub bg_inode_bitmap_lo: U32,
    /// First block of the inode table, low half.
    pub bg_inode_table_lo: U32,
    /// Free blocks (clusters with bigalloc), low half.
    pub bg_free_blocks_count_lo: U16,
    /// Free inodes, low half.
    pub bg_free_inodes_count_lo: U16,
    /// Directories, low half.
    pub bg_used_dirs_count_lo: U16,
    /// [`INODE_UNINIT`], [`BLOCK_UNINIT`], [`INODE_ZEROED`].
    pub bg_flags: U16,
    /// Snapshots, never used.
    pub bg_exclude_bitmap_lo: U32,
    /// Checksum of the block bitmap, low half.
    pub bg_block_bitmap_csum_lo: U16,
    /// Checksum of the inode bitmap, low half.
    pub bg_inode_bitmap_csum_lo: U16,
    /// Inodes at the table's end that were never used, low half.
    pub bg_itable_unused_lo: U16,
    /// Checksum of this descriptor.
    pub bg_checksum: U16,
    /// High half of `bg_block_bitmap_lo`.
    pub bg_block_bitmap_hi: U32,
    /// High half of `bg_inode_bitmap_lo`.
    pub bg_inode_bitmap_hi: U32,
    /// High half of `bg_inode_table_lo`.
    pub bg_inode_table_hi: U32,
    /// High half of `bg_free_blocks_count_lo`.
    pub bg_free_blocks_count_hi: U16,
    /// High half of `bg_free_inodes_count_lo`.
    pub bg_free_inodes_count_hi: U16,
    /// High half of `bg_used_dirs_count_lo`.
    pub bg_used_dirs_count_hi: U16,
    /// High half of `bg_itable_unused_lo`.
    pub bg_itable_unused_hi: U16,
    /// High half of `bg_exclude_bitmap_lo`.
    pub bg_exclude_bitmap_hi: U32,
    /// High half of `bg_block_bitmap_csum_lo`.
    pub bg_block_bitmap_csum_hi: U16,
    /// High half of `bg_inode_bitmap_csum_lo`.
    pub bg_inode_bitmap_csum_hi: U16,
    /// Zero.
    pub bg_reserved: U32,
}

const SHORT: usize = 32;
const LONG: usize = 64;
const CHECKSUM_AT: usize = 0x1e;
const _: () = assert!(size_of::<RawGroupDescriptor>() == LONG);

/// A group descriptor of either size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupDescriptor {
    /// The fields; the high halves are zero when the descriptor is short.
    pub raw: RawGroupDescriptor,
    long: bool,
}

macro_rules! joined {
    ($($(#[$doc:meta])* $get:ident, $set:ident, $lo:ident, $hi:ident, $half:ty, $whole:ty;)+) => {$(
        $(#[$doc])*
        pub fn $get(&self) -> $whole {
            <$whole>::from(self.raw.$lo.get()) | <$whole>::from(self.raw.$hi.get()) << <$half>::BITS
        }

        /// Sets the value of the method of the same name; what a short descriptor cannot hold is lost.
        pub fn $set(&mut self, value: $whole) {
            self.raw.$lo = (value as $half).into();
            if self.long {
                self.raw.$hi = ((value >> <$half>::BITS) as $half).into();
            }
        }
    )+};
}

impl GroupDescriptor {
    /// An empty descriptor for the size a superblock names.
    pub fn empty(desc_size: u16) -> Self {
        Self {
            raw: RawGroupDescriptor::new_zeroed(),
            long: usize::from(desc_size) >= LONG,
        }
    }

    /// The descriptor at the start of `bytes`.
    ///
    /// # Errors
    ///
    /// [`Error::Short`] when fewer than `desc_size` bytes are given.
    pub fn read(bytes: &[u8], desc_size: u16) -> Result<Self, Error> {
        let need = usize::from(desc_size).max(SHORT);
        if bytes.len() < need {
            return Err(Error::Short {
                what: "group descriptor",
                have: bytes.len(),
                need,
            });
        }
        let mut this = Self::empty(desc_size);
        let kept = this.kept();
        this.raw.as_mut_bytes()[..kept].copy_from_slice(&bytes[..kept]);
        Ok(this)
    }

    /// Writes the descriptor to the start of `bytes`; bytes beyond the 64th stay.
    ///
    /// # Errors
    ///
    /// [`Error::Short`] when it does not fit.
    pub fn write(&self, bytes: &mut [u8]) -> Result<(), Error> {
        let kept = self.kept();
        let have = bytes.len();
        let place = bytes.get_mut(..kept).ok_or(Error::Short {
            what: "group descriptor",
            have,
            need: kept,
        })?;
        place.copy_from_slice(&self.raw.as_bytes()[..kept]);
        Ok(())
    }

    fn kept(&self) -> usize {
        if self.long { LONG } else { SHORT }
    }

    joined! {
        /// Block of the block bitmap.
        block_bitmap, set_block_bitmap, bg_block_bitmap_lo, bg_block_bitmap_hi, u32, u64;
        /// Block of the inode bitmap.
        inode_bitmap, set_inode_bitmap, bg_inode_bitmap_lo, bg_inode_bitmap_hi, u32, u64;
        /// First block of the inode table.
        inode_table, set_inode_table, bg_inode_table_lo, bg_inode_table_hi, u32, u64;
        /// Free clusters of the group.
        free_blocks, set_free_blocks, bg_free_blocks_count_lo, bg_free_blocks_count_hi, u16, u32;
        /// Free inodes of the group.
        free_inodes, set_free_inodes, bg_free_inodes_count_lo, bg_free_inodes_count_hi, u16, u32;
        /// Directories of the group.
        used_dirs, set_used_dirs, bg_used_dirs_count_lo, bg_used_dirs_count_hi, u16, u32;
        /// Inodes at the end of the table that were never used.
        itable_unused, set_itable_unused, bg_itable_unused_lo, bg_itable_unused_hi, u16, u32;
        /// Stored checksum of the block bitmap; 16 bits in a short descriptor.
        block_bitmap_csum, set_block_bitmap_csum, bg_block_bitmap_csum_lo, bg_block_bitmap_csum_hi, u16, u32;
        /// Stored checksum of the inode bitmap; 16 bits in a short descriptor.
        inode_bitmap_csum, set_inode_bitmap_csum, bg_inode_bitmap_csum_lo, bg_inode_bitmap_csum_hi, u16, u32;
    }

    /// `bg_flags`.
    pub fn flags(&self) -> u16 {
        self.raw.bg_flags.get()
    }

    /// Whether all of `flags` are set.
    pub fn has_flags(&self, flags: u16) -> bool {
        self.flags() & flags == flags
    }

    /// Cuts a computed bitmap checksum to the bits a descriptor of this size stores.
    pub fn stored_bits(&self, checksum: u32) -> u32 {
        if self.long {
            checksum
        } else {
            checksum & 0xffff
        }
    }
}

/// How a filesystem protects its group descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DescriptorChecksum {
    /// Not at all.
    None,
    /// `uninit_bg`: CRC-16 of the UUID, the group's number and the descriptor.
    Crc16 {
        /// CRC-16 of the UUID from all ones.
        seed: u16,
    },
    /// `metadata_csum`: the low 16 bits of a CRC-32C of the group's number and the descriptor.
    Crc32c(Seed),
}

impl DescriptorChecksum {
    /// The way a superblock's features name; `metadata_csum` goes before `uninit_bg`.
    pub fn of(sb: &Superblock) -> Self {
        if let Some(seed) = sb.metadata_seed() {
            Self::Crc32c(seed)
        } else if sb.has_ro_compat(RoCompat::GDT_CSUM) {
            Self::Crc16 {
                seed: crc16(!0, &sb.s_uuid),
            }
        } else {
            Self::None
        }
    }

    /// Whether groups may be marked as never written, which both checksums bring with them.
    pub fn allows_uninit(self) -> bool {
        self != Self::None
    }

    /// The checksum of descriptor number `group`; `bytes` is the whole of it, `s_desc_size` bytes.
    /// `None` without checksums, and for a slice below 32 bytes.
    pub fn verify(self, group: u32, bytes: &[u8]) -> Option<Checksum> {
        let head = bytes.get(..CHECKSUM_AT)?;
        let stored = super::u16_at(bytes, CHECKSUM_AT)?;
        let rest = bytes.get(SHORT..)?;
        let number = group.to_le_bytes();
        let computed = match self {
            Self::None => return None,
            Self::Crc16 { seed } => crc16(crc16(crc16(seed, &number), head), rest),
            Self::Crc32c(seed) => {
                let start = crc32c(seed.over(&number), head);
                // The field itself counts as zero.
                crc32c(crc32c(start, &[0; 2]), rest) as u16
            }
        };
        Some(Checksum {
            stored: stored.into(),
            computed: computed.into(),
        })
    }

    /// Writes the checksum into the descriptor in `bytes`; call it last. Without checksums, or when the
    /// slice is no descriptor, nothing happens.
    pub fn seal(self, group: u32, bytes: &mut [u8]) {
        if let Some(sum) = self.verify(group, bytes) {
            bytes[CHECKSUM_AT..SHORT].copy_from_slice(&(sum.computed as u16).to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_descriptor_has_no_high_halves() {
        let bytes = [0xff; 64];
        let short = GroupDescriptor::read(&bytes, 32).unwrap();
        assert_eq!(short.block_bitmap(), 0xffff_ffff);
        let long = GroupDescriptor::read(&bytes, 64).unwrap();
        assert_eq!(long.block_bitmap(), u64::MAX);
        assert_eq!(short.stored_bits(0x1234_5678), 0x5678);
        assert!(GroupDescriptor::read(&bytes[..63], 64).is_err());
    }

    proptest! {
        #[test]
        fn read_then_write_gives_the_same_bytes(
            bytes in proptest::collection::vec(any::<u8>(), 64),
            long: bool,
        ) {
            let size = if long { 64 } else { 32 };
            let desc = GroupDescriptor::read(&bytes, size).unwrap();
            let mut out = vec![0; usize::from(size)];
            desc.write(&mut out).unwrap();
            prop_assert_eq!(&out[..], &bytes[..usize::from(size)]);
        }

        #[test]
        fn setters_are_read_back(block in 0_u64..1 << 48, count: u32) {
            let mut desc = GroupDescriptor::empty(64);
            desc.set_inode_table(block);
            desc.set_free_blocks(count);
            prop_assert_eq!((desc.inode_table(), desc.free_blocks()), (block, count));
        }

        #[test]
        fn a_seal_holds_for_one_group_only(
            mut bytes in proptest::collection::vec(any::<u8>(), 64),
            group in 0_u32..1 << 20,
            crc16: bool,
        ) {
            let way = if crc16 {
                DescriptorChecksum::Crc16 { seed: 7 }
            } else {
                DescriptorChecksum::Crc32c(Seed(7))
            };
            way.seal(group, &mut bytes);
            prop_assert!(way.verify(group, &bytes).unwrap().matches());
            // A difference of one bit is always seen by both polynomials.
            prop_assert!(!way.verify(group ^ 1, &bytes).unwrap().matches());
        }
    }
}
