//! Writes that are done for the host and not yet on the medium.

use std::collections::{BTreeMap, VecDeque};

use super::geometry::Geometry;

/// Writes that follow each other on the disk become one extent up to this size.
const LARGEST: u64 = 1 << 20;
/// Places of the table of regions.
const REGIONS: usize = 4096;
/// Bytes of a region, as a power of two.
const REGION: u32 = 20;

/// Bytes that lie together and wait to be destaged.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// Age of its first write.
    first: u64,
    offset: u64,
    len: u64,
    place: Place,
}

/// Where the head has to be for a byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    /// Radius.
    pub(crate) from: f64,
    /// Angle.
    pub(crate) angle: f64,
}

impl Place {
    /// For what begins at a byte.
    #[inline]
    pub(super) fn of(geometry: &Geometry, offset: u64) -> Place {
        let from = geometry.radius(offset);
        Place {
            from,
            angle: geometry.angle(from),
        }
    }
}

/// The extents that wait to be destaged.
#[derive(Clone, Debug)]
pub(crate) struct WriteCache {
    size: u64,
    /// Bytes of extents and of writes on their way in.
    used: u64,
    /// Writes received so far.
    received: u64,
    /// By the age of the first write, oldest first.
    by_age: VecDeque<Extent>,
    /// Offset -> age of the first write, and length.
    by_offset: BTreeMap<u64, (u64, u64)>,
    /// How many extents are in a region, or in another one with the same place in this table: most reads are of a region in which
    /// there is none. Empty before the first write.
    regions: Vec<u32>,
}

impl WriteCache {
    /// Of a size in bytes; 0 holds nothing.
    pub(crate) fn new(size: u64) -> WriteCache {
        WriteCache {
            size,
            used: 0,
            received: 0,
            by_age: VecDeque::new(),
            by_offset: BTreeMap::new(),
            regions: Vec::new(),
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
    pub(crate) fn insert(&mut self, offset: u64, len: u64, place: Place) {
        let age = self.received;
        self.received += 1;
        if let Some((&from, known)) = self.by_offset.range_mut(..=offset).next_back() {
            let (first, before) = *known;
            let end = from + before;
            let grown = (offset + len).max(end) - from;
            let joins = offset + len <= end || (offset == end && grown <= LARGEST);
            // A longer rewrite takes the place of what it covers, whose age a flush may wait for.
            if joins || from == offset {
                self.used -= if joins {
                    len - (grown - before)
                } else {
                    before
                };
                known.1 = grown;
                if grown > before {
                    self.grow(first, grown);
                }
                return;
            }
        }
        self.by_offset.insert(offset, (age, len));
        self.by_age.push_back(Extent {
            first: age,
            offset,
            len,
            place,
        });
        self.mark(offset, len, 1);
    }

    /// The extent whose first write has an age has a length now.
    fn grow(&mut self, first: u64, len: u64) {
        let place = self
            .by_age
            .binary_search_by_key(&first, |extent| extent.first);
        if let Some(extent) = place.ok().and_then(|place| self.by_age.get_mut(place)) {
            let (offset, before) = (extent.offset, extent.len);
            extent.len = len;
            self.mark(offset, before, -1);
            self.mark(offset, len, 1);
        }
    }

    /// Counts an extent in its regions, or takes it off.
    fn mark(&mut self, offset: u64, len: u64, by: i32) {
        if self.regions.is_empty() {
            self.regions = vec![0; REGIONS];
        }
        let last = offset + len.max(1) - 1;
        for region in offset >> REGION..=last >> REGION {
            let count = &mut self.regions[region as usize % REGIONS];
            *count = count.wrapping_add_signed(by);
        }
    }

    /// Whether three quarters are full, so that destaging cannot wait until the disk is idle.
    pub(crate) fn is_pressed(&self) -> bool {
        self.size > 0 && self.used * 4 >= self.size * 3 && !self.by_age.is_empty()
    }

    /// Whether an extent has a write older than `age`.
    pub(crate) fn has_before(&self, age: u64) -> bool {
        self.by_age.front().is_some_and(|oldest| oldest.first < age)
    }

    /// Whether one extent has all of these bytes.
    #[inline]
    pub(crate) fn holds(&self, offset: u64, len: u64) -> bool {
        let count = self.regions.get((offset >> REGION) as usize % REGIONS);
        count.is_some_and(|count| *count > 0) && self.has(offset, len)
    }

    fn has(&self, offset: u64, len: u64) -> bool {
        let before = self.by_offset.range(..=offset).next_back();
        before.is_some_and(|(from, (_, have))| offset + len <= from + have)
    }

    /// Takes out the cheapest of the oldest `window` extents as (offset, length, place). `cost` says what one costs, if it is less
    /// than what it is given.
    pub(crate) fn take(
        &mut self,
        window: usize,
        cost: impl Fn(Place, f64) -> Option<f64>,
    ) -> Option<(u64, u64, Place)> {
        let (mut best, mut least) = (0, f64::INFINITY);
        let mut number = 0;
        let (front, back) = self.by_age.as_slices();
        for part in [front, back] {
            for extent in part.iter().take(window.max(1) - number) {
                if let Some(cost) = cost(extent.place, least) {
                    (best, least) = (number, cost);
                }
                number += 1;
            }
        }
        let extent = self.by_age.remove(best)?;
        self.by_offset.remove(&extent.offset);
        self.used -= extent.len;
        self.mark(extent.offset, extent.len, -1);
        Some((extent.offset, extent.len, extent.place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place that tells the byte.
    fn at(offset: u64) -> Place {
        Place {
            from: offset as f64,
            angle: 0.0,
        }
    }

    /// Takes the first of the disk, of the oldest.
    fn take(cache: &mut WriteCache, window: usize) -> Option<(u64, u64)> {
        let cost = |place: Place, least: f64| Some(place.from).filter(|from| *from < least);
        let (offset, len, place) = cache.take(window, cost)?;
        assert_eq!(place, at(offset));
        Some((offset, len))
    }

    #[test]
    fn neighbours_become_one_extent_and_rewrites_take_no_room() {
        let mut cache = WriteCache::new(1 << 20);
        for offset in [0, 4096, 8192, 4096] {
            assert!(cache.reserve(4096));
            cache.insert(offset, 4096, at(offset));
        }
        assert_eq!(cache.used, 3 * 4096);
        assert!(cache.holds(4096, 8192) && !cache.holds(8192, 8192));
        assert_eq!(take(&mut cache, 1), Some((0, 3 * 4096)));
        assert_eq!((cache.used, take(&mut cache, 1)), (0, None));
    }

    #[test]
    fn a_longer_rewrite_keeps_the_age_that_a_flush_waits_for() {
        let mut cache = WriteCache::new(1 << 20);
        for len in [4096, 8192] {
            assert!(cache.reserve(len));
            cache.insert(4096, len, at(4096));
        }
        assert!(cache.has_before(1) && cache.holds(4096, 8192));
        assert_eq!(
            (cache.used, take(&mut cache, 1)),
            (8192, Some((4096, 8192)))
        );
        assert_eq!((cache.used, take(&mut cache, 1)), (0, None));
    }

    #[test]
    fn the_window_bounds_how_far_an_extent_is_passed_over() {
        let mut cache = WriteCache::new(1 << 20);
        for offset in [9 << 20, 5 << 20, 1 << 20] {
            assert!(cache.reserve(4096));
            cache.insert(offset, 4096, at(offset));
        }
        assert_eq!(take(&mut cache.clone(), 1).unwrap().0, 9 << 20);
        assert_eq!(take(&mut cache.clone(), 2).unwrap().0, 5 << 20);
        assert_eq!(take(&mut cache, 3).unwrap().0, 1 << 20);
    }

    #[test]
    fn no_more_is_reserved_than_fits() {
        let mut cache = WriteCache::new(8192);
        assert!(cache.reserve(4096) && !cache.is_pressed());
        assert!(cache.reserve(4096) && !cache.reserve(1));
    }

    /// What a cache holds, by a plain search of all extents.
    fn held(cache: &WriteCache, offset: u64, len: u64) -> bool {
        let has = |e: &Extent| e.offset <= offset && offset + len <= e.offset + e.len;
        cache.by_age.iter().any(has)
    }

    proptest::proptest! {
        #[test]
        fn what_is_held_is_found_wherever_it_lies(
            writes in proptest::collection::vec((0_u64..6000, 1_u64..5000, proptest::bool::ANY), 1..120),
        ) {
            let mut cache = WriteCache::new(64 << 20);
            for (block, blocks, takes) in writes {
                // Regions that share a place of the table, and extents over several of them.
                let (offset, len) = (block << 19, blocks << 12);
                if cache.reserve(len) {
                    cache.insert(offset, len, at(offset));
                }
                if takes {
                    take(&mut cache, 4);
                }
                for probe in [offset, offset + len / 2, offset + (len - 1) / 4096 * 4096] {
                    let last = cache.by_offset.range(..=probe).next_back();
                    // Extents that overlap hide each other: the one that begins last is asked.
                    let expected = last.is_some_and(|(from, _)| {
                        let extent = cache.by_age.iter().find(|e| e.offset == *from).unwrap();
                        probe + 4096 <= extent.offset + extent.len
                    });
                    proptest::prop_assert_eq!(cache.holds(probe, 4096), expected);
                    proptest::prop_assert!(!cache.holds(probe, 4096) || held(&cache, probe, 4096));
                }
            }
            while take(&mut cache, 1).is_some() {}
            proptest::prop_assert!(cache.used == 0 && cache.regions.iter().all(|count| *count == 0));
        }
    }
}
