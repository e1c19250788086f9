//! Reading: line by line, so that memory holds one line and what the caller keeps.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use rundir::{Line, Lines, RunDir};
use serde_json::Value;
use study::Plan;

use crate::error::Error;
use crate::event::{Entry, Event, FORMAT};
use crate::names::EVENTS;

/// Longest line of a log, in bytes. The plan of 100,000 trials takes 10 MB.
pub(super) const LONGEST: usize = 32 << 20;

/// A log in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// Every whole event, in order.
    pub entries: Vec<Entry>,
    /// The torn last line, when there is one.
    pub torn: Option<Torn>,
}

/// A torn last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// 1-based line.
    pub line: u64,
    /// Bytes of it that are there.
    pub bytes: u64,
}

/// Reads a whole log.
///
/// # Errors
/// [`Error::Io`], [`Error::Damaged`], [`Error::Future`].
pub fn read(path: &Path) -> Result<Loaded, Error> {
    let mut reader = Reader::open(path)?;
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        entries.push(entry);
    }
    Ok(Loaded {
        entries,
        torn: reader.torn(),
    })
}

/// Reads a log event by event.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    path: PathBuf,
    line: u64,
    good: u64,
    whole: bool,
    torn: Option<Torn>,
    text: Vec<u8>,
}

impl Reader<BufReader<File>> {
    /// Opens a log.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Reader::of(
            Error::opened(path, input::open_regular(path))?,
            path,
        ))
    }

    /// Opens the log of a run whose folder is open.
    ///
    /// # Errors
    /// [`Error::NotARun`]; [`Error::Unsafe`]; [`Error::Io`].
    pub fn of_run(dir: &RunDir) -> Result<Self, Error> {
        let log = dir.read(EVENTS)?;
        let log = log.ok_or_else(|| Error::not_a_run(dir.path()))?;
        Ok(Reader::of(log, &dir.path().join(EVENTS)))
    }

    /// Reads a log that is open; `path` is for messages.
    pub fn of(file: File, path: &Path) -> Self {
        Reader::new(BufReader::with_capacity(64 << 10, file), path)
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads from anything; `path` is for messages.
    pub fn new(input: R, path: &Path) -> Self {
        Reader {
            lines: Lines::new(input, LONGEST),
            path: path.to_owned(),
            line: 0,
            good: 0,
            whole: true,
            torn: None,
            text: Vec::new(),
        }
    }

    /// The next event; `None` at the end or at a torn last line (see [`torn`](Self::torn)).
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`], [`Error::Future`]. After an error, stop.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        if self.torn.is_some() {
            return Ok(None);
        }
        let path = &self.path;
        let io = |cause: io::Error| Error::io("read", path, cause);
        let ended = match self.lines.next_line().map_err(io)? {
            None => return Ok(None),
            Some(Line::TooLong) => {
                self.line += 1;
                return Err(self.damaged(format!("a line longer than {} MiB", LONGEST >> 20)));
            }
            Some(Line::Whole { bytes, ended }) => {
                self.text.clear();
                self.text.extend_from_slice(bytes);
                ended
            }
        };
        let last = self.lines.at_end().map_err(io)?;
        self.line += 1;
        let text = &self.text[..];
        let bytes = text.len() + usize::from(ended);
        if self.line == 1 {
            self.refuse_future(text)?;
        }
        let entry = match serde_json::from_slice::<Entry>(text) {
            Ok(entry) => entry,
            Err(_) if last && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_err() => {
                self.torn = Some(Torn {
                    line: self.line,
                    bytes: bytes as u64,
                });
                return Ok(None);
            }
            Err(error) => return Err(self.damaged(error)),
        };
        self.check(&entry)?;
        self.good += bytes as u64;
        self.whole = ended;
        Ok(Some(entry))
    }

    /// The bytes of the line read last, without its newline.
    pub fn line(&self) -> &[u8] {
        &self.text
    }

    /// The torn last line, once [`next_entry`](Self::next_entry) has returned `None`.
    pub fn torn(&self) -> Option<Torn> {
        self.torn
    }

    /// Bytes of the events read so far.
    pub fn good_bytes(&self) -> u64 {
        self.good
    }

    /// Whether the last event read had its line end.
    pub(crate) fn line_ended(&self) -> bool {
        self.whole
    }

    fn damaged(&self, why: impl std::fmt::Display) -> Error {
        Error::Damaged {
            path: self.path.clone(),
            line: self.line,
            why: why.to_string(),
        }
    }

    /// Before anything else of a newer log is interpreted, its format is looked at alone.
    fn refuse_future(&self, text: &[u8]) -> Result<(), Error> {
        let format = serde_json::from_slice::<Value>(text)
            .ok()
            .and_then(|value| value.get("format").and_then(Value::as_u64));
        match format {
            Some(format) if format > u64::from(FORMAT) => Err(Error::Future {
                path: self.path.clone(),
                format,
            }),
            _ => Ok(()),
        }
    }

    fn check(&self, entry: &Entry) -> Result<(), Error> {
        let expected = self.line - 1;
        if entry.seq != expected {
            return Err(self.damaged(format!("event {} where {expected} belongs", entry.seq)));
        }
        match &entry.event {
            Event::RunStarted { plan, .. } if self.line == 1 => {
                contradiction(plan).map_or(Ok(()), |why| Err(self.damaged(why)))
            }
            Event::RunStarted { .. } => Err(self.damaged("a second run_started")),
            _ if self.line == 1 => Err(self.damaged("a log begins with run_started")),
            _ => Ok(()),
        }
    }
}

/// Why a plan's cells and slots do not fit together. Everybody indexes one with the other.
fn contradiction(plan: &Plan) -> Option<String> {
    let ids = plan
        .cells
        .iter()
        .zip(0_u32..)
        .find(|(cell, id)| cell.id != *id);
    if let Some((cell, id)) = ids {
        return Some(format!("the plan's cell {id} calls itself {}", cell.id));
    }
    let trials = plan
        .slots
        .iter()
        .zip(0_u32..)
        .find(|(slot, trial)| slot.trial != *trial);
    if let Some((slot, trial)) = trials {
        return Some(format!(
            "the plan's trial {trial} calls itself {}",
            slot.trial
        ));
    }
    let cells = plan.cells.len();
    let lost = plan.slots.iter().find(|slot| slot.cell as usize >= cells)?;
    Some(format!(
        "the plan's trial {} wants cell {} of {cells}",
        lost.trial, lost.cell
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_is_an_error() {
        let endless = BufReader::new(std::io::repeat(b'x'));
        let mut reader = Reader::new(endless, Path::new("events.jsonl"));
        let error = reader.next_entry().unwrap_err().to_string();
        assert!(error.contains("longer than 32 MiB"), "{error}");
    }
}
