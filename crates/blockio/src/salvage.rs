//! Reading around what cannot be read.

use crate::error::ReadError;
use crate::source::BlockSource;

/// What [`salvage`] could not get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// Ranges that failed, ascending, whole blocks but for the ends of what was asked; neighbours
    /// with the same fault are one. The buffer has zeros there.
    pub bad: Vec<ReadError>,
    /// Reads it took.
    pub reads: u32,
}

/// Reads a range of which some cannot be read: all blocks that can, into `buf`, zeros for the others.
///
/// A failed read is divided where the kernel says it failed, else in the middle, down to blocks of
/// `block` bytes at multiples of it. A failing disk takes seconds for each refusal, so after
/// `patience` of them nothing is divided any more: what then fails is bad as a whole.
pub fn salvage<S: BlockSource + ?Sized>(
    source: &S,
    buf: &mut [u8],
    offset: u64,
    block: u32,
    patience: u32,
) -> Salvaged {
    let block = u64::from(block.max(1));
    let mut found = Salvaged::default();
    let mut refusals = 0;
    // To do, the first on top.
    let mut ranges = vec![(offset, offset.saturating_add(buf.len() as u64))];
    while let Some((start, end)) = ranges.pop() {
        let part = &mut buf[(start - offset) as usize..(end - offset) as usize];
        found.reads = found.reads.saturating_add(1);
        let Err(error) = source.read_at(part, start) else {
            continue;
        };
        refusals += 1;
        match division(start, end, &error, block) {
            Some(middle) if refusals <= patience => {
                ranges.push((middle, end));
                ranges.push((start, middle));
            }
            _ => {
                part.fill(0);
                found.lost(ReadError {
                    offset: start,
                    len: end - start,
                    ..error
                });
            }
        }
    }
    found
}

/// Where to divide a range that failed: at a multiple of `block` inside; `None` for a single block.
fn division(start: u64, end: u64, error: &ReadError, block: u64) -> Option<u64> {
    let inside = |at: u64| (start < at && at < end).then_some(at);
    let floor = |at: u64| at / block * block;
    inside(floor(error.offset))
        // It failed in the first block: that one may be the only one.
        .or_else(|| inside(floor(start) + block).filter(|_| error.offset > start))
        .or_else(|| inside(floor(start.midpoint(end))))
        .or_else(|| inside(floor(start) + block))
}

impl Salvaged {
    fn lost(&mut self, error: ReadError) {
        match self.bad.last_mut() {
            Some(last) if last.fault == error.fault && last.offset + last.len == error.offset => {
                last.len += error.len;
            }
            _ => self.bad.push(error),
        }
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // One bad range is a list of one.
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ram::Ram;

    #[test]
    fn one_bad_sector_in_a_megabyte_takes_few_reads() {
        let bytes = vec![7; 1 << 20];
        let source = Ram::new(&bytes).failing([700_000..700_001], libc::EIO);
        let mut buf = vec![1; 1 << 20];
        let found = salvage(&source, &mut buf, 0, 512, 64);
        assert_eq!(found.bad.len(), 1);
        assert_eq!((found.bad[0].offset, found.bad[0].len), (699_904, 512));
        // 1 whole, then before, and the failing rest divided at most 11 times.
        assert!(found.reads <= 2 + 2 * 12, "{} reads", found.reads);
        assert!(buf[699_904..700_416].iter().all(|b| *b == 0));
        assert!(buf[..699_904].iter().all(|b| *b == 7));
        assert!(buf[700_416..].iter().all(|b| *b == 7));
    }

    #[test]
    fn patience_ends() {
        let source = Ram::new(&vec![7; 1 << 20]).failing([0..1 << 20], libc::EIO);
        let mut buf = vec![1; 1 << 20];
        let found = salvage(&source, &mut buf, 0, 512, 10);
        assert!(found.reads <= 2 * 10 + 1, "{} reads", found.reads);
        assert_eq!(found.bad.len(), 1);
        assert_eq!((found.bad[0].offset, found.bad[0].len), (0, 1 << 20));
        assert!(buf.iter().all(|b| *b == 0));
    }

    #[test]
    fn what_lies_past_the_end_is_lost_and_the_rest_is_not() {
        let source = Ram::new(&[7; 1000]);
        let mut buf = vec![1; 2048];
        let found = salvage(&source, &mut buf, 0, 100, 64);
        assert_eq!(found.bad.len(), 1);
        assert_eq!((found.bad[0].offset, found.bad[0].len), (1000, 1048));
        assert!(buf[..1000].iter().all(|b| *b == 7));
    }

    proptest! {
        #[test]
        fn exactly_the_blocks_with_bad_bytes_are_lost(
            len in 1_usize..5000, offset in 0_u64..300, block in 1_u32..700,
            bad in prop::collection::vec((0_u64..5300, 1_u64..200), 0..4)
        ) {
            let bytes: Vec<u8> = (0..offset as usize + len).map(|i| (i % 250 + 1) as u8).collect();
            let ranges: Vec<_> = bad.iter().map(|(at, n)| *at..at + n).collect();
            let source = Ram::new(&bytes).failing(ranges.clone(), libc::EIO);
            let mut buf = vec![0xff; len];
            let found = salvage(&source, &mut buf, offset, block, u32::MAX);
            let block = u64::from(block);
            let end = offset + len as u64;
            for (i, byte) in buf.iter().enumerate() {
                let at = offset + i as u64;
                // The block around this byte, as far as it was asked for.
                let (first, last) = ((at / block * block).max(offset), (at / block * block + block).min(end));
                let lost = ranges.iter().any(|r| r.start < last && first < r.end);
                let reported = found.bad.iter().any(|e| (e.offset..e.offset + e.len).contains(&at));
                prop_assert_eq!(lost, reported, "byte {}", at);
                prop_assert_eq!(*byte, if lost { 0 } else { bytes[at as usize] });
            }
        }
    }
}
