//! Writes of a log of dm-log-writes or of QEMU's blklogwrites.
//!
//! Such a log is made for crashes: it has each write that was completed, in order, and what a power cut depends on. It has no reads, no
//! times and no processes, so nothing can be said of a host. What can be said is how long the device needs for these writes with
//! a number of them in flight.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use blockio::log_writes::{Ending, Entries, Entry, Flags, MAGIC};
use blockio::{BlockSource, Buffered};
use device::Op;
use device::replay::{Asked, Linker, Sender};

use crate::error::Error;
use crate::spool::Spool;
use crate::trace::{LARGEST, Record, Source};

/// Bytes of the first block of a log.
const SUPERBLOCK: u64 = 512;

/// Whether a path is a file or a device that begins as a log does.
pub fn is_log(path: &Path) -> bool {
    let is_source = |kind: std::fs::FileType| kind.is_file() || kind.is_block_device();
    if !std::fs::metadata(path).is_ok_and(|metadata| is_source(metadata.file_type())) {
        return false;
    }
    let mut first = [0; 8];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && u64::from_le_bytes(first) == MAGIC
}

/// Reads the writes of a log, in memory that does not grow with it. Of [`Source::Queue`] neighbours are merged up to the kernel's
/// limit of one request, as far as no flush comes between them; else each is a request, as it was logged.
///
/// # Errors
/// It is no log, has no write, or cannot be read.
pub fn read(path: &Path, source: Source) -> Result<Record, Error> {
    let cut = |metadata: &std::fs::Metadata| metadata.is_file() && metadata.len() < SUPERBLOCK;
    if std::fs::metadata(path).is_ok_and(|metadata| cut(&metadata)) {
        return Err(Error::Short {
            name: path.display().to_string(),
            why: "it ends within its superblock".to_owned(),
        });
    }
    read_from(Buffered::open(path)?, source)
}

fn read_from(log: impl BlockSource, source: Source) -> Result<Record, Error> {
    let name = log.name().to_string();
    let mut entries = Entries::open(log)?;
    let mut writes = Writes {
        linker: Linker::new(Spool::default()),
        last: None,
        merges: source == Source::Queue,
    };
    let mut found: u64 = 0;
    while let Some(entry) = entries
        .next()
        .map_err(blockio::log_writes::LogError::from)?
    {
        found += 1;
        writes.add(&entry)?;
    }
    let mut doubts = Vec::new();
    if let Ending::Early { promised } = entries.ending() {
        doubts.push(format!(
            "it ends after {found} of the {promised} entries that its superblock promises"
        ));
    }
    let (spool, outline) = writes.linker.finish();
    if outline.count == 0
        && let Some(why) = doubts.pop()
    {
        return Err(Error::Short { name, why });
    }
    if outline.count == 0 {
        let without = "the log has no write; record one while the device is in use";
        return Err(Error::NoRequests(format!("{name}: {without}")));
    }
    Ok(Record {
        name,
        requests: spool.finish(outline),
        source,
        doubts,
        commands: 0,
    })
}

/// Requests as they are found.
struct Writes {
    linker: Linker<Spool>,
    /// The last write: number, end and length.
    last: Option<(u32, u64, u64)>,
    merges: bool,
}

impl Writes {
    fn add(&mut self, entry: &Entry) -> Result<(), Error> {
        let has = |flags| entry.flags.has(flags);
        if has(Flags::MARK) {
            return Ok(());
        }
        if has(Flags::FLUSH) {
            self.send(Op::Flush, 0, 0, false)?;
            self.last = None;
        }
        if entry.len == 0 {
            return Ok(());
        }
        if has(Flags::DISCARD) {
            self.last = None;
            self.send(Op::Discard, entry.offset, entry.len, false)?;
            return Ok(());
        }
        let fua = has(Flags::FUA);
        let joins = |(_, end, len): &(u32, u64, u64)| {
            self.merges && *end == entry.offset && len.saturating_add(entry.len) <= LARGEST
        };
        let (number, len) = match self.last.filter(joins) {
            Some((number, _, len)) => {
                self.linker.extend(number, entry.len, fua)?;
                (number, len)
            }
            None => (self.send(Op::Write, entry.offset, entry.len, fua)?, 0),
        };
        self.last = Some((number, entry.offset + entry.len, len + entry.len));
        Ok(())
    }

    /// The log has no times, and completions are what it is made of: all are sent at once by one process.
    fn send(&mut self, op: Op, offset: u64, len: u64, fua: bool) -> Result<u32, Error> {
        let asked = Asked {
            op,
            offset,
            len,
            fua,
            sender: Sender::Process,
        };
        Ok(self.linker.submit(0, 0, asked)?)
    }
}

#[cfg(test)]
mod tests {
    use blockio::Ram;
    use device::replay::Requests as _;
    use fixtures::write_log::WriteLog;

    use super::*;

    fn all(record: &Record) -> Vec<(Op, u64, u64, bool)> {
        let mut reader = record.requests.reader();
        let numbers = 0..record.requests.outline().count;
        let requests = numbers.map(|number| reader.get(number).unwrap());
        requests.map(|r| (r.op, r.offset, r.len, r.fua)).collect()
    }

    fn log() -> WriteLog {
        let mut log = WriteLog::new(512);
        log.write(8, 4096, 0);
        log.write(16, 4096, 0);
        log.mark("mkfs");
        log.write(24, 4096, Flags::FUA.0);
        log.write(32, 512, Flags::FLUSH.0 | Flags::FUA.0);
        log.write(0, 0, Flags::FLUSH.0);
        log.discard(2048, 8);
        log.write(33, 512, Flags::METADATA.0);
        log
    }

    #[test]
    fn writes_flushes_and_discards_come_in_order_and_marks_do_not() {
        let record = read_from(Ram::new(&log().bytes()), Source::Issue).unwrap();
        let expected = [
            (Op::Write, 4096, 4096, false),
            (Op::Write, 8192, 4096, false),
            (Op::Write, 12_288, 4096, true),
            (Op::Flush, 0, 0, false),
            (Op::Write, 16_384, 512, true),
            (Op::Flush, 0, 0, false),
            (Op::Discard, 1 << 20, 4096, false),
            (Op::Write, 16_896, 512, false),
        ];
        assert_eq!(all(&record), expected);
        assert!(record.doubts.is_empty());
        let merged = read_from(Ram::new(&log().bytes()), Source::Queue).unwrap();
        let all = all(&merged);
        assert_eq!(all[0], (Op::Write, 4096, 3 * 4096, true));
        assert_eq!(all[1..], expected[3..]);
    }

    #[test]
    fn neighbours_are_merged_up_to_the_largest_request() {
        let mut log = WriteLog::new(4096);
        for i in 0..400 {
            log.write(i, 4096, 0);
        }
        let merged = read_from(Ram::new(&log.bytes()), Source::Queue).unwrap();
        let lengths: Vec<u64> = all(&merged).iter().map(|request| request.2).collect();
        assert_eq!(lengths, [LARGEST, (400 << 12) - LARGEST]);
    }

    #[test]
    fn a_log_that_is_cut_is_doubted_and_what_is_none_is_refused() {
        let bytes = log().bytes();
        let cut = Ram::new(&bytes[..bytes.len() - 512]);
        let record = read_from(cut, Source::Issue).unwrap();
        assert_eq!(
            record.doubts,
            ["it ends after 7 of the 8 entries that its superblock promises"]
        );
        let why = |bytes: &[u8]| read_from(Ram::new(bytes), Source::Issue).unwrap_err();
        assert!(why(&bytes[..512]).is_invalid());
        let short = why(&bytes[..512]).to_string();
        assert!(short.contains("after 0 of the 8 entries"), "{short}");
        assert!(why(&[7; 4096]).to_string().contains("is not a write log"));
        assert!(why(&[]).is_usage());
    }

    #[test]
    fn a_log_is_known_by_its_first_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("log"), log().bytes()).unwrap();
        std::fs::write(path("short"), [1, 2, 3]).unwrap();
        std::fs::write(path("other"), [0; 512]).unwrap();
        assert!(is_log(&path("log")));
        assert!(!is_log(&path("short")) && !is_log(&path("other")));
        assert!(!is_log(&path("none")) && !is_log(folder.path()));
        let record = read(&path("log"), Source::Issue).unwrap();
        assert_eq!(record.requests.outline().count, 8);
    }
}
