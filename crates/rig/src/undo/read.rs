//! Reading a journal, which may be anything: line by line, with limits on all that is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Seek};
use std::path::Path;

use rundir::{Line, Lines};
use serde::{Deserialize, Serialize};

use super::{Place, Step};
use crate::{Error, Result};

/// Longest line, in bytes. The longest that is written is a block trace's, of some 20 devices: 4 KiB.
const LONGEST_LINE: usize = 256 << 10;
/// Largest journal, in bytes. A run of 100,000 trials writes 100 MB.
const LARGEST: u64 = 512 << 20;
/// Most steps that are not undone. A trial has some 30.
const MOST_OPEN: usize = 10_000;
/// Most processes that used one journal: a run and its resumes.
const MOST_OWNERS: usize = 10_000;

/// A line of the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Entry {
    /// A step, written before it is done.
    Made {
        /// Its number.
        number: u64,
        /// What is made.
        #[serde(flatten)]
        step: Step,
    },
    /// A step is undone.
    Undone {
        /// Its number.
        undone: u64,
    },
}

/// A step that this version cannot read: another's, or forged.
#[derive(Deserialize)]
struct Unknown {
    number: u64,
    made: String,
}

/// What a journal says.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Steps that are not undone, by number, with where the journal was when each was written.
    pub(super) open: BTreeMap<u64, (Option<Place>, Step)>,
    /// Steps that cannot be read, by number, and why.
    pub(super) unreadable: BTreeMap<u64, String>,
    /// Processes that used the journal.
    pub(super) owners: BTreeSet<u32>,
    /// The last of them; 0 when none is named.
    pub(super) last_owner: u32,
    /// The next free number.
    pub(super) next: u64,
}

impl Contents {
    /// Reads a journal. A torn line is passed over (the kernel is asked as well).
    pub(super) fn read(file: &File, path: &Path) -> Result<Contents> {
        let failed = |error| Error::io(path, "cannot read the undo journal", error);
        let not_one = |why: String| Error::Untrusted {
            thing: path.display().to_string(),
            why,
            next: "it is not what fslab wrote: look at it, and remove it when it is of no use"
                .into(),
        };
        let size = file.metadata().map_err(failed)?.len();
        if size > LARGEST {
            return Err(not_one(format!("it has {} MiB", size >> 20)));
        }
        let mut reader = BufReader::new(file);
        reader.rewind().map_err(failed)?;
        let mut lines = Lines::new(reader, LONGEST_LINE);
        let mut contents = Contents::default();
        let mut place = None;
        while let Some(line) = lines.next_line().map_err(failed)? {
            let Line::Whole { bytes, .. } = line else {
                return Err(not_one(format!(
                    "a line is longer than {} KiB",
                    LONGEST_LINE >> 10
                )));
            };
            contents.add(bytes, &mut place);
            if contents.open.len() + contents.unreadable.len() > MOST_OPEN
                || contents.owners.len() > MOST_OWNERS
            {
                return Err(not_one(format!("more than {MOST_OPEN} steps are open")));
            }
        }
        Ok(contents)
    }

    fn add(&mut self, line: &[u8], place: &mut Option<Place>) {
        let number = match serde_json::from_slice::<Entry>(line) {
            Ok(Entry::Made {
                number,
                step: Step::Opened { pid, place: then },
            }) => {
                self.owners.insert(pid);
                self.last_owner = pid;
                *place = then;
                number
            }
            Ok(Entry::Made { number, step }) => {
                self.open.insert(number, (place.clone(), step));
                number
            }
            Ok(Entry::Undone { undone }) => {
                self.open.remove(&undone);
                self.unreadable.remove(&undone);
                undone
            }
            Err(error) => match serde_json::from_slice::<Unknown>(line) {
                Ok(unknown) => {
                    let made: String = unknown.made.chars().take(40).collect();
                    let why = format!("this fslab cannot read the step {made:?}: {error}");
                    self.unreadable.insert(unknown.number, why);
                    unknown.number
                }
                Err(_) => return,
            },
        };
        self.next = self.next.max(number.saturating_add(1));
    }
}
