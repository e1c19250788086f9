//! Several reads in flight without `io_uring`: as many threads as reads.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use super::{Core, Direct};
use crate::error::OpenError;
use crate::queue::{Completion, Queue, Request};

/// More would cost more in switches than any device gives back.
const MOST: usize = 64;

/// Threads that take requests from one channel and put completions on another.
pub(super) struct Threads {
    depth: usize,
    in_flight: usize,
    /// `None` once the queue is being dropped: the threads end.
    requests: Option<Sender<Request>>,
    completions: Receiver<Completion>,
    workers: Vec<JoinHandle<()>>,
}

impl Threads {
    pub(super) fn new(core: &Arc<Core>, depth: usize) -> Result<Threads, OpenError> {
        let depth = depth.clamp(1, MOST);
        let (requests, inbox) = channel();
        let (outbox, completions) = channel();
        let mut queue = Threads {
            depth,
            in_flight: 0,
            requests: Some(requests),
            completions,
            workers: Vec::with_capacity(depth),
        };
        let inbox = Arc::new(Mutex::new(inbox));
        for _ in 0..depth {
            let source = Direct {
                core: Arc::clone(core),
            };
            let (inbox, outbox) = (Arc::clone(&inbox), outbox.clone());
            let worker = Builder::new()
                .name("blockio".into())
                .spawn(move || work(&source, &inbox, &outbox));
            match worker {
                Ok(worker) => queue.workers.push(worker),
                // Fewer threads serve the same requests, only fewer at once.
                Err(_) if !queue.workers.is_empty() => break,
                Err(source) => {
                    return Err(OpenError::Queue {
                        name: Arc::clone(core.handle.name()),
                        depth,
                        source,
                    });
                }
            }
        }
        Ok(queue)
    }
}

/// Reads until the channel of requests is closed.
fn work(source: &Direct, inbox: &Mutex<Receiver<Request>>, outbox: &Sender<Completion>) {
    loop {
        let next = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(request) = next else { return };
        if outbox.send(request.read(source)).is_err() {
            return;
        }
    }
}

impl Queue for Threads {
    fn depth(&self) -> usize {
        self.depth
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn submit(&mut self, request: Request) -> Result<(), Request> {
        let Some(requests) = self.requests.as_ref().filter(|_| self.has_room()) else {
            return Err(request);
        };
        requests.send(request).map_err(|refused| refused.0)?;
        self.in_flight += 1;
        Ok(())
    }

    fn wait(&mut self) -> Option<Completion> {
        if self.in_flight == 0 {
            return None;
        }
        let completion = self.completions.recv().ok()?;
        self.in_flight -= 1;
        Some(completion)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.requests = None;
        for worker in self.workers.drain(..) {
            // A panic of a reader has been reported where it happened.
            let _ = worker.join();
        }
    }
}
