//! The requests of a reader in this process, without the time that the lab takes between its passes.
//!
//! The lab reads counters and reports phases between two passes, on the thread that reads. A program that checks on its own does not;
//! so the reader's clock stands still meanwhile.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use blockio::layer::Recording;
use blockio::{BlockSource, Direct};
use modelled::checker::{Pass, Record};

/// Records what is read from a device.
pub(super) struct Recorder<'a> {
    source: Recording<&'a Direct>,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    passes: Vec<Pass>,
    /// From and to.
    pauses: Vec<(u64, u64)>,
    /// When the pause began that lasts.
    since: Option<u64>,
}

impl<'a> Recorder<'a> {
    /// The reader stands still until it is resumed.
    pub(super) fn new(device: &'a Direct) -> Recorder<'a> {
        let notes = Notes {
            since: Some(0),
            ..Notes::default()
        };
        Recorder {
            source: Recording::new(device),
            notes: Mutex::new(notes),
        }
    }

    /// What the reader reads from.
    pub(super) fn source(&self) -> &dyn BlockSource {
        &self.source
    }

    /// From here on the reader stands still.
    pub(super) fn pause(&self) {
        let now = self.source.now();
        self.notes().since.get_or_insert(now);
    }

    /// It goes on.
    pub(super) fn resume(&self) {
        self.resumed();
    }

    /// A pass begins, and the reader goes on.
    pub(super) fn begins(&self, pass: &str) {
        let began = self.resumed();
        let name = pass.to_owned();
        self.notes().passes.push(Pass { name, began });
    }

    fn resumed(&self) -> u64 {
        let now = self.source.now();
        let mut notes = self.notes();
        let from = notes.since.take();
        notes.pauses.extend(from.map(|from| (from, now)));
        now
    }

    /// The record ends.
    ///
    /// # Errors
    /// The temporary file of a long record could not be written or read.
    pub(super) fn finish(self) -> io::Result<Record> {
        let end = self.source.now();
        let entries = self.source.take()?;
        let notes = self.notes.into_inner();
        let mut notes = notes.unwrap_or_else(PoisonError::into_inner);
        notes.pauses.extend(notes.since.map(|from| (from, end)));
        let record = Record {
            entries,
            passes: notes.passes,
            end,
        };
        record.without(&notes.pauses)
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_labs_own_time_is_left_out() {
        const PAUSE: Duration = Duration::from_millis(40);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("device");
        std::fs::write(&path, vec![7; 1 << 16]).unwrap();
        std::fs::File::open(&path).unwrap().sync_all().unwrap();
        let device = Direct::open(&path).unwrap();
        let begun = std::time::Instant::now();
        let recorder = Recorder::new(&device);
        for (pass, offset) in [("0a", 0), ("1", 4096)] {
            recorder.pause();
            sleep(PAUSE);
            // A second call does not shorten it.
            recorder.pause();
            recorder.begins(pass);
            recorder.source().read_at(&mut [0; 512], offset).unwrap();
        }
        recorder.pause();
        sleep(PAUSE);
        let record = recorder.finish().unwrap();
        let whole = begun.elapsed().as_nanos() as u64;
        let entries: Vec<_> = record.entries.iter().map(Result::unwrap).collect();
        let offsets: Vec<u64> = entries.iter().map(|entry| entry.offset).collect();
        assert_eq!(offsets, [0, 4096]);
        let names: Vec<&str> = record
            .passes
            .iter()
            .map(|pass| pass.name.as_str())
            .collect();
        assert_eq!(names, ["0a", "1"]);
        // Three pauses, and two reads of a file, which a busy disk delays.
        let pauses = 3 * PAUSE.as_nanos() as u64;
        assert!(record.end + pauses <= whole, "{whole}: {record:?}");
        assert!(record.passes[1].began >= entries[0].delivered);
        assert!(record.passes[1].began <= entries[1].submitted);
    }
}
