//! Bios, merged anew.

use std::collections::BTreeMap;

use blktrace::Action;
use blktrace::record::{Category, Head};
use device::Op;
use rustc_hash::FxHashMap;

use super::{Flushes, LARGEST, Reader, SECTOR, Sent, op_of};
use crate::error::Error;

/// The last bio of a process, to which the next may be joined.
#[derive(Clone, Copy)]
struct Last {
    sent: Sent,
    op: Op,
    end: u64,
    /// Bytes of its request.
    len: u64,
}

#[derive(Default)]
pub(super) struct Bios {
    last: FxHashMap<u32, Last>,
    /// Bios in flight, by device and first sector.
    flying: BTreeMap<(u32, u64), Vec<Sent>>,
    /// Bios in flight of requests, by number.
    parts: FxHashMap<u32, u32>,
    flushes: Flushes,
}

impl Bios {
    pub(super) fn event(
        &mut self,
        reader: &mut Reader,
        at: u64,
        action: Action,
        head: &Head,
    ) -> Result<(), Error> {
        match action {
            Action::Queue => self.queue(reader, at, head)?,
            Action::Complete => self.complete(reader, at, head),
            _ => {}
        }
        Ok(())
    }

    fn queue(&mut self, reader: &mut Reader, at: u64, head: &Head) -> Result<(), Error> {
        let op = op_of(head);
        if head.has(Category::Flush) || op == Op::Flush {
            let sent = reader.push(at, head.pid, Op::Flush, head)?;
            self.flushes.sent(head.device, sent);
            self.last.remove(&head.pid);
        }
        if op == Op::Flush {
            return Ok(());
        }
        let (begin, len) = (head.sector.saturating_mul(SECTOR), u64::from(head.bytes));
        let joins = |last: &&Last| last.op == op && last.end == begin && last.len + len <= LARGEST;
        let (sent, before) = match self.last.get(&head.pid).filter(joins) {
            Some(last) => {
                let fua = head.has(Category::Fua);
                reader.linker.extend(last.sent.number, len, fua)?;
                (last.sent, last.len)
            }
            None => (reader.push(at, head.pid, op, head)?, 0),
        };
        let last = Last {
            sent,
            op,
            end: begin.saturating_add(len),
            len: before + len,
        };
        self.last.insert(head.pid, last);
        *self.parts.entry(sent.number).or_default() += 1;
        let key = (head.device, head.sector);
        self.flying.entry(key).or_default().push(sent);
        Ok(())
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
        let mut before = None;
        for key in done {
            let Some(all) = self.flying.get_mut(&key) else {
                continue;
            };
            // Of several at one address the completions do not tell which is done: that of the request whose bio before it is, or the newest.
            let of_same = all.iter().position(|sent| Some(*sent) == before);
            let sent = all.remove(of_same.unwrap_or(all.len() - 1));
            before = Some(sent);
            if all.is_empty() {
                self.flying.remove(&key);
            }
            self.leave(reader, sent, at);
            // What comes after a completion is another request.
            let is_last = |last: &Last| last.sent == sent;
            if self.last.get(&sent.process).is_some_and(is_last) {
                self.last.remove(&sent.process);
            }
        }
    }

    /// A bio of a request is done. With the last of them the request is.
    fn leave(&mut self, reader: &mut Reader, sent: Sent, at: u64) {
        let Some(flying) = self.parts.get_mut(&sent.number) else {
            return;
        };
        *flying = flying.saturating_sub(1);
        if *flying == 0 {
            reader.complete(sent, at);
            self.parts.remove(&sent.number);
        }
    }
}
