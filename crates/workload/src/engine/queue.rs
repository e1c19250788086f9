//! The loop of the engines that keep several requests in flight.
//!
//! What differs between the kernel's interfaces is how a request is put on, handed over and found
//! complete: the four calls of [`Queue`]. All else is one loop: filling the queue while there are
//! records and free slots and no flag is up, counting what completes, and after the first failure
//! waiting for what is in flight without beginning anything. It is compiled for each interface, so
//! the calls cost what they would cost inside it.
#![allow(unsafe_code, reason = "requests hand the kernel a slot of the buffer")]

use std::io;

use super::slots::{Completion, Slots};
use super::{ABORT, Capabilities, Engine, Failure, Job, Kind, Latency, Run};

/// An interface of the kernel that takes requests and reports their completion later.
pub(super) trait Queue {
    /// The engine that it makes.
    const KIND: Kind;
    /// What it calls the thing that was made for records of a size.
    const THING: &'static str;

    /// Puts on a request for the `job.record` bytes at `offset` through the slot at `place`;
    /// whether there was room for it.
    ///
    /// # Safety
    /// The bytes at `place` stay valid, and nothing else touches them, until [`Queue::completion`]
    /// or [`Queue::withdraw`] has given the slot back, or the kernel has let go of this queue.
    unsafe fn push(&mut self, job: &Job<'_>, slot: u16, place: *mut u8, offset: u64) -> bool;

    /// Puts on an fsync of the job's file, which uses no bytes of the slot; whether there was room.
    fn push_fsync(&mut self, job: &Job<'_>, slot: u16) -> bool;

    /// Hands over what was put on, as far as the kernel takes it now, and waits for this number of
    /// completions, if anything is in flight.
    ///
    /// # Errors
    /// A request was refused, or nothing can be waited for any more.
    fn submit(&mut self, wait: usize) -> Result<(), Refusal>;

    /// The same for one completion, but waits no longer than this many nanoseconds.
    ///
    /// # Errors
    /// As [`Queue::submit`].
    fn submit_for(&mut self, nanoseconds: u64) -> Result<(), Refusal>;

    /// The next request that is complete, if its completion has come.
    fn completion(&mut self) -> Option<Completion>;

    /// A slot whose request was put on and will not be handed over; it is as if never begun.
    fn withdraw(&mut self) -> Option<u16>;
}

/// Why requests are not in flight.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The request of this slot was refused, and those after it were not examined.
    Request(u16, io::Error),
    /// The queue itself is broken: what is in flight cannot be waited for any more.
    Broken(io::Error),
}

/// An engine with a queue and as many slots as requests may be in flight.
///
/// The queue is dropped before the slots; a queue that is dropped while requests are in flight,
/// after its own error or a panic, leaves them without their buffer's end: the buffer is then
/// given up for good.
pub(super) struct Queued<Q> {
    pub(super) queue: Q,
    pub(super) slots: Slots,
}

/// How far a run has come.
struct Course<'a> {
    job: &'a Job<'a>,
    watch: u32,
    from: u64,
    run: Run,
    /// Where the run began, and one more for each record that is whole.
    done: u64,
    failure: Option<Failure>,
}

impl Course<'_> {
    /// Counts a record, or keeps the first failure.
    #[inline]
    fn count(&mut self, settled: Result<(), Failure>) {
        match settled {
            Ok(()) => {
                self.done += 1;
                self.run.counted += u64::from(!self.job.flags.up(self.watch));
                self.job.done.show(self.done);
            }
            Err(failure) => self.fail(failure),
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    fn result(self) -> Result<Run, Failure> {
        match self.failure {
            None => Ok(self.run),
            Some(failure) => Err(Failure {
                transferred: (self.done - self.from) * self.job.record as u64,
                ..failure
            }),
        }
    }
}

/// A failure of the queue, not of a record.
fn broken(source: io::Error) -> Failure {
    Failure {
        transferred: 0,
        offset: 0,
        source,
    }
}

impl<Q: Queue> Queued<Q> {
    /// Puts requests on while there are records and free slots and no flag is up.
    #[inline]
    pub(super) fn fill(&mut self, job: &Job<'_>, run: &mut Run, watch: u32, timed: bool) {
        let records = job.order.records();
        while run.position < records && self.slots.free() > 0 {
            if job.flags.up(watch) {
                run.stopped = true;
                return;
            }
            let Some((slot, offset)) = self.slots.take(job, run.position, timed) else {
                return;
            };
            let place = self.slots.place(slot);
            // SAFETY: the slot's bytes are inside the buffer (`run` refuses larger records), and
            // nothing touches them while it is not free. If it never is again, because the queue
            // failed or something panicked, the buffer is not freed. The file's descriptor is open
            // now; the kernel holds the file once the request is handed over.
            let has_room = unsafe { self.queue.push(job, slot, place, offset) };
            if !has_room {
                // This record waits for its turn, or `run` fails if there is none to wait for.
                self.slots.give_back(slot);
                return;
            }
            run.position += 1;
        }
    }

    /// Hands over what was put on. A request that is refused is the run's failure.
    fn submit(&mut self, course: &mut Course<'_>, wait: usize) -> Result<(), io::Error> {
        match self.queue.submit(wait) {
            Ok(()) => Ok(()),
            Err(Refusal::Request(slot, source)) => {
                course.fail(Failure {
                    transferred: 0,
                    offset: self.slots.offset(course.job, slot),
                    source,
                });
                self.withdraw();
                Ok(())
            }
            Err(Refusal::Broken(source)) => Err(source),
        }
    }

    fn withdraw(&mut self) {
        while let Some(slot) = self.queue.withdraw() {
            self.slots.give_back(slot);
        }
    }

    /// Until nothing is in flight and nothing more is to begin.
    ///
    /// # Errors
    /// The queue is broken.
    fn drive(
        &mut self,
        course: &mut Course<'_>,
        mut latency: Option<&mut Latency>,
    ) -> io::Result<()> {
        let job = course.job;
        let (watch, timed) = (course.watch | ABORT, latency.is_some());
        loop {
            if course.failure.is_none() {
                self.fill(job, &mut course.run, watch, timed);
            } else {
                self.withdraw();
            }
            if self.slots.in_use() == 0 {
                let run = &course.run;
                if course.failure.is_none() && !run.stopped && run.position < job.order.records() {
                    let full = "the submission queue is full although nothing is in flight";
                    course.fail(broken(io::Error::other(full)));
                }
                return Ok(());
            }
            self.submit(course, 1)?;
            while let Some(done) = self.queue.completion() {
                let latency = latency.as_deref_mut();
                let settled = self.slots.settle(job, done, &mut course.run, latency);
                course.count(settled);
                if job.is_slow_to_check() && course.failure.is_none() {
                    // The device is not to wait until all that have come are checked.
                    self.fill(job, &mut course.run, watch, timed);
                    self.submit(course, 0)?;
                }
            }
        }
    }
}

impl<Q: Queue> Engine for Queued<Q> {
    fn capabilities(&self) -> Capabilities {
        Q::KIND.capabilities()
    }

    fn run(
        &mut self,
        job: &Job<'_>,
        from: u64,
        watch: u32,
        latency: Option<&mut Latency>,
    ) -> Result<Run, Failure> {
        if job.record > self.slots.size() {
            return Err(broken(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("the {} was made for smaller records", Q::THING),
            )));
        }
        let mut course = Course {
            job,
            watch,
            from,
            run: Run {
                position: from,
                ..Run::default()
            },
            done: from,
            failure: None,
        };
        if let Err(source) = self.drive(&mut course, latency) {
            // What is in flight cannot be waited for any more, so the buffer is not freed.
            course.failure = Some(broken(source));
        }
        course.result()
    }
}
