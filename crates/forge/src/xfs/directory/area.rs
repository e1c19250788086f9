//! A data block: entries and free areas.

/// A data block of a directory.
#[derive(Debug, Clone, Default)]
pub(in crate::xfs) struct Data {
    /// Offset and name of each entry, ascending once the directory is complete.
    pub(in crate::xfs) entries: Vec<(u32, u32)>,
    /// Offset and length of each free area, ascending.
    pub(in crate::xfs) free: Vec<(u32, u32)>,
}

impl Data {
    /// A block whose bytes from `from` to `to` are free.
    pub(super) fn new(from: u32, to: u32) -> Self {
        Self {
            entries: Vec::new(),
            free: if to > from {
                vec![(from, to - from)]
            } else {
                Vec::new()
            },
        }
    }

    /// The length of the largest free area.
    pub(in crate::xfs) fn best(&self) -> u32 {
        self.free.iter().map(|area| area.1).max().unwrap_or(0)
    }

    /// The three largest free areas, descending; zeros where there are fewer.
    pub(in crate::xfs) fn best_three(&self) -> [(u32, u32); 3] {
        let mut areas = self.free.clone();
        areas.sort_by_key(|area| std::cmp::Reverse(area.1));
        let mut best = [(0, 0); 3];
        for (place, area) in best.iter_mut().zip(areas) {
            *place = area;
        }
        best
    }

    /// Puts an entry of `size` bytes at the start of the largest free area; its offset, or none without room.
    pub(super) fn insert(&mut self, id: u32, size: u32) -> Option<u32> {
        let best = self.best();
        if best < size {
            return None;
        }
        let at = self.free.iter().position(|area| area.1 == best)?;
        let (offset, len) = self.free[at];
        if len == size {
            self.free.remove(at);
        } else {
            self.free[at] = (offset + size, len - size);
        }
        self.entries.push((offset, id));
        Some(offset)
    }

    /// Frees a range; areas that touch become one.
    pub(super) fn release(&mut self, offset: u32, len: u32) {
        let at = self.free.partition_point(|area| area.0 < offset);
        self.free.insert(at, (offset, len));
        if let Some(next) = self.free.get(at + 1).copied()
            && offset + len == next.0
        {
            self.free[at].1 += next.1;
            self.free.remove(at + 1);
        }
        if at > 0 {
            let before = self.free[at - 1];
            if before.0 + before.1 == offset {
                self.free[at - 1].1 += self.free[at].1;
                self.free.remove(at);
            }
        }
    }

    /// Takes `len` bytes off the end of the free area that ends at `end`; `false` where there is none as large.
    pub(super) fn take_end(&mut self, end: u32, len: u32) -> bool {
        match self.free.last_mut() {
            Some(last) if last.0 + last.1 == end && last.1 >= len => {
                last.1 -= len;
                if last.1 == 0 {
                    self.free.pop();
                }
                true
            }
            _ => false,
        }
    }
}
