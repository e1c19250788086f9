//! A checker as a process: its own session and PID namespace, nothing of ours but its output, and an
//! end that leaves no process.
//!
//! The leader is reaped last. Until then its number cannot be given to anyone else, so signals to
//! its group and the search for its children hit no other process.
//!
//! The kernel counts the memory of the process that forks as the child's peak, until the child has
//! used more. How much that is the child itself asks before it becomes the checker, so that it is
//! known whether the peak reported at the end is the checker's own.
#![allow(
    unsafe_code,
    reason = "pre_exec, getrusage(2), and wait4(2), which is not wrapped by rustix"
)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open,
    set_parent_process_death_signal, setsid,
};

use workload::clock::now_ns;

use super::namespace::Namespace;
use super::report::{Exit, Usage};
use super::tree::{self, Tree};

/// A running checker. Dropped before it is reaped, it is killed with its children.
#[derive(Debug)]
pub(super) struct Process {
    pid: Pid,
    reaped: bool,
    /// Just before it was forked, CLOCK_MONOTONIC.
    begun_ns: u64,
    /// The peak that it was born with, KiB.
    inherited: u64,
    hold: Hold,
}

/// What keeps its children together.
#[derive(Debug)]
enum Hold {
    Namespace(Namespace),
    Tree(Tree),
}

/// By how much a peak must exceed the one it was born with, KiB: the kernel counts pages for each
/// CPU and adds up periodically, and the child touches a few before it becomes the checker.
const MARGIN: u64 = 512;

/// Exit status and resource usage of a process that ended.
#[derive(Debug)]
pub(super) struct ProcessResult {
    /// Exit code or signal.
    pub(super) exit: Exit,
    /// Of it and of the children it waited for; `elapsed` is 0.
    pub(super) usage: Usage,
    /// `usage.max_rss` is the checker's own, not that of the process that forked.
    pub(super) own_peak: bool,
}

/// Starts a program whose output goes to `out`; with a limit of locked memory in bytes, or none.
pub(super) fn start(argv: &[String], out: OwnedFd, locked: Option<u64>) -> io::Result<Process> {
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
    if let Some(bytes) = locked {
        // SAFETY: prctl(2) and setrlimit(2) are async-signal-safe and touch no memory of the parent.
        unsafe {
            command.pre_exec(move || lock_at_most(bytes));
        }
    }
    let (peak_from_child, born_with) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    // SAFETY: getrusage(2) and write(2) are async-signal-safe; the descriptor is open in the child.
    unsafe {
        let born_with = born_with.as_raw_fd();
        command.pre_exec(move || {
            let peak = peak_of_the_caller().to_ne_bytes();
            libc::write(born_with, peak.as_ptr().cast(), peak.len());
            Ok(())
        });
    }
    let ((begun_ns, child), namespace) = spawn(&mut command)?;
    let pid = Pid::from_child(&child);
    let mut peak = [0; 8];
    let known = rustix::io::read(&peak_from_child, &mut peak) == Ok(peak.len());
    Ok(Process {
        pid,
        reaped: false,
        begun_ns,
        inherited: if known {
            u64::from_ne_bytes(peak)
        } else {
            u64::MAX
        },
        hold: match namespace {
            Some(namespace) => Hold::Namespace(namespace),
            None => Hold::Tree(Tree::of(pid)),
        },
    })
}

#[cfg(not(test))]
fn spawn(command: &mut Command) -> io::Result<(Born, Option<Namespace>)> {
    Namespace::around(|| fork(command))
}

/// A child, and when it was forked: the namespace is made before the clock starts.
type Born = (u64, Child);

fn fork(command: &mut Command) -> io::Result<Born> {
    let begun_ns = now_ns();
    Ok((begun_ns, command.spawn()?))
}

/// Limits the memory that the calling process may lock, after exec(2): root ignores the limit by a capability, which goes as well. A system that
/// lets not even root raise the limit (a container's rules) leaves it as it is: the program then locks what it likes.
fn lock_at_most(bytes: u64) -> io::Result<()> {
    /// Of linux/capability.h.
    const CAP_IPC_LOCK: libc::c_ulong = 14;
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: the pointer is to an initialised rlimit; PR_CAPBSET_DROP takes a number.
    let done = unsafe {
        libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) == 0
            && libc::prctl(libc::PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0) == 0
    };
    match io::Error::last_os_error() {
        _ if done => Ok(()),
        error if error.raw_os_error() == Some(libc::EPERM) => Ok(()),
        error => Err(error),
    }
}

/// Largest resident memory of the calling process so far, KiB.
fn peak_of_the_caller() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a writable rusage, of which all-zero is a valid one.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    u64::try_from(usage.ru_maxrss).unwrap_or(u64::MAX)
}

impl Process {
    /// When it was forked, CLOCK_MONOTONIC.
    pub(super) fn begun_ns(&self) -> u64 {
        self.begun_ns
    }

    /// Its number, and that of its group and session.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Becomes readable when it ends.
    pub(super) fn watch(&self) -> io::Result<OwnedFd> {
        Ok(pidfd_open(self.pid, PidfdFlags::empty())?)
    }

    /// Looks who its children are, where nothing else keeps them together.
    pub(super) fn look(&mut self) {
        if let Hold::Tree(tree) = &mut self.hold {
            tree.look();
        }
    }

    /// Signals the whole group.
    pub(super) fn signal(&self, signal: Signal) {
        if !self.reaped {
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// Kills everything that it has started, in whatever session it is, and waits until it is gone.
    /// The leader itself stays to be reaped. Returns the numbers of those that do not go.
    pub(super) fn end_children(&mut self, patience: Duration) -> Vec<i32> {
        let begun = Instant::now();
        if let Hold::Namespace(namespace) = &mut self.hold {
            namespace.kill();
        }
        loop {
            let left = self.children();
            if left.is_empty() || begun.elapsed() > patience {
                return left;
            }
            if matches!(self.hold, Hold::Tree(_)) {
                for pid in left.iter().filter_map(|pid| Pid::from_raw(*pid)) {
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Living processes that it has started.
    fn children(&mut self) -> Vec<i32> {
        let leader = self.pid.as_raw_nonzero().get();
        match &mut self.hold {
            Hold::Namespace(namespace) => tree::processes()
                .filter(|pid| *pid != leader && namespace.has(*pid) && tree::lives(*pid))
                .collect(),
            Hold::Tree(tree) => tree.living(),
        }
    }

    /// Waits for the leader, which has ended.
    pub(super) fn reap(mut self) -> io::Result<ProcessResult> {
        let (status, usage) = wait(self.pid, 0)?.ok_or(io::ErrorKind::WouldBlock)?;
        self.reaped = true;
        Ok(ProcessResult {
            exit: exit_of(status),
            own_peak: usage.max_rss > self.inherited.saturating_add(MARGIN),
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

#[cfg(test)]
thread_local! {
    /// Tests of the way without a namespace.
    pub(super) static NO_NAMESPACE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[cfg(test)]
fn spawn(command: &mut Command) -> io::Result<(Born, Option<Namespace>)> {
    if NO_NAMESPACE.get() {
        return Ok((fork(command)?, None));
    }
    Namespace::around(|| fork(command))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn shell(script: &str) -> Process {
        let null = fs::OpenOptions::new()
            .write(true)
            .open("/dev/null")
            .unwrap();
        let argv = ["/bin/sh", "-c", script].map(String::from);
        start(&argv, null.into(), None).unwrap()
    }

    fn wait_for_children(process: &mut Process, count: usize) {
        let begun = Instant::now();
        while process.children().len() < count {
            assert!(begun.elapsed() < testkit::HANGS, "{count} children");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// With a namespace, where this process may make one, and without.
    fn both_ways(test: impl Fn()) {
        for without in [false, true] {
            NO_NAMESPACE.set(without);
            test();
        }
        NO_NAMESPACE.set(false);
    }

    #[test]
    fn children_are_found_and_ended_also_in_sessions_of_their_own() {
        both_ways(|| {
            let mut process = shell("sleep 60 & setsid sh -c 'setsid sleep 60 & sleep 60' & wait");
            wait_for_children(&mut process, 4);
            assert!(process.end_children(Duration::from_secs(5)).is_empty());
            assert!(process.children().is_empty());
            process.signal(Signal::KILL);
            process.reap().unwrap();
        });
    }

    #[test]
    fn the_session_is_its_own() {
        let process = shell("exec sleep 60");
        let sid = rustix::process::getsid(Some(process.pid())).unwrap();
        assert_eq!(sid, process.pid());
    }

    #[test]
    fn one_that_is_dropped_is_gone_with_its_children() {
        both_ways(|| {
            let mut process = shell("sleep 60 & setsid sleep 1000 & wait");
            wait_for_children(&mut process, 2);
            let (pid, children) = (process.pid(), process.children());
            drop(process);
            assert!(children.iter().all(|child| !tree::lives(*child)));
            assert!(!Path::new(&format!("/proc/{pid}")).exists());
        });
    }

    /// The kernel ends what is in a namespace when its first process ends, which does so with us:
    /// here the end of the pipe means that.
    #[test]
    fn a_checker_whose_lab_dies_is_gone_needs_root() {
        if !testkit::root!() {
            return;
        }
        let mut process = shell("setsid sleep 1000 & wait");
        wait_for_children(&mut process, 1);
        let children = process.children();
        let Hold::Namespace(namespace) = &mut process.hold else {
            panic!("no namespace for root");
        };
        namespace.close_pipe();
        let begun = Instant::now();
        while children.iter().any(|child| tree::lives(*child)) {
            assert!(begun.elapsed() < testkit::HANGS, "{children:?} live");
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(process.reap().unwrap().exit, Exit::Signal(9));
    }

    /// A thread that made a namespace has its own children at home again.
    #[test]
    fn later_children_are_not_in_it() {
        let of_children = || fs::read_link("/proc/thread-self/ns/pid_for_children").unwrap();
        let before = of_children();
        drop(shell("true"));
        assert_eq!(of_children(), before);
        thread::spawn(|| ()).join().unwrap();
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
}
