//! A machine from its start to its end.
//!
//! A thread reads the channel, keeps files and hands on lines; the caller's thread owns the machine's program
//! (it dies with that thread), asks the clock and the caller, and decides. The stream's end is the
//! sign that all processes of the machine have ended, since the last of them closed it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::message::{self, Message};
use super::patience::{Moment, Patience};
use super::process::Running;
use super::{Engine, Error, GuestExit, Limits, Machine, console, qemu, uml};
use progress::Progress;

/// How often the clock and the caller are asked.
const TICK: Duration = Duration::from_millis(100);
/// How long a machine may take to power off after its last line.
const POWER_OFF: Duration = Duration::from_secs(10);
/// Lines that wait at most; then the guest waits.
const QUEUE: usize = 1024;

/// What the reading thread passes on.
enum ChannelEvent {
    Line(Message),
    /// A line or a file that cannot be taken: the last thing.
    ChannelError(ChannelError),
}

/// Why something cannot be taken.
#[derive(Debug)]
enum ChannelError {
    /// Not a message of a guest, or cut off.
    Stream(io::Error),
    /// This machine cannot keep it.
    Unkept(PathBuf, io::Error),
}

pub(super) fn run(
    machine: &Machine,
    heard: &mut dyn FnMut(Value) -> bool,
    progress: &dyn Progress,
) -> Result<GuestExit, Error> {
    let begun = Instant::now();
    let (console, from) = open_console(&machine.console)?;
    let (ours, theirs) = UnixStream::pair().map_err(|source| Error::Prepare {
        what: "cannot make the guest's channel".into(),
        source,
    })?;
    let program = match machine.engine {
        Engine::Uml => uml::program(machine, &theirs)?,
        Engine::Qemu(accelerator) => qemu::program(machine, accelerator, &theirs)?,
    };
    let running = program.start(&console)?;
    drop((theirs, console));
    let (send, receive) = sync_channel(QUEUE);
    let arrived = Arc::new(AtomicU64::new(0));
    let reader = {
        let (files, arrived) = (machine.files.clone(), Arc::clone(&arrived));
        let mut stream = BufReader::new(Counted {
            stream: ours,
            arrived,
        });
        thread::Builder::new()
            .name("fslab-guest".into())
            .spawn(move || listen(&mut stream, &files, &send))
    };
    let reader = reader.map_err(|source| Error::Prepare {
        what: "cannot start a thread".into(),
        source,
    })?;
    let session = Session {
        limits: machine.limits,
        console: &machine.console,
        from,
        begun,
        patience: Patience::new(running.id(), begun),
        alive: Moment::default(),
        arrived: &arrived,
        counted: 0,
        running,
        ready: None,
        code: None,
    };
    let ended = session.go(&receive, heard, progress);
    // The program has ended or is ending. A reader that waits for room finds the queue closed, and reads on to the
    // stream's end, which comes when the last of the machine's processes has ended.
    drop(receive);
    let _ = reader.join();
    ended
}

/// A stream whose bytes are counted as they come, so that one long file is a sign of life.
struct Counted<S> {
    stream: S,
    arrived: Arc<AtomicU64>,
}

impl<S: Read> Read for Counted<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.stream.read(buffer)?;
        self.arrived.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
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
    patience: Patience,
    /// The last sign of life.
    alive: Moment,
    /// Bytes that came over the channel, and how many of them were seen.
    arrived: &'a AtomicU64,
    counted: u64,
    running: Running,
    /// Release and seconds of the first line.
    ready: Option<(String, f64)>,
    code: Option<i32>,
}

impl Session<'_> {
    fn go(
        mut self,
        lines: &Receiver<ChannelEvent>,
        heard: &mut dyn FnMut(Value) -> bool,
        progress: &dyn Progress,
    ) -> Result<GuestExit, Error> {
        loop {
            if progress.cancelled() {
                return Err(Error::Cancelled);
            }
            self.listen_for_life();
            self.in_time()?;
            match lines.recv_timeout(TICK) {
                Ok(ChannelEvent::Line(line)) => {
                    if !self.take(line, heard) {
                        return Err(Error::Cancelled);
                    }
                    // Time that the receiver takes for a line is not the guest's.
                    self.alive = self.patience.now();
                }
                Ok(ChannelEvent::ChannelError(trouble)) => return Err(self.judge(trouble)),
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
            Message::Job { document } => return heard(document),
            Message::Alive { .. } | Message::File { .. } => {}
        }
        true
    }

    /// Any bytes since the last look are a sign of life, also in the middle of a long file.
    fn listen_for_life(&mut self) {
        let arrived = self.arrived.load(Ordering::Relaxed);
        if arrived != self.counted {
            self.counted = arrived;
            self.alive = self.patience.now();
        }
    }

    fn in_time(&mut self) -> Result<(), Error> {
        let limits = self.limits;
        if let Some(waited) = self.patience.is_over(Moment::default(), limits.whole) {
            return Err(Error::TimeLimit {
                waited,
                console: self.console.to_owned(),
                last: self.last_words(),
            });
        }
        if self.ready.is_none()
            && let Some(waited) = self.patience.is_over(Moment::default(), limits.first_line)
        {
            return Err(Error::Silent {
                waited,
                console: self.console.to_owned(),
                last: self.last_words(),
            });
        }
        if let Some(waited) = self.patience.is_over(self.alive, limits.silence) {
            return Err(Error::Hung {
                waited,
                console: self.console.to_owned(),
                last: self.last_words(),
            });
        }
        Ok(())
    }

    fn last_words(&self) -> String {
        console::last_words(self.console, self.from)
    }

    /// A stream torn off in mid-line is a machine that died, not one that talks nonsense.
    fn judge(&mut self, trouble: ChannelError) -> Error {
        match trouble {
            ChannelError::Stream(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {
                self.died()
            }
            ChannelError::Stream(source) => Error::Garbled {
                source,
                console: self.console.to_owned(),
            },
            ChannelError::Unkept(path, source) => Error::Unkept { path, source },
        }
    }

    fn died(&mut self) -> Error {
        let status = self.running.wait(POWER_OFF);
        let status = status.map_or_else(|| "it had to be killed".into(), |s| s.to_string());
        self.running.kill();
        Error::Died {
            status,
            began: self.ready.is_some(),
            console: self.console.to_owned(),
            last: self.last_words(),
        }
    }

    fn close(mut self) -> Result<GuestExit, Error> {
        let (Some(code), Some((release, boot_seconds))) = (self.code, self.ready.clone()) else {
            return Err(self.died());
        };
        // All its messages are here; how it powers off decides nothing.
        self.running.wait(POWER_OFF);
        self.running.kill();
        Ok(GuestExit {
            code,
            release,
            boot_seconds,
            seconds: self.begun.elapsed().as_secs_f64(),
            last: self.last_words(),
        })
    }
}

/// Reads the channel, and after the last thing that is taken, to its end: that one is the sign that
/// the machine has ended.
fn listen(stream: &mut impl BufRead, files: &Path, send: &SyncSender<ChannelEvent>) {
    loop {
        let heard = match message::read(stream) {
            Ok(None) => return,
            Ok(Some(Message::File { path, bytes })) => match keep(stream, files, &path, bytes) {
                Ok(()) => ChannelEvent::Line(Message::File { path, bytes }),
                Err(trouble) => ChannelEvent::ChannelError(trouble),
            },
            Ok(Some(line)) => ChannelEvent::Line(line),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return,
            Err(error) => ChannelEvent::ChannelError(ChannelError::Stream(error)),
        };
        let last = matches!(heard, ChannelEvent::ChannelError(_));
        if send.send(heard).is_err() || last {
            let _ = io::copy(stream, &mut io::sink());
            return;
        }
    }
}

/// Takes a file that follows its line.
fn keep(stream: &mut impl Read, folder: &Path, path: &str, bytes: u64) -> Result<(), ChannelError> {
    let place = message::place(folder, path).ok_or_else(|| {
        let why = format!("{path:?} is no name for a file of a guest");
        ChannelError::Stream(io::Error::new(io::ErrorKind::InvalidData, why))
    })?;
    let unkept = |source| ChannelError::Unkept(place.clone(), source);
    let mut file = make(&place).map_err(unkept)?;
    let mut rest = stream.take(bytes);
    let mut buffer = vec![0; 256 << 10];
    let mut got = 0;
    while got < bytes {
        // The two sides fail apart: a torn stream is the guest's end, a full disk is ours.
        let n = rest.read(&mut buffer).map_err(ChannelError::Stream)?;
        if n == 0 {
            return Err(ChannelError::Stream(io::ErrorKind::UnexpectedEof.into()));
        }
        io::Write::write_all(&mut file, &buffer[..n]).map_err(unkept)?;
        got += n as u64;
    }
    Ok(())
}

/// A new file: what has a name already, a link too, is not the guest's to write to.
fn make(place: &Path) -> io::Result<File> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    File::create_new(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use progress::Silent;

    #[test]
    fn a_file_is_kept_under_its_name_and_a_torn_one_is_the_machines_end() {
        let temp = tempfile::tempdir().unwrap();
        let mut bytes: &[u8] = b"abcdef";
        keep(&mut bytes, temp.path(), "a/b", 4).unwrap();
        assert_eq!(fs::read(temp.path().join("a/b")).unwrap(), b"abcd");
        assert_eq!(bytes, b"ef");
        let torn = keep(&mut bytes, temp.path(), "a/c", 4).unwrap_err();
        assert!(
            matches!(torn, ChannelError::Stream(ref cause) if cause.kind() == io::ErrorKind::UnexpectedEof)
        );
        let out = keep(&mut bytes, temp.path(), "../c", 0).unwrap_err();
        assert!(
            matches!(out, ChannelError::Stream(ref why) if why.to_string().contains("no name for a file"))
        );
    }

    #[test]
    fn what_is_there_is_neither_emptied_nor_followed() {
        let temp = tempfile::tempdir().unwrap();
        let (mine, link) = (temp.path().join("mine"), temp.path().join("link"));
        fs::write(&mine, "kept").unwrap();
        std::os::unix::fs::symlink(&mine, &link).unwrap();
        for name in ["mine", "link"] {
            let refused = keep(&mut &b"abc"[..], temp.path(), name, 3).unwrap_err();
            assert!(
                matches!(refused, ChannelError::Unkept(_, ref why) if why.kind() == io::ErrorKind::AlreadyExists),
                "{refused:?}"
            );
        }
        assert_eq!(fs::read(&mine).unwrap(), b"kept");
    }

    #[test]
    fn what_cannot_be_kept_says_what_would_help() {
        let printed = |kind: io::ErrorKind| {
            let source = io::Error::from(kind);
            let path = PathBuf::from("/runs/a/x");
            Error::Unkept { path, source }.to_string()
        };
        assert!(printed(io::ErrorKind::StorageFull).contains("; free space, then `fslab resume`"));
        assert!(
            printed(io::ErrorKind::PermissionDenied).contains("make the run's folder writable")
        );
        assert!(printed(io::ErrorKind::IsADirectory).contains("check the disk"));
    }

    /// A session with a machine that sleeps, fed by hand.
    fn fed(
        bytes: &'static [u8],
        pause: Duration,
        limits: Limits,
    ) -> (Result<GuestExit, Error>, tempfile::TempDir) {
        struct Slow(&'static [u8], Duration);
        impl Read for Slow {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let Some((first, rest)) = self.0.split_first() else {
                    return Ok(0);
                };
                thread::sleep(self.1);
                (buffer[0], self.0) = (*first, rest);
                Ok(1)
            }
        }
        let temp = tempfile::tempdir().unwrap();
        let console = temp.path().join("console");
        fs::write(&console, "an earlier machine: Kernel panic\n").unwrap();
        let (file, from) = open_console(&console).unwrap();
        let running =
            super::super::process::tests::shell("echo fslab: mine; exec sleep 0.2", &file);
        let arrived = Arc::new(AtomicU64::new(0));
        let (send, receive) = sync_channel(QUEUE);
        let files = temp.path().join("files");
        let counted = Arc::clone(&arrived);
        let reader = thread::spawn(move || {
            let stream = Slow(bytes, pause);
            let arrived = counted;
            listen(
                &mut BufReader::new(Counted { stream, arrived }),
                &files,
                &send,
            );
        });
        let begun = Instant::now();
        let session = Session {
            limits,
            console: &console,
            from,
            begun,
            patience: Patience::new(running.id(), begun),
            alive: Moment::default(),
            arrived: &arrived,
            counted: 0,
            running,
            ready: None,
            code: None,
        };
        let ended = session.go(&receive, &mut |_| true, &Silent);
        drop(receive);
        reader.join().unwrap();
        (ended, temp)
    }

    const READY: &str = r#"{"say":"ready","release":"6.1","uptime":1.0}"#;

    fn printed(lines: &[&str]) -> &'static [u8] {
        format!("{READY}\n{}", lines.join("\n")).leak().as_bytes()
    }

    #[test]
    fn a_long_file_is_a_sign_of_life() {
        // More than a second for the file, byte by byte, and nothing else in that time.
        let all = printed(&[
            r#"{"say":"file","path":"a","bytes":60}"#,
            concat!(
                "012345678901234567890123456789012345678901234567890123456789",
                r#"{"say":"done","code":3}"#
            ),
            "",
        ]);
        let limits = Limits {
            silence: Duration::from_millis(500),
            ..Limits::default()
        };
        let (ended, temp) = fed(all, Duration::from_millis(20), limits);
        let ended = ended.unwrap();
        assert_eq!((ended.code, ended.last.as_str()), (3, ": fslab: mine"));
        let kept = fs::read(temp.path().join("files/a")).unwrap();
        assert_eq!(kept.len(), 60);
    }

    #[test]
    fn a_machine_that_ends_early_says_whether_it_began() {
        let (ended, _temp) = fed(b"", Duration::ZERO, Limits::default());
        let error = ended.unwrap_err();
        assert!(
            matches!(error, Error::Died { began: false, .. }),
            "{error:?}"
        );
        assert!(error.never_began() && error.to_string().contains("fslab: mine"));
        let (ended, _temp) = fed(printed(&[""]), Duration::ZERO, Limits::default());
        let error = ended.unwrap_err();
        assert!(
            matches!(error, Error::Died { began: true, .. }),
            "{error:?}"
        );
        assert!(!error.never_began());
    }

    #[test]
    fn nonsense_is_reported_with_the_console() {
        let all = printed(&["what?", "more that is not read", ""]);
        let (ended, _temp) = fed(all, Duration::ZERO, Limits::default());
        let error = ended.unwrap_err();
        assert!(matches!(error, Error::Garbled { .. }), "{error:?}");
        assert!(error.to_string().contains("/console"), "{error}");
    }
}
