//! Several devices as one: RAID levels as Linux md lays them out, volumes as LVM does.

mod layout;
mod parity;
mod rebuild;
mod stripes;

use std::num::NonZeroU32;

pub use layout::{Layout, Level, Part, ends};
pub use parity::{RowWrite, Strategy};

use rebuild::Rebuild;
use stripes::Stripes;

use crate::model::{Completion, Model, Nanoseconds, Op, Request, Usage};
use crate::slab::Slab;

/// A write of the host to rows, until all of them are done.
struct Parent {
    tag: u64,
    /// How many are not.
    rows: NonZeroU32,
}

/// Member requests that are done together: how many of them are pending, and what they are for.
enum Step {
    /// A request of the host, by its tag.
    Host { pending: u32, tag: u64 },
    /// A row of a level with parity, by its key in the stripe cache.
    Row { pending: u32, key: u32 },
    /// A window of a rebuild.
    Rebuild { pending: u32 },
}

impl Step {
    fn pending(&mut self) -> &mut u32 {
        match self {
            Step::Host { pending, .. } | Step::Row { pending, .. } | Step::Rebuild { pending } => {
                pending
            }
        }
    }
}

/// There may be a million of each.
const _: () = assert!(size_of::<Option<Step>>() <= 16 && size_of::<Option<Parent>>() <= 16);

/// An array in simulated time.
pub struct Array {
    layout: Layout,
    strategy: Strategy,
    members: Vec<Box<dyn Model>>,
    /// When each member has its next event.
    next: Vec<Nanoseconds>,
    /// The earliest of these.
    soonest: Nanoseconds,
    /// Where the last request to each member ended.
    heads: Vec<u64>,
    parents: Slab<Parent>,
    steps: Slab<Step>,
    stripes: Stripes,
    rebuild: Option<Rebuild>,
    done: Vec<Completion>,
    buffer: Vec<Completion>,
    /// Where a request goes, while it is sent.
    parts: Vec<Part>,
}

impl Array {
    /// An array over members, in the order of the layout.
    pub fn new(layout: Layout, strategy: Strategy, members: Vec<Box<dyn Model>>) -> Array {
        Array {
            next: vec![Nanoseconds::MAX; members.len()],
            soonest: Nanoseconds::MAX,
            heads: vec![0; members.len()],
            layout,
            strategy,
            members,
            parents: Slab::default(),
            steps: Slab::default(),
            stripes: Stripes::default(),
            rebuild: None,
            done: Vec::new(),
            buffer: Vec::new(),
            parts: Vec::new(),
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
            if self.stripes.unplugs().is_some_and(|due| due <= at) {
                self.unplug(at);
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
        let held = self.stripes.unplugs().unwrap_or(Nanoseconds::MAX);
        let next = self.soonest.min(held).min(self.rebuild_at());
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
        let reads = rebuild.begin(now, &self.layout);
        let pending = reads.len() as u32;
        let step = self.steps.insert(Step::Rebuild { pending });
        self.send(now, step, Op::Read, false, &reads);
    }

    /// A window has been read, or written.
    fn rebuild_step_done(&mut self, now: Nanoseconds, completion: Completion) {
        let Some(rebuild) = &mut self.rebuild else {
            return;
        };
        let writes = rebuild.writes();
        if writes.is_empty() {
            self.steps.remove(completion.tag);
            if rebuild.end(completion.at, &mut self.layout) {
                self.rebuild = None;
                self.layout.failed.clear();
            }
            return;
        }
        if let Some(step) = self.steps.get_mut(completion.tag) {
            *step.pending() = writes.len() as u32;
        }
        let begin = now.max(completion.at);
        self.send(begin, completion.tag, Op::Write, false, &writes);
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
        let at = self.members[member].next_event();
        let at = at.unwrap_or(Nanoseconds::MAX);
        let before = std::mem::replace(&mut self.next[member], at);
        if at <= self.soonest {
            self.soonest = at;
        } else if before == self.soonest {
            self.soonest = self.next.iter().copied().min().unwrap_or(at);
        }
    }

    fn member_done(&mut self, now: Nanoseconds, completion: Completion) {
        let Completion { tag, at } = completion;
        let Some(step) = self.steps.get_mut(tag) else {
            return;
        };
        let pending = step.pending();
        *pending -= 1;
        if *pending > 0 {
            return;
        }
        match *step {
            Step::Host { tag: host, .. } => {
                self.steps.remove(tag);
                self.done.push(Completion { tag: host, at });
            }
            Step::Row { key, .. } => self.row_step_done(now.max(at), key, at),
            Step::Rebuild { .. } => self.rebuild_step_done(now, completion),
        }
    }

    /// A row of these writes is done.
    fn row_done(&mut self, parents: &[u64], at: Nanoseconds) {
        for &parent in parents {
            let Some(waiting) = self.parents.get_mut(parent) else {
                continue;
            };
            if let Some(rows) = NonZeroU32::new(waiting.rows.get() - 1) {
                waiting.rows = rows;
            } else if let Some(Parent { tag, .. }) = self.parents.remove(parent) {
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
                sync: true,
            };
            self.send_to(now, part.member, request);
        }
    }

    fn send_to(&mut self, now: Nanoseconds, member: usize, request: Request) {
        // A flush moves no head.
        if request.len > 0 {
            self.heads[member] = request.end();
        }
        self.members[member].submit(now, request);
        self.note_next(member);
    }

    /// Sends a request to the members that have its parts.
    fn spread(&mut self, now: Nanoseconds, request: &Request) {
        let mut parts = std::mem::take(&mut self.parts);
        parts.clear();
        match request.op {
            Op::Flush => self.everywhere(&mut parts),
            Op::Read => {
                let (offset, len) = (request.offset, request.len);
                self.layout.read(offset, len, &self.heads, &mut parts);
            }
            Op::Write | Op::Discard => {
                self.layout.write(request.offset, request.len, &mut parts);
            }
        }
        let step = self.steps.insert(Step::Host {
            pending: parts.len() as u32,
            tag: request.tag,
        });
        for part in &parts {
            let request = Request {
                tag: step,
                offset: part.address,
                len: part.len,
                ..*request
            };
            self.send_to(now, part.member, request);
        }
        self.parts = parts;
    }

    fn everywhere(&self, parts: &mut Vec<Part>) {
        let members = 0..self.members.len();
        // What replaces a failed member has writes to flush, too.
        let replaced = self.rebuild.is_some();
        let working = members.filter(|member| replaced || !self.layout.failed.contains(member));
        parts.extend(working.map(|member| Part {
            member,
            address: 0,
            len: 0,
        }));
    }
}

impl Model for Array {
    fn capacity(&self) -> u64 {
        self.layout.capacity()
    }

    fn submit(&mut self, now: Nanoseconds, request: Request) {
        if self.stripes.unplugs().is_some_and(|due| due < now) {
            self.run(now);
        }
        if request.op == Op::Write && self.layout.level.has_parity() {
            self.write_rows(now, &request);
        } else {
            self.spread(now, &request);
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
