//! The machine's program as a child that cannot outlive its parent.
#![allow(unsafe_code)] // pre_exec, and sched_setscheduler(2), which has no safe wrapper here

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::io::FdFlags;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::Error;
use crate::programs;

/// Between two looks at a child that is about to end.
const PAUSE: Duration = Duration::from_millis(5);

/// A program to start.
#[derive(Debug)]
pub(super) struct Program {
    /// Where it is.
    pub(super) path: PathBuf,
    /// Its arguments.
    pub(super) arguments: Vec<OsString>,
    /// Added to the environment.
    pub(super) environment: Vec<(&'static str, &'static str)>,
    /// Open files that it gets, under the same numbers.
    pub(super) passed: Vec<RawFd>,
    /// Another one, owned by this value.
    pub(super) own: Option<OwnedFd>,
    /// Which CPUs it runs on.
    pub(super) cpus: Cpus,
}

/// Which CPUs a program's threads and processes run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cpus {
    /// On any that this process may use.
    Any,
    /// On one. UML's processes take turns; on two CPUs each turn waits for the other CPU to wake, which costs 2.5 to 3
    /// times.
    One,
    /// On one, and the first thread goes before those that it starts, where this process may grant that.
    ///
    /// For QEMU's clock that counts instructions. When the guest's processor halts, QEMU's main thread moves the
    /// clock to the next timer. It sees that the processor has halted a few hundred nanoseconds before the
    /// processor's thread has added what it executed last, and when it looks in between, that is counted twice: the timer
    /// expires up to a microsecond late. The main thread has work when a timer has expired; so it does that at once, while the processor's
    /// thread waits, and not beside it.
    OneFirstThreadBefore,
}

impl Program {
    /// Starts it, with stdin closed and both outputs going to `console`.
    ///
    /// It dies with the calling thread, so that thread has to wait for it.
    pub(super) fn start(&self, console: &File) -> Result<Running, Error> {
        let failed = |source| Error::Prepare {
            what: format!("cannot start {}", self.path.display()),
            source,
        };
        let both = console
            .try_clone()
            .and_then(|out| Ok((out, console.try_clone()?)));
        let (out, err) = both.map_err(failed)?;
        let mut command = Command::new(&self.path);
        command
            .args(&self.arguments)
            .envs(self.environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            // Ctrl-C is the lab's to hear: it undoes things in their order.
            .process_group(0);
        let (mut passed, parent) = (self.passed.clone(), getpid());
        passed.extend(self.own.iter().map(AsRawFd::as_raw_fd));
        let cpu = match self.cpus {
            Cpus::Any => None,
            Cpus::One | Cpus::OneFirstThreadBefore => one_cpu(),
        };
        let first_thread_before = self.cpus == Cpus::OneFirstThreadBefore;
        let prepare = move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before that call.
            if getppid() != Some(parent) {
                return Err(io::ErrorKind::NotFound.into());
            }
            if let Some(cpu) = &cpu {
                sched_setaffinity(None, cpu)?;
            }
            if first_thread_before {
                go_first();
            }
            for &number in &passed {
                // SAFETY: the parent keeps every number of `passed` open until after the fork.
                let file = unsafe { BorrowedFd::borrow_raw(number) };
                rustix::io::fcntl_setfd(file, FdFlags::empty())?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec `prepare` makes system calls on values it was given; it
        // allocates nothing and takes no lock.
        unsafe { command.pre_exec(prepare) };
        command.spawn().map(Running).map_err(failed)
    }
}

/// The CPU that this thread is on, if it may stay there: two machines begun at once are mostly
/// begun on two.
pub(super) fn one_cpu() -> Option<CpuSet> {
    let allowed = sched_getaffinity(None).ok()?;
    let here = clock::current_cpu()?;
    allowed.is_set(here).then(|| {
        let mut only = CpuSet::new();
        only.set(here);
        only
    })
}

/// Puts the calling thread into the real-time class, and none that it starts. Without the privilege nothing changes.
fn go_first() {
    let lowest = libc::sched_param { sched_priority: 1 };
    let class = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: 0 is the calling thread, and the struct outlives the call.
    unsafe { libc::sched_setscheduler(0, class, &raw const lowest) };
}

/// A machine's program that runs; dropping it ends it.
#[derive(Debug)]
pub(super) struct Running(Child);

impl Running {
    /// Its process.
    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Ends it at once and waits until it is gone.
    pub(super) fn kill(&mut self) -> Option<ExitStatus> {
        let _ = self.0.kill();
        self.0.wait().ok()
    }

    /// Waits for its own end, and not longer than `patience`.
    pub(super) fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let begun = Instant::now();
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if begun.elapsed() < patience => std::thread::sleep(PAUSE),
                _ => return None,
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// An open file's path for a program that was handed its number.
pub(super) fn by_number(file: &impl AsRawFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// The program, or the error that names its package.
pub(super) fn need(program: &str, package: &'static str) -> Result<PathBuf, Error> {
    programs::find(program).ok_or_else(|| Error::MissingProgram {
        program: program.into(),
        package,
    })
}

/// Words as arguments.
pub(super) fn words<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> Vec<OsString> {
    words
        .into_iter()
        .map(|word| word.as_ref().to_owned())
        .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A shell as a machine's program.
    pub(in super::super) fn shell(script: &str, console: &File) -> Running {
        shell_on(Cpus::One, script, console)
    }

    fn shell_on(cpus: Cpus, script: &str, console: &File) -> Running {
        let program = Program {
            path: need("sh", "dash").unwrap(),
            arguments: words(["-c", script]),
            environment: vec![("FSLAB_WORD", "word")],
            passed: Vec::new(),
            own: None,
            cpus,
        };
        program.start(console).unwrap()
    }

    #[test]
    fn its_output_goes_to_the_console_and_its_input_is_at_its_end() {
        let mut console = tempfile::tempfile().unwrap();
        let mut running = shell(
            "cat; echo $FSLAB_WORD; nproc; echo err >&2; exit 3",
            &console,
        );
        let status = running.wait(Duration::from_secs(20)).unwrap();
        assert_eq!(status.code(), Some(3));
        let mut printed = String::new();
        io::Seek::rewind(&mut console).unwrap();
        io::Read::read_to_string(&mut console, &mut printed).unwrap();
        assert_eq!(printed, "word\n1\nerr\n");
    }

    #[test]
    fn its_first_thread_goes_before_those_that_it_starts_needs_root() {
        let allowed = std::process::Command::new("chrt")
            .args(["--fifo", "1", "true"])
            .status();
        if !allowed.is_ok_and(|status| status.success()) {
            testkit::skip!("no real-time class: it needs chrt and the privilege CAP_SYS_NICE");
            return;
        }
        let mut console = tempfile::tempfile().unwrap();
        // proc(5): field 41 is the class, 1 SCHED_FIFO and 0 the ordinary one.
        let script = "nproc; cut -d' ' -f41 /proc/$$/stat; cut -d' ' -f41 /proc/self/stat; :";
        let mut running = shell_on(Cpus::OneFirstThreadBefore, script, &console);
        assert!(running.wait(Duration::from_secs(20)).unwrap().success());
        let mut printed = String::new();
        io::Seek::rewind(&mut console).unwrap();
        io::Read::read_to_string(&mut console, &mut printed).unwrap();
        assert_eq!(printed, "1\n1\n0\n");
    }

    #[test]
    fn it_dies_with_the_thread_that_runs_it() {
        let console = tempfile::tempfile().unwrap();
        let runner = std::thread::spawn(move || {
            let running = shell("exec sleep 60", &console);
            // As after a kill: nothing ends the child.
            let child = std::mem::ManuallyDrop::new(running);
            child.id()
        });
        let pid = runner.join().unwrap();
        let gone = || {
            let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            status.is_empty() || status.contains(") Z ")
        };
        let begun = Instant::now();
        while !gone() && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(PAUSE);
        }
        assert!(gone(), "pid {pid} lives");
    }

    #[test]
    fn a_program_that_is_not_there_is_named_with_its_package() {
        let printed = need("no-such-program-of-fslab", "its-package").unwrap_err();
        assert_eq!(
            printed.to_string(),
            "no-such-program-of-fslab is not installed: a guest kernel needs it; apt-get install its-package"
        );
        assert!(need("sh", "dash").is_ok());
    }
}
