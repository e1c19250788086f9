//! Many reads in flight: requests that take their buffer along, and completions that bring it back.

use crate::buffer::Buffer;
use crate::error::ReadError;

/// One read to be done.
#[derive(Debug)]
pub struct Request {
    /// Whatever the caller wants to know it by; need not be unique.
    pub tag: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub len: usize,
    /// Where they go. A buffer that is too small is replaced by a larger one.
    pub buffer: Buffer,
}

#[cfg(test)]
impl Request {
    /// A read of 4 KiB.
    pub(crate) fn page(tag: u64, offset: u64) -> Request {
        Request {
            tag,
            offset,
            len: 4096,
            buffer: Buffer::empty(),
        }
    }
}

/// One read that is done.
#[derive(Debug)]
pub struct Completion {
    /// The request's.
    pub tag: u64,
    /// The request's.
    pub offset: u64,
    /// The request's bytes, if `result` is `Ok`. After a failure of the ring itself it comes back
    /// empty: the kernel may still write to the old one, which is given up.
    pub buffer: Buffer,
    /// Whether all bytes are there.
    pub result: Result<(), ReadError>,
}

impl Completion {
    /// The bytes that were read.
    ///
    /// # Errors
    /// Why there are none.
    pub fn bytes(&self) -> Result<&[u8], &ReadError> {
        self.result.as_ref().map(|()| self.buffer.as_slice())
    }
}

/// Reads in flight, up to a bound. Made by [`crate::BlockSource::queue`], used by one thread.
///
/// Requests are started in the order of submission; completions come in any order. Dropping a
/// queue waits for what is in flight.
pub trait Queue {
    /// Most requests that may be in flight.
    fn depth(&self) -> usize;

    /// Requests submitted whose completions have not been handed out.
    fn in_flight(&self) -> usize;

    /// Takes a request. Small ones may wait for [`Queue::flush`] or [`Queue::wait`] to reach the
    /// device together.
    ///
    /// # Errors
    /// The queue is full: the request comes back. All other failures come with the completion.
    fn submit(&mut self, request: Request) -> Result<(), Request>;

    /// Hands to the device what was submitted; for a caller that is going to compute before it waits.
    fn flush(&mut self) {}

    /// Waits for one completion; `None` when nothing is in flight.
    fn wait(&mut self) -> Option<Completion>;

    /// Whether it reads in [`Queue::wait`], by the thread that waits; else what was submitted is read while that thread does
    /// something else.
    fn reads_when_waited_for(&self) -> bool {
        false
    }

    /// Whether another request may be submitted.
    fn has_room(&self) -> bool {
        self.in_flight() < self.depth()
    }
}

impl Request {
    /// Finishes it on the spot with `result`.
    pub(crate) fn finish(self, result: Result<(), ReadError>) -> Completion {
        Completion {
            tag: self.tag,
            offset: self.offset,
            buffer: self.buffer,
            result,
        }
    }
}
