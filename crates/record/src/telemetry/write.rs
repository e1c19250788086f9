//! The writer, for the sampling thread.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{COLUMN, END, MAGIC, ROW, VERSION, checksum, varint};
use crate::error::Error;

/// A frame goes out when its first row is this old, in the rows' own time.
const FLUSH_NS: u64 = 1_000_000_000;
/// ... or when it is this large.
const FLUSH_BYTES: usize = 64 << 10;
const FRAME_HEAD: usize = 8;

/// Writes a telemetry file. Memory: one frame (64 KiB) and 9 bytes a column and its name.
///
/// Dropped without [`finish`](Self::finish), it writes what it holds, but no end mark.
#[derive(Debug)]
pub struct Writer {
    sink: File,
    path: PathBuf,
    /// Bytes of the file that are whole frames.
    length: u64,
    names: HashMap<String, u32>,
    values: Vec<Option<i64>>,
    /// The frame to come: room for its head, then its payload.
    frame: Vec<u8>,
    changes: Vec<(u32, i64)>,
    rows: u64,
    last_at: u64,
    frame_since: Option<u64>,
}

impl Writer {
    /// Makes the file; one that is there (of a trial that was torn off) is replaced.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(path: &Path) -> Result<Writer, Error> {
        Writer::of(rundir::create_file(path)?, path)
    }

    /// Begins an empty file that is open; `path` is for messages.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn of(mut sink: File, path: &Path) -> Result<Writer, Error> {
        let cannot = |cause| Error::io("create", path, cause);
        let mut head = MAGIC.to_vec();
        head.extend(VERSION.to_le_bytes());
        sink.write_all(&head).map_err(cannot)?;
        Ok(Writer {
            sink,
            path: path.to_owned(),
            length: head.len() as u64,
            names: HashMap::new(),
            values: Vec::new(),
            frame: vec![0; FRAME_HEAD],
            changes: Vec::new(),
            rows: 0,
            last_at: 0,
            frame_since: None,
        })
    }

    /// The number of a column, declared on first use. A name asked again keeps its number (and its
    /// first unit).
    pub fn column(&mut self, name: &str, unit: &str) -> u32 {
        if let Some(&number) = self.names.get(name) {
            return number;
        }
        let number = self.values.len() as u32;
        self.names.insert(name.to_owned(), number);
        self.values.push(None);
        self.frame.push(COLUMN);
        for text in [name, unit] {
            varint::put(&mut self.frame, text.len() as u64);
            self.frame.extend(text.bytes());
        }
        number
    }

    /// Adds a row: the time (CLOCK_MONOTONIC, nanoseconds) and the values read, in any order.
    /// Columns left out repeat their value; of a column named twice, the last counts.
    ///
    /// # Errors
    /// [`Error::Io`] when the frame that was due cannot be written (its rows are lost; the file
    /// stays whole, ends there, and takes no more); [`Error::Telemetry`] for a column that was never declared.
    pub fn row(&mut self, at_ns: u64, values: &[(u32, i64)]) -> Result<(), Error> {
        self.changes.clear();
        for &(column, value) in values {
            let Some(before) = self.values.get_mut(column as usize) else {
                let why = format!(
                    "column {column} of {} was never declared; this is a defect of fslab, report it",
                    self.values.len()
                );
                return Err(Error::Telemetry {
                    path: self.path.clone(),
                    why,
                });
            };
            if *before != Some(value) {
                self.changes
                    .push((column, value.wrapping_sub(before.unwrap_or(0))));
                *before = Some(value);
            }
        }
        // A column named twice left two differences: their sum is the last value.
        self.changes.sort_by_key(|change| change.0);
        self.changes.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.wrapping_add(next.1);
            }
            same
        });
        self.frame.push(ROW);
        varint::put_signed(&mut self.frame, at_ns.wrapping_sub(self.last_at) as i64);
        varint::put(&mut self.frame, self.changes.len() as u64);
        let mut next = 0;
        for &(column, difference) in &self.changes {
            varint::put(&mut self.frame, u64::from(column - next));
            varint::put_signed(&mut self.frame, difference);
            next = column + 1;
        }
        self.last_at = at_ns;
        self.rows += 1;
        let since = *self.frame_since.get_or_insert(at_ns);
        if at_ns.saturating_sub(since) >= FLUSH_NS || self.frame.len() >= FLUSH_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the rest and the end mark.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(mut self) -> Result<(), Error> {
        self.frame.push(END);
        varint::put(&mut self.frame, self.rows);
        self.flush()
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes the frame in one `write`. One that went in partly is cut off again and given up, with
    /// a file that ends there: its differences are gone, so nothing may follow.
    fn flush(&mut self) -> Result<(), Error> {
        let mut frame = std::mem::replace(&mut self.frame, vec![0; FRAME_HEAD]);
        self.frame_since = None;
        let (head, payload) = frame.split_at_mut(FRAME_HEAD);
        if payload.is_empty() {
            return Ok(());
        }
        head[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        head[4..].copy_from_slice(&checksum(payload).to_le_bytes());
        if let Err(cause) = self.write(&frame) {
            return Err(Error::io("write", &self.path, cause));
        }
        frame.truncate(FRAME_HEAD);
        self.frame = frame;
        Ok(())
    }

    fn write(&mut self, frame: &[u8]) -> io::Result<()> {
        if self.length == 0 {
            return Err(io::Error::other(
                "an earlier part of it could not be written",
            ));
        }
        let written = self.sink.write_all(frame);
        if written.is_ok() {
            self.length += frame.len() as u64;
        } else {
            // A reader stops at a torn frame anyway; the cut only tidies.
            let _ = self.sink.set_len(self.length);
            self.length = 0;
        }
        written
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.length > 0 && self.frame.len() > FRAME_HEAD {
            let _ = self.flush();
        }
    }
}
