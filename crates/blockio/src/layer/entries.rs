//! Recorded reads: a part of them in memory, the others in a temporary file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// The unit of the time that a wait blocked, ns.
const BLOCKED_UNIT: u64 = 16;

/// A read as it was asked for and handed out. Times are nanoseconds since the layer was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
    /// Which thread, by number.
    pub thread: u16,
    /// When it was asked for.
    pub submitted: u64,
    /// When the thread began to wait, for this or another read.
    pub called: u64,
    /// When it was handed to the reader.
    pub delivered: u64,
    /// Whether it was handed out; a queue that is dropped keeps what is in flight.
    pub is_taken: bool,
}

impl Entry {
    /// Bytes of an entry as it is kept.
    pub const BYTES: usize = 32;

    /// The entry as it is kept, numbers little-endian: offset (8 bytes), submission (6), thread (2), delivery (6), whether it was
    /// handed out (1), 0, length (4), and what the wait took in units of 16 ns, rounded up (4).
    pub fn to_bytes(self) -> [u8; Entry::BYTES] {
        // Up, so that a wait that began with the submission is read back as one.
        let blocked = self
            .delivered
            .saturating_sub(self.called)
            .div_ceil(BLOCKED_UNIT);
        let blocked = u32::try_from(blocked).unwrap_or(u32::MAX);
        let mut bytes = [0; Entry::BYTES];
        bytes[..8].copy_from_slice(&self.offset.to_le_bytes());
        // 48 bits of nanoseconds are three days.
        bytes[8..14].copy_from_slice(&self.submitted.to_le_bytes()[..6]);
        bytes[14..16].copy_from_slice(&self.thread.to_le_bytes());
        bytes[16..22].copy_from_slice(&self.delivered.to_le_bytes()[..6]);
        bytes[22] = u8::from(self.is_taken);
        bytes[24..28].copy_from_slice(&self.len.to_le_bytes());
        bytes[28..].copy_from_slice(&blocked.to_le_bytes());
        bytes
    }

    /// The entry of these bytes.
    pub fn from_bytes(bytes: &[u8; Entry::BYTES]) -> Entry {
        let number = |from: usize, len: usize| {
            let mut eight = [0; 8];
            eight[..len].copy_from_slice(&bytes[from..from + len]);
            u64::from_le_bytes(eight)
        };
        let (submitted, delivered) = (number(8, 6), number(16, 6));
        let called = delivered.saturating_sub(number(28, 4) * BLOCKED_UNIT);
        Entry {
            offset: number(0, 8),
            len: number(24, 4) as u32,
            thread: number(14, 2) as u16,
            submitted,
            called: called.max(submitted),
            delivered,
            is_taken: bytes[22] != 0,
        }
    }
}

/// Entries in the order in which they were added.
pub struct Entries {
    /// Those that are not in the file.
    bytes: Vec<u8>,
    file: Option<File>,
    /// Bytes in the file.
    spilled: u64,
    /// Bytes that are kept in memory.
    most: usize,
}

impl Entries {
    /// An empty list, which keeps up to `most` bytes in memory and the others in a file.
    pub fn holding(most: usize) -> Entries {
        Entries {
            bytes: Vec::new(),
            file: None,
            spilled: 0,
            most,
        }
    }

    /// Adds one.
    ///
    /// # Errors
    /// The temporary file cannot be made or written.
    pub fn push(&mut self, entry: Entry) -> io::Result<()> {
        if self.bytes.len() + Entry::BYTES > self.most {
            self.spill()?;
        }
        self.bytes.extend_from_slice(&entry.to_bytes());
        Ok(())
    }

    /// Moves what is in memory to the file.
    fn spill(&mut self) -> io::Result<()> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.write_all_at(&self.bytes, self.spilled)?;
        self.spilled += self.bytes.len() as u64;
        self.bytes.clear();
        Ok(())
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        (self.spilled + self.bytes.len() as u64) / Entry::BYTES as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them; an error of the file ends them.
    pub fn iter(&self) -> impl Iterator<Item = io::Result<Entry>> {
        let mut blocks = Blocks {
            of: self,
            at: 0,
            block: Vec::new(),
        };
        let mut place = 0;
        std::iter::from_fn(move || {
            if place == blocks.block.len() {
                match blocks.next() {
                    Ok(true) => place = 0,
                    Ok(false) => return None,
                    Err(error) => {
                        // Nothing comes after it.
                        blocks.at = u64::MAX;
                        blocks.block.clear();
                        place = 0;
                        return Some(Err(error));
                    }
                }
            }
            let bytes = blocks.block[place..].first_chunk()?;
            place += Entry::BYTES;
            Some(Ok(Entry::from_bytes(bytes)))
        })
    }

    /// The same entries, changed.
    ///
    /// # Errors
    /// Those of the temporary files.
    pub fn map(&self, change: impl Fn(Entry) -> Entry) -> io::Result<Entries> {
        let mut all = Entries::holding(self.most);
        for entry in self.iter() {
            all.push(change(entry?))?;
        }
        Ok(all)
    }
}

/// Reads entries a block at a time.
struct Blocks<'a> {
    of: &'a Entries,
    /// Where the next begins, bytes.
    at: u64,
    block: Vec<u8>,
}

impl Blocks<'_> {
    /// Takes the next block; false after the last.
    fn next(&mut self) -> io::Result<bool> {
        const BLOCK: u64 = 2048 * Entry::BYTES as u64;
        self.block.clear();
        let in_file = self.of.spilled.saturating_sub(self.at);
        if let (Some(file), 1..) = (&self.of.file, in_file) {
            self.block.resize(in_file.min(BLOCK) as usize, 0);
            file.read_exact_at(&mut self.block, self.at)?;
        } else {
            let from = self.at.saturating_sub(self.of.spilled);
            let rest = usize::try_from(from).ok();
            let rest = rest.and_then(|from| self.of.bytes.get(from..));
            let rest = rest.unwrap_or_default();
            let part = &rest[..rest.len().min(BLOCK as usize)];
            self.block.extend_from_slice(part);
        }
        self.at = self.at.saturating_add(self.block.len() as u64);
        Ok(!self.block.is_empty())
    }
}

impl std::fmt::Debug for Entries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} reads", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_the_file() {
        let entry = |number: u64| Entry {
            offset: number << 40,
            len: u32::MAX - number as u32,
            thread: number as u16,
            submitted: number * 1000,
            called: number * 1000 + 16,
            delivered: number * 1000 + 160,
            is_taken: number.is_multiple_of(3),
        };
        // All in memory; a part of them in the file; more of them than are read together.
        for (count, most) in [(0, 0), (100, 1 << 20), (100, 30 * 32), (10_000, 1000)] {
            let mut entries = Entries::holding(most);
            for number in 0..count {
                entries.push(entry(number)).unwrap();
                assert!(entries.bytes.len() <= most.max(Entry::BYTES));
            }
            let read: Vec<Entry> = entries.iter().map(Result::unwrap).collect();
            assert_eq!(read, (0..count).map(entry).collect::<Vec<_>>());
            assert_eq!(entries.len(), count);
            let later = |entry: Entry| Entry {
                submitted: entry.submitted + 7,
                ..entry
            };
            let moved = entries.map(later).unwrap();
            let moved: Vec<Entry> = moved.iter().map(Result::unwrap).collect();
            assert_eq!(moved, read.into_iter().map(later).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_file_that_is_too_short_is_an_error_and_the_end() {
        let mut entries = Entries::holding(0);
        let entry = Entry::from_bytes(&[0; Entry::BYTES]);
        for _ in 0..3 {
            entries.push(entry).unwrap();
        }
        entries.file.as_ref().unwrap().set_len(8).unwrap();
        let mut all = entries.iter();
        assert!(all.next().unwrap().is_err());
        assert!(all.next().is_none());
    }
}
