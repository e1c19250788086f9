//! Running a program to its end, timed, with an eye on its memory and on what it read from devices.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
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
    /// Bytes that were fetched from devices for it, pages of the program itself included (`read_bytes` of
    /// /proc/PID/io); 0: all that it read was in memory.
    pub fetched: u64,
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

/// Bytes that devices have given a process.
fn fetched(pid: &str) -> Result<u64> {
    let path = format!("/proc/{pid}/io");
    let said = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    let line = said
        .lines()
        .find_map(|line| line.strip_prefix("read_bytes: "));
    let bytes = line.with_context(|| format!("{path} has no read_bytes"))?;
    Ok(bytes.parse()?)
}

/// Sleeps until the process has ended, and no longer than to the next look at its memory; whether it has. Its end is to be
/// seen at once, because some runs take no more than a few such looks.
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
