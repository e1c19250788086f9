//! Bios, merged anew.

use std::collections::HashMap;

use blktrace::Action;
use blktrace::record::{Category, Head};
use device::Op;

use super::{ByAddress, Flushes, Flying, Reader, SECTOR, op_of};

/// Largest request that bios are merged into: the kernel's usual `max_sectors_kb`.
const LARGEST: u64 = 1280 << 10;

/// The last bio of a process, to which the next may be joined.
#[derive(Clone, Copy)]
struct Last {
    index: usize,
    op: Op,
    end: u64,
}

#[derive(Default)]
pub(super) struct Bios {
    last: HashMap<u32, Last>,
    flying: ByAddress,
    flushes: Flushes,
}

impl Bios {
    pub(super) fn event(&mut self, reader: &mut Reader, at: u64, action: Action, head: &Head) {
        match action {
            Action::Queue => self.queue(reader, at, head),
            Action::Complete => self.complete(reader, at, head),
            _ => {}
        }
    }

    fn queue(&mut self, reader: &mut Reader, at: u64, head: &Head) {
        let op = op_of(head);
        if head.has(Category::Flush) || op == Op::Flush {
            let index = reader.push(at, head.pid, Op::Flush, head);
            self.flushes.sent(head.device, index);
            self.last.remove(&head.pid);
        }
        if op == Op::Flush {
            return;
        }
        let (begin, len) = (head.sector.saturating_mul(SECTOR), u64::from(head.bytes));
        let joins = |last: &&Last| last.op == op && last.end == begin;
        let index = match self.last.get(&head.pid).filter(joins) {
            Some(last) if reader.requests[last.index].len + len <= LARGEST => {
                let request = &mut reader.requests[last.index];
                request.len += len;
                request.fua |= head.has(Category::Fua);
                last.index
            }
            _ => reader.push(at, head.pid, op, head),
        };
        let end = begin.saturating_add(len);
        self.last.insert(head.pid, Last { index, op, end });
        let key = (head.device, head.sector);
        self.flying.insert(key, Flying { index, left: len });
    }

    fn complete(&mut self, reader: &mut Reader, at: u64, head: &Head) {
        // A write with a flush before it was two requests, and ends with the write.
        if head.has(Category::Flush) || op_of(head) == Op::Flush {
            self.flushes.done(reader, head.device, at);
        }
        let (from, to) = ((head.device, head.sector), (head.device, head.end()));
        if from >= to {
            return;
        }
        let done: Vec<(u32, u64)> = self.flying.range(from..to).map(|(key, _)| *key).collect();
        for key in done {
            let Some(flying) = self.flying.remove(&key) else {
                continue;
            };
            reader.complete(flying.index, at);
            // What comes after a completion is another request.
            let owner = reader.requests[flying.index].process;
            let is_last = |last: &Last| last.index == flying.index;
            if self.last.get(&owner).is_some_and(is_last) {
                self.last.remove(&owner);
            }
        }
    }
}
