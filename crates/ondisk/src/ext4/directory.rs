//! Directory blocks: a chain of entries that fills each block to its end.
//!
//! An entry is 8 bytes and a name; `rec_len` leads to the next. An unused entry has inode 0. With
//! `metadata_csum` the last 12 bytes of a leaf look like an unused entry of the type 0xde and hold the checksum.
//! In directories that are both encrypted and case-folded, 8 bytes of hash follow each name, because the hash
//! cannot be computed without the key. Source: Documentation/filesystems/ext4/directory.rst.
//!
//! Without the feature `filetype` the byte of the type is the high half of the length of the name; a name has
//! at most 255 bytes, so it is 0 there, and this reader needs to know nothing of the feature.

use super::hash::NameHash;
use super::mode::FileType;
use super::{Checksum, Error, Seed, put_u32, u16_at, u32_at};

/// Bytes of an entry before its name.
pub const HEAD: usize = 8;
/// Bytes of the tail that holds a checksum.
pub const TAIL: usize = 12;
/// `det_reserved_ft`, the type of a tail.
pub const TAIL_TYPE: u8 = 0xde;
/// The longest name.
pub const LONGEST_NAME: usize = 255;
/// The shortest possible record: a name of one to four bytes, or none.
const SHORTEST: usize = 12;
const HASH: usize = 8;

/// An entry as stored in its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its offset in the block, in bytes.
    pub offset: usize,
    /// The inode it names, 0 when unused.
    pub inode: u32,
    /// Bytes to the next entry.
    pub rec_len: usize,
    /// The byte of the type; see [`Entry::kind`].
    pub file_type: u8,
    /// The name.
    pub name: &'a [u8],
    /// The bytes between the name and the next entry.
    pub slack: &'a [u8],
}

impl Entry<'_> {
    /// The type, `None` when unknown or impossible.
    pub fn kind(&self) -> Option<FileType> {
        FileType::of_entry(self.file_type)
    }

    /// The hash stored after the name, in an encrypted and case-folded directory.
    pub fn stored_hash(&self) -> Option<NameHash> {
        let skip = (HEAD + self.name.len()).next_multiple_of(4) - HEAD - self.name.len();
        Some(NameHash {
            major: u32_at(self.slack, skip)?,
            minor: u32_at(self.slack, skip + 4)?,
        })
    }

    /// Bytes the entry needs; `rec_len` may be more.
    pub fn needed(&self, with_hash: bool) -> usize {
        needed(self.name.len(), with_hash)
    }
}

/// Bytes of a record for a name: a multiple of 4.
pub fn needed(name_len: usize, with_hash: bool) -> usize {
    (HEAD + name_len).next_multiple_of(4) + if with_hash { HASH } else { 0 }
}

/// Decodes `rec_len`: with blocks of 64 KiB, 0 and 65535 stand for the whole block.
pub fn rec_len_from_disk(raw: u16, block_size: u32) -> usize {
    if block_size < 65536 {
        raw.into()
    } else if raw == 0 || raw == u16::MAX {
        block_size as usize
    } else {
        usize::from(raw & !3) | usize::from(raw & 3) << 16
    }
}

/// Encodes `rec_len`; `None` when it is no multiple of 4 or longer than the block.
pub fn rec_len_to_disk(len: usize, block_size: u32) -> Option<u16> {
    let block = block_size as usize;
    if len > block || !len.is_multiple_of(4) {
        return None;
    }
    match u16::try_from(len) {
        Ok(raw) => Some(raw),
        Err(_) if len == block && block == 65536 => Some(u16::MAX),
        Err(_) => None,
    }
}

/// The entries of a block, or of the part of an inode that holds inline entries.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    bytes: &'a [u8],
    block_size: u32,
    at: usize,
}

/// The entries of `bytes`, the used and the unused, the tail included (see [`tail`]). Ends after the first
/// error: the chain is broken there.
pub fn entries(bytes: &[u8], block_size: u32) -> Entries<'_> {
    Entries {
        bytes,
        block_size,
        at: 0,
    }
}

impl<'a> Entries<'a> {
    fn read(&self) -> Result<Entry<'a>, Error> {
        let offset = self.at;
        let broken = |problem| Error::Record {
            what: "directory entry",
            offset,
            problem,
        };
        let record = &self.bytes[offset..];
        let (Some(inode), Some(raw)) = (u32_at(record, 0), u16_at(record, 4)) else {
            return Err(broken("its first 8 bytes run out of the block"));
        };
        let rec_len = rec_len_from_disk(raw, self.block_size);
        if rec_len < SHORTEST {
            return Err(broken("rec_len is below 12"));
        }
        if !rec_len.is_multiple_of(4) {
            return Err(broken("rec_len is no multiple of 4"));
        }
        let Some(record) = record.get(..rec_len) else {
            return Err(broken("rec_len runs out of the block"));
        };
        let name_len = usize::from(record[6]);
        if needed(name_len, false) > rec_len {
            return Err(broken("name_len runs out of rec_len"));
        }
        let (name, slack) = record[HEAD..].split_at(name_len);
        Ok(Entry {
            offset,
            inode,
            rec_len,
            file_type: record[7],
            name,
            slack,
        })
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let entry = self.read();
        self.at = entry
            .as_ref()
            .map_or(self.bytes.len(), |entry| self.at + entry.rec_len);
        Some(entry)
    }
}

/// The checksum of a leaf block, when its tail is where it must be; `seed` is that of the
/// directory's inode.
pub fn checksum(bytes: &[u8], seed: Seed) -> Option<Checksum> {
    let at = tail(bytes)?;
    Some(Checksum {
        stored: u32_at(bytes, at + 8)?,
        computed: seed.over(&bytes[..at]),
    })
}

/// The offset of a leaf's tail, `None` when the last 12 bytes are not one.
pub fn tail(bytes: &[u8]) -> Option<usize> {
    let at = bytes.len().checked_sub(TAIL)?;
    let head = bytes.get(at..at + HEAD)?;
    (head == [0, 0, 0, 0, TAIL as u8, 0, 0, TAIL_TYPE]).then_some(at)
}

/// Writes a block of entries, one after the other.
#[derive(Debug)]
pub struct BlockWriter<'a> {
    bytes: &'a mut [u8],
    block_size: u32,
    /// Where entries must end.
    end: usize,
    at: usize,
    last: Option<usize>,
}

impl<'a> BlockWriter<'a> {
    /// Begins a block that fills `bytes`; with `with_tail` room is kept for a checksum.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] when not even an empty entry fits.
    pub fn new(bytes: &'a mut [u8], block_size: u32, with_tail: bool) -> Result<Self, Error> {
        let need = SHORTEST + if with_tail { TAIL } else { 0 };
        let room = bytes.len();
        if room < need {
            return Err(Error::Full {
                what: "directory block",
                need,
                room,
            });
        }
        bytes.fill(0);
        let end = if with_tail { room - TAIL } else { room };
        Ok(Self {
            bytes,
            block_size,
            end,
            at: 0,
            last: None,
        })
    }

    /// Bytes left for further records.
    pub fn room(&self) -> usize {
        self.end - self.at
    }

    /// Adds an entry. `kind` is `None` where the feature `filetype` is off.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] when it does not fit, [`Error::Range`] for a name that is empty or too long.
    pub fn push(
        &mut self,
        inode: u32,
        kind: Option<FileType>,
        name: &[u8],
        hash: Option<NameHash>,
    ) -> Result<(), Error> {
        if !(1..=LONGEST_NAME).contains(&name.len()) {
            return Err(Error::Range {
                what: "name_len",
                found: name.len() as u64,
                low: 1,
                high: LONGEST_NAME as u64,
            });
        }
        let need = needed(name.len(), hash.is_some());
        if need > self.room() {
            return Err(Error::Full {
                what: "directory entry",
                need,
                room: self.room(),
            });
        }
        let record = &mut self.bytes[self.at..self.at + need];
        record[..4].copy_from_slice(&inode.to_le_bytes());
        record[6] = name.len() as u8;
        record[7] = kind.map_or(0, FileType::entry);
        record[HEAD..HEAD + name.len()].copy_from_slice(name);
        if let Some(NameHash { major, minor }) = hash {
            record[need - 8..need - 4].copy_from_slice(&major.to_le_bytes());
            record[need - 4..].copy_from_slice(&minor.to_le_bytes());
        }
        self.put_rec_len(self.at, need)?;
        self.last = Some(self.at);
        self.at += need;
        Ok(())
    }

    fn put_rec_len(&mut self, at: usize, len: usize) -> Result<(), Error> {
        let raw = rec_len_to_disk(len, self.block_size).ok_or(Error::Range {
            what: "rec_len",
            found: len as u64,
            low: SHORTEST as u64,
            high: self.block_size.into(),
        })?;
        self.bytes[at + 4..at + 6].copy_from_slice(&raw.to_le_bytes());
        Ok(())
    }

    /// Lets the last entry reach to the end, and writes the tail with its checksum when there is room
    /// for one. `seed` is that of the directory's inode.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] when the block is longer than `block_size`.
    pub fn finish(mut self, seed: Option<Seed>) -> Result<(), Error> {
        let last = self.last.unwrap_or(0);
        self.put_rec_len(last, self.end - last)?;
        if self.end < self.bytes.len() {
            let tail = &mut self.bytes[self.end..];
            tail[4] = TAIL as u8;
            tail[7] = TAIL_TYPE;
            if let Some(seed) = seed {
                seal(self.bytes, seed);
            }
        }
        Ok(())
    }
}

/// Writes the checksum into a leaf's tail; `false` when it has none.
pub fn seal(bytes: &mut [u8], seed: Seed) -> bool {
    match (tail(bytes), checksum(bytes, seed)) {
        (Some(at), Some(sum)) => put_u32(bytes, at + 8, sum.computed),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn record_lengths_of_64_kib_blocks() {
        assert_eq!(rec_len_to_disk(65536, 65536), Some(65535));
        assert_eq!(rec_len_from_disk(65535, 65536), 65536);
        assert_eq!(rec_len_from_disk(0, 65536), 65536);
        assert_eq!(rec_len_from_disk(0, 4096), 0);
        assert_eq!(rec_len_to_disk(65524, 65536), Some(65524));
        assert_eq!(rec_len_to_disk(14, 4096), None);
        assert_eq!(rec_len_to_disk(4100, 4096), None);
    }

    #[test]
    fn each_break_of_the_chain_is_named() {
        let mut block = vec![0; 1024];
        let first = |block: &[u8]| {
            entries(block, 1024)
                .next()
                .unwrap()
                .unwrap_err()
                .to_string()
        };
        assert!(first(&block).contains("rec_len is below 12"));
        block[4] = 14;
        assert!(first(&block).contains("no multiple of 4"));
        block[4] = 12;
        block[6] = 5;
        assert!(first(&block).contains("name_len runs out"));
        block[5] = 8;
        assert!(first(&block).contains("rec_len runs out of the block"));
        assert!(first(&block[..4]).contains("first 8 bytes"));
    }

    proptest! {
        #[test]
        fn a_block_is_read_as_written(
            names in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..60),
            log in 0_u32..=6,
            with_tail: bool,
            hashed: bool,
        ) {
            let size = 1024_u32 << log;
            let mut block = vec![7; size as usize];
            let mut writer = BlockWriter::new(&mut block, size, with_tail).unwrap();
            let mut kept = Vec::new();
            for (nth, name) in names.iter().enumerate() {
                let kind = FileType::ALL[nth % 7];
                let hash = hashed.then_some(NameHash { major: nth as u32 * 2, minor: 9 });
                if writer.push(nth as u32 + 11, Some(kind), name, hash).is_ok() {
                    kept.push((nth as u32 + 11, Some(kind), name.clone(), hash));
                }
            }
            writer.finish(Some(Seed(6))).unwrap();
            let mut seen = Vec::new();
            for entry in entries(&block, size) {
                let entry = entry.unwrap();
                if entry.inode != 0 {
                    let hash = entry.stored_hash().filter(|_| hashed);
                    seen.push((entry.inode, entry.kind(), entry.name.to_vec(), hash));
                }
            }
            prop_assert_eq!(seen, kept);
            match checksum(&block, Seed(6)) {
                Some(sum) => prop_assert!(with_tail && sum.matches()),
                None => prop_assert!(!with_tail),
            }
        }

        #[test]
        fn any_bytes_end(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..1024),
            lens in proptest::collection::vec(0_usize..60, 0..40),
        ) {
            // Lead the chain some way, so that the reader gets deeper than the first record.
            let mut at = 0;
            for len in lens {
                if at + 8 <= bytes.len() {
                    bytes[at + 4..at + 6].copy_from_slice(&((len * 4) as u16).to_le_bytes());
                    bytes[at + 6] %= 32;
                    at += len.max(1) * 4;
                }
            }
            for block_size in [1024, 65536] {
                let mut covered = 0;
                for entry in entries(&bytes, block_size).flatten() {
                    prop_assert_eq!(entry.offset, covered);
                    covered += entry.rec_len;
                    let _ = (entry.stored_hash(), entry.kind(), entry.needed(true));
                }
                prop_assert!(covered <= bytes.len());
            }
        }
    }
}
