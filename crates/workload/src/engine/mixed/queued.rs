//! Several requests in flight.
#![allow(unsafe_code, reason = "requests hand the kernel a slot of the buffer")]

use std::io;

use super::super::Order;
use super::super::control::Counter;
use super::super::queue::{Queue, Queued, Refusal};
use super::super::slots::Completion;
use super::sync::pause;
use super::{Action, Course, Next, Requests, Target, batch};
use crate::clock::now_ns;
use crate::engine::{ABORT, Direction, Failure, Job, Run};

/// Serves requests with as many in flight as the queue has slots.
pub(super) fn run<Q: Queue, R: Requests>(
    queued: &mut Queued<Q>,
    target: &Target<'_>,
    requests: &mut R,
) -> Result<Course, Failure> {
    if target.block > queued.slots.size() {
        let reason = format!("the {} was made for smaller blocks", Q::THING);
        return Err(broken(io::Error::new(io::ErrorKind::InvalidInput, reason)));
    }
    let unused = Counter::default();
    let job = |direction| Job {
        file: target.file,
        direction,
        record: target.block,
        order: Order::Sequential(u64::MAX),
        flags: target.flags,
        done: &unused,
        payload: target.payload.filter(|_| direction == Direction::Write),
    };
    let slots = queued.slots.free();
    let server = Server {
        queued,
        target,
        requests,
        jobs: [job(Direction::Read), job(Direction::Write)],
        begun: vec![(Action::Fsync, 0); slots],
        course: Course::default(),
        failure: None,
        ended: false,
    };
    server.run()
}

/// A failure of the queue, not of a request.
fn broken(source: io::Error) -> Failure {
    Failure {
        transferred: 0,
        offset: 0,
        source,
    }
}

struct Server<'a, Q, R> {
    queued: &'a mut Queued<Q>,
    target: &'a Target<'a>,
    requests: &'a mut R,
    /// For reads and for writes.
    jobs: [Job<'a>; 2],
    /// What each slot's request is, and when it began.
    begun: Vec<(Action, u64)>,
    course: Course,
    /// The first failure: from then on nothing begins.
    failure: Option<Failure>,
    /// The workload has no more requests.
    ended: bool,
}

impl<Q: Queue, R: Requests> Server<'_, Q, R> {
    fn run(mut self) -> Result<Course, Failure> {
        loop {
            let (begun, wake) = self.fill();
            if self.queued.slots.in_use() == 0 {
                if let Some(failure) = self.failure {
                    return Err(failure);
                }
                match wake {
                    Some(due) => pause(due, now_ns()),
                    None => return Ok(self.course),
                }
                continue;
            }
            if begun > 0 {
                self.course.submitted[batch(begun)] += 1;
            }
            self.submit(wake)?;
            let mut taken = 0;
            while let Some(done) = self.queued.queue.completion() {
                self.settle(done);
                taken += 1;
            }
            if taken > 0 {
                self.course.completed[batch(taken)] += 1;
            }
        }
    }

    /// Puts requests on while there are some and a slot is free: how many, and when the next is due.
    #[inline]
    fn fill(&mut self) -> (usize, Option<u64>) {
        let mut begun = 0;
        while !self.ended && self.failure.is_none() && self.queued.slots.free() > 0 {
            if self.target.flags.up(ABORT) {
                self.ended = true;
                break;
            }
            let now = now_ns();
            match self.requests.next(now) {
                Next::End => self.ended = true,
                Next::WaitUntil(due) => return (begun, Some(due)),
                Next::Do(action) => {
                    self.begin(action, now);
                    begun += 1;
                }
            }
        }
        (begun, None)
    }

    #[inline]
    fn begin(&mut self, action: Action, now: u64) {
        let Queued { queue, slots } = &mut *self.queued;
        // An fsync has a slot as well, so that no more than the depth are in flight.
        let (job, position) = match action {
            Action::Transfer(Direction::Write, block) => (&self.jobs[1], block),
            Action::Transfer(Direction::Read, block) => (&self.jobs[0], block),
            Action::Fsync => (&self.jobs[0], 0),
        };
        let Some((slot, offset)) = slots.take(job, position, false) else {
            return;
        };
        let has_room = match action {
            Action::Fsync => queue.push_fsync(job, slot),
            Action::Transfer(..) => {
                let place = slots.place(slot);
                // SAFETY: the slot's bytes are inside the buffer (`run` refuses larger blocks), and
                // nothing touches them while it is not free. If it never is again, because the queue
                // failed or something panicked, the buffer is not freed.
                unsafe { queue.push(job, slot, place, offset) }
            }
        };
        if !has_room {
            slots.give_back(slot);
            let full = "the submission queue is full although a slot is free";
            self.failure = Some(broken(io::Error::other(full)));
            return;
        }
        self.begun[usize::from(slot)] = (action, now);
        self.course.begin(slots.in_use());
    }

    /// Hands over what was put on and waits for a completion, at most until `wake`.
    fn submit(&mut self, wake: Option<u64>) -> Result<(), Failure> {
        let queue = &mut self.queued.queue;
        let submitted = match wake {
            None => queue.submit(1),
            Some(due) => queue.submit_for(due.saturating_sub(now_ns())),
        };
        match submitted {
            Ok(()) => Ok(()),
            Err(Refusal::Request(slot, source)) => {
                self.failure.get_or_insert(Failure {
                    transferred: 0,
                    offset: self.queued.slots.offset(&self.jobs[0], slot),
                    source,
                });
                while let Some(slot) = self.queued.queue.withdraw() {
                    self.queued.slots.give_back(slot);
                }
                Ok(())
            }
            Err(Refusal::Broken(source)) => Err(broken(source)),
        }
    }

    #[inline]
    fn settle(&mut self, done: Completion) {
        let now = now_ns();
        let (action, begin) = self.begun[usize::from(done.slot)];
        let mut run = Run::default();
        let settled = match action {
            Action::Transfer(direction, _) => {
                let job = &self.jobs[usize::from(direction == Direction::Write)];
                self.queued.slots.settle(job, done, &mut run, None)
            }
            Action::Fsync => {
                self.queued.slots.give_back(done.slot);
                match done.result {
                    0.. => Ok(()),
                    error => Err(broken(io::Error::from_raw_os_error(-error as i32))),
                }
            }
        };
        self.course.short += run.short;
        match settled {
            Ok(()) => {
                let latency = now.saturating_sub(begin);
                self.requests.finished(action, latency, now);
            }
            Err(failure) => {
                self.failure.get_or_insert(failure);
            }
        }
    }
}
