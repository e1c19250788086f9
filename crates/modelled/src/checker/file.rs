//! A record as a file (docs/formats.md): what `fslab check --record` writes, and a run that estimates its checks reads.
//!
//! A file may come from anyone: counts are held against the length of the file before anything is allocated.

use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use blockio::layer::{Entries, Entry};

use super::{Pass, Record};
use crate::error::Error;

const MAGIC: [u8; 8] = *b"fslabreq";
const VERSION: u32 = 1;
/// Magic, version, number of passes, number of entries, end.
const HEAD: usize = 8 + 4 + 4 + 8 + 8;
/// Most passes, and most bytes of a name.
const MOST_PASSES: u32 = 256;
const LONGEST_NAME: usize = 64;
/// Bytes of a record that are kept in memory.
const IN_MEMORY: usize = 16 << 20;
/// Latest time of a read that a record can hold, ns: 78 hours.
const LATEST: u64 = (1 << 48) - 1;

impl Record {
    /// Whether a file begins as a record does; a file that cannot be read does not.
    pub fn is_one(path: &Path) -> bool {
        let mut magic = [0; MAGIC.len()];
        let read =
            input::open_regular(path).is_ok_and(|mut file| file.read_exact(&mut magic).is_ok());
        read && magic == MAGIC
    }

    /// Writes the record.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.end > LATEST {
            return Err(io::Error::other("a record holds 78 hours at most"));
        }
        let mut out = BufWriter::with_capacity(1 << 20, out);
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&(self.passes.len() as u32).to_le_bytes())?;
        out.write_all(&self.entries.len().to_le_bytes())?;
        out.write_all(&self.end.to_le_bytes())?;
        for pass in &self.passes {
            let name = pass.name.as_bytes();
            if name.len() > LONGEST_NAME {
                return Err(io::Error::other("the name of a pass is too long"));
            }
            out.write_all(&pass.began.to_le_bytes())?;
            out.write_all(&(name.len() as u16).to_le_bytes())?;
            out.write_all(name)?;
        }
        for entry in self.entries.iter() {
            out.write_all(&entry?.to_bytes())?;
        }
        out.flush()
    }

    /// Reads a record from a file.
    ///
    /// # Errors
    /// It cannot be read, or is no record; one line with its path.
    pub fn read(path: &Path) -> Result<Record, Error> {
        let named = |why: String| Error::Record(format!("{}: {why}", path.display()));
        let again = "; record it anew: fslab check --record";
        let refused = |refused: Refused| match refused {
            Refused::Other(why) => named(why + again),
            Refused::Short(why) => Error::Short {
                name: path.display().to_string(),
                why,
            },
        };
        let file = input::open_regular(path).map_err(|error| named(error.to_string()))?;
        let metadata = file.metadata().map_err(|error| named(error.to_string()))?;
        let mut input = io::BufReader::with_capacity(1 << 20, file);
        read(&mut input, metadata.len()).map_err(refused)
    }
}

/// Why bytes are no record.
#[derive(Debug)]
enum Refused {
    /// They are the beginning of one.
    Short(String),
    Other(String),
}

impl From<String> for Refused {
    fn from(why: String) -> Refused {
        Refused::Other(why)
    }
}

impl From<&str> for Refused {
    fn from(why: &str) -> Refused {
        why.to_owned().into()
    }
}

/// Reads a record of `len` bytes; why it is none.
fn read(input: &mut dyn Read, len: u64) -> Result<Record, Refused> {
    let head: [u8; HEAD] = take(input)?;
    let number = |from: usize, bytes: usize| {
        let mut eight = [0; 8];
        eight[..bytes].copy_from_slice(&head[from..from + bytes]);
        u64::from_le_bytes(eight)
    };
    if head[..8] != MAGIC {
        return Err("is no record of a check".into());
    }
    if number(8, 4) != u64::from(VERSION) {
        return Err(format!("is of version {}, not {VERSION}", number(8, 4)).into());
    }
    let (passes, entries) = (number(12, 4), number(16, 8));
    if passes > u64::from(MOST_PASSES) {
        return Err(format!("has {passes} passes, and a check at most {MOST_PASSES}").into());
    }
    let mut record = Record {
        entries: Entries::holding(IN_MEMORY),
        passes: Vec::new(),
        end: number(24, 8),
    };
    let mut left = len.saturating_sub(HEAD as u64);
    for _ in 0..passes {
        let pass = pass(input)?;
        left = left.saturating_sub(10 + pass.name.len() as u64);
        record.passes.push(pass);
    }
    let needed = entries.checked_mul(Entry::BYTES as u64);
    if needed != Some(left) {
        let why = format!(
            "has {left} bytes for {entries} reads of {} each",
            Entry::BYTES
        );
        let is_short = needed.is_some_and(|needed| left < needed);
        return Err(if is_short {
            Refused::Short(why)
        } else {
            why.into()
        });
    }
    for number in 1..=entries {
        let bytes = take(input)?;
        let entry = Entry::from_bytes(&bytes);
        if let Some(why) = wrong(&entry, &bytes, record.end) {
            return Err(format!("is damaged: read {number} {why}").into());
        }
        let kept = record.entries.push(entry);
        kept.map_err(|error| format!("needs a temporary file: {error}"))?;
    }
    let sorted = record.passes.is_sorted_by_key(|pass| pass.began);
    if !sorted {
        return Err("has passes that are not in order".into());
    }
    let last = record.passes.last().map_or(0, |pass| pass.began);
    if last.max(record.end) > record.end.min(LATEST) {
        return Err("is damaged: its end is before its last pass, or later than 78 hours".into());
    }
    Ok(record)
}

/// What cannot be in a read.
fn wrong(entry: &Entry, bytes: &[u8; Entry::BYTES], end: u64) -> Option<&'static str> {
    // Whether it was handed out, and a byte of zeros.
    let is_flagged = bytes[22] <= 1 && bytes[23] == 0;
    let in_order = !entry.is_taken || entry.submitted <= entry.delivered;
    let last = entry.submitted.max(entry.delivered);
    let found = [
        (entry.len == 0, "has no bytes"),
        (
            entry.offset.checked_add(entry.len.into()).is_none(),
            "ends past the last address",
        ),
        (!is_flagged, "has a flag that is none"),
        (!in_order, "was handed out before it was asked for"),
        (last > end, "is later than the end of the check"),
    ];
    found.into_iter().find(|(is, _)| *is).map(|(_, why)| why)
}

fn pass(input: &mut dyn Read) -> Result<Pass, Refused> {
    let began = u64::from_le_bytes(take(input)?);
    let len = usize::from(u16::from_le_bytes(take(input)?));
    if len > LONGEST_NAME {
        return Err(format!("has a name of {len} bytes").into());
    }
    let mut name = vec![0; len];
    input.read_exact(&mut name).map_err(|error| short(&error))?;
    let name = String::from_utf8(name).map_err(|_| "has a name that is no text".to_owned())?;
    Ok(Pass { name, began })
}

fn take<const N: usize>(input: &mut dyn Read) -> Result<[u8; N], Refused> {
    let mut bytes = [0; N];
    input
        .read_exact(&mut bytes)
        .map_err(|error| short(&error))?;
    Ok(bytes)
}

fn short(error: &io::Error) -> Refused {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Refused::Short("ends too early".to_owned()),
        _ => Refused::Other(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record() -> Record {
        let entry = |i: u64| Entry {
            offset: i << 40,
            len: 4096,
            thread: i as u16,
            submitted: 1000 * i,
            called: 1000 * i + 16,
            delivered: 1000 * i + 160,
            is_taken: i != 3,
        };
        let pass = |name: &str, began| Pass {
            name: name.into(),
            began,
        };
        Record {
            entries: crate::checker::tests::entries((0..20).map(entry)),
            passes: vec![pass("0a", 0), pass("after", 9000)],
            end: 1 << 40,
        }
    }

    fn bytes(record: &Record) -> Vec<u8> {
        let mut bytes = Vec::new();
        record.write(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_record_survives_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reads");
        let record = record();
        std::fs::write(&path, bytes(&record)).unwrap();
        assert_eq!(bytes(&Record::read(&path).unwrap()), bytes(&record));
        assert!(Record::is_one(&path) && !Record::is_one(folder.path()));
        assert_eq!(bytes(&record).len(), HEAD + 10 + 2 + 10 + 5 + 20 * 32);
        let missing = Record::read(&folder.path().join("none")).unwrap_err();
        assert!(missing.to_string().contains("none: "), "{missing}");
        let folder = Record::read(folder.path()).unwrap_err().to_string();
        assert!(folder.ends_with("it is a folder, not a file"), "{folder}");
    }

    #[test]
    fn what_is_no_record_is_refused() {
        let good = bytes(&record());
        let read_of = |bytes: &[u8]| read(&mut &bytes[..], bytes.len() as u64).unwrap_err();
        let short = |bytes: &[u8]| match read_of(bytes) {
            Refused::Short(why) => why,
            Refused::Other(why) => panic!("{why}"),
        };
        let refused = |bytes: &[u8]| match read_of(bytes) {
            Refused::Short(why) | Refused::Other(why) => why,
        };
        assert_eq!(short(&good[..HEAD - 1]), "ends too early");
        assert_eq!(short(&good[..HEAD + 3]), "ends too early");
        assert!(short(&good[..good.len() - 1]).contains("for 20 reads"));
        let longer = [&good[..], b"x"].concat();
        assert!(matches!(read_of(&longer), Refused::Other(_)));
        let changed = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            refused(&bytes)
        };
        assert!(changed(0, b'x').contains("is no record of a check"));
        assert!(changed(8, 2).contains("version 2"));
        assert!(changed(14, 1).contains("65538 passes"));
        // A count that no memory holds.
        assert!(changed(23, 0x7f).contains("reads of 32 each"));
        assert!(changed(HEAD + 9, 1).contains("a name of 258 bytes"));
        assert!(changed(HEAD + 10, 0xff).contains("no text"));
        assert!(changed(HEAD + 7, 1).contains("not in order"));
        // Of the end, which no read can be as late as, and of the last read: its length, whether it was handed out, and when.
        assert!(changed(30, 1).contains("78 hours"));
        let last = good.len() - Entry::BYTES;
        assert!(changed(last + 22, 7).contains("read 20 has a flag"));
        assert!(changed(last + 21, 1).contains("read 20 is later than the end"));
        assert!(changed(last + 25, 0).contains("read 20 has no bytes"));
        assert!(changed(last + 17, 0).contains("read 20 was handed out before"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(changes in prop::collection::vec((0_usize..200, any::<u8>()), 0..8), cut in 0_usize..700) {
            let mut bytes = bytes(&record());
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            bytes.truncate(bytes.len() - cut.min(bytes.len()));
            if let Ok(record) = read(&mut &bytes[..], bytes.len() as u64) {
                // It can be replayed, or is refused by the device.
                let _ = record.job(1.0);
            }
        }
    }
}
