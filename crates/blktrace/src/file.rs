//! One CPU's file, read forwards in batches.
//!
//! A batch is 512 events, as blkparse reads them, and this is more than taste: the notes that name
//! processes are taken out of a batch when it is read, so a name is known up to a batch before its
//! note's own time. To print the same text, a reader must read ahead by the same number.
//!
//! Records are given in the order of the file. An interrupt can leave two of them exchanged; blkparse
//! prints them in file order, so this reader does not sort either (a window that did was tried: it
//! hid from the analysis what the tools of the time show).

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::record::{Category, Head, Malformed, SIZE};

/// Events of a batch (blkparse's `RB_BATCH_DEFAULT`).
const BATCH: usize = 512;

/// Bytes that are asked of the file at once.
const CHUNK: usize = 64 * 1024;

/// A record with what followed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event<'a> {
    /// The record.
    pub head: Head,
    /// What followed it, with the cgroup id if it had one: `head.pdu_len` bytes.
    pub pdu: &'a [u8],
}

impl<'a> Event<'a> {
    /// What followed it, without the cgroup id.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.head.payload(self.pdu)
    }
}

/// A record in the buffer.
#[derive(Clone, Copy)]
struct Slot {
    head: Head,
    /// Where its PDU begins.
    pdu: usize,
}

/// A file of one CPU.
pub(crate) struct CpuFile<R = File> {
    path: PathBuf,
    /// Records of other CPUs are left out; none: records of any CPU.
    cpu: Option<u32>,
    source: R,
    /// Bytes read: `bytes[begin..filled]` are not yet taken apart.
    bytes: Vec<u8>,
    begin: usize,
    filled: usize,
    /// Place of `bytes[0]` in the file.
    offset: u64,
    events: Vec<Slot>,
    next: usize,
    notes: Vec<Slot>,
    next_note: usize,
    strays: u64,
    failure: Option<Error>,
    ended: bool,
}

impl CpuFile<File> {
    pub(crate) fn open(path: &Path, cpu: Option<u32>) -> Result<CpuFile, Error> {
        let source = input::open_regular(path).map_err(|error| Error::Io {
            path: path.to_owned(),
            source: error.into(),
        })?;
        Ok(CpuFile::new(path, cpu, source))
    }
}

impl<R: Read> CpuFile<R> {
    pub(crate) fn new(path: &Path, cpu: Option<u32>, source: R) -> CpuFile<R> {
        CpuFile {
            path: path.to_owned(),
            cpu,
            source,
            bytes: Vec::new(),
            begin: 0,
            filled: 0,
            offset: 0,
            events: Vec::new(),
            next: 0,
            notes: Vec::new(),
            next_note: 0,
            strays: 0,
            failure: None,
            ended: false,
        }
    }

    /// Records of another CPU than the file's, which were left out.
    pub(crate) fn strays(&self) -> u64 {
        self.strays
    }

    /// The time of the event that [`CpuFile::event`] gives; none at the end of the batch.
    #[inline]
    pub(crate) fn time(&self) -> Option<u64> {
        self.events.get(self.next).map(|slot| slot.head.time)
    }

    /// The event whose turn it is.
    #[inline]
    pub(crate) fn event(&self) -> Option<Event<'_>> {
        self.events.get(self.next).map(|slot| self.lend(slot))
    }

    /// Goes on to the next event of the batch.
    #[inline]
    pub(crate) fn step(&mut self) {
        self.next += 1;
    }

    /// Whether the batch has notes that were not yet given.
    pub(crate) fn has_notes(&self) -> bool {
        self.next_note < self.notes.len()
    }

    /// Whether there is another one after the next.
    pub(crate) fn has_more_notes(&self) -> bool {
        self.next_note + 1 < self.notes.len()
    }

    /// The next note of the batch.
    pub(crate) fn note(&mut self) -> Option<Event<'_>> {
        self.next_note += 1;
        self.notes
            .get(self.next_note - 1)
            .map(|slot| self.lend(slot))
    }

    #[inline]
    fn lend(&self, slot: &Slot) -> Event<'_> {
        let end = slot.pdu + usize::from(slot.head.pdu_len);
        Event {
            head: slot.head,
            pdu: &self.bytes[slot.pdu..end],
        }
    }

    /// Reads the next batch. The events before a damaged place are given first, then the error.
    #[cold]
    pub(crate) fn refill(&mut self) -> Result<(), Error> {
        self.events.clear();
        self.notes.clear();
        (self.next, self.next_note) = (0, 0);
        self.bytes.copy_within(self.begin..self.filled, 0);
        self.filled -= self.begin;
        self.offset += self.begin as u64;
        self.begin = 0;
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let mut read = 0;
        while !self.ended && read < BATCH {
            match self.parse() {
                Ok(Some(slot)) => read += usize::from(self.sort_in(slot)),
                Ok(None) => self.ended = true,
                Err(failure) => {
                    self.ended = true;
                    self.failure = Some(failure);
                }
            }
        }
        match self.failure.take() {
            Some(failure) if self.events.is_empty() => Err(failure),
            failure => {
                self.failure = failure;
                Ok(())
            }
        }
    }

    /// Puts a record where it belongs; whether it counts as one of the batch.
    fn sort_in(&mut self, slot: Slot) -> bool {
        if self.cpu.is_some_and(|cpu| cpu != slot.head.cpu) {
            self.strays += 1;
            return true;
        }
        let note = slot.head.has(Category::Notify) && !slot.head.is_plain_message();
        if note && self.cpu.is_some() {
            self.notes.push(slot);
        } else {
            self.events.push(slot);
        }
        !note
    }

    fn parse(&mut self) -> Result<Option<Slot>, Error> {
        if !self.have(SIZE)? {
            return Ok(None);
        }
        let mut record = [0; SIZE];
        record.copy_from_slice(&self.bytes[self.begin..self.begin + SIZE]);
        let head = Head::parse(&record).map_err(|what| self.damaged(what))?;
        let whole = SIZE + usize::from(head.pdu_len);
        if !self.have(whole)? {
            return Err(self.truncated());
        }
        let pdu = self.begin + SIZE;
        self.begin += whole;
        Ok(Some(Slot { head, pdu }))
    }

    /// Whether `wanted` bytes are in memory; false at the end of the file.
    #[inline]
    fn have(&mut self, wanted: usize) -> Result<bool, Error> {
        if self.filled - self.begin >= wanted {
            return Ok(true);
        }
        self.read(wanted)
    }

    #[cold]
    fn read(&mut self, wanted: usize) -> Result<bool, Error> {
        while self.filled - self.begin < wanted {
            if self.bytes.len() < self.filled + CHUNK {
                self.bytes.resize(self.filled + CHUNK, 0);
            }
            match self.source.read(&mut self.bytes[self.filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    let path = self.path.clone();
                    return Err(Error::Io { path, source });
                }
                Ok(0) if self.filled == self.begin => return Ok(false),
                Ok(0) => return Err(self.truncated()),
                Ok(got) => self.filled += got,
            }
        }
        Ok(true)
    }

    fn truncated(&self) -> Error {
        Error::Truncated {
            path: self.path.clone(),
            offset: self.offset + self.begin as u64,
        }
    }

    fn damaged(&self, what: Malformed) -> Error {
        let path = self.path.clone();
        match what {
            Malformed::OtherEndian => Error::OtherEndian { path },
            Malformed::Version(version) => Error::Version { path, version },
            Malformed::Magic(word) => Error::NoRecord {
                path,
                offset: self.offset + self.begin as u64,
                what: format!("{word:#010x} instead of the magic number"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Owned = (Head, Vec<u8>);

    fn file(events: &[Owned]) -> Vec<u8> {
        let records = events
            .iter()
            .map(|(head, pdu)| [&head.to_bytes()[..], pdu].concat());
        records.collect::<Vec<_>>().concat()
    }

    fn read(bytes: &[u8]) -> Result<Vec<Owned>, Error> {
        let mut file = CpuFile::new(Path::new("x.blktrace.0"), Some(0), bytes);
        let mut events = Vec::new();
        loop {
            file.refill()?;
            while let Some(note) = file.note() {
                events.push((note.head, note.pdu.to_vec()));
            }
            if file.event().is_none() {
                return Ok(events);
            }
            while let Some(event) = file.event() {
                events.push((event.head, event.pdu.to_vec()));
                file.step();
            }
        }
    }

    fn at(time: u64, pdu: &[u8]) -> Owned {
        let head = Head {
            time,
            pdu_len: pdu.len() as u16,
            ..Head::default()
        };
        (head, pdu.to_vec())
    }

    proptest! {
        #[test]
        fn every_event_comes_back_as_it_stands(
            records in proptest::collection::vec((0_u64..50, 0_usize..600), 0..3000)
        ) {
            let events: Vec<Owned> = records.iter().map(|(time, pdu)| {
                at(*time, &vec![7; if pdu % 3 == 0 { *pdu } else { 0 }])
            }).collect();
            prop_assert_eq!(read(&file(&events)).unwrap(), events);
        }

        #[test]
        fn garbage_and_cuts_are_errors_and_no_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..300), cut in 1_usize..148
        ) {
            let _ = read(&bytes);
            let whole = file(&[at(1, &[1; 100]), at(2, &[2; 100])]);
            let result = read(&whole[..whole.len() - cut]);
            let truncated = matches!(result, Err(Error::Truncated { offset: 148, .. }));
            prop_assert_eq!(truncated, cut != 148);
        }
    }

    #[test]
    fn notes_come_before_their_batch_and_strays_are_left_out() {
        let note = Head {
            action: Category::Notify as u32,
            ..Head::default()
        };
        let stray = Head {
            cpu: 1,
            ..Head::default()
        };
        let (first, name) = (at(1, &[]), (note, Vec::new()));
        let records = [first.clone(), (stray, Vec::new()), name.clone()];
        assert_eq!(read(&file(&records)).unwrap(), [name, first]);
    }

    #[test]
    fn what_stands_before_the_damage_is_given_first() {
        let mut bytes = file(&[at(1, &[]), at(2, &[])]);
        bytes.extend([0; SIZE]);
        let mut file = CpuFile::new(Path::new("x"), Some(0), &bytes[..]);
        file.refill().unwrap();
        assert_eq!(file.time(), Some(1));
        file.step();
        file.step();
        assert!(file.time().is_none());
        assert!(matches!(
            file.refill(),
            Err(Error::NoRecord { offset: 96, .. })
        ));
    }
}
