//! A machine from its start to its end.
//!
//! A thread reads the channel, keeps files and hands on lines; the caller's thread owns the machine's program
//! (it dies with that thread), asks the clock and the caller, and decides. The stream's end is the
//! sign that the machine is gone with all its processes, since the last of them closed it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::message::{self, Message};
use super::process::Running;
use super::{Ended, Engine, Error, Limits, Machine, console, qemu, uml};

/// How often the clock and the caller are asked.
const TICK: Duration = Duration::from_millis(100);
/// How long a machine that has said its last line may take to power off.
const POWER_OFF: Duration = Duration::from_secs(10);
/// Lines that wait at most; then the guest waits.
const QUEUE: usize = 1024;

/// What the reading thread hands on.
enum Heard {
    Line(Message),
    /// A line or a file that cannot be taken: the last thing.
    Trouble(Error),
}

pub(super) fn run(
    machine: &Machine,
    heard: &mut dyn FnMut(Value) -> bool,
    cancelled: &dyn Fn() -> bool,
) -> Result<Ended, Error> {
    let begun = Instant::now();
    let (console, from) = open_console(&machine.console)?;
    let (ours, theirs) = UnixStream::pair().map_err(|source| Error::Prepare {
        what: "cannot make the guest's channel".into(),
        source,
    })?;
    let scratch = Scratch::make(&machine.files)?;
    let program = match machine.engine {
        Engine::Uml => uml::program(machine, &theirs, &scratch.open)?,
        Engine::Qemu(accelerator) => qemu::program(machine, accelerator, &theirs)?,
    };
    let running = program.start(&console)?;
    drop((theirs, console));
    let (send, receive) = sync_channel(QUEUE);
    let files = machine.files.clone();
    let reader = thread::Builder::new()
        .name("fslab-guest".into())
        .spawn(move || listen(&mut BufReader::new(ours), &files, &send));
    let reader = reader.map_err(|source| Error::Prepare {
        what: "cannot start a thread".into(),
        source,
    })?;
    let session = Session {
        limits: machine.limits,
        console: &machine.console,
        from,
        begun,
        alive: begun,
        running,
        ready: None,
        code: None,
    };
    let ended = session.go(&receive, heard, cancelled);
    // The program is gone, so the stream has ended; a reader that waits for room hears that nobody
    // takes its lines.
    drop(receive);
    let _ = reader.join();
    ended
}

/// A folder for what the machine's program writes for itself; removed when dropped.
struct Scratch {
    open: File,
    _folder: tempfile::TempDir,
}

impl Scratch {
    fn make(within: &Path) -> Result<Scratch, Error> {
        let made = fs::create_dir_all(within)
            .and_then(|()| {
                tempfile::Builder::new()
                    .prefix(".machine")
                    .tempdir_in(within)
            })
            .and_then(|folder| File::open(folder.path()).map(|open| (folder, open)));
        let (folder, open) = made.map_err(|source| Error::Prepare {
            what: format!("cannot make a folder in {}", within.display()),
            source,
        })?;
        Ok(Scratch {
            open,
            _folder: folder,
        })
    }
}

/// The console's file, and where this machine's part of it begins.
fn open_console(path: &Path) -> Result<(File, u64), Error> {
    let opened = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| OpenOptions::new().append(true).create(true).open(path))
        .and_then(|file| file.metadata().map(|found| (file, found.len())));
    opened.map_err(|source| Error::Prepare {
        what: format!("cannot keep the guest's console in {}", path.display()),
        source,
    })
}

struct Session<'a> {
    limits: Limits,
    console: &'a Path,
    /// Where this machine's console begins in its file.
    from: u64,
    begun: Instant,
    /// The last sign of life.
    alive: Instant,
    running: Running,
    /// Release and seconds of the first line.
    ready: Option<(String, f64)>,
    code: Option<i32>,
}

impl Session<'_> {
    fn go(
        mut self,
        lines: &Receiver<Heard>,
        heard: &mut dyn FnMut(Value) -> bool,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Ended, Error> {
        loop {
            if cancelled() {
                return Err(Error::Cancelled);
            }
            self.in_time()?;
            match lines.recv_timeout(TICK) {
                Ok(Heard::Line(line)) => {
                    self.alive = Instant::now();
                    if !self.take(line, heard) {
                        return Err(Error::Cancelled);
                    }
                }
                Ok(Heard::Trouble(error)) => return Err(self.judge(error)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.code.is_some() {
                break;
            }
        }
        self.close()
    }

    /// `false`: the caller wants no more.
    fn take(&mut self, line: Message, heard: &mut dyn FnMut(Value) -> bool) -> bool {
        match line {
            Message::Ready { release, .. } => {
                let seconds = self.begun.elapsed().as_secs_f64();
                self.ready.get_or_insert((release, seconds));
            }
            Message::Done { code } => self.code = Some(code),
            Message::Job { said } => return heard(said),
            Message::Alive { .. } | Message::File { .. } => {}
        }
        true
    }

    fn in_time(&self) -> Result<(), Error> {
        let (console, last) = (self.console.to_owned(), || self.last_words());
        let limits = self.limits;
        if self.begun.elapsed() > limits.whole {
            return Err(Error::TimeLimit {
                seconds: limits.whole.as_secs(),
                console,
                last: last(),
            });
        }
        if self.ready.is_none() && self.begun.elapsed() > limits.first_line {
            return Err(Error::Silent {
                seconds: limits.first_line.as_secs(),
                console,
                last: last(),
            });
        }
        if self.alive.elapsed() > limits.silence {
            return Err(Error::Hung {
                seconds: limits.silence.as_secs(),
                console,
                last: last(),
            });
        }
        Ok(())
    }

    fn last_words(&self) -> String {
        console::last_words(self.console, self.from)
    }

    /// A stream torn off in mid-line is a machine that died, not one that talks nonsense.
    fn judge(&mut self, error: Error) -> Error {
        match error {
            Error::Garbled(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => self.died(),
            other => other,
        }
    }

    fn died(&mut self) -> Error {
        let status = self.running.wait(POWER_OFF);
        let status = status.map_or_else(|| "it had to be killed".into(), |s| s.to_string());
        self.running.kill();
        Error::Died {
            status,
            console: self.console.to_owned(),
            last: self.last_words(),
        }
    }

    fn close(mut self) -> Result<Ended, Error> {
        let (Some(code), Some((release, boot_seconds))) = (self.code, self.ready.take()) else {
            return Err(self.died());
        };
        // It has said all; whether it finds its power switch decides nothing.
        self.running.wait(POWER_OFF);
        self.running.kill();
        Ok(Ended {
            code,
            release,
            boot_seconds,
            seconds: self.begun.elapsed().as_secs_f64(),
        })
    }
}

/// Reads the channel to its end, or to the first thing that cannot be taken.
fn listen(stream: &mut BufReader<UnixStream>, files: &Path, send: &SyncSender<Heard>) {
    loop {
        let heard = match message::read(stream) {
            Ok(None) => return,
            Ok(Some(Message::File { path, bytes })) => match keep(stream, files, &path, bytes) {
                Ok(()) => Heard::Line(Message::File { path, bytes }),
                Err(error) => Heard::Trouble(error),
            },
            Ok(Some(line)) => Heard::Line(line),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return,
            Err(error) => Heard::Trouble(Error::Garbled(error)),
        };
        let last = matches!(heard, Heard::Trouble(_));
        if send.send(heard).is_err() || last {
            return;
        }
    }
}

/// Takes a file that follows its line.
fn keep(stream: &mut impl Read, folder: &Path, path: &str, bytes: u64) -> Result<(), Error> {
    let place = message::place(folder, path).ok_or_else(|| {
        let why = format!("{path:?} is no name for a file of a guest");
        Error::Garbled(io::Error::new(io::ErrorKind::InvalidData, why))
    })?;
    let unkept = |source| Error::Unkept {
        path: place.clone(),
        source,
    };
    let mut file = make(&place).map_err(unkept)?;
    let mut rest = stream.take(bytes);
    let mut buffer = vec![0; 256 << 10];
    let mut got = 0;
    while got < bytes {
        // The two sides fail apart: a torn stream is the guest's end, a full disk is ours.
        let n = rest.read(&mut buffer).map_err(Error::Garbled)?;
        if n == 0 {
            return Err(Error::Garbled(io::ErrorKind::UnexpectedEof.into()));
        }
        io::Write::write_all(&mut file, &buffer[..n]).map_err(unkept)?;
        got += n as u64;
    }
    Ok(())
}

fn make(place: &PathBuf) -> io::Result<File> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    File::create(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_kept_under_its_name_and_a_torn_one_is_the_machines_end() {
        let temp = tempfile::tempdir().unwrap();
        let mut bytes: &[u8] = b"abcdef";
        keep(&mut bytes, temp.path(), "a/b", 4).unwrap();
        assert_eq!(fs::read(temp.path().join("a/b")).unwrap(), b"abcd");
        assert_eq!(bytes, b"ef");
        let torn = keep(&mut bytes, temp.path(), "a/c", 4).unwrap_err();
        assert!(
            matches!(torn, Error::Garbled(ref cause) if cause.kind() == io::ErrorKind::UnexpectedEof)
        );
        let out = keep(&mut bytes, temp.path(), "../c", 0).unwrap_err();
        assert!(out.to_string().contains("no name for a file"), "{out}");
    }

    #[test]
    fn a_full_disk_is_named() {
        let mut bytes: &[u8] = b"abc";
        let temp = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", temp.path().join("full")).unwrap();
        let said = keep(&mut bytes, temp.path(), "full", 3).unwrap_err();
        let text = said.to_string();
        assert!(
            text.contains("No space left on device") && text.contains("free space"),
            "{text}"
        );
    }
}
