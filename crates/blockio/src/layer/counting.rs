//! Counts what passes: requests, bytes, sizes, distances, time waited.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::error::{OpenError, ReadError};
use crate::histogram::Histogram;
use crate::queue::{Completion, Queue, Request};
use crate::source::BlockSource;

/// What has passed since a layer was made, or between two snapshots of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IoCounts {
    /// Reads asked for, single ones and queued ones, those that failed included.
    pub requests: u64,
    /// Bytes asked for.
    pub bytes: u64,
    /// Requests that the device failed. One past the end of the source is not among them: nothing was there to read.
    pub errors: u64,
    /// Requests that did not begin where the one before them ended. The first does when it begins at
    /// byte 0: the head starts there.
    pub seeks: u64,
    /// Sum of the distances of all seeks, ahead and back, bytes: what a head travels besides reading.
    pub travelled: u64,
    /// Sizes of requests, bytes.
    pub sizes: Histogram,
    /// Distances of seeks ahead, from the end of the request before, bytes.
    pub ahead: Histogram,
    /// Distances of seeks back.
    pub back: Histogram,
    /// Nanoseconds that readers waited: in single reads, and in waiting for queued ones. Summed over
    /// threads, so it may exceed the time that passed.
    pub waited_ns: u64,
}

impl IoCounts {
    /// Mean size of a request, bytes; 0 without requests.
    pub fn mean_request(&self) -> f64 {
        if self.requests == 0 {
            return 0.0;
        }
        self.bytes as f64 / self.requests as f64
    }

    /// Time that readers waited.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_ns)
    }

    /// What has passed since `earlier`, a snapshot of the same layer: the I/O of one pass.
    #[must_use]
    pub fn since(&self, earlier: &IoCounts) -> IoCounts {
        IoCounts {
            requests: self.requests.saturating_sub(earlier.requests),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            errors: self.errors.saturating_sub(earlier.errors),
            seeks: self.seeks.saturating_sub(earlier.seeks),
            travelled: self.travelled.saturating_sub(earlier.travelled),
            sizes: self.sizes.since(&earlier.sizes),
            ahead: self.ahead.since(&earlier.ahead),
            back: self.back.since(&earlier.back),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
        }
    }
}

/// A source that counts.
///
/// Requests are counted in the order in which they are asked for, over all threads and queues: the
/// order in which a device meets them. Queued ones that are refused because the queue is full are
/// not. An announcement (`will_need`) is no request; the read that follows is.
pub struct Counting<S> {
    inner: S,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    counts: IoCounts,
    /// End of the last request.
    head: u64,
}

impl<S: BlockSource> Counting<S> {
    /// Counts what is read from `inner`.
    pub fn new(inner: S) -> Counting<S> {
        Counting {
            inner,
            state: Mutex::default(),
        }
    }

    /// What has passed so far.
    pub fn counts(&self) -> IoCounts {
        self.state().counts.clone()
    }

    /// The source below.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asked(&self, offset: u64, len: u64) {
        let mut state = self.state();
        let head = state.head;
        state.head = offset.saturating_add(len);
        let counts = &mut state.counts;
        counts.requests += 1;
        counts.bytes = counts.bytes.saturating_add(len);
        counts.sizes.add(len);
        if offset > head {
            counts.ahead.add(offset - head);
        } else if offset < head {
            counts.back.add(head - offset);
        }
        counts.seeks += u64::from(offset != head);
        counts.travelled = counts.travelled.saturating_add(offset.abs_diff(head));
    }

    fn done(&self, result: &Result<(), ReadError>, since: Instant) {
        let failed = result.as_ref().is_err_and(|error| error.errno().is_some());
        let waited = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let mut state = self.state();
        state.counts.errors += u64::from(failed);
        state.counts.waited_ns = state.counts.waited_ns.saturating_add(waited);
    }
}

impl<S: BlockSource> crate::source::Layer for Counting<S> {
    type Below = S;

    fn below(&self) -> &S {
        &self.inner
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        self.asked(offset, buf.len() as u64);
        let begin = Instant::now();
        let result = self.inner.read_at(buf, offset);
        self.done(&result, begin);
        result
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError> {
        Ok(Box::new(CountingQueue {
            source: self,
            inner: self.inner.queue(depth)?,
        }))
    }
}

struct CountingQueue<'a, S> {
    source: &'a Counting<S>,
    inner: Box<dyn Queue + 'a>,
}

impl<S: BlockSource> Queue for CountingQueue<'_, S> {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }

    fn submit(&mut self, request: Request) -> Result<(), Request> {
        if !self.has_room() {
            return Err(request);
        }
        self.source.asked(request.offset, request.len as u64);
        self.inner.submit(request)
    }

    fn flush(&mut self) {
        self.inner.flush();
    }

    fn wait(&mut self) -> Option<Completion> {
        let begin = Instant::now();
        let completion = self.inner.wait()?;
        self.source.done(&completion.result, begin);
        Some(completion)
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // One bad range is a list of one.
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::ram::Ram;

    #[test]
    fn requests_bytes_and_distances_are_counted_in_the_order_asked() {
        let ram = Ram::sparse(1 << 20).failing([900_000..900_001], libc::EIO);
        let source = Counting::new(ram);
        let mut buf = [0; 4096];
        source.read_at(&mut buf, 0).unwrap(); // the head is at 0: no seek
        source.read_at(&mut buf, 4096).unwrap(); // goes on
        let before = source.counts();
        source.read_at(&mut buf[..100], 16_384).unwrap(); // 8,192 ahead
        source.read_at(&mut buf, 0).unwrap(); // 16,484 back
        source.read_at(&mut buf, 899_000).unwrap_err();
        let mut queue = source.queue(2).unwrap();
        for (tag, offset) in [(0, 903_096), (1, 8192)] {
            let buffer = Buffer::empty();
            let len = 4096;
            queue
                .submit(Request {
                    tag,
                    offset,
                    len,
                    buffer,
                })
                .unwrap();
        }
        while queue.wait().is_some() {}
        let counts = source.counts();
        assert_eq!((before.requests, before.bytes, before.seeks), (2, 8192, 0));
        assert_eq!((counts.requests, counts.errors, counts.seeks), (7, 1, 4));
        assert_eq!(counts.bytes, 6 * 4096 + 100);
        let pass = counts.since(&before);
        assert_eq!(pass.requests, 5);
        assert_eq!(pass.sizes.total(), 5);
        assert_eq!((pass.ahead.total(), pass.back.total()), (2, 2));
        assert_eq!(pass.travelled, 8192 + 16_484 + 894_904 + 899_000);
        assert!(pass.ahead.rows().any(|row| row.from == 8192));
        assert!(pass.back.rows().any(|row| row.from == 16_384));
        assert_eq!(pass.mean_request(), (4.0 * 4096.0 + 100.0) / 5.0);
        assert!(counts.waited() > Duration::ZERO);
        assert_eq!(IoCounts::default().mean_request(), 0.0);
    }

    #[test]
    fn a_read_past_the_end_is_not_a_failure_of_the_device() {
        let source = Counting::new(Ram::sparse(4096));
        let mut buf = [0; 1024];
        source.read_at(&mut buf, 4096).unwrap_err();
        assert_eq!((source.counts().requests, source.counts().errors), (1, 0));
    }
}
