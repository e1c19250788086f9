//! `fslab trace record`: block traces while a command runs, for a time, or until it is stopped.
//!
//! The recording is the probes' work. What is added here is what surrounds it: the journal in the
//! output folder, so that `fslab clean` can switch tracing off after a kill -9, and the command.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use probe::capture::{Mask, Options, Plan, Recording, Summary};
use rig::undo::{Journal, Step};
use rundir::{Authority, RunDir};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::{Error, Interrupt};

/// How often a recording looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);
/// How long a command may take to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(5);

/// What to record, and for how long.
#[derive(Clone, Debug)]
pub struct Request {
    /// Nodes of the devices.
    pub devices: Vec<PathBuf>,
    /// Folder for the files; made if it is not there.
    pub out: PathBuf,
    /// Categories of events.
    pub mask: Mask,
    /// Bytes of the kernel's buffer for each CPU.
    pub buffer: u64,
    /// Ends after this time at the latest.
    pub time: Option<Duration>,
    /// Program and arguments to run; the recording ends with it.
    pub command: Vec<OsString>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// A summary for each device.
    pub traces: Vec<Summary>,
    /// How the command ended.
    pub command: Option<ExitStatus>,
}

/// Records.
///
/// # Errors
/// When the request is wrong, the machine does not allow it, or a file cannot be written. Whatever
/// was switched on is switched off.
pub fn record(request: &Request, interrupt: &Interrupt) -> Result<Recorded, Error> {
    let options = Options {
        devices: request.devices.clone(),
        out: request.out.clone(),
        mask: request.mask,
        buffer: request.buffer,
    };
    // Whose folder it is comes before what can be traced here.
    match RunDir::open_as(&request.out, Authority::Obeys) {
        Err(rundir::Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
        opened => drop(opened.map_err(record::Error::from)?),
    }
    let plan = Plan::new(&options)?;
    std::fs::create_dir_all(&request.out).map_err(|error| {
        Error::Preflight(format!(
            "{}: {error}; choose another folder for the trace",
            request.out.display()
        ))
    })?;
    let journal = Journal::open(&request.out)?;
    let step = journal.will_make(Step::Trace {
        changes: plan.changes().clone(),
    })?;
    let recorded = plan
        .start()
        .map_err(Error::from)
        .and_then(|recording| meanwhile(recording, request, interrupt));
    // A failure to restore leaves the step for `fslab clean`.
    let restored = recorded.is_ok() || !plan_is_in_force(&journal, step);
    if restored {
        journal.undone(step)?;
        drop(journal);
        forget(&request.out);
    }
    recorded
}

fn plan_is_in_force(journal: &Journal, number: u64) -> bool {
    journal.left().iter().any(|(n, step)| {
        *n == number && matches!(step, Step::Trace { changes } if changes.in_force())
    })
}

/// The journal has done its work. A folder that has other things to undo keeps it.
fn forget(dir: &Path) {
    let path = dir.join(rig::undo::FILE);
    if !dir.join(record::folder::EVENTS).exists()
        && rig::clean(dir, true).is_ok_and(|left| left.is_empty())
    {
        let _ = std::fs::remove_file(path);
    }
}

fn meanwhile(
    recording: Recording,
    request: &Request,
    interrupt: &Interrupt,
) -> Result<Recorded, Error> {
    let until = request.time.map(|time| Instant::now() + time);
    let over = |recording: &Recording| {
        interrupt.is_raised()
            || recording.has_failed()
            || until.is_some_and(|until| Instant::now() >= until)
    };
    let command = if let Some((program, arguments)) = request.command.split_first() {
        let mut child = match Running::start(program, arguments) {
            Ok(child) => child,
            Err(error) => {
                recording.discard();
                return Err(error);
            }
        };
        while !child.has_ended(LOOK)? && !over(&recording) {}
        Some(child.end()?)
    } else {
        while !over(&recording) {
            let left = until.map_or(LOOK, |until| until.duration_since(Instant::now()));
            std::thread::sleep(left.min(LOOK));
        }
        None
    };
    let traces = recording.finish()?;
    Ok(Recorded { traces, command })
}

/// The command.
struct Running {
    child: Child,
    ended: OwnedFd,
    name: String,
}

impl Running {
    fn start(program: &OsString, arguments: &[OsString]) -> Result<Running, Error> {
        let name = program.to_string_lossy().into_owned();
        let failed = |error: std::io::Error| {
            Error::Preflight(format!("{name}: {error}; nothing was run, name a program"))
        };
        let mut child = Command::new(program)
            .args(arguments)
            .spawn()
            .map_err(failed)?;
        let ended = pidfd_open(pid(&child), PidfdFlags::empty());
        match ended {
            Ok(ended) => Ok(Running { child, ended, name }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(failed(error.into()))
            }
        }
    }

    /// Waits; true when it has ended. A signal ends the waiting early.
    fn has_ended(&self, wait: Duration) -> Result<bool, Error> {
        let wait = Timespec {
            tv_sec: wait.as_secs().cast_signed(),
            tv_nsec: wait.subsec_nanos().into(),
        };
        let mut one = [PollFd::new(&self.ended, PollFlags::IN)];
        match poll(&mut one, Some(&wait)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(self.lost(&error.into())),
        }
    }

    /// Ends it if it still runs: asked first, then killed.
    fn end(&mut self) -> Result<ExitStatus, Error> {
        let until = Instant::now() + PATIENCE;
        if !self.has_ended(Duration::ZERO)? {
            let _ = kill_process(pid(&self.child), Signal::TERM);
            while !self.has_ended(LOOK)? && Instant::now() < until {}
            if !self.has_ended(Duration::ZERO)? {
                let _ = self.child.kill();
            }
        }
        self.child.wait().map_err(|error| self.lost(&error))
    }

    fn lost(&self, error: &std::io::Error) -> Error {
        Error::Preflight(format!(
            "{}: {error}; cannot wait for the program that was started",
            self.name
        ))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After `end` it is reaped and this does nothing.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// What a shell makes of an ending: the code, or 128 and the signal.
pub fn shell_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    u8::try_from(code.unwrap_or(1)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(words: &[&str]) -> Running {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        Running::start(&words[0], &words[1..]).unwrap()
    }

    #[test]
    fn a_command_is_waited_for_and_its_code_kept() {
        let mut child = run(&["sh", "-c", "exit 3"]);
        while !child.has_ended(LOOK).unwrap() {}
        assert_eq!(shell_code(child.end().unwrap()), 3);
    }

    #[test]
    fn a_command_that_goes_on_is_ended() {
        let mut child = run(&["sleep", "100"]);
        assert!(!child.has_ended(Duration::from_millis(10)).unwrap());
        assert_eq!(shell_code(child.end().unwrap()), 128 + 15);
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = Running::start(&"/no/such/program".into(), &[])
            .err()
            .unwrap();
        assert!(error.to_string().contains("/no/such/program"), "{error}");
    }
}
