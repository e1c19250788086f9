//! The blocks of one allocation group: who has which, and which are free.

use ondisk::xfs::record::{RMAP_ATTR, RMAP_BMBT, owner};

/// Blocks with one owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) start: u32,
    pub(super) len: u32,
    pub(super) owner: u64,
    /// Offset in the fork and flags, as in a record of reverse mappings.
    pub(super) offset: u64,
}

impl Used {
    pub(super) fn new(start: u32, len: u32, owner: u64) -> Self {
        Self {
            start,
            len,
            owner,
            offset: 0,
        }
    }

    fn end(&self) -> u32 {
        self.start + self.len
    }

    /// Whether the next blocks belong to the same record.
    fn continues(&self, next: &Used) -> bool {
        if self.end() != next.start || self.owner != next.owner {
            return false;
        }
        if owner::is_special(self.owner) || self.offset & RMAP_BMBT != 0 {
            return self.offset == next.offset;
        }
        self.offset + u64::from(self.len) == next.offset
    }
}

/// The bits of a record's offset that an attribute fork has.
pub(super) const ATTRIBUTES: u64 = RMAP_ATTR;

/// Blocks of an allocation group, noted in ascending order.
#[derive(Debug)]
pub(super) struct Ledger {
    /// The first block that was noted, and the first after it that is not; none before anything is.
    noted: Option<(u32, u32)>,
    length: u32,
    /// Free extents, ascending: first block and length.
    pub(super) free: Vec<(u32, u32)>,
    /// Records of reverse mappings, ascending, where the filesystem has them.
    pub(super) used: Option<Vec<Used>>,
}

impl Ledger {
    pub(super) fn new(length: u32, records: bool) -> Self {
        Self {
            noted: None,
            length,
            free: Vec::new(),
            used: records.then(Vec::new),
        }
    }

    /// Notes blocks in use after all that were noted.
    pub(super) fn add(&mut self, used: Used) {
        self.reach(used.start);
        let first = self.noted.map_or(used.start, |noted| noted.0);
        self.noted = Some((first, used.end()));
        let Some(records) = &mut self.used else {
            return;
        };
        match records.last_mut().filter(|last| last.continues(&used)) {
            Some(last) => last.len += used.len,
            None => records.push(used),
        }
    }

    /// Notes that what lies before `start` and was not noted is free.
    fn reach(&mut self, start: u32) {
        let Some((_, next)) = self.noted else {
            return;
        };
        debug_assert!(start >= next, "{start} {next}");
        if start > next {
            self.free.push((next, start - next));
        }
    }

    /// Joins what was noted of the blocks after these.
    pub(super) fn append(&mut self, later: Ledger) {
        let Some((first, next)) = later.noted else {
            return;
        };
        self.reach(first);
        self.noted = Some((self.noted.map_or(first, |noted| noted.0), next));
        self.free.extend(later.free);
        let (Some(records), Some(more)) = (&mut self.used, later.used) else {
            return;
        };
        let mut more = more.into_iter().peekable();
        if let (Some(last), Some(next)) = (records.last_mut(), more.peek())
            && last.continues(next)
        {
            last.len += next.len;
            more.next();
        }
        records.extend(more);
    }

    /// Notes that the rest is free.
    pub(super) fn finish(&mut self) {
        self.reach(self.length);
        let first = self.noted.map_or(0, |noted| noted.0);
        self.noted = Some((first, self.length));
    }

    /// The first of the longest free extents, by its number.
    pub(super) fn longest(&self) -> Option<usize> {
        let all = self.free.iter().enumerate();
        let best = all.max_by_key(|(nth, extent)| (extent.1, std::cmp::Reverse(*nth)));
        best.map(|(nth, _)| nth)
    }

    /// Takes blocks off the start of a free extent, for an owner; the first of them.
    pub(super) fn take(&mut self, nth: usize, len: u32, owner: u64) -> u32 {
        let (start, all) = self.free[nth];
        self.free[nth] = (start + len, all - len);
        if let Some(records) = &mut self.used
            && len > 0
        {
            let new = Used::new(start, len, owner);
            let at = records.partition_point(|one| one.start < start);
            if at > 0 && records[at - 1].continues(&new) {
                records[at - 1].len += len;
            } else {
                records.insert(at, new);
            }
        }
        start
    }

    /// Removes extents that were taken whole, and joins records that touch.
    pub(super) fn settle(&mut self) {
        self.free.retain(|extent| extent.1 > 0);
        if let Some(records) = &mut self.used {
            records.dedup_by(|next, last| {
                let joined = last.continues(next);
                if joined {
                    last.len += next.len;
                }
                joined
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn stretches_joined_are_the_whole(
            runs in proptest::collection::vec((0_u32..3, 1_u32..5, 130_u64..133), 1..40),
            cuts in proptest::collection::vec(0_usize..40, 0..5),
        ) {
            let mut whole = Ledger::new(1000, true);
            let mut joined = Ledger::new(1000, true);
            let mut stretch = Ledger::new(1000, true);
            let mut at = 0;
            for (nth, (gap, len, owner)) in runs.into_iter().enumerate() {
                if cuts.contains(&nth) {
                    joined.append(std::mem::replace(&mut stretch, Ledger::new(1000, true)));
                }
                // The first blocks of a group are never free.
                at += if nth == 0 { 0 } else { gap };
                let used = Used { offset: at.into(), ..Used::new(at, len, owner) };
                at += len;
                whole.add(used);
                stretch.add(used);
            }
            joined.append(stretch);
            whole.finish();
            joined.finish();
            prop_assert_eq!(whole.free, joined.free);
            prop_assert_eq!(whole.used, joined.used);
        }
    }

    #[test]
    fn free_extents_and_records_cover_the_group() {
        let mut ledger = Ledger::new(100, true);
        ledger.add(Used::new(0, 4, owner::FS));
        ledger.add(Used::new(4, 2, owner::AG));
        ledger.add(Used::new(10, 8, owner::INODES));
        ledger.add(Used::new(18, 8, owner::INODES));
        for (start, offset) in [(30, 0), (31, 1), (32, 5)] {
            ledger.add(Used {
                offset,
                ..Used::new(start, 1, 131)
            });
        }
        ledger.finish();
        assert_eq!(ledger.free, [(6, 4), (26, 4), (33, 67)]);
        let longest = ledger.longest().unwrap();
        assert_eq!(ledger.take(longest, 60, owner::INOBT), 33);
        assert_eq!(ledger.take(longest, 7, owner::AG), 93);
        ledger.settle();
        assert_eq!(ledger.free, [(6, 4), (26, 4)]);
        let starts: Vec<(u32, u32)> = ledger
            .used
            .unwrap()
            .iter()
            .map(|one| (one.start, one.len))
            .collect();
        let expected = [
            (0, 4),
            (4, 2),
            (10, 16),
            (30, 2),
            (32, 1),
            (33, 60),
            (93, 7),
        ];
        assert_eq!(starts, expected);
    }
}
