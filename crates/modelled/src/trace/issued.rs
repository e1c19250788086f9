//! Requests as they were given to the driver.

use blktrace::Action;
use blktrace::record::{Category, Head};
use device::Op;
use rustc_hash::FxHashMap;

use super::{ByAddress, Flushes, Flying, Reader, op_of};
use crate::error::Error;

/// Queued sectors whose process is remembered; beyond that the oldest half is forgotten.
const QUEUED: usize = 1 << 16;

#[derive(Default)]
pub(super) struct Issued {
    /// Who queued the first sector of a request: D may come from a kernel thread.
    queued: FxHashMap<(u32, u64), (u32, u64)>,
    count: u64,
    /// Who queued the first flush of a device since the last that was issued: the kernel issues one for all that wait, from a
    /// thread of its own.
    flushing: FxHashMap<u32, u32>,
    flying: ByAddress,
    flushes: Flushes,
}

impl Issued {
    pub(super) fn event(
        &mut self,
        reader: &mut Reader,
        at: u64,
        action: Action,
        head: &Head,
    ) -> Result<(), Error> {
        match action {
            Action::Queue => self.queue(head),
            Action::Issue => self.issue(reader, at, head)?,
            Action::Requeue => self.requeue(head),
            Action::Complete => self.complete(reader, at, head),
            _ => {}
        }
        Ok(())
    }

    fn queue(&mut self, head: &Head) {
        self.count += 1;
        if self.queued.len() >= QUEUED {
            let old = self.count.saturating_sub(QUEUED as u64 / 2);
            self.queued.retain(|_, (_, number)| *number > old);
        }
        let is_flush = op_of(head) == Op::Flush;
        if is_flush || head.has(Category::Flush) {
            self.flushing.entry(head.device).or_insert(head.pid);
        }
        if is_flush {
            return;
        }
        let key = (head.device, head.sector);
        self.queued.insert(key, (head.pid, self.count));
    }

    fn issue(&mut self, reader: &mut Reader, at: u64, head: &Head) -> Result<(), Error> {
        let op = op_of(head);
        let key = (head.device, head.sector);
        if op == Op::Flush {
            let owner = self.flushing.remove(&head.device).unwrap_or(head.pid);
            let sent = reader.push(at, owner, op, head)?;
            self.flushes.sent(head.device, sent);
            return Ok(());
        }
        // Given again after a requeue: one request.
        let flying = self.flying.get_mut(&key).into_iter().flatten();
        let mut again = flying.filter(|flying| flying.left == u64::from(head.bytes));
        if let Some(flying) = again.find(|flying| flying.is_back) {
            flying.is_back = false;
            return Ok(());
        }
        let owner = self.queued.remove(&key).map_or(head.pid, |(pid, _)| pid);
        let sent = reader.push(at, owner, op, head)?;
        let left = u64::from(head.bytes);
        let flying = Flying {
            sent,
            left,
            is_back: false,
        };
        self.flying.entry(key).or_default().push(flying);
        Ok(())
    }

    fn requeue(&mut self, head: &Head) {
        let flying = self.flying.get_mut(&(head.device, head.sector));
        let mut flying = flying.into_iter().flatten();
        let bytes = u64::from(head.bytes);
        if let Some(flying) = flying.find(|flying| !flying.is_back && flying.left == bytes) {
            flying.is_back = true;
        }
    }

    fn complete(&mut self, reader: &mut Reader, at: u64, head: &Head) {
        if op_of(head) == Op::Flush {
            self.flushes.done(reader, head.device, at);
            return;
        }
        let key = (head.device, head.sector);
        let Some(all) = self.flying.get_mut(&key) else {
            return;
        };
        // Of several alike the completions do not tell which is done: the newest, so that one whose completion was lost takes no other's.
        let done = u64::from(head.bytes);
        let newest = |fits: fn(u64, u64) -> bool| {
            let is_it = |flying: &Flying| !flying.is_back && fits(flying.left, done);
            all.iter().rposition(is_it)
        };
        let found = newest(|left, done| left == done).or_else(|| newest(|left, done| left > done));
        let flying = all.remove(found.unwrap_or(all.len() - 1));
        if all.is_empty() {
            self.flying.remove(&key);
        }
        let left = flying.left.saturating_sub(u64::from(head.bytes));
        if left == 0 {
            reader.complete(flying.sent, at);
        } else {
            // A part is done; the rest goes on after it.
            let next = (head.device, head.end());
            let rest = Flying { left, ..flying };
            self.flying.entry(next).or_default().push(rest);
        }
    }
}
