//! The blocks of a transaction: their common header, revocation blocks and commit blocks.

use super::super::Error;
use super::super::checksum::{Checksum, Seed, crc32c};
use super::superblock::TagFormat;
use super::{MAGIC, be32_at};

/// Bytes of the common header.
pub const HEADER: usize = 12;
/// Bytes of the checksum at the end of descriptor and revocation blocks.
pub const TAIL: usize = 4;
const REVOKE_HEADER: usize = 16;
const COMMIT_CHECKSUM_AT: usize = 16;
const COMMIT_SIZE: usize = 60;

/// `h_blocktype`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlockType {
    /// Tags for the data blocks that follow.
    Descriptor,
    /// The end of a transaction.
    Commit,
    /// A superblock of version 1.
    SuperblockV1,
    /// A superblock of version 2.
    SuperblockV2,
    /// Blocks that replay must leave alone.
    Revoke,
}

impl BlockType {
    /// The type of a number.
    pub fn from_disk(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::Descriptor,
            2 => Self::Commit,
            3 => Self::SuperblockV1,
            4 => Self::SuperblockV2,
            5 => Self::Revoke,
            _ => return None,
        })
    }

    /// Its number.
    pub fn to_disk(self) -> u32 {
        match self {
            Self::Descriptor => 1,
            Self::Commit => 2,
            Self::SuperblockV1 => 3,
            Self::SuperblockV2 => 4,
            Self::Revoke => 5,
        }
    }
}

/// The first 12 bytes of every block that is not data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// `h_blocktype` as stored; see [`Header::kind`].
    pub h_blocktype: u32,
    /// The transaction.
    pub h_sequence: u32,
}

impl Header {
    /// The header, `None` for a data block (no magic) and for fewer than 12 bytes. A data block that begins with the
    /// magic has it replaced by zeros in the journal, so the magic decides.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if be32_at(bytes, 0)? != MAGIC {
            return None;
        }
        Some(Self {
            h_blocktype: be32_at(bytes, 4)?,
            h_sequence: be32_at(bytes, 8)?,
        })
    }

    /// The type, `None` for a number without meaning.
    pub fn kind(self) -> Option<BlockType> {
        BlockType::from_disk(self.h_blocktype)
    }

    /// Writes a header to the start of `bytes`.
    ///
    /// # Errors
    ///
    /// [`Error::Short`] below 12 bytes.
    pub fn write(bytes: &mut [u8], kind: BlockType, sequence: u32) -> Result<(), Error> {
        let have = bytes.len();
        let place = bytes.get_mut(..HEADER).ok_or(Error::Short {
            what: "journal block header",
            have,
            need: HEADER,
        })?;
        place[..4].copy_from_slice(&MAGIC.to_be_bytes());
        place[4..8].copy_from_slice(&kind.to_disk().to_be_bytes());
        place[8..].copy_from_slice(&sequence.to_be_bytes());
        Ok(())
    }
}

/// The checksum at the end of a descriptor or revocation block, with `CSUM_V2` or `CSUM_V3`; `seed` is
/// that of the journal. `None` when the slice has no room for one.
pub fn tail_checksum(bytes: &[u8], seed: Seed) -> Option<Checksum> {
    let at = bytes.len().checked_sub(TAIL)?;
    Some(Checksum {
        stored: be32_at(bytes, at)?,
        computed: crc32c(seed.over(&bytes[..at]), &[0; TAIL]),
    })
}

/// Writes that checksum; `false` when there is no room.
pub fn seal_tail(bytes: &mut [u8], seed: Seed) -> bool {
    match (tail_checksum(bytes, seed), bytes.last_chunk_mut::<TAIL>()) {
        (Some(sum), Some(place)) => {
            *place = sum.computed.to_be_bytes();
            true
        }
        _ => false,
    }
}

/// The blocks that a revocation block lists.
///
/// # Errors
///
/// [`Error::Short`]; [`Error::Range`] when `r_count`, the bytes in use, leaves the block.
pub fn revoked(bytes: &[u8], format: TagFormat) -> Result<impl Iterator<Item = u64>, Error> {
    let short = Error::Short {
        what: "revocation block",
        have: bytes.len(),
        need: REVOKE_HEADER,
    };
    let count = be32_at(bytes, HEADER).ok_or(short)? as usize;
    let tail = if format.has_tail() { TAIL } else { 0 };
    let most = bytes.len().saturating_sub(tail);
    if !(REVOKE_HEADER..=most).contains(&count) {
        return Err(Error::Range {
            what: "r_count",
            found: count as u64,
            low: REVOKE_HEADER as u64,
            high: most as u64,
        });
    }
    let record = if format.bit64 { 8 } else { 4 };
    Ok(bytes[REVOKE_HEADER..count]
        .chunks_exact(record)
        .map(|record| {
            record
                .iter()
                .fold(0, |block, byte| block << 8 | u64::from(*byte))
        }))
}

/// Writes a revocation block that fills `bytes`; with `seed`, that of the journal, its checksum too.
///
/// # Errors
///
/// [`Error::Full`] when the blocks do not fit.
pub fn write_revoke(
    bytes: &mut [u8],
    format: TagFormat,
    sequence: u32,
    blocks: &[u64],
    seed: Option<Seed>,
) -> Result<(), Error> {
    let record = if format.bit64 { 8 } else { 4 };
    let tail = if format.has_tail() { TAIL } else { 0 };
    let (need, room) = (REVOKE_HEADER + blocks.len() * record, bytes.len());
    if need + tail > room {
        return Err(Error::Full {
            what: "revocation block",
            need: need + tail,
            room,
        });
    }
    bytes.fill(0);
    Header::write(bytes, BlockType::Revoke, sequence)?;
    bytes[HEADER..REVOKE_HEADER].copy_from_slice(&(need as u32).to_be_bytes());
    for (place, block) in bytes[REVOKE_HEADER..need]
        .chunks_exact_mut(record)
        .zip(blocks)
    {
        place.copy_from_slice(&block.to_be_bytes()[8 - record..]);
    }
    if let Some(seed) = seed.filter(|_| format.has_tail()) {
        seal_tail(bytes, seed);
    }
    Ok(())
}

/// `struct commit_header`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit {
    /// The transaction.
    pub h_sequence: u32,
    /// The kind of the checksum; 1 CRC-32 over the transaction (`COMPAT_CHECKSUM`), else 0.
    pub h_chksum_type: u8,
    /// Its bytes.
    pub h_chksum_size: u8,
    /// The checksum itself.
    pub h_chksum: u32,
    /// When it was committed, seconds.
    pub h_commit_sec: u64,
    /// And nanoseconds.
    pub h_commit_nsec: u32,
}

impl Commit {
    /// Reads a commit block.
    ///
    /// # Errors
    ///
    /// [`Error::Short`]; [`Error::Magic`]; [`Error::Range`] when the block is of another type.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let short = || Error::Short {
            what: "commit block",
            have: bytes.len(),
            need: COMMIT_SIZE,
        };
        if bytes.len() < COMMIT_SIZE {
            return Err(short());
        }
        let found = be32_at(bytes, 0).ok_or_else(short)?;
        let header = Header::read(bytes).ok_or(Error::Magic {
            what: "commit block h_magic",
            found,
            expected: MAGIC,
        })?;
        if header.kind() != Some(BlockType::Commit) {
            let found = header.h_blocktype.into();
            return Err(Error::Range {
                what: "h_blocktype",
                found,
                low: 2,
                high: 2,
            });
        }
        let word = |at| be32_at(bytes, at).ok_or_else(short);
        Ok(Self {
            h_sequence: header.h_sequence,
            h_chksum_type: bytes[12],
            h_chksum_size: bytes[13],
            h_chksum: word(COMMIT_CHECKSUM_AT)?,
            h_commit_sec: u64::from(word(48)?) << 32 | u64::from(word(52)?),
            h_commit_nsec: word(56)?,
        })
    }

    /// Writes a commit block that fills `bytes`. With `seed`, that of the journal, `h_chksum` is replaced by
    /// the block's CRC-32C.
    ///
    /// # Errors
    ///
    /// [`Error::Short`] below 60 bytes.
    pub fn write(&self, bytes: &mut [u8], seed: Option<Seed>) -> Result<(), Error> {
        if bytes.len() < COMMIT_SIZE {
            return Err(Error::Short {
                what: "commit block",
                have: bytes.len(),
                need: COMMIT_SIZE,
            });
        }
        bytes.fill(0);
        Header::write(bytes, BlockType::Commit, self.h_sequence)?;
        bytes[12] = self.h_chksum_type;
        bytes[13] = self.h_chksum_size;
        bytes[48..56].copy_from_slice(&self.h_commit_sec.to_be_bytes());
        bytes[56..60].copy_from_slice(&self.h_commit_nsec.to_be_bytes());
        let sum = seed.map_or(self.h_chksum, |seed| seed.over(bytes));
        bytes[COMMIT_CHECKSUM_AT..COMMIT_CHECKSUM_AT + 4].copy_from_slice(&sum.to_be_bytes());
        Ok(())
    }
}

/// The CRC-32C of a commit block with `CSUM_V2` or `CSUM_V3`; `seed` is that of the journal.
pub fn commit_checksum(bytes: &[u8], seed: Seed) -> Option<Checksum> {
    let stored = be32_at(bytes, COMMIT_CHECKSUM_AT)?;
    let start = crc32c(seed.over(&bytes[..COMMIT_CHECKSUM_AT]), &[0; 4]);
    Some(Checksum {
        stored,
        computed: crc32c(start, &bytes[COMMIT_CHECKSUM_AT + 4..]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_format() -> impl Strategy<Value = TagFormat> {
        (any::<bool>(), 0..3).prop_map(|(bit64, csum)| TagFormat {
            bit64,
            csum_v2: csum == 1,
            csum_v3: csum == 2,
        })
    }

    proptest! {
        #[test]
        fn revocations_are_read_as_written(
            format in any_format(),
            mut blocks in proptest::collection::vec(any::<u64>(), 0..130),
            sequence: u32,
        ) {
            if !format.bit64 {
                for block in &mut blocks {
                    *block &= 0xffff_ffff;
                }
            }
            let mut bytes = vec![1; 1024];
            if write_revoke(&mut bytes, format, sequence, &blocks, Some(Seed(2))).is_ok() {
                prop_assert_eq!(revoked(&bytes, format).unwrap().collect::<Vec<_>>(), blocks);
                let header = Header::read(&bytes).unwrap();
                prop_assert_eq!((header.kind(), header.h_sequence), (Some(BlockType::Revoke), sequence));
                if format.has_tail() {
                    prop_assert!(tail_checksum(&bytes, Seed(2)).unwrap().matches());
                }
            } else {
                prop_assert!(blocks.len() * 8 + 20 > 1024);
            }
        }

        #[test]
        fn a_commit_is_read_as_written(sequence: u32, sec: u64, nsec: u32, sum: u32) {
            let commit = Commit {
                h_sequence: sequence,
                h_chksum_type: 1,
                h_chksum_size: 4,
                h_chksum: sum,
                h_commit_sec: sec,
                h_commit_nsec: nsec,
            };
            let mut bytes = vec![1; 1024];
            commit.write(&mut bytes, None).unwrap();
            prop_assert_eq!(Commit::read(&bytes).unwrap(), commit);
            commit.write(&mut bytes, Some(Seed(3))).unwrap();
            prop_assert!(commit_checksum(&bytes, Seed(3)).unwrap().matches());
        }

        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..80), format in any_format()) {
            let _ = (Header::read(&bytes), Commit::read(&bytes), commit_checksum(&bytes, Seed(0)));
            if let Ok(blocks) = revoked(&bytes, format) {
                let _ = blocks.count();
            }
        }
    }
}
