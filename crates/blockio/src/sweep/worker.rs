//! What each thread of a sweep does: keep its share of requests in flight, look at what comes.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::plan::{Plan, Task};
use super::{Content, Piece, Span, Sweep, SweepCounts};
use crate::buffer::Buffer;
use crate::error::{Fault, OpenError, ReadError};
use crate::queue::{Completion, Queue, Request};
use crate::salvage::salvage;
use crate::source::BlockSource;

/// What all threads of a sweep share.
pub(super) struct Shared<'a, S: ?Sized, I> {
    pub(super) source: &'a S,
    pub(super) sweep: &'a Sweep,
    pub(super) plan: &'a Mutex<Plan<'a, S, I>>,
    /// The sweep was stopped.
    pub(super) stop: &'a AtomicBool,
}

type Each<'e> = dyn FnMut(Piece<'_>) -> ControlFlow<()> + 'e;

/// One thread's requests.
struct Desk<'a, 'e, S: ?Sized> {
    source: &'a S,
    sweep: &'a Sweep,
    stop: &'a AtomicBool,
    each: &'e mut Each<'e>,
    counts: SweepCounts,
    /// Parts of the requests in flight, by tag.
    parts: Vec<Vec<Span>>,
    free: Vec<usize>,
    buffers: Vec<Buffer>,
}

impl<S, I> Shared<'_, S, I>
where
    S: BlockSource + ?Sized,
    I: Iterator<Item = Span>,
{
    /// Works until the plan is empty or the sweep is stopped.
    pub(super) fn work(
        &self,
        each: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<SweepCounts, OpenError> {
        let result = self.work_until_done(each);
        if result.is_err() {
            // The others need not go on.
            self.stop.store(true, Ordering::Relaxed);
        }
        result
    }

    fn work_until_done(
        &self,
        each: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<SweepCounts, OpenError> {
        let share = self.sweep.depth.div_ceil(self.sweep.threads);
        let mut queue = self.source.queue(share)?;
        let share = share.min(queue.depth());
        let mut desk = Desk::new(self, share, each)?;
        loop {
            self.fill(queue.as_mut(), &mut desk);
            let Some(done) = queue.wait() else { break };
            // Before this one is looked at, another one takes its place in flight.
            self.fill(queue.as_mut(), &mut desk);
            desk.finish(done);
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(desk.counts)
    }

    /// Submits what there is room for.
    fn fill(&self, queue: &mut dyn Queue, desk: &mut Desk<'_, '_, S>) {
        while queue.has_room() && !desk.free.is_empty() && !self.stop.load(Ordering::Relaxed) {
            // The plan's order is the order of submission only as long as one lock covers both.
            let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
            match plan.next() {
                Some(Task::Read { range, parts }) => desk.submit(queue, range, parts),
                Some(Task::Hole(part)) => {
                    drop(plan);
                    let len = part.range.end - part.range.start;
                    desk.counts.holes += len;
                    desk.show(part.tag, part.range.start, Content::Hole(len));
                }
                Some(Task::PastEnd(part)) => {
                    drop(plan);
                    let error = ReadError {
                        name: Arc::clone(self.source.name()),
                        offset: part.range.start,
                        len: part.range.end - part.range.start,
                        fault: Fault::PastEnd(self.source.len()),
                    };
                    desk.counts.failed += error.len;
                    desk.show(part.tag, error.offset, Content::Failed(&error));
                }
                None => break,
            }
        }
        queue.flush();
    }
}

impl<'a, 'e, S: BlockSource + ?Sized> Desk<'a, 'e, S> {
    fn new<I>(
        shared: &Shared<'a, S, I>,
        share: usize,
        each: &'e mut Each<'e>,
    ) -> Result<Desk<'a, 'e, S>, OpenError> {
        let geometry = shared.source.geometry();
        let room = shared.sweep.room(geometry);
        // One more than are in flight: the one that is being looked at.
        let count = share + 1;
        let buffers = Buffer::pool(count, room, geometry.memory_align as usize);
        let buffers = buffers.map_err(|source| OpenError::Memory {
            bytes: room.saturating_mul(count),
            source,
        })?;
        Ok(Desk {
            source: shared.source,
            sweep: shared.sweep,
            stop: shared.stop,
            each,
            counts: SweepCounts::default(),
            parts: vec![Vec::new(); count],
            free: (0..count).collect(),
            buffers,
        })
    }

    /// Puts a request in flight. The queue has room and a tag is free, as `fill` has seen to.
    fn submit(&mut self, queue: &mut dyn Queue, range: std::ops::Range<u64>, parts: Vec<Span>) {
        let Some(tag) = self.free.pop() else { return };
        let request = Request {
            tag: tag as u64,
            offset: range.start,
            len: (range.end - range.start) as usize,
            buffer: self.buffers.pop().unwrap_or_default(),
        };
        self.counts.requests += 1;
        self.counts.read += request.len as u64;
        self.parts[tag] = parts;
        if let Err(refused) = queue.submit(request) {
            // No queue refuses while it has room; if one did, the request is done without it.
            let done = refused.read(self.source);
            self.finish(done);
        }
    }

    /// Shows the parts of a request that is done, and takes its buffer back.
    fn finish(&mut self, mut done: Completion) {
        let tag = done.tag as usize;
        let parts = std::mem::take(&mut self.parts[tag]);
        self.free.push(tag);
        if let Ok(bytes) = done.bytes() {
            self.show_parts(&parts, done.offset, bytes, &[]);
        } else {
            self.salvage(&parts, done.offset, &mut done.buffer);
        }
        self.buffers.push(done.buffer);
    }

    /// Reads around what a failed request could not read, and shows its parts.
    fn salvage(&mut self, parts: &[Span], offset: u64, buffer: &mut Buffer) {
        let end = parts.last().map_or(offset, |part| part.range.end);
        let len = (end - offset) as usize;
        // A ring that has failed keeps the buffer.
        let mut spare = Vec::new();
        let bytes = if buffer.capacity() >= len {
            buffer.set_window(0, len);
            buffer.as_mut_slice()
        } else {
            spare.resize(len, 0);
            spare.as_mut_slice()
        };
        let (block, patience) = (self.sweep.block, self.sweep.patience);
        let found = salvage(self.source, bytes, offset, block, patience);
        self.counts.salvage_reads += u64::from(found.reads);
        self.show_parts(parts, offset, bytes, &found.bad);
    }

    /// Shows each part: what is good of it, and what is `bad` (ascending).
    fn show_parts(&mut self, parts: &[Span], offset: u64, bytes: &[u8], bad: &[ReadError]) {
        for part in parts {
            let mut at = part.range.start;
            for error in bad {
                let start = error.offset.max(at);
                let end = (error.offset + error.len).min(part.range.end);
                if start >= end {
                    continue;
                }
                self.show_data(part.tag, at..start, offset, bytes);
                let error = ReadError {
                    offset: start,
                    len: end - start,
                    ..error.clone()
                };
                self.counts.failed += error.len;
                self.show(part.tag, start, Content::Failed(&error));
                at = end;
            }
            self.show_data(part.tag, at..part.range.end, offset, bytes);
        }
    }

    fn show_data(&mut self, tag: u64, range: std::ops::Range<u64>, offset: u64, bytes: &[u8]) {
        if range.is_empty() {
            return;
        }
        let inside = (range.start - offset) as usize..(range.end - offset) as usize;
        self.counts.data += range.end - range.start;
        self.show(tag, range.start, Content::Data(&bytes[inside]));
    }

    fn show(&mut self, tag: u64, offset: u64, content: Content<'_>) {
        if self.stop.load(Ordering::Relaxed) {
            return;
        }
        let piece = Piece {
            tag,
            offset,
            content,
        };
        if (self.each)(piece).is_break() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}
