//! Superblock and entries.

use std::sync::Arc;

use serde::Serialize;

use crate::error::ReadError;
use crate::source::BlockSource;

/// First eight bytes of a log, little-endian.
pub const MAGIC: u64 = 0x006a_7366_7773_6872;
/// The only version.
pub const VERSION: u64 = 1;
/// Bytes of an entry's head.
const HEAD: usize = 32;
/// Sizes of a sector that a log may have, bytes: what the kernel and QEMU can write.
const SECTORS: std::ops::RangeInclusive<u32> = 512..=1 << 20;

/// What kind of write an entry is (`LOG_*_FLAG`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Flags(pub u64);

impl Flags {
    /// What was written before is on the medium (REQ_PREFLUSH, or an empty flush).
    pub const FLUSH: Flags = Flags(1);
    /// This write is on the medium itself (REQ_FUA).
    pub const FUA: Flags = Flags(2);
    /// The range holds nothing any more; no data follow.
    pub const DISCARD: Flags = Flags(4);
    /// No write: a label put into the log (`dmsetup message DEVICE 0 mark WORD`).
    pub const MARK: Flags = Flags(8);
    /// A write of metadata (REQ_META), where the kernel says it.
    pub const METADATA: Flags = Flags(16);

    /// Whether all of `flags` are set.
    pub fn has(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }
}

/// A write, as the log has it. Bytes throughout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Where on the device.
    pub offset: u64,
    /// How much; 0 for an empty flush and a mark.
    pub len: u64,
    /// What kind of write.
    pub flags: Flags,
    /// Where in the log its data are; for a mark, its text.
    pub data: u64,
    /// Bytes of a mark's text.
    pub text: u32,
}

impl Entry {
    /// Whether bytes of it are in the log.
    pub fn has_data(&self) -> bool {
        self.len > 0 && !self.flags.has(Flags::DISCARD) && !self.flags.has(Flags::MARK)
    }
}

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The first bytes are not those of a log.
    #[error(
        "{name}: is not a write log (it begins with {found:#018x}, a log with 0x006a736677736872); name the \
         log device of dm-log-writes, or the log file of QEMU's blklogwrites"
    )]
    NotALog {
        /// What was named.
        name: Arc<str>,
        /// Its first eight bytes.
        found: u64,
    },
    /// An unknown version.
    #[error(
        "{name}: is a log of version {found}, and 1 is the only one known; look for a newer fslab"
    )]
    Version {
        /// What was named.
        name: Arc<str>,
        /// Its version.
        found: u64,
    },
    /// A sector of no possible size.
    #[error(
        "{name}: its sector size is {found} bytes, which is not a power of two from 512 to 1048576; it is damaged"
    )]
    SectorSize {
        /// What was named.
        name: Arc<str>,
        /// What it says.
        found: u32,
    },
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// How a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// With as many entries as its superblock says.
    Whole,
    /// Before: the file ends, or an entry makes no sense. It has fewer entries than its superblock says.
    Early {
        /// Entries that the superblock promises.
        promised: u64,
    },
}

/// The entries of a log, one after the other, in memory that does not grow with it.
#[derive(Debug)]
pub struct Entries<S> {
    source: S,
    sector: u32,
    promised: u64,
    found: u64,
    /// Where the next one begins; none after the last.
    next: Option<u64>,
}

impl<S: BlockSource> Entries<S> {
    /// Reads the superblock.
    ///
    /// # Errors
    /// It is no log, or cannot be read.
    pub fn open(source: S) -> Result<Entries<S>, LogError> {
        let name = Arc::clone(source.name());
        let mut head = [0; HEAD];
        // Superblock: three numbers of 8 bytes, one of 4.
        let here = source.len().min(HEAD as u64) as usize;
        source.read_at(&mut head[..here], 0)?;
        let (magic, version, promised) = (word(&head, 0), word(&head, 1), word(&head, 2));
        let sector = word(&head, 3) as u32;
        if magic != MAGIC {
            return Err(LogError::NotALog { name, found: magic });
        }
        if version != VERSION {
            let found = version;
            return Err(LogError::Version { name, found });
        }
        if !SECTORS.contains(&sector) || !sector.is_power_of_two() {
            let found = sector;
            return Err(LogError::SectorSize { name, found });
        }
        Ok(Entries {
            source,
            sector,
            promised,
            found: 0,
            next: Some(u64::from(sector)),
        })
    }

    /// The next entry: one small read. None at the end.
    ///
    /// # Errors
    /// It cannot be read.
    #[allow(clippy::should_implement_trait, reason = "as its fallible siblings")]
    pub fn next(&mut self) -> Result<Option<Entry>, ReadError> {
        let Some(at) = self.next.filter(|_| self.found < self.promised) else {
            return Ok(None);
        };
        let found = self.entry_at(at)?;
        self.next = found.map(|(_, next)| next);
        self.found += u64::from(found.is_some());
        Ok(found.map(|(entry, _)| entry))
    }

    /// How it ends, after the last entry.
    pub fn ending(&self) -> Ending {
        if self.found < self.promised {
            let promised = self.promised;
            Ending::Early { promised }
        } else {
            Ending::Whole
        }
    }

    /// The entry whose head is at byte `at`, and the offset of the next one; `None` if there is none.
    fn entry_at(&self, at: u64) -> Result<Option<(Entry, u64)>, ReadError> {
        let sector = u64::from(self.sector);
        let end = self.source.len();
        if at.checked_add(sector).is_none_or(|head_end| head_end > end) {
            return Ok(None);
        }
        let mut head = [0; HEAD];
        self.source.read_at(&mut head, at)?;
        if head == [0; HEAD] {
            // Neither the kernel nor QEMU logs a write of nothing: a hole where an entry should be.
            return Ok(None);
        }
        let flags = Flags(word(&head, 2));
        let bytes = |sectors: u64| sectors.checked_mul(sector);
        let (Some(offset), Some(len)) = (bytes(word(&head, 0)), bytes(word(&head, 1))) else {
            return Ok(None);
        };
        if offset.checked_add(len).is_none() {
            return Ok(None);
        }
        let mut entry = Entry {
            offset,
            len,
            flags,
            data: at + sector,
            text: 0,
        };
        if flags.has(Flags::MARK) {
            entry.data = at + HEAD as u64;
            entry.text = word(&head, 3).min(sector - HEAD as u64) as u32;
        }
        let logged = if flags.has(Flags::DISCARD) { 0 } else { len };
        let next = (at + sector).checked_add(logged);
        Ok(next.filter(|next| *next <= end).map(|next| (entry, next)))
    }
}

/// A log, and the offsets of everything in it.
#[derive(Debug)]
pub struct Log<S> {
    source: S,
    sector: u32,
    entries: Vec<Entry>,
    ending: Ending,
}

impl<S: BlockSource> Log<S> {
    /// Reads the heads of all entries: one small read each.
    ///
    /// # Errors
    /// It is no log, or cannot be read. One that ends early is none: see [`Log::ending`].
    pub fn open(source: S) -> Result<Log<S>, LogError> {
        let mut heads = Entries::open(source)?;
        let mut entries = Vec::new();
        while let Some(entry) = heads.next()? {
            entries.push(entry);
        }
        let ending = heads.ending();
        let Entries { source, sector, .. } = heads;
        Ok(Log {
            source,
            sector,
            entries,
            ending,
        })
    }

    /// What it is read from.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Bytes of a sector, which is what offsets and lengths are multiples of.
    pub fn sector(&self) -> u32 {
        self.sector
    }

    /// The entries, in the order of the log.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How it ends.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// A mark's text, bytes that are not UTF-8 replaced; of anything else none.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn mark(&self, entry: &Entry) -> Result<Option<String>, ReadError> {
        if !entry.flags.has(Flags::MARK) {
            return Ok(None);
        }
        let mut text = vec![0; entry.text as usize];
        self.source.read_at(&mut text, entry.data)?;
        let text = String::from_utf8_lossy(&text);
        Ok(Some(text.trim_end_matches(['\0', '\n']).to_owned()))
    }

    /// The first entry after the mark of this name.
    ///
    /// # Errors
    /// A mark cannot be read.
    pub fn after_mark(&self, name: &str) -> Result<Option<usize>, ReadError> {
        for (number, entry) in self.entries.iter().enumerate() {
            if self.mark(entry)?.as_deref() == Some(name) {
                return Ok(Some(number + 1));
            }
        }
        Ok(None)
    }
}

/// The `n`-th little-endian number of eight bytes.
fn word(head: &[u8; HEAD], n: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&head[n * 8..n * 8 + 8]);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ram::Ram;

    /// A log as the kernel writes it.
    pub(in crate::log_writes) struct Written {
        pub(in crate::log_writes) bytes: Vec<u8>,
        sector: usize,
        entries: u64,
    }

    impl Written {
        pub(in crate::log_writes) fn new(sector: usize) -> Written {
            Written {
                bytes: vec![0; sector],
                sector,
                entries: 0,
            }
        }

        fn head(&mut self, words: [u64; 4]) {
            let at = self.bytes.len();
            self.bytes.resize(at + self.sector, 0);
            for (n, word) in words.iter().enumerate() {
                self.bytes[at + n * 8..][..8].copy_from_slice(&word.to_le_bytes());
            }
            self.entries += 1;
        }

        pub(in crate::log_writes) fn write(&mut self, sector: u64, data: &[u8], flags: u64) {
            self.head([sector, (data.len() / self.sector) as u64, flags, 0]);
            self.bytes.extend(data);
        }

        pub(in crate::log_writes) fn discard(&mut self, sector: u64, sectors: u64) {
            self.head([sector, sectors, Flags::DISCARD.0, 0]);
        }

        pub(in crate::log_writes) fn mark(&mut self, text: &str) {
            self.head([0, 0, Flags::MARK.0, text.len() as u64]);
            let at = self.bytes.len() - self.sector + HEAD;
            self.bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
        }

        pub(in crate::log_writes) fn done(mut self) -> Ram {
            let words = [MAGIC, VERSION, self.entries, self.sector as u64];
            for (n, word) in words.iter().enumerate() {
                self.bytes[n * 8..][..8].copy_from_slice(&word.to_le_bytes());
            }
            Ram::new(&self.bytes)
        }
    }

    #[test]
    fn entries_are_read_with_their_flags_data_and_marks() {
        let mut written = Written::new(512);
        written.write(8, &[1; 1024], 0);
        written.mark("mkfs");
        written.discard(100, 4);
        written.write(0, &[], Flags::FLUSH.0);
        written.write(
            16,
            &[2; 512],
            Flags::FLUSH.0 | Flags::FUA.0 | Flags::METADATA.0,
        );
        let log = Log::open(written.done()).unwrap();
        let all: Vec<(u64, u64, u64)> = log
            .entries()
            .iter()
            .map(|entry| (entry.offset, entry.len, entry.flags.0))
            .collect();
        assert_eq!(
            all,
            [
                (4096, 1024, 0),
                (0, 0, 8),
                (51200, 2048, 4),
                (0, 0, 1),
                (8192, 512, 19)
            ]
        );
        assert_eq!(log.ending(), Ending::Whole);
        assert_eq!(log.after_mark("mkfs").unwrap(), Some(2));
        assert_eq!(log.after_mark("mount").unwrap(), None);
        let last = log.entries()[4];
        let mut data = [0; 512];
        log.source().read_at(&mut data, last.data).unwrap();
        assert_eq!(data, [2; 512]);
        assert!(!log.entries()[2].has_data() && !log.entries()[3].has_data() && last.has_data());
    }

    #[test]
    fn a_log_that_ends_early_is_read_as_far_as_it_goes() {
        let mut written = Written::new(4096);
        written.write(1, &[1; 4096], 0);
        written.write(2, &[2; 8192], 0);
        let whole = written.done();
        let mut bytes = vec![0; whole.len() as usize];
        whole.read_at(&mut bytes, 0).unwrap();
        for len in [bytes.len() - 1, bytes.len() - 8192, bytes.len() - 8193] {
            let log = Log::open(Ram::new(&bytes[..len])).unwrap();
            assert_eq!(log.ending(), Ending::Early { promised: 2 }, "{len}");
            assert_eq!(log.entries().len(), 1, "{len}");
        }
        // A hole where the superblock promises entries without end.
        bytes[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
        let mut long = Ram::sparse(1 << 50);
        long.put(0, &bytes);
        let log = Log::open(long).unwrap();
        assert_eq!(
            (log.entries().len(), log.ending()),
            (2, Ending::Early { promised: u64::MAX })
        );
    }

    #[test]
    fn what_is_no_log_is_refused_with_a_reason() {
        let head = |words: [u64; 4]| Ram::new(&words.map(u64::to_le_bytes).concat());
        let why = |words| Log::open(head(words)).unwrap_err().to_string();
        assert!(why([1, 1, 0, 512]).contains("is not a write log"));
        assert!(why([MAGIC, 2, 0, 512]).contains("version 2"));
        assert!(why([MAGIC, 1, 0, 500]).contains("500 bytes"));
        assert!(why([MAGIC, 1, 0, 0]).contains("0 bytes"));
        assert!(Log::open(Ram::new(&[])).is_err());
        assert!(Log::open(Ram::new(&MAGIC.to_le_bytes())).is_err());
    }

    proptest! {
        /// Any bytes after a good superblock end within the file: no panic, no entry outside of it.
        #[test]
        fn any_bytes_are_read_within_bounds(
            tail in prop::collection::vec(any::<u8>(), 0..6000),
            entries in any::<u64>(),
            small in any::<bool>(),
        ) {
            let mut bytes = vec![0; 512];
            for (n, word) in [MAGIC, VERSION, entries, 512].iter().enumerate() {
                bytes[n * 8..][..8].copy_from_slice(&word.to_le_bytes());
            }
            bytes.extend(tail);
            if small {
                // Small numbers, so that entries make sense now and then.
                for (n, byte) in bytes.iter_mut().enumerate().skip(512) {
                    *byte = if n % 8 == 0 { *byte % 6 } else { 0 };
                }
            }
            let len = bytes.len() as u64;
            let log = Log::open(Ram::new(&bytes)).unwrap();
            prop_assert!(log.entries().len() as u64 <= len / 512);
            for entry in log.entries() {
                prop_assert!(!entry.has_data() || entry.data + entry.len <= len);
                log.mark(entry).unwrap();
            }
        }
    }
}
