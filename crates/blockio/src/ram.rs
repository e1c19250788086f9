//! Bytes in memory, mostly hole if need be.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{OpenError, ReadError, within};
use crate::layer::Faulty;
use crate::queue::Queue;
use crate::source::{BlockSource, Geometry};
use crate::sync_queue::SyncQueue;

/// Bytes of one piece; a hole is made of whole ones.
const CHUNK: u64 = 64 << 10;

/// A source in memory: for tests of checkers, which can say "block 812 fails" without a device, and
/// for measuring what layers cost.
///
/// Only what was [`put`](Ram::put) takes memory, in pieces of 64 KiB; the rest is hole. So a
/// filesystem of 72 TB whose metadata are a few megabytes fits.
#[derive(Debug)]
pub struct Ram {
    name: Arc<str>,
    len: u64,
    chunks: BTreeMap<u64, Box<[u8]>>,
}

impl Ram {
    /// `len` bytes of hole.
    pub fn sparse(len: u64) -> Ram {
        Ram {
            name: "memory".into(),
            len,
            chunks: BTreeMap::new(),
        }
    }

    /// What `bytes` says, without holes.
    pub fn new(bytes: &[u8]) -> Ram {
        let mut ram = Ram::sparse(bytes.len() as u64);
        ram.put(0, bytes);
        ram
    }

    /// Sets bytes from `offset` on; what reaches past the end is dropped.
    pub fn put(&mut self, offset: u64, bytes: &[u8]) {
        let here = self.len.saturating_sub(offset).min(bytes.len() as u64) as usize;
        let mut rest = &bytes[..here];
        let mut at = offset;
        while !rest.is_empty() {
            let inside = (at % CHUNK) as usize;
            let n = rest.len().min(CHUNK as usize - inside);
            let chunk = self
                .chunks
                .entry(at / CHUNK)
                .or_insert_with(|| vec![0; CHUNK as usize].into());
            chunk[inside..inside + n].copy_from_slice(&rest[..n]);
            rest = &rest[n..];
            at += n as u64;
        }
    }

    /// The same with every read failing that touches one of `ranges`, with this errno.
    pub fn failing(self, ranges: impl IntoIterator<Item = Range<u64>>, errno: i32) -> Faulty<Ram> {
        Faulty::new(self, ranges, errno)
    }
}

impl BlockSource for Ram {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn geometry(&self) -> Geometry {
        Geometry::BYTES
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        within(&self.name, self.len, offset, buf.len() as u64)?;
        let mut at = offset;
        let mut rest = buf;
        while !rest.is_empty() {
            let inside = (at % CHUNK) as usize;
            let n = rest.len().min(CHUNK as usize - inside);
            let (now, later) = rest.split_at_mut(n);
            match self.chunks.get(&(at / CHUNK)) {
                Some(chunk) => now.copy_from_slice(&chunk[inside..inside + n]),
                None => now.fill(0),
            }
            rest = later;
            at += n as u64;
        }
        Ok(())
    }

    fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        let mut chunks = self.chunks.range(offset / CHUNK..).map(|(i, _)| *i);
        let first = chunks.next()?;
        let beyond = chunks
            .zip(first + 1..)
            .take_while(|(there, next)| there == next)
            .count() as u64;
        let start = (first * CHUNK).max(offset);
        let end = (first + 1 + beyond).saturating_mul(CHUNK).min(self.len);
        (start < end).then_some(start..end)
    }

    fn will_need(&self, _offset: u64, _len: u64) {}

    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError> {
        Ok(Box::new(SyncQueue::new(self, depth)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_what_was_not_put() {
        let mut ram = Ram::sparse(72 << 40);
        assert_eq!(ram.next_data(0), None);
        ram.put(5 * CHUNK + 10, b"abc");
        ram.put(7 * CHUNK - 1, b"xy");
        ram.put((72 << 40) - 1, b"end and more");
        assert_eq!(ram.next_data(0), Some(5 * CHUNK..8 * CHUNK));
        assert_eq!(ram.next_data(6 * CHUNK + 3), Some(6 * CHUNK + 3..8 * CHUNK));
        assert_eq!(ram.next_data(8 * CHUNK), Some((72 << 40) - CHUNK..72 << 40));
        assert_eq!(ram.next_data(72 << 40), None);
        let mut buf = [9; 5];
        ram.read_at(&mut buf, 5 * CHUNK + 9).unwrap();
        assert_eq!(&buf, b"\0abc\0");
        ram.read_at(&mut buf, 7 * CHUNK - 2).unwrap();
        assert_eq!(&buf, b"\0xy\0\0");
        ram.read_at(&mut buf[..1], (72 << 40) - 1).unwrap();
        assert_eq!(buf[0], b'e');
    }
}
