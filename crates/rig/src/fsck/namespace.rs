//! A PID namespace of its own for a checker: what is in it cannot leave it.
//!
//! A process group is left with setpgid(2), a session with setsid(2), a parent by dying; a PID
//! namespace by nothing. When its first process ends, the kernel kills all others, waits until they
//! are gone, and accepts no new one. So a timeout ends the grandchildren that made sessions of their own,
//! too, and so does a kill -9 of this process, for which no code of ours could run.
//!
//! The first process is not the checker but a child that only waits: the first process of a
//! namespace is spared signals that it does not handle, so that a checker in its place could neither
//! be asked to end nor die of its own abort(3). The checker is born second. It is our own child all
//! the same, is waited for as always, and keeps its number in /proc.
//!
//! Rejected: a control group for each check, which not every machine lets make, which has to be
//! undone after a kill, and which would take the checker out of the trial's memory limit where that
//! is a group of the same tree; PR_SET_CHILD_SUBREAPER, which makes orphans our children but does not
//! tell them from those of other threads.
//!
//! A namespace takes root. Without it there is the session, and [`super::tree`].
#![allow(
    unsafe_code,
    reason = "unshare(2) and setns(2) of a thread, fork(2) without exec"
)]

use std::fs::{self, File};
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// In which namespace children of the calling thread are born.
const OF_CHILDREN: &str = "/proc/thread-self/ns/pid_for_children";

/// A namespace with its first process.
#[derive(Debug)]
pub(super) struct Namespace {
    first: Pid,
    /// Its identity, as /proc shows it: `pid:[4026532201]`.
    name: PathBuf,
    /// The first process waits for its end, which comes at the latest with ours.
    alive: Option<OwnedFd>,
    over: bool,
}

impl Namespace {
    /// Makes one and runs `spawn`, whose children are born in it. None: this process may not.
    ///
    /// # Errors
    /// What `spawn` failed with; and when the calling thread cannot return to its own namespace.
    pub(super) fn around<T>(
        spawn: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<(T, Option<Namespace>)> {
        let Some((home, namespace)) = enter() else {
            return Ok((spawn()?, None));
        };
        let spawned = spawn();
        // SAFETY: setns(2) takes a descriptor, which is open, and a number.
        let returned = unsafe { libc::setns(home.as_raw_fd(), libc::CLONE_NEWPID) };
        if returned != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((spawned?, Some(namespace)))
    }

    /// Kills all processes in it.
    pub(super) fn kill(&mut self) {
        self.alive = None;
        if !self.over {
            let _ = kill_process(self.first, Signal::KILL);
        }
    }

    /// As our own death would.
    #[cfg(test)]
    pub(super) fn close_pipe(&mut self) {
        self.alive = None;
    }

    /// Whether a process is in it.
    pub(super) fn has(&self, process: i32) -> bool {
        process != self.first.as_raw_nonzero().get()
            && fs::read_link(name_of(process)).is_ok_and(|name| name == self.name)
    }

    /// Kills all processes in it and waits until the kernel says that they are gone; all children of
    /// ours have to be reaped before. False: they do not go within `patience`.
    pub(super) fn end(&mut self, patience: Duration) -> bool {
        self.kill();
        let begun = Instant::now();
        while !self.over {
            match waitpid(Some(self.first), WaitOptions::NOHANG) {
                Ok(None) if begun.elapsed() < patience => {
                    thread::sleep(Duration::from_millis(1));
                }
                Ok(None) => return false,
                _ => self.over = true,
            }
        }
        true
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if !self.end(Duration::from_secs(2)) {
            tracing::warn!("process {}: killed, but it does not end", self.first);
        }
    }
}

fn name_of(process: i32) -> PathBuf {
    Path::new("/proc").join(process.to_string()).join("ns/pid")
}

/// The calling thread's children are born in a new namespace from here on. The previous namespace,
/// and the new one with its first process; none when any of it cannot be had.
fn enter() -> Option<(File, Namespace)> {
    let home = File::open(OF_CHILDREN).ok()?;
    let (ours, alive) = pipe_with(PipeFlags::CLOEXEC).ok()?;
    // SAFETY: unshare(2) takes a number; CLONE_NEWPID concerns later children of this thread only.
    if unsafe { libc::unshare(libc::CLONE_NEWPID) } != 0 {
        return None;
    }
    // SAFETY: the child calls nothing but the system (`wait_for_the_end`) and never returns, so that
    // no lock that another thread holds at this moment can matter.
    let forked = match unsafe { libc::fork() } {
        // SAFETY: this is the child of a fork.
        0 => unsafe { wait_for_the_end(ours.as_raw_fd()) },
        number => Pid::from_raw(number.max(0)),
    };
    let namespace = forked.and_then(|first| {
        Some(Namespace {
            first,
            name: fs::read_link(name_of(first.as_raw_nonzero().get())).ok()?,
            alive: Some(alive),
            over: false,
        })
    });
    if namespace.is_none() {
        // SAFETY: as in `around`. No process is forked meanwhile.
        unsafe { libc::setns(home.as_raw_fd(), libc::CLONE_NEWPID) };
    }
    Some((home, namespace?))
}

/// The life of the first process: it ends when the other end of `pipe` is closed.
///
/// # Safety
/// For a child after fork(2) only: it closes every descriptor.
unsafe fn wait_for_the_end(pipe: libc::c_int) -> ! {
    // SAFETY: system calls on numbers and on a local buffer; nothing here allocates or locks. Orphans
    // are reaped by the kernel, since their end is ignored.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"fslab-first".as_ptr());
        libc::setsid();
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        libc::dup2(pipe, 0);
        if libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0) != 0 {
            for fd in 1..4096 {
                libc::close(fd);
            }
        }
        let mut byte = mem::zeroed::<u8>();
        loop {
            let read = libc::read(0, (&raw mut byte).cast(), 1);
            if read == 0 || (read < 0 && *libc::__errno_location() != libc::EINTR) {
                libc::_exit(0);
            }
        }
    }
}
