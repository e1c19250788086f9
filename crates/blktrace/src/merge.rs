//! The files of all CPUs as one sequence in time.

use crate::error::Error;
use crate::file::{CpuFile, Event, Key};

/// A merge of files. One file mostly has a run of several events before another's turn comes, so the
/// search for the earliest is made once a run and not once an event.
pub(crate) struct Merge {
    files: Vec<CpuFile>,
    /// The file whose turn it is, and the key that ends its run.
    turn: Option<(usize, Option<(Key, usize)>)>,
}

impl Merge {
    pub(crate) fn new(files: Vec<CpuFile>) -> Merge {
        Merge { files, turn: None }
    }

    /// The next event and the number of its file; none at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<(usize, &Event)>, Error> {
        let file = match self.turn {
            Some((file, until)) => match self.files[file].peek()? {
                Some(event) if until.is_none_or(|until| (event.key(), file) < until) => file,
                _ => match self.earliest()? {
                    Some(file) => file,
                    None => return Ok(None),
                },
            },
            None => match self.earliest()? {
                Some(file) => file,
                None => return Ok(None),
            },
        };
        Ok(Some((file, self.files[file].step())))
    }

    /// Finds the file with the earliest event, and the earliest event of the others.
    fn earliest(&mut self) -> Result<Option<usize>, Error> {
        let (mut first, mut second) = (None, None);
        for (number, file) in self.files.iter_mut().enumerate() {
            let Some(event) = file.peek()? else { continue };
            let key = (event.key(), number);
            if first.is_none_or(|first| key < first) {
                second = first;
                first = Some(key);
            } else if second.is_none_or(|second| key < second) {
                second = Some(key);
            }
        }
        self.turn = first.map(|(_, number)| (number, second));
        Ok(first.map(|(_, number)| number))
    }
}
