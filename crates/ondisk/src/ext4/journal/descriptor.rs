//! Descriptor blocks: one tag for each data block that follows, with the place it belongs to.

use super::super::Error;
use super::super::checksum::{Seed, crc32c};
use super::block::{BlockType, HEADER, Header, TAIL, seal_tail};
use super::superblock::TagFormat;
use super::{be16_at, be32_at};

/// `t_flags`: the data block began with the journal's magic, which was replaced by zeros.
pub const ESCAPE: u32 = 1;
/// `t_flags`: no UUID follows the tag.
pub const SAME_UUID: u32 = 2;
/// `t_flags`: the block was deleted in this transaction; unused.
pub const DELETED: u32 = 4;
/// `t_flags`: the last tag of its block.
pub const LAST_TAG: u32 = 8;

const UUID: usize = 16;

/// A tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// Where the data block belongs.
    pub block: u64,
    /// [`ESCAPE`] and its kin.
    pub flags: u32,
    /// The data block's checksum as stored: 16 bits with `CSUM_V2`, 32 with `CSUM_V3`.
    pub checksum: u32,
}

impl Tag {
    fn read(bytes: &[u8], format: TagFormat) -> Option<Self> {
        let low = u64::from(be32_at(bytes, 0)?);
        let high = if format.bit64 {
            u64::from(be32_at(bytes, 8)?)
        } else {
            0
        };
        let (flags, checksum) = if format.csum_v3 {
            (be32_at(bytes, 4)?, be32_at(bytes, 12)?)
        } else {
            (be16_at(bytes, 6)?.into(), be16_at(bytes, 4)?.into())
        };
        Some(Self {
            block: low | high << 32,
            flags,
            checksum,
        })
    }

    fn write(&self, bytes: &mut [u8], format: TagFormat) {
        bytes.fill(0);
        bytes[..4].copy_from_slice(&(self.block as u32).to_be_bytes());
        if format.bit64 {
            bytes[8..12].copy_from_slice(&((self.block >> 32) as u32).to_be_bytes());
        }
        if format.csum_v3 {
            bytes[4..8].copy_from_slice(&self.flags.to_be_bytes());
            bytes[12..16].copy_from_slice(&self.checksum.to_be_bytes());
        } else {
            bytes[4..6].copy_from_slice(&(self.checksum as u16).to_be_bytes());
            bytes[6..8].copy_from_slice(&(self.flags as u16).to_be_bytes());
        }
    }
}

/// The checksum of a data block as its tag stores it; `seed` is that of the journal, `data` the block as stored in
/// the journal. `None` for a journal without checksums in its tags.
pub fn data_checksum(format: TagFormat, seed: Seed, sequence: u32, data: &[u8]) -> Option<u32> {
    let sum = crc32c(seed.over(&sequence.to_be_bytes()), data);
    match (format.csum_v3, format.csum_v2) {
        (true, _) => Some(sum),
        (_, true) => Some(sum & 0xffff),
        _ => None,
    }
}

/// The tags of the descriptor block that fills `bytes`, up to the one marked as the last or the end of the
/// block.
pub fn tags(bytes: &[u8], format: TagFormat) -> Tags<'_> {
    let tail = if format.has_tail() { TAIL } else { 0 };
    let end = bytes.len().saturating_sub(tail);
    Tags {
        rest: bytes.get(HEADER..end).unwrap_or(&[]),
        format,
    }
}

/// See [`tags`].
#[derive(Debug, Clone)]
pub struct Tags<'a> {
    rest: &'a [u8],
    format: TagFormat,
}

impl Iterator for Tags<'_> {
    type Item = Tag;

    fn next(&mut self) -> Option<Tag> {
        let len = self.format.tag_bytes();
        let tag = Tag::read(self.rest.get(..len)?, self.format)?;
        let skip = if tag.flags & SAME_UUID == 0 { UUID } else { 0 };
        self.rest = if tag.flags & LAST_TAG != 0 {
            &[]
        } else {
            self.rest.get(len + skip..).unwrap_or(&[])
        };
        Some(tag)
    }
}

/// Writes a descriptor block that fills `bytes`. The flags for the UUID and the last tag are set here; the UUID
/// follows the first tag, as the kernel writes it. With `seed`, that of the journal, the block gets its
/// checksum.
///
/// # Errors
///
/// [`Error::Full`] when the tags do not fit, or there are none.
pub fn write(
    bytes: &mut [u8],
    format: TagFormat,
    sequence: u32,
    list: &[Tag],
    uuid: [u8; 16],
    seed: Option<Seed>,
) -> Result<(), Error> {
    let len = format.tag_bytes();
    let tail = if format.has_tail() { TAIL } else { 0 };
    let (need, room) = (HEADER + list.len() * len + UUID + tail, bytes.len());
    if need > room || list.is_empty() {
        return Err(Error::Full {
            what: "descriptor block",
            need,
            room,
        });
    }
    bytes.fill(0);
    Header::write(bytes, BlockType::Descriptor, sequence)?;
    let mut at = HEADER;
    for (nth, tag) in list.iter().enumerate() {
        let mut flags = tag.flags & !(SAME_UUID | LAST_TAG);
        flags |= if nth == 0 { 0 } else { SAME_UUID };
        flags |= if nth + 1 == list.len() { LAST_TAG } else { 0 };
        Tag { flags, ..*tag }.write(&mut bytes[at..at + len], format);
        at += len;
        if nth == 0 {
            bytes[at..at + UUID].copy_from_slice(&uuid);
            at += UUID;
        }
    }
    if let Some(seed) = seed.filter(|_| format.has_tail()) {
        seal_tail(bytes, seed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::block::tail_checksum;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn tags_are_read_as_written(
            raw in proptest::collection::vec((any::<u64>(), any::<bool>(), any::<u32>()), 1..100),
            bit64: bool,
            csum in 0..3,
        ) {
            let format = TagFormat { bit64, csum_v2: csum == 1, csum_v3: csum == 2 };
            let list: Vec<Tag> = raw
                .into_iter()
                .map(|(block, escape, checksum)| Tag {
                    block: if bit64 { block } else { block & 0xffff_ffff },
                    flags: u32::from(escape),
                    checksum: if csum == 2 { checksum } else { checksum & 0xffff },
                })
                .collect();
            let mut bytes = vec![5; 1024];
            if write(&mut bytes, format, 4, &list, [9; 16], Some(Seed(1))).is_err() {
                prop_assert!(list.len() * 16 + 32 > 1024);
                return Ok(());
            }
            let read: Vec<Tag> =
                tags(&bytes, format).map(|tag| Tag { flags: tag.flags & ESCAPE, ..tag }).collect();
            prop_assert_eq!(read, list);
            if format.has_tail() {
                prop_assert!(tail_checksum(&bytes, Seed(1)).unwrap().matches());
            }
        }

        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..1024), bit64: bool, csum in 0..3) {
            let format = TagFormat { bit64, csum_v2: csum == 1, csum_v3: csum == 2 };
            prop_assert!(tags(&bytes, format).count() <= bytes.len() / 8);
        }
    }
}
