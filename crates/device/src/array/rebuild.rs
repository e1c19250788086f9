//! Rebuilding failed members beside the load, at a rate.

use super::layout::{Layout, Level, Part, join};
use crate::model::Nanoseconds;
use crate::timeline::moving;

/// Bytes of each member that are rebuilt at a time; a chunk, where that is more.
const WINDOW: u64 = 1 << 20;

/// Failed members that have been replaced, and are written anew from the others in order.
#[derive(Debug)]
pub(super) struct Rebuild {
    /// Bytes of each member a second.
    rate: f64,
    /// When the next window may begin; none while one is under way.
    next: Option<Nanoseconds>,
    begun: Nanoseconds,
    /// What of the window is to be written once it has been read.
    writes: Vec<Part>,
}

impl Rebuild {
    pub(super) fn new(rate: f64) -> Rebuild {
        Rebuild {
            rate,
            next: Some(0),
            begun: 0,
            writes: Vec::new(),
        }
    }

    /// When it next begins something.
    pub(super) fn next(&self) -> Option<Nanoseconds> {
        self.next
    }

    /// What is read for the next window.
    pub(super) fn begin(&mut self, now: Nanoseconds, layout: &Layout) -> Vec<Part> {
        (self.begun, self.next) = (now, None);
        let (address, len) = (layout.rebuilt, window(layout));
        let part = |member: usize| Part {
            member,
            address,
            len,
        };
        self.writes = layout.failed.iter().copied().map(part).collect();
        let whole = (0..layout.members).filter(|member| !layout.failed.contains(member));
        match layout.level {
            Level::Raid10 => copies(layout, address, len),
            // Of a mirror one is read, of a row as many as it has data.
            Level::Raid1 => whole.take(1).map(part).collect(),
            _ => whole
                .take(layout.data_chunks() as usize)
                .map(part)
                .collect(),
        }
    }

    /// What is to be written now that the window has been read; none once it was written.
    pub(super) fn writes(&mut self) -> Vec<Part> {
        std::mem::take(&mut self.writes)
    }

    /// A window is done; whether it was the last.
    pub(super) fn end(&mut self, now: Nanoseconds, layout: &mut Layout) -> bool {
        let len = window(layout);
        layout.rebuilt += len;
        self.next = Some(now.max(self.begun + moving(len, self.rate)));
        layout.rebuilt >= layout.member_size
    }
}

fn window(layout: &Layout) -> u64 {
    let whole = WINDOW.next_multiple_of(layout.chunk);
    whole.min(layout.member_size - layout.rebuilt)
}

/// Where the copies of what the failed members of a RAID-10 have in a range are.
fn copies(layout: &Layout, address: u64, len: u64) -> Vec<Part> {
    let mut parts = Vec::new();
    for row in address / layout.chunk..(address + len).div_ceil(layout.chunk) {
        for failed in &layout.failed {
            let (member, row) = layout.other_copy(*failed, row);
            join(&mut parts, member, row * layout.chunk, layout.chunk);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::super::{Array, Strategy};
    use super::*;
    use crate::model::{Model, Op, Request, run_alone};
    use crate::noted::{Noted, Sent};

    const MIB: u64 = 1 << 20;
    const MS: u64 = 1_000_000;

    fn array(level: Level, members: usize, failed: &[usize], rate: f64) -> (Array, Sent) {
        let sent = Sent::default();
        let member = |number| -> Box<dyn Model> {
            let mut member = Noted::new(number, 16 * MIB, MS, &sent);
            member.in_turn = true;
            Box::new(member)
        };
        let layout = Layout {
            level,
            chunk: 65_536,
            members,
            member_size: 16 * MIB,
            ends: Vec::new(),
            failed: failed.to_vec(),
            rebuilt: 0,
        };
        let models = (0..members).map(member).collect();
        let array = Array::new(layout, Strategy::LeastReads, models).with_rebuild(rate);
        (array, sent)
    }

    /// Runs until nothing happens any more; the last time.
    fn run(array: &mut Array) -> Nanoseconds {
        let mut now = 0;
        while let Some(at) = array.next_event() {
            now = at;
            array.advance(now, &mut Vec::new());
        }
        now
    }

    #[test]
    fn each_window_is_read_from_the_others_and_written_at_the_rate() {
        // 1 MiB each 10 ms; a read and a write take 2.
        let (mut raid5, sent) = array(Level::Raid5, 4, &[2], MIB as f64 * 100.0);
        assert_eq!(run(&mut raid5), 15 * 10 * MS + 2 * MS);
        let sent = sent.lock().unwrap();
        let of = |member: usize, op: Op| -> Vec<u64> {
            let those = sent.iter().filter(|s| s.0 == member && s.1 == op);
            those.map(|s| s.2 / MIB).collect()
        };
        let all: Vec<u64> = (0..16).collect();
        assert_eq!(of(2, Op::Write), all);
        assert!([0, 1, 3].iter().all(|other| of(*other, Op::Read) == all));
        assert_eq!(sent.len(), 4 * 16);
    }

    #[test]
    fn it_goes_as_fast_as_the_members_where_the_rate_is_higher() {
        let (mut raid6, _) = array(Level::Raid6, 5, &[0, 3], 1e12);
        assert_eq!(run(&mut raid6), 16 * 2 * MS);
    }

    #[test]
    fn copies_come_from_where_they_are() {
        for (level, members, failed, expected) in [
            (Level::Raid1, 3, 1, vec![0]),
            (Level::Raid10, 4, 2, vec![3]),
            // Of an odd number the neighbours on both sides have copies.
            (Level::Raid10, 3, 1, vec![0, 2]),
        ] {
            let (mut array, sent) = array(level, members, &[failed], 1e12);
            run(&mut array);
            let sent = sent.lock().unwrap();
            let reads = sent.iter().filter(|s| s.1 == Op::Read);
            let mut from: Vec<usize> = reads.map(|s| s.0).collect();
            from.sort_unstable();
            from.dedup();
            assert_eq!(from, expected, "{level:?}");
            assert!(sent.iter().all(|s| s.1 == Op::Read || s.0 == failed));
        }
    }

    #[test]
    fn what_is_rebuilt_is_read_and_written_as_if_nothing_had_failed() {
        let (mut raid5, sent) = array(Level::Raid5, 3, &[0], MIB as f64 * 100.0);
        // Chunk 1 of row 0 is on member 0 (0 1 P is 0, 1, 2: parity on 2): before its window it is read as its row.
        let read = |array: &mut Array, now, chunk: u64| {
            sent.lock().unwrap().clear();
            run_alone(array, now, Request::read(9, chunk * 65_536, 4096));
            let sent = sent.lock().unwrap();
            let mut from: Vec<usize> = sent.iter().map(|s| s.0).collect();
            from.dedup();
            from
        };
        // The last row, and after two windows the first.
        let last = 16 * 16 * 2 - 2;
        let mut done = Vec::new();
        while raid5.layout.rebuilt < 2 * MIB {
            let at = raid5.next_event().unwrap();
            raid5.advance(at, &mut done);
        }
        let now = 15 * MS;
        assert_eq!(read(&mut raid5, now, 0), [0]);
        let lost = (0..2).find(|k| raid5.layout.data_member(16 * 16 - 1, *k) == 0);
        assert_eq!(read(&mut raid5, now + MS, last + lost.unwrap_or(0)), [1, 2]);
    }
}
