//! The free blocks of a filesystem without files, one run after the other.

use std::ops::Range;

use crate::Error;
use crate::ext4::layout::{Layout, Taken};

/// Why no block was given.
#[derive(Debug)]
pub(in crate::ext4) enum Full {
    /// No block is free up to the end of the device.
    Blocks,
    /// No inode is free.
    Inodes,
    /// Something else went wrong.
    Other(Error),
}

impl From<Error> for Full {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// A place among the free blocks that only moves forward.
#[derive(Debug)]
pub(in crate::ext4) struct Cursor<'a> {
    layout: &'a Layout,
    taken: &'a Taken,
    unit: u32,
    free: Vec<Range<u64>>,
    /// The run in `free` after the current one.
    next: usize,
    at: u64,
    end: u64,
    cluster: u64,
    /// Blocks given, those included that were lost at the end of a cluster.
    pub(in crate::ext4) given: u64,
}

impl<'a> Cursor<'a> {
    /// A cursor at the first free block of `unit` from block `from` on, among those that are not `taken`.
    pub(in crate::ext4) fn new(layout: &'a Layout, taken: &'a Taken, unit: u32, from: u64) -> Self {
        let mut this = Self {
            layout,
            taken,
            unit,
            free: Vec::new(),
            next: 0,
            at: from,
            end: from,
            cluster: layout.geometry.cluster_blocks.into(),
            given: 0,
        };
        this.load(unit);
        this.next = this.free.partition_point(|run| run.end <= from);
        if let Some(run) = this.free.get(this.next).filter(|run| run.start <= from) {
            this.end = run.end;
            this.next += 1;
        }
        this
    }

    fn load(&mut self, unit: u32) {
        self.free = self.taken.free(self.layout.unit_blocks(unit));
        if self.cluster > 1 {
            // A cluster of which metadata has a part is no longer free. Groups begin at multiples of the cluster.
            let last = self.layout.geometry.blocks_count;
            for run in &mut self.free {
                run.start = run.start.next_multiple_of(self.cluster);
                if run.end < last {
                    run.end -= run.end % self.cluster;
                }
            }
            self.free.retain(|run| run.start < run.end);
        }
        self.unit = unit;
        self.next = 0;
    }

    /// Up to `most` blocks that follow each other.
    pub(in crate::ext4) fn take(&mut self, most: u64) -> Result<Range<u64>, Full> {
        while self.at == self.end {
            if let Some(run) = self.free.get(self.next) {
                self.next += 1;
                (self.at, self.end) = (run.start, run.end);
            } else if self.unit + 1 < self.layout.units() {
                self.load(self.unit + 1);
            } else {
                return Err(Full::Blocks);
            }
        }
        let end = self.end.min(self.at + most);
        let run = self.at..end;
        self.given += end - self.at;
        self.at = end;
        Ok(run)
    }

    /// Takes as many times `each` blocks as follow each other here, at most `most` times.
    pub(in crate::ext4) fn take_alike(&mut self, each: u64, most: u64) -> Range<u64> {
        let times = ((self.end - self.at) / each.max(1)).min(most);
        let run = self.at..self.at + times * each;
        self.given += run.end - run.start;
        self.at = run.end;
        run
    }

    /// Advances to the next cluster; the rest of this one belongs to the previous object.
    pub(in crate::ext4) fn align(&mut self) {
        if self.cluster > 1 {
            let aligned = self.at.next_multiple_of(self.cluster).min(self.end);
            self.given += aligned - self.at;
            self.at = aligned;
        }
    }

    /// Leaves blocks free, at most to the end of the unit.
    pub(in crate::ext4) fn skip(&mut self, blocks: u64) {
        let mut rest = blocks.next_multiple_of(self.cluster);
        loop {
            let here = rest.min(self.end - self.at);
            self.at += here;
            rest -= here;
            let Some(run) = self.free.get(self.next).filter(|_| rest > 0) else {
                return;
            };
            self.next += 1;
            (self.at, self.end) = (run.start, run.end);
        }
    }

    /// Advances to a later unit, if it is not there yet.
    pub(in crate::ext4) fn jump(&mut self, unit: u32) {
        if unit > self.unit {
            self.load(unit);
            self.end = self.at;
        }
    }

    /// The current unit.
    pub(in crate::ext4) fn unit(&self) -> u32 {
        self.unit
    }

    /// Where to begin again: see [`Cursor::new`].
    pub(in crate::ext4) fn position(&self) -> u64 {
        self.at
    }
}
