//! The journal's own superblock, the first block of the journal inode.

use zerocopy::big_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::super::checksum::{Checksum, Seed, crc32c};
use super::super::{Error, view, view_mut};
use super::MAGIC;

/// Bytes of the structure.
pub const SIZE: usize = 1024;

/// `s_checksum_type`: CRC-32C, the only one in use with `CSUM_V2` and `CSUM_V3`.
pub const CHECKSUM_CRC32C: u8 = 4;

/// `s_feature_compat`.
pub mod compat {
    /// A CRC-32 over each transaction, in its commit block.
    pub const CHECKSUM: u32 = 0x1;
    /// All known.
    pub const KNOWN: u32 = 0x1;
}

/// `s_feature_incompat`.
pub mod incompat {
    /// Revocation blocks may exist.
    pub const REVOKE: u32 = 0x1;
    /// Block numbers have 64 bits.
    pub const BIT64: u32 = 0x2;
    /// The commit block is written together with the data.
    pub const ASYNC_COMMIT: u32 = 0x4;
    /// Checksums, 16 bits in tags.
    pub const CSUM_V2: u32 = 0x8;
    /// Checksums, 32 bits in tags.
    pub const CSUM_V3: u32 = 0x10;
    /// Fast commits at the end of the journal.
    pub const FAST_COMMIT: u32 = 0x20;
    /// All known.
    pub const KNOWN: u32 = 0x3f;
}

/// `struct journal_superblock_s`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct JournalSuperblock {
    /// [`MAGIC`].
    pub h_magic: U32,
    /// 3 for version 1, 4 for version 2.
    pub h_blocktype: U32,
    /// Not used here.
    pub h_sequence: U32,
    /// Bytes of a block.
    pub s_blocksize: U32,
    /// Blocks of the journal.
    pub s_maxlen: U32,
    /// First block of the log.
    pub s_first: U32,
    /// First transaction expected in the log.
    pub s_sequence: U32,
    /// Where the log begins, 0 when it is empty.
    pub s_start: U32,
    /// The error that ended the journal, negative.
    pub s_errno: U32,
    /// [`compat`]; from here on in version 2 only.
    pub s_feature_compat: U32,
    /// [`incompat`].
    pub s_feature_incompat: U32,
    /// None exist.
    pub s_feature_ro_compat: U32,
    /// UUID of the journal.
    pub s_uuid: [u8; 16],
    /// Filesystems that use it.
    pub s_nr_users: U32,
    /// Block of a copy; unused.
    pub s_dynsuper: U32,
    /// Most blocks of a transaction; unused.
    pub s_max_transaction: U32,
    /// Most data blocks of a transaction; unused.
    pub s_max_trans_data: U32,
    /// [`CHECKSUM_CRC32C`].
    pub s_checksum_type: u8,
    /// Zero.
    pub s_padding2: [u8; 3],
    /// Blocks of the area for fast commits.
    pub s_num_fc_blks: U32,
    /// Where the log ended when it was last found empty.
    pub s_head: U32,
    /// Zero.
    pub s_padding: [U32; 40],
    /// CRC-32C of the 1024 bytes with this field zero.
    pub s_checksum: U32,
    /// UUIDs of the users, 16 bytes each.
    pub s_users: [u8; 768],
}

const _: () = assert!(size_of::<JournalSuperblock>() == SIZE);

/// How tags and blocks of a journal are written, by its features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagFormat {
    /// Block numbers have 64 bits.
    pub bit64: bool,
    /// `CSUM_V2` without `CSUM_V3`.
    pub csum_v2: bool,
    /// `CSUM_V3`.
    pub csum_v3: bool,
}

impl TagFormat {
    /// Whether blocks end with a checksum.
    pub fn has_tail(self) -> bool {
        self.csum_v2 || self.csum_v3
    }

    /// Bytes of a tag without the UUID that may follow it.
    pub fn tag_bytes(self) -> usize {
        match (self.csum_v3, self.bit64) {
            (true, _) => 16,
            // The kernel keeps two bytes more with CSUM_V2: a 32-bit checksum was planned to be stored in them.
            (false, true) => 12 + if self.csum_v2 { 2 } else { 0 },
            (false, false) => 8 + if self.csum_v2 { 2 } else { 0 },
        }
    }
}

impl JournalSuperblock {
    /// The superblock at the start of a journal.
    ///
    /// # Errors
    ///
    /// [`Error::Short`], [`Error::Magic`], and [`Error::Range`] when the block is of another type.
    pub fn read(bytes: &[u8]) -> Result<&Self, Error> {
        let this: &Self = view("journal superblock", bytes)?;
        let found = this.h_magic.get();
        if found != MAGIC {
            return Err(Error::Magic {
                what: "journal superblock h_magic",
                found,
                expected: MAGIC,
            });
        }
        match this.h_blocktype.get() {
            3 | 4 => Ok(this),
            found => Err(Error::Range {
                what: "h_blocktype",
                found: found.into(),
                low: 3,
                high: 4,
            }),
        }
    }

    /// Whether the fields of version 2 count.
    pub fn is_v2(&self) -> bool {
        self.h_blocktype.get() == 4
    }

    /// Whether all incompatible features in `bits` are set; none are in version 1.
    pub fn has_incompat(&self, bits: u32) -> bool {
        self.is_v2() && self.s_feature_incompat.get() & bits == bits
    }

    /// Whether a transaction has one checksum in its commit block.
    pub fn has_commit_checksum(&self) -> bool {
        self.is_v2() && self.s_feature_compat.get() & compat::CHECKSUM != 0
    }

    /// How tags are written.
    pub fn tag_format(&self) -> TagFormat {
        let csum_v3 = self.has_incompat(incompat::CSUM_V3);
        TagFormat {
            bit64: self.has_incompat(incompat::BIT64),
            csum_v2: self.has_incompat(incompat::CSUM_V2) && !csum_v3,
            csum_v3,
        }
    }

    /// The seed of the journal's CRC-32C: that of its UUID.
    pub fn seed(&self) -> Seed {
        Seed::of_uuid(&self.s_uuid)
    }

    /// The checksum, when the journal carries one.
    pub fn checksum(&self) -> Option<Checksum> {
        self.tag_format().has_tail().then(|| Checksum {
            stored: self.s_checksum.get(),
            computed: self.computed(),
        })
    }

    fn computed(&self) -> u32 {
        let mut copy = *self;
        copy.s_checksum = 0.into();
        crc32c(!0, copy.as_bytes())
    }

    /// Writes the checksum, when the features ask for one.
    pub fn seal(&mut self) {
        if self.tag_format().has_tail() {
            self.s_checksum = self.computed().into();
        }
    }

    /// Blocks kept for fast commits; 0 without the feature. The field may be 0, which means 256.
    pub fn fast_commit_blocks(&self) -> u32 {
        match (
            self.has_incompat(incompat::FAST_COMMIT),
            self.s_num_fc_blks.get(),
        ) {
            (false, _) => 0,
            (true, 0) => 256,
            (true, blocks) => blocks,
        }
    }

    /// The blocks of the area of fast commits, empty without the feature. The first block after the log belongs to
    /// neither: the kernel begins one block later.
    ///
    /// # Errors
    ///
    /// As [`JournalSuperblock::log`].
    pub fn fast_commits(&self) -> Result<std::ops::Range<u32>, Error> {
        let maxlen = self.s_maxlen.get();
        let end = self.log()?.end;
        Ok(if self.fast_commit_blocks() == 0 {
            maxlen..maxlen
        } else {
            end + 1..maxlen
        })
    }

    /// The blocks of the log: from `s_first` to where the area of fast commits begins.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] when nothing is left between them.
    pub fn log(&self) -> Result<std::ops::Range<u32>, Error> {
        let first = self.s_first.get();
        let end = self.s_maxlen.get().checked_sub(self.fast_commit_blocks());
        end.filter(|end| *end > first)
            .map(|end| first..end)
            .ok_or(Error::Value {
                what: "s_maxlen",
                found: self.s_maxlen.get().into(),
                problem: "leaves no block between s_first and the fast commits",
            })
    }
}

/// Writes the superblock of an empty journal of version 2 to the start of `bytes`.
///
/// # Errors
///
/// [`Error::Short`] below 1024 bytes.
pub fn write_empty(
    bytes: &mut [u8],
    block_size: u32,
    blocks: u32,
    uuid: [u8; 16],
) -> Result<&mut JournalSuperblock, Error> {
    bytes.fill(0);
    let sb: &mut JournalSuperblock = view_mut("journal superblock", bytes)?;
    sb.h_magic = MAGIC.into();
    sb.h_blocktype = 4.into();
    sb.s_blocksize = block_size.into();
    sb.s_maxlen = blocks.into();
    sb.s_first = 1.into();
    sb.s_sequence = 1.into();
    sb.s_uuid = uuid;
    sb.s_nr_users = 1.into();
    Ok(sb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_each_kind() {
        let format = |bit64, csum_v2, csum_v3| {
            TagFormat {
                bit64,
                csum_v2,
                csum_v3,
            }
            .tag_bytes()
        };
        assert_eq!(format(false, false, false), 8);
        assert_eq!(format(true, false, false), 12);
        assert_eq!(format(false, true, false), 10);
        assert_eq!(format(true, true, false), 14);
        assert_eq!(format(false, false, true), 16);
        assert_eq!(format(true, false, true), 16);
    }

    #[test]
    fn fast_commits_take_the_end() {
        let mut bytes = [0; 1024];
        let sb = write_empty(&mut bytes, 4096, 1024, [7; 16]).unwrap();
        assert_eq!(sb.log(), Ok(1..1024));
        sb.s_feature_incompat = (incompat::FAST_COMMIT | incompat::CSUM_V3).into();
        assert_eq!(sb.log(), Ok(1..768));
        assert_eq!(sb.fast_commits(), Ok(769..1024));
        sb.seal();
        assert!(sb.checksum().unwrap().matches());
        sb.s_num_fc_blks = 1024.into();
        assert!(sb.log().is_err());
        assert!(
            !JournalSuperblock::read(&bytes)
                .unwrap()
                .checksum()
                .unwrap()
                .matches()
        );
    }
}
