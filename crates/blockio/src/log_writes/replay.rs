//! A write log replayed up to an entry.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::format::{Entry, Flags, Log};
use crate::error::{OpenError, ReadError, within};
use crate::queue::Queue;
use crate::source::{BlockSource, Geometry};
use crate::sync_queue::SyncQueue;

/// A range of the base that the log has overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// One past its last byte.
    end: u64,
    /// Offset of its bytes in the log; `None`: zeros.
    data: Option<u64>,
}

/// A base with the first entries of a log applied. It goes forward only ([`Replay::advance`]): each entry is
/// applied once, so that all moments of a log together cost one pass of it.
pub struct Replay<'a, B, L> {
    base: B,
    log: &'a Log<L>,
    name: Arc<str>,
    entries: usize,
    /// By first byte; they do not overlap.
    pieces: BTreeMap<u64, Piece>,
}

impl<'a, B: BlockSource, L: BlockSource> Replay<'a, B, L> {
    /// The device before the first entry: the base as it is. A device that was blank is
    /// [`crate::Ram::sparse`].
    pub fn new(base: B, log: &'a Log<L>) -> Replay<'a, B, L> {
        let name = format!("{} as of its log", base.name()).into();
        Replay {
            base,
            log,
            name,
            entries: 0,
            pieces: BTreeMap::new(),
        }
    }

    /// Applies the log's entries until `entries` of them are applied. It never goes back, and stops at the
    /// end of the log.
    pub fn advance(&mut self, entries: usize) {
        let until = entries.min(self.log.entries().len());
        let log = self.log;
        for entry in log.entries().get(self.entries..until).unwrap_or_default() {
            self.lay(entry);
        }
        self.entries = self.entries.max(until);
    }

    /// Entries applied so far.
    pub fn entries(&self) -> usize {
        self.entries
    }

    fn lay(&mut self, entry: &Entry) {
        if entry.len == 0 || entry.flags.has(Flags::MARK) {
            return;
        }
        let (start, end) = (entry.offset, entry.offset + entry.len);
        self.cut(start);
        self.cut(end);
        let covered: Vec<u64> = self.pieces.range(start..end).map(|(at, _)| *at).collect();
        for at in covered {
            self.pieces.remove(&at);
        }
        let data = entry.has_data().then_some(entry.data);
        self.pieces.insert(start, Piece { end, data });
    }

    /// Makes two of the piece that goes on across byte `at`.
    fn cut(&mut self, at: u64) {
        let Some((&start, piece)) = self.pieces.range_mut(..at).next_back() else {
            return;
        };
        if piece.end <= at {
            return;
        }
        let rest = Piece {
            end: piece.end,
            data: piece.data.map(|data| data + (at - start)),
        };
        piece.end = at;
        self.pieces.insert(at, rest);
    }

    /// The piece that holds byte `at`, or the next one after it.
    fn piece_at(&self, at: u64) -> Option<(u64, Piece)> {
        let before = self.pieces.range(..=at).next_back();
        before
            .filter(|(_, piece)| piece.end > at)
            .or_else(|| self.pieces.range(at..).next())
            .map(|(start, piece)| (*start, *piece))
    }

    /// The next piece with bytes in the log at or after `offset`, from there on.
    fn logged_from(&self, offset: u64) -> Option<Range<u64>> {
        let (first, _) = self.piece_at(offset)?;
        let logged = self.pieces.range(first..);
        logged
            .filter(|(_, piece)| piece.data.is_some())
            .map(|(start, piece)| (*start).max(offset)..piece.end.min(self.len()))
            .next()
            .filter(|range| !range.is_empty())
    }
}

impl<B: BlockSource, L: BlockSource> BlockSource for Replay<'_, B, L> {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn len(&self) -> u64 {
        self.base.len()
    }

    fn geometry(&self) -> Geometry {
        let sector = self.log.sector();
        Geometry {
            logical_block: sector,
            physical_block: sector,
            ..Geometry::BYTES
        }
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        within(&self.name, self.len(), offset, buf.len() as u64)?;
        let mut at = offset;
        let mut rest = buf;
        while !rest.is_empty() {
            let end = at + rest.len() as u64;
            let (until, piece) = match self.piece_at(at) {
                Some((start, piece)) if start <= at => (piece.end.min(end), Some((start, piece))),
                Some((start, _)) => (start.min(end), None),
                None => (end, None),
            };
            let (now, later) = rest.split_at_mut((until - at) as usize);
            match piece {
                None => self.base.read_at(now, at)?,
                Some((_, Piece { data: None, .. })) => now.fill(0),
                Some((
                    start,
                    Piece {
                        data: Some(data), ..
                    },
                )) => {
                    self.log.source().read_at(now, data + (at - start))?;
                }
            }
            rest = later;
            at = until;
        }
        Ok(())
    }

    fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        // What was discarded may still be data in the base: reported as data, it reads as zeros.
        match (self.base.next_data(offset), self.logged_from(offset)) {
            (Some(base), Some(logged)) if logged.start < base.start => Some(logged),
            (Some(base), _) => Some(base),
            (None, logged) => logged,
        }
    }

    fn will_need(&self, _offset: u64, _len: u64) {}

    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError> {
        Ok(Box::new(SyncQueue::new(self, depth)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::format::tests::Written;
    use super::*;
    use crate::ram::Ram;

    const SECTOR: u64 = 512;
    const SECTORS: u64 = 32;

    #[derive(Clone, Debug)]
    enum Op {
        Write(u64, u64, u8),
        Discard(u64, u64),
        Mark,
    }

    fn op() -> impl Strategy<Value = Op> {
        let range = || (0..SECTORS + 2, 0..6_u64);
        prop_oneof![
            6 => (range(), any::<u8>()).prop_map(|((at, n), byte)| Op::Write(at, n, byte)),
            2 => range().prop_map(|(at, n)| Op::Discard(at, n)),
            1 => Just(Op::Mark),
        ]
    }

    /// What the same entries leave on a device of bytes.
    fn apply(device: &mut [u8], op: &Op) {
        let (at, n, byte) = match *op {
            Op::Write(at, n, byte) => (at, n, byte),
            Op::Discard(at, n) => (at, n, 0),
            Op::Mark => return,
        };
        let end = ((at + n) * SECTOR) as usize;
        let (start, end) = ((at * SECTOR) as usize, end.min(device.len()));
        if start < end {
            device[start..end].fill(byte);
        }
    }

    proptest! {
        #[test]
        fn each_moment_reads_like_a_device_that_was_written(
            ops in prop::collection::vec(op(), 0..40),
            sparse in any::<bool>(),
        ) {
            let mut written = Written::new(SECTOR as usize);
            for op in &ops {
                match *op {
                    // An empty write is a flush.
                    Op::Write(at, 0, _) => written.write(at, &[], Flags::FLUSH.0),
                    Op::Write(at, n, byte) => {
                        written.write(at, &vec![byte; (n * SECTOR) as usize], 0);
                    }
                    Op::Discard(at, n) => written.discard(at, n),
                    Op::Mark => written.mark("here"),
                }
            }
            let log = Log::open(written.done()).unwrap();
            prop_assert_eq!(log.entries().len(), ops.len());
            let len = SECTORS * SECTOR;
            let mut device = vec![if sparse { 0 } else { 7 }; len as usize];
            let base = if sparse { Ram::sparse(len) } else { Ram::new(&device) };
            let mut replay = Replay::new(base, &log);
            for (number, op) in ops.iter().enumerate() {
                apply(&mut device, op);
                replay.advance(number + 1);
                let mut read = vec![0; device.len()];
                replay.read_at(&mut read, 0).unwrap();
                prop_assert!(read == device, "after entry {}", number);
                replay.read_at(&mut read[..1000], 3333).unwrap();
                prop_assert_eq!(&read[..1000], &device[3333..4333]);
                holes_are_zeros(&replay, &device);
            }
        }
    }

    fn holes_are_zeros(replay: &Replay<'_, Ram, Ram>, device: &[u8]) {
        let mut at = 0;
        while let Some(data) = replay.next_data(at) {
            assert!(data.start >= at && data.end > data.start && data.end <= replay.len());
            assert!(
                device[at as usize..data.start as usize]
                    .iter()
                    .all(|b| *b == 0)
            );
            at = data.end;
        }
        assert!(device[at as usize..].iter().all(|b| *b == 0));
    }

    #[test]
    fn it_never_goes_back_nor_past_the_end() {
        let mut written = Written::new(512);
        written.write(0, &[5; 512], 0);
        let log = Log::open(written.done()).unwrap();
        let mut replay = Replay::new(Ram::sparse(1024), &log);
        replay.advance(9);
        replay.advance(0);
        assert_eq!(replay.entries(), 1);
        let mut byte = [0];
        replay.read_at(&mut byte, 511).unwrap();
        assert_eq!(byte, [5]);
        assert!(replay.read_at(&mut byte, 1024).is_err());
    }
}
