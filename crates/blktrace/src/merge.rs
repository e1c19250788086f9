//! The files of all CPUs as one sequence.
//!
//! The order is blkparse's, ties included, because two analyses of one trace must meet the same
//! sequence. The files are listed by the time of their next event; the first of the list gives
//! an event and keeps its place while its next one is not later than the second's. When it must go
//! back, it goes after the first of the list and before all others of its own time. (Sorting by
//! time, device and sequence, as blkparse does with a pipe, differs from this on ties.)

use std::collections::VecDeque;

use crate::error::Error;
use crate::file::{CpuFile, Event};

/// A merge of files.
pub(crate) struct Merge {
    files: Vec<CpuFile>,
    /// Numbers of files that have events, the first one last.
    order: Vec<usize>,
    /// Whether the event of the first file was given.
    given: bool,
    /// Files with notes of a new batch.
    noted: VecDeque<usize>,
}

impl Merge {
    pub(crate) fn new(files: Vec<CpuFile>) -> Result<Merge, Error> {
        let mut merge = Merge {
            files,
            order: Vec::new(),
            given: false,
            noted: VecDeque::new(),
        };
        for number in 0..merge.files.len() {
            if merge.refill(number)? {
                merge.sort_in(number);
            }
        }
        Ok(merge)
    }

    /// The time of the next event.
    pub(crate) fn time(&self) -> Option<u64> {
        self.order
            .last()
            .and_then(|&number| self.files[number].time())
    }

    /// Records that were left out, because they name another CPU than their file does.
    pub(crate) fn strays(&self) -> u64 {
        self.files.iter().map(CpuFile::strays).sum()
    }

    /// The next event and the number of its file; none at the end. Notes come with their batch.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<(usize, Event<'_>)>, Error> {
        if self.given {
            self.given = false;
            self.advance()?;
        }
        if !self.noted.is_empty() {
            return Ok(self.note());
        }
        let Some(&number) = self.order.last() else {
            return Ok(None);
        };
        self.given = true;
        Ok(self.files[number].event().map(|event| (number, event)))
    }

    #[cold]
    fn note(&mut self) -> Option<(usize, Event<'_>)> {
        let number = *self.noted.front()?;
        // Looked at before it is lent: the borrow checker ends the loan only with the caller.
        let last = !self.files[number].has_more_notes();
        if last {
            self.noted.pop_front();
        }
        self.files[number].note().map(|note| (number, note))
    }

    /// Leaves the event that was given and finds the file whose turn it is.
    #[inline]
    fn advance(&mut self) -> Result<(), Error> {
        let Some(&number) = self.order.last() else {
            return Ok(());
        };
        let file = &mut self.files[number];
        file.step();
        if file.time().is_none() && !self.refill(number)? {
            self.order.pop();
            return Ok(());
        }
        let second = self.order.len().checked_sub(2).map(|at| self.order[at]);
        if second.is_some_and(|second| self.files[number].time() > self.files[second].time()) {
            self.order.pop();
            self.sort_in(number);
        }
        Ok(())
    }

    /// Reads a file's next batch; whether it has events.
    fn refill(&mut self, number: usize) -> Result<bool, Error> {
        self.files[number].refill()?;
        if self.files[number].has_notes() {
            self.noted.push_back(number);
        }
        Ok(self.files[number].time().is_some())
    }

    fn sort_in(&mut self, number: usize) {
        let time = self.files[number].time();
        let mut at = self.order.len();
        if let Some(&first) = self.order.last()
            && time >= self.files[first].time()
        {
            at -= 1;
            while at > 0 && self.files[self.order[at - 1]].time() < time {
                at -= 1;
            }
        }
        self.order.insert(at, number);
    }
}
