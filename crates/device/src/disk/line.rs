//! A queue in order that gives its memory back as it becomes shorter.

use std::collections::VecDeque;

/// Entries that are allocated, and given back, together.
const PART: usize = 1024;

/// First in, first out. A device that does not keep up has a million requests in one such line, and while that becomes shorter another
/// one grows: what is freed of the first is there for the second.
#[derive(Debug)]
pub(super) struct Line<T> {
    /// The oldest entries.
    first: VecDeque<T>,
    /// The others, in parts.
    others: VecDeque<Vec<T>>,
}

impl<T> Default for Line<T> {
    fn default() -> Line<T> {
        Line {
            first: VecDeque::new(),
            others: VecDeque::new(),
        }
    }
}

impl<T> Line<T> {
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.first.len() + self.others.iter().map(Vec::len).sum::<usize>()
    }

    pub(super) fn push(&mut self, entry: T) {
        if self.others.is_empty() && self.first.len() < PART {
            return self.first.push_back(entry);
        }
        if let Some(last) = self.others.back_mut().filter(|last| last.len() < PART) {
            return last.push(entry);
        }
        let mut part = Vec::with_capacity(PART);
        part.push(entry);
        self.others.push_back(part);
    }

    /// The oldest entry.
    #[inline]
    pub(super) fn first(&self) -> Option<&T> {
        self.first.front()
    }

    /// Takes the oldest entry.
    #[inline]
    pub(super) fn take_first(&mut self) -> Option<T> {
        // Most often there is none: a device that keeps up.
        let taken = Some(self.first.pop_front()?);
        if self.first.is_empty()
            && let Some(next) = self.others.pop_front()
        {
            self.first = next.into();
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_in_order_and_gives_memory_back() {
        let (mut line, mut expected) = (Line::default(), VecDeque::new());
        for round in 0..40_usize {
            // It grows to several parts, becomes empty in between, and grows again.
            for number in 0..(round * 389) % 3000 {
                line.push(round * 10_000 + number);
                expected.push_back(round * 10_000 + number);
            }
            for _ in 0..(round * 797) % 4000 {
                assert_eq!(line.first(), expected.front());
                assert_eq!(line.take_first(), expected.pop_front());
                let allocated = line.first.capacity() + line.others.len() * PART;
                assert!(allocated <= line.len() + 2 * PART, "{allocated}");
            }
            assert_eq!(line.len(), expected.len());
        }
    }
}
