//! The clusters of the volume, one bit each.

/// Clusters in use.
#[derive(Debug)]
pub(super) struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    pub(super) fn new(clusters: u32) -> Self {
        Self {
            words: vec![0; clusters.div_ceil(64) as usize],
        }
    }

    #[cfg(test)]
    pub(super) fn get(&self, cluster: u64) -> bool {
        self.words
            .get((cluster / 64) as usize)
            .is_some_and(|word| word >> (cluster % 64) & 1 == 1)
    }

    /// Sets clusters; those outside the volume are left.
    pub(super) fn set(&mut self, first: u64, clusters: u64) {
        let end = first + clusters;
        let mut at = first;
        while at < end {
            let bit = at % 64;
            let here = (64 - bit).min(end - at);
            if let Some(word) = self.words.get_mut((at / 64) as usize) {
                *word |= (u64::MAX >> (64 - here)) << bit;
            }
            at += here;
        }
    }

    /// Clears one cluster.
    pub(super) fn clear(&mut self, cluster: u64) {
        if let Some(word) = self.words.get_mut((cluster / 64) as usize) {
            *word &= !(1 << (cluster % 64));
        }
    }

    /// Free runs within `from..to`: first cluster and length.
    pub(super) fn free_runs(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        let mut at = from;
        while at < to {
            let word = self
                .words
                .get((at / 64) as usize)
                .copied()
                .unwrap_or(u64::MAX);
            if at.is_multiple_of(64) && at + 64 <= to && (word == 0 || word == u64::MAX) {
                if word == 0 {
                    push(&mut runs, at, 64);
                }
                at += 64;
                continue;
            }
            if word >> (at % 64) & 1 == 0 {
                push(&mut runs, at, 1);
            }
            at += 1;
        }
        runs
    }

    /// The bits of `from..from + bits` as the bytes of a descriptor's bitmap, and how many of them are set.
    pub(super) fn bytes(&self, from: u64, bits: u64) -> (Vec<u8>, u32) {
        let mut bytes = vec![0; bits.div_ceil(8) as usize];
        let mut used = 0;
        for (nth, byte) in bytes.iter_mut().enumerate() {
            let first = from + nth as u64 * 8;
            let here = (from + bits - first).min(8);
            let low = self.word_at(first) as u8;
            *byte = low & (0xff_u16 >> (8 - here)) as u8;
            used += byte.count_ones();
        }
        (bytes, used)
    }

    /// 64 bits from any cluster on.
    fn word_at(&self, cluster: u64) -> u64 {
        let (nth, shift) = ((cluster / 64) as usize, cluster % 64);
        let low = self.words.get(nth).copied().unwrap_or(0) >> shift;
        if shift == 0 {
            return low;
        }
        low | self.words.get(nth + 1).copied().unwrap_or(0) << (64 - shift)
    }
}

fn push(runs: &mut Vec<(u64, u64)>, at: u64, len: u64) {
    match runs.last_mut() {
        Some(last) if last.0 + last.1 == at => last.1 += len,
        _ => runs.push((at, len)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_and_bytes_agree_with_single_bits(
            sets in proptest::collection::vec((0_u64..990, 1_u64..200), 0..12),
            from in 0_u64..500,
            len in 1_u64..500,
        ) {
            let mut map = Bitmap::new(1000);
            for (at, len) in sets {
                map.set(at, len.min(1000 - at));
            }
            let free: u64 = map.free_runs(from, from + len).iter().map(|run| run.1).sum();
            let (bytes, used) = map.bytes(from, len);
            prop_assert_eq!(free + u64::from(used), len);
            for nth in 0..len {
                let bit = bytes[(nth / 8) as usize] >> (nth % 8) & 1 == 1;
                prop_assert_eq!(bit, map.get(from + nth));
            }
            for (at, run) in map.free_runs(from, from + len) {
                prop_assert!((at..at + run).all(|cluster| !map.get(cluster)));
            }
        }
    }
}
