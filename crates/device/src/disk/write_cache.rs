//! Writes that are done for the host and not yet on the medium.

use std::collections::BTreeMap;

/// Writes that follow each other on the disk become one extent up to this size.
const LARGEST: u64 = 1 << 20;

/// The extents that wait to be destaged.
#[derive(Clone, Debug)]
pub(crate) struct WriteCache {
    size: u64,
    /// Bytes of extents and of writes on their way in.
    used: u64,
    /// Writes received so far.
    received: u64,
    /// Age of an extent's first write -> (offset, length, age of its last write).
    by_age: BTreeMap<u64, (u64, u64, u64)>,
    /// Offset -> age of the first write.
    by_offset: BTreeMap<u64, u64>,
}

impl WriteCache {
    /// Of a size in bytes; 0 holds nothing.
    pub(crate) fn new(size: u64) -> WriteCache {
        WriteCache {
            size,
            used: 0,
            received: 0,
            by_age: BTreeMap::new(),
            by_offset: BTreeMap::new(),
        }
    }

    /// Takes room for a write that is on its way in; `false` if there is none.
    pub(crate) fn reserve(&mut self, len: u64) -> bool {
        let fits = self.used + len <= self.size;
        if fits {
            self.used += len;
        }
        fits
    }

    /// Writes received so far; the next has this age.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// A write for which room was reserved is there.
    pub(crate) fn insert(&mut self, offset: u64, len: u64) {
        let age = self.received;
        self.received += 1;
        if let Some((&from, &first)) = self.by_offset.range(..=offset).next_back()
            && let Some(extent) = self.by_age.get_mut(&first)
        {
            let end = from + extent.1;
            let grown = (offset + len).max(end) - from;
            if offset + len <= end || (offset == end && grown <= LARGEST) {
                self.used -= len - (grown - extent.1);
                (extent.1, extent.2) = (grown, age);
                return;
            }
        }
        // A longer rewrite takes the place of what it covers, whose age a flush may wait for.
        if let Some(first) = self.by_offset.get(&offset)
            && let Some(extent) = self.by_age.get_mut(first)
        {
            self.used -= extent.1;
            *extent = (offset, len, age);
            return;
        }
        self.by_offset.insert(offset, age);
        self.by_age.insert(age, (offset, len, age));
    }

    /// Whether three quarters are full, so that destaging cannot wait until the disk is idle.
    pub(crate) fn is_pressed(&self) -> bool {
        self.size > 0 && self.used * 4 >= self.size * 3 && !self.by_age.is_empty()
    }

    /// Whether an extent has a write older than `age`.
    pub(crate) fn has_before(&self, age: u64) -> bool {
        self.by_age.keys().next().is_some_and(|first| *first < age)
    }

    /// Whether one extent has all of these bytes.
    #[inline]
    pub(crate) fn holds(&self, offset: u64, len: u64) -> bool {
        !self.by_offset.is_empty() && self.has(offset, len)
    }

    fn has(&self, offset: u64, len: u64) -> bool {
        let Some((&from, first)) = self.by_offset.range(..=offset).next_back() else {
            return false;
        };
        self.by_age
            .get(first)
            .is_some_and(|extent| offset + len <= from + extent.1)
    }

    /// Takes out the cheapest of the oldest `window` extents as (offset, length).
    pub(crate) fn take(&mut self, window: usize, cost: impl Fn(u64) -> f64) -> Option<(u64, u64)> {
        let oldest = self.by_age.iter().take(window.max(1));
        let costs = oldest.map(|(age, extent)| (*age, cost(extent.0)));
        let (age, _) = costs.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let (offset, len, _) = self.by_age.remove(&age)?;
        self.by_offset.remove(&offset);
        self.used -= len;
        Some((offset, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_become_one_extent_and_rewrites_take_no_room() {
        let mut cache = WriteCache::new(1 << 20);
        for offset in [0, 4096, 8192, 4096] {
            assert!(cache.reserve(4096));
            cache.insert(offset, 4096);
        }
        assert_eq!(cache.used, 3 * 4096);
        assert!(cache.holds(4096, 8192) && !cache.holds(8192, 8192));
        assert_eq!(cache.take(1, |_| 0.0), Some((0, 3 * 4096)));
        assert_eq!((cache.used, cache.take(1, |_| 0.0)), (0, None));
    }

    #[test]
    fn a_longer_rewrite_keeps_the_age_that_a_flush_waits_for() {
        let mut cache = WriteCache::new(1 << 20);
        for len in [4096, 8192] {
            assert!(cache.reserve(len));
            cache.insert(4096, len);
        }
        assert!(cache.has_before(1) && cache.holds(4096, 8192));
        assert_eq!(
            (cache.used, cache.take(1, |_| 0.0)),
            (8192, Some((4096, 8192)))
        );
        assert_eq!((cache.used, cache.take(1, |_| 0.0)), (0, None));
    }

    #[test]
    fn the_window_bounds_how_far_an_extent_is_passed_over() {
        let mut cache = WriteCache::new(1 << 20);
        for offset in [9 << 20, 5 << 20, 1 << 20] {
            assert!(cache.reserve(4096));
            cache.insert(offset, 4096);
        }
        let cost = |offset: u64| offset as f64;
        assert_eq!(cache.clone().take(1, cost).unwrap().0, 9 << 20);
        assert_eq!(cache.clone().take(2, cost).unwrap().0, 5 << 20);
        assert_eq!(cache.take(3, cost).unwrap().0, 1 << 20);
    }

    #[test]
    fn no_more_is_reserved_than_fits() {
        let mut cache = WriteCache::new(8192);
        assert!(cache.reserve(4096) && !cache.is_pressed());
        assert!(cache.reserve(4096) && !cache.reserve(1));
    }
}
