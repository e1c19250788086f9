//! Names of processes, as the notes give them. The first name of a thread stays: blkparse keeps it
//! even when the thread calls itself otherwise later.

use std::collections::HashMap;

use crate::file::Event;

/// Bytes of a name with its closing zero (`TASK_COMM_LEN`).
const LEN: usize = 16;

/// What the C library prints for a name that is not there.
const NONE: &[u8] = b"(null)";

#[derive(Default)]
pub(super) struct Names {
    known: HashMap<u32, Box<[u8]>>,
    /// The thread asked last, and its name: runs of one thread are the rule.
    last: Option<u32>,
    text: [u8; LEN],
    len: usize,
}

impl Names {
    /// Takes a note that names a process.
    pub(super) fn learn(&mut self, note: &Event<'_>) {
        let text = note.pdu.split(|&byte| byte == 0).next().unwrap_or_default();
        self.add(note.head.pid, &text[..text.len().min(LEN - 1)]);
    }

    /// Gives a thread a name, if it has none.
    pub(super) fn add(&mut self, pid: u32, name: &[u8]) {
        self.known.entry(pid).or_insert_with(|| name.into());
        self.last = None;
    }

    /// A thread's name; `(null)` if it has none.
    #[inline]
    pub(super) fn of(&mut self, pid: u32) -> &[u8] {
        if self.last != Some(pid) {
            let name = self.known.get(&pid).map_or(NONE, |name| name);
            self.text[..name.len()].copy_from_slice(name);
            (self.last, self.len) = (Some(pid), name.len());
        }
        &self.text[..self.len]
    }

    pub(super) fn knows(&self, pid: u32) -> bool {
        self.known.contains_key(&pid)
    }
}
