//! The files of a trace: `<dev>.blktrace.<cpu>`, as blktrace writes them.
//!
//! Each file is filled with records of its CPU, in the order of the ring buffer. Sequence numbers are
//! assigned here, for each device and CPU from 1; events that the buffer lost leave a gap, so that readers of the
//! files alone (`blkparse`: Skips) see the loss. The gap is their number, or 1 where the kernel's page
//! had no room for it; the exact sum, from the buffer's statistics, is in the JSON file. With several
//! devices it is not known whose events were lost: each device's files then show the whole gap, and the
//! JSON file marks it as shared.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use blktrace::record::{Category, Head, SIZE};

use super::names::{self, Names};
use super::{Device, Error, Mask};

const BUFFER: usize = 64 << 10;
/// Notes in the low half of the action word: the name of a process, the wall clock.
const PROCESS: u32 = 0;
const TIMESTAMP: u32 = 1;

/// The files of all devices.
#[derive(Debug)]
pub(super) struct Output {
    mask: Mask,
    names: Names,
    /// Numbers of the devices, in the order asked for.
    numbers: Vec<u32>,
    /// A device's files are adjacent, in the order of the CPUs.
    streams: Vec<Stream>,
    cpus: usize,
    unnamed: Vec<Unnamed>,
}

/// A file.
#[derive(Debug)]
pub(super) struct Stream {
    path: PathBuf,
    file: BufWriter<File>,
    /// Bytes written, and events among them (notes are none).
    pub(super) bytes: u64,
    pub(super) events: u64,
    sequence: u32,
    named: HashSet<u32>,
    last: Option<u32>,
}

/// A name that was not known when its task first appeared, and where it belongs.
#[derive(Debug)]
struct Unnamed {
    stream: usize,
    at: u64,
    pid: u32,
}

impl Stream {
    fn write(&mut self, head: &Head, pdu: &[u8]) -> Result<(), Error> {
        let written = self.file.write_all(&head.to_bytes());
        written
            .and_then(|()| self.file.write_all(pdu))
            .map_err(|error| Error::output(&self.path, "cannot write the trace", error))?;
        self.bytes += (SIZE + pdu.len()) as u64;
        Ok(())
    }
}

/// A device's file of a CPU.
pub(super) fn path(dir: &Path, device: &Device, cpu: u32) -> PathBuf {
    dir.join(format!("{}.blktrace.{cpu}", device.name))
}

impl Output {
    /// Makes the files, all of them: blkparse and btt stop at the first CPU that has none.
    pub(super) fn create(
        dir: &Path,
        devices: &[Device],
        cpus: &[u32],
        mask: Mask,
    ) -> Result<Output, Error> {
        let mut streams = Vec::with_capacity(devices.len() * cpus.len());
        for device in devices {
            for cpu in cpus {
                let path = path(dir, device, *cpu);
                let file = File::create_new(&path)
                    .map_err(|error| Error::output(&path, "cannot make the file", error))?;
                streams.push(Stream {
                    path,
                    file: BufWriter::with_capacity(BUFFER, file),
                    bytes: 0,
                    events: 0,
                    sequence: 0,
                    named: HashSet::new(),
                    last: None,
                });
            }
        }
        Ok(Output {
            mask,
            names: Names::new(),
            numbers: devices.iter().map(|device| device.number).collect(),
            streams,
            cpus: cpus.len(),
            unnamed: Vec::new(),
        })
    }

    /// Notes the wall clock that belongs to a time of the trace, as the kernel does at the start.
    pub(super) fn note_clock(&mut self, time: u64, wall: (u32, u32)) -> Result<(), Error> {
        let mut pdu = wall.0.to_ne_bytes().to_vec();
        pdu.extend(wall.1.to_ne_bytes());
        for (device, number) in self.numbers.iter().enumerate() {
            let head = Head {
                time,
                action: Category::Notify as u32 | TIMESTAMP,
                device: *number,
                pdu_len: 8,
                ..Head::default()
            };
            if let Some(stream) = self.streams.get_mut(device * self.cpus) {
                stream.write(&head, &pdu)?;
            }
        }
        Ok(())
    }

    /// Takes a record that came from the buffer of the CPU with this index.
    pub(super) fn take(&mut self, cpu: usize, mut head: Head, pdu: &[u8]) -> Result<(), Error> {
        let device = self.numbers.iter().position(|n| *n == head.device);
        let (Some(device), true) = (device, self.mask.wants(head.action)) else {
            return Ok(());
        };
        let index = device * self.cpus + cpu;
        if self.streams[index].last != Some(head.pid) {
            self.name(index, &head)?;
        }
        let stream = &mut self.streams[index];
        if !head.has(Category::Notify) {
            stream.sequence = stream.sequence.wrapping_add(1);
            stream.events += 1;
            head.sequence = stream.sequence;
        }
        stream.write(&head, pdu)
    }

    /// Events of a CPU are lost at this place.
    pub(super) fn lost(&mut self, cpu: usize, events: u64) {
        for stream in self.streams.iter_mut().skip(cpu).step_by(self.cpus) {
            stream.sequence = stream.sequence.wrapping_add(events as u32);
        }
    }

    /// Notes a task's name before its first event in a file, or keeps a place for it.
    fn name(&mut self, index: usize, first: &Head) -> Result<(), Error> {
        let stream = &mut self.streams[index];
        stream.last = Some(first.pid);
        if !stream.named.insert(first.pid) {
            return Ok(());
        }
        let name = self.names.now(first.pid, first.cpu);
        if name.is_none() {
            self.unnamed.push(Unnamed {
                stream: index,
                at: stream.bytes + SIZE as u64,
                pid: first.pid,
            });
        }
        let head = Head {
            time: first.time,
            action: Category::Notify as u32 | PROCESS,
            pid: first.pid,
            device: first.device,
            cpu: first.cpu,
            pdu_len: names::LENGTH as u16,
            ..Head::default()
        };
        let unknown = names::padded(names::UNKNOWN.as_bytes());
        stream.write(&head, &name.unwrap_or(unknown))
    }

    /// Writes out what is buffered, and the names that only the kernel's list knows. Returns the
    /// files' counts, device by device.
    pub(super) fn finish(mut self, saved: &str) -> Result<Vec<Stream>, Error> {
        for stream in &mut self.streams {
            stream
                .file
                .flush()
                .map_err(|error| Error::output(&stream.path, "cannot write the trace", error))?;
        }
        let saved = names::saved(saved);
        for place in &self.unnamed {
            let stream = &self.streams[place.stream];
            if let Some(name) = saved.get(&place.pid) {
                let name = names::padded(name.as_bytes());
                let file = stream.file.get_ref();
                file.write_all_at(&name, place.at)
                    .map_err(|error| Error::output(&stream.path, "cannot name a task", error))?;
            }
        }
        Ok(self.streams)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, number: u32) -> Device {
        Device::of_test(name, number)
    }

    fn event(device: u32, pid: u32, time: u64) -> Head {
        Head {
            time,
            device,
            pid,
            bytes: 4096,
            action: Category::Write as u32 | Category::Queue as u32 | 1,
            ..Head::default()
        }
    }

    fn records(path: &Path) -> Vec<(Head, Vec<u8>)> {
        let bytes = std::fs::read(path).unwrap();
        let mut rest = &bytes[..];
        let mut out = Vec::new();
        while !rest.is_empty() {
            let head = Head::parse(rest[..SIZE].try_into().unwrap()).unwrap();
            let end = SIZE + usize::from(head.pdu_len);
            out.push((head, rest[SIZE..end].to_vec()));
            rest = &rest[end..];
        }
        out
    }

    #[test]
    fn files_hold_names_sequences_and_gaps() {
        let dir = tempfile::tempdir().unwrap();
        let devices = [device("sda", 8 << 20), device("sdb", 8 << 20 | 16)];
        let mask = Mask::default();
        let mut output = Output::create(dir.path(), &devices, &[0, 1], mask).unwrap();
        output.note_clock(5, (100, 200)).unwrap();
        // A process that cannot be in /proc: ids end at 4 million.
        let gone = 1 << 23;
        for (cpu, head) in [
            (0, event(8 << 20, gone, 10)),
            (0, event(8 << 20, 0, 11)),
            (0, event(8 << 20, gone, 12)),
            (1, event(8 << 20 | 16, 0, 13)),
            (1, event(99, 0, 14)),
        ] {
            output.take(cpu, head, &[]).unwrap();
        }
        output.lost(0, 7);
        output.take(0, event(8 << 20, 0, 15), &[]).unwrap();
        let counts = output.finish(&format!("{gone} dd\n")).unwrap();
        let events: Vec<u64> = counts.iter().map(|stream| stream.events).collect();
        assert_eq!(events, [4, 0, 0, 1]);

        let first = records(&path(dir.path(), &devices[0], 0));
        let sequences: Vec<u32> = first.iter().map(|(head, _)| head.sequence).collect();
        assert_eq!(sequences, [0, 0, 1, 0, 2, 3, 11]);
        assert_eq!(first[0].1, [100, 0, 0, 0, 200, 0, 0, 0]);
        assert_eq!(&first[1].1, b"dd\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(&first[3].1[..10], b"swapper/0\0");
        let size = std::fs::metadata(path(dir.path(), &devices[0], 0)).unwrap();
        assert_eq!(size.len(), counts[0].bytes);
        assert_eq!(records(&path(dir.path(), &devices[1], 1)).len(), 2);
        assert_eq!(records(&path(dir.path(), &devices[0], 1)).len(), 0);
        assert!(
            Output::create(dir.path(), &devices, &[0], mask).is_err(),
            "an old trace is not written over"
        );
    }
}
