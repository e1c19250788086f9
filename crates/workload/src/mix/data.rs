//! Contents: random, and different in every block, so that no device compresses them or stores a
//! block of them once for many.

use std::io;

use super::permutation::{Random, mixed};
use crate::engine::Payload;

/// Fills with random bytes.
pub(super) fn fill(bytes: &mut [u8], seed: u64) {
    let mut random = Random::new(seed);
    for word in bytes.chunks_mut(8) {
        word.copy_from_slice(&random.next().to_ne_bytes()[..word.len()]);
    }
}

/// Makes a block of a buffer that [`fill`] has filled different from every other: two words in each
/// 512 bytes, as fio's `scramble_buffers`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scramble {
    pub(super) seed: u64,
}

/// The least that a device stores or compares.
const SECTOR: usize = 512;

impl Payload for Scramble {
    #[inline]
    fn fill(&self, record: u64, bytes: &mut [u8]) {
        let mut word = mixed(record ^ self.seed);
        for sector in bytes.chunks_exact_mut(SECTOR) {
            sector[..8].copy_from_slice(&word.to_ne_bytes());
            word = word.wrapping_add(1);
            sector[256..264].copy_from_slice(&word.to_ne_bytes());
        }
    }

    fn check(&self, _record: u64, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_sectors_are_alike_and_bytes_are_even() {
        let mut bytes = vec![0; 4096];
        fill(&mut bytes, 3);
        let ones: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
        assert!((15_500..17_300).contains(&ones), "{ones}");
        let mut sectors = HashSet::new();
        for block in 0..100 {
            Scramble { seed: 5 }.fill(block, &mut bytes);
            for sector in bytes.chunks(SECTOR) {
                assert!(sectors.insert(sector.to_vec()), "block {block}");
            }
        }
        let mut odd = vec![0; 13];
        fill(&mut odd, 3);
        assert_ne!(odd, [0; 13]);
    }
}
