//! Records what a reader asks for, when, and which completion let it go on.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::error::{OpenError, ReadError};
use crate::queue::{Completion, Queue, Request};
use crate::source::BlockSource;

/// Bytes of an entry as it is kept.
const ENTRY: usize = Entry::BYTES;

/// Bytes that are kept in memory; beyond that they go to a file.
const IN_MEMORY: usize = 64 << 20;

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
        let mut bytes = [0; ENTRY];
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

/// The entries so far.
#[derive(Default)]
struct Log {
    bytes: Vec<u8>,
    file: Option<File>,
    count: u64,
    failed: Option<io::Error>,
}

impl Log {
    fn add(&mut self, entry: Entry) {
        if self.bytes.len() + ENTRY > IN_MEMORY {
            self.spill();
        }
        self.bytes.extend_from_slice(&entry.to_bytes());
        self.count += 1;
    }

    /// Moves what is in memory to the file.
    fn spill(&mut self) {
        let write = |file: &mut Option<File>, bytes: &[u8]| {
            if file.is_none() {
                *file = Some(tempfile::tempfile()?);
            }
            file.as_mut().map_or(Ok(()), |file| file.write_all(bytes))
        };
        if self.failed.is_none() {
            self.failed = write(&mut self.file, &self.bytes).err();
        }
        self.bytes.clear();
    }
}

thread_local! {
    /// The number of this thread; 0 before it has one.
    static THREAD: Cell<u16> = const { Cell::new(0) };
}

/// A small number for the calling thread. After 65,535 threads they repeat.
fn thread_number() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(1);
    THREAD.with(|thread| {
        if thread.get() == 0 {
            thread.set(NEXT.fetch_add(1, Ordering::Relaxed).max(1));
        }
        thread.get()
    })
}

/// A source that records its reads: 32 bytes each, in memory up to 64 MiB and then in a temporary file.
///
/// What is written down is what a program knows and a block trace does not: which thread asked, when it began to wait, and which
/// completion it was given. From these follows what it would do on another device.
pub struct Recording<S> {
    inner: S,
    origin: Instant,
    log: Mutex<Log>,
}

impl<S: BlockSource> Recording<S> {
    /// Records what is read from `inner`.
    pub fn new(inner: S) -> Recording<S> {
        Recording {
            inner,
            origin: Instant::now(),
            log: Mutex::default(),
        }
    }

    /// The time now, as entries have it.
    pub fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Takes the entries, in the order in which they were handed out.
    ///
    /// # Errors
    /// The temporary file could not be written or read.
    pub fn take(&self) -> io::Result<Vec<Entry>> {
        let mut log = std::mem::take(&mut *self.log());
        if let Some(error) = log.failed.take() {
            return Err(error);
        }
        let mut entries = Vec::with_capacity(log.count as usize);
        let mut add = |bytes: &[u8]| {
            let (whole, _) = bytes.as_chunks::<ENTRY>();
            entries.extend(whole.iter().map(Entry::from_bytes));
        };
        if let Some(mut file) = log.file.take() {
            file.seek(SeekFrom::Start(0))?;
            let mut chunk = vec![0; 1 << 20];
            let mut left = file.metadata()?.len();
            while left > 0 {
                let part = &mut chunk[..left.min(1 << 20) as usize];
                file.read_exact(part)?;
                add(part);
                left -= part.len() as u64;
            }
        }
        add(&log.bytes);
        Ok(entries)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: BlockSource> crate::source::Layer for Recording<S> {
    type Below = S;

    fn below(&self) -> &S {
        &self.inner
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        let submitted = self.now();
        let result = self.inner.read_at(buf, offset);
        let delivered = self.now();
        self.log().add(Entry {
            offset,
            len: u32::try_from(buf.len()).unwrap_or(u32::MAX),
            thread: thread_number(),
            submitted,
            called: submitted,
            delivered,
            is_taken: true,
        });
        result
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError> {
        Ok(Box::new(RecordingQueue {
            source: self,
            inner: self.inner.queue(depth)?,
            flying: Vec::new(),
        }))
    }
}

/// A request on its way, by its place in a list: that number goes down instead of the caller's tag.
#[derive(Clone, Copy)]
struct Flying {
    tag: u64,
    offset: u64,
    len: u32,
    submitted: u64,
}

struct RecordingQueue<'a, S: BlockSource> {
    source: &'a Recording<S>,
    inner: Box<dyn Queue + 'a>,
    flying: Vec<Option<Flying>>,
}

impl<S: BlockSource> RecordingQueue<'_, S> {
    fn log(&self, flying: Flying, called: u64, is_taken: bool) {
        self.source.log().add(Entry {
            offset: flying.offset,
            len: flying.len,
            thread: thread_number(),
            submitted: flying.submitted,
            called,
            delivered: self.source.now(),
            is_taken,
        });
    }
}

impl<S: BlockSource> Queue for RecordingQueue<'_, S> {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }

    fn submit(&mut self, mut request: Request) -> Result<(), Request> {
        let flying = Flying {
            tag: request.tag,
            offset: request.offset,
            len: u32::try_from(request.len).unwrap_or(u32::MAX),
            submitted: self.source.now(),
        };
        let slot = self.flying.iter().position(Option::is_none);
        let slot = slot.unwrap_or_else(|| {
            self.flying.push(None);
            self.flying.len() - 1
        });
        request.tag = slot as u64;
        self.inner.submit(request).map_err(|refused| Request {
            tag: flying.tag,
            ..refused
        })?;
        self.flying[slot] = Some(flying);
        Ok(())
    }

    fn flush(&mut self) {
        self.inner.flush();
    }

    fn wait(&mut self) -> Option<Completion> {
        let called = self.source.now();
        let mut completion = self.inner.wait()?;
        let slot = self.flying.get_mut(completion.tag as usize);
        if let Some(flying) = slot.and_then(Option::take) {
            completion.tag = flying.tag;
            self.log(flying, called, true);
        }
        Some(completion)
    }
}

impl<S: BlockSource> Drop for RecordingQueue<'_, S> {
    fn drop(&mut self) {
        let now = self.source.now();
        for flying in std::mem::take(&mut self.flying).into_iter().flatten() {
            self.log(flying, now, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::ram::Ram;

    fn request(tag: u64, offset: u64) -> Request {
        Request {
            tag,
            offset,
            len: 4096,
            buffer: Buffer::empty(),
        }
    }

    #[test]
    fn reads_are_recorded_with_their_threads_and_times() {
        let source = Recording::new(Ram::sparse(1 << 20));
        let mut buf = [0; 512];
        source.read_at(&mut buf, 1024).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut queue = source.queue(2).unwrap();
                // Tags need not differ.
                queue.submit(request(7, 0)).unwrap();
                queue.submit(request(7, 8192)).unwrap();
                let full = queue.submit(request(9, 0)).unwrap_err();
                assert_eq!(full.tag, 9);
                assert_eq!(queue.wait().unwrap().tag, 7);
            });
        });
        let entries = source.take().unwrap();
        assert_eq!(entries.len(), 3);
        assert_eq!((entries[0].offset, entries[0].len), (1024, 512));
        assert_eq!(entries[0].called, entries[0].submitted);
        assert_ne!(entries[0].thread, entries[1].thread);
        assert_eq!(entries[1].thread, entries[2].thread);
        let taken: Vec<bool> = entries.iter().map(|entry| entry.is_taken).collect();
        assert_eq!(taken, [true, true, false]);
        for entry in &entries {
            assert!(entry.submitted <= entry.called && entry.called <= entry.delivered);
        }
        assert!(source.take().unwrap().is_empty());
    }

    #[test]
    fn entries_survive_the_file() {
        let mut log = Log::default();
        let entry = |number: u64| Entry {
            offset: number << 40,
            len: u32::MAX - number as u32,
            thread: number as u16,
            submitted: number * 1000,
            called: number * 1000 + 16,
            delivered: number * 1000 + 160,
            is_taken: number.is_multiple_of(3),
        };
        for number in 0..100 {
            log.add(entry(number));
            if number == 40 || number == 70 {
                log.spill();
            }
        }
        assert_eq!(log.bytes.len(), 29 * ENTRY);
        let source = Recording::new(Ram::sparse(4096));
        *source.log() = log;
        let entries = source.take().unwrap();
        assert_eq!(entries, (0..100).map(entry).collect::<Vec<_>>());
    }
}
