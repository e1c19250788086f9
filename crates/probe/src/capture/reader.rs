//! The thread that empties the ring buffer while the trace runs.
//!
//! One thread for all CPUs, that looks every 50 ms and sleeps in between. A page of 4 KiB holds about
//! 65 events and costs one read(2) and some microseconds, so one thread is good for millions of
//! events a second; a thread for each CPU would only take more time away from the load. It does not
//! sleep in poll(2): the kernel wakes a waiter at a fill level that is a setting of everybody's
//! (`buffer_percent`), and 20 wake-ups a second cost nothing.
//!
//! Pages are read, not spliced: each event has to be looked at on its way into the file of its
//! device, so splice(2) would only add a pipe. Memory is the buffer in the kernel, a page here and
//! 64 KiB for each file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::Error;
use super::detached::Detached;
use super::event;
use super::output::Output;
use super::page::{Layout, Missed};
use super::summary;

/// How long the reader sleeps when the buffers were empty.
const POLL: Duration = Duration::from_millis(50);
/// Pages that are read of a CPU before the next has its turn.
const TURN: u32 = 256;

/// Reads all buffers into the files.
#[derive(Debug)]
pub(super) struct Reader {
    tracefs: Arc<Detached>,
    layout: Layout,
    blk: u16,
    pipes: Vec<Pipe>,
    page: Vec<u8>,
    pub(super) output: Output,
    /// Pages that contradicted themselves.
    pub(super) broken: u64,
}

#[derive(Debug)]
struct Pipe {
    path: PathBuf,
    file: File,
    losses: Losses,
}

/// Losses of one CPU, passed to the output page by page, so that its gaps are where events were lost.
#[derive(Debug)]
struct Losses {
    /// Of tracefs: the buffer's own count.
    stats: String,
    /// That count when the trace began.
    before: u64,
    reported: u64,
    /// A page had no room for its number, and so the count was asked.
    asked: bool,
}

impl Reader {
    /// Opens the buffers of the CPUs; the tracer has to be set before, not after.
    pub(super) fn open(
        tracefs: &Arc<Detached>,
        (layout, blk): (Layout, u16),
        cpus: &[u32],
        output: Output,
    ) -> Result<Reader, Error> {
        let mut pipes = Vec::new();
        for cpu in cpus {
            let path = tracefs.path(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
            let file = OpenOptions::new()
                .read(true)
                .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
                .open(&path)
                .map_err(|error| Error::kernel(&path, "cannot open the trace buffer", error))?;
            let losses = Losses::new(tracefs, *cpu)?;
            pipes.push(Pipe { path, file, losses });
        }
        Ok(Reader {
            tracefs: Arc::clone(tracefs),
            layout,
            blk,
            pipes,
            page: vec![0; layout.size()],
            output,
            broken: 0,
        })
    }

    /// Reads until it is stopped and the buffers are empty.
    pub(super) fn run(mut self, stop: &Arc<AtomicBool>) -> Result<Reader, Error> {
        loop {
            // Asked before reading: what was logged before the stop is read after it.
            let stopping = stop.load(Ordering::Acquire);
            let (read, more) = self.pass()?;
            if stopping && !read {
                return Ok(self);
            }
            if !stopping && !more {
                std::thread::park_timeout(POLL);
            }
        }
    }

    /// Reads each buffer once. Whether anything was there, and whether there is more.
    fn pass(&mut self) -> Result<(bool, bool), Error> {
        let mut read = false;
        let mut more = false;
        for cpu in 0..self.pipes.len() {
            let mut pages = 0;
            while pages < TURN && self.page(cpu)? {
                pages += 1;
            }
            read |= pages > 0;
            more |= pages == TURN;
        }
        Ok((read, more))
    }

    /// Reads a page; false when there is none.
    fn page(&mut self, cpu: usize) -> Result<bool, Error> {
        let pipe = &mut self.pipes[cpu];
        let length = loop {
            match pipe.file.read(&mut self.page) {
                Ok(length) => break length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => {
                    let what = "cannot read the trace buffer";
                    return Err(Error::kernel(&pipe.path, what, error));
                }
            }
        };
        if length == 0 {
            return Ok(false);
        }
        let Ok((missed, events)) = self.layout.open(&self.page[..length]) else {
            self.broken += 1;
            return Ok(true);
        };
        if missed != Missed::None {
            let events = pipe.losses.take(missed, &self.tracefs)?;
            self.output.lost(cpu, events);
        }
        for event in events {
            let Ok(event) = event else {
                self.broken += 1;
                break;
            };
            if let Some((head, pdu)) = event::record(event.data, event.time, self.blk) {
                self.output.take(cpu, head, pdu)?;
            }
        }
        Ok(true)
    }
}

impl Losses {
    fn new(tracefs: &Detached, cpu: u32) -> Result<Losses, Error> {
        let stats = format!("per_cpu/cpu{cpu}/stats");
        let before = summary::lost(&tracefs.read(&stats)?);
        Ok(Losses {
            stats,
            before,
            reported: 0,
            asked: false,
        })
    }

    /// How many to tell before this page.
    fn take(&mut self, missed: Missed, tracefs: &Detached) -> Result<u64, Error> {
        self.asked |= missed == Missed::Some;
        let events = match missed {
            Missed::Counted(events) if !self.asked => events,
            _ => {
                let count = summary::lost(&tracefs.read(&self.stats)?);
                settle(missed, count.saturating_sub(self.before), self.reported)
            }
        };
        self.reported += events;
        Ok(events)
    }
}

/// A page that is full of events, as one in ten is, has no room for the number of those lost before
/// it. The buffer's own count has them, but may have gone on since the page was taken: what it is
/// ahead comes again with the next page's number, so no more than the count is reported.
fn settle(missed: Missed, count: u64, reported: u64) -> u64 {
    let left = count.saturating_sub(reported);
    match missed {
        Missed::None => 0,
        Missed::Some => left,
        Missed::Counted(events) => events.min(left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_without_a_number_come_from_the_count_and_are_not_told_twice() {
        // Truly lost: 10, then 20 without a number, then 30; the count is 5 ahead at the second.
        let mut reported = 10;
        reported += settle(Missed::Some, 35, reported);
        assert_eq!(reported, 35);
        reported += settle(Missed::Counted(30), 60, reported);
        assert_eq!(reported, 60);
        assert_eq!(settle(Missed::None, 99, reported), 0);
        assert_eq!(settle(Missed::Some, 60, reported), 0);
    }
}
