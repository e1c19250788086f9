//! A checker as a process: its own session, nothing of ours but its output, and an end that leaves
//! nothing behind.
//!
//! The leader is reaped last. Until then its number cannot be given to anyone else, so signals to
//! its group and the search for its session hit nobody but its own children.
#![allow(
    unsafe_code,
    reason = "pre_exec, and wait4(2), which is not wrapped by rustix"
)]

use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open,
    set_parent_process_death_signal, setsid,
};

use super::meter::status_kib;
use super::report::{Exit, Usage};

/// A running checker. Dropped before it is reaped, it is killed with its children.
#[derive(Debug)]
pub(super) struct Process {
    pid: Pid,
    reaped: bool,
    /// Our resident memory when it was forked, KiB: the kernel counts that as the child's peak.
    inherited: u64,
}

/// What is known at the end.
#[derive(Debug)]
pub(super) struct Ended {
    /// How.
    pub(super) exit: Exit,
    /// Of it and of the children it waited for; `elapsed` is 0.
    pub(super) usage: Usage,
    /// `usage.max_rss` is the checker's own, not that of the process that forked.
    pub(super) own_peak: bool,
}

/// Starts a program whose output goes to `out`.
pub(super) fn start(argv: &[String], out: OwnedFd) -> io::Result<Process> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .env("LC_ALL", "C")
        .env(
            "PATH",
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        )
        .env("TERM", "dumb")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(out);
    // SAFETY: setsid(2) and prctl(2) are async-signal-safe and touch no memory of the parent.
    unsafe {
        command.pre_exec(|| {
            setsid()?;
            set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from)
        });
    }
    let before = resident_kib();
    let child = command.spawn()?;
    Ok(Process {
        pid: Pid::from_child(&child),
        reaped: false,
        inherited: before.max(resident_kib()),
    })
}

impl Process {
    /// Its number, and that of its group and session.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Becomes readable when it ends.
    pub(super) fn watch(&self) -> io::Result<OwnedFd> {
        Ok(pidfd_open(self.pid, PidfdFlags::empty())?)
    }

    /// Signals the whole group.
    pub(super) fn signal(&self, signal: Signal) {
        if !self.reaped {
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// Kills whatever is left of its session but the leader itself, and waits until it is gone.
    /// Returns the numbers of those that do not go.
    pub(super) fn end_children(&self, patience: Duration) -> Vec<i32> {
        let begun = Instant::now();
        loop {
            let left = members(self.pid);
            if left.is_empty() || begun.elapsed() > patience {
                return left;
            }
            for pid in left.iter().filter_map(|pid| Pid::from_raw(*pid)) {
                let _ = kill_process(pid, Signal::KILL);
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for the leader, which has ended.
    pub(super) fn reap(mut self) -> io::Result<Ended> {
        let (status, usage) = wait(self.pid, 0)?.ok_or(io::ErrorKind::WouldBlock)?;
        self.reaped = true;
        Ok(Ended {
            exit: exit_of(status),
            own_peak: usage.max_rss > self.inherited + 512,
            usage,
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        self.signal(Signal::KILL);
        self.end_children(Duration::from_secs(2));
        // A process in an uninterruptible wait for its device cannot be waited for without end.
        for _ in 0..200 {
            match wait(self.pid, libc::WNOHANG) {
                Ok(None) => thread::sleep(Duration::from_millis(10)),
                _ => return,
            }
        }
        tracing::warn!("process {}: killed, but it does not end", self.pid);
    }
}

/// wait4(2). `None`: it has not ended (with WNOHANG).
fn wait(pid: Pid, flags: libc::c_int) -> io::Result<Option<(ExitStatus, Usage)>> {
    let mut status: libc::c_int = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to writable memory of the types that wait4 writes. An all-zero
        // rusage is valid, so it may be read whatever the call did.
        let (answer, usage) = unsafe {
            let pid = pid.as_raw_nonzero().get();
            let answer = libc::wait4(pid, &raw mut status, flags, usage.as_mut_ptr());
            (answer, usage.assume_init())
        };
        if answer > 0 {
            return Ok(Some((ExitStatus::from_raw(status), usage_of(&usage))));
        }
        let error = io::Error::last_os_error();
        if answer == 0 {
            return Ok(None);
        } else if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or(0)),
    }
}

fn usage_of(usage: &libc::rusage) -> Usage {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let count = |number: libc::c_long| u64::try_from(number).unwrap_or(0);
    Usage {
        elapsed: 0.0,
        user: seconds(usage.ru_utime),
        system: seconds(usage.ru_stime),
        max_rss: count(usage.ru_maxrss),
        inputs: count(usage.ru_inblock),
        outputs: count(usage.ru_oublock),
        major_faults: count(usage.ru_majflt),
        minor_faults: count(usage.ru_minflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
    }
}

fn resident_kib() -> u64 {
    fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|text| status_kib(&text, "VmRSS:"))
        .unwrap_or(0)
}

/// Living processes of a session other than its leader.
fn members(leader: Pid) -> Vec<i32> {
    let session = leader.as_raw_nonzero().get();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| *pid != session)
        .filter(|pid| lives_in(&Path::new("/proc").join(pid.to_string()), session))
        .collect()
}

fn lives_in(folder: &Path, session: i32) -> bool {
    fs::read_to_string(folder.join("stat"))
        .ok()
        .and_then(|text| state_and_session(&text))
        .is_some_and(|(state, of)| of == session && !matches!(state, 'Z' | 'X'))
}

/// Fields 3 and 6 of /proc/PID/stat.
fn state_and_session(text: &str) -> Option<(char, i32)> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(2)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        let null = fs::OpenOptions::new()
            .write(true)
            .open("/dev/null")
            .unwrap();
        let argv = ["/bin/sh", "-c", script].map(String::from);
        start(&argv, null.into()).unwrap()
    }

    #[test]
    fn the_session_is_its_own_and_its_members_are_found() {
        let process = shell("sleep 60 & sleep 60 & wait");
        let pid = process.pid();
        while members(pid).len() < 2 {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(process.end_children(Duration::from_secs(5)).is_empty());
        let ended = process.reap().unwrap();
        assert_eq!(ended.exit, Exit::Code(0));
        assert!(members(pid).is_empty());
    }

    #[test]
    fn one_that_is_dropped_is_gone_with_its_children() {
        let process = shell("sleep 60 & wait");
        let pid = process.pid();
        while members(pid).is_empty() {
            thread::sleep(Duration::from_millis(5));
        }
        drop(process);
        assert!(members(pid).is_empty());
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn a_small_program_does_not_inherit_our_peak() {
        let ballast = vec![1_u8; 64 << 20];
        let process = shell("true");
        let inherited = process.inherited;
        std::hint::black_box(&ballast);
        let ended = process.reap().unwrap();
        assert!(inherited > 64 << 10, "{inherited}");
        assert!(!ended.own_peak, "{:?} of {inherited}", ended.usage);
    }

    #[test]
    fn state_and_session_are_found_behind_any_name() {
        let stat = "42 (a) b (c)) S 1 41 40 0 -1";
        assert_eq!(state_and_session(stat), Some(('S', 40)));
        assert_eq!(state_and_session("42 (a"), None);
        assert_eq!(state_and_session(") S 1"), None);
    }
}
