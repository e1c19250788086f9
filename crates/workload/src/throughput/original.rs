//! What iozone does with a record inside its clock beside moving it (`as_original`).
//!
//! By default iozone 3.471 verifies lightly: before each write it stores one word in each page of the
//! record, and after each read it compares one word of each page. With O_DIRECT the device has just
//! written the record to memory, so each compare waits for a cache line. The record is on pages of
//! `malloc`: one request of 256 KiB then has up to 64 segments, and with buffers on huge pages it has
//! one. Before a random record iozone calls `lseek`. docs/metrics.md has what each of these costs.
//!
//! Where those pages are in memory is an accident that moves every rate, and iozone has it once: it
//! allocates its buffers when it starts. So a run keeps each child's buffer from test to test.

use std::io;
use std::sync::{Mutex, PoisonError};

use params::ThroughputSpec;

use crate::buffer::{Buffer, PATTERN, Pages};
use crate::engine::Payload;

/// The word at the beginning of each page.
const WORD: [u8; 8] = [PATTERN; 8];

/// Distance of the words.
const PAGE: usize = 4096;

/// The pages of the children's buffers.
pub(super) fn pages(options: &ThroughputSpec) -> Pages {
    if options.as_original {
        Pages::Any
    } else {
        Pages::Huge
    }
}

/// The children's buffers between two tests of a run.
pub(super) struct Kept(Vec<Mutex<Option<Buffer>>>);

impl Kept {
    /// A place for each child's buffer, or none: then every test makes its own.
    pub(super) fn new(options: &ThroughputSpec) -> Kept {
        let children = if options.as_original {
            options.threads
        } else {
            0
        };
        Kept((0..children).map(|_| Mutex::new(None)).collect())
    }

    /// The buffer that the child had in the last test.
    pub(super) fn take(&self, child: u32) -> Option<Buffer> {
        let place = self.0.get(child as usize)?;
        place.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps a child's buffer for the next test.
    pub(super) fn keep(&self, child: u32, buffer: Option<Buffer>) {
        if let Some(place) = self.0.get(child as usize) {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = buffer;
        }
    }
}

/// What the files hold, for the report's parameters.
pub(super) fn content(options: &ThroughputSpec) -> String {
    let touched = if options.as_original {
        ", one word of each page written before each write"
    } else {
        ""
    };
    format!("pattern {PATTERN:#x}{touched}")
}

/// Stores and compares one word of each page.
pub(super) struct Touch;

impl Payload for Touch {
    fn fill(&self, _record: u64, bytes: &mut [u8]) {
        for page in bytes.chunks_mut(PAGE) {
            if let Some(word) = page.first_chunk_mut() {
                *word = WORD;
            }
        }
    }

    fn check(&self, record: u64, bytes: &[u8]) -> io::Result<()> {
        let differs = bytes
            .chunks(PAGE)
            .position(|page| page.first_chunk().is_some_and(|word| *word != WORD));
        match differs {
            None => Ok(()),
            Some(page) => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "page {page} of record {record} does not hold what initial_write wrote; run \
                     all tests on fresh files, or without --as-original"
                ),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_was_touched_is_found_again_and_another_is_not() {
        for bytes in [1024, 4096, 10_000, 262_144] {
            let mut record = vec![0; bytes];
            assert!(Touch.check(7, &record).is_err());
            Touch.fill(7, &mut record);
            Touch.check(7, &record).unwrap();
            let words: usize = record.iter().map(|b| usize::from(*b == PATTERN)).sum();
            assert_eq!(words, bytes.div_ceil(PAGE) * 8);
            let last = (bytes - 1) / PAGE * PAGE;
            record[last] ^= 1;
            let error = Touch.check(7, &record).unwrap_err().to_string();
            assert!(error.contains(&format!("page {}", last / PAGE)), "{error}");
        }
    }

    #[test]
    fn only_a_run_as_the_original_keeps_buffers_and_each_child_gets_its_own() {
        let mut options = ThroughputSpec::new("/nowhere");
        (options.threads, options.as_original) = (2, true);
        let buffer = |child| Buffer::on(Pages::Any, child, 4096, 4096, 4096).unwrap();
        let kept = Kept::new(&options);
        assert!(kept.take(0).is_none());
        let mut first = buffer(0);
        let address = first.as_mut_slice().as_ptr();
        kept.keep(0, Some(first));
        kept.keep(1, Some(buffer(1)));
        assert_eq!(kept.take(0).unwrap().as_mut_slice().as_ptr(), address);
        assert!(kept.take(0).is_none() && kept.take(1).is_some());
        options.as_original = false;
        let none = Kept::new(&options);
        none.keep(0, Some(buffer(0)));
        assert!(none.take(0).is_none());
    }

    /// A tail of less than a word has no word.
    #[test]
    fn a_tail_shorter_than_a_word_is_left_alone() {
        let mut record = vec![0; PAGE + 3];
        Touch.fill(0, &mut record);
        assert_eq!(record[PAGE..], [0; 3]);
        Touch.check(0, &record).unwrap();
    }
}
