//! Running a program to its end, timed, with an eye on its memory.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::memory;
use crate::run::{Stop, cannot_start};

/// What a run took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Took {
    /// Seconds from start to end.
    pub seconds: f64,
    /// Most memory it was seen to have, MiB.
    pub peak: f64,
    /// Its exit code.
    pub code: i32,
}

/// How often memory is looked at. What a process has in its last moments may be missed; a peak lasts longer.
const EVERY: Duration = Duration::from_millis(5);

/// Runs a program with its output thrown away.
///
/// # Errors
/// It cannot be started, was killed, or was stopped by us because the bench is to end.
pub fn run(program: &str, arguments: &[&str], stop: &Stop) -> Result<Took> {
    run_to(program, arguments, Stdio::null(), stop)
}

/// The same, with standard output to where it is wanted.
///
/// # Errors
///
/// Those of [`run`].
pub fn run_to(program: &str, arguments: &[&str], out: Stdio, stop: &Stop) -> Result<Took> {
    let begin = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| cannot_start(program, error))?;
    let watched = watch(&mut child, program, begin, stop);
    if watched.is_err() {
        // Whatever it was, the program is not left running, nor its end unheard. One that has ended cannot be killed.
        let _ = child.kill();
        let _ = child.wait();
    }
    watched
}

/// Watches it until it ends.
fn watch(child: &mut Child, program: &str, begin: Instant, stop: &Stop) -> Result<Took> {
    let ended = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let pid = child.id().to_string();
    let mut peak = 0.0_f64;
    loop {
        if let Some(status) = child.try_wait()? {
            let seconds = begin.elapsed().as_secs_f64();
            let Some(code) = status.code() else {
                bail!("{program}: {status}");
            };
            return Ok(Took {
                seconds,
                peak,
                code,
            });
        }
        stop.check()?;
        peak = memory::peak(&pid).map_or(peak, |now| peak.max(now));
        wait_for(&ended);
    }
}

/// Sleeps until the process has ended, and no longer than to the next look at its memory: its end is to be seen at once,
/// because some runs take no more than a few such looks.
fn wait_for(ended: &OwnedFd) {
    let mut fds = [PollFd::new(ended, PollFlags::IN)];
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: EVERY.subsec_nanos().into(),
    };
    // An interrupted sleep is a short one.
    let _ = poll(&mut fds, Some(&timeout));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_memory_and_code_are_seen() {
        let took = run("sh", &["-c", "sleep 0.1; exit 4"], &Stop::default()).unwrap();
        assert!((0.1..5.0).contains(&took.seconds) && took.peak > 0.1);
        assert_eq!(took.code, 4);
        assert!(run("sh", &["-c", "kill -9 $$"], &Stop::default()).is_err());
    }
}
