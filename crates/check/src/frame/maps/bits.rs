//! A bitmap that several threads fill.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use zerocopy::FromZeros;

/// A flat bitmap.
pub struct Bits {
    words: Vec<AtomicU64>,
    len: u64,
}

/// The kernel grants no memory for a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no memory for a map of {entries} entries; use a machine with more memory, or check the counts in the superblock"
)]
pub struct OutOfMemory {
    /// Entries that the map was to have.
    pub entries: u64,
}

/// Allocated as zeros, so that the kernel provides pages when they are touched.
pub(crate) fn zeroed<T: FromZeros>(entries: u64) -> Result<Vec<T>, OutOfMemory> {
    let len = usize::try_from(entries).map_err(|_| OutOfMemory { entries })?;
    T::new_vec_zeroed(len).map_err(|_| OutOfMemory { entries })
}

impl Bits {
    /// This many bits, all clear.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn new(len: u64) -> Result<Bits, OutOfMemory> {
        let words = zeroed(len.div_ceil(64))?;
        Ok(Bits { words, len })
    }

    /// Number of bits.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the map has no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether a bit is set; bits past the end are clear.
    pub fn get(&self, bit: u64) -> bool {
        let word = self.words.get((bit / 64) as usize);
        word.is_some_and(|word| word.load(Relaxed) >> (bit % 64) & 1 == 1)
    }

    /// Sets a bit; whether it was set before. Bits past the end are ignored and count as clear.
    pub fn set(&self, bit: u64) -> bool {
        let mask = 1 << (bit % 64);
        match self.words.get((bit / 64) as usize) {
            Some(word) if bit < self.len => word.fetch_or(mask, Relaxed) & mask != 0,
            _ => false,
        }
    }

    /// Sets, of the 64 bits from bit `at`, those that are set in `word`; bits past the end are ignored.
    pub fn set_from(&self, at: u64, word: u64) {
        let left = self.len.saturating_sub(at).min(64) as u32;
        let word = word & u64::MAX.checked_shr(64 - left).unwrap_or(0);
        let (index, shift) = ((at / 64) as usize, (at % 64) as u32);
        let high = word.checked_shr(64 - shift).unwrap_or(0);
        for (index, bits) in [(index, word << shift), (index + 1, high)] {
            if let Some(place) = self.words.get(index).filter(|_| bits != 0) {
                place.fetch_or(bits, Relaxed);
            }
        }
    }

    /// Clears a bit.
    pub fn clear(&self, bit: u64) {
        if let Some(word) = self.words.get((bit / 64) as usize) {
            word.fetch_and(!(1 << (bit % 64)), Relaxed);
        }
    }

    /// Sets a range, cut at the end of the map; calls `again` with each bit that was set before.
    pub fn set_range(&self, range: Range<u64>, mut again: impl FnMut(u64)) {
        let (mut at, end) = (range.start, range.end.min(self.len));
        while at < end {
            let index = (at / 64) as usize;
            let first = at % 64;
            let last = (end - index as u64 * 64).min(64);
            let mask = (u64::MAX << first) & (u64::MAX >> (64 - last));
            let mut before = self.words[index].fetch_or(mask, Relaxed) & mask;
            while before != 0 {
                again(index as u64 * 64 + u64::from(before.trailing_zeros()));
                before &= before - 1;
            }
            at = (index as u64 + 1) * 64;
        }
    }

    /// The 64 bits from bit `64 * index`; bits past the end are clear.
    pub fn word(&self, index: u64) -> u64 {
        self.words
            .get(index as usize)
            .map_or(0, |word| word.load(Relaxed))
    }

    /// Sets, of the 64 bits from bit `64 * index`, those that are set in `bits`; returns those of them that were set before. Bits
    /// past the end are ignored.
    pub fn set_word(&self, index: u64, bits: u64) -> u64 {
        let inside = self.len.saturating_sub(index.saturating_mul(64));
        let bits = match inside {
            0 => 0,
            1..64 => bits & !(u64::MAX << inside),
            _ => bits,
        };
        match self.words.get(index as usize) {
            Some(word) if bits != 0 => word.fetch_or(bits, Relaxed) & bits,
            _ => 0,
        }
    }

    /// Number of bits set in a range.
    pub fn count(&self, range: Range<u64>) -> u64 {
        let (mut at, end) = (range.start, range.end.min(self.len));
        let mut count = 0;
        while at < end {
            let index = at / 64;
            let last = (end - index * 64).min(64);
            let mask = (u64::MAX << (at % 64)) & (u64::MAX >> (64 - last));
            count += u64::from((self.word(index) & mask).count_ones());
            at = (index + 1) * 64;
        }
        count
    }

    /// Numbers of the bits that are set, ascending.
    pub fn ones(&self) -> impl Iterator<Item = u64> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            let mut rest = word.load(Relaxed);
            std::iter::from_fn(move || {
                if rest == 0 {
                    return None;
                }
                let bit = index as u64 * 64 + u64::from(rest.trailing_zeros());
                rest &= rest - 1;
                Some(bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_report_the_bits_that_were_set() {
        let bits = Bits::new(200).unwrap();
        bits.set_range(60..130, |_| panic!("nothing was set"));
        assert!(!bits.get(59) && bits.get(60) && bits.get(129) && !bits.get(130));
        let mut again = Vec::new();
        bits.set_range(128..300, |bit| again.push(bit));
        assert_eq!(again, [128, 129]);
        assert_eq!(bits.count(0..1000), 140);
        assert_eq!(bits.count(61..64), 3);
        assert_eq!(bits.ones().next(), Some(60));
        assert!(bits.set(60) && !bits.set(3) && !bits.set(200));
        bits.clear(60);
        assert!(!bits.get(60));
        let bits = Bits::new(200).unwrap();
        bits.set_from(0, 0b101);
        bits.set_from(190, u64::MAX);
        bits.set_from(12, 1 << 63 | 1);
        bits.set_from(300, 1);
        let ones: Vec<u64> = bits.ones().collect();
        assert_eq!(ones[..4], [0, 2, 12, 75]);
        assert_eq!((ones[4], ones.len()), (190, 14));
    }

    #[test]
    fn words_report_the_bits_that_were_set() {
        let bits = Bits::new(130).unwrap();
        bits.set(65);
        assert_eq!(bits.set_word(1, 0b110), 0b010);
        assert_eq!(bits.word(1), 0b110);
        assert_eq!(bits.set_word(2, u64::MAX), 0);
        assert_eq!((bits.word(2), bits.set_word(2, 5)), (0b11, 0b01));
        assert_eq!((bits.set_word(3, 1), bits.set_word(u64::MAX, 1)), (0, 0));
    }
}
