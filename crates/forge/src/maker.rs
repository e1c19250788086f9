//! Runs the program that makes an empty filesystem.

use std::io::{self, Read, Write as _};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};

use progress::Progress;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::Error;

/// Where such programs are in a path that names no folders of system programs, as that of Debian's users does not.
const SYSTEM_FOLDERS: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// A program and the package that has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Maker<'a> {
    pub(crate) program: &'a str,
    pub(crate) package: &'static str,
}

impl Maker<'_> {
    /// The command with an environment of its own: the host's variables do not change the result.
    pub(crate) fn command(self) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(self.program);
        command
            .env_clear()
            .env("PATH", format!("{path}:{SYSTEM_FOLDERS}"))
            .env("LC_ALL", "C");
        command
    }

    /// Runs the command to its end with `input` as its standard input.
    ///
    /// # Errors
    ///
    /// [`Error::Start`] where it cannot be started or read, [`Error::Stopped`] when `progress` asks to stop.
    pub(crate) fn run(
        self,
        command: &mut Command,
        input: &str,
        progress: &dyn Progress,
    ) -> Result<(ExitStatus, Talk), Error> {
        let failed = |source| Error::Start {
            program: self.program.to_owned(),
            package: self.package,
            source,
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        if let Some(mut pipe) = child.stdin.take() {
            // One that ends before it has read this says why.
            let _ = pipe.write_all(input.as_bytes());
        }
        let talk = Talk::of(&mut child, progress).map_err(failed)?;
        let status = child.wait().map_err(failed)?;
        match talk {
            // A signal from the terminal ends the program as well.
            Some(talk) if status.success() || !progress.cancelled() => Ok((status, talk)),
            _ => Err(Error::Stopped),
        }
    }
}

/// What the program printed.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    pub(crate) out: Vec<u8>,
    pub(crate) errors: Vec<u8>,
}

impl Talk {
    /// Reads until the program ends. When `progress` asks to stop, it is killed, and there is no result.
    fn of(child: &mut Child, progress: &dyn Progress) -> io::Result<Option<Self>> {
        let mut this = Self::default();
        let (mut out, mut errors) = (child.stdout.take(), child.stderr.take());
        while out.is_some() || errors.is_some() {
            let (polled, of_out, of_errors) = ready(out.as_ref(), errors.as_ref());
            let read = polled.map_err(io::Error::from).and_then(|_| {
                more(of_out, &mut out, &mut this.out)?;
                more(of_errors, &mut errors, &mut this.errors)
            });
            if progress.cancelled() || read.is_err() {
                // One that has ended already cannot be killed.
                let _ = child.kill();
                let _ = child.wait();
                return read.map(|()| None);
            }
        }
        Ok(Some(this))
    }
}

/// The error of the system that the program names, where the options are not at fault.
pub(crate) fn system_error(text: &str) -> Option<io::Error> {
    [
        Errno::NOSPC,
        Errno::DQUOT,
        Errno::FBIG,
        Errno::IO,
        Errno::NOMEM,
    ]
    .map(|errno| io::Error::from_raw_os_error(errno.raw_os_error()))
    .into_iter()
    .find(|error| {
        let words = error.to_string();
        text.contains(words.split(" (os error").next().unwrap_or(&words))
    })
}

/// How long `progress` is not asked while the program prints nothing.
const WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// Waits for one of the pipes, and gives which can be read.
fn ready(
    out: Option<&ChildStdout>,
    errors: Option<&ChildStderr>,
) -> (Result<usize, Errno>, bool, bool) {
    let mut pipes: Vec<PollFd<'_>> = Vec::with_capacity(2);
    pipes.extend(out.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    pipes.extend(errors.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    let polled = match poll(&mut pipes, Some(&WAIT)) {
        Err(Errno::INTR) => Ok(0),
        other => other,
    };
    let mut can = pipes.iter().map(|pipe| !pipe.revents().is_empty());
    let of_out = out.is_some() && can.next() == Some(true);
    let of_errors = errors.is_some() && can.next() == Some(true);
    (polled, of_out, of_errors)
}

/// Reads what a pipe has; at its end the pipe goes.
fn more(ready: bool, pipe: &mut Option<impl Read>, text: &mut Vec<u8>) -> io::Result<()> {
    let Some(open) = pipe.as_mut().filter(|_| ready) else {
        return Ok(());
    };
    let mut bytes = [0; 4096];
    match open.read(&mut bytes) {
        Ok(0) => *pipe = None,
        Ok(len) => text.extend_from_slice(&bytes[..len]),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        Err(error) => return Err(error),
    }
    Ok(())
}
