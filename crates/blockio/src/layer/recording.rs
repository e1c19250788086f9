//! Records what a reader asks for, when, and which completion let it go on.

use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::entries::{Entries, Entry};
use crate::error::{OpenError, ReadError};
use crate::queue::{Completion, Queue, Request};
use crate::source::BlockSource;

/// Bytes that are kept in memory; beyond that they go to a file.
const IN_MEMORY: usize = 64 << 20;

/// The entries so far.
struct Log {
    entries: Entries,
    failed: Option<io::Error>,
}

impl Default for Log {
    fn default() -> Log {
        Log {
            entries: Entries::holding(IN_MEMORY),
            failed: None,
        }
    }
}

impl Log {
    fn add(&mut self, entry: Entry) {
        if self.failed.is_none() {
            self.failed = self.entries.push(entry).err();
        }
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
    /// The temporary file could not be written.
    pub fn take(&self) -> io::Result<Entries> {
        let log = std::mem::take(&mut *self.log());
        match log.failed {
            Some(error) => Err(error),
            None => Ok(log.entries),
        }
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
    use crate::ram::Ram;

    #[test]
    fn reads_are_recorded_with_their_threads_and_times() {
        let source = Recording::new(Ram::sparse(1 << 20));
        let mut buf = [0; 512];
        source.read_at(&mut buf, 1024).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut queue = source.queue(2).unwrap();
                // Tags need not differ.
                queue.submit(Request::page(7, 0)).unwrap();
                queue.submit(Request::page(7, 8192)).unwrap();
                let full = queue.submit(Request::page(9, 0)).unwrap_err();
                assert_eq!(full.tag, 9);
                assert_eq!(queue.wait().unwrap().tag, 7);
            });
        });
        let entries = source.take().unwrap();
        let entries: Vec<Entry> = entries.iter().map(Result::unwrap).collect();
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
}
