//! Fast commits: small records of changes, one after the other in the blocks at the journal's end.
//!
//! A record is a tag, a length and a value, little-endian. A run of records begins with a head, each
//! fast commit ends with a tail whose CRC-32C covers everything since the tail before it; padding fills a
//! block that a record would not fit. Source: fs/ext4/fast_commit.h.

use super::super::checksum::crc32c;
use super::super::{Error, u16_at, u32_at};

const HEAD: usize = 4;
const TAIL_TID: usize = 4;

/// A change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'a> {
    /// Blocks were mapped to a file: the entry of an extent leaf, as it would be stored.
    AddRange {
        /// The file.
        ino: u32,
        /// `struct ext4_extent`.
        extent: [u8; 12],
    },
    /// Blocks were taken from a file.
    DelRange {
        /// The file.
        ino: u32,
        /// First logical block.
        block: u32,
        /// Blocks.
        len: u32,
    },
    /// A file was made.
    Create(Dentry<'a>),
    /// A name was added.
    Link(Dentry<'a>),
    /// A name was taken away.
    Unlink(Dentry<'a>),
    /// An inode as it is now.
    Inode {
        /// Its number.
        ino: u32,
        /// Its bytes, as many as were worth writing.
        raw: &'a [u8],
    },
    /// Nothing.
    Pad,
    /// The end of a fast commit.
    Tail {
        /// The transaction it belongs to.
        tid: u32,
        /// The stored checksum.
        crc: u32,
    },
    /// The start of the area.
    Head {
        /// Features the reader must know; 0.
        features: u32,
        /// The transaction it belongs to.
        tid: u32,
    },
}

/// A name and its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dentry<'a> {
    /// The directory.
    pub parent_ino: u32,
    /// The file.
    pub ino: u32,
    /// The name.
    pub name: &'a [u8],
}

/// A record, its offset, and the checksum up to here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed<'a> {
    /// Offset of its tag in the slice.
    pub offset: usize,
    /// What it says.
    pub record: Record<'a>,
    /// For a tail: what its checksum should be. 0 for all others.
    pub computed: u32,
}

/// The records of an area. Ends after the first error, or where a tag is 0 (never written).
pub fn records(area: &[u8]) -> Records<'_> {
    Records {
        area,
        at: 0,
        crc: 0,
    }
}

/// See [`records`].
#[derive(Debug, Clone)]
pub struct Records<'a> {
    area: &'a [u8],
    at: usize,
    crc: u32,
}

fn decode(tag: u16, value: &[u8]) -> Result<Record<'_>, &'static str> {
    const SHORT: &str = "its length is below what its tag needs";
    let word = |at| u32_at(value, at).ok_or(SHORT);
    let dentry = || -> Result<Dentry<'_>, &'static str> {
        Ok(Dentry {
            parent_ino: word(0)?,
            ino: word(4)?,
            name: value.get(8..).ok_or(SHORT)?,
        })
    };
    Ok(match tag {
        1 => Record::AddRange {
            ino: word(0)?,
            extent: *value
                .get(4..)
                .and_then(|rest| rest.first_chunk())
                .ok_or(SHORT)?,
        },
        2 => Record::DelRange {
            ino: word(0)?,
            block: word(4)?,
            len: word(8)?,
        },
        3 => Record::Create(dentry()?),
        4 => Record::Link(dentry()?),
        5 => Record::Unlink(dentry()?),
        6 => Record::Inode {
            ino: word(0)?,
            raw: value.get(4..).ok_or(SHORT)?,
        },
        7 => Record::Pad,
        8 => Record::Tail {
            tid: word(0)?,
            crc: word(4)?,
        },
        9 => Record::Head {
            features: word(0)?,
            tid: word(4)?,
        },
        _ => return Err("its tag has no meaning"),
    })
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Placed<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let offset = self.at;
        let tag = u16_at(self.area, offset).filter(|tag| *tag != 0)?;
        let len = usize::from(u16_at(self.area, offset + 2)?);
        let start = offset + HEAD;
        let broken = |problem| Error::Record {
            what: "fast commit record",
            offset,
            problem,
        };
        let record = self
            .area
            .get(start..start + len)
            .ok_or("its length runs out of the area")
            .and_then(|value| decode(tag, value))
            .map_err(broken);
        self.at = if record.is_ok() {
            start + len
        } else {
            self.area.len()
        };
        let mut computed = 0;
        match record {
            Ok(Record::Tail { .. }) => {
                computed = crc32c(self.crc, &self.area[offset..start + TAIL_TID]);
                self.crc = 0;
            }
            Ok(_) => self.crc = crc32c(self.crc, &self.area[offset..start + len]),
            Err(_) => {}
        }
        Some(record.map(|record| Placed {
            offset,
            record,
            computed,
        }))
    }
}

/// Appends a record to an area that ends in a buffer of whole blocks; a tail's checksum is computed, whatever its
/// field says. A record that does not fit what is left of its block follows padding, and a tail fills
/// its block.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    block_size: usize,
    /// Where the checksum of the next tail begins.
    since: usize,
}

impl Writer {
    /// An empty area of blocks of this size.
    pub fn new(block_size: u32) -> Self {
        Self {
            bytes: Vec::new(),
            block_size: block_size as usize,
            since: 0,
        }
    }

    /// Appends a record.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] for one that is longer than a block.
    pub fn push(&mut self, record: Record<'_>) -> Result<(), Error> {
        let (tag, value) = encode(record);
        let need = HEAD + value.len();
        if need + HEAD > self.block_size {
            return Err(Error::Full {
                what: "fast commit record",
                need,
                room: self.block_size,
            });
        }
        let left = self.left();
        // After a record there must be room for the head of the padding.
        if left != 0 && left < need + HEAD {
            self.put(7, &vec![0; left - HEAD]);
        }
        if let Record::Tail { tid, .. } = record {
            let fill = self.left_of_fresh() - need;
            let mut value = tid.to_le_bytes().to_vec();
            let mut covered = ((8_u16).to_le_bytes()).to_vec();
            covered.extend(((self.left_of_fresh() - HEAD) as u16).to_le_bytes());
            covered.extend(&value);
            let crc = crc32c(crc32c(0, &self.bytes[self.since..]), &covered);
            value.extend(crc.to_le_bytes());
            value.extend(vec![0; fill]);
            self.put(8, &value);
            self.since = self.bytes.len();
        } else {
            self.put(tag, &value);
        }
        Ok(())
    }

    /// The area so far.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    fn left(&self) -> usize {
        self.bytes.len().next_multiple_of(self.block_size) - self.bytes.len()
    }

    fn left_of_fresh(&self) -> usize {
        match self.left() {
            0 => self.block_size,
            left => left,
        }
    }

    fn put(&mut self, tag: u16, value: &[u8]) {
        self.bytes.extend(tag.to_le_bytes());
        self.bytes.extend((value.len() as u16).to_le_bytes());
        self.bytes.extend(value);
    }
}

fn encode(record: Record<'_>) -> (u16, Vec<u8>) {
    let words = |words: &[u32]| {
        words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let dentry =
        |dentry: Dentry<'_>| [&words(&[dentry.parent_ino, dentry.ino])[..], dentry.name].concat();
    match record {
        Record::AddRange { ino, extent } => (1, [&ino.to_le_bytes()[..], &extent].concat()),
        Record::DelRange { ino, block, len } => (2, words(&[ino, block, len])),
        Record::Create(of) => (3, dentry(of)),
        Record::Link(of) => (4, dentry(of)),
        Record::Unlink(of) => (5, dentry(of)),
        Record::Inode { ino, raw } => (6, [&ino.to_le_bytes()[..], raw].concat()),
        Record::Pad => (7, Vec::new()),
        Record::Tail { tid, crc } => (8, words(&[tid, crc])),
        Record::Head { features, tid } => (9, words(&[features, tid])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_are_read_as_written(
            raw in proptest::collection::vec((0..6, any::<u32>(), proptest::collection::vec(any::<u8>(), 1..200)), 0..40),
        ) {
            let mut list = vec![Record::Head { features: 0, tid: 5 }];
            for (kind, ino, bytes) in &raw {
                let dentry = Dentry { parent_ino: 2, ino: *ino, name: bytes };
                list.push(match kind {
                    0 => Record::AddRange { ino: *ino, extent: [3; 12] },
                    1 => Record::DelRange { ino: *ino, block: 1, len: 2 },
                    2 => Record::Create(dentry),
                    3 => Record::Link(dentry),
                    4 => Record::Unlink(dentry),
                    _ => Record::Inode { ino: *ino, raw: bytes },
                });
            }
            let mut writer = Writer::new(1024);
            for record in &list {
                writer.push(*record).unwrap();
            }
            writer.push(Record::Tail { tid: 5, crc: 0 }).unwrap();
            writer.push(Record::Head { features: 0, tid: 5 }).unwrap();
            writer.push(Record::Tail { tid: 5, crc: 0 }).unwrap();
            let area = writer.finish();
            prop_assert_eq!(area.len() % 1024, 0);
            let mut read = Vec::new();
            let mut tails = 0;
            for placed in records(&area) {
                let placed = placed.unwrap();
                match placed.record {
                    Record::Pad => {}
                    Record::Tail { tid, crc } => {
                        prop_assert_eq!((tid, crc), (5, placed.computed));
                        tails += 1;
                    }
                    record if tails == 0 => read.push(record),
                    _ => {}
                }
            }
            prop_assert_eq!(tails, 2);
            prop_assert_eq!(read, list);
        }

        #[test]
        fn any_bytes_end(mut bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            for record in bytes.chunks_mut(24) {
                if record.len() > 4 {
                    record[0] %= 10;
                    record[1] = 0;
                    record[2] %= 30;
                    record[3] = 0;
                }
            }
            prop_assert!(records(&bytes).count() <= bytes.len() / 4 + 1);
        }
    }
}
