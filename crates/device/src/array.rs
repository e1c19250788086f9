//! Several devices as one: RAID levels as Linux md lays them out, volumes as LVM does.

mod layout;
mod parity;
mod rebuild;

use std::collections::VecDeque;

pub use layout::{Layout, Level, Part, ends};
pub use parity::{RowPlan, RowWrite, Strategy};

use rebuild::Rebuild;

use crate::model::{Completion, Model, Nanoseconds, Op, Request, Usage};
use crate::slab::Slab;

/// Bytes of a member that the stripe cache of md holds: 256 stripes of 4 KiB.
const STRIPE_CACHE: u64 = 1 << 20;

/// A request of the host, until all of its steps are done.
struct Parent {
    tag: u64,
    steps: u32,
}

/// Member requests that are done together, and the writes that wait for them.
struct Step {
    parents: Vec<u64>,
    pending: u32,
    then: Vec<Part>,
    /// Whether the writes must be on the medium.
    fua: bool,
    /// Whether it is a window of a rebuild.
    rebuilds: bool,
}

/// A row with writes that have not been sent to the members.
struct Held {
    write: RowWrite,
    parents: Vec<u64>,
    /// Whether one of them must be on the medium; then all of the row must, with its parity.
    fua: bool,
}

/// An array in simulated time.
pub struct Array {
    layout: Layout,
    strategy: Strategy,
    members: Vec<Box<dyn Model>>,
    /// When each member has its next event.
    next: Vec<Nanoseconds>,
    /// Where the last request to each member ended.
    heads: Vec<u64>,
    parents: Slab<Parent>,
    steps: Slab<Step>,
    held: VecDeque<Held>,
    rebuild: Option<Rebuild>,
    /// Time of the last write that is held.
    plugged: Nanoseconds,
    done: Vec<Completion>,
    buffer: Vec<Completion>,
}

impl Array {
    /// An array over members, in the order of the layout.
    pub fn new(layout: Layout, strategy: Strategy, members: Vec<Box<dyn Model>>) -> Array {
        Array {
            next: vec![Nanoseconds::MAX; members.len()],
            heads: vec![0; members.len()],
            layout,
            strategy,
            members,
            parents: Slab::default(),
            steps: Slab::default(),
            held: VecDeque::new(),
            rebuild: None,
            plugged: 0,
            done: Vec::new(),
            buffer: Vec::new(),
        }
    }

    /// The same with its failed members replaced and rebuilt at this rate, bytes of each a second.
    #[must_use]
    pub fn with_rebuild(mut self, rate: f64) -> Array {
        let can = !self.layout.failed.is_empty();
        self.rebuild = can.then(|| Rebuild::new(rate));
        self
    }

    fn run(&mut self, now: Nanoseconds) {
        while let Some(at) = self.next_internal().filter(|at| *at <= now) {
            if !self.held.is_empty() && self.plugged <= at {
                self.unplug(at.max(self.plugged));
                continue;
            }
            if self.rebuild_at() <= at {
                self.rebuild(at);
                continue;
            }
            for member in 0..self.members.len() {
                if self.next[member] <= at {
                    self.collect(member, at);
                }
            }
        }
    }

    fn next_internal(&self) -> Option<Nanoseconds> {
        let members = self.next.iter().copied().min().unwrap_or(Nanoseconds::MAX);
        let held = if self.held.is_empty() {
            Nanoseconds::MAX
        } else {
            self.plugged
        };
        let next = members.min(held).min(self.rebuild_at());
        Some(next).filter(|at| *at < Nanoseconds::MAX)
    }

    fn rebuild_at(&self) -> Nanoseconds {
        let next = self.rebuild.as_ref().and_then(Rebuild::next);
        next.unwrap_or(Nanoseconds::MAX)
    }

    /// Begins to rebuild the next window.
    fn rebuild(&mut self, now: Nanoseconds) {
        let Some(rebuild) = &mut self.rebuild else {
            return;
        };
        let (reads, writes) = rebuild.begin(now, &self.layout);
        let step = self.steps.insert(Step {
            parents: Vec::new(),
            pending: reads.len() as u32,
            then: writes,
            fua: false,
            rebuilds: true,
        });
        self.send(now, step, Op::Read, false, &reads);
    }

    /// Takes what a member has done.
    fn collect(&mut self, member: usize, now: Nanoseconds) {
        let mut done = std::mem::take(&mut self.buffer);
        self.members[member].advance(now, &mut done);
        self.note_next(member);
        for completion in done.drain(..) {
            self.member_done(now, completion);
        }
        self.buffer = done;
    }

    fn note_next(&mut self, member: usize) {
        self.next[member] = self.members[member]
            .next_event()
            .unwrap_or(Nanoseconds::MAX);
    }

    fn member_done(&mut self, now: Nanoseconds, completion: Completion) {
        let Some(step) = self.steps.get_mut(completion.tag) else {
            return;
        };
        step.pending -= 1;
        if step.pending > 0 {
            return;
        }
        let then = std::mem::take(&mut step.then);
        if then.is_empty() {
            if let Some(step) = self.steps.remove(completion.tag) {
                self.step_done(&step.parents, completion.at);
                if step.rebuilds
                    && let Some(rebuild) = &mut self.rebuild
                    && rebuild.end(completion.at, &mut self.layout)
                {
                    self.rebuild = None;
                    self.layout.failed.clear();
                }
            }
            return;
        }
        step.pending = then.len() as u32;
        let fua = step.fua;
        let begin = now.max(completion.at);
        self.send(begin, completion.tag, Op::Write, fua, &then);
    }

    fn step_done(&mut self, parents: &[u64], at: Nanoseconds) {
        for &parent in parents {
            let Some(waiting) = self.parents.get_mut(parent) else {
                continue;
            };
            waiting.steps -= 1;
            if waiting.steps == 0
                && let Some(finished) = self.parents.remove(parent)
            {
                let tag = finished.tag;
                self.done.push(Completion { tag, at });
            }
        }
    }

    fn send(&mut self, now: Nanoseconds, step: u64, op: Op, fua: bool, parts: &[Part]) {
        for part in parts {
            let request = Request {
                tag: step,
                op,
                offset: part.address,
                len: part.len,
                fua,
            };
            self.send_to(now, part.member, request);
        }
    }

    fn send_to(&mut self, now: Nanoseconds, member: usize, request: Request) {
        self.heads[member] = request.end();
        self.members[member].submit(now, request);
        self.note_next(member);
    }

    /// Sends parts to members as one step of a parent.
    fn simple(&mut self, now: Nanoseconds, parent: u64, request: &Request, parts: &[Part]) {
        let step = self.steps.insert(Step {
            parents: vec![parent],
            pending: parts.len() as u32,
            then: Vec::new(),
            fua: request.fua,
            rebuilds: false,
        });
        for part in parts {
            let request = Request {
                tag: step,
                offset: part.address,
                len: part.len,
                ..*request
            };
            self.send_to(now, part.member, request);
        }
    }

    fn broadcast(&mut self, now: Nanoseconds, parent: u64, request: &Request) {
        let members = 0..self.members.len();
        // What replaces a failed member has writes to flush, too.
        let replaced = self.rebuild.is_some();
        let working = members.filter(|member| replaced || !self.layout.failed.contains(member));
        let parts: Vec<Part> = working
            .map(|member| Part {
                member,
                address: 0,
                len: 0,
            })
            .collect();
        self.simple(now, parent, request, &parts);
    }

    fn write_rows(&mut self, now: Nanoseconds, parent: u64, request: &Request) -> u32 {
        let rows = self.layout.rows(request.offset, request.len);
        let count = rows.len() as u32;
        for row in rows {
            match self.held.iter_mut().find(|held| held.write.row == row.row) {
                Some(held) => {
                    held.write.add(&row);
                    held.fua |= request.fua;
                    if !held.parents.contains(&parent) {
                        held.parents.push(parent);
                    } else if let Some(parent) = self.parents.get_mut(parent) {
                        parent.steps -= 1;
                    }
                }
                None => self.held.push_back(Held {
                    write: row,
                    parents: vec![parent],
                    fua: request.fua,
                }),
            }
        }
        self.plugged = now;
        count
    }

    /// Sends rows that are complete, and the oldest beyond the size of the stripe cache.
    fn send_ready_rows(&mut self, now: Nanoseconds) {
        let most = (STRIPE_CACHE / self.layout.chunk).max(1) as usize;
        let mut index = 0;
        while index < self.held.len() {
            let full = self.held[index].write.is_full(&self.layout);
            if (full || self.held.len() > most)
                && let Some(held) = self.held.remove(index)
            {
                self.send_row(now, held);
            } else {
                index += 1;
            }
        }
    }

    fn unplug(&mut self, now: Nanoseconds) {
        while let Some(held) = self.held.pop_front() {
            self.send_row(now, held);
        }
    }

    fn send_row(&mut self, now: Nanoseconds, held: Held) {
        let plan = RowPlan::of(&self.layout, self.strategy, &held.write);
        if plan.writes.is_empty() {
            self.step_done(&held.parents, now);
            return;
        }
        let reads_first = !plan.reads.is_empty();
        let (first, then) = if reads_first {
            (plan.reads, plan.writes)
        } else {
            (plan.writes, Vec::new())
        };
        let step = self.steps.insert(Step {
            parents: held.parents,
            pending: first.len() as u32,
            then,
            fua: held.fua,
            rebuilds: false,
        });
        let op = if reads_first { Op::Read } else { Op::Write };
        self.send(now, step, op, held.fua && !reads_first, &first);
    }
}

impl Model for Array {
    fn capacity(&self) -> u64 {
        self.layout.capacity()
    }

    fn submit(&mut self, now: Nanoseconds, request: Request) {
        if self.plugged < now {
            self.run(now);
        }
        let parent = self.parents.insert(Parent {
            tag: request.tag,
            steps: 1,
        });
        match request.op {
            Op::Flush => self.broadcast(now, parent, &request),
            Op::Write if self.layout.level.has_parity() => {
                let steps = self.layout.rows(request.offset, request.len).len() as u32;
                if let Some(parent) = self.parents.get_mut(parent) {
                    parent.steps = steps.max(1);
                }
                if self.write_rows(now, parent, &request) == 0 {
                    self.step_done(&[parent], now);
                }
                self.send_ready_rows(now);
            }
            Op::Read => {
                let parts = self.layout.read(request.offset, request.len, &self.heads);
                self.simple(now, parent, &request, &parts);
            }
            Op::Write | Op::Discard => {
                let parts = self.layout.write(request.offset, request.len);
                self.simple(now, parent, &request, &parts);
            }
        }
    }

    fn next_event(&self) -> Option<Nanoseconds> {
        let done = self.done.first().map(|completion| completion.at);
        crate::timeline::earlier(done, self.next_internal())
    }

    fn advance(&mut self, now: Nanoseconds, done: &mut Vec<Completion>) {
        self.run(now);
        done.append(&mut self.done);
    }

    fn has_volatile_cache(&self) -> bool {
        self.members
            .iter()
            .any(|member| member.has_volatile_cache())
    }

    fn usage(&self, parts: &mut Vec<Usage>) {
        for member in &self.members {
            member.usage(parts);
        }
    }
}

#[cfg(test)]
mod tests;
