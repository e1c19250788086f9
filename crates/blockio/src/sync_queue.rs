//! A queue that reads when it is waited for.
//!
//! For sources whose reads are copies of memory there is nothing to overlap. For buffered files the
//! overlap is the kernel's: a submission is announced (`POSIX_FADV_WILLNEED`), which starts the reads
//! of what the page cache lacks, and waiting copies. Buffered reads by `io_uring` were rejected: a
//! hit would be copied at submission, by the same thread, and a miss may need a kernel worker.
//!
//! As nothing is written into a buffer before its turn, the buffers of a full queue need not be
//! touched in turn: each read goes into the one that came back last and is still in the processor's
//! cache, and of a sweep's memory only two are ever taken.

use std::collections::VecDeque;

use crate::queue::{Completion, Queue, Request};
use crate::source::BlockSource;

pub(crate) struct SyncQueue<'a, S: ?Sized> {
    source: &'a S,
    depth: usize,
    waiting: VecDeque<Request>,
}

impl<'a, S: BlockSource + ?Sized> SyncQueue<'a, S> {
    pub(crate) fn new(source: &'a S, depth: usize) -> SyncQueue<'a, S> {
        SyncQueue {
            source,
            depth: depth.max(1),
            waiting: VecDeque::new(),
        }
    }
}

impl<S: BlockSource + ?Sized> Queue for SyncQueue<'_, S> {
    fn depth(&self) -> usize {
        self.depth
    }

    fn in_flight(&self) -> usize {
        self.waiting.len()
    }

    fn reads_when_waited_for(&self) -> bool {
        true
    }

    fn submit(&mut self, request: Request) -> Result<(), Request> {
        if !self.has_room() {
            return Err(request);
        }
        self.source.will_need(request.offset, request.len as u64);
        self.waiting.push_back(request);
        Ok(())
    }

    fn wait(&mut self) -> Option<Completion> {
        let mut first = self.waiting.pop_front()?;
        if let Some(last) = self.waiting.back_mut()
            && last.buffer.capacity() >= first.len
        {
            std::mem::swap(&mut first.buffer, &mut last.buffer);
        }
        Some(first.read(self.source))
    }
}
