//! Bytes in memory over a source: what replaying a journal would write, seen by a reader without writing it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{OpenError, ReadError, within};
use crate::queue::Queue;
use crate::source::{BlockSource, Geometry};
use crate::sync_queue::SyncQueue;

/// Bytes that are kept together.
const PAGE: u64 = 4096;

/// A source and what was written over it. The source below is only read.
#[derive(Debug)]
pub struct Overlay<S> {
    inner: S,
    /// By number: whole pages, the last one of the source as long as it is.
    pages: BTreeMap<u64, Box<[u8]>>,
}

impl<S: BlockSource> Overlay<S> {
    /// The source as it is.
    pub fn new(inner: S) -> Overlay<S> {
        Overlay {
            inner,
            pages: BTreeMap::new(),
        }
    }

    /// Lays bytes over those from `offset` on.
    ///
    /// # Errors
    /// The range reaches past the end, or what is around it in its pages cannot be read.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), ReadError> {
        within(
            self.inner.name(),
            self.inner.len(),
            offset,
            bytes.len() as u64,
        )?;
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let (page, from) = (at / PAGE, (at % PAGE) as usize);
            let size = PAGE.min(self.inner.len() - page * PAGE) as usize;
            let count = (size - from).min(bytes.len() - done);
            let new = &bytes[done..done + count];
            if let Some(old) = self.pages.get_mut(&page) {
                old[from..from + count].copy_from_slice(new);
            } else {
                let mut fresh = vec![0; size];
                if count < size {
                    self.inner.read_at(&mut fresh, page * PAGE)?;
                }
                fresh[from..from + count].copy_from_slice(new);
                self.pages.insert(page, fresh.into_boxed_slice());
            }
            done += count;
        }
        Ok(())
    }

    /// Bytes in memory.
    pub fn held(&self) -> u64 {
        self.pages.len() as u64 * PAGE
    }
}

impl<S: BlockSource> BlockSource for Overlay<S> {
    fn name(&self) -> &Arc<str> {
        self.inner.name()
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn geometry(&self) -> Geometry {
        self.inner.geometry()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        self.inner.read_at(buf, offset)?;
        let end = offset + buf.len() as u64;
        for (page, bytes) in self.pages.range(offset / PAGE..end.div_ceil(PAGE)) {
            let start = page * PAGE;
            let (from, to) = (start.max(offset), (start + bytes.len() as u64).min(end));
            if from < to {
                buf[(from - offset) as usize..(to - offset) as usize]
                    .copy_from_slice(&bytes[(from - start) as usize..(to - start) as usize]);
            }
        }
        Ok(())
    }

    fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        let below = self.inner.next_data(offset);
        let over = self.pages.range(offset / PAGE..).next();
        let over = over.map(|(page, bytes)| {
            let start = page * PAGE;
            start.max(offset)..start + bytes.len() as u64
        });
        match (below, over.filter(|range| !range.is_empty())) {
            (Some(below), Some(over)) if over.start < below.start => Some(over),
            (None, over) => over,
            (below, _) => below,
        }
    }

    fn will_need(&self, offset: u64, len: u64) {
        self.inner.will_need(offset, len);
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError> {
        Ok(Box::new(SyncQueue::new(self, depth)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ram::Ram;

    proptest! {
        #[test]
        fn it_reads_as_if_it_had_been_written(
            writes in prop::collection::vec((0_usize..12_000, 0_usize..6000, any::<u8>()), 0..8),
            read in (0_usize..12_300, 0_usize..9000),
        ) {
            let mut plain: Vec<u8> = (0..12_300_u32).map(|at| (at % 251) as u8).collect();
            let below = plain.clone();
            let mut overlay = Overlay::new(Ram::new(&below));
            for (at, len, byte) in writes {
                let len = len.min(plain.len() - at);
                plain[at..at + len].fill(byte);
                overlay.write(at as u64, &vec![byte; len]).unwrap();
            }
            let (at, len) = (read.0, read.1.min(plain.len() - read.0));
            let mut found = vec![9; len];
            overlay.read_at(&mut found, at as u64).unwrap();
            prop_assert_eq!(&found[..], &plain[at..at + len]);
        }
    }

    #[test]
    fn what_is_written_into_a_hole_is_data() {
        let mut overlay = Overlay::new(Ram::sparse(1 << 20));
        assert_eq!(overlay.next_data(0), None);
        overlay.write(70_000, &[1; 10]).unwrap();
        assert_eq!(overlay.next_data(0), Some(69_632..73_728));
        assert_eq!(overlay.next_data(70_005), Some(70_005..73_728));
        assert_eq!(overlay.next_data(73_728), None);
        assert_eq!(overlay.held(), 4096);
        assert!(overlay.write((1 << 20) - 5, &[0; 6]).is_err());
    }
}
