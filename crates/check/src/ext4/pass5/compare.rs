//! A bitmap on disk against the map in memory, word by word.

use crate::frame::maps::Bits;

/// How a run of bits differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Difference {
    /// Set on disk, unused in memory.
    Unused,
    /// Clear on disk, in use in memory.
    Used,
}

/// Bits `first..=last` of a bitmap that differ in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub first: u32,
    pub last: u32,
    pub difference: Difference,
}

/// What a comparison has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Compared {
    /// Bits clear on disk.
    pub free: u32,
    /// Bits that differ.
    pub differences: u32,
}

/// Compares the first `bits` bits of `disk` with those of `memory` from `start` on, and reports each run of differences, ascending. The
/// slice is as long as a block, and so a multiple of 8 bytes.
pub(super) fn compare(
    disk: &[u8],
    bits: u32,
    memory: &Bits,
    start: u64,
    mut report: impl FnMut(Run),
) -> Compared {
    let mut compared = Compared::default();
    let mut open: Option<Run> = None;
    let (words, _) = disk.as_chunks::<8>();
    for (nth, word) in (0..bits.div_ceil(64)).zip(words) {
        let first = nth * 64;
        let mask = u64::MAX >> (64 - (bits - first).min(64));
        let on_disk = u64::from_le_bytes(*word) & mask;
        let owned = unaligned(memory, start + u64::from(first)) & mask;
        compared.free += (!on_disk & mask).count_ones();
        let mut rest = on_disk ^ owned;
        compared.differences += rest.count_ones();
        while rest != 0 {
            let at = rest.trailing_zeros();
            rest &= rest - 1;
            let difference = if on_disk >> at & 1 == 1 {
                Difference::Unused
            } else {
                Difference::Used
            };
            let bit = first + at;
            match &mut open {
                Some(run) if run.last + 1 == bit && run.difference == difference => run.last = bit,
                open => {
                    let run = Run {
                        first: bit,
                        last: bit,
                        difference,
                    };
                    if let Some(done) = open.replace(run) {
                        report(done);
                    }
                }
            }
        }
    }
    if let Some(run) = open {
        report(run);
    }
    compared
}

/// 64 bits from any bit on.
fn unaligned(bits: &Bits, at: u64) -> u64 {
    let low = bits.word(at / 64);
    match at % 64 {
        0 => low,
        shift => low >> shift | bits.word(at / 64 + 1) << (64 - shift),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_those_of_single_bits(
            disk in proptest::collection::vec(any::<u8>(), 32),
            memory in proptest::collection::vec(any::<bool>(), 256),
            sparse: bool,
            start in 0_u64..100,
            bits in 1_u32..=256,
        ) {
            let map = Bits::new(start + u64::from(bits)).unwrap();
            let set = |bytes: &[u8], bit: u32| bytes[(bit / 8) as usize] >> (bit % 8) & 1 == 1;
            for bit in 0..bits {
                let as_on_disk = sparse && bit % 50 != 0;
                if if as_on_disk { set(&disk, bit) } else { memory[bit as usize] } {
                    map.set(start + u64::from(bit));
                }
            }
            let mut seen = vec![None; bits as usize];
            let mut before: Option<Run> = None;
            let compared = compare(&disk, bits, &map, start, |run| {
                let apart = |last: Run| last.last + 1 < run.first || last.difference != run.difference;
                assert!(before.is_none_or(apart), "runs ascend and are maximal");
                before = Some(run);
                seen[run.first as usize..=run.last as usize].fill(Some(run.difference));
            });
            let mut free = 0;
            for bit in 0..bits {
                let (on_disk, owned) = (set(&disk, bit), map.get(start + u64::from(bit)));
                free += u32::from(!on_disk);
                let expected = match (on_disk, owned) {
                    (true, false) => Some(Difference::Unused),
                    (false, true) => Some(Difference::Used),
                    _ => None,
                };
                prop_assert_eq!(seen[bit as usize], expected);
            }
            prop_assert_eq!(compared.free, free);
            prop_assert_eq!(compared.differences as usize, seen.iter().flatten().count());
        }
    }
}
