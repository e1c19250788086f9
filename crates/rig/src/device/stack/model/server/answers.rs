//! What a process answers, line by line, within a time.

use std::io::{self, Read as _};
use std::process::ChildStdout;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// What a wait counts at most: this process may have been stopped meanwhile, and the other one with it.
const WAIT: Duration = Duration::from_secs(1);
/// The longest line.
const LONGEST: usize = 64 << 10;

/// Lines of a process's output.
pub(super) struct Answers {
    output: ChildStdout,
    /// What was read of the next line.
    begun: Vec<u8>,
}

impl Answers {
    pub(super) fn of(output: ChildStdout) -> Answers {
        Answers {
            output,
            begun: Vec::new(),
        }
    }

    /// The next line.
    ///
    /// # Errors
    /// `TimedOut` when it did not come in time; `UnexpectedEof`.
    pub(super) fn line(&mut self, patience: Duration) -> io::Result<String> {
        let mut waited = Duration::ZERO;
        loop {
            if let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
                let line = self.begun.drain(..=end).collect();
                return String::from_utf8(line).map_err(io::Error::other);
            }
            if waited >= patience || self.begun.len() > LONGEST {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let now = Instant::now();
            if self.waits()? {
                let mut buffer = [0; 4096];
                match self.output.read(&mut buffer)? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    n => self.begun.extend(&buffer[..n]),
                }
            } else {
                waited += now.elapsed().min(WAIT);
            }
        }
    }

    /// Whether there is something to read, after [`WAIT`] at most.
    fn waits(&self) -> io::Result<bool> {
        let time = Timespec {
            tv_sec: WAIT.as_secs() as i64,
            tv_nsec: 0,
        };
        match poll(&mut [PollFd::new(&self.output, PollFlags::IN)], Some(&time)) {
            Err(rustix::io::Errno::INTR) => Ok(false),
            ready => Ok(ready? > 0),
        }
    }
}
