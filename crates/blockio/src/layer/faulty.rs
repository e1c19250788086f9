//! Read errors where they are wanted.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Fault, OpenError, ReadError};
use crate::queue::{Completion, Queue, Request};
use crate::source::BlockSource;

/// A source with bad ranges: a read that touches one of their bytes fails, all else reads as before.
pub struct Faulty<S> {
    inner: S,
    bad: Vec<Range<u64>>,
    errno: i32,
}

impl<S: BlockSource> Faulty<S> {
    /// Reads of `inner` that touch one of `ranges` fail with `errno`. Empty ranges are no fault.
    pub fn new(inner: S, ranges: impl IntoIterator<Item = Range<u64>>, errno: i32) -> Faulty<S> {
        Faulty {
            inner,
            bad: ranges
                .into_iter()
                .filter(|range| !range.is_empty())
                .collect(),
            errno,
        }
    }

    /// The error of a read, if it touches a bad range: from its first bad byte on.
    fn fault(&self, offset: u64, len: u64) -> Option<ReadError> {
        let end = offset.saturating_add(len);
        let touched = self
            .bad
            .iter()
            .filter(|bad| len > 0 && bad.start < end && offset < bad.end);
        let first = touched.map(|bad| bad.start.max(offset)).min()?;
        Some(ReadError {
            name: Arc::clone(self.inner.name()),
            offset: first,
            len: end - first,
            fault: Fault::Os(self.errno),
        })
    }
}

impl<S: BlockSource> crate::source::Layer for Faulty<S> {
    type Below = S;

    fn below(&self) -> &S {
        &self.inner
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        // A range that is not there fails for that reason first.
        self.inner.read_at(buf, offset)?;
        self.fault(offset, buf.len() as u64).map_or(Ok(()), Err)
    }

    fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        let data = self.inner.next_data(offset);
        // A bad range in a hole is to be met: a sweep must not step over it.
        let bad = self.bad.iter().filter(|bad| bad.end > offset);
        let bad = bad
            .map(|bad| bad.start.max(offset)..bad.end.min(self.len()))
            .filter(|bad| !bad.is_empty())
            .min_by_key(|bad| bad.start);
        match (data, bad) {
            (Some(data), Some(bad)) if bad.start < data.start => Some(bad),
            (Some(data), _) => Some(data),
            (None, bad) => bad,
        }
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError> {
        Ok(Box::new(FaultyQueue {
            source: self,
            inner: self.inner.queue(depth)?,
        }))
    }
}

struct FaultyQueue<'a, S> {
    source: &'a Faulty<S>,
    inner: Box<dyn Queue + 'a>,
}

impl<S: BlockSource> Queue for FaultyQueue<'_, S> {
    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }

    fn submit(&mut self, request: Request) -> Result<(), Request> {
        self.inner.submit(request)
    }

    fn flush(&mut self) {
        self.inner.flush();
    }

    fn wait(&mut self) -> Option<Completion> {
        let mut done = self.inner.wait()?;
        if let Ok(bytes) = done.bytes()
            && let Some(fault) = self.source.fault(done.offset, bytes.len() as u64)
        {
            done.result = Err(fault);
        }
        Some(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ram::Ram;

    #[test]
    fn only_what_touches_a_bad_byte_fails() {
        let source = Ram::new(&[1; 100]).failing([10..20, 50..51, 30..30], libc::EIO);
        let mut buf = [0; 100];
        source.read_at(&mut buf[..10], 0).unwrap();
        source.read_at(&mut buf[..30], 20).unwrap();
        source.read_at(&mut buf[..49], 51).unwrap();
        source.read_at(&mut buf[..0], 15).unwrap();
        let error = source.read_at(&mut buf[..11], 0).unwrap_err();
        assert_eq!((error.offset, error.len), (10, 1));
        let error = source.read_at(&mut buf[..85], 15).unwrap_err();
        assert_eq!((error.offset, error.len), (15, 85));
        assert_eq!(error.errno(), Some(libc::EIO));
        let error = source.read_at(&mut buf, 1).unwrap_err();
        assert_eq!(error.fault, Fault::PastEnd(100));
    }

    #[test]
    fn a_bad_range_in_a_hole_is_data_that_a_sweep_meets() {
        let mut ram = Ram::sparse(1 << 30);
        ram.put(1 << 20, &[1]);
        let source = ram.failing([5000..6000, (1 << 30) - 10..u64::MAX], libc::EIO);
        assert_eq!(source.next_data(0), Some(5000..6000));
        assert_eq!(source.next_data(5500), Some(5500..6000));
        assert_eq!(
            source.next_data(6000),
            Some(1 << 20..(1 << 20) + (64 << 10))
        );
        assert_eq!(source.next_data(2 << 20), Some((1 << 30) - 10..1 << 30));
        assert_eq!(source.next_data(1 << 30), None);
    }
}
