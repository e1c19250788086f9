//! Inodes: 128 bytes of old fields, then as many newer ones as `i_extra_isize` says, then room for
//! extended attributes.
//!
//! [`Inode`] is a view over one slot of the inode table and copies nothing. A newer field counts only when
//! `i_extra_isize` covers it; the accessors give `None` or the old meaning otherwise. Several
//! fields change their meaning with the features of the filesystem (`i_blocks`, the high half of the
//! size); their methods take what they depend on instead of the superblock, so that a caller can see it.
//! Source: Documentation/filesystems/ext4/inodes.rst.

pub mod flag;
pub mod number;
mod slot;
mod sums;

pub use slot::InodeMut;
pub use sums::InodeSums;

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::checksum::{Checksum, Seed, crc32c};
use super::device::Device;
use super::mode::FileType;
use super::time::Time;
use super::{Error, view};

/// Bytes of the old inode.
pub const OLD_SIZE: usize = 128;

/// The first 128 bytes of `struct ext4_inode`, with Linux's meaning of `osd1` and `osd2`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct RawInode {
    /// Type and permissions.
    pub i_mode: U16,
    /// Owner, low half.
    pub i_uid: U16,
    /// Size, low half.
    pub i_size_lo: U32,
    /// Last access, seconds; in a value inode the hash of the value.
    pub i_atime: U32,
    /// Last change of the inode; in a value inode the high half of its reference count.
    pub i_ctime: U32,
    /// Last change of the content; in an old value inode its owner.
    pub i_mtime: U32,
    /// Deletion; in an orphan the next orphan's number.
    pub i_dtime: U32,
    /// Group, low half.
    pub i_gid: U16,
    /// Names of this inode.
    pub i_links_count: U16,
    /// Space, low half; the unit depends, see [`Inode::sectors`].
    pub i_blocks_lo: U32,
    /// [`flag`].
    pub i_flags: U32,
    /// `l_i_version`: version, low half; in a value inode the low half of its reference count.
    pub i_osd1: U32,
    /// A block map, an extent tree's root, a symlink's target, inline data or a device number.
    pub i_block: [u8; 60],
    /// Version for NFS.
    pub i_generation: U32,
    /// Block of extended attributes, low half.
    pub i_file_acl_lo: U32,
    /// Size, high half.
    pub i_size_high: U32,
    /// Fragments, never used.
    pub i_obso_faddr: U32,
    /// Space, high half.
    pub l_i_blocks_high: U16,
    /// Block of extended attributes, high half.
    pub l_i_file_acl_high: U16,
    /// Owner, high half.
    pub l_i_uid_high: U16,
    /// Group, high half.
    pub l_i_gid_high: U16,
    /// Checksum, low half.
    pub l_i_checksum_lo: U16,
    /// Zero.
    pub l_i_reserved: U16,
}

/// The fields from byte 128 on, of which `i_extra_isize` bytes count.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct RawInodeExtra {
    /// Bytes of this structure that count.
    pub i_extra_isize: U16,
    /// Checksum, high half.
    pub i_checksum_hi: U16,
    /// Epoch and nanoseconds of `i_ctime`.
    pub i_ctime_extra: U32,
    /// Epoch and nanoseconds of `i_mtime`.
    pub i_mtime_extra: U32,
    /// Epoch and nanoseconds of `i_atime`.
    pub i_atime_extra: U32,
    /// Creation, seconds.
    pub i_crtime: U32,
    /// Epoch and nanoseconds of `i_crtime`.
    pub i_crtime_extra: U32,
    /// Version, high half.
    pub i_version_hi: U32,
    /// Project.
    pub i_projid: U32,
}

/// Bytes of all fields known today, old and new.
pub const KNOWN_SIZE: usize = OLD_SIZE + size_of::<RawInodeExtra>();

const _: () = assert!(size_of::<RawInode>() == OLD_SIZE && KNOWN_SIZE == 160);
const CHECKSUM_LO_AT: usize = 0x7c;
const CHECKSUM_HI_AT: usize = 0x82;

/// What an inode's `i_block` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A block map of 12 direct and three indirect pointers.
    BlockMap,
    /// The root of an extent tree.
    Extents,
    /// The content itself.
    Inline,
    /// The target of a short symbolic link.
    FastSymlink,
    /// A device number.
    Device,
    /// Nothing: a pipe, a socket, or no known type.
    Nothing,
}

/// One slot of an inode table.
#[derive(Debug, Clone, Copy)]
pub struct Inode<'a> {
    bytes: &'a [u8],
    raw: &'a RawInode,
}

impl<'a> Inode<'a> {
    /// The inode at the start of `bytes`, of the size the superblock names.
    ///
    /// # Errors
    ///
    /// [`Error::Short`] when the slice or `inode_size` is below what an inode needs.
    pub fn read(bytes: &'a [u8], inode_size: u16) -> Result<Self, Error> {
        let need = usize::from(inode_size).max(OLD_SIZE);
        let bytes = bytes.get(..need).ok_or(Error::Short {
            what: "inode",
            have: bytes.len(),
            need,
        })?;
        Ok(Self {
            bytes,
            raw: view("inode", bytes)?,
        })
    }

    /// The old fields.
    pub fn raw(&self) -> &'a RawInode {
        self.raw
    }

    /// The whole slot.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether every byte is zero: a slot never used. Such a slot carries no checksum.
    pub fn is_zero(&self) -> bool {
        self.bytes.iter().all(|byte| *byte == 0)
    }

    /// `i_extra_isize` as stored; 0 in an inode of 128 bytes. A checker finds it wrong when it is no multiple of 4
    /// or leaves the inode; see [`Inode::extra_is_legal`].
    pub fn extra_isize(&self) -> u16 {
        super::u16_at(self.bytes, OLD_SIZE).unwrap_or(0)
    }

    /// Whether `i_extra_isize` is possible: 0, or a multiple of 4 from 4 on that leaves room for the magic of
    /// attributes.
    pub fn extra_is_legal(&self) -> bool {
        let extra = usize::from(self.extra_isize());
        extra == 0
            || (extra.is_multiple_of(4)
                && extra >= 4
                && OLD_SIZE + extra <= self.bytes.len().saturating_sub(4))
    }

    /// A 32-bit field after byte 128, when the inode has it.
    fn extra_field(&self, at: usize) -> Option<u32> {
        let covered = OLD_SIZE + usize::from(self.extra_isize());
        (at + 4 <= covered)
            .then(|| super::u32_at(self.bytes, at))
            .flatten()
    }

    /// The bytes after the fields: extended attributes, when they begin with their magic number. Empty
    /// when there is no room, or `i_extra_isize` is impossible.
    pub fn body(&self) -> &'a [u8] {
        let start = OLD_SIZE + usize::from(self.extra_isize());
        if self.bytes.len() == OLD_SIZE || !self.extra_is_legal() {
            return &[];
        }
        self.bytes.get(start..).unwrap_or(&[])
    }

    /// The type, `None` when `i_mode` means none.
    pub fn file_type(&self) -> Option<FileType> {
        FileType::of_mode(self.raw.i_mode.get())
    }

    /// `i_flags`.
    pub fn flags(&self) -> u32 {
        self.raw.i_flags.get()
    }

    /// Whether all of `flags` are set.
    pub fn has_flags(&self, flags: u32) -> bool {
        self.flags() & flags == flags
    }

    /// What `i_block` is, by type, flags and size, as the kernel decides it.
    pub fn content(&self) -> Content {
        match self.file_type() {
            Some(FileType::CharDevice | FileType::BlockDevice) => Content::Device,
            Some(FileType::Fifo | FileType::Socket) | None => Content::Nothing,
            _ if self.has_flags(flag::INLINE_DATA) => Content::Inline,
            Some(FileType::Symlink) if (1..60).contains(&self.size()) => Content::FastSymlink,
            _ if self.has_flags(flag::EXTENTS) => Content::Extents,
            _ => Content::BlockMap,
        }
    }

    /// Both halves of the size, whatever the type. The kernel reads the high half only of regular files, and
    /// of directories with `large_dir`.
    pub fn size(&self) -> u64 {
        u64::from(self.raw.i_size_lo.get()) | u64::from(self.raw.i_size_high.get()) << 32
    }

    /// Both halves of the owner.
    pub fn uid(&self) -> u32 {
        u32::from(self.raw.i_uid.get()) | u32::from(self.raw.l_i_uid_high.get()) << 16
    }

    /// Both halves of the group.
    pub fn gid(&self) -> u32 {
        u32::from(self.raw.i_gid.get()) | u32::from(self.raw.l_i_gid_high.get()) << 16
    }

    /// The project; 0, the default project, where there is no field.
    pub fn projid(&self) -> u32 {
        self.extra_field(0x9c).unwrap_or(0)
    }

    /// Block of extended attributes, both halves; 0 for none.
    pub fn file_acl(&self) -> u64 {
        u64::from(self.raw.i_file_acl_lo.get()) | u64::from(self.raw.l_i_file_acl_high.get()) << 32
    }

    /// The space taken, in sectors of 512 bytes. Without the feature `huge_file` the field has 32 bits;
    /// with it 48, which count filesystem blocks if the inode has [`flag::HUGE_FILE`].
    pub fn sectors(&self, huge_file: bool, block_size: u32) -> u64 {
        let low = u64::from(self.raw.i_blocks_lo.get());
        if !huge_file {
            return low;
        }
        let count = low | u64::from(self.raw.l_i_blocks_high.get()) << 32;
        if self.has_flags(flag::HUGE_FILE) {
            count * u64::from(block_size / 512)
        } else {
            count
        }
    }

    /// Last access.
    pub fn atime(&self) -> Time {
        Time::from_disk(self.raw.i_atime.get(), self.extra_field(0x8c))
    }

    /// Last change of the inode.
    pub fn ctime(&self) -> Time {
        Time::from_disk(self.raw.i_ctime.get(), self.extra_field(0x84))
    }

    /// Last change of the content.
    pub fn mtime(&self) -> Time {
        Time::from_disk(self.raw.i_mtime.get(), self.extra_field(0x88))
    }

    /// Creation, where the inode has room for it.
    pub fn crtime(&self) -> Option<Time> {
        Some(Time::from_disk(
            self.extra_field(0x90)?,
            self.extra_field(0x94),
        ))
    }

    /// Deletion, seconds; or the next orphan's number.
    pub fn dtime(&self) -> u32 {
        self.raw.i_dtime.get()
    }

    /// The version counter, both halves.
    pub fn version(&self) -> u64 {
        let high = self.extra_field(0x98).unwrap_or(0);
        u64::from(self.raw.i_osd1.get()) | u64::from(high) << 32
    }

    /// The 15 words of `i_block`.
    pub fn block_words(&self) -> [u32; 15] {
        std::array::from_fn(|nth| super::u32_at(&self.raw.i_block, nth * 4).unwrap_or(0))
    }

    /// The device of a device inode; meaningless for others.
    pub fn device(&self) -> Device {
        let words = self.block_words();
        Device::from_disk([words[0], words[1]])
    }

    /// The reference count of a value inode ([`flag::EA_INODE`]).
    pub fn ea_refcount(&self) -> u64 {
        u64::from(self.raw.i_ctime.get()) << 32 | u64::from(self.raw.i_osd1.get())
    }

    /// The stored hash of a value inode's content.
    pub fn ea_hash(&self) -> u32 {
        self.raw.i_atime.get()
    }

    /// The owner that a value inode names, if it is one of Lustre's: those came first, have one owner instead of
    /// a count, and no hash. Only the owner's entry distinguishes such an inode from the others; its
    /// generation is that of the owner.
    pub fn ea_lustre_owner(&self) -> u32 {
        self.raw.i_mtime.get()
    }

    /// Whether the high half of the checksum has its field.
    fn has_checksum_hi(&self) -> bool {
        self.extra_isize() >= 4 && self.bytes.len() > OLD_SIZE
    }

    /// The seed of the blocks that belong to this inode.
    pub fn seed(&self, seed: Seed, ino: u32) -> Seed {
        seed.of_inode(ino, self.raw.i_generation.get())
    }

    /// The checksum of inode number `ino`; 16 bits of it where there is no field for the high half. The
    /// kernel takes a slot of zeros as good; see [`Inode::is_zero`].
    pub fn checksum(&self, seed: Seed, ino: u32) -> Checksum {
        let computed = self.over_fields(seed, ino);
        let low = u32::from(self.raw.l_i_checksum_lo.get());
        if self.has_checksum_hi() {
            let high = super::u16_at(self.bytes, CHECKSUM_HI_AT).unwrap_or(0);
            Checksum {
                stored: low | u32::from(high) << 16,
                computed,
            }
        } else {
            Checksum {
                stored: low,
                computed: computed & 0xffff,
            }
        }
    }

    /// The CRC of number, generation and slot, both checksum fields as zero. The usual sizes are put together on
    /// the stack, because a call costs more than the bytes of an inode do.
    fn over_fields(&self, seed: Seed, ino: u32) -> u32 {
        /// Number and generation.
        const BEFORE: usize = 8;
        let mut copy = [0; 512 + BEFORE];
        let hi = self.has_checksum_hi();
        if let Some(copy) = copy.get_mut(..BEFORE + self.bytes.len()) {
            copy[..4].copy_from_slice(&ino.to_le_bytes());
            copy[4..BEFORE].copy_from_slice(self.raw.i_generation.as_bytes());
            copy[BEFORE..].copy_from_slice(self.bytes);
            copy[BEFORE + CHECKSUM_LO_AT..][..2].fill(0);
            if hi {
                copy[BEFORE + CHECKSUM_HI_AT..][..2].fill(0);
            }
            return seed.over(copy);
        }
        let seed = self.seed(seed, ino).0;
        let mut crc = crc32c(seed, &self.bytes[..CHECKSUM_LO_AT]);
        crc = crc32c(crc, &[0; 2]);
        crc = crc32c(crc, &self.bytes[CHECKSUM_LO_AT + 2..CHECKSUM_HI_AT]);
        if hi {
            crc = crc32c(crc, &[0; 2]);
            crc32c(crc, &self.bytes[CHECKSUM_HI_AT + 2..])
        } else {
            crc32c(crc, &self.bytes[CHECKSUM_HI_AT..])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_behind_extra_isize_do_not_count() {
        let mut bytes = [0; 256];
        let mut slot = InodeMut::new(&mut bytes, 256).unwrap();
        slot.extra().unwrap().i_projid = 77.into();
        slot.extra().unwrap().i_crtime = 5.into();
        slot.extra().unwrap().i_extra_isize = 24.into();
        let inode = slot.inode().unwrap();
        assert_eq!(inode.projid(), 0, "i_projid ends at 32");
        assert_eq!(inode.crtime().unwrap().seconds, 5);
        assert_eq!(inode.body().len(), 256 - 128 - 24);
    }

    #[test]
    fn blocks_change_their_unit() {
        let mut bytes = [0; 128];
        let mut slot = InodeMut::new(&mut bytes, 128).unwrap();
        slot.set_sectors(1 << 50, 4096).unwrap();
        let inode = slot.inode().unwrap();
        assert!(inode.has_flags(flag::HUGE_FILE));
        assert_eq!(inode.sectors(true, 4096), 1 << 50);
        assert_eq!(
            inode.sectors(false, 4096),
            0,
            "2^47 blocks have no low half"
        );
        slot.set_sectors(8, 4096).unwrap();
        assert_eq!(slot.inode().unwrap().sectors(true, 4096), 8);
        assert!(slot.set_sectors(u64::MAX, 1024).is_err());
    }

    proptest! {
        #[test]
        fn any_slot_is_read_without_trouble(
            mut bytes in proptest::collection::vec(any::<u8>(), 1024),
            log in 7_u32..=10,
            extra: u16,
        ) {
            bytes[128..130].copy_from_slice(&extra.to_le_bytes());
            let size = 1_u16 << log;
            let inode = Inode::read(&bytes, size).unwrap();
            let _ = (inode.content(), inode.atime(), inode.crtime(), inode.projid(), inode.version());
            let _ = (inode.device(), inode.body(), inode.sectors(true, 65536), inode.file_acl());
            let _ = inode.checksum(Seed(1), 12);
        }

        #[test]
        fn a_sealed_inode_matches_and_one_bit_is_seen(
            mut bytes in proptest::collection::vec(any::<u8>(), 1024),
            log in 7_u32..=10,
            bit: prop::sample::Index,
        ) {
            let size = 1_u16 << log;
            let mut slot = InodeMut::new(&mut bytes, size).unwrap();
            slot.seal(Seed(3), 12).unwrap();
            prop_assert!(slot.inode().unwrap().checksum(Seed(3), 12).matches());
            // i_extra_isize decides which bits are compared; leave it alone.
            let bit = bit.index(usize::from(size) * 8);
            prop_assume!(!(128 * 8..130 * 8).contains(&bit));
            prop_assume!(!(CHECKSUM_HI_AT * 8..(CHECKSUM_HI_AT + 2) * 8).contains(&bit));
            bytes[bit / 8] ^= 1 << (bit % 8);
            let inode = Inode::read(&bytes, size).unwrap();
            if inode.has_checksum_hi() {
                prop_assert!(!inode.checksum(Seed(3), 12).matches());
            }
        }
    }
}
