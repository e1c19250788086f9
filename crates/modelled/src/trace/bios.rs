//! Bios, merged anew.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

use blktrace::Action;
use blktrace::record::{Category, Head};
use device::Op;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

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

/// What is in flight of a bio. A kernel splits a bio that is larger than the device takes, and each part has a completion of its own.
#[derive(Clone, Copy)]
struct Piece {
    sent: Sent,
    /// Its end, in sectors.
    end: u64,
}

#[derive(Default)]
pub(super) struct Bios {
    last: FxHashMap<u32, Last>,
    /// Pieces in flight, by device and first sector.
    flying: BTreeMap<(u32, u64), SmallVec<[Piece; 1]>>,
    /// Sectors of the longest piece since none was in flight: how far before a sector one may begin that has it.
    longest: u64,
    /// Sectors in flight of requests, by number.
    left: FxHashMap<u32, u64>,
    /// Processes whose bio was just split. Kernels before 4.13 queue its rest once more.
    split: FxHashSet<u32>,
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
            Action::Split => {
                self.split.insert(head.pid);
            }
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
        // Of a damaged trace: a bio has whole sectors, and ends where there are addresses.
        if head.end() <= head.sector {
            return Ok(());
        }
        if self.split.remove(&head.pid) && self.is_rest(head) {
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
        let end = head.end();
        let sectors = end.saturating_sub(head.sector);
        *self.left.entry(sent.number).or_default() += sectors;
        if self.flying.is_empty() {
            self.longest = 0;
        }
        self.fly(head.device, head.sector, Piece { sent, end });
        Ok(())
    }

    fn fly(&mut self, device: u32, begin: u64, piece: Piece) {
        self.longest = self.longest.max(piece.end.saturating_sub(begin));
        self.flying.entry((device, begin)).or_default().push(piece);
    }

    /// Pieces that have this sector, with where they begin.
    fn having(&self, device: u32, sector: u64) -> impl Iterator<Item = (u64, Piece)> {
        let from = (device, sector.saturating_sub(self.longest));
        let near = self.flying.range(from..=(device, sector));
        near.flat_map(|(key, all)| all.iter().map(|piece| (key.1, *piece)))
            .filter(move |(_, piece)| piece.end > sector)
    }

    /// Whether it is the end of a bio of the same process that is in flight.
    fn is_rest(&self, head: &Head) -> bool {
        let end = head.end();
        self.having(head.device, head.sector)
            .any(|(_, piece)| piece.sent.process == head.pid && piece.end == end)
    }

    fn complete(&mut self, reader: &mut Reader, at: u64, head: &Head) {
        // A write with a flush before it was two requests, and ends with the write.
        if head.has(Category::Flush) || op_of(head) == Op::Flush {
            self.flushes.done(reader, head.device, at);
        }
        let (mut from, to) = (head.sector, head.end());
        let mut before = None;
        while from < to {
            let Some((begin, piece)) = self.of_completion(head.device, from, to, before) else {
                let mut later = self
                    .flying
                    .range((head.device, from + 1)..(head.device, to));
                let Some((key, _)) = later.next() else {
                    break;
                };
                from = key.1;
                continue;
            };
            self.take(head.device, begin, piece, from..to);
            before = Some(piece.sent);
            self.leave(reader, piece.sent, piece.end.min(to) - from, at);
            from = piece.end;
        }
    }

    /// Which piece that has the sector `from` is done by a completion up to `to`. Of several the completions do not tell: that of the
    /// request whose piece before it is done, one that is done as a whole, or the newest.
    fn of_completion(
        &self,
        device: u32,
        from: u64,
        to: u64,
        before: Option<Sent>,
    ) -> Option<(u64, Piece)> {
        // Most completions are of a bio as a whole, alone at its place.
        if let Some([piece]) = self.flying.get(&(device, from)).map(SmallVec::as_slice)
            && piece.end <= to
            && before.is_none_or(|before| before == piece.sent)
        {
            return Some((from, *piece));
        }
        self.having(device, from).max_by_key(|(begin, piece)| {
            let is_whole = *begin == from && piece.end <= to;
            (Some(piece.sent) == before, is_whole, piece.sent.number)
        })
    }

    /// Takes what is done from a piece; what is before and after it stays in flight.
    fn take(&mut self, device: u32, begin: u64, piece: Piece, done: Range<u64>) {
        if let Entry::Occupied(mut held) = self.flying.entry((device, begin)) {
            let is_it = |other: &Piece| other.sent == piece.sent && other.end == piece.end;
            if let Some(place) = held.get().iter().position(is_it) {
                held.get_mut().remove(place);
            }
            if held.get().is_empty() {
                held.remove();
            }
        }
        if begin < done.start {
            let end = done.start;
            self.fly(device, begin, Piece { end, ..piece });
        }
        if piece.end > done.end {
            self.fly(device, done.end, piece);
        }
    }

    /// Sectors of a request are done. With the last of them the request is.
    fn leave(&mut self, reader: &mut Reader, sent: Sent, sectors: u64, at: u64) {
        // What comes after a completion is another request.
        let is_last = |last: &Last| last.sent == sent;
        if self.last.get(&sent.process).is_some_and(is_last) {
            self.last.remove(&sent.process);
        }
        let Some(left) = self.left.get_mut(&sent.number) else {
            return;
        };
        *left = left.saturating_sub(sectors);
        if *left == 0 {
            reader.complete(sent, at);
            self.left.remove(&sent.number);
        }
    }
}
