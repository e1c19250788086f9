//! The wait: one thread that reads what arrives, looks at the counters at each boundary, and ends
//! what does not end by itself.
//!
//! One thread, because the kernel's death signal is bound to the thread that forked, and because
//! the moment of a line is the moment when the wait for it returned.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use progress::{Progress, Step};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;
use workload::clock::now_ns;

use super::checker::Checker;
use super::output::Output;
use super::process::Process;
use super::sampler::{Meter, Reading};
use super::timeline::{Ledger, WHOLE};

/// How long a wait lasts at most before the memory, the time and the request to stop are looked at.
const SLICE: Duration = Duration::from_millis(50);
/// How long a killed process may take to end: longer than a disk's own timeouts.
const AFTER_KILL: Duration = Duration::from_secs(120);

/// Why a checker was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Its time was up.
    TimedOut,
    /// It was asked to stop.
    Cancelled,
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessEnd {
    /// When the end was seen, nanoseconds.
    pub(super) end_ns: u64,
    /// Why it was ended, if it was.
    pub(super) cut: Option<Cut>,
}

/// Everything that the wait works with.
pub(super) struct Watch<'a> {
    pub(super) checker: &'static dyn Checker,
    pub(super) process: &'a mut Process,
    pub(super) meter: &'a mut Meter,
    pub(super) ledger: &'a mut Ledger,
    pub(super) output: &'a mut Output,
    pub(super) progress: &'a dyn Progress,
    pub(super) passes: Passes,
    /// From the start to SIGTERM.
    pub(super) timeout: Duration,
    /// From SIGTERM to SIGKILL.
    pub(super) grace: Duration,
}

/// How far the ending of a process has come.
#[derive(Clone, Copy, Debug)]
enum Ending {
    No,
    Asked(Cut, Instant),
    Killed(Cut, Instant),
}

impl Watch<'_> {
    /// Waits for the end of the process.
    ///
    /// # Errors
    /// When it cannot be waited for, or does not end although it was killed.
    pub(super) fn until_end(&mut self, ours: &OwnedFd) -> io::Result<ProcessEnd> {
        let pidfd = self.process.watch()?;
        let (begun, mut ending, mut open) = (Instant::now(), Ending::No, true);
        let mut looked = Instant::now();
        self.progress.foresee(self.checker.passes().into());
        self.progress.begin(Step::new(WHOLE));
        loop {
            let (ended, readable) = wait(&pidfd, open.then_some(ours))?;
            let at = now_ns();
            if readable {
                open = self.listen(ours, at)?;
            }
            if ended {
                let cut = match ending {
                    Ending::No => None,
                    Ending::Asked(cut, _) | Ending::Killed(cut, _) => Some(cut),
                };
                return Ok(ProcessEnd { end_ns: at, cut });
            }
            if looked.elapsed() >= SLICE {
                looked = Instant::now();
                self.meter.look_at_memory(now_ns());
                self.process.look();
                ending = self.end_if_due(ending, begun)?;
            }
        }
    }

    /// Reads all that has come. False: nothing can come any more.
    pub(super) fn listen(&mut self, ours: &OwnedFd, at: u64) -> io::Result<bool> {
        let mut buffer = [0_u8; 8 << 10];
        match rustix::io::read(ours, &mut buffer) {
            Ok(0) | Err(Errno::IO) => Ok(false), // EIO: the other end of a terminal is closed.
            Ok(count) => {
                self.parse(&buffer[..count], at);
                Ok(true)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    fn parse(&mut self, bytes: &[u8], at: u64) {
        let (checker, meter, ledger) = (self.checker, &mut *self.meter, &mut *self.ledger);
        let mut taken: Option<Reading> = None;
        self.output.take(bytes, |line| {
            let Some(event) = checker.read(line) else {
                return;
            };
            let reading = taken.get_or_insert_with(|| meter.read(at));
            ledger.take(event, reading);
        });
        let pass = ledger.open_pass();
        self.passes.report(pass, self.checker, self.progress);
    }

    fn end_if_due(&self, ending: Ending, begun: Instant) -> io::Result<Ending> {
        match ending {
            Ending::No => {
                let cut = if self.progress.cancelled() {
                    Cut::Cancelled
                } else if begun.elapsed() >= self.timeout {
                    Cut::TimedOut
                } else {
                    return Ok(Ending::No);
                };
                self.process.signal(Signal::TERM);
                Ok(Ending::Asked(cut, Instant::now()))
            }
            Ending::Asked(cut, asked) if asked.elapsed() >= self.grace => {
                self.process.signal(Signal::KILL);
                Ok(Ending::Killed(cut, Instant::now()))
            }
            Ending::Killed(_, killed) if killed.elapsed() >= AFTER_KILL => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "killed, but it does not end: its device does not answer",
            )),
            other => Ok(other),
        }
    }
}

/// The passes of a checker as steps.
#[derive(Debug, Default)]
pub(super) struct Passes {
    /// The pass that was reported last.
    current: Option<u8>,
    /// Passes reported as done.
    done: u64,
}

impl Passes {
    /// Reports the pass that runs now, if it is another one.
    fn report(&mut self, pass: Option<u8>, checker: &dyn Checker, progress: &dyn Progress) {
        if pass == self.current {
            return;
        }
        self.current = pass;
        let before = pass.map_or(0, |pass| u64::from(pass.saturating_sub(1)));
        progress.advance(before.saturating_sub(self.done));
        self.done = self.done.max(before);
        progress.begin(pass.map_or(Step::new(WHOLE), |pass| {
            Step::new(format!("{WHOLE}_pass_{}", checker.label(pass)))
        }));
    }
}

/// Whether the process has ended, and whether something can be read.
fn wait(pidfd: &OwnedFd, ours: Option<&OwnedFd>) -> io::Result<(bool, bool)> {
    let slice = Timespec {
        tv_sec: 0,
        tv_nsec: SLICE.subsec_nanos().into(),
    };
    let mut fds = vec![PollFd::new(pidfd, PollFlags::IN)];
    fds.extend(ours.map(|ours| PollFd::new(ours, PollFlags::IN)));
    match poll(&mut fds, Some(&slice)) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok((false, false)),
        Err(error) => return Err(error.into()),
    }
    let ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
    Ok((ready(0), ready(1)))
}
