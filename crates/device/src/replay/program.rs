//! Replay of a program whose threads are known exactly: which of them sent each request, which completion each of them
//! waited for, and its processor time between.
//!
//! A block trace shows submissions and completions, and what depends on what is a guess. A program that records its own reads
//! knows more. A thread computes, submits, and waits in an order that no device changes; a thread that is late because it
//! computes is late for all its requests. So the steps of a thread are replayed in their order, each after the processor time that
//! it took, and a wait ends when its request is done. Kept as recorded: which thread takes which piece of work.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::engine::{Each, Error};
use super::estimate::Structural;
use super::response::Responses;
use crate::model::{Completion, Model, Nanoseconds, Request, Usage};

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sent the request of this number.
    Submit(u32),
    /// Waited until the request of this number was done.
    Wait(u32),
}

/// A step of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Who.
    pub thread: u32,
    /// When it began: the submission, or the call that waited.
    pub began: Nanoseconds,
    /// When it had ended: equal to `began` for a submission.
    pub ended: Nanoseconds,
    /// What.
    pub action: Action,
}

/// What threads did, in phases one after the other, of which each begins when all of the one before it is done.
#[derive(Clone, Debug)]
pub struct Program {
    requests: Vec<Request>,
    steps: Vec<Step>,
    order: Order,
    /// When each phase began; ascending. The first begins at 0.
    phases: Vec<Nanoseconds>,
    /// When the program ended.
    end: Nanoseconds,
}

/// Which steps follow which. A record has a million steps, most of which follow one: lists of their own would be most of its memory.
#[derive(Clone, Debug, Default)]
struct Order {
    /// For each step: how many steps must have ended before it.
    before: Vec<u32>,
    /// For each step: the processor time since the last of these.
    gaps: Vec<Nanoseconds>,
    /// The steps after a step: `next[first[step]..first[step + 1]]`.
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Order {
    /// From the steps before each step, one after the other, and how many each has.
    fn new(before: Vec<u32>, gaps: Vec<Nanoseconds>, all: &[u32]) -> Order {
        let mut first = vec![0_u32; before.len() + 1];
        for step in all {
            first[*step as usize + 1] += 1;
        }
        for step in 0..before.len() {
            first[step + 1] += first[step];
        }
        let mut at = first.clone();
        let mut next = vec![0; all.len()];
        let mut rest = all;
        for (step, count) in before.iter().enumerate() {
            let (own, others) = rest.split_at(*count as usize);
            rest = others;
            for before in own {
                let slot = &mut at[*before as usize];
                next[*slot as usize] = step as u32;
                *slot += 1;
            }
        }
        Order {
            before,
            gaps,
            first,
            next,
        }
    }

    fn after(&self, step: usize) -> std::ops::Range<usize> {
        self.first[step] as usize..self.first[step + 1] as usize
    }
}

/// A replayed program. All times are modelled.
#[derive(Clone, Debug)]
pub struct Ran {
    /// When each phase ended, ns since the start.
    pub ends: Vec<Nanoseconds>,
    /// Response times of all requests.
    pub responses: Responses,
    /// Time in which no request was in flight, ns.
    pub idle: Nanoseconds,
    /// What each part of the device did.
    pub usage: Vec<Usage>,
    /// The same sums at the end of each phase.
    pub marks: Vec<Mark>,
}

/// Sums since the start, when a phase had ended.
#[derive(Clone, Debug, Default)]
pub struct Mark {
    /// Time in which no request was in flight, ns.
    pub idle: Nanoseconds,
    /// What each part of the device had done; the same parts in the same order at each mark.
    pub usage: Vec<Usage>,
}

impl Program {
    /// From requests (their tags are their numbers from 0), steps in the order in which they began, the times at which
    /// phases began, and the time at which the program ended.
    ///
    /// A step follows the step of its thread before it. The first of a thread follows the last step of all before it, and
    /// a step that comes after other threads have ended follows these too: it joined them. The first step of a phase
    /// follows the last of every thread.
    pub fn new(
        requests: Vec<Request>,
        steps: Vec<Step>,
        phases: Vec<Nanoseconds>,
        end: Nanoseconds,
    ) -> Program {
        let order = order(&steps, &phases);
        Program {
            requests,
            steps,
            order,
            phases,
            end,
        }
    }

    /// Its requests.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// How the errors of its results are correlated.
    pub fn structural(&self) -> Structural {
        Structural::of_ranges(self.requests.iter().map(|r| (r.offset, r.len)))
    }

    /// The phase in which each request was sent.
    pub fn phases_of_requests(&self) -> Vec<u32> {
        let mut phases = vec![0; self.requests.len()];
        for step in &self.steps {
            if let Action::Submit(request) = step.action {
                phases[request as usize] = self.phase_at(step.began) as u32;
            }
        }
        phases
    }

    /// The phase of a time.
    pub fn phase_at(&self, time: Nanoseconds) -> usize {
        phase_at(&self.phases, time)
    }

    /// Runs it on a model, with processor times multiplied by `cpu`.
    ///
    /// # Errors
    /// A request is beyond the end of the device.
    pub fn run(
        &self,
        model: &mut dyn Model,
        cpu: f64,
        each: &mut Each<'_, usize>,
    ) -> Result<Ran, Error> {
        let capacity = model.capacity();
        let beyond = self.requests.iter().position(|r| r.end() > capacity);
        if let Some(index) = beyond {
            let end = self.requests[index].end();
            return Err(Error::DoesNotFit {
                index,
                end,
                capacity,
            });
        }
        let mut run = Run::new(self, model, cpu, each);
        run.all();
        let ends = self.ends(&run.times, cpu);
        while run.marks.len() < self.phases.len() {
            run.mark();
        }
        // Nothing is in flight between the end of a phase and the first step of the next, nor after the last request.
        let at_end = |((now, mark), end): ((Nanoseconds, Mark), &Nanoseconds)| Mark {
            idle: (mark.idle + end).saturating_sub(now),
            ..mark
        };
        let marks: Vec<Mark> = run.marks.into_iter().zip(&ends).map(at_end).collect();
        let last = marks.last().cloned().unwrap_or_default();
        Ok(Ran {
            ends,
            responses: run.responses,
            idle: last.idle,
            usage: last.usage,
            marks,
        })
    }

    /// When the phases ended: after the last step of each, and the processor time since.
    fn ends(&self, ended: &[Nanoseconds], cpu: f64) -> Vec<Nanoseconds> {
        let mut step = 0;
        let mut before = 0;
        let of = |phase: usize| {
            let (from, to) = (
                self.phases[phase],
                self.phases.get(phase + 1).copied().unwrap_or(self.end),
            );
            let (mut recorded, mut modelled) = (from, before);
            let is_last = phase + 1 == self.phases.len();
            while self
                .steps
                .get(step)
                .is_some_and(|s| s.began < to || is_last)
            {
                recorded = recorded.max(self.steps[step].ended);
                modelled = modelled.max(ended[step]);
                step += 1;
            }
            before = modelled + scaled(to.saturating_sub(recorded), cpu);
            before
        };
        (0..self.phases.len()).map(of).collect()
    }
}

fn phase_at(phases: &[Nanoseconds], time: Nanoseconds) -> usize {
    phases
        .partition_point(|begin| *begin <= time)
        .saturating_sub(1)
}

fn scaled(gap: Nanoseconds, cpu: f64) -> Nanoseconds {
    (gap as f64 * cpu) as Nanoseconds
}

/// A thread as far as its steps have been passed.
#[derive(Clone, Copy)]
struct Seen {
    last: u32,
    /// Whether no step of it follows.
    is_over: bool,
    phase: usize,
}

fn order(steps: &[Step], phases: &[Nanoseconds]) -> Order {
    use std::collections::BTreeMap;
    let mut finals: BTreeMap<u32, usize> = BTreeMap::new();
    for (index, step) in steps.iter().enumerate() {
        finals.insert(step.thread, index);
    }
    let mut seen: BTreeMap<u32, Seen> = BTreeMap::new();
    let (mut counts, mut gaps) = (
        Vec::with_capacity(steps.len()),
        Vec::with_capacity(steps.len()),
    );
    let mut all = Vec::with_capacity(steps.len());
    let mut before: Vec<u32> = Vec::new();
    let mut phase_before = 0;
    for (index, step) in steps.iter().enumerate() {
        let phase = phase_at(phases, step.began);
        before.clear();
        let own = seen.get(&step.thread).copied();
        if index > 0 && phase != phase_before {
            before.extend(seen.values().map(|thread| thread.last));
            // Threads that have ended are waited for once.
            seen.retain(|_, thread| !thread.is_over);
        } else {
            before.extend(own.map(|own| own.last));
            if index > 0 && own.is_none_or(|own| own.phase != phase) {
                before.push(index as u32 - 1);
            }
            if own.is_some() {
                let over = |thread: &Seen| {
                    thread.is_over && steps[thread.last as usize].ended <= step.began
                };
                before.extend(seen.values().filter(|t| over(t)).map(|t| t.last));
                seen.retain(|_, thread| !over(thread));
            }
        }
        before.sort_unstable();
        before.dedup();
        let latest = before.iter().map(|i| steps[*i as usize].ended).max();
        gaps.push(step.began.saturating_sub(latest.unwrap_or(0)));
        counts.push(before.len() as u32);
        all.extend_from_slice(&before);
        let is_over = finals.get(&step.thread) == Some(&index);
        let last = index as u32;
        seen.insert(
            step.thread,
            Seen {
                last,
                is_over,
                phase,
            },
        );
        phase_before = phase;
    }
    Order::new(counts, gaps, &all)
}

/// Instead of the step that waits for a request: there is none; the request is done.
const NO_STEP: u32 = u32::MAX;
const DONE: u32 = u32::MAX - 1;

/// A run in progress.
struct Run<'a> {
    program: &'a Program,
    model: &'a mut dyn Model,
    cpu: f64,
    each: &'a mut Each<'a, usize>,
    /// Steps that are not done of those before each step.
    pending: Vec<u32>,
    /// When the last of the others was done; of a step that is done, when it was.
    times: Vec<Nanoseconds>,
    due: BinaryHeap<Reverse<(Nanoseconds, u32)>>,
    /// When each request was submitted, or done.
    requests: Vec<Nanoseconds>,
    /// The step that waits for a request, or [`NO_STEP`], or [`DONE`].
    waiter: Vec<u32>,
    in_flight: u64,
    now: Nanoseconds,
    idle: Nanoseconds,
    responses: Responses,
    /// Of each phase that has ended, and when that was noticed.
    marks: Vec<(Nanoseconds, Mark)>,
}

impl<'a> Run<'a> {
    fn new(
        program: &'a Program,
        model: &'a mut dyn Model,
        cpu: f64,
        each: &'a mut Each<'_, usize>,
    ) -> Run<'a> {
        let requests = program.requests.len();
        Run {
            program,
            model,
            cpu,
            each,
            pending: program.order.before.clone(),
            times: vec![0; program.steps.len()],
            due: BinaryHeap::new(),
            requests: vec![0; requests],
            waiter: vec![NO_STEP; requests],
            in_flight: 0,
            now: 0,
            idle: 0,
            responses: Responses::default(),
            marks: Vec::new(),
        }
    }

    fn all(&mut self) {
        for index in 0..self.pending.len() {
            if self.pending[index] == 0 {
                self.make_due(index);
            }
        }
        let mut done = Vec::new();
        loop {
            while let Some(Reverse((at, step))) = self.due.peek().copied()
                && at <= self.now
            {
                self.due.pop();
                self.execute(step as usize);
            }
            let next_due = self.due.peek().map(|Reverse((at, _))| *at);
            let Some(at) = crate::timeline::earlier(next_due, self.model.next_event()) else {
                return;
            };
            if self.in_flight == 0 && next_due.is_none() {
                return;
            }
            self.advance(at, &mut done);
        }
    }

    fn advance(&mut self, at: Nanoseconds, done: &mut Vec<Completion>) {
        if self.in_flight == 0 {
            self.idle += at.saturating_sub(self.now);
        }
        self.now = self.now.max(at);
        self.model.advance(self.now, done);
        for completion in done.drain(..) {
            let index = completion.tag as usize;
            self.in_flight -= 1;
            let submitted = std::mem::replace(&mut self.requests[index], completion.at);
            self.responses.add(completion.at.saturating_sub(submitted));
            (self.each)(index, submitted, completion.at);
            let step = std::mem::replace(&mut self.waiter[index], DONE);
            if step != NO_STEP {
                self.finish(step as usize, completion.at);
            }
        }
    }

    fn make_due(&mut self, step: usize) {
        let at = self.times[step] + scaled(self.program.order.gaps[step], self.cpu);
        self.due.push(Reverse((at, step as u32)));
    }

    fn mark(&mut self) {
        let mut usage = Vec::new();
        self.model.usage(&mut usage);
        let idle = self.idle;
        self.marks.push((self.now, Mark { idle, usage }));
    }

    fn execute(&mut self, step: usize) {
        let began = self.program.steps[step].began;
        // All of a phase has ended before the first step of the next.
        while let Some(next) = self.program.phases.get(self.marks.len() + 1)
            && *next <= began
        {
            self.mark();
        }
        match self.program.steps[step].action {
            Action::Submit(request) => {
                let index = request as usize;
                self.requests[index] = self.now;
                self.in_flight += 1;
                self.model.submit(self.now, self.program.requests[index]);
                self.finish(step, self.now);
            }
            Action::Wait(request) if self.waiter[request as usize] == DONE => {
                self.finish(step, self.requests[request as usize].max(self.now));
            }
            Action::Wait(request) => self.waiter[request as usize] = step as u32,
        }
    }

    fn finish(&mut self, step: usize, at: Nanoseconds) {
        self.times[step] = at;
        for edge in self.program.order.after(step) {
            let next = self.program.order.next[edge] as usize;
            self.times[next] = self.times[next].max(at);
            self.pending[next] -= 1;
            if self.pending[next] == 0 {
                self.make_due(next);
            }
        }
    }
}

#[cfg(test)]
mod tests;
