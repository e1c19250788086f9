//! The reader, for reports.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rundir::RunDir;

use super::{COLUMN, Column, END, MAGIC, ROW, VERSION, checksum, varint};
use crate::error::Error;

const HEAD: usize = 12;
const FRAME_HEAD: usize = 8;
/// Largest file that is read, in bytes: 20 times what a trial of a day writes.
const LARGEST: u64 = 1 << 30;

/// Reads telemetry files.
///
/// Memory is bounded by the file's size: a change takes at least 2 bytes there and 16 here, a row
/// 3 and 16, a column 3 and 48. No length in the file is believed before its bytes are there.
#[derive(Clone, Copy, Debug)]
pub struct Reader;

impl Reader {
    /// Reads a file. A torn tail is left out; [`Table::dropped_bytes`] counts it.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Unsafe`] when it is no regular file; [`Error::Telemetry`] when it is no telemetry file or of a newer version.
    pub fn read(path: &Path) -> Result<Table, Error> {
        Reader::read_file(Error::opened(path, input::open_regular(path))?, path)
    }

    /// Reads the file of a run's folder that its log names. No link is followed and nothing outside of the folder is read.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_in(dir: &Path, name: &str) -> Result<Table, Error> {
        let path = dir.join(name);
        let file = RunDir::open(dir)?.read(name)?;
        let file = file.ok_or_else(|| Error::io("read", &path, io::ErrorKind::NotFound))?;
        Reader::read_file(file, &path)
    }

    fn read_file(file: File, path: &Path) -> Result<Table, Error> {
        let cannot = |cause| Error::io("read", path, cause);
        let damaged = |why| Error::Telemetry {
            path: path.to_owned(),
            why,
        };
        if file.metadata().map_err(cannot)?.len() > LARGEST {
            let why = format!("larger than {} MiB: not a trial's telemetry", LARGEST >> 20);
            return Err(damaged(why));
        }
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes).map_err(cannot)?;
        Reader::decode(&bytes).map_err(damaged)
    }

    /// Reads a file's bytes.
    ///
    /// # Errors
    /// Why they are no telemetry file, in words.
    pub fn decode(bytes: &[u8]) -> Result<Table, String> {
        let Some((head, mut rest)) = bytes.split_at_checked(HEAD) else {
            return Err("torn off in its first bytes: it holds no telemetry".to_owned());
        };
        if head[..8] != MAGIC {
            return Err("not a telemetry file: it does not begin with \"fslabtel\"".to_owned());
        }
        match word(&head[8..]) {
            Some(VERSION) => {}
            version => {
                let version = version.unwrap_or(0);
                return Err(format!(
                    "telemetry version {version} is not the one this fslab reads ({VERSION}): use \
                     the fslab that wrote it"
                ));
            }
        }
        let mut table = Table::default();
        let mut last = Vec::new();
        while let Some((payload, after)) = frame(rest) {
            let mark = table.mark();
            if table.add(payload, &mut last).is_none() {
                // A frame with a right sum and wrong records: not torn, but no more of use.
                table.reset(mark);
                break;
            }
            rest = after;
        }
        table.dropped = rest.len() as u64;
        Ok(table)
    }
}

/// A frame's payload and what follows it; `None` when it is not whole.
fn frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = word(bytes)? as usize;
    let sum = word(bytes.get(4..)?)?;
    let (payload, rest) = bytes.get(FRAME_HEAD..)?.split_at_checked(length)?;
    (length > 0 && checksum(payload) == sum).then_some((payload, rest))
}

fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))
}

/// A trial's telemetry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The columns, by number.
    pub columns: Vec<Column>,
    /// Time of each row, CLOCK_MONOTONIC, nanoseconds.
    pub times: Vec<u64>,
    /// Where each row's changes end in `changes`.
    ends: Vec<usize>,
    /// Column and its new value.
    changes: Vec<(u32, i64)>,
    complete: bool,
    dropped: u64,
}

impl Table {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.times.len()
    }

    /// The number of a column.
    pub fn column(&self, name: &str) -> Option<u32> {
        let found = self.columns.iter().position(|column| column.name == name)?;
        Some(found as u32)
    }

    /// Times and values of a column, from the row of its first value on, unchanged values carried
    /// forward. Empty for a column that is not there. Takes one pass over all changes.
    pub fn series(&self, column: u32) -> (Vec<u64>, Vec<i64>) {
        let (mut times, mut values) = (Vec::new(), Vec::new());
        let mut value = None;
        let mut begin = 0;
        for (&at, &end) in self.times.iter().zip(&self.ends) {
            let changes = &self.changes[begin..end];
            begin = end;
            // Sorted by column.
            if let Ok(found) = changes.binary_search_by_key(&column, |change| change.0) {
                value = Some(changes[found].1);
            }
            if let Some(value) = value {
                times.push(at);
                values.push(value);
            }
        }
        (times, values)
    }

    /// The changes of a row: column and new value, by rising column.
    pub fn changes(&self, row: usize) -> &[(u32, i64)] {
        let begin = row
            .checked_sub(1)
            .and_then(|before| self.ends.get(before))
            .copied();
        self.ends
            .get(row)
            .map_or(&[], |&end| &self.changes[begin.unwrap_or(0)..end])
    }

    /// Whether the writer came to its end: the end mark is there and gives the same number of rows.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Bytes at the end that were left out because they are torn.
    pub fn dropped_bytes(&self) -> u64 {
        self.dropped
    }

    /// Adds a frame's records. `last` holds each column's value so far. `None`: they make no sense.
    fn add(&mut self, mut payload: &[u8], last: &mut Vec<i64>) -> Option<()> {
        while let Some((&kind, rest)) = payload.split_first() {
            payload = rest;
            match kind {
                COLUMN => {
                    let name = text(&mut payload)?;
                    let unit = text(&mut payload)?;
                    self.columns.push(Column { name, unit });
                    last.push(0);
                }
                ROW => self.add_row(&mut payload, last)?,
                END => self.complete = varint::take(&mut payload)? == self.rows() as u64,
                _ => return None,
            }
        }
        Some(())
    }

    fn add_row(&mut self, payload: &mut &[u8], last: &mut [i64]) -> Option<()> {
        let before = self.times.last().copied().unwrap_or(0);
        let at = before.wrapping_add(varint::take_signed(payload)? as u64);
        let count = varint::take(payload)?;
        let mut next = 0_usize;
        for _ in 0..count {
            let gap = usize::try_from(varint::take(payload)?).ok()?;
            let column = next.checked_add(gap)?;
            let value = last.get_mut(column)?;
            *value = value.wrapping_add(varint::take_signed(payload)?);
            self.changes.push((column as u32, *value));
            next = column + 1;
        }
        self.times.push(at);
        self.ends.push(self.changes.len());
        Some(())
    }

    fn mark(&self) -> [usize; 3] {
        [self.columns.len(), self.times.len(), self.changes.len()]
    }

    fn reset(&mut self, [columns, rows, changes]: [usize; 3]) {
        self.columns.truncate(columns);
        self.times.truncate(rows);
        self.ends.truncate(rows);
        self.changes.truncate(changes);
        self.complete = false;
    }
}

fn text(payload: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(varint::take(payload)?).ok()?;
    let (bytes, rest) = payload.split_at_checked(length)?;
    *payload = rest;
    String::from_utf8(bytes.to_vec()).ok()
}
