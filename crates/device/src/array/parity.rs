//! What a write costs at levels with parity.

use std::ops::Range;

use super::layout::{Layout, Part};

/// How parity is brought up to date when a row is not written whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Whichever reads less.
    LeastReads,
    /// Always from the rest of the row: RAID-6 before Linux 4.1.
    Reconstruct,
}

/// The ranges of a row that are written, by data chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowWrite {
    /// Number of the row.
    pub row: u64,
    /// (data chunk, range in the chunk), joined and in order.
    parts: Vec<(u64, Range<u64>)>,
}

impl RowWrite {
    /// A range of one chunk.
    pub fn new(row: u64, k: u64, from: u64, to: u64) -> RowWrite {
        RowWrite {
            row,
            parts: vec![(k, from..to)],
        }
    }

    /// Adds a range of a chunk; overlapping and adjacent ranges become one.
    pub fn push(&mut self, k: u64, from: u64, to: u64) {
        let mut range = from..to;
        self.parts.retain(|(chunk, old)| {
            let touches = *chunk == k && old.start <= range.end && range.start <= old.end;
            if touches {
                range = range.start.min(old.start)..range.end.max(old.end);
            }
            !touches
        });
        self.parts.push((k, range));
        self.parts.sort_by_key(|(k, range)| (*k, range.start));
    }

    /// Adds another write to the same row.
    pub fn add(&mut self, other: &RowWrite) {
        for (k, range) in &other.parts {
            self.push(*k, range.start, range.end);
        }
    }

    /// Whether all data of the row is written.
    pub fn is_full(&self, layout: &Layout) -> bool {
        self.parts.len() as u64 == layout.data_chunks()
            && self
                .parts
                .iter()
                .all(|(_, range)| *range == (0..layout.chunk))
    }

    /// Whether another write is to the same row, with the same parity.
    pub fn meets(&self, other: &RowWrite) -> bool {
        let (one, two) = (self.span(), other.span());
        self.row == other.row && one.start < two.end && two.start < one.end
    }

    /// The same write with another one added.
    #[must_use]
    pub fn with(&self, other: &RowWrite) -> RowWrite {
        let mut both = self.clone();
        both.add(other);
        both
    }

    /// From the first to the last byte of a chunk that is written in any of them: what of the parity is read and written, by one request.
    fn span(&self) -> Range<u64> {
        let from = self.parts.iter().map(|(_, range)| range.start).min();
        let to = self.parts.iter().map(|(_, range)| range.end).max();
        from.unwrap_or(0)..to.unwrap_or(0)
    }

    /// Ranges within the span that are not written.
    fn rest(&self, chunks: u64) -> Vec<(u64, Range<u64>)> {
        let span = self.span();
        let mut rest = Vec::new();
        for k in 0..chunks {
            let mut at = span.start;
            for (_, range) in self.parts.iter().filter(|(chunk, _)| *chunk == k) {
                if range.start > at {
                    rest.push((k, at..range.start));
                }
                at = range.end;
            }
            if at < span.end {
                rest.push((k, at..span.end));
            }
        }
        rest
    }
}

/// The member requests that a write to a row takes: all reads are done before the first write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPlan {
    /// Read first.
    pub reads: Vec<Part>,
    /// Then written.
    pub writes: Vec<Part>,
}

impl RowPlan {
    /// The plan of a write.
    pub fn of(layout: &Layout, strategy: Strategy, write: &RowWrite) -> RowPlan {
        RowPlan::knowing(&[], layout, strategy, write)
    }

    /// The plan of a write, where some of the row has been read.
    pub fn knowing(
        read: &[Part],
        layout: &Layout,
        strategy: Strategy,
        write: &RowWrite,
    ) -> RowPlan {
        let base = write.row * layout.chunk;
        let part = |member: usize, range: &Range<u64>| Part {
            member,
            address: base + range.start,
            len: range.end - range.start,
        };
        let data = |(k, range): &(u64, Range<u64>)| part(layout.data_member(write.row, *k), range);
        let span = write.span();
        let parity = layout
            .parity_members(write.row)
            .map(|member| part(member, &span));
        let lost = |member: usize| layout.is_lost(member, base);
        let mut modify: Vec<Part> = write.parts.iter().map(data).collect();
        let written = modify.len();
        modify.extend(parity.filter(|p| !lost(p.member)));
        let has_parity = modify.len() > written;
        let mut writes = modify.clone();
        writes.retain(|p| !lost(p.member));
        if !has_parity {
            let reads = Vec::new();
            return RowPlan { reads, writes };
        }
        let rest: Vec<Part> = write.rest(layout.data_chunks()).iter().map(data).collect();
        let missing = |parts: Vec<Part>| {
            if read.is_empty() {
                return parts;
            }
            parts.into_iter().flat_map(|p| unread(p, read)).collect()
        };
        let reads = choose(lost, strategy, missing(modify), missing(rest), || {
            let members = (0..layout.members).filter(|member| !lost(*member));
            missing(members.map(|member| part(member, &span)).collect())
        });
        RowPlan { reads, writes }
    }
}

/// What of a part has not been read.
fn unread(part: Part, read: &[Part]) -> Vec<Part> {
    let mut left = vec![part];
    for known in read.iter().filter(|known| known.member == part.member) {
        let (from, to) = (known.address, known.address + known.len);
        let cut = |p: Part| {
            let end = p.address + p.len;
            let before = p.address..end.min(from);
            let after = p.address.max(to)..end;
            let ranges = [before, after].into_iter().filter(|r| !r.is_empty());
            ranges.map(move |range| Part {
                address: range.start,
                len: range.end - range.start,
                ..p
            })
        };
        left = left.into_iter().flat_map(cut).collect();
    }
    left
}

/// The cheaper set of reads that needs no failed member; everything where both need one.
fn choose(
    lost: impl Fn(usize) -> bool,
    strategy: Strategy,
    modify: Vec<Part>,
    rest: Vec<Part>,
    everything: impl Fn() -> Vec<Part>,
) -> Vec<Part> {
    let bytes = |parts: &[Part]| parts.iter().map(|part| part.len).sum::<u64>();
    let works = |parts: &[Part]| parts.iter().all(|part| !lost(part.member));
    let by_rest = strategy == Strategy::Reconstruct || bytes(&rest) < bytes(&modify);
    let (first, second) = if by_rest {
        (rest, modify)
    } else {
        (modify, rest)
    };
    if works(&first) {
        first
    } else if works(&second) {
        second
    } else {
        everything()
    }
}
