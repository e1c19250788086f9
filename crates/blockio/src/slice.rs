//! A sub-range of a source, as a source.
//!
//! A reader of a partition, or of one slice of a disk, wants it to begin at byte 0. Errors keep the
//! offsets of the whole source: the kernel log and `dd skip=` use these.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{OpenError, ReadError, within};
use crate::queue::Queue;
use crate::source::{BlockSource, Geometry};
use crate::sync_queue::SyncQueue;

/// A sub-range of a source, with offsets from its own start.
#[derive(Debug)]
pub struct Slice<S> {
    inner: S,
    name: Arc<str>,
    start: u64,
    len: u64,
}

impl<S: BlockSource> Slice<S> {
    /// These bytes of `inner`; `None` if they reach past its end.
    pub fn of(inner: S, range: Range<u64>) -> Option<Slice<S>> {
        if range.start > range.end || range.end > inner.len() {
            return None;
        }
        let name = format!("{} from byte {}", inner.name(), range.start).into();
        Some(Slice {
            name,
            start: range.start,
            len: range.end - range.start,
            inner,
        })
    }
}

impl<S: BlockSource> BlockSource for Slice<S> {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn geometry(&self) -> Geometry {
        let inner = self.inner.geometry();
        // Alignment here is alignment there only if the start is aligned.
        if self.start.is_multiple_of(inner.offset_align.into()) {
            return inner;
        }
        Geometry {
            offset_align: 1,
            ..inner
        }
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        within(&self.name, self.len, offset, buf.len() as u64)?;
        self.inner.read_at(buf, self.start + offset)
    }

    fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        let from = self.start.checked_add(offset)?;
        let found = self.inner.next_data(from)?;
        let start = found.start.checked_sub(self.start)?;
        let end = (found.end - self.start).min(self.len);
        (start < end).then_some(start..end)
    }

    fn will_need(&self, offset: u64, len: u64) {
        let len = len.min(self.len.saturating_sub(offset));
        if len > 0 {
            self.inner.will_need(self.start + offset, len);
        }
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
        fn it_reads_as_the_bytes_that_it_is_of(
            bytes in prop::collection::vec(any::<u8>(), 1..300),
            cut in (0_usize..300, 0_usize..300),
            read in (0_usize..300, 0_usize..300),
        ) {
            let (start, end) = (cut.0.min(cut.1), cut.0.max(cut.1));
            let slice = Slice::of(Ram::new(&bytes), start as u64..end as u64);
            prop_assert_eq!(slice.is_some(), end <= bytes.len());
            let Some(slice) = slice else { return Ok(()) };
            let part = &bytes[start..end];
            prop_assert_eq!(slice.len(), part.len() as u64);
            let (at, n) = read;
            let mut found = vec![0; n];
            match part.get(at..at + n) {
                Some(there) => {
                    slice.read_at(&mut found, at as u64).unwrap();
                    prop_assert_eq!(found, there);
                }
                None => prop_assert!(slice.read_at(&mut found, at as u64).is_err()),
            }
        }
    }

    #[test]
    fn its_holes_are_those_of_the_whole() {
        let mut ram = Ram::sparse(64 << 20);
        ram.put(10 << 20, &[1; 4096]);
        ram.put(40 << 20, &[1; 4096]);
        let slice = Slice::of(&ram, 8 << 20..32 << 20).unwrap();
        let data = slice.next_data(0).unwrap();
        assert!(
            data.start <= 2 << 20 && data.end > 2 << 20,
            "{data:?}: data at 10 MiB of the whole is at 2 MiB here"
        );
        assert_eq!(slice.next_data(16 << 20), None);
        assert_eq!(slice.next_data(u64::MAX), None);
        assert!(Slice::of(&ram, 1..(64 << 20) + 1).is_none());
    }
}
