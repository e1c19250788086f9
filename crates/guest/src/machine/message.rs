//! Messages of a guest to the host: lines of JSON on one byte stream, and files between them.
//!
//! One stream carries everything, so that there is one order and one end. A line is a whole JSON
//! document; a file is a line with its name and length, followed by that many bytes.
//! The guest is not trusted: the length of a line is limited, and a file's name must stay below the folder for files.

use std::io::{self, BufRead, Read};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest line that is read, bytes. An event with the report of a whole phase has some KiB.
const LONGEST: u64 = 64 << 20;

/// One line of a guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum Message {
    /// The first line: init is up, the modules are loaded, the job begins.
    Ready {
        /// The kernel's release, as uname(2) reports it (`6.1.0-47-cloud-amd64`).
        release: String,
        /// Seconds since the guest's kernel began.
        uptime: f64,
    },
    /// Sent every second, which distinguishes a busy guest from a hung one.
    Alive {
        /// Seconds since the guest's kernel began.
        uptime: f64,
    },
    /// A document of the job. The machine passes it on unread.
    Job {
        /// The job's own document.
        #[serde(rename = "said")]
        document: Value,
    },
    /// A file follows.
    File {
        /// Path below the folder of files, without `..`.
        path: String,
        /// Bytes that follow this line.
        bytes: u64,
    },
    /// The last line.
    Done {
        /// The job's exit code; 0: it did what it should.
        code: i32,
    },
}

/// Reads one line. `None`: the stream ended.
pub(super) fn read(stream: &mut impl BufRead) -> io::Result<Option<Message>> {
    line_of(stream, LONGEST)
}

/// Reads one line of `longest` bytes at most.
fn line_of(stream: &mut impl BufRead, longest: u64) -> io::Result<Option<Message>> {
    let mut line = Vec::new();
    stream.take(longest).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        if line.len() as u64 == longest {
            let why = format!("a line is longer than {longest} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "a line without an end",
        ));
    }
    serde_json::from_slice(&line)
        .map(Some)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}

/// The path of a guest's file, always below `folder`. `None`: the name is not allowed.
pub(super) fn place(folder: &Path, path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    (plain && path.components().next().is_some()).then(|| folder.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8]) -> io::Result<Vec<Message>> {
        let mut stream = io::BufReader::new(bytes);
        let mut found = Vec::new();
        while let Some(message) = read(&mut stream)? {
            found.push(message);
        }
        Ok(found)
    }

    #[test]
    fn each_line_reads_back() {
        let printed = [
            Message::Ready {
                release: "6.1".into(),
                uptime: 1.5,
            },
            Message::Alive { uptime: 2.0 },
            Message::Job {
                document: serde_json::json!({"a": ["\n", 1]}),
            },
            Message::File {
                path: "x/y".into(),
                bytes: 3,
            },
            Message::Done { code: 0 },
        ];
        let mut bytes = Vec::new();
        for message in &printed {
            serde_json::to_writer(&mut bytes, message).unwrap();
            bytes.push(b'\n');
        }
        assert_eq!(all(&bytes).unwrap(), printed);
    }

    #[test]
    fn a_torn_line_is_an_error_and_not_an_end() {
        let torn = all(b"{\"say\":\"alive\",\"uptime\":1}\n{\"say\":\"do").unwrap_err();
        assert_eq!(torn.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_line_without_bounds_is_nonsense_and_no_death() {
        let mut endless: &[u8] = &[b'x'; 100];
        let printed = line_of(&mut endless, 64).unwrap_err();
        assert_eq!(printed.kind(), io::ErrorKind::InvalidData);
        assert_eq!(printed.to_string(), "a line is longer than 64 bytes");
    }

    #[test]
    fn no_file_leaves_the_folder() {
        let folder = Path::new("/runs/a");
        for path in ["", ".", "..", "../x", "/etc/passwd", "a/../../x", "a/.."] {
            assert_eq!(place(folder, path), None, "{path}");
        }
        assert_eq!(place(folder, "a/b"), Some("/runs/a/a/b".into()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = all(&bytes);
        }
    }
}
