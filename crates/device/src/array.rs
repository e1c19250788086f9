//! Several devices as one: RAID levels as Linux md lays them out, volumes as LVM does.

mod layout;
mod parity;
mod rebuild;
mod stripes;

pub use layout::{Layout, Level, Part, ends};
pub use parity::{RowPlan, RowWrite, Strategy};

use rebuild::Rebuild;
use stripes::Stripes;

use crate::model::{Completion, Model, Nanoseconds, Op, Request, Usage};
use crate::slab::Slab;

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
    /// What it is for.
    of: Of,
}

/// What a step is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    /// Requests of the host.
    Host,
    /// A row of a level with parity, by its number.
    Row(u64),
    /// A window of a rebuild.
    Rebuild,
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
    stripes: Stripes,
    rebuild: Option<Rebuild>,
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
            stripes: Stripes::default(),
            rebuild: None,
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
        let members = self.next.iter().copied().min().unwrap_or(Nanoseconds::MAX);
        let held = self.stripes.unplugs().unwrap_or(Nanoseconds::MAX);
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
            of: Of::Rebuild,
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
        if let Of::Row(row) = step.of {
            return self.row_step_done(now.max(completion.at), row, completion);
        }
        let then = std::mem::take(&mut step.then);
        if then.is_empty() {
            if let Some(step) = self.steps.remove(completion.tag) {
                self.step_done(&step.parents, completion.at);
                if step.of == Of::Rebuild
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

    /// Sends parts to members as one step of a parent.
    fn simple(&mut self, now: Nanoseconds, parent: u64, request: &Request, parts: &[Part]) {
        let step = self.steps.insert(Step {
            parents: vec![parent],
            pending: parts.len() as u32,
            then: Vec::new(),
            fua: request.fua,
            of: Of::Host,
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
}

impl Model for Array {
    fn capacity(&self) -> u64 {
        self.layout.capacity()
    }

    fn submit(&mut self, now: Nanoseconds, request: Request) {
        if self.stripes.unplugs().is_some_and(|due| due < now) {
            self.run(now);
        }
        let parent = self.parents.insert(Parent {
            tag: request.tag,
            steps: 1,
        });
        match request.op {
            Op::Flush => self.broadcast(now, parent, &request),
            Op::Write if self.layout.level.has_parity() => {
                self.write_rows(now, parent, &request);
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
