//! Runs of a source, each at another place: what a dump of metadata holds, read as the device that it was made of.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{OpenError, ReadError, within};
use crate::queue::Queue;
use crate::source::{BlockSource, Geometry};
use crate::sync_queue::SyncQueue;

/// A run: where it is read, and where it is in the source below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// First byte for readers.
    pub at: u64,
    /// First byte in the source below.
    pub from: u64,
    /// Bytes.
    pub len: u64,
}

/// A source made of runs of another. What no run has is a hole.
#[derive(Debug)]
pub struct Scattered<S> {
    inner: S,
    len: u64,
    runs: Vec<Run>,
}

impl<S: BlockSource> Scattered<S> {
    /// A source of `len` bytes made of these runs of `inner`; `None` where one reaches past the end of `inner`. Of runs that overlap the
    /// last one in the list counts, as if they had been written one after the other; neighbours are joined.
    pub fn new(inner: S, len: u64, list: impl IntoIterator<Item = Run>) -> Option<Scattered<S>> {
        let mut runs: Vec<Run> = Vec::new();
        let mut sorted = true;
        for run in list.into_iter().filter(|run| run.len > 0) {
            if run.from.checked_add(run.len)? > inner.len() || run.at.checked_add(run.len)? > len {
                return None;
            }
            match runs.last_mut() {
                Some(last) if last.at + last.len == run.at && last.from + last.len == run.from => {
                    last.len += run.len;
                }
                last => {
                    sorted &= last.is_none_or(|last| last.at + last.len <= run.at);
                    runs.push(run);
                }
            }
        }
        if !sorted {
            runs = laid(runs);
        }
        Some(Scattered { inner, len, runs })
    }

    /// The first run that ends after `offset`.
    fn first(&self, offset: u64) -> usize {
        self.runs.partition_point(|run| run.at + run.len <= offset)
    }
}

/// Runs without overlaps, ascending: later ones cover earlier ones.
fn laid(runs: Vec<Run>) -> Vec<Run> {
    let mut placed: std::collections::BTreeMap<u64, Run> = std::collections::BTreeMap::new();
    for run in runs {
        let end = run.at + run.len;
        let over: Vec<Run> = placed
            .range(..end)
            .rev()
            .map(|(_, old)| *old)
            .take_while(|old| old.at + old.len > run.at)
            .collect();
        for old in over {
            placed.remove(&old.at);
            if old.at < run.at {
                let len = run.at - old.at;
                placed.insert(old.at, Run { len, ..old });
            }
            let cut = end.saturating_sub(old.at);
            if old.len > cut {
                let rest = Run {
                    at: old.at + cut,
                    from: old.from + cut,
                    len: old.len - cut,
                };
                placed.insert(rest.at, rest);
            }
        }
        placed.insert(run.at, run);
    }
    placed.into_values().collect()
}

impl<S: BlockSource> BlockSource for Scattered<S> {
    fn name(&self) -> &Arc<str> {
        self.inner.name()
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn geometry(&self) -> Geometry {
        Geometry {
            offset_align: 1,
            ..self.inner.geometry()
        }
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        within(self.name(), self.len, offset, buf.len() as u64)?;
        let end = offset + buf.len() as u64;
        let mut at = offset;
        for run in &self.runs[self.first(offset)..] {
            if at >= end || run.at >= end {
                break;
            }
            let start = run.at.max(at);
            buf[(at - offset) as usize..(start - offset) as usize].fill(0);
            let stop = (run.at + run.len).min(end);
            let part = &mut buf[(start - offset) as usize..(stop - offset) as usize];
            self.inner.read_at(part, run.from + (start - run.at))?;
            at = stop;
        }
        buf[(at - offset) as usize..].fill(0);
        Ok(())
    }

    fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        let run = self.runs.get(self.first(offset))?;
        Some(run.at.max(offset)..run.at + run.len)
    }

    fn will_need(&self, offset: u64, len: u64) {
        let end = offset.saturating_add(len);
        for run in &self.runs[self.first(offset)..] {
            if run.at >= end {
                break;
            }
            let (start, stop) = (run.at.max(offset), (run.at + run.len).min(end));
            self.inner
                .will_need(run.from + (start - run.at), stop - start);
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
        fn it_reads_as_if_its_runs_were_written_one_after_the_other(
            list in prop::collection::vec((0_u64..200, 0_u64..100, 0_u64..40), 0..12),
            read in (0_usize..240, 0_usize..60),
        ) {
            let bytes: Vec<u8> = (1..=140).collect();
            let mut plain = [0_u8; 240];
            let mut runs = Vec::new();
            for (at, from, len) in list {
                let (to, source) = (at as usize..(at + len) as usize, from as usize..(from + len) as usize);
                plain[to].copy_from_slice(&bytes[source]);
                runs.push(Run { at, from, len });
            }
            let scattered = Scattered::new(Ram::new(&bytes), 240, runs).unwrap();
            let (at, n) = (read.0, read.1.min(240 - read.0));
            let mut found = vec![9; n];
            scattered.read_at(&mut found, at as u64).unwrap();
            prop_assert_eq!(&found[..], &plain[at..at + n]);
            match scattered.next_data(at as u64) {
                Some(data) => {
                    prop_assert!(plain[at..data.start as usize].iter().all(|byte| *byte == 0));
                    prop_assert!(plain[data.start as usize..data.end as usize].iter().all(|byte| *byte != 0));
                }
                None => prop_assert!(plain[at..].iter().all(|byte| *byte == 0)),
            }
        }
    }

    #[test]
    fn runs_past_an_end_are_refused() {
        let run = |at, from, len| [Run { at, from, len }];
        assert!(Scattered::new(Ram::new(&[0; 10]), 20, run(0, 5, 6)).is_none());
        assert!(Scattered::new(Ram::new(&[0; 10]), 20, run(15, 0, 6)).is_none());
        assert!(Scattered::new(Ram::new(&[0; 10]), 20, run(u64::MAX, 0, 6)).is_none());
    }
}
