//! What reaches the host: lines and files, from any thread, each whole.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::machine::message::Message;

/// Between two signs of life.
const BEAT: Duration = Duration::from_secs(1);

/// The guest's voice. A clone speaks through the same channel.
#[derive(Clone, Debug)]
pub struct Voice {
    channel: Arc<Mutex<File>>,
}

impl Voice {
    /// A voice through an open channel.
    pub fn new(channel: File) -> Voice {
        Voice {
            channel: Arc::new(Mutex::new(channel)),
        }
    }

    /// Says a document of the job.
    ///
    /// # Errors
    /// When the host does not hear any more.
    pub fn say(&self, said: Value) -> Result<(), String> {
        self.line(&Message::Job { said })
    }

    /// Sends a file under a name of the host's folder.
    ///
    /// # Errors
    /// When it cannot be read, or the host does not hear any more.
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
            Trouble::Channel(error) => mute(&error),
            Trouble::File(why) => format!("{}: {why}", file.display()),
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

    /// Says `done`, and waits until the host has it.
    pub(super) fn done(&self, code: i32) -> Result<(), String> {
        self.line(&Message::Done { code })?;
        // A terminal's; a virtio port waits in write(2).
        let _ = rustix::termios::tcdrain(&*self.lock());
        Ok(())
    }

    /// A sign of life every second until the value is dropped.
    pub(super) fn beat(&self) -> Result<Beating, String> {
        let voice = self.clone();
        let (stop, stopped) = channel::<()>();
        let heart = thread::Builder::new()
            .name("heartbeat".into())
            .spawn(move || {
                while stopped.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                    if voice.line(&Message::Alive { uptime: uptime() }).is_err() {
                        return;
                    }
                }
            });
        let heart = heart.map_err(|error| format!("cannot start the heartbeat: {error}"))?;
        Ok(Beating {
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

/// Which side of a file's way to the host failed.
#[derive(Debug)]
enum Trouble {
    Channel(io::Error),
    File(String),
}

/// Sends as many bytes as were promised. Of a file that has fewer, or cannot be read, the rest is zeros, or
/// the host would take the next lines for its end; then it is an error all the same.
fn hand_over(from: &mut impl Read, to: &mut impl Write, bytes: u64) -> Result<(), Trouble> {
    let mut buffer = vec![0; 256 << 10];
    let (mut sent, mut failed) = (0, None);
    while sent < bytes {
        let room = usize::try_from(bytes - sent)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        match from.read(&mut buffer[..room]) {
            Ok(0) => break,
            Ok(n) => {
                to.write_all(&buffer[..n]).map_err(Trouble::Channel)?;
                sent += n as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    io::copy(&mut io::repeat(0).take(bytes - sent), to).map_err(Trouble::Channel)?;
    let short = || Trouble::File(format!("{sent} of {bytes} bytes could be read"));
    match failed {
        Some(error) => Err(Trouble::File(format!(
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
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// The heartbeat; it stops when this is dropped.
#[derive(Debug)]
pub(super) struct Beating {
    stop: Option<Sender<()>>,
    heart: Option<JoinHandle<()>>,
}

impl Drop for Beating {
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
        let voice = Voice::new(file.try_clone().unwrap());
        voice
            .send_below(temp.path(), &|name| name == "lock")
            .unwrap();
        voice.done(4).unwrap();
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
        let said = hand_over(&mut &b"abc"[..], &mut sent, 5).unwrap_err();
        assert!(matches!(said, Trouble::File(ref why) if why == "3 of 5 bytes could be read"));
        assert_eq!(sent, b"abc\0\0");
        sent.clear();
        let said = hand_over(&mut Broken(2), &mut sent, 4).unwrap_err();
        assert!(matches!(said, Trouble::File(ref why) if why.ends_with("after 2 of 4 bytes")));
        assert_eq!(sent, b"xx\0\0");
        let mut full: &mut [u8] = &mut [0; 2];
        let said = hand_over(&mut &b"abc"[..], &mut full, 3).unwrap_err();
        assert!(matches!(said, Trouble::Channel(_)), "{said:?}");
        // What grew meanwhile is sent as it was.
        sent.clear();
        hand_over(&mut &b"abcdef"[..], &mut sent, 4).unwrap();
        assert_eq!(sent, b"abcd");
    }

    #[test]
    fn the_heart_beats_until_it_is_dropped() {
        let file = tempfile::tempfile().unwrap();
        let voice = Voice::new(file.try_clone().unwrap());
        let beating = voice.beat().unwrap();
        thread::sleep(BEAT + BEAT / 2);
        drop(beating);
        let lines: Vec<String> = heard(&file).lines().map(Result::unwrap).collect();
        assert!(!lines.is_empty() && lines.len() <= 2, "{lines:?}");
        assert!(
            lines[0].starts_with(r#"{"say":"alive","uptime":"#),
            "{lines:?}"
        );
    }
}
