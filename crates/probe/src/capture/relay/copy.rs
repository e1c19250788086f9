//! From a relay file of the kernel to a file of the trace, byte for byte, as blktrace copies.
//!
//! The kernel has put everything into the records already: names, sequences, wall clock. So bytes are
//! copied as they come, and only counted on the way: events, and the numbers missing between them.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use blktrace::record::{Category, Head, SIZE};

use crate::capture::Error;

const BUFFER: usize = 256 << 10;

/// A CPU's relay file and its copy.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) cpu: u32,
    from: PathBuf,
    source: File,
    to: PathBuf,
    file: BufWriter<File>,
    /// The start of a record whose end was not read yet.
    part: Vec<u8>,
    pub(super) bytes: u64,
    pub(super) events: u64,
    /// Numbers missing in the sequence.
    pub(super) missing: u64,
    last: u32,
    /// Whether the bytes stopped being records; they are copied all the same.
    pub(super) broken: bool,
}

impl Copy {
    /// `from` is `trace0` in the trace's folder, `to` a file that is not there.
    pub(super) fn new(cpu: u32, from: &Path, to: &Path) -> Result<Copy, Error> {
        let source = File::open(from)
            .map_err(|error| Error::kernel(from, "cannot open the relay file", error))?;
        let file = File::create_new(to)
            .map_err(|error| Error::output(to, "cannot make the file", error))?;
        Ok(Copy {
            cpu,
            from: from.to_owned(),
            source,
            to: to.to_owned(),
            file: BufWriter::with_capacity(BUFFER, file),
            part: Vec::new(),
            bytes: 0,
            events: 0,
            missing: 0,
            last: 0,
            broken: false,
        })
    }

    /// Copies the bytes that are available; returns whether there were any.
    pub(super) fn pass(&mut self, buffer: &mut [u8]) -> Result<bool, Error> {
        let mut any = false;
        loop {
            let length = match self.source.read(buffer) {
                Ok(0) => return Ok(any),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(any),
                Err(error) => {
                    let what = "cannot read the relay file";
                    return Err(Error::kernel(&self.from, what, error));
                }
            };
            any = true;
            self.file
                .write_all(&buffer[..length])
                .map_err(|error| Error::output(&self.to, "cannot write the trace", error))?;
            self.bytes += length as u64;
            if !self.broken {
                self.part.extend_from_slice(&buffer[..length]);
                self.count();
            }
        }
    }

    /// Counts the whole records of what was copied.
    fn count(&mut self) {
        let mut rest = &self.part[..];
        while let Some((record, _)) = rest.split_first_chunk::<SIZE>() {
            let Ok(head) = Head::parse(record) else {
                self.broken = true;
                self.part = Vec::new();
                return;
            };
            let Some(after) = rest.get(SIZE + usize::from(head.pdu_len)..) else {
                break;
            };
            rest = after;
            if !head.has(Category::Notify) {
                self.events += 1;
                let gap = head.sequence.saturating_sub(self.last).saturating_sub(1);
                self.missing += u64::from(gap);
                self.last = self.last.max(head.sequence);
            }
        }
        let left = rest.len();
        self.part.drain(..self.part.len() - left);
    }

    /// Writes out what is buffered. A record that is cut off at the end is broken.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        self.broken |= !self.part.is_empty();
        self.file
            .flush()
            .map_err(|error| Error::output(&self.to, "cannot write the trace", error))
    }
}
