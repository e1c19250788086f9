//! Sorts steps by when they began, with a bounded part of them in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use device::replay::{Action, Step};

use super::InFile;

/// Steps that are kept in memory, of some 64 bytes: 16 MiB.
pub(super) const IN_MEMORY: usize = 1 << 18;
/// Steps of a part that are read together.
const BLOCK: u64 = 512;
/// Bytes of a step in the file.
const BYTES: usize = 48;

/// When a step began and ended and its read was asked for; the read's number, and whether it waits for it.
type Key = (u64, u64, u64, u32, bool);

/// A step with what its place depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timed {
    pub(super) step: Step,
    /// When its read was asked for.
    pub(super) submitted: u64,
    /// The number of its read.
    pub(super) number: u32,
}

impl Timed {
    /// By time. A thread that asks for all and then waits has one time for several steps: waits end in the order of delivery.
    fn key(&self) -> Key {
        let is_wait = matches!(self.step.action, Action::Wait(_));
        let Step { began, ended, .. } = self.step;
        (began, ended, self.submitted, self.number, is_wait)
    }

    fn to_bytes(self) -> [u8; BYTES] {
        let action = InFile::from(self.step.action);
        let mut bytes = [0; BYTES];
        let Step { began, ended, .. } = self.step;
        let longs = [began, ended, self.submitted, action.offset];
        for (to, long) in bytes[..32].as_chunks_mut::<8>().0.iter_mut().zip(longs) {
            *to = long.to_le_bytes();
        }
        let shorts = [self.step.thread, self.number, action.len, action.kind];
        for (to, short) in bytes[32..].as_chunks_mut::<4>().0.iter_mut().zip(shorts) {
            *to = short.to_le_bytes();
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; BYTES]) -> Timed {
        let long = |nth: usize| u64::from_le_bytes(bytes[..32].as_chunks::<8>().0[nth]);
        let short = |nth: usize| u32::from_le_bytes(bytes[32..].as_chunks::<4>().0[nth]);
        let number = short(1);
        let action = InFile {
            request: number,
            offset: long(3),
            len: short(2),
            kind: short(3),
        };
        Timed {
            step: Step {
                thread: short(0),
                began: long(0),
                ended: long(1),
                action: action.into(),
            },
            submitted: long(2),
            number,
        }
    }
}

/// Steps while they are added.
pub(super) struct Sorter {
    most: usize,
    part: Vec<Timed>,
    file: Option<File>,
    /// Sorted parts in the file, by the numbers of their steps.
    parts: Vec<Range<u64>>,
}

impl Sorter {
    /// Keeps this number of steps in memory, at least 1.
    pub(super) fn holding(most: usize) -> Sorter {
        Sorter {
            most: most.max(1),
            part: Vec::new(),
            file: None,
            parts: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, step: Timed) -> io::Result<()> {
        if self.part.len() == self.most {
            self.spill()?;
        }
        self.part.push(step);
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        self.part.sort_unstable_by_key(Timed::key);
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        let begin = self.parts.last().map_or(0, |part| part.end);
        let mut at = begin;
        for block in self.part.chunks(BLOCK as usize) {
            let bytes: Vec<u8> = block.iter().flat_map(|step| step.to_bytes()).collect();
            file.write_all_at(&bytes, at * BYTES as u64)?;
            at += block.len() as u64;
        }
        self.parts.push(begin..at);
        self.part.clear();
        Ok(())
    }

    /// All of them in order; an error of the file ends them.
    pub(super) fn finish(mut self) -> io::Result<impl Iterator<Item = io::Result<Step>>> {
        if self.file.is_some() {
            self.spill()?;
            self.part = Vec::new();
        } else {
            self.part.sort_unstable_by_key(Timed::key);
        }
        let mut merge = Merge {
            heads: BinaryHeap::new(),
            parts: Vec::new(),
            file: self.file,
        };
        let in_memory = std::iter::once((self.part, 0..0));
        let in_file = self.parts.into_iter().map(|part| (Vec::new(), part));
        for (block, rest) in in_memory.chain(in_file) {
            merge.parts.push(Part { block, at: 0, rest });
            merge.next_of(merge.parts.len() - 1)?;
        }
        let mut is_over = false;
        Ok(std::iter::from_fn(move || {
            if is_over {
                return None;
            }
            let next = merge.next().transpose();
            is_over = matches!(next, Some(Err(_)));
            next
        }))
    }
}

/// A sorted part: what of it is in memory, and the numbers of its other steps in the file.
struct Part {
    block: Vec<Timed>,
    at: usize,
    rest: Range<u64>,
}

/// Parts, and the first step of each.
struct Merge {
    heads: BinaryHeap<Reverse<(Key, usize)>>,
    parts: Vec<Part>,
    file: Option<File>,
}

impl Merge {
    fn next(&mut self) -> io::Result<Option<Step>> {
        let Some(Reverse((_, of))) = self.heads.pop() else {
            return Ok(None);
        };
        let part = &mut self.parts[of];
        let step = part.block[part.at].step;
        part.at += 1;
        self.next_of(of)?;
        Ok(Some(step))
    }

    /// Has the next step of a part compete, if there is one.
    fn next_of(&mut self, of: usize) -> io::Result<()> {
        let part = &mut self.parts[of];
        if part.at == part.block.len()
            && !part.rest.is_empty()
            && let Some(file) = &self.file
        {
            let count = BLOCK.min(part.rest.end - part.rest.start);
            let mut bytes = vec![0; count as usize * BYTES];
            file.read_exact_at(&mut bytes, part.rest.start * BYTES as u64)?;
            let (steps, _) = bytes.as_chunks::<BYTES>();
            part.block.clear();
            part.block.extend(steps.iter().map(Timed::from_bytes));
            part.at = 0;
            part.rest.start += count;
        }
        if let Some(step) = part.block.get(part.at) {
            self.heads.push(Reverse((step.key(), of)));
        }
        Ok(())
    }
}
