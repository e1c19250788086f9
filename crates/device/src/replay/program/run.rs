//! A program in the time of a model.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::super::engine::{Each, Error};
use super::super::response::Responses;
use super::{Action, Mark, Outline, Planned, Program, Ran, Sent, scaled};
use crate::model::{Completion, Model, Nanoseconds, Request};

/// Steps of a thread that are read together.
const BLOCK: u32 = 128;

pub(super) fn run(
    program: &Program,
    model: &mut dyn Model,
    cpu: f64,
    each: &mut Each<'_, Sent>,
) -> Result<Ran, Error> {
    let outline = &program.outline;
    let mut run = Run::new(program, model, cpu, each);
    run.all()?;
    let ends = ends(outline, &run.ended, cpu);
    while run.marks.len() < outline.phases.len() {
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
        most_held: run.most_held,
        idle: last.idle,
        usage: last.usage,
        marks,
    })
}

/// When the phases ended: after the last step of each, and the processor time since.
fn ends(outline: &Outline, ended: &[Nanoseconds], cpu: f64) -> Vec<Nanoseconds> {
    let mut before = 0;
    let of = |phase: usize| {
        let from = outline.phases[phase];
        let to = outline.phases.get(phase + 1).copied();
        let recorded = from.max(outline.ended[phase]);
        let rest = to.unwrap_or(outline.end).saturating_sub(recorded);
        before = before.max(ended[phase]) + scaled(rest, cpu);
        before
    };
    (0..outline.phases.len()).map(of).collect()
}

/// A thread, and the steps of it that are in hand.
struct Thread {
    /// The places of those that are not done.
    left: std::ops::Range<u32>,
    steps: Vec<Planned>,
    /// The next among them.
    at: usize,
}

/// A step that follows steps of other threads.
struct Following {
    /// How many of these are not done.
    missing: u32,
    /// When the last that is done was.
    latest: Nanoseconds,
    /// Its thread, once that has come to it.
    thread: Option<u32>,
}

/// A request that is in flight, or done and not yet waited for.
enum Read {
    Flying {
        sent: Sent,
        submitted: Nanoseconds,
        is_awaited: bool,
        /// The thread that waits.
        waiter: Option<u32>,
    },
    Done(Nanoseconds),
}

/// A run in progress.
struct Run<'a> {
    program: &'a Program,
    model: &'a mut dyn Model,
    cpu: f64,
    each: &'a mut Each<'a, Sent>,
    threads: Vec<Thread>,
    following: FxHashMap<u32, Following>,
    /// Steps that are due: when, their order, their threads.
    due: BinaryHeap<Reverse<(Nanoseconds, u32, u32)>>,
    reads: FxHashMap<u32, Read>,
    most_held: usize,
    in_flight: u64,
    now: Nanoseconds,
    idle: Nanoseconds,
    responses: Responses,
    /// Steps that are done, and when the last of them was.
    finished: u32,
    latest: Nanoseconds,
    /// When the last step of each phase was done.
    ended: Vec<Nanoseconds>,
    /// Phases whose first step may begin.
    begun: usize,
    /// Of each phase that has ended, and when that was noticed.
    marks: Vec<(Nanoseconds, Mark)>,
}

impl<'a> Run<'a> {
    fn new(
        program: &'a Program,
        model: &'a mut dyn Model,
        cpu: f64,
        each: &'a mut Each<'_, Sent>,
    ) -> Run<'a> {
        let outline = &program.outline;
        let thread = |places: &std::ops::Range<u32>| Thread {
            left: places.clone(),
            steps: Vec::new(),
            at: 0,
        };
        let following = |(place, missing): (&u32, &u32)| {
            let following = Following {
                missing: *missing,
                latest: 0,
                thread: None,
            };
            (*place, following)
        };
        Run {
            program,
            model,
            cpu,
            each,
            threads: outline.threads.iter().map(thread).collect(),
            following: outline.follows.iter().map(following).collect(),
            due: BinaryHeap::new(),
            reads: FxHashMap::default(),
            most_held: 0,
            in_flight: 0,
            now: 0,
            idle: 0,
            responses: Responses::default(),
            finished: 0,
            latest: 0,
            ended: vec![0; outline.phases.len()],
            begun: 0,
            marks: Vec::new(),
        }
    }

    fn all(&mut self) -> Result<(), Error> {
        for thread in 0..self.threads.len() {
            self.go_on(thread as u32, 0)?;
        }
        let mut done = Vec::new();
        loop {
            while let Some(Reverse((at, _, thread))) = self.due.peek().copied()
                && at <= self.now
            {
                self.due.pop();
                self.execute(thread)?;
            }
            let next_due = self.due.peek().map(|Reverse((at, ..))| *at);
            let Some(at) = crate::timeline::earlier(next_due, self.model.next_event()) else {
                return Ok(());
            };
            if self.in_flight == 0 && next_due.is_none() {
                return Ok(());
            }
            self.advance(at, &mut done)?;
        }
    }

    fn advance(&mut self, at: Nanoseconds, done: &mut Vec<Completion>) -> Result<(), Error> {
        if self.in_flight == 0 {
            self.idle += at.saturating_sub(self.now);
        }
        self.now = self.now.max(at);
        self.model.advance(self.now, done);
        for completion in done.drain(..) {
            self.in_flight -= 1;
            self.done(completion)?;
        }
        Ok(())
    }

    fn done(&mut self, completion: Completion) -> Result<(), Error> {
        let Completion { tag, at } = completion;
        let Some(Read::Flying {
            sent,
            submitted,
            is_awaited,
            waiter,
        }) = self.reads.remove(&(tag as u32))
        else {
            return Ok(());
        };
        self.responses.add(at.saturating_sub(submitted));
        (self.each)(sent, submitted, at);
        if let Some(thread) = waiter {
            return self.finish(thread, at);
        }
        if is_awaited {
            self.reads.insert(tag as u32, Read::Done(at));
        }
        Ok(())
    }

    /// The next step of a thread.
    fn step(&mut self, thread: u32) -> Result<Planned, Error> {
        let thread = &mut self.threads[thread as usize];
        if thread.at == thread.steps.len() {
            thread.steps.clear();
            thread.at = 0;
            let most = (thread.left.end - thread.left.start).min(BLOCK);
            let from = thread.left.start;
            self.program.steps.read(from, most, &mut thread.steps)?;
        }
        let step = thread.steps.get(thread.at).copied();
        step.ok_or(Error::NoSuch(thread.left.start))
    }

    /// A thread has done what comes before its next step, the last of it at `at`.
    fn go_on(&mut self, thread: u32, at: Nanoseconds) -> Result<(), Error> {
        let left = &self.threads[thread as usize].left;
        if left.is_empty() {
            // Its steps are not needed any more.
            self.threads[thread as usize].steps = Vec::new();
            return Ok(());
        }
        let mut ready = at;
        if let Some(following) = self.following.get_mut(&left.start) {
            following.latest = following.latest.max(at);
            following.thread = Some(thread);
            if following.missing > 0 {
                return Ok(());
            }
            ready = following.latest;
        }
        self.make_due(thread, ready)
    }

    /// A step is done that the step of this place follows.
    fn follow(&mut self, place: u32, at: Nanoseconds) -> Result<(), Error> {
        let Some(following) = self.following.get_mut(&place) else {
            return Ok(());
        };
        following.latest = following.latest.max(at);
        following.missing -= 1;
        match (following.missing, following.thread) {
            (0, Some(thread)) => {
                let ready = following.latest;
                self.make_due(thread, ready)
            }
            _ => Ok(()),
        }
    }

    fn make_due(&mut self, thread: u32, ready: Nanoseconds) -> Result<(), Error> {
        let step = self.step(thread)?;
        let at = ready + scaled(step.gap, self.cpu);
        self.due.push(Reverse((at, step.order, thread)));
        Ok(())
    }

    fn mark(&mut self) {
        let mut usage = Vec::new();
        self.model.usage(&mut usage);
        let idle = self.idle;
        self.marks.push((self.now, Mark { idle, usage }));
    }

    fn execute(&mut self, thread: u32) -> Result<(), Error> {
        let step = self.step(thread)?;
        // All of a phase has ended before the first step of the next.
        while self.marks.len() < usize::from(step.phase) {
            self.mark();
        }
        match step.action {
            Action::Submit {
                request,
                offset,
                len,
                is_awaited,
            } => {
                let sent = Sent {
                    phase: step.phase.into(),
                    len: len.into(),
                };
                let read = Read::Flying {
                    sent,
                    submitted: self.now,
                    is_awaited,
                    waiter: None,
                };
                self.reads.insert(request, read);
                self.most_held = self.most_held.max(self.reads.len());
                self.in_flight += 1;
                let read = Request::read(request.into(), offset, len.into());
                self.model.submit(self.now, read);
                self.finish(thread, self.now)
            }
            Action::Wait(request) => match self.reads.get_mut(&request) {
                Some(Read::Flying { waiter, .. }) => {
                    *waiter = Some(thread);
                    Ok(())
                }
                Some(Read::Done(at)) => {
                    let at = *at;
                    self.reads.remove(&request);
                    self.finish(thread, at.max(self.now))
                }
                None => self.finish(thread, self.now),
            },
        }
    }

    /// The step of a thread is done.
    fn finish(&mut self, thread: u32, at: Nanoseconds) -> Result<(), Error> {
        let phase = usize::from(self.step(thread)?.phase);
        let own = &mut self.threads[thread as usize];
        let place = own.left.start;
        own.left.start += 1;
        own.at += 1;
        self.finished += 1;
        self.latest = self.latest.max(at);
        if let Some(ended) = self.ended.get_mut(phase) {
            *ended = at.max(*ended);
        }
        let outline = &self.program.outline;
        while let Some((first, before)) = outline.barriers.get(self.begun)
            && *before == self.finished
        {
            self.begun += 1;
            self.follow(*first, self.latest)?;
        }
        for follower in outline.followers.get(&place).into_iter().flatten() {
            self.follow(*follower, at)?;
        }
        self.go_on(thread, at)
    }
}
