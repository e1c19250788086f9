//! A disk of the kernel's own driver for block devices in user space, where the kernel has it.
//!
//! One thread takes requests, moves their bytes and gives answers when the model says: it sleeps in the kernel until a request comes or an
//! answer is due. Between a request and its answer there is one change of threads in each direction, where a served file under a loop
//! device has four. While serving the thread allocates nothing itself: buffers are mapped at the start.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use device::{Model, Op};
pub use ublk::{CONTROL, Mark};
use ublk::{Control, Device, Queue, Request};

use super::pace::{Due, Pace, Work};
use super::{Does, Lead, Served, Store, in_time};

/// An answer that is due: a tag, and what the driver is to be given for it.
type Answer = (u16, i32);

/// A modelled device with a store, for the driver.
pub struct Disk {
    store: Store,
    origin: Instant,
    pace: Mutex<Pace<Answer>>,
    is: ublk::Disk,
}

/// A disk that is there.
pub struct Running<'scope> {
    control: Control,
    device: Device,
    server: std::thread::ScopedJoinHandle<'scope, io::Result<()>>,
}

impl Disk {
    /// A disk whose bytes are in a store, which is as large as the device or smaller.
    pub fn new(model: Box<dyn Model>, store: Store) -> Disk {
        let mut parts = Vec::new();
        model.usage(&mut parts);
        let is = ublk::Disk {
            size: store.size(),
            rotational: parts.iter().any(|part| part.part == "disk"),
            volatile_cache: model.has_volatile_cache(),
        };
        Disk {
            store,
            origin: Instant::now(),
            pace: Mutex::new(Pace::new(model)),
            is,
        }
    }

    /// Answers at once from now on, until [`Disk::begin`].
    pub fn hold(&self) {
        self.pace().set_lead(None);
    }

    /// Answers when the model says, less what the way to it and back takes by itself.
    pub fn begin(&self, lead: Lead) {
        self.pace().set_lead(Some(lead));
    }

    /// What it has done so far.
    pub fn served(&self) -> Served {
        self.pace().served()
    }

    /// Makes the disk with this number (none: the first that is free), and serves it by a thread of the scope. Needs root.
    ///
    /// # Errors
    /// There is no driver, the number is taken (`AlreadyExists`), or what the driver answered.
    pub fn start<'scope, 'env>(
        &'env self,
        scope: &'scope std::thread::Scope<'scope, 'env>,
        number: Option<u32>,
        mark: Mark,
    ) -> io::Result<Running<'scope>> {
        let mut control = Control::open()?;
        control.sweep(mark);
        let device = control.add(number, mark, &self.is)?;
        let (say, opened) = mpsc::channel();
        let server = scope.spawn(move || {
            in_time(Does::Answers);
            // Opened by the thread that serves it.
            match Queue::open(device) {
                Ok(queue) => {
                    let _ = say.send(Ok(()));
                    self.serve(queue)
                }
                Err(error) => {
                    let _ = say.send(Err(error));
                    Ok(())
                }
            }
        });
        let opened = opened.recv();
        let opened = opened.unwrap_or_else(|_| Err(io::Error::other("its thread ended")));
        let mut running = Running {
            control,
            device,
            server,
        };
        let started = opened.and_then(|()| running.control.start(device));
        match started {
            Ok(()) => Ok(running),
            Err(error) => {
                let _ = running.end();
                Err(error)
            }
        }
    }

    /// Serves until the device is stopped.
    fn serve(&self, mut queue: Queue) -> io::Result<()> {
        let mut due: Vec<Due<Answer>> = Vec::with_capacity(256);
        // When the answers that are due were found to be.
        let mut found = 0;
        loop {
            let next = {
                let mut pace = self.pace();
                let now = self.now();
                for lateness in due.iter().filter_map(|(_, lateness)| *lateness) {
                    pace.delayed(lateness, now.saturating_sub(found));
                }
                pace.advance(now, &mut due);
                pace.next_in(self.now())
            };
            let none_is_due = due.is_empty();
            for ((tag, result), _) in due.drain(..) {
                queue.answer(tag, result)?;
            }
            if queue.is_over() {
                return Ok(());
            }
            // Answers go to the kernel at once, and without waiting for more.
            let patience = if none_is_due {
                next.map(Duration::from_nanos)
            } else {
                Some(Duration::ZERO)
            };
            queue.wait(patience)?;
            while let Some(taken) = queue.take() {
                // A tag that was taken back has no request.
                let Ok(request) = taken else { continue };
                // The device has it from now on; moving its bytes is part of the time that it takes.
                let came = self.now();
                let result = self.moved(&mut queue, &request);
                self.submit(came, &request, result, &mut due);
                if !due.is_empty() {
                    // They leave before the bytes of further requests move.
                    found = came;
                    break;
                }
            }
        }
    }

    /// Moves the bytes of a request; what the driver is to be given for it.
    fn moved(&self, queue: &mut Queue, request: &Request) -> i32 {
        let moved = match request.op {
            ublk::Op::Flush => return 0,
            ublk::Op::Unknown => return -libc::EOPNOTSUPP,
            ublk::Op::Discard => self.store.discard(request.offset, request.len),
            ublk::Op::Read | ublk::Op::Write => match queue.bytes(request) {
                Some(bytes) if request.op == ublk::Op::Read => {
                    self.store.read(request.offset, bytes)
                }
                Some(bytes) => self.store.write(request.offset, bytes),
                None => Err(io::ErrorKind::InvalidInput.into()),
            },
        };
        match moved {
            // At most the largest request.
            Ok(()) => i32::try_from(request.len).unwrap_or(0),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => -libc::EINVAL,
            Err(_) => -libc::EIO,
        }
    }

    /// Has a request answered when the model says; one that failed at once.
    fn submit(&self, came: u64, request: &Request, result: i32, due: &mut Vec<Due<Answer>>) {
        let op = match request.op {
            ublk::Op::Read => Op::Read,
            ublk::Op::Write => Op::Write,
            ublk::Op::Flush => Op::Flush,
            ublk::Op::Discard => Op::Discard,
            ublk::Op::Unknown => {
                due.push(((request.tag, result), None));
                return;
            }
        };
        let answer = (request.tag, result);
        if result < 0 {
            due.push((answer, None));
            return;
        }
        let work = Work {
            op,
            offset: request.offset,
            len: request.len,
            fua: request.fua,
        };
        let mut pace = self.pace();
        pace.submit(came, work, answer, due);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn pace(&self) -> MutexGuard<'_, Pace<Answer>> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running<'_> {
    /// Its name in /sys/block and /dev.
    pub fn name(&self) -> String {
        self.device.name()
    }

    /// Whether it is served no more, as after its server failed.
    pub fn is_over(&self) -> bool {
        self.server.is_finished()
    }

    /// Removes it. What still uses it gets errors.
    ///
    /// # Errors
    /// The driver's, or the server's.
    pub fn end(mut self) -> io::Result<()> {
        let number = self.device.number();
        let stopped = self.control.stop(number);
        let served = self.server.join();
        let served = served.unwrap_or_else(|_| Err(io::Error::other("its thread panicked")));
        // Its node is closed now.
        let deleted = self.control.delete(number);
        stopped.and(served).and(deleted)
    }
}
