//! Writing: one event, one line, one `write(2)`.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rundir::RunDir;

use crate::error::Error;
use crate::event::{Entry, Event};
use crate::log::read::{LONGEST, Loaded, Reader};
use crate::names::EVENTS;

/// A log open for writing. Take the folder's lock first.
#[derive(Debug)]
pub struct Log {
    sink: File,
    path: PathBuf,
    next: u64,
    length: u64,
    broken: bool,
}

impl Log {
    /// Begins the log of a run's folder; there must be none.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(dir: &RunDir) -> Result<Log, Error> {
        let sink = dir.create_new(EVENTS)?;
        dir.sync()?;
        Ok(Log {
            sink,
            path: dir.path().join(EVENTS),
            next: 0,
            length: 0,
            broken: false,
        })
    }

    /// Reopens a run's log to go on with it. A torn last line is first copied to the end of
    /// `events.jsonl.torn`, then cut off; [`Loaded::torn`] reports it.
    ///
    /// # Errors
    /// As [`read`](crate::log::read), [`Error::Io`], and [`Error::Unsafe`] for a link or what is no file.
    pub fn append_to(dir: &RunDir) -> Result<(Log, Loaded), Error> {
        let path = dir.path().join(EVENTS);
        let log = dir.read_trusted(EVENTS)?;
        let log = log.ok_or_else(|| Error::io("open", &path, io::ErrorKind::NotFound))?;
        let mut reader = Reader::of(log, &path);
        let mut entries = Vec::new();
        while let Some(entry) = reader.next_entry()? {
            entries.push(entry);
        }
        let loaded = Loaded {
            entries,
            torn: reader.torn(),
        };
        let mut length = reader.good_bytes();
        let cannot = |cause| Error::io("repair", &path, cause);
        let mut sink = dir.append(EVENTS)?;
        if loaded.torn.is_some() {
            keep_torn(dir, &mut sink, length)?;
            sink.set_len(length)
                .and_then(|()| sink.sync_data())
                .map_err(cannot)?;
        }
        if !reader.line_ended() {
            // Whole but for its line end: the kill came between the two last bytes.
            sink.write_all(b"\n").map_err(cannot)?;
            length += 1;
        }
        let next = loaded.entries.len() as u64;
        Ok((
            Log {
                sink,
                path,
                next,
                length,
                broken: false,
            },
            loaded,
        ))
    }

    /// Records an event, with the next number and the time of now. When this returns, the event
    /// outlives the process; see the module's durability section for what outlives a power cut.
    ///
    /// # Errors
    /// [`Error::CannotRecord`] when the disk does not take it: the event is not in the log and the
    /// run must stop. [`Error::Unrecordable`] when the event would not read back as it is (a
    /// number that is not finite): nothing is written and the log can go on.
    pub fn emit(&mut self, event: Event) -> Result<Entry, Error> {
        let entry = Entry {
            seq: self.next,
            at: Timestamp::now(),
            event,
        };
        let line = encode(&entry)?;
        if self.broken {
            let cause = io::Error::other("an earlier event went in torn");
            return Err(self.failed(cause, "the log keeps the events before it"));
        }
        if let Err(cause) = write_whole(&mut self.sink, &line) {
            let cut = self.sink.set_len(self.length).is_ok();
            self.broken = !cut;
            let state = if cut {
                "the log keeps all events before it"
            } else {
                "the log keeps all events before it and a torn last line"
            };
            return Err(self.failed(cause, state));
        }
        self.length += line.len() as u64;
        self.next += 1;
        if must_survive_power_cut(&entry.event) {
            self.sink.sync_data().map_err(|cause| Error::CannotRecord {
                path: self.path.clone(),
                seq: entry.seq,
                cause,
                state: "the disk did not confirm it",
            })?;
        }
        Ok(entry)
    }

    /// Events in the log.
    pub fn len(&self) -> u64 {
        self.next
    }

    /// Whether the log has no events.
    pub fn is_empty(&self) -> bool {
        self.next == 0
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, cause: io::Error, state: &'static str) -> Error {
        Error::CannotRecord {
            path: self.path.clone(),
            seq: self.next,
            cause,
            state,
        }
    }
}

const fn must_survive_power_cut(event: &Event) -> bool {
    matches!(
        event,
        Event::RunStarted { .. }
            | Event::Resumed { .. }
            | Event::TrialRepeated { .. }
            | Event::TrialFinished { .. }
            | Event::TrialFailed { .. }
            | Event::RunFinished { .. }
    )
}

/// The line of an entry, proven to read back as the same entry. JSON has no word for a number that
/// is not finite; `serde_json` writes `null`, which only a reader, much later, would stumble over.
fn encode(entry: &Entry) -> Result<Vec<u8>, Error> {
    let refuse = |why: String| Error::Unrecordable {
        seq: entry.seq,
        event: name(&entry.event),
        why,
    };
    let mut line = serde_json::to_vec(entry).map_err(|error| refuse(error.to_string()))?;
    match serde_json::from_slice::<Entry>(&line) {
        Ok(read) if read == *entry => {}
        Ok(_) => return Err(refuse("it would read back changed".to_owned())),
        Err(error) => {
            return Err(refuse(format!("a number is not finite, or {error}")));
        }
    }
    if line.len() > LONGEST {
        return Err(refuse(format!(
            "it takes {} MiB, and a line has at most {}",
            line.len() >> 20,
            LONGEST >> 20
        )));
    }
    line.push(b'\n');
    Ok(line)
}

fn name(event: &Event) -> String {
    let tag = serde_json::to_value(event).ok();
    let tag = tag
        .as_ref()
        .and_then(|value| value.get("event"))
        .and_then(|tag| tag.as_str());
    tag.unwrap_or("unknown").to_owned()
}

/// One `write(2)` when the kernel takes it all, which it does on a local disk with room. After a
/// short write the rest is tried once more, to learn the cause.
fn write_whole(sink: &mut impl Write, line: &[u8]) -> io::Result<()> {
    let mut done = 0;
    while done < line.len() {
        match sink.write(&line[done..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Copies what follows `good` to the end of `<log>.torn`.
fn keep_torn(dir: &RunDir, log: &mut File, good: u64) -> Result<(), Error> {
    use std::io::{Seek, SeekFrom};
    let torn = format!("{EVENTS}.torn");
    let mut copy = dir.append(&torn)?;
    let mut copied = || {
        log.seek(SeekFrom::Start(good))?;
        io::copy(log, &mut copy)?;
        copy.write_all(b"\n")?;
        copy.sync_data()
    };
    copied().map_err(|cause| Error::io("write", &dir.path().join(&torn), cause))
}

#[cfg(test)]
mod tests;
