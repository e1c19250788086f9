//! The stripe cache of a level with parity: how writes collect into rows, and what each row waits for.
//!
//! As in Linux md (drivers/md/raid5.c). A full row needs no reads and is written at once. Others wait until the writes that come
//! at the same time are there (the plug). Then a row reads what its parity needs, if one of its writes is waited for; where none is
//! (writeback), only when no other row reads (`IO_THRESHOLD`), so that writes in order fill their rows meanwhile. A write
//! to a row that still reads joins it; one to a row that is being written comes after that.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::layout::{Layout, Part};
use super::parity::{RowWrite, Strategy};
use super::{Array, Parent, Step};
use crate::model::{Nanoseconds, Op, Request};
use crate::slab::Slab;

/// Bytes of a member that the cache holds: 256 stripes of 4 KiB.
const STRIPE_CACHE: u64 = 1 << 20;

/// Writes to a row.
struct Row {
    write: RowWrite,
    parents: SmallVec<[u64; 1]>,
    /// Whether one of them must be on the medium; then all of the row must, with its parity.
    fua: bool,
    /// Whether one of them is waited for.
    sync: bool,
    /// When the last of them came.
    at: Nanoseconds,
    /// Its place among rows that are held.
    order: u64,
    /// Whether it needs reads before it is written, once that is known.
    needs_reads: Option<bool>,
}

impl Row {
    /// Adds a write. Whether its parent was not among those of the row.
    fn add(&mut self, other: Row) -> bool {
        self.write.add(&other.write);
        self.needs_reads = None;
        self.fua |= other.fua;
        self.sync |= other.sync;
        self.at = other.at;
        let mut is_new = false;
        for parent in other.parents {
            if !self.parents.contains(&parent) {
                self.parents.push(parent);
                is_new = true;
            }
        }
        is_new
    }

    /// Whether it needs reads before it is written. A rebuild changes what is lost, and with that what is read.
    fn needs_reads(&mut self, layout: &Layout, strategy: Strategy) -> bool {
        if let Some(known) = self.needs_reads.filter(|_| layout.failed.is_empty()) {
            return known;
        }
        let reads = self.write.reads(&[], layout, strategy);
        *self.needs_reads.insert(!reads.is_empty())
    }
}

/// A row that members work on. Where an array does not keep up there is one for each write, so what a row reads and what it will
/// write are not kept but computed again.
struct Active {
    /// Key of the requests to members that are under way for it.
    step: u32,
    /// Another one of other pages of the same row.
    next: Option<u32>,
    row: Row,
    /// What has been read or is being read, where the row alone no longer says it.
    read: Box<[Part]>,
    /// Whether it still reads.
    reads: bool,
    /// Whether it has all it needs once its reads are done.
    is_planned: bool,
}

/// What is held of a write besides the requests to members.
const _: () = assert!(size_of::<Active>() <= 112);

impl Active {
    /// What its parity needs and has not been read.
    fn missing(&self, layout: &Layout, strategy: Strategy) -> Vec<Part> {
        self.row.write.reads(&self.read, layout, strategy)
    }

    /// Notes what is being read: another write joins it, or a rebuild may change what it would read.
    fn keep_read(&mut self, reads: &[Part]) {
        let known = std::mem::take(&mut self.read).into_vec();
        self.read = known.into_iter().chain(reads.iter().copied()).collect();
    }

    /// The requests to members that come next: reads that its parity needs, or its writes; none once it is written. A rebuild changes
    /// what is lost, and with that what is read.
    fn next(&mut self, layout: &Layout, strategy: Strategy, is_rebuilt: bool) -> (Op, Vec<Part>) {
        if !self.reads {
            return (Op::Write, Vec::new());
        }
        let reads = if std::mem::take(&mut self.is_planned) {
            Vec::new()
        } else {
            self.missing(layout, strategy)
        };
        if reads.is_empty() {
            self.reads = false;
            return (Op::Write, self.row.write.writes(layout));
        }
        self.is_planned = !is_rebuilt;
        if is_rebuilt {
            self.keep_read(&reads);
        }
        (Op::Read, reads)
    }
}

/// Rows with writes that are not done.
#[derive(Default)]
pub(super) struct Stripes {
    /// Rows that wait for more writes, or for rows that read; in the order in which they came.
    held: VecDeque<Row>,
    /// Rows that wait until members have worked on a row of the same pages, by number.
    blocked: FxHashMap<u64, Row>,
    /// How many rows have been held.
    count: u64,
    /// Those that members work on.
    active: Slab<Active>,
    /// Their keys by number; several at once are of other pages of a row, and linked.
    by_row: FxHashMap<u64, u32>,
    /// How many of them still read.
    reading: usize,
    /// When the last write came, until what came with it is there.
    plugged: Option<Nanoseconds>,
}

impl Stripes {
    /// When all writes of the last moment are there.
    pub(super) fn unplugs(&self) -> Option<Nanoseconds> {
        self.plugged
    }

    /// Adds a write to the row that it belongs to. Whether a row has a new parent by it.
    fn add(&mut self, mut write: Row, layout: &Layout, strategy: Strategy) -> bool {
        self.plugged = Some(write.at);
        if let Some(row) = self.joined(&write.write, layout, strategy) {
            return row.add(write);
        }
        self.count += 1;
        write.order = self.count;
        self.held.push_back(write);
        true
    }

    /// What was blocked by a row is held as before.
    fn unblock(&mut self, row: u64) {
        if let Some(row) = self.blocked.remove(&row) {
            let place = self.held.partition_point(|held| held.order < row.order);
            self.held.insert(place, row);
        }
    }

    /// The row that a write joins: one that still reads and stays apart from the others with it, or one that is held.
    fn joined(
        &mut self,
        write: &RowWrite,
        layout: &Layout,
        strategy: Strategy,
    ) -> Option<&mut Row> {
        if let Some(key) = self.read_for(write) {
            let active = self.active.get_mut(u64::from(key))?;
            if std::mem::take(&mut active.is_planned) {
                let reads = active.missing(layout, strategy);
                active.keep_read(&reads);
            }
            return Some(&mut active.row);
        }
        let mut held = self.held.iter_mut();
        let held = held.find(|row| row.write.row == write.row);
        held.or_else(|| self.blocked.get_mut(&write.row))
    }

    /// A row that still reads and that a write may join. Stripes are of one page of each member: other pages of a row that reads are
    /// others.
    fn read_for(&self, write: &RowWrite) -> Option<u32> {
        let mut all = self.of_row(write.row);
        let (found, active) = all.find(|(_, a)| a.reads && a.row.write.meets(write))?;
        let both = active.row.write.with(write);
        let mut others = self.of_row(write.row).filter(|(key, _)| *key != found);
        let stays_apart = !others.any(|(_, other)| other.row.write.meets(&both));
        stays_apart.then_some(found)
    }

    /// What members work on of a row, with its keys.
    fn of_row(&self, row: u64) -> impl Iterator<Item = (u32, &Active)> {
        let mut next = self.by_row.get(&row).copied();
        std::iter::from_fn(move || {
            let key = next?;
            let active = self.active.get(u64::from(key))?;
            next = active.next;
            Some((key, active))
        })
    }

    /// Members begin to work on a row; its key.
    fn begin(&mut self, row: Row) -> u32 {
        let number = row.write.row;
        let key = self.active.insert(Active {
            step: 0,
            next: self.by_row.get(&number).copied(),
            row,
            read: Box::default(),
            reads: true,
            is_planned: false,
        });
        self.reading += 1;
        self.by_row.insert(number, key as u32);
        key as u32
    }

    /// Members have worked on a row: what was blocked by it is held as before.
    fn end(&mut self, key: u32) -> Option<Active> {
        let ended = self.active.remove(u64::from(key))?;
        let number = ended.row.write.row;
        if self.by_row.get(&number) != Some(&key) {
            let is_before = |(_, active): &(u32, &Active)| active.next == Some(key);
            let before = self
                .of_row(number)
                .find(is_before)
                .map(|(before, _)| before);
            if let Some(before) = before.and_then(|key| self.active.get_mut(u64::from(key))) {
                before.next = ended.next;
            }
        } else if let Some(next) = ended.next {
            self.by_row.insert(number, next);
        } else {
            self.by_row.remove(&number);
        }
        self.unblock(number);
        Some(ended)
    }

    /// Whether a write may be worked on: none of the rows that are is of the same pages.
    fn is_free(&self, write: &RowWrite) -> bool {
        !self
            .of_row(write.row)
            .any(|(_, active)| active.row.write.meets(write))
    }

    /// Takes the rows that may go to the members now.
    fn ready(&mut self, layout: &Layout, strategy: Strategy) -> Vec<Row> {
        let most = (STRIPE_CACHE / layout.chunk).max(1) as usize;
        let no_reads = self.reading == 0;
        let (mut ready, mut index) = (Vec::new(), 0);
        while index < self.held.len() {
            let is_crowded = self.held.len() + self.blocked.len() > most;
            let row = &mut self.held[index];
            let is_plugged = self.plugged == Some(row.at);
            let goes = row.write.is_full(layout)
                || is_crowded
                || !is_plugged && (row.sync || no_reads || !row.needs_reads(layout, strategy));
            if !goes {
                index += 1;
                continue;
            }
            let is_free = self.is_free(&self.held[index].write);
            match self.held.remove(index) {
                Some(row) if is_free => ready.push(row),
                Some(row) => {
                    self.blocked.insert(row.write.row, row);
                }
                None => break,
            }
        }
        ready
    }
}

impl Array {
    /// Takes a write to a level with parity.
    pub(super) fn write_rows(&mut self, now: Nanoseconds, request: &Request) {
        let parent = self.parents.insert(Parent {
            tag: request.tag,
            rows: NonZeroU32::MIN,
        });
        let mut rows = 0;
        for write in self.layout.rows(request.offset, request.len) {
            let row = Row {
                write,
                parents: smallvec![parent],
                fua: request.fua,
                sync: request.sync || request.fua,
                at: now,
                order: 0,
                needs_reads: None,
            };
            let is_new = self.stripes.add(row, &self.layout, self.strategy);
            rows += u32::from(is_new);
        }
        match (self.parents.get_mut(parent), NonZeroU32::new(rows)) {
            (Some(parent), Some(rows)) => parent.rows = rows,
            _ => self.row_done(&[parent], now),
        }
        self.send_ready_rows(now);
    }

    /// All writes of a moment are there.
    pub(super) fn unplug(&mut self, now: Nanoseconds) {
        self.stripes.plugged = None;
        self.send_ready_rows(now);
    }

    fn send_ready_rows(&mut self, now: Nanoseconds) {
        for row in self.stripes.ready(&self.layout, self.strategy) {
            self.send_row(now, row);
        }
    }

    fn send_row(&mut self, now: Nanoseconds, row: Row) {
        let key = self.stripes.begin(row);
        let step = self.steps.insert(Step::Row { pending: 0, key });
        if let Some(active) = self.stripes.active.get_mut(u64::from(key)) {
            active.step = step as u32;
        }
        self.go_on(now, key, now);
    }

    /// A row has what it read, or is written, at `done`.
    pub(super) fn row_step_done(&mut self, now: Nanoseconds, key: u32, done: Nanoseconds) {
        self.go_on(now, key, done);
        self.send_ready_rows(now);
    }

    /// What comes next for a row: reads that its parity needs, writes, or its end at `done`.
    fn go_on(&mut self, now: Nanoseconds, key: u32, done: Nanoseconds) {
        let Some(active) = self.stripes.active.get_mut(u64::from(key)) else {
            return;
        };
        let (step, fua) = (u64::from(active.step), active.row.fua);
        let did_read = active.reads;
        let (op, parts) = active.next(&self.layout, self.strategy, self.rebuild.is_some());
        self.stripes.reading -= usize::from(did_read && !active.reads);
        if parts.is_empty() {
            self.steps.remove(step);
            if let Some(ended) = self.stripes.end(key) {
                self.row_done(&ended.row.parents, done);
            }
            return;
        }
        if let Some(step) = self.steps.get_mut(step) {
            *step.pending() = parts.len() as u32;
        }
        self.send(now, step, op, fua && op == Op::Write, &parts);
    }
}
