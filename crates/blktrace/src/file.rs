//! One CPU's file, read forwards through a window of a few thousand events.
//!
//! The records of a CPU are in the order of time, except around interrupts: an interrupt that logs an
//! event between the clock reading and the write of another leaves the two exchanged. So events are
//! put in order inside the window, and the last quarter of it is held back until the next records
//! are known. blkparse does the same with a tree of 1,024 events of each CPU.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::record::{Head, Malformed, SIZE};

/// PDU bytes that are kept with the event: a cgroup id and a remap.
const INLINE: usize = 24;

/// A record with what followed it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The record.
    pub head: Head,
    inline: [u8; INLINE],
    long: Option<Box<[u8]>>,
}

impl Event {
    /// An event made by hand.
    pub fn new(mut head: Head, pdu: &[u8]) -> Event {
        let pdu = &pdu[..pdu.len().min(usize::from(u16::MAX))];
        head.pdu_len = pdu.len() as u16;
        let mut event = Event {
            head,
            ..Event::default()
        };
        if let Some(place) = event.inline.get_mut(..pdu.len()) {
            place.copy_from_slice(pdu);
        } else {
            event.long = Some(pdu.into());
        }
        event
    }

    /// What followed the record, with the cgroup id if it had one.
    #[inline]
    pub fn pdu(&self) -> &[u8] {
        match &self.long {
            Some(bytes) => bytes,
            None => &self.inline[..usize::from(self.head.pdu_len)],
        }
    }

    /// What followed it, without the cgroup id.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        self.head.payload(self.pdu())
    }

    /// The order of events of a trace: time, then device, then sequence, as blkparse sorts.
    #[inline]
    pub(crate) fn key(&self) -> Key {
        (self.head.time, self.head.device, self.head.sequence)
    }
}

/// See [`Event::key`].
pub(crate) type Key = (u64, u32, u32);

/// A file of one CPU.
pub(crate) struct CpuFile<R = File> {
    path: PathBuf,
    source: R,
    /// Bytes read and not yet taken apart: `bytes[begin..]`.
    bytes: Vec<u8>,
    begin: usize,
    /// Place of `bytes[begin]` in the file.
    offset: u64,
    events: Vec<Event>,
    /// The next event to give, and the first that is held back.
    next: usize,
    held: usize,
    window: usize,
    ended: bool,
}

impl CpuFile<File> {
    pub(crate) fn open(path: &Path, window: usize) -> Result<CpuFile, Error> {
        let source = File::open(path).map_err(|source| Error::Io {
            path: path.to_owned(),
            source,
        })?;
        Ok(CpuFile::new(path, source, window))
    }
}

impl<R: Read> CpuFile<R> {
    pub(crate) fn new(path: &Path, source: R, window: usize) -> CpuFile<R> {
        CpuFile {
            path: path.to_owned(),
            source,
            bytes: Vec::new(),
            begin: 0,
            offset: 0,
            events: Vec::new(),
            next: 0,
            held: 0,
            window: window.max(4),
            ended: false,
        }
    }

    /// The next event; none at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<&Event>, Error> {
        if self.next == self.held {
            self.refill()?;
        }
        Ok(self.events[..self.held].get(self.next))
    }

    /// Takes the event that [`CpuFile::peek`] showed.
    #[inline]
    pub(crate) fn step(&mut self) -> &Event {
        let event = &self.events[self.next];
        self.next += 1;
        event
    }

    #[cold]
    fn refill(&mut self) -> Result<(), Error> {
        if self.ended {
            return Ok(());
        }
        self.events.drain(..self.next);
        self.next = 0;
        let known = self.events.len();
        while self.events.len() < self.window {
            let Some(event) = self.parse()? else {
                self.ended = true;
                break;
            };
            self.events.push(event);
        }
        // Stable, and linear where the events are in order already.
        if !self.events[known.saturating_sub(1)..].is_sorted_by_key(Event::key) {
            self.events.sort_by_key(Event::key);
        }
        self.held = if self.ended {
            self.events.len()
        } else {
            self.events.len() - self.window / 4
        };
        Ok(())
    }

    fn parse(&mut self) -> Result<Option<Event>, Error> {
        if !self.have(SIZE)? {
            return Ok(None);
        }
        let mut record = [0; SIZE];
        record.copy_from_slice(&self.bytes[self.begin..self.begin + SIZE]);
        let head = Head::parse(&record).map_err(|what| self.damaged(what))?;
        let whole = SIZE + usize::from(head.pdu_len);
        if !self.have(whole)? {
            return Ok(None);
        }
        let event = Event::new(head, &self.bytes[self.begin + SIZE..self.begin + whole]);
        self.begin += whole;
        self.offset += whole as u64;
        Ok(Some(event))
    }

    /// Whether `wanted` bytes are in memory; false at the end of the file.
    fn have(&mut self, wanted: usize) -> Result<bool, Error> {
        if self.bytes.len() - self.begin >= wanted {
            return Ok(true);
        }
        self.bytes.drain(..self.begin);
        self.begin = 0;
        let room = (self.window * 64).max(wanted);
        while self.bytes.len() < wanted {
            let filled = self.bytes.len();
            self.bytes.resize(room, 0);
            let got = loop {
                match self.source.read(&mut self.bytes[filled..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    other => break other,
                }
            };
            self.bytes
                .truncate(filled + got.as_ref().copied().unwrap_or(0));
            match got {
                Err(source) => {
                    let path = self.path.clone();
                    return Err(Error::Io { path, source });
                }
                Ok(0) if self.bytes.is_empty() => return Ok(false),
                Ok(0) => {
                    return Err(Error::Truncated {
                        path: self.path.clone(),
                        offset: self.offset,
                    });
                }
                Ok(_) => {}
            }
        }
        Ok(true)
    }

    fn damaged(&self, what: Malformed) -> Error {
        let path = self.path.clone();
        match what {
            Malformed::OtherEndian => Error::OtherEndian { path },
            Malformed::Version(version) => Error::Version { path, version },
            Malformed::Magic(word) => Error::NoRecord {
                path,
                offset: self.offset,
                what: format!("{word:#010x} instead of the magic number"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(events: &[Event]) -> Vec<u8> {
        let records = events
            .iter()
            .map(|event| [&event.head.to_bytes()[..], event.pdu()].concat());
        records.collect::<Vec<_>>().concat()
    }

    fn read(bytes: &[u8], window: usize) -> Result<Vec<Event>, Error> {
        let mut file = CpuFile::new(Path::new("x.blktrace.0"), bytes, window);
        let mut events = Vec::new();
        while file.peek()?.is_some() {
            events.push(file.step().clone());
        }
        Ok(events)
    }

    fn at(time: u64, pdu: &[u8]) -> Event {
        let head = Head {
            time,
            ..Head::default()
        };
        Event::new(head, pdu)
    }

    proptest! {
        #[test]
        fn every_event_comes_back_in_order(
            steps in proptest::collection::vec((0_u64..50, 0_usize..60), 0..200), window in 4_usize..64
        ) {
            let mut time = 0;
            let events: Vec<Event> = steps.iter().map(|(step, pdu)| {
                time += step;
                at(time, &vec![7; *pdu])
            }).collect();
            prop_assert_eq!(read(&file(&events), window).unwrap(), events);
        }

        #[test]
        fn neighbours_that_are_exchanged_are_put_right(swap in 0_usize..98, window in 16_usize..64) {
            let events: Vec<Event> = (0..100).map(|n| at(n, &[])).collect();
            let mut shuffled = events.clone();
            shuffled.swap(swap, swap + 1);
            prop_assert_eq!(read(&file(&shuffled), window).unwrap(), events);
        }

        #[test]
        fn garbage_and_cuts_are_errors_and_no_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..300), cut in 1_usize..200
        ) {
            let _ = read(&bytes, 8);
            let whole = file(&[at(1, &[1; 100]), at(2, &[2; 100])]);
            let result = read(&whole[..whole.len() - cut.min(147)], 8);
            let truncated = matches!(result, Err(Error::Truncated { .. }));
            prop_assert!(truncated);
        }
    }
}
