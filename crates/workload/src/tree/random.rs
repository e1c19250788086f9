//! Python 2's `random.Random`, draw for draw.
//!
//! compilebench seeds it with 555 and every choice of the run hangs on it, so a port with another
//! generator would run another benchmark. Python seeds MT19937 by `init_by_array` with the 32-bit
//! words of the seed (here one word), takes 53 bits for a `random()` (Modules/_randommodule.c:
//! `(a * 67108864 + b) / 9007199254740992` with `a` 27 and `b` 26 bits), and builds everything else
//! on that double: `choice` is `floor(random() * n)` (Python 3 is different: it draws bits).

use rand_mt::Mt;

/// Python 2's generator.
#[derive(Clone, Debug)]
pub struct Random {
    mt: Mt,
}

impl Random {
    /// `random.Random(seed)` for a seed below 2^64.
    pub fn new(seed: u64) -> Self {
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        let mt = if high == 0 {
            Mt::new_with_key([low])
        } else {
            Mt::new_with_key([low, high])
        };
        Random { mt }
    }

    /// `random()`: a double in `[0, 1)` with 53 random bits. Takes two 32-bit words.
    pub fn random(&mut self) -> f64 {
        let a = self.mt.next_u32() >> 5;
        let b = self.mt.next_u32() >> 6;
        (f64::from(a) * 67_108_864.0 + f64::from(b)) / 9_007_199_254_740_992.0
    }

    /// The index that `choice` of a sequence of length `n` takes: `floor(random() * n)`.
    pub fn index(&mut self, n: usize) -> usize {
        (self.random() * n as f64) as usize
    }

    /// `randint(low, high)`, both ends included.
    pub fn randint(&mut self, low: u32, high: u32) -> u32 {
        low + (self.random() * f64::from(high - low + 1)) as u32
    }

    /// `shuffle`: Fisher and Yates from the end. Takes `len - 1` draws.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for k in (1..items.len()).rev() {
            let j = self.index(k + 1);
            items.swap(k, j);
        }
    }

    /// Takes and forgets `draws` draws of [`Random::random`].
    pub fn skip(&mut self, draws: usize) {
        for _ in 0..draws {
            self.random();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by CPython 2.7.18: `random.seed(555); [random.random() for _ in range(5)]`.
    const PYTHON: [f64; 5] = [
        0.193_345_250_744_707_76,
        0.161_055_878_759_732_7,
        0.561_222_543_632_600_6,
        0.919_832_282_564_118_4,
        0.153_397_189_493_653_33,
    ];

    #[test]
    fn draws_are_pythons() {
        let mut random = Random::new(555);
        for expected in PYTHON {
            assert_eq!(random.random(), expected);
        }
    }

    /// Printed by CPython 2.7.18 after `random.seed(555)`.
    #[test]
    fn derived_draws_are_pythons() {
        let mut random = Random::new(555);
        let mut list: Vec<u32> = (0..12).collect();
        random.shuffle(&mut list);
        let ints: Vec<u32> = (0..4).map(|_| random.randint(100, 100_000)).collect();
        let picks: Vec<usize> = (0..6).map(|_| random.index(7)).collect();
        assert_eq!(list, SHUFFLED);
        assert_eq!(ints, INTS);
        assert_eq!(picks, PICKS);
        let mut large = Random::new(20_090_504_123_456_789);
        assert_eq!(large.random(), LARGE_SEED);
    }

    #[test]
    fn a_shuffle_takes_one_draw_less_than_it_has_items() {
        let (mut shuffled, mut skipped) = (Random::new(555), Random::new(555));
        shuffled.shuffle(&mut (0..3263).collect::<Vec<u32>>());
        skipped.skip(3262);
        assert_eq!(shuffled.random(), skipped.random());
    }

    const SHUFFLED: [u32; 12] = [7, 4, 0, 6, 9, 3, 11, 10, 8, 5, 1, 2];
    const INTS: [u32; 4] = [3_570, 48_667, 4_303, 67_698];
    const PICKS: [usize; 6] = [0, 2, 4, 6, 2, 1];
    const LARGE_SEED: f64 = 0.127_033_901_617_144_12;
}
