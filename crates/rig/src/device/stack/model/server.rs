//! The process that serves a modelled disk: `fslab device serve --controlled`.
//!
//! A run must not depend on it. What a filesystem has asked of its disk is waited for in the kernel, where no signal ends the wait, so
//! a server that hangs or was stopped would hold the run, its interrupt and its end. Therefore it is asked every few seconds, and one
//! that does not answer is ended: its disk fails then, and what waits for it gets errors. What it says is read as it comes, since a
//! pipe that is full would stop it.

mod answers;

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};

use self::answers::Answers;
use super::{Model, PATIENCE, Served, Store};
use crate::device::stack::await_some;
use crate::{Error, Result};

/// Time from one question to the next.
const ASKED: Duration = Duration::from_secs(5);
/// How long an answer may take. A thread that shares its processor with many others has waited for some seconds.
const SILENCE: Duration = Duration::from_secs(20);
/// Lines of the server's messages that are kept for an error, the last ones.
const LINES: usize = 16;
/// Bytes of a line.
const LINE: u64 = 512;

/// How the server is called in errors.
const THING: &str = "the server of the modelled disk";

/// The process, which lives as long as its input is open or its disk in use.
pub(super) struct Server {
    process: Arc<Process>,
    /// Ends the thread that asks, when it is dropped.
    _asking: Sender<()>,
    /// The devices file, which it reads when it starts.
    _devices: Option<File>,
}

/// What the threads share.
struct Process {
    child: Mutex<Child>,
    talk: Mutex<Talk>,
    messages: Arc<Mutex<VecDeque<String>>>,
    /// Reads its messages to their end.
    reader: Mutex<Option<JoinHandle<()>>>,
    silence: Duration,
}

/// Its input and its output.
enum Talk {
    Open(ChildStdin, Answers),
    /// Why there is none any more.
    Over(String),
}

/// A file that has no name, with this text: a guest need not have a place for it.
fn in_memory(text: &str) -> std::io::Result<File> {
    let mut file = File::from(memfd_create("devices.toml", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    Ok(file)
}

impl Server {
    /// Starts one whose front is given by these arguments.
    pub(super) fn start(
        model: &Model,
        size: u64,
        store: &Store,
        front: &[&OsStr],
    ) -> Result<Server> {
        let failed = |error| Error::Cannot {
            thing: model.device.clone(),
            what: "cannot start its server".into(),
            why: io::Error::to_string(&error),
            next: "see whether this program can be started again".into(),
        };
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        command
            .args(["device", "serve", &model.device, "--controlled"])
            .args(front)
            .args(["--size", &size.to_string()]);
        if let Some(path) = store.file() {
            command.arg("--store").arg(path);
        }
        let devices = model.devices_file.as_deref().map(in_memory).transpose();
        let devices = devices.map_err(failed)?;
        if let Some(file) = &devices {
            let (process, file) = (std::process::id(), file.as_raw_fd());
            let path = format!("/proc/{process}/fd/{file}");
            command.args(["--devices-file", &path]);
        }
        Server::of(command, devices, ASKED, SILENCE).map_err(failed)
    }

    fn of(
        mut command: Command,
        devices: Option<File>,
        asked: Duration,
        silence: Duration,
    ) -> io::Result<Server> {
        // A group of its own: a terminal's Ctrl-C is for the run, which ends the server itself.
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let talk = match child.stdin.take().zip(child.stdout.take()) {
            Some((input, output)) => Talk::Open(input, Answers::of(output)),
            None => Talk::Over("it has no input".into()),
        };
        let messages = Arc::new(Mutex::new(VecDeque::with_capacity(LINES)));
        let (stderr, kept) = (child.stderr.take(), Arc::clone(&messages));
        let reader = thread::Builder::new()
            .name("fslab-messages".into())
            .spawn(move || drain(stderr, &kept));
        let process = Arc::new(Process {
            child: Mutex::new(child),
            talk: Mutex::new(talk),
            messages,
            reader: Mutex::new(reader.ok()),
            silence,
        });
        let (asking, over) = channel();
        let asks = Arc::clone(&process);
        thread::Builder::new()
            .name("fslab-server".into())
            .spawn(move || asks.ask(&over, asked))?;
        Ok(Server {
            process,
            _asking: asking,
            _devices: devices,
        })
    }

    /// Waits until it serves.
    pub(super) fn ready(&mut self) -> Result<()> {
        self.process.say("").map(drop).map_err(|why| Error::Cannot {
            thing: THING.into(),
            what: "does not serve".into(),
            why,
            next: "see docs/devices.md".into(),
        })
    }

    /// A line to it, a line from it.
    pub(super) fn say(&self, text: &str) -> Result<Served> {
        self.process.say(text).map_err(|why| Error::Io {
            thing: THING.into(),
            what: "does not answer".into(),
            source: io::Error::other(why),
            next: "see the kernel log (dmesg) for errors of its disk".into(),
        })
    }

    /// Ends its input, and waits until it has ended.
    pub(super) fn end(&mut self) -> Result<()> {
        self.process.close("it was ended");
        if self.process.has_ended() {
            return Ok(());
        }
        self.process.kill();
        Err(Error::NotUndone {
            thing: THING.into(),
            why: "its file was still in use; it was killed".into(),
            next: "see losetup -a".into(),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Without its input it ends as soon as its file is in use no more; it is not waited for.
        self.process.close("it was ended");
        let _ = lock(&self.process.child).try_wait();
    }
}

impl Process {
    /// A line to it, a line from it. One that does not answer is ended.
    fn say(&self, text: &str) -> std::result::Result<Served, String> {
        let mut talk = lock(&self.talk);
        let (input, output) = match &mut *talk {
            Talk::Open(input, output) => (input, output),
            Talk::Over(why) => return Err(why.clone()),
        };
        let answer = input
            .write_all(format!("{text}\n").as_bytes())
            .and_then(|()| output.line(self.silence));
        let error = match answer {
            Ok(line) => match serde_json::from_str(&line) {
                Ok(served) => return Ok(served),
                Err(error) => io::Error::from(error),
            },
            Err(error) => error,
        };
        self.kill();
        let why = match error.kind() {
            io::ErrorKind::TimedOut => format!(
                "it did not answer for {} s, and was killed; its disk fails",
                self.silence.as_secs()
            ),
            io::ErrorKind::InvalidData => "what it says cannot be read".into(),
            // Its pipes are closed.
            _ => match self.last_words() {
                Some(line) => format!("it ended: {line}"),
                None => "it has ended".into(),
            },
        };
        *talk = Talk::Over(why.clone());
        Err(why)
    }

    /// Asks it until `over`, so that one that hangs is ended.
    fn ask(&self, over: &Receiver<()>, asked: Duration) {
        while over.recv_timeout(asked) == Err(RecvTimeoutError::Timeout) {
            if self.say("").is_err() {
                return;
            }
        }
    }

    fn close(&self, why: &str) {
        let mut talk = lock(&self.talk);
        if matches!(*talk, Talk::Open(..)) {
            *talk = Talk::Over(why.into());
        }
    }

    /// Ends it at once, also where it was stopped, and waits for its end. One that waits in the kernel may live on for a while.
    fn kill(&self) {
        let _ = lock(&self.child).kill();
        self.has_ended();
    }

    /// Whether it ends within [`PATIENCE`].
    fn has_ended(&self) -> bool {
        await_some(PATIENCE, || lock(&self.child).try_wait().ok().flatten()).is_some()
    }

    /// Its message, if it had one: the last of its own, or the first of those that are kept.
    fn last_words(&self) -> Option<String> {
        // Its pipe is at its end, but what is in it may not have been read.
        let reader = lock(&self.reader).take();
        await_some(PATIENCE, || {
            let is_read = reader.as_ref().is_none_or(JoinHandle::is_finished);
            is_read.then_some(())
        });
        let messages = lock(&self.messages);
        let own = messages
            .iter()
            .rev()
            .find(|line| line.starts_with("fslab: "));
        let line = own.or_else(|| messages.front())?;
        Some(line.trim_start_matches("fslab: ").to_owned())
    }
}

/// Reads messages to their end and keeps the last lines.
fn drain(stderr: Option<ChildStderr>, messages: &Mutex<VecDeque<String>>) {
    let Some(stderr) = stderr else { return };
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut stderr).take(LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        if text.trim().is_empty() {
            continue;
        }
        let mut messages = lock(messages);
        if messages.len() == LINES {
            messages.pop_front();
        }
        messages.push_back(text.trim_end().to_owned());
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const ANSWER: &str = r#"{"requests":1,"modelled":2,"lateness":3,"late":4,"sound":true}"#;
    const SECOND: Duration = Duration::from_secs(1);

    /// A shell as a server, asked every 50 ms.
    fn server(script: &str, silence: Duration) -> Server {
        let mut command = Command::new("sh");
        command.args(["-c", script, ANSWER]);
        Server::of(command, None, Duration::from_millis(50), silence).unwrap()
    }

    #[test]
    fn one_that_floods_its_messages_goes_on() {
        // 6 MiB, of which a pipe takes 64 KiB. It answers when all are written.
        let flood = r#"i=0
            while [ $i -lt 100000 ]; do echo 'fslab: a message that comes again and again and again' >&2; i=$((i+1)); done
            echo 'fslab: the last' >&2
            while read line; do echo "$0"; done"#;
        let mut server = server(flood, 120 * SECOND);
        server.ready().unwrap();
        assert_eq!(server.say("").unwrap().requests, 1);
        server.end().unwrap();
        assert_eq!(server.process.last_words().unwrap(), "the last");
        assert_eq!(lock(&server.process.messages).len(), LINES);
    }

    #[test]
    fn one_that_is_stopped_is_killed_though_no_caller_asks() {
        let script = r#"while read line; do echo "$0"; [ "$line" != halt ] || kill -STOP $$; done"#;
        let server = server(script, 5 * SECOND);
        server.say("halt").unwrap();
        let ended = await_some(60 * SECOND, || {
            lock(&server.process.child).try_wait().unwrap()
        });
        assert!(ended.is_some_and(|status| !status.success()));
        let said = server.say("").unwrap_err().to_string();
        assert!(said.contains("did not answer for 5 s"), "{said}");
    }

    #[test]
    fn one_that_ends_says_why() {
        let mut server = server(
            "echo >&2; echo 'fslab: no room; choose a smaller --size' >&2; echo 'and more' >&2; exit 2",
            60 * SECOND,
        );
        let said = server.ready().unwrap_err().to_string();
        assert!(
            said.contains("it ended: no room; choose a smaller --size"),
            "{said}"
        );
    }

    #[test]
    fn one_that_does_not_end_with_its_input_is_killed() {
        let mut server = server("exec sleep 600", 60 * SECOND);
        server.process.close("it was ended");
        let begun = Instant::now();
        let error = server.end().unwrap_err().to_string();
        assert!(error.contains("it was killed"), "{error}");
        assert!(begun.elapsed() >= PATIENCE);
    }
}
