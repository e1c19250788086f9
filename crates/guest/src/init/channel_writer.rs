//! The guest's side of the channel: lines and files, from any thread, each sent whole.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::machine::message::Message;

/// Time between two heartbeats.
const BEAT: Duration = Duration::from_secs(1);

/// Writes to the channel to the host. A clone writes to the same channel.
#[derive(Clone, Debug)]
pub struct ChannelWriter {
    channel: Arc<Mutex<File>>,
}

impl ChannelWriter {
    /// A writer to an open channel.
    pub fn new(channel: File) -> ChannelWriter {
        ChannelWriter {
            channel: Arc::new(Mutex::new(channel)),
        }
    }

    /// Sends a document of the job.
    ///
    /// # Errors
    /// The host has closed the channel.
    pub fn send_document(&self, document: Value) -> Result<(), String> {
        self.line(&Message::Job { document })
    }

    /// Sends a file, under a name below the host's folder of files.
    ///
    /// # Errors
    /// The file cannot be read, or the host has closed the channel.
    pub fn send(&self, file: &Path, name: &str) -> Result<(), String> {
        let unread = |error: io::Error| format!("{}: {error}", file.display());
        let open = File::open(file).map_err(unread)?;
        let bytes = open.metadata().map_err(unread)?.len();
        let line = encode(&Message::File {
            path: name.into(),
            bytes,
        })?;
        let mut channel = self.lock();
        channel.write_all(&line).map_err(|error| mute(&error))?;
        hand_over(&mut &open, &mut *channel, bytes).map_err(|trouble| match trouble {
            SendError::Channel(error) => mute(&error),
            SendError::File(why) => format!("{}: {why}", file.display()),
        })
    }

    /// Sends the files below a folder, under their paths in it, except those that `skip` names.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_below(&self, folder: &Path, skip: &dyn Fn(&str) -> bool) -> Result<(), String> {
        self.send_from(folder, Path::new(""), skip)
    }

    fn send_from(
        &self,
        root: &Path,
        below: &Path,
        skip: &dyn Fn(&str) -> bool,
    ) -> Result<(), String> {
        let folder = root.join(below);
        let unread = |error: io::Error| format!("{}: {error}", folder.display());
        let mut entries = Vec::new();
        for entry in fs::read_dir(&folder).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            entries.push((entry.file_name(), entry.file_type().map_err(unread)?));
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, kind) in entries {
            let path = below.join(name);
            let name = path.to_string_lossy();
            if skip(&name) {
                continue;
            }
            if kind.is_dir() {
                self.send_from(root, &path, skip)?;
            } else if kind.is_file() {
                self.send(&root.join(&path), &name)?;
            }
        }
        Ok(())
    }

    pub(super) fn ready(&self) -> Result<(), String> {
        let release = rustix::system::uname();
        self.line(&Message::Ready {
            release: release.release().to_string_lossy().into_owned(),
            uptime: uptime(),
        })
    }

    /// Sends `done`, and waits until the host has read it.
    pub(super) fn done(&self, code: i32) -> Result<(), String> {
        self.line(&Message::Done { code })?;
        // Of a terminal; a virtio port waits in write(2).
        let _ = rustix::termios::tcdrain(&*self.lock());
        Ok(())
    }

    /// Sends a heartbeat every second until the value is dropped.
    pub(super) fn beat(&self) -> Result<Heartbeat, String> {
        let writer = self.clone();
        let (stop, stopped) = channel::<()>();
        let heart = thread::Builder::new()
            .name("heartbeat".into())
            .spawn(move || {
                while stopped.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                    if writer.line(&Message::Alive { uptime: uptime() }).is_err() {
                        return;
                    }
                }
            });
        let heart = heart.map_err(|error| format!("cannot start the heartbeat: {error}"))?;
        Ok(Heartbeat {
            stop: Some(stop),
            heart: Some(heart),
        })
    }

    fn line(&self, message: &Message) -> Result<(), String> {
        let line = encode(message)?;
        self.lock().write_all(&line).map_err(|error| mute(&error))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, File> {
        self.channel.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which side failed while a file was sent.
#[derive(Debug)]
enum SendError {
    Channel(io::Error),
    File(String),
}

/// Sends exactly `bytes` bytes, as announced. Where the file has fewer, or cannot be read, the rest is zeros, so that
/// the host does not take the following lines for its content; the error is returned all the same.
fn hand_over(from: &mut impl Read, to: &mut impl Write, bytes: u64) -> Result<(), SendError> {
    let mut buffer = vec![0; 256 << 10];
    let (mut sent, mut failed) = (0, None);
    while sent < bytes {
        let room = usize::try_from(bytes - sent)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        match from.read(&mut buffer[..room]) {
            Ok(0) => break,
            Ok(n) => {
                to.write_all(&buffer[..n]).map_err(SendError::Channel)?;
                sent += n as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    io::copy(&mut io::repeat(0).take(bytes - sent), to).map_err(SendError::Channel)?;
    let short = || SendError::File(format!("{sent} of {bytes} bytes could be read"));
    match failed {
        Some(error) => Err(SendError::File(format!(
            "{error} after {sent} of {bytes} bytes"
        ))),
        None if sent < bytes => Err(short()),
        None => Ok(()),
    }
}

fn encode(message: &Message) -> Result<Vec<u8>, String> {
    let mut line = serde_json::to_vec(message).map_err(|error| error.to_string())?;
    line.push(b'\n');
    Ok(line)
}

fn mute(error: &io::Error) -> String {
    format!("the channel to the host: {error}")
}

/// Seconds since the kernel began.
fn uptime() -> f64 {
    clock::boottime_ns() as f64 / 1e9
}

/// The heartbeat; it stops when this is dropped.
#[derive(Debug)]
pub(super) struct Heartbeat {
    stop: Option<Sender<()>>,
    heart: Option<JoinHandle<()>>,
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(heart) = self.heart.take() {
            let _ = heart.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Seek};

    fn heard(file: &File) -> BufReader<File> {
        let mut file = file.try_clone().unwrap();
        file.rewind().unwrap();
        BufReader::new(file)
    }

    #[test]
    fn a_folder_goes_over_file_by_file_in_order() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir_all(temp.path().join("a/deep")).unwrap();
        fs::write(temp.path().join("a/deep/x"), "12\n").unwrap();
        fs::write(temp.path().join("b"), "").unwrap();
        fs::write(temp.path().join("lock"), "77").unwrap();
        let file = tempfile::tempfile().unwrap();
        let channel = ChannelWriter::new(file.try_clone().unwrap());
        channel
            .send_below(temp.path(), &|name| name == "lock")
            .unwrap();
        channel.done(4).unwrap();
        let lines: Vec<String> = heard(&file).lines().map(Result::unwrap).collect();
        assert_eq!(
            lines,
            [
                r#"{"say":"file","path":"a/deep/x","bytes":3}"#,
                "12",
                r#"{"say":"file","path":"b","bytes":0}"#,
                r#"{"say":"done","code":4}"#,
            ]
        );
    }

    #[test]
    fn a_file_that_is_shorter_than_promised_fails_and_keeps_the_stream_in_step() {
        struct Broken(usize);
        impl Read for Broken {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let left = std::mem::take(&mut self.0);
                buffer[..left].fill(b'x');
                if left == 0 {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                Ok(left)
            }
        }
        let mut sent = Vec::new();
        let printed = hand_over(&mut &b"abc"[..], &mut sent, 5).unwrap_err();
        assert!(matches!(printed, SendError::File(ref why) if why == "3 of 5 bytes could be read"));
        assert_eq!(sent, b"abc\0\0");
        sent.clear();
        let printed = hand_over(&mut Broken(2), &mut sent, 4).unwrap_err();
        assert!(matches!(printed, SendError::File(ref why) if why.ends_with("after 2 of 4 bytes")));
        assert_eq!(sent, b"xx\0\0");
        let mut full: &mut [u8] = &mut [0; 2];
        let printed = hand_over(&mut &b"abc"[..], &mut full, 3).unwrap_err();
        assert!(matches!(printed, SendError::Channel(_)), "{printed:?}");
        // A file that grew is sent with its announced length.
        sent.clear();
        hand_over(&mut &b"abcdef"[..], &mut sent, 4).unwrap();
        assert_eq!(sent, b"abcd");
    }

    #[test]
    fn the_heart_beats_until_it_is_dropped() {
        let file = tempfile::tempfile().unwrap();
        let channel = ChannelWriter::new(file.try_clone().unwrap());
        let begun = std::time::Instant::now();
        let beating = channel.beat().unwrap();
        thread::sleep(BEAT + BEAT / 2);
        drop(beating);
        // A busy machine may have slept for longer.
        let most = begun.elapsed().as_secs() as usize;
        let lines: Vec<String> = heard(&file).lines().map(Result::unwrap).collect();
        assert!(!lines.is_empty() && lines.len() <= most, "{lines:?}");
        assert!(
            lines[0].starts_with(r#"{"say":"alive","uptime":"#),
            "{lines:?}"
        );
    }
}
