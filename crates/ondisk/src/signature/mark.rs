//! Where a magic number is, and the search for every one of the table.

use std::io;

use super::magic::ROWS;
use super::{Format, ReadAt, Reader, Signature};

/// Looks at the bytes around a magic number, whose offset it is given, where the magic number alone
/// would take other data for the format.
pub(super) type Proof = fn(&Reader<'_, dyn ReadAt + '_>, u64) -> io::Result<bool>;

/// A format: how it is recognised, and what to do with it.
pub(super) struct Row {
    pub(super) format: Format,
    /// In words, with an article.
    pub(super) kind: &'static str,
    /// `TYPE` of blkid(8), or `PTTYPE` of a partition table; empty where blkid does not know it.
    pub(super) blkid: &'static str,
    /// One of these is enough.
    pub(super) marks: &'static [Mark],
    pub(super) proof: Option<Proof>,
    /// What its owner does next. `{}` stands for the file.
    pub(super) next: &'static str,
}

/// A magic number and its places.
pub(super) struct Mark {
    base: Base,
    pub(super) magic: &'static [u8],
    step: u64,
    count: u64,
}

enum Base {
    /// Bytes from the start.
    Start(u64),
    /// Bytes before the end, which is rounded down to a multiple of `align` first.
    End { align: u64, back: u64 },
}

/// At this offset.
pub(super) const fn at(offset: u64, magic: &'static [u8]) -> Mark {
    Mark {
        base: Base::Start(offset),
        magic,
        step: 0,
        count: 1,
    }
}

/// This number of bytes before the end of the last whole sector.
pub(super) const fn end(back: u64, magic: &'static [u8]) -> Mark {
    aligned(512, back, magic)
}

/// This number of bytes before the last multiple of `align`.
pub(super) const fn aligned(align: u64, back: u64, magic: &'static [u8]) -> Mark {
    Mark {
        base: Base::End { align, back },
        magic,
        step: 0,
        count: 1,
    }
}

impl Mark {
    /// There, or a number of steps after it.
    pub(super) const fn every(self, step: u64, count: u64) -> Mark {
        Mark {
            step,
            count,
            ..self
        }
    }

    /// The first place in a source of `size` bytes.
    pub(super) fn first(&self, size: u64) -> Option<u64> {
        match self.base {
            Base::Start(offset) => Some(offset),
            Base::End { align, back } => (size / align * align).checked_sub(back),
        }
    }

    /// Bytes from the first place to the last one.
    #[cfg(test)]
    pub(super) fn span(&self) -> u64 {
        self.step * (self.count - 1)
    }

    /// Every offset at which the magic number is.
    fn found<R: ReadAt + ?Sized>(&self, reader: &Reader<'_, R>) -> io::Result<Vec<u64>> {
        let size = reader.source.size();
        let Some(first) = self.first(size).filter(|first| *first < size) else {
            return Ok(Vec::new());
        };
        if self.count == 1 {
            let here = reader.has(first, self.magic)?;
            return Ok(here.then_some(first).into_iter().collect());
        }
        let length = (self.step * self.count).min(size - first) as usize;
        let span = reader.bytes(first, length)?.unwrap_or_default();
        let steps = span
            .chunks(self.step as usize)
            .zip((first..).step_by(self.step as usize));
        Ok(steps
            .filter(|(bytes, _)| bytes.starts_with(self.magic))
            .map(|(_, at)| at)
            .collect())
    }
}

/// Every signature in the source, in the order of the table: where several formats left traces, the first
/// is the likeliest. Partition tables are last.
///
/// # Errors
/// The source cannot be read.
pub fn all<R: ReadAt + ?Sized>(source: &R) -> io::Result<Vec<Signature>> {
    let sized = Reader { source };
    let reader: Reader<'_, dyn ReadAt + '_> = Reader { source: &sized };
    let mut signatures = Vec::new();
    for row in ROWS {
        for mark in row.marks {
            for offset in mark.found(&reader)? {
                if row.proof.map_or(Ok(true), |proof| proof(&reader, offset))? {
                    signatures.push(row.signature(offset, mark.magic.len()));
                }
            }
        }
    }
    Ok(signatures)
}

impl Row {
    pub(super) fn signature(&self, offset: u64, length: usize) -> Signature {
        Signature {
            format: self.format,
            kind: self.kind,
            blkid: self.blkid,
            next: self.next,
            offset,
            length,
        }
    }
}
