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

/// How long the reader sleeps when the buffers were empty.
const POLL: Duration = Duration::from_millis(50);
/// Pages that are read of a CPU before the next has its turn.
const TURN: u32 = 256;

/// Reads all buffers into the files.
#[derive(Debug)]
pub(super) struct Reader {
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
}

impl Reader {
    /// Opens the buffers of the CPUs; the tracer has to be set before, not after.
    pub(super) fn open(
        tracefs: &Detached,
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
            pipes.push(Pipe { path, file });
        }
        Ok(Reader {
            layout,
            blk,
            pipes,
            page: vec![0; layout.size()],
            output,
            broken: 0,
        })
    }

    /// Reads until it is told to stop and the buffers are empty.
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
        match missed {
            Missed::None => {}
            Missed::Some => self.output.lost(cpu, 1),
            Missed::Counted(events) => self.output.lost(cpu, events),
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
