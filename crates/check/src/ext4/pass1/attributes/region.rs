//! Which bytes of an attribute area are taken.
//!
//! Entries grow from the front, values from the back, and offsets may be damaged; what belongs to two of them has no certain owner.

/// Disjoint ranges of bytes below a bound, ascending, neighbours joined.
#[derive(Debug, Default)]
pub(super) struct Region {
    len: u64,
    taken: Vec<(u64, u64)>,
}

impl Region {
    /// Begins anew, with this many free bytes; keeps its memory.
    pub(super) fn clear(&mut self, len: usize) {
        self.len = len as u64;
        self.taken.clear();
    }

    /// Takes `len` bytes from `start` on. `false`, and nothing is taken, when one of them is taken or outside, or `len` is 0.
    pub(super) fn take(&mut self, start: usize, len: usize) -> bool {
        let start = start as u64;
        let end = start.saturating_add(len as u64);
        if len == 0 || end > self.len {
            return false;
        }
        // The first range that ends after the start: the only one that can overlap, or be joined from above.
        let at = self.taken.partition_point(|range| range.1 <= start);
        if self.taken.get(at).is_some_and(|range| range.0 < end) {
            return false;
        }
        let touches_above = self.taken.get(at).is_some_and(|range| range.0 == end);
        let below = at.checked_sub(1).and_then(|at| self.taken.get_mut(at));
        match below {
            Some(below) if below.1 == start && touches_above => {
                let above = self.taken.remove(at).1;
                self.taken[at - 1].1 = above;
            }
            Some(below) if below.1 == start => below.1 = end,
            _ if touches_above => self.taken[at].0 = start,
            _ => self.taken.insert(at, (start, end)),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_map_of_bytes(takes in proptest::collection::vec((0_usize..70, 0_usize..20), 0..60)) {
            let mut region = Region::default();
            region.clear(64);
            let mut map = [false; 64];
            for (start, len) in takes {
                let free = len > 0
                    && start + len <= 64
                    && map[start..start + len].iter().all(|taken| !taken);
                prop_assert_eq!(region.take(start, len), free);
                if free {
                    map[start..start + len].fill(true);
                }
                prop_assert!(region.taken.windows(2).all(|pair| pair[0].1 < pair[1].0));
            }
        }
    }
}
