//! Running a program to its end: time, peak memory, and bytes read from devices.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::memory;
use crate::run::{Stop, cannot_start};

/// Cost of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Took {
    /// Seconds from start to end.
    pub seconds: f64,
    /// Peak of its sampled memory, MiB.
    pub peak: f64,
    /// Bytes read from devices for it, pages of the program itself included (`read_bytes` of
    /// /proc/PID/io); 0: all that it read was in memory.
    pub fetched: u64,
    /// Its exit code.
    pub code: i32,
}

/// Interval of the memory samples. Growth just before the exit may be missed.
const EVERY: Duration = Duration::from_millis(5);

/// Runs a program and discards its output.
///
/// # Errors
/// It cannot be started, was killed, or was stopped because the bench was interrupted.
pub fn run(program: &str, arguments: &[&str], stop: &Stop) -> Result<Took> {
    run_to(program, arguments, Stdio::null(), stop)
}

/// The same, with standard output to a given place.
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
        // On any error, kill and reap the program. The kill fails if it has already exited.
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
    while !wait_for(&ended) {
        stop.check()?;
        peak = memory::peak(&pid).map_or(peak, |now| peak.max(now));
    }
    let seconds = begin.elapsed().as_secs_f64();
    // It has ended and has not been reaped: until then its counters can be read.
    let fetched = fetched(&pid)?;
    let status = child.wait()?;
    let Some(code) = status.code() else {
        bail!("{program}: {status}");
    };
    Ok(Took {
        seconds,
        peak,
        fetched,
        code,
    })
}

/// Bytes that a process has read from devices.
fn fetched(pid: &str) -> Result<u64> {
    let path = format!("/proc/{pid}/io");
    let message = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    let line = message
        .lines()
        .find_map(|line| line.strip_prefix("read_bytes: "));
    let bytes = line.with_context(|| format!("{path} has no read_bytes"))?;
    Ok(bytes.parse()?)
}

/// Waits for the process to exit, at most until the next memory sample; returns whether it has. The
/// exit must be noticed at once, because some runs take only a few samples.
fn wait_for(ended: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(ended, PollFlags::IN)];
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: EVERY.subsec_nanos().into(),
    };
    // An interrupted sleep is a short one.
    poll(&mut fds, Some(&timeout)).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn time_memory_and_code_are_seen() {
        let took = run("sh", &["-c", "sleep 0.1; exit 4"], &Stop::default()).unwrap();
        assert!(took.seconds >= 0.1 && took.peak > 0.1);
        assert_eq!(took.code, 4);
        assert!(run("sh", &["-c", "kill -9 $$"], &Stop::default()).is_err());
    }

    #[test]
    fn what_comes_from_a_device_is_counted() {
        let mut file = tempfile::NamedTempFile::new_in(".").unwrap();
        file.write_all(&vec![1; 4 << 20]).unwrap();
        file.as_file().sync_all().unwrap();
        let input = format!("if={}", file.path().display());
        let read = |flag: &str| {
            let words = [&input, "of=/dev/null", "bs=1M", flag];
            run("dd", &words, &Stop::default()).unwrap()
        };
        let direct = read("iflag=direct");
        assert_eq!(direct.code, 0);
        assert!(direct.fetched >= 4 << 20, "{}", direct.fetched);
    }
}
