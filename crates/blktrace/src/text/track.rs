//! The waits of each I/O (blkparse -t): allocation to insertion, insertion to issue, issue to
//! completion.
//!
//! blkparse does not clear what it allocates for an I/O, so it prints an arbitrary number where a
//! step was not seen (every issue on a queue without a scheduler). Here such a wait is left out.

use std::collections::HashMap;

use crate::record::{Category, Head};

#[derive(Clone, Copy, Default)]
struct Io {
    owner: u32,
    allocated: Option<u64>,
    inserted: Option<u64>,
    issued: Option<u64>,
}

/// A wait that ended, and the thread that it is counted for.
pub(super) struct Waited {
    pub(super) owner: u32,
    /// 0 allocation, 1 dispatch, 2 completion.
    pub(super) kind: usize,
    pub(super) elapsed: u64,
}

/// I/Os on their way, by first sector.
#[derive(Default)]
pub(super) struct Track {
    ios: HashMap<u64, Io>,
}

impl Track {
    /// Takes an event by its code; the wait it ends. `time` is ns.
    pub(super) fn event(&mut self, code: u32, head: &Head, time: u64) -> Option<Waited> {
        let waited = |io: &Io, kind: usize, since: Option<u64>| {
            Some(Waited {
                owner: io.owner,
                kind,
                elapsed: time.wrapping_sub(since?),
            })
        };
        match code {
            3 => {
                let io = self.ios.remove(&head.end())?;
                self.ios.entry(head.sector).or_insert(io);
                None
            }
            4 => {
                self.of(head).allocated = Some(time);
                None
            }
            12 => {
                let io = self.of(head);
                io.inserted = Some(time);
                let io = *io;
                waited(&io, 0, io.allocated)
            }
            7 if head.has(Category::Fs) => {
                let io = self.ios.get_mut(&head.sector)?;
                io.issued = Some(time);
                let io = *io;
                waited(&io, 1, io.inserted)
            }
            8 => {
                let io = self.ios.remove(&head.sector)?;
                waited(&io, 2, io.issued)
            }
            _ => None,
        }
    }

    fn of(&mut self, head: &Head) -> &mut Io {
        self.ios.entry(head.sector).or_insert(Io {
            owner: head.pid,
            ..Io::default()
        })
    }

    /// Whether an event by this code makes its I/O known, and its thread `unknown` if it has no name.
    pub(super) fn begins(code: u32) -> bool {
        matches!(code, 4 | 12)
    }
}
