//! The requests to members that a write takes at levels with parity: all reads are done before the first write.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::layout::{Layout, Part};

/// How parity is brought up to date when a row is not written whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Whichever reads less.
    LeastReads,
    /// Always from the rest of the row: RAID-6 before Linux 4.1.
    Reconstruct,
}

/// A range of a data chunk, in bytes: a chunk has less than 4 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    chunk: u32,
    from: u32,
    to: u32,
}

impl Piece {
    fn range(self) -> Range<u64> {
        u64::from(self.from)..u64::from(self.to)
    }
}

/// The ranges of a row that are written, by data chunk. There is one for each write that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowWrite {
    /// Number of the row.
    pub row: u64,
    /// Joined and in order.
    pieces: SmallVec<[Piece; 1]>,
}

impl RowWrite {
    /// A range of one chunk.
    pub fn new(row: u64, k: u64, from: u64, to: u64) -> RowWrite {
        RowWrite {
            row,
            pieces: smallvec![piece(k, from, to)],
        }
    }

    /// Adds a range of a chunk; overlapping and adjacent ranges become one.
    pub fn push(&mut self, k: u64, from: u64, to: u64) {
        self.insert(piece(k, from, to));
    }

    fn insert(&mut self, mut added: Piece) {
        self.pieces.retain(|old| {
            let touches = old.chunk == added.chunk && old.from <= added.to && added.from <= old.to;
            if touches {
                added.from = added.from.min(old.from);
                added.to = added.to.max(old.to);
            }
            !touches
        });
        self.pieces.push(added);
        self.pieces.sort_by_key(|piece| (piece.chunk, piece.from));
    }

    /// Adds another write to the same row.
    pub fn add(&mut self, other: &RowWrite) {
        for piece in &other.pieces {
            self.insert(*piece);
        }
    }

    /// Whether all data of the row is written.
    pub fn is_full(&self, layout: &Layout) -> bool {
        self.pieces.len() as u64 == layout.data_chunks()
            && self
                .pieces
                .iter()
                .all(|piece| piece.range() == (0..layout.chunk))
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
        let from = self.pieces.iter().map(|piece| piece.from).min();
        let to = self.pieces.iter().map(|piece| piece.to).max();
        u64::from(from.unwrap_or(0))..u64::from(to.unwrap_or(0))
    }

    /// Ranges within the span that are not written, with their chunks.
    fn rest(&self, chunks: u64) -> Vec<(u64, Range<u64>)> {
        let span = self.span();
        let mut rest = Vec::new();
        for k in 0..chunks {
            let mut at = span.start;
            let those = self.pieces.iter();
            for piece in those.filter(|piece| u64::from(piece.chunk) == k) {
                let range = piece.range();
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

    /// The ranges of its data, and those of its parity. Lost members are among them.
    fn parts(&self, layout: &Layout) -> (impl Iterator<Item = Part>, impl Iterator<Item = Part>) {
        let (row, base) = (self.row, self.row * layout.chunk);
        let data = self.pieces.iter().map(move |piece| {
            let member = layout.data_member(row, u64::from(piece.chunk));
            part(member, base, piece.range())
        });
        let span = self.span();
        let parity = layout
            .parity_members(row)
            .map(move |member| part(member, base, span.clone()));
        (data, parity)
    }

    /// What members write, once all that the parity needs has been read.
    pub fn writes(&self, layout: &Layout) -> Vec<Part> {
        let base = self.row * layout.chunk;
        let (data, parity) = self.parts(layout);
        let parts = data.chain(parity);
        parts
            .filter(|part| !layout.is_lost(part.member, base))
            .collect()
    }

    /// What is read before the first write, besides what has been.
    pub fn reads(&self, known: &[Part], layout: &Layout, strategy: Strategy) -> Vec<Part> {
        let (row, base) = (self.row, self.row * layout.chunk);
        let lost = |member: usize| layout.is_lost(member, base);
        let (data, parity) = self.parts(layout);
        // Where lost data is among these, another way is chosen; lost parity is not needed.
        let mut modify: Vec<Part> = data.collect();
        modify.extend(parity.filter(|part| !lost(part.member)));
        if modify.len() == self.pieces.len() {
            return Vec::new();
        }
        let rest = self.rest(layout.data_chunks()).into_iter();
        let rest = rest.map(|(k, range)| part(layout.data_member(row, k), base, range));
        let missing = |parts: Vec<Part>| {
            if known.is_empty() {
                return parts;
            }
            parts.into_iter().flat_map(|p| unread(p, known)).collect()
        };
        let rest = missing(rest.collect());
        choose(lost, strategy, missing(modify), rest, || {
            let members = (0..layout.members).filter(|member| !lost(*member));
            let span = self.span();
            missing(
                members
                    .map(|member| part(member, base, span.clone()))
                    .collect(),
            )
        })
    }
}

fn piece(k: u64, from: u64, to: u64) -> Piece {
    debug_assert!(u32::try_from(k.max(from).max(to)).is_ok());
    Piece {
        chunk: k as u32,
        from: from as u32,
        to: to as u32,
    }
}

/// A range of a member's chunk in a row that begins at `base`.
fn part(member: usize, base: u64, range: Range<u64>) -> Part {
    Part {
        member,
        address: base + range.start,
        len: range.end - range.start,
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
